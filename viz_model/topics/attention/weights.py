"""How far attention weights can be trusted: who takes them without giving, and whether they rank what arrives.

What a query takes from a key is α·v·W_O, a vector whose length can be small where the weight α is large (Kobayashi
et al. 2020, "Attention is Not Only a Weight"). Tokens that take weight and give little are called sinks (Xiao et al.
2023, "Efficient Streaming Language Models with Attention Sinks"); in BERT the control tokens and punctuation are (Clark
et al. 2019, section 3.2).
"""

import unicodedata
from collections.abc import Iterator, Mapping
from typing import Literal, NamedTuple

import numpy as np
import torch

from viz_model.drawing import digits
from viz_model.drawing.digits import share
from viz_model.measures import heads
from viz_model.runs.measures import is_sink
from viz_model.runs.trace import Trace
from viz_model.tokenizers.tokenizer import Token

Group = Literal["first", "punctuation", "marks"]

LEAST_KEYS = 3
"""Keys from which on a query's ranking counts: of two, a rank correlation is 1 or −1."""
MOST_RANKED = 64
"""Queries of a head whose keys are ranked; of more, so many evenly spread ones."""


def groups(trace: Trace) -> dict[Group, tuple[int, ...]]:
    """Positions of tokens that often take weight: the first, punctuation, control tokens around the text.

    A group that has no token, or all of them, is left out.
    """
    around = heads.marks(trace)
    found: dict[Group, tuple[int, ...]] = {
        "first": (0,),
        "punctuation": tuple(n for n, token in enumerate(trace.tokens) if n not in around and is_punctuation(token)),
        "marks": around,
    }
    return {name: places for name, places in found.items() if 0 < len(places) < len(trace)}


def is_punctuation(token: Token) -> bool:
    """Whether a token is made of punctuation and signs alone, but for spaces; a piece of a character is not."""
    written = token.text.strip()
    return bool(written) and token.is_whole and all(unicodedata.category(sign)[0] in "PS" for sign in written)


class ValueWeighted(NamedTuple):
    """What the heads of a layer take from where.

    Attributes:
        weights: [H, T, T] α; of several layers [L, H, T, T].
        lengths: [H, T, T] ‖α v W_O‖, how long a vector arrives.
        visible: boolean [T, T], who may look at whom.
    """

    weights: np.ndarray
    lengths: np.ndarray
    visible: np.ndarray

    @property
    def shares(self) -> np.ndarray:
        """[H, T, T]: ``lengths`` divided by their sum over the keys, to stand beside the weights."""
        totals = self.lengths.sum(-1, keepdims=True)
        return np.divide(self.lengths, totals, out=np.zeros_like(self.lengths), where=totals > 0)


@torch.inference_mode()
def value_weighted(trace: Trace, layer: int) -> ValueWeighted:
    """The weights of a layer's self-attention, and what they bring.

    v has the bias of W_V in it, as in Kobayashi et al.; the bias of W_O belongs to no key.
    """
    at, n_heads = f"blocks.{layer}.attn", trace.config.n_heads
    w_o = trace.stack.block(layer).attn.o.weight.detach().T.unflatten(0, (n_heads, -1))  # [H, K, D]
    # The Gram matrix spares the vectors themselves: ‖vW‖² = v (W Wᵀ) vᵀ, K × K a head.
    gram = (w_o @ w_o.mT).double()
    values = torch.stack([trace.head(f"{at}.v", each) for each in range(n_heads)]).double()  # [H, T, K]
    lengths = ((values @ gram) * values).sum(-1).clamp_min(0).sqrt()  # [H, T]
    weights = torch.stack([trace.head(f"{at}.pattern", each) for each in range(n_heads)]).double()
    seen = trace.mask(layer)
    return ValueWeighted(weights.numpy(), (weights * lengths[:, None]).numpy(), seen.numpy())


def rank_correlations(weights: np.ndarray, lengths: np.ndarray, visible: np.ndarray) -> np.ndarray:
    """Spearman's ρ of weights and lengths [H, T, T], a query at a time, and their mean over queries: [H].

    Queries that see fewer than three keys, and those of which one side is the same for all keys, are left out; NaN
    where none is left. Equal numbers share the mean of their ranks, and equal are those that differ by no more than
    rounding. Of a long text :data:`MOST_RANKED` queries count.
    """
    queries = np.flatnonzero(visible.sum(-1) >= LEAST_KEYS)
    queries = queries[np.unique(np.linspace(0, len(queries) - 1, MOST_RANKED).astype(int))] if len(queries) else queries
    weights, lengths, visible = weights[:, queries], lengths[:, queries], visible[queries]
    first, second = (_ranks(np.where(visible, _rounded(numbers), -np.inf)) for numbers in (weights, lengths))
    middle = (2 * visible.shape[-1] - visible.sum(-1) - 1) / 2  # hidden keys hold the lowest ranks
    first, second = (np.where(visible, ranks - middle[:, None], 0.0) for ranks in (first, second))
    spread = np.sqrt((first**2).sum(-1) * (second**2).sum(-1))  # [H, T]
    counts = spread > 0
    each = np.divide((first * second).sum(-1), spread, out=np.zeros_like(spread), where=counts)
    number = counts.sum(-1)
    return np.divide(each.sum(-1), number, out=np.full(len(number), np.nan), where=number > 0)


def _rounded(numbers: np.ndarray) -> np.ndarray:
    """As shares of the largest of each row, to as many digits as float32 is sure of."""
    return np.asarray(np.round(numbers / np.maximum(np.abs(numbers).max(-1, keepdims=True), 1e-30), 5))


def _ranks(numbers: np.ndarray) -> np.ndarray:
    """Ranks along the last axis from 0, equal numbers with the mean of theirs; those of −∞ in any order."""
    found = torch.from_numpy(np.ascontiguousarray(numbers))
    ordered, order = found.sort(-1)
    if (ordered.isfinite() & (ordered == ordered.roll(1, -1)))[..., 1:].any():
        ranks = (torch.searchsorted(ordered, found) + torch.searchsorted(ordered, found, right=True) - 1) / 2
    else:
        places = torch.arange(found.shape[-1], dtype=found.dtype).expand_as(found)
        ranks = torch.empty_like(found).scatter_(-1, order, places)
    return np.asarray(ranks.double())


class Gap(NamedTuple):
    """A query and a key at which weight and share of what arrives lie far apart."""

    layer: int
    head: int
    query: int
    key: int
    weight: float
    share: float


class Taken(NamedTuple):
    """What the heads give a group of tokens, and what comes from there. Means over the other tokens as queries.

    Attributes:
        positions: of the group.
        weights: [L, H] the weight on the group.
        shares: [L, H] the share of what arrives that comes from it.
        even: the weight that an even spread over all visible keys would give it, averaged over layers.
    """

    positions: tuple[int, ...]
    weights: np.ndarray
    shares: np.ndarray
    even: float

    @property
    def is_sink(self) -> np.ndarray:
        """Heads of which the group takes at least a fifth of the weight and gives less than half as much: [L, H]."""
        return is_sink(self.weights, self.shares)

    def facts(self) -> dict[str, str]:
        """For prose: means over all heads, the head in which weight and share differ most, and how many are sinks."""
        apart = np.abs(self.weights - self.shares)
        layer, head = np.unravel_index(apart.argmax(), apart.shape)
        return {
            "weight": share(float(self.weights.mean())),
            "share": share(float(self.shares.mean())),
            "even": share(self.even),
            "layer": str(layer),
            "head": str(head),
            "head_weight": share(float(self.weights[layer, head])),
            "head_share": share(float(self.shares[layer, head])),
            "n_sinks": str(int(self.is_sink.sum())),
            "n_heads": str(apart.size),
        }


class AttentionTrust(NamedTuple):
    """All heads of a stack on one text.

    Attributes:
        groups: by the name of the group.
        ranks: [L, H] Spearman's ρ of weights and what arrives (:func:`rank_correlations`).
        gaps: for every head the pair at which weight and share lie furthest apart, largest first.
    """

    groups: Mapping[Group, Taken]
    ranks: np.ndarray
    gaps: tuple[Gap, ...]

    def rank_facts(self) -> dict[str, str]:
        """For prose: mean, highest and lowest rank correlation, and whose the lowest is; none where there is none."""
        if not np.isfinite(self.ranks).any():
            return {}
        layer, head = np.unravel_index(np.nanargmin(self.ranks), self.ranks.shape)
        mean, low = float(np.nanmean(self.ranks)), float(self.ranks[layer, head])
        most = float(np.nanmax(self.ranks))
        return {
            "mean": digits.written(mean, "2"),
            "low": digits.written(low, "2"),
            "most": digits.written(most, "2"),
            "layer": str(layer),
            "head": str(head),
        }


def care(trace: Trace) -> AttentionTrust:
    """Every head of the stack that a run is seen from.

    Raises:
        ValueError: the text is a single token, which has no other to look at.
    """
    if len(trace) < 2:
        raise ValueError("a single token has no other to look at")
    places = groups(trace)
    taken: dict[Group, list[tuple[np.ndarray, np.ndarray, float]]] = {name: [] for name in places}
    ranks: list[np.ndarray] = []
    gaps: list[Gap] = []
    for layer in range(trace.n_layers):  # the T×T matrices of one layer at a time
        found = value_weighted(trace, layer)
        for name, positions in places.items():
            taken[name].append(_taken(found, positions))
        ranks.append(rank_correlations(found.weights, found.lengths, found.visible))
        gaps += _gaps(found, layer)
    parts = {name: tuple(zip(*each, strict=True)) for name, each in taken.items()}
    return AttentionTrust(
        groups={
            name: Taken(places[name], np.stack(weights), np.stack(shares), float(np.mean(even)))
            for name, (weights, shares, even) in parts.items()
        },
        ranks=np.stack(ranks),
        gaps=tuple(sorted(gaps, key=lambda gap: -abs(gap.weight - gap.share))),
    )


def _taken(found: ValueWeighted, positions: tuple[int, ...]) -> tuple[np.ndarray, np.ndarray, float]:
    """Of a layer, what :class:`Taken` has of all."""
    visible = found.visible
    inside = np.isin(np.arange(len(visible)), positions)
    rows = ~inside & (visible.sum(-1) > 1)
    weights, shares = (each[:, rows][..., inside].sum(-1).mean(-1) for each in (found.weights, found.shares))
    return weights, shares, float((visible[rows][:, inside].sum(-1) / visible[rows].sum(-1)).mean())


def _gaps(found: ValueWeighted, layer: int) -> Iterator[Gap]:
    for head, (weights, shares) in enumerate(zip(found.weights, found.shares, strict=True)):
        query, key = np.unravel_index(np.abs(weights - shares).argmax(), weights.shape)
        yield Gap(layer, head, int(query), int(key), float(weights[query, key]), float(shares[query, key]))


class First(NamedTuple):
    """Of every query: the key that it gives most weight, and the one from which most arrives. Each [..., T].

    Attributes:
        n_seen: keys that it sees.
        read, read_weight: the key of most weight.
        sender, weight, share: the key from which most arrives, its weight, and its share of what arrives.
        is_tied: whether another key has as much weight, or brings as much, to a tenth of a percentage point.
    """

    n_seen: np.ndarray
    read: np.ndarray
    read_weight: np.ndarray
    sender: np.ndarray
    weight: np.ndarray
    share: np.ndarray
    is_tied: np.ndarray


def firsts(found: ValueWeighted) -> First:
    """Of weights and lengths [..., H, T, T], whose masks are [..., T, T]."""
    weights, shares = found.weights, found.shares
    read, sender = weights.argmax(-1), shares.argmax(-1)
    n_seen = np.broadcast_to(found.visible.sum(-1)[..., None, :], read.shape)

    def at(values: np.ndarray, keys: np.ndarray) -> np.ndarray:
        return np.asarray(np.take_along_axis(values, keys[..., None], -1)[..., 0])

    tied = [(each >= each.max(-1, keepdims=True) - 0.0005).sum(-1) > 1 for each in (weights, shares)]
    return First(n_seen, read, at(weights, read), sender, at(weights, sender), at(shares, sender), tied[0] | tied[1])


def edited(trace: Trace) -> bool:
    """Whether an edit replaces what heads of this stack mixed or wrote, so that less arrives than the weights bring."""
    sites = (f"blocks.{layer}.attn.{name}" for layer in range(trace.n_layers) for name in ("z", "out"))
    return any(trace.full_name(site) in trace.changes for site in sites)


def work(trace: Trace) -> int:
    """Cells of all patterns, which :func:`care` goes through."""
    return trace.n_layers * trace.config.n_heads * len(trace) ** 2
