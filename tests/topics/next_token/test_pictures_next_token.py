"""What the page on the next token draws is the model's own distribution, and what sampling makes of it."""

from __future__ import annotations

import html

import numpy as np
import pytest
from tiny_models import describe, language_model, run_both, tiny_config, variants

import viz_model as vm
from viz_model.config import MaskedHead, ModelConfig
from viz_model.drawing.writing import percent
from viz_model.measures import covering
from viz_model.runs.generation import Step, distribution
from viz_model.tokenizers.tokenizer import IdTokenizer, Token
from viz_model.topics.next_token.numbers import by_hand
from viz_model.topics.next_token.numbers.continued import longer
from viz_model.topics.next_token.numbers.views import arrivals_view, choice_view, covered_view
from viz_model.topics.next_token.pictures.arrivals import draw_arrivals
from viz_model.topics.next_token.pictures.choice import SHOWN, draw_choice, entropy_bits
from viz_model.topics.next_token.pictures.guesses import draw_guesses

PREDICTING = [c for c in variants() if c.has_logits]
GENERATING = [c for c in variants() if c.kind != "encoder"]
NAMES = {name: name for name in ("before", "after", "dropped", "model", "kept_mass", "dropped_mass", "marked")}
ASKED = {name: name for name in ("probability", "bits", "rank", "guesses", "visible")}


def certain(token: Token) -> Step:
    """A draw that had no choice."""
    return Step(token, 1.0, 1.0, 0.0, 0.0, 1.0, 0, ((token, 1.0),))


@pytest.fixture
def trace(lm: vm.LanguageModel) -> vm.Trace:
    return lm.trace("the cat sat on the mat")


@pytest.mark.parametrize(
    "sampling",
    [
        vm.Sampling(),
        vm.Sampling(temperature=0.7, top_k=9),
        vm.Sampling(temperature=1.5, top_p=0.5),
        vm.Sampling(temperature=0.0),
    ],
)
def test_a_choice_is_the_distribution_in_falling_order(sampling: vm.Sampling, trace: vm.Trace) -> None:
    view = choice_view(trace, 2, sampling)
    expected = distribution(trace.row("logits", 2), sampling)
    back = np.argsort(view.order)
    np.testing.assert_array_equal(view.probs[back], expected.probs.numpy())
    np.testing.assert_array_equal(view.kept[back], expected.kept.numpy())
    np.testing.assert_array_equal(view.final[back], expected.final.numpy())
    np.testing.assert_allclose(view.model[back], trace["probs"][2].numpy(), rtol=1e-5)
    assert (np.diff(view.logits) <= 0).all()
    assert view.kept_mass == pytest.approx(expected.kept_mass, abs=1e-5)


def test_entropy_in_bits() -> None:
    assert entropy_bits(np.full(8, 1 / 8)) == pytest.approx(3.0)
    assert entropy_bits(np.array([1.0, 0.0])) == 0.0


@pytest.mark.parametrize(
    ("p", "said"),
    [(0.0, "0.0%"), (0.00001, "<0.01%"), (0.005, "0.50%"), (0.25, "25.0%"), (0.9999, ">99.9%"), (1.0, "100.0%")],
)
def test_a_percentage_never_claims_nothing_or_all(p: float, said: str) -> None:
    assert percent(p) == said


def test_arrivals_are_what_each_position_expected_of_the_token_that_came(trace: vm.Trace) -> None:
    view = arrivals_view(trace)
    probs = trace["probs"].numpy()
    for position, came in enumerate(trace.ids[1:]):
        assert view.probs[position] == pytest.approx(probs[position, came], rel=1e-4)
        assert view.ranks[position] == 1 + (probs[position] > probs[position, came]).sum()
        expected = trace.next_tokens(position, 3)
        assert [label for label, _ in view.guesses[position]] == [token.label for token, _ in expected]
    assert view.bits == pytest.approx(-np.log2(view.probs))


def test_arrivals_of_a_single_token_are_none(lm: vm.LanguageModel) -> None:
    assert arrivals_view(lm.trace(ids=[3])).labels == ()


def test_the_bars_are_the_first_twenty(trace: vm.Trace) -> None:
    view = choice_view(trace, -1, vm.Sampling(top_k=5))
    drawn = np.concatenate([np.asarray(bar.x, dtype=float) for bar in draw_choice(view, NAMES).drawn().data])
    for probability in (*view.probs[:20], *view.final[:5]):
        assert np.isclose(drawn, probability, rtol=1e-4).any()


def test_the_text_goes_on_without_broken_characters(lm: vm.LanguageModel) -> None:
    trace, tokenizer = lm.trace("我 cat"), lm.tokenizer

    def drawn(*ids: int) -> list[Step]:
        return [certain(tokenizer.token(id)) for id in ids]

    assert longer(trace, drawn(*tokenizer.encode(" sat 爱"))) == "我 cat sat 爱"
    broken = next(id for id in range(tokenizer.n_vocab) if tokenizer.token(id).bytes == "爱".encode()[:1])
    assert longer(trace, drawn(*tokenizer.encode(" sat"), broken)) == "我 cat sat"
    assert tokenizer.end_of_text is not None
    assert longer(trace, drawn(tokenizer.end_of_text)) == "我 cat"
    assert longer(trace, []) == "我 cat"


def test_a_text_that_was_cut_goes_on_where_it_was_cut(lm: vm.LanguageModel) -> None:
    trace = lm.trace("the cat sat on the mat", max_tokens=3)
    whole = lm.tokenizer.decode([*trace.ids, 394])
    assert trace.n_dropped and longer(trace, [certain(lm.tokenizer.token(394))]) == whole


def test_of_an_encoder_decoder_the_target_goes_on() -> None:
    lm = language_model(tiny_config(kind="encoder_decoder", start_id=0, n_vocab=8192))
    trace = lm.trace("the cat", "我")
    found = longer(trace.at("encoder"), [certain(lm.tokenizer.token(394))])
    assert found == "我" + lm.tokenizer.token(394).text


def test_by_hand_comes_out_at_what_was_recorded(trace: vm.Trace) -> None:
    view = choice_view(trace, 3, vm.Sampling(temperature=0.8, top_p=0.9))
    said = by_hand.by_hand(trace, view)
    _, token = by_hand.hand_token(view)
    assert float(said["probability"]) == pytest.approx(float(said["at_temperature"]), abs=2e-6)
    assert float(said["logit"]) == pytest.approx(float(trace["logits"][3, token.id]), abs=2e-4)


@pytest.mark.parametrize("config_", PREDICTING, ids=describe)
@pytest.mark.parametrize("marked", [None, 7])
def test_every_model_s_logit_by_hand_is_the_recorded_one(config_: ModelConfig, marked: int | None) -> None:
    trace = run_both(language_model(config_)).at(config_.sides[-1])
    view = choice_view(trace, 1, vm.Sampling(temperature=0.8, top_p=0.9), marked_id=marked)
    said = by_hand.by_hand(trace, view)
    rank, token = by_hand.hand_token(view)
    assert token.id == view.order[rank] and rank > 0
    assert marked is None or token.id == marked or view.marked == 0
    assert float(said["logit"]) == pytest.approx(float(trace["logits"][1, token.id]), abs=1e-4)
    # What is small is written in powers of ten.
    worked, shown = (
        float(said[name].replace(r" \cdot 10^{", "e").rstrip("}")) for name in ("probability", "at_temperature")
    )
    assert worked == pytest.approx(shown, rel=2e-3, abs=2e-6)


@pytest.mark.parametrize("config_", GENERATING, ids=describe)
def test_every_decoder_s_arrivals_are_its_own_tokens_shifted_by_one(config_: ModelConfig) -> None:
    trace = run_both(language_model(config_)).at("decoder")
    view = arrivals_view(trace)
    ids = [token.id for token in trace.tokens]
    assert view.positions.tolist() == list(range(1, len(ids)))
    expected = trace["probs"][range(len(ids) - 1), ids[1:]]
    np.testing.assert_allclose(view.probs, expected, rtol=1e-4)
    figure = draw_arrivals(view, ASKED, selected=2).drawn()
    np.testing.assert_allclose(figure.data[0].z[0], view.probs, atol=1e-6)
    np.testing.assert_allclose(figure.data[1].y, view.bits)
    assert figure.layout.shapes[1].x0 == 0.5  # the second column is the token at position 2


def test_covered_tokens_are_drawn_over_what_is_visible() -> None:
    lm = language_model(tiny_config(kind="encoder", head=MaskedHead()))
    trace = run_both(lm)
    found = covering.cover(trace, range(2, 6), 100)
    view = covered_view(trace, found)
    assert view.labels == tuple(trace.tokens[n].label for n in range(2, 6)) and view.before is None
    figure = draw_arrivals(view, ASKED, selected=3).drawn()
    np.testing.assert_allclose(figure.data[0].z, [found.visible, np.exp(-found.nats)], atol=1e-6)
    np.testing.assert_allclose(figure.data[1].y, found.nats / np.log(2))
    assert figure.layout.shapes[1].x0 == 0.5
    assert view.columns()["visible"] == found.visible.tolist() and "before" not in view.columns()
    assert view.facts()["start"] == "2" and view.facts()["last"] == "5"


def test_a_marked_token_is_drawn_wherever_it_ranks(trace: vm.Trace) -> None:
    plain = choice_view(trace, 2, vm.Sampling())
    for rank in (0, 5, SHOWN, 900):
        view = choice_view(trace, 2, vm.Sampling(top_p=0.5), marked_id=int(plain.order[rank]))
        assert view.marked == rank
        figure = draw_choice(view, NAMES).drawn()
        pointed = [note.text for note in figure.layout.annotations if "marked" in note.text]
        share = view.final[rank] if view.kept[rank] else view.probs[rank]
        assert len(pointed) == 1 and percent(share) in html.unescape(pointed[0])
        assert len(figure.layout.yaxis.ticktext) == SHOWN + (rank >= SHOWN)
        bold = [text for text in figure.layout.yaxis.ticktext if text.startswith("<b>")]
        assert len(bold) == 1 and (f"{rank + 1:,}. " in bold[0]) == (rank >= SHOWN)


def test_guesses_are_bars_of_their_probabilities(trace: vm.Trace) -> None:
    guesses = trace.next_tokens(2, 5)
    figure = draw_guesses(guesses, guesses[3][0].id).drawn()
    assert list(figure.data[0].x) == [p for _, p in guesses]
    assert [text.startswith("<b>") for text in figure.layout.yaxis.ticktext] == [n == 3 for n in range(5)]


def test_rows_without_a_token_have_a_name() -> None:
    """A model may have more rows than its vocabulary has entries: all of them get a probability."""

    class Short(IdTokenizer):
        def token(self, id: int) -> Token:
            return self._unused(id) if id >= 90 else super().token(id)

    tiny = language_model(tiny_config())
    short = vm.LanguageModel(name="tiny", model=tiny.model, tokenizer=Short(101), twin=None, folder=tiny.folder)
    view = choice_view(short.trace("5 9 12"), 2, vm.Sampling())
    assert len(view.tokens) == 101
    assert sum(token.label.startswith("[unused") for token in view.tokens) == 11
