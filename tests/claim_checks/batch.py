"""Claims of the page on batches."""

from collections.abc import Iterator
from functools import partial

import torch

from claim_checks import Shown, model_of, seed
from viz_model.runs.trace import Trace
from viz_model.topics.batch import norms, run
from viz_model.topics.batch.loss import COUNTED, Losses
from viz_model.topics.batch.norms import BATCH_NORM, LAYER_NORM, Moves
from viz_model.topics.batch.rows import BESIDE, OTHERS
from viz_model.topics.batch.shapes import ALONE, OPEN, Gap

MOVES = Moves(layer_four=0.0, layer_two=0.0, batch_four=0.1, batch_two=0.2)
EXAMPLES = {
    "batch.alone.same": (Gap(2e-5, 16.0, 3), Gap(2e-3, 16.0, 3)),
    "batch.open.full": (Gap(0.0, 16.0, 0), Gap(0.0, 16.0, 1)),
    "batch.open.same": (Gap(2e-5, 16.0, 3), Gap(0.1, 16.0, 3)),
    "batch.counted.none": (Losses(2.0, 2.0, 0), Losses(2.0, 3.0, 2)),
    "batch.counted.higher": (Losses(2.0, 3.0, 2), Losses(3.0, 2.0, 2)),
    "batch.counted.lower": (Losses(3.0, 2.0, 2), Losses(2.0, 2.0, 2)),
    "batch.layer_norm.nothing": (MOVES, MOVES._replace(layer_two=1e-7)),
    "batch.batch_norm.smaller": (MOVES, MOVES._replace(batch_two=0.1)),
}
ELSEWHERE = ("batch.open.full", "batch.counted.none", "batch.counted.lower")
"""Batches that the visitor makes; the texts here stand beside sentences of the page's own."""


def _logits(rows: list[run.Row]) -> tuple[list[torch.Tensor], list[torch.Tensor], torch.Tensor]:
    """Of each row alone and in the batch without padding, and nats where padding would be asked for."""
    model = rows[0].run.model
    first = rows[0].run.config.sides[0]
    ids = [row.ids(first) for row in rows]
    targets = None if rows[0].run.target_ids is None else [row.ids("decoder") for row in rows]

    def table(lists: list[tuple[int, ...]]) -> torch.Tensor:
        width = max(map(len, lists))
        return torch.tensor([[*row, *[0] * (width - len(row))] for row in lists])

    lengths = [len(row) for row in ids]
    padding = torch.tensor([[n >= length for n in range(max(lengths))] for length in lengths])
    with torch.inference_mode():
        made = model(table(ids), None if targets is None else table(targets), padding=padding)
        alone = [
            model(torch.tensor([own]), None if targets is None else torch.tensor([targets[n]]))[0]
            for n, own in enumerate(ids)
        ]
    ends = [len(own) for own in alone]
    nats = [-made[n, end:].log_softmax(-1)[:, run.PADDING] for n, end in enumerate(ends)]
    return alone, [made[n, :end] for n, end in enumerate(ends)], torch.cat(nats)


def _alone(rows: list[run.Row], claim: str) -> bool:
    alone, together, _ = _logits(rows)
    largest = max(float(each.abs().max()) for each in alone)
    gaps = [float((a - b).abs().max()) for a, b in zip(alone, together, strict=True)]
    return claim == "same" and max(gaps) <= 2e-5 * max(1.0, largest)


def _counted(rows: list[run.Row], claim: str) -> bool:
    _, together, nats = _logits(rows)
    pairs = [
        (logits[n], answer)
        for row, logits in zip(rows, together, strict=True)
        for n, answer in enumerate(row.answers or ())
    ]
    losses = [-float(logits.log_softmax(-1)[answer]) for logits, answer in pairs if answer >= 0]
    mean, padded = sum(losses) / len(losses), float(nats.mean())
    return padded > mean if claim == "higher" else padded < mean


def _moves(own: torch.Tensor, near: list[torch.Tensor], far: list[torch.Tensor], token: int, claim: str) -> bool:
    """The own vector by PyTorch's norms: over its features, and over all tokens of two batches of each size."""
    if claim == "nothing":
        made = [torch.layer_norm(torch.cat([own, *rows]), own.shape[1:])[token] for rows in (near, far)]
        return bool((made[0] == made[1]).all())
    moved = []
    for n in (3, 1):
        norm = torch.nn.BatchNorm1d(own.shape[1], affine=False).train()
        before, after = (norm(torch.cat([own, *rows[:n]]))[token] for rows in (near, far))
        moved.append(float((after - before).norm() / before.norm()))
    return moved[1] > 0.999 * moved[0] > 0


def shown(trace: Trace) -> Iterator[Shown]:
    if seed(trace.text or "") % 40:
        return  # seven sentences are run for each
    lm = model_of(trace)
    to = trace.target_language
    rows = [run.row(lm, trace.text or "", trace.target, to)]
    target = "" if trace.target_ids is not None else None
    rows += [run.row(lm, text, target, to) for text in BESIDE]
    if trace.stack.side == trace.config.sides[-1]:
        found = run.together(lm.model, rows)
        yield Shown(ALONE, Gap(float(found.gaps.max()), found.largest, found.n_padding), partial(_alone, rows))
        # Where nothing looks ahead, padding at the end cannot matter.
        gap = Gap(float(found.open_gaps.max()), found.largest, found.n_padding)
        yield Shown(OPEN, gap, lambda claim: claim == "same" and trace.config.kind == "decoder")
        if found.loss is not None and found.counted is not None:
            losses = Losses(found.loss, found.counted, int(found.beyond.sum()))
            yield Shown(COUNTED, losses, partial(_counted, rows))
    name = trace.full_name("blocks.1.resid.in")
    own, *near = (row.run.whole[name] for row in rows)
    far = [run.row(lm, text, target, to).run.whole[name] for text in OTHERS]
    token = len(own) - 1
    moved = norms.neighbors(own, near, far).moves
    moves = Moves(*(moved[k, s, token] for k in (0, 1) for s in (0, 1)))
    for verdict in (LAYER_NORM, BATCH_NORM):
        yield Shown(verdict, moves, partial(_moves, own, near, far, token))
