"""Training on strips of digits: how they are put together, what a step is, what a published model says."""

from __future__ import annotations

import dataclasses
import itertools
import json
from pathlib import Path

import numpy as np
import pytest
import torch
from training_data import (
    check_card,
    digits,
    published_of,
    tiny_strip_recipe,
    write_digits,
)

from viz_model.checkpoints import examples
from viz_model.checkpoints.registry import load_folder
from viz_model.training import data as data_of
from viz_model.training import publish, strip_card
from viz_model.training.batches import IGNORED
from viz_model.training.pictures import Labeled, Splits
from viz_model.training.recipe import Recipe, Transcription
from viz_model.training.sources import PICTURES
from viz_model.training.strips import GAP, Composer, Strips


def strips(recipe: Recipe | None = None, splits: Splits | None = None) -> Strips:
    recipe = recipe or tiny_strip_recipe()
    assert isinstance(recipe.objective, Transcription)
    return Strips(splits or Splits.of(digits(), digits(60, seed=1), recipe.seed), recipe.objective, recipe)


def blocks(n: int, level: int) -> Labeled:
    """Solid digits of one level, 8 × 8 pixels in 12 × 12, each as wide and as high as its number says."""
    levels, classes = np.zeros((n, 12, 12, 1), np.uint8), np.arange(n) % 10
    for k, number in enumerate(classes):
        levels[k, 2 : 5 + number % 4, 3 : 6 + number % 5] = level
    return Labeled(levels, classes)


def test_what_is_kept_out_stands_on_no_strip_that_is_trained_on() -> None:
    splits = Splits(blocks(40, 60), blocks(20, 150), blocks(30, 250))
    data = strips(splits=splits)
    for step in range(5):
        pixels = data.step(step).pixels
        assert pixels is not None and 0 < pixels.max() <= 60.01
    for language in data.languages:
        assert all(60.01 < batch.pixels.amax((1, 2, 3)).min() <= 150.01 for batch in data.held_out(language))  # type: ignore[union-attr]
    assert all(each.levels.amax((1, 2, 3)).min() > 150.01 for each in data.test())


def test_digits_stand_side_by_side_as_large_as_is_said() -> None:
    told = Transcription(source="digits", pictures=4, digits=3, turn=15.0, slant=0.2, smallest=0.5, largest=1.5)
    given = tiny_strip_recipe().config.patches
    given = dataclasses.replace(given, height=28, width=84, patch=7)
    part, rng = blocks(40, 255), np.random.default_rng(0)
    made = Composer(part, told, given).strips(rng.integers(40, size=(300, 3)), 1 + np.arange(300) % 3, rng)
    assert made.levels.shape == (300, 28, 84, 1) and made.levels.min() >= 0 and made.levels.max() <= 255.01
    for row in range(300):
        ink, boxes = made.levels[row, ..., 0].amax(0).numpy(), made.boxes[row][: made.counts[row]]
        assert boxes.min() >= GAP - 1e-6 and boxes.max() <= 84 - GAP + 1e-6
        assert all(after[0] - before[1] >= GAP - 1e-6 for before, after in itertools.pairwise(boxes))
        where = np.zeros(84, bool)
        for first, last in boxes:
            own = slice(int(np.floor(first)) - 1, int(np.ceil(last)) + 1)
            assert ink[own].max() > 100
            where[own] = True
        assert not ink[~where].any()
        assert made.digits(row) == [int(n) for n in made.classes[row] if n >= 0] and len(made.digits(row)) == len(boxes)
    still = dataclasses.replace(told, turn=0.0, slant=0.0, smallest=1.0, largest=1.0)
    alone = Composer(part, still, given).strips(np.arange(10)[:, None], np.ones(10, int), rng)
    wide = alone.boxes[:, 0, 1] - alone.boxes[:, 0, 0]
    width = 3 + np.arange(10) % 5
    assert (np.abs(wide / width - 1) <= 0.1 + 1e-6).all()  # of one hand, about equally large
    mass = alone.levels.sum((1, 2, 3)).numpy() / 255
    np.testing.assert_allclose(mass, (3 + np.arange(10) % 4) * wide**2 / width, rtol=0.15)


def test_a_step_depends_on_its_number_alone_and_asks_in_both_languages() -> None:
    one, other = strips(), strips()
    for step in (5, 0, 9):
        mine, theirs = one.step(step), other.step(step)
        for a, b in zip(mine, theirs, strict=True):
            assert (a is None and b is None) or torch.equal(a, b)  # type: ignore[arg-type]
        assert mine.ids.tolist() == [list(range(1, 19))] * 20 and mine.target_ids is not None
        assert mine.target_ids[:, 0].tolist() == [22, 23] * 10
        for read, asked in zip(mine.target_ids.tolist(), mine.answers.tolist(), strict=True):
            said = [id for id in asked if id != IGNORED]
            assert said[-1] == 24 and read[1 : len(said)] == said[:-1] and asked[: len(said)] == said
            between = {22: 10, 23: 21}[read[0]]
            assert len(said) in (2, 4) and (len(said) == 2 or said[1] == between)
    assert [len(one.step(3).part(n, of=3).answers) for n in range(3)] == [7, 7, 6]


@pytest.fixture(scope="module")
def published(tmp_path_factory: pytest.TempPathFactory) -> tuple[Recipe, Strips, Path]:
    folder = tmp_path_factory.mktemp("strips")
    recipe = tiny_strip_recipe(steps=40)
    data = data_of.prepare(recipe, write_digits(folder / "data"), folder)
    assert isinstance(data, Strips)
    return recipe, data, published_of(recipe, data, folder)


def test_a_published_model_is_measured_as_it_is_published(published: tuple[Recipe, Strips, Path]) -> None:
    recipe, data, folder = published
    lm = load_folder(folder)
    assert lm.config == recipe.config and lm.tokenizer.name == "numerals"
    kept = json.loads((folder / "figures.json").read_text(encoding="utf-8"))
    for language, between in (("en", ", "), ("zh", "、")):
        right = np.zeros((2, 2), int)
        for each in data.test():
            for row, levels in enumerate(each.levels):
                # Not rounded to whole levels, as they were measured.
                ids = next(strip_card.answers(lm, data, levels[None], language))
                words = [data.tokenizer.token(data.tokenizer.said([n], language)[0]).text for n in each.digits(row)]
                right[each.counts[row] - 1] += (lm.tokenizer.decode(ids) == between.join(words), 1)
        assert kept["exact"][language] == right.tolist() and right[:, 1].sum() == 40
        assert kept["held_out"][language]["exact"] == pytest.approx(right[:, 0].sum() / 40)
    assert publish.held_out(lm, data) == {name: pytest.approx(found) for name, found in kept["held_out"].items()}
    assert publish.own_text(lm) == pytest.approx(kept["own_text"])
    shown = examples.read(folder)
    assert [len(example.numbers) for example in shown[:4]] == [2, 1, 2, 1]
    assert all(len({*example.numbers}) == len(example.numbers) for example in shown)
    assert kept["looks"] == strip_card.looks(lm, data) and 0 <= kept["looks"] <= 1
    written = check_card(folder, recipe)
    for found in kept["held_out"].values():
        assert f"| {found['bits_per_byte']:.3f} | {found['accuracy']:.2%} | {found['exact']:.2%} |" in written
    for n, (en, zh) in enumerate(zip(kept["exact"]["en"], kept["exact"]["zh"], strict=True), 1):
        assert f"| {n} | {en[0]} of {en[1]} | {zh[0]} of {zh[1]} |" in written
    assert f"for {kept['looks']:.1%} of the digits" in written and PICTURES[0].title in written
