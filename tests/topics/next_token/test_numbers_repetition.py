"""What counts as repeated, against a search through the text; and that bundled models do it where they are greedy."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

import viz_model as vm
from viz_model.topics.next_token.numbers.repetition import RUN, Repetition, times


@given(st.lists(st.integers(0, 2), max_size=40), st.integers(1, 5))
def test_times_are_those_of_a_search(ids: list[int], run: int) -> None:
    for end, n in enumerate(times(ids, run), 1):
        endings = [stop for stop in range(run, end + 1) if ids[stop - run : stop] == ids[max(0, end - run) : end]]
        assert n == max(1, len(endings))


def test_the_text_before_the_first_draw_counts() -> None:
    lm = vm.load("story-pre-ln")
    steps = lm.generate("One day, Tom", max_new_tokens=6, temperature=0.0).steps
    ids = [step.token.id for step in steps]
    alone, behind = Repetition.of([], steps), Repetition.of(ids, steps)
    assert alone.n_repeated == 0 and behind.n_repeated >= len(steps) - RUN + 1
    assert behind.probs.tolist() == [step.probability for step in steps]


@pytest.mark.parametrize("name", ["story-pre-ln", "story-post-ln", "story-modern"])
def test_a_greedy_text_gets_surer_of_what_it_says_again(name: str) -> None:
    lm = vm.load(name)
    text = "一天早上，"
    found = Repetition.of(lm.tokenizer.encode(text), lm.generate(text, max_new_tokens=100, temperature=0.0).steps)
    new, again = found.mean(1, 1), found.mean(2, 10**9)
    assert found.n_repeated > 20 and new is not None and again is not None and again > new + 0.05
    assert found.mean(10**6, 10**9) is None
