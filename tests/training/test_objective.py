"""viz_model.training.objective against PyTorch's own cross-entropy, and the gradients of every variant of the model."""

from __future__ import annotations

import dataclasses
import math
from typing import Any

import pytest
import torch
from tiny_models import describe, few, random_model
from torch import Tensor, nn
from torch.nn import functional as F
from training_data import KINDS, data_of, tiny_recipe

from viz_model.config import Kind, LanguageHead, MaskedHead, ModelConfig, NoHead
from viz_model.model.transformer import Transformer
from viz_model.training import objective
from viz_model.training.batches import IGNORED, Batch
from viz_model.training.objective import Objective, figures


def trainable(config: ModelConfig, seed: int = 0) -> Transformer:
    return random_model(config, seed).train().requires_grad_()


def plain_loss(model: Transformer, batch: Batch, label_smoothing: float) -> Tensor:
    """The definition: all logits at once, and PyTorch's loss of them."""
    logits = model(batch.ids, batch.target_ids, padding=batch.padding)
    return F.cross_entropy(
        logits.flatten(0, 1),
        batch.answers.flatten(),
        ignore_index=IGNORED,
        label_smoothing=label_smoothing,
        reduction="sum",
    )


def gradients(model: nn.Module, loss: Tensor) -> dict[str, Tensor]:
    named = dict(model.named_parameters())
    return dict(zip(named, torch.autograd.grad(loss, list(named.values())), strict=True))


def assert_same(model: Transformer, batch: Batch, label_smoothing: float, tolerance: float) -> None:
    expected = plain_loss(model, batch, label_smoothing)
    found = Objective(model, label_smoothing)(batch)
    assert abs(found.item() / expected.item() - 1) < tolerance
    wanted = gradients(model, expected)
    for name, gradient in gradients(model, found).items():
        scale = wanted[name].abs().max().clamp(min=1e-3)
        assert (gradient - wanted[name]).abs().max() <= tolerance * scale * 10, name


CASES: list[tuple[Kind, dict[str, Any]]] = [
    ("decoder", {}),
    ("decoder", {"tie_embeddings": False, "norm_at": "post"}),
    ("decoder", {"tie_embeddings": False, "head": LanguageHead(bias=True)}),
    ("encoder", {"head": MaskedHead()}),
    ("encoder", {"head": MaskedHead(), "tie_embeddings": False}),
    ("encoder_decoder", {"head": LanguageHead(scale=True)}),
    ("encoder_decoder", {"tie_embeddings": False}),
]


@pytest.mark.parametrize("label_smoothing", [0.0, 0.1])
@pytest.mark.parametrize(("kind", "changes"), CASES)
def test_the_loss_is_the_cross_entropy_of_the_logits(
    kind: Kind, changes: dict[str, Any], label_smoothing: float
) -> None:
    recipe = tiny_recipe(kind, config=changes)
    batch = data_of(recipe).step(0)
    model = trainable(recipe.config)
    assert_same(model.double(), batch, label_smoothing, 1e-10)
    assert_same(model.float(), batch, label_smoothing, 1e-6)


@pytest.mark.parametrize("size", [1, 7, 64, 10_000])
@pytest.mark.parametrize("kind", KINDS)
def test_chunks_of_any_size_give_the_same(kind: Kind, size: int, monkeypatch: pytest.MonkeyPatch) -> None:
    recipe = tiny_recipe(kind, config={"tie_embeddings": False})
    batch = data_of(recipe).step(1).part(0, of=3)
    monkeypatch.setattr(objective, "CHUNK", size)
    assert_same(trainable(recipe.config).double(), batch, 0.1, 1e-10)


@pytest.mark.parametrize("kind", KINDS)
def test_rows_without_a_question_cost_nothing(kind: Kind) -> None:
    recipe = tiny_recipe(kind)
    model, batch = trainable(recipe.config), data_of(recipe).step(0)
    nothing = batch._replace(answers=torch.full_like(batch.answers, IGNORED))
    for silent in (nothing, batch.part(len(batch.ids), of=len(batch.ids) + 1)):
        loss = Objective(model)(silent)
        assert loss.item() == 0
        assert all(not gradient.any() for gradient in gradients(model, loss).values())


# Gradients through every module


def shallow(config: ModelConfig) -> ModelConfig:
    """One layer of each stack."""
    depth: dict[str, Any] = {
        "n_layers": 1,
        "n_encoder_layers": min(1, config.n_encoder_layers),
        "windows": config.windows[:1],
    }
    return dataclasses.replace(config, **depth)


def questions(config: ModelConfig) -> Batch:
    """Two rows of which one is padded, with an answer at most positions."""
    numbers = torch.Generator().manual_seed(5)
    ids = torch.randint(config.n_vocab, (2, 7), generator=numbers)
    target_ids = torch.randint(config.n_vocab, (2, 5), generator=numbers) if config.kind == "encoder_decoder" else None
    answers = torch.randint(config.n_vocab, (ids if target_ids is None else target_ids).shape, generator=numbers)
    answers[0, 1] = IGNORED
    padding = None
    if config.kind != "decoder":
        padding = torch.zeros_like(ids, dtype=torch.bool)
        padding[1, -2:] = True
    return Batch(ids, answers, target_ids, padding)


@pytest.mark.parametrize("config", few(), ids=describe)
def test_gradients_of_every_variant(config: ModelConfig) -> None:
    small = shallow(config)
    model = trainable(small).double()
    batch = questions(small)
    named = dict(model.named_parameters())

    class Loss(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.model, self.objective = model, Objective(model, label_smoothing=0.1)

        def forward(self, batch: Batch) -> Tensor:
            if isinstance(small.head, NoHead):
                return self.model(batch.ids, batch.target_ids, padding=batch.padding).square().sum()
            return self.objective(batch)

    whole = Loss()

    def loss(*values: Tensor) -> Tensor:
        moved = dict(zip((f"model.{name}" for name in named), values, strict=True))
        return torch.func.functional_call(whole, moved, (batch,))

    values = [parameter.detach().clone().requires_grad_() for parameter in named.values()]
    assert torch.autograd.gradcheck(loss, values, fast_mode=True)
    expected = loss(*values).item()
    model.eval()
    assert loss(*values).item() == pytest.approx(expected, rel=1e-14)  # without dropout the two modes are one


# Held-out figures


@pytest.mark.parametrize("kind", KINDS)
def test_figures_by_hand(kind: Kind) -> None:
    recipe = tiny_recipe(kind)
    data, model = data_of(recipe), trainable(recipe.config)
    tokenizer = data.tokenizer
    found = figures(model, data)
    assert model.training  # as it was
    model.eval()
    assert list(found) == list(data.languages)
    for language in data.languages:
        nats, n_bytes, right, asked = 0.0, 0, 0, 0
        for batch in data.held_out(language):
            logits = model(batch.ids, batch.target_ids, padding=batch.padding).flatten(0, 1)
            answers = batch.answers.flatten()
            nats += F.cross_entropy(logits, answers, ignore_index=IGNORED, reduction="sum").item()
            right += int((logits.argmax(-1) == answers).sum())
            asked += int((answers != IGNORED).sum())
            n_bytes += int(((answers >= 0) & (answers < 256)).sum())  # control tokens stand for no byte of the text
        assert found[language]["bits_per_byte"] == pytest.approx(nats / math.log(2) / n_bytes, rel=1e-4)
        assert found[language]["accuracy"] == pytest.approx(right / asked)
    assert tokenizer.n_vocab == 260
