"""Every sentence the app says, in every language it speaks.

Labels stand in ``texts/<language>/<group>.toml``, prose in ``texts/<language>/<group>.md`` under
``## section`` headings, of this folder or of a topic's. Both are addressed as ``group.key``, so no two
folders have a group of the same name. ``{{name}}`` is filled in from the caller's values; braces of
LaTeX are left alone. A model that reads pictures has no sentence: what must be said of it in other words stands under
the same key in the group ``<group>_pictures``; and where those speak of digits that one draws, in
``<group>_any_picture`` for models that read other pictures. So does ``<group>_around`` (``<group>_pictures_around``)
for models in which a feed-forward reads more than the vector at its own position. The library speaks English:
``texts/<language>/errors.toml`` has its messages as keys, ``{name}`` where a value stands.
"""

from __future__ import annotations

import contextlib
import functools
import re
import tomllib
from collections.abc import Callable, Iterable
from pathlib import Path

from viz_model.claims import fill, said
from viz_model.config import ModelConfig
from viz_model.model import sites
from viz_model.model.sites import Site

LANGUAGES = {"en": "English", "zh": "中文"}
TOPICS = Path(__file__).parents[1] / "topics"
FOLDERS = (Path(__file__).parent / "texts", *sorted(TOPICS.glob("*/texts")))
SNIPPETS = tuple(sorted(TOPICS.glob("*/snippets")))


class Texts:
    """The texts of one language, in the words for a model that reads ``pictures`` where it is one.

    Those are of ``digits`` that one draws, unless it reads others. ``around`` is one whose feed-forward looks around.
    """

    def __init__(self, language: str, pictures: bool = False, digits: bool = True, around: bool = False) -> None:
        self.language, self.pictures = language, pictures
        self._kinds = ("around",) * around + ("pictures",) * pictures + ("any_picture",) * (pictures and not digits)
        self._kinds += ("pictures_around",) * (pictures and around)

    @classmethod
    def of(cls, language: str, config: ModelConfig) -> Texts:
        """In the words for a model."""
        return cls(language, config.reads_pictures, config.reads_digits, sites.looks_around(config))

    def __call__(self, key: str, /, **values: object) -> str:
        """The label ``group.key`` with its placeholders filled.

        Raises:
            KeyError: no such label, or a placeholder without a value.
        """
        group, _, name = key.partition(".")
        return said(self.labels(group)[name], values)

    def prose(self, key: str, /, **values: object) -> str:
        """The Markdown section ``group.section`` with its placeholders filled.

        Raises:
            KeyError: no such section, or a placeholder without a value.
        """
        group, _, section = key.partition(".")
        return said(self.sections(group)[section], values)

    def knows(self, key: str) -> bool:
        """Whether there is such a section: of a variant that nobody has written of there is none."""
        group, _, section = key.partition(".")
        return section in self.sections(group)

    def labels(self, group: str) -> dict[str, str]:
        """The labels of a group."""
        return _worded(labels, self.language, group, self._kinds)

    def sections(self, group: str) -> dict[str, str]:
        """The prose of a group."""
        return _worded(sections, self.language, group, self._kinds)

    def error(self, error: BaseException | str) -> str:
        """What is wrong, for Markdown: a message of the library, in English where nobody has translated it."""
        return quoting(self._translated(str(error)))

    def _translated(self, message: str) -> str:
        for pattern, translated in _messages(self.language):
            if match := pattern.fullmatch(message):  # a value may be a message itself
                return translated.format(**{name: self._translated(each) for name, each in match.groupdict().items()})
        return message

    def site_label(self, site: Site) -> str:
        """The label of a row of the registry, which itself speaks English; so does a value that is new.

        Translated is the value of that name, or the label wherever a variant says it of one of its own.
        """
        if self.language == "en":
            return site.label
        known = labels(self.language, "sites")
        return known.get(site.name, known.get(site.label, site.label))


@functools.cache
def labels(language: str, group: str) -> dict[str, str]:
    """The TOML file of a group: {key: label}."""
    return tomllib.loads(_read(FOLDERS, f"{language}/{group}.toml"))


@functools.cache
def sections(language: str, group: str) -> dict[str, str]:
    """The Markdown file of a group, cut at its ``## `` headings: {heading: text}."""
    parts = re.split(r"^## +(\w+) *$", _read(FOLDERS, f"{language}/{group}.md"), flags=re.M)
    return {name: text.strip() for name, text in zip(parts[1::2], parts[2::2], strict=True)}


@functools.cache
def _worded(
    read: Callable[[str, str], dict[str, str]], language: str, group: str, kinds: tuple[str, ...]
) -> dict[str, str]:
    """A group, with what is said in other words of models of some kinds."""
    own = read(language, group)
    for kind in kinds:
        with contextlib.suppress(KeyError):
            own = own | read(language, f"{group}_{kind}")
    return own


_VALUE = re.compile(r"\{(\w+)\}")


@functools.cache
def _messages(language: str) -> tuple[tuple[re.Pattern[str], str], ...]:
    """Patterns of the library's messages, those with most words first: one may be a general form of another."""
    messages = {} if language == "en" else labels(language, "errors")
    ordered = sorted(messages, key=lambda message: -len(_VALUE.sub("", message)))
    return tuple((_pattern(message), messages[message]) for message in ordered)


def _pattern(message: str) -> re.Pattern[str]:
    parts = _VALUE.split(message)
    return re.compile("".join(f"(?P<{part}>.+?)" if n % 2 else re.escape(part) for n, part in enumerate(parts)), re.S)


def snippet(stage: str, /, *, run: str = "", **values: object) -> str:
    """The runnable Python of a stage, ``{{name}}`` replaced by the value's Python literal.

    ``{{run}}`` is replaced by ``run`` as it is: an expression.
    """
    source = _read(SNIPPETS, f"{stage}.py.txt")
    return fill(source, {"run": run, **{name: repr(value) for name, value in values.items()}})


def _read(folders: Iterable[Path], name: str) -> str:
    """The text of the file of that name.

    Raises:
        KeyError: none of the folders has it.
    """
    for folder in folders:
        if (path := folder / name).is_file():
            return path.read_text(encoding="utf-8")
    raise KeyError(name)


# Letters and digits, with the signs of prose around or between them. No markup is made of such words.
_SPACES = re.compile("([ ，。：；？！、（）“”])")
_PLAIN_WORD = re.compile(r"""['"‘“(]?[^\W_]+(?:['’-][^\W_]+)*['"’”)]?[.,:;…?!。，：；？！]?|[–—]""")


def quoting(message: object) -> str:
    """A message that may quote what a visitor typed, for Markdown: words that could be markup become code."""

    def shown(word: str) -> str:
        if _PLAIN_WORD.fullmatch(word):
            return word
        end = word.rstrip(".,:;")
        return literal(end) + word[len(end) :] if end else literal(word) if word else ""

    words = _SPACES.split(str(message))
    return "".join(word if n % 2 else shown(word) for n, word in enumerate(words))


def row(cells: Iterable[str]) -> str:
    """A row of a Markdown table. A | in a cell would otherwise end it, even within a code span."""
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"


def table(headings: Iterable[str], rows: Iterable[Iterable[str]], align: str = "") -> str:
    """A Markdown table; ``align`` has l, r or - for each column, by default - for the first and r for the others."""
    names = list(headings)
    sides = {"l": ":--", "r": "--:", "-": "---"}
    edges = [sides[side] for side in align or "-".ljust(len(names), "r")]
    return "\n".join(map(row, (names, edges, *rows)))


def literal(text: str) -> str:
    """``text`` as a Markdown code span, shown to the letter whatever it holds.

    Inside a code span nothing is markup: no HTML, no LaTeX, no emoji names. The fence is longer
    than any run of backticks in the text, and line breaks have no place in one line. Half a
    surrogate pair, which no message to a browser can hold, becomes U+FFFD.
    """
    line = re.sub("[\ud800-\udfff]", "\N{REPLACEMENT CHARACTER}", " ".join(text.splitlines())) or " "
    fence = "`" * (1 + max((len(run) for run in re.findall("`+", line)), default=0))
    pad = " " if line[0] in " `" or line[-1] in " `" else ""
    return f"{fence}{pad}{line}{pad}{fence}"
