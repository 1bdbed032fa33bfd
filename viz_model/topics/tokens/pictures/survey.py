"""How many tokens words of each kind take."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from viz_model.drawing import axes, bars, sheet, theme
from viz_model.topics.tokens.numbers import splitting

SHADES = {
    "tokens_1": theme.ROLES["query"],
    **{f"tokens_{n}": theme.rgba(theme.ROLES["ffn"], alpha) for n, alpha in ((2, 0.3), (3, 0.65), (4, 1.0))},
    "unknown": theme.rgba(theme.ROLES["token"], 0.45),
}
"""The parts of a bar: words of one token, of two, of three, of more, and those that are not known."""


def draw_survey(found: Sequence[splitting.Surveyed], words: Mapping[str, str]) -> sheet.Sheet:
    """For each vocabulary a bar for each kind of text: which share is one token, two, three, or more.

    ``words`` names the kinds, and the parts as "tokens_1" to "tokens_4" and "unknown".
    """
    titles = [theme.bold(theme.plain(one.name)) for one in found]
    figure = sheet.Sheet.grid(rows=len(found), cols=1, shared_xaxes=True, vertical_spacing=0.12, subplot_titles=titles)
    for title in figure.annotations:
        title |= {"x": 0, "xanchor": "left", "font": {"size": theme.FONT_SIZE}}
    for row, one in enumerate(found, 1):
        kinds = [kind for kind in one.kinds if kind.n]
        names = [theme.plain(words[kind.kind]) for kind in kinds]
        sizes = np.array([kind.n for kind in kinds])
        counts = np.array([(*kind.by_tokens, kind.unknown) for kind in kinds])
        for (part, shade), values in zip(SHADES.items(), counts.T, strict=True):
            bars.across(
                figure,
                100 * values / sizes,
                shade,
                rows=names,
                width=None,
                name=words[part],
                hover=[
                    f"{theme.bold(name)}<br>{theme.plain(words[part])}: {n:,} / {size:,} ({100 * n / size:.1f} %)"
                    for name, n, size in zip(names, values, sizes, strict=True)
                ],
                at=(row, 1),
                legendgroup=part,
                showlegend=row == 1,
            )
    n_rows = sum(kind.n > 0 for one in found for kind in one.kinds)
    figure.update_layout(barmode="stack", bargap=0.3)
    axes.across(figure, range=[0, 100], ticksuffix="%")
    axes.upward(figure, autorange="reversed", tickfont={"size": theme.SMALL})
    margin = {"t": 56}
    return theme.finished(figure, height=90 + 26 * n_rows + 30 * len(found), margin=margin, legend="above")
