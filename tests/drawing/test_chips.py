"""Characters that tokens cut across, found against Python's own decoder."""

from __future__ import annotations

import pytest

from viz_model.drawing.chips import bracketed, chip, cut_characters
from viz_model.tokenizers.tokenizer import cl100k_base


@pytest.mark.parametrize("text", ["我爱深度学习", "a 猫 b", "plain words", "😀垫"])
def test_pieces_of_a_character_stand_over_it(text: str) -> None:
    tokens = cl100k_base().tokens(cl100k_base().encode(text))
    cut = list(cut_characters(tokens))
    inside = {n for start, stop, _ in cut for n in range(start, stop)}
    assert inside == {n for n, token in enumerate(tokens) if not _is_text(token.bytes)}
    assert all(b"".join(token.bytes for token in tokens[a:b]).decode() == spelt for a, b, spelt in cut)


def test_a_chip_says_what_its_bytes_spell() -> None:
    tokens = cl100k_base().tokens(cl100k_base().encode("爱"))
    chips = bracketed([chip(token, n, token.id) for n, token in enumerate(tokens)], tokens)
    assert len(tokens) > 1 and chips[0]["of"] == "爱" and chips[0]["to"] == len(tokens)
    assert chips[0]["bytes"] == "0xE7 0x88"[: len(str(chips[0]["bytes"]))]


def _is_text(raw: bytes) -> bool:
    try:
        raw.decode()
    except UnicodeDecodeError:
        return False
    return True
