"""The pictures of the page on cost, their numbers, and its sentences."""

import dataclasses
import itertools
from typing import Any

import islands
import numpy as np
import pytest
import torch
from tiers import name
from tiny_models import language_model, run_both, tiny_config, variants

import viz_model as vm
from viz_model.config import ClassHead, Patches
from viz_model.drawing.digits import big, duration
from viz_model.island.page import Plot, Quiz
from viz_model.topics.cost import PAGE, PICTURES, counted, quantized, shares, tabs
from viz_model.topics.cost.checkpointed import measure
from viz_model.topics.cost.measured import PARTS, Reading
from viz_model.topics.cost.patches import PARTS as CUT_PARTS
from viz_model.topics.cost.patches import cuts
from viz_model.topics.cost.quantized import KINDS, Kind
from viz_model.topics.cost.times import TimesView

CONFIG = tiny_config(d_model=32, n_heads=4, d_ffn=128)
CONFIGS = variants()[::9]


def written(n: float) -> str:
    return islands.plain(big(n))


def readings(n: int = 5) -> list[Reading]:
    powers = {"projections": 1.0, "ffn": 1.0, "textbook": 2.0, "fused": 2.0, "recurrent": 1.0}
    scale = {"projections": 1e-6, "ffn": 4e-6, "textbook": 2e-8, "fused": 1e-8, "recurrent": 3e-6}
    return [
        Reading(16 << k, part, scale[part] * (16 << k) ** powers[part], 3 + k % 3, 100 * (16 << k))
        for k in range(n)
        for part in PARTS
    ]


def test_times_are_the_readings_and_their_fits() -> None:
    view = TimesView.of(readings(), CONFIG)
    assert view.lengths.tolist() == [16, 32, 64, 128, 256]
    assert view.runs == (3, 5)
    assert view.exponents["textbook"] == pytest.approx(2) and view.exponents["ffn"] == pytest.approx(1)
    assert view.crossing("textbook") == pytest.approx(200)
    assert view.crossing("fused") is None
    assert view.fastest() == "recurrent"
    np.testing.assert_allclose(view.layer["fused"], view.seconds["projections"] + view.seconds["fused"])
    assert view.formula("textbook") == r"20\,\text{ns}\,T^2"
    assert view.facts()["ffn_time"] == duration(4e-6 * 256)


def test_the_factors_by_hand_multiply_to_the_count() -> None:
    said = {name: int(value.replace("{,}", "")) for name, value in tabs.by_hand(CONFIG, "decoder", 0, 7).items()}
    counts = counted.count(CONFIG, "decoder", 7)
    assert said["n"] * said["n"] * said["k"] * said["h"] == said["scores"] == counts.scores // CONFIG.n_layers
    assert said["pairs"] == counts.pairs // CONFIG.n_layers
    assert said["n"] * said["m"] * said["d"] * said["f"] == said["ffn"] == counts.ffn // CONFIG.n_layers
    twice = counted.count(CONFIG, "decoder", 14)
    assert said["twice"] == twice.pairs // CONFIG.n_layers and said["twice_ffn"] == twice.ffn // CONFIG.n_layers


@pytest.mark.parametrize(("config", "lang"), list(itertools.product(CONFIGS, ["en", "zh"])), ids=name)
def test_any_model_is_counted_in_words_and_every_picture_can_be_written(config: Any, lang: str) -> None:
    look = islands.look(run_both(language_model(config)).at(config.sides[-1]), PAGE, lang)
    side = look.trace.stack.side
    said = "\n".join(islands.sentences(PAGE, look))
    assert "{{" not in said
    found = counted.count(config, side, len(look), len(look.trace.ids) if shares.n_source(look) else 0)
    assert written(found.total) in said
    one = counted.of_block(config, side, 0, len(look))
    assert written(one.projections + one.pairs) in said
    both = counted.arrangements(config, len(look.trace.ids), 256)
    chosen = dataclasses.replace(look, options={"n_target": "256"})
    assert all(written(each.total) in "\n".join(islands.sentences(PAGE, chosen)) for each in both.values())
    plots = [one for one in islands.made(PAGE, look) if isinstance(one, Plot)]
    assert {plot.id for plot in plots} >= {"cost.curves", "cost.kinds"}
    for plot in plots:
        assert len(plot.scene.series) >= 1


def test_a_finer_cut_of_a_picture_has_more_pairs() -> None:
    inputs, head = Patches(height=16, width=16, patch=4), ClassHead(labels=("a", "b"))
    given: dict[str, Any] = {"kind": "encoder", "n_vocab": 0, "tie_embeddings": False, "scale_embedding": False}
    config = tiny_config(**given, inputs=inputs, head=head, n_context=17)
    look = islands.look(run_both(language_model(config)), PICTURES)
    found = cuts(config)
    assert [cut.side for cut in found] == [8, 4, 2]
    for cut in found:
        assert cut.n_positions == (16 // cut.side) ** 2 + 1
        width = config.n_heads * config.d_head
        assert cut.counted.pairs == 2 * config.n_layers * cut.n_positions**2 * width
    said = "\n".join(islands.sentences(PICTURES, look))
    assert f"{found[1].n_positions} positions make {found[1].n_positions ** 2:,} pairs" in said
    (scene,) = islands.pictures(PICTURES, look).values()
    assert [panel.id for panel in scene.panels] == ["cut.8", "cut.4", "cut.2"]
    (quiz,) = [one for one in islands.made(PICTURES, look) if isinstance(one, Quiz)]
    assert CUT_PARTS[quiz.right] == max(CUT_PARTS, key=lambda part: getattr(found[1].counted, part))


@pytest.mark.parametrize("model", ["story-pre-ln", "story-modern", "story-bert"])
def test_the_gradient_is_that_of_a_step_without(model: str) -> None:
    trace = vm.load(model).trace("Tom had a cat.")
    plain, again = measure(trace)
    assert again.norm == pytest.approx(plain.norm, rel=1e-5)
    ids = torch.tensor([list(itertools.islice(itertools.cycle(trace.own_ids), plain.length))])
    weights = {name: one.detach().clone().requires_grad_() for name, one in trace.model.named_parameters()}
    logits = torch.func.functional_call(trace.model, weights, (ids,), tie_weights=True)[0]
    loss = torch.nn.functional.cross_entropy(logits[:-1], ids[0, 1:])
    grads = torch.autograd.grad(loss, list(weights.values()), allow_unused=True)
    norm = torch.stack([one.norm() for one in grads if one is not None]).norm().item()
    assert plain.norm == pytest.approx(norm, rel=1e-3)


def test_what_waits_is_what_blocks_were_given_and_the_ends() -> None:
    config = tiny_config(n_layers=4, n_vocab=8)
    plain, again = measure(run_both(language_model(config)))
    given = 4 * config.n_layers * config.d_model * again.length  # bytes of each block's input
    assert given <= again.held < plain.held and again.held < again.most < plain.most
    assert plain.held == plain.most


TEXT = "Tom had a cat and a dog."


def by_hand(row: list[float], bits: int) -> list[float]:
    """Numbers that share a scale, one by one."""
    scale = max(map(abs, row)) / (2 ** (bits - 1) - 1)
    return [scale * round(number / scale) if scale else 0.0 for number in row]


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)
@pytest.mark.parametrize("columns", [64, 40])
def test_a_matrix_is_rounded_number_by_number(kind: Kind, columns: int) -> None:
    weight = torch.randn(5, columns, generator=torch.Generator().manual_seed(1))
    weight[2] = 0
    found, n_bytes = quantized.rounded(weight, kind)
    rows = [weight.flatten().tolist()] if kind.group == -1 else weight.tolist()
    width = kind.group if kind.group > 0 else len(rows[0])
    groups = [row[n : n + width] for row in rows for n in range(0, len(row), width)]
    expected = [number for group in groups for number in by_hand(group, kind.bits)]
    np.testing.assert_allclose(found.flatten().numpy(), expected, atol=1e-6)
    assert n_bytes == weight.numel() * kind.bits // 8 + 2 * len(groups)


def test_the_run_is_that_of_a_model_with_these_matrices() -> None:
    trace = vm.load("story-pre-ln").trace(TEXT)
    view = quantized.view(islands.look(trace, PAGE))
    kind = next(one for one in KINDS if one.name == "int4_row")
    made = {name: quantized.rounded(one, kind)[0] for name, one in quantized.matrices(trace.model).items()}
    with torch.inference_mode():
        ids = torch.tensor([list(trace.ids)])
        logits = torch.func.functional_call(trace.model, made, (ids,), tie_weights=True)[0]
    found = view.kinds[kind.name]
    assert found.logits == pytest.approx((logits - trace["logits"]).abs().max().item(), rel=1e-3)
    assert found.firsts == int((logits.argmax(-1) != trace["logits"].argmax(-1)).sum())
    p, q = (torch.distributions.Categorical(logits=one) for one in (trace["logits"], logits))
    bits = torch.distributions.kl_divergence(p, q).mean().item() / np.log(2)
    assert found.bits == pytest.approx(bits, rel=1e-2, abs=1e-5)
