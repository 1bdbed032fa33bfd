"""The first twenty tokens as a picture, before and after what sampling drops, and all of the probability."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from viz_model.drawing import chart
from viz_model.drawing.cells import ROW
from viz_model.drawing.scene import Items, Key, Labels, Mark, Panel, Path, Rect, Scene, Series, Text, Texts, along
from viz_model.drawing.scene.writing import short, width_of
from viz_model.drawing.tables import Among, Each, Lengths, among
from viz_model.island.look import Look
from viz_model.island.prose import Line
from viz_model.topics.next_token.asked import (
    COVERED,
    KEPT,
    SHOWN,
    USUAL,
    Asked,
    ChoiceView,
    asked,
    either,
    facts,
    kept,
    kept_mass,
    of_kind,
    ranks,
    sampling,
)

VISIBLE = 5
"""Tokens that are drawn of what is said of a visible one."""
ROW_HEIGHT, TOP, RIGHT = 24.0, 8.0, 64.0
"""Pixels of a row, above the first, and on the right, for what is written behind a bar."""

SHADES: dict[str, dict[str, Any]] = {
    "before": {"fill": "output", "opacity": 0.3},
    "dropped": {"fill": "residual", "opacity": 0.4, "hatch": "muted"},
    "after": {"fill": "output"},
}
"""How bars look before something is dropped, of what is dropped, and after."""


def from_encoder(look: Look) -> Iterator[Line]:
    if look.config.kind == "encoder_decoder" and look.trace.side == "encoder":
        yield look.note("from_the_encoder", token=facts(look)["token"])


def _is_typed(found: Asked) -> np.ndarray:
    return np.array([one.marked is None for one in found.views])


def title(look: Look) -> Iterator[Line]:
    found, known = asked(look), facts(look)
    if of_kind(look) != "covered":
        yield look.title(f"title_{of_kind(look)}", **known)
        return
    covered = found.look.claim(COVERED, ranks(found), "token", **known).words
    yield Line(either(found.look, covered, look.words("title_typed", **known), _is_typed(found)), "title")


def tell(look: Look) -> Iterator[Line]:
    found, known, how = asked(look), facts(look), of_kind(look)
    if how == "covered":
        seen, typed_ = (look.text(f"see_{name}", **known).words for name in ("covered", "typed"))
        yield Line(either(found.look, seen, typed_, _is_typed(found)))
    else:
        yield look.text("see_observed" if look.config.observed and how == "visible" else f"see_{how}", **known)
    yield found.look.claim(KEPT, kept(look), "token", **known)
    yield look.of("next_token").text("open", **known)


def beside(look: Look) -> Iterator[Line]:
    """What the model says in the same place while it can see the token."""
    if of_kind(look) != "covered":
        return
    found = asked(look)
    own = [
        float(look.trace.row("logits", one.position).softmax(-1)[look.trace.ids[one.position]]) for one in found.views
    ]
    said = look.text("beside", share=found.by(np.array(own), "percent"), **facts(look)).words
    yield Line(either(found.look, said, "", _is_typed(found)))


def visible(look: Look) -> Scene | None:
    """The most probable tokens where the token can be seen, which has the color of what comes out."""
    if of_kind(look) != "covered":
        return None
    found = asked(look)
    guesses = [look.trace.next_tokens(one.position, VISIBLE) for one in found.views]
    names = among([[token.label for token, _ in row] for row in guesses], found.by)
    probs = found.by(np.array([[p for _, p in row] for row in guesses], np.float32))
    ids = [look.trace.own_ids[one.position] for one in found.views]
    is_own = np.array([[token.id == id for token, _ in row] for row, id in zip(guesses, ids, strict=True)])
    fill = Among(("residual", "output"), found.by(is_own.astype(int)))
    bars = [chart.Bars("", probs, "output", "{{name}}: {{value}}", "percent", fill=fill)]
    alt = look.words("visible_alt", **facts(look))
    scene = chart.bars(f"{look.topic}.visible", alt, names, bars, chart.Axis(0, 1, write="%0"), row=26)
    present: Any = found.by(~_is_typed(found))
    return look.drawn(replace(scene, panels=[replace(scene.panels[0], present=present)]), ["logits"])


def _behind(values: Any, high: Any, left: float, across: tuple[float, float], more: float = 6.0) -> Any:
    """Where something is written behind bars."""
    return Lengths(values, 0, high, (0.0, left + more), (1.0, left + more + across[1]))


def _left(names: Any) -> float:
    return min(190.0, max((width_of(short(name, 16)) for name in names), default=0.0)) + 18


def scale(tops: np.ndarray) -> tuple[np.ndarray, list[list[str]]]:
    """For each largest value [P] a step of which five hold it, and how the six ticks are written."""
    power = 10.0 ** np.floor(np.log10(np.maximum(tops, 1e-9) / 5))
    steps = np.array(
        [
            next(t * p for t in (1, 1.5, 2, 2.5, 3, 4, 5, 6, 8, 10) if 5 * t * p >= top)
            for top, p in zip(tops, power, strict=True)
        ]
    )
    return steps, [[f"{float(f'{100 * k * step:.6g}'):g}%" for k in range(6)] for step in steps]


def draw(look: Look) -> Scene:
    """The most probable tokens: pale before, solid after, hatched where dropped. A marked token beyond the twenty
    follows them with its rank.
    """
    found, shared, is_moved = asked(look), look.of("next_token").words, sampling(look).temperature not in (0, 1)
    is_masked = of_kind(look) == "covered"
    shown = [one.shown for one in found.views]
    n = max(map(len, shown))
    # Where the mask itself was typed nothing is marked, and there is one token more.
    shown = [[*row, *range(len(row), n)] for row in shown]

    def numbers(name: str) -> np.ndarray:
        return np.array([getattr(one, name)[row] for one, row in zip(found.views, shown, strict=True)], np.float32)

    def label(one: ChoiceView, place: int) -> str:
        token = one.marked_token if place == one.marked else None
        named = (token or one.tokens[place]).label
        return named if place < SHOWN else f"{place + 1:,}. {short(named, 10)}"

    model, probs, final, kept = (numbers(name) for name in ("model", "probs", "final", "kept"))
    is_kept = kept == 1
    every = (model if is_moved else probs, probs, np.where(is_kept, final, 0))
    steps, ticks = scale(np.stack(every).max((0, 2)))
    high = found.by(5 * steps)
    names = among([[label(one, n) for n in row] for one, row in zip(found.views, shown, strict=True)], found.by)
    left = _left(names.names)
    right = RIGHT + (14 if is_masked else 0)
    across, y = (1.0, -left - right), (TOP + ROW_HEIGHT * np.arange(n)).astype(np.float32)
    end = TOP + ROW_HEIGHT * n
    parts = {name: shared(f"bar_{name}") for name in ("model", "before", "after", "dropped")}
    told: Any = Each(
        f"{{{{name}}}}\n{parts['model']} {{{{m}}}}\n{parts['before']} {{{{b}}}}\n{parts['after']} {{{{a}}}}",
        {
            "name": names,
            "m": found.by(model, "percent"),
            "b": found.by(probs, "percent"),
            "a": found.by(np.where(is_kept, final, np.nan), "percent"),
        },
    )
    ids = np.array([one.order[row] for one, row in zip(found.views, shown, strict=True)])
    at: Any = "token" if found.look.trace.side == look.trace.side else len(found.look) - 1
    where = found.look.cells("probs", (at, ROW), rows=found.by(ids))
    start = along(np.zeros(n), left)

    def bars(id: str, values: np.ndarray, tall: float, **fill: Any) -> Items:
        width: Any = Lengths(found.by(values), 0, high, (0.0, 0.0), across)
        heights = np.full(n, ROW_HEIGHT * tall, np.float32)
        place: dict[str, Any] = {"x": start, "y": y + ROW_HEIGHT * (1 - tall) / 2, "width": width, "height": heights}
        return Items(id=id, labels=told, name=parts[id], where=where, down=True, **place, **fill)

    marks: list[Mark] = []
    fifths = np.arange(6) / 5
    at_ticks = along(fifths, left, across)
    written: Any = among(ticks, found.by)
    marks += [
        Rect(id=f"grid.{k}", x=(x, p), y=TOP, width=1, height=end - TOP, fill="grid")
        for k, (x, p) in enumerate(at_ticks.tolist())
    ]
    marks.append(
        Labels(id="ticks", texts=written, x=left, y=end + 2, length=across, places=at_ticks, turn="never", fill="muted")
    )
    marks.append(bars("before", np.where(is_kept, probs, np.nan), 0.82, **SHADES["before"]))
    if not is_kept.all():
        marks.append(bars("dropped", np.where(is_kept, np.nan, probs), 0.82, **SHADES["dropped"]))
    marks.append(bars("after", np.where(is_kept, final, np.nan), 0.5, **SHADES["after"]))
    if is_moved:
        places = Lengths(found.by(model), 0, high, (0.0, left), (1.0, left + across[1]))
        points: Any = {"x": places, "y": y + ROW_HEIGHT / 2}
        marks.append(
            Items(id="model", symbol="line-ns", size=15, stroke="ink", fill="ink", thick=2, walk=False, **points)
        )
    share = found.by(np.where(is_kept, final, probs), "percent")
    ends = found.by(np.fmax(np.fmax(probs, np.where(is_kept, final, 0)), model if is_moved else 0))
    said: Any = Each("{{value}}", {"value": share})
    color: Any = Among(("muted", "ink"), found.by(is_kept.astype(int)))
    marks.append(
        Texts(id="shares", texts=said, x=_behind(ends, high, left, across), y=y + ROW_HEIGHT / 2, anchor="start",
            fill=color)
    )  # fmt: skip
    marked = np.array(
        [row.index(one.marked) if one.marked in row else -1 for one, row in zip(found.views, shown, strict=True)]
    )
    if is_masked:
        row = np.maximum(marked, 0)
        spot = found.by(ends.values[np.arange(len(row)), row])
        there: Any = found.by(marked >= 0)
        middle: Any = found.by((TOP + ROW_HEIGHT * (row + 0.5)).astype(np.float32))
        marks.append(
            Text(id="marked", text="◂", y=middle, present=there, x=_behind(spot, high, left, across, 54.0))
        )  # fmt: skip
    listed: Any = names
    bold: Any = found.by(marked.astype(np.float32)) if is_masked else None
    marks.append(Labels(id="names", texts=listed, x=left - 8, y=TOP, length=end - TOP, along="y", most=16, marked=bold))
    there_are = {mark.id for mark in marks}
    keys = [chart.bar_key(parts[name], **SHADES[name]) for name in SHADES if name in there_are]
    if is_moved:
        line = Path(id="key", x=np.array([14.0, 14.0]), y=np.array([0.0, 14.0]), stroke="ink", thick=2)
        keys.append(Key(name=parts["model"], marks=[line]))
    if is_masked:
        keys.append(Key(name=look.words("true_token"), marks=[Text(id="key", text="◂", x=9, y=7)]))
    arrays = {"before": found.by(probs), "after": found.by(np.where(is_kept, final, np.nan))}
    how = sampling(look)
    call = look.call("next_tokens", position=look.token)
    call = call if how == USUAL else call.replace("(trace", f"(trace, sampling=vm.{how!r}", 1)
    scene = Scene(id=f"{look.topic}.choice", panels=[Panel(id="choice", marks=marks, height=end + 22)],
        title=look.words("choice_alt"), keys=keys,
        series=[Series(parts[name], listed, values) for name, values in arrays.items()], own=not is_masked)  # fmt: skip
    return found.look.drawn(scene, ("logits", "probs"), call=call, data=found.here)


def source(look: Look) -> Iterator[Line]:
    yield asked(look).look.source("logits", "probs")


def mass(look: Look) -> Scene:
    """All of the probability as one bar: what is kept, named above it, and what is dropped, named below."""
    found, known, words = asked(look), facts(look), look.of("next_token").words
    kept = np.array([kept_mass(one) for one in found.views])
    share, there = found.by(kept[:, None]), found.by(kept < 1)
    place: dict[str, Any] = {"x": Lengths(share, 0, 1, (0.0, 0.0), (1.0, 0.0)), "y": np.array([24.0]), "present": there}
    place |= {"width": Lengths(share, 0, 1, (1.0, 0.0), (0.0, 0.0)), "height": np.array([32.0]), "walk": False}
    wide: Any = Lengths(found.by(kept), 0, 1, (0.0, 0.0), (1.0, 0.0))
    below: dict[str, Any] = {"text": words("bar_dropped_mass", **known), "present": there}
    marks: list[Mark] = [
        Text(id="kept", text=words("bar_kept_mass", **known), y=12),
        Rect(id="mass", y=24, width=wide, height=32, fill="output"),
        Items(id="rest", **SHADES["dropped"], **place),
        Text(id="dropped", x=(1, 0), y=68, anchor="end", fill="muted", **below),
    ]
    scene = Scene(
        id=f"{look.topic}.mass", panels=[Panel(id="mass", marks=marks, height=80)], title=words("mass_alt", **known)
    )
    return found.look.drawn(scene, ("probs",))
