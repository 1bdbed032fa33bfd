"""Stretches of Chinese, and their other forms, against Unicode's own tables."""

from __future__ import annotations

import unicodedata

from viz_model.tokenizers.tokenizer import cl100k_base
from viz_model.topics.tokens import stretches

TEXT = "小猫坐在垫子上，它很高兴。ABC"


def test_no_token_crosses_the_ends_of_a_stretch() -> None:
    found = stretches.stretches(TEXT, cl100k_base())
    assert "".join(one.text for one in found) == TEXT
    assert [token.id for one in found for token in one.tokens] == list(cl100k_base().encode(TEXT))


def test_other_forms() -> None:
    assert stretches.other_form("小猫坐在垫子上") == ("traditional", "小貓坐在墊子上")
    assert stretches.other_form("小貓坐在墊子上") == ("simplified", "小猫坐在垫子上")
    assert stretches.other_form("一二三") == (None, "一二三")
    form, other = stretches.other_form("ABC!")
    assert (
        form == "full" and unicodedata.normalize("NFKC", other) == "ABC!" and stretches.other_form(other)[0] == "half"
    )


def test_no_character_has_two_other_forms() -> None:
    pairs = stretches.PAIRS.read_text(encoding="utf-8").split()
    both = [character for pair in pairs for character in pair]
    assert all(len(pair) == 2 for pair in pairs) and len(set(both)) == len(both)
    assert all(unicodedata.name(character).startswith("CJK UNIFIED") for character in both)
