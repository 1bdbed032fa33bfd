"""What may be said of a pair of functions: what the whole model says with the wrong one."""

from __future__ import annotations

from viz_model.claims import Claim, Verdict
from viz_model.topics.mistakes.numbers.results import Effect

EFFECT: Verdict[Effect] = Verdict(
    "mistakes.effect",
    Claim("lost", lambda effect: effect.before is not None and effect.is_lost),
    Claim(
        "same",
        lambda effect: effect.before is not None and effect.after is not None and effect.after[0] == effect.before[0],
    ),
    Claim("other", lambda effect: effect.before is not None),
)
