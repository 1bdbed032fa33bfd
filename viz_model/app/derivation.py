"""How any number of a run was made: a drawer that opens at a click, and leads back to token ids and weights.

The number stands in the view, so an address can hold it. The way that a visitor went, from number to number,
is only the session's.
"""

import dataclasses
import functools
import operator
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pandas as pd
import streamlit as st

import viz_model as vm
from viz_model.app import frame, state
from viz_model.app.cell_names import (
    code_of,
    label_of,
    name_of,
    named_axis,
    of_what,
    place,
    shape,
    site_of,
    tokens,
    what,
    where,
    written,
)
from viz_model.drawing import theme
from viz_model.explain import backward
from viz_model.island.edited import describe
from viz_model.model import sites
from viz_model.runs.derivation import Cell, Derivation, Earlier, Line, Operand, Setting, Step, Terms, Weight
from viz_model.texts import Texts
from viz_model.texts.markdown import literal

_TRAIL = "derivation.trail"
_PAGES = {
    "tokens": "tokens",
    "embed": "embedding",
    "attn": "attention",
    "cross": "cross_attention",
    "ffn": "block",
    "resid": "block",
    "logits": "next_token",
    "probs": "next_token",
}


def offer(first: Callable[[], Cell | None], t: Texts) -> None:
    """A way to ask without a mouse, for what ``first`` says when it is taken."""

    def taken() -> None:
        if (cell := first()) is not None:
            ask(cell)

    st.button(
        t("derivation.ask"),
        key="derivation.ask",
        help=t("derivation.ask_help"),
        icon=":material/account_tree:",
        width="stretch",
        on_click=taken,
    )


@st.fragment(key=state.DRAWER)
def watch(here: str, trace: vm.Trace, t: Texts, *, writes: bool = True) -> None:
    """Listen for clicks on the cells of a page's pictures, and show what was asked.

    In a fragment, so that a click opens the drawer without running the page again.

    Args:
        trace: the run that the page shows, seen from one of its stacks.
        writes: whether the address is to say what is shown.
    """
    if state.cell() is None:
        if writes:
            state.write(state.now())
        return

    @st.dialog(t("derivation.title"), width="medium", position="right", on_dismiss=close)
    def drawer() -> None:
        _drawer(here, trace, t)

    drawer()


def ask(cell: Cell) -> None:
    """Open the derivation of a number, as the beginning of a way."""
    st.session_state[_TRAIL] = (cell,)
    state.update(cell=cell)


def picked(said: dict[str, Any]) -> None:
    """What a component says when a cell is clicked: its ``site`` and ``index``."""
    ask(Cell(str(said["site"]), tuple(map(int, said["index"]))))


def close() -> None:
    """Nothing is asked about any more."""
    state.update(cell=None)


def first(trace: vm.Trace, token: int) -> Cell:
    """Where to begin when nothing was clicked: the end of the run, from where every way back starts.

    The probability of what the model expects after ``token``, or else a number of its last vector.
    """
    if "probs" in trace:
        return Cell("probs", (token, trace.next_tokens(token, 1)[0][0].id))
    return Cell(trace.full_name(trace.sites[-1]), (token, 0))


# Colors of symbols


def _color(trace: vm.Trace, origin: object) -> str | None:
    """The hue of the role that a number plays; weights and settings keep the color of the text."""
    if isinstance(origin, Cell):
        return _written(site_of(trace, origin.site).role)
    return None


def _written(role: str) -> str:
    return theme.written(role, "dark" if st.context.theme.type == "dark" else "light")


def _paint(symbol: str, color: str | None) -> str:
    # KaTeX also reads a color without its #, which in a factor's symbol stands for the count.
    return symbol if color is None else rf"\textcolor{{{color[1:]}}}{{{symbol}}}"


def _line_color(trace: vm.Trace, line: Line) -> str | None:
    return _color(trace, Cell(line.name, ())) if line.kind is Cell else None


def painted(step: Step, trace: vm.Trace, role: str | None) -> Step:
    """A step with its symbols in the colors of their roles; ``role`` is that of what it makes."""
    operands = tuple(o._replace(symbol=_paint(o.symbol, _color(trace, o.origin))) for o in step.operands)
    terms, expression = step.terms, step.expression
    if terms is not None:
        factors = tuple(
            dataclasses.replace(f, symbol=_paint(f.symbol, _line_color(trace, f.line))) for f in terms.factors
        )
        terms = dataclasses.replace(terms, factors=factors)
        expression = terms.formula
    symbol = _paint(step.symbol, None if role is None else _written(role))
    return dataclasses.replace(step, operands=operands, terms=terms, expression=expression, symbol=symbol)


def lines(step: Step, *, factors: bool = False) -> str:
    """LaTeX of a step: with symbols, and under it with numbers; with ``factors`` those that make a sum's terms."""
    left, equals, right = step.formula.partition(" = ")
    rows = [rf"{left} &= {right}" if equals else rf"{left} &"]
    numbers = step.numbers(LARGEST, factors=factors)
    return rf"\begin{{aligned}} {' '.join(rows)} \\ &= {numbers} \end{{aligned}}"


# The drawer


def _drawer(here: str, trace: vm.Trace, t: Texts) -> None:
    cell = state.cell()
    if cell is None:
        st.rerun()
    state.write(state.now())
    if trace.config.observed:
        st.info(t("derivation.observed"))
        return
    _crumbs(cell, t)
    try:
        if cell.site in sites.table(trace.config) or not _is_weight(trace, cell.site):
            _derivation(backward.derivation(trace, cell.site, cell.index), here, trace, t)
        else:
            _weight(trace, cell, t)
    except ValueError as wrong:
        st.warning(t("derivation.missing", why=t.error(str(wrong)[:300])))
    with st.expander(t("derivation.another")):
        _form(trace, cell, t)


def _crumbs(cell: Cell, t: Texts) -> None:
    """The way so far; a click goes back on it, and forward again."""
    trail = _trail(cell)
    if len(trail) < 2:
        return
    with st.container(horizontal=True, gap="xsmall", key="derivation_crumbs"):
        for n, station in enumerate(trail):
            is_here = station == cell
            st.button(
                f"**{name_of(station)}**" if is_here else name_of(station),
                key=f"derivation.crumb.{n}",
                type="tertiary",
                icon=":material/chevron_right:" if n else None,
                disabled=is_here,
                on_click=state.update,
                kwargs={"cell": station},
            )


def _trail(cell: Cell) -> tuple[Cell, ...]:
    trail: tuple[Cell, ...] = st.session_state.get(_TRAIL, ())
    return trail if cell in trail else (cell,)


def walk(here: Cell, to: Cell) -> None:
    """One station further back; what lay beyond ``here`` before is forgotten."""
    trail = _trail(here)
    until = trail[: trail.index(here) + 1]
    st.session_state[_TRAIL] = until if to in until else (*until, to)
    state.update(cell=to)


def _is_weight(trace: vm.Trace, name: str) -> bool:
    try:
        trace.model.get_parameter(name)
    except AttributeError:
        return False
    return True


def _weight(trace: vm.Trace, cell: Cell, t: Texts) -> None:
    """A weight: its value, and that nothing comes before it."""
    weight = trace.model.get_parameter(cell.site).detach()
    index = tuple(map(operator.index, cell.index))
    if len(index) != weight.ndim or not all(0 <= i < size for i, size in zip(index, weight.shape, strict=True)):
        raise ValueError(f"index {list(index)} of {cell.site}: it has the shape {list(weight.shape)}")
    at = t("derivation.weight_at", name=literal(cell.site), index=literal(str(list(index))))
    value = written(float(weight[index]))
    st.markdown(f"### {t('derivation.finding', label=t('derivation.weight'), where=at, value=value)}")
    shape = " × ".join(map(str, weight.shape))
    st.markdown(t("derivation.weight_end", count=f"{weight.numel():,}", name=literal(cell.site), shape=shape))
    st.code(f'lm.model.get_parameter("{cell.site}"){list(index)}', language="python")


def _derivation(found: Derivation, here: str, trace: vm.Trace, t: Texts) -> None:
    cell, site = found.cell, site_of(trace, found.cell.site)
    label = label_of(site, t)
    said = {"label": label[:1].upper() + label[1:], "where": where(trace, cell, t), "value": written(found.value)}
    st.markdown(f"### {t('derivation.finding', **said)}")
    st.code(code_of(cell), language="python")
    with st.container(key="derivation_formula"):
        st.latex(found.formula, width="content")
    if found.edits:
        st.info(t("derivation.edited", edits=_changes(found.edits, t)), icon=":material/science:")
    elif trace.edits:
        st.caption(t("derivation.edited_run", edits=_changes(trace.edits, t)))
    if found.kv_head is not None:
        st.caption(t("derivation.shared", head=cell.index[0], kv=found.kv_head))
    if found.same_as is not None:
        st.caption(t("derivation.same_as", name=name_of(found.same_as)))
    for n, step in enumerate(found.steps):
        _step(n, step, found, trace, t)
    _end(found, t)
    _elsewhere(here, cell, trace, t)


def _changes(edits: Sequence[vm.edits.Edit], t: Texts) -> str:
    return t("derivation.comma").join(describe(edit, t) for edit in edits)


def _step(n: int, step: Step, found: Derivation, trace: vm.Trace, t: Texts) -> None:
    """What is done, with symbols and with numbers, and where each of them comes from."""
    is_last = n == len(found.steps) - 1
    shown = painted(step, trace, found.role if is_last else None)
    st.markdown(f"**{n + 1}.** {what(step, t)}")
    with st.container(key=f"derivation_step_{n}"):
        st.latex(lines(shown), width="content")
    if shown.terms is not None:
        _terms(n, shown, found.cell, trace, t)
    with st.container(horizontal=True, gap="xsmall", vertical_alignment="center"):
        for k, operand in enumerate(shown.operands):
            _operand(f"{n}.{k}", operand, found.cell, trace, t)


def _operand(key: str, operand: Operand, here: Cell, trace: vm.Trace, t: Texts) -> None:
    """A number that enters a step: one that came from somewhere is a button that leads there."""
    label = f"${operand.symbol}$ = {written(operand.value)}"
    match operand.origin:
        case Cell() as cell:
            help = f"{name_of(cell)} · {where(trace, cell, t)}"
            _button(key, label, help, here, cell)
        case Weight(name=name, index=index):
            _button(key, label, f"{t('derivation.weight')}: {literal(str(operand.origin))}", here, Cell(name, index))
        case Setting(name=name):
            st.caption(f"{label} · {t(f'derivation.setting_{name}')}", width="content")
        case Earlier(step=step):
            st.caption(f"{label} · {t('derivation.earlier', n=step + 1)}", width="content")


def _button(key: str, label: str, help: str, here: Cell, to: Cell) -> None:
    st.button(
        label,
        key=f"derivation.operand.{key}",
        help=help,
        on_click=walk,
        args=(here, to),
        type="secondary",
        disabled=to == here,
    )


def _terms(n: int, step: Step, here: Cell, trace: vm.Trace, t: Texts) -> None:
    """The terms that say most, each with the numbers that make it; the rest summed; all of them where asked for."""
    terms = step.terms
    assert terms is not None
    top = terms.largest(LARGEST)
    if top.n_rest:
        st.caption(t("derivation.largest", shown=len(top.which), n=len(terms)))
    for i, value in zip(top.which, top.values, strict=True):
        with st.container(horizontal=True, gap="xsmall", vertical_alignment="center", key=f"derivation_term_{n}_{i}"):
            text = place_of(terms, i, trace)
            count = t("derivation.term", variable=f"${terms.variable}$", n=", ".join(terms.counts(i)))
            st.caption(count + (f" {literal(text)}" if text else ""), width="content")
            for k, operand in enumerate(terms.term(i)):
                _operand(f"{n}.term.{i}.{k}", operand, here, trace, t)
            st.markdown(f"→ {written(value)}", width="content")
    if top.n_rest:
        st.caption(t("derivation.rest", n=top.n_rest, value=written(top.rest)))
    every_term("derivation", n, step, here, trace, t)


def _end(found: Derivation, t: Texts) -> None:
    said = {"result": written(found.result, 5), "value": written(found.value, 5)}
    if not found.agrees:
        st.error(t("derivation.end_wrong", **said))
        return
    if found.difference == 0:
        st.success(t("derivation.end_exact", **said), icon=":material/check:")
    else:
        difference = written(found.difference, 1)
        st.success(t("derivation.end", difference=difference, **said), icon=":material/check:")
        st.caption(t("derivation.end_rounding"))
    if found.steps[-1].what == "token":
        st.markdown(t("derivation.token_end"))


def _elsewhere(here: str, cell: Cell, trace: vm.Trace, t: Texts) -> None:
    """A way to the page that shows this value among its neighbors."""
    if of_what(cell.site) != cell.site:
        return
    side, name = sites.split_side(cell.site)
    layer, rest = sites.split_name(name)
    page = "position" if rest == "embed.position" else _PAGES.get(rest.partition(".")[0])
    if page is None or page == here:
        return
    if st.button(
        t("derivation.go", page=t(f"common.page_{page}")), key="derivation.go", icon=":material/arrow_forward:"
    ):
        axes = dict(zip(sites.find(cell.site, trace.config).axes, cell.index, strict=True))
        token = axes.get("T", axes.get("Tq"))
        shown = {"layer": layer, "head": axes.get("H"), "token": token, "side": side}
        state.put(cell=None, **{field: value for field, value in shown.items() if value is not None})
        frame.go(page)
        st.rerun()


# Any number, without a mouse


def _form(trace: vm.Trace, cell: Cell, t: Texts) -> None:
    """Every number of the run by its name and place."""
    known = sites.table(trace.config)
    names = list(known)

    def label(name: str) -> str:
        return f"{name} · {t.site_label(known[name])}"

    key = f"derivation.site.{cell.site}"
    picked = [name for name in (st.session_state.get(key), cell.site, names[-1]) if name in known]
    state.follow(key, picked[0], offers=t.language)
    name = st.selectbox(t("derivation.site"), names, format_func=label, key=key)
    index = [0] * len(known[name].axes)  # an axis of a single entry has no letter
    for n, (letter, size) in enumerate(zip(known[name].index, shape(trace, known[name]), strict=False)):
        now = cell.index[n] if cell.site == name and n < len(cell.index) else 0
        now = min(now, size - 1)
        words = t(f"derivation.axis_{named_axis(letter.axis, trace.config)}", axis=letter.axis)
        key = f"derivation.axis.{name}.{n}.{now}"
        if letter.size is None:
            show = functools.partial(lambda tokens, n: f"{n} · {tokens[n].label}", tokens(trace, letter))
            index[n] = st.selectbox(words, range(size), now, format_func=show, key=key)
        else:
            index[n] = int(st.number_input(words, 0, size - 1, now, key=key))
    st.button(
        t("derivation.show"), key="derivation.show", on_click=ask, args=(Cell(name, tuple(index)),), type="primary"
    )


LARGEST = 4
"""Terms that are written out, in the drawer and on pages; the others are added up, and all listed for who asks."""
MOST_ROWS = 1_000
"""Rows of that list; its file has all of them."""


def every_term(where: str, n: int, step: Step, here: Cell, trace: vm.Trace, t: Texts) -> None:
    """All terms of a sum that has more than are written out, one click away: with the numbers that make each.

    Args:
        where: the beginning of the widgets' keys.
        n: the number of the step in the derivation of ``here``.
    """
    if step.terms is None or len(step.terms) <= LARGEST:
        return
    if st.toggle(t("derivation.all_terms", n=f"{len(step.terms):,}"), key=f"{where}.all.{here}.{n}"):
        _table(where, n, step.terms, here, trace, t)


def place_of(terms: Terms, n: int, trace: vm.Trace) -> str:
    """The text behind term ``n``, where a sum runs over tokens or words; else nothing."""
    line = terms.factors[0].line if terms.factors else None
    if line is None or line.kind is not Cell or len(line.along) != 1:
        return ""
    (along,) = line.along
    return place(trace, site_of(trace, line.name).index[along], line.at(n).index[along])


def _table(where: str, n: int, terms: Terms, here: Cell, trace: vm.Trace, t: Texts) -> None:
    def cells(count: int) -> pd.DataFrame:
        columns: dict[str, Any] = {t("derivation.table_term"): np.arange(count)}
        places = [place_of(terms, i, trace) for i in range(count)]
        columns |= {t("derivation.table_place"): places} if any(places) else {}
        columns |= {str(factor.line.at(0)): factor.values[:count] for factor in terms.factors}
        return pd.DataFrame({**columns, "=": terms.values[:count]})

    shown = min(len(terms), MOST_ROWS)
    st.dataframe(cells(shown), hide_index=True, height=min(320, 38 + 35 * shown), key=f"{where}.table.{here}.{n}")
    if shown < len(terms):
        st.caption(t("derivation.some_terms", n=f"{shown:,}", total=f"{len(terms):,}"))
    st.download_button(
        t("common.download", site=str(here)),
        data=lambda: cells(len(terms)).to_csv(index=False),
        file_name=f"{here}.step{n + 1}.csv",
        mime="text/csv",
        key=f"{where}.csv.{here}.{n}",
        on_click="ignore",
        icon=":material/download:",
    )
