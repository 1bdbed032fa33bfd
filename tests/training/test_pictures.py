"""Training on pictures: what is read and refused, how they are warped, what a step is, what a published model says."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path

import numpy as np
import pytest
import torch
from tiny_models import close
from torch.nn import functional as F
from training_data import check_card, digits, published_of, tiny_picture_recipe, write_digits

import viz_model as vm
from viz_model.checkpoints import examples
from viz_model.checkpoints.registry import load_folder
from viz_model.training import data as data_of
from viz_model.training import loop, objective, picture_card, publish
from viz_model.training.pictures import Labeled, Pictures, Splits, warped
from viz_model.training.recipe import Classes, Recipe
from viz_model.training.sources import PICTURES, CorpusError

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
        assert sorted(picture.numpy().tobytes() for picture in levels) == sorted(
            picture.astype(np.float32).tobytes() for picture in kept
        )
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
    assert all(example.levels.tobytes() in kept for example in shown)
    assert examples.read(tmp_path) == ()
    np.savez(tmp_path / examples.FILE, x=np.zeros((2, 3, 3)), y=np.zeros(2, int))
    with pytest.raises(vm.ModelError, match=r"examples\.npz"):
        examples.read(tmp_path)
    (tmp_path / examples.FILE).write_bytes(bytes(examples.MOST_BYTES + 1))
    with pytest.raises(vm.ModelError, match="longer"):
        examples.read(tmp_path)
