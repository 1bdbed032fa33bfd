"""Markdown as a tree: what the browser writes by itself, and what it leaves to Streamlit."""

from __future__ import annotations

import pytest

from viz_model.app.markdown_tree import tree
from viz_model.texts.markdown import literal


def test_blocks_and_what_is_in_them() -> None:
    assert tree("**bold**, *leaning*\n`code` & <b>") == [
        ["p", ["strong", "bold"], ", ", ["em", "leaning"], "\n", ["code", "code"], " & <b>"]
    ]
    assert tree("one\n\n- two\n- `three`") == [["p", "one"], ["ul", ["li", "two"], ["li", ["code", "three"]]]]
    assert tree("#### a *heading*\n\ntext") == [["h4", "a ", ["em", "heading"]], ["p", "text"]]
    assert tree("") == []


def test_a_table_with_its_alignment() -> None:
    head = ["thead", ["tr", ["th", "part"], ["th right", "adds"]]]
    body = ["tbody", ["tr", ["td", "all"], ["td right", "1.5"]]]
    assert tree("| part | adds |\n|---|-:|\n| all | 1.5 |") == [["table", head, body]]


def test_a_formula_in_the_words_to_the_letter() -> None:
    assert tree(r"a row of $W^{2}_{a*b*}$, *or* $\max(0, x)$") == [
        ["p", "a row of ", ["formula", "W^{2}_{a*b*}"], ", ", ["em", "or"], " ", ["formula", r"\max(0, x)"]]
    ]


@pytest.mark.parametrize(
    "words",
    [
        "the sum $$x + y$$",
        "$$\nx + y\n$$",
        "$5 more",
        "in :orange[orange]",
        ":material/arrow_forward: on",
        "a -> b",
        "x >= 2",
        "see https://example.org",
        "[a link](https://example.org)",
        "![a picture](x.png)",
        "1\n\n```\ncode\n```",
        "> quoted",
    ],
)
def test_what_streamlit_writes_in_its_own_way_is_left_to_it(words: str) -> None:
    assert tree(words) is None
    assert tree(f"one\n\n{words}") is None


@pytest.mark.parametrize("token", ["$x$", ":red[x]", "->", "`", "a | b", "<b>", "https://example.org", "–"])
def test_a_token_is_shown_to_the_letter(token: str) -> None:
    assert tree(f"After {literal(token)} it") == [["p", "After ", ["code", token], " it"]]
