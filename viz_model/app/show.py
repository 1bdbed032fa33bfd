"""Show a topic: the frame, the page as one component, and below it what is Streamlit's own."""

import contextlib
from collections.abc import Callable, Collection, Mapping
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import streamlit as st

import viz_model as vm
from viz_model.app import (
    choices,
    default_selection,
    derivation,
    elements,
    export_menu,
    frame,
    head_picker,
    interventions,
    island,
    model_fallback,
    open_page,
    runs,
    search,
    serving,
    sketch,
    state,
    tabs,
    writing,
)
from viz_model.app import page as app_page
from viz_model.app.choices import APART, TRIALS
from viz_model.app.declared import DOORS, declared
from viz_model.app.lessons import step as lesson_step
from viz_model.app.now import Now, Opened, look_at, now_on, token_of
from viz_model.app.share import PICTURE
from viz_model.app.view import ViewState
from viz_model.config import Side
from viz_model.drawing.scene import Arrays, seen
from viz_model.drawing.tables import Among, By, Phrase
from viz_model.island import glossary, local_model, message, page_file, prose
from viz_model.island.held import is_long
from viz_model.island.look import Look
from viz_model.island.page import Item, Page, Topic, scenes
from viz_model.island.prose import Line, line
from viz_model.measures import salience
from viz_model.runs.derivation import Cell
from viz_model.texts import LANGUAGES, Texts
from viz_model.texts.markdown import literal


def show(topic: Topic) -> None:
    """Open a page."""
    if topic.is_story:
        _lead_first(topic)
    island.begin()
    opening = open_page.begin(topic, *declared(topic))
    lm, taught = opening.lm, opening.taught
    picture = None
    if lm.config.reads_pictures:
        run = sketch.line(opening.places, opening.view, lm, opening.t, is_fixed=taught is not None)
        if run is None:
            st.stop()
        picture = runs.RunKey.of(opening.view.model, run)
    has_chips = taught is None or "tokens" in taught.step.controls
    page = topic.page(lm.config)
    if topic.is_story and page in topic.pages:
        _begin_story(topic, page)
    doors = () if picture or page is None or lm.config.observed else DOORS.get(page.topic, ())
    opened = Opened(topic, page, opening, picture, has_chips, doors)
    if taught is not None and taught.is_behind_curtain:
        with opening.places.body:
            lesson_step.curtain(opening.t)
        return
    slots = opening.slots
    places = {state.PLACE: slots.place, state.ASK: slots.ask}
    absent = {part for part, place in places.items() if place is None}
    state.has_parts(topic.without, absent if frame.is_bare() else {*absent, state.LINK})
    for place, draw in ((slots.place, _place), (slots.ask, _ask)):
        if place is not None:
            with place:
                draw(opened)
    with opening.places.body:
        with st.container() if not topic.is_story else contextlib.nullcontext():
            _body(opened)
        if not topic.is_story:
            _below(opened)
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
        st.switch_page(there.pages[frame.FIRST], query_params={"chapter": _first(topic.pages[0]), **query.to_dict()})
    own = {name for page in topic.pages for name, _ in page.options}
    if "view" not in st.session_state and not own & set(query) and set(query) - {"lang", "view", "lesson"}:
        st.switch_page(there.pages["overview"], query_params=query.to_dict())


def _begin_story(topic: Topic, page: Page) -> None:
    """The address of a story says its chapter from the first one on: without it, it would lead elsewhere."""
    choice = island.options_of(page)["chapter"]
    if not state.current().chosen(topic.name, choice):
        state.settle(**state.choose(topic.name, (choice, _first(page))))


def _first(page: Page) -> str:
    """The first chapter of a story."""
    names = dict(page.options)["chapter"]
    assert isinstance(names, tuple)
    return str(names[1])


@st.fragment(key=state.PLACE)
def _place(opened: Opened) -> None:
    now = now_on(opened)
    st.session_state[_HAS_PLACE] = isinstance(now, Now) and not is_long(now.page.trace)
    if isinstance(now, Now):
        head_picker.draw(now.page)


@st.fragment(key=state.ASK)
def _ask(opened: Opened) -> None:
    now = now_on(opened)
    if isinstance(now, Now) and not now.page.trace.config.observed:
        derivation.offer(partial(_first_cell, opened), opened.opening.t)


def _first_cell(opened: Opened) -> Cell | None:
    """What is asked for without a mouse: of the sentence that stands there by then."""
    now = now_on(opened)
    return derivation.first(now.page.trace, now.page.token) if isinstance(now, Now) else None


def _parts(opened: Opened, is_another: bool) -> tuple[str, ...]:
    """Which parts of the page show another run, or another place in it.

    The page's message has the maps of all heads, too, but for a long run, of which they are a part of their own; and
    what is below the page shows something where it is open, or where layers differ in what is below them.
    """
    opening, view = opened.opening, state.current()
    doors = (APART, TRIALS, *(door.choice for door in opened.doors))
    differs = opening.lm.config.mixers and opened.page and opened.page.unattended
    is_below = differs or any(view.chosen(opened.topic.name, one) for one in doors)
    shown = (state.BODY, state.BELOW) if is_below else (state.BODY,)
    if not is_another:
        return shown
    whole = (state.BODY, state.BELOW, state.PLACE, state.ASK)
    if view.model != opening.view.model:  # chosen meanwhile: this page knows another one
        return whole
    fitted = state.fitted(view, opening.lm, opening.example)
    trace = None if view.edits else island.read(fitted, opening.lm, opening.t, opened.picture).trace
    is_quick = trace is not None and not is_long(trace.at(fitted.stack(opening.lm.config)))
    return shown if is_quick and st.session_state.get(_HAS_PLACE) else whole


@st.fragment(key=state.BODY)
def _body(opened: Opened) -> None:
    """The page itself."""
    now, t, topic = now_on(opened), opened.opening.t, opened.topic
    if not isinstance(now, Now):
        if island.rests():  # a story has no sidebar, which writes it on other pages
            state.write(state.now())
        _mount(opened, None, now)
        return
    page = now.page
    if page.trace.edits and not topic.is_story:
        interventions.banner(page.run_key, t)
    is_plain = opened.page is not None and opened.page.reads_plain
    trace = runs.trace(page.run_key.plain).at(page.trace.stack.side) if is_plain else page.trace
    derivation.watch(topic.name, trace, t, writes=island.rests())
    if topic.is_story and opened.page is not None:
        look = look_at(opened.page, page)
        _mount(opened, now, now.notes, look)
        ways = {"page_writes": True, "page_small": False} if local_model.runs(opened.opening.lm) else {"page": False}
        whole = {way: _whole(topic, opened.page, look, page, writes=writes) for way, writes in ways.items()}
        export_menu.answer_page(page, whole)
        return
    frame.back(topic.name, opened.opening.pages)
    if opened.page is None:
        _mount(opened, now, now.notes)
        model_fallback.draw(page)
        return
    look = look_at(opened.page, page)
    _press(opened.page, look, page.name)
    alone = _alone(opened.page, look, _asked(page.view, topic))
    _mount(opened, now, now.notes, look, alone)
    _menu(topic, opened.page, look, page)


@st.fragment(key=state.BELOW)
def _below(opened: Opened) -> None:
    """What is Streamlit's own below the page."""
    now = now_on(opened)
    if not isinstance(now, Now) or opened.page is None or now.page.view.present:
        return
    page, look = now.page, look_at(opened.page, now.page)
    if _alone(opened.page, look, _asked(page.view, opened.topic)) is not None:
        return
    with st.container(key="frame_room"):
        st.space(ROOM)
    with st.container(gap="xsmall"):
        for door in opened.doors:
            door.draw(page)
        _apart(opened.page, look, page)
    if page.view.lesson is None:
        tabs.neighbors(page)


def _apart(shown: Page, look: Look, page: app_page.Page) -> None:
    """What takes the page apart, and what can be tried on it, of what is selected."""
    t, shown = page.t, shown.seen(look)
    if shown.tabs is not None:
        label = f"**{t('common.apart')}** · {t('common.apart_line')}"
        elements.door(page, APART, label, partial(tabs.draw, page, look, shown.tabs))
    if shown.trials is not None:
        label = f"**{t('common.trials')}** · {t('common.trials_line')}"
        elements.door(page, TRIALS, label, partial(tabs.draw_trials, page, shown.trials))


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
    opened: Opened, now: Now | None, notes: tuple[Line, ...], look: Look | None = None, alone: Item | None = None
) -> None:
    """Hand the browser the page, or the one picture of it; where there is no run, the box to type in."""
    data = island.unchanged() or _message(opened, now, notes, look, alone)
    options = island.options_of(opened.page) if opened.page else {}
    sections = tuple(section.name for section in opened.page.sections) if opened.page else ()
    name, text = opened.topic.name, state.now().text
    sides = () if open_page.is_of_decoder(opened.topic, opened.opening.lm.config) else opened.opening.lm.config.sides
    parts = partial(_parts, opened)
    heard = island.Heard(derivation.picked, partial(_ask_menu, name), partial(_picked, text, sides), parts)
    island.mount(data, name, options, sections, heard)


def _message(opened: Opened, now: Now | None, notes: tuple[Line, ...], look: Look | None, alone: Item | None) -> bytes:
    topic, opening, shown = opened.topic, opened.opening, opened.page
    t, view, arrays = opening.t, state.now(), Arrays()
    sections = tuple(section.name for section in shown.sections) if shown else ()
    options = island.options_of(shown) if shown else {}
    is_open = island.open_of(view, topic.name, sections)
    trace, token = (None, 0) if now is None else (now.page.trace, token_of(now.page))
    other = None if now is None or now.beside is None else runs.trace(now.beside).at(now.page.trace.stack.side)
    is_fixed, is_alone = opening.taught is not None, alone is not None
    changed = [] if now is None or topic.is_story else _changed(now.page)
    top = island.head(
        view, opening.lm, trace, other, token, t, is_fixed=is_fixed, is_story=topic.is_story, arrays=arrays
    )
    if not opened.has_chips:
        top["ribbons"] = []
    has_heads = now is not None and opening.slots.place is not None and not is_long(now.page.trace)
    said = {
        **top,
        "heads": (head_picker.sent(now.page, arrays, look) or None) if now is not None and has_heads else None,
        **island.place(state.current(), now.usual if now else {}, island.chosen_of(view, topic.name, options), is_open),
        "heading": "" if is_alone or view.present else topic.heading(shown, t),
        "renews": topic.is_story,
        "present": island.turns(view, topic.name, t),
        "terms": None if is_alone else glossary.sent(t),
        "search": search.sent(t, opening.lm.config, trace),
        "notes": prose.lines([*changed, *([] if is_alone else _notes(topic, now, notes, look))], arrays),
    }
    if shown is None or look is None or now is None:
        return message.empty(t, arrays, **said)
    page = shown if alone is None else replace(shown, items=(alone,), end=())
    menu = "" if view.present else t("saving.menu")
    beside = None if now.beside is None else look_at(shown, now.page, now.beside)
    return message.message(page, look, arrays, is_open, menu, beside, **said)


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
    if not topic.is_story and (place := tabs.mark(page, "{{layer}}")):
        said.append(Line(Phrase(place, {"layer": look.layer_number}), "note"))
    nowhere = replace(state.current(), head=None)  # of the layer that an address names, or of all
    picks = topic.has_place and topic.start is None and not {"layer", "head"} <= topic.without
    picks = picks and (nowhere.layer is None or look.has("attn.pattern"))
    if picks and topic.telling is not None and (told := topic.telling(look.plain.trace, page.token)) is not None:
        said.append(Line(t(f"{topic.name}.telling", layer=told[0], head=told[1]), "note", "", "head"))
    elif picks and (mark := default_selection.note(t, page.run_key, nowhere, page.trace.stack.side, topic.part)):
        said.append(Line(mark[0], "note", mark[1], "head"))
    if page.trace.edits and look.topic == topic.name and topic.pages[0].reads_plain and not topic.is_story:
        said.append(line(t(f"{topic.name}.plain"), "note"))
    if note := model_fallback.note(t):
        said.append(line(note, "note"))
    return said


def _picked(text: str | None, sides: Collection[Side], of: str, value: Any) -> None:
    """A token of the other stack was clicked, another sentence, model or place, or the heading of a stage.

    ``sides`` are the stacks that the page tells of, where there are two.
    """
    if of == "search":
        search.picked(value, text)
    elif of == "keep" and text:
        state.update(text=runs.longer(state.current().model, text))
    elif of in sides and isinstance(value, int):
        state.update(side=of, token=value)
    elif isinstance(value, Mapping) and value.get("page") in ONWARD:
        place: dict[str, Any] = {name: value[name] for name in ("layer", "head") if isinstance(value.get(name), int)}
        if isinstance(neuron := value.get("neuron"), str):
            place |= state.choose(value["page"], (_NEURON, neuron))
        frame.go(value["page"], **place, **({"text": text} if of == "way" else {}))
    elif isinstance(value, Mapping) and of == "view":
        changes = {name: one for name, one in value.items() if name in _CHANGES and _CHANGES[name](one)}
        if isinstance(asked := value.get("edits"), str):
            with contextlib.suppress(ValueError):
                changes["edits"] = vm.edits.parse(asked)
        state.update(**changes)
    elif isinstance(value, Mapping) and of == "press":
        st.session_state[_PRESSED] = value


def _press(shown: Page, look: Look, name: str) -> None:
    """Do what a visitor has pressed, at the place where that was; it takes runs, and so is done here."""
    pressed: Mapping[str, Any] = st.session_state.pop(_PRESSED, {})
    if pressed.get("name") not in shown.presses:
        return
    place = look.place | {
        axis: n for axis, size in look.sizes.items() if isinstance(n := pressed.get(axis), int) and 0 <= n < size
    }
    there = replace(look, layer=place["layer"], head=place["head"], token=place["token"])
    changes = dict(shown.presses[pressed["name"]](there))
    choices = island.options_of(shown)
    chosen = ((choices[option], said) for option, said in changes.pop("options", {}).items())
    state.put(**changes, **state.choose(name, *chosen))
    st.rerun()


_PRESSED, _HAS_PLACE = "show.pressed", "show.has_place"
ROOM = 900
"""Pixels that are kept free where the page will stand, until the style sheet does so."""


def _is_text(said: object) -> bool:
    return said is None or isinstance(said, str)


def _is_place(said: object) -> bool:
    return said is None or (isinstance(said, int) and said >= 0)


_CHANGES: dict[str, Callable[[Any], bool]] = {
    "text": _is_text,
    "target": _is_text,
    "to": _is_text,
    "side": lambda said: said in ("encoder", "decoder"),
    "model": lambda said: said in runs.names(),
    "layer": _is_place,
    "head": _is_place,
    "token": _is_place,
}
"""What of the view a button on a page may change, and to what."""
_NEURON = choices.words("neuron", r"[0-9]{0,6}")
"""Which neuron the page of heads and neurons is asked about; "" for a head."""
ONWARD = (*(name for names in frame.SECTIONS.values() for name in names), frame.MODELS)
"""Pages that a picture, a button or a story leads to."""


# Menus


def _ask_menu(page: str, key: str) -> None:
    export_menu.ask(page, key)({})


def _menu(topic: Topic, shown: Page, look: Look, page: app_page.Page) -> None:
    """Open the menu of the picture that is meant, of what is selected."""
    key = export_menu.asked(page.name)
    if not key:
        return
    found = next((scene for _, scene in scenes(shown, look) if scene.id == key), None)
    if found is not None:
        drawn = seen(found, look.place)
        known = export_menu.Known(drawn.call, tuple(drawn.sites), other=drawn.other)
        # It takes as long as some hundred pictures, which a server for strangers does not give to one of them.
        whole = None if serving.is_public() else _whole(topic, shown, look, page)
        how: dict[str, Any] = {"own": drawn.own, "known": lambda: known, "stands_alone": True, "whole": whole}
        export_menu.answer(page, lambda: drawn, key, **how)


def _whole(topic: Topic, shown: Page, look: Look, page: app_page.Page, *, writes: bool = False) -> Callable[[], str]:
    """What writes the page as a file, in all languages, with both stacks of a model that has two.

    It is called where there is no session, so what is selected is read before.
    """
    sides = (look.trace.stack.side,) if topic.part == "cross" else look.config.sides
    looks = {language: {side: _spoken(look, side, language) for side in sides} for language in LANGUAGES}
    names = tuple(section.name for section in shown.sections)
    opened = island.open_of(page.view, page.name, names)
    chosen = [axis for axis in ("layer", "head", "token") if getattr(state.current(), axis) is not None]
    first = page_file.Opening(looks, page.t.language, look.trace.stack.side, opened, chosen, writes)
    return partial(page_file.written, topic, shown, first)


def _spoken(look: Look, side: Side, language: str) -> Look:
    """The same look in another language; or at the other stack, where that begins."""
    trace, t = look.trace.at(side), Texts.of(language, look.config)
    plain = None if look.unedited is None else replace(look.unedited, t=t, trace=look.unedited.trace.at(side), _read={})
    found = replace(look, trace=trace, t=t, unedited=plain, twin=look.twin and look.twin.at(side), _read={})
    if trace.stack.side == look.trace.stack.side:
        return found
    at = Look.at(trace, t, look.topic, layer=min(look.layer, trace.n_layers - 1))
    return replace(found, layer=at.layer, token=salience.token(trace), layers=at.layers)
