"""What the page on the next token shows is the model's own distribution, and what sampling makes of it."""

import itertools
from dataclasses import replace
from typing import Any

import islands
import numpy as np
import pytest
import torch
from app_driver import open_page, said
from hypothesis import given
from hypothesis import strategies as st
from next_token_looks import look_at, mark
from tiny_models import describe, language_model, run_both, tiny_config, variants

import viz_model as vm
from viz_model import texts
from viz_model.app import declared
from viz_model.app import view as views
from viz_model.app.measuring import MEASURING
from viz_model.app.view import Notice, ViewState
from viz_model.checkpoints import registry
from viz_model.config import ModelConfig
from viz_model.drawing.digits import percent
from viz_model.drawing.scene import Items, Labels, Texts
from viz_model.island.page import Button, Buttons, Ribbon
from viz_model.island.prose import html as as_html
from viz_model.measures import kv_cache, stream
from viz_model.measures.continuation import Drawing, longer
from viz_model.runs.generation import LEADERS, Step, distribution, steps
from viz_model.topics import next_token as topic
from viz_model.topics.next_token import arrivals, beam, choice, similarity
from viz_model.topics.next_token import asked as asking
from viz_model.topics.next_token.asked import SHOWN
from viz_model.topics.next_token.drawn import picked as picked_of
from viz_model.topics.next_token.draws import draw_facts
from viz_model.topics.next_token.repetition import times
from viz_model.topics.next_token.similarity import SentencesView, by_hand, sentence_vector
from viz_model.topics.next_token.tail import TailView
from viz_model.topics.next_token.work import WorkView

SAMPLINGS = [
    vm.Sampling(),
    vm.Sampling(temperature=0.7, top_k=9, top_p=0.8),
    vm.Sampling(temperature=2.0, top_p=0.5),
    vm.Sampling(top_k=1),
    vm.Sampling(temperature=0.05),
    vm.Sampling(temperature=0.0),
]
TEXT = "Tom had a cat and a dog."


@pytest.fixture(scope="module")
def story() -> vm.Trace:
    return vm.load("story-pre-ln").trace(TEXT)


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


def test_a_covered_token_is_asked_for_where_it_cannot_be_seen() -> None:
    lm = vm.load("story-bert")
    bert = lm.trace("The cat [MASK] on the mat.")
    look = look_at(bert)
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


@pytest.mark.parametrize("sampling", SAMPLINGS)
def test_the_tail_is_the_whole_distribution_in_falling_order(sampling: vm.Sampling, story: vm.Trace) -> None:
    logits = story["logits"][-1].double()
    view = TailView.of(asking.choice_view(story, -1, story.row("logits", -1), sampling, None), sampling)
    ordered = (logits / (sampling.temperature or 1.0)).softmax(-1).sort(descending=True).values
    assert view.ranks[0] == 1 and view.ranks[-1] == len(logits)
    np.testing.assert_allclose(view.probs, ordered.log10()[view.ranks - 1], atol=1e-3)
    np.testing.assert_allclose(view.mass, ordered.cumsum(-1)[view.ranks - 1], rtol=1e-4)
    model = logits.softmax(-1).sort(descending=True).values
    np.testing.assert_allclose(view.model, model.log10()[view.ranks - 1], atol=1e-3)
    found = distribution(story["logits"][-1], sampling)
    n_kept = view.cuts[-1].n_kept if view.cuts else len(logits)
    assert n_kept == int(found.kept.sum()) and n_kept in view.ranks
    assert not view.cuts or view.cuts[-1].mass == pytest.approx(found.probs[found.kept].sum().item(), abs=1e-6)
    moved = (found.probs.double() - logits.softmax(-1)).abs().sum().item() / 2 if sampling.temperature else 0.0
    assert view.moved == pytest.approx(moved, abs=1e-5)


def test_a_large_vocabulary_is_told_of_at_all_tokens_as_at_each(
    monkeypatch: pytest.MonkeyPatch, story: vm.Trace
) -> None:
    monkeypatch.setattr(asking, "MOST_SORTED", 0)
    look = islands.look(story, topic.NEXT, token=1)
    assert len(asking.asked(look).views) == 1
    for token in (3, 1):
        here, alone = (replace(look, token=token, _read=read) for read in (look._read, {}))
        assert islands.sentences(topic.NEXT, here) == islands.sentences(topic.NEXT, alone)
        assert len(asking.asked(here).views) == len(story) and len(asking.asked(here).here.order) == asking.MOST_NAMED


def test_the_encoder_s_side_shows_what_the_decoder_says_last() -> None:
    trace = vm.load("translate-2017").trace("The cat is black.", "Le chat")
    look = look_at(trace.at("encoder"), token=1)
    best, share = trace.at("decoder").next_tokens(-1, 1)[0]
    said = islands.sentences(topic.NEXT, look)
    assert any("predicts nothing" in line for line in said)
    assert f"After ·chat the model expects {best.label}: {percent(share)} of the probability" in said
    items: Items = mark(islands.pictures(topic.NEXT, look)["next_token.choice"], "before")
    assert items.where is not None and items.where.site == "probs" and items.where.where == (2, "row")


def of_page(look: Any, kind: type, name: str = "") -> list[Any]:
    made: list[Any] = [one for one in islands.made(topic.NEXT, look) if isinstance(one, kind)]
    return [one for one in made if not name or one.name == name]


def button(look: object, label: str) -> Button:
    (found,) = of_page(look, Buttons)
    return next(one for one in found.buttons if one.label == label)


@pytest.mark.parametrize("asked", SAMPLINGS)
def test_every_step_says_what_decided_it(asked: vm.Sampling) -> None:
    numbers, lm, ids = torch.Generator().manual_seed(4), language_model(tiny_config()), [3, 1, 41]
    for step in itertools.islice(steps(lm.decoder(ids), lm.tokenizer, asked, seed=4), 6):
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
        return [Step(token, 1.0, 1.0, 0.0, 0.0, 1.0, 0, ((token, 1.0),)) for token in map(tokenizer.token, ids)]

    assert longer(trace, of(*tokenizer.encode(" sat 爱"))) == "我 cat sat 爱"
    broken = next(id for id in range(tokenizer.n_vocab) if tokenizer.token(id).bytes == "爱".encode()[:1])
    assert longer(trace, of(*tokenizer.encode(" sat"), broken)) == "我 cat sat"
    assert tokenizer.end_of_text is not None
    assert longer(trace, of(tokenizer.end_of_text)) == longer(trace, []) == "我 cat"
    cut = lm.trace("the cat sat on the mat", max_tokens=3)
    assert cut.n_dropped and longer(cut, of(394)) == tokenizer.decode([*cut.ids, 394])


GENERATING = [c for c in variants() if c.kind != "encoder"]


@pytest.mark.parametrize("config_", GENERATING, ids=describe)
def test_every_decoder_s_arrivals_are_its_own_tokens_shifted_by_one(config_: ModelConfig) -> None:
    trace = run_both(language_model(config_)).at("decoder")
    found, ids = arrivals.following(trace), trace.own_ids
    assert found.positions.tolist() == list(range(1, len(ids)))
    np.testing.assert_allclose(found.probs, trace["probs"][range(len(ids) - 1), ids[1:]], rtol=1e-4)
    np.testing.assert_allclose(found.bits, -np.log2(found.probs), atol=1e-5)
    for n, came in enumerate(ids[1:]):
        probs = trace["probs"][n]
        assert found.ranks[n] == 1 + int((probs > probs[came]).sum())
        assert [label for label, _ in found.guesses[n]] == [token.label for token, _ in trace.next_tokens(n, 3)]


def test_the_loss_of_a_text_is_said(story: vm.Trace) -> None:
    loss = torch.nn.functional.cross_entropy(story["logits"][:-1].double(), torch.tensor(story.ids[1:])).item()
    said, found = " ".join(islands.sentences(topic.NEXT, look_at(story))), arrivals.following(story)
    assert f"{loss:.2f}" in said and f"{loss / np.log(2):.2f}" in said
    assert f"{(found.ranks == 1).sum()} of {len(found.labels)}" in said


def total(trace: vm.Trace, more: tuple[int, ...]) -> float:
    """Σ log p of tokens after a text, of one run over all of it."""
    ids = [*trace.own_ids, *more]
    with torch.inference_mode():
        if trace.target_ids is None:
            logits = trace.model(torch.tensor([ids]))[0]
        else:
            logits = trace.model.decode(torch.tensor([ids]), trace.model.encode(torch.tensor([trace.ids])))[0]
    logs = logits.double().log_softmax(-1)
    return sum(logs[len(ids) - len(more) - 1 + n, id].item() for n, id in enumerate(more))


@pytest.mark.parametrize("kind", ["decoder", "encoder_decoder"])
def test_a_beam_as_wide_as_the_vocabulary_finds_the_most_probable_text(kind: str) -> None:
    trace = run_both(language_model(tiny_config(kind=kind, n_vocab=11))).at("decoder")
    found = beam.path(beam.search(trace, 11, depth=2))
    every = {more: total(trace, more) for more in itertools.product(range(11), repeat=2)}
    best = max(every, key=every.__getitem__)
    assert tuple(node.token.id for node in found) == best
    assert found[-1].total == pytest.approx(every[best], abs=1e-4)


def test_the_staircases_count_what_the_steps_compute() -> None:
    found = WorkView.of(kv_cache.reads(16, 5, 4), 5)
    assert (found.with_cache, found.without_cache) == (5 + 1 + 1 + 1, 5 + 6 + 7 + 8)
    assert (found.cached == 2).sum() == found.with_cache and (found.fresh == 2).sum() == found.without_cache
    assert found.cached[-1].tolist() == [1] * 7 + [2]
    assert found.facts()["saved"] == "69.2%"
    # Forgotten tokens are in no step.
    assert WorkView.of(kv_cache.reads(8, 8, 2), 8).cached.tolist() == [[2] * 8 + [0], [0] * 5 + [2] * 4]
    trace = language_model(tiny_config(n_vocab=8192, n_context=32)).trace("the cat and the dog ran")
    look = look_at(trace, options={"drawn": "4"})
    scene = islands.pictures(topic.NEXT, look)["kv_cache.work"]
    cells = next(one for one in scene.panels[0].marks if one.id == "cells")
    drawn = np.nan_to_num(cells.values)  # type: ignore[union-attr]
    assert (drawn == 2).sum() == len(look) + 3 and drawn.shape == (4, len(look) + 3)


@given(st.lists(st.integers(0, 2), max_size=40), st.integers(1, 5))
def test_times_are_those_of_a_search(ids: list[int], run: int) -> None:
    for end, n in enumerate(times(ids, run), 1):
        endings = [stop for stop in range(run, end + 1) if ids[stop - run : stop] == ids[max(0, end - run) : end]]
        assert n == max(1, len(endings))


VECTORS = [c for c in variants() if not c.has_logits]


@pytest.mark.parametrize("config_", VECTORS, ids=describe)
def test_sentences_are_compared_by_the_cosine_of_their_means(config_: ModelConfig) -> None:
    lm = language_model(config_)
    trace, others = run_both(lm), [lm.trace(ids=[5, 9]), lm.trace(ids=[3, 1, 4, 1]), run_both(lm)]
    view, site = SentencesView.of(trace, others), trace.leaving
    expected = [torch.cosine_similarity(trace[site].mean(0), other[site].mean(0), dim=0) for other in others]
    np.testing.assert_allclose(view.cosines, expected, atol=1e-5)
    said = by_hand(trace, others[0])
    quotient = float(said["dot"]) / (float(said["length_a"]) * float(said["length_b"]))
    assert quotient == pytest.approx(float(said["cosine"]), abs=2e-4)
    assert float(said["mean"]) == pytest.approx(float(sentence_vector(trace)[int(said["d"])]), abs=1e-4)
    assert stream.cosines(np.zeros((1, 3)), np.ones((1, 3)))[0, 0] == 0.0  # a vector of noughts has no direction


@pytest.mark.parametrize("config_", VECTORS, ids=describe)
def test_tokens_against_each_other(config_: ModelConfig) -> None:
    trace = run_both(language_model(config_))
    look, x = look_at(trace), trace[trace.leaving]
    expected = torch.cosine_similarity(x[:, None], x[None], dim=-1)
    matrix = mark(islands.pictures(topic.VECTORS, look)["sentence_vectors.tokens"], "cells").values
    np.testing.assert_allclose(matrix[:-1, :-1], expected, atol=1e-5)
    np.testing.assert_allclose(matrix[-1, :-1], torch.cosine_similarity(x, x.mean(0)[None]), atol=1e-5)
    apart = expected.clone().fill_diagonal_(-2)
    for token in (2, 5):
        said = " ".join(islands.sentences(topic.VECTORS, look, token=token))
        like = int(apart[token].argmax())
        assert f"{trace.tokens[like].label} (position {like}), with {matrix[token, like]:.2f}" in said.replace("−", "-")
    off = expected[~torch.eye(len(trace), dtype=torch.bool)]
    assert similarity.similarity(look).average == pytest.approx(float(off.mean()), abs=1e-5)


MODEL = "story-pre-ln"


def test_both_ways_are_measured_on_demand_and_one_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kv_cache, "BUDGET", 1.0)
    query = {"model": MODEL, "lang": "en", "door_times": "1"}
    app = open_page("next_token", {**query, "text": "Tom had a cat"})
    with MEASURING:
        app.button(key="kv_cache.measure").click().run()
        assert "Another measurement" in said(app) and "median of" not in said(app)
    app.button(key="kv_cache.measure").click().run()
    assert not app.exception
    assert "median of" in said(app) and not MEASURING.locked()
    full = open_page("next_token", {**query, "text": "the cat " * 200})
    assert "tokens is full" in said(full) and not [one for one in full.button if one.key == "kv_cache.measure"]


def parse(query: dict[str, str]) -> tuple[ViewState, list[Notice]]:
    configs = {MODEL: registry.config_of(MODEL)}
    return views.parse(query, [MODEL], configs, "en", "next_token", declared.declared(topic.TOPIC).all_choices)


@pytest.mark.parametrize(
    ("name", "wrong"),
    [
        ("temperature", ("-1", "2.05", "nan", "1e0", "0.123")),
        ("top_k", ("0", "101", "2.5", "٣", "off")),
        ("top_p", ("0", "1.01", "0.01")),
        ("seed", ("-1", "10000", "1_0")),
        ("drawn", ("-1", "101")),
        ("sentence_0", ("x" * 401,)),
    ],
)
def test_what_no_slider_can_be_set_to_stays_as_it_was_and_is_said(name: str, wrong: tuple[str, ...]) -> None:
    for asked in wrong:
        view, (notice,) = parse({name: asked})
        assert not view.choices
        assert notice.values["name"] == name and notice.values["asked"] == asked[:80]


def test_an_address_says_of_sampling_only_what_was_chosen() -> None:
    chosen = {"temperature": "0", "top_k": "7", "top_p": "1", "seed": "12", "drawn": "3", "sentence_1": ""}
    view, notices = parse({**chosen, "sentence_0": "a\nb"})
    assert not notices
    assert {name: view.query()[name] for name in chosen} == chosen
    assert parse(view.query())[0] == view
    assert not {"temperature", "top_p"} & parse({"temperature": "1", "top_p": "0.9"})[0].query().keys()
