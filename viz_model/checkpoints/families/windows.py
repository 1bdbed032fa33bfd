"""Windows of attention as config files spell them: a word for each layer, and one size for those that slide."""

from __future__ import annotations

from collections.abc import Sequence

from viz_model.checkpoints.families.attributes import Attributes
from viz_model.checkpoints.weights import ModelError

SLIDES, SEES_ALL = "sliding_attention", "full_attention"


def size(a: Attributes) -> int:
    """The window of layers that have one; ``null`` is none."""
    return 0 if a.is_null("sliding_window") else a.size("sliding_window", 4096)


def of_words(a: Attributes, kinds: Sequence[str], window: int) -> tuple[int, ...]:
    """For each layer its window, 0 for none; empty where no layer has one.

    Raises:
        ModelError: a word is unknown, or layers slide without a window.
    """
    sizes = {SEES_ALL: 0, SLIDES: window}
    if unknown := sorted(set(kinds) - set(sizes)):
        raise ModelError(f"{a.path}: layer_types: expected words out of {', '.join(sizes)}, got {unknown[0]!r}")
    if SLIDES in kinds and not window:
        raise ModelError(f"{a.path}: layer_types: sliding_attention, but no sliding_window is in use")
    return tuple(sizes[kind] for kind in kinds) if SLIDES in kinds else ()


def every(n_layers: int, window: int) -> tuple[int, ...]:
    """The same window in all layers."""
    return (window,) * n_layers if window else ()


def from_a_layer_on(a: Attributes, n_layers: int) -> tuple[int, ...]:
    """Qwen's way: without words, the layers from ``max_window_layers`` on slide where sliding is switched on."""
    kinds = a.words("layer_types")
    slides = a.flag("use_sliding_window", False)
    window = a.size("sliding_window", 4096, 0)
    first = a.size("max_window_layers", 28, 0)
    if kinds is None:
        if not slides:
            return ()
        kinds = [SLIDES if layer >= first else SEES_ALL for layer in range(n_layers)]
    return of_words(a, kinds, window if slides else 0)
