"""How much of its vocabulary a text uses."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from viz_model.drawing import axes, bars, sheet, theme
from viz_model.drawing.writing import note
from viz_model.topics.tokens.numbers.tokens import Use


class Used(NamedTuple):
    """What a text uses of a vocabulary, with the names of both."""

    text: str
    vocabulary: str
    use: Use


def draw_use(texts: Sequence[Used], words: Mapping[str, str]) -> sheet.Sheet:
    """A bar of all rows of each table, the part in colour that is ever looked up.

    ``words`` holds "used", "idle" and "axis".
    """
    used = [(one.use.share, one.use.distinct) for one in texts]
    idle = [(1 - one.use.share, one.use.rows - one.use.distinct) for one in texts]
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
    axes.across(figure, words["axis"], small=True, range=[0, 100], ticksuffix="%")
    named = [f"{theme.plain(one.text)}<br>{theme.plain(one.vocabulary)}" for one in texts]
    axes.rows(figure, named, small=True, edge=0.5, ticktext=named)
    return theme.finished(figure, height=230, legend="above")
