"""How fast each recipe trains, and what bfloat16 and the chunked loss bring.

    python tests/benchmarks/training_speed.py [--recipes story-pre-ln …] [--rounds 5] [--threads 1] [--device cpu]

All ways to run a step take turns, and the order turns too, so that a machine that slows down slows
them alike. Printed are the median tokens asked for in a second as the recipe is trained, and the
medians of the ratios within a round. Texts are random tokens of the lengths that the corpora have:
speed does not depend on what they say.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable, Mapping

import numpy as np
import torch
from torch import nn
from torch.nn import functional as F

from viz_model.tokenizers.tokenizer import story_tokenizer
from viz_model.training import batches, loop, recipe
from viz_model.training.batches import IGNORED, Batch
from viz_model.training.corpus import Corpus, Documents, PairCorpus, PairSplit, Split
from viz_model.training.objective import Objective
from viz_model.training.recipe import Recipe, Translation

STORY, SENTENCE = 180, 9
"""Median tokens of a story and of one side of a sentence pair."""


def documents(n: int, length: int, seed: int) -> Documents:
    """Random tokens, each document ended by end-of-text."""
    rng = np.random.default_rng(seed)
    lengths = rng.poisson(length, n) + 2
    ids = rng.integers(8188, size=lengths.sum()).astype(np.uint16)
    starts = np.concatenate(([0], np.cumsum(lengths)))
    ids[starts[1:] - 1] = 8191
    return Documents(ids, starts)


def data_of(chosen: Recipe) -> batches.Batches:
    tokenizer = story_tokenizer(chosen.config.kind)
    if isinstance(chosen.objective, Translation):
        sides = documents(4000, SENTENCE, 0), documents(4000, SENTENCE, 1)
        split = PairSplit(train=sides, held_out=sides, held_out_pairs=())
        return batches.build(chosen, PairCorpus(dict.fromkeys(("fr", "zh"), split), tokenizer))
    stories = documents(600, STORY, 0)
    return batches.build(chosen, Corpus(dict.fromkeys(("en", "zh"), Split(stories, stories)), tokenizer))


class PlainLoss(Objective):
    """All logits of a step at once."""

    def forward(self, batch: Batch) -> torch.Tensor:
        logits = self.model(batch.ids, batch.target_ids, padding=batch.padding)
        return F.cross_entropy(
            logits.flatten(0, 1).float(),
            batch.answers.flatten(),
            ignore_index=IGNORED,
            label_smoothing=self.label_smoothing,
            reduction="sum",
        )


def stepper(chosen: Recipe, batch: Batch, loss: type[Objective], half: bool, device: str) -> Callable[[], float]:
    """Runs one whole step; its tokens a second."""
    model = loop.new_model(chosen).to(device).train()
    loss_of = loss(model, chosen.label_smoothing)
    optimisers = loop.optimisers_of(chosen, model)
    moved, n_asked = batch.to(torch.device(device)), batch.n_asked

    def run() -> float:
        began = time.perf_counter()
        for optimiser in optimisers:
            optimiser.zero_grad(set_to_none=True)
        with torch.autocast(device, torch.bfloat16, enabled=half):
            total = loss_of(moved) / n_asked
        total.backward()
        nn.utils.clip_grad_norm_(model.parameters(), chosen.clip)
        for optimiser in optimisers:
            optimiser.step()
        total.item()  # waits for a device that computes on its own
        return n_asked / (time.perf_counter() - began)

    return run


def ratio(found: Mapping[str, list[float]], one: str, other: str) -> str:
    return f"{statistics.median(a / b for a, b in zip(found[one], found[other], strict=True)):.2f}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--recipes", nargs="+", default=list(recipe.names()), choices=recipe.names())
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--device", default="cpu", choices=["cpu", "cuda"])
    args = parser.parse_args()
    torch.set_num_threads(args.threads)
    fast = loop.is_bfloat16_fast(torch.device(args.device))
    print(f"{args.rounds} rounds, {args.threads} threads, {args.device}; bfloat16 is {'' if fast else 'not '}native")
    print(
        f"{'recipe':>16}  {'tokens/s':>9}  {'bf16 / fp32':>11}  {'chunked / plain, bf16':>21}  {'the same, fp32':>14}"
    )
    for name in args.recipes:
        chosen = recipe.load(name)
        batch = data_of(chosen).step(0)
        ways = {
            f"{loss.__name__} {half}": stepper(chosen, batch, loss, half, args.device)
            for loss in (Objective, PlainLoss)
            for half in (True, False)
        }
        found: dict[str, list[float]] = {way: [] for way in ways}
        for n in range(args.rounds + 1):
            for way in list(ways) if n % 2 else reversed(list(ways)):
                speed = ways[way]()
                if n:  # the first round warms up
                    found[way].append(speed)
        speed = statistics.median(found[f"Objective {fast}"])
        print(
            f"{name:>16}  {speed:>9.0f}  {ratio(found, 'Objective True', 'Objective False'):>11}"
            f"  {ratio(found, 'Objective True', 'PlainLoss True'):>21}"
            f"  {ratio(found, 'Objective False', 'PlainLoss False'):>14}",
            flush=True,
        )


if __name__ == "__main__":
    main()
