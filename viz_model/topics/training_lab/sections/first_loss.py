"""The question of this page: what does the model know before its first step?"""

from __future__ import annotations

import itertools

from viz_model.app import elements
from viz_model.app.cache import cached
from viz_model.app.elements import Answer, Guess
from viz_model.app.page import Page
from viz_model.topics.training_lab.sections.settings import chosen
from viz_model.training import lab, loop, objective


@cached()
def _measured(settings: lab.Settings) -> float:
    """The loss of the model as it is drawn, in nats a token, on the held-out text that runs are measured on."""
    plan = lab.check(settings)
    held_out = itertools.islice(plan.data.held_out("text"), loop.LOGGED_BATCHES)
    return objective.measure(loop.new_model(plan.recipe), held_out, plan.data.tokenizer).nats_per_token


def question(page: Page) -> None:
    elements.question(page, guess=_guess(page))


def _guess(page: Page) -> Guess | None:
    """None where these settings cannot be trained."""
    settings = chosen(page)
    try:
        n_vocab = lab.check(settings).recipe.config.n_vocab
    except lab.LabError:
        return None
    even = lab.guessing(n_vocab)
    offered = {str(n): even * n / 2 for n in (0, 1, 2, 4)}

    def answer() -> Answer:
        loss = _measured(settings)
        right = min(offered, key=lambda name: abs(offered[name] - loss))
        return Answer(right, page.words("guess_found", loss=f"{loss:.2f}", even=f"{even:.2f}", n=f"{n_vocab:,}"))

    options = {name: page.words("guess_about", nats=f"{nats:.1f}") for name, nats in offered.items()}
    return Guess(page.words("guess"), options, answer)
