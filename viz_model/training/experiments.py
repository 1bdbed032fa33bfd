"""Small runs that show what warm-up does to Pre-LN and to Post-LN, recorded for the app to draw.

``python -m viz_model.training.experiments`` trains every recipe of :func:`recipes` again and writes
``experiments.json``: some minutes on one core. The question is that of Xiong et al. (2020), section
3.1 and figure 2: what becomes of a Transformer whose learning rate starts at its peak?
"""

import json
from dataclasses import asdict
from functools import cache
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np
import torch

from viz_model.config import ModelConfig
from viz_model.tokenizers.tokenizer import story_tokenizer
from viz_model.training import batches, log, loop
from viz_model.training.checkpoint import TrainingError
from viz_model.training.corpus import Corpus, entropy
from viz_model.training.recipe import NextToken, Recipe
from viz_model.training.samples import stories

RECORD = Path(__file__).with_suffix(".json")
LANGUAGE, N_STORIES, SEED = "en", 1500, 0
STEPS = 300
WARMUP = 100
RATES = (1e-3, 3e-3, 1e-2)
RATE = 3e-3
"""The peak rate of the runs that are shown step by step."""
MOST_POINTS = 100
"""Of a recorded curve."""

NormAt = Literal["pre", "post"]
CONFIG: dict[str, Any] = {"n_vocab": 8192, "n_context": 64, "n_layers": 6, "d_model": 64, "n_heads": 4, "d_ffn": 256}


def recipe(norm_at: NormAt, warmup: int, peak_rate: float = RATE) -> Recipe:
    """A run with AdamW whose rate climbs for ``warmup`` steps, or not at all, and then stays at its peak.

    Raises:
        RecipeError: a number is out of its range.
    """
    return Recipe(
        name=f"{norm_at}-{warmup}-{peak_rate:g}",
        config=ModelConfig(norm_at=norm_at, **CONFIG),
        objective=NextToken(rows={"text": 4}),
        steps=STEPS,
        peak_rate=peak_rate,
        warmup=warmup,
        # No fall: what differs between two runs is then their beginning alone.
        decay_steps=STEPS - warmup,
        final_share=1.0,
        validate_every=STEPS,
    )


def recipes() -> list[Recipe]:
    """Every run: both places of the norm, with and without warm-up, at every rate."""
    return [recipe(place, warmup, rate) for place in ("pre", "post") for warmup in (0, WARMUP) for rate in RATES]


@cache
def corpus() -> Corpus:
    """The text of all the runs: generated stories."""
    return Corpus.of_texts(stories(LANGUAGE, N_STORIES, SEED), story_tokenizer())


@cache
def data() -> batches.Batches:
    """What all the runs read, in the same order, less than once through."""
    return batches.build(recipe("pre", 0), corpus())


def frequency_loss() -> float:
    """Nats a token of whoever knows how often each token of the training text is, and nothing of its order."""
    return entropy(corpus().languages["text"].train.ids)


class Recorded(NamedTuple):
    """One run as it went.

    Attributes:
        steps: [P] the last step of each point; every point is the mean of as many steps.
        loss: [P] nats a token.
        gradient_norm: [P] of all parameters, before clipping.
        bits_per_byte: of held-out stories after the last step.
        stopped: why it ended before its last step, if it did.
    """

    norm_at: NormAt
    warmup: int
    peak_rate: float
    steps: np.ndarray
    loss: np.ndarray
    gradient_norm: np.ndarray
    bits_per_byte: float | None
    stopped: str | None

    @property
    def final_loss(self) -> float:
        """Mean loss of the last tenth of the steps."""
        return float(self.loss[self.steps >= 0.9 * STEPS].mean()) if self.stopped is None else float("nan")


def run(recipe_: Recipe) -> dict[str, Any]:
    """Train, and keep what the record holds of it."""
    reports: list[dict[str, Any]] = []
    stopped = None
    try:
        # In single precision on every machine: near the limit of stability the runs magnify rounding.
        for report in loop.train(recipe_, data(), half_precision=False):
            reports.append(asdict(report))
    except TrainingError as error:
        stopped = str(error)
    points = log.thin(reports, MOST_POINTS)
    return {
        "recipe": json.loads(recipe_.fingerprint),
        "stopped": stopped,
        "bits_per_byte": points[-1]["held_out"]["text"]["bits_per_byte"] if stopped is None else None,
        **{name: [point[name] for point in points] for name in ("step", "loss", "gradient_norm")},
    }


class Record(NamedTuple):
    """What was recorded.

    Attributes:
        runs: in the order of :func:`recipes`.
        frequency_loss: :func:`frequency_loss` of the text that the runs read.
    """

    runs: tuple[Recorded, ...]
    frequency_loss: float


@cache
def recorded() -> Record:
    """The record that comes with the package."""
    found = json.loads(RECORD.read_text(encoding="utf-8"))
    return Record(tuple(_read(run_) for run_ in found["runs"]), found["made"]["frequency_loss"])


def _read(found: dict[str, Any]) -> Recorded:
    return Recorded(
        norm_at=found["recipe"]["config"]["norm_at"],
        warmup=found["recipe"]["warmup"],
        peak_rate=found["recipe"]["peak_rate"],
        steps=np.array(found["step"]),
        loss=np.array(found["loss"]),
        gradient_norm=np.array(found["gradient_norm"]),
        bits_per_byte=found["bits_per_byte"],
        stopped=found["stopped"],
    )


def main() -> None:
    from tqdm import tqdm  # of the extra "train": the app reads the record without it

    torch.set_num_threads(1)  # so that sums are added up in one order
    runs = [run(recipe_) for recipe_ in tqdm(recipes(), unit="run")]
    made = {
        "torch": torch.__version__,
        "threads": 1,
        "stories": {"language": LANGUAGE, "n": N_STORIES, "seed": SEED},
        "frequency_loss": round(frequency_loss(), 4),
    }
    lines = ",\n".join(json.dumps(found) for found in runs)
    RECORD.write_text(f'{{"made": {json.dumps(made)},\n"runs": [\n{lines}\n]}}\n', encoding="utf-8")


if __name__ == "__main__":
    main()
