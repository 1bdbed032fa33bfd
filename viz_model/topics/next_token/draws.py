"""Tokens drawn one after the other, and the number that decided each of them."""

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from viz_model.claims import Claim, Verdict
from viz_model.drawing import chart, theme
from viz_model.drawing.chips import bracketed, chip
from viz_model.drawing.digits import percent
from viz_model.drawing.scene import Items, Labels, Mark, Panel, Scene, Texts, along
from viz_model.drawing.scene.writing import short, width_of
from viz_model.drawing.spans import around
from viz_model.island import say
from viz_model.island.look import Look
from viz_model.island.page import Button, Buttons, Chooser, Ribbon
from viz_model.island.prose import Line
from viz_model.measures.continuation import can_be_drawn, longer
from viz_model.runs.generation import Step
from viz_model.texts.markdown import literal
from viz_model.topics.next_token import asked as asking
from viz_model.topics.next_token import repetition
from viz_model.topics.next_token.drawn import MAX_SEED, MOST_DRAWN, before, greedily, has_ended, picked, seed, steps

ROWS_DRAWN, ROW, WRITTEN_FROM = 12, 32.0, 0.07
"""Draws in one picture, pixels of one, and the share of it from which on a token is named in its interval."""
FELL: Verdict[int] = Verdict("next_token.fell", Claim("greedy", lambda rank: rank == 1))
"""Of the rank (1 is first) of a token that was drawn."""
ENDED: Verdict[bool] = Verdict("next_token.ended", Claim("ended", lambda has_ended: has_ended))
"""Of whether the last token that was drawn ends the text."""
SAME: Verdict[tuple[int, int]] = Verdict("next_token.same", Claim("all", lambda counts: counts[0] == counts[1]))
"""Of how many drawn tokens, from the first on, are those of greedy decoding, and how many there are."""


def title(look: Look) -> Iterator[Line]:
    yield look.title("draw_title")
    if not can(look):
        yield look.text("not_with_positions")


def can(look: Look) -> bool:
    """Whether tokens can be drawn after the text."""
    return can_be_drawn(look.trace)


def choose_seed(look: Look) -> Chooser:
    return Chooser("seed", range(MAX_SEED + 1), look.words("seed"), look.words("seed_help"), asks=True)


def buttons(look: Look) -> Buttons:
    """One more token, ten more, none, as many with another seed; and the text with what was drawn."""
    taken, words, is_target = steps(look), look.words, len(look.config.sides) > 1
    n, ended = len(taken), has_ended(look)

    def button(name: str, is_off: bool, drawn: int = n, **more: Any) -> Button:
        return Button(words(name), {"drawn": str(drawn or ""), "picked": "", **more}, is_off=is_off)

    made = [
        button(name, ended or n == MOST_DRAWN, min(MOST_DRAWN, n + more))
        for name, more in (("one_more", 1), ("ten_more", 10))
    ]
    made.append(button("start_over", not n, 0))
    following, is_greedy = (seed(look) + 1) % (MAX_SEED + 1), asking.sampling(look).temperature == 0
    made.append(button("another_seed", not n or is_greedy, seed=str(following)))
    text = longer(look.trace.whole, taken[: n - ended])
    keep = button("keep_target" if is_target else "keep", n == ended, 0)
    made.append(keep._replace(words={"target" if is_target else "text": text}))
    return Buttons("draw", made)


def none_yet(look: Look) -> Iterator[Line]:
    if not steps(look):
        yield look.text("none_drawn_target" if len(look.config.sides) > 1 else "none_drawn")


def chips(taken: Sequence[Step], start: int, *, greedy: bool = False) -> list[dict[str, object]]:
    """The drawn tokens over their probabilities, or what greedy decoding would have taken there."""
    found = [step.leaders[0] if greedy else (step.token, step.final_probability) for step in taken]
    chips = [chip(token, start + n, percent(p)) for n, (token, p) in enumerate(found)]
    return bracketed(chips, [token for token, _ in found])


def said_of(name: str) -> Any:
    """What a row of drawn tokens is."""
    return say.note(f"{name}_row", lambda look: {"seed": seed(look)})


def ribbon(look: Look, name: str) -> Ribbon:
    row = chips(steps(look), len(before(look)), greedy=name == "drawn_greedy")
    return Ribbon(name, look.words(name), row, picked(look), "picked")


def draw_facts(taken: Sequence[Step], picked: int) -> dict[str, str]:
    """For prose: one draw, with as many digits as tell its number from the ends of its interval."""
    step = taken[picked]
    digits = int(np.clip(np.ceil(-np.log10(max(step.stop - step.start, 1e-12))) + 2, 4, 12))
    return {
        "draw": str(picked + 1),
        "number": f"{step.drawn:.{digits}f}",
        "start": f"{step.start:.{digits}f}",
        "stop": f"{step.stop:.{digits}f}",
        "p": percent(step.final_probability),
        "rank": f"{step.rank + 1:,}",
        "token": literal(step.token.label),
        "greedy": literal(step.leaders[0][0].label),
        "greedy_p": percent(step.leaders[0][1]),
        "n": str(len(taken)),
        "n_greedy": str(sum(step.rank == 0 for step in taken)),
    }


fell_title = say.part("fell_title", lambda look: draw_facts(steps(look), picked(look)))


def tell(look: Look) -> Iterator[Line]:
    """The interval that the number of the picked draw fell into."""
    taken = steps(look)
    facts = draw_facts(taken, picked(look)) | {"seed": str(seed(look))}
    yield look.text("fell", **facts)
    yield Line(FELL.says(look.t.language, taken[picked(look)].rank + 1, **facts))
    yield look.text("fell_count", **facts)


class _Interval(NamedTuple):
    """A part of the bar of one draw: where it begins, how long it is, its color, what is written and said of it."""

    row: int
    start: float
    share: float
    fill: str
    opacity: float
    label: str
    said: str


def draw(look: Look) -> Scene:
    """A bar from 0 to 1 a draw: the tokens' intervals side by side, the drawn number as a mark, what it hit in color.

    At most :data:`ROWS_DRAWN`, with the picked one among them.
    """
    taken, words = steps(look), look.words
    part = around(picked(look), len(taken), ROWS_DRAWN)
    first, shown = part.start, taken[part]
    parts = [part for row, step in enumerate(shown) for part in _intervals(look, row, step, len(before(look)) + first)]
    names = [f"#{first + n + 1}  {short(step.token.label, 10)}" for n, step in enumerate(shown)]
    left = max(map(width_of, names)) + 14
    height = chart.TOP + ROW * len(shown)
    axis = chart.Axis(0, 1, words("fell_axis"))
    on = chart.Plot(left, 14.0, chart.TOP, height, axis, axis)
    rows = np.array([part.row for part in parts])
    share = np.array([part.share for part in parts])
    x: Any = on.at_x(np.array([part.start for part in parts]))
    width = along(share, 0, on.across)
    y = (chart.TOP + ROW * rows).astype(np.float32)
    numbers, middles = np.array([step.drawn for step in shown]), chart.TOP + ROW * (np.arange(len(shown)) + 0.5)
    at: Any = on.at_x(numbers)
    middle: Any = on.at_x(np.array([part.start + part.share / 2 for part in parts]))
    said = [f"{words('fell_number')} {step.drawn:.6f}" for step in shown]
    marks: list[Mark] = [
        Items(id="intervals", x=x, y=y + 5, width=width, height=np.full(len(parts), ROW - 10, np.float32),
            stroke="muted", fill=[part.fill for part in parts], opacity=[part.opacity for part in parts], thick=0.5,
            labels=[part.said for part in parts], down=True),
        Texts(id="tokens", texts=[part.label for part in parts], x=middle, y=y + ROW / 2),
        Items(id="numbers", x=at, y=middles.astype(np.float32), symbol="line-ns", size=22, stroke="ink", fill="ink",
            thick=2.5, labels=said, name=str(words("fell_number"))),
        Labels(id="names", texts=names, x=left - 8, y=chart.TOP, length=ROW * len(shown), along="y", most=26,
            marked=picked(look) - first),
        *chart.ticks_below(axis, left, on.across, height),
    ]  # fmt: skip
    panel = Panel(id="fell", marks=marks, height=height + 2 * chart.LINE + 10)
    return look.drawn(Scene(id="next_token.fell", panels=[panel], title=words("fell_alt"), own=False))


def _intervals(look: Look, row: int, step: Step, position: int) -> Iterator[_Interval]:
    """The most probable tokens side by side, all others as one, and the one that was hit over them."""
    edge = 0.0
    for n, (token, share) in enumerate(step.leaders):
        said = f"{token.label}\n{percent(share)}\n{edge:.4f} – {edge + share:.4f}"
        label = _label(token.label, share) if step.rank != n else ""
        yield _Interval(row, edge, share, "output", 0.16 if n % 2 else 0.28, label, said)
        edge += share
    if edge < 1 - 1e-6:
        said = f"{look.words('fell_rest')} {percent(1 - edge)}\n{edge:.4f} – 1"
        yield _Interval(row, edge, 1 - edge, "token", 0.14, "", said)
    share, label = step.stop - step.start, step.token.label
    said = f"{label}\n{percent(step.final_probability)}\n{look.words('fell_number')} {step.drawn:.6f}"
    said += f"\n{look.words('fell_interval')} {step.start:.6f} – {step.stop:.6f}"
    yield _Interval(row, step.start, share, theme.token(position + row), 0.55, _label(label, share), said)


def _label(label: str, share: float) -> str:
    return short(label, max(3, int(90 * share))) if share >= WRITTEN_FROM else ""


def choose_greedy(look: Look) -> Chooser | None:
    if not asking.sampling(look).temperature:
        return None
    options = {"0": look.common("off"), "1": look.common("on")}
    return Chooser("greedy", options, look.words("greedy_text"), asks=True)


def _greedily(look: Look) -> tuple[Step, ...]:
    """What greedy decoding writes by itself from the same start, where a visitor wants to see it."""
    asked = look.options.get("greedy") == "1" and asking.sampling(look).temperature
    return greedily(look) if asked else ()


def greedy_text(look: Look) -> Ribbon | None:
    taken = _greedily(look)
    return Ribbon("greedy_text", look.words("greedy_text"), chips(taken, len(before(look)))) if taken else None


def tell_greedy(look: Look) -> Iterator[Line]:
    taken, own = _greedily(look), steps(look)
    if not taken:
        return
    pairs = enumerate(zip(own, taken, strict=False))
    same = next((n for n, (a, b) in pairs if a.token != b.token), len(taken))
    yield Line(SAME.says(look.t.language, (same, len(taken)), same=same, n=len(taken)))
    by_both = [repetition.repeated(before(look), each).n_repeated for each in (taken, own)]
    yield look.text("greedy_repeats", greedy=by_both[0], drawn=by_both[1], n=len(taken))


def end(look: Look) -> Iterator[Line]:
    taken = steps(look)
    last = {"n": len(taken), "token": literal(taken[-1].token.label), "most": MOST_DRAWN}
    yield Line(ENDED.says(look.t.language, has_ended(look), **last))


def records(look: Look) -> dict[str, Sequence[object]]:
    """Every draw as columns of a table."""
    taken = steps(look)
    columns: dict[str, Sequence[object]] = {
        "draw": range(1, len(taken) + 1),
        "number": [step.drawn for step in taken],
        "start": [step.start for step in taken],
        "stop": [step.stop for step in taken],
        "token": [step.token.label for step in taken],
        "rank": [step.rank + 1 for step in taken],
        "before": [step.probability for step in taken],
        "after": [step.final_probability for step in taken],
        "greedy": [step.leaders[0][0].label for step in taken],
        "greedy_p": [step.leaders[0][1] for step in taken],
    }
    return {str(look.words(f"draws_{name}")): list(column) for name, column in columns.items()} if taken else {}
