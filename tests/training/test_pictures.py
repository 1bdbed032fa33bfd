"""Training on pictures and on strips of digits: how they are made and read, what a step is, what is published."""

import dataclasses
import itertools
import json
from pathlib import Path

import numpy as np
import pytest
import torch
from tiny_models import close
from torch.nn import functional as F
from training_data import check_card, digits, published_of, tiny_picture_recipe, tiny_strip_recipe, write_digits

import viz_model as vm
from viz_model.checkpoints import examples
from viz_model.checkpoints.registry import load_folder
from viz_model.training import data as data_of
from viz_model.training import loop, objective, picture_card, publish, strip_card
from viz_model.training.pictures import Labeled, Pictures, Splits, warped
from viz_model.training.recipe import Classes, Recipe, Transcription
from viz_model.training.sources import PICTURES, CorpusError
from viz_model.training.strips import GAP, Composer, Strips

STILL = Classes(source="digits", pictures=4)


def pictures(recipe: Recipe | None = None) -> Pictures:
    recipe = recipe or tiny_picture_recipe()
    assert isinstance(recipe.objective, Classes)
    return Pictures(Splits.of(digits(), digits(60, seed=1), recipe.seed), recipe.objective, recipe)


def test_an_epoch_visits_every_picture_once() -> None:
    data = pictures(tiny_picture_recipe(objective=Classes(source="digits", pictures=49)))
    epochs = [[data.step(3 * epoch + n) for n in range(3)] for epoch in range(2)]
    kept = data.splits.train.levels
    for epoch in epochs:
        levels = torch.cat([batch.pixels for batch in epoch if batch.pixels is not None]).round()
        found = sorted(picture.numpy().tobytes() for picture in levels)
        assert found == sorted(picture.astype(np.float32).tobytes() for picture in kept)
    first, second = (torch.cat([batch.answers for batch in epoch]) for epoch in epochs)
    assert not torch.equal(first, second)


def center(levels: torch.Tensor) -> torch.Tensor:
    """Of mass, [B, 2] in pixels."""
    mass = levels[..., 0] / levels.sum((1, 2, 3))[:, None, None]
    y, x = (torch.arange(size) for size in mass.shape[1:])
    return torch.stack(((mass.sum(2) * y).sum(1), (mass.sum(1) * x).sum(1)), 1)


def test_pictures_are_moved_by_as_much_as_is_said() -> None:
    still = torch.from_numpy(digits(4).levels).float()
    close(warped(still, STILL, (0,)), still)
    levels = torch.zeros(200, 41, 41, 1)
    levels[:, 18:23, 12:29] = 255.0  # a bar that lies, 17 by 5
    near, far = (warped(levels, dataclasses.replace(STILL, shift=shift), (1,)) for shift in (1.0, 6.0))
    for moved, most in ((near, 1.0), (far, 6.0)):
        away = (center(moved) - center(levels)).abs()
        assert away.max() <= most + 1e-3 and away.amax(0).min() > 0.9 * most
    turned = warped(levels, dataclasses.replace(STILL, turn=30.0), (2,))
    mass = turned[..., 0] / turned.sum((1, 2, 3))[:, None, None]
    y, x = torch.meshgrid(torch.arange(-20.0, 21), torch.arange(-20.0, 21), indexing="ij")
    xx, yy, xy = ((mass * each).sum((1, 2)) for each in (x * x, y * y, x * y))
    angle = torch.rad2deg(torch.atan2(2 * xy, xx - yy) / 2)  # of the longer axis
    assert angle.max() == pytest.approx(30, abs=2) and angle.min() == pytest.approx(-30, abs=2)
    size = warped(levels, dataclasses.replace(STILL, scale=0.2), (3,)).sum((1, 2, 3)) / levels.sum((1, 2, 3))
    assert size.max() == pytest.approx(1.2**2, rel=0.03) and size.min() == pytest.approx(0.8**2, rel=0.03)
    slanted = warped(levels.transpose(1, 2), dataclasses.replace(STILL, slant=0.3), (4,))
    top, bottom = (center(slanted * (torch.arange(41) == row)[:, None, None])[:, 1] for row in (14, 26))
    assert ((bottom - top) / 12).abs().max() == pytest.approx(0.3, abs=0.03)


def test_the_loss_is_the_textbooks() -> None:
    recipe = tiny_picture_recipe()
    model, batch = loop.new_model(recipe), pictures(recipe).step(0)
    logits = model(batch.ids, pixels=batch.pixels)
    assert logits.shape == (20, 10)
    close(objective.Objective(model)(batch), F.cross_entropy(logits, batch.answers, reduction="sum"))
    found = objective.measure(model, [batch], pictures().tokenizer)
    assert found.nats == pytest.approx(F.cross_entropy(logits, batch.answers, reduction="sum").item(), rel=1e-5)
    assert found.figures == {"nats": found.nats / 20, "accuracy": (logits.argmax(1) == batch.answers).sum().item() / 20}


def test_files_that_hold_something_else_are_refused(tmp_path: Path) -> None:
    recipe = tiny_picture_recipe()
    path = write_digits(tmp_path) / PICTURES[0].file
    assert isinstance(data_of.prepare(recipe, tmp_path, tmp_path), Pictures)
    with np.load(path) as kept:
        good = dict(kept)
    for changes, told in (
        ({"x_train": good["x_train"].astype(float)}, "x_train: expected uint8"),
        ({"y_test": good["y_test"] + 10}, "y_test: expected whole numbers from 0 to 9"),
        ({"y_test": np.array([{}] * 60)}, "expected the arrays"),  # a pickle
        ({"x_test": good["x_test"][:, :5]}, "the model reads"),
    ):
        np.savez(path, **{**good, **changes})
        with pytest.raises(CorpusError, match=told):
            data_of.prepare(recipe, tmp_path, tmp_path)
    path.write_bytes(b"no arrays")
    with pytest.raises(CorpusError, match="expected the arrays"):
        data_of.prepare(recipe, tmp_path, tmp_path)
    path.unlink()
    with pytest.raises(CorpusError, match="no such file"):
        data_of.prepare(recipe, tmp_path, tmp_path)
    with pytest.raises(CorpusError, match="too few"):
        pictures(tiny_picture_recipe(objective=Classes(source="digits", pictures=1000)))


@pytest.fixture(scope="module")
def published(tmp_path_factory: pytest.TempPathFactory) -> tuple[Recipe, Pictures, Path]:
    folder = tmp_path_factory.mktemp("pictures")
    recipe = tiny_picture_recipe(steps=40)
    data = data_of.prepare(recipe, write_digits(folder / "data"), folder)
    assert isinstance(data, Pictures)
    return recipe, data, published_of(recipe, data, folder)


def test_a_published_classifier_is_measured_as_it_is_published(published: tuple[Recipe, Pictures, Path]) -> None:
    recipe, data, folder = published
    lm = load_folder(folder)
    assert lm.config == recipe.config and lm.twin is None
    kept = json.loads((folder / "figures.json").read_text(encoding="utf-8"))
    assert set(kept["held_out"]) == {"validation", "test"}
    test: Labeled = data.splits.test
    said = [int(lm.trace(levels[..., 0])["class.logits"].argmax()) for levels in test.levels]
    right = np.array(said) == test.classes
    assert kept["held_out"]["test"]["accuracy"] == pytest.approx(right.mean())
    assert kept["classes"] == {str(n): pytest.approx(right[test.classes == n].mean()) for n in range(10)}
    for asked, taken, times, of in kept["confused"]:
        both = (test.classes == int(asked)) & (np.array(said) == int(taken))
        assert times == both.sum() > 0 and of == (test.classes == int(asked)).sum() and asked != taken
    times = [times for _, _, times, _ in kept["confused"]]
    assert times == sorted(times, reverse=True) and len(times) <= picture_card.MOST_CONFUSED
    assert publish.held_out(lm, data) == {part: pytest.approx(found) for part, found in kept["held_out"].items()}
    assert publish.own_text(lm) == pytest.approx(kept["own_text"])
    written = check_card(folder, recipe)
    for found in kept["held_out"].values():
        assert f"| {found['nats']:.3f} | {found['accuracy']:.2%} |" in written
    for asked, taken, times, of in kept["confused"]:
        assert f"| {asked} | {taken} | {times} of {of} |" in written
    assert PICTURES[0].title in written and "CC BY-SA 3.0" in written


def test_examples_lie_beside_the_weights(published: tuple[Recipe, Pictures, Path], tmp_path: Path) -> None:
    _, data, folder = published
    shown = examples.read(folder)
    assert [example.numbers for example in shown] == [(n // 2,) for n in range(20)]
    kept = {picture.tobytes() for picture in data.splits.test.levels}
    assert all(example.levels.tobytes() in kept for example in shown) and examples.read(tmp_path) == ()
    np.savez(tmp_path / examples.FILE, x=np.zeros((2, 3, 3)), y=np.zeros(2, int))
    with pytest.raises(vm.ModelError, match=r"examples\.npz"):
        examples.read(tmp_path)
    (tmp_path / examples.FILE).write_bytes(bytes(examples.MOST_BYTES + 1))
    with pytest.raises(vm.ModelError, match="longer"):
        examples.read(tmp_path)


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
    data = strips(splits=Splits(blocks(40, 60), blocks(20, 150), blocks(30, 250)))
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


@pytest.fixture(scope="module")
def published_strips(tmp_path_factory: pytest.TempPathFactory) -> tuple[Recipe, Strips, Path]:
    folder = tmp_path_factory.mktemp("strips")
    recipe = tiny_strip_recipe(steps=40)
    data = data_of.prepare(recipe, write_digits(folder / "data"), folder)
    assert isinstance(data, Strips)
    return recipe, data, published_of(recipe, data, folder)


def test_a_published_model_is_measured_as_it_is_published(published_strips: tuple[Recipe, Strips, Path]) -> None:
    recipe, data, folder = published_strips
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
