"""Fine-tuning: a model that has learned already goes on with another text, and what that does to what it knew.

As in Radford et al. (2018, section 3.2), from the weights of the pre-training and with a smaller learning rate, but
with the objective of the pre-training: the next token.
"""

import copy
from collections.abc import Generator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from viz_model.runs.generation import Decoder, Sampling
from viz_model.runs.language_model import LanguageModel
from viz_model.tokenizers.tokenizer import story_tokenizer
from viz_model.training import lab, loop, objective
from viz_model.training.batches import Windows, in_windows
from viz_model.training.corpus import Documents
from viz_model.training.loop import StepReport
from viz_model.training.recipe import NextToken, Recipe
from viz_model.training.samples import OWN_TEXT

MOST_PARAMETERS = 20_000_000
"""Of a model that can be trained on here within a minute."""
STEPS = (10, 200)
"""The fewest and the most that one may ask for."""
PEAK_RATE = 5e-4
MEASURED = 10
"""How often the texts are measured on the way."""
PROMPT = 8
"""Tokens at the beginning of the text that the model goes on after; fewer of a short one."""
GREEDY = Sampling(temperature=0.0)

TEXTS = ("own", "end", "en", "zh")
"""What is measured: the text that is trained on, its end, which is not, and a story in either language."""


class Losses(NamedTuple):
    """Nats a token of each of :data:`TEXTS` after ``steps`` steps."""

    steps: int
    own: float
    end: float
    en: float
    zh: float


class Spoken(NamedTuple):
    """How a model goes on after the prompt.

    probs: [V] of the next token. text: its greedy continuation. n_followed: how many tokens of that, from the first on,
    are those of the text itself.
    """

    probs: NDArray[np.float32]
    text: str
    n_followed: int


def can_tune(lm: LanguageModel) -> bool:
    """Whether a model predicts next tokens, in the vocabulary of the stories, and is small enough."""
    n_parameters = sum(parameter.numel() for parameter in lm.model.parameters())
    is_ours = lm.config.kind == "decoder" and lm.tokenizer.name == story_tokenizer().name
    return is_ours and n_parameters <= MOST_PARAMETERS


class Tuning:
    """A copy of a bundled model, trained on with a text. Whoever reads it meanwhile sees lists that only grow.

    Attributes:
        losses: before the first step, and as far as they were taken.
        spoken: before the first step, and after the last one.
        prompt: ids that the text begins with; ``truth`` are those that follow there.
        n_tokens: that are predicted of each of :data:`TEXTS`.

    Raises:
        LabError: the text is empty, too short or too long.
    """

    def __init__(self, lm: LanguageModel, text: str, steps: int) -> None:
        corpus = lab.own_text(text)
        self.tokenizer, split = corpus.tokenizer, corpus.languages["text"]
        own = split.train.ids
        window, rows = lab.windows(len(own))
        objective_ = NextToken(rows={"text": rows})
        self.recipe = Recipe(
            name="tuning",
            config=lm.config,
            objective=objective_,
            steps=steps,
            peak_rate=PEAK_RATE,
            warmup=steps // 10,
            validate_every=steps,
        )
        self._data = Windows(corpus, objective_, window, self.recipe.seed)
        stories = {name: Documents.encode([OWN_TEXT[name]], self.tokenizer).ids for name in ("en", "zh")}
        self._texts = {"own": own, "end": split.held_out.ids, **stories}
        self.n_tokens = {name: len(ids) - 1 for name, ids in self._texts.items()}
        n = min(PROMPT, len(own) // 3)
        self.prompt, self.truth = own[:n].tolist(), own[n : n + lab.SAMPLE_TOKENS].tolist()
        self.model = copy.deepcopy(lm.model).requires_grad_(True)
        self.reports: list[StepReport] = []
        self.losses: list[Losses] = []
        self.spoken: list[Spoken] = []

    def steps(self) -> Generator[StepReport, None, None]:
        """Train; yield every finished step. Closing the generator stops, and looks at what was reached.

        Raises:
            TrainingError: the loss or its gradient is no longer a number.
        """
        self._measure()
        self._speak()
        going = loop.train(self.recipe, self._data, model=self.model, half_precision=False)
        try:
            for report in going:
                self.reports.append(report)
                if len(self.reports) % (self.recipe.steps // MEASURED) == 0:
                    self._measure()
                yield report
        finally:
            going.close()
            if self.losses[-1].steps < len(self.reports):
                self._measure()
            self._speak()

    def _measure(self) -> None:
        found = {
            name: objective.measure(self.model, in_windows(ids, lab.WINDOW), self.tokenizer).nats_per_token
            for name, ids in self._texts.items()
        }
        self.losses.append(Losses(len(self.reports), **found))

    def _speak(self) -> None:
        found = lab.continued(self.model, self.prompt, self.tokenizer, GREEDY)
        same = [step.token.id == id for step, id in zip(found.steps, self.truth, strict=False)]
        probs = Decoder(self.model.eval(), self.prompt).logits.softmax(-1).numpy()
        self.spoken.append(Spoken(probs, found.text, [*same, False].index(False)))
