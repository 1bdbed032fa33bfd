"""How much of its vocabulary a text uses."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import plotly.graph_objects as go

from viz_model.drawing import axes, bars, sheet, theme
from viz_model.drawing.writing import note
from viz_model.tokenizers.tokenizer import Tokenizer
from viz_model.topics.tokens.numbers import tokens as cutting


class UseView(NamedTuple):
    """What texts use of their vocabularies: a name, the vocabulary's name and the four figures, each [R]."""

    names: tuple[str, ...]
    vocabularies: tuple[str, ...]
    uses: tuple[cutting.Use, ...]

    @classmethod
    def of(cls, text: str, name: str, vocabularies: Sequence[Tokenizer], published: str) -> UseView:
        """The tutorial's textbook, called ``published``, then ``text``, called ``name``, in every vocabulary.

        The first of ``vocabularies`` is the textbook's.
        """
        return cls(
            names=(published, *(name for _ in vocabularies)),
            vocabularies=(vocabularies[0].name, *(one.name for one in vocabularies)),
            uses=(cutting.TEXTBOOK, *(cutting.use(text, one) for one in vocabularies)),
        )

    def rows(self, width: int) -> list[tuple[str, list[str]]]:
        """For a table: what is told of each, and the numbers of all."""
        tables = [one.numbers(width) for one in self.uses]
        return [
            *((name, [f"{getattr(one, name):,}" for one in self.uses]) for name in cutting.Use._fields),
            ("per_token", [f"{one.per_token:.2f}" for one in self.uses]),
            ("rows", [f"{one.rows:,}" for one in self.uses]),
            ("share", [f"{one.share:.2%}" for one in self.uses]),
            ("full", [f"{full:,}" for full, _ in tables]),
            ("compact", [f"{compact:,}" for _, compact in tables]),
        ]


def draw_use(view: UseView, words: Mapping[str, str]) -> go.Figure:
    """A bar of all rows of each table, the part in colour that is ever looked up.

    ``words`` holds "used", "idle" and "axis".
    """
    used = [(one.share, one.distinct) for one in view.uses]
    idle = [(1 - one.share, one.rows - one.distinct) for one in view.uses]
    figure = sheet.Sheet()
    for name, parts, colour in (
        ("used", used, theme.ROLES["value"]),
        ("idle", idle, theme.rgba(theme.ROLES["token"], 0.25)),
    ):
        hovers = [f"{theme.bold(theme.plain(words[name]))}: {count:,} ({100 * share:.3f} %)" for share, count in parts]
        shares = [100 * share for share, _ in parts]
        bars.across(figure, shares, colour, width=None, name=words[name], hover=hovers)
    for row, (share, _) in enumerate(used):
        note(figure, f"{share:.2%}", 100 * share, row, bold=True, colour=theme.INK, xanchor="left", xshift=4)
    figure.update_layout(barmode="stack", bargap=0.45)
    axes.across(figure, words["axis"], small=True, range=[0, 100], ticksuffix=" %")
    labels = [theme.plain(name) for name in view.names]
    tables = [theme.plain(name) for name in view.vocabularies]
    named = [f"{name}<br>{table}" for name, table in zip(labels, tables, strict=True)]
    axes.rows(figure, named, small=True, edge=0.5, ticktext=named)
    return theme.finished(figure, height=230, legend="above")
