"""The page of the bugs: any model, any pair, any answer; and the first answer is the one that counts."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Iterator

import islands
import numpy as np
import pytest
import streamlit as st
from app_driver import open_page, said
from tiny_models import few, language_model, run_both

import viz_model as vm
from viz_model.config import ModelConfig
from viz_model.drawing.scene import Arrays
from viz_model.island.look import Look
from viz_model.island.message import message
from viz_model.island.page import Buttons
from viz_model.topics.mistakes import PAGE
from viz_model.topics.mistakes.bugs import BUGS
from viz_model.topics.mistakes.pair import LETTERS, STAND_INS, answers, written, wrong_letter

TEXT, EXAMPLE = "The cat sat on the mat", "Once upon a time, there was a little girl named"
SAMPLE = [dataclasses.replace(config, n_vocab=8192, n_context=32) for config in few()]
PAIRS = [(config, side) for config in SAMPLE for side in config.sides]
loaded = functools.cache(vm.load)


@pytest.fixture(autouse=True)
def forget() -> Iterator[None]:
    yield
    st.cache_resource.clear()


def other(model: str, text: str, offered: tuple[str, ...] = STAND_INS) -> vm.Trace | None:
    name = model or "story-pre-ln"
    return loaded(name).trace(text or EXAMPLE) if name in offered else None


def looking(trace: vm.Trace, bug: str, letter: str = "", lang: str = "en", **place: int) -> Look:
    look = islands.look(trace, PAGE, lang, **{"layer": 1, "head": 2, **place})
    given = written({bug: letter}) if letter else ""
    return dataclasses.replace(look, others=other, options={"bug": bug, "answers": given})


def own(bug: str, letter: str = "", lang: str = "en", text: str = TEXT, **place: int) -> Look:
    return looking(loaded("story-pre-ln").trace(text), bug, letter, lang, **place)


def told(look: Look) -> str:
    return "\n".join(islands.sentences(PAGE, look))


def tiny(config: ModelConfig, side: str, n: int = 9) -> vm.Trace:
    return run_both(language_model(config), n).at(side)  # type: ignore[arg-type]


@pytest.mark.parametrize("n", range(len(BUGS)), ids=list(BUGS))
def test_any_pair_on_any_kind_of_model(n: int) -> None:
    config, side = PAIRS[n % len(PAIRS)]
    trace, bug, lang = tiny(config, side), list(BUGS)[n], ("en", "zh")[n % 2]
    before, after = (looking(trace, bug, letter, lang) for letter in ("", "AB"[n % 2]))
    for look in (before, after):
        assert "{{" not in told(look) and "nan" not in told(look)
        message(PAGE, look, Arrays())
    if BUGS[bug].shown == "matrix":
        assert len(islands.pictures(PAGE, after)) >= 2 > len(islands.pictures(PAGE, before))


def test_what_is_drawn_and_said_is_what_the_selected_head_does() -> None:
    run = loaded("story-pre-ln").trace(TEXT)
    look = own("normalize", "A")
    for layer, head in ((0, 0), (2, 5), (3, 1)):
        wrong = run.head(f"blocks.{layer}.attn.masked", head).softmax(-2).numpy()
        right = run.head(f"blocks.{layer}.attn.pattern", head).numpy()
        scenes = islands.pictures(PAGE, look, layer=layer, head=head)
        letter = wrong_letter("normalize")
        for one, expected in ((letter, wrong), ("AB".replace(letter, ""), right)):
            drawn = scenes[f"mistakes.result.{one}"].panels[0].marks[0]
            assert np.allclose(drawn.values, expected, atol=1e-6)  # type: ignore[union-attr]
        sums = wrong.sum(-1)
        assert f"{sums.min():.2f} … {sums.max():.2f}" in scenes[f"mistakes.result.{letter}"].heading


def test_the_first_answer_counts() -> None:
    hit = own("causal", wrong_letter("causal"))
    assert "1 of 23 found" in told(hit) and "Found: the mistake" in told(hit)
    buttons = {one.name: one.buttons[0] for one in islands.made(PAGE, hit) if isinstance(one, Buttons)}
    assert buttons["next"].options == {"bug": "diagonal"} and buttons["reset"].options == {"answers": ""}
    assert not [name for name in buttons if name.startswith("pick")]
    other_letter = next(letter for letter in LETTERS if letter != wrong_letter("diagonal"))
    both = {"causal": wrong_letter("causal"), "diagonal": other_letter}
    look = dataclasses.replace(hit, options={"bug": "diagonal", "answers": written(both)})
    assert "1 of 23 found, 1 overlooked" in told(look) and "Not there" in told(look)
    open_pair = own("add")
    picks = [one for one in islands.made(PAGE, open_pair) if isinstance(one, Buttons)]
    assert [one.buttons[0].options for one in picks] == [{"answers": f"add.{letter}"} for letter in LETTERS]


def test_answers_stand_in_the_address() -> None:
    given = {name: LETTERS[n % 2] for n, name in enumerate(BUGS)}
    found = sum(letter == wrong_letter(name) for name, letter in given.items())
    app = open_page("mistakes", {"text": TEXT, "lang": "en", "bug": "add", "answers": written(given)})
    assert f"{found} of 23 found, {23 - found} overlooked" in said(app)
    app = open_page("mistakes", {"text": TEXT, "lang": "en", "bug": "add", "answers": "add.A~nothing.B"})
    assert app.warning and "0 of 23 found" in said(app)
    assert answers(own("add", "A")) == {"add": "A"}
    twice = dataclasses.replace(own("add"), options={"bug": "add", "answers": "add.B~add.A"})
    assert answers(twice) == {"add": "B"}


def test_a_model_stands_in_where_this_one_lacks_the_part() -> None:
    found = told(own("padded", "A"))
    assert "Computed with story-bert" in found and "not every token sees every other" in found
    short = told(own("scaled", text="a"))
    assert "fewer than three tokens" in short and EXAMPLE in short
    # The stand-in is looked at in its own layer and head, at its last token.
    config = next(c for c in SAMPLE if c.kind == "encoder" and c.n_heads < 6)
    look = looking(tiny(config, "encoder"), "causal", "A", layer=config.n_encoder_layers - 1, head=1)
    stands_in = loaded("story-pre-ln").trace(look.trace.text or EXAMPLE)
    scene = islands.pictures(PAGE, look)[f"mistakes.result.{'A' if wrong_letter('causal') == 'B' else 'B'}"]
    layer = min(look.layer, stands_in.n_layers - 1)
    assert np.allclose(scene.panels[0].marks[0].values, stands_in.head(f"blocks.{layer}.attn.pattern", 1))  # type: ignore[union-attr]
