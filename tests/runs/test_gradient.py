"""The gradient of any number by any value of a run: autograd's, and that of differences."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from tiny_models import describe, language_model, random_model, run_both, tiny_config, variants
from torch import Tensor

import viz_model as vm
from viz_model.config import ModelConfig
from viz_model.tokenizers.tokenizer import IdTokenizer


def wide() -> vm.LanguageModel:
    """A model whose numbers are exact enough for differences."""
    model = random_model(tiny_config()).double()
    return vm.LanguageModel("wide", model, IdTokenizer(model.config.n_vocab), None, None)  # type: ignore[arg-type]


def number(run: Any) -> Tensor:
    made: Tensor = run["logits"][-1, 7] - run["logits"][1, 3]
    return made


@pytest.mark.parametrize("config", variants(), ids=describe)
def test_it_is_the_gradient_of_a_loss_where_that_is_known(config: ModelConfig) -> None:
    trace = run_both(language_model(config)).at(config.sides[-1])
    if not config.has_logits:
        found = trace.grad(lambda run: run[trace.leaving].square().sum(), trace.leaving)
        torch.testing.assert_close(found[trace.leaving], 2 * trace[trace.leaving], atol=1e-4, rtol=1e-4)
        return
    known = vm.explain.gradients(trace, -1, 3)
    names = [name for name in ("embed.out", "blocks.1.attn.pattern", "blocks.0.ffn.out", "logits") if name in trace]
    found = trace.grad(lambda run: -run["logits"][-1].log_softmax(-1)[3], *names)
    for name in names:
        scale = float(known.of(name).abs().max())
        assert found[name].shape == trace[name].shape and not found[name].requires_grad
        torch.testing.assert_close(found[name], known.of(name), atol=1e-4 * scale + 1e-7, rtol=1e-3)


def test_it_is_what_a_small_change_does() -> None:
    lm = wide()
    ids = [3, 1, 4, 1, 5]
    trace = lm.trace(ids=ids)
    names = ("embed.out", "blocks.0.resid.mid", "blocks.1.attn.q", "blocks.1.ffn.act")
    found = trace.grad(number, *names)
    numbers, step = torch.Generator().manual_seed(0), 1e-5
    for name in names:
        way = step * torch.randn(found[name].shape, generator=numbers, dtype=torch.float64)
        up, down = (
            number(lm.trace(ids=ids, edits=[vm.edits.Change(at=name, by=change)]))
            for change in (way.add, lambda value, way=way: value - way)
        )
        assert float(up - down) / 2 == pytest.approx(float((found[name] * way).sum()), rel=1e-3)


def test_edits_hold_in_it() -> None:
    lm = language_model(tiny_config())
    ids, at = [3, 1, 4, 1, 5], "blocks.1.attn.out"
    half = lm.trace(ids=ids, edits=[vm.edits.Change(at=at, by=lambda value: 0.5 * value)])
    off = lm.trace(ids=ids, edits=[vm.edits.Skip(layer=1, part="attn")])
    name = "blocks.1.attn.z"
    assert float(off.grad(number, name)[name].abs().max()) == 0
    of_z, of_out = (half.grad(number, one)[one] for one in (name, at))
    w_o = lm.model.stack("decoder").block(1).attn.o.weight.detach()
    expected = (0.5 * of_out @ w_o).unflatten(-1, (lm.config.n_heads, -1)).transpose(0, 1)
    torch.testing.assert_close(of_z, expected, atol=1e-5, rtol=1e-4)


@pytest.mark.parametrize(
    ("of", "names", "error", "says"),
    [
        (number, ("blocks.0.attn.scores",), KeyError, "is worked out of other values"),
        (number, ("blocks.9.attn.q",), KeyError, "blocks.9.attn.q"),
        (number, ("tokens.ids",), ValueError, "holds whole numbers"),
        (lambda run: run["logits"], (), ValueError, "expected a tensor of one number, got"),
        (lambda run: 3.0, (), ValueError, "expected a tensor of one number, got float"),
        (lambda run: torch.ones(()), ("embed.out",), ValueError, "does not depend on the values"),
    ],
)
def test_what_has_no_gradient(of: Any, names: tuple[str, ...], error: type[Exception], says: str) -> None:
    trace = language_model(tiny_config()).trace(ids=[3, 1, 4])
    with pytest.raises(error, match=says):
        trace.grad(of, *names)
