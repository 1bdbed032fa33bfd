"""The question of schemes that turn pairs: how many of them complete a turn?"""

from __future__ import annotations

from viz_model.app.elements import Answer, Guess
from viz_model.app.page import Page
from viz_model.topics.position.numbers import Turns


def guess(page: Page, turns: Turns) -> Guess | None:
    """None where there are too few pairs to guess among."""
    quarters = {n * turns.pairs // 4 for n in range(5)}
    # None so near to the right number that the difference is a matter of luck.
    options = sorted({n for n in quarters if abs(n - turns.turning) > turns.pairs / 8} | {turns.turning})
    if len(options) < 2:
        return None
    said = page.words("guess_turns_found", n=turns.turning, pairs=turns.pairs, slowest=f"{turns.slowest:.2g}")
    asked = page.words("guess_turns", pairs=turns.pairs, context=page.lm.config.n_context)
    return Guess(asked, {str(n): str(n) for n in options}, lambda: Answer(str(turns.turning), said))
