"""The numbers of cross-attention, against the trace and against plain arithmetic, for every encoder–decoder."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from tiny_models import close, describe, language_model, run_both, tiny_config, variants

import viz_model as vm
from viz_model.config import ModelConfig
from viz_model.topics.cross_attention import numbers as cross
from viz_model.topics.cross_attention.claims import OWN, PADDING, Own, Padded
from viz_model.topics.cross_attention.numbers.steps import steps_view

PAIRS = [config for config in variants() if config.kind == "encoder_decoder"]
LAYER, HEAD, QUERY = 1, 2, 3
AT = f"blocks.{LAYER}.cross."


@pytest.fixture(params=PAIRS, ids=describe)
def trace(request: pytest.FixtureRequest) -> vm.Trace:
    return run_both(language_model(request.param)).at("decoder")


def test_only_an_encoder_decoder_has_it() -> None:
    for config in variants():
        trace = run_both(language_model(config)).at(config.sides[-1])
        assert cross.exists(config) == ("blocks.0.cross.pattern" in trace)


def test_the_steps_are_those_of_the_trace(trace: vm.Trace) -> None:
    steps = steps_view(trace, LAYER, HEAD, QUERY, "cross")
    n_source, config = len(trace.ids), trace.config
    keys = trace.head(f"{AT}k{steps.form}", HEAD).numpy()
    assert keys.shape == steps.values.shape == (n_source, config.d_head) and steps.labels == cross.source_labels(trace)
    np.testing.assert_allclose(steps.products, keys @ trace[f"{AT}q{steps.form}"][HEAD, QUERY].numpy(), atol=1e-5)
    root = config.d_head**0.5 if config.scale_scores else 1.0
    np.testing.assert_allclose(steps.products / root, steps.scores, atol=1e-5)
    assert (steps.mask == 0).all()
    np.testing.assert_array_equal(steps.pattern, trace[AT + "pattern"][HEAD, QUERY].numpy())
    np.testing.assert_allclose(steps.pattern @ steps.values, steps.z, atol=1e-5)
    np.testing.assert_allclose(steps.fetched, np.linalg.norm(steps.pattern[:, None] * steps.values, axis=-1), atol=1e-6)


def test_padding_takes_the_weight_of_the_end_and_gives_it_to_the_rest(trace: vm.Trace) -> None:
    steps = steps_view(trace, LAYER, HEAD, QUERY, "cross", cross.N_PADDING)
    own = steps_view(trace, LAYER, HEAD, QUERY, "cross")
    hidden = Padded(cross.N_PADDING, float(own.pattern[-cross.N_PADDING :].sum()))
    assert PADDING.of(hidden).name == "moves"
    seen = len(trace.ids) - cross.N_PADDING
    assert (steps.pattern[seen:] == 0).all() and np.isneginf(steps.masked[seen:]).all()
    np.testing.assert_allclose(steps.pattern[:seen], own.pattern[:seen] / own.pattern[:seen].sum(), atol=1e-6)
    np.testing.assert_allclose(steps.z, steps.pattern @ steps.values, atol=1e-5)


def test_a_source_of_one_token_keeps_it(trace: vm.Trace) -> None:
    lm = language_model(trace.config)
    short = lm.trace(ids=[5], target_ids=[0, 3]).at("decoder")
    assert cross.n_padding(len(short.ids)) == 0 and PADDING.of(Padded(0, 0.0)).name == "none"
    assert steps_view(short, 0, 0, 1, "cross", 0).pattern.tolist() == [1.0]


def test_what_is_written_adds_up(trace: vm.Trace) -> None:
    written = cross.written(trace, LAYER, QUERY)
    attention = trace.stack.block(LAYER).cross
    assert attention is not None
    o = attention.o
    bias = 0 if o.bias is None else o.bias.detach().numpy()
    np.testing.assert_allclose(written.heads.sum(0) + bias, written.out, atol=1e-5)
    total = written.before + written.out
    if trace.config.norm_at == "pre":
        np.testing.assert_allclose(total, written.after, atol=1e-6)
    else:
        norm = trace.stack.block(LAYER).cross_norm
        close(norm(torch.from_numpy(total)[None])[0], torch.from_numpy(written.after))


def test_reading_names_the_heaviest_column_of_each_row(trace: vm.Trace) -> None:
    found = cross.reading(trace, LAYER, HEAD)
    layers = torch.stack([trace[f"blocks.{i}.cross.pattern"].mean(0) for i in range(trace.n_layers)])
    expected = {"head": trace[AT + "pattern"][HEAD], "layer": layers[LAYER], "model": layers.mean(0)}
    for name, pattern in expected.items():
        positions, weights = getattr(found, name)
        assert positions.shape == weights.shape == (len(trace),)
        np.testing.assert_allclose(weights, pattern.max(-1).values.numpy(), atol=1e-6)
        np.testing.assert_allclose(pattern.numpy()[np.arange(len(trace)), positions], weights, atol=1e-6)


def test_spread_counts_alike_tokens() -> None:
    assert cross.spread(np.full(8, 1 / 8, np.float32)) == pytest.approx(8)
    assert cross.spread(np.array([0.0, 1.0, 0.0])) == pytest.approx(1)


def test_each_step_predicts_what_a_shorter_run_would(trace: vm.Trace) -> None:
    steps = cross.decoding(trace, k=3)
    assert [step.reads.id for step in steps] == list(trace.target_ids or ())
    assert [step.came and step.came.id for step in steps] == [*(trace.target_ids or ())[1:], None]
    lm = language_model(trace.config)
    for i, step in enumerate(steps):
        alone = lm.trace(ids=trace.ids, target_ids=(trace.target_ids or ())[: i + 1])
        expected = alone.next_tokens(-1, 3)
        assert [token.id for token, _ in step.guesses] == [token.id for token, _ in expected]
        assert [p for _, p in step.guesses] == pytest.approx([p for _, p in expected], rel=1e-4)
        if step.came is not None:
            probs = alone["logits"][-1].softmax(-1)
            assert step.probability == pytest.approx(probs[step.came.id].item(), rel=1e-4)
            assert step.rank == 1 + int((probs > probs[step.came.id]).sum())
            assert step.hit == (step.came.id == step.guesses[0][0].id)


@pytest.mark.parametrize("config", PAIRS[:3], ids=describe)
def test_a_greedy_target_agrees_with_its_own_words(config: ModelConfig) -> None:
    lm = language_model(config)
    ids, said = [7, 8, 9, 4], [0]
    for _ in range(5):
        said.append(lm.trace(ids=ids, target_ids=said).next_tokens(-1, 1)[0][0].id)
    steps = cross.decoding(lm.trace(ids=ids, target_ids=said).at("decoder"))
    own = tuple(lm.tokenizer.token(id) for id in said[1:])
    assert all(step.hit for step in steps[:-1]) and not steps[-1].hit
    assert cross.agreement(steps, own) == 5 and cross.agreement(steps, own[:2]) == 2
    assert OWN.of(Own(5, 5, 5, 64)).name == "same"
    other = [0, *said[1:3], (said[3] + 1) % 101, *said[4:]]
    assert cross.agreement(cross.decoding(lm.trace(ids=ids, target_ids=other).at("decoder")), own) == 2


def test_what_is_spared_is_two_products_of_matrices_a_layer() -> None:
    config = tiny_config(kind="encoder_decoder", n_heads=4, n_kv_heads=2, d_head=5, start_id=0)
    trace = run_both(language_model(config)).at("decoder")
    layer = trace.stack.block(0).cross
    assert layer is not None
    weights = layer.k.weight.numel() + layer.v.weight.numel()
    assert cross.spared(config, 9) == 9 * config.n_layers * weights


def beside(config: ModelConfig, change: int, most: int = 64) -> Own:
    """A target of five tokens, of which one is changed, beside ``most`` of the model's own words at the most."""
    lm = language_model(config)
    ids, said = [7, 8, 9, 4], [0]
    for _ in range(5):
        said.append(lm.trace(ids=ids, target_ids=said).next_tokens(-1, 1)[0][0].id)
    own = tuple(lm.tokenizer.token(id) for id in said[1:])[:most]
    target = [*said[:change], (said[change] + 1) % 101, *said[change + 1 :]] if change else said
    steps = cross.decoding(lm.trace(ids=ids, target_ids=target).at("decoder"))
    return Own(cross.agreement(steps, own), len(own), len(steps) - 1, most)


def test_a_target_is_compared_with_what_the_model_says_itself() -> None:
    names = [OWN.of(beside(PAIRS[0], **of)).name for of in ({"change": 0}, {"change": 0, "most": 3})]
    assert names == ["same", "cut"]
    assert [OWN.of(beside(PAIRS[0], change)).name for change in (1, 4)] == ["apart", "plain"]
