"""The position page's body, one module for each place where a scheme acts."""

from __future__ import annotations

from collections.abc import Callable

from viz_model.config import Alibi, Learned, NoPosition, Rope, Sinusoidal, T5Bias
from viz_model.ui.parts.position import alibi, buckets, learned, nothing, rotation, schemes, waves
from viz_model.ui.stage import Stage

_PARTS: dict[type, tuple[str, Callable[[Stage], dict[str, str]]]] = {
    Sinusoidal: ("", waves.show),
    Learned: ("learned_", learned.show),
    Rope: ("rope_", rotation.show),
    Alibi: ("alibi_", alibi.show),
    T5Bias: ("t5_", buckets.show),
    NoPosition: ("none_", nothing.show),
}


def show(stage: Stage) -> None:
    """The model's own scheme in all parts of a page, then all schemes side by side, then the question."""
    prefix, part = _PARTS[type(stage.lm.config.position)]
    values = part(stage)
    schemes.show(stage)
    stage.question(f"{prefix}question", f"{prefix}answer", **values)
