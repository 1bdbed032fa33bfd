"""What the page on the next token draws is the model's own distribution, and what sampling makes of it."""

from __future__ import annotations

import numpy as np
import pytest

import viz_model as vm
from viz_model.figures import next_token
from viz_model.generation import Decoder, distribution, steps


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
    view = next_token.ChoiceView.of(trace, 2, sampling)
    expected = distribution(trace["logits"][2], sampling)
    back = np.argsort(view.order)
    np.testing.assert_array_equal(view.probs[back], expected.probs.numpy())
    np.testing.assert_array_equal(view.kept[back], expected.kept.numpy())
    np.testing.assert_array_equal(view.final[back], expected.final.numpy())
    np.testing.assert_allclose(view.model[back], trace["probs"][2].numpy(), rtol=1e-5)
    assert (np.diff(view.logits) <= 0).all()
    assert view.kept_mass == pytest.approx(expected.kept_mass, abs=1e-5)


def test_entropy_in_bits() -> None:
    assert next_token.entropy_bits(np.full(8, 1 / 8)) == pytest.approx(3.0)
    assert next_token.entropy_bits(np.array([1.0, 0.0])) == 0.0


@pytest.mark.parametrize(
    ("p", "said"),
    [(0.0, "0.0%"), (0.00001, "<0.01%"), (0.005, "0.50%"), (0.25, "25.0%"), (0.9999, ">99.9%"), (1.0, "100.0%")],
)
def test_a_percentage_never_claims_nothing_or_all(p: float, said: str) -> None:
    assert next_token.percent(p) == said


def test_arrivals_are_what_each_position_expected_of_the_token_that_came(trace: vm.Trace) -> None:
    view = next_token.ArrivalsView.of(trace)
    probs = trace["probs"].numpy()
    for position, came in enumerate(trace.ids[1:]):
        assert view.probs[position] == pytest.approx(probs[position, came], rel=1e-4)
        assert view.ranks[position] == 1 + (probs[position] > probs[position, came]).sum()
        expected = trace.next_tokens(position, 3)
        assert [label for label, _ in view.guesses[position]] == [token.label for token, _ in expected]
    assert view.bits == pytest.approx(-np.log2(view.probs))


def test_arrivals_of_a_single_token_are_none(lm: vm.LanguageModel) -> None:
    assert next_token.ArrivalsView.of(lm.trace(ids=[3])).labels == ()


def test_the_bars_are_the_first_twenty(trace: vm.Trace) -> None:
    view = next_token.ChoiceView.of(trace, -1, vm.Sampling(top_k=5))
    names = {name: name for name in ("before", "after", "dropped", "model", "kept_mass", "dropped_mass")}
    drawn = np.concatenate([np.asarray(bar.x, dtype=float) for bar in next_token.draw_choice(view, names).data])
    for probability in (*view.probs[:20], *view.final[:5]):
        assert np.isclose(drawn, probability, rtol=1e-4).any()


@pytest.mark.parametrize(("n_prompt", "n_drawn"), [(1, 1), (5, 4), (15, 3), (16, 6)])
def test_the_cache_counts_what_the_decoder_reads(n_prompt: int, n_drawn: int, lm: vm.LanguageModel) -> None:
    class Counting(Decoder):
        def _read(self, ids, *, fresh):  # type: ignore[no-untyped-def]
            read.append(len(ids))
            whole.append(len(self.ids))
            return super()._read(ids, fresh=fresh)

    read: list[int] = []
    whole: list[int] = []
    decoder = Counting(lm.model, list(range(n_prompt)))
    for id in range(n_drawn - 1):
        decoder.append(id)
    view = next_token.CacheView.of(lm.config, n_prompt, n_drawn)
    assert view.with_cache == sum(read) and view.without_cache == sum(whole)
    stored = sum(
        t.numel() * t.element_size() for layer in decoder.cache for t in (layer.attn.k, layer.attn.v) if t is not None
    )
    assert view.n_bytes == stored
    assert view.overflows == (n_prompt + n_drawn - 1 > lm.config.n_context)


def test_the_text_goes_on_without_broken_characters(lm: vm.LanguageModel) -> None:
    tokens = lm.trace("我 cat").tokens
    drawn = [step for step, _ in zip(steps(lm.decoder([3]), lm.tokenizer, vm.Sampling(), 0), range(5), strict=False)]
    text = next_token.text_of(tokens, drawn)
    assert text.startswith("我 cat") and "\ufffd" not in text


def test_by_hand_comes_out_at_what_was_recorded(trace: vm.Trace) -> None:
    view = next_token.ChoiceView.of(trace, 3, vm.Sampling(temperature=0.8, top_p=0.9))
    said = next_token.by_hand(trace, view)
    assert float(said["sum"]) == pytest.approx(float(said["recorded"]), abs=2e-4)
    assert float(said["probability"]) == pytest.approx(float(said["at_temperature"]), abs=2e-6)
    assert float(said["logit"]) == pytest.approx(float(said["recorded"]), abs=2e-4)
