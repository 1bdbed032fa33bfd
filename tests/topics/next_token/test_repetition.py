"""What counts as repeated, against a search through the text; and that bundled models do it where they are greedy."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import viz_model as vm
from viz_model.topics.next_token.repetition import REPEATS, Repetition, repeated, times


@given(st.lists(st.integers(0, 2), max_size=40), st.integers(1, 5))
def test_times_are_those_of_a_search(ids: list[int], run: int) -> None:
    for end, n in enumerate(times(ids, run), 1):
        endings = [stop for stop in range(run, end + 1) if ids[stop - run : stop] == ids[max(0, end - run) : end]]
        assert n == max(1, len(endings))


@pytest.mark.parametrize("name", ["story-pre-ln", "story-post-ln", "story-modern"])
def test_a_greedy_text_gets_surer_of_what_it_says_again(name: str) -> None:
    lm = vm.load(name)
    text = "一天早上，"
    found = repeated(lm.tokenizer.encode(text), lm.generate(text, max_new_tokens=100, temperature=0.0).steps)
    new, second, more = found.means
    assert found.n_repeated > 20 and new is not None and more is not None and more > new + 0.05
    assert REPEATS.of(found.means).name == ("rises" if second is None or second > new else "plain")


def test_means_and_claims_by_how_often_a_run_stood_there() -> None:
    def of(*probs: float) -> Repetition:  # the same token again and again
        return Repetition(np.array(times([1] * len(probs))), np.array(probs))

    rising = of(*(0.1 + n / 100 for n in range(9)))
    assert REPEATS.of(rising.means).name == "rises" and rising.facts() == {
        "n": "9", "n_repeated": "5", "most": "6", "p_first": "11.5%", "p_second": "14.0%", "p_more": "16.5%",
    }  # fmt: skip
    assert REPEATS.of(of(*(0.2 - n / 100 for n in range(9))).means).name == "plain"
    # A second time above what is new and the later ones below: the model was not surer of all that it repeated.
    assert REPEATS.of(of(0.3, 0.3, 0.3, 0.3, 0.9, 0.2, 0.2).means).name == "plain"
    assert of(0.1, 0.1, 0.1).facts()["p_more"] == "–"
