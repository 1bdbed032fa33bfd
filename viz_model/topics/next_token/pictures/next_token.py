"""What a model expects, at the next place or in a covered one; what sampling keeps of it, and what was drawn."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import plotly.graph_objects as go

from viz_model.drawing import sheet, theme
from viz_model.drawing.cells import BESIDE, COLUMN, ROW, Cells, span_of
from viz_model.drawing.spans import around
from viz_model.drawing.writing import percent
from viz_model.runs.generation import Sampling, Step, distribution
from viz_model.runs.trace import Trace
from viz_model.tokenizers.tokenizer import Token, Tokenizer
from viz_model.topics.next_token.numbers.masked import Covered
from viz_model.topics.next_token.numbers.output import logit_scale, read_site
from viz_model.topics.tokens.pictures.tokens import chip

SHOWN = 20
GUESSES = 3
MOST_ARRIVED = 160
"""Tokens of a text whose surprise is drawn at the most; the table has all of them."""
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
    """The distribution at one position, before and after what sampling drops.

    ``order`` [V] holds the token ids in falling order of probability, and the other arrays follow
    it: ``logits``, ``model`` the softmax of the logits as they are, ``probs`` the softmax at the
    chosen temperature, ``kept`` what top-k and top-p leave, ``final`` the kept share of each.
    At temperature 0 ``probs`` is the model's own and only the first token is kept. ``marked`` is
    the place in the order of a token to be pointed out, and ``marked_token`` that token.
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
    marked: int | None = None
    marked_token: Token | None = None

    @classmethod
    def of(
        cls, trace: Trace, position: int, sampling: Sampling, most: int = 500, marked_id: int | None = None
    ) -> ChoiceView:
        """``tokens`` are the first ``most`` of the order."""
        logits = trace.row("logits", position)
        choice = distribution(logits, sampling)
        order = np.argsort(-logits.numpy(), kind="stable")
        arrays = (logits, logits.softmax(-1), choice.probs, choice.kept, choice.final)
        logit, model, probs, kept, final = (array.numpy()[order] for array in arrays)
        tokens = trace.tokenizer.tokens(order[:most].tolist())
        marked = None if marked_id is None else int((order == marked_id).argmax())
        token = None if marked_id is None else trace.tokenizer.token(marked_id)
        return cls(position, tokens, sampling.temperature, order, logit, model, probs, kept, final, marked, token)

    @property
    def shown(self) -> tuple[tuple[int, Token], ...]:
        """Places in the order that are drawn, with their tokens: the first twenty, and the marked one."""
        first = tuple(enumerate(self.tokens[:SHOWN]))
        if self.marked is None or self.marked_token is None or self.marked < len(first):
            return first
        return (*first, (self.marked, self.marked_token))

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
            "marked_rank": "" if self.marked is None else f"{self.marked + 1:,}",
            "marked_share": "" if self.marked is None else percent(self.model[self.marked]),
        }

    def table(self) -> np.ndarray:
        """[most, 4]: logit, the model's probability, at the temperature, and after filtering."""
        return np.stack([a[: len(self.tokens)] for a in (self.logits, self.model, self.probs, self.final)], axis=1)


def draw_choice(view: ChoiceView, names: Mapping[str, str]) -> go.Figure:
    """The most probable tokens: pale before, solid after, hatched grey where dropped.

    ``names`` has "before", "after", "dropped", "model" (the mark for temperature 1), and "marked"
    (what the marked token is) where the view has one. A marked token beyond the twenty follows them
    with its rank.
    """
    places = [place for place, _ in view.shown]
    labels = tuple(token.label for _, token in view.shown)
    rows = theme.unique(labels)
    n = len(rows)
    model, probs, kept, final = (array[places] for array in (view.model, view.probs, view.kept, view.final))
    colour = theme.ROLES["output"]
    meta = Cells("probs", (view.position, ROW), rows=span_of(view.order[places])).meta
    figure = sheet.Sheet()
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
            sheet.bar(
                y=rows,
                x=values,
                orientation="h",
                name=named[name],
                width=width,
                marker=marker,
                customdata=said,
                meta=meta,
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
            sheet.scatter(
                x=model,
                y=rows,
                mode="markers",
                name=named["model"],
                marker={"symbol": "line-ns", "size": 15, "line": {"color": theme.INK, "width": 2}},
                hoverinfo="skip",
            )
        )
    top = float(max(model.max(), probs.max(), final.max()))
    for place, row, a, b, m, k in zip(places, rows, probs, final, model, kept, strict=True):
        ends = max(float(a), float(b) if k else 0.0, float(m) if view.temperature not in (0, 1) else 0.0)
        share = f"<b>{percent(b)}</b>" if k else percent(a)
        figure.add_annotation(
            x=ends,
            y=row,
            text=f"{share}  ◂ {named['marked']}" if place == view.marked else share,
            showarrow=False,
            xanchor="left",
            xshift=5,
            font={"size": 12, "color": theme.INK if k else DROPPED},
        )
    theme.layout(figure, height=70 + 24 * n)
    # Drawn later means drawn on top, but the legend reads in the order things happen.
    figure.traces.sort(key=lambda part: part["type"] == "bar" and part.get("width") == 0.5)
    figure.update_layout(
        barmode="overlay",
        showlegend=True,
        legend={"orientation": "h", "x": 0, "y": 1.01, "yanchor": "bottom", "font": {"size": 12}},
        margin={"t": 30},
    )
    grid = theme.rgba(theme.ROLES["residual"], 0.25)
    ticks = [
        theme.shorten(label) if place < SHOWN else f"{place + 1:,}. {theme.shorten(label)}"
        for place, label in zip(places, labels, strict=True)
    ]
    if view.marked is not None:
        ticks[places.index(view.marked)] = f"<b>{ticks[places.index(view.marked)]}</b>"
    figure.update_yaxes(type="category", autorange="reversed", fixedrange=True, tickvals=list(range(n)), ticktext=ticks)
    # Room at the right for what is written after the longest bar.
    figure.update_xaxes(
        tickformat=".0%" if top > 0.05 else ".1%" if top > 0.005 else ".2%",
        range=[0, top * (1.2 if view.marked is None else 1.45)],
        showgrid=True,
        gridcolor=grid,
        nticks=6,
        fixedrange=True,
    )
    return figure.drawn()


def draw_mass(view: ChoiceView, names: Mapping[str, str]) -> go.Figure:
    """All of the probability as one bar: what is kept, and what is dropped ("kept_mass", "dropped_mass")."""
    figure = sheet.Sheet()
    mass = min(1.0, view.kept_mass) if not view.kept.all() else 1.0
    parts: list[tuple[str, float, dict[str, Any]]] = [(names["kept_mass"], mass, {"color": theme.ROLES["output"]})]
    if mass < 1:
        parts.append((names["dropped_mass"], 1 - mass, HATCHED))
    for name, share, marker in parts:
        figure.add_trace(
            sheet.bar(
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
    return figure.drawn()


# What was expected of each token, against what stands there


class ArrivalsView(NamedTuple):
    """For n tokens of a text: what the model expected there of the token that stands there.

    ``positions``, ``probs``, ``bits`` (−log₂ p) and ``ranks`` (1 is first) [n] are those of the
    token that came; ``guesses`` the most probable tokens with their probabilities. ``before`` is
    the label of the position that predicted, where that is another; ``visible`` [n] the token's
    probability while the model can see it, where it was covered to ask. ``ids`` [n] of the tokens that came are
    given where ``probs`` are those of this run at the positions before.
    """

    positions: np.ndarray
    labels: tuple[str, ...]
    probs: np.ndarray
    bits: np.ndarray
    ranks: np.ndarray
    guesses: tuple[tuple[tuple[str, float], ...], ...]
    before: tuple[str, ...] | None = None
    visible: np.ndarray | None = None
    ids: tuple[int, ...] = ()

    @classmethod
    def of(cls, trace: Trace) -> ArrivalsView:
        """Each of the T − 1 tokens after the first, as the position before it expected it."""
        tokens = trace.tokens
        came = np.array([token.id for token in tokens[1:]], dtype=np.int64)
        found, start = [], 0
        for logits in trace.chunks("logits", 32):  # of a large vocabulary all rows at once are a lot of memory
            following = came[start : start + len(logits)]
            start += len(logits)
            logits = logits[: len(following)]  # nothing has come after the last token
            own = logits[np.arange(len(following)), following][:, None]
            best = logits.topk(min(GUESSES, logits.shape[-1]))
            rank = 1 + (logits > own).sum(-1)
            found.append((own[:, 0], logits.double().logsumexp(-1), best.values, best.indices, rank))
        said, total, values, ids, ranks = (np.concatenate(parts) for parts in zip(*found, strict=True))
        shares = np.exp(values.astype(np.float64) - total[:, None])
        nats = np.maximum(0.0, total - said.astype(np.float64))
        return cls(
            positions=np.arange(len(came)) + 1,
            labels=tuple(token.label for token in tokens[1:]),
            probs=np.exp(-nats),
            bits=nats / np.log(2),
            ranks=ranks,
            guesses=_named(trace.tokenizer, ids, shares),
            before=tuple(token.label for token in tokens[:-1]),
            ids=span_of(came),
        )

    @classmethod
    def covered(cls, trace: Trace, found: Covered) -> ArrivalsView:
        """Tokens of a text that were covered one at a time.

        As :func:`viz_model.topics.next_token.numbers.masked.cover` covers them.
        """
        tokens = trace.tokens
        return cls(
            positions=found.positions,
            labels=tuple(tokens[position].label for position in found.positions),
            probs=np.exp(-found.nats),
            bits=found.nats / np.log(2),
            ranks=found.ranks,
            guesses=_named(trace.tokenizer, found.guesses, found.guess_probs),
            visible=found.visible,
        )

    def near(self, position: int | None, most: int = MOST_ARRIVED) -> ArrivalsView:
        """Of a long text ``most`` tokens around a position; around the end without one."""
        if len(self.labels) <= most:
            return self
        at = len(self.labels) - 1 if position is None else int(np.abs(self.positions - position).argmin())
        shown = around(at, len(self.labels), most)
        parts = {name: value[shown] for name, value in self._asdict().items() if value is not None}
        return self._replace(**parts)

    def columns(self) -> dict[str, list[object]]:
        """The rows of a table, by column."""
        found: dict[str, list[object]] = {} if self.before is None else {"before": list(self.before)}
        found |= {"came": list(self.labels), "probability": self.probs.tolist(), "rank": self.ranks.tolist()}
        found |= {
            "bits": self.bits.tolist(),
            "guess": [guesses[0][0] for guesses in self.guesses],
            "guess_probability": [guesses[0][1] for guesses in self.guesses],
        }
        return found if self.visible is None else found | {"visible": self.visible.tolist()}

    def facts(self) -> dict[str, str]:
        """For prose."""
        hardest = int(self.bits.argmax())
        mean = float(self.bits.mean())
        return {
            "n": str(len(self.labels)),
            "first": str(int((self.ranks == 1).sum())),
            "bits": f"{mean:.2f}",
            "nats": f"{mean * np.log(2):.2f}",
            # A run without norms may be wrong by more than any number holds.
            "even": f"{2**mean:,.1f}" if mean < 30 else theme.power_of_ten(round(mean * np.log10(2))),
            "hardest_rank": f"{self.ranks[hardest]:,}",
            "hardest_p": percent(self.probs[hardest]),
            "start": str(self.positions[0]),
            "last": str(self.positions[-1]),
        }


def _named(tokenizer: Tokenizer, ids: np.ndarray, probs: np.ndarray) -> tuple[tuple[tuple[str, float], ...], ...]:
    """Ids and probabilities [n, k] as labels and probabilities."""
    return tuple(
        tuple((tokenizer.token(int(id)).label, float(p)) for id, p in zip(*row, strict=True))
        for row in zip(ids, probs, strict=True)
    )


def draw_arrivals(view: ArrivalsView, names: Mapping[str, str], selected: int | None = None) -> go.Figure:
    """A strip of the probabilities that the tokens which came had had, and their surprise as bars.

    Of a long text those around the marked token, which ``layout.meta`` then says.

    ``selected`` is the position of a token to be marked. ``names`` has "probability", "bits",
    "rank" and "guesses", and "visible" where the view has that row.
    """
    n_tokens, view = len(view.labels), view.near(selected)
    columns = [f"{position}: {theme.plain(label)}" for position, label in zip(view.positions, view.labels, strict=True)]
    said = ["<br>".join(f"{theme.plain(label)}  {percent(p)}" for label, p in guesses) for guesses in view.guesses]
    asked = [f"{theme.plain(label)} → " for label in view.before] if view.before is not None else [""] * len(columns)
    extra = list(zip(asked, [f"{rank:,}" for rank in view.ranks], said, strict=True))
    hover = (
        f"%{{customdata[0]}}%{{x}}<br>{theme.plain(names['probability'])} <b>%{{text}}</b>"
        f"<br>{theme.plain(names['rank'])} %{{customdata[1]}}<br>{theme.plain(names['guesses'])}:<br>%{{customdata[2]}}"
        "<extra></extra>"
    )
    meta = None
    if view.ids:
        meta = Cells("probs", (COLUMN, BESIDE), columns=span_of(view.positions - 1), beside=view.ids).meta
    strips = [(names["probability"], view.probs)]
    if view.visible is not None:
        strips.insert(0, (names["visible"], view.visible))
    shares = [[percent(p) for p in probs] for _, probs in strips]
    figure = sheet.Sheet.grid(rows=2, cols=1, shared_xaxes=True, vertical_spacing=0.06, row_heights=[len(strips), 2.4])
    figure.add_trace(
        sheet.heatmap(
            z=np.array([probs for _, probs in strips], dtype=np.float32),
            meta=meta,
            x=columns,
            y=[theme.plain(name) for name, _ in strips],
            zmin=0,
            zmax=1,
            colorscale=theme.sequential("output"),
            showscale=False,
            xgap=1,
            ygap=2,
            text=shares,
            texttemplate="%{text}" if len(columns) <= 9 else None,
            textfont={"size": 11, "color": theme.INK},
            customdata=[extra] * len(strips),
            hovertemplate=hover.replace(theme.plain(names["probability"]), "%{y}", 1),
        ),
        row=1,
        col=1,
    )
    figure.add_trace(
        sheet.bar(
            x=columns,
            y=view.bits,
            meta=meta,
            text=shares[-1],
            textposition="none",
            customdata=extra,
            marker={"color": [theme.token_colour(int(position)) for position in view.positions]},
            hovertemplate=hover,
        ),
        row=2,
        col=1,
    )
    # A frame, as cells of improbable tokens are as clear as the page.
    frame = {"xref": "x domain", "yref": "y domain", "x0": 0, "x1": 1, "y0": 0, "y1": 1}
    figure.add_shape(type="rect", **frame, line={"color": theme.rgba(theme.ROLES["residual"], 0.5), "width": 1})
    theme.layout(figure, height=220 + 50 * len(strips))
    if len(view.labels) < n_tokens:
        first, last = (int(view.positions[end]) for end in (0, -1))
        figure.update_layout(meta={"part": {"first": first, "last": last, "n": n_tokens + 1}})
    if selected in view.positions:
        column = int((view.positions == selected).argmax())
        for row in (1, 2):
            figure.add_vrect(
                x0=column - 0.5, x1=column + 0.5, line={"color": theme.HIGHLIGHT, "width": 2}, row=row, col=1
            )
    figure.update_xaxes(type="category", fixedrange=True, **theme.ticks(view.labels))
    figure.update_xaxes(showticklabels=False, row=1, col=1)
    figure.update_yaxes(fixedrange=True, tickfont={"size": 11}, row=1, col=1)
    if len(strips) > 1:
        figure.update_yaxes(autorange="reversed", row=1, col=1)
    figure.update_yaxes(
        fixedrange=True,
        title=theme.plain(names["bits"]),
        showgrid=True,
        gridcolor=theme.rgba(theme.ROLES["residual"], 0.25),
        row=2,
        col=1,
    )
    return figure.drawn()


def draw_guesses(guesses: Sequence[tuple[Token, float]], marked_id: int | None = None) -> go.Figure:
    """A few tokens with their probabilities, as bars from 0 to 1; the marked one in bold."""
    labels = tuple(token.label for token, _ in guesses)
    probs = [p for _, p in guesses]
    figure = sheet.Sheet(
        sheet.bar(
            y=theme.unique(labels),
            x=probs,
            orientation="h",
            width=0.6,
            marker={"color": theme.ROLES["output"]},
            hovertemplate="%{y}: <b>%{customdata}</b><extra></extra>",
            customdata=[percent(p) for p in probs],
        )
    )
    for row, p in zip(theme.unique(labels), probs, strict=True):
        figure.add_annotation(x=p, y=row, text=percent(p), showarrow=False, xanchor="left", xshift=5, font={"size": 12})
    ticks = [
        f"<b>{theme.shorten(token.label)}</b>" if token.id == marked_id else theme.shorten(token.label)
        for token, _ in guesses
    ]
    theme.layout(figure, height=24 + 26 * len(labels))
    figure.update_yaxes(
        type="category", autorange="reversed", fixedrange=True, tickvals=list(range(len(labels))), ticktext=ticks
    )
    figure.update_xaxes(visible=False, range=[0, 1.3], fixedrange=True)
    return figure.drawn()


# Generation


def chips(steps: Sequence[Step], start: int) -> list[dict[str, object]]:
    """The drawn tokens for the ribbon, each over the probability it was drawn with."""
    return [chip(step.token, start + n, percent(step.final_probability)) for n, step in enumerate(steps)]


def longer(trace: Trace, steps: Sequence[Step]) -> str:
    """The text, or the target of an encoder–decoder, and what was drawn after it.

    A character of which only some bytes were drawn is left out.
    """
    decode, drawn = trace.tokenizer.decode, [step.token.id for step in steps]
    if trace.target_ids is None:
        text, ids, is_whole = trace.text, list(trace.ids), not trace.n_dropped
    else:
        text, ids, is_whole = trace.target, list(trace.target_ids[1:]), not trace.n_target_dropped
    # Of two spellings that decode alike, the visitor's own is kept.
    before, after = decode(ids), decode([*ids, *drawn])
    if is_whole and after.startswith(before):
        after = (text or "") + after[len(before) :]
    return after.rstrip("\ufffd") if drawn else after


# By hand


class LogitView(NamedTuple):
    """One logit as a dot product: s·x·E[w] + b[w] over D dimensions.

    ``vector`` [D] is s·x, what the unembedding reads; ``products`` [D] are the terms s·x_d E[w, d];
    ``bias`` is b[w], or None in a model that adds none; ``recorded`` is the logit of the run.
    """

    products: np.ndarray
    vector: np.ndarray
    row: np.ndarray
    bias: float | None
    scale: float
    recorded: float

    @property
    def total(self) -> float:
        return float(self.products.sum()) + (self.bias or 0.0)

    @classmethod
    def of(cls, trace: Trace, position: int, token: Token) -> LogitView:
        unembedding, scale = trace.model.unembedding, logit_scale(trace)
        vector = trace[read_site(trace)][position].numpy().astype(np.float64) * scale
        row = unembedding.weight[token.id].detach().numpy().astype(np.float64)
        bias = None if unembedding.bias is None else float(unembedding.bias[token.id])
        return cls(vector * row, vector, row, bias, scale, float(trace.row("logits", position)[token.id]))


def by_hand(trace: Trace, view: ChoiceView, n_terms: int = 4) -> dict[str, str]:
    """One token's logit and its softmax, in LaTeX with real numbers: the marked one, or the runner-up.

    The most probable one would show e⁰ = 1, which explains little.
    """
    rank, token = hand_token(view)
    logit = LogitView.of(trace, view.position, token)
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
        "plus_bias": "" if logit.bias is None else rf"+ \underset{{b_w}}{{ {theme.signed(logit.bias)} }}",
        "scale": f"{logit.scale:.4g}",
        "d_model": str(len(logit.products)),
        "sum": f"{logit.total:.4f}",
        "recorded": f"{logit.recorded:.4f}",
        "logit": f"{view.logits[rank]:.4f}",
        "minus_top": f"- {view.logits[0]:.4f}" if view.logits[0] >= 0 else f"+ {-view.logits[0]:.4f}",
        "divisor": f"{temperature:g}",
        "scaled": f"{scaled[rank]:.4f}",
        "exponential": _decimal(exponentials[rank], 4),
        "total": f"{total:,.4f}".replace(",", "{,}"),
        "probability": _decimal(exponentials[rank] / total, 6),
        "at_temperature": _decimal(float(view.probs[rank]), 6),
        "n_vocab": f"{len(view.order):,}",
        "kept": f"{view.kept_mass:.6f}",
        "final": _decimal(float(view.final[rank]), 6),
    }


def hand_token(view: ChoiceView) -> tuple[int, Token]:
    """The token that is worked out by hand, with its place in the order."""
    if view.marked is not None and view.marked_token is not None and view.marked > 0:
        return view.marked, view.marked_token
    rank = min(1, len(view.order) - 1)
    return rank, view.tokens[rank]


def _decimal(number: float, digits: int) -> str:
    """A number in LaTeX, in powers of ten where the digits would show only noughts."""
    if number == 0 or abs(number) >= 10.0 ** (1 - digits):
        return f"{number:.{digits}f}"
    mantissa, exponent = f"{number:.3e}".split("e")
    return rf"{mantissa} \cdot 10^{{{int(exponent)}}}"
