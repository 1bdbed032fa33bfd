"""An edit by a function, and the mean over texts: held against the edits there are, and against sums by hand."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from tiny_models import describe, few, language_model, traced
from torch import Tensor

import viz_model as vm
from viz_model.config import ModelConfig
from viz_model.runs.edits import AblateHead, Change, FixPattern, Skip

TEXT = "Tom had a cat and a dog. The cat and the"
TEXTS = ["The cat sat", "A dog ran to the tree.", "小猫"]


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


def test_text_that_grows_is_changed_as_a_whole_run_is() -> None:
    lm, edit = vm.load("story-pre-ln"), Change(at="blocks.1.resid.mid", by=lambda x: x - x.mean(0, keepdim=True))
    written = lm.generate("The cat", max_new_tokens=4, temperature=0, edits=[edit])
    ids = lm.trace("The cat").ids
    for step in written.steps:
        assert step.token.id == int(lm.trace(ids=ids, edits=[edit])["probs"][-1].argmax())
        ids += (step.token.id,)


@pytest.mark.parametrize(
    ("at", "by", "said"),
    [
        ("blocks.9.attn.z", cut, "no recorded value is called 'blocks.9.attn.z'; try blocks"),
        ("blocks.1.attn.head_out", cut, "no recorded value"),
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


@pytest.mark.parametrize("config_", [each for each in few() if not each.reads_pictures], ids=describe)
def test_a_pattern_is_changed_in_every_kind_of_model(config_: ModelConfig) -> None:
    lm, plain = language_model(config_), traced(config_)
    for at in [name for name in plain.sites if name.endswith(".pattern")][:2]:
        edits = [Change(at=at, by=lambda pattern: pattern.roll(1, 0))]
        run = lm.trace(ids=plain.ids, target_ids=plain.target_ids, edits=edits)
        torch.testing.assert_close(run[at], plain[at].roll(1, 0), atol=1e-5, rtol=1e-5)
        z = at.replace("pattern", "z")
        assert run.shape(z) == plain.shape(z)
        v = run[at.replace("pattern", "v")]
        mixed = run[at] @ v.repeat_interleave(len(run[at]) // len(v), 0)
        torch.testing.assert_close(run[z], mixed, atol=1e-5, rtol=1e-5)
