"""The pictures and sentences of cross-attention are the numbers of the run, for every encoder–decoder."""

from dataclasses import replace

import islands
import numpy as np
import pytest
import torch
from tiny_models import describe, language_model, run_both, variants

from viz_model.config import ModelConfig
from viz_model.drawing.digits import percent
from viz_model.island import query
from viz_model.island.look import Look
from viz_model.runs.generation import MOST_SAID
from viz_model.tokenizers.tokenizer import Token
from viz_model.topics.cross_attention import PAGE, decoding, reading, steps
from viz_model.topics.cross_attention.decoding import OWN, Own

PAIRS = [config for config in variants() if config.kind == "encoder_decoder"]
LAYER, HEAD, QUERY = 1, 2, 3
AT = f"blocks.{LAYER}.cross."


@pytest.fixture(params=PAIRS, ids=describe)
def look(request: pytest.FixtureRequest) -> Look:
    trace = run_both(language_model(request.param)).at("decoder")
    return islands.look(trace, PAGE, layer=LAYER, head=HEAD, token=QUERY)


def test_padding_takes_the_weight_of_the_end_and_gives_it_to_the_rest(look: Look) -> None:
    own, found = look.trace[AT + "pattern"][HEAD, QUERY].numpy(), query.every(look, "cross", steps.N_PADDING)
    at, seen_keys = (LAYER, HEAD, QUERY), len(own) - steps.N_PADDING
    masked, pattern = found["masked"][at], found["pattern"][at]
    assert (pattern[seen_keys:] == 0).all() and np.isneginf(masked[seen_keys:]).all()
    np.testing.assert_allclose(pattern[:seen_keys], own[:seen_keys] / own[:seen_keys].sum(), atol=1e-6)
    moved, padded = own[seen_keys:].sum(), replace(look, options={"mask": "padding"})
    assert steps.padded(padded).weight[at] == pytest.approx(moved)
    said = " ".join(islands.one(steps.tell(padded), look.place))
    assert "Not what this run did" in said and f"{moved:.1%}" in said
    assert "There is no mask here" in " ".join(islands.one(steps.tell(look), look.place))


def test_the_table_names_the_heaviest_column_of_each_row(look: Look) -> None:
    found, trace = reading.reading(look), look.trace
    layers = torch.stack([trace[f"blocks.{i}.cross.pattern"].mean(0) for i in range(trace.n_layers)])
    expected = {"head": trace[AT + "pattern"][HEAD], "layer": layers[LAYER], "model": layers.mean(0)}
    at = {"head": (LAYER, HEAD), "layer": (LAYER,), "model": ()}
    said = " ".join(islands.one(reading.tell(look), look.place))
    for name, pattern in expected.items():
        positions, shares = (values[at[name]] for values in getattr(found, name))
        np.testing.assert_allclose(shares, pattern.max(-1).values.numpy(), atol=1e-6)
        np.testing.assert_allclose(pattern.numpy()[np.arange(len(trace)), positions], shares, atol=1e-6)
        assert all(percent(float(share)) in said for share in shares)


def test_each_step_predicts_what_a_shorter_run_would(look: Look) -> None:
    trace, found = look.trace, decoding.decoding(look.trace, k=3)
    assert [step.reads.id for step in found] == list(trace.target_ids or ())
    assert [step.came and step.came.id for step in found] == [*(trace.target_ids or ())[1:], None]
    lm = language_model(trace.config)
    for i, step in enumerate(found):
        alone = lm.trace(ids=trace.ids, target_ids=(trace.target_ids or ())[: i + 1])
        expected = alone.next_tokens(-1, 3)
        assert [token.id for token, _ in step.guesses] == [token.id for token, _ in expected]
        assert [p for _, p in step.guesses] == pytest.approx([p for _, p in expected], rel=1e-4)
        if step.came is not None:
            probs = alone["logits"][-1].softmax(-1)
            assert step.probability == pytest.approx(probs[step.came.id].item(), rel=1e-4)
            assert step.rank == 1 + int((probs > probs[step.came.id]).sum())
            assert step.hit == (step.came.id == step.guesses[0][0].id)


def greedy(config: ModelConfig, change: int = 0) -> tuple[tuple[decoding.Step, ...], tuple[Token, ...]]:
    """The steps of a target of five tokens, of which one is changed, and the model's own words."""
    lm, ids, said = language_model(config), [7, 8, 9, 4], [0]
    for _ in range(5):
        said.append(lm.trace(ids=ids, target_ids=said).next_tokens(-1, 1)[0][0].id)
    own = tuple(lm.tokenizer.token(id) for id in said[1:])
    target = [*said[:change], (said[change] + 1) % 101, *said[change + 1 :]] if change else said
    trace = lm.trace(ids=ids, target_ids=target).at("decoder")
    words = decoding.own_words(islands.look(trace, PAGE))
    assert len(words) <= MOST_SAID and [token.id for token in words[:5]] == said[1 : 1 + len(words[:5])]
    return decoding.decoding(trace), own


@pytest.mark.parametrize("config", PAIRS[:3], ids=describe)
def test_a_target_is_compared_with_what_the_model_says_itself(config: ModelConfig) -> None:
    found, own = greedy(config)
    assert all(step.hit for step in found[:-1]) and not found[-1].hit
    assert decoding.agreement(found, own) == 5 and decoding.agreement(found, own[:2]) == 2
    assert [decoding.agreement(*greedy(config, change)) for change in (1, 3)] == [0, 2]


@pytest.mark.parametrize(
    ("same", "own", "target", "said"),
    [(4, 4, 4, "same"), (4, 64, 4, "same"), (64, 64, 90, "cut"), (3, 9, 8, "plain"), (0, 9, 8, "apart")],
)
def test_a_target_is_compared_with_no_more_than_was_said(same: int, own: int, target: int, said: str) -> None:
    assert OWN.of(Own(same, own, target, MOST_SAID)).name == said
