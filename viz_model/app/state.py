"""The view of a session: read from the address, kept, followed by every widget, and written to the address again."""

import dataclasses
import time
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import replace
from types import MappingProxyType
from typing import Any

import streamlit as st
from streamlit.errors import StreamlitAPIException
from streamlit.runtime.scriptrunner import get_script_run_ctx

from viz_model.app.choices import Choice
from viz_model.app.view import Notice, Shown, ViewState, opened_doors, parse
from viz_model.config import ModelConfig
from viz_model.runs.derivation import Cell
from viz_model.runs.language_model import LanguageModel
from viz_model.texts import preferred

SENDING = 0.1
"""Seconds in which everything that a run drew is surely on its way: it goes out as soon as nothing computes."""

HEARD = 1.0
"""Seconds in which a browser surely shows what was written in a widget: sooner nobody sets it back by hand."""

_SESSION, _WRITTEN, _NOTICES, _FROM_ADDRESS = "view", "view.url", "view.notices", "view.from_address"
_PARTS, _ABSENT, _OPENED_BY, _CHANGED = "view.parts", "view.absent", "view.opened_by", "view.changed"
_DRAWN = "view.drawn"
"""Of the session: the page whose parts stand there, as Streamlit knows it; none while it is drawn."""
_GONE_TO, _FORMER, _AGAIN, _READ = "view.gone_to", "view.former", "view.again", "view.read"
_OFFERED = "view.offered"
"""Of each widget, what it offered when it was drawn last."""
_UNKNOWN_PART = "rerun-unknown-fragment-key"
"""What Streamlit calls it when a part is asked for that the page does not have."""
_INSIDE: ContextVar[str | None] = ContextVar("inside", default=None)

_ALL = ("body", "below", "place", "link", "ask", "drawer")
BODY, BELOW, PLACE, LINK, ASK, DRAWER = (f"frame.{part}" for part in _ALL)
"""The parts of a page that run alone: its own content, and what is Streamlit's below it; all heads, link and question
in the sidebar; the derivation.
"""

SHOWN_BY: dict[str, frozenset[str]] = {
    **dict.fromkeys((BODY, BELOW), frozenset({"layer", "head", "token", "choices"})),
    LINK: frozenset({"layer", "head", "token", "choices", "cell"}),
    DRAWER: frozenset({"cell"}),
}
"""The fields of the view that each part shows. Other fields belong to the whole page."""
_NARROW = frozenset().union(*SHOWN_BY.values())


def begin(
    models: Sequence[str],
    configs: Mapping[str, ModelConfig],
    page: str,
    choices: Sequence[Choice[Any]],
    opened_by: Mapping[str, Choice[bool]] = MappingProxyType({}),
) -> ViewState:
    """The view of this run: the session's, unless the address is one to be followed.

    A click on a page in the navigation empties the query; that keeps the session's view. What was chosen on
    other pages is kept in any case. Arguments are as those of :func:`parse`.
    """
    st.session_state[_OPENED_BY] = opened_by
    is_asked = leads()
    follow_address()
    if is_asked:
        read(models, configs, page, choices, opened_by)
    if current().page != page:
        st.session_state[_SESSION] = replace(current(), page=page)
    return current()


def read(
    models: Sequence[str],
    configs: Mapping[str, ModelConfig],
    page: str,
    choices: Sequence[Choice[Any]],
    opened_by: Mapping[str, Choice[bool]] = MappingProxyType({}),
) -> ViewState:
    """The view of the address, which is the session's from here on. Arguments are as those of :func:`parse`."""
    query = st.query_params.to_dict()
    language = preferred(st.context.locale)
    view, notices = parse(query, models, configs, language, page, choices, opened_by)
    before: ViewState | None = st.session_state.get(_SESSION)
    elsewhere = {} if before is None else {k: v for k, v in before.choices.items() if not k.startswith(f"{page}.")}
    view = replace(view, choices=MappingProxyType({**elsewhere, **view.choices}))
    # Another run may come before this one writes what it shows: the view is that of this address all the same.
    st.session_state.update({_SESSION: view, _NOTICES: notices, _FROM_ADDRESS: True})
    st.session_state.update({_WRITTEN: query, _GONE_TO: goes_through_history()})
    return view


def leads() -> bool:
    """Whether the address, and not the session, says what to show: in a new one, or where it is none that we wrote.

    An address that comes with a change to the whole page does not: what the browser says before it has heard of the
    address that we wrote for the change before this one still names a former one. Back and Forward lead in any case,
    and so does another address right after them: of theirs the browser has heard.
    """
    if _SESSION not in st.session_state:
        return True
    query = st.query_params.to_dict()
    is_other = bool(query) and query != st.session_state.get(_WRITTEN)
    has_heard = goes_through_history() or bool(st.session_state.get(_GONE_TO))
    return is_other and (has_heard or not st.session_state.get(_CHANGED))


def goes_through_history() -> bool:
    """Whether Back or Forward led to this run: the address alone says what to show.

    What the browser says of widgets then is no visitor's change: pressed quickly, it says what stood there before the
    answer to the last press came, or after it, and the server holds the other.
    """
    context = get_script_run_ctx(suppress_warning=True)
    return context is not None and context.is_history_navigation


def follow_address() -> None:
    """Have the next address lead, whatever was changed before it."""
    st.session_state[_CHANGED] = False


def fit(view: ViewState, lm: LanguageModel, example: str) -> ViewState:
    """:func:`fitted`, written to the address."""
    shown = fitted(view, lm, example)
    write(shown)
    return shown


def fitted(view: ViewState, lm: LanguageModel, example: str) -> ViewState:
    """The view within the bounds of its model, with the text and language that it leaves open.

    Another model may have fewer layers or heads, and other languages. What the visitor left open
    stays so in the session: with another model it becomes another example.

    A model reads a text or a picture: the other stays in the session, for the next model, and is not shown. A twin
    beside a model that has none is asked for by an address alone, and then that is said.

    Args:
        example: the text, or the picture, to show where none was chosen.
    """
    config, languages = lm.config, tuple(lm.tokenizer.languages)
    depth = config.depth(view.stack(config))
    within = replace(
        view,
        text=None if view.text == example else view.text,
        drawing=None if view.drawing == example else view.drawing,
        layer=None if view.layer is None else min(view.layer, depth - 1),
        head=None if view.head is None else min(view.head, config.n_heads - 1),
        twin=view.twin and (lm.twin is not None or from_address()),
    )
    knows = view.to is None or view.to in languages
    if not knows:
        within = replace(within, to=None)
        if from_address():
            values = {"asked": str(view.to)[:80], "known": ", ".join(languages) or "–"}
            st.session_state[_NOTICES] = [*notices(), Notice("common.unknown_to", values)]
    if within != view:
        st.session_state[_SESSION] = within
    first, reads_pictures = next(iter(languages), None), config.reads_pictures
    if view.lang in languages and view.target is None:  # who reads Chinese is shown a translation into it
        first = view.lang
    read: dict[str, Any] = {
        "text": None if reads_pictures else example if within.text is None else within.text,
        "drawing": (within.drawing or example) if reads_pictures else None,
        "to": within.to or first,
    }
    st.session_state[_READ] = read
    return replace(within, also=None if reads_pictures or within.lesson is not None else within.also, **read)


def shown(view: ViewState, *, layer: int, head: int) -> Shown:
    """The view with a layer and a head."""
    fields = {field.name: getattr(view, field.name) for field in dataclasses.fields(view)}
    return Shown(**{**fields, "layer": layer, "head": head})


def cell() -> Cell | None:
    """The number whose derivation is open now."""
    return current().cell


def notices() -> list[Notice]:
    """Notices on the address, until the visitor changes something."""
    return st.session_state.get(_NOTICES, [])


def from_address() -> bool:
    """Whether the view is as the address asked for it: the visitor has changed nothing yet."""
    return bool(st.session_state.get(_FROM_ADDRESS))


def write(view: ViewState) -> None:
    """Make the address say what is shown."""
    query = view.query()
    if st.query_params.to_dict() != query:
        st.session_state[_GONE_TO] = False
        st.query_params.from_dict(query)
    # What a run before has written may reach the browser after it has gone back, or been told of what is shown now.
    elif goes_through_history() or st.session_state.get(_WRITTEN, query) != query:
        st.query_params.from_dict(query)
    st.session_state[_WRITTEN] = query


def now() -> ViewState:
    """The view as the visitor has it now, with the text and language that it leaves open.

    Those of the model and language for which it was fitted last; what a model reads may be its example.
    """
    view = current()
    read: dict[str, Any] = st.session_state[_READ]
    said = {name: getattr(view, name) for name in read}
    return replace(
        view, **{name: held if held is None or said[name] is None else said[name] for name, held in read.items()}
    )


def choose(page: str, *chosen: tuple[Choice[Any], Any]) -> dict[str, Any]:
    """The change of the view that makes values what is chosen on a page: for :func:`put` and :func:`update`.

    A door of the page that is open, behind which one of them is chosen, is opened. One that is closed again while
    something is chosen behind it is said to be closed, or the address would open it.
    """
    choices = dict(current().choices)
    opened_by: Mapping[str, Choice[bool]] = st.session_state.get(_OPENED_BY, {}) if page == current().page else {}
    for choice, value in chosen:
        choices.pop(f"{page}.{choice.name}", None)
        if value != choice.default:
            choices[f"{page}.{choice.name}"] = choice.write(value)
        if door := opened_by.get(choice.name):
            choices[f"{page}.{door.name}"] = door.write(True)
    own = {name.removeprefix(f"{page}."): text for name, text in choices.items() if name.startswith(f"{page}.")}
    opened = opened_doors(own, opened_by)
    for door in opened_by.values():
        name, closed = f"{page}.{door.name}", door.write(False)
        if door.name in opened:
            choices.setdefault(name, closed)
        elif choices.get(name) == closed:
            del choices[name]
    return {"choices": MappingProxyType(choices)}


def settle(**changes: Any) -> None:
    """Change the view where nobody has: what is to be said of the address stays."""
    st.session_state[_SESSION] = replace(current(), **changes)


def put(**changes: Any) -> None:
    """Change the view, for what runs from here on."""
    view = replace(current(), **changes)
    st.session_state.update({_SESSION: view, _NOTICES: [], _FROM_ADDRESS: False})


def update(*, within: str | None = None, **changes: Any) -> None:
    """Change the view and run the parts of the page that show it; for widget callbacks, as the last thing they do.

    Args:
        within: the fragment in which the widget stands, which alone shows the choices of the page that change.
    """
    if goes_through_history():
        return
    before = current()
    put(**changes)
    changed = {field for field, value in changes.items() if getattr(before, field) != value}
    if within is not None and changed <= {"choices"}:
        run_alone(within)
    elif changed:
        run_again(changed, within)


def run_again(changed: Collection[str] | None = None, within: str | None = None) -> None:
    """Have those parts of the page run that depend on ``changed`` fields; by default all. Ends the callback.

    Without this, Streamlit runs the part in which the widget stands, or the page where it stands in none. Where that is
    what is needed, as ``within`` alone or all, it is left to do so: asked for from here, it would be a second run, and
    the browser goes through the page for each.
    """
    if not has_browser() or goes_through_history():
        return
    without: frozenset[str] | None = st.session_state.get(_PARTS)
    if without is None or changed is None or not _NARROW.issuperset(changed):
        st.session_state[_CHANGED] = changed is None or not _NARROW.issuperset(changed)
        if is_part_run():
            st.rerun()
        return
    wanted = [part for part, shown in SHOWN_BY.items() if shown.intersection(changed)]
    if without.issuperset(changed):
        wanted = [part for part in wanted if part not in (BODY, BELOW)]
    absent: frozenset[str] = st.session_state.get(_ABSENT, frozenset())
    # Every part writes the address; the link does nothing else where it shows none.
    parts = [part for part in wanted if part not in absent] or [LINK]
    if parts != [within]:
        _run_parts(parts)


def is_part_run() -> bool:
    """Whether the run that begins is of parts of the page: those in which the widgets stand that changed."""
    context = get_script_run_ctx(suppress_warning=True)
    return context is not None and bool(context.fragment_ids_this_run)


def run_alone(*fragments: str) -> None:
    """Have these fragments of the page run, where it has them, and the link, as the last thing that a callback does."""
    if has_browser() and not goes_through_history():
        absent: frozenset[str] = st.session_state.get(_ABSENT, frozenset())
        _run_parts([*(part for part in fragments if part not in absent), LINK])


def wait_until_sent() -> None:
    """End the run of a whole page once the browser has been sent what it drew: no part runs before.

    As a part begins to run, Streamlit drops what it has not sent of it, but not what stands within it as a part of its
    own: the browser would read of places that it lacks, and show nothing but that error.
    """
    if has_browser():
        time.sleep(SENDING)


def _run_parts(parts: Sequence[str]) -> None:
    # What changed on a page that was left is heard on the next one, which draws itself whole: parts of the former one
    # would run in its place.
    if _page() != st.session_state.get(_DRAWN):
        return
    try:
        st.rerun(list(parts))
    except StreamlitAPIException as error:
        if error.error_id != _UNKNOWN_PART:
            raise


@contextmanager
def fragment(key: str) -> Iterator[None]:
    """What is drawn inside stands in the fragment of that key."""
    before = _INSIDE.set(key)
    try:
        yield
    finally:
        _INSIDE.reset(before)


def inside() -> str | None:
    """The fragment below the page's own in which is being drawn, if there is one."""
    return _INSIDE.get()


def has_parts(without: Collection[str] | None, absent: Collection[str] = ()) -> None:
    """Say on every run of a whole page whether it has parts (None: not), and which fields its body does not show.

    Args:
        absent: parts that other pages have and this one has not.
    """
    parts, drawn = (None, None) if without is None else (frozenset(without), _page())
    st.session_state.update({_PARTS: parts, _DRAWN: drawn, _ABSENT: frozenset(absent)})


def _page() -> str | None:
    context = get_script_run_ctx(suppress_warning=True)
    return None if context is None else context.page_script_hash


def has_browser() -> bool:
    """Whether a browser shows this run: it keeps the parts of a page that do not run again, and hides tabs.

    Others that drive the app read every run as a whole page.
    """
    return bool(st.context.headers)


def current() -> ViewState:
    """The view as the visitor has it now."""
    found: ViewState = st.session_state[_SESSION]
    return found


def follow(key: str, value: Any, *, offers: Any = None) -> None:
    """Make a widget show ``value``; call it before the widget.

    A widget that ``offers`` something else than before is told in any case: with other ends a slider is another one for
    the browser, and stands where a new one begins; with other labels, as in another language, a list keeps the former.

    The widget is only written to when it differs. Writing the same value back would overwrite
    what a visitor typed while the last run was still under way. After Back or Forward what the browser
    shows may be another thing than it said.
    """
    held, again = st.session_state.get(key), st.session_state.setdefault(_AGAIN, set())
    offered: dict[str, Any] = st.session_state.setdefault(_OFFERED, {})
    is_new, offered[key] = offered.get(key) != offers, offers
    if held == value and key not in again and not is_new and not goes_through_history():
        return
    if held is not None and held != value:
        st.session_state[_FORMER] = {**st.session_state.get(_FORMER, {}), key: (held, time.monotonic())}
    again.discard(key)
    st.session_state[key] = value


def is_late(key: str) -> bool:
    """Whether the browser still says of a widget what it held before :func:`follow` wrote another value.

    For callbacks of widgets, which then change nothing. Who switches the norm and at once the language sends the former
    model with the language: taken for a choice, it would undo the switch.
    """
    former: dict[str, tuple[Any, float]] = st.session_state.get(_FORMER, {})
    held, since = former.get(key, (None, 0.0))
    if key not in former or st.session_state[key] != held or time.monotonic() - since > HEARD:
        st.session_state[_FORMER] = {name: one for name, one in former.items() if name != key}
        return False
    st.session_state.setdefault(_AGAIN, set()).add(key)
    return True


def on_change(key: str, field: str) -> None:
    """Callback of a widget: its new value becomes the view's ``field``."""
    value = st.session_state[key]
    if value is not None and not is_late(key):
        update(**{field: value})
