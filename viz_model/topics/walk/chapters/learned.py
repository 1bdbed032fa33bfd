"""Where the parameters come from: what the model wrote while it learned, and the norm's two places."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from viz_model.island.beats import Beat, Box, Chapter, Guess, Mark, Text, Toy
from viz_model.topics.walk import layout
from viz_model.topics.walk.run import Run
from viz_model.training import first_words, log, recipe
from viz_model.training.first_words import Moment

POINTS = 60


def chapter(run: Run) -> Chapter:
    look, language, lm = run.look, run.look.t.language, run.look.lm
    folder = None if lm is None else lm.folder
    moments = [] if folder is None else [one for one in first_words.read(folder) if language in one.texts]
    reports = _log(run, folder)
    beats, marks = list[Beat](), list[Mark]()
    steps = f"{1 + int(reports[-1]['step']):,}" if reports else ""
    base = _begun(run)
    if moments:
        beats.append(run.says("learned_1", "", text=_clean(moments[0].texts[language])))
    else:
        beats.append(run.says("learned_1_begun" if base else "learned_1_plain", "", base=base))
    beats.append(run.says("learned_2" if steps else "learned_2_plain", "", steps=steps))
    if moments:
        beats.append(run.says("learned_3", "", n=f"{moments[-1].step:,}", steps=steps))
        data = _moments(run, moments, language)
        marks.append(
            Toy(
                toy="moments",
                since=3,
                until=4,
                width=(1, 0),
                height=layout.HEIGHT,
                data=data,
                label=look.words("moments_label"),
            )
        )
        first = {**data, "moments": data["moments"][:1]}
        marks.append(
            Toy(
                toy="moments",
                until=2,
                width=(1, 0),
                height=layout.HEIGHT,
                data=first,
                label=look.words("moments_label"),
            )
        )
    twin = None if lm is None else lm.twin
    if lm is not None and twin is not None:
        guess = Guess(look.text("guess_twin"), ["Pre-LN", "Post-LN"], 0)
        beats.append(run.says("learned_4", "", guess))
        marks += _norms(run, len(beats))
        data = {
            "models": [lm.name, twin],
            "labels": [look.words(f"norm_{run.trace.norm_at}"), look.words("norm_other_" + run.trace.norm_at)],
        }
        marks.append(
            Toy(
                toy="twin",
                since=len(beats),
                x=0,
                y=340,
                width=(1, 0),
                height=70,
                data=data,
                label=look.words("twin_label"),
            )
        )
    if reports:
        marks += _curve(run, reports, len(beats) if twin else 99)
    return Chapter("learned", look.words("title_learned"), beats, marks, ("training_lab", look.words("closer_learned")))


def _begun(run: Run) -> str:
    """The bundled model whose parameters this one began with; "" where they were random, or nobody knows."""
    lm = run.look.lm
    return recipe.load(lm.name).begin_from if lm is not None and lm.name in recipe.names() else ""


def _log(run: Run, folder: Path | None) -> list[dict[str, Any]]:
    path = None if folder is None else folder / "log.jsonl"
    return run.look.once(lambda _: log.read(path) if path is not None and path.exists() else [], "walk log")


def _clean(text: str) -> str:
    """What a model wrote, in one line of letters that can be shown."""
    return " ".join(text.replace("�", "").split())


def _moments(run: Run, moments: list[Moment], language: str) -> dict[str, Any]:
    look = run.look
    return {
        "beginning": first_words.BEGINNINGS[language],
        "after": look.words("moments_after", step="{step}"),
        "loss": look.words("moments_bits", loss="{loss}"),
        "label": look.words("moments_label"),
        "moments": [
            {"step": one.step, "loss": one.bits_per_byte[language], "text": _clean(one.texts[language])}
            for one in moments
        ],
    }


def _curve(run: Run, reports: list[dict[str, Any]], until: int) -> Iterator[Mark]:
    """The loss of the published run, step by step: points from high to low."""
    look = run.look
    steps = np.array([one["step"] + 1 for one in reports], dtype=float)
    loss = np.array([one["loss"] for one in reports])
    at = np.unique(np.geomspace(1, len(reports), POINTS).astype(int)) - 1
    here: dict[str, Any] = {"since": 2, "until": min(3, until)}
    top, low = float(loss.max()), float(loss.min())
    yield Text(text=look.words("curve_loss"), x=0, y=24, look="bold", **here)
    yield Box(x=48, y=360, width=(1, -60), height=1, look="line", **here)
    for value in (top, low):
        y = 50 + 300 * (top - value) / ((top - low) or 1)
        yield Text(text=value, form="2", x=40, y=y, anchor="end", look="small", **here)
    for n, k in enumerate(at):
        share = np.log(steps[k] / steps[0] + 1e-9) / (np.log(steps[-1] / steps[0]) or 1)
        y = 50 + 300 * (top - loss[k]) / ((top - low) or 1)
        yield Box(
            look="dot",
            x=(float(share), 48 - 60 * float(share)),
            y=y,
            width=6,
            height=6,
            part="share",
            when=layout.turn(n, len(at)),
            **here,
        )
    for label, k in (("curve_first", 0), ("curve_last", -1)):
        anchor: Any = "start" if k == 0 else "end"
        yield Text(
            text=look.words(label, n=f"{int(steps[k]):,}"),
            x=(0, 48) if k == 0 else (1, -8),
            y=380,
            anchor=anchor,
            look="small",
            **here,
        )


def _norms(run: Run, since: int) -> Iterator[Mark]:
    """One part of a block, Pre-LN above and Post-LN below: where the norm stands on the stream."""
    look = run.look
    for y, place in ((70, "pre"), (220, "post")):
        is_own = run.trace.norm_at == place
        yield Text(text=look.words(f"norm_{place}"), x=0, y=y - 40, since=since, look="bold" if is_own else "")
        yield Box(x=0, y=y + 60, width=(1, 0), height=6, part="stream", since=since)
        boxes = (
            [("norm", 0.2, y - 12), ("part", 0.4, y - 12)]
            if place == "pre"
            else [("part", 0.3, y - 12), ("norm", 0.66, y + 42)]
        )
        for name, x, top in boxes:
            yield Box(look="cover", x=(x, 0), y=top, width=(0.16, 0), height=42, since=since)
            yield Box(
                look="frame",
                x=(x, 0),
                y=top,
                width=(0.16, 0),
                height=42,
                part="normed" if name == "norm" else "attn",
                since=since,
            )
            yield Text(text=look.words(f"box_{name}"), x=(x + 0.08, 0), y=top + 21, anchor="middle", since=since)
        yield Text(text="+", x=(0.6, 0), y=y + 46, anchor="middle", since=since, look="bold")
