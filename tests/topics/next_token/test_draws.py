"""Tokens drawn one after the other: those of the library, each in the interval that its number fell into."""

from __future__ import annotations

from typing import Any

import islands
import numpy as np
import pytest
import torch
from next_token_looks import look_at, mark
from tiny_models import language_model, tiny_config

import viz_model as vm
from viz_model import texts
from viz_model.drawing.digits import percent
from viz_model.island.page import Button, Buttons, Ribbon
from viz_model.island.prose import html as as_html
from viz_model.measures.continuation import Drawing, longer
from viz_model.runs.generation import LEADERS, Step, distribution, interval, steps
from viz_model.tokenizers.tokenizer import Token
from viz_model.topics import next_token as topic
from viz_model.topics.next_token import draws
from viz_model.topics.next_token.drawn import picked as picked_of
from viz_model.topics.next_token.drawn import steps as steps_of
from viz_model.topics.next_token.draws import draw_facts

SAMPLINGS = [vm.Sampling(), vm.Sampling(temperature=0.7, top_k=9, top_p=0.8), vm.Sampling(temperature=0.0)]
TEXT = "Tom had a cat and a dog."


@pytest.fixture(scope="module")
def story() -> vm.Trace:
    return vm.load("story-pre-ln").trace(TEXT)


def certain(token: Token) -> Step:
    """A draw that had no choice."""
    return Step(token, 1.0, 1.0, 0.0, 0.0, 1.0, 0, ((token, 1.0),))


def of_page(look: Any, kind: type, name: str = "") -> list[Any]:
    """All things of one kind on the page, or those of a name."""
    made: list[Any] = [one for one in islands.made(topic.NEXT, look) if isinstance(one, kind)]
    return [one for one in made if not name or one.name == name]


def button(look: object, label: str) -> Button:
    (found,) = of_page(look, Buttons)
    return next(one for one in found.buttons if one.label == label)


def test_a_number_lies_in_the_interval_of_its_token() -> None:
    logits = torch.randn(50, generator=torch.Generator().manual_seed(0))
    found = distribution(logits, vm.Sampling(top_k=30))
    edge = 0.0
    for rank in range(30):  # the intervals follow one another without a gap
        at = interval(found, edge)
        assert at.start == pytest.approx(edge) and at.rank == rank
        assert at.stop - at.start == pytest.approx(found.final[at.id].item(), abs=1e-6)
        edge = at.stop
    assert edge == 1.0


def drawn(asked: vm.Sampling, n: int) -> list[Step]:
    lm = language_model(tiny_config())
    going = steps(lm.decoder([3, 1, 41]), lm.tokenizer, asked, seed=4)
    return [step for step, _ in zip(going, range(n), strict=False)]


@pytest.mark.parametrize("asked", SAMPLINGS)
def test_every_step_says_what_decided_it(asked: vm.Sampling) -> None:
    numbers, lm, ids = torch.Generator().manual_seed(4), language_model(tiny_config()), [3, 1, 41]
    for step in drawn(asked, 6):
        assert step.drawn == torch.rand((), generator=numbers, dtype=torch.float64).item()
        assert step.start <= step.drawn < step.stop
        assert step.stop - step.start == pytest.approx(step.final_probability, abs=1e-6)
        shares = [share for _, share in step.leaders]
        assert shares == sorted(shares, reverse=True) and len(shares) <= LEADERS
        if step.rank < len(shares):
            assert step.leaders[step.rank] == (step.token, step.final_probability)
            assert sum(shares[: step.rank]) == pytest.approx(step.start, abs=1e-6)
        assert step.leaders[0][0].id == int(lm.trace(ids=ids)["logits"][-1].argmax())  # what greedy takes
        ids.append(step.token.id)


def test_drawing_on_draws_what_drawing_at_once_draws(story: vm.Trace) -> None:
    drawing = Drawing(story, vm.Sampling(top_p=0.9), 3)
    grown = [drawing.first(count).steps for count in (1, 4, 2)]
    expected = vm.load("story-pre-ln").generate(TEXT, max_new_tokens=4, top_p=0.9, seed=3).steps
    assert grown[1] == expected and grown[0] == expected[:1] and grown[2] == expected[:2]
    assert [drawing.first(n).held.keys.shape[1] for n in (0, 1, 4)] == [len(story), len(story), len(story) + 3]


@pytest.mark.parametrize("edit", [vm.edits.NoPosition(), vm.edits.NoMask(), vm.edits.AblateHead(layer=0, head=1)])
def test_edits_hold_while_a_text_is_drawn(edit: vm.edits.Edit) -> None:
    lm = vm.load("story-pre-ln")
    found = Drawing(lm.trace(TEXT, edits=(edit,)), vm.Sampling(), 1).first(5).steps
    assert found == lm.generate(TEXT, max_new_tokens=5, seed=1, edits=(edit,)).steps


@pytest.mark.parametrize("lang", texts.LANGUAGES)
def test_what_the_page_draws_is_what_the_model_says(lang: str, story: vm.Trace) -> None:
    asked = vm.Sampling(temperature=1.5, top_k=30, top_p=0.9)
    look = look_at(story, asked, lang, {"drawn": "7", "seed": "5", "picked": "3"})
    expected = (
        vm.load("story-pre-ln").generate(TEXT, max_new_tokens=7, temperature=1.5, top_k=30, top_p=0.9, seed=5).steps
    )
    (ribbon,), (greedy,) = of_page(look, Ribbon, "drawn"), of_page(look, Ribbon, "drawn_greedy")
    assert isinstance(ribbon, Ribbon) and isinstance(greedy, Ribbon)
    assert [(one["label"], one["under"]) for one in ribbon.chips] == [
        (step.token.label, percent(step.final_probability)) for step in expected
    ]
    assert [one["label"] for one in greedy.chips] == [step.leaders[0][0].label for step in expected]
    assert (ribbon.selected, ribbon.option) == (3, "picked") == (greedy.selected, greedy.option)
    said = islands.sentences(topic.NEXT, look)
    facts = {**draw_facts(expected, 3), "seed": "5"}
    t = texts.Texts(lang)
    for words in (
        t("next_token.fell_title", **facts),
        t.prose("next_token.fell", **facts),
        t.prose("next_token.fell_count", **facts),
    ):
        assert islands.plain(as_html(words)) in said
    again = look_at(story, asked, lang, {"drawn": "7", "seed": "5"})
    assert picked_of(again) == 6 and Drawing(story, asked, 5).first(7).steps == expected


def test_the_bars_are_the_intervals_and_the_marks_the_numbers(story: vm.Trace) -> None:
    for asked, seed in ((vm.Sampling(temperature=1.5), "3"), (vm.Sampling(), "0")):
        for picked in (0, 9, 19):
            look = look_at(story, asked, options={"drawn": "20", "picked": str(picked), "seed": seed})
            scene = islands.pictures(topic.NEXT, look)["next_token.fell"]
            found = steps_of(look)
            names = list(mark(scene, "names").texts)
            first = int(names[0][1:].split()[0]) - 1
            shown = found[first : first + draws.ROWS_DRAWN]
            assert len(names) == len(shown) == min(draws.ROWS_DRAWN, len(found)) and 0 <= picked_of(look) - first < len(
                shown
            )
            assert mark(scene, "names").marked == picked_of(look) - first
            np.testing.assert_allclose(mark(scene, "numbers").x[:, 0], [step.drawn for step in shown], atol=1e-6)
            parts = mark(scene, "intervals")
            hit = [n for n, opacity in enumerate(parts.opacity) if opacity == 0.55]
            np.testing.assert_allclose(parts.x[hit, 0], [step.start for step in shown], atol=1e-6)
            np.testing.assert_allclose(parts.width[hit, 0], [step.stop - step.start for step in shown], atol=1e-6)
            around = [n for n in range(len(parts.opacity)) if n not in hit]
            assert parts.width[around, 0].sum() == pytest.approx(len(shown), abs=1e-4)  # each bar is full


def test_buttons_draw_on_start_over_and_keep_what_was_drawn(story: vm.Trace) -> None:
    nothing = look_at(story)
    assert button(nothing, "One more token").options["drawn"] == "1"
    assert button(nothing, "Start over").is_off and button(nothing, "Put it in the sentence box").is_off
    look = look_at(story, options={"drawn": "4", "seed": "9999"})
    assert button(look, "Ten more").options == {"drawn": "14", "picked": ""}
    assert button(look, "Again with the next seed").options == {"drawn": "4", "picked": "", "seed": "0"}
    kept = button(look, "Put it in the sentence box")
    text = vm.load("story-pre-ln").generate(TEXT, max_new_tokens=4, top_p=0.9, seed=9999).text
    assert kept.words == {"text": TEXT + text} and kept.options["drawn"] == ""
    greedy = look_at(story, vm.Sampling(temperature=0.0), options={"drawn": "4"})
    assert button(greedy, "Again with the next seed").is_off


def test_the_text_goes_on_without_broken_characters(lm: vm.LanguageModel) -> None:
    trace, tokenizer = lm.trace("我 cat"), lm.tokenizer

    def of(*ids: int) -> list[Step]:
        return [certain(tokenizer.token(id)) for id in ids]

    assert longer(trace, of(*tokenizer.encode(" sat 爱"))) == "我 cat sat 爱"
    broken = next(id for id in range(tokenizer.n_vocab) if tokenizer.token(id).bytes == "爱".encode()[:1])
    assert longer(trace, of(*tokenizer.encode(" sat"), broken)) == "我 cat sat"
    assert tokenizer.end_of_text is not None
    assert longer(trace, of(tokenizer.end_of_text)) == longer(trace, []) == "我 cat"
    cut = lm.trace("the cat sat on the mat", max_tokens=3)
    assert cut.n_dropped and longer(cut, of(394)) == tokenizer.decode([*cut.ids, 394])
