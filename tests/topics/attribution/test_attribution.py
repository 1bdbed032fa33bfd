"""Why a token: pictures hold the numbers that they are made of, and the page asks and answers by runs."""

import dataclasses
from collections.abc import Iterator
from typing import Any

import islands
import numpy as np
import pytest
import streamlit as st
from app_driver import address, answer, island_lines, offer, open_page
from tiny_models import describe, few, language_model, run_both

import viz_model as vm
from viz_model import config as choices
from viz_model import explain, images
from viz_model.app import examples
from viz_model.config import ModelConfig
from viz_model.drawing.scene import Cells, Items, Path
from viz_model.drawing.tables import pick
from viz_model.explain.routes import SOURCES
from viz_model.island.look import Look
from viz_model.island.page import Quiz
from viz_model.runs.edits import AblateHead
from viz_model.topics.attribution import PAGE, PICTURES, depth, neurons, patches, pushes, routes, waterfall
from viz_model.topics.attribution import asked as asking
from viz_model.topics.attribution.asked import asked

WITH_LOGITS = [config for config in few() if config.has_logits]
every = pytest.mark.parametrize("config", WITH_LOGITS, ids=describe)


def looked(config: ModelConfig, **options: str) -> Look:
    options = {"word": "#5", "against": "average", **options}
    return islands.look(run_both(language_model(config)).at(config.sides[-1]), PAGE, options=options, token=3)


@every
def test_the_waterfall_ends_at_the_total(config: ModelConfig) -> None:
    found = asked(looked(config)).answer
    view = waterfall.sum_view(found, 4)
    starts, lengths = view.steps()
    assert len(lengths) == 6 and view.n_rest == len(found.parts) - 4
    np.testing.assert_allclose(starts[1:5], (starts + lengths)[:4])
    assert starts[-1] == 0 and lengths[-1] == found.total
    assert (starts + lengths)[4] == pytest.approx(found.total, abs=1e-4)
    assert list(np.abs(view.values)) == sorted(np.abs(found.values), reverse=True)[:4]


def test_pushes_are_the_extremes() -> None:
    pushed = np.linspace(-1, 1, 101)
    assert pushes.extremes(pushed).tolist() == [100, 99, 98, 97, 96, 95, 0, 1, 2, 3, 4, 5]
    assert pushes.rank(pushed, 98) == 3


def test_two_lenses_stand_side_by_side_and_either_follows_a_token() -> None:
    trace = vm.load("story-post-ln").trace("Tom had a cat. The cat")
    look = islands.look(trace, PAGE)
    drawn = islands.pictures(PAGE, look)
    plain, fitted = (islands.mark(drawn[f"attribution.{name}"], "cells") for name in ("lens", "lens_fitted"))
    assert isinstance(plain, Cells) and isinstance(fitted, Cells)
    said = explain.lens(trace, 1).softmax(-1).max(-1).values
    np.testing.assert_allclose(np.asarray(fitted.values)[:, 1], said, atol=1e-5)
    assert np.allclose(np.asarray(plain.values)[:, -1], np.asarray(fitted.values)[:, -1], atol=1e-5)
    assert "tuned lens" in " ".join(islands.sentences(PAGE, look))
    top = int(trace["logits"][-1].argmax())
    by_lens = [depth.ranks(asked(dataclasses.replace(look, options={"lens": name}))) for name in ("plain", "fitted")]
    expected = 1 + (explain.lens(trace, 1) > explain.lens(trace, 1)[:, top, None]).sum(-1)
    assert by_lens[1][:, 1].tolist() == expected.tolist() != by_lens[0][:, 1].tolist()


def test_neurons_are_ranked_over_all_layers() -> None:
    added = np.array([[0.1, -3.0, 0.0], [2.0, 0.5, np.nan]])
    layers, numbers = neurons.ranked(added, 3)
    assert list(zip(layers.tolist(), numbers.tolist(), strict=True)) == [(0, 1), (1, 0), (1, 1)]


def test_a_patch_and_a_head_are_worth_what_the_logit_loses_without_them() -> None:
    lm = vm.load("digits-vit")
    trace = lm.trace(images.decode(examples.of(lm, "en")[0]))
    look = islands.look(trace, PICTURES, options={"class": "4"})
    lost = patches.without_heads(trace, (1,))
    off = lm.trace(trace.text, edits=[vm.edits.AblateHead(layer=1, head=2)])
    np.testing.assert_allclose(lost[0, 2], trace["class.logits"] - off["class.logits"], atol=1e-4)
    worth = look.once(patches.worth)
    row, column = 2, 1
    picture = patches.blanked(trace.picture.numpy(), lm.config.patches, row, column)  # type: ignore[union-attr]
    blank = lm.trace(picture[..., 0])
    at = row * lm.config.patches.columns + column
    np.testing.assert_allclose(worth.lost[at], trace["class.logits"] - blank["class.logits"], atol=1e-4)
    words = "\n".join(islands.sentences(PICTURES, look))
    best = int(worth.lost[:, 4].argmax())
    assert f"{look.names[1 + best]}" in words and f"{worth.lost[best, 4]:+.2f}" in words


@pytest.mark.parametrize("config", [c for c in few() if c.has_logits], ids=describe)
def test_lines_are_the_edges_of_the_largest_routes(config: vm.ModelConfig) -> None:
    here = islands.look(run_both(language_model(config), length=8).at(config.sides[-1]), PAGE, token=-1)
    question = asked(here)
    seen, found = routes.view(question), routes.found(question)
    answers = [n for n, (_, reader) in enumerate(seen.edges) if reader is None]
    expected = [sum(route.value for route in found.listed[:most]) for most in routes.STEPS]
    np.testing.assert_allclose(seen.shown, expected, atol=1e-9)
    for step, most in enumerate(routes.STEPS):
        arriving = sum(r.value for r in found.listed[:most] if r.nodes[-1].part.kind in ("head", "ffn", *SOURCES))
        assert seen.flows[step, answers].sum() == pytest.approx(arriving, abs=1e-6)
        scene = islands.pictures(PAGE, here, **{routes.MANY: step})["attribution.routes"]
        lines = [mark for mark in scene.panels[0].marks if isinstance(mark, Path)]
        assert len(lines) == np.count_nonzero(seen.flows[step])
    assert seen.error < 1e-3


def test_a_click_on_a_line_cuts_it() -> None:
    trace = vm.load("story-pre-ln").trace("Tom had a cat and a dog. The cat and the")
    plain = islands.look(trace, PAGE, token=-1)
    scene = islands.pictures(PAGE, plain, **{routes.MANY: 2})["attribution.routes"]
    (dots,) = [mark for mark in scene.panels[0].marks if isinstance(mark, Items)]
    edge = "embed.token@6>blocks.2.attn.head_out[2]@11"
    assert scene.option == routes.CUT and edge in dots.picks
    cut = islands.look(trace, PAGE, options={"cut": edge}, token=-1)
    writer, reader = routes.chosen(asked(cut)) or (None, None)
    assert writer is not None
    made = explain.cut(explain.routes(trace, -1), writer, reader)
    said = " ".join(islands.one(routes.tell(cut), {**cut.place, routes.MANY: 2}))
    assert f"−{abs(made.predicted):.2f}" in said and f"−{abs(made.measured):.2f}" in said
    assert "hardly reacts" in said
    assert routes.chosen(asked(islands.look(trace, PAGE, options={"cut": "nothing"}, token=-1))) is None


TEXT = "the cat and the dog ran"
SAMPLE = [dataclasses.replace(config, n_vocab=8192, n_context=32) for config in few()]
DECODER = next(config for config in SAMPLE if config.kind == "decoder")


@pytest.fixture(autouse=True)
def forget() -> Iterator[None]:
    yield
    st.cache_resource.clear()


def looked_at_decoder(**options: str) -> Look:
    return islands.look(language_model(DECODER).trace(TEXT), PAGE, options=options, layer=1, token=2)


def test_any_token_can_be_asked_about(monkeypatch: pytest.MonkeyPatch) -> None:
    lm = language_model(DECODER)
    dog = lm.tokenizer.encode(" dog", special=False)[0]
    cases = (("#77", "", 77), ("dog", "Read as the token", dog), ("#99999999", "is not a token of", None))
    for typed, told, id in cases:
        look = looked_at_decoder(word=typed)
        assert told in islands.told(PAGE, look)
        assert asked(look).target == (asked(look).best[2][0][0].id if id is None else id)
    offer(monkeypatch, {"tiny": lm})
    app = open_page("attribution", {"model": "tiny", "text": TEXT, "lang": "en", "word": "#77"})
    assert address(app)["word"] == "#77"
    answer(app, options={"word": "dog"})
    assert any("Read as the token" in line for line in island_lines(app)) and address(app)["word"] == "dog"
    answer(app, options={"word": "\ud800"})  # half a character, which is no text
    assert address(app)["word"] == "dog"


def test_a_rival_and_the_average() -> None:
    plain, average, second = (looked_at_decoder(against=against) for against in ("none", "average", "second"))
    logits = plain.trace["logits"][2]
    best, next_best = logits.topk(2).values.tolist()
    assert asked(plain).answer.total == pytest.approx(best, abs=1e-4)
    assert asked(average).answer.total == pytest.approx(best - logits.mean().item(), abs=1e-4)
    assert asked(second).answer.total == pytest.approx(best - next_best, abs=1e-4)
    assert "difference of their logits" in islands.told(
        PAGE, second
    ) and "above the average of all tokens" in islands.told(PAGE, average)


@pytest.mark.parametrize("name", ["story-pre-ln", "story-bert", "translate-2017"])
def test_all_tokens_are_told_of_as_each_alone(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(asking, "MOST_AT_ONCE", 0)
    lm = vm.load(name)
    run = lm.trace("The cat sat on the mat.", target="Le chat dort." if len(lm.config.sides) > 1 else None)
    for trace in map(run.at, lm.config.sides):
        look = islands.look(trace, PAGE, token=1)
        assert len(asked(look).held) == 1
        for token in (3, 1, 2):
            here, alone = (dataclasses.replace(look, token=token, _read=read) for read in (look._read, {}))
            assert islands.sentences(PAGE, here) == islands.sentences(PAGE, alone)
            assert len(asked(here).held) == len(trace) and len(asked(alone).held) == 1
            np.testing.assert_allclose(asked(here).answer.values, asked(alone).answer.values, atol=1e-6)


def test_a_masked_model_is_asked_about_a_covered_token(monkeypatch: pytest.MonkeyPatch) -> None:
    config = next(config for config in SAMPLE if isinstance(config.head, choices.MaskedHead))
    lm = language_model(config)
    monkeypatch.setattr(type(lm.tokenizer), "mask_id", 9, raising=False)
    trace = lm.trace(TEXT)
    look = islands.look(trace, PAGE, token=1)
    words, question = islands.told(PAGE, look), asked(look)
    assert "so the page covers ·cat at position 1" in words
    assert f"In the place of {lm.tokenizer.token(9).label}" in words
    covered = lm.trace(ids=[trace.ids[0], 9, *trace.ids[2:]])
    assert question.answer.total == pytest.approx(covered["logits"][1].max().item(), abs=1e-4)


@pytest.mark.parametrize("name", ["story-pre-ln", "translate-2017", "story-bert"])
def test_what_is_guessed_is_found_in_a_run_without_the_part(name: str) -> None:
    lm = vm.load(name)
    trace = lm.trace("The cat sat on the mat because it was")
    look = islands.look(trace.at(lm.config.sides[-1]), PAGE, token=len(trace.at(lm.config.sides[-1])) - 1)
    question = asked(look)
    (quiz,) = [one for one in islands.made(PAGE, look) if isinstance(one, Quiz)]
    best = max((part for part in question.answer.parts if part.kind in ("head", "ffn")), key=question.answer.of)
    ids: dict[str, Any] = {"ids": question.trace.ids, "target_ids": question.trace.target_ids}
    edit: Any = vm.edits.Skip(layer=best.layer or 0, part="ffn")
    if best.kind == "head":
        at: Any = best.at
        edit = AblateHead(layer=best.layer or 0, head=best.head or 0, attention=at)
    without = lm.trace(**ids, edits=[edit])
    total = without.row("logits", look.token)[question.target].item()
    assert f"to {total:+.2f}".replace("-", "−") in str(quiz.said)
    fall, value = question.answer.total - total, question.answer.of(best)
    assert pick(quiz.right, look.place) == (1 if f"{fall:.2f}" == f"{value:.2f}" else 2 if fall > value else 0)
    changed = islands.look(lm.trace(**ids, edits=[edit]).at(lm.config.sides[-1]), PAGE)
    assert not any(isinstance(one, Quiz) for one in islands.made(PAGE, changed))
