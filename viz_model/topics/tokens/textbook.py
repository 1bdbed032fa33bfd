"""The textbook of a tutorial, then the text, in ``cl100k_base`` and in the model's own vocabulary."""

import functools
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np
import torch

from viz_model.claims import Claim, Verdict
from viz_model.drawing import stacked
from viz_model.drawing.scene import Run, Scene
from viz_model.drawing.stacked import Group, Part
from viz_model.island import say
from viz_model.island.look import Look
from viz_model.island.prose import Line
from viz_model.model.transformer import Transformer
from viz_model.texts.markdown import literal, table
from viz_model.tokenizers.text import spelled
from viz_model.tokenizers.tokenizer import Tokenizer, cl100k_base
from viz_model.topics.tokens import second

EXAMPLES = 5
"""Tokens that are named of those whose rows are alike."""


class Use(NamedTuple):
    """What a text uses of a vocabulary: its length, how many tokens differ, and the largest id (−1 of no token)."""

    characters: int
    tokens: int
    distinct: int
    largest: int

    @property
    def per_token(self) -> float:
        """Characters in a token."""
        return self.characters / max(1, self.tokens)

    @property
    def rows(self) -> int:
        """Rows of a table in which every id from 0 to the largest finds its own."""
        return self.largest + 1

    @property
    def share(self) -> float:
        """Of these rows, those that are ever looked up, and so ever learn anything."""
        return self.distinct / max(1, self.rows)

    def numbers(self, width: int) -> tuple[int, int]:
        """Numbers in a table of that width: with a row for every id, and with one for every distinct token."""
        return self.rows * width, self.distinct * width

    def written(self, width: int) -> dict[str, str]:
        """For prose and a table: all of these figures, for tables of that width."""
        full, compact = self.numbers(width)
        return {
            **{name: f"{value:,}" for name, value in self._asdict().items()},
            "per_token": f"{self.per_token:.2f}",
            "rows": f"{self.rows:,}",
            "share": f"{self.share:.2%}",
            "full": f"{full:,}",
            "compact": f"{compact:,}",
        }


TEXTBOOK = Use(characters=460_319, tokens=77_919, distinct=3_771, largest=100_069)
"""The sales textbook on which a tutorial trains its model, in ``cl100k_base``: counted on the original text.

Wayland Zhang, *Transformer Architecture*, step 2 (word embeddings).
"""
TEXTBOOK_WIDTH = 64
"""The width of that tutorial's embedding."""


def use(text: str, tokenizer: Tokenizer) -> Use:
    """The same four figures of any text, control tokens left out."""
    ids = tokenizer.encode(text, special=False)
    return Use(len(text), len(ids), len(set(ids)), max(ids, default=-1))


def _uses(look: Look) -> dict[tuple[str, str], Use]:
    """What texts use of vocabularies, by the names of both: the textbook, and what is written here."""
    cl100k, yours, text = cl100k_base(), look.words("corpus_yours"), second.text(look)
    book = {(look.words("corpus_book"), cl100k.name): TEXTBOOK}
    own = {(yours, one.name): use(text, one) for one in (cl100k, look.trace.tokenizer)}
    return book | {names: found for names, found in own.items() if found.tokens}


def facts(_: Look) -> dict[str, Any]:
    """What is said of the textbook."""
    last = cl100k_base().token(TEXTBOOK.largest)
    full, compact = TEXTBOOK.numbers(TEXTBOOK_WIDTH)
    return {
        **TEXTBOOK.written(TEXTBOOK_WIDTH),
        "short": f"{TEXTBOOK.largest:,}",
        "per": f"{TEXTBOOK.per_token:.2f}",
        "width": TEXTBOOK_WIDTH,
        "times": f"{full / compact:.1f}",
        "last": literal(last.label),
        "last_bytes": literal(spelled(last.bytes)),
    }


title = say.title("corpus")


def finding(look: Look) -> Iterator[Line]:
    yield Line(look.words("corpus_title", **facts(look)), "part")


def draw(look: Look) -> Scene:
    """A bar of all rows of each table, the part in color that is ever looked up."""
    return draw_use(look, _uses(look))


def draw_use(look: Look, uses: Mapping[tuple[str, str], Use]) -> Scene:
    parts = [Part(look.words("corpus_used"), "value"), Part(look.words("corpus_idle"), "token", 0.25)]
    shares = np.array([(one.share, 1 - one.share) for one in uses.values()])
    counts = [(one.distinct, one.rows - one.distinct) for one in uses.values()]
    said = [
        [f"{part.name}: {n:,} ({share:.3%})" for part, n, share in zip(parts, row, of, strict=True)]
        for row, of in zip(counts, shares.tolist(), strict=True)
    ]
    names = [tuple((Run(line),) for line in named) for named in uses]
    group = Group("", names, shares, said, [f"{one.share:.2%}" for one in uses.values()])
    return stacked.scene("tokens.use", look.words("corpus_alt"), parts, [group], look.words("corpus_axis"), row=52)


def numbers(look: Look) -> Iterator[Line]:
    uses = _uses(look)
    heads = [look.words("corpus_figure"), *(f"{text}, {literal(vocabulary)}" for text, vocabulary in uses)]
    told = [one.written(TEXTBOOK_WIDTH) for one in uses.values()]
    rows = ([look.words(f"corpus_{name}", width=TEXTBOOK_WIDTH), *(each[name] for each in told)] for name in told[0])
    yield Line(table(heads, rows))


def tell(look: Look) -> Iterator[Line]:
    known = facts(look)
    yield look.text("corpus", **known)
    yield tell_rows(look)
    yield look.text("corpus_slips", **known)


# What became of the rows of the model's own table

ALIKE = 0.99
"""The cosine from which on two rows point almost the same way."""
SAMPLED = 128
"""Rows that every row is compared with; the one that most are like is told of."""


class Rows(NamedTuple):
    """The V rows of a table.

    Attributes:
        n: V.
        alike: the ids of the rows that point almost the same way as one of them, itself among them.
        length: how long those are, on the median.
        lengths: the shortest of all rows, the median, and the longest.
        shared: whether the table is also the output layer.
    """

    n: int
    alike: tuple[int, ...]
    length: float
    lengths: tuple[float, float, float]
    shared: bool


ROWS: Verdict[Rows] = Verdict(
    "tokens.rows", Claim("alike", lambda table: table.shared and len(table.alike) > 0.01 * table.n)
)


@functools.lru_cache(maxsize=4)
@torch.inference_mode()
def rows(model: Transformer) -> Rows:
    """Of the table by which a model embeds tokens."""
    weight = model.embedding.weight
    lengths = weight.norm(dim=-1)
    units = weight / lengths[:, None].clamp(min=1e-12)
    is_alike = units[:: max(1, len(units) // SAMPLED)] @ units.T >= ALIKE  # [S, V]
    alike = is_alike[is_alike.sum(-1).argmax()].nonzero()[:, 0]
    ends = torch.stack([lengths.min(), lengths.median(), lengths.max()])
    return Rows(
        n=len(weight),
        alike=tuple(alike.tolist()),
        length=float(lengths[alike].median()) if len(alike) else 0.0,
        lengths=tuple(ends.tolist()),
        shared=model.config.tie_embeddings,
    )


def tell_rows(look: Look) -> Line:
    found, token = rows(look.trace.model), look.trace.tokenizer.token
    shortest, median, longest = (f"{length:.2f}" for length in found.lengths)
    said = ROWS.says(
        look.t.language,
        found,
        model=literal(look.trace.name or ""),
        n_rows=f"{found.n:,}",
        n_alike=f"{len(found.alike):,}",
        examples=" ".join(literal(token(id).label) for id in found.alike[-EXAMPLES:]),
        length=f"{found.length:.2f}",
        shortest=shortest,
        median=median,
        longest=longest,
    )
    return Line(said)
