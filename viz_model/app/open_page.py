"""How every page begins: its address is read, its model is loaded, and what stands around it is laid out."""

from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from typing import Any, NamedTuple

import streamlit as st

import viz_model as vm
from viz_model.app import examples, frame, model_fallback, runs, share, sidebar, state
from viz_model.app.choices import Choice
from viz_model.app.frame import Places
from viz_model.app.lessons import step as lesson_step
from viz_model.app.lessons.step import Taught
from viz_model.app.sidebar import Slots
from viz_model.app.view import ViewState
from viz_model.checkpoints import registry
from viz_model.config import ModelConfig
from viz_model.drawing.digits import byte_size
from viz_model.island.page import Topic
from viz_model.texts import Texts
from viz_model.texts.markdown import literal


class Opening(NamedTuple):
    """A page that begins.

    Attributes:
        view: what is asked for, within the bounds of the model.
        example: the text, or the picture, where nobody has chosen one.
        taught: the step of a lesson that it is, if it is one.
    """

    view: ViewState
    lm: vm.LanguageModel
    t: Texts
    example: str
    taught: Taught | None
    places: Places
    slots: Slots
    pages: dict[str, Any]


def begin(topic: Topic, choices: Sequence[Choice[Any]], opened_by: Mapping[str, Choice[bool]]) -> Opening:
    """Open the frame of a page.

    Args:
        choices: what a visitor chooses on it.
        opened_by: what in an address opens which of its doors.
    """
    name, pages = topic.name, frame.navigation().pages
    state.has_parts(None)
    address = (runs.offered(), name, choices, opened_by)
    asked = state.begin(runs.names(), *address)
    view = model_fallback.fitted(asked, name, topic.needs, topic.prefers, lambda models: state.read(models, *address))
    if view.model != asked.model:
        st.rerun()  # the navigation, which stands already, is called by what the model reads and gives
    t = Texts.of(view.lang, runs.offered()[view.model])
    frame.arrived()
    taught = lesson_step.opened(name, pages)
    view = state.current()
    lm = _loaded(view, t)
    last_side = lm.config.sides[-1]
    if is_of_decoder(topic, lm.config) and view.stack(lm.config) != last_side:
        layer = None if view.layer is None else min(view.layer, lm.config.depth(last_side) - 1)
        state.settle(side=last_side, layer=layer, token=None)  # what is clicked from here on is clicked in the decoder
    example = examples.of(lm, view.lang, topic.is_story)[0]
    view = state.fit(state.current(), lm, example)
    if destination := st.session_state.pop("frame.go", None):
        st.switch_page(pages[destination])
    reads_pictures = lm.config.reads_pictures
    frame.dress_page(name, is_taught=taught is not None, reads_pictures=reads_pictures)
    has_sidebar = not topic.is_story or taught is not None
    if has_sidebar:
        places = lesson_step.lay_out(reads_pictures) if taught is not None else frame.lay_out(t, reads_pictures)
        with places.settings:
            slots = sidebar.draw(view, lm, t) if taught is None else lesson_step.draw(taught, view, lm, t)
    else:
        places, slots = Places(frame.field(reads_pictures)), Slots(None, None)
    if frame.is_bare() and taught is None and has_sidebar:
        with places.leaving:
            share.whole(t)
    frame.notices(t)
    return Opening(view, lm, t, example, taught, places, slots, pages)


def is_of_decoder(topic: Topic, config: ModelConfig) -> bool:
    """Whether a page tells of the decoder alone, whichever half was looked at before."""
    return topic.part == "cross" or (topic.of_words and config.transcribes)


def _loading(model: str, t: Texts) -> str:
    """What is said while a model is read: of a large one also what it needs, and what is free."""
    found = None if runs.is_loaded(model) or model in runs.kept() else registry.room_of(model)
    if found is None or found.free is None:
        return t("common.loading", model=literal(model))
    return t("common.loading_large", model=literal(model), size=byte_size(found.needed), free=byte_size(found.free))


def _loaded(view: ViewState, t: Texts) -> vm.LanguageModel:
    try:
        # Said only where it takes long: Streamlit waits a moment in a thread of its own, which costs as much as a
        # picture.
        loading = st.spinner(_loading(view.model, t))
        with nullcontext() if runs.is_loaded(view.model) else loading:
            return runs.model(view.model)
    except vm.ModelError as error:
        runs.leave_out(view.model, error)
        state.write(view)
        del st.session_state["view"]  # so that the address is read again, which still asks for it
        st.rerun()
