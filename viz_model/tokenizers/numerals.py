"""The vocabulary of a model that reads digits aloud: their words in two languages, and what stands between them."""

import re
from collections.abc import Iterable, Sequence

from viz_model.config import Patches, Side
from viz_model.tokenizers.patches import PatchTokenizer
from viz_model.tokenizers.text import TextError, check_text, make_visible
from viz_model.tokenizers.tokenizer import END_OF_TEXT, Token, Tokenizer, token_of

NUMERALS = {
    "en": ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine"),
    "zh": tuple("零一二三四五六七八九"),
}
"""The words of the digits 0 to 9, by language."""
BETWEEN = {"en": ", ", "zh": "、"}
"""What stands between two of them."""
TAGS = {"en": "<|en|>", "zh": "<|zh|>"}
"""Where an answer begins: the language is all that the token says."""


class NumeralTokenizer(Tokenizer):
    """A picture is its patches; an answer is whole words, with a token for what stands between two.

    Ids of the encoder are those of :attr:`patches`, ids of the decoder those of this vocabulary: for each language its
    ten words and what stands between them, then a tag for each language, then end-of-text.
    """

    is_lossless = True

    def __init__(self, patches: Patches) -> None:
        self.name = "numerals"
        self.patches = PatchTokenizer(patches)
        written = [entry for language in NUMERALS for entry in (*NUMERALS[language], BETWEEN[language])]
        self._entries = (*written, *TAGS.values(), END_OF_TEXT)
        self._ids = {entry: id for id, entry in enumerate(self._entries)}
        self._words = re.compile("|".join(map(re.escape, written)))
        self.n_vocab = len(self._entries)
        self.languages = {language: self._ids[tag] for language, tag in TAGS.items()}
        self.end = self.end_of_text = self._ids[END_OF_TEXT]
        self.controls = frozenset((*self.languages.values(), self.end))

    def at(self, side: Side) -> Tokenizer:
        return self.patches if side == "encoder" else self

    def encode(self, text: str, *, special: bool = True, as_text: bool = False) -> list[int]:
        """The patches of a picture that is written as text.

        Raises:
            TextError: the text is not a picture.
        """
        return self.patches.encode(text, special=special, as_text=as_text)

    def encode_target(self, text: str, *, special: bool = True, as_text: bool = False) -> list[int]:
        """The words of an answer; blanks around it are left out.

        Raises:
            TextError: something else is written there.
        """
        check_text(text)
        ids, rest, at = list[int](), text.strip(), 0
        while at < len(rest):
            if (found := self._words.match(rest, at)) is None:
                if rest[at:] in {between.strip() for between in BETWEEN.values()}:
                    return [*ids, *(id for entry, id in self._ids.items() if entry.strip() == rest[at:])]
                raise TextError(
                    f"{make_visible(rest[at : at + 20])!r} is no word of this model: it says the digits, "
                    "like 'three, seven' or '三、七'"
                )
            ids.append(self._ids[found[0]])
            at = found.end()
        return ids

    def said(self, digits: Sequence[int], language: str) -> list[int]:
        """The ids of some digits in a language, without tag and end."""
        words = [self._ids[NUMERALS[language][digit]] for digit in digits]
        between = self._ids[BETWEEN[language]]
        return [id for word in words for id in (between, word)][1:]

    def decode(self, ids: Iterable[int]) -> str:
        return self._spelled(ids)

    def token(self, id: int) -> Token:
        """A word, or what stands between two; of the encoder's ids :attr:`patches` knows."""
        if not 0 <= id < self.n_vocab:
            return self._unused(int(id))
        return token_of(int(id), self._entries[int(id)].encode())
