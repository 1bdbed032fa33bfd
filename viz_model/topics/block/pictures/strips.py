"""The block's vectors of one token as aligned strips, with the residual stream drawn beside them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import plotly.graph_objects as go

from viz_model.drawing import sheet, theme
from viz_model.drawing.cells import COLUMN, Cells
from viz_model.topics.block.numbers import block as analysis

FORMULAS = ("resid.", "attn.norm.", "attn.out", "cross.norm.", "cross.out", "ffn.")
"""What the names of a block's own sites begin with; the steps inside attention have their page."""
CLIP = 2.0
"""Colours end at this many times the magnitude that 98 % of the values do not reach."""
MONOSPACE = "Source Code Pro, monospace"
_SUPERSCRIPTS = str.maketrans("⁰¹²³⁴⁵⁶⁷⁸⁹", "0123456789")


def code(sites: Sequence[str], layer: int) -> tuple[str, ...]:
    """The sites of a block in the order in which their code is offered: what its neurons hold, then all in order."""
    at = f"blocks.{layer}."
    own = [name for name in sites if name.startswith(at) and name.removeprefix(at).startswith(FORMULAS)]
    return (f"{at}ffn.act", *(name for name in own if name != f"{at}ffn.act"))


class StripsView(NamedTuple):
    """The block's vectors of one token, lowest first.

    ``limit`` is where the colours are at their fullest: the largest magnitude, or less where a few
    values are so large that the others would have no colour.
    """

    steps: tuple[analysis.Step, ...]
    sums: tuple[analysis.Sum, ...]
    norm_at: str
    norm: str
    limit: float
    token: int = 0
    residual: bool = True
    """Whether what a sub-layer writes is added to what it read, or takes its place."""
    has_norms: bool = True

    @property
    def largest(self) -> float:
        """The largest magnitude."""
        return float(np.abs(self.matrix).max())

    @property
    def n_clipped(self) -> int:
        """How many values are larger than the colours can say."""
        return int((np.abs(self.matrix) > self.limit).sum())

    def length(self, name: str) -> float:
        """L2 length of the step called ``name``."""
        return float(np.linalg.norm(self.values(name)))

    def values(self, name: str) -> np.ndarray:
        return next(step.values for step in self.steps if step.name == name)

    def sum(self, sublayer: str) -> analysis.Sum:
        """The addition of a sub-layer."""
        return next(found for found in self.sums if found.sublayer == sublayer)

    def reads(self, sublayer: str) -> np.ndarray:
        """What a sub-layer reads, [D]: under Pre-LN the normalised stream, under Post-LN the stream."""
        of = self.sum(sublayer)
        if self.norm_at == "post":
            return self.values(of.stream)
        names = [step.name for step in self.steps]
        return self.steps[names.index(of.written) - 1].values

    @property
    def crosses(self) -> bool:
        """Whether the block reads an encoder too."""
        return any(found.sublayer == "cross" for found in self.sums)

    @property
    def numbering(self) -> str:
        """Which words on the textbook's numbers are true here: a norm's name, "post" or "cross"."""
        if any(step.equation for step in self.steps):
            return self.norm
        if self.norm_at == "post" and not (self.has_norms and self.residual):
            return "changed"
        return "post" if self.norm_at == "post" else "cross"

    @property
    def sites(self) -> tuple[str, ...]:
        """The sites among the steps: a sum that goes straight to a norm has none."""
        return tuple(step.site for step in self.steps if not step.site.startswith("norm_input"))

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(f"{step.name} · {step.site}" for step in self.steps)

    @property
    def matrix(self) -> np.ndarray:
        """[7 or 10, D]: the steps as rows, from x upward."""
        return np.stack([step.values for step in self.steps])


def draw_strips(view: StripsView, dimension: int, axis: str, length: str) -> go.Figure:
    """Strips from x at the bottom to the output at the top, and beside them the stream with its branches.

    All strips share one colour scale, so that sums can be checked by eye. ``dimension`` is framed.
    """
    width = len(view.steps[0].values)
    figure = sheet.Sheet()
    for row, step in enumerate(view.steps):
        said = f"{step.name} = {step.formula}" if step.formula else step.name
        norm = np.linalg.norm(step.values)
        hover = f"{theme.plain(axis)} %{{x}}<br><b>%{{z:.4f}}</b><br>{theme.plain(length)} {norm:.2f}"
        figure.add_trace(
            sheet.heatmap(
                z=step.values[None].astype(np.float32),
                meta=Cells(step.site, (view.token, COLUMN)).meta if step.site in view.sites else None,
                x=np.arange(width),
                y=[row - 0.34, row + 0.14],
                coloraxis="coloraxis",
                hovertemplate=f"{hover}<extra>{theme.plain(said)}</extra>",
            )
        )
        colour = theme.ROLES[step.role]
        equation = f"  ({step.equation})" if step.equation else ""
        label = f'<span style="color:{colour}">■</span> <b>{theme.plain(step.name)}</b>'
        figure.add_annotation(
            text=label + theme.plain(f" = {step.formula}" if step.formula else "") + theme.plain(equation),
            **_above(row, "left"),
            font={"size": 13},
        )
        figure.add_annotation(
            text=theme.plain(step.site), **_above(row, "right"), font={"size": 11, "family": MONOSPACE}, opacity=0.7
        )
        figure.add_shape(
            type="rect",
            x0=dimension - 0.5,
            x1=dimension + 0.5,
            y0=row - 0.38,
            y1=row + 0.16,
            line={"color": theme.HIGHLIGHT, "width": 1.5},
        )
    _draw_rail(figure, view)
    figure.update_yaxes(visible=False, range=[-0.45, len(view.steps) - 0.5], fixedrange=True)
    inner = 62 * len(view.steps)
    theme.layout(figure, height=inner + 66)
    figure.update_layout(
        xaxis={"domain": [0.09, 1], "title": {"text": theme.plain(axis), "standoff": 4}, "range": [-0.5, width - 0.5]},
        xaxis2={"domain": [0.015, 0.07], "range": [-0.5, 1.5], "visible": False, "anchor": "y"},
        coloraxis={
            "colorscale": theme.diverging(),
            "cmin": -view.limit,
            "cmax": view.limit,
            "colorbar": theme.flat_bar(inner),
        },
    )
    return figure.drawn()


def _above(row: int, side: str) -> dict[str, object]:
    return {
        "x": 0.0 if side == "left" else 1.0,
        "xref": "x domain",
        "xanchor": side,
        "y": row + 0.14,
        "yanchor": "bottom",
        "showarrow": False,
    }


def _draw_rail(figure: sheet.Sheet, view: StripsView) -> None:
    """The stream as a grey line at 0, each sub-layer as a branch at 1 that comes back at a ⊕."""
    stream = {"color": theme.ROLES["residual"], "width": 4}
    centre = -0.1
    # Without the additions nothing passes a sub-layer by: there the way leads through it alone.
    rows = [(0, len(view.steps) - 1)] if view.residual else _together(view)
    for first, last in rows:
        figure.add_trace(
            sheet.scatter(
                x=[0, 0], y=[first + centre, last + centre], mode="lines", line=stream, xaxis="x2", hoverinfo="skip"
            )
        )
    below = 0
    for row, step in enumerate(view.steps):
        if step.on_stream:
            branch = range(below + 1, row)
            if branch:
                path_x, path_y = [0, *(1 for _ in branch), 0], [below, *branch, row]
                figure.add_trace(
                    sheet.scatter(
                        x=path_x,
                        y=[y + centre for y in path_y],
                        mode="lines",
                        line={"color": theme.ROLES[view.steps[row - 1].role], "width": 2},
                        xaxis="x2",
                        hoverinfo="skip",
                    )
                )
            below = row
    for row, step in enumerate(view.steps):
        is_sum = view.residual and step.on_stream and row > 0 and not view.steps[row - 1].on_stream
        figure.add_trace(
            sheet.scatter(
                x=[0 if step.on_stream else 1],
                y=[row + centre],
                mode="markers+text",
                marker={"color": theme.ROLES[step.role], "size": 18 if is_sum else 12},
                text="+" if is_sum else "",
                textfont={"color": "#ffffff", "size": 16},
                cliponaxis=False,
                xaxis="x2",
                hoverinfo="skip",
            )
        )


def _together(view: StripsView) -> list[tuple[int, int]]:
    """Neighbouring steps that both stand on the stream."""
    steps = view.steps
    return [(n, n + 1) for n in range(len(steps) - 1) if steps[n].on_stream and steps[n + 1].on_stream]


def summary(view: StripsView) -> dict[str, str]:
    """What the block does to the token's vector, in numbers for prose: lengths, and how far it turns.

    "cross" is there only where the block reads an encoder.
    """
    entering, leaving = view.steps[0].values, view.steps[-1].values
    product = float(np.linalg.norm(entering) * np.linalg.norm(leaving)) or 1.0
    names = {"entering": "x", "leaving": view.steps[-1].name} | {found.sublayer: found.written for found in view.sums}
    return {key: f"{view.length(name):.1f}" for key, name in names.items()} | {
        "cosine": f"{float(entering @ leaving) / product:.2f}"
    }


def equations(view: StripsView) -> str:
    """The block of one token as lines of LaTeX, each with its number where it has one."""
    lines = []
    for step in view.steps:
        if step.formula:
            number = f" & ({step.equation})" if step.equation else ""
            lines.append(f"{_latex(step.name)} &= {_latex(step.formula)}{number}")
    return "\\begin{aligned}\n" + "\\\\\n".join(lines) + "\n\\end{aligned}"


def _latex(said: str) -> str:
    """A name or a formula of the steps as LaTeX: t³ with its index, words upright, vectors bold."""
    found = ""
    for character in said:
        digit = character.translate(_SUPERSCRIPTS)
        found += f"^{{{digit}}}" if digit != character else character
    parts = []
    for word in _words(found):
        letters = word.partition("^")
        if letters[0] in ("t", "x", "h", "a", "c", "f"):
            parts.append(rf"\mathbf{{{letters[0]}}}{letters[1]}{letters[2]}")
        elif letters[0].isalpha():
            parts.append(rf"\text{{{word}}}")
        else:
            parts.append(word.replace("…", r"\dots"))
    return "".join(parts)


def _words(said: str) -> list[str]:
    """``said`` cut where letters end and begin; an index stays with its letter."""
    words = [""]
    for character in said:
        inside = words[-1] != "" and (words[-1][0].isalpha() == (character.isalpha() or character in "^{}"))
        if not (inside or character.isdigit()):
            words.append("")
        words[-1] += character
    return [word for word in words if word]


def sums_by_hand(view: StripsView, dimension: int) -> str:
    """The residual sums in one dimension, as LaTeX."""
    value = {step.name: float(step.values[dimension]) for step in view.steps}
    numbers = {step.name: step.equation for step in view.steps}
    lines = []
    for found in view.sums:
        if not view.residual:
            lines.append(f"{_scalar(found.total)} &= {value[found.total]:.4f}")
            continue
        first, second = found.stream, found.written
        if view.norm_at == "pre":
            first, second = second, first
        said = f"{theme.signed(value[first])} + {theme.signed(value[second])} = {value[found.total]:.4f}"
        names = f"{_scalar(first)} + {_scalar(second)}"
        if view.norm_at == "pre":
            names = f"{_scalar(found.total)} &= {names}"
        else:
            names += " &"
        number = f" & ({numbers[found.total]})" if numbers[found.total] else ""
        lines.append(f"{names} = {said}{number}")
    return "\\begin{aligned}\n" + "\\\\\n".join(lines) + "\n\\end{aligned}"


def _scalar(said: str) -> str:
    """One value of a vector: its letter, but not bold."""
    return _latex(said).replace(r"\mathbf", "")
