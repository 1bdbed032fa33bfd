"""Every page, run by Streamlit's own driver: real values, both languages, and any input."""

from __future__ import annotations

import functools
import json
import re

import pytest
from app_driver import ISLAND, PAGES, answer, figures, messages, mounts, open_page, pictures, said
from streamlit.testing.v1 import AppTest
from tiers import crossed, some, turns

CAT, CHINESE = "The cat sat on the mat", "我爱深度学习, said Tom"


def drawn(app: AppTest) -> str:
    """All that is drawn, as one text, to compare two runs by."""
    sent = [[key, scene.header, *(part.tolist() for part in scene.arrays)] for key, scene in pictures(app).items()]
    # The bridge's names are new each time, and so is the number of what an island was last led to.
    others = {key: {**told, "nav": 0} for key, told in mounts(app).items() if told["kind"] != "bridge"}
    return json.dumps([figures(app), sent, others], default=lambda number: number.tolist())


@functools.cache
def of_the_cat(page: str) -> str:
    """The pictures of a page opened once, for all tests that compare others with them."""
    return drawn(open_page(page, {"text": CAT, "model": "story-pre-ln"}))


OTHERS = ({"text": CHINESE, "model": "story-pre-ln"}, {"text": CAT, "model": "story-post-ln"})


# Before anybody trains, the lab has no pictures; those after it are of another text.
@pytest.mark.parametrize(("page", "other"), crossed([page for page in PAGES if page != "training_lab"], OTHERS))
def test_pictures_change_with_the_sentence_and_with_the_twin(page: str, other: dict[str, str]) -> None:
    # The twins share a vocabulary, so they cut a text alike.
    if page != "tokens" or other["text"] != CAT:
        assert of_the_cat(page) != drawn(open_page(page, other))


@pytest.mark.parametrize("page", some(PAGES, 6))
def test_the_same_view_draws_the_same_pictures(page: str) -> None:
    assert of_the_cat(page) == drawn(open_page(page, {"text": CAT, "model": "story-pre-ln"}))


ANOTHER_WAY = re.compile(
    r"""\de[+-]?\d  # 10⁻⁵, not 1e-05
    |(?<![\w`–.\]-])-\d+(?:\.\d+|%)  # a minus is no hyphen
    |[−-]\s*−\d  # what is taken from something below 0 is added, or stands in brackets
    |√\d+\s=\s\d+\.\d  # a root that does not end is about so much
    |\d\s%""",
    re.VERBOSE,
)


@pytest.mark.parametrize(("page", "model"), turns(PAGES, ["digits-vit", "story-alibi", "story-bert", "translate-t5"]))
def test_numbers_are_written_in_one_way(page: str, model: str) -> None:
    for language in ("en", "zh"):
        app = open_page(page, {"model": model, "lang": language, "text": "" if model == "digits-vit" else CAT})
        # LaTeX has its own signs.
        outside = re.sub(r"\$\$.*?\$\$", "", said(app), flags=re.DOTALL)
        prose = "\n".join(line for line in outside.splitlines() if "\\" not in line)
        told = re.sub(r"`[^`]*`|<code.*?</code>|\$[^$]*\$", "", prose)
        assert not [told[max(found.start() - 30, 0) : found.end() + 20] for found in ANOTHER_WAY.finditer(told)]


def test_a_token_beyond_the_sentence_is_named_only_where_a_link_asked_for_it() -> None:
    app = open_page("attention", {"text": CAT, "token": "40"})
    beyond = "asks for token 40"
    assert beyond in said(app)
    app = open_page("attention", {"text": CAT, "token": "5"})
    answer(app, text="The cat")
    assert beyond not in said(app) and "token" not in app.query_params


def test_the_norm_toggle_changes_nothing_else_where_nobody_has_chosen() -> None:
    """The twin alone would show another layer and head: the telling ones of its own run."""
    app = open_page("attention", {"text": CAT})
    shown = messages(app)[ISLAND].header
    app.button_group(key="sidebar.norm_at").set_value("post").run()
    now = messages(app)[ISLAND].header
    assert {axis: now["chosen"][axis] for axis in ("layer", "head", "token")} == shown["usual"]
    assert now["usual"] != shown["usual"]
