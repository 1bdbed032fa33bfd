"""Take one thing away: whole and broken write side by side, with the same random numbers."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import torch

from viz_model.claims import exceeds
from viz_model.config import NoNorm
from viz_model.config import NoPosition as WithoutPosition
from viz_model.island.beats import Chapter, Guess, Text, Toy
from viz_model.island.look import Look
from viz_model.measures import change
from viz_model.runs import edits
from viz_model.runs.edits import Edit
from viz_model.runs.trace import Trace
from viz_model.topics.walk import layout
from viz_model.topics.walk.chapters.write import of, words, writes
from viz_model.topics.walk.run import Run

MOST = 40
"""Tokens that both write."""
LARGE = 20_000_000
"""Parameters from which on a run without each part takes too long to be made for a question."""


def parts(run: Run) -> dict[str, Edit]:
    """What may be taken out of the run, one thing at a time."""
    trace = run.trace
    side = trace.stack.side
    found: dict[str, Edit] = {}
    if not isinstance(trace.config.layer(side, 0).position, WithoutPosition):
        found["position"] = edits.NoPosition()
    if not bool(run.visible.all()) or trace.config.kind == "decoder":
        found["mask"] = edits.NoMask(side=side)
    layer, head = place(run)
    found["head"] = edits.AblateHead(layer=layer, head=head, side=side)
    if trace.config.divides_by_root:
        found["scale"] = edits.NoScale()
    if not isinstance(trace.config.norm, NoNorm):
        found["norm"] = edits.NoNorm()
    return found


def place(run: Run) -> tuple[int, int]:
    """The head that may be taken out: the selected one; of what was recorded the one for which that was done."""
    if run.is_recorded:
        layer, head = map(int, run.look.options["saved"].split("."))
        return layer, head
    return run.look.layer, run.look.head


def chapter(run: Run) -> Chapter:
    look, found = run.look, parts(run)
    measured = _hurts(run, found)
    names = list(found)
    labels = [look.words(f"without_{name}", **dict(zip(("layer", "head"), place(run), strict=True))) for name in names]
    beats = []
    if measured is not None:
        most = int(np.argmax(measured))
        guess = Guess(look.text("guess_hurts"), labels, most)
        before, after = _surprise(run, None), measured[most]
        values = {"worst": labels[most], "before": f"{before:.2f}", "after": f"{after:.2f}"}
        key = "broken_1" if writes(run) else "broken_1_read"
        beats.append(run.says(key))
        hurts = "broken_hurts" if exceeds(after, before, 2) else "broken_spares"
        beats.append(run.says(hurts, "", guess, **values))
    else:
        beats.append(run.says("broken_1" if writes(run) else "broken_1_read"))
    if "mask" in found and run.trace.config.kind == "decoder":
        beats.append(run.says("broken_mask"))
    beats.append(run.says("broken_end"))
    if writes(run):
        offered = [
            (edits.write((edit,)), label, look.words("without", what=label))
            for edit, label in zip(found.values(), labels, strict=True)
        ]
        data: dict[str, Any] = {"of": of(run), "text": run.trace.text or "", "parts": offered, "most": MOST}
        data |= {"whole": look.words("whole"), "words": words(run)}
        marks: list[Any] = [
            Toy(toy="broken", width=(1, 0), height=layout.HEIGHT, data=data, label=look.words("broken_label"))
        ]
    else:
        marks = _changes(run, found, labels)
    return Chapter("broken", look.words("title_broken"), beats, marks, ("ablations", look.words("closer_broken")))


def _edited(run: Run, edit: Edit | None) -> torch.Tensor:
    """The logits with a part taken out, or as the run has them: [T, V]"""
    return (run.trace if edit is None else change.rerun(run.trace, (edit,)))["logits"]


def _surprise(run: Run, edit: Edit | None) -> float:
    """Mean surprise of the text's own tokens, in nats."""
    logits = _edited(run, edit)
    ids = torch.tensor(run.trace.own_ids)
    return float(torch.nn.functional.cross_entropy(logits[:-1], ids[1:]))


def _hurts(run: Run, found: dict[str, Edit]) -> list[float] | None:
    """Mean surprise without each part; None where there is no text to be surprised at."""
    size = sum(weight.numel() for weight in run.trace.model.parameters())
    if run.trace.edits or size > LARGE or not writes(run) or len(run) < 3 or run.trace.config.kind != "decoder":
        return None
    return [
        run.look.once(partial(_surprised, run, edit), ("walk hurts", edits.write((edit,)))) for edit in found.values()
    ]


def _surprised(run: Run, edit: Edit, _: Look) -> float:
    return _surprise(run, edit)


def _changes(run: Run, found: dict[str, Edit], labels: list[str]) -> list[Any]:
    """What becomes of the likeliest answer without each part."""
    look, classes = run.look, run.trace.config.classes
    if run.trace.edits or not (run.predicts or classes):
        return []
    site, at = ("class.probs", 0) if classes else ("probs", look.token)

    def probs(trace: Trace) -> torch.Tensor:
        return trace[site].reshape(-1, trace[site].shape[-1])[at]

    whole = probs(run.trace)
    best = int(whole.argmax())
    name = str(classes[best]) if classes else run.token(best)
    shares = [float(whole[best]), *(float(probs(change.rerun(run.trace, (edit,)))[best]) for edit in found.values())]
    rows = [(layout.lengths(np.array(one), less=300), one) for one in shares]
    return [
        Text(text=look.words("chance_of", token=name), x=0, y=30, look="bold"),
        *layout.bars([look.words("whole"), *labels], rows, "percent", 60, 44, part="share"),
    ]
