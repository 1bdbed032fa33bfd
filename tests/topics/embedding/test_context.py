"""One word in two sentences, and what of its own row a vector keeps: by plain cosines, and on the bundled models."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from torch.nn import functional as F

import viz_model as vm
from viz_model import texts
from viz_model.topics.embedding import depth as context
from viz_model.topics.embedding.depth import CONTEXTUAL, OWN, OwnPart
from viz_model.topics.embedding.nearest import NEAR
from viz_model.topics.embedding.table import geometry, nearest


@pytest.fixture(scope="module")
def story() -> vm.LanguageModel:
    return vm.load("story-pre-ln")


def test_cosines_of_a_word_in_two_sentences(story: vm.LanguageModel) -> None:
    first, second = story.trace("This bag is very light."), story.trace("Please turn on the light.")
    positions = context.shared(first, second)[0]
    assert first.tokens[positions[0]].label == second.tokens[positions[1]].label == "·light"
    view = context.two_sentences(first, second, positions)
    for n, site in enumerate(view.sites):
        here, there = first[site][positions[0]], second[site]
        assert view.same[n] == pytest.approx(F.cosine_similarity(here, there[positions[1]], dim=0).item(), abs=1e-5)
        others = [F.cosine_similarity(here, row, dim=0).item() for m, row in enumerate(there) if m != positions[1]]
        assert view.others[n] == pytest.approx(np.mean(others), abs=1e-5)
    assert view.equal >= 2  # the row, and the same place
    assert CONTEXTUAL.of(view).name == "parts"


def test_a_decoder_knows_nothing_of_what_follows(story: vm.LanguageModel) -> None:
    first, second = story.trace("The cat sat on the mat."), story.trace("The cat saw a dog.")
    view = context.two_sentences(first, second, (1, 1))
    assert CONTEXTUAL.of(view).name == "never" and view.equal == len(view.sites)
    encoder = vm.load("story-bert")
    first, second = (encoder.trace(text) for text in ("The cat sat on the mat.", "The cat saw a dog."))
    assert CONTEXTUAL.of(context.two_sentences(first, second, (2, 2))).name != "never"


def test_bytes_that_hardly_occur_lie_almost_parallel(story: vm.LanguageModel) -> None:
    table = geometry(story.model.embedding.weight)
    id = story.trace("🙂").ids[0]
    found = nearest(table, [id])
    rows = table.stored
    cosines = F.cosine_similarity(rows, rows[id][None], dim=1)
    cosines[id] = -1
    assert NEAR.table(found).tolist() == [0] and cosines.max().item() > 0.9


@pytest.mark.parametrize("language", texts.LANGUAGES)
def test_the_sentences_that_come_with_a_language_share_a_word(language: str, story: vm.LanguageModel) -> None:
    both = [story.trace(texts.labels(language, "embedding")[f"{name}_text"]) for name in ("one", "other")]
    one, other = context.shared(*both)[0]
    assert one == other and one > 0  # at the same place, so that the position makes no difference
    assert both[0].tokens[one].label in ("·light", "花")


def test_the_own_part_is_the_cosine_with_the_row(bundled: vm.LanguageModel) -> None:
    table = geometry(bundled.model.embedding.weight)
    trace = bundled.trace("The cat and the dog sat")
    found = context.own_part(trace, table)
    for token in (0, len(trace) - 1):
        view = OwnPart(*(values[token] for values in found))
        rows = bundled.model.embedding.weight.detach()
        for n, site in enumerate(context.places(trace)):
            cosines = F.cosine_similarity(rows, trace[site][token][None], dim=1)
            own = cosines[trace.ids[token]].item()
            assert view.own[n] == pytest.approx(own, abs=1e-4)
            assert abs(view.rank[n] - int((cosines > own).sum())) <= 2
        assert view.own[0] == pytest.approx(1.0) and view.rank[0] == 0
        assert OWN.of(view).name in ("stays", "leaves", "plain")
    last = len(trace) - 1
    read = [n for n in range(last) if trace.ids[n] != trace.ids[last]]
    others = torch.stack([rows[trace.ids[n]] for n in read])
    expected = F.cosine_similarity(others, trace[context.places(trace)[-1]][last][None], dim=1)
    if bundled.config.kind == "decoder":
        assert view.neighbor[-1] == pytest.approx(expected.max().item(), abs=1e-4)
        assert np.isnan(found.neighbor[0]).all() and (found.neighbors[0] == -1).all()
