"""Take one thing away: whole and broken write side by side, with the same random numbers."""

from typing import Any

import numpy as np
import torch

from viz_model.claims import exceeds
from viz_model.config import NoNorm
from viz_model.config import NoPosition as WithoutPosition
from viz_model.island.beats import Chapter
from viz_model.measures import change
from viz_model.runs import edits
from viz_model.runs.edits import Edit
from viz_model.topics.walk.chapters.write import n_parameters, of, words, writes
from viz_model.topics.walk.layout import Marks, Pen, bars, toy
from viz_model.topics.walk.run import Run

MOST = 40
"""Tokens that both write."""
LARGE = 20_000_000
"""Parameters from which on a run without each part takes too long to be made for a question."""


def parts(run: Run) -> dict[str, Edit]:
    """What may be taken out of the run, one thing at a time."""
    config, side = run.trace.config, run.trace.stack.side
    found: dict[str, tuple[bool, Edit]] = {
        "position": (not isinstance(config.layer(side, 0).position, WithoutPosition), edits.NoPosition()),
        "mask": (not run.visible.all() or config.kind == "decoder", edits.NoMask(side=side)),
        "head": (True, edits.AblateHead(**place(run), side=side)),
        "scale": (config.divides_by_root, edits.NoScale()),
        "norm": (not isinstance(config.norm, NoNorm), edits.NoNorm()),
    }
    return {name: edit for name, (has_it, edit) in found.items() if has_it}


def place(run: Run) -> dict[str, Any]:
    """The head that may be taken out: the selected one; of what was recorded the one for which that was done."""
    recorded = map(int, run.look.options["saved"].split(".")) if run.is_recorded else (run.look.layer, run.look.head)
    return dict(zip(("layer", "head"), recorded, strict=True))


def chapter(run: Run) -> Chapter:
    look, found, is_written = run.look, parts(run), writes(run)
    labels = [look.words(f"without_{name}", **place(run)) for name in found]
    beats = [run.says("broken_1" if is_written else "broken_1_read")]
    named = dict[int, int]()  # which part a beat speaks of: that one is taken out when it begins
    if measured := _hurts(run, found):
        before, *without = measured
        most, after = int(np.argmax(without)), max(without)
        key = "broken_hurts" if exceeds(after, before, 2) else "broken_spares"
        guess = run.asks("guess_hurts", labels, most)
        beats.append(run.says(key, "", guess, worst=labels[most], before=f"{before:.2f}", after=f"{after:.2f}"))
        named[len(beats)] = most
    if "mask" in found and run.trace.config.kind == "decoder":
        beats.append(run.says("broken_mask"))
        named[len(beats)] = list(found).index("mask")
    beats.append(run.says("broken_end" if run.look.is_saved else "broken_end your_turn"))
    if not is_written:
        return run.chapter("broken", beats, _changes(run, found, labels), "ablations")
    changes = [edits.write((edit,)) for edit in found.values()]
    offered = list(zip(changes, labels, (look.words("without", what=label) for label in labels), strict=True))
    data = {"of": of(run), "text": run.trace.text or "", "parts": offered, "named": named, "most": MOST}
    data |= {"whole": look.words("whole"), "words": words(run)}
    return run.chapter("broken", beats, [toy("broken", data, look.words("broken_label"))], "ablations")


def _hurts(run: Run, found: dict[str, Edit]) -> list[float] | None:
    """Mean surprise of the text's tokens in nats, in the run and then without each part; None where nothing is read."""
    is_small = run.trace.config.kind == "decoder" and n_parameters(run) <= LARGE and len(run) > 2
    if run.trace.edits or not is_small or not writes(run):
        return None
    answers = torch.tensor(run.trace.own_ids)[1:]

    def surprise(*made: Edit) -> float:
        def measured(_: object) -> float:
            logits = (change.rerun(run.trace, made) if made else run.trace)["logits"]
            return float(torch.nn.functional.cross_entropy(logits[:-1], answers))

        return run.look.once(measured, ("walk hurts", edits.write(made)))

    return [surprise(), *map(surprise, found.values())]


def _changes(run: Run, found: dict[str, Edit], labels: list[str]) -> Marks:
    """What becomes of the likeliest answer without each part."""
    look, classes = run.look, run.trace.config.classes
    if run.trace.edits or not (run.predicts or classes):
        return
    site, at = ("class.probs", 0) if classes else ("probs", look.token)
    traces = [run.trace, *(change.rerun(run.trace, (edit,)) for edit in found.values())]
    probs = np.stack([trace[site].reshape(-1, trace[site].shape[-1])[at].numpy() for trace in traces])
    best = int(probs[0].argmax())
    yield Pen().text(look.words("chance_of", token=classes[best] if classes else run.token(best)), y=30, look="bold")
    labels = [look.words("whole"), *labels]
    yield from bars(run, labels, probs[:, best], "percent", 60, part="share")
