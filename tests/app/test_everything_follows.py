"""What a page says and draws of its layer, head and token: all of it stands where the browser follows a click."""

from __future__ import annotations

import json
from collections.abc import Iterator

import numpy as np
import pytest
from app_driver import mounts, open_page, pictures
from doors import topic
from scenes import Sent
from streamlit.testing.v1 import AppTest
from streamlit.testing.v1.element_tree import Block, Caption, Header, Info, Markdown, Node, Subheader, Tab

from viz_model.app.frame import SECTIONS
from viz_model.app.topic import Topic

pytestmark = [pytest.mark.full, pytest.mark.usefixtures("family")]

PAGES = [page for pages in SECTIONS.values() for page in pages if isinstance(topic(page), Topic)]
"""Those that are drawn for one selection at a time: of an island everything is a table."""
MODELS = ("tiny-bert", "tiny-qwen3", "tiny-translator")
HERE, THERE = {"layer": "0", "head": "1", "token": "3"}, {"layer": "1", "head": "2", "token": "1"}
PLACE = "told"


class Stood(dict[str, list[str]]):
    """What stands on a page, by the place where the browser follows; "" is what stands elsewhere."""

    @classmethod
    def of(cls, app: AppTest) -> Stood:
        found = cls()
        for block in app._tree.children.values():
            for place, words in _walk(block, ""):
                found.setdefault(place, []).append(words)
        return found


def _walk(node: Node, place: str) -> Iterator[tuple[str, str]]:
    """Words without those of the four tabs, whose arithmetic, code and tables are for Streamlit to write."""
    if isinstance(node, Tab):
        return
    if isinstance(node, Block):
        key = node.key or ""
        for child in node.children.values():
            yield from _walk(child, key if key.endswith((PLACE, "usual")) else place)
    elif isinstance(node, Caption | Header | Info | Markdown | Subheader):
        yield place, node.value


def _alike(one: Sent, other: Sent) -> bool:
    """Whether two pictures are the same; what is written as no number equals itself."""
    same = len(one.arrays) == len(other.arrays) and json.dumps(one.header) == json.dumps(other.header)
    return same and all(np.array_equal(*both, equal_nan=True) for both in zip(one.arrays, other.arrays, strict=True))


def check(page: str, model: str, **query: str) -> None:
    """Open a page, and the same with another layer, head or token."""

    def visit(**place: str) -> AppTest:
        return open_page(page, {"model": model, "text": "A little cat sat on the mat", **query, **place})

    here = visit(**HERE)
    stood, drawn = Stood.of(here), pictures(here)
    by = {place: set(told["by"]) for place, told in mounts(here)["frame_prose"]["places"].items()}
    for name, value in THERE.items():
        there = visit(**{**HERE, name: value})
        beside, others = Stood.of(there), pictures(there)
        assert beside.get("") == stood.get(""), name
        held = {place for place in stood.keys() & beside.keys() if name not in by.get(place, {name})}
        assert {place: beside[place] for place in held} == {place: stood[place] for place in held}, name
        still = {key for key in drawn.keys() & others.keys() if name not in drawn[key].header.get("by", ())}
        assert [key for key in still if not _alike(drawn[key], others[key])] == [], name


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("page", PAGES)
def test_of_a_run(page: str, model: str) -> None:
    check(page, model)
