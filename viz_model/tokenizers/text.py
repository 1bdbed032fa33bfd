"""What text a vocabulary can be given, and how its characters and bytes are made visible."""

import re
import unicodedata
from collections.abc import Iterable, Iterator
from contextlib import contextmanager

CONTINUES = "##"
"""Before a piece of WordPiece that goes on with a word."""


class TextError(ValueError):
    """Text that a model cannot be given. The message says where and why."""


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


def missing_bytes(tokens: Iterable[bytes]) -> frozenset[int]:
    """The byte values that are no token of their own in a vocabulary of ``tokens``."""
    return frozenset(range(256)).difference(token[0] for token in tokens if len(token) == 1)


def check_bytes(text: str, missing: frozenset[int], name: str) -> None:
    """Refuse what the byte-level vocabulary ``name`` cannot spell, since it misses these bytes.

    Raises:
        TextError: names the position and the code point.
    """
    if missing.isdisjoint(text.encode()):
        return
    for position, character in enumerate(text, 1):
        for byte in character.encode():
            if byte in missing:
                raise TextError(
                    f"character {position} is U+{ord(character):04X}, and the vocabulary {name} "
                    f"has no token for its byte {byte:02X}"
                )


@contextmanager
def as_text_error() -> Iterator[None]:
    """Around libraries that give up on a text, such as a regular expression that backtracks too much.

    Raises:
        TextError: in place of their errors, and of the panics of those written in Rust.
    """
    try:
        yield
    except BaseException as error:
        if isinstance(error, Exception) or is_panic(error):
            raise TextError("the rules of this tokenizer fail on this text: try a shorter one") from None
        raise


def is_panic(error: BaseException) -> bool:
    """Whether Rust code panicked. The type is in no module, and is not an Exception."""
    return type(error).__name__ == "PanicException"


def byte_symbols() -> dict[int, str]:
    """GPT-2's printable stand-in for every byte (Radford et al. 2019), which vocabularies are written in.

    Printable Latin-1 stands for itself, the other bytes for the characters from U+0100 (Ġ is a space).
    """
    printable = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    rest = [byte for byte in range(256) if byte not in printable]
    return {byte: chr(byte) for byte in printable} | {byte: chr(0x100 + n) for n, byte in enumerate(rest)}


def make_visible(text: str) -> str:
    """``text`` with every blank, control or formatting character made visible.

    A space becomes ·, a newline ⏎, a tab ⇥; other controls their picture (␀) or code point, so
    that nothing typed can hide, reverse the line, or merge with its neighbor.
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
LOOSE_BYTES = re.compile("([\udc80-\udcff]+)")


def decoded(raw: bytes) -> str:
    return raw.decode("utf-8", errors="surrogateescape")


def spelled(raw: bytes, gap: str = " ") -> str:
    """Bytes as they are read: 0xE5 0x9E. Without the 0x, a byte such as 80 would be taken for a number."""
    return gap.join(f"0x{byte:02X}" for byte in raw)


def hexadecimal(loose: str, gap: str) -> str:
    return spelled(bytes(ord(byte) - 0xDC00 for byte in loose), gap)
