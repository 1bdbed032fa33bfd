"""What may be said of two vocabularies on one text, of the joins of a word, and of the rows of a table."""

from __future__ import annotations

from collections.abc import Sequence

from viz_model.claims import Claim, Verdict
from viz_model.topics.tokens.numbers.rows import Rows

CUTS: Verdict[tuple[int, int]] = Verdict(
    "tokens.cuts", Claim("all", lambda counts: counts[0] == counts[1]), Claim("none", lambda counts: counts[0] == 0)
)
"""Of how many of a text's tokens the second vocabulary cuts alike, and how many there are."""

OTHER: Verdict[tuple[bool, int]] = Verdict(
    "tokens.other", Claim("same", lambda token: token[0]), Claim("cut", lambda token: token[1] > 0)
)
"""Of whether the second vocabulary cuts a token alike, and how many of its tokens hold bytes of it."""

JOINS: Verdict[Sequence[int | None]] = Verdict(
    "tokens.joins", Claim("next", lambda ranks: any(rank is not None for rank in ranks))
)
"""Of the ranks of all joins that a word's neighbours could make; None of those that are no entry."""

ROWS: Verdict[Rows] = Verdict(
    "tokens.rows", Claim("alike", lambda table: table.shared and len(table.alike) > 0.01 * table.n)
)
"""Of the rows of the table by which a model embeds its tokens."""
