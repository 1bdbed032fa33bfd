"""The table of parts: what each of two models says of every part, and whether they agree."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

from viz_model.runs.language_model import LanguageModel
from viz_model.topics.architectures.numbers import architectures
from viz_model.topics.architectures.pictures.common import COLOURS, Words, said


class PartRow(NamedTuple):
    """One part of both models. Both name the same part, whatever they say of it."""

    first: architectures.Part
    second: architectures.Part

    @property
    def differs(self) -> bool:
        return (self.first.said, self.first.values) != (self.second.said, self.second.values)


def part_rows(first: LanguageModel, second: LanguageModel) -> tuple[PartRow, ...]:
    """All parts in their order."""
    return tuple(PartRow(*pair) for pair in zip(*map(architectures.parts, (first, second)), strict=True))


def part_facts(rows: Sequence[PartRow], words: Words, listed: Callable[[Iterable[str]], str]) -> dict[str, str]:
    """For prose: how many parts differ, of how many, and which, as ``listed`` writes them one after another."""
    differ = [words(f"part_{row.first.name}") for row in rows if row.differs]
    return {"differ": str(len(differ)), "all": str(len(rows)), "list": listed(differ) or words("nothing")}


def parts_scene(rows: Sequence[PartRow], names: tuple[str, str], words: Words, page: Words) -> dict[str, Any]:
    """The table as its component wants it; ``page`` gives a page's title."""

    def value(part: architectures.Part) -> str:
        listed = (f"{name} {number}" for name, number in part.values.items())
        return said(words, f"is_{part.said}", ", ".join((part.label, *listed)), **part.values)

    def why(row: PartRow) -> str:
        """What a part is for; of variants that there is no text of, what holds for any."""
        own, told = words(f"why_{row.first.name}"), (row.first, row.second)
        if all(said(words, f"is_{part.said}", "", **part.values) for part in told):
            return own
        return said(words, f"why_{row.first.name}_other", own)

    return {
        "names": names,
        "colours": COLOURS,
        "words": {
            "differ": words("parts_differ"),
            "same": words("parts_same", n=sum(not row.differs for row in rows)),
            "alt": words("parts_alt"),
        },
        "rows": [
            {
                "name": words(f"part_{row.first.name}"),
                "why": why(row),
                "differs": row.differs,
                "values": [value(row.first), value(row.second)],
                "page": row.first.page,
                "title": page(f"common.page_{row.first.page}"),
            }
            for row in rows
        ],
    }
