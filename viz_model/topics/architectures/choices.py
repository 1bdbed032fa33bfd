"""What each of the two expects at the selected token, or with both sides of it in sight."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from viz_model.drawing import chart
from viz_model.drawing.scene import Scene, Text
from viz_model.drawing.short_repr import short_repr
from viz_model.drawing.tables import Among
from viz_model.island.look import Look
from viz_model.island.prose import Line
from viz_model.runs.trace import Trace
from viz_model.topics.architectures import pair
from viz_model.topics.architectures.pair import One

MOST = 6
HEADED = 28.0
"""Pixels above a picture that its heading takes."""


@short_repr
class ChoicesView(NamedTuple):
    """The k tokens that a model holds most probable at a position: ``labels`` [k] and ``probs`` [k]; or tables."""

    labels: Any
    probs: Any


class Found(NamedTuple):
    """By the page's tokens that are held, N of them: where in the run, the ids and shares [N, k] of the most probable
    tokens there, and the share of the token that stands there.
    """

    run: Trace
    positions: np.ndarray
    ids: np.ndarray
    probs: np.ndarray
    own: np.ndarray


def found(look: Look, one: One) -> Found | None:
    """Read from the stack that predicts; None of a model without a head, or that cannot read the text."""
    return look.once(lambda look: _found(look, one), pair.kept(look, "choices", one))


def _found(look: Look, one: One) -> Found | None:
    if one.trace is None or not one.config.has_logits:
        return None
    last = one.config.sides[-1]
    run, positions = one.trace.at(last), pair.tokens_of(look, one)[pair.held(look)]
    if last != one.side:
        positions = np.full_like(positions, len(run) - 1)
    at = sorted(set(positions.tolist()))
    shares = {n: run.row("logits", n).softmax(-1) for n in at}
    top = {n: row.topk(min(MOST, len(row))) for n, row in shares.items()}
    ids, probs = (
        np.stack([getattr(top[n], name).numpy() for n in positions.tolist()]) for name in ("indices", "values")
    )
    own = np.array([float(shares[n][run.tokens[n].id]) for n in positions.tolist()])
    return Found(run, positions, ids, probs.astype(np.float32), own)


def _facts(look: Look, one: One, seen: Found) -> dict[str, Any]:
    labels = {id: seen.run.tokenizer.token(id).label for id in set(seen.ids[:, 0].tolist())}
    at = list(labels)
    top = Among(
        list(labels.values()), look.by("token", np.array([at.index(id) for id in seen.ids[:, 0]])), is_code=True
    )
    return {
        "model": one.code_name,
        "token": pair.named(look, seen.run, look.by("token", seen.positions)),
        "position": look.by("token", seen.positions, "whole"),
        "top": top,
        "p": look.by("token", seen.probs[:, 0], "percent"),
        "own": look.by("token", seen.own, "percent"),
    }


def _key(one: One) -> str:
    return "choices_here" if one.config.kind == "encoder" else "choices_next"


def title(look: Look, one: One) -> Iterator[Line]:
    """What is most probable; of a model that predicts no tokens, that."""
    if one.trace is None:
        return
    seen = found(look, one)
    if seen is None:
        yield look.part("no_head_title", model=one.code_name)
        yield look.text("no_head", d=one.config.d_model)
    else:
        yield look.part(f"{_key(one)}_title", **_facts(look, one, seen))


def tell(look: Look, one: One) -> Iterator[Line]:
    if (seen := found(look, one)) is not None:
        yield look.text(_key(one), **_facts(look, one, seen))


def draw(look: Look, one: One) -> Scene | None:
    """One bar a token, in the color of the model, whose name stands above."""
    seen = found(look, one)
    if seen is None:
        return None
    ids = np.unique(seen.ids)
    labels = [seen.run.tokenizer.token(int(id)).label for id in ids]
    names = Among(labels, look.by("token", np.searchsorted(ids, seen.ids)))
    probs = look.by("token", seen.probs)
    bars = [chart.Bars("", probs, pair.COLORS[one.which], write="percent", hatched=one.which == 1)]
    id, alt = f"architectures.choices{one.which}", look.words("choices_alt", model=one.name)
    both = [found_.probs for each in pair.both(look) if (found_ := found(look, each)) is not None]
    scene = chart.bars(id, alt, names, bars, chart.axis(*both, write="%0"))
    token = Among([token.label for token in seen.run.tokens], look.by("token", seen.positions))
    heading = look.words(f"{_key(one)}_name", model=one.name, token=token)
    call, other = pair.call(look, f"choices{one.which}")
    return look.drawn(
        headed(scene, heading), ["logits"] if not one.which else (), data=ChoicesView(names, probs), call=call,
        other=other, own=not one.which,
    )  # fmt: skip


def headed(scene: Scene, text: Any) -> Scene:
    """A scene of one panel with a name above it."""
    (panel,) = scene.panels
    marks = [Text(id="heading", text=text, y=HEADED / 2, size=13), *chart.lower(panel.marks, HEADED)]
    assert not isinstance(panel.height, tuple)
    return replace(scene, panels=[replace(panel, marks=marks, height=panel.height + HEADED)])
