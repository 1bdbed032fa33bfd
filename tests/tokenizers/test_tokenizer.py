"""viz_model.tokenizers.tokenizer: exact both ways, and nothing a token holds can hide."""

import re
import unicodedata
from collections.abc import Callable

import pytest
import tiktoken
import tiny_models
from hypothesis import example, given
from hypothesis import strategies as st

from viz_model.tokenizers.text import TextError, as_text_error, make_visible
from viz_model.tokenizers.tokenizer import END_OF_TEXT, STORY_PATTERN, ByteLevel, IdTokenizer, Token
from viz_model.tokenizers.tokenizer import cl100k_base as cl100k
from viz_model.tokenizers.tokenizer import story_tokenizer as story

TEXT = st.text(st.characters(exclude_categories=["Cs"]))
TOKENIZERS = {"story-8k": story, "cl100k_base": cl100k}


def shown(label: str) -> bool:
    """Whether a label shows all it holds, with nothing blank but the gaps between loose bytes."""
    label = re.sub("(?<=0x[0-9A-F]{2})\u00a0(?=0x[0-9A-F]{2})", "", label)
    return "\ufffd" not in label and not any(c.isspace() or unicodedata.category(c)[0] in "CZ" for c in label)


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
    tokenizer = TOKENIZERS[name]() if name in TOKENIZERS else story(name)
    assert tokenizer.is_lossless == (name != "encoder")
    expected = text if tokenizer.is_lossless else text.replace(" [MASK]", "[MASK]")
    assert tokenizer.decode(tokenizer.encode(text)) == expected
    tokens = tokenizer.tokens(tokenizer.encode(text, special=False))
    assert b"".join(token.bytes for token in tokens) == expected.encode()
    for token in tokens:
        assert token.label and shown(token.label), token


@pytest.mark.parametrize("made", TOKENIZERS.values())
def test_every_label_of_every_vocabulary(made: Callable[[], ByteLevel]) -> None:
    checked, tokenizer = 0, made()
    loose = tokenizer.token(tokenizer.encoding.encode_single_token(b"\xe6"))
    assert loose.bytes == b"\xe6" and loose.text == loose.label == "0xE6"
    assert len(cl100k().encode("我爱深度学习")) == 9
    # 深 is E6 B7 B1, of which cl100k_base has the first two as one token.
    assert [token.label for token in cl100k().tokens(cl100k().encode("深"))] == ["0xE6\u00a00xB7", "0xB1"]
    for id in range(tokenizer.n_vocab):
        try:
            token = tokenizer.token(id)
        except KeyError:
            continue  # cl100k_base leaves some ids of its control tokens unused
        assert token.id == id
        assert token.label and shown(token.label), token
        checked += 1
    assert checked > tokenizer.n_vocab - 20


def test_make_visible() -> None:
    shown = {" the": "·the", "\n\n": "⏎⏎", "\t": "⇥", "\x00\x1b": "␀␛", "\u3000": "□", "\u0301": "◌\u0301", "🙂": "🙂"}
    shown |= {chr(code): f"U+{code:04X}" for code in (0x7F, 0xA0, 0x202E, 0xFFFD, 0x2800)}
    assert {text: make_visible(text) for text in shown} == shown


@pytest.mark.parametrize(("text", "position", "code"), [("\ud800", 1, "D800"), ("abc \udfff!", 5, "DFFF")])
def test_lone_surrogates_are_refused_by_position(text: str, position: int, code: str) -> None:
    with pytest.raises(TextError, match=rf"character {position} is U\+{code}") as error:
        story().encode(text)
    str(error.value).encode()  # the message itself is text


def test_the_models_of_the_family_share_one_vocabulary() -> None:
    plain, ids, end = story(), story().encode("The old lamp."), 8191
    assert (plain.n_vocab, plain.end_of_text, len(plain.encode("Once upon a time"))) == (8192, end, 4)
    for kind in tiny_models.KINDS:
        tokenizer = story(kind)
        assert [tokenizer.token(id) for id in range(8192)] == [plain.token(id) for id in range(8192)]
        assert [tokenizer.token(id).text for id in range(8188, 8192)] == ["[MASK]", "<|fr|>", "<|zh|>", END_OF_TEXT]
        assert tokenizer.languages == ({"fr": 8189, "zh": 8190} if kind == "encoder_decoder" else {})
        assert not {8189, 8190, 8191} & set(tokenizer.encode("<|fr|> <|zh|> <|endoftext|>", special=False))
        assert tokenizer.decode([8189, *tokenizer.encode("chat"), 8190]) == "chat"
        around = {"decoder": ids, "encoder": [end, *ids, end], "encoder_decoder": [*ids, end]}
        assert tokenizer.encode("The old lamp.") == around[kind]
        assert tokenizer.encode_target("The old lamp.", special=False) == ids


def test_the_mask_can_be_typed_where_a_model_knows_it() -> None:
    text = "a [MASK] named Lily"
    tokenizer = story("encoder")
    ids = tokenizer.encode(text)
    assert tokenizer.mask_id == 8188 and ids.count(8188) == 1
    assert 8188 not in tokenizer.controls
    for kind in ("decoder", "encoder_decoder"):
        other = story(kind)
        assert other.mask_id is None and 8188 in other.controls
        assert 8188 not in other.encode(text) and other.decode(other.encode(text)) == text
    # The space belongs to the word that is hidden, as it would to the word itself.
    assert tokenizer.decode(ids) == "a[MASK] named Lily" and ids == tokenizer.encode("a[MASK] named Lily")
    assert len(ids) == len(tokenizer.encode("a girl named Lily"))


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


def test_more_rows_than_tokens_and_tokens_around() -> None:
    with pytest.raises(TextError, match="try a shorter one"), as_text_error():
        without(0x61).encode_ordinary("a")  # a panic is an error of the text
    tokenizer = ByteLevel(without(), n_rows=300, end_of_text=10, before=[256, 1], after=[256])
    assert tokenizer.encode("a") == [256, 1, 97, 256] and tokenizer.encode("a", special=False) == [97]
    assert (tokenizer.n_vocab, tokenizer.end_of_text) == (300, 10)
    assert tokenizer.token(299) == Token(299, b"", "[unused 299]") and tokenizer.decode([256, 97, 299, 98]) == "ab"
    for id in (-1, 300, 2**70):
        with pytest.raises(KeyError, match=f"no token {id}"):
            tokenizer.token(id)
        with pytest.raises(KeyError, match=f"no token {id}"):
            tokenizer.decode([id])


@pytest.mark.parametrize(
    ("text", "ids"),
    [("5 9 12", [5, 9, 12]), (" 5,9\n12, ", [5, 9, 12]), ("5，9、12", [5, 9, 12]), ("", []), (" , ", []), ("007", [7])],
)
def test_texts_that_are_ids(text: str, ids: list[int]) -> None:
    tokenizer = IdTokenizer(13)
    for wrong, shown_ in (("13", "13"), ("5 the", "the"), ("-1", "-1"), ("1.5", "1.5"), ("9" * 5000, "9" * 20)):
        with pytest.raises(TextError, match=rf"'{re.escape(shown_)}…?' is not a token id: .* ids from 0 to 12"):
            tokenizer.encode(wrong)
    assert tokenizer.encode(text) == tokenizer.encode(text, special=False) == ids
    assert tokenizer.encode(tokenizer.decode(ids)) == ids
    told = [(token.text, token.bytes, token.label) for token in tokenizer.tokens(ids)]
    assert told == [(str(id), b"", str(id)) for id in ids]
