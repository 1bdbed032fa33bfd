"""What is measured of a model that writes the digits of a picture, the examples beside its weights, and its card."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn import functional as F

from viz_model.checkpoints import examples
from viz_model.runs.language_model import LanguageModel
from viz_model.texts import fill
from viz_model.tokenizers.numerals import NumeralTokenizer
from viz_model.training import card, objective
from viz_model.training.recipe import Recipe
from viz_model.training.strips import Strips

EXAMPLES = 12
LOOKED_AT = 4
"""Batches of the test in which is measured where the decoder looks."""


def held_out(lm: LanguageModel, data: Strips) -> dict[str, dict[str, float]]:
    """Bits per byte and accuracy of the tokens on what was kept out, by language; and of the source's own test how many
    answers are exact: every word right, and none too many.
    """
    found = objective.figures(lm.model, data)
    for language, counted in exact(lm, data).items():
        found[language]["exact"] = float(counted[:, 0].sum() / counted[:, 1].sum())
    return found


def exact(lm: LanguageModel, data: Strips) -> dict[str, NDArray[np.int64]]:
    """By language and by the number of digits, how many answers to the test are exact, and of how many: [S, 2]."""
    found = {language: np.zeros((data.most, 2), np.int64) for language in data.languages}
    for strips in data.test():
        for language, counted in found.items():
            for n, said in enumerate(answers(lm, data, strips.levels, language)):
                is_right = said == data.tokenizer.said(strips.digits(n), language)
                counted[strips.counts[n] - 1] += (is_right, 1)
    return found


@torch.inference_mode()
def answers(lm: LanguageModel, data: Strips, levels: Tensor, language: str) -> Iterator[list[int]]:
    """What the model writes to pictures [B, H, W, 1], always taking the most probable token: ids, without the end."""
    model, tokenizer = lm.model, data.tokenizer
    order = torch.tensor(tokenizer.patches.order).expand(len(levels), -1)
    source = model.encode(order, pixels=levels)
    ids = torch.full((len(levels), 1), tokenizer.languages[language])
    for _ in range(2 * data.most):
        ids = torch.cat((ids, model.decode(ids, source)[:, -1:].argmax(-1)), 1)
    for row in ids[:, 1:].tolist():
        yield row[: row.index(tokenizer.end_of_text)] if tokenizer.end_of_text in row else row


@torch.inference_mode()
def looks(lm: LanguageModel, data: Strips) -> float:
    """Of the digits of some strips of the test the share at which the decoder looks as it writes their words.

    The patch of most weight, averaged over all heads of all layers, then lies within the columns of the digit's ink.
    """
    given, hits, n = lm.config.patches, 0, 0
    left = np.arange(given.n_patches) % given.columns * given.patch
    for _, strips in zip(range(LOOKED_AT), data.test(), strict=False):
        for row, levels in enumerate(strips.levels):
            said = data.tokenizer.said(strips.digits(row), data.languages[0])
            tag = data.tokenizer.languages[data.languages[0]]
            run = lm.trace(_picture(levels), target_ids=[tag, *said]).at("decoder")
            weights = torch.stack([run[f"blocks.{layer}.cross.pattern"] for layer in range(run.n_layers)])
            best = weights.mean((0, 1))[::2].argmax(-1).numpy() - given.cls  # the rows that write words
            for (first, last), patch in zip(strips.boxes[row], best, strict=False):
                hits += patch >= 0 and left[patch] < last and left[patch] + given.patch > first
                n += 1
    return hits / n


def _picture(levels: Tensor) -> NDArray[np.uint8]:
    return levels[..., 0].round().byte().numpy()


def write_examples(data: Strips, target: Path) -> None:
    """The first strips of the test whose digits all differ, by turns of three, two and one of them."""
    kept: dict[int, list[tuple[NDArray[np.uint8], list[int]]]] = {n: [] for n in range(data.most, 0, -1)}
    for strips in data.test():
        for row, levels in enumerate(strips.levels):
            digits = strips.digits(row)
            if len({*digits}) == len(digits):
                kept[len(digits)].append((_picture(levels), digits))
    chosen = [each for turn in zip(*kept.values(), strict=False) for each in turn][:EXAMPLES]
    numbers = [digits + [examples.NONE] * (data.most - len(digits)) for _, digits in chosen]
    pictures = np.stack([picture for picture, _ in chosen])
    np.savez_compressed(target / examples.FILE, x=pictures, y=np.array(numbers, np.uint8))


@torch.inference_mode()
def of_examples(lm: LanguageModel) -> dict[str, float]:
    """Nats a token of the right answers to the examples, by language: the quick check of shipped weights."""
    tokenizer, found = lm.tokenizer, dict[str, float]()
    assert isinstance(tokenizer, NumeralTokenizer)
    for language, tag in tokenizer.languages.items():
        nats, n = 0.0, 0
        for example in examples.read(lm.folder):
            said = tokenizer.said(example.numbers, language)
            logits = lm.trace(example.levels, target_ids=[tag, *said])["logits"]
            asked = torch.tensor([*said, tokenizer.end])
            nats, n = nats + F.cross_entropy(logits, asked, reduction="sum").item(), n + len(asked)
        found[language] = nats / n
    return found


def figures(lm: LanguageModel, data: Strips) -> dict[str, Any]:
    """Everything that is measured of a published model."""
    counted = exact(lm, data)
    return {
        "held_out": held_out(lm, data),
        "by_source": {},
        "own_text": of_examples(lm),
        "exact": {language: each.tolist() for language, each in counted.items()},
        "looks": looks(lm, data),
    }


def samples(lm: LanguageModel) -> list[tuple[str, str]]:
    """What stands in each example, and what the model writes to it, greedily."""
    found = []
    for example in examples.read(lm.folder):
        digits = " ".join(map(str, example.numbers))
        said = [
            lm.generate(example.levels, target_language=language, temperature=0.0).text
            for language in lm.tokenizer.languages
        ]
        found.append((digits, " · ".join(said)))
    return found


def write(recipe: Recipe, lm: LanguageModel, found: Mapping[str, Any], *, n_steps: int, n_parameters: int) -> str:
    """The card, in Markdown."""
    said = samples(lm)
    measured: Mapping[str, Mapping[str, float]] = found["held_out"]
    counted: Mapping[str, list[list[int]]] = found["exact"]
    return fill(
        card.TEXTS["Transcription"]["card"],
        {
            **card.shared(recipe, n_steps, n_parameters),
            "exact": " and ".join(f"{each['exact']:.1%} in {card.LANGUAGES[name]}" for name, each in measured.items()),
            "n_test": f"{sum(of for _, of in next(iter(counted.values()))):,}",
            "figures": card.table_rows(
                (
                    card.LANGUAGES[name],
                    f"{each['bits_per_byte']:.3f}",
                    *(f"{each[x]:.2%}" for x in ("accuracy", "exact")),
                )
                for name, each in measured.items()
            ),
            "counts": card.table_rows(
                (f"{n + 1}", *(f"{rows[n][0]:,} of {rows[n][1]:,}" for rows in counted.values()))
                for n in range(len(next(iter(counted.values()))))
            ),
            "languages": " | ".join(card.LANGUAGES[name] for name in counted),
            "rule": "---|" * len(counted),
            "looks": f"{found['looks']:.1%}",
            "samples": card.table_rows(said),
            "n_examples": len(said),
        },
    )
