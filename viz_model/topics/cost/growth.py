"""How a count grows with the length of the text: a polynomial in it, whatever a part declares."""

import functools
import itertools
import math
from collections.abc import Callable
from fractions import Fraction

import numpy as np

HIGHEST = 4
"""The highest power that is looked for: a sum over positions within each pair makes the third."""


class Growth:
    """A count of multiplications for texts of T = 0, 1, 2 … tokens, a polynomial in T with the ``powers`` [5] of it.

    Scores cost T², what is done for each token T. A value that is no position's own costs the same for any text.
    """

    def __init__(self, count: Callable[[int], int]) -> None:
        row = [count(length) for length in range(HIGHEST + 1)]
        self._differences = []
        while row:  # Newton's form: Σ over k of the k-th difference at 0, times T over k
            self._differences.append(row[0])
            row = [after - before for before, after in itertools.pairwise(row)]
        self.powers = self._powers()

    def _powers(self) -> tuple[Fraction, ...]:
        found, falling = [Fraction(0)] * (HIGHEST + 1), [Fraction(1)]  # T·(T − 1) … (T − k + 1) / k!, by power
        for k, difference in enumerate(self._differences):
            found = [a + difference * b for a, b in zip(found, [*falling, *[Fraction(0)] * HIGHEST], strict=False)]
            shifted, same = [Fraction(0), *falling], [*falling, Fraction(0)]
            falling = [(a - k * b) / (k + 1) for a, b in zip(shifted, same, strict=True)]
        return tuple(found)

    def __call__(self, length: int) -> int:
        return sum(difference * math.comb(length, k) for k, difference in enumerate(self._differences))

    def added_up(self, length: int) -> int:
        """The counts of texts of 1, 2 … ``length`` tokens together."""
        sums = sum(difference * math.comb(length + 1, k + 1) for k, difference in enumerate(self._differences))
        return sums - self._differences[0]

    @functools.cached_property
    def alone(self) -> "Growth":
        """Of a single query, or of a token, in a text of T: each power less by one."""
        return Growth(lambda length: int(sum(power * length ** max(n - 1, 0) for n, power in enumerate(self.powers))))

    def masked(self, length: int, window: int, *, two_way: bool) -> int:
        """Had every key that a query does not see been left out; a window of 0 is none."""
        seen = min(window or length, length)
        if not two_way:
            return self.alone.added_up(seen) + (length - seen) * self.alone(seen)
        back = np.minimum(np.arange(1, length + 1), seen)
        sizes, times = np.unique(back + back[::-1] - 1, return_counts=True)
        return sum(self.alone(int(size)) * int(n) for size, n in zip(sizes, times, strict=True))

    def passes(self, other: "Growth") -> float:
        """The length from which on it is more than ``other``; 0 where it always is, infinity where it never is."""
        gap = [float(a - b) for a, b in zip(self.powers, other.powers, strict=True)]
        while gap and not gap[0]:
            gap.pop(0)  # divided by T
        while gap and not gap[-1]:
            gap.pop()
        if not gap or gap[-1] < 0:
            return math.inf
        if len(gap) == 2:
            return max(-gap[0] / gap[1], 0.0)
        roots = np.roots(gap[::-1])
        found = roots.real[(abs(roots.imag) < 1e-9 * abs(roots)) & (roots.real > 0)]
        return float(found.max(initial=0.0))

    def latex(self) -> str:
        """As a sum of powers of T, the highest first."""
        names = ("", r"\,T", *(rf"\,T^{n}" for n in range(2, HIGHEST + 1)))
        terms = [f"{int(c):,}".replace(",", "{,}") + name for c, name in zip(self.powers, names, strict=True) if c]
        return " + ".join(reversed(terms)) or "0"
