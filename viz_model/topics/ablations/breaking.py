"""Experiments on one run: the measure that each is about, in the run as it is and in the changed one.

A *plain* run is one without edits. Whatever is tried is run from it anew, so that runs differ in one thing.
"""

import math
from collections.abc import Iterable, Iterator, Sequence
from typing import Literal, NamedTuple

import numpy as np
import torch
from torch.nn import functional as F

from viz_model.config import Side
from viz_model.measures import stream
from viz_model.measures.change import rerun
from viz_model.runs import edits as interventions
from viz_model.runs import measures
from viz_model.runs.edits import Edit, NoMask, NoPosition, PatchResidual, ShuffleTokens
from viz_model.runs.trace import Trace

TURNED, ROWS = 0.01, 32
"""1 − cosine from which on a vector counts as another one, where there are no logits to compare; and positions whose
logits are compared at once.
"""


class Place(NamedTuple):
    """Where a run answers: a stack, and a position of it."""

    side: Side
    position: int


def place(trace: Trace, position: int) -> Place:
    """Where the answer is read when ``position`` of this stack is selected: of what feeds a decoder, at its last."""
    last = trace.config.sides[-1]
    return Place(last, position if trace.stack.side == last else len(trace.at(last)) - 1)


class Cost(NamedTuple):
    """What a change did to the answers at some positions; each [P].

    ``amount`` is KL(before ‖ after) in bits, or 1 − cosine of the last vectors where there are no logits;
    infinite where the changed run overflowed, NaN where the edit could not be made. ``changed``: another first
    choice, or 1 − cosine above :data:`TURNED`.
    """

    amount: np.ndarray
    changed: np.ndarray


def costs(before: Trace, after: Trace, side: Side, positions: Sequence[int]) -> Cost:
    """Compare two runs at some positions of the stack that answers."""
    a, b = before.at(side), after.at(side)
    at = list(positions)
    if before.config.has_logits:
        found = []
        for part in (at[n : n + ROWS] for n in range(0, len(at), ROWS)):
            logs = [_logits(run, part).double().log_softmax(-1) for run in (a, b)]
            found.append(Cost(measures.divergence(*logs).numpy(), (logs[0].argmax(-1) != logs[1].argmax(-1)).numpy()))
        amount, changed = (np.concatenate(each) for each in zip(*found, strict=True))
        return Cost(np.nan_to_num(amount, nan=math.inf), changed)
    was, now = (run[run.leaving][at].double() for run in (a, b))
    amount = np.nan_to_num((1 - F.cosine_similarity(was, now, dim=-1)).numpy(), nan=math.inf)
    return Cost(np.maximum(amount, 0.0), amount > TURNED)


def _logits(run: Trace, positions: list[int]) -> torch.Tensor:
    return run["logits"][positions] if len(positions) > 1 else run.row("logits", positions[0])[None]


def tried(plain: Trace, edits: Iterable[Edit], side: Side, positions: Sequence[int]) -> Iterator[Cost]:
    """What each edit alone does to the answers."""
    for edit in edits:
        try:
            yield costs(plain, rerun(plain, (edit,)), side, positions)
        except ValueError:
            yield Cost(np.full(len(positions), math.nan), np.zeros(len(positions), bool))


# Attention


def row_entropies(trace: Trace, layer: int, head: int) -> np.ndarray:
    """Entropy in bits of every row of a pattern, [Tq]; NaN for a row that sees a single key."""
    pattern = trace.head(f"blocks.{layer}.attn.pattern", head).double()
    seen = (trace.head(f"blocks.{layer}.attn.mask", head) == 0).sum(-1)
    logs = torch.where(pattern > 0, pattern, 1.0).log2()
    entropies = -(pattern * logs).sum(-1) + 0.0
    return torch.where(seen > 1, entropies, math.nan).numpy()


def previous_shares(trace: Trace) -> np.ndarray:
    """Mean weight on the token just before, of the queries from position 1 on, [L, H]; 0 in a layer without weights.

    Raises:
        ValueError: there is one token only.
    """
    if len(trace) < 2:
        raise ValueError("tokens: one token has none before it")
    found = np.zeros((trace.n_layers, trace.config.n_heads), np.float32)
    for layer in trace.attending:
        found[layer] = trace[f"blocks.{layer}.attn.pattern"].diagonal(-1, 1, 2).mean(-1).numpy()
    return found


def even_previous(trace: Trace, layer: int) -> float:
    """What :func:`previous_shares` would be of a head that spreads its weight evenly over what it sees."""
    visible = trace.mask(layer)
    even = visible / visible.sum(-1, keepdim=True)
    return even.diagonal(-1).mean().item()


def future_shares(trace: Trace) -> np.ndarray:
    """Mean weight on later tokens by layer, over all heads and all queries that have some, [L] of those that attend.

    Raises:
        ValueError: there is one token only.
    """
    if len(trace) < 2:
        raise ValueError("tokens: one token has none after it")
    patterns = (trace[f"blocks.{layer}.attn.pattern"] for layer in trace.attending)
    return np.array([pattern.triu(1).sum(-1)[:, :-1].mean().item() for pattern in patterns])


def mean_rows(trace: Trace, attention: str = "attn") -> np.ndarray:
    """The rows of all queries, averaged over all heads and all layers that have weights, [Tq, Tk]."""
    layers = range(trace.n_layers) if attention == "cross" else trace.attending
    rows = [trace[f"blocks.{layer}.{attention}.pattern"].mean(0) for layer in layers]
    return torch.stack(rows).mean(0).numpy()


# By depth


def lengths_by_depth(trace: Trace) -> np.ndarray:
    """Median length of the stream at each depth, [S].

    The depths are those of :func:`viz_model.measures.stream.stream_sites`.
    """
    return np.median(stream.stream_lengths(trace), axis=-1)


class Spread(NamedTuple):
    """How far two runs lie apart, ‖after − before‖ / ‖before‖ of the stream, [depths, T], by the names of sites."""

    sites: tuple[str, ...]
    values: np.ndarray


def spread(before: Trace, after: Trace) -> Spread:
    """The relative difference of two runs of as many tokens after the embedding and after each block."""
    sites = ("embed.out", *(f"blocks.{layer}.resid.out" for layer in range(before.n_layers)))
    rows = [(after[site] - before[site]).norm(dim=-1) / before[site].norm(dim=-1).clamp(min=1e-12) for site in sites]
    return Spread(sites, torch.stack(rows).nan_to_num(nan=math.inf).numpy())


# Order

Condition = Literal["as_it_is", "no_position", "no_mask", "neither"]
_WITHOUT: dict[Condition, tuple[Edit, ...]] = {
    "as_it_is": (),
    "no_position": (NoPosition(),),
    "no_mask": (NoMask(),),
    "neither": (NoPosition(), NoMask()),
}
CONDITIONS: tuple[Condition, ...] = tuple(_WITHOUT)
ALIKE = 1e-3
"""Relative distance up to which reordered outputs count as the same: rounding, summed over the layers."""


def came_from(plain: Trace, shuffle: ShuffleTokens) -> tuple[int, ...]:
    """For each position of the shuffled text, the position where its token stood."""
    side = shuffle.side or plain.config.sides[0]
    ids = {s: plain.at(s).own_ids for s in plain.config.sides}
    controls = frozenset(i for i, id in enumerate(ids[side]) if id in plain.tokenizer.at(side).controls)
    places = {**ids, side: tuple(range(len(ids[side])))}
    run = interventions.Run(model=plain.model, config=plain.config, ids=places, controls={side: controls})
    return shuffle.prepare(run).ids[side]


def a_shuffle(plain: Trace) -> ShuffleTokens | None:
    """The first seed of twenty that moves most tokens; None where no token can move."""
    found: tuple[int, ShuffleTokens] | None = None
    for seed in range(1, 21):
        edit = ShuffleTokens(seed=seed)
        moved = sum(i != source for i, source in enumerate(came_from(plain, edit)))
        if moved and (found is None or moved > found[0]):
            found = moved, edit
    return found[1] if found else None


def reordered(plain: Trace, shuffle: ShuffleTokens, condition: Condition) -> float:
    """How far the outputs of shuffled tokens are from the outputs reordered likewise: ‖difference‖ / ‖outputs‖.

    0 where order means nothing to the model: without positions, attention that sees everything is
    equivariant under permutations (Lee et al. 2019, section 3.1). Both runs are made under ``condition``.
    """
    side = shuffle.side or plain.config.sides[0]
    order = list(came_from(plain, shuffle))
    edits = _WITHOUT[condition]
    stayed, moved = (rerun(plain, (*edits, *more)).at(side) for more in ((), (shuffle,)))
    a, b = (run[run.leaving].double() for run in (stayed, moved))
    return ((b - a[order]).norm() / a.norm()).item()


# Another sentence


class Patching(NamedTuple):
    """What one vector of another run, put into this one, moves: [depths, positions].

    ``moved`` is the share of the way from this run's answer to the other's: 1 − D(patched) / D(plain), with D
    the distance to the other run's answer (KL in bits; 1 − cosine where there are no logits). Depth 0 is the
    embedding, depth n the stream after block n − 1. ``swapped`` is the row of ``positions`` that is looked
    at: the first one where the texts differ.
    """

    depths: tuple[int, ...]
    positions: tuple[int, ...]
    moved: np.ndarray
    swapped: int

    @property
    def leaves(self) -> int | None:
        """The first depth from which on the swapped position moves less than half; None where it always does."""
        column = self.moved[:, self.swapped]
        strong = np.flatnonzero(~(column < 0.5))
        first = int(strong[-1]) + 1 if len(strong) else 0
        return self.depths[first] if first < len(self.depths) else None


def depth_site(depth: int) -> str:
    """The stream at a depth: the embedding, or what leaves block ``depth`` − 1."""
    return f"blocks.{depth - 1}.resid.out" if depth else "embed.out"


def differs_at(plain: Trace, other: Trace) -> tuple[int, ...]:
    """The positions where two texts of as many tokens differ.

    Raises:
        ValueError: they have different numbers of tokens, or are the same.
    """
    if len(plain) != len(other):
        raise ValueError(f"from_text: expected {len(plain)} tokens, got {len(other)}")
    found = tuple(i for i, (a, b) in enumerate(zip(plain.own_ids, other.own_ids, strict=True)) if a != b)
    if not found:
        raise ValueError("from_text: it is the same text")
    return found


def patches(
    plain: Trace, other: Trace, depths: Sequence[int], positions: Sequence[int], at: Place
) -> Iterator[tuple[float, ...]]:
    """Rows of :attr:`Patching.moved`, one depth at a time (Vig et al. 2020, section 3; Meng et al. 2022, section 2.1).

    Both runs are plain, and seen from the stack whose text differs.
    """
    far = costs(other, plain, at.side, [at.position]).amount.item()
    for depth in depths:
        site = depth_site(depth)
        row = []
        for position in positions:
            edit = PatchResidual(site=plain.full_name(site), position=position, from_ids=other.own_ids)
            patched = rerun(plain, (edit,), {edit: other[site][position].clone()})
            amount = costs(other, patched, at.side, [at.position]).amount.item()
            row.append(1 - amount / far if far > 0 else 0.0)
        yield tuple(row)


def neighbor(plain: Trace, position: int) -> str | None:
    """The text with one token replaced by the nearest other word of the model's own embedding table.

    Nearest by cosine among tokens that are written with letters and as long a gap in front, that are no
    other form of the same word, and whose text is read as exactly these tokens again; None where
    there is none among the 400 nearest.
    """
    if plain.text is None:
        return None
    tokenizer, table = plain.tokenizer, plain.model.embedding.weight.detach()
    ids = list(plain.own_ids)
    own = plain.tokens[position].text
    near = F.normalize(table, dim=-1) @ F.normalize(table[ids[position]], dim=-1)
    written = own.strip().lower()
    stem = written[:3]
    for id in near.topk(min(400, len(near))).indices.tolist():
        text = tokenizer.token(id).text
        word = text.strip().lower()
        gap = len(text) - len(text.lstrip())
        if id in tokenizer.controls or not word.isalpha() or gap != len(own) - len(own.lstrip()):
            # Tables of ids have no words: there any other token will do.
            if written.isalpha() or id == ids[position] or id in tokenizer.controls:
                continue
        elif word.startswith(stem) or written.startswith(word) or text.strip().isupper() != own.strip().isupper():
            continue
        changed = [*ids[:position], id, *ids[position + 1 :]]
        said = tokenizer.decode(i for i in changed if i not in tokenizer.controls)
        if said.strip() and tokenizer.encode(said) == changed:
            return said
    return None
