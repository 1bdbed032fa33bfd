"""Show a topic: the frame, the page as one component, and below it what is Streamlit's own."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import streamlit as st

import viz_model as vm
from viz_model.app import (
    apart,
    block_doors,
    cache_times,
    clicks,
    cost_times,
    derivation,
    elements,
    frame,
    glossary,
    head_picker,
    interventions,
    island,
    lab,
    lent,
    looks,
    mask_editor,
    norm_training,
    onward,
    open_page,
    other_sentences,
    runs,
    saving,
    sketch,
    state,
    stations,
    two_sentences,
    usual,
    without_sense,
    writing,
)
from viz_model.app import page as app_page
from viz_model.app.cache import cached
from viz_model.app.choices import APART, CODE, TAB, TRIALS, Choice, switch
from viz_model.app.door import Door
from viz_model.app.embed_picture import PICTURE
from viz_model.app.lessons import step as lesson_step
from viz_model.app.open_page import Opening
from viz_model.app.state import ViewState
from viz_model.config import Side
from viz_model.drawing.scene import Arrays, seen
from viz_model.drawing.tables import Among, By, Phrase
from viz_model.island import message, prose
from viz_model.island.look import Look, is_long
from viz_model.island.page import Item, Page, Topic, scenes
from viz_model.island.prose import Line, line
from viz_model.texts import Texts
from viz_model.texts.markdown import literal

DOORS: dict[str, tuple[Door[app_page.Page], ...]] = {
    "attention": (mask_editor.DOOR,),
    "block": block_doors.DOORS,
    "norm_placement": (norm_training.DOOR,),
    "embedding": (two_sentences.DOOR,),
    "next_token": (cache_times.DOOR,),
    "cost": (cost_times.DOOR,),
    "training_lab": lab.DOORS,
    "sentence_vectors": (other_sentences.DOOR,),
}
"""By the group of a page's texts: below it, what runs the model again with what a visitor makes there; of models that
read texts alone.
"""


class Declared(NamedTuple):
    """What an address of a page may say, and what in it opens which section."""

    all_choices: tuple[Choice[Any], ...]
    opened_by: dict[str, Choice[bool]]


def declared(topic: Topic) -> Declared:
    """Of a page that is not opened to be asked."""
    return Declared(_choices(topic), _opened_by(topic))


def _doors(topic: Topic) -> list[Door[app_page.Page]]:
    return [door for group in dict.fromkeys(page.topic for page in topic.pages) for door in DOORS.get(group, ())]


def _choices(topic: Topic) -> tuple[Choice[Any], ...]:
    beside = [choice for door in _doors(topic) for choice in (door.choice, *door.choices)]
    own = {name: choice for page in topic.pages for name, choice in island.options_of(page).items()}
    named = (TAB, CODE, APART, TRIALS, PICTURE)
    every: tuple[Choice[Any], ...] = (*named, *own.values(), *_sections(topic).values(), *beside)
    return tuple(dict.fromkeys(every))


def _sections(topic: Topic) -> dict[str, Choice[bool]]:
    return {section.name: switch(f"door_{section.name}") for page in topic.pages for section in page.sections}


def _opened_by(topic: Topic) -> dict[str, Choice[bool]]:
    found = {choice.name: APART for choice in (TAB, CODE)}
    for page in topic.pages:
        for section in page.sections:
            found |= {asked: switch(f"door_{section.name}") for asked in section.opened_by}
    for door in _doors(topic):
        found |= door.opened_by
    return found


@dataclass(frozen=True)
class _Opened:
    """What a page was opened on.

    Attributes:
        page: what it shows of the model; None where that is nothing.
        picture: the run of a picture, which is drawn in a field of its own.
        doors: what stands below it and is Streamlit's own.
    """

    topic: Topic
    page: Page | None
    opening: Opening
    picture: runs.RunKey | None
    has_chips: bool
    doors: tuple[Door[app_page.Page], ...]


class Now(NamedTuple):
    """A page at this moment: sentence, layer, head and token may be others than when it was opened.

    Attributes:
        page: as the sidebar, the drawer and the tabs are given it.
        usual: what is selected where nobody has chosen.
        beside: the run of another text, which stands beside.
    """

    page: app_page.Page
    usual: dict[str, int]
    notes: tuple[Line, ...]
    beside: runs.RunKey | None


def show(topic: Topic) -> None:
    """Open a page."""
    if topic.is_story:
        _lead_first(topic)
    opening = open_page.begin(topic.name, *declared(topic), topic.needs, skips=False, is_story=topic.is_story)
    lm, taught = opening.lm, opening.taught
    picture = None
    if lm.config.reads_pictures:
        run = sketch.line(opening.places, opening.view, lm, opening.t, is_fixed=taught is not None)
        if run is None:
            st.stop()
        picture = runs.RunKey.of(opening.view.model, run)
    has_chips = taught is None or "tokens" in taught.step.controls
    page = topic.page(lm.config)
    doors = () if picture or page is None else DOORS.get(page.topic, ())
    opened = _Opened(topic, page, opening, picture, has_chips, doors)
    if taught is not None and taught.is_behind_curtain:
        with opening.places.body:
            lesson_step.curtain(opening.t)
        return
    slots = opening.slots
    places = {state.PLACE: slots.place, state.ASK: slots.ask}
    absent = {part for part, place in places.items() if place is None}
    if not frame.is_bare():
        absent.add(state.LINK)
    state.has_parts(topic.without, absent)
    for place, draw in ((slots.place, _place), (slots.ask, _ask)):
        if place is not None:
            with place:
                draw(opened)
    with opening.places.body:
        _body(opened)
    if topic.is_story:
        writing.pen(opening.view.model)
    state.wait_until_sent()


def _lead_first(topic: Topic) -> None:
    """The page at the bare address: who comes with the address of something to look at, but of no chapter, is shown
    that instead.
    """
    query, there = st.query_params, frame.navigation()
    for former, (name, values) in topic.formerly.items():
        if former in query:
            asked = query[former]
            del query[former]
            query[name] = values.get(asked, asked)
    if there.current.url_path == frame.FIRST:
        st.switch_page(there.pages[frame.FIRST], query_params=query.to_dict())
    own = {name for page in topic.pages for name, _ in page.options}
    if "view" not in st.session_state and not own & set(query) and set(query) - {"lang", "view", "lesson"}:
        st.switch_page(there.pages["overview"], query_params=query.to_dict())


@st.fragment(key=state.PLACE)
def _place(opened: _Opened) -> None:
    if isinstance(now := _now(opened), Now):
        head_picker.draw(now.page)


@st.fragment(key=state.ASK)
def _ask(opened: _Opened) -> None:
    now = _now(opened)
    if isinstance(now, Now):
        derivation.offer(lambda: derivation.first(now.page.trace, now.page.token), opened.opening.t)


@st.fragment(key=state.BODY)
def _body(opened: _Opened) -> None:
    """The page itself, and what is Streamlit's own below it."""
    now, t, topic = _now(opened), opened.opening.t, opened.topic
    if not isinstance(now, Now):
        _mount(opened, None, now)
        return
    page = now.page
    if page.trace.edits and not topic.is_story:
        interventions.banner(page.run_key, t)
    derivation.watch(topic.name, page.view, page.trace, t, writes=island.rests())
    if topic.is_story and opened.page is not None:
        _mount(opened, now, now.notes, looks.of_page(opened.page, page))
        return
    frame.back(topic.name, opened.opening.pages)
    if opened.page is None:
        _mount(opened, now, now.notes)
        without_sense.draw(page)
        return
    look = looks.of_page(opened.page, page)
    clicks.press(opened.page, look, page.name)
    alone = _alone(opened.page, look, _asked(page.view, topic))
    _mount(opened, now, now.notes, look, alone)
    _menu(opened.page, look, page)
    if page.view.present or alone is not None:
        return
    with st.container(gap="xsmall"):
        for door in opened.doors:
            door.draw(page, page)
        _below(opened.page, look, page)
    if page.view.lesson is None:
        onward.neighbours(page)


def _below(shown: Page, look: Look, page: app_page.Page) -> None:
    """What takes the page apart, and what can be tried on it: Streamlit's own, of what is selected."""
    t = page.t
    if shown.apart is not None:
        label = f"**{t('common.apart')}** · {t('common.apart_line')}"
        elements.door(page, APART, label, partial(apart.draw, page, look, shown.apart))
    if shown.trials is not None:
        label = f"**{t('common.trials')}** · {t('common.trials_line')}"
        elements.door(page, TRIALS, label, partial(onward.draw_trials, page, shown.trials))


def _changed(page: app_page.Page) -> list[Line]:
    """What an edited run says at each token, of a long one at the selected; where no answer is read, at the last."""
    if not page.trace.edits:
        return []
    if page.trace.side != page.lm.config.sides[-1]:
        return [line(interventions.says(page.run_key, -1, page.t), "notice")]
    held = range(page.token, page.token + 1) if is_long(page.trace) else range(len(page.trace))
    said = [interventions.says(page.run_key, token, page.t) for token in held]
    return [Line(Among(said, By(("token",), np.arange(len(said)), start={"token": held.start})), "notice")]


def _mount(
    opened: _Opened, now: Now | None, notes: tuple[Line, ...], look: Look | None = None, alone: Item | None = None
) -> None:
    """Hand the browser the page, or the one picture of it; where there is no run, the box to type in."""
    topic, opening, shown = opened.topic, opened.opening, opened.page
    t, view, arrays = opening.t, state.now(opening.view), Arrays()
    sections = tuple(section.name for section in shown.sections) if shown else ()
    options = island.options_of(shown) if shown else {}
    is_open = island.open_of(view, topic.name, sections)
    trace, token = (None, 0) if now is None else (now.page.trace, looks.token(now.page))
    other = None if now is None or now.beside is None else runs.trace(now.beside).at(now.page.trace.stack.side)
    is_fixed, is_alone = opening.taught is not None, alone is not None
    changed = [] if now is None or topic.is_story else _changed(now.page)
    top = island.head(
        view, opening.lm, trace, other, token, t, is_fixed=is_fixed, is_story=topic.is_story, arrays=arrays
    )
    if not opened.has_chips:
        top["ribbons"] = []
    said = {
        **top,
        **island.place(state.current(), now.usual if now else {}, island.chosen_of(view, topic.name, options), is_open),
        "heading": "" if is_alone or view.present else _heading(topic, shown, t),
        "renews": topic.is_story,
        "present": island.turns(view, topic.name, t),
        "terms": None if is_alone else glossary.sent(t),
        "notes": prose.lines([*changed, *([] if is_alone else _notes(topic, now, notes, look))], arrays),
    }
    if shown is None or look is None or now is None:
        data = message.empty(t, arrays, **said)
    else:
        page = shown if alone is None else replace(shown, items=(alone,), end=())
        menu = "" if view.present else t("saving.menu")
        beside = None if now.beside is None else looks.of_page(shown, now.page, now.beside)
        data = message.message(page, look, arrays, is_open, menu, beside, **said)
    heard = island.Heard(derivation.picked, partial(_ask_menu, topic.name), partial(clicks.picked, view.text))
    island.mount(data, topic.name, options, sections, heard)


def _heading(topic: Topic, shown: Page | None, t: Texts) -> str:
    """What a page is called; one that some models have in its place may have a name of its own."""
    own = f"{shown.topic}.heading" if shown is not None else ""
    return t(own) if own and t.has_label(own) else t(f"common.page_{topic.name}")


def _asked(view: ViewState, topic: Topic) -> str:
    """The picture that a frame within another page asks for; "" where it is the whole page."""
    return view.chosen(topic.name, PICTURE) if st.context.is_embedded else ""


def _alone(shown: Page, look: Look, asked: str) -> Item | None:
    return next((item for item, scene in scenes(shown, look) if scene.id == asked), None) if asked else None


def _notes(topic: Topic, now: Now | None, notes: tuple[Line, ...], look: Look | None) -> list[Line]:
    """Below the heading: what is to be said of the text, where the page stands, and how the head was chosen."""
    if now is None or look is None:
        return list(notes)
    said = list(notes)
    page, t = now.page, now.page.t
    if asked := _asked(page.view, topic):
        said.append(line(t("common.unknown_beside", name=PICTURE.name, asked=literal(asked)), "notice"))
    if not topic.is_story and (place := stations.mark(page, "{{layer}}")):
        said.append(Line(Phrase(place, {"layer": look.layer_number}), "note"))
    nowhere = replace(state.current(), layer=None, head=None)
    picks = topic.has_place and topic.start is None and not {"layer", "head"} <= topic.without
    if picks and (mark := usual.note(t, page.run_key, nowhere, page.trace.stack.side, topic.part)):
        said.append(Line(mark[0], "note", mark[1], "head"))
    if page.trace.edits and look.topic == topic.name and topic.pages[0].reads_plain and not topic.is_story:
        said.append(line(t(f"{topic.name}.plain"), "note"))
    if note := lent.note(t):
        said.append(line(note, "note"))
    return said


# Menus


def _ask_menu(page: str, key: str) -> None:
    saving.ask(page, key)()


def _menu(shown: Page, look: Look, page: app_page.Page) -> None:
    """Open the menu of the picture that is meant, of what is selected."""
    key = saving.asked(page.name)
    if not key:
        return
    found = next((scene for _, scene in scenes(shown, look) if scene.id == key), None)
    if found is not None:
        drawn = seen(found, look.place)
        known = saving.Known(drawn.call, tuple(drawn.sites), other=drawn.other)
        saving.answer(page, lambda: drawn, key, own=drawn.own, known=lambda: known, stands_alone=True)


# What is shown now


def _now(opened: _Opened) -> Now | tuple[Line, ...]:
    """The page at this moment, or why there is none."""
    opening, topic = opened.opening, opened.topic
    frame.follow(opening.pages)
    lm, t = opening.lm, opening.t
    fitted = state.fitted(state.current(), lm.config, opening.example, tuple(lm.tokenizer.languages))
    if topic.part == "cross" and fitted.stack(lm.config) != lm.config.sides[-1]:  # it tells of the decoder alone
        last_layer = lm.config.depth(lm.config.sides[-1]) - 1
        layer = None if fitted.layer is None else min(fitted.layer, last_layer)
        fitted = replace(fitted, side=lm.config.sides[-1], layer=layer, token=None)
    notes: tuple[Line, ...] = ()
    if opened.picture is not None:
        key = opened.picture
    else:
        reading = island.read(fitted, lm, t)
        notes = reading.notes
        if reading.trace is None:
            return notes
        key = runs.RunKey.of(fitted.model, reading.trace)
    side = fitted.stack(lm.config)
    trace = runs.trace(key).at(side)
    beside, said = _beside(fitted, lm, t)
    notes = (*notes, *said)
    last = max(len(one) for one in (trace, *([] if beside is None else [runs.trace(beside).at(side)]))) - 1
    if fitted.token is not None and fitted.token > last:
        if state.from_address():
            notes = (*notes, line(t("common.token_beyond", asked=fitted.token, last=last), "notice"))
        else:  # the sentence was longer
            state.put(token=None)
            fitted = replace(fitted, token=None)
    token = _token_of(topic, key, fitted, side) if fitted.token is None else min(fitted.token, len(trace) - 1)
    layer, head = _place_of(topic, key, fitted, side, token)
    view = state.shown(fitted, layer=layer, head=head)
    if trace.model is not lm.model:  # an edit has taken a part out of it
        lm = replace(lm, model=trace.model)
    key_of_texts = opened.page.topic if opened.page else topic.name
    page = app_page.Page(topic.name, key_of_texts, view, lm, trace, t, token, opening.pages, topic.without)
    nowhere = replace(fitted, layer=None, head=None, token=None)
    usual_token = _token_of(topic, key, nowhere, side)
    unasked = _place_of(topic, key, nowhere, side, usual_token)
    return Now(page, {**unasked._asdict(), "token": usual_token}, notes, beside)


def _beside(view: ViewState, lm: vm.LanguageModel, t: Texts) -> tuple[runs.RunKey | None, tuple[Line, ...]]:
    """The run of the text that is to stand beside, and what is to be said of it."""
    if view.also is None:
        return None, ()
    reading = island.read(replace(view, text=view.also), lm, t)
    notes = tuple(one._replace(words=t("common.also_note", note=one.words)) for one in reading.notes)
    return None if reading.trace is None else runs.RunKey.of(view.model, reading.trace), notes


def _token_of(topic: Topic, key: runs.RunKey, view: ViewState, side: Side) -> int:
    return usual.token(key, view, side) if topic.start is None else _start(topic.start, key, side)[2]


@cached()
def _start(find: Callable[[vm.Trace], tuple[int, int, int]], key: runs.RunKey, side: Side) -> tuple[int, int, int]:
    return find(runs.trace(key.plain).at(side))


def _place_of(topic: Topic, key: runs.RunKey, view: ViewState, side: Side, token: int) -> usual.Place:
    if topic.start is not None and view.layer is None and view.head is None:
        return usual.Place(*_start(topic.start, key, side)[:2])
    if topic.telling is not None and view.layer is None and view.head is None:
        told = topic.telling(runs.trace(key.plain).at(side), token)
        if told is not None:
            return usual.Place(*told)
    return usual.place(key, view, side, topic.part)
