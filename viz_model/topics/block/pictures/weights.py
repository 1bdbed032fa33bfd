"""Where the parameters of a block are."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from viz_model.drawing import axes, bars, sheet, theme
from viz_model.topics.block.numbers import block as analysis

PARTS = ("attention", "cross", "ffn", "norms")
_COLOURS = {
    "q": theme.ROLES["query"],
    "k": theme.ROLES["key"],
    "v": theme.ROLES["value"],
    "o": theme.ROLES["pattern"],
}
_NAMES = {"q": "W^Q", "k": "W^K", "v": "W^V", "o": "W^O", "gate": "W^gate", "up": "W^up", "down": "W^down"}
_PLAIN_NAMES = {"up": "W¹", "down": "W²"}


class WeightsView(NamedTuple):
    """The matrices and norms of a block, with how many parameters each has; biases are counted in."""

    matrices: tuple[analysis.Matrix, ...]

    @property
    def total(self) -> int:
        return sum(matrix.n_parameters for matrix in self.matrices)

    @property
    def groups(self) -> dict[str, int]:
        """Parameters by sub-layer, and of all norms, in the order of computation."""
        counts = {part: sum(matrix.n_parameters for matrix in self.matrices if matrix.part == part) for part in PARTS}
        return {part: count for part, count in counts.items() if count}

    def facts(self) -> dict[str, str]:
        """For prose: the whole, and each group's share."""
        groups = {"ffn": 0, "norms": 0} | self.groups  # either may be without weights
        shares = {f"{group}_share": f"{count / self.total:.0%}" for group, count in groups.items()}
        counts = {f"{group}_count": f"{count:,}" for group, count in groups.items()}
        return {"total": f"{self.total:,}", **shares, **counts}

    def table(self) -> dict[str, list[object]]:
        """Every matrix and norm: its part, name, shape and number of parameters."""
        return {
            "part": [matrix.part for matrix in self.matrices],
            "name": [matrix.name for matrix in self.matrices],
            "shape": [" × ".join(map(str, matrix.shape)) for matrix in self.matrices],
            "parameters": [matrix.n_parameters for matrix in self.matrices],
        }


def name(matrix: analysis.Matrix, gated: bool) -> str:
    """How a page calls a matrix or a norm."""
    last = matrix.name.rpartition(".")[2]
    if matrix.part == "norms":
        return matrix.name
    names = _NAMES if gated or matrix.part != "ffn" else _PLAIN_NAMES
    return names.get(last, matrix.name)


def draw_weights(view: WeightsView, words: Mapping[str, str]) -> sheet.Sheet:
    """A row a sub-layer, its matrices side by side as long as they are many; the norms below.

    ``words`` names the groups "attention", "cross", "ffn" and "norms", and the "axis".
    """
    gated = any(matrix.name == "ffn.gate" for matrix in view.matrices)
    rows, widest = list(view.groups), max(view.groups.values())
    figure = sheet.Sheet()
    for matrix in view.matrices:
        last = matrix.name.rpartition(".")[2]
        colour = theme.ROLES["norm"] if matrix.part == "norms" else _COLOURS.get(last, theme.ROLES["ffn"])
        said, size = name(matrix, gated), " × ".join(map(str, matrix.shape))
        bars.across(
            figure,
            [matrix.n_parameters],
            {"color": theme.rgba(colour, 0.75), "line": {"color": "rgba(255,255,255,0.9)", "width": 1}},
            rows=[rows.index(matrix.part)],
            width=0.62,
            inside=[said if matrix.n_parameters > 0.055 * widest else ""],
            textfont={"size": theme.SMALL, "color": theme.INK},
            constraintext="none",
            hover=f"{theme.plain(said)} [{size}]<br><b>{matrix.n_parameters:,}</b>",
        )
    for row, (group, count) in enumerate(view.groups.items()):
        text = f"{theme.bold(theme.plain(words[group]))}  {count:,} · {count / view.total:.1%}"
        place = {"x": 0, "xref": "x domain", "xanchor": "left", "y": row - 0.34, "yanchor": "bottom"}
        figure.add_annotation(text=text, **place, showarrow=False, font={"size": theme.SMALL})
    figure.update_layout(barmode="stack")
    axes.across(figure, words["axis"], range=[0, widest * 1.01], nticks=5)
    axes.upward(figure, visible=False, range=[len(rows) - 0.5, -0.85])
    return theme.finished(figure, height=64 + 62 * len(rows), fixed=False)
