"""viz_model.runs.derivation: every number of every run, made again from what it was made of."""

import dataclasses
import math
from collections.abc import Callable

import numpy as np
import pytest
import torch
from tiny_models import describe, few, language_model, mixed_norms, run_both, tiny_config, traced

import viz_model as vm
from viz_model import config
from viz_model.config import ModelConfig
from viz_model.model import sites
from viz_model.runs.derivation import SETTINGS, WHATS, Cell, Derivation, Earlier, Operand, Setting, Step, Weight, derive
from viz_model.runs.trace import Trace


def agree(derivation: Derivation, expected: float) -> None:
    """The steps, and the number in the trace, both make ``expected``."""
    assert derivation.agrees, f"{derivation.cell}: {derivation.result} is not {derivation.value}"
    for found in (derivation.result, derivation.value):
        assert found == expected or abs(found - expected) <= derivation.bound, f"{derivation.cell}: {found}, {expected}"


def check_origins(derivation: Derivation, values: Callable[[str], torch.Tensor], trace: Trace) -> None:
    """Every operand is what stands at its origin, and every step is there for one after it."""
    used = set()

    def check(read: Operand) -> None:
        match read.origin:
            case Cell(site, index):
                there = values(site)[index].item()
                assert read.value == there or math.isclose(read.value, there, rel_tol=1e-4, abs_tol=1e-5), read
            case Weight(name, index):
                assert read.value == trace.model.get_parameter(name)[index].item(), read
            case Earlier(step):
                used.add(step)
                assert read.value == derivation.steps[step].result
            case Setting(name):
                assert name in SETTINGS
        assert read.size >= abs(read.value) or math.isclose(read.size, abs(read.value)) or read.value == -math.inf

    for step in derivation.steps:
        assert step.what in WHATS
        assert "@" not in step.formula + step.numbers() + (step.terms.formula if step.terms else "")
        assert "#" not in step.formula
        for read in step.operands:
            check(read)
        if step.terms is not None:
            assert step.result == pytest.approx(math.fsum(step.terms.values), abs=1e-9 * step.size)
            for n in {0, len(step.terms) // 2, len(step.terms) - 1}:
                entering = step.terms.term(n)
                for read in entering:
                    check(read)
                if step.what == "dot":
                    assert step.terms.values[n] == math.prod(read.value for read in entering)
    assert used == set(range(len(derivation.steps) - 1)), f"{derivation.cell}: a step leads nowhere"


@pytest.mark.parametrize("config_", [*few(), *mixed_norms()], ids=describe)
def test_every_site_of_every_variant(config_: ModelConfig) -> None:
    numbers = torch.Generator().manual_seed(1)
    segments = [n % 2 for n in range(7)] if config_.n_segments else None
    trace = run_both(language_model(config_), segments=segments)
    cache: dict[str, torch.Tensor] = {}

    def values(name: str) -> torch.Tensor:
        return cache[name] if name in cache else cache.setdefault(name, trace[name])

    for name, site in sites.in_order(config_):
        for _ in range(3):
            index = tuple(int(torch.randint(size, (), generator=numbers)) for size in values(name).shape)
            derivation = derive(trace, name, index)
            agree(derivation, values(name)[index].item())
            check_origins(derivation, values, trace)
            assert derivation.cell == Cell(name, index) and derivation.formula == site.placed_formula
            assert derivation.edits == ()
            if derivation.same_as is not None:
                assert values(derivation.same_as.site)[derivation.same_as.index] == values(name)[index]


def test_the_bound_is_narrow() -> None:
    trace = traced(tiny_config())
    derivation = derive(trace, "blocks.0.attn.q", (1, 3, 5))
    wrong = trace["blocks.0.attn.q"].clone()
    wrong[1, 3, 5] += 1e-3 * derivation.steps[-1].size
    trace = dataclasses.replace(trace, values={**trace.values, "blocks.0.attn.q": wrong})
    assert derivation.agrees and not derive(trace, "blocks.0.attn.q", (1, 3, 5)).agrees


def test_a_score_is_what_torch_says() -> None:
    trace = traced(tiny_config())
    q, k = trace["blocks.1.attn.q"][2, 4].double(), trace["blocks.1.attn.k"][2, 1].double()
    derivation = derive(trace, "blocks.1.attn.scores", (2, 4, 1))
    assert derivation.result == pytest.approx((q @ k / math.sqrt(8)).item(), abs=1e-12)
    dot, divided = derivation.steps
    assert dot.terms is not None
    np.testing.assert_array_equal(dot.terms.values, (q * k).numpy())
    assert dot.terms.term(3)[1].origin == Cell("blocks.1.attn.k", (2, 1, 3))
    assert divided.formula == r"S^{1,(2)}_{4,1} = \frac{s}{\sqrt{d_k}}" and divided.operands[0].origin == Earlier(0)


@pytest.mark.parametrize("activation", ["relu", "gelu", "gelu_tanh", "silu", "relu2", "gelu_quick"])
def test_activations_are_those_of_torch(activation: config.Activation) -> None:
    trace = traced(tiny_config(ffn=config.Dense(activation=activation)))
    references: dict[str, Callable[[torch.Tensor], torch.Tensor]] = {
        "relu": torch.nn.ReLU(),
        "gelu": torch.nn.GELU(),
        "gelu_tanh": torch.nn.GELU(approximate="tanh"),
        "silu": torch.nn.SiLU(),
        "relu2": lambda x: torch.relu(x) ** 2,
        "gelu_quick": lambda x: x * torch.sigmoid(1.702 * x),
    }
    up = trace["blocks.0.ffn.up"].double()
    for f in range(up.shape[1]):
        derivation = derive(trace, "blocks.0.ffn.act", (2, f))
        assert derivation.result == pytest.approx(references[activation](up)[2, f].item(), abs=1e-12)
        assert derivation.before == (Cell("blocks.0.ffn.up", (2, f)),)


def test_numbers_are_written_as_latex() -> None:
    step = derive(traced(tiny_config()), "blocks.0.resid.mid", (2, 3)).steps[0]
    a, b = (float(f"{read.value:.4g}") for read in step.operands)
    said, total = step.numbers().replace(r"\left(", "").replace(r"\right)", "").split(" = ")
    assert [float(part) for part in said.split(" + ")] == [a, b] and float(total) == float(f"{step.result:.4g}")
    tiny = Operand("y", -1.5e-7, Setting("position"), 1.5e-7)
    copied = Step(what="copy", symbol="x", expression="@0", operands=(tiny,), result=-1.5e-7, size=1.5e-7)
    assert copied.formula == "x = y" and copied.numbers(digits=2) == r"-1.5\cdot 10^{-7}"
    product = Step(what="multiply", symbol="x", expression=r"@0 \cdot @1", operands=(tiny, tiny), result=0.0, size=1.0)
    assert product.numbers(digits=2) == r"-1.5\cdot 10^{-7} \cdot \left(-1.5\cdot 10^{-7}\right) = 0"


def test_a_run_that_broke_is_still_told() -> None:
    trace = traced(tiny_config())
    lost = torch.full_like(trace["blocks.0.attn.q"], math.nan)
    trace = dataclasses.replace(trace, values={**trace.values, "blocks.0.attn.q": lost})
    derivation = derive(trace, "blocks.0.attn.scores", (1, 3, 2))
    assert math.isnan(derivation.value) and derivation.agrees and derivation.difference == 0
    assert "NaN" in derivation.steps[-1].numbers() and not derive(trace, "blocks.0.attn.q", (1, 3, 2)).agrees


def test_cells_that_are_not_there() -> None:
    trace = traced(tiny_config())
    for index in [(), (0, 24), (-1, 0), (7, 0), (0, 0, 0)]:
        with pytest.raises(ValueError, match=r"blocks\.0\.resid\.mid.*T 7, D 24"):
            derive(trace, "blocks.0.resid.mid", index)
    with pytest.raises(ValueError, match=r"blocks\.0\.attn\.patern.*did you mean"):
        derive(trace, "blocks.0.attn.patern", (0, 0, 0))


def test_an_edit_is_said_where_it_was_made() -> None:
    edit = vm.edits.AblateHead(layer=0, head=1)
    changed = derive(run_both(language_model(tiny_config()), edits=[edit]), "blocks.0.attn.z", (1, 4, 2))
    assert changed.edits == (edit,) and changed.steps[-1].what == "edit" and changed.result == changed.value == 0
    assert abs(changed.steps[-2].result) > changed.bound  # what it would have been
    edits = [vm.edits.FixPattern(layer=0, head=2, pattern="first"), vm.edits.SetNeuron(layer=1, neuron=7, value=4.0)]
    trace = run_both(language_model(tiny_config()), edits=edits)
    for head in range(3):
        derivation = derive(trace, "blocks.0.attn.pattern", (head, 4, 0))
        assert derivation.edits == ((edits[0],) if head == 2 else ())
    assert derive(trace, "blocks.0.attn.pattern", (2, 4, 0)).result == 1
    assert derive(trace, "blocks.1.ffn.act", (3, 7)).edits == (edits[1],)
    assert derive(trace, "blocks.1.ffn.act", (3, 7)).steps[-1].operands[0].origin == Setting("edit")
    assert derive(trace, "blocks.1.ffn.act", (3, 8)).edits == ()
    # Under Post-LN a norm's output goes on under another name: the change is one of that name alone.
    patch = vm.edits.PatchResidual(site="blocks.0.resid.mid", position=2, from_ids=(9, 8, 7, 6, 5))
    trace = run_both(language_model(tiny_config("post")), edits=[patch])
    assert derive(trace, "blocks.0.attn.norm.out", (2, 5)).edits == ()
    changed = derive(trace, "blocks.0.resid.mid", (2, 5))
    assert len(changed.edits) == 1 and changed.same_as is None
    assert changed.steps[-2].result == pytest.approx(trace["blocks.0.attn.norm.out"][2, 5].item(), abs=1e-5)


def test_a_mask_from_outside() -> None:
    mask = torch.rand(7, 7, generator=torch.Generator().manual_seed(4)) > 0.4
    mask |= torch.eye(7, dtype=torch.bool)
    trace = run_both(language_model(tiny_config()), mask=mask)
    for i, j in np.ndindex(7, 7):
        derivation = derive(trace, "blocks.1.attn.mask", (0, i, j))
        assert derivation.result == (0 if mask[i, j] else -math.inf) and derivation.steps[0].facts["drawn"]
        agree(derive(trace, "blocks.1.attn.pattern", (0, i, j)), trace["blocks.1.attn.pattern"][0, i, j].item())
