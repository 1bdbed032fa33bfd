"""What was expected of every token of a text, against runs of its own."""

from __future__ import annotations

from typing import Any

import islands
import numpy as np
import pytest
import torch
from next_token_looks import look_at, mark
from tiny_models import describe, language_model, run_both, variants

import viz_model as vm
from viz_model import texts
from viz_model.config import ModelConfig
from viz_model.drawing.scene import seen
from viz_model.topics import next_token as topic
from viz_model.topics.next_token import arrivals

GENERATING = [c for c in variants() if c.kind != "encoder"]


@pytest.mark.parametrize("config_", GENERATING, ids=describe)
def test_every_decoder_s_arrivals_are_its_own_tokens_shifted_by_one(config_: ModelConfig) -> None:
    trace = run_both(language_model(config_)).at("decoder")
    found, ids = arrivals.following(trace), trace.own_ids
    assert found.positions.tolist() == list(range(1, len(ids)))
    np.testing.assert_allclose(found.probs, trace["probs"][range(len(ids) - 1), ids[1:]], rtol=1e-4)
    np.testing.assert_allclose(found.bits, -np.log2(found.probs), atol=1e-5)
    for n, came in enumerate(ids[1:]):
        probs = trace["probs"][n]
        assert found.ranks[n] == 1 + int((probs > probs[came]).sum())
        assert [label for label, _ in found.guesses[n]] == [token.label for token, _ in trace.next_tokens(n, 3)]


@pytest.mark.parametrize("lang", texts.LANGUAGES)
def test_a_text_is_drawn_with_the_selected_token_framed(lang: str) -> None:
    trace = vm.load("story-pre-ln").trace("Tom had a cat and a dog.")
    look, found = look_at(trace, lang=lang), arrivals.following(trace)
    for token in (0, 4, len(trace) - 1):
        scene = islands.pictures(topic.NEXT, look, token=token)["next_token.arrivals"]
        np.testing.assert_allclose(mark(scene, "cells.probability").values[0], found.probs, rtol=1e-6)
        assert mark(scene, "cells.probability").where.at(0, 2) == ("probs", (2, trace.ids[3]))
        bars: Any = mark(scene, "bits")
        np.testing.assert_allclose(bars.height / bars.height.max(), found.bits / found.bits.max(), rtol=1e-4)
        framed: list[Any] = [one for one in scene.panels[0].marks if one.id == "chosen"]
        assert len(framed) == (token < len(trace) - 1)  # what follows the last token nobody knows
        assert not framed or framed[0].x[0] == pytest.approx(token / len(found.labels))
    loss = torch.nn.functional.cross_entropy(trace["logits"][:-1].double(), torch.tensor(trace.ids[1:])).item()
    said = " ".join(islands.sentences(topic.NEXT, look))
    assert f"{loss:.2f}" in said and f"{loss / np.log(2):.2f}" in said
    assert f"{(found.ranks == 1).sum()} of {len(found.labels)}" in said or lang == "zh"


def test_covered_tokens_are_drawn_over_what_is_visible() -> None:
    lm = vm.load("story-bert")
    trace = lm.trace("The cat sat on the mat.")
    mask = lm.tokenizer.mask_id
    assert mask is not None
    look = look_at(trace, token=3)
    scene = seen(arrivals.draw(look), look.place)  # type: ignore[arg-type]
    found = arrivals.view(look)
    assert found is not None and found.before is None
    for n, position in enumerate(found.positions.tolist()):
        alone = lm.trace(ids=[mask if k == position else id for k, id in enumerate(trace.ids)])["probs"][position]
        own = trace.ids[position]
        assert mark(scene, "cells.probability").values[0, n] == pytest.approx(float(alone[own]), rel=1e-3)
        assert mark(scene, "cells.visible").values[0, n] == pytest.approx(
            float(trace["probs"][position, own]), rel=1e-3
        )


def test_one_token_has_nothing_to_hold_it_against() -> None:
    look = look_at(vm.load("story-pre-ln").trace("a"))
    assert arrivals.draw(look) is None and not arrivals.records(look)
    assert any("Type a second one" in line for line in islands.sentences(topic.NEXT, look))
