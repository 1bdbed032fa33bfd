"""Every sentence of the package, in every language there is.

A language is a folder that names itself: ``<language>/language.toml`` (:class:`Language`). Beside it stand labels in
``<group>.toml`` and prose in ``<group>.md`` under ``## key`` headings, both addressed as ``group.key``; what the walk
says stands with its labels, a beat a line. What a language does not say, it says in English. ``{{name}}`` is filled in
from the caller's values; braces of LaTeX are left alone.
A model that reads pictures has no sentence: what must be said of it in other words stands under the same key in the
group ``<group>_pictures``; and where those speak of digits that one draws, in ``<group>_any_picture`` for models that
read other pictures.

Two groups have no English file, because their English stands in the code: ``errors.toml`` has the library's messages as
keys, ``{name}`` where a value stands, and ``sites.toml`` the names or labels of a run's values.
"""

import functools
import re
import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from viz_model.texts.markdown import quoting

if TYPE_CHECKING:
    from viz_model.config import ModelConfig
    from viz_model.model.sites import Site

FOLDER = Path(__file__).parent
ENGLISH = "en"
"""The language that has every text."""

_PLACEHOLDER = re.compile(r"\{\{(\w+)\}\}")
_COUNTED = re.compile(r"(?<![×·/] )\{\{(\w+)\}\}(\*{0,2} \[?)(\w+)(\]\(#[\w-]+\))?(?: (\w+))?")
"""A number, no factor of others, and what it counts, which may lead to its definition; and the word after it."""
_NEGATIVE = re.compile(r"-\d[\d,]*(?:\.\d+%?|%)")


@dataclass(frozen=True)
class Language:
    """A language as its ``language.toml`` describes it; what that leaves out is as in English.

    Attributes:
        folder: where its texts stand; the folder's name is what ``lang`` in an address names.
        name: its own name for itself.
        letters: what its words begin with, as ranges of a regular expression.
        large: the number that ``models.size_large`` counts.
        small: the number that ``models.size_small`` counts.
        one: of words that follow a number, what they are where it is 1: "tokens" is "token", and "are" is "is". English
            words that are not named here are as in English, for what a language says in English.
    """

    folder: Path
    name: str
    letters: str = "A-Za-z"
    large: int = 1_000_000_000
    small: int = 1_000_000
    one: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def read(cls, folder: Path) -> "Language":
        """Raises TypeError: the file says something else than the attributes above."""
        own, english = (
            tomllib.loads((each / "language.toml").read_text(encoding="utf-8")) for each in (folder, FOLDER / ENGLISH)
        )
        try:
            return cls(folder, **own | {"one": english["one"] | own.get("one", {})})
        except TypeError as wrong:
            raise TypeError(f"{folder / 'language.toml'}: {wrong}") from None


_FOLDERS = sorted(
    (path.parent for path in FOLDER.glob("*/language.toml")), key=lambda each: (each.name != ENGLISH, each)
)
LANGUAGES = {folder.name: Language.read(folder) for folder in _FOLDERS}


def preferred(locale: str | None) -> str:
    """The language for a browser's locale, such as "zh-CN"; English where there is none for it."""
    asked = (locale or "").lower().replace("_", "-")
    return next((code for code in (asked, asked.partition("-")[0]) if code in LANGUAGES), ENGLISH)


class Texts:
    """The texts of one language, in the words for an encoder that reads ``pictures`` where it is one.

    Those are of ``digits`` that one draws, unless it reads others. ``strips`` are of a model that writes what it reads
    in a picture.
    """

    def __init__(self, language: str, pictures: bool = False, digits: bool = True, strips: bool = False) -> None:
        self.language, self.pictures = language, pictures
        self._kinds = ("pictures",) * pictures + ("any_picture",) * (pictures and not digits) + ("strips",) * strips

    @classmethod
    def of(cls, language: str, config: "ModelConfig") -> "Texts":
        """In the words for a model."""
        return cls(language, config.is_vision_encoder, config.reads_digits, config.transcribes)

    def __call__(self, key: str, /, **values: object) -> str:
        """The label ``group.key`` with its placeholders filled.

        Raises:
            KeyError: no such label, or a placeholder without a value.
        """
        group, _, name = key.partition(".")
        return said(self.labels(group)[name], values, LANGUAGES[self.language].one)

    def prose(self, key: str, /, **values: object) -> str:
        """The Markdown section ``group.key`` with its placeholders filled.

        Raises:
            KeyError: no such section, or a placeholder without a value.
        """
        group, _, section = key.partition(".")
        return said(self.sections(group)[section], values, LANGUAGES[self.language].one)

    def knows(self, key: str) -> bool:
        """Whether there is such a section: of a variant that nobody has written of there is none."""
        group, _, section = key.partition(".")
        return section in self.sections(group)

    def has_label(self, key: str) -> bool:
        """Whether there is such a label."""
        group, _, name = key.partition(".")
        return name in self.labels(group)

    def labels(self, group: str) -> dict[str, str]:
        """The labels of a group, with the English ones that this language lacks."""
        return _worded(labels, self.language, group, self._kinds)

    def sections(self, group: str) -> dict[str, str]:
        """The prose of a group, with the English sections that this language lacks."""
        return _worded(sections, self.language, group, self._kinds)

    def error(self, error: BaseException | str) -> str:
        """What is wrong, for Markdown: a message of the library, in English where nobody has translated it."""
        return quoting(self._translated(str(error)))

    def _translated(self, message: str) -> str:
        for pattern, translated in _messages(self.language):
            if match := pattern.fullmatch(message):  # a value may be a message itself
                return translated.format(**{name: self._translated(each) for name, each in match.groupdict().items()})
        return message

    def site_label(self, site: "Site") -> str:
        """The label of a row of the registry, in English where nobody has translated it, such as a value that is new.

        Translated is the value of that name, or the label wherever a variant says it of one of its own.
        """
        known = labels(self.language, "sites")
        return known.get(site.name, known.get(site.label, site.label))


@functools.cache
def labels(language: str, group: str) -> dict[str, str]:
    """The TOML file of a group as a language has it: {key: label}; empty where it has none."""
    read: dict[str, str] = tables(language, group)
    return read


@functools.cache
def sections(language: str, group: str) -> dict[str, str]:
    """The Markdown file of a group as a language has it, cut at its ``## `` headings; empty where it has none."""
    parts = re.split(r"^## +([\w.]+) *$", _read(language, f"{group}.md"), flags=re.M)
    return {name: text.strip() for name, text in zip(parts[1::2], parts[2::2], strict=True)}


def tables(language: str, group: str) -> dict[str, Any]:
    """A TOML file as a language has it, empty where it has none."""
    return tomllib.loads(_read(language, f"{group}.toml"))


def _read(language: str, file: str) -> str:
    path = LANGUAGES[language].folder / file
    return path.read_text(encoding="utf-8") if path.is_file() else ""


@functools.cache
def _worded(
    read: Callable[[str, str], dict[str, str]], language: str, group: str, kinds: tuple[str, ...]
) -> dict[str, str]:
    """A group in a language, with what is said in other words of models of some kinds."""
    found: dict[str, str] = {}
    for each in (group, *(f"{group}_{kind}" for kind in kinds)):
        found |= read(ENGLISH, each) | read(language, each)
    return found


_VALUE = re.compile(r"\{(\w+)\}")


@functools.cache
def _messages(language: str) -> tuple[tuple[re.Pattern[str], str], ...]:
    """Patterns of the library's messages, those with most words first: one may be a general form of another."""
    messages = labels(language, "errors")
    ordered = sorted(messages, key=lambda message: -len(_VALUE.sub("", message)))
    return tuple((_pattern(message), messages[message]) for message in ordered)


def _pattern(message: str) -> re.Pattern[str]:
    parts = _VALUE.split(message)
    return re.compile("".join(f"(?P<{part}>.+?)" if n % 2 else re.escape(part) for n, part in enumerate(parts)), re.S)


def snippet(stage: str, /, *, run: str = "", **values: object) -> str:
    """The runnable Python of a stage, ``{{name}}`` replaced by the value's Python literal.

    ``{{run}}`` is replaced by ``run`` as it is: an expression.
    """
    source = (FOLDER / "snippets" / f"{stage}.py.txt").read_text(encoding="utf-8")
    return fill(source, {"run": run, **{name: repr(value) for name, value in values.items()}})


def fill(template: str, values: Mapping[str, object]) -> str:
    """``template`` with its placeholders replaced.

    Raises:
        KeyError: a placeholder without a value.
    """
    return _PLACEHOLDER.sub(lambda match: str(values[match[1]]), template)


def said(template: str, values: Mapping[str, object], one: Mapping[str, str] | None = None) -> str:
    """:func:`fill` for what is read: a decimal or a percentage below zero has a minus, where Python writes a hyphen.

    Args:
        one: what words are after the number 1 (:class:`Language`).

    Raises:
        KeyError: a placeholder without a value.
    """
    written = {name: str(value) for name, value in values.items()}
    if one:
        template = _COUNTED.sub(lambda found: _one(found, one) if written.get(found[1]) == "1" else found[0], template)
    return fill(template, {name: f"−{x[1:]}" if _NEGATIVE.fullmatch(x) else x for name, x in written.items()})


def _one(found: re.Match[str], one: Mapping[str, str]) -> str:
    name, between, counted, link, verb = found.groups()
    if counted not in one:
        return found[0]
    return f"{{{{{name}}}}}{between}{one[counted]}{link or ''}{'' if verb is None else ' ' + one.get(verb, verb)}"
