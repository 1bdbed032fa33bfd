"""The page of the classic slips: which pair is shown, what the visitor says, and what both make of this run."""

from __future__ import annotations

import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import streamlit as st

from viz_model.app import frame, runs
from viz_model.app.stage import Stage
from viz_model.app.texts import literal
from viz_model.drawing.writing import percent
from viz_model.topics.mistakes import numbers as slips
from viz_model.topics.mistakes.numbers import SLIPS, Bars, Matrix, Outcome, Place, Result, Said, Slip
from viz_model.topics.mistakes.pictures import mistakes
from viz_model.topics.mistakes.pictures.mistakes import BarsView, MatrixView

STAND_INS = ("story-pre-ln", "story-bert")
"""A decoder and an encoder that between them have what every slip needs."""
LETTERS = ("A", "B")
MOST_GAP = 1e-3
"""Between the right function and the run: beyond it an intervention has changed the value."""

_ANSWERS, _SLIP = "mistakes.answers", "mistakes.slip"


@dataclass(frozen=True)
class Page:
    """A pair, and where it is computed.

    ``stage`` shows the run that is computed on: the page's own (``own``), its other stack, or that of a model
    that stands in. ``lack`` is what the page's own run lacks. ``place`` is None where no model fits.
    """

    opened: Stage
    stage: Stage
    slip: Slip
    place: Place | None
    where: Literal["own", "other_side", "stand_in"]
    lack: str | None

    @property
    def right_first(self) -> bool:
        """Whether A is the right one: the same on every visit, and in no order that one could guess."""
        return zlib.crc32(self.slip.name.encode()) % 2 == 0

    @property
    def wrong_letter(self) -> str:
        return LETTERS[self.right_first]

    @property
    def answer(self) -> str | None:
        """The letter that the visitor has chosen."""
        return answers().get(self.slip.name)

    def ordered(self, right: Any, wrong: Any) -> tuple[Any, Any]:
        """What stands under A and under B."""
        return (right, wrong) if self.right_first else (wrong, right)

    def words(self, key: str, /, **values: object) -> str:
        return self.opened.words(key, **values)


def answers() -> dict[str, str]:
    """The visitor's first answer to each pair, by its name; for this visit only."""
    found: dict[str, str] = st.session_state.get(_ANSWERS, {})
    return found


def choose(stage: Stage) -> Page:
    """The score, and the pairs to choose from."""
    said = answers()
    found = sum(letter == _wrong_letter(name) for name, letter in said.items())
    left, right = st.columns([4, 1], vertical_alignment="center")
    missed = len(said) - found
    left.markdown(stage.words("score_missed" if missed else "score", found=found, total=len(SLIPS), missed=missed))
    if said:
        right.button(
            stage.words("reset"),
            key=f"{stage.text_key}.reset",
            type="tertiary",
            icon=":material/restart_alt:",
            on_click=_reset,
        )
    names = list(SLIPS)
    if st.session_state.get(_SLIP) not in names:
        st.session_state[_SLIP] = names[0]

    def written(name: str) -> str:
        mark = "" if name not in said else "✓ " if said[name] == _wrong_letter(name) else "✗ "
        return mark + stage.words(f"name_{name}")

    name = st.pills(
        stage.words("slip"),
        names,
        key=_SLIP,
        format_func=written,
        required=True,
        help=stage.words("slip_help"),
        persist_state="session",
    )
    return _page(stage, SLIPS[name or names[0]])


def _wrong_letter(name: str) -> str:
    return LETTERS[zlib.crc32(name.encode()) % 2 == 0]


def _reset() -> None:
    st.session_state.pop(_ANSWERS, None)


def _answer(name: str, letter: str) -> None:
    st.session_state[_ANSWERS] = {name: letter} | answers()


MOST_TOKENS = 300
"""Tokens of a text on which a slip is shown: the whole model runs again with it, its T×T values laid open."""


def _go_on(name: str) -> None:
    """The next pair without an answer; where none is left, simply the next."""
    names, said = list(SLIPS), answers()
    at = names.index(name)
    later = names[at + 1 :] + names[:at]
    st.session_state[_SLIP] = next((other for other in later if other not in said), later[0])


def _page(stage: Stage, slip: Slip) -> Page:
    lack: str | None = None
    for where, candidate in _candidates(stage):
        run, view = candidate.trace, candidate.view
        place = Place(run, view.layer, view.head, candidate.token)
        missing = "room" if len(run) > MOST_TOKENS else slip.lacks(place)
        if missing is None:
            return Page(stage, candidate, slip, place, where, lack)
        lack = lack or missing
    return Page(stage, stage, slip, None, "own", lack)


def _candidates(stage: Stage) -> Iterator[tuple[Literal["own", "other_side", "stand_in"], Stage]]:
    """Where a slip may be computed: here, in the other stack, here on an example, or in a bundled model."""
    yield "own", stage
    for side in stage.lm.config.sides:
        if side != stage.trace.stack.side:
            yield "other_side", _moved(stage, stage.trace.at(side))
    own = stage.view.model
    if stage.lm.config.kind != "encoder_decoder":  # that would need a target too
        yield "stand_in", _other(stage, own, frame.examples(runs.model(own))[0])
    for name in STAND_INS:
        if name in runs.offered() and name != own:
            for text in (stage.trace.text or frame.EXAMPLES[0], frame.EXAMPLES[0]):
                yield "stand_in", _other(stage, name, text)


def _other(stage: Stage, name: str, text: str) -> Stage:
    """The stage on a run of a model on a text, without interventions."""
    lm, run = runs.model(name), runs.trace(runs.RunKey(name, text))
    other = replace(stage, lm=lm, view=replace(stage.view, model=name, edits=()))
    return _moved(other, run.at(lm.config.sides[-1]))


def _moved(stage: Stage, run: Any) -> Stage:
    """The stage on another run, with layer, head and token within its bounds."""
    view = stage.view
    layer, head = min(view.layer, run.n_layers - 1), min(view.head, run.config.n_heads - 1)
    return replace(
        stage, trace=run, token=len(run) - 1, view=replace(view, layer=layer, head=head, side=run.stack.side)
    )


# The pair


def pair(page: Page) -> Outcome | None:
    """The two functions, the question, and what came of it; the outcome once there is an answer."""
    words, slip = page.words, page.slip
    st.subheader(words(f"name_{slip.name}"), anchor=False)
    if page.place is None:
        st.info(words("nowhere", lack=_lack(page)), icon=":material/info:")
        return None
    outcome = _outcome(page.stage.asked, page.stage.trace.stack.side, slip.name, *page.place[1:], page.place)
    page.opened.see(f"task_{slip.name}", **_facts(page, outcome))
    if page.where != "own":
        st.caption(_elsewhere(page))
    code = page.ordered(*slips.sources(slip, page.place))
    st.caption(literal(slips.promise(slip, page.place)))
    if page.answer is None:
        st.markdown(f"**{words('which')}**")
    columns = st.columns(2, gap="medium")
    for letter, column, lines in zip(LETTERS, columns, code, strict=True):
        with column:
            st.markdown(f"**{letter}**")
            st.code(lines, language="python", wrap_lines=True)
            if page.answer is None:
                st.button(
                    words("pick", letter=letter),
                    key=f"{page.opened.name}.pick.{letter}",
                    on_click=_answer,
                    args=(slip.name, letter),
                    width="stretch",
                )
    if page.answer is None:
        _given(page)
        return None
    _consequence(page, outcome, columns)
    return outcome


@st.cache_resource(show_spinner=False, max_entries=128)
def _outcome(asked: runs.RunKey, side: str, slip: str, layer: int, head: int, position: int, _place: Place) -> Outcome:
    with runs.alone():
        return slips.outcome(SLIPS[slip], _place)


def _lack(page: Page) -> str:
    return page.words(f"lack_{page.lack}", layer=page.opened.view.layer)


def _elsewhere(page: Page) -> str:
    if page.where == "other_side":
        return page.words(
            "other_side", side=page.opened.t(f"common.side_{page.stage.trace.stack.side}"), lack=_lack(page)
        )
    model, text = literal(runs.label(page.stage.view.model)), literal(_shortened(page.stage.trace.text or ""))
    return page.words("stand_in", model=model, text=text, lack=_lack(page))


def _shortened(text: str, most: int = 60) -> str:
    return text if len(text) <= most else f"{text[: most - 1].rstrip()}…"


def _facts(page: Page, outcome: Outcome) -> dict[str, object]:
    """For prose: numbers of the outcome, and names."""
    assert page.place is not None
    return {
        **outcome.facts,
        "site": literal(page.stage.trace.full_name(page.slip.site(page.place))),
        "layer": page.place.layer,
        "head": page.place.head,
        "length": outcome.facts.get("length", len(page.stage.trace)),
        "wrong": page.wrong_letter,
    }


def _tokens(page: Page) -> tuple[str, ...]:
    return page.stage.token_labels


def _axes(page: Page, view: MatrixView) -> dict[str, str]:
    t = page.opened.t
    first = {"shown": len(view.columns), "all": view.n_columns}
    whole = view.axes[1] != "dimension" or view.n_columns == len(view.columns)
    return {
        "query": t("common.axis_query"),
        "key": t("common.axis_key"),
        "token": t("common.axis_token"),
        "dimension": t("common.axis_dimension") if whole else page.words("first_columns", **first),
    }


def _given(page: Page) -> None:
    """The matrix that both functions read, before anybody knows what they make of it."""
    assert page.place is not None
    matrix = slips.given(page.slip, page.place)
    if matrix is None:
        return
    view = MatrixView.of(matrix, _tokens(page), page.words("padding"))
    what = page.words(f"given_{page.slip.reads}", layer=page.place.layer, head=page.place.head)
    figure = mistakes.draw_matrix(view, _axes(page, view), title=page.words("given_title", what=what))
    page.opened.figure(figure, "given", page.words("given_alt"))


# What came of it


def _consequence(page: Page, outcome: Outcome, columns: Sequence[Any]) -> None:
    words, wrong = page.words, page.wrong_letter
    results = page.ordered(outcome.right, outcome.wrong)
    for n, (letter, column) in enumerate(zip(LETTERS, columns, strict=True)):
        with column:
            if letter == wrong:
                st.markdown(f":red[:material/close: **{words('verdict_wrong', letter=letter)}**]")
            else:
                st.markdown(f":green[:material/check: **{words('verdict_right', letter=letter)}**]")
            _result(page, outcome, letter, results[n], results[1 - n])
    if isinstance(outcome.right, Matrix) and isinstance(outcome.wrong, Matrix) and _is_close(outcome):
        view = MatrixView.of(mistakes.difference(outcome.right, outcome.wrong), _tokens(page), words("padding"))
        share = f"{outcome.relative:.2%}"
        title = words("difference_title", largest=f"{outcome.largest:.2g}", relative=share)
        page.opened.figure(
            mistakes.draw_matrix(view, _axes(page, view), title=title), "difference", words("difference_alt")
        )
    hit = page.answer == wrong
    said = words("verdict_hit" if hit else "verdict_miss", letter=wrong)
    (st.success if hit else st.warning)(said, icon=":material/check_circle:" if hit else ":material/search:")
    why, what = st.columns([2, 1], gap="large")
    with why:
        page.opened.see(f"why_{page.slip.name}", **_facts(page, outcome))
    with what:
        if outcome.effect is not None:
            st.markdown(_effect(page, outcome.effect))
        _checked(page, outcome)
        st.button(
            words("next"),
            key=f"{page.opened.name}.next",
            type="primary",
            icon=":material/arrow_forward:",
            on_click=_go_on,
            args=(page.slip.name,),
        )


def _is_close(outcome: Outcome) -> bool:
    return outcome.relative is not None and outcome.relative < mistakes.CLOSE and not outcome.n_lost


def _result(page: Page, outcome: Outcome, letter: str, result: Result, other: Result) -> None:
    words = page.words
    match result:
        case Said(text=text, is_error=is_error):
            st.markdown(words("fails" if is_error else "returns", letter=letter))
            st.code(text, language=None)
        case Bars():
            assert isinstance(other, Bars)
            page.opened.figure(
                _bars(page, letter, result, other), f"result.{letter}", words("result_alt", letter=letter)
            )
        case Matrix():
            assert isinstance(other, Matrix)
            view = MatrixView.of(result, _tokens(page), words("padding"), beside=other)
            if result.is_pattern:
                title = words(view.claim(), letter=letter, **view.facts())
            elif letter == page.wrong_letter:
                title = words("differs", letter=letter, largest=f"{outcome.largest:.2g}")
            else:
                is_run = outcome.gap is not None and outcome.gap < MOST_GAP
                title = words("as_trace" if is_run else "verdict_right", letter=letter)
            figure = mistakes.draw_matrix(view, _axes(page, view), title=title)
            page.opened.figure(figure, f"result.{letter}", words("result_alt", letter=letter))


def _bars(page: Page, letter: str, bars: Bars, other: Bars) -> Any:
    words = page.words
    if bars.of == "loss":
        title = words("loss_title", letter=letter, mean=f"{bars.values.mean():.2f}")
    else:
        title = words("probability_title", letter=letter, token=bars.tokens[0].label, share=percent(bars.values[0]))
    names = {
        "tokens": words("target_axis" if bars.of == "loss" else "bars_token"),
        "values": words(f"{bars.of}_axis"),
    }
    return mistakes.draw_bars(BarsView.of(bars, other), names, title=title)


def _effect(page: Page, found: slips.Effect) -> str:
    words, stage = page.words, page.stage
    assert page.place is not None
    run = stage.trace.at(stage.trace.config.sides[-1])
    after = run.stack.side == "decoder" and found.before is not None
    where = words("where_after" if after else "where_at", token=literal(run.tokens[page.place.output].label))
    if found.before is None:
        if found.is_lost:
            return words("effect_vector_lost", where=where)
        return words("effect_vector", where=where, change=f"{found.change:.1%}")
    values: dict[str, object] = {
        "where": where,
        "before": literal(found.before[0].label),
        "before_share": percent(found.before[1]),
    }
    if found.after is None:
        return words("effect_lost", **values)
    same = "same" if found.after[0].id == found.before[0].id else "other"
    values |= {"after": literal(found.after[0].label), "after_share": percent(found.after[1])}
    return words(f"effect_{same}", **values, change=f"{found.change:.3g}" if found.change >= 0.001 else "< 0.001")


def _checked(page: Page, outcome: Outcome) -> None:
    """That the right one is what the run itself computed."""
    if outcome.gap is None:
        return
    assert page.place is not None
    site = literal(page.stage.trace.full_name(page.slip.site(page.place)))
    if outcome.gap == 0:
        st.caption(page.words("checked_exactly", site=site))
        return
    edited = bool(page.stage.trace.edits) and outcome.gap > MOST_GAP
    gap = f"{outcome.gap:.0e}" if outcome.gap < 1e-3 else f"{outcome.gap:.3g}"
    st.caption(page.words("checked_edited" if edited else "checked", site=site, gap=gap))


# The tabs


def formula(page: Page) -> None:
    """Of the value that the right one gives."""
    if page.place is not None:
        page.stage.formula(page.slip.site(page.place))


def hand(page: Page, outcome: Outcome | None) -> None:
    """The row that differs most, number by number."""
    words = page.words
    if outcome is None:
        st.caption(words("after_choice"))
        return
    if not (isinstance(outcome.right, Matrix) and isinstance(outcome.wrong, Matrix)) or outcome.at is None:
        st.caption(words("hand_none"))
        return
    view = MatrixView.of(outcome.right, _tokens(page), words("padding"))
    row, column = outcome.at
    start = max(0, min(column - 3, len(view.columns) - 8))
    shown = range(start, min(len(view.columns), start + 8))
    headings = [f"{words('row')} {literal(view.rows[row])}", *(literal(view.columns[c]) for c in shown)]
    lines = [headings, ["---", *["---:"] * (len(headings) - 1)]]
    for name, matrix in (("right", outcome.right), ("wrong", outcome.wrong)):
        cells = [f"{matrix.values[row, c]:.4f}" for c in shown]
        lines.append(
            [words(name), *(f"**{cell}**" if c == column else cell for c, cell in zip(shown, cells, strict=True))]
        )
    if outcome.right.is_pattern:
        headings.append(words("sum"))
        lines[1].append("---:")
        for line, matrix in zip(lines[2:], (outcome.right, outcome.wrong), strict=True):
            line.append(f"{matrix.values[row].sum():.4f}")
    st.markdown("\n".join(f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in line)} |" for line in lines))


def code(page: Page) -> None:
    """The same in Python."""
    place = page.place or Place(page.stage.trace, page.stage.view.layer, page.stage.view.head, page.stage.token)
    name = page.slip.name if page.place is not None else "count"
    page.stage.code("mistakes", slip=name, layer=place.layer, head=place.head, position=place.position)


def numbers(page: Page, outcome: Outcome | None) -> None:
    """What both gave; before there is an answer, what both are given."""
    if page.place is None:
        return
    if outcome is None:
        matrix = slips.given(page.slip, page.place)
        if matrix is None:
            st.caption(page.words("after_choice"))
        else:
            _table(page, matrix, "given", "given")
        return
    for name, result in (("right", outcome.right), ("wrong", outcome.wrong)):
        st.markdown(f"**{page.words(name)}**")
        match result:
            case Matrix():
                _table(page, result, f"{page.slip.name}.{name}", name)
            case Bars():
                tokens, values = mistakes.records(result)
                columns: dict[str, list[Any]] = {page.words("bars_token"): tokens, page.words("bars_value"): values}
                page.opened.records(f"{page.slip.name}.{name}", columns)
            case Said(text=text):
                st.code(text, language=None)


def _table(page: Page, matrix: Matrix, site: str, key: str) -> None:
    view = MatrixView.of(matrix, _tokens(page), page.words("padding"))
    page.opened.table(site, view.values, view.rows, view.columns, key)
