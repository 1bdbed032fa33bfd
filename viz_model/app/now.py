"""What a page shows at this moment: the run of its text, what is selected in it, and who stands beside."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import NamedTuple

import viz_model as vm
from viz_model.app import default_selection, examples, frame, island, run_lock, runs, state
from viz_model.app import page as app_page
from viz_model.app.cache import cached
from viz_model.app.expander import Door
from viz_model.app.open_page import Opening
from viz_model.app.view import ViewState
from viz_model.config import Side
from viz_model.island.held import one_layer
from viz_model.island.look import Look, Other
from viz_model.island.page import Page, Topic
from viz_model.island.prose import Line, line
from viz_model.texts import Texts


@dataclass(frozen=True)
class Opened:
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
    doors: tuple[Door, ...]


class Now(NamedTuple):
    """A page at this moment: sentence, layer, head and token may be others than when it was opened.

    Attributes:
        page: as the sidebar, the drawer and the tabs are given it.
        usual: what is selected where nobody has chosen.
        beside: the run that stands beside: of another text, or of this one in the model's twin.
    """

    page: app_page.Page
    usual: dict[str, int]
    notes: tuple[Line, ...]
    beside: runs.RunKey | None


def look_at(shown: Page, page: app_page.Page, beside: runs.RunKey | None = None) -> Look:
    """The look at a run, the page's own or another; what pictures read of it is kept with the run."""
    options = island.chosen_of(state.current(), page.name, island.options_of(shown))
    run, side = beside or page.run_key, page.trace.stack.side
    other = _other(shown, page, run, options.get("compare", ""))
    both = [(run, side), *([(other.run, other.side)] if other and other.run else [])]
    layer = page.view.layer if any(one_layer(runs.trace(one).at(stack)) for one, stack in both) else None
    run = run.plain if shown.reads_plain else run
    look = _looked(run, side, page.t.language, shown.topic, layer, shown.has_twin, other)
    token = min(token_of(page), len(look) - 1)
    return replace(
        look, layer=page.view.layer, head=page.view.head, token=token, options=options, lm=_model_of(page, run)
    )


def _model_of(page: app_page.Page, run: runs.RunKey) -> vm.LanguageModel:
    """The model of a run on a page; the page's own may lack a part, which an edit has taken out."""
    return page.lm if run.model == page.view.model else runs.model(run.model)


def token_of(page: app_page.Page) -> int:
    """The token that is selected, which may be beyond the shorter of two texts."""
    return page.token if page.view.token is None else page.view.token


class _Beside(NamedTuple):
    """Which model stands beside that of the page, of which ones, and its run; without one, why it cannot read the
    text.
    """

    name: str
    labels: tuple[tuple[str, str], ...]
    side: Side
    run: runs.RunKey | None
    refused: str = ""


def _other(shown: Page, page: app_page.Page, run: runs.RunKey, asked: str) -> _Beside | None:
    """The model that a visitor chose, or the usual one; None where the page shows one alone, or there is no other."""
    while shown.other is not None:
        usual_one = shown.other(page.view.model, page.lm.twin, runs.readers())
        name = asked if asked != page.view.model and asked in runs.readers() else usual_one
        if name is None:
            return None
        try:
            lm = runs.model(name)
        except vm.ModelError as error:
            runs.leave_out(name, error)
            continue
        labels = tuple((other, runs.label(other)) for other in runs.readers() if other != page.view.model)
        side, text = page.view.stack(lm.config), runs.trace(run).text or ""
        key = runs.RunKey(name, text)
        try:
            if lm.config.kind == "encoder_decoder":  # it says its own target
                to = page.view.to if page.view.to in lm.tokenizer.languages else None
                key = runs.RunKey(name, text, runs.greedy_target(name, text, to), to)
            runs.trace(key)
        except vm.TextError as error:
            return _Beside(name, labels, side, None, page.t.error(error))
        return _Beside(name, labels, side, key)
    return None


@cached(size=lambda look: runs.bytes_of(look.trace))
def _looked(
    run: runs.RunKey, side: Side, language: str, topic: str, layer: int | None, has_twin: bool, other: _Beside | None
) -> Look:
    if layer is None:
        trace = runs.trace(run).at(side)
        look = Look.at(trace, Texts.of(language, trace.config), topic)
    else:
        look = _looked(run, side, language, topic, None, has_twin, other).of_layer(layer)
    if other is not None:
        second = None if other.run is None else runs.trace(other.run).at(other.side)
        lm, is_public = runs.model(other.name), other.name not in runs.kept()
        look = replace(look, other=Other(other.name, dict(other.labels), lm, second, other.refused, is_public))
    plain = _looked(run.plain, side, language, topic, layer, has_twin, other) if run.edits else None
    look = replace(look, others=partial(_bundled, run.model, language), unedited=plain, turn=lambda: run_lock.RUNNING)
    twin = runs.model(run.model).twin if has_twin else None
    return replace(look, twin=runs.trace(run._replace(model=twin)).at(side)) if twin in runs.names() else look


def _bundled(own: str, language: str, model: str, text: str) -> vm.Trace | None:
    """Another run, as :attr:`viz_model.island.look.Look.others` has it."""
    name = model or own
    if name != own and name not in runs.offered():
        return None
    lm = runs.model(name)
    run = runs.trace(runs.RunKey(name, text or examples.of(lm, language)[0]))
    return run.at(lm.config.sides[-1])


def now_on(opened: Opened) -> Now | tuple[Line, ...]:
    """The page at this moment, or why there is none."""
    opening, topic = opened.opening, opened.topic
    frame.follow(opening.pages)
    lm, t = opening.lm, opening.t
    fitted = state.fitted(state.current(), lm, opening.example)
    notes: tuple[Line, ...] = ()
    if opened.picture is not None and not lm.config.transcribes:
        key = opened.picture
    else:
        reading = island.read(fitted, lm, t, opened.picture)
        notes = reading.notes
        if reading.trace is None:
            return notes
        key = runs.RunKey.of(fitted.model, reading.trace)
    side = fitted.stack(lm.config)
    trace = runs.trace(key).at(side)
    beside, said = _beside(opened, fitted, lm, key)
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
    if fitted.layer is not None and fitted.head is None:  # of a layer that was chosen, the head that tells most there
        unasked = unasked._replace(head=head)
    return Now(page, {**unasked._asdict(), "token": usual_token}, notes, beside)


def _beside(
    opened: Opened, view: ViewState, lm: vm.LanguageModel, key: runs.RunKey
) -> tuple[runs.RunKey | None, tuple[Line, ...]]:
    """The run that is to stand beside, of another text or in the model's twin, and what is to be said of it."""
    t = opened.opening.t
    if view.also is not None:
        reading = island.read(replace(view, text=view.also), lm, t)
        notes = tuple(one._replace(words=t("common.also_note", note=one.words)) for one in reading.notes)
        return None if reading.trace is None else runs.RunKey.of(view.model, reading.trace), notes
    if view.twin and opened.page is not None and opened.page.other is None:
        if lm.twin in runs.names():
            return key._replace(model=lm.twin or ""), ()
        if state.from_address():
            return None, (line(t("common.no_twin"), "notice"),)
    return None, ()


def _token_of(topic: Topic, key: runs.RunKey, view: ViewState, side: Side) -> int:
    return default_selection.token(key, view, side) if topic.start is None else _start(topic.start, key, side)[2]


@cached()
def _start(find: Callable[[vm.Trace], tuple[int, int, int]], key: runs.RunKey, side: Side) -> tuple[int, int, int]:
    return find(runs.trace(key.plain).at(side))


def _place_of(topic: Topic, key: runs.RunKey, view: ViewState, side: Side, token: int) -> default_selection.Place:
    if topic.start is not None and view.layer is None and view.head is None:
        return default_selection.Place(*_start(topic.start, key, side)[:2])
    if topic.telling is not None and view.layer is None and view.head is None:
        told = topic.telling(runs.trace(key.plain).at(side), token)
        if told is not None:
            return default_selection.Place(*told)
    return default_selection.place(key, view, side, topic.part)
