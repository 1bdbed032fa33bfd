"""The walk: every beat of every bundled model in both languages says what the run has, and asks what has an answer."""

import functools
import re
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch
from bundled_models import NAMES, example
from islands import plain
from tiers import some
from tiny_models import language_model, other_blocks

import viz_model as vm
from viz_model.app import examples
from viz_model.drawing.digits import written
from viz_model.drawing.scene import Arrays
from viz_model.drawing.tables import Absent, pick
from viz_model.island import message
from viz_model.island.beats import Beat, Chapter, Story
from viz_model.island.look import Look
from viz_model.island.prose import html
from viz_model.measures import lens
from viz_model.texts import Texts
from viz_model.topics import walk
from viz_model.topics.walk import writing
from viz_model.topics.walk.chapters.write import TEMPERATURES
from viz_model.topics.walk.run import Run, start

LANGUAGES = ("en", "zh")


model = functools.cache(vm.load)


def look_at(lm: vm.LanguageModel, text: Any = None, language: str = "en", **given: Any) -> Look:
    trace = (example(lm) if text is None else lm.trace(text, **given)).at(lm.config.sides[-1])
    layer, head, token = start(trace)
    t = Texts.of(language, lm.config)
    return replace(Look.at(trace, t, "walk", layer=layer, head=head, token=token), lm=lm)


def said(beat: Beat, place: dict[str, int]) -> str:
    return plain(html(pick(beat.said.words, place)))


def beats(story: Story) -> Iterator[tuple[Chapter, int, Beat]]:
    for chapter in story.chapters:
        for n, beat in enumerate(chapter.beats, 1):
            yield chapter, n, beat


def of(story: Story, name: str) -> Chapter:
    return next(chapter for chapter in story.chapters if chapter.name == name)


CASES = [(name, language) for name in NAMES for language in LANGUAGES]


@pytest.mark.parametrize(("name", "language"), some(CASES, 6))
def test_every_beat_speaks(name: str, language: str) -> None:
    look = look_at(model(name), language=language)
    story = walk.story(look)
    sent = message.message(walk.PAGE, look, Arrays())
    assert len(sent) < 900_000 and b"](#" not in sent  # what is drawn has no marks of prose
    places = [{**look.place, "token": token, "beat": 0, "key": 0} for token in (look.token, 0, len(look) - 1)]
    for chapter, n, beat in beats(story):
        for place in places:
            at = {**place, "beat": n}
            try:
                words = said(beat, at)
            except Absent:
                assert place["token"] != look.token, (chapter.name, n)
                continue
            assert words and "{{" not in words and "nan" not in words, (chapter.name, n, words)
            assert "–%" not in words and "− −" not in words, words
            if beat.guess is not None:
                options = pick(beat.guess.options, at)
                right = int(pick(beat.guess.right, at))
                assert 0 <= right < len(options), (chapter.name, n)
                assert len(options) > 1 and len(set(map(str, options))) == len(options), options
    assert max(len(chapter.beats) for chapter in story.chapters) <= walk.MOST_BEATS
    assert {chapter.name for chapter in story.chapters} <= set(walk.CHAPTERS)


def test_texts_name_only_parts_that_are_drawn() -> None:
    for name in ("story-pre-ln", "story-modern", "translate-2017", "story-bert"):
        look = look_at(model(name))
        for chapter, n, beat in beats(walk.story(look)):
            parts = {mark.part for mark in chapter.marks if mark.since <= n < mark.until}
            named = set(
                re.findall(r'data-part="(\w+)"', html(pick(beat.said.words, {**look.place, "beat": n, "key": 0})))
            )
            assert named <= parts | {"page", "bars", "temperature"}, (chapter.name, n, named - parts)


def test_where_all_scores_are_equal_no_key_is_the_best() -> None:
    look = look_at(model("story-none"), "。。。。。。")
    best = of(walk.story(look), "scores").beats[-1]
    dots = Run.of(look).dots
    assert np.ptp(dots) < 1e-4 * abs(dots).max()
    assert best.guess is None and "all equal" in said(best, {**look.place, "key": 0})


def test_a_word_that_comes_twice_is_offered_once() -> None:
    look = look_at(model("story-pre-ln"), "a cat and a dog and a cat")
    guess = of(walk.story(look), "scores").beats[-1].guess
    assert guess is not None
    dots = Run.of(look).dots
    for token in range(len(look)):
        place = {**look.place, "token": token}
        options = list(pick(guess.options, place))
        assert len(set(options)) == len(options) > 1
        assert options[int(pick(guess.right, place))] == look.labels[int(dots[token].argmax())].replace("\u00a0", " ")


def test_only_layers_that_attend_are_said_to_have_heads() -> None:
    lm = model("story-next")
    look = look_at(lm)
    states = [n for n in range(lm.config.n_layers) if f"blocks.{n}.attn.pattern" not in look.trace]
    story = walk.story(look)
    words = said(of(story, "heads").beats[-1], look.place)
    assert states and f"{(lm.config.n_layers - len(states)) * lm.config.n_heads} heads" in words
    assert not any(f"of block {n}" in words for n in states)
    assert f"{len(states)} of the {lm.config.n_layers} blocks" in said(of(story, "stream").beats[1], look.place)
    one = look_at(lm, "a")
    assert "sees only itself" in said(of(walk.story(one), "heads").beats[-1], one.place)


def test_numbers_of_attention_against_the_run() -> None:
    look = look_at(model("story-pre-ln"))
    trace, layer, head = look.trace, look.layer, look.head
    at = f"blocks.{layer}.attn."
    q, k = (trace[f"{at}{name}"][head] for name in "qk")
    dots = q @ k.T
    story, d = walk.story(look), q.shape[-1]
    scores, shares = of(story, "scores"), of(story, "shares")
    hidden = torch.ones_like(dots).triu(1).bool()
    for token in range(1, len(look) - 1):
        place = {**look.place, "token": token, "key": 0, "beat": 4}
        row = Run.of(look).shown[token].tolist()
        assert written(float(dots[token, row[0]]), "2") in said(scores.beats[3], place)
        best = trace.tokens[int(row[int(dots[token, row].argmax())])].label
        assert best in said(scores.beats[4], place)
        plain_scores = dots.masked_fill(hidden, -torch.inf)
        sharp, soft = (values.softmax(-1)[token, row].max().item() for values in (plain_scores, plain_scores / d**0.5))
        assert written(soft, "percent") in said(shares.beats[3], place)
        assert written(min(sharp, np.nextafter(np.float32(1), np.float32(0))), "percent") in said(
            shares.beats[2], place
        )
    np.testing.assert_allclose(
        Run.of(look).pattern, (dots.masked_fill(hidden, -torch.inf) / d**0.5).softmax(-1), atol=2e-5
    )


@pytest.mark.parametrize("name", ["story-pre-ln", "smollm2-135m-instruct"])
def test_the_final_prediction_leads_from_the_block_that_is_named(name: str) -> None:
    if name not in vm.models():
        pytest.skip(f"{name} is not installed")
    look = look_at(model(name), "Tom had a cat and a dog")
    seen = lens.look(look.trace, range(look.n_layers + 1), [look.token]).ids[:, 0]
    lead = next(n for n in range(len(seen)) if (seen[n:] == seen[-1]).all())
    (beat,) = (beat for beat in of(walk.story(look), "prediction").beats if beat.guess is not None)
    assert beat.guess is not None
    named = "before any block" if lead == 0 else f"after block {lead - 1}"
    assert said(beat, look.place).endswith(f"{named} .") or said(beat, look.place).endswith(f"{named}.")
    assert pick(beat.guess.options, look.place)[int(pick(beat.guess.right, look.place))] == named


@pytest.mark.parametrize(
    "text", ["Tom had a cat and a dog. One day the cat", "小猫坐在垫子上，它", "从前，有一只小兔子"]
)
def test_the_first_guess_is_of_what_is_likeliest_at_an_earlier_place(text: str) -> None:
    lm = model("story-pre-ln")
    guess = of(walk.story(look_at(lm, text)), "write").beats[1].guess
    assert guess is not None
    quoted = re.search(r"`(.+?)`", guess.asked.words)
    assert quoted is not None
    before = quoted[1]
    assert text.startswith(before) and before != text
    probs = lm.trace(before)["probs"][-1]
    named = [lm.tokenizer.token(id).label for id in probs.argsort(descending=True).tolist()]
    assert named[0] == guess.options[guess.right] and set(guess.options) < set(named[:24])


def test_a_logit_of_no_key_takes_its_part_with_and_without_the_division() -> None:
    for config in other_blocks():
        if config.attention_sink:
            trace = language_model(config).trace(ids=list(range(4, 9)))
            layer, head, token = start(trace)
            run = Run(Look.at(trace, Texts.of("en", config), "walk", layer=layer, head=head, token=token))
            assert (run.pattern.sum(-1) < 1).all() and (run.sharp.sum(-1) < 1).all()


def test_writing_continues_where_it_stopped() -> None:
    lm, text = model("story-pre-ln"), "Tom had a cat"
    whole = writing.places(lm, text, (), temperature=0.75, seed=3, n=8)
    drawn = [place["drawn"]["id"] for place in whole if "drawn" in place]
    parts: list[int] = []
    while len(parts) < len(drawn):
        more = writing.places(lm, text, parts, temperature=0.75, seed=3, n=3)
        parts += [place["drawn"]["id"] for place in more if "drawn" in place]
    assert parts[: len(drawn)] == drawn
    probs = lm.trace(text)["logits"][-1].softmax(-1)
    first = whole[0]
    assert first["p"][TEMPERATURES.index(1.0)] == [round(float(probs[one["id"]]) * 10_000) for one in first["tokens"]]
    greedy = [
        place["drawn"]["id"] for place in writing.places(lm, text, (), temperature=0, seed=1, n=5) if "drawn" in place
    ]
    steps = lm.generate(text, temperature=0, max_new_tokens=5).steps
    assert greedy[: len(steps)] == [step.token.id for step in steps]


def test_a_translator_writes_its_target() -> None:
    lm = model("translate-2017")
    text = examples.of(lm, "en")[0]
    places = writing.places(lm, text, (), temperature=0, seed=0, n=20, to="fr")
    ids = [place["drawn"]["id"] for place in places if "drawn" in place and not place["drawn"].get("ends")]
    steps = lm.generate(text, temperature=0, target_language="fr", max_new_tokens=20).steps
    assert ids == [step.token.id for step in steps]


def test_a_decoder_of_one_token_is_not_said_to_look_both_ways() -> None:
    look = look_at(model("translate-2017"), "I have a little dog.")
    assert len(look) == 1
    shares = of(walk.story(look), "shares")
    words = said(shares.beats[0], {**look.place, "beat": 1, "key": 0})
    assert "the causal mask" in words and "whole input" not in words
