"""What layers are as config files spell it: a word for each, of its attention, its window, or what stands there."""

from collections.abc import Callable, Sequence

from viz_model.checkpoints.families.attributes import Attributes
from viz_model.checkpoints.weights import ModelError
from viz_model.config import Attending, Mixer

SLIDES, SEES_ALL = "sliding_attention", "full_attention"


def size(a: Attributes) -> int:
    """The window of layers that have one; ``null`` is none."""
    return 0 if a.is_null("sliding_window") else a.size("sliding_window", 4096)


def words(a: Attributes, n_layers: int, slides: Callable[[int], bool]) -> list[str]:
    """A word for each layer: as listed, or by its number."""
    listed = a.words("layer_types")
    return listed or [SLIDES if slides(layer) else SEES_ALL for layer in range(n_layers)]


def every_other(layer: int) -> bool:
    """The first, the third, …"""
    return layer % 2 == 0


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


def mixers(a: Attributes, kinds: Sequence[str], word: str, other: Mixer) -> tuple[Mixer, ...]:
    """What carries from token to token in each layer: ``other`` where ``word`` stands, or else attention.

    Raises:
        ModelError: a word is unknown.
    """
    if unknown := sorted(set(kinds) - {word, SEES_ALL}):
        raise ModelError(f"{a.path}: layer_types: expected {word} or {SEES_ALL}, got {unknown[0]!r}")
    return tuple(other if kind == word else Attending() for kind in kinds)


def every(n_layers: int, window: int) -> tuple[int, ...]:
    """The same window in all layers."""
    return (window,) * n_layers if window else ()


def from_a_layer_on(a: Attributes, n_layers: int) -> tuple[int, ...]:
    """Qwen's way: without words, the layers from ``max_window_layers`` on slide where sliding is switched on."""
    slides, window = a.flag("use_sliding_window", False), a.size("sliding_window", 4096, 0)
    first = a.size("max_window_layers", 28, 0)
    return of_words(a, words(a, n_layers, lambda layer: slides and layer >= first), window if slides else 0)
