"""Claims of the page of experiments, each on runs made again by hand from the model's own code."""

import math
import operator
from collections.abc import Iterator
from dataclasses import replace
from functools import partial

import numpy as np
import torch

from claim_checks import Shown, seed
from viz_model.claims import Verdict
from viz_model.island.look import Look
from viz_model.measures import stream
from viz_model.measures.change import GUESSES, rerun
from viz_model.runs import edits
from viz_model.runs.trace import Trace
from viz_model.texts import Texts
from viz_model.topics.ablations import breaking, compare, pieces, reading, structure
from viz_model.topics.ablations.compare import Compared
from viz_model.topics.ablations.lab import Lab
from viz_model.topics.ablations.reading import Without
from viz_model.topics.ablations.sentence import Reach
from viz_model.topics.ablations.structure import Shift

EXAMPLES = {
    "ablations.scale.sharper": (Shift(2.0, 1.9), Shift(2.0, 1.96)),
    "ablations.scale.flatter": (Shift(1.0, 1.2), Shift(1.0, 1.04)),
    "ablations.scale.same": (Shift(1.0, 1.04), Shift(1.0, 0.9)),
    "ablations.position.loses": (Shift(0.76, 0.37), Shift(0.76, 0.42)),
    "ablations.position.keeps": (Shift(0.76, 0.38), Shift(0.76, 0.1)),
    "ablations.shuffle.same": (1e-5, 0.1),
    "ablations.shuffle.other": (0.1, 1e-5),
    "ablations.mask.little": (0.09, 0.1),
    "ablations.mask.some": (0.5, 0.51),
    "ablations.mask.most": (0.51, 0.5),
    "ablations.residual.alike": (Shift(0.2, 0.4), Shift(0.2, 0.24)),
    "ablations.residual.apart": (Shift(0.4, 0.2), Shift(0.4, 0.38)),
    "ablations.residual.same": (Shift(0.2, 0.24), Shift(0.2, 0.4)),
    "ablations.norm.longer": (Shift(2.0, math.nan), Shift(2.0, 4.0)),
    "ablations.norm.shorter": (Shift(2.0, 0.9), Shift(2.0, 1.0)),
    "ablations.norm.same": (Shift(2.0, 4.0), Shift(2.0, math.inf)),
    "ablations.head.survives": (0, 1),
    "ablations.head.falls": (1, 0),
    **{f"ablations.pattern.{name}": (name, "other") for name in ("uniform", "previous", "first")},
    **{f"ablations.layer.{name}": (name, "other") for name in ("attn", "cross", "ffn")},
    "ablations.neuron.stays": (False, True),
    "ablations.neuron.changes": (True, False),
    "ablations.expert.stays": (False, True),
    "ablations.expert.changes": (True, False),
    "ablations.each_expert.spared": (Without((0.1, 0.2), (0.3, 0.9)), Without((0.1, 0.3), (0.3, 0.9))),
    "ablations.each_expert.enough": (Without((0.1, 0.3), (0.3, 0.9)), Without((0.1, 0.2), (0.3, 0.9))),
    "ablations.flip.stays": (False, True),
    "ablations.flip.changes": (True, False),
    "ablations.patch.never": (Reach(0, 4), Reach(1, 4)),
    "ablations.patch.early": (Reach(2, 4), Reach(0, 4)),
    "ablations.patch.late": (Reach(3, 4), Reach(2, 4)),
    "ablations.patch.end": (Reach(None, 4), Reach(4, 4)),
    "ablations.guesses.same": (Compared(1e-5, (0, 0)), Compared(0.1, (0, 0))),
    "ablations.guesses.stays": (Compared(0.1, (0, 0)), Compared(0.1, (0, 1))),
    "ablations.guesses.changes": (Compared(0.1, (0, 1)), Compared(1e-5, (0, 0))),
}
ELSEWHERE = (
    "ablations.pattern.",
    "ablations.layer.",
    "ablations.patch.",
    "ablations.shuffle.",
    "ablations.mask.little",
    "ablations.norm.same",
    "ablations.scale.flatter",
    "ablations.each_expert.spared",
)
"""Experiments of many runs each, which the page's tests make; and guesses that no bundled model bore out so far."""

ONE_IN = 12
"""Of so many texts one is experimented on: each experiment runs the model again."""


def shown(trace: Trace) -> Iterator[Shown]:
    if seed(repr(trace.ids)) % ONE_IN or len(trace) < 2:
        return
    position = len(trace) - 1
    yield from _structure(trace)
    if not trace.config.has_logits or trace.side != trace.config.sides[-1]:
        return
    at = breaking.place(trace, position)
    neuron = int(trace.row("blocks.0.ffn.act", position).abs().argmax())
    value = 10 * float(trace["blocks.0.ffn.act"][position, neuron]) or 10.0
    row = breaking.mean_rows(trace)[position]
    row[position] = 0
    tried: list[tuple[Verdict[bool], edits.Edit]] = [
        (pieces.NEURON, edits.SetNeuron(layer=0, neuron=neuron, value=value, position=position))
    ]
    if row.max() > 0:
        tried.append((reading.FLIP, edits.FlipMask(query=position, key=int(row.argmax()))))
    for verdict, edit in tried:
        after = rerun(trace, (edit,))
        cost = breaking.costs(trace, after, at.side, [position])
        is_other = _is_other(trace, after)
        yield Shown(verdict, cost.changed.item(), partial(operator.eq, "changes" if is_other else "stays"))
        right = "changes" if is_other else "stays" if _divergence(trace, after) >= 0.0005 else "same"
        yield Shown(GUESSES, _compared(trace, after, position), partial(operator.eq, right))
    yield from _experts(trace, at)
    heads = [edits.AblateHead(layer=trace.n_layers - 1, head=head) for head in range(trace.config.n_heads)]
    changing = sum(cost.changed.item() for cost in breaking.tried(trace, heads, at.side, [position]))
    falls = any(_is_other(trace, rerun(trace, (edit,))) for edit in heads)
    yield Shown(pieces.HEAD, changing, partial(operator.eq, "falls" if falls else "survives"))


def _compared(before: Trace, after: Trace, position: int) -> Compared:
    """What the page says of a position, of all that it has at once."""
    plain = Look.at(before, Texts.of("en", before.config), "ablations")
    found = compare.guesses(Lab(replace(Look.at(after, plain.t, "ablations", token=position), unedited=plain)))
    at = position if len(found.ids) > 1 else 0
    return Compared(found.divergence[at], (found.best[0][at], found.best[1][at]))


def _experts(trace: Trace, at: breaking.Place) -> Iterator[Shown]:
    """Each expert of the last layer that has some taken out, and alone; by hand, with the router's own rows."""
    layers = [n for n in range(trace.n_layers) if f"blocks.{n}.ffn.router" in trace]
    if not layers:
        return
    layer = layers[-1]
    n_experts = trace[f"blocks.{layer}.ffn.router"].shape[1]
    sorts = (edits.ExpertOff, edits.ExpertOnly)
    tried = [[sort(layer=layer, expert=n) for n in range(n_experts)] for sort in sorts]
    found = [list(breaking.tried(trace, each, at.side, [at.position])) for each in tried]
    by_hand = [[_divergence(trace, _with_router(trace, layer, n, alone)) for n in range(n_experts)] for alone in (0, 1)]

    def right(claim: str) -> bool:
        gap = max(by_hand[0]) - min(by_hand[1])
        return gap < 1e-4 if claim == "spared" else gap > -1e-4

    yield Shown(reading.EACH_EXPERT, Without(*(tuple(c.amount.item() for c in each) for each in found)), right)
    strongest = int(trace[f"blocks.{layer}.ffn.chosen"][-1].argmax())
    is_other = bool(_with_router(trace, layer, strongest, 0)[-1].argmax() != trace["logits"][-1].argmax())
    changes = found[0][strongest].changed.item()
    yield Shown(reading.EXPERT, changes, partial(operator.eq, "changes" if is_other else "stays"))


def _with_router(trace: Trace, layer: int, expert: int, alone: int) -> torch.Tensor:
    """The logits of the model where its router's output is overwritten by a hook."""

    def over(module: torch.nn.Module, read: object, out: torch.Tensor) -> torch.Tensor:
        barred = torch.arange(out.shape[-1]) != expert if alone else torch.arange(out.shape[-1]) == expert
        return out.masked_fill(barred, -math.inf)

    router = trace.model.get_submodule(f"decoder.blocks.{layer}.ffn.router")
    hook = router.register_forward_hook(over)
    try:
        return trace.model(torch.tensor([trace.ids]))[0]
    finally:
        hook.remove()


def _structure(trace: Trace) -> Iterator[Shown]:
    layer, head = trace.n_layers - 1, 0
    for edit in (edits.NoScale(), edits.NoPosition(), edits.NoResidual(), edits.NoNorm()):
        try:
            after = rerun(trace, (edit,))
        except ValueError:  # the model has no such part
            continue
        match edit:
            case edits.NoScale():
                both = (float(np.nanmean(breaking.row_entropies(run, layer, head))) for run in (trace, after))
                gap = _entropy(after, layer, head) - _entropy(trace, layer, head)
                right = "flatter" if gap > 0.05 else "sharper" if gap < -0.05 else "same"
                yield Shown(structure.SCALE, Shift(*both), partial(operator.eq, right))
            case edits.NoPosition():
                shares = [breaking.previous_shares(run) for run in (trace, after)]
                best = np.unravel_index(shares[0].argmax(), shares[0].shape)
                rows = [run.head(f"blocks.{best[0]}.attn.pattern", int(best[1])) for run in (trace, after)]
                was, now = (one.diagonal(-1).mean().item() for one in rows)
                shift = Shift(*(float(one[best]) for one in shares))
                yield Shown(structure.POSITION, shift, partial(operator.eq, "loses" if now < was / 2 else "keeps"))
            case edits.NoResidual():
                cosines = [float(stream.stream_similarity(run)[-1]) for run in (trace, after)]
                was, now = (_cosine(run) for run in (trace, after))
                right = "alike" if now - was > 0.05 else "apart" if now - was < -0.05 else "same"
                yield Shown(structure.RESIDUAL, Shift(*cosines), partial(operator.eq, right))
            case edits.NoNorm():
                lengths = [float(breaking.lengths_by_depth(run)[-1]) for run in (trace, after)]
                was, now = (float(np.median(_last(run).norm(dim=-1))) for run in (trace, after))
                right = "same" if was / 2 <= now <= 2 * was else "shorter" if now < was / 2 else "longer"
                yield Shown(structure.NORM, Shift(*lengths), partial(operator.eq, right))
    if trace.side == "decoder":
        after = rerun(trace, (edits.NoMask(side="decoder" if len(trace.config.sides) > 1 else None),))
        share = float(breaking.future_shares(after).mean())
        later = _later(after)
        right = "little" if later < 0.1 else "most" if later > 0.5 else "some"
        yield Shown(structure.MASK, share, partial(operator.eq, right))


def _entropy(run: Trace, layer: int, head: int) -> float:
    """Over the rows that see more than one key, in bits."""
    rows = run.head(f"blocks.{layer}.attn.pattern", head).tolist()
    seen = run.head(f"blocks.{layer}.attn.mask", head).tolist()
    chosen = [row for row, mask in zip(rows, seen, strict=True) if sum(added == 0 for added in mask) > 1]
    return sum(-sum(p * math.log2(p) for p in row if p > 0) for row in chosen) / len(chosen)


def _last(run: Trace) -> torch.Tensor:
    return run[f"blocks.{run.n_layers - 1}.resid.out"].double()


def _cosine(run: Trace) -> float:
    unit = _last(run) / _last(run).norm(dim=-1, keepdim=True)
    n = len(unit)
    return (((unit @ unit.T).sum() - n) / (n * (n - 1))).item()


def _later(run: Trace) -> float:
    names = [name for layer in range(run.n_layers) if (name := f"blocks.{layer}.attn.pattern") in run]
    return float(torch.stack([run[name].triu(1).sum(-1)[:, :-1].mean() for name in names]).mean())


def _is_other(before: Trace, after: Trace) -> bool:
    return bool(before["logits"][-1].argmax() != after["logits"][-1].argmax())


def _divergence(before: Trace, after: Trace | torch.Tensor) -> float:
    logits = before["logits"], after if isinstance(after, torch.Tensor) else after["logits"]
    p, q = (one[-1].double().softmax(-1) for one in logits)
    return float((p * (p / q).log2()).sum())
