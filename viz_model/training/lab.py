"""A small model that is trained while somebody watches: what may be asked for, and what is kept to be shown.

Here are the limits too, so that whoever asks for more, by whatever way, is told which field it was.
"""

import copy
import itertools
import math
import os
from collections.abc import Generator, Iterator, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from pathlib import Path
from typing import Any, NamedTuple, cast

import numpy as np
import torch
from numpy.typing import NDArray

from viz_model.config import (
    Alibi,
    Attending,
    ConfigError,
    DeltaNet,
    Latent,
    Learned,
    Mixer,
    ModelConfig,
    NoPosition,
    Position,
    Rope,
    Sinusoidal,
    T5Bias,
)
from viz_model.model.transformer import Transformer
from viz_model.runs.generation import Decoder, Generation, Sampling, generate
from viz_model.runs.language_model import LanguageModel
from viz_model.tokenizers.tokenizer import ByteLevel, story_tokenizer
from viz_model.training import batches, loop, objective, samples
from viz_model.training.batches import Batch, Batches
from viz_model.training.corpus import Corpus, entropy
from viz_model.training.loop import StepReport
from viz_model.training.recipe import NextToken, Recipe, RecipeError

RANGES: dict[str, tuple[float, float]] = {
    "n_layers": (1, 12),
    "steps": (20, 600),
    "dropout": (0.0, 0.5),
    "label_smoothing": (0.0, 0.5),
}
MOST_RATE = 10.0
POSITIONS: dict[str, Position] = {
    "sinusoidal": Sinusoidal(),
    "learned": Learned(),
    "rope": Rope(),
    "alibi": Alibi(),
    "t5": T5Bias(),
    "none": NoPosition(),
}
MIXERS = ("multi", "grouped", "single", "latent", "state")
"""Keys and values of each head, of two heads, of all heads; of one narrow vector; and a state instead of them."""
CHOICES: dict[str, tuple[Any, ...]] = {
    "norm_at": ("pre", "post"),
    "position": tuple(POSITIONS),
    "mixer": MIXERS,
    "warmup": (True, False),
    "tie_embeddings": (True, False),
    "d_model": (32, 64, 96, 128),
    "n_heads": (1, 2, 4, 8),
    "source": ("en", "zh", "own"),
}
WHOLE = ("n_layers", "steps")

MOST_CHARACTERS = 100_000
"""Of a text of the visitor's own."""
LEAST_TOKENS = 20
N_STORIES = 150
"""Of the bundled text: about 78 kB in either language."""

WINDOW, ROWS = 64, 8
WARMUP_SHARE = 0.1
"""Of all steps."""
EPS = 1e-8
"""What PyTorch's AdamW adds to √v, and the paper's."""

SAMPLED_AT = (0, 10, 20, 50, 100, 200, 400)
"""Finished steps after which the model continues the prompt; after the last step it does so too."""
SAMPLE_TOKENS = 24
SAMPLING = Sampling(temperature=0.7, top_p=0.9)
MEASURED = 20
"""How often held-out text is measured on the way."""
PROMPTS = {"en": "Once upon a time, there was", "zh": "从前，有一"}
PROMPT_CHARACTERS = 24
"""Of an own text, whose beginning is the prompt."""

WATCHED = "decoder.blocks.0.attn.q.weight"
"""The matrix of whose first row every update is kept."""


class LabError(ValueError):
    """Something that the lab does not train. The message begins with the name of the wrong field.

    Attributes:
        field: its name.
        problem: "range", "choice", "empty", "short" or "long".
        allowed: what may stand there.
    """

    def __init__(self, field: str, problem: str, allowed: str, got: object) -> None:
        super().__init__(f"{field}: expected {allowed}, got {str(got)[:80]!r}")
        self.field, self.problem, self.allowed = field, problem, allowed


@dataclass(frozen=True, kw_only=True)
class Settings:
    """What a visitor chooses. Nothing is checked here: :func:`check` does that."""

    norm_at: str = "pre"
    position: str = "sinusoidal"
    mixer: str = "multi"
    warmup: bool = True
    dropout: float = 0.0
    label_smoothing: float = 0.0
    tie_embeddings: bool = True
    peak_rate: float = 0.003
    n_layers: int = 2
    d_model: int = 64
    n_heads: int = 4
    steps: int = 300
    source: str = "en"
    text: str = ""
    """The visitor's own, where ``source`` is "own"."""


class Plan(NamedTuple):
    """Settings that can be trained.

    ``rates`` is [steps]: the learning rate of every step to come. ``frequencies`` is the entropy of the text that is
    trained on, in nats a token: as :attr:`Experiment.frequencies` for that text.
    """

    recipe: Recipe
    data: Batches
    n_tokens: int
    frequencies: float
    n_parameters: int
    rates: NDArray[np.float64]
    prompt: str


def check(settings: Settings) -> Plan:
    """The run that ``settings`` describe.

    Raises:
        LabError: a field is beyond the limits, or the text is empty, too short or too long.
    """
    for field, (least, most) in RANGES.items():
        value = getattr(settings, field)
        is_number = isinstance(value, int if field in WHOLE else int | float) and not isinstance(value, bool)
        # Written so that NaN, which compares as false, is refused.
        if not (is_number and least <= value <= most):
            raise LabError(field, "range", f"{least:g} – {most:g}", value)
    for field, options in CHOICES.items():
        if getattr(settings, field) not in options:
            raise LabError(field, "choice", ", ".join(map(str, options)), getattr(settings, field))
    rate = settings.peak_rate
    if isinstance(rate, bool) or not isinstance(rate, int | float) or not 0 < rate <= MOST_RATE:
        raise LabError("peak_rate", "range", f"0 < η ≤ {MOST_RATE:g}", rate)
    corpus = _sample(settings.source) if settings.source in samples.GRAMMARS else own_text(settings.text)
    ids = corpus.languages["text"].train.ids
    window, rows = windows(len(ids))
    try:
        recipe = Recipe(
            name="lab",
            config=ModelConfig(
                n_vocab=corpus.tokenizer.n_vocab,
                n_context=window,
                n_layers=settings.n_layers,
                d_model=settings.d_model,
                n_heads=settings.n_heads,
                d_ffn=4 * settings.d_model,
                norm_at=settings.norm_at,  # type: ignore[arg-type]  # one of CHOICES
                **_mixing(settings),
                tie_embeddings=settings.tie_embeddings,
            ),
            objective=NextToken(rows={"text": rows}),
            steps=settings.steps,
            peak_rate=float(rate),
            warmup=round(WARMUP_SHARE * settings.steps) if settings.warmup else 0,
            dropout=float(settings.dropout),
            label_smoothing=float(settings.label_smoothing),
            validate_every=settings.steps,
        )
    except (ConfigError, RecipeError) as error:
        field, _, allowed = str(error).partition(": ")
        raise LabError(field, "choice", allowed, getattr(settings, field, "")) from None
    prompt = PROMPTS.get(settings.source) or " ".join(_readable(settings.text).split())[:PROMPT_CHARACTERS]
    data = batches.build(recipe, corpus)
    rates = np.array([recipe.rate(step) for step in range(recipe.steps)])
    return Plan(recipe, data, len(ids), entropy(ids), _n_parameters(recipe.config), rates, prompt)


def _mixing(settings: Settings) -> dict[str, Any]:
    """Heads of keys and values, what carries from token to token, and the positions that suit it."""
    n, width = settings.n_heads, settings.d_model // settings.n_heads
    position, mixer = POSITIONS[settings.position], cast(Mixer, Attending())
    heads = {"grouped": max(1, n // 2), "single": 1}.get(settings.mixer, n)
    found: dict[str, Any] = {"position": position, "n_kv_heads": heads}
    if settings.mixer == "latent":  # the shared part is half as wide as a head, as in DeepSeek-AI 2024a, section 3.1.2
        turned = max(2, width // 2)
        mixer = Latent(rank=max(width, settings.d_model // 4), d_rotated=turned, d_value=width)
        if isinstance(position, Rope):
            found["position"] = Rope(fraction=turned / width)
    elif settings.mixer == "state":
        mixer = DeltaNet(n_keys=n, n_values=n, d_key=width, d_value=width)
    return {**found, "mixers": () if mixer == Attending() else (mixer,) * settings.n_layers}


def _readable(text: str) -> str:
    """``text`` with U+FFFD in place of every lone surrogate."""
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


@cache
def _sample(language: str) -> Corpus:
    return Corpus.of_texts(samples.stories(language, N_STORIES), story_tokenizer())


def windows(n_tokens: int) -> tuple[int, int]:
    """How long the windows of a text are, and how many a step reads: of a short one such as leave room for a step."""
    window = min(WINDOW, (n_tokens - 1) // 3)
    return window, min(ROWS, (n_tokens - window - 1) // window)


def own_text(text: str) -> Corpus:
    """A text of a visitor's own, of which the last tenth is held out.

    Raises:
        LabError: it is empty, too short or too long.
    """
    if not text.strip():
        raise LabError("text", "empty", "a text", text)
    if len(text) > MOST_CHARACTERS:
        raise LabError("text", "long", f"at most {MOST_CHARACTERS:,} characters", f"{len(text):,}")
    tokenizer, clean = story_tokenizer(), _readable(text)
    if (n := len(tokenizer.encode(clean))) < LEAST_TOKENS:
        raise LabError("text", "short", f"at least {LEAST_TOKENS} tokens", n)
    return Corpus.of_texts([clean], tokenizer)


@lru_cache(maxsize=64)
def _n_parameters(config: ModelConfig) -> int:
    # Not on the meta device, whose first use takes seconds.
    return sum(parameter.numel() for parameter in Transformer(config).parameters())


def flops(recipe: Recipe) -> float:
    """Floating-point operations of one step: two for each weight and token forward, four backward."""
    config = recipe.config
    block = 12 * config.d_model**2 + 2 * config.d_model * config.n_context
    return 6.0 * _n_tokens(recipe) * (config.n_layers * block + config.n_vocab * config.d_model)


def _n_tokens(recipe: Recipe) -> int:
    """That one step predicts."""
    assert isinstance(recipe.objective, NextToken)
    return recipe.config.n_context * sum(recipe.objective.rows.values())


class Sample(NamedTuple):
    """How the model continued the prompt after ``steps`` steps, drawn by :data:`SAMPLING` with one seed."""

    steps: int
    text: str


class Measured(NamedTuple):
    """Held-out text after ``steps`` steps: nats for each token, and the share of tokens foretold."""

    steps: int
    loss: float
    accuracy: float


class Update(NamedTuple):
    """One step of AdamW for the first row of :data:`WATCHED`: [D] each, in double precision.

    ``gradient`` is that after clipping; ``m_before`` and ``v_before`` are the moments before this step,
    followed here from the first step on; ``before`` and ``after`` are the model's own weights.
    """

    t: int
    rate: float
    weight_decay: float
    betas: tuple[float, float]
    before: NDArray[np.float64]
    gradient: NDArray[np.float64]
    m_before: NDArray[np.float64]
    v_before: NDArray[np.float64]
    after: NDArray[np.float64]

    @property
    def m(self) -> NDArray[np.float64]:
        """The mean of the gradients with this one: β₁·m + (1 − β₁)·g."""
        return self.betas[0] * self.m_before + (1 - self.betas[0]) * self.gradient

    @property
    def v(self) -> NDArray[np.float64]:
        """The mean of their squares: β₂·v + (1 − β₂)·g²."""
        return self.betas[1] * self.v_before + (1 - self.betas[1]) * self.gradient**2

    @property
    def m_hat(self) -> NDArray[np.float64]:
        return self.m / (1 - self.betas[0] ** self.t)

    @property
    def v_hat(self) -> NDArray[np.float64]:
        return self.v / (1 - self.betas[1] ** self.t)

    def computed(self) -> NDArray[np.float64]:
        """``after`` from the other fields (Loshchilov & Hutter 2019, algorithm 2, as PyTorch has it)."""
        kept: NDArray[np.float64] = (1 - self.rate * self.weight_decay) * self.before
        return kept - self.rate * self.m_hat / (np.sqrt(self.v_hat) + EPS)


class Experiment:
    """One run of the lab. Whoever reads it while it runs sees lists that only grow.

    Attributes:
        model: trained in place.
        before: the same model, before its first step.
        reports: one a finished step.
        held_out, samples: as far as they were taken.
        update: of the last finished step.
        frequencies: the entropy of the held-out tokens, in nats: whatever looks at nothing but how frequent each
            token is has at least this loss on them.
    """

    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        self.model = loop.new_model(plan.recipe)
        self.before = copy.deepcopy(self.model)
        self.reports: list[StepReport] = []
        self.held_out: list[Measured] = []
        self.samples: list[Sample] = []
        self.update: Update | None = None
        self.frequencies = entropy(torch.cat([batch.answers.flatten() for batch in self._held_out()]).numpy())

    @property
    def tokenizer(self) -> ByteLevel:
        tokenizer = self.plan.data.tokenizer
        assert isinstance(tokenizer, ByteLevel)  # it trains on text
        return tokenizer

    def steps(self) -> Generator[StepReport, None, None]:
        """Train; yield every finished step. Closing the generator stops.

        Raises:
            TrainingError: the loss or its gradient is no longer a number.
        """
        recipe, weights = self.plan.recipe, dict(self.model.named_parameters())[WATCHED]
        every, decay = max(1, recipe.steps // MEASURED), recipe.rounds[0].weight_decay
        m = v = np.zeros(recipe.config.d_model)
        before = _row(weights)
        self._look(0)
        going = loop.train(recipe, self.plan.data, model=self.model, half_precision=False)
        try:
            for report in going:
                assert weights.grad is not None
                gradient, after, done = _row(weights.grad), _row(weights), report.step + 1
                update = Update(done, report.learning_rate, decay, recipe.betas, before, gradient, m, v, after)
                self.update, before, m, v = update, after, update.m, update.v
                self.reports.append(report)
                last = done == recipe.steps
                self._look(done, measure=last or done % every == 0, sample=last or done in SAMPLED_AT)
                yield report
        finally:
            going.close()
            self._time()

    def _time(self) -> None:
        global _speed
        # The first steps wait for what PyTorch imports late.
        paces = [report.tokens_per_second for report in self.reports[len(self.reports) // 2 :]]
        if len(self.reports) >= 10:
            _speed = flops(self.plan.recipe) / _n_tokens(self.plan.recipe) * float(np.median(paces))

    def _held_out(self) -> Iterator[Batch]:
        """The part of the held-out text that is measured: the same every time."""
        return itertools.islice(self.plan.data.held_out("text"), loop.LOGGED_BATCHES)

    def _look(self, done: int, measure: bool = True, sample: bool = True) -> None:
        if measure:
            found = objective.measure(self.model, self._held_out(), self.tokenizer)
            self.held_out.append(Measured(done, found.nats_per_token, found.accuracy))
        if sample:
            end = self.tokenizer.end_of_text
            assert end is not None  # no corpus is written without one
            # Every text that it was trained on follows an end of text.
            ids = [end, *self.tokenizer.encode(self.plan.prompt)]
            self.samples.append(Sample(done, continued(self.model, ids, self.tokenizer, SAMPLING).text))

    def language_model(self, name: str, *, trained: bool = True) -> LanguageModel:
        """A copy of the model, as it is now or as it began."""
        model = copy.deepcopy(self.model if trained else self.before)
        # Its folder holds no log and no card: there is none.
        return LanguageModel(
            name=name,
            model=model.eval().requires_grad_(False),
            tokenizer=self.tokenizer,
            twin=None,
            folder=Path(os.devnull),
        )


def continued(model: Transformer, ids: Sequence[int], tokenizer: ByteLevel, sampling: Sampling) -> Generation:
    """:data:`SAMPLE_TOKENS` tokens after ``ids``, by a model that is being trained; of equal weights the same ones."""
    model.eval()
    found = generate(Decoder(model, ids), tokenizer, max_new_tokens=SAMPLE_TOKENS, sampling=sampling, seed=0)
    model.train()
    return found


def _row(table: torch.Tensor) -> NDArray[np.float64]:
    row: NDArray[np.float64] = table.detach()[0].double().numpy()  # in another precision, so a copy
    return row


_speed = 1e10
"""Operations a second of the last run of this process; before there was one, a slow core's."""


def estimate(recipe: Recipe) -> float:
    """Seconds that a run may take here."""
    return recipe.steps * flops(recipe) / _speed


def guessing(n_vocab: int) -> float:
    """The loss of a model to which all tokens are alike."""
    return math.log(n_vocab)
