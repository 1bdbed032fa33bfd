"""What is measured of a classifier of pictures, the examples that lie beside its weights, and its card."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from torch.nn import functional as F

from viz_model.checkpoints import examples
from viz_model.runs.language_model import LanguageModel
from viz_model.texts import fill
from viz_model.training import card, objective
from viz_model.training.pictures import TEST, VALIDATION, Labeled, Pictures
from viz_model.training.recipe import Recipe

EXAMPLES_A_CLASS = 2
MOST_CONFUSED = 8
TITLES = {VALIDATION: "kept out of the training pictures", TEST: "the test"}


def held_out(lm: LanguageModel, data: Pictures) -> dict[str, dict[str, float]]:
    """Nats and accuracy on what was kept out, and on the source's own test, each whole."""
    test = objective.measure(lm.model, data.test(), data.tokenizer)
    return objective.figures(lm.model, data) | {TEST: test.figures}


@torch.inference_mode()
def confusion(lm: LanguageModel, data: Pictures) -> np.ndarray:
    """How often a picture of the test of class [row] was taken for class [column]: [Y, Y]."""
    n = len(lm.config.classes)
    counted = np.zeros((n, n), dtype=np.int64)
    for batch in data.test():
        said = lm.model(batch.ids, pixels=batch.pixels).argmax(-1)
        np.add.at(counted, (batch.answers.numpy(), said.numpy()), 1)
    return counted


class Confused(NamedTuple):
    """A class, what it was taken for, how often, and of how many pictures of the class."""

    asked: str
    said: str
    times: int
    of: int


def most_confused(lm: LanguageModel, counted: np.ndarray) -> tuple[Confused, ...]:
    """The mistakes that were made most often; of equally many the first."""
    labels, wrong = lm.config.classes, counted * (1 - np.eye(len(counted), dtype=np.int64))
    order = np.argsort(-wrong, axis=None, kind="stable")[:MOST_CONFUSED]
    pairs = (divmod(int(n), len(labels)) for n in order)
    return tuple(
        Confused(labels[i], labels[j], int(wrong[i, j]), int(counted[i].sum())) for i, j in pairs if wrong[i, j]
    )


def write_examples(data: Pictures, target: Path) -> None:
    """The first pictures of each class in the test, class by class."""
    test = data.splits.test
    first = [np.flatnonzero(test.classes == number)[:EXAMPLES_A_CLASS] for number in range(int(test.classes.max()) + 1)]
    chosen: Labeled = test[np.concatenate(first)]
    levels = chosen.levels[..., 0] if chosen.levels.shape[-1] == 1 else chosen.levels
    np.savez_compressed(target / examples.FILE, x=levels, y=chosen.classes.astype(np.uint8))


@torch.inference_mode()
def of_examples(lm: LanguageModel) -> dict[str, float]:
    """Nats a picture on the examples: the quick check of shipped weights."""
    shown = examples.read(lm.folder)
    logits = torch.stack([lm.trace(example.levels)["class.logits"] for example in shown])
    return {"examples": F.cross_entropy(logits, torch.tensor([example.numbers[0] for example in shown])).item()}


def figures(lm: LanguageModel, data: Pictures) -> dict[str, Any]:
    """Everything that is measured of a published model."""
    counted = confusion(lm, data)
    labels = lm.config.classes
    return {
        "held_out": held_out(lm, data),
        "by_source": {},
        "own_text": of_examples(lm),
        "classes": {label: int(counted[n, n]) / int(counted[n].sum()) for n, label in enumerate(labels)},
        "confused": [list(each) for each in most_confused(lm, counted)],
    }


def write(recipe: Recipe, lm: LanguageModel, found: Mapping[str, Any], *, n_steps: int, n_parameters: int) -> str:
    """The card, in Markdown."""
    measured: Mapping[str, Mapping[str, float]] = found["held_out"]
    confused: Sequence[Sequence[Any]] = found["confused"]
    return fill(
        card.TEXTS["Classes"]["card"],
        {
            **card.shared(recipe, n_steps, n_parameters),
            "accuracy": f"{measured[TEST]['accuracy']:.1%}",
            "figures": card.table_rows(
                (TITLES[part], f"{each['nats']:.3f}", f"{each['accuracy']:.2%}") for part, each in measured.items()
            ),
            "classes": card.table_rows((label, f"{share:.1%}") for label, share in found["classes"].items()),
            "confused": card.table_rows((asked, taken, f"{times} of {of}") for asked, taken, times, of in confused),
            "a_class": f"{EXAMPLES_A_CLASS}",
        },
    )
