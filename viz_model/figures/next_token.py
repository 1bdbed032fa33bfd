"""Next token: what the model expects, what sampling keeps of it, and what was drawn."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import plotly.graph_objects as go
from plotly.subplots import make_subplots

from viz_model.config import ModelConfig
from viz_model.figures import theme
from viz_model.figures.tokens import chip
from viz_model.generation import Sampling, Step, distribution
from viz_model.tokenizer import Token
from viz_model.trace import Trace

SHOWN = 20
MOST_DRAWN = 100
"""Tokens that are drawn on a page at the most."""

DROPPED = "#9A9CA6"
HATCHED: dict[str, Any] = {
    "color": theme.rgba(DROPPED, 0.15),
    "line": {"color": DROPPED, "width": 1},
    "pattern": {"shape": "/", "fgcolor": DROPPED, "size": 6},
}


def entropy_bits(probs: np.ndarray) -> float:
    """−Σ p log₂ p of [V] probabilities."""
    positive = probs[probs > 0].astype(np.float64)
    return float(-(positive * np.log2(positive)).sum()) + 0.0  # no negative zero


class ChoiceView(NamedTuple):
    """The distribution after one position, before and after what sampling drops.

    ``order`` [V] holds the token ids in falling order of probability, and the other arrays follow
    it: ``logits``, ``model`` the softmax of the logits as they are, ``probs`` the softmax at the
    chosen temperature, ``kept`` what top-k and top-p leave, ``final`` the kept share of each.
    At temperature 0 ``probs`` is the model's own and only the first token is kept.
    """

    position: int
    tokens: tuple[Token, ...]
    temperature: float
    order: np.ndarray
    logits: np.ndarray
    model: np.ndarray
    probs: np.ndarray
    kept: np.ndarray
    final: np.ndarray

    @classmethod
    def of(cls, trace: Trace, position: int, sampling: Sampling, most: int = 500) -> ChoiceView:
        """``tokens`` are the first ``most`` of the order."""
        logits = trace["logits"][position]
        choice = distribution(logits, sampling)
        order = np.argsort(-logits.numpy(), kind="stable")
        arrays = (logits, logits.softmax(-1), choice.probs, choice.kept, choice.final)
        ordered = [array.numpy()[order] for array in arrays]
        return cls(position, trace.tokenizer.tokens(order[:most].tolist()), sampling.temperature, order, *ordered)

    @property
    def kept_mass(self) -> float:
        return float(self.probs[self.kept].astype(np.float64).sum())

    def facts(self) -> dict[str, str]:
        """For prose: how much is kept, and how open the choice is before and after."""
        before, after = entropy_bits(self.probs), entropy_bits(self.final)
        return {
            "n_vocab": f"{len(self.order):,}",
            "top_share": percent(self.model[0]),
            "top_final": percent(self.final[0]),
            "n_kept": f"{int(self.kept.sum()):,}",
            "n_dropped": f"{int((~self.kept).sum()):,}",
            "kept": percent(self.kept_mass),
            "dropped": percent(max(0.0, 1 - self.kept_mass) if not self.kept.all() else 0.0),
            "before": f"{before:.2f}",
            "after": f"{after:.2f}",
            "choices": f"{2**after:,.1f}",
            "temperature": f"{self.temperature:.2f}",
        }

    def table(self) -> np.ndarray:
        """[most, 4]: logit, the model's probability, at the temperature, and after filtering."""
        return np.stack([a[: len(self.tokens)] for a in (self.logits, self.model, self.probs, self.final)], axis=1)


def percent(p: float) -> str:
    """A probability for prose, never rounded to a nought or a whole that it is not."""
    if 0 < p < 0.0001:
        return "<0.01%"
    if 0.9995 <= p < 1:
        return ">99.9%"
    return f"{p:.2%}" if 0 < p < 0.01 else f"{p:.1%}"


def draw_choice(view: ChoiceView, names: Mapping[str, str]) -> go.Figure:
    """The most probable tokens: pale before, solid after, hatched grey where dropped.

    ``names`` has "before", "after", "dropped" and "model" (the mark for temperature 1).
    """
    labels = tuple(token.label for token in view.tokens[:SHOWN])
    rows = theme.unique(labels)
    n = len(rows)
    model, probs, kept, final = (array[:n] for array in (view.model, view.probs, view.kept, view.final))
    colour = theme.ROLES["output"]
    figure = go.Figure()
    said = [
        [percent(a), percent(b) if k else "–", percent(m)] for a, b, k, m in zip(probs, final, kept, model, strict=True)
    ]
    named = {name: theme.plain(text) for name, text in names.items()}
    hover = (
        f"%{{y}}<br>{named['model']}: %{{customdata[2]}}<br>{named['before']}: %{{customdata[0]}}"
        f"<br>{named['after']}: <b>%{{customdata[1]}}</b><extra></extra>"
    )

    def bars(name: str, values: np.ndarray, width: float, marker: dict[str, Any], hovered: bool) -> None:
        figure.add_trace(
            go.Bar(
                y=rows,
                x=values,
                orientation="h",
                name=named[name],
                width=width,
                marker=marker,
                customdata=said,
                hovertemplate=hover if hovered else None,
                hoverinfo=None if hovered else "skip",
            )
        )

    outline = {"color": theme.rgba(colour, 0.3), "line": {"color": colour, "width": 1}}
    bars("after", np.where(kept, final, np.nan), 0.5, {"color": colour}, True)
    bars("before", np.where(kept, probs, np.nan), 0.82, outline, True)
    if not view.kept.all():
        bars("dropped", np.where(kept, np.nan, probs), 0.82, HATCHED, True)
    if view.temperature not in (0, 1):
        figure.add_trace(
            go.Scatter(
                x=model,
                y=rows,
                mode="markers",
                name=named["model"],
                marker={"symbol": "line-ns", "size": 15, "line": {"color": theme.INK, "width": 2}},
                hoverinfo="skip",
            )
        )
    top = float(max(model.max(), probs.max(), final.max()))
    for row, a, b, m, k in zip(rows, probs, final, model, kept, strict=True):
        ends = max(float(a), float(b) if k else 0.0, float(m) if view.temperature not in (0, 1) else 0.0)
        figure.add_annotation(
            x=ends,
            y=row,
            text=f"<b>{percent(b)}</b>" if k else percent(a),
            showarrow=False,
            xanchor="left",
            xshift=5,
            font={"size": 12, "color": theme.INK if k else DROPPED},
        )
    theme.layout(figure, height=70 + 24 * n)
    # Drawn later means drawn on top, but the legend reads in the order things happen.
    figure.data = tuple(sorted(figure.data, key=lambda part: part.type == "bar" and part.width == 0.5))
    figure.update_layout(
        barmode="overlay",
        showlegend=True,
        legend={"orientation": "h", "x": 0, "y": 1.01, "yanchor": "bottom", "font": {"size": 12}},
        margin={"t": 30},
    )
    grid = theme.rgba(theme.ROLES["residual"], 0.25)
    figure.update_yaxes(type="category", autorange="reversed", fixedrange=True, **theme.ticks(labels))
    figure.update_xaxes(
        tickformat=".0%" if top > 0.05 else ".1%",
        range=[0, top * 1.2],
        showgrid=True,
        gridcolor=grid,
        nticks=6,
        fixedrange=True,
    )
    return figure


def draw_mass(view: ChoiceView, names: Mapping[str, str]) -> go.Figure:
    """All of the probability as one bar: what is kept, and what is dropped ("kept_mass", "dropped_mass")."""
    figure = go.Figure()
    mass = min(1.0, view.kept_mass) if not view.kept.all() else 1.0
    parts: list[tuple[str, float, dict[str, Any]]] = [(names["kept_mass"], mass, {"color": theme.ROLES["output"]})]
    if mass < 1:
        parts.append((names["dropped_mass"], 1 - mass, HATCHED))
    for name, share, marker in parts:
        figure.add_trace(
            go.Bar(
                y=[""],
                x=[share],
                orientation="h",
                marker=marker,
                hovertemplate=f"{theme.plain(name)}<extra></extra>",
            )
        )
    # What is kept is named above the bar and what is dropped below, so that neither needs room in it.
    for n, (name, _, _) in enumerate(parts):
        figure.add_annotation(
            text=theme.plain(name),
            xref="paper",
            yref="paper",
            x=n,
            y=1 - n,
            xanchor="right" if n else "left",
            yanchor="top" if n else "bottom",
            showarrow=False,
            font={"size": 12, "color": DROPPED if n else theme.INK},
        )
    theme.layout(figure, height=84, margin={"t": 26, "b": 26, "l": 0, "r": 0})
    figure.update_layout(barmode="stack", bargap=0)
    figure.update_xaxes(visible=False, range=[0, 1], fixedrange=True, automargin=False)
    figure.update_yaxes(visible=False, fixedrange=True, automargin=False)
    return figure


# What each position predicted, against what came


class ArrivalsView(NamedTuple):
    """For each of the T − 1 tokens after the first: what the position before it expected.

    ``probs`` and ``ranks`` (1 is first) are those of the token that came; ``guesses`` the three
    most probable tokens with their probabilities; ``before`` the label of the predicting position.
    """

    labels: tuple[str, ...]
    before: tuple[str, ...]
    probs: np.ndarray
    ranks: np.ndarray
    guesses: tuple[tuple[tuple[str, float], ...], ...]

    @classmethod
    def of(cls, trace: Trace) -> ArrivalsView:
        logits = trace["logits"][:-1].numpy().astype(np.float64)  # [T - 1, V]
        came = np.array(trace.ids[1:], dtype=np.int64)
        shifted = np.exp(logits - logits.max(-1, keepdims=True)) if len(came) else logits
        every = shifted / shifted.sum(-1, keepdims=True)
        rows = np.arange(len(came))
        best = trace["logits"][:-1].topk(3).indices.numpy()
        label = tuple(token.label for token in trace.tokens)
        return cls(
            labels=label[1:],
            before=label[:-1],
            probs=every[rows, came],
            ranks=1 + (logits > logits[rows, came][:, None]).sum(-1),
            guesses=tuple(
                tuple((trace.tokenizer.token(int(id)).label, float(every[row, id])) for id in best[row]) for row in rows
            ),
        )

    @property
    def bits(self) -> np.ndarray:
        """How surprising each token was: −log₂ p."""
        return -np.log2(self.probs)

    def columns(self) -> dict[str, list[object]]:
        """The rows of a table, by column."""
        return {
            "before": list(self.before),
            "came": list(self.labels),
            "probability": self.probs.tolist(),
            "rank": self.ranks.tolist(),
            "bits": self.bits.tolist(),
            "guess": [guesses[0][0] for guesses in self.guesses],
            "guess_probability": [guesses[0][1] for guesses in self.guesses],
        }

    def facts(self) -> dict[str, str]:
        """For prose."""
        hardest = int(self.probs.argmin())
        return {
            "n": str(len(self.labels)),
            "first": str(int((self.ranks == 1).sum())),
            "bits": f"{self.bits.mean():.2f}",
            "nats": f"{self.bits.mean() * np.log(2):.2f}",
            "even": f"{2 ** self.bits.mean():,.1f}",
            "hardest_rank": f"{self.ranks[hardest]:,}",
            "hardest_p": percent(self.probs[hardest]),
        }


def draw_arrivals(view: ArrivalsView, names: Mapping[str, str], selected: int | None = None) -> go.Figure:
    """A strip of the probabilities that the tokens which came had had, and their surprise as bars.

    ``selected`` is the position whose prediction is marked: that of the token after it. ``names``
    has "probability", "bits", "rank" and "guesses".
    """
    columns = theme.unique(view.labels)
    said = ["<br>".join(f"{theme.plain(label)}  {percent(p)}" for label, p in guesses) for guesses in view.guesses]
    extra = list(zip(map(theme.plain, view.before), [f"{rank:,}" for rank in view.ranks], said, strict=True))
    hover = (
        f"%{{customdata[0]}} → %{{x}}<br>{theme.plain(names['probability'])} <b>%{{text}}</b>"
        f"<br>{theme.plain(names['rank'])} %{{customdata[1]}}<br>{theme.plain(names['guesses'])}:<br>%{{customdata[2]}}"
        "<extra></extra>"
    )
    shares = [percent(p) for p in view.probs]
    figure = make_subplots(rows=2, cols=1, shared_xaxes=True, vertical_spacing=0.06, row_heights=[1, 2.4])
    figure.add_trace(
        go.Heatmap(
            z=[view.probs.astype(np.float32)],
            x=columns,
            y=[theme.plain(names["probability"])],
            zmin=0,
            zmax=1,
            colorscale=theme.sequential("output"),
            showscale=False,
            xgap=1,
            text=[shares],
            texttemplate="%{text}" if len(columns) <= 9 else None,
            textfont={"size": 11, "color": theme.INK},
            customdata=[extra],
            hovertemplate=hover,
        ),
        row=1,
        col=1,
    )
    figure.add_trace(
        go.Bar(
            x=columns,
            y=view.bits,
            text=shares,
            textposition="none",
            customdata=extra,
            marker_color=[theme.token_colour(position) for position in range(1, len(columns) + 1)],
            hovertemplate=hover,
        ),
        row=2,
        col=1,
    )
    # A frame, as cells of improbable tokens are as clear as the page.
    frame = {"xref": "x domain", "yref": "y domain", "x0": 0, "x1": 1, "y0": 0, "y1": 1}
    figure.add_shape(type="rect", **frame, line={"color": theme.rgba(theme.ROLES["residual"], 0.5), "width": 1})
    theme.layout(figure, height=270)
    if selected is not None and selected < len(columns):
        for row in (1, 2):
            figure.add_vrect(
                x0=selected - 0.5, x1=selected + 0.5, line={"color": theme.HIGHLIGHT, "width": 2}, row=row, col=1
            )
    figure.update_xaxes(type="category", fixedrange=True, **theme.ticks(view.labels))
    figure.update_xaxes(showticklabels=False, row=1, col=1)
    figure.update_yaxes(fixedrange=True, tickfont={"size": 11}, row=1, col=1)
    figure.update_yaxes(
        fixedrange=True,
        title=theme.plain(names["bits"]),
        showgrid=True,
        gridcolor=theme.rgba(theme.ROLES["residual"], 0.25),
        row=2,
        col=1,
    )
    return figure


# Generation


def chips(steps: Sequence[Step], start: int) -> list[dict[str, object]]:
    """The drawn tokens for the ribbon, each over the probability it was drawn with."""
    return [chip(step.token, start + n, percent(step.final_probability)) for n, step in enumerate(steps)]


def text_of(tokens: Sequence[Token], steps: Sequence[Step]) -> str:
    """The text of some tokens and what was drawn after them; characters that are not complete are left out."""
    return b"".join(token.bytes for token in (*tokens, *(step.token for step in steps))).decode(errors="ignore")


class CacheView(NamedTuple):
    """Positions that went through the model to draw some tokens, with a KV cache and without.

    ``n_cached`` positions lie in the cache at the end, in ``n_bytes`` = 2·L·T·D·4: a key and a
    value of D single-precision numbers for each of L layers and T positions.
    """

    with_cache: int
    without_cache: int
    n_prompt: int
    n_drawn: int
    n_cached: int
    n_layers: int
    d_model: int

    @property
    def overflows(self) -> bool:
        """Whether the context was full, so that the newer half had to be read afresh."""
        return self.n_cached < self.n_prompt + self.n_drawn - 1

    @property
    def n_bytes(self) -> int:
        return 2 * self.n_layers * self.n_cached * self.d_model * 4

    @classmethod
    def of(cls, config: ModelConfig, n_prompt: int, n_drawn: int) -> CacheView:
        """The counts of :class:`~viz_model.generation.Decoder` for ``n_drawn`` ≥ 1 tokens.

        The last drawn token need not be read. At a full context the newer half is read afresh.
        """
        length = read = again = min(n_prompt, config.n_context)
        for _ in range(n_drawn - 1):
            if length < config.n_context:
                length += 1
                read += 1
            else:
                length = max(1, config.n_context // 2)
                read += length
            again += length
        return cls(read, again, n_prompt, n_drawn, length, config.n_layers, config.d_model)

    def facts(self) -> dict[str, str]:
        return {
            "n": str(self.n_drawn),
            "prompt": str(self.n_prompt),
            "layers": str(self.n_layers),
            "width": str(self.d_model),
            "with_cache": f"{self.with_cache:,}",
            "without_cache": f"{self.without_cache:,}",
            "saved": percent(1 - self.with_cache / self.without_cache),
            "n_cached": f"{self.n_cached:,}",
            "n_bytes": f"{self.n_bytes:,}",
        }


def draw_cache(view: CacheView, with_cache: str, without_cache: str) -> go.Figure:
    """Two bars: positions computed with a cache, and without."""
    figure = go.Figure(
        go.Bar(
            y=[theme.plain(with_cache), theme.plain(without_cache)],
            x=[view.with_cache, view.without_cache],
            orientation="h",
            marker={"color": [theme.ROLES["value"], DROPPED]},
            text=[f"{view.with_cache:,}", f"{view.without_cache:,}"],
            textposition="auto",
            textfont={"size": 13},
            hovertemplate="%{y}: <b>%{x:,}</b><extra></extra>",
        )
    )
    theme.layout(figure, height=110)
    figure.update_xaxes(visible=False, range=[0, view.without_cache * 1.1], fixedrange=True)
    figure.update_yaxes(autorange="reversed", fixedrange=True)
    return figure


# By hand


class LogitView(NamedTuple):
    """One logit as a dot product: x·E[w] over D dimensions.

    ``products`` [D] are the terms x_d E[w, d], ``recorded`` the logit of the run.
    """

    label: str
    products: np.ndarray
    vector: np.ndarray
    row: np.ndarray
    recorded: float

    @classmethod
    def of(cls, trace: Trace, position: int, token: Token) -> LogitView:
        config = trace.model.config
        site = "final.norm.out" if config.norm_at == "pre" else f"blocks.{config.n_layers - 1}.resid.out"
        vector = trace[site][position].numpy()
        row = trace.model.unembedding.weight[token.id].numpy()
        recorded = trace["logits"][position, token.id].item()
        return cls(token.label, vector.astype(np.float64) * row, vector, row, recorded)


def by_hand(trace: Trace, view: ChoiceView, n_terms: int = 4) -> dict[str, str]:
    """The second most probable token's logit and its softmax, in LaTeX with real numbers.

    The most probable one would show e⁰ = 1, which explains little.
    """
    rank = min(1, len(view.order) - 1)
    logit = LogitView.of(trace, view.position, view.tokens[rank])
    largest = np.argsort(-np.abs(logit.products), kind="stable")[:n_terms]
    temperature = view.temperature or 1.0
    scaled = (view.logits.astype(np.float64) - float(view.logits[0])) / temperature
    exponentials = np.exp(scaled)
    total = exponentials.sum()
    return {
        "terms": " + ".join(
            rf"\underset{{d={d}}}{{ {theme.signed(logit.vector[d])} \cdot {theme.signed(logit.row[d])} }}"
            for d in largest
        ),
        "largest": theme.signed(logit.products[largest].sum()),
        "rest": theme.signed(logit.products.sum() - logit.products[largest].sum()),
        "n_rest": str(len(logit.products) - len(largest)),
        "sum": f"{logit.products.sum():.4f}",
        "recorded": f"{logit.recorded:.4f}",
        "logit": f"{view.logits[rank]:.4f}",
        "minus_top": f"- {view.logits[0]:.4f}" if view.logits[0] >= 0 else f"+ {-view.logits[0]:.4f}",
        "divisor": f"{temperature:g}",
        "scaled": f"{scaled[rank]:.4f}",
        "exponential": f"{exponentials[rank]:.4f}",
        "total": f"{total:,.4f}".replace(",", "{,}"),
        "probability": f"{exponentials[rank] / total:.6f}",
        "at_temperature": f"{view.probs[rank]:.6f}",
        "n_vocab": f"{len(view.order):,}",
        "kept": f"{view.kept_mass:.6f}",
        "final": f"{view.final[rank]:.6f}",
    }
