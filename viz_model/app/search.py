"""Search: pages, their sections, terms, and the heads of this run by what they do. ``frontend/src/search.js`` finds
among them what is typed.
"""

from collections.abc import Mapping
from dataclasses import replace
from importlib import import_module
from typing import Any, NamedTuple

import streamlit as st

import viz_model as vm
from viz_model.app import components, declared, frame, runs, sidebar, state
from viz_model.app.choices import switch
from viz_model.config import ModelConfig
from viz_model.island import glossary
from viz_model.measures import heads
from viz_model.measures.heads import HEAD
from viz_model.texts import Texts

MOST_HEADS = 400
"""Heads that are listed at the most; the sidebar has all of them."""

_WANTED = "search.wanted"
_PAGES = (*(name for names in frame.SECTIONS.values() for name in names), frame.DESK, frame.MODELS)


class Entry(NamedTuple):
    """What can be found.

    Attributes:
        label: what it is called.
        kind: what kind of thing it is, or the page on which it stands.
        says: what is searched and shown beside the label.
        to: where it leads: page, section, layer and head, each where it has one. A term leads nowhere: it is told here.
    """

    label: str
    kind: str
    says: str
    to: Mapping[str, Any]


def sent(t: Texts, config: ModelConfig, trace: vm.Trace | None = None) -> dict[str, Any] | None:
    """For the browser; what is searched only once somebody searches. None in a lesson, and for a page alone."""
    if frame.is_bare() or state.current().lesson is not None:
        return None
    words = {name: t(f"search.{name}") for name in ("open", "hint", "nothing")}
    if trace is not None and not st.session_state.get(_WANTED):
        return {"words": words, "entries": None}
    return {"words": words, "entries": [one._asdict() for one in entries(t, config, trace)]}


def entries(t: Texts, config: ModelConfig, trace: vm.Trace | None) -> list[Entry]:
    """All that can be found, in the order in which it is offered."""
    found = [Entry(t(f"common.page_{page}"), t("search.page"), "", {"page": page}) for page in _PAGES]
    for page in _PAGES[:-2]:
        found += _sections(page, config, t)
    if trace is not None and trace.n_layers * trace.config.n_heads <= MOST_HEADS:
        attending = trace.attending
        for layer, does in enumerate(heads.kinds(trace)):
            for head, summary in enumerate(does if layer in attending else ()):
                label = t("common.head_name", layer=layer, head=head, does=HEAD.label(t.language, summary))
                found.append(Entry(label, t("search.head"), "", {"page": "attention", "layer": layer, "head": head}))
    found += [Entry(term.name, t("search.term"), term.says, {}) for term in glossary.terms(t.language)]
    return found


def _sections(name: str, config: ModelConfig, t: Texts) -> list[Entry]:
    topic = import_module(f"viz_model.topics.{name}").TOPIC
    page = topic.page(config)
    if page is None:
        return []
    doors = () if config.reads_pictures else declared.DOORS.get(page.topic, ())
    names = [*(section.name for section in page.sections), *(door.name for door in doors)]
    on = t(f"common.page_{name}")
    titled = [one for one in names if t.has_label(f"{page.topic}.door_{one}")]
    words = [(one, t(f"{page.topic}.door_{one}"), t(f"{page.topic}.door_{one}_line")) for one in titled]
    return [Entry(label, on, says, {"page": name, "section": one}) for one, label, says in words]


def heading(text: str, t: Texts) -> None:
    """Of a page of no run: what it is called, and beside it the search and the languages."""
    view = state.current()
    with st.container(horizontal=True, horizontal_alignment="distribute", vertical_alignment="center"):
        st.header(text, anchor=False, width="content")
        with st.container(width=210, horizontal=True, wrap=False, vertical_alignment="center"):
            if (data := sent(t, runs.offered()[view.model])) is not None:
                components.search(data, key="frame_search", on_pick=picked)
            sidebar.language(view, t)


def picked(value: object, text: str | None = None) -> None:
    """Somebody began to search, or chose what was found; what a head does it does on the ``text`` that is shown."""
    if not isinstance(value, Mapping) or value.get("page") not in _PAGES:
        st.session_state[_WANTED] = True
        return
    page, section = value["page"], value.get("section")
    places = {name: value[name] for name in ("layer", "head") if isinstance(value.get(name), int)}
    view = replace(state.current(), page=page, cell=None, **places)
    if places and view.text is None:  # the usual one, which need not be that of the other page
        view = replace(view, text=text)
    if isinstance(section, str) and section.isidentifier():
        view = replace(view, **state.choose(page, (switch(f"door_{section}"), True)))
    frame.lead(page, view.query())
    state.run_again()
