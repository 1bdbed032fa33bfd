"""What a visitor chooses on this page: the stop, and what they guess before it is shown."""

from dataclasses import replace
from typing import Any

from viz_model.app.choices import Choice, maybe, one_of, whole

STOPS = (
    "look",
    "pieces",
    "vectors",
    "places",
    "stream",
    "question",
    "shares",
    "taken",
    "heads",
    "source",
    "alone",
    "again",
    "out",
    "break",
    "learnt",
    "end",
)
"""In the order in which one walks; a model has those of its own stages."""

OF_PAGE = {
    "overview": "look",
    "tokens": "pieces",
    "embedding": "vectors",
    "position": "places",
    "attention": "question",
    "cross_attention": "source",
    "block": "alone",
    "attribution": "again",
    "next_token": "out",
    "ablations": "break",
    "training_lab": "learnt",
}
"""The first stop at the stage that a page is about: an address may name that page in the place of the stop."""

_STOP = one_of("stop", STOPS)
STOP = maybe(replace(_STOP, read=lambda text: _STOP.read(OF_PAGE.get(text, text))))
"""In every address of the walk, so that one that has none asks for something else."""

_MOST = 99_999
NEXT = maybe(whole("guess_next", 0, 0, _MOST))
KEY = maybe(whole("guess_key", 0, 0, _MOST))
SCALE = maybe(one_of("guess_scale", ("sharper", "flatter", "same")))
MOST = maybe(one_of("guess_most", ("yes", "no")))
BLOCK = maybe(whole("guess_block", 0, 0, _MOST))
PARTS = ("head", "attn", "ffn", "position", "mask", "scale", "norm")
"""What may be taken out of a run."""
HURTS = maybe(one_of("guess_hurts", PARTS))

GUESSES: dict[str, Choice[Any]] = {
    "look": NEXT,
    "question": KEY,
    "shares": SCALE,
    "taken": MOST,
    "again": BLOCK,
    "break": HURTS,
}
"""The stops at which one guesses first."""

ALL = (STOP, NEXT, KEY, SCALE, MOST, BLOCK, HURTS)
