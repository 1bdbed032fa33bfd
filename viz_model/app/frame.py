"""What every page shares around its own content: navigation on top, and where its parts stand.

Every page opens the frame itself: on a fresh server Streamlit may run a file of ``pages/``
directly, without ``app.py``. Where that ran before, the page finds the frame dressed.
"""

import functools
import time
from contextlib import nullcontext
from contextvars import ContextVar
from pathlib import Path
from typing import Any, Literal, NamedTuple, TypeAlias

import streamlit as st

from viz_model.app import components, runs, state
from viz_model.app.view import PRESENT
from viz_model.config import ModelConfig
from viz_model.texts import LANGUAGES, Texts, preferred
from viz_model.texts.markdown import literal

SECTIONS = {
    "": ("walk", "overview"),
    "section_input": ("tokens", "embedding"),
    "section_machine": ("attention", "position", "block", "units"),
    "section_output": ("next_token", "attribution", "backward"),
    "section_models": ("norm_placement", "cross_attention", "architectures", "batch", "cost"),
    "section_training": ("questions", "training_lab", "ablations", "mistakes"),
}
"""The pages in the order in which one reads them. More than five names do not stand in one row on a projector."""
DESK, MODELS = "lessons", "models"
"""Pages of no run: where lessons begin and end, and which models there are."""
FIRST = "walk"
"""What the bare address opens."""
_BARE = "first"
"""Streamlit reserves a path for the page at the bare address, by default the name that visitors may type for it."""
FORMER = {
    "why": "attribution",
    "break_it": "ablations",
    "spot_the_mistake": "mistakes",
    "pre_post_ln": "norm_placement",
}
"""Addresses that pages had before: links to them still open the page, on what they ask for."""

_BACK = "frame.back"

Sheet: TypeAlias = Literal["frame", "access", "bare", "no_sidebar", "picture", "present", "lesson", "walk"]
"""A style sheet beside this file."""


class Navigation(NamedTuple):
    """The pages by name, and the one that this run is for."""

    pages: dict[str, Any]
    current: Any


class _Declared(NamedTuple):
    """The pages by name, and by the section in which they stand."""

    pages: dict[str, Any]
    sections: dict[str, list[Any]]


_DECLARED: ContextVar[_Declared | None] = ContextVar("declared", default=None)


def run() -> None:
    """Open the frame, and the page that this run is for."""
    before = _DECLARED.set(_declare())
    try:
        navigation().current.run()
    finally:
        _DECLARED.reset(before)


def _declare() -> _Declared:
    """The layout and the pages, once a run: every rule of a sheet that stood there twice would be asked of every
    element twice.
    """
    st.set_page_config(layout="wide", initial_sidebar_state="auto")
    dress("frame", "access")
    shown = _shown()
    t = Texts.of(_language(), shown)
    pages = {
        name: st.Page(
            f"pages/{name}.py",
            title=t(f"common.page_{name}"),
            url_path=_BARE if name == FIRST else name,
            default=name == FIRST,
        )
        for names in SECTIONS.values()
        for name in names
    }
    sections = {section_name(section, shown, t): [pages[name] for name in names] for section, names in SECTIONS.items()}
    for name, section in ((DESK, "section_training"), (MODELS, "section_models")):
        pages[name] = st.Page(f"pages/{name}.py", title=t(f"common.page_{name}"), url_path=name)
        sections[section_name(section, shown, t)].append(pages[name])
    hidden = [
        st.Page(f"pages/{former}.py", title=pages[name].title, url_path=former, visibility="hidden")
        for former, name in FORMER.items()
    ]
    # The first page stands at the bare address. Who types its name, as one may for any other page, means it too.
    hidden.append(st.Page(f"pages/{FIRST}.py", title=pages[FIRST].title, url_path=FIRST, visibility="hidden"))
    sections[""] += hidden
    return _Declared(pages, sections)


def navigation() -> Navigation:
    """The pages, and which of them is asked for. Within a page of somebody else's there is no navigation.

    A page asks again, or what it draws would be that page's alone for Streamlit, and what stands on every page would
    be made anew with each.
    """
    pages, sections = _DECLARED.get() or _declare()
    is_alone = is_bare() or "lesson" in st.query_params
    current = st.navigation(sections, position="hidden" if is_alone else "top")
    query = st.query_params.to_dict()
    led: _Lead | None = st.session_state.get(_LED)
    if led is not None and query in led.left and time.monotonic() - led.since < _UNTIL_HEARD:
        _go_on(led, pages)
    if "teacher" in query:
        language = {"lang": query["lang"]} if "lang" in query else {}
        st.switch_page(pages[DESK], query_params={"desk": "results", **language})
    if "room" in query and "desk" not in query:
        language = {"lang": query["lang"]} if "lang" in query else {}
        st.switch_page(pages[DESK], query_params={"desk": "room", "room": query["room"], **language})
    if "lesson" in query and "lesson.step" not in query and current.url_path != DESK:
        st.switch_page(pages[DESK], query_params=query)
    return Navigation(pages, current)


def section_name(section: str, config: ModelConfig, t: Texts) -> str:
    """What a section is called; what enters a model and what comes out of it differs."""
    match section:
        case "":
            return ""
        case "section_input":
            return t(f"common.section_input_{'picture' if config.reads_pictures else 'text'}")
        case "section_output":
            gives = "text" if config.has_logits else "class" if config.classes else "vectors"
            return t(f"common.section_output_{gives}")
        case _:
            return t(f"common.{section}")


class _Lead(NamedTuple):
    """Where a visitor was led: the page and the query, the queries that were left, and when, in seconds."""

    page: str
    query: dict[str, str]
    left: tuple[dict[str, str], ...]
    since: float
    has_arrived: bool = False


_LED, _UNTIL_HEARD = "frame.led", 3.0


def lead(page: str, query: dict[str, str]) -> None:
    """Open a page at an address on the next run: for callbacks, since a press that a run of the page itself must
    answer is lost where another run comes between, such as that of a picture that rests.

    What the browser says before it has heard of that still names the former address and would lead back to it, or
    runs a part of the former page in place of the new one.
    """
    left = (st.query_params.to_dict(), st.session_state.get("view.url", {}))
    st.session_state[_LED] = _Lead(page, query, tuple(each for each in left if each != query), time.monotonic())


def follow(pages: dict[str, Any]) -> None:
    """Go where the visitor was led, where another run came between."""
    led: _Lead | None = st.session_state.get(_LED)
    if led is not None and not led.has_arrived:
        _go_on(led, pages)


def _go_on(led: _Lead, pages: dict[str, Any]) -> None:
    state.follow_address()  # what was changed on the page that is left belongs there
    st.switch_page(pages[led.page], query_params=led.query)


def arrived() -> None:
    """A page was opened at the address that it was led to."""
    led: _Lead | None = st.session_state.get(_LED)
    if led is not None:
        st.session_state[_LED] = led._replace(has_arrived=True)


def moved(former: str) -> None:
    """Open the page that now stands for a former address, with the same query."""
    query = {name: st.query_params.get_all(name) for name in st.query_params}
    st.switch_page(navigation().pages[FORMER[former]], query_params=query)


def _language() -> str:
    """The language of the navigation, which is declared before the view is read."""
    asked = st.query_params.get("lang")
    if "view" in st.session_state and not (asked and state.leads()):
        return st.session_state["view"].lang
    if asked in LANGUAGES:
        return asked
    return preferred(st.context.locale)


def _shown() -> ModelConfig:
    """The config of the model that the page is of, which is known before the view is read."""
    offered = runs.offered()
    asked = st.query_params.get("model")
    if "view" in st.session_state and not (asked and state.leads()):
        asked = st.session_state["view"].model
    return offered.get(asked or "", next(iter(offered.values())))


def is_presenting() -> bool:
    """Whether the page is shown by a projector; known before the view is read."""
    if not state.leads():
        return bool(st.session_state["view"].present)
    return st.query_params.get("view") == PRESENT


def is_bare() -> bool:
    """Whether a page stands without navigation and sidebar: by a projector, or within a page of somebody else's."""
    return bool(st.context.is_embedded) or is_presenting()


def dress(*sheets: Sheet) -> None:
    """Put style sheets on the page.

    What only some pages look like is a sheet that only they have. A rule of all pages that asks what stands on them,
    ``body:has(…)``, has the browser find the style of every element anew whenever one of them changes.
    """
    st.html(f"<style>{''.join(map(_sheet, sheets))}</style>")


def dress_page(page: str, *, is_taught: bool, reads_pictures: bool) -> None:
    """Put the sheets on a page that it has beside those of all pages."""
    worn: dict[Sheet, bool] = {
        "picture": reads_pictures,
        "bare": is_bare() and not is_taught,
        "no_sidebar": is_bare() or is_taught or page == FIRST,
        "present": is_presenting() and not is_taught and page != FIRST,
        "lesson": is_taught,
        "walk": page == FIRST and not is_taught,
    }
    dress(*(sheet for sheet, is_worn in worn.items() if is_worn))


@functools.cache
def _sheet(name: Sheet) -> str:
    return (Path(__file__).parent / f"{name}.css").read_text(encoding="utf-8")


class Places(NamedTuple):
    """Where the parts of the frame stand: containers.

    Attributes:
        field: of a model that reads pictures, the field to draw in, which stays in sight while the page scrolls.
        settings: what one sets: the sidebar, or of a bare page a popover.
        leaving: of a bare page, the way to the whole app.
        body: the page's own content.
    """

    field: Any = nullcontext()
    settings: Any = nullcontext()
    leaving: Any = nullcontext()
    body: Any = nullcontext()


def lay_out(t: Texts, reads_pictures: bool) -> Places:
    """Lay out what stands around a page."""
    if not is_bare():
        return Places(field(reads_pictures), st.sidebar.container(gap="xsmall"))
    if not reads_pictures:
        line = st.container(horizontal=True, gap="xsmall")
        return Places(settings=_settings(line, t), leaving=line)
    line = field()
    return Places(line.container(horizontal=True, wrap=False, gap="xsmall"), _settings(line, t), line)


def field(is_there: bool = True) -> Any:
    """Where one draws."""
    return st.container(key="frame_picture", horizontal=True, wrap=False, gap="xsmall") if is_there else nullcontext()


def _settings(line: Any, t: Texts) -> Any:
    return line.popover(t("common.settings"), icon=":material/tune:")


def begin_without_run(t: Texts) -> None:
    """What stands above a page that shows no run: nothing is set in a sidebar, and no sentence stays in sight."""
    dress("no_sidebar")
    skip(t)
    notices(t)


def skip(t: Texts) -> None:
    """The way to a page's title for who comes by keyboard; on every page, or the former page's would stay."""
    components.skip(t("common.skip"), key="frame_skip")


def notices(t: Texts) -> None:
    """What the address asked for that is not there."""
    for notice in state.notices():
        values = {k: t.error(v) if isinstance(v, Exception) else literal(str(v)) for k, v in notice.values.items()}
        st.warning(t(notice.key, **values))


def go(page: str, back: tuple[str, str] | None = None, /, **changes: Any) -> None:
    """Open a page on the next run, with changes to the view; a callback cannot switch pages itself.

    ``back`` is the page that one comes from, and what the way back to it is called: it stands on the page that opens.
    """
    st.session_state["frame.go"] = page
    st.session_state[_BACK] = None if back is None else (page, *back)
    state.put(**changes)
    state.run_again()


def back(page: str, pages: dict[str, Any]) -> None:
    """The way back to the page that led here, where one did."""
    opened, name, label = st.session_state.get(_BACK) or ("", "", "")
    if opened == page:
        st.page_link(pages[name], label=label, icon=":material/arrow_back:", width="content")
