"""Edits by a function, means over texts, gradients of any number, words: against sums and differences by hand."""

from collections.abc import Callable
from typing import Any

import pytest
import torch
from tiny_models import describe, language_model, run_both, tiny_config, variants
from torch import Tensor

import viz_model as vm
from viz_model.config import ModelConfig
from viz_model.runs.edits import AblateHead, Change, FixPattern, Skip

TEXT = "Tom had a cat and a dog. The cat and the"
TEXTS = ["The cat sat", "A dog ran to the tree.", "小猫"]
PATTERN = "blocks.1.attn.pattern"


def differing(one: vm.Trace, two: vm.Trace) -> set[str]:
    return {name for name in one if not torch.equal(one[name], two[name])}


def cut(z: Tensor) -> Tensor:
    z[2] = 0
    return z


def at_itself(pattern: Tensor) -> Tensor:
    pattern[3] = torch.eye(pattern.shape[-1])
    return pattern


@pytest.mark.parametrize(
    ("changed", "by", "known"),
    [
        ("blocks.1.attn.z", cut, AblateHead(layer=1, head=2)),
        ("blocks.2.ffn.out", lambda out: 0.0, Skip(layer=2, part="ffn")),
        ("blocks.0.attn.out", lambda out: out * 0, Skip(layer=0, part="attn")),
        ("blocks.1.attn.pattern", at_itself, FixPattern(layer=1, head=3, pattern="self")),
    ],
)
def test_a_function_does_what_an_edit_does(changed: str, by: Callable[[Tensor], Tensor], known: vm.edits.Edit) -> None:
    lm = vm.load("story-pre-ln")
    assert not differing(lm.trace(TEXT, edits=[Change(at=changed, by=by)]), lm.trace(TEXT, edits=[known]))


@pytest.mark.parametrize(
    ("at", "by", "said"),
    [
        ("blocks.9.attn.z", cut, "no recorded value is called 'blocks.9.attn.z'; try blocks"),
        ("blocks.1.attn.head_out", cut, "at: blocks.1.attn.head_out is worked out of other values and not passed on"),
        ("blocks.1.attn.z", lambda z: print(), "by: the function returns nothing in place of blocks.1.attn.z"),
        ("blocks.1.attn.z", lambda z: z[:, :1], r"blocks.1.attn.z is \[6, 12, 32\], and what the function makes"),
    ],
)
def test_what_cannot_be_changed(at: str, by: Callable[[Tensor], Tensor], said: str) -> None:
    with pytest.raises(ValueError, match=said):
        vm.load("story-pre-ln").trace(TEXT, edits=[Change(at=at, by=by)])
    with pytest.raises(ValueError, match="expected a function"):
        Change(at=at, by=3)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="cannot be written in an address"):
        vm.edits.parse(vm.edits.write([Change(at=at, by=by)]))


def test_the_mean_over_texts() -> None:
    lm = vm.load("story-pre-ln")
    for site, axis in (("blocks.1.attn.z", 1), ("blocks.0.resid.out", 0), ("blocks.2.attn.k", 1)):
        rows = torch.cat([lm.trace(text)[site] for text in TEXTS], axis)
        torch.testing.assert_close(vm.mean(lm, TEXTS, site), rows.mean(axis, keepdim=True), atol=1e-5, rtol=1e-5)
    for site in ("blocks.0.attn.pattern", "blocks.0.attn.scores"):
        with pytest.raises(ValueError, match="no mean over texts"):
            vm.mean(lm, TEXTS, site)
    ids = [lm.trace(text).ids for text in TEXTS]
    assert torch.equal(vm.mean(lm, ids, "blocks.1.attn.z"), vm.mean(lm, TEXTS, "blocks.1.attn.z"))
    with pytest.raises(ValueError, match="there are none"):
        vm.mean(lm, [], "embed.out")
    with pytest.raises(ValueError, match="expected several, got one text"):
        vm.mean(lm, "The cat", "embed.out")


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


def number(run: vm.Trace) -> Tensor:
    return run["logits"][-1, 7]


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


def test_words_between_blanks() -> None:
    lm = vm.load("story-pre-ln")
    run = lm.trace("Grandfather unbuttoned his waistcoat.")
    found = vm.words(run, PATTERN)
    assert found.labels == ("Grandfather", "unbuttoned", "his", "waistcoat.") and len(run) > 4
    assert found.spans[0][0] == 0 and found.spans[-1][1] == len(run)
    torch.testing.assert_close(found.value.sum(-1), torch.ones(lm.config.n_heads, 4))
    (a, b), (c, d) = found.spans[3], found.spans[1]
    torch.testing.assert_close(found.value[2, 3, 1], run[PATTERN][2, a:b, c:d].sum(-1).mean())
    stream = vm.words(run, "blocks.0.resid.out").value
    torch.testing.assert_close(stream[3], run["blocks.0.resid.out"][a:b].mean(0))
    queries = vm.words(run, "blocks.0.attn.q").value
    torch.testing.assert_close(queries[1, 3], run["blocks.0.attn.q"][1, a:b].mean(0))


def test_words_of_ones_own() -> None:
    by, lm = ["从前", "有", "一只", "小猫", "，", "它", "喜欢", "学习", "🙂"], vm.load("story-pre-ln")
    run = lm.trace("".join(by))
    found = vm.words(run, PATTERN, by)
    assert "".join(found.labels).replace(" ", "").startswith("从前") and len(found.labels) <= len(by)
    assert [start for start, _ in found.spans[1:]] == [stop for _, stop in found.spans[:-1]]
    torch.testing.assert_close(found.value.sum(-1), torch.ones(found.value.shape[:2]))
    with pytest.raises(ValueError, match="they are not its words"):
        vm.words(run, PATTERN, by[:-1])
    run = lm.trace("The cat  sat")
    assert vm.words(run, PATTERN, [(0, 1), (1, len(run))]).spans == ((0, 1), (1, len(run)))
    assert vm.words(run, PATTERN, ["The", "cat", "sat"]).labels == ("The", "cat", "sat")
    with pytest.raises(ValueError, match="spans of words follow one another"):
        vm.words(run, PATTERN, [(0, 2), (1, len(run))])
    between = vm.load("story-bert").trace("The little cat")
    assert vm.words(between, PATTERN, ["The", "little", "cat"]).labels[1:4] == ("The", "little", "cat")
