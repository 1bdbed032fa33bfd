"""Two processes with half of each step's rows are one process with all of them."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
import torch
from training_data import data_of, measured, tiny_recipe

from viz_model.config import Kind
from viz_model.training import checkpoint, log, loop
from viz_model.training.loop import train, trained_model
from viz_model.training.recipe import Recipe

ROOT = Path(__file__).resolve().parents[2]
KINDS: tuple[Kind, ...] = ("decoder", "encoder", "encoder_decoder")


def run_two(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    launch = ["-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2"]
    script = str(ROOT / "tests" / "training_process.py")
    return subprocess.run(
        [sys.executable, *launch, script, str(folder), *arguments], cwd=ROOT, capture_output=True, text=True
    )


def double_recipe(kind: Kind) -> Recipe:
    """What training_process.py trains under --double."""
    return tiny_recipe(kind, optimiser="muon", label_smoothing=0.1, steps=6, decay_steps=2)


@pytest.mark.server
def test_two_processes_are_one(tmp_path: Path) -> None:
    done = run_two(tmp_path, *KINDS, "--double")
    assert done.returncode == 0, done.stderr
    for kind in KINDS:
        recipe, model = double_recipe(kind), loop.new_model(double_recipe(kind)).double()
        expected = [measured(report) for report in train(recipe, data_of(recipe), model=model, half_precision=False)]
        of_rank = [log.read(tmp_path / kind / f"log-{rank}.jsonl") for rank in range(2)]
        for first, second in zip(*of_rank, strict=True):
            assert {k: v for k, v in first.items() if k != "tokens_per_second"} == {
                k: v for k, v in second.items() if k != "tokens_per_second"
            }
        assert len(of_rank[0]) == recipe.steps
        for found, (_, loss, rate, norm, norms, held_out, _balance) in zip(of_rank[0], expected, strict=True):
            assert found["loss"] == pytest.approx(loss, rel=1e-6)
            assert found["learning_rate"] == rate
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


@pytest.mark.slow
def test_two_processes_resume_and_one_of_them_writes(tmp_path: Path) -> None:
    whole = run_two(tmp_path / "whole", "decoder", "encoder")
    assert whole.returncode == 0, whole.stderr
    stopped = run_two(tmp_path / "parts", "decoder", "encoder", "--disk", "30000")
    assert stopped.returncode != 0 and "cannot be written" in stopped.stderr
    resumed = run_two(tmp_path / "parts", "decoder", "encoder")
    assert resumed.returncode == 0, resumed.stderr
    for kind in ("decoder", "encoder"):
        assert not list((tmp_path / "parts" / kind).glob("*.partial"))
        one, other = (checkpoint.load(tmp_path / name / kind / loop.LATEST) for name in ("whole", "parts"))
        assert one is not None and other is not None and one["step"] == other["step"]
        assert all(torch.equal(value, other["model"][name]) for name, value in one["model"].items())
    # Only the first process says anything: every step once.
    assert whole.stdout.split() == [str(step) for _ in range(2) for step in range(24)]
