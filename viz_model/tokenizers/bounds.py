"""What a ``tokenizer.json`` may ask for: a short text must not become a large one, nor be read for ever.

The library does whatever a description says. A few lines of rules that each double a text would fill any
memory, and a regular expression with a repeated group can try more ways than anybody waits for.
"""

from __future__ import annotations

import base64
import binascii
import math
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from viz_model.checkpoints.weights import ModelError

MAX_GROWTH = 1000
"""How many times as long a text may become. NFKC makes 18 characters of one (U+FDFA); no table is known to do more."""
MAX_AROUND = 256
"""Control tokens that may be put around a text."""


def check_bounds(path: Path, plain: Mapping[str, Any]) -> None:
    """Refuse rules that make much of little.

    Raises:
        ModelError: a text could grow more than 1,000 times, more than 256 control tokens would stand around it, or a
            regular expression repeats a group, which may take time exponential in the text. That it takes less
            is not shown: a product of many plain repetitions is a polynomial of high degree.
    """
    for place in ("normalizer", "decoder"):
        growth = math.prod(_growth(part) for part in _nodes(plain.get(place)))
        if growth > MAX_GROWTH:
            raise ModelError(f"{path}: {place}: its rules make a text more than {MAX_GROWTH} times as long")
    if (n_around := sum(_n_around(part) for part in _nodes(plain.get("post_processor")))) > MAX_AROUND:
        raise ModelError(f"{path}: post_processor: {n_around} tokens around a text, expected at most {MAX_AROUND}")
    for place in ("normalizer", "pre_tokenizer", "decoder"):
        for part in _nodes(plain.get(place)):
            pattern = part.get("Regex")
            if isinstance(pattern, str) and repeats_a_group(pattern):
                raise ModelError(f"{path}: {place}: the regular expression {pattern[:80]!r} repeats a group")


def _nodes(root: Any) -> Iterator[Mapping[str, Any]]:
    """Every object within ``root``. Not recursive: files may be nested as deep as they like."""
    waiting = [root]
    while waiting:
        node = waiting.pop()
        if isinstance(node, dict):
            yield node
            waiting.extend(node.values())
        elif isinstance(node, list):
            waiting.extend(node)


def _growth(part: Mapping[str, Any]) -> int:
    """An upper bound of how many times as long a step makes a text, of which it changes every character."""
    match part:
        case {"type": "Prepend", "prepend": str(text)}:
            return 1 + len(text)
        case {"type": "Replace", "content": str(text), "pattern": {"String": str(pattern)}} if pattern:
            return max(1, -(-len(text) // len(pattern)))
        case {"type": "Replace", "content": str(text)}:
            return 1 + len(text)  # what matches nothing matches between any two characters
        case {"type": "Precompiled", "precompiled_charsmap": str(encoded)}:
            return _longest_entry(encoded)
    return 1


def _longest_entry(encoded: str) -> int:
    """Of SentencePiece's table: the size of a trie, the trie, and what its characters become, with a 0 after each."""
    try:
        table = base64.b64decode(encoded)
    except (binascii.Error, ValueError):
        return 1  # the library says what is wrong with it
    entries = table[4 + int.from_bytes(table[:4], "little") :].split(b"\0")
    return max(1, *map(len, entries))


def _n_around(part: Mapping[str, Any]) -> int:
    match part:
        case {"type": "TemplateProcessing", "single": list(pieces), "special_tokens": dict(special)}:
            names = [piece["SpecialToken"].get("id") for piece in pieces if _is_special(piece)]
            found = (special.get(name) for name in names if isinstance(name, str))
            return sum(len(entry["ids"]) for entry in found if isinstance(entry, dict) and _has_ids(entry))
    return 0


def _is_special(piece: Any) -> bool:
    return isinstance(piece, dict) and isinstance(piece.get("SpecialToken"), dict)


def _has_ids(entry: Mapping[str, Any]) -> bool:
    return isinstance(entry.get("ids"), list)


_SIGN = re.compile(r"\\.|\[\^?\]?|\]|\)(?=[*+{])|\)|.", re.DOTALL)


def repeats_a_group(pattern: str) -> bool:
    """Whether ``*``, ``+`` or ``{`` follows a group of a regular expression."""
    depth = 0  # of character classes, in which a bracket is only a character
    for sign in _SIGN.finditer(pattern):
        if sign[0].startswith("["):
            depth += 1
        elif sign[0] == "]":
            depth = max(0, depth - 1)
        elif sign[0] == ")" and not depth and pattern[sign.end() : sign.end() + 1] in ("*", "+", "{"):
            return True
    return False
