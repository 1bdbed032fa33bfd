"""What the page on the next token shows is the model's own distribution, and what sampling makes of it."""

from __future__ import annotations

import islands
import numpy as np
import pytest
import tiers
from next_token_looks import look_at, mark
from pairs import pairs
from tiny_models import language_model, run_both, variants

import viz_model as vm
from viz_model import texts
from viz_model.config import ModelConfig
from viz_model.drawing.digits import percent
from viz_model.drawing.scene import Items, Labels, Texts
from viz_model.island.prose import html as as_html
from viz_model.runs.generation import distribution
from viz_model.topics import next_token as topic
from viz_model.topics.next_token import asked as asking
from viz_model.topics.next_token import choice, tabs
from viz_model.topics.next_token.asked import SHOWN, ChoiceView
from viz_model.topics.next_token.tail import TailView

SAMPLINGS = [
    vm.Sampling(),
    vm.Sampling(temperature=0.7, top_k=9, top_p=0.8),
    vm.Sampling(temperature=2.0, top_p=0.5),
    vm.Sampling(top_k=1),
    vm.Sampling(temperature=0.05),
    vm.Sampling(temperature=0.0),
]
PREDICTING = [c for c in variants() if c.has_logits]
TEXT = "Tom had a cat and a dog."


def view_of(trace: vm.Trace, position: int, sampling: vm.Sampling, marked: int | None = None) -> ChoiceView:
    return asking.choice_view(trace, position, trace.row("logits", position), sampling, marked)


@pytest.fixture(scope="module")
def story() -> vm.Trace:
    return vm.load("story-pre-ln").trace(TEXT)


@pytest.fixture(scope="module")
def bert() -> vm.Trace:
    return vm.load("story-bert").trace("The cat [MASK] on the mat.")


@pytest.mark.parametrize("sampling", SAMPLINGS)
def test_a_choice_is_the_distribution_in_falling_order(sampling: vm.Sampling, story: vm.Trace) -> None:
    for position, view in enumerate(asking.asked(look_at(story, sampling)).views):
        expected = distribution(story.row("logits", position), sampling)
        back = np.argsort(view.order)
        np.testing.assert_array_equal(view.probs[back], expected.probs.numpy())
        np.testing.assert_array_equal(view.kept[back], expected.kept.numpy())
        np.testing.assert_array_equal(view.final[back], expected.final.numpy())
        np.testing.assert_allclose(view.model[back], story["probs"][position].numpy(), rtol=1e-4)
        assert (np.diff(view.logits) <= 0).all()
        assert view.kept_mass == pytest.approx(expected.kept_mass, abs=1e-5)


@pytest.mark.parametrize("sampling", SAMPLINGS)
@pytest.mark.parametrize("token", [0, 3, 7])
def test_the_bars_are_the_first_twenty(sampling: vm.Sampling, token: int, story: vm.Trace) -> None:
    look = look_at(story, sampling)
    scene = islands.pictures(topic.NEXT, look, token=token)["next_token.choice"]
    found = distribution(story.row("logits", token), sampling)
    order = story.row("logits", token).argsort(descending=True)[:SHOWN]
    kept = found.kept[order].numpy()
    high = 5 * choice.scale(np.array([max(story["probs"][token].max() if sampling.temperature not in (0, 1) else 0,
                                          found.probs.max(), found.final.max())]))[0][0]  # fmt: skip

    def shares(id: str) -> np.ndarray:
        return np.asarray(mark(scene, id).width[:, 0] * high, np.float32)

    np.testing.assert_allclose(shares("before")[kept], found.probs[order][kept], rtol=1e-4)
    np.testing.assert_allclose(shares("after")[kept], found.final[order][kept], rtol=1e-4)
    assert np.isnan(shares("after")[~kept]).all()
    if not kept.all():
        np.testing.assert_allclose(shares("dropped")[~kept], found.probs[order][~kept], rtol=1e-4)
    labels: Labels = mark(scene, "names")
    assert list(labels.texts) == [story.tokenizer.token(int(id)).label for id in order]
    written: Texts = mark(scene, "shares")
    assert list(written.texts) == [
        percent(float(found.final[id] if found.kept[id] else found.probs[id])) for id in order
    ]
    assert (mark(scene, "before").where.rows, mark(scene, "before").where.where) == (
        tuple(order.tolist()),
        (token, "row"),
    )


@pytest.mark.parametrize("lang", texts.LANGUAGES)
def test_what_is_said_are_the_numbers_of_the_selected_token(lang: str, story: vm.Trace) -> None:
    sampling = vm.Sampling(temperature=1.5, top_k=50, top_p=0.8)
    look, t = look_at(story, sampling, lang), texts.Texts(lang)
    for token in (0, 5):
        said = islands.sentences(topic.NEXT, look, token=token)
        found = distribution(story.row("logits", token), sampling)
        best, share = story.next_tokens(token, 1)[0]
        names = {"token": story.tokens[token].label, "top": best.label, "top_share": percent(share)}
        assert islands.plain(as_html(t("next_token.title_following", **names))) in said
        n = int(found.kept.sum())
        assert any(f"{percent(found.kept_mass)}" in line and f"{n:,}" in line for line in said)
        entropies = [-(p[p > 0].double() * p[p > 0].double().log2()).sum().item() for p in (found.probs, found.final)]
        opened = {
            "before": f"{entropies[0]:.2f}",
            "after": f"{entropies[1]:.2f}",
            "choices": f"{2 ** entropies[1]:,.1f}",
        }
        assert islands.plain(as_html(t.prose("next_token.open", **opened))) in said


# Covered


def test_a_covered_token_is_asked_for_where_it_cannot_be_seen(bert: vm.Trace) -> None:
    lm, look = vm.load("story-bert"), look_at(bert)
    mask = lm.tokenizer.mask_id
    assert mask is not None
    for token in (2, 5):
        ids = [mask if n == token else id for n, id in enumerate(bert.ids)]
        probs = lm.trace(ids=ids)["probs"][token]
        rank = 1 + int((probs > probs[bert.ids[token]]).sum())
        said = " ".join(islands.sentences(topic.MASKED, look, token=token))
        assert f"rank {rank} of" in said and percent(float(probs[bert.ids[token]])) in said
        scene = islands.pictures(topic.MASKED, look, token=token)["masked_token.choice"]
        names = list(mark(scene, "names").texts)
        assert mark(scene, "names").marked == min(rank - 1, SHOWN) and len(names) == SHOWN + 1
        own = bert.tokens[token].label
        assert names[min(rank - 1, SHOWN)] == (own if rank <= SHOWN else f"{rank:,}. {own}") and not scene.own
        beside = islands.pictures(topic.MASKED, look, token=token)["masked_token.visible"]
        assert list(mark(beside, "names").texts) == [one.label for one, _ in bert.next_tokens(token, 5)]


def test_a_typed_mask_is_asked_for_as_it_is(bert: vm.Trace) -> None:
    token = bert.ids.index(bert.tokenizer.mask_id or 0)
    said = " ".join(islands.sentences(topic.MASKED, look_at(bert), token=token))
    best, share = bert.next_tokens(token, 1)[0]
    assert f"You typed [MASK] at position {token} yourself" in said and f"{best.label} with {percent(share)}" in said
    assert "When it can see" not in said
    scenes = islands.pictures(topic.MASKED, look_at(bert), token=token)
    assert not scenes["masked_token.visible"].panels and "are left out" in said
    assert not [one for one in scenes["masked_token.choice"].panels[0].marks if one.id == "marked"]


# The tail


@pytest.mark.parametrize("sampling", SAMPLINGS)
def test_the_tail_is_the_whole_distribution_in_falling_order(sampling: vm.Sampling, story: vm.Trace) -> None:
    view, logits = TailView.of(view_of(story, -1, sampling), sampling), story["logits"][-1].double()
    ordered = (logits / (sampling.temperature or 1.0)).softmax(-1).sort(descending=True).values
    assert view.ranks[0] == 1 and view.ranks[-1] == len(logits)
    np.testing.assert_allclose(view.probs, ordered.log10()[view.ranks - 1], atol=1e-3)
    np.testing.assert_allclose(view.mass, ordered.cumsum(-1)[view.ranks - 1], rtol=1e-4)
    model = logits.softmax(-1).sort(descending=True).values
    np.testing.assert_allclose(view.model, model.log10()[view.ranks - 1], atol=1e-3)
    found = distribution(story["logits"][-1], sampling)
    n_kept = view.cuts[-1].n_kept if view.cuts else len(logits)
    assert n_kept == int(found.kept.sum()) and n_kept in view.ranks
    assert not view.cuts or view.cuts[-1].mass == pytest.approx(found.kept_mass, abs=1e-6)
    moved = (found.probs.double() - logits.softmax(-1)).abs().sum().item() / 2 if sampling.temperature else 0.0
    assert view.moved == pytest.approx(moved, abs=1e-5)


def test_the_filters_follow_one_another(story: vm.Trace) -> None:
    def of(asked: vm.Sampling) -> TailView:
        return TailView.of(view_of(story, 4, asked), asked)

    both, alone = of(vm.Sampling(top_k=20, top_p=0.6)), of(vm.Sampling(top_k=20))
    assert [cut.name for cut in both.cuts] == ["top_k", "top_p"] and both.cuts[0] == alone.cuts[0]
    (_, k, mass, n_dropped, dropped), (_, n, left, n_more, more) = both.rows()
    assert (k, n_dropped) == (20, 8192 - 20) and n + n_more == 20
    assert mass + dropped == pytest.approx(1) and left + more == pytest.approx(mass)
    assert left >= 0.6 * mass > left - 10 ** both.probs[both.ranks == n][0]
    assert not of(vm.Sampling(top_p=1.0)).cuts


# By hand


@pytest.mark.parametrize(("config_", "marked"), pairs(PREDICTING, [None, 7], facts=tiers.chosen), ids=tiers.name)
def test_every_model_s_logit_by_hand_is_the_recorded_one(config_: ModelConfig, marked: int | None) -> None:
    trace = run_both(language_model(config_)).at(config_.sides[-1])
    view = view_of(trace, 1, vm.Sampling(temperature=0.8, top_p=0.9), marked)
    said = tabs.by_hand(view)
    rank, token = tabs.hand_token(view)
    assert token.id == view.order[rank] and rank > 0
    assert marked is None or token.id == marked or view.marked == 0
    assert float(said["logit"]) == pytest.approx(float(trace["logits"][1, token.id]), abs=1e-4)
    # What is small is written in powers of ten.
    worked, shown = (
        float(said[name].replace(r" \cdot 10^{", "e").rstrip("}")) for name in ("probability", "at_temperature")
    )
    assert worked == pytest.approx(shown, rel=2e-3, abs=2e-6)


def test_of_a_large_vocabulary_tables_hold_the_selected_token_alone(
    story: vm.Trace, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = islands.sentences(topic.NEXT, look_at(story, token=4))
    monkeypatch.setattr(asking, "MOST_SORTED", 10_000)
    look = look_at(story, token=4)
    assert len(asking.asked(look).views) == 1
    assert islands.sentences(topic.NEXT, look) == whole


def test_the_encoder_s_side_shows_what_the_decoder_says_last() -> None:
    trace = vm.load("translate-2017").trace("The cat is black.", "Le chat")
    look = look_at(trace.at("encoder"), token=1)
    best, share = trace.at("decoder").next_tokens(-1, 1)[0]
    said = islands.sentences(topic.NEXT, look)
    assert any("predicts nothing" in line for line in said)
    assert f"After ·chat the model expects {best.label}: {percent(share)} of the probability" in said
    items: Items = mark(islands.pictures(topic.NEXT, look)["next_token.choice"], "before")
    assert items.where is not None and items.where.site == "probs" and items.where.where == (2, "row")
