"""Where the parameters come from: what the model wrote while it learned, and the norm's two places."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from viz_model.island.beats import Beat, Chapter, Mark
from viz_model.topics.walk.layout import WIDTH, Marks, Pen, toy, turn
from viz_model.topics.walk.run import Run
from viz_model.training import first_words, log, recipe

POINTS = 60
NORMS = {"pre": "Pre-LN", "post": "Post-LN"}


def chapter(run: Run) -> Chapter:
    look, language, lm = run.look, run.look.t.language, run.look.lm
    folder = None if lm is None else lm.folder
    path = None if folder is None else folder / "log.jsonl"
    reports = look.once(lambda _: log.read(path) if path is not None and path.exists() else [], "walk log")
    steps, beats, marks = f"{1 + int(reports[-1]['step']):,}" if reports else "", list[Beat](), list[Mark]()
    kept = [] if folder is None else [one for one in first_words.read(folder) if language in one.texts]
    texts = (" ".join(one.texts[language].replace("�", "").split()) for one in kept)  # what can be shown, in a line
    moments = [
        {"step": one.step, "loss": one.bits_per_byte[language], "text": text}
        for one, text in zip(kept, texts, strict=True)
    ]
    if moments:
        beats.append(run.says("learned_1", text=moments[0]["text"]))
        data = {"beginning": first_words.BEGINNINGS[language], "after": look.words("moments_after", step="{step}")}
        data["loss"] = look.words("moments_bits", loss="{loss}")
        for shown, when in ((moments, {"since": 3, "until": 4}), (moments[:1], {"until": 2})):
            marks.append(toy("moments", {**data, "moments": shown}, look.words("moments_label"), **when))
    else:  # began with the parameters of a bundled model, or with random ones, or nobody knows
        base = recipe.load(lm.name).begin_from if lm is not None and lm.name in recipe.names() else ""
        beats.append(run.says("learned_1_begun" if base else "learned_1_plain", base=base))
    compare = look.words("compare_encoder" if run.trace.config.kind == "encoder" else "compare")
    beats.append(run.says("learned_2" if steps else "learned_2_plain", steps=steps, compare=compare))
    if moments:
        beats.append(run.says("learned_3", n=f"{moments[-1]['step']:,}"))
    if lm is not None and lm.twin is not None:
        beats.append(run.says("learned_4", "", run.asks("guess_twin", list(NORMS.values()), 0)))
        marks += _norms(run, len(beats))
        norms = list(NORMS.values())[:: 1 if run.trace.norm_at == "pre" else -1]
        twins = {"models": [lm.name, lm.twin], "labels": norms}
        marks.append(toy("twin", twins, look.words("twin_label"), 70, since=len(beats), y=340))
    if reports:
        marks += _curve(run, reports)
    return run.chapter("learned", beats, marks, "training_lab")


def _curve(run: Run, reports: Sequence[dict[str, Any]]) -> Marks:
    """The loss of the published run, step by step: points from high to low."""
    look, pen = run.look, Pen({"since": 2, "until": 3})
    steps, loss = np.array([(one["step"] + 1.0, one["loss"]) for one in reports]).T
    at = np.unique(np.geomspace(1, len(reports), POINTS).astype(int)) - 1
    share = np.log(steps / steps[0] + 1e-9) / (np.log(steps[-1] / steps[0]) or 1)
    y = 50 + 300 * (loss.max() - loss) / (np.ptp(loss) or 1)
    yield pen.text(look.words("curve_loss"), y=24, look="bold")
    yield pen.box(48, 360, (1, -60), 1, "line")
    for n in (loss.argmax(), loss.argmin()):
        yield pen.end(float(loss[n]), 40, float(y[n]), form="2", look="small")
    for n, k in enumerate(at):
        x = (float(share[k]), 48 - 60 * float(share[k]))
        yield pen.box(x, float(y[k]), 6, 6, "dot", part="share", when=turn(n, len(at)))
    first, last = (look.words("step", n=f"{int(steps[k]):,}") for k in (0, -1))
    yield pen.text(first, 48, 380, look="small")
    yield pen.end(last, (1, -8), 380, look="small")


def _norms(run: Run, since: int) -> Marks:
    """One part of a block, Pre-LN above and Post-LN below: where the norm stands on the stream."""
    look, pen = run.look, Pen({"since": since})
    for place, y in (("pre", 70), ("post", 220)):
        norm, part = ((0.2, y - 12), (0.4, y - 12)) if place == "pre" else ((0.66, y + 42), (0.3, y - 12))
        yield pen.text(NORMS[place], y=y - 40, look="bold" if run.trace.norm_at == place else "")
        yield pen.box(0, y + 60, WIDTH, 6, part="stream")
        for name, (x, top), role in (("norm", norm, "normed"), ("attn", part, "attn")):
            yield pen.box((x, 0), top, (0.16, 0), 42, "cover")
            yield pen.box((x, 0), top, (0.16, 0), 42, "frame", part=role)
            yield pen.text(look.words(f"part_{name}"), (x + 0.08, 0), top + 21, anchor="middle")
        yield pen.text("+", (0.6, 0), y + 46, anchor="middle", look="bold")
