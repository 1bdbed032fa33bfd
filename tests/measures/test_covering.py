"""A covered token: the batch says what one run for each position says."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from tiny_models import describe, language_model, run_both, tiny_config, variants

import viz_model as vm
from viz_model import config
from viz_model.config import ModelConfig
from viz_model.measures import covering
from viz_model.runs.recompute import Recomputed
from viz_model.tokenizers.tokenizer import IdTokenizer

ENCODERS = [c for c in variants() if c.kind == "encoder" and c.has_logits]
MASK = 100


@pytest.mark.parametrize("config_", ENCODERS, ids=describe)
def test_covering_is_running_the_masked_text(config_: ModelConfig) -> None:
    lm = language_model(config_)
    trace = run_both(lm)
    found = covering.cover(trace, range(len(trace)), MASK)
    assert found.positions.tolist() == list(range(7)) and MASK not in trace.ids
    for n, (position, own) in enumerate(zip(found.positions, trace.ids, strict=True)):
        alone = lm.trace(ids=[*trace.ids[:position], MASK, *trace.ids[position + 1 :]])
        probs = alone["probs"][position]
        assert np.exp(-found.nats[n]) == pytest.approx(float(probs[own]), rel=1e-4)
        assert found.ranks[n] == 1 + int((probs > probs[own]).sum())
        assert found.guesses[n].tolist() == probs.topk(3).indices.tolist()
        np.testing.assert_allclose(found.guess_probs[n], probs.topk(3).values, rtol=1e-4)
        assert found.visible[n] == pytest.approx(float(trace["probs"][position, own]), rel=1e-4)


def test_more_positions_than_a_batch() -> None:
    lm = language_model(tiny_config(kind="encoder", head=config.MaskedHead(), n_context=40))
    trace = lm.trace(ids=range(covering.BATCH + 5))
    whole, last = (
        covering.cover(trace, positions, MASK) for positions in (range(len(trace)), range(len(trace) - 1, len(trace)))
    )
    assert len(whole.positions) == covering.BATCH + 5
    assert whole.nats[-1] == pytest.approx(last.nats[0], rel=1e-5)


@pytest.mark.parametrize(
    "edit", [vm.edits.AblateHead(layer=0, head=1), vm.edits.NoPosition(), vm.edits.Skip(layer=1, part="ffn")]
)
def test_edits_hold_where_a_token_is_covered(edit: vm.edits.Edit) -> None:
    lm = vm.load("story-bert")
    trace = lm.trace("The cat sat on the mat.", edits=(edit,))
    ids = [lm.tokenizer.mask_id if n == 3 else id for n, id in enumerate(trace.ids)]
    expected, found = lm.trace(ids=ids, edits=(edit,)), covering.covering(trace, 3)  # type: ignore[arg-type]
    assert found.ids == expected.ids and not isinstance(found.values, Recomputed)
    for name in ("logits", "blocks.1.attn.pattern", "blocks.0.resid.out"):
        torch.testing.assert_close(found[name], expected[name], atol=1e-4, rtol=1e-4)


def test_a_long_covered_run_is_computed_again_where_it_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    lm = vm.load("story-bert")
    trace = lm.trace("The cat sat on the mat.")
    whole = covering.covering(trace, 3)
    monkeypatch.setattr(covering, "MOST_KEPT", 1_000)
    found = covering.covering(trace, 3)
    assert isinstance(found.values, Recomputed)
    for name in ("logits", "blocks.1.attn.pattern", "blocks.2.ffn.act"):
        torch.testing.assert_close(found[name], whole[name], atol=1e-5, rtol=1e-4)


def test_a_mask_of_attention_holds_in_the_covered_run() -> None:
    lm = vm.load("story-bert")
    trace = lm.trace("The cat sat.", mask=torch.eye(len(lm.trace("The cat sat.")), dtype=torch.bool))
    other = lm.trace(ids=[*trace.ids[:1], lm.tokenizer.mask_id, *trace.ids[2:]])  # type: ignore[list-item]
    found = covering.covering(trace, 1)
    torch.testing.assert_close(found["logits"][0], trace["logits"][0], atol=1e-4, rtol=1e-4)  # which sees itself alone
    assert not torch.allclose(found["logits"][0], other["logits"][0], atol=1e-2)


def test_a_mask_of_attention_holds_when_tokens_are_covered() -> None:
    lm = language_model(tiny_config(kind="encoder", head=config.MaskedHead()))
    alone = torch.eye(5, dtype=torch.bool)
    found = covering.cover(lm.trace(ids=[3, 1, 4, 1, 5], mask=alone), [2], MASK)
    expected = lm.trace(ids=[3, 1, MASK, 1, 5], mask=alone)["probs"][2, 4]
    assert np.exp(-found.nats[0]) == pytest.approx(float(expected), rel=1e-4)
    assert found.nats[0] != pytest.approx(covering.cover(lm.trace(ids=[3, 1, 4, 1, 5]), [2], MASK).nats[0], rel=1e-3)


def test_a_typed_mask_is_not_asked_about() -> None:
    lm = language_model(tiny_config(kind="encoder", head=config.MaskedHead()))
    trace = lm.trace(ids=[3, MASK, 4])
    assert covering.cover(trace, range(3), MASK).positions.tolist() == [0, 2]
    assert covering.cover(trace, [1], MASK).positions.tolist() == []


def _with_controls(n_context: int = 200) -> vm.LanguageModel:
    class Framed(IdTokenizer):
        controls = frozenset({1, 2})

        def encode(self, text: str, *, special: bool = True) -> list[int]:
            ids = super().encode(text)
            return [1, *ids, 2] if special else ids

    lm = language_model(tiny_config(kind="encoder", head=config.MaskedHead(), n_context=n_context))
    return vm.LanguageModel(name="framed", model=lm.model, tokenizer=Framed(101), twin=None, folder=lm.folder)


def test_the_text_itself_is_without_control_tokens() -> None:
    lm = _with_controls()
    assert covering.written(lm.trace("5 6 7")) == range(1, 4)
    assert covering.written(lm.trace(ids=[1, 2])) == range(2)  # nothing else to ask about
    assert covering.written(run_both(language_model(tiny_config(kind="encoder", head=config.MaskedHead())))) == range(7)


def test_the_parts_of_a_text_hold_every_position_once() -> None:
    trace = _with_controls().trace(" ".join(["7"] * 150))
    parts = {covering.part(trace, position) for position in covering.written(trace)}
    assert sorted(n for part in parts for n in part) == list(covering.written(trace))
    assert max(map(len, parts)) == covering.MOST_COVERED
    assert 0 in covering.part(trace, 0)  # a control token can be asked about, too
