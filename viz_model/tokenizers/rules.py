"""How texts are cut: pre-tokenizers in the words of ``tokenizer.json``, and the same rules for tiktoken."""

from collections.abc import Mapping, Sequence
from typing import Any


def _split(pattern: str) -> list[dict[str, Any]]:
    return [
        {"type": "Split", "pattern": {"Regex": pattern}, "behavior": "Isolated", "invert": False},
        {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": False, "use_regex": False},
    ]


BY_GPT2 = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": False, "use_regex": True}
_CONTRACTIONS = "(?i:'s|'t|'re|'ve|'m|'ll|'d)"
_SIGNS_AND_BLANKS = r"| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
_LLAMA3 = _CONTRACTIONS + r"|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}" + _SIGNS_AND_BLANKS
_QWEN2 = _CONTRACTIONS + r"|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}" + _SIGNS_AND_BLANKS

QWEN3_5 = _split(
    _CONTRACTIONS + r"|[^\r\n\p{L}\p{N}]?[\p{L}\p{M}]+|\p{N}| ?[^\s\p{L}\p{M}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
)

PRE_TOKENIZERS: dict[str, list[dict[str, Any]]] = {
    "gpt-2": [BY_GPT2],
    "smollm": [{"type": "Digits", "individual_digits": True}, BY_GPT2],
    "llama-bpe": _split(_LLAMA3),
    "qwen2": _split(_QWEN2),
    "bloom": _split(" ?[^(\\s|[.,!?…。，、।۔،])]+"),
    "falcon": [
        {"type": "Punctuation", "behavior": "Contiguous"},
        BY_GPT2,
        {"type": "Digits", "individual_digits": False},
        {"type": "Split", "pattern": {"Regex": "[0-9][0-9][0-9]"}, "behavior": "Isolated", "invert": False},
    ],
}
"""The rules by llama.cpp's names, as the models' own ``tokenizer.json`` files write them."""

# The same rules for tiktoken, whose patterns drop what they do not match. Possessive (++) wherever
# it changes nothing, so that no text makes them backtrack.
_WORDS = r"'(?:[sdmt]|ll|ve|re)| ?\p{L}++"
_SIGNS = r"| ?[^\s\p{L}\p{N}]++"
_BLANKS = r"|\s++$|\s+(?!\S)|\s"
_ANY_CASE_WORDS = r"'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}++"
_LINES = r"[\r\n]*+|\s*[\r\n]"
TIKTOKEN_PATTERNS = {
    "gpt-2": _WORDS + r"| ?\p{N}++" + _SIGNS + _BLANKS,
    "smollm": _WORDS + r"|\p{N}" + _SIGNS + r"|\s++(?=\p{N})" + _BLANKS,
    "llama-bpe": _ANY_CASE_WORDS + r"|\p{N}{1,3}+" + _SIGNS + _LINES + _BLANKS,
    "qwen2": _ANY_CASE_WORDS + r"|\p{N}" + _SIGNS + _LINES + _BLANKS,
}


def tiktoken_pattern(parts: Sequence[Mapping[str, Any]]) -> str | None:
    def rule(part: Mapping[str, Any]) -> dict[str, Any]:
        # Offsets into the text are not used here, and the library's defaults may be left out.
        defaults = {"add_prefix_space": True, "use_regex": True} if part["type"] == "ByteLevel" else {}
        return {**defaults, **{key: value for key, value in part.items() if key != "trim_offsets"}}

    own = [rule(part) for part in parts]
    known = {name: [rule(part) for part in steps] for name, steps in PRE_TOKENIZERS.items()}
    return next((TIKTOKEN_PATTERNS.get(name) for name, steps in known.items() if steps == own), None)
