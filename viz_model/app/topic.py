"""A page as a list: its sections and doors in order, its question, and what a visitor may choose on it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Generic, NamedTuple, TypeVar

import streamlit as st

import viz_model as vm
from viz_model.app import (
    ahead,
    alone,
    components,
    derivation,
    elements,
    following,
    frame,
    glossary,
    head_picker,
    interventions,
    lent,
    onward,
    open_page,
    runs,
    selection,
    sentence,
    share,
    sketch,
    state,
    stations,
    usual,
    without_sense,
)
from viz_model.app.cache import cached
from viz_model.app.choices import APART, CODE, GUESS, TAB, TRIALS, Choice, switch
from viz_model.app.lessons import step as lesson_step
from viz_model.app.page import Page
from viz_model.app.state import ViewState
from viz_model.config import ModelConfig, Side
from viz_model.island.page import Trials
from viz_model.model import sites
from viz_model.runs.derivation import Cell
from viz_model.texts import Texts

C = TypeVar("C")


class Tabs(NamedTuple, Generic[C]):
    """What takes a page apart: each is drawn when it is open."""

    formula: Callable[[C], None]
    hand: Callable[[C], None]
    code: Callable[[C], None]
    numbers: Callable[[C], None]


@dataclass(frozen=True)
class Door(Generic[C]):
    """Sections behind a title, which are drawn once a visitor opens it.

    Attributes:
        name: after ``door_`` the name of its choice, of its title in the page's texts, and with ``_line`` after
            it of a line on what is behind it.
        sections: from above to below.
        choices: what is chosen behind it: who chooses one of these, or has it in the address, finds it open.
        formerly: what addresses said in its place before there was a door, such as ``"section=care"``.
        is_alone: whether what is chosen behind it shows nowhere else, and so draws nothing else again.
    """

    name: str
    sections: tuple[Callable[[C], None], ...]
    choices: tuple[Choice[Any], ...] = ()
    formerly: str = ""
    is_alone: bool = False

    @property
    def choice(self) -> Choice[bool]:
        """Whether it is open."""
        return switch(f"door_{self.name}")

    @property
    def opened_by(self) -> dict[str, Choice[bool]]:
        """What in an address opens it: a name, or a name and its value."""
        return {asked: self.choice for asked in (self.formerly, *(choice.name for choice in self.choices)) if asked}

    def draw(self, page: Page, given: C) -> None:
        def behind() -> None:
            for section in self.sections:
                section(given)

        name = self.choice.name
        label = f"**{page.words(name)}** · {page.words(f'{name}_line')}"
        elements.door(page, self.choice, label, behind, is_alone=self.is_alone)


@dataclass(frozen=True)
class Layout(Generic[C]):
    """What stands on a page below its lead.

    Attributes:
        of: makes of the page what its sections and tabs are given, once each time it is drawn; the page itself
            for one whose sections share nothing.
        sections: from above to below: what everybody meets first, then doors to the rest.
        tabs: after the sections, behind a door of their own.
        trials: what can be broken and mistaken here, behind another.
        question: at the end, where it is not the page's ``question`` and ``answer``.
    """

    of: Callable[[Page], C]
    sections: tuple[Callable[[C], None] | Door[C], ...]
    tabs: Tabs[C] | None = None
    trials: Trials | None = None
    question: Callable[[C], None] | None = None

    @property
    def doors(self) -> tuple[Door[C], ...]:
        return tuple(section for section in self.sections if isinstance(section, Door))

    def draw(self, page: Page) -> None:
        if page.view.present:
            share.slides(page.t(f"common.page_{page.name}"), page.t)
            with st.container(key="present_slides"):
                self._open(self.of(page))
            return
        given = self.of(page)
        self._open(given)
        with st.container(gap="xsmall"):
            self._doors(page, given)
        if self.question is not None:
            self.question(given)
        elif self.tabs is not None:
            elements.question(page)

    def _open(self, given: C) -> None:
        """What everybody meets first."""
        for section in self.sections:
            if not isinstance(section, Door):
                section(given)

    def _doors(self, page: Page, given: C) -> None:
        """All of them, one close to the other."""
        for door in self.doors:
            door.draw(page, given)
        if self.tabs is not None:
            tabs = partial(elements.four_tabs, page, *(partial(tab, given) for tab in self.tabs))
            label = f"**{page.t('common.apart')}** · {page.t('common.apart_line')}"
            elements.door(page, APART, label, tabs)
        if self.trials is not None:
            label = f"**{page.t('common.trials')}** · {page.t('common.trials_line')}"
            elements.door(page, TRIALS, label, partial(onward.draw_trials, page, self.trials))


def itself(page: Page) -> Page:
    """The ``of`` of a layout whose sections are given the page."""
    return page


@dataclass(frozen=True)
class Topic:
    """A page.

    Attributes:
        name: of its room, its door in ``pages/``, its address and its texts.
        layout: what it shows; a function where that depends on the model.
        layouts: those that such a function chooses from.
        choices: what a visitor chooses on it; doors, and the open tab, are always among them.
        without: fields of the view that make no difference to it.
        text_key: names the texts of a page that has another story to tell of another kind of model.
        part: whose heads it tells of, "attn" or "cross": where nobody has chosen one, it shows one that says something.
        telling: the layer and head that it shows of a token where nobody has chosen, if it is not that one.
        has_place: whether what it shows first is of a layer or of a head.
        is_bare: whether its own content is all: no heading and no chips stand above it, no ways on below.
        needs: which models it can show; None where it shows all.
        pictures: what it shows of a model that reads pictures; None where it has nothing to say of one, and says why.
        pictures_need: a value that such a model must make for it.
    """

    name: str
    layout: Layout[Any] | Callable[[Page], Layout[Any]]
    layouts: tuple[Layout[Any], ...] = ()
    choices: tuple[Choice[Any], ...] = ()
    without: frozenset[str] = frozenset()
    text_key: Callable[[ModelConfig], str] | None = None
    part: str = "attn"
    telling: Callable[[vm.Trace, int], tuple[int, int] | None] | None = None
    has_place: bool = True
    is_bare: bool = False
    needs: Callable[[ModelConfig], bool] | None = None
    pictures: Layout[Any] | None = None
    pictures_need: str = ""

    @property
    def all_layouts(self) -> tuple[Layout[Any], ...]:
        """What it may show."""
        own = (self.layout,) if isinstance(self.layout, Layout) else self.layouts
        return own if self.pictures is None else (*own, self.pictures)

    def has_sense(self, config: ModelConfig) -> bool:
        """Whether there is anything to show of a model."""
        if not config.reads_pictures:
            return True
        has_all = not self.pictures_need or self.pictures_need in sites.table(config)
        return self.pictures is not None and has_all

    @property
    def doors(self) -> tuple[Door[Any], ...]:
        return tuple(door for layout in self.all_layouts for door in layout.doors)

    @property
    def all_choices(self) -> tuple[Choice[Any], ...]:
        """Those that every page has, its own, and its doors."""
        return (
            TAB,
            CODE,
            APART,
            TRIALS,
            GUESS,
            alone.PICTURE,
            *self.choices,
            *{door.name: door.choice for door in self.doors}.values(),
        )

    @property
    def opened_by(self) -> dict[str, Choice[bool]]:
        """What in an address opens which of its doors."""
        found = {choice.name: APART for choice in (TAB, CODE)}
        for door in self.doors:
            found |= door.opened_by
        return found

    def draw(self, page: Page) -> None:
        """All below the lead."""
        if page.lm.config.reads_pictures:
            if self.pictures is None or not self.has_sense(page.lm.config):
                without_sense.draw(page)
            else:
                self.pictures.draw(page)
            return
        (self.layout if isinstance(self.layout, Layout) else self.layout(page)).draw(page)


@dataclass(frozen=True)
class _Opened:
    """What a page was opened on. The run itself is kept by :mod:`viz_model.app.runs`, which bounds what all take."""

    topic: Topic
    text_key: str
    run_key: runs.RunKey
    example: str
    t: Texts
    pages: dict[str, Any]


def show(topic: Topic) -> None:
    """Open the frame and, below the sentence, draw the page; nothing below where there is no text to run.

    What is below runs again alone when only that can change (:func:`viz_model.app.state.update`).
    """
    opening = open_page.begin(topic.name, topic.all_choices, topic.opened_by, topic.needs)
    view, lm, t, taught = opening.view, opening.lm, opening.t, opening.taught
    places, slots = opening.places, opening.slots
    line = sketch.line if lm.config.reads_pictures else sentence.line
    run = line(places, view, lm, t, is_fixed=taught is not None)
    if run is None:
        st.stop()
    text_key = topic.text_key(lm.config) if topic.text_key else topic.name
    opened = _Opened(topic, text_key, runs.RunKey.of(view.model, run), opening.example, t, opening.pages)
    _shorten(opened)
    if taught is not None and taught.is_behind_curtain:
        with places.body:
            lesson_step.curtain(t)
        return
    has_chips = taught is None or "tokens" in taught.step.controls
    parts: dict[str, tuple[Any, Callable[[_Opened], None]]] = {
        state.TOKENS: (places.head if has_chips else None, _tokens),
        state.PLACE: (slots.place, _place),
        state.ASK: (slots.ask, _ask),
    }
    absent = {part for part, (place, _) in parts.items() if place is None}
    if max(len(run.at(side)) for side in run.config.sides) <= sentence.MOST_CHIPS:
        absent.add(state.TOKENS)  # the browser marks the chosen one of all
    if not frame.is_bare():
        absent.add(state.LINK)
    state.has_parts(topic.without, absent)
    for place, draw in parts.values():
        if place is not None:
            with place:
                draw(opened)
    with places.body:
        _body(opened)
    glossary.draw(t)
    state.wait_until_sent()


def _shorten(opened: _Opened) -> None:
    """The last token in place of one that the sentence does not have, or no longer."""
    view, last = state.current(), len(_now(opened).trace) - 1
    if view.token is None or view.token <= last:
        return
    if state.from_address():
        st.warning(opened.t("common.token_beyond", asked=view.token, last=last))
    else:
        state.put(token=None)


@st.fragment(key=state.TOKENS)
def _tokens(opened: _Opened) -> None:
    """The sentence in tokens, which stays in sight; a bare page has the fragment too, because changes ask for it."""
    page = _now(opened)
    if not opened.topic.is_bare:
        if page.lm.config.reads_pictures:
            sketch.tokens(page.trace, page.t)
        else:
            sentence.tokens(page.trace, page.t, page.token)


@st.fragment(key=state.PLACE)
def _place(opened: _Opened) -> None:
    head_picker.draw(_now(opened))


@st.fragment(key=state.ASK)
def _ask(opened: _Opened) -> None:
    def first() -> Cell:
        page = _now(opened)
        return derivation.first(page.trace, page.token)

    derivation.offer(first, opened.t)


@st.fragment(key=state.BODY)
def _body(opened: _Opened) -> None:
    """The page's own content."""
    page, t = _now(opened), opened.t
    view, trace = page.view, page.trace
    ahead.begin()
    if trace.edits:
        interventions.banner(page.run_key, t, partial(elements.told, page, _changed, "changed", by=("token",)))
    with st.container(key="derivation"):  # takes no room
        components.reach(key="derivation.reach")
        derivation.watch(page.name, view, trace, t)
    if not (opened.topic.is_bare or view.present):
        _head(opened, page)
    place = alone.begin(page)
    opened.topic.draw(page)
    alone.end(page, place)
    if not opened.topic.is_bare and view.lesson is None and not view.present:
        onward.neighbours(page)
    if state.is_bodys_alone():
        selection.bridge(page, _usual(opened, page), within=state.BODY)
    else:
        _bridge(opened)
    _rest(opened)


def _changed(page: Page) -> list[elements.Said]:
    """What an edited run says at the token, or where the answer is read."""
    position = page.token if page.trace.side == page.lm.config.sides[-1] else -1
    return [elements.notice(interventions.says(page.run_key, position, page.t))]


def _head(opened: _Opened, page: Page) -> None:
    """What a page is called, where it stands, and what it is about."""
    t, own = opened.t, page.text_key == page.name
    with st.container(horizontal=True, vertical_alignment="bottom", key="frame_title"):
        st.header(t(f"common.page_{page.name}") if own else page.words("heading"), anchor=False, width="content")
        if not opened.topic.has_sense(page.lm.config):
            return
        if stations.mark(page):
            elements.told(page, _station, "station", by=("layer",), width="content")
        if opened.topic.has_place and not {"layer", "head"} <= page.without:
            usual.mark(page, opened.run_key, state.current(), opened.topic.part)
        frame.back(page.name, opened.pages)
    lent.mark(t)
    elements.see(page, "lead")


def _station(page: Page) -> list[elements.Said]:
    return [elements.note(stations.mark(page))]


@st.fragment(key=state.BRIDGE)
def _bridge(opened: _Opened) -> None:
    """What ties the browser's selection to the view, where other parts of the page show it too.

    It asks for their run from here: a run of the body that ended before it drew anything would empty the body in the
    browser.
    """
    page = _now(opened)
    selection.bridge(page, _usual(opened, page), within=state.BRIDGE)


@st.fragment(key=state.REST)
def _rest(opened: _Opened) -> None:
    """After the pictures and texts; alone where some were added to a page that stood there."""
    page = _now(opened)
    following.send(page)
    selection.rest(page)


def _now(opened: _Opened) -> Page:
    """The page at this moment: layer, head and token may be others than when it was opened."""
    frame.follow(opened.pages)
    lm, run = runs.model(opened.run_key.model), runs.trace(opened.run_key)
    fitted = state.fit(state.current(), lm.config, opened.example, tuple(lm.tokenizer.languages))
    side = fitted.stack(lm.config)
    trace = run.at(side)
    token = usual.token(opened.run_key, fitted, side) if fitted.token is None else min(fitted.token, len(trace) - 1)
    layer, head = _place_of(opened, fitted, side, token)
    view = state.shown(fitted, layer=layer, head=head)
    if trace.model is not lm.model:  # an edit has taken a part out of it
        lm = replace(lm, model=trace.model)
    return Page(
        opened.topic.name, opened.text_key, view, lm, trace, opened.t, token, opened.pages, opened.topic.without
    )


def _place_of(opened: _Opened, view: ViewState, side: Side, token: int) -> usual.Place:
    """The layer and head that are looked at."""
    if opened.topic.telling is not None and view.layer is None and view.head is None:
        told = _telling(opened.topic.telling, opened.run_key.plain, side, token)
        if told is not None:
            return usual.Place(*told)
    return usual.place(opened.run_key, view, side, opened.topic.part)


@cached()
def _telling(
    telling: Callable[[vm.Trace, int], tuple[int, int] | None], run: runs.RunKey, side: Side, token: int
) -> tuple[int, int] | None:
    """What ``telling`` says of a run: every part of the page asks for it."""
    return telling(runs.trace(run).at(side), token)


def _usual(opened: _Opened, page: Page) -> dict[str, int]:
    """What is looked at where an address names nothing."""
    nowhere, side = replace(state.current(), layer=None, head=None), page.trace.stack.side
    token = usual.token(opened.run_key, page.view, side)
    return {**_place_of(opened, nowhere, side, token)._asdict(), "token": token}
