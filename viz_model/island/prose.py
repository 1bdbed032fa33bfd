"""Sentences beside pictures: Markdown, of which the browser is sent HTML with its places open.

``$…$`` is a formula, which the browser sets. ``[its query](#query)`` names a part of the picture beside it, which has
its color there and lights up; ``[queries](#term-query)`` are words that mean an entry of the glossary. What fills a
place is text and never HTML.
"""

import functools
import keyword
import re
from collections.abc import Iterable
from typing import Any, Literal, NamedTuple, TypeAlias

from markdown_it import MarkdownIt
from markdown_it.common.utils import escapeHtml

from viz_model.drawing.scene import Arrays, value
from viz_model.drawing.tables import Among, Phrase

What: TypeAlias = Literal["title", "part", "text", "note", "notice", "answer"]
"""The title of a section or of a part of it, a text, a note in small letters, a notice in a box, or an answer that is
folded away."""


_PYTHON = re.compile(
    rf"""(?P<comment>\#.*)|(?P<number>"[^"]*"|\b\d[\d_.]*)|(?P<word>\b(?:{"|".join(keyword.kwlist)})\b)|[\s\S]"""
)


def _colored(code: str, language: str, _: str) -> str:
    """Python with its keywords, numbers and comments marked; "" leaves code of any other language as it is."""

    def marked(found: re.Match[str]) -> str:
        text = escapeHtml(found[0])
        return f'<span class="{found.lastgroup}">{text}</span>' if found.lastgroup else text

    return _PYTHON.sub(marked, code) if language == "python" else ""


_MARKDOWN = MarkdownIt("commonmark", {"html": False, "highlight": _colored}).enable("table")
_FORMULA = re.compile(r"(\$\$?)([^$]+)\1")
_PLACE = re.compile(r"\{\{(\w+)\}\}")
_TERM, _PART = (re.compile(rf'<a href="#{kind}(\w+)">(.*?)</a>') for kind in ("term-", ""))


class Line(NamedTuple):
    """A sentence, or some.

    Attributes:
        words: Markdown, which may be a table of texts with tables of what fills their places.
        what: what it is.
        help: more about it, for who asks; plain text.
        unless: the dimension that a visitor must not have chosen for it to be said.
    """

    words: Any
    what: What = "text"
    help: Any = ""
    unless: str = ""


def line(words: Any, what: What = "text") -> Line:
    """Markdown that is as it is."""
    return Line(words, what)


@functools.lru_cache(maxsize=4096)
def html(markdown: str) -> str:
    """Markdown as HTML. A formula is an element whose text is LaTeX."""
    formulas: list[tuple[str, str]] = []

    def keep(found: re.Match[str]) -> str:
        formulas.append((found[1], found[2]))
        return f"\ue000{len(formulas) - 1}\ue001"

    # To Markdown a place is as a letter: beside Chinese, bold ends before a sign of punctuation alone.
    made = _MARKDOWN.render(_PLACE.sub("\ue002\\1\ue003", _FORMULA.sub(keep, markdown)))
    made = made.replace("\ue002", "{{").replace("\ue003", "}}")
    made = _TERM.sub(r'<span data-term="\1">\2</span>', made)
    made = _PART.sub(r'<span data-part="\1">\2</span>', made)

    def put(found: re.Match[str]) -> str:
        kind, latex = formulas[int(found[1])]
        escaped = latex.strip().replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
        return f'<code class="tex{" display" if kind == "$$" else ""}">{escaped}</code>'

    return re.sub("\ue000(\\d+)\ue001", put, made).strip()


def lines(said: Iterable[Line], arrays: Arrays) -> list[dict[str, Any]]:
    """Lines as plain data for the browser; of those without words none."""
    return [_line(one, arrays) for one in said if one.words]


def _line(one: Line, arrays: Arrays) -> dict[str, Any]:
    more = {name: value(getattr(one, name), arrays) for name in ("help", "unless") if getattr(one, name)}
    return {"what": one.what, **more, **said(one.words, arrays)}


def said(words: Any, arrays: Arrays) -> dict[str, Any]:
    if not isinstance(words, Phrase):
        return {"html": value(_html(words), arrays)}
    filled = {name: value(one, arrays) for name, one in words.values.items()}
    return {"html": value(_html(words.template), arrays), "values": filled}


def _html(words: Any) -> Any:
    return words._replace(names=[html(name) for name in words.names]) if isinstance(words, Among) else html(words)
