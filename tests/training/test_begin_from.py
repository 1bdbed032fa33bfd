"""Training that begins from another model: experts that are cut, DeltaNets that take over, and what they do then."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from tiny_models import EXPERTS, SHARED, close, language_model, random_model, tiny_config
from training_data import byte_tokenizer, data_of, tiny_recipe

from viz_model.config import Attending, DeltaNet, Dense, Experts, ModelConfig, RMSNorm, Rope
from viz_model.model.deltanet import GatedDeltaNet
from viz_model.training import checkpoint, from_attention, loop, objective, recipe, routing
from viz_model.training.batches import Batch, Batches
from viz_model.training.checkpoint import TrainingError
from viz_model.training.corpus import Corpus, Documents, Split
from viz_model.training.sources import KINDS
from viz_model.training.upcycle import upcycle

TOKENIZER = byte_tokenizer()
HALVES = Experts(n_experts=6, top_k=2, d_expert=20)
ALIKE = DeltaNet(n_keys=4, n_values=4, d_key=6, d_value=6)


def corpus() -> Corpus:
    texts = {kind: [f"{kind} " * (30 + n) for n in range(3)] for kind in KINDS}
    parts = {kind: Documents.encode(found, TOKENIZER) for kind, found in texts.items()}
    return Corpus({kind: Split(part, part) for kind, part in parts.items()}, TOKENIZER)


def test_shares_balance_and_tokens_are_those_of_the_routers() -> None:
    config = tiny_config(n_vocab=TOKENIZER.n_vocab, n_context=16, ffns=(Dense(), EXPERTS[0]))
    lm = replace(language_model(config), tokenizer=TOKENIZER)
    assert lm.config.has_experts and not tiny_config().has_experts
    data = corpus()
    found = routing.measure(lm, data, ("en",))
    assert found["trained_on"] == ["en"] and list(found["n_tokens"]) == list(KINDS)
    assert list(found["layers"]) == ["1"]
    of = found["layers"]["1"]
    by_kind, counted = [], np.zeros((TOKENIZER.n_vocab, 2, 4))
    for kind in KINDS:
        ids = data.languages[kind].held_out.ids.astype(np.int64)
        windows = [ids[n : n + 16] for n in range(0, (len(ids) - 1) // 16 * 16, 16)]
        weights, probs = [], []
        for window in windows:
            trace = lm.trace(ids=window.tolist())
            weights.append(trace["blocks.1.ffn.chosen"].numpy() > 0)
            probs.append(trace["blocks.1.ffn.probs"].numpy())
            for id, row in zip(window, weights[-1], strict=True):
                counted[id, 0] += row
                counted[id, 1] += 1
        assert found["n_tokens"][kind] == 16 * len(windows)
        chosen, shares = np.concatenate(weights).mean(0), np.concatenate(probs).mean(0)
        by_kind.append((chosen, shares))
        np.testing.assert_allclose(of["shares"][kind], chosen, atol=1e-4)
        assert of["balance"][kind] == pytest.approx(4 * (chosen / 2 * shares).sum(), abs=1e-3)
    f, p = (np.mean(part, axis=0) for part in zip(*by_kind, strict=True))
    assert of["balance"]["all"] == pytest.approx(4 * (f / 2 * p).sum(), abs=1e-3)
    labels = {TOKENIZER.token(id).label: id for id in np.flatnonzero(counted[:, 1, 0] >= routing.LEAST_TIMES).tolist()}
    for expert, rows in enumerate(of["tokens"]):
        assert rows and len(rows) <= routing.MOST_TOKENS
        for label, share, times in rows:
            read, occurred = counted[labels[label], :, expert]
            assert times == occurred and share == pytest.approx(read / occurred, abs=1e-3)


@pytest.mark.parametrize("bias", [True, False])
def test_a_cut_model_begins_with_the_outputs_of_the_dense_one(bias: bool) -> None:
    dense = random_model(tiny_config(ffn=Dense(bias=bias)))
    routed = replace(HALVES, expert=Dense(bias=bias))
    model = random_model(tiny_config(ffns=(Dense(bias=bias), routed)), seed=1)
    common = upcycle(model, dense)
    ids = torch.tensor([[1, 2, 3, 4, 5]])
    close(model(ids), dense(ids))
    rest = {name for name, _ in model.named_parameters()} - set(common)
    assert rest == {name for name, _ in model.named_parameters() if ".1.ffn." in name}


def test_what_is_frozen_stays() -> None:
    recipe = tiny_recipe(config={"ffn": Experts(n_experts=4, top_k=2, d_expert=8)}, steps=8)
    model = loop.new_model(recipe)
    parameters = [parameter.requires_grad_(".ffn." in name) for name, parameter in model.named_parameters()]
    before = [parameter.clone() for parameter in parameters]
    list(loop.train(recipe, data_of(recipe), model=model))
    for old, new in zip(before, parameters, strict=True):
        assert torch.equal(old, new) != new.requires_grad


def attending() -> ModelConfig:
    return tiny_config(attention_bias=False, norm=RMSNorm(), position=Rope(), **SHARED)


@pytest.mark.parametrize(
    ("begin", "changes", "message"),
    [
        (upcycle, {"ffn": replace(HALVES, n_experts=5)}, "whole groups"),
        (upcycle, {"ffn": replace(HALVES, d_expert=19)}, "40 neurons are not 2 experts of 19"),
        (upcycle, {"ffn": replace(HALVES, d_shared=3)}, "none shared"),
        (upcycle, {"ffn": HALVES, "n_heads": 3, "n_kv_heads": 3}, "it has no decoder.blocks.0.attn"),
        (from_attention.take_over, {"mixers": (replace(ALIKE, n_keys=2), Attending())}, "4 heads of 6 do not become"),
        (from_attention.take_over, {"mixers": (replace(ALIKE, d_value=5), Attending())}, "4 heads of 6 do not become"),
        (from_attention.take_over, {"mixers": (ALIKE, Attending()), "d_ffn": 44}, "it has no decoder.blocks.0.ffn"),
    ],
)
def test_what_does_not_fit_is_refused(begin: Callable[..., object], changes: dict[str, Any], message: str) -> None:
    with pytest.raises(TrainingError, match=f"begin_from: .*{message}"):
        begin(random_model(replace(attending(), **changes)), random_model(attending()))


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
    assert len((tmp_path / loop.ALIGNED).read_text().splitlines()) == 6
    saved = checkpoint.load(tmp_path / loop.LATEST)
    assert saved is not None and saved["step"] == 3
    assert not list(loop.train(short, Few(), tmp_path, half_precision=False))  # it has come to its end
    assert len((tmp_path / loop.ALIGNED).read_text().splitlines()) == 6
