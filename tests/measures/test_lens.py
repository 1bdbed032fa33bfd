"""The logit lens, what heads read most, which head is shown unasked, and what queries read of a state."""

import numpy as np
import pytest
import torch
from tiny_models import close, describe, language_model, mixed, run_both, tiny_config, traced, variants

import viz_model as vm
from viz_model.config import DeltaNet, ModelConfig
from viz_model.measures import heads, lens, salience, states
from viz_model.measures.heads import HEAD


def summarize(pattern: np.ndarray, seen: np.ndarray | None = None, marks: tuple[int, ...] = ()) -> heads.HeadSummary:
    """Of a pattern and who sees whom [T, T]: unless given, all of them where weight lies above the diagonal."""
    everything = np.ones_like(pattern, dtype=bool)
    visible = np.tril(everything, len(pattern) * bool(np.triu(pattern, 1).any())) if seen is None else seen
    rows = heads.measured(torch.tensor(pattern.copy())[None], torch.tensor(visible), marks=marks)
    return heads.averaged(rows.numpy(), visible.sum(-1))[0]


WITH_LOGITS = [config for config in variants() if config.has_logits]


@pytest.mark.parametrize("config", WITH_LOGITS[::3], ids=describe)
def test_the_last_depth_is_the_model(config: ModelConfig) -> None:
    trace = run_both(language_model(config)).at(config.sides[-1])
    positions = range(len(trace))
    close(lens.logits(trace, lens.stream(trace, trace.n_layers, positions)), trace["logits"])
    seen = lens.look(trace, range(trace.n_layers + 1), positions)
    assert seen.ids.shape == seen.probs.shape == seen.own.shape == (trace.n_layers + 1, len(trace))
    assert (seen.ids[-1] == trace["logits"].argmax(-1).numpy()).all()
    probs = trace["probs"].numpy()
    np.testing.assert_allclose(seen.probs[-1], probs.max(-1), atol=1e-5)
    np.testing.assert_allclose(seen.own[-1], probs[np.arange(len(trace)), list(trace.own_ids)], atol=1e-5)


def test_the_first_depth_is_the_embedding_through_the_final_norm() -> None:
    trace = run_both(language_model(tiny_config("pre")))
    norm = trace.stack.final_norm
    assert norm is not None
    row = trace["embed.token"][2] + trace["embed.position"][2]
    expected = (trace.model.unembedding.weight @ norm(row)).softmax(-1)
    seen = lens.look(trace, [0], [2])
    assert seen.ids[0, 0] == expected.argmax() and seen.probs[0, 0] == pytest.approx(expected.max().item(), abs=1e-5)


def test_a_token_is_followed_by_depth() -> None:
    trace = run_both(language_model(tiny_config("post")))
    top = int(trace["logits"][4].argmax())
    found = lens.ranks(trace, 3, range(trace.n_layers + 1), [2, 4])
    assert found.shape == (trace.n_layers + 1, 2)
    assert lens.ranks(trace, top, [trace.n_layers], [4]) == [[1]]
    block = trace.stack.block(trace.n_layers - 1)
    added = trace["blocks.0.resid.mid"][4] + trace["blocks.0.ffn.out"][4]
    middle = trace.model.unembedding.weight @ block.ffn_norm(added)
    assert found[1, 1] == 1 + int((middle > middle[3]).sum())


def test_when_a_token_is_settled() -> None:
    assert lens.settled(np.array([5, 1, 2, 1, 1])) == 3
    assert lens.settled(np.array([1, 1])) == 0
    assert lens.settled(np.array([1, 2])) is None


def causal(rows: list[list[float]]) -> np.ndarray:
    return np.array([row + [0.0] * (len(rows) - len(row)) for row in rows])


EVEN = causal([[1], [1 / 2] * 2, [1 / 3] * 3, [1 / 4] * 4])
PREVIOUS = causal([[1], [0.9, 0.1], [0, 1, 0], [0, 0, 0.8, 0.2]])


@pytest.mark.parametrize(
    ("pattern", "kind"),
    [
        (PREVIOUS, "previous"),
        (np.eye(4), "itself"),
        (np.eye(4)[[0, 0, 0, 0]], "first"),
        (EVEN, "broad"),
        (causal([[1], [0.5, 0.5], [0.02, 0.49, 0.49], [0.02, 0.49, 0.0, 0.49]]), "broad"),
        (causal([[1], [0.5, 0.5], [0.2, 0.4, 0.4], [0.0, 0.6, 0.0, 0.4]]), "plain"),
        (np.ones((1, 1)), "alone"),
    ],
)
def test_a_head_is_named_after_where_its_weight_goes(pattern: np.ndarray, kind: str) -> None:
    np.testing.assert_allclose(pattern.sum(-1), 1)
    assert HEAD.of(summarize(pattern)).name == kind


TWO_WAY_NEXT = np.array([[0.1, 0.9, 0], [0, 0.2, 0.8], [0.3, 0.3, 0.4]])
ON_MARKS = np.array([[0.1, 0.1, 0.1, 0.7], [0.45, 0.05, 0.05, 0.45], [0.4, 0.1, 0.1, 0.4], [0.6, 0.1, 0.1, 0.2]])


def test_two_way_patterns_have_heads_for_what_follows_and_for_control_tokens() -> None:
    found = summarize(TWO_WAY_NEXT)
    assert HEAD.of(found).name == "next" and found.next == pytest.approx((0.9 + 0.8) / 2)
    assert HEAD.of(summarize(TWO_WAY_NEXT[::-1, ::-1])).name == "previous"
    assert HEAD.of(summarize(ON_MARKS)).name == "plain"
    marked = summarize(ON_MARKS, marks=(0, 3))
    assert HEAD.of(marked).name == "marks" and marked.marks == pytest.approx((0.8 + 0.9 + 0.8 + 0.8) / 4)
    # An even spread over few tokens says nothing about control tokens, though they get most of it.
    assert HEAD.of(summarize(np.full((3, 3), 1 / 3), marks=(0, 2))).name == "broad"
    window = np.tril(np.ones((6, 6))) - np.tril(np.ones((6, 6)), -2)
    pattern = window / window.sum(-1, keepdims=True)  # as even as who sees no more can be
    assert summarize(pattern, window > 0).entropy == pytest.approx(1.0) and summarize(pattern).entropy < 0.8


def test_control_tokens_are_those_that_no_reading_of_the_text_has() -> None:
    trace = vm.load("story-bert").trace("the cat [MASK]")
    marked = [n for n, token in enumerate(trace.tokens) if token.id in trace.tokenizer.controls]
    assert list(heads.marks(trace)) == marked and 0 in marked
    plain = language_model(tiny_config(kind="encoder", n_vocab=8192))
    assert heads.marks(plain.trace("the cat")) == heads.marks(plain.trace(ids=[3, 1, 4])) == ()


N = 6
BACK = np.eye(N, k=-1) + np.eye(N) * (np.arange(N) == 0)
FIRST = np.repeat(np.eye(N)[:1], N, axis=0)
FIXED = np.repeat(np.eye(N)[2:3], N, axis=0)
SPREAD = np.tril(np.ones((N, N))) / np.arange(1, N + 1)[:, None]


def test_a_head_that_reads_back_tells_more_than_one_that_rests_or_spreads() -> None:
    assert salience.choosiness(BACK) == pytest.approx(1 - 1 / N)
    assert salience.choosiness(FIRST) == salience.choosiness(np.eye(N)) == 0
    assert salience.choosiness(SPREAD) < 0.3
    # What all queries read says little of any of them.
    assert salience.choosiness(FIXED, is_cross=True) == 0
    assert salience.choosiness(np.eye(N), is_cross=True) == pytest.approx(1 - 1 / N)
    assert salience.choosiness(np.eye(N), tuple(range(N)), is_cross=True) == 0


def test_of_the_bundled_model_it_is_the_head_of_the_previous_token() -> None:
    trace = vm.load("story-pre-ln").trace("The cat sat on the mat")
    much = np.stack([salience.of_layer(trace, layer) for layer in salience.layers(trace)])
    assert much.shape == (trace.n_layers, trace.config.n_heads)
    layer, head = np.unravel_index(much.argmax(), much.shape)
    assert HEAD.label("en", heads.of_layer(trace, int(layer))[head]) == "previous token"


STATES = [config for config in mixed() if config.has_states]


@pytest.mark.parametrize("config", STATES, ids=str)
def test_shares_of_values_add_up_to_what_is_read(config: ModelConfig) -> None:
    trace = traced(config)
    (layer,) = (n for n, mixer in enumerate(config.mixers) if isinstance(mixer, DeltaNet))
    shares = states.shares(trace, layer)
    torch.testing.assert_close(
        shares @ trace[f"blocks.{layer}.attn.value_conv"], trace[f"blocks.{layer}.attn.read"], atol=1e-5, rtol=1e-5
    )
    assert not shares.triu(1).any()


@pytest.mark.parametrize("pool", [1, 2, 4])
def test_the_head_that_reads_least_of_its_own_token_is_pooled_by_size(pool: int) -> None:
    trace = traced(STATES[0])
    shares = states.shares(trace, 0).numpy()
    rows = shares / np.abs(shares).sum(-1, keepdims=True)
    head, does, found = states.farthest(trace, 0, pool)
    assert does is None and head == np.abs(rows.diagonal(0, 1, 2)).sum(-1).argmin()
    seen = np.where(np.tril(np.ones(rows.shape[1:])) > 0, rows[head], np.nan)
    for row, column in np.ndindex(found.shape):
        cells = seen[row * pool : (row + 1) * pool, column * pool : (column + 1) * pool]
        if np.isnan(cells).all():
            assert np.isnan(found[row, column])
        else:
            assert abs(found[row, column]) == pytest.approx(np.nanmax(np.abs(cells)))
