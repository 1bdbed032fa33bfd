"""Interventions in the app: they stand in the address, hold on every page, and can be taken back."""

import math

import pytest
from app_driver import PAGES, open_page, said
from streamlit.testing.v1 import AppTest
from tiers import turns
from torch.nn import functional as F

import viz_model as vm
from viz_model.app import frame
from viz_model.island.edited import describe
from viz_model.runs import edits
from viz_model.texts import LANGUAGES, Texts

TEXT, MODEL = "The cat sat on the mat", "story-pre-ln"
EXAMPLES: tuple[edits.Edit, ...] = (
    edits.AblateHead(layer=1, head=3),
    edits.AblateHead(layer=0, head=0, to="mean", attention="cross", side="decoder"),
    *(edits.FixPattern(layer=0, head=1, pattern=p) for p in ("uniform", "self", "previous", "first", ((1.0,),))),
    edits.SetNeuron(layer=0, neuron=7, value=2.5, position=1),
    *(edits.Skip(layer=0, part=part) for part in ("attn", "cross", "ffn")),
    edits.PatchResidual(site="blocks.0.resid.out", position=1, from_text="A *dog* `ran`"),
    edits.PatchResidual(site="embed.out", position=1, from_ids=(1, 2)),
    *(edits.ExpertOff(layer=1, expert=3), edits.ExpertOnly(layer=1, expert=3)),
    edits.ExpertOnly(layer=1, expert=3, position=2),
    *(edits.FlipMask(query=2, key=1), edits.FlipMask(query=2, layer=1, side="encoder")),
    edits.ShuffleTokens(seed=3),
    edits.ShuffleTokens(order=(1, 0)),
    *(edit() for edit in (edits.NoMask, edits.NoScale, edits.NoPosition, edits.NoResidual, edits.NoNorm)),
)


def opened(page: str, changes: str, **query: str) -> AppTest:
    return open_page(page, {"model": MODEL, "text": TEXT, "edits": changes, **query})


@pytest.mark.parametrize("language", LANGUAGES)
def test_every_edit_has_words_of_its_own(language: str) -> None:
    assert {type(edit) for edit in EXAMPLES} == set(edits.EDITS)
    every = [describe(edit, Texts(language)) for edit in EXAMPLES]
    assert len(set(every)) == len(every) and all(every)
    assert any("A *dog* `ran`" in words for words in every)


@pytest.mark.parametrize(
    ("page", "changes"),
    turns([page for page in PAGES if page != frame.FIRST], ["head-off.1.3~skip.2.ffn", "no-norm", "no-mask~shuffle.3"]),
)
@pytest.mark.parametrize("model", [MODEL, "digits-vit", "read-digits"])
def test_every_page_shows_a_changed_run(page: str, changes: str, model: str) -> None:
    app = opened(page, changes, model=model)
    assert "Changed run" in said(app) and app.query_params["edits"] == changes
    shown = [button for button in app.sidebar.button if str(button.key).startswith("sidebar.edit.")]
    assert len(shown) == len(changes.split("~"))


def test_before_and_after_are_those_of_the_two_runs() -> None:
    changes = edits.parse("no-position~head-off.0.1")
    lm = vm.load(MODEL)
    before, after = lm.trace(TEXT), lm.trace(TEXT, edits=changes)
    (was, was_share), (now, now_share) = (run.next_tokens(-1, 1)[0] for run in (before, after))
    was_log, now_log = (run["logits"][-1].double().log_softmax(-1) for run in (before, after))
    bits = F.kl_div(now_log, was_log, log_target=True, reduction="sum").item() / math.log(2)
    text = said(opened("overview", edits.write(changes)))
    for part in (f"{was.label} {was_share:.1%}", f"{now.label} {now_share:.1%}", f"{bits:.2f} bits"):
        assert part in text


def test_a_change_is_taken_back_and_all_of_them_at_once() -> None:
    app = opened("attention", "head-off.1.3~skip.2.ffn~no-scale")
    app.button(key="sidebar.edit.1").click().run()
    assert app.query_params["edits"] == "head-off.1.3~no-scale"
    app.button(key="frame.undo").click().run()
    assert app.query_params["edits"] == "head-off.1.3" and app.button(key="frame.reset").label == "Undo"
    app.button(key="sidebar.reset").click().run()
    assert "edits" not in app.query_params and "Changed run" not in said(app)
    assert not app.exception


def test_a_place_that_is_not_there_is_named_and_the_page_goes_on() -> None:
    app = opened("block", "skip.99.ffn")
    assert "layer: expected 0 to 3, got 99" in app.warning[0].value and "Changed run" not in said(app)
    app.button(key="sidebar.reset").click().run()
    assert not app.warning and not app.exception
