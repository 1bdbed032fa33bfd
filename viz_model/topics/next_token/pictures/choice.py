"""What a model expects at one position, and what sampling keeps of it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from viz_model.drawing import axes, bars, curves, sheet, theme
from viz_model.drawing.brief import brief
from viz_model.drawing.cells import ROW, Cells, span_of
from viz_model.drawing.writing import hover, percent
from viz_model.tokenizers.tokenizer import Token

SHOWN = 20
DROPPED = "#9A9CA6"


def entropy_bits(probs: np.ndarray) -> float:
    """−Σ p log₂ p of [V] probabilities."""
    positive = probs[probs > 0].astype(np.float64)
    return float(-(positive * np.log2(positive)).sum()) + 0.0  # no negative zero


class Kept(NamedTuple):
    """What a choice keeps of V tokens.

    ``n_zero`` are those of the kept ones whose probability is 0 in single precision.
    """

    temperature: float
    n_kept: int
    n_vocab: int
    n_zero: int


@brief
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

    @property
    def counts(self) -> Kept:
        """What is kept, in numbers of tokens."""
        n_zero = int((self.final[self.kept] == 0).sum())
        return Kept(self.temperature, int(self.kept.sum()), len(self.order), n_zero)

    def facts(self) -> dict[str, str]:
        """For prose: how much is kept, and how open the choice is before and after."""
        before, after = entropy_bits(self.probs), entropy_bits(self.final)
        return {
            "n_vocab": f"{len(self.order):,}",
            "top_share": percent(self.model[0]),
            "top_final": percent(self.final[0]),
            "n_kept": f"{self.counts.n_kept:,}",
            "n_dropped": f"{int((~self.kept).sum()):,}",
            "n_zero": f"{self.counts.n_zero:,}",
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


def draw_choice(view: ChoiceView, names: Mapping[str, str]) -> sheet.Sheet:
    """The most probable tokens: pale before, solid after, hatched grey where dropped.

    ``names`` has "before", "after", "dropped", "model" (the mark for temperature 1), and "marked"
    (what the marked token is) where the view has one. A marked token beyond the twenty follows them
    with its rank.
    """
    places = [place for place, _ in view.shown]
    labels = [token.label for _, token in view.shown]
    model, probs, kept, final = (array[places] for array in (view.model, view.probs, view.kept, view.final))
    colour, is_moved = theme.ROLES["output"], view.temperature not in (0, 1)
    hovers = [
        hover(
            label,
            (names["model"], percent(m)),
            (names["before"], percent(a)),
            (names["after"], percent(b) if k else "–"),
        )
        for label, m, a, b, k in zip(labels, model, probs, final, kept, strict=True)
    ]
    cells = Cells("probs", (view.position, ROW), rows=span_of(view.order[places]))
    figure = sheet.Sheet()
    # Drawn later means drawn on top.
    parts = [("before", np.where(kept, probs, np.nan), bars.outlined(colour, 0.3), 0.82)]
    if not view.kept.all():
        parts.append(("dropped", np.where(kept, np.nan, probs), bars.hatched(DROPPED), 0.82))
    parts.append(("after", np.where(kept, final, np.nan), {"color": colour}, 0.5))
    for name, values, fill, width in parts:
        bars.across(figure, values, fill, width=width, name=names[name], hover=hovers, cells=cells)
    if is_moved:
        ring = {"color": theme.INK, "width": 2}
        curves.points(
            figure,
            model,
            list(range(len(places))),
            theme.INK,
            size=15,
            symbol="line-ns",
            ring=ring,
            name=names["model"],
        )
    top = float(max(model.max(), probs.max(), final.max()))
    _write_shares(figure, view, names, is_moved=is_moved)
    ticks = [theme.shorten(label) for label in labels]
    ticks = [tick if place < SHOWN else f"{place + 1:,}. {tick}" for place, tick in zip(places, ticks, strict=True)]
    ticks = [theme.bold(tick) if place == view.marked else tick for place, tick in zip(places, ticks, strict=True)]
    axes.rows(figure, labels, edge=0.5, ticktext=ticks)
    written = ".0%" if top > 0.05 else ".1%" if top > 0.005 else ".2%"
    # Room at the right for what is written after the longest bar.
    room = [0, top * (1.2 if view.marked is None else 1.45)]
    ticks_at: dict[str, Any] = {"tickvals": [n / 5 for n in range(6)]} if room[1] > 1 else {"nticks": 6}  # none above 1
    axes.across(figure, grid=True, tickformat=written, range=room, **ticks_at)
    figure.update_layout(barmode="overlay")
    return theme.finished(figure, height=70 + 24 * len(places), margin={"t": 30}, legend="above")


def _write_shares(figure: sheet.Sheet, view: ChoiceView, names: Mapping[str, str], *, is_moved: bool) -> None:
    """The share of each token behind its bars, and what the marked one is."""
    for row, (place, _) in enumerate(view.shown):
        is_kept, before, after = view.kept[place], float(view.probs[place]), float(view.final[place])
        end = max(before, after if is_kept else 0.0, float(view.model[place]) if is_moved else 0.0)
        share = theme.plain(percent(after if is_kept else before))
        text = theme.bold(share) if is_kept else share
        if place == view.marked:
            text = f"{text}  ◂ {theme.plain(names['marked'])}"
        font = {"size": theme.SMALL, "color": theme.INK if is_kept else DROPPED}
        figure.add_annotation(x=end, y=row, text=text, font=font, showarrow=False, xanchor="left", xshift=5)
