"""Experiments on runs: measures against their definitions, what holds of every kind of model, and the page."""

import dataclasses
from typing import Any

import islands
import numpy as np
import pytest
from app_driver import answer, messages, open_page, said, tell
from tiny_models import describe, few, language_model, run_both

import viz_model as vm
from viz_model.app import examples
from viz_model.config import ModelConfig, NoPosition, Side
from viz_model.drawing.scene import Arrays, Scene
from viz_model.drawing.tables import resolved
from viz_model.island.look import Look
from viz_model.island.message import message
from viz_model.island.page import Buttons, Plot
from viz_model.measures import change
from viz_model.measures.change import rerun
from viz_model.runs import edits
from viz_model.topics.ablations import PAGE, PICTURES, breaking, trying
from viz_model.topics.ablations.lab import lab as lab_of
from viz_model.topics.ablations.trying import EXPERIMENTS

SAMPLE = few()
every = pytest.mark.parametrize("config", SAMPLE, ids=describe)


@every
def test_a_change_is_measured_where_the_answer_is(config: ModelConfig) -> None:
    for side in config.sides:
        plain = run_both(language_model(config)).at(side)
        at = breaking.place(plain, 1)
        assert at == ((side, 1) if side == config.sides[-1] else ("decoder", len(plain.at("decoder")) - 1))
        places = range(len(plain.at(at.side)))
        none = breaking.costs(plain, plain, at.side, places)
        assert none.amount == pytest.approx(np.zeros(len(places)), abs=1e-12) and not none.changed.any()
        of = None if side == config.sides[-1] else side
        (found,) = breaking.tried(plain, [edits.Skip(layer=0, part="ffn", side=of)], at.side, places)
        (alone,) = breaking.tried(plain, [edits.Skip(layer=0, part="ffn", side=of)], at.side, [at.position])
        assert alone.amount == pytest.approx(found.amount[[at.position]], rel=1e-5)
        after = rerun(plain, [edits.Skip(layer=0, part="ffn", side=of)])
        assert found.amount[at.position] > 0
        for n in places if config.has_logits else ():
            expected = change.guesses(plain.at(at.side), after.at(at.side), n)
            assert found.amount[n] == pytest.approx(expected.divergence, abs=1e-6)
            assert found.changed[n] == (expected.before.argmax() != expected.after.argmax())


@every
def test_order_enters_through_positions_and_masks_alone(config: ModelConfig) -> None:
    plain = run_both(language_model(config)).at(config.sides[0])
    shuffle = breaking.a_shuffle(plain)
    assert shuffle is not None
    order = breaking.came_from(plain, shuffle)
    assert sorted(order) == list(range(len(plain))) and order != tuple(range(len(plain)))
    assert rerun(plain, [shuffle]).at(config.sides[0]).own_ids == tuple(plain.own_ids[i] for i in order)
    assert breaking.reordered(plain, shuffle, "neither") < breaking.ALIKE
    is_masked = config.sides[0] == "decoder" or any(config.windows)
    if not isinstance(config.position, NoPosition) or is_masked:
        assert breaking.reordered(plain, shuffle, "as_it_is") > breaking.ALIKE


@every
def test_what_is_patched_in_last_is_the_other_answer(config: ModelConfig) -> None:
    lm, side = language_model(config), config.sides[0]
    plain = run_both(lm).at(side)
    ids = list(plain.own_ids)
    ids[2] = (ids[2] + 1) % config.n_vocab
    other = lm.trace(ids=ids, target_ids=plain.target_ids).at(side)
    assert breaking.differs_at(plain, other) == (2,)
    at = breaking.place(plain, 4)
    first, *_, last = list(breaking.patches(plain, other, range(plain.n_layers + 1), [2, 4], at))
    # The embedding of the one token that differs is all that differs, save what stays behind of a mask of windows.
    assert first[0] == pytest.approx(1, abs=1e-3)
    assert first[1] == pytest.approx(0, abs=1e-3)
    if side == at.side:
        assert list(last) == pytest.approx([0, 1], abs=1e-3)


def test_the_depth_from_which_a_word_no_longer_decides() -> None:
    def leaves(*column: float) -> int | None:
        moved = np.array(column)[:, None]
        return breaking.Patching(tuple(range(len(column))), (3,), moved, 0).leaves

    assert leaves(1, 0.8, 0.2, 0) == 2 and leaves(1, 0.2, 0.7, 0) == 3
    assert leaves(1, 0.9) is None and leaves(0.1, 0.2) == 0


TEXT = "The cat sat on the mat"
OF_WORDS = [dataclasses.replace(config, n_vocab=8192, n_context=32) for config in few()[::2]]
PAIRS = [(config, side) for config in OF_WORDS for side in config.sides]


def looking(plain: vm.Trace, experiment: str, lang: str = "en", **more: Any) -> Look:
    asked = {name: more.pop(name) for name in ("layer", "head", "token") & more.keys()}
    place = {"layer": 1, "head": 2, "token": 3, **asked}
    return islands.look(plain, PAGE, lang, {"experiment": experiment, **more}, **place)


def tried(plain: vm.Trace, experiment: str, lang: str = "en", **more: Any) -> Look | None:
    """The page once the experiment was tried at the selection; None where nothing is to be changed."""
    before = looking(plain, experiment, lang, **more)
    made: dict[str, Any] = dict(trying.press(before))
    if not made:
        return None
    options = {**before.options, **made["options"]}
    (edit,) = made["edits"]
    if isinstance(edit, edits.PatchResidual):  # the other run is a model's own
        trace = vm.load(plain.name).trace(plain.text, edits=[edit])
    else:
        trace = rerun(plain, [edit])
    return dataclasses.replace(before, trace=trace, options=options, unedited=before, _read={})


@pytest.mark.parametrize(("config", "side"), PAIRS, ids=[f"{describe(c)}-{s}" for c, s in PAIRS])
def test_every_experiment_of_every_kind(config: ModelConfig, side: Side) -> None:
    plain = run_both(language_model(config), 8).at(side)
    for n, (name, experiment) in enumerate(EXPERIMENTS.items()):
        before = looking(plain, name)
        asked = islands.told(PAGE, before)
        message(PAGE, before, Arrays())
        if (lack := experiment.lacks(lab_of(before))) is not None:
            assert islands.plain(before.words(f"missing_{lack}")).split(".")[0] in asked, name
            continue
        after = tried(plain, name, ("en", "zh")[n % 2])
        if after is None:
            assert name in ("patch", "flip")  # no other sentence could be made of these words, or only itself is seen
            continue
        assert isinstance(after.trace.edits[0], experiment.edit)
        message(PAGE, after, Arrays())
        found = islands.told(PAGE, after)
        assert "{{" not in found and ("Measured" in found or "测得" in found), name
        assert sum(isinstance(one, Scene | Plot) for one in islands.made(PAGE, after)) == 3, name


def kl(before: vm.Trace, after: vm.Trace, position: int) -> float:
    p, q = (run["logits"][position].double().softmax(-1) for run in (before, after))
    return float((p * (p / q).log2()).sum())


@pytest.mark.parametrize("token", [1, 3, 5])
def test_what_is_said_of_a_token_is_measured_there(token: int) -> None:
    look = tried(vm.load("story-pre-ln").trace(TEXT), "head")
    assert look is not None
    plain, after = look.plain.trace, look.trace
    lines = islands.told(PAGE, look, token=token)
    off = [edits.AblateHead(layer=n // 6, head=n % 6) for n in range(24)]
    costs = [kl(plain, rerun(plain, [edit]), token) for edit in off]
    most = int(np.argmax(costs))
    assert f"head {most % 6} of layer {most // 6} makes the largest difference ({costs[most]:.3f} bits)" in lines
    assert f"is off: {kl(plain, after, token):.3f} bits" in lines
    (top, share), (new, new_share) = (run.next_tokens(token, 1)[0] for run in (plain, after))
    assert f"{top.label} ({share:.1%})" in lines.splitlines()[2] or f"{share:.1%}" in lines
    assert f"{new.label}" in lines and (f"{new_share:.1%}" in lines or top.id == new.id)
    scenes = islands.pictures(PAGE, look, token=token)
    cells = next(mark for mark in scenes["ablations.heads"].panels[0].marks if mark.id == "cells")
    assert np.allclose(np.asarray(cells.values).ravel(), costs, atol=1e-4)  # type: ignore[union-attr]


def test_a_press_makes_the_change_and_another_takes_it_back() -> None:
    query = {"model": "story-pre-ln", "text": "The cat sat", "lang": "en", "experiment": "scale", "guess": "flatter"}
    app = open_page("ablations", query)
    assert "● flatter" in str(messages(app)["frame_island"].header)
    app = tell(app, "press", "picked", {"name": "try", "layer": 1, "head": 3, "token": 2})
    assert "guess" in said(app) and {"experiment", "guess", "edits"} <= set(app.query_params)
    assert app.query_params["edits"] == "no-scale" and "Measured" in said(app)
    app = tell(app, "view", "picked", {"edits": ""})
    assert "edits" not in app.query_params
    app = answer(app, options={"experiment": "norm", "guess": ""})
    assert "guess" not in app.query_params and app.query_params["experiment"] == "norm"
    assert open_page("ablations", {**query, "experiment": "nothing"}).warning
    app = tell(app, "view", "picked", {"edits": "no such thing"})
    assert "edits" not in app.query_params


def test_another_sentence_is_taken_from_the_address() -> None:
    run = vm.load("story-pre-ln").trace("The cat sat")
    look = tried(run, "patch", word="1", other="The dog sat", token=2)
    assert look is not None
    (edit,) = look.trace.edits
    assert isinstance(edit, edits.PatchResidual) and edit.from_text == "The dog sat" and edit.position == 1
    assert "Measured" in islands.told(PAGE, look)
    other = vm.load("story-pre-ln").trace("The dog sat")
    (moved,) = breaking.patches(run, other, [4], [2], breaking.place(run, 2))
    drawn = islands.pictures(PAGE, look)["ablations.patching"]
    cells = next(mark for mark in drawn.panels[0].marks if mark.id == "cells")
    assert float(np.asarray(cells.values)[0, -1]) == pytest.approx(moved[0], abs=1e-4)  # type: ignore[union-attr]
    longer = looking(run, "patch", other="A much longer sentence than that one", token=2)
    assert "must differ from yours and have as many tokens: 3" in islands.told(PAGE, longer) and not trying.press(
        longer
    )


@pytest.mark.parametrize("lang", ["en", "zh"])
def test_the_classes_of_a_picture_stand_before_and_after(lang: str) -> None:
    lm = vm.load("digits-vit")
    run = lm.trace(examples.of(lm, "en")[0])
    for name, edit in (("position", edits.NoPosition()), ("head", edits.AblateHead(layer=1, head=2))):
        before = islands.look(run, PICTURES, lang, {"experiment": name}, layer=1, head=2)
        (press,) = [one for one in islands.made(PICTURES, before) if isinstance(one, Buttons) and one.name == "try"]
        assert edits.parse(resolved(press.buttons[0].change["edits"], before.place)) == (edit,)
        changed = lm.trace(run.text, edits=[edit])
        after = dataclasses.replace(before, trace=changed, unedited=before, _read={})
        lines = islands.told(PICTURES, after)
        assert "{{" not in lines and f"{changed['class.probs'].max():.1%}" in lines
        assert len(islands.pictures(PICTURES, after)["ablations.classes"].panels) == 4
