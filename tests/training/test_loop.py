"""viz_model.training.loop and objective, against PyTorch's optimizers, its cross-entropy and its schedules."""

import dataclasses
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from pairs import pairs
from tiers import crossed
from tiny_models import random_model
from torch import Tensor, nn
from torch.nn import functional as F
from torch.optim import lr_scheduler
from training_data import KINDS, data_of, measured, tiny_recipe

from viz_model.config import Kind, LanguageHead, Learned, MaskedHead, T5Bias
from viz_model.model.transformer import Transformer
from viz_model.training import loop, objective
from viz_model.training.batches import IGNORED, Batch, Batches
from viz_model.training.checkpoint import TrainingError
from viz_model.training.loop import new_model, optimizers_of, train
from viz_model.training.objective import Objective, figures
from viz_model.training.recipe import Recipe


def expected_rates(recipe: Recipe) -> list[float]:
    """PyTorch's own schedules, one after another, for a recipe of one round."""
    (round_,) = recipe.rounds
    optimizer = torch.optim.SGD([nn.Parameter(torch.zeros(1))], lr=round_.peak_rate)
    phases: list[tuple[int, lr_scheduler.LRScheduler]] = []
    if recipe.warmup:
        phases.append((0, lr_scheduler.LinearLR(optimizer, 1 / recipe.warmup, 1.0, max(1, recipe.warmup - 1))))
    if round_.falls_at > recipe.warmup or not phases:
        phases.append((recipe.warmup, lr_scheduler.ConstantLR(optimizer, 1.0, 0)))
    falling = recipe.steps - round_.falls_at
    if recipe.decay == "cosine":
        floor = round_.peak_rate * recipe.final_share
        phases.append((round_.falls_at, lr_scheduler.CosineAnnealingLR(optimizer, falling, floor)))
    else:
        phases.append((round_.falls_at, lr_scheduler.LinearLR(optimizer, 1.0, recipe.final_share, falling)))
    schedule = lr_scheduler.SequentialLR(optimizer, [phase for _, phase in phases], [at for at, _ in phases[1:]])
    rates = []
    for _ in range(recipe.steps):
        rates.append(float(schedule.get_last_lr()[0]))
        optimizer.step()
        schedule.step()
    return rates


PHASES = [
    *((60, 5, falling) for falling in (0, 20, 55)),
    *((60, 0, falling) for falling in (0, 7, 60)),
    *((60, 1, 10), (60, 2, 58), (1, 0, 0)),
]


@pytest.mark.parametrize(("phases", "decay", "share"), pairs(PHASES, ["linear", "cosine"], [0.0, 0.1, 1.0]))
def test_every_learning_rate(phases: tuple[int, int, int], decay: Any, share: float) -> None:
    steps, warmup, decay_steps = phases
    falls: dict[str, Any] = {"decay_steps": decay_steps, "decay": decay, "final_share": share}
    recipe = tiny_recipe(steps=steps, warmup=warmup, peak_rate=0.3, **falls)
    rates = [recipe.rate(step) for step in range(steps)]
    assert rates == pytest.approx(expected_rates(recipe), rel=1e-9, abs=1e-15)


@pytest.mark.parametrize("decay", ["linear", "cosine"])
@pytest.mark.parametrize(("decays", "peaks"), [((3, 3, 3), (0.01, 0.01, 0.01)), ((3, 5, 2), (0.01, 0.02, 0.005))])
def test_every_round_has_a_schedule_of_its_own(decays: Any, peaks: Any, decay: Any) -> None:
    falls: dict[str, Any] = {"decay": decay, "decay_steps": decays, "final_share": 0.1}
    recipe = tiny_recipe(steps=24, restarts=(7, 16), warmup=2, peak_rate=peaks, **falls)
    rates = [report.learning_rate for report in train(recipe, data_of(recipe))]
    rounds = [
        dataclasses.replace(recipe, steps=steps, restarts=(), decay_steps=falling, peak_rate=peak)
        for steps, falling, peak in zip((7, 9, 8), decays, peaks, strict=True)
    ]
    assert rates == pytest.approx([rate for each in rounds for rate in expected_rates(each)])


def plain_training(recipe: Recipe, data: Batches, steps: int) -> tuple[Transformer, list[tuple[float, float]]]:
    """The same run, written out with PyTorch's own optimizer and schedules; in double precision, because Adam blows the
    rounding of gradients that are zero (of a key's bias) up to whole steps."""
    model = new_model(recipe).double().train()
    decayed = [p for p in model.parameters() if p.dim() >= 2]
    rest = [p for p in model.parameters() if p.dim() < 2]
    groups = [{"params": decayed, "weight_decay": recipe.rounds[0].weight_decay}, {"params": rest, "weight_decay": 0.0}]
    optimizer = torch.optim.AdamW(groups, betas=recipe.betas)
    found, rates = [], expected_rates(recipe)
    for step in range(steps):
        for group in optimizer.param_groups:
            group["lr"] = rates[step]
        loss = plain_loss(model, data.step(step), recipe.label_smoothing, "mean")
        optimizer.zero_grad()
        loss.backward()
        norm = torch.cat([p.grad.flatten() for p in model.parameters() if p.grad is not None]).norm().item()
        if norm > recipe.clip:
            for p in model.parameters():
                assert p.grad is not None
                p.grad.mul_(recipe.clip / norm)
        optimizer.step()
        found.append((loss.item(), norm))
    return model, found


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("clip", [0.5, 1e9])
def test_a_run_is_the_textbook_run(kind: Kind, clip: float) -> None:
    recipe = tiny_recipe(kind, label_smoothing=0.1, clip=clip, steps=6, decay_steps=2)
    data, model = data_of(recipe), new_model(recipe).double()
    reports = list(train(recipe, data, model=model))
    expected, found = plain_training(recipe, data, 6)
    assert [report.loss for report in reports] == pytest.approx([loss for loss, _ in found], rel=1e-6)
    assert [report.gradient_norm for report in reports] == pytest.approx([norm for _, norm in found], rel=1e-6)
    if clip < 1:
        assert max(norm for _, norm in found) > clip
    for (name, ours), theirs in zip(model.named_parameters(), expected.parameters(), strict=True):
        torch.testing.assert_close(ours, theirs, atol=1e-7, rtol=1e-6, msg=name)


@pytest.mark.parametrize("kind", KINDS)
def test_muon_takes_the_matrices_inside_the_blocks(kind: Kind) -> None:
    position = Learned() if kind == "decoder" else T5Bias(buckets=8, max_distance=12)
    recipe = tiny_recipe(kind, optimizer="muon", config={"position": position, "tie_embeddings": False})
    model = new_model(recipe)
    adamw, muon = optimizers_of(recipe, model)
    assert isinstance(muon, torch.optim.Muon) and isinstance(adamw, torch.optim.AdamW)
    taken = [{id(p) for group in each.param_groups for p in group["params"]} for each in (adamw, muon)]
    assert not taken[0] & taken[1]
    names = {name for name, p in model.named_parameters() if id(p) in taken[1]}
    weights = {name for name in model.state_dict() if "blocks." in name and name.endswith(".weight")}
    assert names == {name for name in weights if "norm" not in name}
    assert len(taken[0] | taken[1]) == len(list(model.parameters()))
    assert muon.param_groups[0]["weight_decay"] == recipe.weight_decay
    assert muon.param_groups[0]["adjust_lr_fn"] == "match_rms_adamw"


@pytest.mark.parametrize(("kind", "accumulate"), crossed(KINDS, [2, 3, 50]))
def test_portions_of_a_batch_are_the_batch(kind: Kind, accumulate: int) -> None:
    recipe = tiny_recipe(kind, steps=3, decay_steps=1, warmup=1, label_smoothing=0.1, peak_rate=1e-3)
    data = data_of(recipe)
    whole, parts = new_model(recipe).double(), new_model(recipe).double()
    expected = list(train(recipe, data, model=whole))
    found = list(train(dataclasses.replace(recipe, accumulate=accumulate), data, model=parts))
    assert [r.loss for r in found] == pytest.approx([r.loss for r in expected], rel=1e-6)
    assert [r.gradient_norm for r in found] == pytest.approx([r.gradient_norm for r in expected], rel=1e-7)
    for one, other in zip(whole.parameters(), parts.parameters(), strict=True):
        torch.testing.assert_close(one, other, atol=1e-8, rtol=1e-6)


@pytest.mark.parametrize("asked", [True, False, None])
def test_bfloat16_where_it_is_asked_for_or_fast(asked: bool | None, monkeypatch: pytest.MonkeyPatch) -> None:
    recipe = tiny_recipe(steps=2, warmup=0, decay_steps=0)
    for found, fast in (({"avx512_bf16": True}, True), ({"amx_bf16": True}, True), ({"avx2": True}, False)):
        with monkeypatch.context() as patch:
            patch.setattr(torch.cpu, "get_capabilities", lambda found=found: found)
            assert loop.is_bfloat16_fast(torch.device("cpu")) is fast
    model = new_model(recipe)
    seen: list[torch.dtype] = []
    block = model.stack("decoder").block(0)
    block.ffn.up.register_forward_hook(lambda *arguments: seen.append(arguments[2].dtype))
    reports = list(train(recipe, data_of(recipe), model=model, half_precision=asked))
    expected = loop.is_bfloat16_fast(torch.device("cpu")) if asked is None else asked
    # The last step measures held-out text, in single precision always.
    assert set(seen[:2]) == {torch.bfloat16 if expected else torch.float32}
    assert set(seen[2:]) == {torch.float32} and len(seen) > 2
    assert all(p.dtype == torch.float32 for p in model.parameters())
    assert all(math.isfinite(report.loss) for report in reports)


def spoilt(data: Batches, model: Transformer, at: int, spoil: Callable[[Transformer], None]) -> Batches:
    """``data`` that does something to the model before step ``at``."""

    step_of = data.step

    def step(step: int) -> Batch:
        if step == at:
            spoil(model)
        return step_of(step)

    data.step = step  # type: ignore[method-assign]
    return data


@torch.no_grad()
def _lost(model: Transformer) -> None:
    model.embedding.weight[0] = math.nan
    model.stack("decoder").block(0).attn.q.bias[0] = math.nan


@torch.no_grad()
def _steep(model: Transformer) -> None:
    """A finite loss whose gradient is not: the head's gradient is multiplied by infinity on its way back."""
    model.embedding.register_forward_hook(lambda *found: found[2].register_hook(lambda grad: grad * math.inf) and None)


@pytest.mark.parametrize(("spoil", "message"), [(_lost, "step 5: the loss is nan"), (_steep, "step 5: the gradient's")])
def test_a_loss_of_no_number_stops_the_run(tmp_path: Path, spoil: Callable[[Transformer], None], message: str) -> None:
    recipe = tiny_recipe(validate_every=100)
    whole = [measured(report) for report in train(recipe, data_of(recipe))]
    model = new_model(recipe)
    with pytest.raises(TrainingError, match=message):
        list(train(recipe, spoilt(data_of(recipe), model, 5, spoil), tmp_path, model=model, save_every=-1))
    kept = loop.trained_model(recipe, tmp_path)
    assert all(p.isfinite().all() for p in kept.parameters())
    with pytest.raises(TrainingError, match="holds no checkpoint"):
        loop.trained_model(recipe, tmp_path / "none")
    resumed = [measured(report) for report in train(recipe, data_of(recipe), tmp_path)]
    assert resumed == whole[5:]


def plain_loss(model: Transformer, batch: Batch, label_smoothing: float, reduction: str = "sum") -> Tensor:
    """The definition: all logits at once, and PyTorch's loss of them."""
    logits = model(batch.ids, batch.target_ids, padding=batch.padding).flatten(0, 1)
    more: dict[str, Any] = {"label_smoothing": label_smoothing, "reduction": reduction}
    return F.cross_entropy(logits, batch.answers.flatten(), ignore_index=IGNORED, **more)


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


@pytest.mark.parametrize(("kind", "changes"), CASES)
def test_the_loss_is_the_cross_entropy_of_the_logits_in_chunks_of_any_size(
    kind: Kind, changes: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    recipe = tiny_recipe(kind, config=changes)
    batch, model = data_of(recipe).step(0), random_model(recipe.config).train().requires_grad_()
    assert_same(model, batch, 0.0, 1e-6)
    for size in (1, 7, 64, 10_000):
        monkeypatch.setattr(objective, "CHUNK", size)
        assert_same(model.double(), batch.part(0, of=3), 0.1, 1e-10)


@pytest.mark.parametrize("kind", KINDS)
def test_rows_without_a_question_cost_nothing(kind: Kind) -> None:
    recipe = tiny_recipe(kind)
    model, batch = random_model(recipe.config).requires_grad_(), data_of(recipe).step(0)
    nothing = batch._replace(answers=torch.full_like(batch.answers, IGNORED))
    for silent in (nothing, batch.part(len(batch.ids), of=len(batch.ids) + 1)):
        loss = Objective(model)(silent)
        assert loss.item() == 0 and all(not gradient.any() for gradient in gradients(model, loss).values())


@pytest.mark.parametrize("kind", KINDS)
def test_figures_by_hand(kind: Kind) -> None:
    recipe = tiny_recipe(kind)
    data, model = data_of(recipe), random_model(recipe.config).train()
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


def test_a_step_of_muon_is_orthogonal_and_of_adamws_size() -> None:
    """Liu et al. 2025, equation 4: 0.2·√max(A, B) times the nearest orthogonal matrix."""
    recipe = tiny_recipe(optimizer="muon", weight_decay=0.0, peak_rate=0.5, config={"d_model": 48, "d_ffn": 96})
    model = new_model(recipe)
    _, muon = optimizers_of(recipe, model)
    weight = model.stack("decoder").block(0).ffn.up.weight
    for p in model.parameters():
        p.grad = torch.randn(p.shape, generator=torch.Generator().manual_seed(p.numel()))
    gradient, before = weight.grad, weight.detach().clone()
    assert gradient is not None
    left, _, right = torch.linalg.svd(gradient, full_matrices=False)
    muon.step()
    step = before - weight.detach()
    size = recipe.rounds[0].peak_rate * 0.2 * math.sqrt(96)
    # Newton and Schulz's iteration stops at singular values around 1, not at 1.
    values = torch.linalg.svdvals(step) / size
    assert values.min() > 0.6 and values.max() < 1.3
    cosine = (step * (left @ right)).sum() / step.norm() / (left @ right).norm()
    assert cosine > 0.95
