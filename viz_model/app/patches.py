"""The positions of a model that reads pictures: [CLS], then patches row after row, with their names and pixels."""

from __future__ import annotations

import numpy as np

import viz_model as vm
from viz_model import images
from viz_model.app.texts import Texts
from viz_model.config import ModelConfig
from viz_model.drawing import picture


def grid(config: ModelConfig) -> tuple[int, int]:
    """Rows and columns of patches."""
    assert config.patches is not None
    return config.patches.rows, config.patches.columns


def is_drawn(config: ModelConfig) -> bool:
    """Whether a model reads what one draws: small grey pictures."""
    patches = config.patches
    return patches is not None and patches.channels == 1 and patches.height == patches.width <= 32


def pixels(trace: vm.Trace) -> np.ndarray:
    """The ink of the picture that was read: float32 [H, W], 0 to 1; of one in colours, its brightness."""
    levels = images.decode(trace.text or "").astype(np.float32) / 255
    return levels if levels.ndim == 2 else levels.mean(-1)


def of(trace: vm.Trace) -> np.ndarray:
    """The ink of each patch: float32 [N, h, w]."""
    return picture.patches(pixels(trace), grid(trace.config))


def thumbnails(trace: vm.Trace) -> np.ndarray:
    """The patches of all positions, blank for [CLS]: uint8 [T, h, w]."""
    cut = np.rint(255 * of(trace)).astype(np.uint8)
    return np.concatenate([np.zeros_like(cut[:1]), cut])


def name(config: ModelConfig, position: int, t: Texts) -> str:
    """A position in words."""
    if position == 0:
        return "[CLS]"
    row, column = divmod(position - 1, grid(config)[1])
    return t("common.patch_name", row=row + 1, column=column + 1)


def names(trace: vm.Trace, t: Texts) -> tuple[str, ...]:
    """All of them."""
    return tuple(name(trace.config, n, t) for n in range(len(trace)))


def fullest(trace: vm.Trace) -> int:
    """The position of the patch with most ink."""
    return 1 + int(of(trace).sum((1, 2)).argmax())
