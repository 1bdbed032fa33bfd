"""viz_model.tokenizers.tokenizer: exact both ways, and nothing a token holds can hide."""

from __future__ import annotations

import inspect
import re
import unicodedata

import pytest
import tiktoken
from hypothesis import example, given
from hypothesis import strategies as st

from viz_model.config import Kind
from viz_model.tokenizers import tokenizer as module
from viz_model.tokenizers.text import TextError, as_text_error, make_visible
from viz_model.tokenizers.tokenizer import (
    END_OF_TEXT,
    STORY_PATTERN,
    ByteLevel,
    IdTokenizer,
    Token,
    cl100k_base,
    story_tokenizer,
)

TEXT = st.text(st.characters(exclude_categories=["Cs"]))
TOKENIZERS = {"story-8k": story_tokenizer, "cl100k_base": cl100k_base}


@pytest.fixture(params=TOKENIZERS)
def tokenizer(request: pytest.FixtureRequest) -> ByteLevel:
    return TOKENIZERS[request.param]()


def shown(label: str) -> bool:
    """Whether a label shows all it holds, with nothing blank but the gaps between loose bytes."""
    label = re.sub("(?<=0x[0-9A-F]{2})\u00a0(?=0x[0-9A-F]{2})", "", label)
    return (
        "\ufffd" not in label
        and not any(character.isspace() for character in label)
        and not any(unicodedata.category(c) in ("Cc", "Cf", "Cs", "Co", "Cn", "Zs", "Zl", "Zp") for c in label)
    )


@pytest.mark.parametrize("name", [*TOKENIZERS, "encoder", "encoder_decoder"])
@given(text=TEXT)
@example("我爱深度学习")
@example("👩‍👩‍👧‍👦 é ﷽ \u202e\ufffd\x00")
@example("  \n\n \t x" + " " * 50)
@example(END_OF_TEXT)
@example("\ufffd \u3000\u00a0\u200b\u202e\u2028\u3164\r\n\t\x7f\x00")
@example("[MASK] a [MASK]  [MASK]<|fr|>")
@example("Où est l’été ? Ça va.")
def test_any_text_comes_back_and_its_labels_hide_nothing(name: str, text: str) -> None:
    """Of the encoder's but for a space before the mask."""
    tokenizer = TOKENIZERS[name]() if name in TOKENIZERS else story_tokenizer(name)
    assert tokenizer.is_lossless == (name != "encoder")
    expected = text if tokenizer.is_lossless else text.replace(" [MASK]", "[MASK]")
    assert tokenizer.decode(tokenizer.encode(text)) == expected
    tokens = tokenizer.tokens(tokenizer.encode(text, special=False))
    assert b"".join(token.bytes for token in tokens) == expected.encode()
    for token in tokens:
        assert token.label and shown(token.label), token


def test_every_label_of_every_vocabulary(tokenizer: ByteLevel) -> None:
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


def test_parts_of_a_character_are_shown_as_their_bytes(tokenizer: ByteLevel) -> None:
    for byte in (0xE6, 0xB7, 0xFF, 0x80):
        id = tokenizer.encoding.encode_single_token(bytes([byte]))
        token = tokenizer.token(id)
        assert token.bytes == bytes([byte])
        assert token.text == token.label == f"0x{byte:02X}"


def test_a_run_of_loose_bytes_is_spaced() -> None:
    tokenizer = cl100k_base()
    # 深 is E6 B7 B1, of which cl100k_base has the first two as one token.
    first, second = tokenizer.tokens(tokenizer.encode("深"))
    assert (first.text, first.label) == ("0xE6 0xB7", "0xE6\u00a00xB7")
    assert (second.text, second.label) == ("0xB1", "0xB1")


def test_loose_bytes_beside_text() -> None:
    token = ByteLevel(
        tiktoken.Encoding("loose", pat_str=".", mergeable_ranks={b" \x80\x80 a\xe6": 0}, special_tokens={})
    ).token(0)
    assert token.text == " 0x80 0x80 a0xE6"
    assert token.label == "·0x80\u00a00x80·a0xE6"


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
def test_lone_surrogates_are_refused_by_position(tokenizer: ByteLevel, text: str, position: int, code: str) -> None:
    with pytest.raises(TextError, match=rf"character {position} is U\+{code}") as error:
        tokenizer.encode(text)
    str(error.value).encode()  # the message itself is text


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


KINDS: tuple[Kind, ...] = ("decoder", "encoder", "encoder_decoder")


@pytest.mark.parametrize("kind", KINDS)
def test_the_models_of_the_family_share_one_vocabulary(kind: Kind) -> None:
    plain, tokenizer = story_tokenizer(), story_tokenizer(kind)
    assert [tokenizer.token(id) for id in range(8192)] == [plain.token(id) for id in range(8192)]
    assert [tokenizer.token(id).text for id in range(8188, 8192)] == ["[MASK]", "<|fr|>", "<|zh|>", END_OF_TEXT]
    assert tokenizer.encode("The old lamp.", special=False) == plain.encode("The old lamp.")
    assert tokenizer.encode_target("Le chat.", special=False) == plain.encode("Le chat.")


def test_what_stands_around_a_text() -> None:
    ids = story_tokenizer().encode("The old lamp.")
    end = 8191
    assert story_tokenizer("encoder").encode("The old lamp.") == [end, *ids, end]
    assert story_tokenizer("encoder_decoder").encode("The old lamp.") == [*ids, end]
    assert all(
        story_tokenizer(kind).decode(story_tokenizer(kind).encode("The old lamp.")) == "The old lamp." for kind in KINDS
    )


def test_the_mask_can_be_typed_where_a_model_knows_it() -> None:
    text = "a [MASK] named Lily"
    tokenizer = story_tokenizer("encoder")
    ids = tokenizer.encode(text)
    assert tokenizer.mask_id == 8188 and ids.count(8188) == 1
    assert 8188 not in tokenizer.controls
    for kind in ("decoder", "encoder_decoder"):
        other = story_tokenizer(kind)
        assert other.mask_id is None and 8188 in other.controls
        assert 8188 not in other.encode(text)
        assert other.decode(other.encode(text)) == text
    # The space belongs to the word that is hidden, as it would to the word itself.
    assert tokenizer.decode(ids) == "a[MASK] named Lily"
    assert ids == tokenizer.encode("a[MASK] named Lily")
    assert len(ids) == len(tokenizer.encode("a girl named Lily"))


def test_the_tags_of_languages() -> None:
    assert story_tokenizer("encoder_decoder").languages == {"fr": 8189, "zh": 8190}
    assert not story_tokenizer().languages and not story_tokenizer("encoder").languages
    for kind in KINDS:
        tokenizer = story_tokenizer(kind)
        assert not {8189, 8190, 8191} & set(tokenizer.encode("<|fr|> <|zh|> <|endoftext|>", special=False))
        assert tokenizer.decode([8189, *tokenizer.encode("chat"), 8190]) == "chat"


@pytest.mark.parametrize(
    "text", ["Où est la gare ?", "Elle lit un livre dans le jardin.", "从前，有一只小猫。", "Once upon a time"]
)
def test_the_bundled_vocabulary_shortens_its_languages(text: str) -> None:
    assert len(story_tokenizer().encode(text)) < 0.5 * len(text.encode())


def test_long_runs_are_encoded_in_good_time(tokenizer: ByteLevel) -> None:
    for text in ("a" * 20_000, " " * 20_000 + "x", "1" * 20_000, "!" * 20_000, "学" * 20_000, "\n" * 20_000 + "x"):
        assert tokenizer.decode(tokenizer.encode(text)) == text


def test_a_token_knows_whether_it_is_whole_characters() -> None:
    tokenizer = cl100k_base()
    pieces = tokenizer.tokens(tokenizer.encode("我爱"))
    assert [token.is_whole for token in pieces] == [True, False, False]
    assert all(token.is_whole for token in tokenizer.tokens(tokenizer.encode(" cat\n")))


def test_control_tokens_are_not_in_a_decoded_text(tokenizer: ByteLevel) -> None:
    assert tokenizer.end_of_text in tokenizer.controls
    ids = tokenizer.encode("the end")
    assert tokenizer.decode([*tokenizer.controls, *ids, *tokenizer.controls]) == "the end"
    assert tokenizer.decode([]) == ""
    assert tokenizer.is_lossless and tokenizer.mask_id is None
    assert tokenizer.encode("the end", special=False) == tokenizer.encode_target("the end") == ids


def without(*bytes_: int) -> tiktoken.Encoding:
    """An encoding of single bytes, without these."""
    ranks = {bytes([byte]): byte for byte in range(256) if byte not in bytes_}
    return tiktoken.Encoding("some", pat_str=STORY_PATTERN, mergeable_ranks=ranks, special_tokens={END_OF_TEXT: 256})


@given(text=TEXT)
@example("a\U00040000")
def test_bytes_that_no_token_spells(text: str) -> None:
    tokenizer = ByteLevel(without(0xF1, 0x00))
    missing = [n for n, character in enumerate(text, 1) if {0xF1, 0x00} & set(character.encode())]
    if not missing:
        assert tokenizer.decode(tokenizer.encode(text)) == text
        return
    code = f"{ord(text[missing[0] - 1]):04X}"
    byte = "00" if code == "0000" else "F1"
    says = f"character {missing[0]} is U+{code}, and the vocabulary some has no token for its byte {byte}"
    with pytest.raises(TextError, match=re.escape(says)):
        tokenizer.encode(text)


def test_a_panic_is_an_error_of_the_text() -> None:
    with pytest.raises(TextError, match="try a shorter one"), as_text_error():
        without(0x61).encode_ordinary("a")
    with pytest.raises(KeyboardInterrupt), as_text_error():
        raise KeyboardInterrupt


def test_more_rows_than_tokens_and_tokens_around() -> None:
    tokenizer = ByteLevel(without(), n_rows=300, end_of_text=10, before=[256, 1], after=[256])
    assert tokenizer.encode("a") == [256, 1, 97, 256]
    assert tokenizer.encode("a", special=False) == [97]
    assert (tokenizer.n_vocab, tokenizer.end_of_text) == (300, 10)
    assert tokenizer.token(299) == Token(299, b"", "[unused 299]")
    assert tokenizer.decode([256, 97, 299, 98]) == "ab"
    for id in (-1, 300, 2**70):
        with pytest.raises(KeyError, match=f"no token {id}"):
            tokenizer.token(id)
        with pytest.raises(KeyError, match=f"no token {id}"):
            tokenizer.decode([id])


def test_an_encoding_without_end_of_text() -> None:
    encoding = tiktoken.Encoding("bare", pat_str=".", mergeable_ranks={b"a": 0}, special_tokens={})
    assert ByteLevel(encoding).end_of_text is None


@pytest.mark.parametrize(
    ("token", "label"),
    [
        (Token(1, b"ing", "##ing"), "##ing"),
        (Token(1, b"", "7"), "7"),
        (Token(1, b"", "[unused 1]"), "[unused·1]"),
        (Token(1, b" a", " a"), "·a"),
        (Token(1, b"\xe6", "E6"), "E6"),
    ],
)
def test_labels_of_tokens_that_are_more_than_their_bytes(token: Token, label: str) -> None:
    assert token.label == label


@pytest.mark.parametrize(
    ("text", "ids"),
    [("5 9 12", [5, 9, 12]), (" 5,9\n12, ", [5, 9, 12]), ("5，9、12", [5, 9, 12]), ("", []), (" , ", []), ("007", [7])],
)
def test_texts_that_are_ids(text: str, ids: list[int]) -> None:
    tokenizer = IdTokenizer(13)
    assert tokenizer.encode(text) == tokenizer.encode(text, special=False) == ids
    assert tokenizer.encode(tokenizer.decode(ids)) == ids
    assert [(token.text, token.bytes, token.label) for token in tokenizer.tokens(ids)] == [
        (str(id), b"", str(id)) for id in ids
    ]


@pytest.mark.parametrize(
    ("text", "shown"),
    [("13", "13"), ("5 the", "the"), ("-1", "-1"), ("1.5", "1.5"), ("٣", "٣"), ("9" * 5000, "9" * 20)],
)
def test_texts_that_are_no_ids(text: str, shown: str) -> None:
    with pytest.raises(TextError, match=rf"'{re.escape(shown)}…?' is not a token id: .* ids from 0 to 12") as error:
        IdTokenizer(13).encode(text)
    assert "\n" not in str(error.value)


@given(text=TEXT | st.text("0123 ,x"))
def test_any_text_is_ids_or_refused(text: str) -> None:
    tokenizer = IdTokenizer(13)
    try:
        ids = tokenizer.encode(text)
    except TextError:
        return
    assert tokenizer.encode(tokenizer.decode(ids)) == ids


@pytest.mark.parametrize("id", [-1, 13, 2**70])
def test_ids_that_are_no_rows(id: int) -> None:
    with pytest.raises(KeyError, match=f"no token {id} in the vocabulary ids"):
        IdTokenizer(13).token(id)
