"""Each outcome of a training is reached by settings that a visitor can choose, and is then what the page says."""

import dataclasses
from typing import Any

import numpy as np
import pytest
import torch
from torch.nn import functional as F

import viz_model as vm
from viz_model.topics.training_lab import tuned
from viz_model.topics.training_lab.course import COURSE, ON_THE_WAY, REACH, SIZE, Course, Gradients
from viz_model.topics.training_lab.tuned import LEARNED, RECITED, TUNED
from viz_model.training import lab, samples, tuning
from viz_model.training.checkpoint import TrainingError
from viz_model.training.lab import Experiment, Settings

pytestmark = pytest.mark.slow
OWN: dict[str, Any] = {"source": "own", "text": " ".join(samples.stories("en", 4)), "d_model": 32, "n_heads": 2}
DEEP: dict[str, Any] = {**OWN, "n_layers": 12, "warmup": False}


def course(**chosen: Any) -> tuple[Experiment, Course, Gradients]:
    run, broken = Experiment(lab.check(dataclasses.replace(Settings(), **chosen))), False
    try:
        for _ in run.steps():
            pass
    except TrainingError:
        broken = True
    return run, Course.of(run, broken=broken), Gradients.of(run)


def mean_loss(run: Experiment, first: int, last: int) -> float:
    return sum(run.reports[step].loss for step in range(first, last)) / (last - first)


@pytest.mark.parametrize("place", ["pre", "post"])
def test_a_rate_of_10_diverges_and_nothing_else_is_said(place: str) -> None:
    run, losses, norms = course(**DEEP, norm_at=place, peak_rate=10.0, steps=40)
    assert COURSE.of(losses).name == "diverged" and SIZE.of(norms).name == "exploding"
    assert mean_loss(run, 20, 40) > run.reports[0].loss + 10 and run.held_out[-1].loss > 20
    assert float(np.median([report.gradient_norm for report in run.reports[20:]])) > 10
    assert ON_THE_WAY.of(losses).name == "worse"
    if place == "post":
        assert REACH.of(norms).name == "vanishing"


def test_a_run_that_is_thrown_off_may_come_back() -> None:
    run, losses, norms = course(peak_rate=1.0, d_model=32, n_layers=1, steps=60)
    assert ON_THE_WAY.of(losses).name == "thrown_off" and SIZE.of(norms).name == "burst"
    assert max(report.loss for report in run.reports) > run.reports[0].loss + 1
    assert mean_loss(run, 40, 60) < run.reports[0].loss


def test_deep_post_ln_without_warm_up_vanishes_and_knows_frequencies_alone() -> None:
    chosen: dict[str, Any] = {"n_layers": 12, "warmup": False, "norm_at": "post", "peak_rate": 0.01}
    run, losses, norms = course(**chosen, d_model=32, steps=60)
    blocks = [np.median([r.gradient_norms[f"decoder.blocks.{n}"] for r in run.reports[40:]]) for n in (0, 11)]
    assert REACH.of(norms).name == "vanishing" and blocks[0] < 0.01 and blocks[0] < 0.1 * blocks[1]
    assert COURSE.of(losses).name == "frequencies"
    read = torch.cat([run.plan.data.step(step).answers.flatten() for step in range(60)])
    shares = read.bincount().double() / len(read)
    assert mean_loss(run, 40, 60) == pytest.approx(torch.distributions.Categorical(shares).entropy().item(), abs=0.1)
    _, _, beside = course(**DEEP, norm_at="pre", peak_rate=0.01, steps=60)
    assert REACH.of(beside).name == "arrives"


def test_a_tiny_rate_stays_at_guessing() -> None:
    run, losses, norms = course(**OWN, n_layers=1, steps=20, peak_rate=0.000001)
    assert COURSE.of(losses).name == "stuck" and SIZE.of(norms).name == "plain"
    assert mean_loss(run, 0, 20) > np.log(run.tokenizer.n_vocab) - 0.1


def test_a_short_text_is_learned_by_heart() -> None:
    run, losses, _ = course(**OWN, n_layers=1, steps=100, peak_rate=0.01)
    assert ON_THE_WAY.of(losses).name == "by_heart"
    held_out = {measured.steps: measured.loss for measured in run.held_out}
    best = min(held_out, key=lambda step: held_out[step])
    assert held_out[100] > held_out[best] and mean_loss(run, 80, 100) < mean_loss(run, max(0, best - 20), best)


def test_the_usual_settings_use_the_context() -> None:
    run, losses, norms = course(d_model=32, steps=60, peak_rate=0.03)
    assert (COURSE.of(losses).name, REACH.of(norms).name) == ("context", "arrives")
    answers = torch.cat([batch.answers.flatten() for batch in run.plan.data.held_out("text")])
    shares = answers.bincount().double() / len(answers)
    assert run.held_out[-1].loss < -(shares * shares.clamp(min=1e-300).log()).sum() - 0.1


def test_a_loss_that_is_no_number_is_told() -> None:
    run = Experiment(lab.check(dataclasses.replace(Settings(), **OWN, n_layers=1, steps=20)))
    going = run.steps()
    next(going)
    with torch.no_grad():
        run.model.embedding.weight.fill_(float("nan"))
    with pytest.raises(TrainingError):
        next(going)
    assert COURSE.of(Course.of(run, broken=True)).name == "broken"


# A model that is trained on


def tuned_on(text: str, steps: int) -> tuning.Tuning:
    going = tuning.Tuning(vm.load("story-pre-ln"), text, steps)
    for _ in going.steps():
        pass
    return going


def nats(model: Any, ids: list[int]) -> float:
    with torch.no_grad():
        return F.cross_entropy(model(torch.tensor([ids[:-1]]))[0], torch.tensor(ids[1:])).item()


STRANGE = (
    "Query meets key under the softmax. The value mixes into the residual stream. Layer norm divides by the standard "
    "deviation. The logits of the vocabulary become probabilities. A block adds, and the next block adds again. "
)


def test_fine_tuning_learns_the_text_and_forgets_the_stories() -> None:
    lm = vm.load("story-pre-ln")
    kept = {name: value.clone() for name, value in lm.model.state_dict().items()}
    going = tuned_on(STRANGE, 40)
    changes = tuned.changes(going.losses)
    assert TUNED.of(changes["own"]).name == "fell" and TUNED.of(changes["en"]).name == "rose"
    assert LEARNED.of(tuned.summary(changes)).name == "forgets"
    assert going.spoken[0].n_followed < going.spoken[1].n_followed
    story = [*going.tokenizer.encode(samples.OWN_TEXT["en"]), going.tokenizer.end_of_text or 0]
    for model, loss in ((lm.model, changes["en"].before), (going.model.eval(), changes["en"].after)):
        assert nats(model, story) == pytest.approx(loss, rel=1e-3)
    assert all(torch.equal(kept[name], value) for name, value in lm.model.state_dict().items()), "the app's own"
    leaders = tuned.leaders(going.spoken[0].probs, going.spoken[1].probs, going.truth[0])
    assert leaders[0] == int(going.spoken[1].probs.argmax()) and going.truth[0] in leaders


def test_what_carries_over_and_what_does_not() -> None:
    again = tuned.summary(tuned.changes(tuned_on("The red fox saw the blue owl. " * 12, 20).losses))
    assert RECITED.of(again).name == "carries_over"
    both = f"{samples.OWN_TEXT['en']} {samples.OWN_TEXT['zh']}"
    stories = tuned.summary(tuned.changes(tuned_on(both, 20).losses))
    assert RECITED.of(stories).name == "by_heart" and LEARNED.of(stories).name == "keeps"
