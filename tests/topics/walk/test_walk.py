"""The walk: the films of all stops are of the run, on every bundled model; guesses, jumps and doors."""

from __future__ import annotations

import itertools
import json
import re
from typing import Any, get_args

import fresh_norms
import fresh_variants
import numpy as np
import pytest
import scenes
import tiny_models
import torch
from app_driver import ROOT, heading, mounts, open_page, tell
from bundled_models import NAMES, example
from streamlit.testing.v1 import AppTest
from tiers import some

import viz_model as vm
from viz_model import config
from viz_model.app import runs
from viz_model.app.page import Page
from viz_model.app.state import Shown
from viz_model.checkpoints import registry
from viz_model.config import NormAt, Patches
from viz_model.drawing.scene.film import MOST_BYTES
from viz_model.texts import LANGUAGES, Texts
from viz_model.topics.walk.choices import PARTS, STOPS
from viz_model.topics.walk.numbers import views
from viz_model.topics.walk.pictures import lines
from viz_model.topics.walk.pictures.block import Does
from viz_model.topics.walk.pictures.schema import one_block
from viz_model.topics.walk.sections import films

DEFAULT = {"lang": "en"}


READERS = [name for name in NAMES if not isinstance(registry.config_of(name).inputs, Patches)]
"""Models that read texts; of a model that reads pictures the stops are stills, and tests/app has them."""


def page_of(name: str, language: str) -> Page:
    """The page on a bundled model, as it is opened."""
    lm = runs.model(name)
    whole = example(lm)
    trace = whole.at(lm.config.sides[-1])
    view = Shown(model=name, text=whole.text, layer=1, head=2, lang=language, page="walk")
    return Page("walk", "walk", view, lm, trace, Texts(language), len(trace) - 1, {})


def sent_films(page: Page) -> dict[str, scenes.Sent]:
    passed = films.stops(page)
    titles = tuple(page.words(f"stop_{name}") for name in passed)
    return {stop: scenes.read(films.film(page, stop, passed, titles, None).encode()) for stop in passed}


@pytest.mark.parametrize(("name", "language"), some([(name, ("en", "zh")[n % 2]) for n, name in enumerate(READERS)], 3))
def test_every_stop_is_drawn_of_the_run(name: str, language: str) -> None:
    page = page_of(name, language)
    found = sent_films(page)
    assert ("source" in found) == (page.lm.config.kind == "encoder_decoder")
    assert ("learnt" in found) and set(found) <= set(STOPS)
    chips: dict[str, set[tuple[Any, ...]]] = {}
    n_checked = 0
    for stop, sent in found.items():
        told = sent.header["film"]
        size = len(json.dumps(sent.header)) + sum(array.nbytes for array in sent.arrays)
        assert size < 2 * MOST_BYTES and all(told["captions"]) and "{{" not in str(told)
        assert len(sent.cases) == len(told["captions"]) == len(told["seconds"])
        for case in range(len(sent.cases)):
            marks = sent.marks(case)
            assert len({mark["id"] for mark in marks}) == len(marks), stop
            for mark in marks:
                if mark["id"].startswith("chip."):
                    chips.setdefault(mark["id"], set()).add(
                        (str(mark.get("x")), mark["y"], mark["height"], mark["fill"])
                    )
            for which, drawn in sent.cells(case):
                asked = which.at(0, drawn.shape[1] - 1)
                assert asked is not None
                value = float(page.trace[asked[0]][asked[1]])
                assert np.isclose(drawn[0, -1], value, rtol=1e-4, atol=1e-5), (stop, asked)
                n_checked += 1
    assert all(len(places) == 1 for places in chips.values()), "a token keeps its place and colour"
    assert n_checked > 50


def test_films_are_bounded_on_the_longest_text() -> None:
    lm = runs.model("story-pre-ln")
    trace = lm.trace("Tom had a cat and a dog. " * 40)
    view = Shown(model="story-pre-ln", text=trace.text, layer=1, head=2, page="walk")
    page = Page("walk", "walk", view, lm, trace, Texts("en"), 100, {})
    passed = films.stops(page)
    for stop in passed:
        assert len(films.film(page, stop, passed, passed, "").encode()) <= MOST_BYTES, stop
    assert 100 in views.window(trace, 100) and len(views.window(trace, 100)) == 14


def test_of_a_long_text_the_tokens_off_the_stage_count_too() -> None:
    lm = runs.model("story-pre-ln")
    trace = lm.trace("Tom had a cat and a dog. " * 6)
    view = Shown(model="story-pre-ln", text=trace.text, layer=1, head=2, page="walk")
    page = Page("walk", "walk", view, lm, trace, Texts("en"), 30, {})
    for sent in sent_films(page).values():
        for case in range(len(sent.cases)):
            (told,) = [mark["text"] for mark in sent.marks(case) if mark["id"] == "beyond"]
            assert told == f"17 above, {len(trace) - 31} below"
    place = (trace, 30, 1, 2)
    pattern, scores = trace["blocks.1.attn.pattern"][2, 30], trace["blocks.1.attn.scores"][2, 30, :31]
    divided, plain = views.flatter(*place) or (0.0, 0.0)
    assert divided == pytest.approx(float(pattern.max()), abs=1e-6)
    assert plain == pytest.approx(float((scores * lm.config.d_head**0.5).softmax(-1).max()), abs=1e-6)
    brought = (pattern[:, None] * trace["blocks.1.attn.v"][2]).norm(dim=-1)
    assert views.largest(*place) == (int(pattern.argmax()), int(brought.argmax()))


def test_the_telling_head_of_the_first_example_looks_back_at_the_answer() -> None:
    trace = runs.model("story-pre-ln").trace("Tom had a cat and a dog. The cat and the")
    token = len(trace) - 1
    place = views.telling(trace, token)
    assert place is not None
    row = trace[f"blocks.{place[0]}.attn.pattern"][place[1], token]
    best = trace.next_tokens(token, 1)[0][0].id
    assert trace.own_ids[int(row.argmax())] == best and row.max() > 0.5
    ride = views.ride(trace, token)
    assert views.decided(ride) == trace.n_layers, "the guess turns in the last block"


def film_of(app: Any) -> dict[str, Any]:
    (found,) = [told["film"] for told in mounts(app).values() if told["kind"] == "film"]
    return dict(found)


def test_one_guesses_jumps_and_goes_through_a_door_and_back() -> None:
    app = open_page("walk", {**DEFAULT, "stop": "question"})
    told = film_of(app)
    assert told["waits"] and told["stop"] == 5 and app.query_params["stop"] == "question"
    trace = vm.load("story-pre-ln").trace(app.query_params["text"])
    labels = [token.label for token in trace.tokens]
    app.button_group(key="walk.guess_key").set_value(labels.index("·dog")).run()
    assert not film_of(app)["waits"] and film_of(app)["key"] != told["key"]
    assert app.query_params["guess_key"] == str(labels.index("·dog"))
    assert any("the largest share goes to `·dog`" in part.value for part in app.markdown)
    app = tell(app, "walk.film", "picked", {"stop": 6})
    assert film_of(app)["stop"] == 6 and app.query_params["stop"] == "shares"
    # Another sentence, the same stop.
    app.text_input(key="frame.text").set_value("The dog saw a bird").run()
    assert film_of(app)["stop"] == 6 and heading(app) == "From scores to shares"
    at = next(button for button in app.button if button.key == "walk.door.attention")
    app = at.click().run()
    assert not app.exception and heading(app) == "Attention"
    assert "Back to the walk: From scores to shares" in str([link.proto for link in app.get("page_link")])


def test_a_stop_that_a_model_lacks_is_the_one_before() -> None:
    app = open_page("walk", {**DEFAULT, "stop": "source"})
    assert heading(app) == "Many readers"


def at_address(**query: str) -> Any:
    app = AppTest.from_file(ROOT / "app.py", default_timeout=120)
    app.query_params.update(query)
    app.run()
    assert not app.exception
    return app


def test_only_an_address_that_names_nothing_to_look_at_begins_the_walk() -> None:
    bare, plain = at_address(lang="en"), at_address(text="The dog saw a bird", lang="en")
    assert heading(bare) == "What you are looking at" and bare.query_params["stop"] == "look"
    # Reloaded, it is the walk again.
    again = at_address(**{name: str(value) for name, value in bare.query_params.items()})
    assert heading(again) == "What you are looking at"
    assert heading(plain) == "Overview" and plain.query_params["text"] == "The dog saw a bird"
    assert "stop" not in plain.query_params


def test_one_takes_a_part_out_looks_takes_another_and_puts_it_back() -> None:
    app = open_page("walk", {**DEFAULT, "stop": "break"})
    assert film_of(app)["waits"] and film_of(app)["captions"] == ["The model as it is"]
    asked = app.button_group(key="walk.guess_hurts")
    assert len(asked.options) == len(PARTS)
    asked.set_value("norm").run()
    told = film_of(app)
    assert not told["waits"] and told["captions"][1].startswith("Without norms: first is ")
    assert any("yours hurts most" in part.value for part in app.markdown)
    app.button_group(key="walk.guess_hurts").set_value("mask").run()
    assert film_of(app)["captions"][1].startswith("Without the mask") and film_of(app)["key"] != told["key"]
    app.button(key="walk.undo").click().run()
    assert film_of(app)["waits"] and "guess_hurts" not in app.query_params


def test_the_twin_is_at_its_stop_and_the_block_is_told_anew() -> None:
    app = open_page("walk", {**DEFAULT, "stop": "again"})
    told = film_of(app)
    assert told["captions"][0].startswith("Pre-LN")
    app.button_group(key="walk.norm_at").set_value("post").run()
    assert app.query_params["model"] == "story-post-ln" and app.query_params["stop"] == "again"
    assert film_of(app)["captions"][0].startswith("Post-LN") and film_of(app)["key"] != told["key"]


@pytest.mark.parametrize("norm_at", ["pre", "post", "branch", "both"])
def test_norms_stand_in_the_words_and_the_film_where_they_stand_in_the_model(norm_at: NormAt) -> None:
    lm = tiny_models.language_model(tiny_models.tiny_config(norm_at))
    trace = tiny_models.run_both(lm)
    token, view = len(trace) - 1, Shown(model="any", layer=1, head=0, page="walk")
    page = Page("walk", "walk", view, lm, trace, Texts("en"), token, {})
    found = views.alone(trace, token, 1)
    at = "blocks.1."
    read, written = trace.row(f"{at}resid.mid", token), trace.row(f"{at}ffn.out", token)
    if norm_at in ("branch", "both"):
        assert found.written is not None
        assert np.allclose(read + torch.tensor(found.written[0]), trace.row(f"{at}resid.out", token), atol=1e-5)
    else:
        assert found.written is None and np.allclose(found.total, read + written, atol=1e-5)
    assert (found.normed is None) == (norm_at == "branch")
    for n, values in found.finds:
        assert (
            np.allclose(values, trace[f"{at}ffn.act"][:, n])
            and abs(values[token]) >= trace.row(f"{at}ffn.act", token).abs().sort().values[-3]
        )
    schema = views.schema(trace)
    assert schema is not None and schema.norm_at == norm_at
    shot = one_block(films.stage(page), schema)
    norms = [mark.id for mark in shot.marks if mark.id.startswith("box.norm.")]
    assert len(norms) == (4 if norm_at == "both" else 2)
    for stop in ("alone", "again"):
        assert "{{" not in page.t.prose(
            f"walk.{stop}_{norm_at}", n_layers=2, token="x", parts="x", norm="x", network="x", written="x"
        )
    assert found.norm_does == "sizes"
    for language, does in itertools.product(LANGUAGES, get_args(Does)):
        assert Texts(language).labels("walk").keys() >= {f"norm_{norm_at}_{does}", f"in_alone_norm_{does}"}


def test_what_a_norm_does_to_a_line_is_measured() -> None:
    with fresh_variants.installed():
        norms = (config.RMSNorm(), config.NoNorm(), fresh_norms.SizedConfig(), fresh_norms.SquashConfig())
        runs = [tiny_models.traced(tiny_models.tiny_config(norm=norm)) for norm in norms]
        assert [views.norm_does(run, 3, 1) for run in runs] == ["sizes", "keeps", "sizes", "changes"]


@pytest.mark.parametrize(
    ("schemes", "shown"),
    [
        ((config.Learned(), config.Learned()), [("added", 0), ("added", 1)]),
        ((config.Rope(), config.NoPosition()), [("turned", 0), ("turned", 0)]),
        ((config.NoPosition(), config.Alibi()), [("biased", 1), ("biased", 1)]),
        ((config.Rope(), config.Alibi()), [("turned", 0), ("biased", 1)]),
    ],
)
def test_places_are_those_of_the_layer_or_of_the_first_that_tells_them(
    schemes: tuple[config.Position, config.Position], shown: list[tuple[str, int]]
) -> None:
    lm = tiny_models.language_model(tiny_models.tiny_config(position=schemes[0], positions=schemes))
    run = tiny_models.run_both(lm)
    for layer in (0, 1):
        assert views.scheme(run, layer) == shown[layer]
        view = Shown(model="any", layer=layer, head=0, page="walk")
        page = Page("walk", "walk", view, lm, run, Texts("en"), 3, {})
        told = [shot.caption for shot in lines.places(films.stage(page), views.places(run, 3, layer, 0))]
        assert told and not any("wave" in said.lower() for said in told)


def test_softmax_is_worked_out_and_temperatures_are_of_all_logits() -> None:
    page = page_of("story-pre-ln", "en")
    sent = sent_films(page)["shares"]
    (told,) = [mark["text"] for mark in sent.marks(len(sent.cases) - 1) if mark["id"] == "worked"]
    own, whole, share = re.fullmatch(r".*; ([\d.,]+) ÷ ([\d.,]+) = ([\d.]+)%", told).groups()  # type: ignore[union-attr]
    assert float(own.replace(",", "")) / float(whole.replace(",", "")) == pytest.approx(float(share) / 100, rel=0.02)
    found = views.answer(page.trace, page.token, None)
    for temperature, chances in found.warmed:
        probs = (page.trace["logits"][page.token].double() / temperature).softmax(-1)
        assert chances == pytest.approx([probs[guess.id].item() for guess in found.guesses], abs=1e-6)
    assert [temperature for temperature, _ in found.warmed] == [0.5, 2.0]


def test_shares_are_said_to_lack_something_where_a_logit_of_no_key_has_it() -> None:
    with fresh_variants.installed():
        for made, lacks in ((fresh_variants.sinking_configs()[1], True), (tiny_models.tiny_config(), False)):
            lm = tiny_models.language_model(made)
            trace = lm.trace(ids=[n % made.n_vocab for n in range(20)])  # more than the stage has room for
            token, view = len(trace) - 1, Shown(model="any", layer=1, head=1, page="walk")
            shares = trace["blocks.1.attn.pattern"][1, token]
            assert (shares.sum().item() < 0.999) == lacks
            divided = views.flatter(trace, token, 1, 1)
            assert divided is not None and divided[0] == pytest.approx(shares.max().item())
            page = Page("walk", "walk", view, lm, trace, Texts("en"), token, {})
            film = scenes.read(films.film(page, "shares", ("shares",), ("shares",), None).encode()).header["film"]
            said = " ".join(film["captions"])
            assert ("with that of a logit no key has" in said) == lacks
            assert ("shares that sum to 1" in said) != lacks


def test_what_is_taken_out_hurts_as_it_is_said() -> None:
    page = page_of("story-pre-ln", "en")
    found = films.broken(page)
    assert set(found) == set(PARTS)
    for name, edit in films.parts(page).items():
        changed = page.lm.trace(page.trace.text or "", edits=[edit])
        probs = changed["logits"][-1].double().softmax(-1)
        guesses = found[name].guesses
        assert found[name].chances == pytest.approx([probs[guess.id].item() for guess in guesses], abs=1e-5), name
        assert found[name].first == changed.tokenizer.token(int(probs.argmax())).label
