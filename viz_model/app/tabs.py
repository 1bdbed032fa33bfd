"""The four tabs that take a page apart: Streamlit's own, of the layer, head and token that are selected."""

from collections.abc import Callable, Iterable
from dataclasses import replace
from types import MappingProxyType

import streamlit as st

from viz_model.app import elements, state
from viz_model.app.page import Page
from viz_model.config import ModelConfig, Side
from viz_model.drawing.scene import seen
from viz_model.drawing.tables import Among, Phrase, pick
from viz_model.island.look import Look
from viz_model.island.prose import Line
from viz_model.island.tabs import Tabs, Trials
from viz_model.model import sites
from viz_model.texts.markdown import literal
from viz_model.topics.mistakes.bugs import BUGS


def draw(page: Page, look: Look, tabs: Tabs) -> None:
    """Formula, by hand, code, numbers; the one that is open is drawn."""
    if tabs.side is not None:
        page = replace(page, trace=page.trace.at(tabs.side(look)))
    elements.four_tabs(
        page,
        lambda: _formulas(page, look, tabs),
        lambda: _hand(page, look, tabs),
        lambda: _code(page, look, tabs),
        lambda: _numbers(page, look, tabs),
    )


def _formulas(page: Page, look: Look, tabs: Tabs) -> None:
    _say(look, tabs.begins)
    elements.formula(page, *tabs.formulas(look))
    _say(look, tabs.said)


def _say(look: Look, said: Callable[[Look], Iterable[Line]] | None) -> None:
    for line in said(look) if said else ():
        st.markdown(_markdown(line, look))


def _markdown(line: Line, look: Look) -> str:
    """A line for the selection; names that stand there to the letter are code."""
    words = line.words
    if isinstance(words, Phrase):
        values = {name: _as_code(value) if isinstance(value, Among) else value for name, value in words.values.items()}
        words = words._replace(values=values)
    return str(pick(words, look.place))


def _as_code(names: Among) -> Among:
    return names._replace(names=[literal(str(name)) for name in names.names]) if names.is_code else names


def _hand(page: Page, look: Look, tabs: Tabs) -> None:
    said, numbers, values = tabs.hand(look)
    if said is not None:
        st.markdown(_markdown(said, look))
    elements.worked(page, numbers, **values)
    _say(look, tabs.ends)
    if (scene := tabs.picture(look) if tabs.picture else None) is not None:
        drawn = seen(scene, look.place)
        elements.picture(page, drawn)


def _code(page: Page, look: Look, tabs: Tabs) -> None:
    name, values = tabs.own(look) if tabs.own else (None, {})
    elements.code(page, name, sites=tuple(tabs.code(look)), **values)


def _numbers(page: Page, look: Look, tabs: Tabs) -> None:
    more = tabs.tables(look) if tabs.tables else ()
    for n, (site, values, rows, columns) in enumerate(filter(None, [tabs.numbers(look), *more])):
        elements.table(page, site, values, list(rows), list(columns), f"numbers{n or ''}")
    if (first := tabs.numbers(look)) is not None:
        elements.names_on_hub(page, first[0].partition("[")[0])
    for name, said, named in tabs.records(look) if tabs.records else ():
        if said:
            st.markdown(said)
        elements.records(page, f"{page.text_key}.{name}", named)


def draw_trials(page: Page, trials: Trials) -> None:
    """A link to each trial that the model allows, on the same sentence."""
    _links(page, "ablations", "experiment", trials.experiments, "experiment")
    layer = page.view.layer
    # Of what this model has; a text that is too short can be made longer.
    made = {bug.name for bug in BUGS.values() if bug.lacks(page.trace, layer) in (None, "long")}
    _links(page, "mistakes", "bug", tuple(name for name in trials.bugs if name in made), "name")


def _links(page: Page, to: str, choice: str, names: tuple[str, ...], said: str) -> None:
    """Links to what another page shows where a choice is made there; ``said`` begins the names of their texts."""
    if not names or to not in page.pages:
        return
    st.markdown(f"**{page.t(f'common.page_{to}')}** · {page.t(f'common.trials_{to}')}")
    with st.container(horizontal=True):
        for name in names:
            # Of the language to translate into only the page knows whether its model has it.
            view, choices = replace(state.current(), to=page.view.to), MappingProxyType({f"{to}.{choice}": name})
            there = replace(view, page=to, cell=None, choices=choices).query()
            label = page.t(f"{to}.{said}_{name}")
            st.page_link(page.pages[to], label=label, query_params=there, icon=":material/arrow_forward:")


def neighbors(page: Page) -> None:
    """The pages before and after this one, in the order in which one reads them."""
    names = list(page.pages)
    at = names.index(page.name)
    with st.container(horizontal=True, horizontal_alignment="distribute", key="frame_onward"):
        if at > 0:
            before = page.t(f"common.page_{names[at - 1]}")
            st.page_link(page.pages[names[at - 1]], label=before, icon=":material/arrow_back:")
        if at + 1 < len(names):
            after = page.t("common.next", page=page.t(f"common.page_{names[at + 1]}"))
            st.page_link(page.pages[names[at + 1]], label=after, icon=":material/arrow_forward:", icon_position="right")


def stations(config: ModelConfig, side: Side) -> frozenset[str]:
    """The pages of a stack's stations."""
    names = {site.name for _, site in sites.in_order(config)}
    position = ("position",) if names & {"embed.position", "attn.q_rotated", "attn.bias"} else ()
    source = ("cross_attention",) if len(config.sides) > 1 and side == "decoder" else ()
    tokens = () if config.reads_pictures and side == "encoder" else ("tokens",)
    return frozenset((*tokens, "embedding", *position, "attention", *source, "block", "next_token"))


def mark(page: Page, layer: object = None) -> str:
    """Where a page stands in the order of reading: of how many stations, and in which block; of others nothing.

    ``layer`` stands for the selected one where it is given.
    """
    config, side = page.lm.config, page.trace.stack.side
    passed = stations(config, side)
    if page.name not in passed:
        return ""
    order = [name for name in page.pages if name in passed]
    place = page.t("common.station", n=order.index(page.name) + 1, all=len(order))
    if page.name in ("attention", "cross_attention", "block"):
        last, now = config.depth(side) - 1, page.view.layer if layer is None else layer
        place += page.t("common.station_block", layer=now, last=last)
    return place
