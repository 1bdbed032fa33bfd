"""Why a head looks there: a score as a sum over pairs of writers, one of the query's stream and one of the key's.

Of self-attention, part "attn", or of what a decoder reads of its source, part "cross".
"""

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from viz_model.drawing import chart, matrix
from viz_model.drawing.digits import written
from viz_model.drawing.scene import Scene
from viz_model.drawing.short_repr import short_repr
from viz_model.explain import scores
from viz_model.explain.scores import Row
from viz_model.explain.written import Part
from viz_model.island.look import Look
from viz_model.island.page import Chooser, Section, Typed, beside, columns
from viz_model.island.prose import Line
from viz_model.island.query import keys as names_of_keys
from viz_model.texts.markdown import literal

TOPIC = "why"
MOST_TERMS, MOST_WRITERS = 8, 12
"""Pairs that have a bar, and writers that have a row or a column; the rest is one more."""
EVEN = 0.005
"""Below this a difference of scores is written as 0.00."""
WRITING = frozenset({"token", "patch", "segment", "position", "head", "ffn", "distance"})
OPTIONS = (("key", Typed(pattern=r"\d{1,6}")), ("than", Typed(pattern=r"\d{1,6}")))


class Writer(NamedTuple):
    """A name, and what a click on it chooses: a head."""

    name: str
    leads: dict[str, int] | None = None


@short_repr
class Why(NamedTuple):
    """What sets a key apart for the selected query, from the mean of the keys that it sees or from another key.

    ``queries`` and ``keys`` are the writers, [A] and [B]; ``products`` [A, B] what each pair adds;
    ``bias`` what the places alone add. They sum to ``apart``, which is ``total``, the key's score, less ``other``.
    """

    queries: tuple[Writer, ...]
    keys: tuple[Writer, ...]
    products: np.ndarray
    bias: float | None
    total: float
    other: float

    @property
    def apart(self) -> float:
        return float(self.products.sum()) + (self.bias or 0.0)


class Asked(NamedTuple):
    """Which key is asked about, and which other it is compared with, None for the mean; and the row they stand in."""

    row: Row
    key: int
    than: int | None


def name(look: Look, part: Part) -> str:
    """A writer, as short as a picture has room for."""
    crossing = "_cross" if part.at == "cross" else ""
    return str(look.words(f"{TOPIC}.writer_{part.kind}{crossing}", layer=part.layer, head=part.head))


class About(NamedTuple):
    """The section for one of a block's attentions."""

    part: scores.At

    @property
    def section(self) -> Section:
        """With its place in an address."""
        chosen = columns((self.choose_key,), (self.choose_than,))
        items = (self.title, chosen, beside((self.draw,), self.tell), beside((self.cells,), self.tell_cells))
        return Section("why", items, ("key", "section=why"), needs=lambda look: len(names_of_keys(look, self.part)) > 1)

    def asked(self, look: Look) -> Asked:
        key = ("why", self.part, look.layer, look.head, look.token)
        where: Any = {"layer": look.layer, "head": look.head, "attention": self.part}
        known = look.once(lambda look: scores.sides(look.trace, **where), key[:-1])
        row = look.once(lambda look: scores.row(look.trace, **where, query=look.token, known=known), key)
        seen = np.flatnonzero(row.visible)
        chosen, other = (self._chosen(look, row, option) for option in ("key", "than"))
        if chosen is None:
            weights = look.trace.row(look.site(f"{self.part}.pattern"), look.token, look.head)
            chosen = int(seen[weights.numpy()[seen].argmax()])
        return Asked(row, chosen, None if other == chosen else other)

    def _chosen(self, look: Look, row: Row, option: str) -> int | None:
        said = str(look.options.get(option) or "")
        return int(said) if said.isdecimal() and int(said) < len(row.visible) and row.visible[int(said)] else None

    def why(self, look: Look) -> Why:
        """The sum, with all that is the same in every text as one writer."""
        row, key, than = self.asked(look)
        other = row.means if than is None else row.products[..., than]
        products, bias, mean = row.products[..., key] - other, None, float(row.scores[row.visible].mean())
        if row.bias is not None:
            added = row.bias[1]
            bias = float(added[key] - (added[row.visible].mean() if than is None else added[than]))
        queries, rows = _grouped(look, row.queries)
        keys, of_keys = _grouped(look, row.keys)
        beside_it = mean if than is None else float(row.scores[than])
        return Why(queries, keys, rows @ products @ of_keys.T, bias, float(row.scores[key]), beside_it)

    def facts(self, look: Look) -> dict[str, Any]:
        (row, key, than), found = self.asked(look), self.why(look)
        names = names_of_keys(look, self.part)
        values = np.append(found.products.ravel(), [] if found.bias is None else [found.bias])
        up = np.sort(values[values > 0])[::-1]
        return {
            "query": look.code_name(look.token),
            "key": literal(names[key]),
            "than": "" if than is None else literal(names[than]),
            "layer": look.layer,
            "head": look.head,
            "total": written(found.total, "2"),
            "other": written(found.other, "2"),
            "apart": written(found.total - found.other, "+2"),
            "n": len(values),
            "n_half": 1 + int(np.searchsorted(np.cumsum(up), 0.5 * up.sum())) if len(up) else 0,
            "n_seen": int(row.visible.sum()),
            "error": written(abs(found.apart - (found.total - found.other)), "g2"),
        }

    # Items.

    def title(self, look: Look) -> Iterator[Line]:
        than = self.asked(look).than
        yield look.of(TOPIC).title("title" if than is None else "title_than", **self.facts(look))

    def choose_key(self, look: Look) -> Chooser:
        found, words = self.asked(look), look.of(TOPIC).words
        return Chooser(
            "key", self._seen(look), words("key"), words("key_help"), str(found.key), asks=True, is_list=True
        )

    def choose_than(self, look: Look) -> Chooser:
        words, mean = look.of(TOPIC).words, {"": look.of(TOPIC).words("mean")}
        return Chooser("than", mean | self._seen(look), words("than"), words("than_help"), asks=True, is_list=True)

    def _seen(self, look: Look) -> dict[str, str]:
        names = names_of_keys(look, self.part)
        return {str(n): f"{n} {names[n]}" for n in np.flatnonzero(self.asked(look).row.visible)}

    def draw(self, look: Look) -> Scene:
        """The largest terms as bars; a click on one leads to the head that wrote it."""
        found, words = self.why(look), look.of(TOPIC).words
        terms: list[tuple[float, str, Any]] = [
            (value, f"{query.name} × {key.name}", key.leads or query.leads)
            for query, line in zip(found.queries, found.products.tolist(), strict=True)
            for key, value in zip(found.keys, line, strict=True)
        ]
        terms += [] if found.bias is None else [(found.bias, words("distance"), None)]
        terms.sort(key=lambda term: -abs(term[0]))
        shown, rest = terms[:MOST_TERMS], terms[MOST_TERMS:]
        shown += [(sum(value for value, *_ in rest), words("rest", n=len(rest)), None)] if rest else []
        values, names, leads = zip(*shown, strict=True)
        fill = ["positive" if value > 0 else "negative" for value in values[:MOST_TERMS]] + ["residual"] * bool(rest)
        bars = chart.Bars("", np.array(values), "output", "{{name}} {{value}}", "+2", fill=fill, picks=leads)
        scale = chart.axis(np.array(values), title=words("axis"), room=0.05)
        alt = words("terms_alt", **self.facts(look))
        scene = chart.bars("why.terms", alt, names, [bars], scale, row=27, most_name=44)
        return self._here(look, scene, found)

    def cells(self, look: Look) -> Scene:
        """Writers of the query's stream downwards, of the key's to the right."""
        found, words = self.why(look), look.of(TOPIC).words
        rows, products = _largest(found.queries, found.products, words("others"))
        heads, products = _largest(found.keys, products.T, words("others"))
        values = products.T.astype(np.float32)
        scene = matrix.scene(
            "why.writers", words("cells_alt", **self.facts(look)), values, rows, heads, frames=False,
            axes=(words("of_query"), words("of_key")), look="signed", role="output",
            top=max(float(np.abs(values).max()), 1e-6), height=110 + 27 * len(rows),
        )  # fmt: skip
        return self._here(look, scene, found)

    def _here(self, look: Look, scene: Scene, found: Why) -> Scene:
        return look.drawn(look.only_here(scene, head=True, token=True), [f"{self.part}.scores"], data=found)

    def tell(self, look: Look) -> Iterator[Line]:
        found, than = self.why(look), self.asked(look).than
        said = "tell_even" if abs(found.total - found.other) < EVEN else "tell"
        yield look.of(TOPIC).text(said if than is None else f"{said}_than", **self.facts(look))
        if found.bias is not None:
            yield look.of(TOPIC).text("distance")

    def tell_cells(self, look: Look) -> Iterator[Line]:
        yield look.of(TOPIC).text("cells")


def _grouped(look: Look, parts: Sequence[Part]) -> tuple[tuple[Writer, ...], np.ndarray]:
    """The writers, what is the same in every text as the last; and which parts each is of: [W, P]."""
    own = [n for n, part in enumerate(parts) if part.kind in WRITING]
    sums = np.zeros((len(own) + 1, len(parts)))
    sums[np.arange(len(own)), own] = 1
    sums[-1] = 1 - sums[:-1].sum(0)
    writers = [Writer(name(look, parts[n]), _leads(parts[n])) for n in own]
    if not sums[-1].any():
        return tuple(writers), sums[:-1]
    return (*writers, Writer(str(look.words(f"{TOPIC}.biases")))), sums


def _leads(part: Part) -> dict[str, int] | None:
    return None if part.layer is None or part.head is None else {"layer": part.layer, "head": part.head}


def _largest(writers: Sequence[Writer], products: np.ndarray, others: str) -> tuple[list[str], np.ndarray]:
    """The rows with the largest numbers in their order, and one more for all others together."""
    names = [writer.name for writer in writers]
    if len(names) <= MOST_WRITERS + 1:
        return names, products
    kept = np.sort(np.argsort(-np.abs(products).max(1), kind="stable")[:MOST_WRITERS])
    rest = np.delete(products, kept, 0).sum(0, keepdims=True)
    return [names[n] for n in kept] + [others], np.concatenate([products[kept], rest])
