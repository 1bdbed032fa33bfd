"""Sentence vectors: how near other sentences are, and how near the tokens of one are to each other."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import plotly.graph_objects as go

from viz_model.drawing import sheet, theme
from viz_model.runs.trace import Trace
from viz_model.tokenizers.tokenizer import make_visible
from viz_model.topics.next_token.numbers.sentences import cosines, sentence_vector, token_vectors

MOST_TOKENS = 40
"""Tokens of the matrix at the most: what can still be read."""

LINE = 46
"""Characters of a sentence that are written over its bar."""


class SentencesView(NamedTuple):
    """The cosine [n] of one sentence's vector with those of n others."""

    texts: tuple[str, ...]
    cosines: np.ndarray

    @classmethod
    def of(cls, trace: Trace, others: Sequence[Trace]) -> SentencesView:
        vectors = np.array([sentence_vector(other) for other in others]).reshape(len(others), trace.config.d_model)
        found = cosines(sentence_vector(trace)[None], vectors)[0]
        return cls(tuple(_line(other.text or "") for other in others), found)

    @property
    def nearest(self) -> str:
        """The nearest of the sentences, cut to a line."""
        return _cut(self.texts[int(self.cosines.argmax())])

    def facts(self) -> dict[str, str]:
        return {"most": _short(self.cosines.max()), "least": _short(self.cosines.min()), "n": str(len(self.texts))}


def _line(text: str) -> str:
    """A sentence in one line, with nothing hidden in it; spaces stay spaces."""
    return " ".join(make_visible(word) for word in text.split(" "))


def _short(cosine: float) -> str:
    """Two digits, without a negative nought."""
    return f"{round(float(cosine), 2) + 0.0:.2f}"


def _cut(line: str) -> str:
    return line if len(line) <= LINE else f"{line[: LINE - 1]}…"


def draw_sentences(view: SentencesView) -> go.Figure:
    """A bar from 0 for each sentence, which is written over it; the axis runs to 1, or from −1."""
    rows = [str(n) for n in range(len(view.texts))]
    nearest = int(view.cosines.argmax())
    solid, pale = theme.ROLES["residual"], theme.rgba(theme.ROLES["residual"], 0.5)
    figure = sheet.Sheet(
        sheet.bar(
            y=rows,
            x=view.cosines,
            orientation="h",
            width=0.36,
            marker={"color": [solid if n == nearest else pale for n in range(len(rows))]},
            customdata=[theme.plain(text) for text in view.texts],
            hovertemplate="<b>%{x:.4f}</b><br>%{customdata}<extra></extra>",
        )
    )
    low = -1.0 if view.cosines.min() < -0.05 else min(0.0, float(view.cosines.min()))
    for row, text, cosine in zip(rows, view.texts, view.cosines, strict=True):
        figure.add_annotation(
            x=low, y=row, yshift=19, text=theme.plain(_cut(text)), showarrow=False, xanchor="left", font={"size": 13}
        )
        figure.add_annotation(
            x=max(0.0, float(cosine)),
            y=row,
            text=f"<b>{cosine:.3f}</b>",
            showarrow=False,
            xanchor="left",
            xshift=5,
            font={"size": 12},
        )
    theme.layout(figure, height=40 + 58 * len(rows))
    grid = theme.rgba(theme.ROLES["residual"], 0.25)
    figure.update_yaxes(type="category", autorange="reversed", visible=False, fixedrange=True)
    figure.update_xaxes(range=[low, 1.14], tickvals=[-1, -0.5, 0, 0.5, 1], showgrid=True, gridcolor=grid)
    figure.update_xaxes(fixedrange=True, zeroline=True, zerolinecolor=grid)
    return figure.drawn()


class TokensView(NamedTuple):
    """Cosines [n + 1, n + 1] of n tokens' last vectors around a selected one; the last row is the mean of all tokens.

    ``selected`` is its row, ``like`` the row of the token whose vector is nearest to it, or its
    own where it is alone. ``n_hidden`` tokens stand outside.
    """

    positions: tuple[int, ...]
    labels: tuple[str, ...]
    matrix: np.ndarray
    selected: int
    like: int
    n_hidden: int

    @classmethod
    def of(cls, trace: Trace, position: int, mean: str) -> TokensView:
        """``mean`` is the name of the last row."""
        vectors = token_vectors(trace)
        shown = min(len(trace), MOST_TOKENS)
        start = min(max(0, position - shown // 2), len(trace) - shown)
        selected = position - start
        part = np.concatenate((vectors[start : start + shown], vectors.mean(0, keepdims=True)))
        matrix = cosines(part, part)
        others = np.where(np.arange(shown) == selected, -np.inf, matrix[selected, :shown])
        labels = (*(token.label for token in trace.tokens[start : start + shown]), mean)
        like = int(others.argmax()) if shown > 1 else selected
        return cls(tuple(range(start, start + shown)), labels, matrix, selected, like, len(trace) - shown)

    def facts(self) -> dict[str, str]:
        apart = self.matrix[:-1, :-1][~np.eye(len(self.positions), dtype=bool)]
        return {
            "n_shown": str(len(self.positions)),
            "n_hidden": str(self.n_hidden),
            "like_cosine": _short(self.matrix[self.selected, self.like]),
            "like_position": str(self.positions[self.like]),
            "mean_cosine": _short(self.matrix[self.selected, -1]),
            "average": _short(apart.mean()) if len(apart) else "1.00",
        }


def draw_tokens(view: TokensView, site: str, value: str) -> go.Figure:
    """Every token against every other, −1 to 1; ``value`` names the number in the hover text."""
    names = [f"{position}: {theme.plain(label)}" for position, label in zip(view.positions, view.labels, strict=False)]
    names.append(theme.plain(view.labels[-1]))
    small = len(names) <= 10
    figure = sheet.Sheet(
        sheet.heatmap(
            z=view.matrix.astype(np.float32),
            x=names,
            y=names,
            zmin=-1,
            zmax=1,
            colorscale=theme.diverging(),
            xgap=1,
            ygap=1,
            texttemplate="%{z:.2f}" if small else None,
            textfont={"size": 11},
            colorbar={"thickness": 10, "len": 0.9, "outlinewidth": 0, "tickfont": {"size": 11}},
            hovertemplate=f"{theme.plain(value)} <b>%{{z:.4f}}</b><br>%{{y}}<br>%{{x}}"
            f"<extra>{theme.plain(site)}</extra>",
        )
    )
    row = view.selected
    figure.add_shape(
        type="rect",
        x0=-0.5,
        x1=len(names) - 0.5,
        y0=row - 0.5,
        y1=row + 0.5,
        line={"color": theme.HIGHLIGHT, "width": 2},
    )
    ticks = [theme.shorten(label) for label in view.labels[:-1]] + [f"<b>{theme.plain(view.labels[-1])}</b>"]
    axis = {"tickvals": list(range(len(names))), "ticktext": ticks, "fixedrange": True, "tickfont": {"size": 11}}
    theme.layout(figure, height=min(760, max(280, 110 + 20 * len(names) if not small else 110 + 30 * len(names))))
    figure.update_yaxes(type="category", autorange="reversed", **axis)
    figure.update_xaxes(type="category", **axis)
    return figure.drawn()


def by_hand(trace: Trace, other: Trace, n_terms: int = 3) -> dict[str, str]:
    """One value of the mean, and the cosine of two sentence vectors, in LaTeX with real numbers."""
    vectors, a, b = token_vectors(trace), sentence_vector(trace), sentence_vector(other)
    largest = np.argsort(-np.abs(a * b), kind="stable")
    d = int(largest[0])
    tokens = [theme.signed(value) for value in vectors[:n_terms, d]]
    products = a * b
    terms = [rf"\underset{{d={i}}}{{ {theme.signed(a[i])} \cdot {theme.signed(b[i])} }}" for i in largest[:n_terms]]
    lengths = float(np.linalg.norm(a)), float(np.linalg.norm(b))
    return {
        "d": str(d),
        "tokens": " + ".join(tokens) + (r" + \dots" if len(vectors) > n_terms else ""),
        "n": str(len(vectors)),
        "mean": f"{a[d]:.4f}",
        "terms": " + ".join(terms) + (r" + \dots" if len(products) > n_terms else ""),
        "dot": f"{products.sum():.4f}",
        "length_a": f"{lengths[0]:.4f}",
        "length_b": f"{lengths[1]:.4f}",
        "cosine": f"{cosines(a[None], b[None])[0, 0]:.4f}",
    }
