"""The bugs: right ones give what the run has, wrong ones differ as the words say, and the first answer counts."""

import dataclasses
import functools
import inspect
import math
from collections.abc import Mapping
from typing import Any

import islands
import numpy as np
import pytest
import torch
from app_driver import open_page, said
from tiny_models import describe, few, language_model, run_both, tiny_config, without_a_part

import viz_model as vm
from viz_model.config import ModelConfig, Side
from viz_model.drawing.scene import Arrays
from viz_model.drawing.tables import resolved
from viz_model.island.look import Look
from viz_model.island.message import message
from viz_model.island.page import Buttons
from viz_model.texts import Texts
from viz_model.topics.mistakes import PAGE, forward, right, wrong
from viz_model.topics.mistakes.bugs import BUGS
from viz_model.topics.mistakes.forward import View, call
from viz_model.topics.mistakes.pair import LETTERS, STAND_INS, Outcome, answers, facts, outcome, written, wrong_letter

CONFIGS = [dataclasses.replace(config, n_vocab=8192, n_context=32) for config in (*few(), *without_a_part())]
PLACES = [(config, side) for config in CONFIGS for side in config.sides]
TEXT = "Once upon a time there was a little girl"
FUNCTIONS = sorted(set(vars(right)) & {name for name, made in vars(wrong).items() if inspect.isfunction(made)})


def viewed(trace: vm.Trace) -> View:
    return View(Look.at(trace, Texts.of("en", trace.config), "mistakes", layer=1, head=2), {})


@functools.cache
def view(model: str = "story-pre-ln", text: str = TEXT) -> View:
    return viewed(vm.load(model).trace(text))


def came(name: str, seen: View | None = None) -> Outcome:
    return outcome(seen or view(), BUGS[name])


def both(name: str, seen: View | None = None, layer: int = 1, head: int = 2) -> tuple[np.ndarray, np.ndarray]:
    """What both made, in a layer and a head where they have any."""
    found = came(name, seen)
    place = {"layer": layer, "head": head}
    a, b = (one.values[tuple(place[axis] for axis in one.axes.split())] for one in (found.right, found.wrong))
    return a, b


def told(name: str, seen: View | None = None, **place: int) -> Mapping[str, Any]:
    seen = seen or view()
    here = {"layer": 1, "head": 2, "token": len(seen.run) - 1, **place}
    return {key: resolved(value, here) for key, value in facts(seen, BUGS[name]).items()}


def test_every_bug_has_its_pair_and_nothing_but_the_body_tells_them_apart() -> None:
    assert len(BUGS) == 23  # the page says so
    run = view().run
    used = {bug.functions(run)[0].__name__ for bug in BUGS.values()} | {"post_ln"}
    assert used == set(FUNCTIONS)
    for name in FUNCTIONS:
        a, b = getattr(right, name), getattr(wrong, name)
        assert inspect.signature(a) == inspect.signature(b) and a.__doc__ and b.__doc__ is None
    for bug in BUGS.values():
        lines = bug.sources(run)
        assert lines[0] != lines[1] and lines[0].splitlines()[0] == lines[1].splitlines()[0]
        assert not any('"""' in each for each in lines)


@pytest.mark.parametrize(("config", "side"), PLACES, ids=[f"{describe(c)}-{s}" for c, s in PLACES])
def test_the_right_one_is_what_any_model_does_and_the_wrong_one_is_not(config: ModelConfig, side: Side) -> None:
    seen = viewed(run_both(language_model(config), 9).at(side))
    run = seen.run
    for bug in BUGS.values():
        if any(bug.lacks(run, layer) for layer in seen.there.layers):
            continue
        found = came(bug.name, seen)
        assert not (found.gap > 1e-3).any(), bug.name
        if bug.is_in_model and bug.effect is None and bug.name != "leave_out":
            again = forward.vectors(run, forward.changes(bug, run, bug.functions(run)[0]))
            torch.testing.assert_close(again, forward.last_vectors(run), atol=1e-3, rtol=1e-3, msg=bug.name)
        if bug.shown == "matrix":
            assert np.isnan(found.wrong.values).any() or found.apart.max() > 1e-4, bug.name
        if found.effect is not None:
            assert ((found.effect.before >= 0) == config.has_logits).all()
            assert (np.isnan(found.effect.change) | (found.effect.change >= 0)).all()
        assert bug.shown == "reply" or found.effect is not None or bug.name in ("loss", "drop_weights")


@pytest.mark.parametrize("name", [name for name, bug in BUGS.items() if bug.is_in_model and bug.effect is None])
def test_a_model_with_the_wrong_function_in_it_says_what_is_told(name: str) -> None:
    seen, bug = view("story-modern" if name == "norm_queries" else "story-pre-ln"), BUGS[name]
    run = seen.run
    found, after = came(name, seen).effect, forward.vectors(run, forward.changes(bug, run, bug.functions(run)[1]))
    assert found is not None
    logs = [run.model.head(x[None])[0].detach().double().log_softmax(-1) for x in (forward.last_vectors(run), after)]
    for n in (0, 3, len(run) - 1):
        bits = torch.nn.functional.kl_div(logs[1][n], logs[0][n], log_target=True, reduction="sum") / math.log(2)
        assert np.isclose(found.change[n], bits, atol=1e-6, equal_nan=True)
        if not bits.isnan():
            assert (found.before[n], found.after[n]) == tuple(int(log[n].argmax()) for log in logs)
            assert found.after_share[n] == pytest.approx(logs[1][n].max().exp().item())


def test_an_inverted_mask_leaves_the_future_alone_and_the_last_row_nothing() -> None:
    a, b = both("causal")
    assert np.isnan(b[-1]).all() and not np.isnan(b[:-1]).any()
    assert np.allclose(np.tril(b[:-1]), 0) and np.allclose(b[:-1].sum(-1), 1)
    assert np.allclose(np.triu(a, 1), 0)
    found = came("causal").effect
    assert found is not None and np.isnan(found.change).all()


def test_the_wrong_split_mixes_the_tokens_that_it_says() -> None:
    given = BUGS["split"].given(BUGS["split"].here(view().run, 1))
    x, n_heads = given["x"], given["n_heads"]
    owners = torch.arange(len(x))[:, None].expand_as(x).contiguous()
    for head in range(n_heads):
        touched, found = wrong.split(owners, n_heads)[head].unique().tolist(), told("split", head=head)
        assert [str(touched[0]), str(touched[-1])] == [found["first_token"], found["last_token"]]
        assert right.split(owners, n_heads)[head].unique().tolist() == list(range(len(x)))


def test_trimmed_tokens_are_another_text() -> None:
    seen = view(text="The cat sat.\nBy the door, 小猫")
    found, numbers = came("spell", seen), told("spell", seen)
    assert found.right == "The cat sat.\nBy the door, 小猫" and found.wrong.startswith("The cat sat . ")
    assert numbers["n_tokens"] == len(seen.run.ids) != numbers["n_wrong"]
    assert (numbers["own"], numbers["printed"]) == ("627 1383 88861", "13 3296 88861")
    same = came("spell", view(text="The cat sat"))
    assert same.right == same.wrong


@pytest.mark.parametrize("layer", [0, 3])
def test_the_stream_is_lost_where_it_is_added_to_the_normalized(layer: int) -> None:
    given = BUGS["add"].given(BUGS["add"].here(view().run, layer))
    with torch.inference_mode():
        a, b = (call(made.add, given) for made in (right, wrong))
        torch.testing.assert_close(a - b, given["x"] - given["norm"](given["x"]), atol=1e-4, rtol=1e-4)
    found = told("add", layer=layer)
    assert found["length"] == f"{a.norm(dim=-1).mean():.1f}" and found["wrong_length"] == f"{b.norm(dim=-1).mean():.1f}"


SENTENCE, EXAMPLE = "The cat sat on the mat", "Once upon a time, there was a little girl named"


def other(model: str, text: str, offered: tuple[str, ...] = STAND_INS) -> vm.Trace | None:
    name = model or "story-pre-ln"
    return vm.load(name).trace(text or EXAMPLE) if name in offered else None


def looking(trace: vm.Trace, bug: str, letter: str = "", lang: str = "en", **place: int) -> Look:
    options = {"bug": bug, "answers": written({bug: letter}) if letter else ""}
    look = islands.look(trace, PAGE, lang, options, **{"layer": 1, "head": 2, **place})
    return dataclasses.replace(look, others=other)


def own(bug: str, letter: str = "", lang: str = "en", text: str = SENTENCE, **place: int) -> Look:
    return looking(vm.load("story-pre-ln").trace(text), bug, letter, lang, **place)


@pytest.mark.parametrize("n", range(len(BUGS)), ids=list(BUGS))
def test_any_pair_on_any_kind_of_model(n: int) -> None:
    config, side = PLACES[n % len(PLACES)]
    trace, bug, lang = run_both(language_model(config), 9).at(side), list(BUGS)[n], ("en", "zh")[n % 2]
    before, after = (looking(trace, bug, letter, lang) for letter in ("", "AB"[n % 2]))
    for look in (before, after):
        assert "{{" not in islands.told(PAGE, look) and "nan" not in islands.told(PAGE, look)
        message(PAGE, look, Arrays())
    if BUGS[bug].shown == "matrix":
        assert len(islands.pictures(PAGE, after)) >= 2 > len(islands.pictures(PAGE, before))


def test_of_layers_that_differ_the_selected_one_is_named() -> None:
    config = dataclasses.replace(tiny_config(windows=(3, 0)), n_vocab=8192, n_context=32)
    look = looking(run_both(language_model(config), 9), "causal", "A", layer=1)
    assert "blocks.1.attn" in islands.told(PAGE, look) and "blocks.0" not in islands.told(PAGE, look)


def test_the_first_answer_counts() -> None:
    hit = own("causal", wrong_letter("causal"))
    assert "1 of 23 found" in islands.told(PAGE, hit) and "Found: the mistake" in islands.told(PAGE, hit)
    buttons = {one.name: one.buttons[0] for one in islands.made(PAGE, hit) if isinstance(one, Buttons)}
    assert buttons["next"].options == {"bug": "diagonal"} and buttons["reset"].options == {"answers": ""}
    assert not [name for name in buttons if name.startswith("pick")]
    other_letter = next(letter for letter in LETTERS if letter != wrong_letter("diagonal"))
    both = {"causal": wrong_letter("causal"), "diagonal": other_letter}
    look = dataclasses.replace(hit, options={"bug": "diagonal", "answers": written(both)})
    assert "1 of 23 found, 1 overlooked" in islands.told(PAGE, look) and "Not there" in islands.told(PAGE, look)
    open_pair = own("add")
    picks = [one for one in islands.made(PAGE, open_pair) if isinstance(one, Buttons)]
    assert [one.buttons[0].options for one in picks] == [{"answers": f"add.{letter}"} for letter in LETTERS]


def test_answers_stand_in_the_address() -> None:
    given = {name: LETTERS[n % 2] for n, name in enumerate(BUGS)}
    found = sum(letter == wrong_letter(name) for name, letter in given.items())
    app = open_page("mistakes", {"text": SENTENCE, "lang": "en", "bug": "add", "answers": written(given)})
    assert f"{found} of 23 found, {23 - found} overlooked" in said(app)
    app = open_page("mistakes", {"text": SENTENCE, "lang": "en", "bug": "add", "answers": "add.A~nothing.B"})
    assert app.warning and "0 of 23 found" in said(app)
    assert answers(own("add", "A")) == {"add": "A"}
    twice = dataclasses.replace(own("add"), options={"bug": "add", "answers": "add.B~add.A"})
    assert answers(twice) == {"add": "B"}


def test_a_model_stands_in_where_this_one_lacks_the_part() -> None:
    found = islands.told(PAGE, own("padded", "A"))
    assert "Computed with story-bert" in found and "not every token sees every other" in found
    short = islands.told(PAGE, own("scaled", text="a"))
    assert "fewer than three tokens" in short and EXAMPLE in short
