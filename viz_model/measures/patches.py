"""The positions of a picture: [CLS], where the model has it, then patches row after row, with names and pixels."""

import numpy as np

import viz_model as vm
from viz_model import images
from viz_model.config import ModelConfig
from viz_model.texts import Texts

DRAWN = 64
"""Pixels a side of a picture as it is drawn, at the most; but one for each patch, and all of one that a text holds."""


def grid(config: ModelConfig) -> tuple[int, int]:
    """Rows and columns of patches."""
    return config.patches.rows, config.patches.columns


def is_drawn(config: ModelConfig) -> bool:
    """Whether a model reads what one draws: gray pictures, square ones or strips of which one writes."""
    if not config.reads_pictures or config.patches.channels != 1:
        return False
    return config.transcribes or config.patches.height == config.patches.width


def of(trace: vm.Trace) -> np.ndarray:
    """The ink of the patch at each place, as far as an edit has left it there: float32 [N, h, w], 0 to 1.

    Of a picture in colors it is the brightness.
    """
    return (trace.patches.float().mean(-1) / 255).numpy()


def drawn(trace: vm.Trace) -> np.ndarray:
    """The same to be looked at: of a large picture, squares of pixels are one each, of their mean.

    Of a model that reads no drawings it is light and no ink, [N, h, w, 1] (:func:`viz_model.drawing.picture.ink`).
    """
    cut, given = of(trace), trace.config.patches
    side, longest = cut.shape[-1], max(grid(trace.config))
    most = DRAWN if images.held(given.height, given.width) != (given.height, given.width) else longest * side
    step = min(n for n in range(1, side + 1) if side % n == 0 and (n == side or longest * side // n <= most))
    means = cut.reshape(len(cut), side // step, step, side // step, step).mean((2, 4))
    return means if is_drawn(trace.config) else means[..., None]


def pixels(trace: vm.Trace) -> np.ndarray:
    """The picture that was read, put together from its patches as :func:`drawn` has them: [h, w] or [h, w, 1]."""
    rows, columns = grid(trace.config)
    cut = drawn(trace)
    _, height, width, *light = cut.shape
    whole = cut.reshape(rows, columns, height, width, *light).swapaxes(1, 2)
    return np.ascontiguousarray(whole.reshape(rows * height, columns * width, *light))


def thumbnails(trace: vm.Trace) -> np.ndarray:
    """The patches of all positions, blank for [CLS]: uint8 [T, h, w]."""
    cut = np.rint(255 * of(trace)).astype(np.uint8)
    return np.concatenate([np.zeros_like(cut[:1]), cut]) if trace.config.patches.cls else cut


def name(config: ModelConfig, position: int, t: Texts) -> str:
    """A position in words."""
    number = position - config.patches.cls
    if number < 0:
        return "[CLS]"
    row, column = divmod(number, grid(config)[1])
    return t("common.patch_name", row=row + 1, column=column + 1)


def names(trace: vm.Trace, t: Texts) -> tuple[str, ...]:
    """All of them."""
    return tuple(name(trace.config, n, t) for n in range(len(trace.ids)))


def fullest(trace: vm.Trace) -> int:
    """The position of the patch with most ink."""
    return trace.config.patches.cls + int(of(trace).sum((1, 2)).argmax())
