"""Each of the ten questions is answered with what the model really does with the sentence."""

import re
from dataclasses import replace

import islands
import numpy as np
import pytest
import torch
from tiny_models import language_model, run_both, tiny_config

import viz_model as vm
from viz_model import config as choices
from viz_model.drawing.digits import percent
from viz_model.island.look import Look
from viz_model.texts import LANGUAGES
from viz_model.topics import questions
from viz_model.topics.questions import PAGE, measured, measured_for
from viz_model.topics.questions.measured import LENGTHS, QUESTIONS

TEXT = "Tom had a cat and a dog. The cat and the"
MOST_WORDS = 200


def look(
    ask: str, move: str = "", text: str = TEXT, lang: str = "en", model: str = "story-pre-ln", **place: int
) -> Look:
    return islands.look(vm.load(model).trace(text), PAGE, lang, {"ask": ask, "move": move}, **place)


@pytest.mark.parametrize("lang", LANGUAGES)
@pytest.mark.parametrize("question", QUESTIONS, ids=lambda one: one.name)
def test_every_question_has_a_picture_and_a_short_answer(question: object, lang: str) -> None:
    for text in (TEXT, "小猫坐在垫子上", "a"):
        here = look(question.name, text=text, lang=lang)  # type: ignore[attr-defined]
        (scene,) = islands.pictures(PAGE, here).values()
        assert scene.id == f"questions.{question.name}" and scene.title  # type: ignore[attr-defined]
        answer = islands.told(PAGE, here)
        assert "{{" not in answer and "∞" not in answer
        told = " ".join(islands.one(questions.answer(here), here.place))
        assert len(re.findall(r"\w+", told)) <= MOST_WORDS or lang == "zh"


def test_repeating_makes_the_same_more_probable() -> None:
    here = look("repeats", "1")
    own = list(here.trace.own_ids)
    logits = here.trace.model(torch.tensor([own * 3]))[0]
    given = logits[:-1].softmax(-1).gather(-1, torch.tensor((own * 3)[1:])[:, None])[:, 0]
    n = len(own)
    expected = [given[: n - 1].mean(), given[n - 1 : 2 * n - 1].mean(), given[2 * n - 1 :].mean()]
    np.testing.assert_allclose(measured_for(here).series["given"], torch.stack(expected), atol=1e-6)
    assert percent(float(expected[-1])) in islands.told(PAGE, here)


def test_what_each_token_is_worth_is_measured_without_it() -> None:
    here = look("last_token", token=6)
    own = list(here.trace.own_ids)
    before = here.trace.model(torch.tensor([own]))[0, -1].log_softmax(-1)
    after = here.trace.model(torch.tensor([own[:6] + own[7:]]))[0, -1].log_softmax(-1)
    bits = torch.nn.functional.kl_div(after, before, log_target=True, reduction="sum").item() / np.log(2)
    assert measured_for(here).series["bits"][6] == pytest.approx(bits, abs=1e-5)


def test_another_first_token_is_followed_by_what_the_model_writes_then() -> None:
    here = look("plans", "1")
    lm = vm.load("story-pre-ln")
    ids = [*here.trace.own_ids, here.trace.next_tokens(-1, 3)[2][0].id]
    for _ in range(7):
        ids.append(int(lm.model(torch.tensor([ids]))[0, -1].argmax()))
    assert lm.tokenizer.decode(ids[len(here.trace.own_ids) :]) in measured_for(here).facts["other"]


def test_of_a_large_model_nothing_is_said_that_was_not_run(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(measured, "MOST_WEIGHTS", 1_000)
    here = look("training", token=2)
    assert set(measured_for(here).series) == {"trained"}
    assert "equally likely" in islands.told(PAGE, here) and "With random weights" not in islands.told(PAGE, here)


def test_a_window_bounds_what_attention_costs_and_experts_count_where_they_are_chosen() -> None:
    config = tiny_config(windows=(4, 0), ffn=choices.Experts(n_experts=4, top_k=1))
    here = islands.look(run_both(language_model(config)), PAGE)
    found = measured_for(replace(here, options={"ask": "context", "move": "0"}))
    one = 2 * config.n_heads * config.d_head
    assert found.series["attention"] == [float(one * (4 + length)) for length in LENGTHS]
    assert "1 of 2 layers" in islands.told(PAGE, replace(here, options={"ask": "context"}))
    block = here.trace.stack.block(0)
    attention = sum(part.weight.numel() for part in (block.attn.q, block.attn.k, block.attn.v, block.attn.o))
    ffn = sum(
        weight.numel() for name, weight in block.ffn.named_parameters() if weight.dim() > 1 and "router" not in name
    )
    assert found.series["rest"][0] == 2 * (attention + ffn / 4 + config.d_model * 4)
