"""Strips of a few handwritten digits and what they say, put together anew in every step from a source's digits."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn import functional as F

from viz_model.config import Patches
from viz_model.tokenizers.numerals import NumeralTokenizer
from viz_model.training.batches import IGNORED, Batch, Batches
from viz_model.training.pictures import Labeled, Splits
from viz_model.training.recipe import Recipe, Transcription
from viz_model.training.sources import CorpusError

ROWS = 128
"""Strips of a batch that is only measured."""
KEPT_OUT = 1024
"""Strips that training is watched with, from the few digits that were kept out of it."""
GAP = 1.0
"""Pixels that at least lie between the ink of two digits."""


@dataclass(frozen=True)
class Strip:
    """Strips and their digits: levels [B, H, W, 1] from 0 to 255, classes [B, S] of which ``counts`` [B] are there.

    ``boxes`` [B, S, 2] are the first and the last column of each digit's ink, in pixels.
    """

    levels: Tensor
    classes: NDArray[np.int64]
    counts: NDArray[np.int64]
    boxes: NDArray[np.float64]

    def digits(self, n: int) -> list[int]:
        """What a strip shows, from left to right."""
        return [int(each) for each in self.classes[n, : self.counts[n]]]


class Composer:
    """Puts digits side by side: each turned, scaled, slanted, and somewhere; none touches another."""

    def __init__(self, part: Labeled, objective: Transcription, given: Patches) -> None:
        self._part, self._objective, self._size = part, objective, (given.height, given.width)
        ink = part.levels[..., 0] > 0
        middle = (np.array(ink.shape[1:]) - 1) / 2
        self._levels = torch.from_numpy(part.levels[..., 0])
        of_axis = [_reach(np.asarray(ink.any(2 - axis)), middle[axis]) for axis in range(2)]
        self._reach = np.stack(of_axis, 1)  # [N, 2, 2]

    def strips(self, chosen: NDArray[np.int64], counts: NDArray[np.int64], rng: np.random.Generator) -> Strip:
        """Strips of digits number ``chosen`` [B, S], of which the first ``counts`` [B] are there."""
        told, (height, width) = self._objective, self._size
        shape = chosen.shape
        there = np.arange(shape[1]) < counts[:, None]
        angle = np.radians(rng.uniform(-told.turn, told.turn, shape))
        slant = rng.uniform(-told.slant, told.slant, shape)
        # Digits of one hand are about equally large.
        scale = rng.uniform(told.smallest, told.largest, (shape[0], 1)) * rng.uniform(0.9, 1.1, shape)
        reach = self._reach[chosen]  # [B, S, axis, side]
        half = reach.sum(-1) / 2
        wide = half[..., 1] + half[..., 0] * (np.abs(slant) + np.abs(np.sin(angle)))
        tall = half[..., 0] + half[..., 1] * np.abs(np.sin(angle))
        room = (width - GAP * (counts + 1)) / (2 * (scale * wide * there).sum(1))
        scale = scale * np.minimum(1.0, room)[:, None]
        scale = scale * np.minimum(1.0, (height - 1) / (2 * scale * tall))
        wide, tall = scale * wide, scale * tall
        free = width - 2 * (wide * there).sum(1) - GAP * (counts + 1)
        shares = rng.exponential(size=(shape[0], shape[1] + 1)) * (np.arange(shape[1] + 1) <= counts[:, None])
        gaps = GAP + free[:, None] * shares / shares.sum(1, keepdims=True)
        left = np.cumsum(gaps[:, :-1] + np.pad(2 * wide * there, ((0, 0), (1, 0)))[:, :-1], 1)
        x, y = left + wide, tall + rng.uniform(0, 1, shape) * (height - 2 * tall)
        levels = self._drawn(chosen, there, (x, y), (angle, slant, scale), reach)
        classes = np.where(there, self._part.classes[chosen], -1)
        return Strip(levels, classes, counts, np.stack((left, left + 2 * wide), -1))

    def _drawn(
        self,
        chosen: NDArray[np.int64],
        there: NDArray[np.bool_],
        at: tuple[NDArray[np.float64], NDArray[np.float64]],
        how: tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]],
        reach: NDArray[np.float64],
    ) -> Tensor:
        """Every digit with the middle of its ink at (x, y) of the strip, in pixels: [B, H, W, 1]."""
        (n, slots), (height, width), (angle, slant, scale) = chosen.shape, self._size, how
        middle = (reach[..., 1] - reach[..., 0]) / 2  # of the ink, from the middle of its picture
        sin, cos = np.sin(angle) / scale, np.cos(angle) / scale
        first = np.stack((cos, slant / scale - sin), -1)  # how far the place that is read moves with x and with y
        second = np.stack((sin, cos), -1)
        rows = []
        for row, axis in ((first, 1), (second, 0)):
            begin = middle[..., axis] - row[..., 0] * (at[0] - width / 2) - row[..., 1] * (at[1] - height / 2)
            size = self._levels.shape[1 + axis]
            rows.append(np.stack((row[..., 0] * width, row[..., 1] * height, 2 * begin), -1) / size)
        where = torch.from_numpy(np.stack(rows, 2)).float().view(n * slots, 2, 3)
        grid = F.affine_grid(where, [n * slots, 1, height, width], align_corners=False)
        digits = self._levels[torch.from_numpy(chosen.reshape(-1))].float()[:, None]
        drawn = F.grid_sample(digits, grid, align_corners=False).view(n, slots, height, width)
        shown = drawn * torch.from_numpy(there).float()[..., None, None]
        return shown.amax(1)[..., None]


def _reach(ink: NDArray[np.bool_], middle: float) -> NDArray[np.float64]:
    """How far ink [N, side] reaches before and behind the middle, in pixels: [N, 2]."""
    first, last = ink.argmax(1), ink.shape[1] - 1 - ink[:, ::-1].argmax(1)
    return np.stack((middle - first + 0.5, last - middle + 0.5), -1)


class Strips(Batches):
    """Strips with their words, half of each step in each language.

    Held out are strips of the digits that were kept out of the training ones, by language; the source's own test is not
    among them, so that no step and no choice sees it: :meth:`test`.

    Raises:
        CorpusError: a digit of the source has no word.
    """

    tokenizer: NumeralTokenizer
    most: int
    """Digits on a strip at the most."""

    def __init__(self, splits: Splits, objective: Transcription, recipe: Recipe) -> None:
        given = recipe.config.patches
        self.tokenizer = NumeralTokenizer(given)
        self.languages = tuple(self.tokenizer.languages)
        self.most = objective.digits
        self._objective, self._seed, self._splits = objective, recipe.seed, splits
        for part in (splits.train, splits.validation, splits.test):
            if part.levels.shape[-1] != 1 or part.classes.max() > 9:
                raise CorpusError(f"{objective.source}: expected gray pictures of the digits 0 to 9")
        self._train = Composer(splits.train, objective, given)
        self._kept_out = Composer(splits.validation, objective, given)
        self._test = Composer(splits.test, objective, given)

    def step(self, step: int) -> Batch:
        rng = np.random.default_rng((self._seed, step))
        n, most = self._objective.pictures, self._objective.digits
        chosen = rng.integers(len(self._splits.train), size=(n, most))
        made = self._train.strips(chosen, rng.integers(1, most + 1, size=n), rng)
        languages = [self.languages[k % len(self.languages)] for k in range(n)]
        return self._batch(made, languages)

    def held_out(self, language: str) -> Iterator[Batch]:
        n, most = KEPT_OUT, self._objective.digits
        rng = np.random.default_rng((self._seed, 1))
        chosen = rng.integers(len(self._splits.validation), size=(n, most))
        counts = 1 + np.arange(n) % most
        for first in range(0, n, ROWS):
            rows = slice(first, first + ROWS)
            yield self._batch(self._kept_out.strips(chosen[rows], counts[rows], rng), [language] * ROWS)

    def test(self) -> Iterator[Strip]:
        """Strips of the source's own test: each of its digits stands in one of them, and in no other."""
        most, n = self._objective.digits, len(self._splits.test)
        rng = np.random.default_rng((self._seed, 2))
        order, counts = rng.permutation(n), list[int]()
        while sum(counts) < n:
            counts.append(min(1 + len(counts) % most, n - sum(counts)))
        ends = np.cumsum(counts)
        chosen = order[(ends - counts)[:, None] + np.minimum(np.arange(most), np.array(counts)[:, None] - 1)]
        for first in range(0, len(counts), ROWS):
            rows = slice(first, first + ROWS)
            yield self._test.strips(chosen[rows], np.array(counts[rows]), rng)

    def _batch(self, made: Strip, languages: list[str]) -> Batch:
        tags, end = self.tokenizer.languages, self.tokenizer.end
        n = len(languages)
        longest = 2 * self._objective.digits
        read = np.full((n, longest), end, np.int64)
        answers = np.full((n, longest), IGNORED, np.int64)
        for row, language in enumerate(languages):
            said = self.tokenizer.said(made.digits(row), language)
            read[row, : len(said) + 1] = [tags[language], *said]
            answers[row, : len(said) + 1] = [*said, end]
        order = torch.tensor(self.tokenizer.patches.order).expand(n, -1)
        return Batch(order, torch.from_numpy(answers), torch.from_numpy(read), pixels=made.levels)
