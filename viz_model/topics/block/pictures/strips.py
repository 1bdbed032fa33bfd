"""The block's vectors of one token as aligned strips, with the residual stream drawn beside them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from viz_model.drawing import curves, sheet, squares, theme
from viz_model.drawing.brief import brief
from viz_model.drawing.cells import COLUMN, Cells
from viz_model.drawing.writing import hovered
from viz_model.model.sites import Role
from viz_model.topics.block.numbers import block as analysis

FORMULAS = ("resid.", "attn.norm.", "attn.out", "cross.norm.", "cross.out", "ffn.")
"""What the names of a block's own sites begin with; the steps inside attention have their page."""
CLIP = 2.0
"""Colours end at this many times the magnitude that 98 % of the values do not reach."""
_VECTORS = ("t", "x", "h", "a", "c", "f")
_SUPERSCRIPTS = str.maketrans("⁰¹²³⁴⁵⁶⁷⁸⁹", "0123456789")


def code(sites: Sequence[str], layer: int) -> tuple[str, ...]:
    """The sites of a block in the order in which their code is offered: what its neurons hold, then all in order."""
    at = f"blocks.{layer}."
    own = [name for name in sites if name.startswith(at) and name.removeprefix(at).startswith(FORMULAS)]
    return tuple(sorted(own, key=lambda name: name != f"{at}ffn.act"))


@brief
class StripsView(NamedTuple):
    """The block's vectors of one token, in the order of computation.

    ``limit`` is where the colours are at their fullest: the largest magnitude, or less where a few
    values are so large that the others would have no colour.
    """

    steps: tuple[analysis.Step, ...]
    sums: tuple[analysis.Sum, ...]
    norm_at: str
    """The place of the norms, or "parallel"."""
    norm: str
    limit: float
    token: int = 0
    residual: bool = True
    """Whether what a sub-layer writes is added to what it read, or takes its place."""
    has_norms: bool = True
    shifts: bool = True
    """Whether the norm adds β."""
    normed: tuple[str, ...] = ()
    """The sub-layers whose norm does something."""

    @property
    def kind(self) -> str:
        """The norm, as texts tell it apart."""
        return self.norm if self.shifts else f"{self.norm}_no_shift"

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
        return self.values(self.sum(sublayer).asks)

    @property
    def crosses(self) -> bool:
        """Whether the block reads an encoder too."""
        return any(found.sublayer == "cross" for found in self.sums)

    @property
    def numbering(self) -> str:
        """Which words on the textbook's numbers are true here: a norm's name, "post", "cross" or "otherwise"."""
        if any(step.equation for step in self.steps):
            return self.norm
        if self.norm_at == "post" and not (self.has_norms and self.residual):
            return "changed"
        return {"pre": "cross", "post": "post"}.get(self.norm_at, "otherwise")

    @property
    def sites(self) -> tuple[str, ...]:
        """The sites among the steps: a sum that goes straight to a norm has none."""
        return tuple(step.site for step in self.steps if not step.site.startswith("norm_input"))

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(f"{step.name} · {step.site}" for step in self.steps)

    @property
    def matrix(self) -> np.ndarray:
        """[7 or 10, D]: the steps as rows, from x on."""
        return np.stack([step.values for step in self.steps])


TALL = 62
"""Pixels of a strip with its name."""
PRESENTED = 285
"""Pixels of all strips by a projector, where no strip is taller than elsewhere."""


def draw_strips(view: StripsView, dimension: int, axis: str, length: str, *, is_presented: bool = False) -> sheet.Sheet:
    """Strips from x at the top to the output at the bottom, and beside them the stream with its branches.

    All strips share one colour scale, so that sums can be checked by eye. ``dimension`` is framed.
    """
    width = len(view.steps[0].values)
    figure = sheet.Sheet()
    for n, step in enumerate(view.steps):
        row = len(view.steps) - 1 - n
        made = f" = {step.formula}" if step.formula else ""
        told = f"{theme.plain(axis)} %{{x}}<br><b>%{{z:.4f}}</b><br>{theme.plain(length)} {view.length(step.name):.2f}"
        told += f"<br>{theme.plain(step.site)}" + (f" ({step.equation})" if step.equation else "")
        cells = sheet.heatmap(
            z=step.values[None].astype(np.float32),
            meta=Cells(step.site, (view.token, COLUMN)).meta if step.site in view.sites else None,
            x=np.arange(width),
            y=[row - 0.34, row + 0.14],
            coloraxis="coloraxis",
            **hovered(told, step.name + made),
        )
        figure.add_trace(cells)
        above: dict[str, Any] = {"xref": "x domain", "y": row + 0.14, "yanchor": "bottom", "showarrow": False}
        mark = f'<span style="color:{theme.ROLES[step.role]}">■</span> {theme.bold(theme.plain(step.name))}'
        label = mark + theme.plain(made)
        figure.add_annotation(text=label, x=0, xanchor="left", **above, font={"size": theme.FONT_SIZE})
        squares.frame(figure, (row + 0.12, row - 0.34), (dimension, dimension), width=1.5)
    _draw_rail(figure, view)
    inner = PRESENTED if is_presented else TALL * len(view.steps)
    title = {"text": theme.plain(axis), "standoff": 4}
    scale = {"colorscale": theme.diverging(), "cmin": -view.limit, "cmax": view.limit}
    figure.update_layout(
        xaxis={"domain": [0.09, 1], "title": title, "range": [-0.5, width - 0.5]},
        xaxis2={"domain": [0.015, 0.07], "range": [-0.5, 1.5], "visible": False, "anchor": "y"},
        yaxis={"visible": False, "range": [-0.45, len(view.steps) - 0.5], "fixedrange": True},
        coloraxis={**scale, "colorbar": theme.flat_bar(inner)},
    )
    return theme.finished(figure, height=inner + 66, fixed=False)


def _draw_rail(figure: sheet.Sheet, view: StripsView) -> None:
    """The stream as a grey line at 0, each sub-layer as a branch at 1 that comes back at a ⊕."""
    steps, centre, last = view.steps, -0.1, len(view.steps) - 1

    def line(x: list[int], rows: Sequence[int], role: Role, width: int) -> None:
        style = curves.Style(theme.ROLES[role], width=width)
        curves.line(figure, x, [last - row + centre for row in rows], style, xaxis="x2")

    # Without the additions nothing passes a sub-layer by: there the stream leads through it alone.
    together = [(n, n + 1) for n in range(len(steps) - 1) if steps[n].on_stream and steps[n + 1].on_stream]
    for ends in [(0, len(steps) - 1)] if view.residual else together:
        line([0, 0], ends, "residual", 4)
    below, sums = 0, []
    for row, step in enumerate(steps):
        sums.append(view.residual and step.on_stream and row > 0 and not steps[row - 1].on_stream)
        if step.on_stream:
            if branch := range(below + 1, row):
                leaves = 0 if view.norm_at == "parallel" else below
                role = next(steps[n].role for n in reversed(branch) if steps[n].role != "norm")
                line([0, *(1 for _ in branch), 0], [leaves, *branch, row], role, 2)
            below = row
    curves.points(
        figure,
        [0 if step.on_stream else 1 for step in steps],
        [last - row + centre for row in range(len(steps))],
        [theme.ROLES[step.role] for step in steps],
        size=[18 if is_sum else 12 for is_sum in sums],
        mode="markers+text",
        text=["+" if is_sum else "" for is_sum in sums],
        textfont={"color": "#ffffff", "size": 16},
        cliponaxis=False,
        xaxis="x2",
    )


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
    plain = re.sub("[⁰¹²³⁴⁵⁶⁷⁸⁹]", lambda found: f"^{{{found[0].translate(_SUPERSCRIPTS)}}}", said)
    return re.sub(
        "[A-Za-z]+", lambda found: rf"\{'mathbf' if found[0] in _VECTORS else 'text'}{{{found[0]}}}", plain
    ).replace("…", r"\dots")


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
        if view.norm_at != "post":
            first, second = second, first
        said = f"{theme.signed(value[first])} + {theme.signed(value[second])} = {value[found.total]:.4f}"
        names = f"{_scalar(first)} + {_scalar(second)}"
        if view.norm_at != "post":
            names = f"{_scalar(found.total)} &= {names}"
        else:
            names += " &"
        number = f" & ({numbers[found.total]})" if numbers[found.total] else ""
        lines.append(f"{names} = {said}{number}")
    return "\\begin{aligned}\n" + "\\\\\n".join(lines) + "\n\\end{aligned}"


def _scalar(said: str) -> str:
    """One value of a vector: its letter, but not bold."""
    return _latex(said).replace(r"\mathbf", "")
