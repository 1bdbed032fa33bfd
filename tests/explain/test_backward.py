"""Gradients are those of autograd through the declarations, and every number of them is worked out by hand."""

import math
from typing import Any

import pytest
import tiers
import torch
from tiny_models import (
    SHARED,
    describe,
    few,
    language_model,
    of_classes,
    of_pictures,
    other_blocks,
    run_both,
    state,
    tiny_config,
    variants,
)

import viz_model as vm
from viz_model import config as choices
from viz_model.config import ModelConfig
from viz_model.explain import Gradients, gradients
from viz_model.explain.backward import derivation
from viz_model.model import sites
from viz_model.runs.trace import Trace
from viz_model.values.backward import NoRule
from viz_model.values.leaves import Element, Entry, Index
from viz_model.values.operations import Largest, Softmax
from viz_model.values.point import Point, Where
from viz_model.values.top import Top

NEW: dict[str, Any] = {"norm": choices.RMSNorm(), "position": choices.Rope(), "ffn": choices.Gated()}
MODERN = tiny_config(qk_norm=True, attention_bias=False, **NEW, **SHARED)
DERIVED = [tiny_config("pre"), tiny_config("post"), MODERN, tiny_config(ffn=choices.Dense(activation="gelu"))]
EVERY = (*variants(), *other_blocks(), *of_classes(), *of_pictures())
PREDICTING = [one for one in EVERY if one.has_logits or one.classes]
CELLS_A_SITE = 3


class Declared:
    """A run in double precision made of the declarations alone, each value a leaf of what is made of it."""

    def __init__(self, trace: Trace) -> None:
        self.trace, run = trace, trace.whole.reader
        self.length, self.given = run.length, run.given
        named = trace.model.named_parameters()
        self.weights = {name: one.detach().double().requires_grad_() for name, one in named}
        self.values: dict[str, torch.Tensor] = {}
        for name, site in sites.in_order(trace.config):
            where: dict[Index, Where] = {
                index: torch.arange(index.length(self.length)).view(-1, *(1,) * n)
                for n, index in enumerate(reversed(site.index))
            }
            shape = site.length(self.length)
            made = site.expression.evaluate(Point(where, self)).value
            if site.axes[-1] == "1":
                made = made.unsqueeze(-1)
            self.values[name] = made.expand(shape).clone().requires_grad_(made.is_floating_point())

    def cells(self, site: str, index: tuple[Where, ...]) -> torch.Tensor:
        value = self.values[site]
        inside = (torch.as_tensor(i).clamp(0, n - 1) for i, n in zip(index, value.shape, strict=True))
        return value[tuple(inside)]

    def entries(self, weight: str, index: tuple[Where, ...]) -> torch.Tensor:
        return self.weights[weight][index]

    def rounding(self, site: str, index: tuple[Where, ...]) -> torch.Tensor:
        return self.cells(site, index).abs()


def alike(found: torch.Tensor, expected: torch.Tensor | None, what: str) -> None:
    """The same to 1e-4 of the largest. What is 0, as of the bias of keys, is so within single precision."""
    wanted = torch.zeros_like(found).double() if expected is None else expected
    assert found.shape == wanted.shape, what
    assert (found.double() - wanted).abs().max() <= 1e-4 * wanted.abs().max() + 3e-7, what


def worked_out(found: Gradients) -> set[str]:
    """Assert of some numbers of every gradient that its steps make it; what has no rule is returned."""
    drawn, without = torch.Generator().manual_seed(0), set[str]()
    for name in [*found.trace.whole.sites, *found.weights]:
        try:
            values = found.weights[name] if name in found.weights else found.of(name)
            for _ in range(CELLS_A_SITE):
                at = tuple(int(torch.randint(size, (), generator=drawn)) for size in values.shape)
                made = found.derive(name, at)
                assert made.agrees, f"{made.cell}: {made.result} and {made.value}"
                assert made.value == float(values[at])
        except NoRule:
            without.add(name)
    return without


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("config", DERIVED, ids=describe)
def test_every_gradient_is_autograds_through_the_declarations(config: ModelConfig, seed: int) -> None:
    trace = run_both(language_model(config, seed), length=5 + seed)
    position, token = (2, 3, 4)[seed], (17, 54, 100)[seed]
    found, run = gradients(trace, position, token), Declared(trace)
    loss = -run.values["probs"][position, token].log()
    assert found.loss == pytest.approx(loss.item(), rel=1e-4)
    names = [name for name, value in run.values.items() if value.is_floating_point()]
    expected = torch.autograd.grad(
        loss, [*(run.values[name] for name in names), *run.weights.values()], allow_unused=True
    )
    assert set(names) | set(found.weights) == {*trace.sites, *run.weights}
    for name, value in zip([*names, *run.weights], expected, strict=True):
        alike(found.weights[name] if name in found.weights else found.of(name), value, name)


@pytest.mark.parametrize("config", [*DERIVED, *tiers.some(PREDICTING, 8)], ids=describe)
def test_every_number_is_worked_out_from_the_gradients_of_what_it_feeds(config: ModelConfig) -> None:
    without = worked_out(gradients(run_both(language_model(config)), 2))
    assert without <= read_without_a_rule(config)


def read_without_a_rule(config: ModelConfig) -> set[str]:
    """What is read by values whose expressions have an operation that no derivative is declared of, and what feeds
    nothing but such.
    """
    found, fed = set[str](), dict[str, set[str]]()
    for full, site in sites.in_order(config):
        parts = list(site.expression.walk())
        reads = {one.value.site for one in parts if isinstance(one, Element)}
        reads |= {one.weight.name for one in parts if isinstance(one, Entry)}
        if any(isinstance(one, Largest | Top) or (isinstance(one, Softmax) and one.beside) for one in parts):
            found |= reads
        for name in reads:
            fed.setdefault(name, set()).add(full)
    return found | {name for name, readers in fed.items() if readers <= found}


@pytest.mark.parametrize("config", [one for one in (*few(), of_pictures()[0]) if one in PREDICTING], ids=describe)
def test_weights_have_the_gradient_of_the_model_itself(config: ModelConfig) -> None:
    lm = language_model(config)
    trace = run_both(lm)
    found = gradients(trace, 1, 2)
    copy = {name: one.detach().clone().requires_grad_() for name, one in lm.model.named_parameters()}
    target = None if trace.target_ids is None else torch.tensor([trace.target_ids])
    pixels = None if trace.picture is None else trace.picture[None].clone()
    with torch.enable_grad():
        logits = torch.func.functional_call(
            lm.model, copy, (torch.tensor([trace.ids]), target), {"pixels": pixels}, tie_weights=True
        )
        loss = -(logits[0] if config.classes else logits[0, 1]).log_softmax(-1)[2]
    assert found.loss == pytest.approx(loss.item(), rel=1e-4)
    for name, value in zip(copy, torch.autograd.grad(loss, list(copy.values()), allow_unused=True), strict=True):
        alike(found.weights[name], value, name)


@pytest.mark.parametrize("config", DERIVED, ids=describe)
def test_a_small_step_changes_the_loss_as_predicted_and_a_large_one_does_not(config: ModelConfig) -> None:
    lm = language_model(config)
    before, trace = state(lm.model), run_both(lm)
    found = gradients(trace, 3, 8)
    small, large = found.step(1e-6), found.step(3.0)
    norm = sum(float(one.double().square().sum()) for one in found.weights.values())
    assert small.predicted == pytest.approx(-1e-6 * norm) and small.measured == pytest.approx(small.predicted, rel=1e-2)
    assert small.loss < found.loss and small.probability == pytest.approx(math.exp(-small.loss))
    assert abs(large.measured - large.predicted) > 0.1 * abs(large.predicted)
    assert state(lm.model) == before and all(one.grad is None for one in lm.model.parameters())


def test_a_cell_is_found_by_its_name() -> None:
    trace = run_both(language_model(tiny_config()))
    found = gradients(trace, 2, 7)
    made = derivation(trace, found.name("blocks.1.attn.q"), (1, 2, 3))
    assert made.value == float(found.of("blocks.1.attn.q")[1, 2, 3]) and made.cell.site == "grad.2.7.blocks.1.attn.q"
    assert {cell.site for cell in made.before} <= {*trace.sites, *map(found.name, trace.sites)}
    for wrong in ("blocks.9.attn.q", "grad.2.7.blocks.9.attn.q", "grad.99.7.logits", "grad.2.99999.logits"):
        with pytest.raises(ValueError):
            derivation(trace, wrong, (1, 2, 3))
    with pytest.raises(ValueError):
        found.derive("logits", (0, 101))


def test_what_has_no_gradient_is_refused() -> None:
    lm = language_model(tiny_config())
    trace = run_both(lm)
    assert gradients(trace, 2).token == trace.ids[3]  # the next, and after the last the most probable
    assert gradients(trace).token == trace["probs"][-1].argmax()
    with pytest.raises(IndexError):
        gradients(trace, 99)
    with pytest.raises(ValueError, match="interventions"):
        gradients(lm.trace(ids=list(trace.ids), edits=[vm.edits.AblateHead(layer=0, head=1)]))
    without = tiny_config(kind="encoder", head=choices.NoHead())
    with pytest.raises(ValueError, match="predicts nothing"):
        gradients(run_both(language_model(without)))
