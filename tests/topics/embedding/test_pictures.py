"""The embedding page: pictures and sentences hold what the run and the table have; one word in two sentences."""

import numpy as np
import pytest
from islands import look, one, pictures
from torch.nn import functional as F

import viz_model as vm
from viz_model.drawing.scene import Cells
from viz_model.island.look import Look
from viz_model.topics import embedding as topic
from viz_model.topics.embedding import depth as context
from viz_model.topics.embedding import lookup, nearest, table
from viz_model.topics.embedding.depth import CONTEXTUAL
from viz_model.topics.embedding.nearest import NEAR
from viz_model.topics.embedding.table import geometry
from viz_model.topics.embedding.table import nearest as nearest_context

TEXT = "The cat saw the dog and the cat ran"


@pytest.fixture(scope="module")
def here() -> Look:
    return look(vm.load("story-pre-ln").trace(TEXT), topic.PAGE, token=2)


@pytest.mark.parametrize("lang", ["en", "zh"])
def test_the_nearest_row_in_words_and_as_bars(lang: str, here: Look) -> None:
    spoken = look(here.trace, topic.PAGE, lang)
    weight = here.trace.model.embedding.weight.detach().double().numpy()
    units = weight / np.linalg.norm(weight, axis=-1, keepdims=True)
    for token in (1, 4):
        id = here.trace.own_ids[token]
        cosines = units @ units[id]
        cosines[id] = -2
        order = np.argsort(-cosines)[: table.NEAR]
        drawn = pictures(topic.PAGE, spoken, token=token)["embedding.near"]
        np.testing.assert_allclose(drawn.data.cosines, cosines[order], atol=1e-5)
        label = here.trace.tokenizer.token(int(order[0])).label
        (said,) = one(nearest.title(spoken), {"token": token})
        assert label in said and f"{cosines[order[0]]:.2f}" in said
        assert drawn.series[0].at[0] == label
        three = [here.trace.tokenizer.token(int(n)).label for n in order[:3]]
        assert {"en": ", ", "zh": "、"}[lang].join(three) in one(lookup.tell(spoken), {"token": token})[0]


@pytest.fixture(scope="module")
def story() -> vm.LanguageModel:
    return vm.load("story-pre-ln")


@pytest.mark.parametrize(("text", "is_pooled"), [(TEXT, False), (TEXT * 12, True)])
def test_a_cell_that_stands_for_many_numbers_asks_for_none(story: vm.LanguageModel, text: str, is_pooled: bool) -> None:
    drawn = lookup.rows(look(story.trace(text), topic.PAGE))
    (cells,) = [mark for mark in drawn.panels[0].marks if mark.id == "cells"]
    assert isinstance(cells, Cells) and (cells.where is None) == is_pooled == bool(drawn.note)


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
    found = nearest_context(table, [id])
    cosines = F.cosine_similarity(table.stored, table.stored[id][None], dim=1)
    assert NEAR.table(found).tolist() == [0] and cosines.topk(2).values[1].item() > 0.9
