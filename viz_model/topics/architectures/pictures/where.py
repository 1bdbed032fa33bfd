"""Where the parameters are: models cut by part, as bars and as tables, beside the published sizes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

import numpy as np
import plotly.graph_objects as go

from viz_model.config import Side
from viz_model.drawing import sheet, theme
from viz_model.runs.language_model import LanguageModel
from viz_model.topics.architectures.numbers import parameters
from viz_model.topics.architectures.numbers.references import REFERENCES
from viz_model.topics.architectures.pictures.common import SMALL, Words, short


class WhereView(NamedTuple):
    """Parameters by part: ``counts`` is [R, P] for R named rows and the parts of :data:`parameters.PARTS`.

    ``stacks`` says which stack's block a row is, where its model has two. ``loaded`` rows are
    counted on a model that is here, the others on published sizes.
    """

    names: tuple[str, ...]
    stacks: tuple[Side | None, ...]
    loaded: tuple[bool, ...]
    counts: np.ndarray

    @classmethod
    def models(cls, *lms: LanguageModel) -> WhereView:
        """Whole models: those given, then the published ones."""
        here = [(lm.name, None, True, parameters.count(lm.model)) for lm in lms]
        return cls._of([*here, *((ref.name, None, False, parameters.of_config(ref.config)) for ref in REFERENCES)])

    @classmethod
    def blocks(cls, *lms: LanguageModel, layer: int = 0) -> WhereView:
        """One block of every stack: that of the layer, or the last one where there are fewer."""
        rows = [(lm.name, lm.config, lm) for lm in lms] + [(ref.name, ref.config, None) for ref in REFERENCES]
        found = []
        for name, config, lm in rows:
            for side in config.sides:
                i = min(layer, config.depth(side) - 1)
                inside = f"{side}.blocks.{i}"
                block = lm and lm.model.stack(side).block(i)
                counted = parameters.count(block) if block else parameters.of_config(config, inside)
                found.append((name, side if len(config.sides) > 1 else None, block is not None, counted))
        return cls._of(found)

    @classmethod
    def _of(cls, rows: Iterable[tuple[str, Side | None, bool, Mapping[parameters.Part, int]]]) -> WhereView:
        names, stacks, loaded, found = zip(*rows, strict=True)
        counts = np.array([[counted[part] for part in parameters.PARTS] for counted in found], dtype=np.int64)
        return cls(names, stacks, loaded, counts)

    @property
    def shares(self) -> np.ndarray:
        """[R, P], every row adding up to 1."""
        found: np.ndarray = self.counts / self.counts.sum(1, keepdims=True)
        return found

    def share(self, row: int, part: str) -> float:
        return float(self.shares[row, parameters.PARTS.index(part)])

    def facts(self, row: int, words: Words) -> dict[str, str]:
        """For prose: a row's total, its largest part, and what attention and feed-forward hold."""
        largest = parameters.PARTS[int(self.counts[row].argmax())]
        return {
            "total": short(int(self.counts[row].sum())),
            "largest": words(f"where_{largest}"),
            "largest_share": f"{self.share(row, largest):.0%}",
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


def draw_where(view: WhereView, words: Words) -> go.Figure:
    """One bar a row, all of the same length, cut by part; the totals stand under the names."""
    figure = sheet.Sheet()
    rows = []
    for name, side, here, counts in zip(*view, strict=True):
        under = [short(int(counts.sum())), *([words(f"where_{side}")] if side else [])]
        rows.append(f"{theme.shorten(name, 26)}{'' if here else ' ◇'}<br><b>{theme.plain(' · '.join(under))}</b>")
    for p, part in enumerate(parameters.PARTS):
        if not view.counts[:, p].any():
            continue
        role, hatch = _PART_MARKS[part]
        name = theme.plain(words(f"where_{part}"))
        figure.add_trace(
            sheet.bar(
                y=list(range(len(rows))),
                x=view.shares[:, p],
                name=name,
                orientation="h",
                marker={
                    "color": theme.rgba(theme.ROLES[role], 0.75),
                    "line": {"color": theme.ROLES[role], "width": 1},
                    "pattern": {"shape": hatch, "size": 5, "fillmode": "overlay", "fgopacity": 0.3},
                },
                text=[f"{share:.0%}" if share >= 0.075 else "" for share in view.shares[:, p]],
                textposition="inside",
                insidetextanchor="middle",
                textangle=0,
                constraintext="none",
                textfont={"size": SMALL, "color": theme.INK},
                customdata=[f"{n:,}" for n in view.counts[:, p]],
                hovertemplate=f"{name}: <b>%{{customdata}}</b> (%{{x:.1%}})<extra></extra>",
            )
        )
    theme.layout(figure, height=74 + 40 * len(rows))
    figure.update_layout(
        barmode="stack",
        bargap=0.22,
        showlegend=True,
        legend={"orientation": "h", "x": 0, "y": 1, "yanchor": "bottom", "traceorder": "normal", "font": {"size": 12}},
    )
    figure.update_xaxes(visible=False, range=[0, 1.0], fixedrange=True)
    figure.update_yaxes(
        autorange="reversed", fixedrange=True, tickvals=list(range(len(rows))), ticktext=rows, tickfont={"size": SMALL}
    )
    return figure.drawn()


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
