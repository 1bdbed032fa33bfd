"""Pictures to train a classifier on: read from a file of arrays, a part kept out, each turned and shifted a little."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn import functional as F

from viz_model.tokenizers.patches import PatchTokenizer
from viz_model.training.batches import Batch, Batches
from viz_model.training.recipe import Classes, Recipe
from viz_model.training.sources import PICTURES, CorpusError, PictureSource, split

VALIDATION, TEST = "validation", "test"
ROWS = 125
"""Pictures of a batch that is only measured."""
KEYS = ("x_train", "y_train", "x_test", "y_test")


@dataclass(frozen=True)
class Labeled:
    """Pictures with their classes: levels [N, H, W, C], uint8, and the number of each one's class [N]."""

    levels: NDArray[np.uint8]
    classes: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.classes)

    def __getitem__(self, which: NDArray[np.int64] | slice | list[int]) -> Labeled:
        return Labeled(self.levels[which], self.classes[which])


@dataclass(frozen=True)
class Splits:
    """The pictures of a source: to train on, kept out of those, and the source's own test."""

    train: Labeled
    validation: Labeled
    test: Labeled

    @classmethod
    def prepare(cls, folder: Path, name: str, seed: int) -> Splits:
        """Read the file of the source called ``name``. What is kept out depends on the seed alone.

        Raises:
            CorpusError: no such source or file, or it holds something else.
        """
        source = next((source for source in PICTURES if source.name == name), None)
        if source is None:
            known = ", ".join(source.name for source in PICTURES)
            raise CorpusError(f"objective: source: expected one of {known}, got {name!r}")
        return cls.of(*_read(folder / source.file, source), seed)

    @classmethod
    def of(cls, train: Labeled, test: Labeled, seed: int) -> Splits:
        """Of pictures in memory."""
        kept, out = split(range(len(train)), seed)
        return cls(train[kept], train[out], test)


def _read(path: Path, source: PictureSource) -> tuple[Labeled, Labeled]:
    try:
        with np.load(path, allow_pickle=False) as arrays:
            found: dict[str, NDArray[Any]] = {key: arrays[key] for key in KEYS}
    except FileNotFoundError:
        raise CorpusError(f"{path}: no such file") from None
    except (OSError, KeyError, ValueError) as error:
        raise CorpusError(f"{path}: expected the arrays {', '.join(KEYS)}: {error}") from None
    parts = []
    for part in ("train", "test"):
        x, y = found[f"x_{part}"], found[f"y_{part}"]
        if x.dtype != np.uint8 or x.ndim not in (3, 4) or y.shape != x.shape[:1] or len(x) < 2:
            raise CorpusError(f"{path}: x_{part}: expected uint8 [N, H, W] and a class for each, got {list(x.shape)}")
        if y.dtype.kind not in "iu" or not 0 <= y.min() <= y.max() < len(source.labels):
            raise CorpusError(f"{path}: y_{part}: expected whole numbers from 0 to {len(source.labels) - 1}")
        parts.append(Labeled(x.reshape(*x.shape[:3], -1), y.astype(np.int64)))
    return parts[0], parts[1]


class Pictures(Batches):
    """Pictures of equal size, each with a class; those to train on are warped anew in every step.

    ``languages`` are here the parts that are measured: what was kept out of the training pictures. The test
    is not among them, so that no step and no choice sees it: :meth:`test`.

    Raises:
        CorpusError: the pictures are of another size, there are classes that the model lacks, or too few for a step.
    """

    def __init__(self, splits: Splits, objective: Classes, recipe: Recipe) -> None:
        given, classes = recipe.config.patches, recipe.config.classes
        self.tokenizer, self.languages = PatchTokenizer(given), (VALIDATION,)
        self._splits, self._objective, self._seed = splits, objective, recipe.seed
        expected = (given.height, given.width, given.channels)
        for part in (splits.train, splits.validation, splits.test):
            if part.levels.shape[1:] != expected:
                raise CorpusError(f"pictures of {part.levels.shape[1:]}, and the model reads {expected}")
            if part.classes.max() >= len(classes):
                raise CorpusError(f"class {part.classes.max()}: the model has {len(classes)}")
        if len(splits.train) < objective.pictures:
            raise CorpusError(f"{len(splits.train)} pictures are too few for steps of {objective.pictures}")

    def step(self, step: int) -> Batch:
        """Every epoch visits all pictures once, in a random order."""
        size, train = self._objective.pictures, self._splits.train
        epoch, within = divmod(step, len(train) // size)
        order: NDArray[np.int64] = np.random.default_rng((self._seed, epoch)).permutation(len(train))
        chosen = train[order[within * size : (within + 1) * size]]
        levels = torch.from_numpy(chosen.levels).float()
        return self._batch(warped(levels, self._objective, (self._seed, 1, step)), chosen.classes)

    def held_out(self, language: str) -> Iterator[Batch]:
        return self._whole(self._splits.validation)

    def test(self) -> Iterator[Batch]:
        """The source's own test, whole, as it is."""
        return self._whole(self._splits.test)

    @property
    def splits(self) -> Splits:
        return self._splits

    def _whole(self, part: Labeled) -> Iterator[Batch]:
        for first in range(0, len(part), ROWS):
            some = part[first : first + ROWS]
            yield self._batch(torch.from_numpy(some.levels), some.classes)

    def _batch(self, levels: Tensor, classes: NDArray[np.int64]) -> Batch:
        ids = torch.arange(self.tokenizer.n_vocab).expand(len(classes), -1)
        return Batch(ids=ids, answers=torch.from_numpy(classes), pixels=levels)


def warped(levels: Tensor, objective: Classes, seed: tuple[int, ...]) -> Tensor:
    """Levels [B, H, W, C], each turned, scaled, slanted and shifted by amounts of its own; what comes in is 0."""
    rng = np.random.default_rng(seed)
    n, height, width, _ = levels.shape

    def drawn(most: float) -> Tensor:
        return torch.from_numpy(rng.uniform(-most, most, n)).float()

    angle, slant = drawn(math.radians(objective.turn)), drawn(objective.slant)
    scale = 1 + drawn(objective.scale)
    x, y = drawn(2 * objective.shift / width), drawn(2 * objective.shift / height)
    sin, cos = angle.sin() / scale, angle.cos() / scale
    rows = torch.stack((cos, slant - sin, x, sin, cos, y), dim=-1).view(n, 2, 3)  # where each pixel is read
    grid = F.affine_grid(rows, [n, 1, height, width], align_corners=False)
    moved = F.grid_sample(levels.permute(0, 3, 1, 2), grid, align_corners=False)
    return moved.permute(0, 2, 3, 1)
