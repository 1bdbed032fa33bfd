"""The whole distribution with its cuts, and the interval that every drawn number fell into."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from tiny_models import language_model, tiny_config

import viz_model as vm
from viz_model.runs.generation import LEADERS, Step, distribution, interval, steps
from viz_model.topics.next_token.claims import REPEATS
from viz_model.topics.next_token.numbers.views import choice_view
from viz_model.topics.next_token.pictures import draws, repetition
from viz_model.topics.next_token.pictures.tail import TailView, draw_tail

TAIL = {name: name for name in ("model", "kept", "dropped", "p", "mass", "rank", "top_k", "top_p", "greedy")}
FELL = {name: name for name in ("number", "interval", "rest", "axis")}
SAMPLINGS = [
    vm.Sampling(),
    vm.Sampling(temperature=0.7, top_k=9, top_p=0.8),
    vm.Sampling(temperature=2.0, top_p=0.5),
    vm.Sampling(top_k=1),
    vm.Sampling(top_k=5000),
    vm.Sampling(temperature=0.05, top_p=1.0),
    vm.Sampling(temperature=0.0),
]


@pytest.fixture(scope="module")
def trace() -> vm.Trace:
    return language_model(tiny_config()).trace(ids=[3, 1, 41, 59])


def tail(trace: vm.Trace, asked: vm.Sampling) -> TailView:
    return TailView.of(choice_view(trace, -1, asked), asked)


@pytest.mark.parametrize("asked", SAMPLINGS)
def test_the_tail_is_the_whole_distribution_in_falling_order(asked: vm.Sampling, trace: vm.Trace) -> None:
    view, logits = tail(trace, asked), trace["logits"][-1].double()
    ordered = (logits / (asked.temperature or 1.0)).softmax(-1).sort(descending=True).values
    assert view.ranks[0] == 1 and view.ranks[-1] == view.n_vocab == len(logits)
    np.testing.assert_allclose(10**view.probs, ordered[view.ranks - 1], rtol=1e-5)
    np.testing.assert_allclose(view.mass, ordered.cumsum(-1)[view.ranks - 1], rtol=1e-5)
    model = logits.softmax(-1).sort(descending=True).values
    np.testing.assert_allclose(10**view.model, model[view.ranks - 1], rtol=1e-5)
    found = distribution(trace["logits"][-1], asked)
    assert view.n_kept == int(found.kept.sum())
    assert not view.cuts or view.cuts[-1].mass == pytest.approx(found.kept_mass, abs=1e-6)
    assert view.n_kept in view.ranks
    moved = (found.probs.double() - logits.softmax(-1)).abs().sum().item() / 2 if asked.temperature else 0.0
    assert view.moved == pytest.approx(moved, abs=1e-6)


def test_the_filters_follow_one_another(trace: vm.Trace) -> None:
    both = tail(trace, vm.Sampling(top_k=20, top_p=0.6))
    alone = tail(trace, vm.Sampling(top_k=20))
    assert [cut.name for cut in both.cuts] == ["top_k", "top_p"] and both.cuts[0] == alone.cuts[0]
    (_, k, mass, n_dropped, dropped), (_, n, left, n_more, more) = both.rows()
    assert (k, n_dropped) == (20, both.n_vocab - 20) and n + n_more == 20
    assert mass + dropped == pytest.approx(1) and left + more == pytest.approx(mass)
    assert left >= 0.6 * mass > left - 10 ** both.probs[both.ranks == n][0]
    assert not tail(trace, vm.Sampling(top_p=1.0)).cuts


def test_half_of_the_probability_lies_in_fewer_tokens_when_it_is_cold(trace: vm.Trace) -> None:
    view = tail(trace, vm.Sampling(temperature=0.5))
    ordered = np.sort(trace["probs"][-1].double().numpy())[::-1]
    assert ordered[: view.halves[0]].sum() >= 0.5 > ordered[: view.halves[0] - 1].sum()
    assert view.halves[1] < view.halves[0]


@pytest.mark.parametrize("asked", SAMPLINGS)
def test_the_curves_hold_what_is_kept_and_what_is_dropped(asked: vm.Sampling, trace: vm.Trace) -> None:
    view = tail(trace, asked)
    figure = draw_tail(view, TAIL).drawn()
    (kept,) = [part for part in figure.data if part.name == "kept" and part.yaxis == "y"]
    assert list(kept.x) == [rank for rank in view.ranks if rank <= view.n_kept]
    np.testing.assert_allclose(kept.y, 10 ** view.probs[view.ranks <= view.n_kept])
    dropped = [part for part in figure.data if part.name == "dropped"]
    assert bool(dropped) == (view.n_kept < view.n_vocab)


def test_a_number_lies_in_the_interval_of_its_token() -> None:
    logits = torch.randn(50, generator=torch.Generator().manual_seed(0))
    found = distribution(logits, vm.Sampling(top_k=30))
    edge = 0.0
    for rank in range(30):  # the intervals follow one another without a gap
        at = interval(found, edge)
        assert at.start == pytest.approx(edge) and at.rank == rank
        assert at.stop - at.start == pytest.approx(found.final[at.id].item(), abs=1e-6)
        edge = at.stop
    assert edge == 1.0


def drawn(asked: vm.Sampling, n: int) -> list[Step]:
    lm = language_model(tiny_config())
    going = steps(lm.decoder([3, 1, 41]), lm.tokenizer, asked, seed=4)
    return [step for step, _ in zip(going, range(n), strict=False)]


@pytest.mark.parametrize("asked", SAMPLINGS)
def test_every_step_says_what_decided_it(asked: vm.Sampling) -> None:
    numbers = torch.Generator().manual_seed(4)
    for step in drawn(asked, 6):
        assert step.drawn == torch.rand((), generator=numbers, dtype=torch.float64).item()
        assert step.start <= step.drawn < step.stop
        assert step.stop - step.start == pytest.approx(step.final_probability, abs=1e-6)
        shares = [share for _, share in step.leaders]
        assert shares == sorted(shares, reverse=True) and len(shares) <= LEADERS
        if step.rank < len(shares):
            assert step.leaders[step.rank] == (step.token, step.final_probability)
            assert sum(shares[: step.rank]) == pytest.approx(step.start, abs=1e-6)


def test_the_first_leader_is_what_greedy_takes_after_the_same_text() -> None:
    lm, ids = language_model(tiny_config()), [3, 1, 41]
    for step in drawn(vm.Sampling(temperature=1.5), 4):
        assert step.leaders[0][0].id == int(lm.trace(ids=ids)["logits"][-1].argmax())
        ids.append(step.token.id)


def test_the_bars_are_the_intervals_and_the_marks_the_numbers() -> None:
    found = drawn(vm.Sampling(temperature=1.5), 20)
    for picked in (0, 9, 19):
        view = draws.DrawsView.of(found, picked, 3)
        assert len(view.steps) == draws.ROWS_DRAWN and view.steps[view.picked] == found[picked]
        assert view.position == view.first - 1 + 3
        intervals, hit, marks = draws.draw_draws(view, FELL).drawn().data
        assert list(marks.x) == [step.drawn for step in view.steps]
        np.testing.assert_allclose(hit.base, [step.start for step in view.steps])
        np.testing.assert_allclose(np.add(hit.base, hit.x), [step.stop for step in view.steps])
        assert sum(intervals.x) == pytest.approx(len(view.steps), abs=1e-4)  # each bar is full


def test_a_draw_is_told_with_digits_that_place_it() -> None:
    found = drawn(vm.Sampling(temperature=2.0), 12)
    for n, step in enumerate(found):
        said = draws.draw_facts(found, n)
        assert float(said["start"]) < float(said["stop"])
        assert abs(float(said["number"]) - step.drawn) < (step.stop - step.start)
    assert draws.draw_facts(found, 0)["n_greedy"] == str(sum(step.token == step.leaders[0][0] for step in found))
    assert draws.draw_columns(found)["number"] == [step.drawn for step in found]


def test_bars_are_in_the_colour_of_how_often_their_run_stood_there() -> None:
    (one, *_) = drawn(vm.Sampling(), 1)
    found = [one._replace(probability=0.1 + n / 100) for n in range(9)]  # the same token nine times
    view = repetition.RepetitionView.of([], found)
    names = {name: name for name in ("p", "draw", "time", *repetition.TIMES)}
    first, second, more = repetition.draw_repetition(view, names).drawn().data
    assert (first.name, second.name, more.name) == ("first", "second", "more")
    assert [list(bars.x) for bars in (first, second, more)] == [[1, 2, 3, 4], [5], [6, 7, 8, 9]]
    for bars in (first, second, more):
        np.testing.assert_allclose(bars.y, 0.09 + np.array(bars.x) / 100)
    assert [text.split("time ")[1] for text in more.hovertext] == ["3", "4", "5", "6"]
    assert REPEATS.of(view.means).name == "rises" and view.facts() == {
        "n": "9",
        "n_repeated": "5",
        "most": "6",
        "p_first": "11.5%",
        "p_second": "14.0%",
        "p_more": "16.5%",
    }
    falling = repetition.RepetitionView.of([], found[::-1])
    assert REPEATS.of(falling.means).name == "plain"
    # A second time above what is new and the later ones below: the model was not surer of all that it repeated.
    mixed = [one._replace(probability=p) for p in (0.3, 0.3, 0.3, 0.3, 0.9, 0.2, 0.2)]
    assert REPEATS.of(repetition.RepetitionView.of([], mixed).means).name == "plain"
    assert repetition.RepetitionView.of([], found[:3]).facts()["p_more"] == "–"
