"""The statistics of one batch: a tap reads them off while the model runs, and no pattern outlives its layer."""

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn.utils.rnn import pad_sequence

from viz_model.config import ModelConfig
from viz_model.corpus.statistics import MEASURES, Firings, HeadSums, Measure, Statistics
from viz_model.corpus.texts import Item
from viz_model.model import sites, stored
from viz_model.model.transformer import Transformer


def none(config: ModelConfig, top: int) -> Statistics:
    """Those of no text, for the first stack of a model."""
    side = config.sides[0]
    depth = config.depth(side)
    widest = max(sites.n_neurons(config, side, layer) for layer in range(depth))  # 0 where no layer has neurons
    return Statistics.none(depth, config.n_heads, widest, top)


@torch.inference_mode()
def added(found: Statistics, model: Transformer, items: Sequence[Item]) -> Statistics:
    """Run the first stack of ``model`` over all items at once, padded at the end; no logits are computed.

    Under a causal mask nothing looks at what follows, so the padding needs no mask of its own; an
    encoder gets one.

    Returns:
        What was ``found``, whose arrays are used up, and what these texts add.
    """
    config, device = model.config, stored.reads_at(model)
    ids = pad_sequence([torch.as_tensor(item.ids) for item in items], batch_first=True).to(device)
    lengths = [len(item.ids) for item in items]
    real = torch.arange(ids.shape[1], device=device) < torch.tensor(lengths, device=device)[:, None]  # [B, T]
    queries = _Queries.of(ids, real, is_causal=config.sides[0] == "decoder")
    texts = np.array([item.number for item in items])
    seen = _Watch(queries, texts, lengths, found)
    if config.sides[0] == "decoder":
        model.vectors(ids, tap=seen)
    else:
        padding = None if real.all() else ~real
        if config.kind == "encoder":
            model.vectors(ids, padding=padding, tap=seen)
        else:
            model.encode(ids, padding=padding, tap=seen)
    heads = HeadSums(found.heads.sums, found.heads.counts + queries.counts())
    return dataclasses.replace(found, heads=heads, n_tokens=found.n_tokens + sum(lengths))


@dataclass(frozen=True)
class _Queries:
    """Which queries of a batch count for each measure, and where it looks.

    Attributes:
        real: [B, T], False on padding.
        counted: for measures of a whole row or of a fixed key, which of the n queries in question count: [B, n].
        found: for induction and duplicate (text, query, key) of every weight to be added, [N] each.
    """

    real: Tensor
    counted: Mapping[Measure, Tensor]
    found: Mapping[Measure, tuple[Tensor, Tensor, Tensor]]

    @classmethod
    def of(cls, ids: Tensor, real: Tensor, *, is_causal: bool) -> "_Queries":
        later = real[:, 1:]
        choosing = real & (real.sum(-1, keepdim=True) > 1)
        if is_causal:
            choosing &= torch.arange(ids.shape[1], device=ids.device) > 0
        # What stands before a real query is real.
        same = (ids[:, :, None] == ids[:, None, :]).tril(-1) & real[:, :, None]  # [B, Tq, Tk]
        text, query, key = same.nonzero(as_tuple=True)
        apart = query - key >= 2  # or the token after the copy is the query itself
        return cls(
            real,
            {
                "entropy": choosing,
                "previous": later,
                "next": choosing[:, :-1] & later,
                "first": later,
                "itself": choosing,
            },
            {"induction": (text[apart], query[apart], key[apart] + 1), "duplicate": (text, query, key)},
        )

    def total(self, measure: Measure, pattern: Tensor) -> Tensor:
        """The sum of ``measure`` over queries: pattern [B, H, T, T] -> [H] in double precision."""
        if measure in self.found:
            text, query, key = self.found[measure]
            return pattern[text, :, query, key].sum(0, dtype=torch.double)
        values = _VALUES[measure](pattern)  # [B, H, n]
        return torch.einsum("bhn,bn->h", values.double(), self.counted[measure].double())

    def counts(self) -> NDArray[np.int64]:
        """Over how many queries each measure was summed: [M]."""
        length = self.real.shape[1]
        found = {name: len(torch.unique(text * length + query)) for name, (text, query, _) in self.found.items()}
        counted = {name: int(queries.sum()) for name, queries in self.counted.items()}
        return np.array([(found | counted)[measure] for measure in MEASURES])


def _entropy(pattern: Tensor) -> Tensor:
    """−Σ p · log₂ p of each row; ``torch.special.entr`` says the same in twice the time."""
    return pattern.clamp_min(_LEAST).log2_().mul_(pattern).sum(-1).neg_()


_LEAST = torch.finfo(torch.float32).tiny
"""Has a logarithm, where 0 has none; times a weight of 0 it adds nothing."""

_VALUES: dict[Measure, Callable[[Tensor], Tensor]] = {
    "entropy": _entropy,
    "previous": lambda pattern: pattern.diagonal(-1, -2, -1),
    "next": lambda pattern: pattern.diagonal(1, -2, -1),
    "first": lambda pattern: pattern[:, :, 1:, 0],
    "itself": lambda pattern: pattern.diagonal(0, -2, -1),
}


class _Watch:
    """A tap that adds up what it sees of patterns and neurons, and keeps neither.

    Args:
        texts, lengths: number and tokens of each text of the batch, [B].
    """

    def __init__(
        self, queries: _Queries, texts: NDArray[np.int64], lengths: Sequence[int], found: Statistics, prefix: str = ""
    ) -> None:
        self.queries, self.texts, self.lengths, self.found, self.prefix = queries, texts, lengths, found, prefix

    def __call__(self, name: str, value: Tensor) -> Tensor:
        layer, own = sites.split_name(sites.split_side(self.prefix + name)[1])
        if layer is not None and own == "attn.pattern":
            sums = self.found.heads.sums[layer]
            for n, measure in enumerate(MEASURES):
                sums[:, n] += self.queries.total(measure, value).cpu().numpy()
        elif layer is not None and own == "ffn.act" and self.found.neurons.value.shape[-1]:
            self._fire(layer, value)
        return value

    def at(self, prefix: str) -> "_Watch":
        return _Watch(self.queries, self.texts, self.lengths, self.found, f"{self.prefix}{prefix}.")

    def changes(self, name: str) -> bool:
        # Whoever changes patterns is shown them: the softmax then runs once, and not fused and here again.
        return name == "pattern" and self.prefix.endswith(".attn.")

    def _fire(self, layer: int, act: Tensor) -> None:
        """Merge the strongest place of each text, act [B, T, F], into the tops of a layer.

        Where in a text it stands is asked only of neurons that the text fires hard enough to be kept.
        A layer with fewer neurons than another has some that never fire.
        """
        each = (text[:length] for text, length in zip(act, self.lengths, strict=True))
        value = torch.stack([text.amax(0) for text in each], dim=-1)  # [F, B]
        tops = self.found.neurons.at(layer)
        fires = (value > 0) & (value >= torch.as_tensor(tops.value[: len(value), -1:], device=value.device))
        neuron, text = fires.nonzero(as_tuple=True)
        if not len(neuron):
            return
        among = act[text, :, neuron] == value[neuron, text, None]  # [firing, T]
        position = np.full(fires.shape, -1, np.int32)
        position[fires.cpu().numpy()] = among.cpu().numpy().argmax(-1)
        rows, kept = neuron.unique().cpu().numpy(), fires.cpu().numpy()
        new = Firings(np.where(kept, value.cpu().numpy(), 0), np.where(kept, self.texts, -1), position)
        best = Firings(*(part[rows] for part in tops)).merged(Firings(*(part[rows] for part in new)))
        tops.value[rows], tops.text[rows], tops.position[rows] = best
