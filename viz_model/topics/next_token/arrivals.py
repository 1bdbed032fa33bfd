"""What was expected of every token of a text, against the token that stands there."""

import math
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from viz_model.claims import Claim, Verdict, exceeds
from viz_model.drawing import chart, theme
from viz_model.drawing.cells import BESIDE, COLUMN, span_of
from viz_model.drawing.cells import Cells as Where
from viz_model.drawing.digits import percent
from viz_model.drawing.scene import Cells, Items, Panel, Rect, Scene, Series, Text
from viz_model.drawing.scene.writing import width_of
from viz_model.drawing.spans import around
from viz_model.drawing.tables import by
from viz_model.island.look import Look
from viz_model.island.prose import Line
from viz_model.measures import covering
from viz_model.measures.covering import GUESSES, Covered
from viz_model.runs.trace import Trace
from viz_model.texts.markdown import literal
from viz_model.tokenizers.tokenizer import Tokenizer

MOST_ARRIVED = 160
"""Tokens of a text whose surprise is drawn at the most; the numbers have all of them."""
STRIP, BELOW = 46.0, 250.0
"""Pixels of a row of cells, and of the bars with the names below them."""


class Surprise(NamedTuple):
    """The mean surprise of a text's tokens, in bits, and how many tokens there are to expect."""

    bits: float
    n_vocab: int

    @property
    def blind(self) -> float:
        """Bits of surprise at every token, where all are held equally likely."""
        return math.log2(self.n_vocab)


EVEN: Verdict[Surprise] = Verdict(
    "next_token.even", Claim("worse", lambda surprise: exceeds(surprise.bits, surprise.blind, 2))
)


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

    def near(self, position: int) -> "ArrivalsView":
        """Of a long text some tokens around a position."""
        if len(self.labels) <= MOST_ARRIVED:
            return self
        shown = around(int(np.abs(self.positions - position).argmin()), len(self.labels), MOST_ARRIVED)
        parts = {name: value[shown] for name, value in self._asdict().items() if value is not None}
        return self._replace(**parts)

    def facts(self) -> dict[str, str]:
        """For prose."""
        hardest = int(self.bits.argmax())
        mean = float(self.bits.mean())
        return {
            "n": str(len(self.labels)),
            "first": str(int((self.ranks == 1).sum())),
            "bits": f"{mean:.2f}",
            "nats": f"{mean * np.log(2):.2f}",
            "hardest": literal(self.labels[hardest]),
            "hardest_rank": f"{self.ranks[hardest]:,}",
            "hardest_p": percent(float(self.probs[hardest])),
            "start": str(self.positions[0]),
            "last": str(self.positions[-1]),
        }


def following(trace: Trace) -> ArrivalsView:
    """Each of the T − 1 tokens after the first, as the position before it expected it."""
    tokens = trace.tokens
    came = np.array([token.id for token in tokens[1:]], dtype=np.int64)
    found, start = [], 0
    for logits in trace.chunks("logits", 32):  # of a large vocabulary all rows at once are a lot of memory
        next_ones = came[start : start + len(logits)]
        start += len(logits)
        logits = logits[: len(next_ones)]  # nothing has come after the last token
        own = logits[np.arange(len(next_ones)), next_ones][:, None]
        best = logits.topk(min(GUESSES, logits.shape[-1]))
        rank = 1 + (logits > own).sum(-1)
        found.append((own[:, 0], logits.double().logsumexp(-1), best.values, best.indices, rank))
    own_logits, total, values, ids, ranks = (np.concatenate(parts) for parts in zip(*found, strict=True))
    shares = np.exp(values.astype(np.float64) - total[:, None])
    nats = np.maximum(0.0, total - own_logits.astype(np.float64))
    return ArrivalsView(
        positions=np.arange(len(came)) + 1,
        labels=tuple(token.label for token in tokens[1:]),
        probs=np.exp(-nats),
        bits=nats / np.log(2),
        ranks=ranks,
        guesses=_named(trace.tokenizer, ids, shares),
        before=tuple(token.label for token in tokens[:-1]),
        ids=span_of(came),
    )


def in_place(trace: Trace, found: Covered) -> ArrivalsView:
    """Tokens of a text that were covered one at a time."""
    return ArrivalsView(
        positions=found.positions,
        labels=tuple(trace.tokens[position].label for position in found.positions),
        probs=np.exp(-found.nats),
        bits=found.nats / np.log(2),
        ranks=found.ranks,
        guesses=_named(trace.tokenizer, found.guesses, found.guess_probs),
        visible=found.visible,
    )


def _named(tokenizer: Tokenizer, ids: np.ndarray, probs: np.ndarray) -> tuple[tuple[tuple[str, float], ...], ...]:
    """Ids and probabilities [n, k] as labels and probabilities."""
    return tuple(
        tuple((tokenizer.token(int(id)).label, float(p)) for id, p in zip(*row, strict=True))
        for row in zip(ids, probs, strict=True)
    )


def view(look: Look) -> ArrivalsView | None:
    """Of a decoder each token as the one before it expected it; of an encoder each token covered alone."""
    trace = look.trace
    if look.config.kind != "encoder":
        trace = trace.at("decoder")
        return look.once(lambda _: following(trace), "arrivals") if len(trace) > 1 else None
    if trace.tokenizer.mask_id is None:
        return None
    mask_id, part = trace.tokenizer.mask_id, covering.part(trace, look.token)
    found = look.once(lambda _: covering.cover(trace, part, mask_id), ("covered", part))
    return in_place(trace, found) if len(found.positions) else None


def before(look: Look) -> Iterator[Line]:
    """Why there is nothing to draw, or nothing to draw on."""
    if look.config.kind == "encoder":
        yield Line(look.words("no_drawing"), "notice")
    elif len(look.trace.at("decoder")) == 1:
        has_source = len(look.config.sides) > 1
        start = literal(look.trace.at("decoder").tokens[0].label)
        yield Line(look.words("one_token_target" if has_source else "one_token", start=start), "notice")


def title(look: Look) -> Iterator[Line]:
    if found := view(look):
        yield look.title("arrivals_title", **found.facts())
        if look.config.kind != "encoder":
            yield look.text("arrivals_target" if len(look.config.sides) > 1 else "arrivals_text")


def tell(look: Look) -> Iterator[Line]:
    if (found := view(look)) is None:
        return
    surprise = Surprise(float(found.bits.mean()), look.config.n_vocab)
    # A run without norms may be wrong by more than any number holds.
    even = {"even": f"{2 ** min(surprise.bits, surprise.blind):,.1f}", "n_vocab": f"{surprise.n_vocab:,}"}
    kind = "perplexity_covered" if look.config.kind == "encoder" else "perplexity"
    even["perplexity"] = str(look.of("next_token").words(kind))
    said = EVEN.says(look.t.language, surprise, **even, blind=f"{surprise.blind:.2f}")
    yield look.text("arrivals", **found.facts(), even=said)
    if look.config.kind != "encoder":
        return
    n_written, part = len(covering.written(look.trace)), covering.part(look.trace, look.token)
    if len(part) < n_written:
        yield look.text("part", **found.facts(), n_written=n_written)
    if look.trace.tokenizer.mask_id in look.trace.ids[part.start : part.stop]:
        yield look.text("left_out", mask=literal(look.trace.tokenizer.token(look.trace.tokenizer.mask_id or 0).label))


def draw(look: Look) -> Scene | None:
    """A strip of the probabilities that the tokens which came had had, and their surprise as bars."""
    if (whole := view(look)) is None:
        return None
    words, is_encoder = look.words, look.config.kind == "encoder"
    follows = is_encoder or look.trace.side != "encoder"  # what is selected in the source stands nowhere here
    shift = 0 if is_encoder else 1
    found = whole.near(look.token + shift if follows else int(whole.positions[-1]))
    n, bits = len(found.labels), chart.axis(found.bits, title=words("arrivals_bits"))
    strips = {"visible": found.visible} if found.visible is not None else {}
    strips["probability"] = found.probs
    names = {name: str(words(f"arrivals_{name}")) for name in strips}
    left = min(140.0, max(map(width_of, names.values())) + 14)
    on, marks = chart.plot(chart.places(n), bits, BELOW, x_names=found.labels, left=left)
    where = (
        Where("probs", (COLUMN, BESIDE), columns=span_of(found.positions - 1), beside=found.ids) if found.ids else None
    )
    if where is not None:
        where = where._replace(site=look.trace.at("decoder").full_name("probs"))
    at = [f"{position}: {label}" for position, label in zip(found.positions, found.labels, strict=True)]
    top = STRIP * len(strips)
    on = on._replace(top=on.top + top, bottom=on.bottom + top)
    marks = chart.lower(marks, top)
    for k, (name, probs) in enumerate(strips.items()):
        y, said = 4 + k * STRIP, _said(look, found, names[name], probs)
        place: dict[str, Any] = {"x": on.left, "y": y, "width": on.across, "height": STRIP - 4}
        marks.append(
            Cells(id=f"cells.{name}", values=probs[None].astype(np.float32), look="share", role="output", gap=1,
                labels=said, name=names[name], rows=(names[name],), columns=at, written=True,
                where=where if name == "probability" else None, **place)
        )  # fmt: skip
        marks.append(Rect(id=f"frame.{name}", stroke="muted", **place))
        marks.append(Text(id=f"name.{name}", text=names[name], x=on.left - 8, y=y + STRIP / 2 - 2, anchor="end"))
    box: dict[str, Any] = {"x": on.places_x(np.arange(n) - 0.4), "width": on.wide(0.8 / n, n)}
    box |= {"y": on.at_y(found.bits), "height": on.tall(found.bits)}
    fill = [theme.token(int(position)) for position in found.positions]
    said = _said(look, found, names["probability"], found.probs)
    marks.append(Items(id="bits", fill=fill, labels=said, name=str(bits.title), where=where, **box))
    if follows:
        columns = {int(position): column for column, position in enumerate(found.positions)}
        spots = np.array([columns.get(token + shift, -1) for token in range(len(look))])
        first: Any = on.at_x(by("token", spots - 0.5))
        width: Any = (1 / n, on.across[1] / n)
        present: Any = by("token", [bool(one) for one in spots >= 0])
        marks.append(
            Rect(id="chosen", x=first, y=2, width=width, height=on.bottom, stroke="accent", thick=2, present=present)
        )
    series = [Series(name, at, strips[key]) for key, name in names.items()] + [Series(str(bits.title), at, found.bits)]
    panel = Panel(id="arrivals", marks=marks, height=BELOW + top)
    note = ""
    if n < len(whole.labels):
        last = int(whole.positions[-1]) + 1
        note = look.common("tokens_part", first=int(found.positions[0]), last=int(found.positions[-1]), n=last)
    scene = Scene(id=f"{look.topic}.arrivals", panels=[panel], title=words("arrivals_alt"), note=note, series=series)
    is_part = n < len(whole.labels) or (is_encoder and len(whole.labels) < len(covering.written(look.trace)))
    return look.drawn(look.only_here(scene, token=True) if is_part else scene)


def _said(look: Look, found: ArrivalsView, name: str, probs: np.ndarray) -> list[str]:
    """Of each token: which it is, its probability, its rank, and what was expected most."""
    lines = []
    for n, (position, label) in enumerate(zip(found.positions, found.labels, strict=True)):
        asked = "" if found.before is None else f"{found.before[n]} → "
        guesses = [f"{guess}  {percent(p)}" for guess, p in found.guesses[n]]
        rank = f"{look.words('arrivals_rank')} {found.ranks[n]:,}"
        told = (f"{asked}{position}: {label}", f"{name} {percent(float(probs[n]))}", rank)
        lines.append("\n".join((*told, f"{look.words('arrivals_guesses')}:", *guesses)))
    return lines


def records(look: Look) -> dict[str, Sequence[object]]:
    """Every position as columns of a table."""
    if (found := view(look)) is None:
        return {}
    first = [guesses[0] for guesses in found.guesses]
    columns: dict[str, Sequence[object]] = {} if found.before is None else {"before": found.before}
    columns |= {"came": found.labels, "probability": found.probs.tolist(), "rank": found.ranks.tolist()}
    columns |= {"bits": found.bits.tolist(), "guess": [name for name, _ in first]}
    columns["guess_probability"] = [p for _, p in first]
    if found.visible is not None:
        columns["visible"] = found.visible.tolist()
    words = look.of("next_token").words
    return {str(words(f"column_{name}")): column for name, column in columns.items()}
