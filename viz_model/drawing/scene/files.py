"""A scene as a file: SVG and HTML are written here; PDF and PNG are made of the SVG by Typst, without a browser.

In PDF as in SVG, writing stays writing. Typst embeds what it needs of the fonts of the machine; where none of them has
Chinese characters, a picture with Chinese in it is refused rather than written with boxes.
"""

import re
from functools import cache
from typing import Any, Literal, assert_never, get_args

import typst

from viz_model.drawing.scene.html import html
from viz_model.drawing.scene.marks import Scene
from viz_model.drawing.scene.svg import MILLIMETRES, Theme, svg

Format = Literal["svg", "png", "pdf", "html"]
FORMATS: tuple[Format, ...] = get_args(Format)
MEDIA_TYPES: dict[Format, str] = {
    "svg": "image/svg+xml",
    "png": "image/png",
    "pdf": "application/pdf",
    "html": "text/html",
}

TYPESET: tuple[Format, ...] = ("pdf", "png")
"""Those that take the fonts of this machine."""

SHARP = 2.0
"""Pixels of a PNG for each of the picture's."""

_POINTS = 0.75
"""Typographic points of a pixel."""

# The size comes from the SVG itself: a page as large as what is on it.
_PAGE = b"""
#set document(title: sys.inputs.title)
#set page(width: auto, height: auto, margin: 0pt)
#set text(lang: sys.inputs.lang)
#image("picture.svg", alt: sys.inputs.alt)
"""

_WRITING = re.compile(">[^<>]*[\u2e80-\U0010ffff][^<>]*<")
_JOINED = re.compile("f(?=[fijlt])")

_CHINESE = re.compile("[\u2e80-\u9fff\uf900-\ufaff]")
_CHINESE_FONTS = re.compile(
    "CJK|Noto (Sans|Serif) (SC|TC|HK)|Source Han|PingFang|Heiti|Songti|STHeiti|Hiragino Sans GB|YaHei|SimSun|SimHei|"
    "DengXian|KaiTi|FangSong|WenQuanYi|AR PL|Droid Sans Fallback|LXGW"
)


class NoFont(RuntimeError):
    """No font of this machine has the characters of a picture."""


def written(
    scene: Scene,
    format: Format,
    *,
    theme: Theme | None = None,
    width: float = 960,
    width_mm: float | None = None,
    lang: str = "en",
    caption: str = "",
) -> bytes:
    """The picture as the bytes of a file.

    Args:
        theme: None for a light one; of HTML, for the light or dark that its reader has set.
        width: pixels, 96 of them an inch.
        width_mm: millimetres instead, as for a column of a paper; writing keeps its size (12 pixels are 9 points).
        lang: of what is written in it, for those who hear it.
        caption: written under it, small: which run it is of, and where that can be seen again.

    Raises:
        NoFont: there is Chinese in the picture, and no font for it on this machine; not of SVG and HTML, whose fonts
            are their reader's.
    """
    across = width if width_mm is None else width_mm / MILLIMETRES
    match format:
        case "svg":
            return _svg(scene, across, theme, caption, in_mm=width_mm is not None)
        case "html":
            bound = None if width_mm is None else across
            return html(scene, lang, theme=theme, caption=caption, width=bound).encode()
        case "pdf" | "png":
            return typeset(_svg(scene, across, theme, caption), format, scene.title, scene.description, lang)
        case _:
            assert_never(format)


def _svg(scene: Scene, width: float, theme: Theme | None, caption: str, *, in_mm: bool = False) -> bytes:
    return svg(scene, width, theme or "light", caption=caption, in_mm=in_mm).encode()


def typeset(picture: bytes, format: Literal["pdf", "png"], title: str, alt: str = "", lang: str = "en") -> bytes:
    """An SVG as PDF or PNG, with a title, and what is said of it where it is not seen.

    Raises:
        NoFont: as :func:`written` says.
    """
    if not can_typeset(picture.decode()):
        raise NoFont(
            "no font on this machine has Chinese characters: install one (on Debian and Ubuntu fonts-noto-cjk), "
            "or save as SVG or HTML"
        )
    # Typst takes files by their names, which its type annotations do not say.
    files: Any = {"main.typ": _PAGE, "picture.svg": _WRITING.sub(_apart, picture.decode()).encode()}
    made = typst.compile(
        files,
        format=format,
        ppi=72 * SHARP / _POINTS,
        font_paths=_fonts(),
        sys_inputs={"title": title, "alt": alt or title, "lang": lang},
    )
    return bytes(made)


def _apart(writing: re.Match[str]) -> str:
    """Letters that a font may join, kept apart where other fonts must help out.

    Typst counts the letters of a line in each of its fonts, and where one has an ff of its own, and so fewer, takes
    nothing from another: Chinese beside an emoji would be boxes.
    """
    return _JOINED.sub("f\u200c", writing[0])


@cache
def _fonts() -> typst.Fonts:
    return typst.Fonts()


@cache
def has_chinese() -> bool:
    """Whether a font of this machine is known to have Chinese characters."""
    return any(_CHINESE_FONTS.search(family) for family in _fonts().families())


def can_typeset(picture: str) -> bool:
    """Whether this machine has the fonts for an SVG."""
    return has_chinese() or _CHINESE.search(picture) is None
