"""viz_model.training.from_attention: what a model with DeltaNets takes over, and learns first."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from tiny_models import random_model, tiny_config

from viz_model.config import Attending, DeltaNet, ModelConfig, RMSNorm, Rope
from viz_model.model.deltanet import GatedDeltaNet
from viz_model.training import checkpoint, from_attention, loop, objective, recipe
from viz_model.training.batches import Batch, Batches
from viz_model.training.checkpoint import TrainingError

SIZES: dict[str, Any] = {
    "n_heads": 4,
    "n_kv_heads": 2,
    "d_head": 6,
    "norm": RMSNorm(),
    "position": Rope(),
    "n_context": 16,
}
ALIKE = DeltaNet(n_keys=4, n_values=4, d_key=6, d_value=6)


def attending() -> ModelConfig:
    return tiny_config(attention_bias=False, **SIZES)


def test_a_delta_begins_with_the_matrices_of_the_heads_in_its_place() -> None:
    source = random_model(attending())
    model = random_model(replace(attending(), mixers=(ALIKE, Attending())), seed=1)
    from_attention.take_over(model, source)
    delta, heads = model.stack("decoder").block(0).attn, source.stack("decoder").block(0).attn
    assert isinstance(delta, GatedDeltaNet)
    assert torch.equal(delta.q.weight, heads.q.weight) and torch.equal(delta.o.weight, heads.o.weight)
    own, shared = delta.k.weight.unflatten(0, (4, 6)), heads.k.weight.unflatten(0, (2, 6))
    for head in range(4):
        assert torch.equal(own[head], shared[head // 2])
    kernel = delta.v_conv
    assert (kernel[:, -1] == 1).all() and not kernel[:, :-1].any()
    theirs = dict(source.named_parameters())
    rest = [name for name, _ in model.named_parameters() if ".0.attn." not in name]
    assert rest and all(torch.equal(model.get_parameter(name), theirs[name]) for name in rest)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"mixers": (replace(ALIKE, n_keys=2), Attending())}, "4 heads of 6 do not become"),
        ({"mixers": (replace(ALIKE, d_value=5), Attending())}, "4 heads of 6 do not become"),
        ({"mixers": (ALIKE, Attending()), "d_ffn": 44}, "it has no decoder.blocks.0.ffn"),
    ],
)
def test_other_sizes_are_refused(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(TrainingError, match=f"begin_from: .*{message}"):
        from_attention.take_over(random_model(replace(attending(), **changes)), random_model(attending()))


def test_a_delta_misses_by_the_share_of_the_square_that_it_is_off() -> None:
    source = random_model(attending())
    model = random_model(replace(attending(), mixers=(ALIKE, Attending())), seed=1)
    model.stack("decoder").block(0).attn.o.weight.data.zero_()
    (missed,) = from_attention.misses(model, source, torch.arange(12)[None])
    assert missed.item() == pytest.approx(1.0)  # nothing is written, so all of it is off
    with from_attention.alone(model):
        trained = {name for name, weight in model.named_parameters() if weight.requires_grad}
    assert trained and all(".0.attn." in name for name in trained)
    assert all(weight.requires_grad for weight in model.parameters())


def test_it_is_aligned_once_before_the_first_step(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    short = replace(recipe.load("story-next"), aligned=6, steps=3, warmup=1, decay_steps=1, validate_every=1000)
    monkeypatch.setattr(objective, "figures", lambda *_: {})

    class Few(Batches):
        def step(self, step: int) -> Any:
            ids = torch.arange(40)[None] + 7 * step
            return Batch(ids=ids, answers=ids + 1)

        def held_out(self, language: str) -> Any:
            return iter(())

    reports = list(loop.train(short, Few(), tmp_path, half_precision=False))
    assert len(reports) == 3
    lines = (tmp_path / loop.ALIGNED).read_text().splitlines()
    assert len(lines) == 6
    saved = checkpoint.load(tmp_path / loop.LATEST)
    assert saved is not None and saved["step"] == 3
    assert not list(loop.train(short, Few(), tmp_path, half_precision=False))  # it has come to its end
    assert len((tmp_path / loop.ALIGNED).read_text().splitlines()) == 6
