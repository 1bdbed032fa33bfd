"""Experiments on one run: measures against their definitions, and what must hold of every kind of model."""

from __future__ import annotations

import numpy as np
import pytest
from tiny_models import describe, few, language_model, run_both

from viz_model.config import ModelConfig, NoPosition
from viz_model.measures import change
from viz_model.measures.change import rerun
from viz_model.runs import edits
from viz_model.topics.ablations import breaking

SAMPLE = few()
every = pytest.mark.parametrize("config", SAMPLE, ids=describe)


@every
def test_a_change_is_measured_where_the_answer_is(config: ModelConfig) -> None:
    for side in config.sides:
        plain = run_both(language_model(config)).at(side)
        at = breaking.place(plain, 1)
        assert at == ((side, 1) if side == config.sides[-1] else ("decoder", len(plain.at("decoder")) - 1))
        places = range(len(plain.at(at.side)))
        none = breaking.costs(plain, plain, at.side, places)
        assert none.amount == pytest.approx(np.zeros(len(places)), abs=1e-12) and not none.changed.any()
        of = None if side == config.sides[-1] else side
        (found,) = breaking.tried(plain, [edits.Skip(layer=0, part="ffn", side=of)], at.side, places)
        (alone,) = breaking.tried(plain, [edits.Skip(layer=0, part="ffn", side=of)], at.side, [at.position])
        assert alone.amount == pytest.approx(found.amount[[at.position]], rel=1e-5)
        after = rerun(plain, [edits.Skip(layer=0, part="ffn", side=of)])
        assert found.amount[at.position] > 0
        for n in places if config.has_logits else ():
            expected = change.guesses(plain.at(at.side), after.at(at.side), n)
            assert found.amount[n] == pytest.approx(expected.divergence, abs=1e-6)
            assert found.changed[n] == (expected.before.argmax() != expected.after.argmax())


@every
def test_order_enters_through_positions_and_masks_alone(config: ModelConfig) -> None:
    plain = run_both(language_model(config)).at(config.sides[0])
    shuffle = breaking.a_shuffle(plain)
    assert shuffle is not None
    order = breaking.came_from(plain, shuffle)
    assert sorted(order) == list(range(len(plain))) and order != tuple(range(len(plain)))
    moved = rerun(plain, [shuffle])
    assert moved.at(config.sides[0]).own_ids == tuple(plain.own_ids[i] for i in order)
    assert breaking.reordered(plain, shuffle, "neither") < breaking.ALIKE
    is_masked = config.sides[0] == "decoder" or any(config.windows)
    if not isinstance(config.position, NoPosition) or is_masked:
        assert breaking.reordered(plain, shuffle, "as_it_is") > breaking.ALIKE


@every
def test_what_is_patched_in_last_is_the_other_answer(config: ModelConfig) -> None:
    lm, side = language_model(config), config.sides[0]
    plain = run_both(lm).at(side)
    ids = list(plain.own_ids)
    ids[2] = (ids[2] + 1) % config.n_vocab
    other = lm.trace(ids=ids, target_ids=plain.target_ids).at(side)
    assert breaking.differs_at(plain, other) == (2,)
    at = breaking.place(plain, 4)
    first, *_, last = list(breaking.patches(plain, other, range(plain.n_layers + 1), [2, 4], at))
    # The embedding of the one token that differs is all that differs, save what stays behind of a mask of windows.
    assert first[0] == pytest.approx(1, abs=1e-3)
    assert first[1] == pytest.approx(0, abs=1e-3)
    if side == at.side:
        assert list(last) == pytest.approx([0, 1], abs=1e-3)


def test_the_depth_from_which_a_word_no_longer_decides() -> None:
    def leaves(*column: float) -> int | None:
        moved = np.array(column)[:, None]
        return breaking.Patching(tuple(range(len(column))), (3,), moved, 0).leaves

    assert leaves(1, 0.8, 0.2, 0) == 2 and leaves(1, 0.2, 0.7, 0) == 3
    assert leaves(1, 0.9) is None and leaves(0.1, 0.2) == 0


@every
def test_the_map_of_differences_begins_where_the_edit_is(config: ModelConfig) -> None:
    side = config.sides[-1]
    plain = run_both(language_model(config)).at(side)
    found = breaking.spread(plain, rerun(plain, [edits.Skip(layer=1, part="attn")]))
    assert found.sites[0] == "embed.out" and len(found.sites) == plain.n_layers + 1
    assert not found.values[:2].any() and found.values[2].all()
    gap = rerun(plain, [edits.Skip(layer=1, part="attn")])[found.sites[2]] - plain[found.sites[2]]
    assert found.values[2, 1] == pytest.approx(float(gap[1].norm() / plain[found.sites[2]][1].norm()), rel=1e-4)
