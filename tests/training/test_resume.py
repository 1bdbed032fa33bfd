"""A run that is killed, starved of disk, interrupted or made longer is the run that was not."""

import contextlib
import itertools
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
import torch
from tiers import crossed
from training_data import KINDS, data_of, measured, tiny_recipe
from training_process import double_recipe, recipe_of

from viz_model.config import Kind
from viz_model.training import checkpoint, log, loop
from viz_model.training.checkpoint import TrainingError
from viz_model.training.loop import LATEST, StepReport, train, trained_model
from viz_model.training.recipe import Recipe

ROOT = Path(__file__).resolve().parents[2]
SHORT: dict[str, Any] = {"steps": 12, "decay_steps": 4}
LONGER: dict[str, Any] = {"steps": 20, "decay_steps": 6}
RESTARTED: dict[str, Any] = {"steps": 24, "restarts": (12,)}
MUON: dict[str, Any] = {"optimizer": "muon"}


def command(folder: Path, *arguments: str) -> list[str]:
    return [sys.executable, str(ROOT / "tests" / "training_process.py"), str(folder), *arguments]


def weights(recipe: Recipe, folder: Path) -> dict[str, torch.Tensor]:
    return trained_model(recipe, folder).state_dict()


def assert_same_weights(one: dict[str, torch.Tensor], other: dict[str, torch.Tensor]) -> None:
    assert one.keys() == other.keys() and all(torch.equal(one[name], other[name]) for name in one)


def begin(recipe: Recipe, folder: Path, n_steps: int) -> list[tuple[Any, ...]]:
    """Make so many steps of a run and leave it; what they report."""
    reports = train(recipe, data_of(recipe), folder)
    found = [measured(report) for report in itertools.islice(reports, n_steps)]
    reports.close()
    return found


def steps_of(recipe: Recipe, folder: Path) -> dict[int, tuple[Any, ...]]:
    """Train to the end, in this process and in the precision of the others."""
    return {report.step: measured(report) for report in train(recipe, data_of(recipe), folder, half_precision=False)}


@pytest.mark.server
def test_a_killed_run_is_the_uninterrupted_one(tmp_path: Path) -> None:
    """Once between two checkpoints, once while half of one is written."""
    recipe = recipe_of("decoder")
    expected = steps_of(recipe, tmp_path / "whole")
    n_half_written = 0
    for lines, delay, arguments in ((3, 0.0, ()), (7, 0.02, ("--hang", "20000"))):
        with subprocess.Popen(command(tmp_path, *arguments), stdout=subprocess.PIPE, text=True, cwd=ROOT) as process:
            assert process.stdout is not None
            list(itertools.islice(process.stdout, lines))
            time.sleep(delay)
            process.kill()
        assert process.returncode == -signal.SIGKILL
        n_half_written += (tmp_path / "decoder" / "checkpoint.partial").exists()
    assert n_half_written
    last = steps_of(recipe, tmp_path / "decoder")
    assert last and last == {step: expected[step] for step in last}
    found = []
    for line in (tmp_path / "decoder" / "log-0.jsonl").read_text().splitlines():
        with contextlib.suppress(json.JSONDecodeError):  # a line that a kill cut short
            found.append(StepReport(**json.loads(line)))
    assert {report.step for report in found} | last.keys() == set(range(recipe.steps))
    for report in found:  # every time that a step was made
        assert measured(report) == expected[report.step]
    assert_same_weights(weights(recipe, tmp_path / "decoder"), weights(recipe, tmp_path / "whole"))
    assert not (tmp_path / "decoder" / "checkpoint.partial").exists()


@pytest.mark.parametrize(
    ("interruptions", "kind", "restarts"), crossed([[1], [5], [8], [11], [2, 3], [1, 1, 1, 1]], KINDS, [[], [5]])
)
def test_an_interrupted_run_is_whole(kind: Kind, tmp_path: Path, interruptions: list[int], restarts: list[int]) -> None:
    optimizer: Any = "muon" if len(interruptions) > 1 else "adamw"
    own: dict[str, Any] = {"dropout": (0.2, 0.4), "weight_decay": (0.1, 0.9)} if restarts else {"dropout": 0.2}
    own |= {"decay": "cosine", "restarts": tuple(restarts), "warmup": 2, "decay_steps": 3}
    recipe = tiny_recipe(kind, optimizer=optimizer, **own)
    whole = [measured(report) for report in train(recipe, data_of(recipe), tmp_path / "whole")]
    parts = []
    for n_steps in interruptions:
        parts += begin(recipe, tmp_path / "parts", n_steps)
        torch.rand(3)
    parts += [measured(report) for report in train(recipe, data_of(recipe), tmp_path / "parts")]
    assert parts == whole
    assert_same_weights(weights(recipe, tmp_path / "parts"), weights(recipe, tmp_path / "whole"))


@pytest.mark.parametrize(
    ("own", "longer", "begun", "resumed"),
    [
        pytest.param({"decay": "linear"}, LONGER, [12], 8, marks=pytest.mark.full),
        pytest.param({"decay": "cosine"} | MUON, LONGER, [12], 8, marks=pytest.mark.full),
        pytest.param({}, RESTARTED, [12], 12, marks=pytest.mark.full),
        pytest.param(MUON, RESTARTED, [12], 12, marks=pytest.mark.full),
        ({}, LONGER, [5], 5),
        ({}, LONGER, [8, 4], 8),  # closed at the last step before the decay, and run to its end
    ],
)
def test_a_longer_recipe_goes_on_from_before_the_decay_or_from_a_finished_run(
    tmp_path: Path, own: dict[str, Any], longer: dict[str, Any], begun: list[int], resumed: int
) -> None:
    short, recipe = (tiny_recipe(dropout=0.1, **own, **more) for more in (SHORT, SHORT | longer))
    for n_steps in begun:
        begin(short, tmp_path / "run", n_steps)
    whole = [measured(report) for report in train(recipe, data_of(recipe), tmp_path / "whole")]
    found = [measured(report) for report in train(recipe, data_of(recipe), tmp_path / "run")]
    assert found == whole[resumed:]
    assert_same_weights(weights(recipe, tmp_path / "run"), weights(recipe, tmp_path / "whole"))


@pytest.mark.parametrize(
    ("n_steps", "changes"),
    [
        *((1, {name: value}) for name, value in [("peak_rate", 1e-3), ("seed", 1), ("dropout", 0.1)]),
        *((1, each) for each in (MUON, {"config": {"d_ffn": 24}})),
        (12, {"steps": 24, "restarts": (13,)}),
        (12, RESTARTED | {"peak_rate": 0.5}),
        (12, {"steps": 10}),  # shorter than what is past its decay
    ],
)
def test_a_folder_belongs_to_one_recipe(tmp_path: Path, n_steps: int, changes: dict[str, Any]) -> None:
    begin(tiny_recipe(**SHORT), tmp_path, n_steps)
    before = (tmp_path / LATEST).read_bytes()
    other = tiny_recipe(**SHORT | changes)
    with pytest.raises(TrainingError, match="another recipe"):
        next(train(other, data_of(other), tmp_path))
    assert (tmp_path / LATEST).read_bytes() == before


@pytest.mark.parametrize(
    "kept",
    ["cut", b"", b"not a checkpoint", {"run": Path("anything")}, {"weights": torch.zeros(2)}, torch.zeros(2)],
    ids=["cut", "empty", "text", "pickle", "other", "tensor"],
)
def test_a_damaged_checkpoint_is_refused(tmp_path: Path, kept: object) -> None:
    recipe = tiny_recipe()
    begin(recipe, tmp_path, 1)
    whole = (tmp_path / LATEST).read_bytes()
    if isinstance(kept, str | bytes):
        (tmp_path / LATEST).write_bytes(whole[: len(whole) // 2] if isinstance(kept, str) else kept)
    else:
        torch.save(kept, tmp_path / LATEST)
    before = (tmp_path / LATEST).read_bytes()
    for attempt in (lambda: next(train(recipe, data_of(recipe), tmp_path)), lambda: trained_model(recipe, tmp_path)):
        with pytest.raises(TrainingError, match=r"checkpoint\.pt: not a checkpoint of ours"):
            attempt()
    assert (tmp_path / LATEST).read_bytes() == before


def test_a_write_that_fails_leaves_the_old_checkpoint(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(TrainingError, match="cannot be written"):
        list(train(tiny_recipe(), data_of(tiny_recipe()), tmp_path / "file" / "run"))
    (tmp_path / "file").unlink()
    path = tmp_path / LATEST
    state = dict.fromkeys(checkpoint.FIELDS, 0)
    checkpoint.save(path, state)
    for name in ("fsync", "replace"):
        with monkeypatch.context() as patch:

            def refuse(*_: Any) -> None:
                raise OSError(28, "No space left on device")

            patch.setattr(os, name, refuse)
            with pytest.raises(TrainingError, match=r"No space left on device.* the last good checkpoint is intact"):
                checkpoint.save(path, {**state, "step": 1})
        assert checkpoint.load(path) == state and [file.name for file in tmp_path.iterdir()] == [LATEST]
    checkpoint.save(path, {**state, "step": 2})
    assert checkpoint.load(path) == {**state, "step": 2}


@pytest.mark.server
def test_two_processes_are_one(tmp_path: Path) -> None:
    python, *script = command(tmp_path, *KINDS, "--double")
    launch = [python, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2", *script]
    done = subprocess.run(launch, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    for kind in KINDS:
        recipe, model = double_recipe(kind), loop.new_model(double_recipe(kind)).double()
        expected = [measured(report) for report in train(recipe, data_of(recipe), model=model, half_precision=False)]
        of_rank = [log.read(tmp_path / kind / f"log-{rank}.jsonl") for rank in range(2)]
        for first, second in zip(*of_rank, strict=True):
            assert {**first, "tokens_per_second": 0} == {**second, "tokens_per_second": 0}
        assert len(of_rank[0]) == recipe.steps
        for found, (_, loss, rate, norm, norms, held_out, _balance) in zip(of_rank[0], expected, strict=True):
            assert found["loss"] == pytest.approx(loss, rel=1e-6) and found["learning_rate"] == rate
            assert found["gradient_norm"] == pytest.approx(norm, rel=1e-6)
            assert found["gradient_norms"] == pytest.approx(norms, rel=1e-5)
            assert (found["held_out"] is None) == (held_out is None)
            for language in held_out or {}:
                assert found["held_out"][language] == pytest.approx(held_out[language], rel=1e-5)
        together = trained_model(recipe, tmp_path / kind).state_dict()
        for name, value in model.state_dict().items():
            torch.testing.assert_close(together[name].double(), value, atol=1e-4, rtol=1e-4, msg=name)
    # Some steps had a number of rows that two do not divide.
    assert any(len(data_of(double_recipe(kind)).step(step).ids) % 2 for kind in KINDS for step in range(6))
