"""The pairs to choose from, the two functions and the question; and once there is an answer, why one is wrong."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from viz_model.claims import Claim, Verdict
from viz_model.drawing import chart, heatmap, matrix
from viz_model.drawing.scene import Cells, Mark, Scene, Text
from viz_model.drawing.tables import Among, Phrase, resolved
from viz_model.island.look import Look
from viz_model.island.page import Button, Buttons, Chooser, there
from viz_model.island.prose import Line
from viz_model.texts.markdown import literal
from viz_model.topics.mistakes.bugs import BUGS
from viz_model.topics.mistakes.forward import Effect, View
from viz_model.topics.mistakes.pair import (
    Matrix,
    Outcome,
    Pair,
    answer,
    answers,
    facts,
    given,
    outcome,
    pair,
    pooled,
    site,
    written,
    wrong_letter,
)

MOST_QUOTED = 60
EFFECT: Verdict[Effect] = Verdict(
    "mistakes.effect",
    Claim("lost", lambda effect: (effect.before >= 0) & np.isnan(effect.change)),
    Claim("same", lambda effect: (effect.before >= 0) & (effect.after == effect.before)),
    Claim("other", lambda effect: effect.before >= 0),
)


def score(look: Look) -> Iterator[Line]:
    """How many were found."""
    is_found = [letter == wrong_letter(name) for name, letter in answers(look).items()]
    found, missed = sum(is_found), len(is_found) - sum(is_found)
    yield Line(look.words("score_missed" if missed else "score", found=found, total=len(BUGS), missed=missed))


def reset(look: Look) -> Buttons | None:
    return Buttons("reset", [Button(look.words("reset"), {"answers": ""})]) if answers(look) else None


def choose(look: Look) -> Chooser:
    given = answers(look)
    marks = {name: "✓ " if letter == wrong_letter(name) else "✗ " for name, letter in given.items()}
    options = {name: marks.get(name, "") + look.words(f"name_{name}") for name in BUGS}
    return Chooser("bug", options, look.words("bug"), look.words("bug_help"), asks=True)


def tell(look: Look) -> Iterator[Line]:
    """What the step is, and where it is computed."""
    bug, view, where, lack, _ = pair(look)
    yield look.title(f"name_{bug.name}")
    lacking = look.words(f"lack_{lack}", layer=look.layer_number) if lack else ""
    if view is None:
        yield Line(look.words("nowhere", lack=lacking), "notice")
        return
    yield look.text(f"task_{bug.name}", **facts(view, bug))
    if where == "other_side":
        side = look.common(f"side_{view.run.stack.side}")
        yield look.note("other_side", side=side, lack=lacking)
    elif where == "stand_in":
        text = view.run.text or ""
        shown = text if len(text) <= MOST_QUOTED else f"{text[: MOST_QUOTED - 1].rstrip()}…"
        yield look.note("stand_in", model=literal(view.run.name), text=Among([shown], 0, is_code=True), lack=lacking)
    yield Line(literal(bug.promise(view.run)), "note")
    if answer(look) is None:
        yield Line(f"**{look.words('which')}**")


def is_computed(look: Look) -> bool:
    """Whether there is a run on which both functions are computed."""
    return pair(look).view is not None


def _known(look: Look) -> tuple[Pair, View]:
    found = pair(look)
    return found, there(found.view)


def code(letter: str) -> Callable[[Look], Iterator[Line]]:
    """The lines under a letter; once there is an answer, whether they are right."""

    def said(look: Look) -> Iterator[Line]:
        found, view = _known(look)
        yield Line(f"**{letter}**")
        yield Line(f"```python\n{found.ordered(*found.bug.sources(view.run))[letter]}\n```")
        if answer(look) is not None:
            mark, verdict = ("✗", "verdict_wrong") if letter == found.wrong else ("✓", "verdict_right")
            yield Line(f"**{mark} {look.words(verdict, letter=letter)}**")

    return said


def pick(letter: str) -> Callable[[Look], Buttons]:
    """Only the first answer to a pair counts."""

    def made(look: Look) -> Buttons:
        given = written({**answers(look), pair(look).bug.name: letter})
        return Buttons(f"pick {letter}", [Button(look.words("pick", letter=letter), {"answers": given})])

    return made


def verdict(look: Look) -> Iterator[Line]:
    found = pair(look)
    key = "verdict_hit" if answer(look) == found.wrong else "verdict_miss"
    yield Line(look.words(key, letter=found.wrong), "notice")


def why(look: Look) -> Iterator[Line]:
    found, view = _known(look)
    yield look.text(f"why_{found.bug.name}", **facts(view, found.bug))


def effect(look: Look) -> Iterator[Line]:
    """What the whole model says with the wrong one, and how close the right one comes to the run."""
    (bug, *_), view = _known(look)
    came = outcome(view, bug)
    if came.effect is not None:
        yield _effect(look, view, came.effect)
    if np.isfinite(came.gap).all():
        gap = view.by("layer" if bug.is_of_block else "", came.gap if bug.is_of_block else came.gap[0], "g3")
        key = "checked_edited" if view.run.edits else "checked"
        yield look.note(key, site=site(view, bug), gap=gap)


def _effect(look: Look, view: View, found: Effect) -> Line:
    run = view.run.at(view.run.config.sides[-1])
    has_logits = run.config.has_logits
    is_after = run.stack.side == "decoder" and has_logits
    where = look.t(f"{look.topic}.{'where_after' if is_after else 'where_at'}", token="{{token}}")
    labels = [token.label for token in run.tokens]
    token = Among(labels, view.of_output(np.arange(len(run))), is_code=True)
    said = {"where": where, "token": token, "change": view.of_output(found.change, "g3" if has_logits else "%1")}
    if has_logits:
        small = view.of_output((found.change < 0.001).astype(int))
        said["change"] = Phrase(Among(["{{bits}}", "< 0.001"], small), {"bits": said["change"]})
        known = np.unique([found.before, found.after])
        names = [one.label for one in run.tokenizer.tokens(known.tolist())]
        for name, ids, shares in (
            ("before", found.before, found.before_share),
            ("after", found.after, found.after_share),
        ):
            said[name] = Among(names, view.of_output(np.searchsorted(known, ids)), is_code=True)
            said[f"{name}_share"] = view.of_output(shares, "percent")
    if view.outputs:
        fixed = {axis: at for axis, at in view.fixed.items() if axis == "token"}
        return view.there.claim(EFFECT, found, "token", "text", fixed, **said)
    return view.there.claim(EFFECT, Effect(*(each[-1] for each in found)), "", **said)


def go_on(look: Look) -> Buttons:
    """The next pair without an answer; where none is left, simply the next."""
    names, given = list(BUGS), answers(look)
    at = names.index(pair(look).bug.name)
    later = names[at + 1 :] + names[:at]
    following = next((name for name in later if name not in given), later[0])
    return Buttons("next", [Button(look.words("next"), {"bug": following})])


MOST_SUMS, MOST_BARS = 24, 8
"""Rows beside which their sum is written; tokens of which a probability is drawn."""
CLOSE = 0.05
"""Relative difference below which two pictures look alike, and the difference deserves its own."""


def names(look: Look, view: View, found: Matrix) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """What rows and columns are called; those beyond the tokens are padding."""
    labels, (n_rows, n_columns) = view.there.labels, found.values.shape[-2:]
    if found.columns == "dimension":
        return labels[:n_rows], tuple(map(str, range(n_columns)))
    return labels[:n_rows], (*labels, *(look.words("padding"),) * (n_columns - len(labels)))


def _draw(look: Look, view: View, found: Matrix, id: str, title: Any, alt: str, *beside: Matrix) -> Scene:
    """A matrix, on one scale with those ``beside`` it. Rows of NaN say so; a pattern's rows have their sums."""
    rows, columns = names(look, view, found)
    values, pool = pooled(found)
    shown, across = found.values.shape[-1], look.common(f"axis_{found.columns}")
    if found.n_columns > shown:
        across = look.words("first_columns", shown=shown, all=found.n_columns)
    tops = [np.where(np.isfinite(one.values), np.abs(one.values), 0).max((-2, -1)) for one in (found, *beside)]
    top = np.max(tops, axis=0)
    top = np.where(top > 0, top, 1).astype(np.float32)
    scene = matrix.scene(
        f"mistakes.{id}",
        alt,
        view.by(found.axes, values) if found.axes else values,
        heatmap.spans(rows, pool.rows),
        heatmap.spans(columns, pool.columns),
        axes=(look.common(f"axis_{found.rows}"), across),
        top=1.0 if found.is_pattern else view.by(found.axes, top) if found.axes else float(top),
        frames=False,
        written=False,
        look="share" if found.is_pattern else "signed",
        role="pattern" if found.is_pattern else "residual",
        hidden=look.common("masked"),
        bound="≤ " if pool != heatmap.Pool() else "",
        height=min(460.0, max(230.0, 110 + 22.0 * len(rows))),
    )
    (panel,) = scene.panels
    marks, n_summed = list(panel.marks), len(rows) if found.is_pattern and len(rows) <= MOST_SUMS else 0
    if n_summed:
        marks = [mark for mark in marks if not mark.id.startswith(("scale", "tick"))]
        marks += _sums(view, found, next(mark for mark in marks if isinstance(mark, Cells)))
    words = {"masked": look.common("masked")}
    note = look.common("pooled", rows=pool.rows, columns=pool.columns) if pool != heatmap.Pool() else ""
    return replace(scene, panels=[replace(panel, marks=marks)], heading=title, words=words, note=note, own=False)


def _sums(view: View, found: Matrix, cells: Any) -> Iterator[Mark]:
    sums, lost = found.values.sum(-1), np.isnan(found.values).any(-1)
    step = cells.height / sums.shape[-1]
    axes = f"{found.axes} row"
    for row in range(sums.shape[-1]):
        y = cells.y + step * (row + 0.5)
        said = Phrase("Σ {{sum}}", {"sum": view.by(axes, sums, "2", row=row)})
        yield Text(id=f"sum.{row}", text=said, x=(1, -52), y=y, fill="muted", present=view.by(axes, ~lost, row=row))  # type: ignore[arg-type]
        if lost[..., row].any():
            middle = (cells.width[0] / 2, cells.x + cells.width[1] / 2)
            present = view.by(axes, lost, row=row)
            yield Text(id=f"lost.{row}", text="NaN", x=middle, y=y, anchor="middle", bold=True, present=present)


def draw_given(look: Look) -> Scene | None:
    """The matrix that both functions read, before anybody knows what they make of it."""
    (bug, *_), view = _known(look)
    if (found := given(view, bug)) is None:
        return None
    what = look.words(f"given_{bug.reads}", **view.numbers)
    scene = _draw(look, view, found, "given", look.words("given_title", what=what), look.words("given_alt"))
    return look.only_here(scene) if pair(look).is_of_layer else scene


def draw(letter: str) -> Callable[[Look], Scene | None]:
    """What the function under a letter makes of it, once there is an answer."""

    def made(look: Look) -> Scene | None:
        found, view = _known(look)
        if found.bug.shown == "reply":
            return None
        came = outcome(view, found.bug)
        shown = found.ordered(came.right, came.wrong)
        own, other = shown[letter], shown["B" if letter == "A" else "A"]
        alt = look.words("result_alt", letter=letter)
        if found.bug.shown == "loss":
            return _losses(look, view, letter, own, other, alt)
        if found.bug.shown == "likeliest":
            return _likeliest(look, view, letter, own, other, alt)
        title = _title(look, found, view, came, letter, own)
        scene = _draw(look, view, own, f"result.{letter}", title, alt, other)
        return look.only_here(scene) if found.is_of_layer else scene

    return made


def _title(look: Look, found: Pair, view: View, came: Outcome, letter: str, own: Matrix) -> Any:
    lost = np.isnan(own.values).any(-1).sum(-1)
    if lost.any():
        return look.words("sums_lost", letter=letter, n=view.by(own.axes, lost, "whole"), all=own.values.shape[-2])
    if own.is_pattern:
        sums = own.values.sum(-1)
        low, high = sums.min(-1), sums.max(-1)
        same = view.by(own.axes, (np.round(low, 2) != np.round(high, 2)).astype(int))
        ends = {"low": view.by(own.axes, low, "2"), "high": view.by(own.axes, high, "2")}
        return look.words("sums", letter=letter, sums=Phrase(Among(["{{low}}", "{{low}} … {{high}}"], same), ends))
    if letter == found.wrong:
        largest = came.apart.max((-2, -1))
        return look.words("differs", letter=letter, largest=view.by(own.axes, largest, "g2"))
    return look.words("verdict_right", letter=letter)


def _losses(look: Look, view: View, letter: str, own: Any, other: Any, alt: str) -> Scene:
    mine, bits = (one.numpy() / np.log(2) for one in (own, other))
    labels = view.there.labels[len(view.there) - len(mine) :]
    bars = chart.Bars("", mine.astype(np.float32), "output", write="4", outside=False)
    scale = chart.axis(mine, bits, title=look.words("loss_axis"), write="0")
    scene = chart.bars(
        f"mistakes.result.{letter}", alt, labels, [bars], scale, names_axis=look.words("target_axis"), row=22.0
    )
    return replace(scene, heading=look.words("loss_title", letter=letter, mean=f"{mine.mean():.2f}"), own=False)


def _likeliest(look: Look, view: View, letter: str, own: Any, other: Any, alt: str) -> Scene:
    """The likeliest tokens at every position of the output."""
    (shares, ids), (most, _) = (one.softmax(-1).topk(min(MOST_BARS, one.shape[-1])) for one in (own, other))
    known = np.unique(ids.numpy())
    labels = [token.label for token in view.run.tokenizer.tokens(known.tolist())]
    at, values = np.searchsorted(known, ids.numpy()), shares.numpy()
    bars = chart.Bars("", view.of_output(values), "output", write="4", outside=False)
    scale = chart.axis(values, most.numpy(), title=look.words("probability_axis"), write="%0")
    named: Any = Among(labels, view.of_output(at))
    scene = chart.bars(
        f"mistakes.result.{letter}", alt, named, [bars], scale, names_axis=look.words("bars_token"), row=22.0
    )
    first = Among(labels, view.of_output(at[:, 0]))
    title = look.words("probability_title", letter=letter, token=first, share=view.of_output(values[:, 0], "percent"))
    return replace(scene, heading=title, own=False)


def reply(letter: str) -> Callable[[Look], Iterator[Line]]:
    """What a function returned or stopped with, in Python's own words."""

    def said(look: Look) -> Iterator[Line]:
        found, view = _known(look)
        if found.bug.shown != "reply":
            return
        came = outcome(view, found.bug)
        value = found.ordered(came.right, came.wrong)[letter]
        yield Line(look.words("fails" if isinstance(value, Exception) else "returns", letter=letter))
        yield Line(Phrase("```\n{{reply}}\n```", {"reply": in_words(value)}))

    return said


def in_words(value: Any) -> str:
    """What a function returned, for who reads it."""
    if isinstance(value, Exception):
        return f"{type(value).__name__}: {value}"
    return " × ".join(map(str, value.shape)) if hasattr(value, "shape") else str(value)


def draw_difference(look: Look) -> Scene | None:
    """Where both pictures look alike."""
    found, view = _known(look)
    if found.bug.shown != "matrix":
        return None
    came = outcome(view, found.bug)
    right, wrong, relative = came.right, came.wrong, came.relative
    is_close = (relative < CLOSE) & ~np.isnan(wrong.values).any((-2, -1))
    if not is_close.any():
        return None
    largest = view.by(right.axes, came.apart.max((-2, -1)), "g2")
    title = look.words("difference_title", largest=largest, relative=view.by(right.axes, relative, "%2"))
    apart = right._replace(values=wrong.values - right.values, is_pattern=False)
    near = view
    if right.is_pattern:  # of all layers it would be as much again as both pictures
        layer = int(resolved(view.fixed.get("layer", look.layer), look.place))
        near = View(replace(view.there, layer=layer).narrow, view.fixed)
        first = near.there.layers.start - view.there.layers.start
        apart = apart._replace(values=apart.values[first : first + len(near.there.layers)])
    scene = _draw(look, near, apart, "difference", title, look.words("difference_alt"))
    present: Any = view.by(right.axes, is_close) if right.axes else True
    return scene if is_close.all() else replace(scene, panels=[replace(one, present=present) for one in scene.panels])
