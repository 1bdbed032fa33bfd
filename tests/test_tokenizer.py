"""viz_model.tokenizer: exact both ways, and nothing a token holds can hide."""

from __future__ import annotations

import inspect
import re
import unicodedata

import pytest
import tiktoken
from hypothesis import example, given
from hypothesis import strategies as st

from viz_model import tokenizer as module
from viz_model.tokenizer import END_OF_TEXT, TextError, Tokenizer, cl100k_base, make_visible, story_tokenizer

TEXT = st.text(st.characters(exclude_categories=["Cs"]))
TOKENIZERS = {"story-8k": story_tokenizer, "cl100k_base": cl100k_base}


@pytest.fixture(params=TOKENIZERS)
def tokenizer(request: pytest.FixtureRequest) -> Tokenizer:
    return TOKENIZERS[request.param]()


@pytest.mark.parametrize("name", TOKENIZERS)
@given(text=TEXT)
@example("我爱深度学习")
@example("👩‍👩‍👧‍👦 é ﷽ \u202e\ufffd\x00")
@example("  \n\n \t x" + " " * 50)
@example(END_OF_TEXT)
def test_round_trip(name: str, text: str) -> None:
    tokenizer = TOKENIZERS[name]()
    ids = tokenizer.encode(text)
    assert tokenizer.decode(ids) == text
    assert b"".join(token.bytes for token in tokenizer.tokens(ids)) == text.encode()


def shown(label: str) -> bool:
    """Whether a label shows all it holds, with nothing blank but the gaps between loose bytes."""
    label = re.sub("(?<=[0-9A-F]{2})\u00a0(?=[0-9A-F]{2})", "", label)
    return (
        "\ufffd" not in label
        and not any(character.isspace() for character in label)
        and not any(unicodedata.category(c) in ("Cc", "Cf", "Cs", "Co", "Cn", "Zs", "Zl", "Zp") for c in label)
    )


@pytest.mark.parametrize("name", TOKENIZERS)
@given(text=TEXT)
@example("\ufffd \u3000\u00a0\u200b\u202e\u2028\u3164\r\n\t\x7f\x00")
def test_labels_hide_nothing(name: str, text: str) -> None:
    tokenizer = TOKENIZERS[name]()
    for token in tokenizer.tokens(tokenizer.encode(text)):
        assert token.label, token
        assert shown(token.label), token


def test_every_label_of_every_vocabulary(tokenizer: Tokenizer) -> None:
    checked = 0
    for id in range(tokenizer.n_vocab):
        try:
            token = tokenizer.token(id)
        except KeyError:
            continue  # cl100k_base leaves some ids of its control tokens unused
        assert token.id == id
        assert token.label and shown(token.label), token
        checked += 1
    assert checked > tokenizer.n_vocab - 20


def test_parts_of_a_character_are_shown_as_their_bytes(tokenizer: Tokenizer) -> None:
    for byte in (0xE6, 0xB7, 0xFF, 0x80):
        id = tokenizer.encoding.encode_single_token(bytes([byte]))
        token = tokenizer.token(id)
        assert token.bytes == bytes([byte])
        assert token.text == token.label == f"{byte:02X}"


def test_a_run_of_loose_bytes_is_spaced() -> None:
    tokenizer = cl100k_base()
    # 深 is E6 B7 B1, of which cl100k_base has the first two as one token.
    first, second = tokenizer.tokens(tokenizer.encode("深"))
    assert (first.text, first.label) == ("E6 B7", "E6\u00a0B7")
    assert (second.text, second.label) == ("B1", "B1")


def test_loose_bytes_beside_text() -> None:
    token = Tokenizer(
        tiktoken.Encoding("loose", pat_str=".", mergeable_ranks={b" \x80\x80 a\xe6": 0}, special_tokens={})
    ).token(0)
    assert token.text == " 80 80 aE6"
    assert token.label == "·80\u00a080·aE6"


@pytest.mark.parametrize(
    ("text", "label"),
    [
        (" the", "·the"),
        ("\n\n", "⏎⏎"),
        ("\t", "⇥"),
        ("\r", "␍"),
        ("\x00\x1b", "␀␛"),
        ("\x7f", "U+007F"),
        ("\u00a0", "U+00A0"),
        ("\u3000", "□"),
        ("\u200b", "U+200B"),
        ("\u202e", "U+202E"),
        ("\u2028", "U+2028"),
        ("\ufeff", "U+FEFF"),
        ("\ufffd", "U+FFFD"),
        ("\u3164", "U+3164"),
        ("\u2800", "U+2800"),
        ("\u0301", "◌\u0301"),
        ("学", "学"),
        ("🙂", "🙂"),
    ],
)
def test_make_visible(text: str, label: str) -> None:
    assert make_visible(text) == label


@pytest.mark.parametrize(("text", "position", "code"), [("\ud800", 1, "D800"), ("abc \udfff!", 5, "DFFF")])
def test_lone_surrogates_are_refused_by_position(tokenizer: Tokenizer, text: str, position: int, code: str) -> None:
    with pytest.raises(TextError, match=rf"character {position} is U\+{code}") as error:
        tokenizer.encode(text)
    str(error.value).encode()  # the message itself is text


def test_control_tokens_typed_by_hand_are_text(tokenizer: Tokenizer) -> None:
    ids = tokenizer.encode(f"a{END_OF_TEXT}b")
    assert tokenizer.end_of_text not in ids
    assert len(ids) > 3
    assert tokenizer.decode(ids) == f"a{END_OF_TEXT}b"


@pytest.mark.parametrize("id", [-1, 10**6, 2**70])
def test_unknown_ids(tokenizer: Tokenizer, id: int) -> None:
    with pytest.raises(KeyError, match=f"no token {id} in the vocabulary {tokenizer.name}"):
        tokenizer.token(id)


def test_cl100k_base_reference() -> None:
    tokenizer = cl100k_base()
    expected = [26072, 220, 16, 25, 17283, 23097, 403, 323, 17013, 1711]
    assert tokenizer.encode("Chapter 1: Building Rapport and Capturing") == expected
    assert len(tokenizer.encode("我爱深度学习")) == 9
    assert tokenizer.end_of_text == 100257


def test_the_digest_is_the_one_tiktoken_demands() -> None:
    from tiktoken_ext import openai_public

    assert module.CL100K_SHA256 in inspect.getsource(openai_public.cl100k_base)


def test_a_wrong_vocabulary_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "CL100K_SHA256", "0" * 64)
    with pytest.raises(ValueError, match="not the published ones"):
        cl100k_base.__wrapped__()


def test_the_bundled_vocabulary() -> None:
    tokenizer = story_tokenizer()
    assert tokenizer.n_vocab == 8192
    assert tokenizer.end_of_text == 8191
    assert tokenizer.token(8191).bytes == END_OF_TEXT.encode()
    assert len(tokenizer.encode("Once upon a time")) == 4


def test_long_runs_are_encoded_in_good_time(tokenizer: Tokenizer) -> None:
    for text in ("a" * 20_000, " " * 20_000 + "x", "1" * 20_000, "!" * 20_000, "学" * 20_000, "\n" * 20_000 + "x"):
        assert tokenizer.decode(tokenizer.encode(text)) == text


def test_a_token_knows_whether_it_is_whole_characters() -> None:
    tokenizer = cl100k_base()
    pieces = tokenizer.tokens(tokenizer.encode("我爱"))
    assert [token.is_whole for token in pieces] == [True, False, False]
    assert all(token.is_whole for token in tokenizer.tokens(tokenizer.encode(" cat\n")))
