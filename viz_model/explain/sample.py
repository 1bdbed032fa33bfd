"""What every head and every neuron of a decoder does over many short texts, in one small file.

The file holds the texts themselves as token ids, so that a context can be shown and every figure measured again. Of a
head it has the mean weight on some kinds of place (:mod:`viz_model.corpus.statistics`), how often its largest weight
is how large, and the texts in which it looks at another token most; of a neuron how often its value is how large, and
the texts in which it is largest. Removed is a unit that writes the same everywhere: its mean over the sample (Wang et
al. 2022, section 2.2). The loss without each head is in the file; without a neuron it is soon measured.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from safetensors import safe_open
from safetensors.torch import load_file, save_file
from torch import Tensor

from viz_model import corpus
from viz_model.checkpoints.registry import BUNDLED
from viz_model.config import ModelConfig
from viz_model.explain.fitted import digest
from viz_model.model import sites
from viz_model.model.transformer import Transformer
from viz_model.runs import edits
from viz_model.runs.language_model import LanguageModel
from viz_model.runs.recorder import recorder

FILE = "units.safetensors"
ROLES = ("previous", "itself", "first", "duplicate", "induction", "repeated")
"""The mean weight of a head on: the token before, its own place, the first token, earlier copies of its token, what
came after those; and the same as the last on random tokens that are repeated.
"""
WINDOW, TOP, BINS = 48, 8, 24
"""Tokens of a text, contexts that are kept of a unit, and steps of a histogram."""
REMOVED = 256
"""Texts over which the loss is measured without each head."""


class LossChange(NamedTuple):
    """The mean change of the loss in bits a token, and its standard error over the texts."""

    mean: float
    error: float


@dataclass(frozen=True, eq=False)
class UnitSample:
    """A sample of texts and what was found there.

    Attributes:
        values: by name. Of heads ``heads.roles`` [L, H, R], ``heads.counts`` [L, H, B] of the largest weights of all
            rows between 0 and 1, ``heads.mean`` [L, H, K] of what is mixed, ``heads.change`` [L, H, 2] of the loss in
            bits and its standard error, and [L, H, k] ``heads.text``, ``.query``, ``.key`` and ``.value`` of its
            contexts. Of the neurons of layer 0 ``0.counts`` [F, B] as shares between ``0.low`` and ``0.high`` [F],
            ``0.mean``, ``0.fires``, the share of tokens on which it is above 0, and [F, k] ``0.text``, ``0.position``
            and ``0.value``; where it is never above 0, the text is −1. ``ids`` [N, T] are the texts.
        of: tells the weights apart.
    """

    values: Mapping[str, Tensor]
    of: str
    _whole: dict[int, Tensor] = field(default_factory=dict, repr=False)

    def __getitem__(self, name: str) -> Tensor:
        return self.values[name]

    @property
    def n_texts(self) -> int:
        return len(self["ids"])

    def some(self, most: int) -> Tensor:
        """At most so many of the texts, evenly from all of them: [n, T]."""
        return self["ids"][:: max(1, self.n_texts // most)][:most].long()

    def change(self, model: Transformer, edit: edits.Change, most: int) -> LossChange:
        """How many bits a token the loss over some of the texts grows with a unit replaced."""
        texts = self.some(most)
        if most not in self._whole:
            self._whole[most] = bits(model, texts).mean(-1)
        each = (bits(model, texts, edit).mean(-1) - self._whole[most]).double()
        return LossChange(float(each.mean()), float(each.std() / math.sqrt(len(each))))

    def save(self, path: str | Path) -> None:
        """Write it to a ``.safetensors`` file: shares and largest values in half precision."""
        short = {
            n: v.half() if n.endswith((".counts", ".value")) and v.is_floating_point() else v
            for n, v in self.values.items()
        }
        save_file({name: value.contiguous() for name, value in short.items()}, path, metadata={"of": self.of})

    @classmethod
    def load(cls, path: str | Path) -> UnitSample:
        """Read what :meth:`save` wrote."""
        with safe_open(path, "pt") as file:
            return cls(load_file(path), (file.metadata() or {}).get("of", ""))


@torch.inference_mode()
def sample_units(lm: LanguageModel, texts: Iterable[str | Sequence[int]]) -> UnitSample:
    """Measure all heads and neurons of a decoder on texts, of each of which the first 48 tokens are read.

    Raises:
        ValueError: the model is no decoder with logits, or there are no texts of so many tokens.
    """
    config = lm.config
    if config.kind != "decoder" or not config.has_logits:
        raise ValueError("units: a sample is made of a decoder that predicts tokens")
    length = min(WINDOW, config.n_context)
    every = (lm.tokenizer.encode(text) if isinstance(text, str) else list(text) for text in texts)
    rows = [ids[:length] for ids in every if len(ids) >= length]
    if not rows:
        raise ValueError(f"texts: there is none of {length} tokens")
    ids = torch.tensor(rows, dtype=torch.int16 if config.n_vocab < 2**15 else torch.int32)
    found = UnitSample({"ids": ids, **_heads_and_tops(lm, rows), **_spread(lm, rows)}, digest(lm.model))
    for layer, head in np.ndindex(config.n_layers, config.n_heads):
        change = found.change(lm.model, replaced(found, layer, head), REMOVED)
        found["heads.change"][layer, head] = torch.tensor(change)
    return found


def attends(config: ModelConfig, layer: int) -> bool:
    """Whether heads of a layer of a decoder have weights; what holds a state has none, and no roles."""
    return f"blocks.{layer}.attn.pattern" in sites.table(config)


def _heads_and_tops(lm: LanguageModel, rows: Sequence[Sequence[int]]) -> dict[str, Tensor]:
    found = corpus.survey(lm, rows, corpus.Settings(top=TOP))
    natural, tops = found.natural.heads, found.natural.neurons
    roles = [natural.mean(role) for role in ROLES[:-1]]  # type: ignore[arg-type]
    roles.append(found.repeated.mean("induction") if found.repeated else np.full_like(roles[0], np.nan))
    values = {"heads.roles": torch.tensor(np.stack(roles, -1), dtype=torch.float32)}
    values["heads.roles"][[not attends(lm.config, layer) for layer in range(lm.config.n_layers)]] = math.nan
    for layer in range(lm.config.n_layers):
        n = sites.n_neurons(lm.config, "decoder", layer)
        for name, kind in (("value", torch.float32), ("text", torch.int32), ("position", torch.int16)):
            values[f"{layer}.{name}"] = torch.tensor(getattr(tops, name)[layer, :n]).to(kind)
    return values


def _spread(lm: LanguageModel, rows: Sequence[Sequence[int]]) -> dict[str, Tensor]:
    """How often which value is how large, and the means; of neurons between their own ends, found in a first pass."""
    config, n = lm.config, len(rows) * len(rows[0])
    layers = [layer for layer in range(config.n_layers) if sites.n_neurons(config, "decoder", layer)]
    ends = {layer: (torch.tensor(math.inf), torch.tensor(-math.inf)) for layer in layers}
    sums, fires = (dict.fromkeys(layers, torch.zeros(())) for _ in range(2))
    for ids in rows:
        trace = lm.trace(ids=ids, keep="everything")
        for layer in layers:
            act, (low, high) = trace[f"blocks.{layer}.ffn.act"], ends[layer]
            ends[layer] = torch.minimum(low, act.amin(0)), torch.maximum(high, act.amax(0))
            sums[layer] = sums[layer] + act.sum(0, dtype=torch.float64)
            fires[layer] = fires[layer] + (act > 0).sum(0)
    counts = {layer: torch.zeros(len(ends[layer][0]) * BINS, dtype=torch.int64) for layer in layers}
    shape = config.n_layers, config.n_heads
    weights, mixed = (
        torch.zeros(*shape, BINS, dtype=torch.int64),
        torch.zeros(*shape, config.d_head, dtype=torch.float64),
    )
    best = [torch.zeros(*shape, len(rows)), *(torch.zeros(*shape, len(rows), dtype=torch.int16) for _ in range(2))]
    for text, ids in enumerate(rows):
        trace = lm.trace(ids=ids, keep="everything")
        for layer in range(config.n_layers):
            mixed[layer] += trace[f"blocks.{layer}.attn.z"].sum(1, dtype=torch.float64)
            if attends(config, layer):
                pattern = trace[f"blocks.{layer}.attn.pattern"]  # [H, T, T]
            else:
                pattern = torch.zeros(config.n_heads, len(ids), len(ids))
            steps = (pattern[:, 1:].amax(-1) * BINS).long().clamp(max=BINS - 1)
            weights[layer].scatter_add_(1, steps, torch.ones_like(steps))
            others = pattern.tril(-1)
            others[..., 0] = 0  # the first token is where a head looks that has nothing to look at
            value, at = others.flatten(1).max(-1)
            for one, part in zip(best, (value, at // len(ids), at % len(ids)), strict=True):
                one[layer, :, text] = part.to(one.dtype)
            if layer in ends:
                low, high = ends[layer]
                step = ((trace[f"blocks.{layer}.ffn.act"] - low) / (high - low).clamp(min=1e-12) * BINS).long()
                step = step.clamp(0, BINS - 1) + torch.arange(len(low)) * BINS
                counts[layer] += torch.bincount(step.flatten(), minlength=len(low) * BINS)
    value, order = best[0].topk(min(TOP, len(rows)))
    contexts = {
        "value": value,
        "text": order.int(),
        **{name: one.gather(-1, order) for name, one in zip(("query", "key"), best[1:], strict=True)},
    }
    return {
        "heads.counts": weights.int(), "heads.mean": (mixed / n).float(),
        "heads.change": torch.full((*shape, 2), math.nan),
        **{f"heads.{name}": one for name, one in contexts.items()},
        **{f"{layer}.low": low for layer, (low, _) in ends.items()},
        **{f"{layer}.high": high for layer, (_, high) in ends.items()},
        **{f"{layer}.mean": (total / n).float() for layer, total in sums.items()},
        **{f"{layer}.fires": (count / n).float() for layer, count in fires.items()},
        **{f"{layer}.counts": one.unflatten(0, (-1, BINS)) / n for layer, one in counts.items()},
    }  # fmt: skip


def replaced(sample: UnitSample | None, layer: int, head: int | None = None, neuron: int | None = None) -> edits.Change:
    """A unit that writes the same everywhere: its mean over a sample, or nothing at all where there is none."""
    at, place = ("attn.z", "heads.mean") if head is not None else ("ffn.act", f"{layer}.mean")
    mean: Any = (layer, head) if head is not None else (neuron,)
    unit: Any = (head,) if head is not None else (..., neuron)
    value = torch.zeros(()) if sample is None else sample[place][mean]

    def by(own: Tensor) -> Tensor:
        own[unit] = value
        return own

    return edits.Change(at=f"blocks.{layer}.{at}", by=by)


@torch.inference_mode()
def logits(model: Transformer, ids: Tensor, edit: edits.Change | None = None) -> Tensor:
    """What a decoder says after each token of texts [N, T], perhaps with a unit replaced: [N, T, V]."""
    changes: Any = {} if edit is None else {edit.at: (edit,)}
    read = model.vectors(ids, tap=recorder(model.config, changes, frozenset()))
    found: Tensor = model.head(read)
    return found


def bits(model: Transformer, ids: Tensor, edit: edits.Change | None = None) -> Tensor:
    """−log₂ of the probability of each next token that comes: [N, T] -> [N, T − 1]."""
    said = logits(model, ids, edit)[:, :-1]
    return torch.nn.functional.cross_entropy(said.flatten(0, 1), ids[:, 1:].flatten(), reduction="none").unflatten(
        0, (len(ids), -1)
    ) / math.log(2)


def shipped(model: Transformer, name: str) -> UnitSample | None:
    """The sample that came with a bundled model, where these are its weights."""
    return beside(model, BUNDLED / name) if name else None


def beside(model: Transformer, folder: Path) -> UnitSample | None:
    """The sample that lies in a folder, where it is of these weights."""
    path = folder / FILE
    found = read(path) if path.is_file() else None
    return found if found is not None and found.of == digest(model) else None


@functools.lru_cache(maxsize=16)
def read(path: Path) -> UnitSample:
    """A file of a sample, read once."""
    return UnitSample.load(path)
