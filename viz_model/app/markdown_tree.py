"""Markdown as a tree of elements, for the browser to write by itself as Streamlit would."""

from __future__ import annotations

import functools
import re
from typing import TypeAlias

from markdown_it import MarkdownIt
from markdown_it.rules_inline import StateInline
from markdown_it.tree import SyntaxTreeNode

Tree: TypeAlias = "str | list[str | Tree]"
"""Words, or an element: its tag, then what it holds. The tag of a cell has its alignment after it: ``td right``.
A ``formula`` holds its LaTeX."""

_TAGS = {
    "paragraph": "p",
    "strong": "strong",
    "em": "em",
    "hardbreak": "br",
    "bullet_list": "ul",
    "ordered_list": "ol",
    "list_item": "li",
    "table": "table",
    "thead": "thead",
    "tbody": "tbody",
    "tr": "tr",
    "th": "th",
    "td": "td",
}

_FORMULA = re.compile(r"\$(?!\$)([^$]+)\$(?!\$)")

# What Streamlit writes in its own way: formulas in a line of their own, :colour[words] and :icons:, links in words, and
# some signs.
_OWN = re.compile(r"\$|:[\w/-]+[:\[]|https?://|www\.|<->|<-|->|--|>=|<=|~=|~")


@functools.cache
def _parser() -> MarkdownIt:
    parser = MarkdownIt("commonmark", {"html": False}).enable("table")
    parser.inline.ruler.before("escape", "formula", _formula)
    return parser


def _formula(state: StateInline, silent: bool) -> bool:
    """LaTeX between dollar signs."""
    found = _FORMULA.match(state.src, state.pos)
    if found is None:
        return False
    if not silent:
        state.push("formula", "", 0).content = found[1]
    state.pos = found.end()
    return True


def tree(words: str) -> list[Tree] | None:
    """The blocks of Markdown; None where it holds what only Streamlit itself writes as it does."""
    try:
        return [made for node in SyntaxTreeNode(_parser().parse(words)).children for made in _trees(node)]
    except _Unwritten:
        return None


class _Unwritten(Exception):
    """Something that is for Streamlit to write."""


def _trees(node: SyntaxTreeNode) -> list[Tree]:
    """A node as elements: its children alone where it is none itself."""
    match node.type:
        case "text":
            if _OWN.search(node.content):
                raise _Unwritten
            return [node.content] if node.content else []
        case "softbreak":
            return ["\n"]
        case "code_inline":
            return [["code", node.content]]
        case "formula":
            return [["formula", node.content]]
    children = [made for child in node.children for made in _trees(child)]
    if node.type == "inline" or (node.type == "paragraph" and node.hidden):
        return children
    tag = node.tag if node.type == "heading" else _TAGS.get(node.type)
    if tag is None:
        raise _Unwritten
    aligned = str(node.attrs.get("style", "")).removeprefix("text-align:")
    return [[f"{tag} {aligned}".strip(), *children]]
