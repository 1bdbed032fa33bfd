"""The position page's body, one module for each place where a scheme acts."""

from __future__ import annotations

from collections.abc import Callable

from viz_model.app.stage import Stage, show
from viz_model.config import Alibi, Learned, NoPosition, Rope, Sinusoidal, T5Bias
from viz_model.topics.position.sections import alibi, buckets, learned, nothing, rotation, schemes, waves

_PARTS: dict[type, tuple[str, Callable[[Stage], dict[str, str]]]] = {
    Sinusoidal: ("", waves.show),
    Learned: ("learned_", learned.show),
    Rope: ("rope_", rotation.show),
    Alibi: ("alibi_", alibi.show),
    T5Bias: ("t5_", buckets.show),
    NoPosition: ("none_", nothing.show),
}


def draw(stage: Stage) -> None:
    """The model's own scheme in all parts of a page, then all schemes side by side, then the question."""
    prefix, part = _PARTS[type(stage.lm.config.position)]
    values = part(stage)
    schemes.show(stage)
    stage.question(f"{prefix}question", f"{prefix}answer", **values)


def run() -> None:
    """Open the page."""
    show("position", draw)
