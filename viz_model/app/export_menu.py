"""Every picture has a menu in its corner: it as a file, its numbers, the Python that makes them, a link to it.

The browser says which picture is meant. The part of the page in which it stands is drawn again, and where it comes
to that picture, its menu opens. What is saved is drawn anew for what is selected, with every digit.
"""

import dataclasses
import functools
import io
import math
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple, get_args

import numpy as np
import streamlit as st

from viz_model.app import python_lines, run_lock, runs, share, state
from viz_model.app.page import Page
from viz_model.app.python_lines import Shown
from viz_model.app.view import ViewState
from viz_model.drawing.cells import Cells as Where
from viz_model.drawing.scene import Scene
from viz_model.drawing.scene.files import MEDIA_TYPES, TYPESET, can_typeset, written
from viz_model.drawing.scene.numbers import lines, numbers
from viz_model.drawing.scene.svg import Theme, svg, tall
from viz_model.island.edited import describe
from viz_model.model import sites
from viz_model.texts import Texts
from viz_model.texts.markdown import quoting

Draw = Callable[[], "Scene | None"]
"""The picture as it is now."""


class Known(NamedTuple):
    """What is known of a picture beside its marks.

    Attributes:
        call: of :mod:`viz_model.plot`, which draws it; "" where there is none.
        sites: values that it shows, by their names on the page.
        where: those of their numbers that it shows, where its marks do not say so.
        other: what the call names ``other``, as Python.
    """

    call: str = ""
    sites: tuple[str, ...] = ()
    where: tuple[Where, ...] = ()
    other: str = ""


MOST_BYTES = 64_000_000
"""Of the numbers of all heads in one file. Where those of all layers are more, there are those of one."""

MOST_TITLE, MOST_TEXT, MOST_SITES = 60, 120, 4
"""Characters of a title and of a sentence, and values, that a caption tells in full. A longer title describes the
picture to those who do not see it; every file holds it for them."""

PAGE = "page"
"""What is asked for where a page itself is to be saved, in which no picture has a menu."""

_ASKED = "saving.asked"


class _Asked(NamedTuple):
    """The picture whose menu is open: the page and its key there."""

    page: str
    key: str


class Saved(NamedTuple):
    """What a menu offers. It is kept while the menu is open, so it names the run and does not hold it.

    Attributes:
        name: of its files, without what says their format.
        caption: what stands in every file.
        code: Python that makes the picture or its numbers; "" where there are no such lines.
        address, frame: a link to it, and a frame for another page; "" where nobody else could open them, or where
            the picture does not stand alone.
        heads: values with heads, by their full names, of which the picture shows some.
        layer: the only one whose heads they are, where all would be too many.
    """

    scene: Scene
    name: str
    caption: str
    code: str
    address: str
    frame: str
    run: runs.RunKey
    heads: tuple[str, ...]
    layer: int | None


def offered(scene: Scene, page: Page) -> Scene:
    """The picture with a menu, but by a projector, where nothing stands over it."""
    return scene if page.view.present else with_menu(scene, page.t)


def with_menu(scene: Scene, t: Texts) -> Scene:
    words, coarser = {**scene.words, "menu": t("saving.menu")}, scene.coarser
    fewer = None if coarser is None else lambda: with_menu(coarser(), t)
    return dataclasses.replace(scene, words=words, coarser=fewer)


def ask(page: str, key: str, part: str | None = None) -> Callable[..., None]:
    """What is done when the menu of a picture is asked for.

    Args:
        page: its name.
        part: the part of the page that runs, where the picture stands in one that cannot open a menu.
    """

    def asked(_: object = None) -> None:
        st.session_state[_ASKED] = _Asked(page, key)
        if part is not None:
            state.run_alone(part)

    return asked


def asked(page: str) -> str:
    """The key of the picture on a page whose menu is to be open; "" where there is none."""
    found: _Asked | None = st.session_state.get(_ASKED)
    return found.key if found is not None and found.page == page else ""


def answer(
    page: Page,
    draw: Draw,
    key: str,
    *,
    own: bool = True,
    known: Callable[[], Known] = Known,
    stands_alone: bool = False,
    whole: Callable[[], str] | None = None,
) -> None:
    """Open the menu of a picture, if it is this one that is meant.

    Args:
        own: whether it is of the page's run.
        stands_alone: whether an address can ask for it without the rest of the page.
        whole: writes the page as a file; None where that is not offered.
    """
    asked: _Asked | None = st.session_state.get(_ASKED)
    if asked is None:
        return
    if asked.page != page.name:  # the visitor has gone on with the menu open
        del st.session_state[_ASKED]
    elif asked.key == key and (scene := draw()) is not None:
        found = saved(page, scene, key, known(), own=own)
        _open(found if stands_alone else found._replace(frame=""), page.t, whole, page.name)


def saved(page: Page, scene: Scene, key: str, known: Known, *, own: bool = True) -> Saved:
    """What is offered of a picture; ``own`` is whether it is of the page's run."""
    run, name_of = page.trace.whole, page.trace.full_name
    shown: tuple[Shown, ...] = ()
    names: tuple[str, ...] = ()
    if own:
        whole = [where._replace(site=name_of(where.site)) for where in known.where]
        shown = python_lines.shown(scene, run, whole)
        names = tuple(dict.fromkeys([*map(name_of, known.sites), *(one.where.site for one in shown)]))
    is_shared = page.view.model not in runs.kept()  # nobody else could load a visitor's own
    seen: dict[str, Any] = {name: n for name, n in _selected(page).items() if name not in page.without}
    view = share.without(dataclasses.replace(state.now(), **seen, cell=None, lesson=None, present=False))
    address, frame = (share.address(view), _frame(view, scene, key)) if is_shared else ("", "")
    code = python_lines.of(shown, run, page.view.model, known.call, known.other) if is_shared else ""
    heads, layer = _heads(page, names)
    caption = _caption(page, scene, names, address)
    name = "-".join([page.view.model, key.replace(".", "-"), *(f"{place}{n}" for place, n in seen.items())])
    return Saved(scene, name, caption, code, address, frame, page.run_key, heads, layer)


def _frame(view: ViewState, scene: Scene, key: str) -> str:
    """This picture alone, within another page."""
    here = share.address(view, embed="true", picture=key)
    return share.frame(here, scene.title, math.ceil(tall(scene, share.WIDTH)) + share.AROUND)


def _selected(page: Page) -> dict[str, int]:
    return {"layer": page.view.layer, "head": page.view.head, "token": page.token}


def _caption(page: Page, scene: Scene, names: tuple[str, ...], address: str) -> str:
    """Title · model · sentence · value, its name in code and shape · link.

    A picture that is of no value of the run names model and sentence only as those that the page was opened with.
    """
    t, trace = page.t, page.trace
    text = trace.text or ""
    sentence = t("saving.sentence", text=text if len(text) <= MOST_TEXT else f"{text[: MOST_TEXT - 1]}…")
    if trace.target and trace.config.kind == "encoder_decoder":
        sentence += t("saving.target", text=trace.target[:MOST_TEXT])
    values = {"model": runs.label(page.view.model), "sentence": sentence}
    if names:
        parts = [t("saving.of_run", **values)]
        named = [_value(page, name) for name in names[:MOST_SITES]]
        more = len(names) - len(named)
        parts.append(page.listed(named) + (t("saving.more_values", n=more) if more else ""))
    else:
        parts = [t("saving.of_page", page=t(f"common.page_{page.name}"), **values)]
    if trace.edits:
        edits = page.listed(describe(edit, t) for edit in trace.edits).replace("`", "")
        parts.append(t("saving.edited", edits=edits))
    title = scene.title if len(scene.title) <= MOST_TITLE else ""
    return " · ".join(part for part in (title, *parts, address) if part)


def _value(page: Page, name: str) -> str:
    shape = " × ".join(map(str, page.trace.whole.shape(name)))
    label = page.t.site_label(sites.find(name, page.trace.config))
    return page.t("saving.value", label=label, name=name, shape=shape)


def _heads(page: Page, shown: tuple[str, ...]) -> tuple[tuple[str, ...], int | None]:
    """The values of which a picture shows heads, in all layers or only in this one; nothing where even that is much."""
    run, every = page.trace.whole, sites.table(page.trace.config)
    kinds = {_kind(name) for name in shown if every[name].has_heads}

    def fit(names: tuple[str, ...]) -> bool:
        return 4 * sum(math.prod(run.shape(name)) for name in names) <= MOST_BYTES

    names = tuple(name for name in every if _kind(name) in kinds)
    own = tuple(name for name in names if sites.split_name(sites.split_side(name)[1])[0] == page.view.layer)
    return (names, None) if fit(names) else (own, page.view.layer) if fit(own) else ((), None)


def _kind(name: str) -> tuple[str | None, str]:
    """A value by what it is called in every layer, and its stack."""
    side, rest = sites.split_side(name)
    return side, sites.split_name(rest)[1]


def all_heads(run: runs.RunKey, names: tuple[str, ...]) -> bytes:
    """An NPZ file: each value by its full name, [heads, …] float32 as the run has it."""
    trace, file = runs.trace(run), io.BytesIO()
    with run_lock.RUNNING:
        values = {name: trace[name].detach().numpy() for name in names}
    np.savez_compressed(file, allow_pickle=False, **values)
    return file.getvalue()


# The menu


def _open(saved: Saved, t: Texts, whole: Callable[[], str] | None, page: str) -> None:
    @st.dialog(t("saving.menu"), width="medium", on_dismiss=_close)
    def show() -> None:
        title = quoting(saved.scene.title)
        st.markdown(f"**{title}**" if len(saved.scene.title) <= MOST_TITLE else title)
        _picture(saved, t)
        _numbers(saved, t)
        if whole is not None:
            st.markdown(t("saving.page_help"))
            _file(t("saving.page"), "page", whole, f"{saved.run.model}-{page}.html", "text/html")
        if saved.code:
            st.markdown(t("saving.python"))
            st.code(saved.code, language="python")
        if saved.address:
            st.markdown(t("saving.link"))
            st.code(saved.address, language=None, wrap_lines=True)
            if saved.frame:
                st.markdown(t("saving.frame"))
                st.code(saved.frame, language="html", wrap_lines=True)
        else:
            st.caption(t("saving.own_model"))

    show()


def answer_page(page: Page, files: Mapping[str, Callable[[], str]]) -> None:
    """Open what saves the page, if that is asked for; ``files`` write it, by the label of the button for it."""
    if asked(page.name) != PAGE:
        return

    @st.dialog(page.t("saving.page_save"), width="medium", on_dismiss=_close)
    def show() -> None:
        st.markdown(page.t("saving.page_help"))
        for name, whole in files.items():
            _file(page.t(f"saving.{name}"), name, whole, f"{page.view.model}-{page.name}.html", "text/html")

    show()


def _close() -> None:
    st.session_state.pop(_ASKED, None)
    state.run_alone()


def _picture(saved: Saved, t: Texts) -> None:
    page: Theme = "dark" if st.context.theme.type == "dark" else "light"
    theme = st.segmented_control(
        t("saving.theme"),
        get_args(Theme),
        default=page,
        required=True,
        key="saving.theme",
        format_func=lambda theme: t(f"saving.theme_{theme}"),
        help=t("saving.theme_help"),
    )
    lacks = not can_typeset(svg(saved.scene, caption=saved.caption))
    with st.container(horizontal=True, gap="xsmall"):
        for format, mime in MEDIA_TYPES.items():
            if lacks and format in TYPESET:
                continue
            make = functools.partial(written, saved.scene, format, theme=theme, lang=t.language, caption=saved.caption)
            _file(format.upper(), format, make, f"{saved.name}.{format}", mime)
    if lacks:
        st.caption(t("saving.no_font"))


def _numbers(saved: Saved, t: Texts) -> None:
    with st.container(horizontal=True, gap="xsmall", key="saving_numbers"):
        if next(lines(saved.scene), None) is not None:
            csv = functools.partial(numbers, saved.scene)
            _file(t("saving.csv"), "csv", csv, f"{saved.name}.csv", "text/csv")
        if saved.heads:
            label = t("saving.heads") if saved.layer is None else t("saving.heads_of", layer=saved.layer)
            npz = functools.partial(all_heads, saved.run, saved.heads)
            _file(label, "npz", npz, f"{saved.run.model}-heads.npz", "application/octet-stream")


def _file(label: str, kind: str, make: Callable[[], Any], name: str, mime: str) -> None:
    """A button to a file that is made when it is pressed."""
    st.download_button(
        label, data=make, file_name=name, mime=mime, key=f"saving.{kind}", on_click="ignore", icon=":material/download:"
    )
