"""How large models are and where their parameters are, as points, bars and tables, beside the published sizes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from viz_model.config import Side
from viz_model.drawing import axes, bars, curves, sheet, theme, writing
from viz_model.drawing.writing import hover
from viz_model.topics.architectures.numbers import parameters
from viz_model.topics.architectures.numbers.references import REFERENCES
from viz_model.topics.architectures.pictures.common import COLOURS, SMALL, SYMBOLS, Words, short


class WhereView(NamedTuple):
    """Parameters by part: ``counts`` is [R, P] for R named rows and the parts of :data:`parameters.PARTS`.

    ``stacks`` says which stack's block a row is, where its model has two. ``loaded`` rows are
    counted on a model that is here, the others on published sizes.
    """

    names: tuple[str, ...]
    stacks: tuple[Side | None, ...]
    loaded: tuple[bool, ...]
    counts: np.ndarray

    @property
    def shares(self) -> np.ndarray:
        """[R, P], every row adding up to 1."""
        found: np.ndarray = self.counts / self.counts.sum(1, keepdims=True)
        return found

    def share(self, row: int, part: str) -> float:
        return float(self.shares[row, parameters.PARTS.index(part)])

    def vocabulary(self) -> tuple[float, float]:
        """The share of embedding and head in the smallest row and in the largest."""
        smallest, largest = (int(pick(self.counts.sum(1))) for pick in (np.argmin, np.argmax))
        return tuple(self.share(row, "embedding") + self.share(row, "head") for row in (smallest, largest))  # type: ignore[return-value]

    def facts(self, row: int, words: Words) -> dict[str, str]:
        """For prose: a row's total, its largest part, and what attention and feed-forward hold."""
        largest = parameters.PARTS[int(self.counts[row].argmax())]
        return {
            "total": short(int(self.counts[row].sum())),
            "largest": words(f"where_{largest}"),
            "share": f"{self.shares[row].max():.0%}",
            "ffn": f"{self.share(row, 'ffn'):.0%}",
            "attention": f"{self.share(row, 'attention') + self.share(row, 'cross'):.0%}",
        }


_PART_MARKS: dict[str, tuple[str, str]] = {
    "embedding": ("residual", ""),
    "positions": ("position", ""),
    "attention": ("pattern", ""),
    "cross": ("query", "/"),
    "ffn": ("ffn", ""),
    "norms": ("norm", ""),
    "head": ("value", "\\"),
}


def draw_where(view: WhereView, words: Words) -> sheet.Sheet:
    """One bar a row, all of the same length, cut by part; the totals stand under the names."""
    figure, rows = sheet.Sheet(), []
    for name, side, here, counts in zip(*view, strict=True):
        under = [short(int(counts.sum())), *([words(f"where_{side}")] if side else [])]
        rows.append(f"{theme.shorten(name, 26)}{'' if here else ' ◇'}<br>{theme.bold(theme.plain(' · '.join(under)))}")
    for p, part in enumerate(parameters.PARTS):
        if not view.counts[:, p].any():
            continue
        (role, hatch), name, shares = _PART_MARKS[part], words(f"where_{part}"), view.shares[:, p]
        pattern = {"shape": hatch, "size": 5, "fillmode": "overlay", "fgopacity": 0.3}
        fill = {"color": theme.ROLES[role], "pattern": pattern}
        bars.across(
            figure,
            shares,
            fill,
            width=None,
            name=name,
            inside=[f"{share:.0%}" if share >= 0.075 else "" for share in shares],
            hover=[hover((name, f"{n:,} ({x:.1%})")) for n, x in zip(view.counts[:, p].tolist(), shares, strict=True)],
            constraintext="none",
        )
    figure.update_layout(barmode="stack", bargap=0.22)
    axes.hidden(figure, [0, 1])
    edges = [len(rows) - 0.5, -0.5]
    axes.upward(figure, small=True, visible=True, range=edges, tickvals=list(range(len(rows))), ticktext=rows)
    return theme.finished(figure, height=74 + 40 * len(rows), legend="above")


def count_columns(view: WhereView, words: Words) -> dict[str, Sequence[object]]:
    """The counts by part as a table."""
    parts = {words(f"where_{part}"): view.counts[:, p].tolist() for p, part in enumerate(parameters.PARTS)}
    published = [words("where_loaded" if here else "where_published") for here in view.loaded]
    return {
        words("where_model"): list(view.names),
        words("where_counted_on"): published,
        **parts,
        words("where_total"): view.counts.sum(1).tolist(),
    }


def reference_columns(words: Words) -> dict[str, list[object]]:
    """The published sizes as a table."""
    configs = [ref.config for ref in REFERENCES]
    totals = [sum(parameters.of_config(config).values()) for config in configs]
    columns: dict[str, list[object]] = {
        "name": [ref.name for ref in REFERENCES],
        "kind": [words(f"is_{config.kind}") for config in configs],
        "layers": [" + ".join(str(config.depth(side)) for side in config.sides) for config in configs],
        "d": [config.d_model for config in configs],
        "heads": [f"{config.n_heads} × {config.d_head}" for config in configs],
        "kv": [config.n_kv_heads for config in configs],
        "ffn": [config.d_ffn for config in configs],
        "vocabulary": [config.n_vocab for config in configs],
        "tied": [words(f"is_{'yes' if config.tie_embeddings else 'no'}") for config in configs],
        "counted": [f"{total:,}" for total in totals],
        "said": [ref.said for ref in REFERENCES],
        "source": [ref.source for ref in REFERENCES],
    }
    return {words(f"reference_{key}"): values for key, values in columns.items()}


class ScaleView(NamedTuple):
    """R models, the two that stand beside each other first: blocks of the deeper stack, and parameters as counted."""

    names: tuple[str, ...]
    blocks: np.ndarray
    parameters: np.ndarray


def draw_scale(view: ScaleView, words: Words) -> sheet.Sheet:
    """A row a model, its parameters on a logarithmic axis; those of published sizes are grey and bear a ◇."""
    figure, published = sheet.Sheet(), len(view.names) - len(COLOURS)
    names = [f"{name}{'' if n < len(COLOURS) else ' ◇'}" for n, name in enumerate(view.names)]
    sizes = [
        (words("scale_count", n=int(blocks)), int(size))
        for blocks, size in zip(view.blocks, view.parameters, strict=True)
    ]
    texts = [theme.plain(f"{counted} · {short(size)}") for counted, size in sizes]
    hovers = [writing.hover(name, counted, f"{size:,}") for name, (counted, size) in zip(names, sizes, strict=True)]
    colours = [*COLOURS, *[theme.ROLES["residual"]] * published]
    signs: Any = [*SYMBOLS, *["diamond-open"] * published]
    look: dict[str, Any] = {
        "mode": "markers+text",
        "text": texts,
        "textposition": "middle right",
        "textfont": {"size": SMALL},
    }
    curves.points(
        figure, view.parameters, list(range(len(names))), colours, size=11, symbol=signs, hover=hovers, **look
    )
    axes.powers(figure, "x", words("part_parameters"), view.parameters.min() / 2, view.parameters.max() * 40)
    axes.rows(figure, names, longest=30)
    return theme.finished(figure, height=70 + 30 * len(names))
