"""How fast a pass over a corpus is: ours beside transformers in eager attention, one text after the other.

    python tests/benchmarks/corpus_speed.py [--models story gpt2] [--tokens 9000] [--rounds 3] [--threads 1]

Both read the same texts with the same random weights. Ours does all of its work; of transformers only the forward pass
with attentions counts, with logits and without. Printed are our tokens a second of processor time, the median of the
ratios, and what the first of them would be if all but the products with the blocks' weights took no time at all.
"""

import argparse
import statistics
import tempfile
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import torch

import viz_model as vm
from viz_model import corpus

STORY = {"vocab_size": 8192, "n_positions": 256, "n_embd": 192, "n_layer": 4, "n_head": 6}
SHAPES: dict[str, dict[str, Any]] = {"story": STORY, "gpt2": {}}
LENGTHS = {"stories": 180, "sentences": 12}
"""Median tokens."""


def texts_like(length: int, n_tokens: int, n_vocab: int, most: int) -> list[list[int]]:
    """Random tokens, the frequent ones often, as in natural text; lengths as spread as those of stories."""
    rng, n = np.random.default_rng(length), -(-n_tokens // length)
    lengths = np.clip(rng.lognormal(np.log(length), 0.3, n).astype(int), 2, most)
    return [(rng.zipf(1.2, size=size) % n_vocab).tolist() for size in lengths]


def seconds(run: Callable[[], object]) -> float:
    began = time.process_time()
    run()
    return time.process_time() - began


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--models", nargs="+", default=list(SHAPES), choices=list(SHAPES))
    parser.add_argument("--tokens", type=int, default=9000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--batch-tokens", type=int, default=corpus.Settings().batch_tokens)
    args = parser.parse_args()
    torch.set_num_threads(args.threads)
    print(f"{'':22}{'tokens/s':>9}{'to eager':>10}{'to eager without logits':>25}{'at most':>9}")
    for name in args.models:
        eager, lm = models(SHAPES[name])
        for kind, length in LENGTHS.items():
            texts = texts_like(length, args.tokens, lm.config.n_vocab, lm.config.n_context)
            settings = corpus.Settings(batch_tokens=args.batch_tokens)
            n_tokens = sum(map(len, texts))
            ours, with_logits, without, bounds = [], [], [], []
            for n in range(args.rounds + 1):
                own = seconds(lambda: corpus.measure(lm, texts, settings))  # noqa: B023
                whole, bare = (seconds(lambda: one_by_one(model, texts)) for model in (eager, eager.transformer))  # noqa: B023
                alone = seconds(lambda: products(lm, n_tokens, args.batch_tokens))  # noqa: B023
                if n:  # the first round warms up
                    ours.append(n_tokens / own)
                    with_logits.append(whole / own)
                    without.append(bare / own)
                    bounds.append(whole / alone)
            speed, *ratios = (statistics.median(found) for found in (ours, with_logits, without, bounds))
            told = "".join(f"{ratio:>{width}.2f}×" for ratio, width in zip(ratios, (9, 24, 8), strict=True))
            print(f"{name + ', ' + kind:22}{speed:>9.0f}{told}", flush=True)


def models(shape: dict[str, Any]) -> tuple[Any, vm.LanguageModel]:
    """The same random weights in transformers and here."""
    from transformers import GPT2Config, GPT2LMHeadModel

    torch.manual_seed(0)
    eager: Any = GPT2LMHeadModel(GPT2Config(**shape))
    eager.set_attn_implementation("eager")
    eager.eval()
    with tempfile.TemporaryDirectory() as folder:
        eager.save_pretrained(folder)
        return eager, vm.load(folder)


@torch.inference_mode()
def products(lm: vm.LanguageModel, n_tokens: int, batch_tokens: int) -> None:
    """Every matrix of every block times as many vectors as there are tokens, and nothing else."""
    matrices = [w for block in lm.model.stack("decoder").blocks for w in block.parameters() if w.ndim == 2]
    for begin in range(0, n_tokens, batch_tokens):
        n = min(batch_tokens, n_tokens - begin)
        vectors = {width: torch.ones(n, width) for width in {weight.shape[1] for weight in matrices}}
        for weight in matrices:
            torch.nn.functional.linear(vectors[weight.shape[1]], weight)


@torch.inference_mode()
def one_by_one(model: Any, texts: list[list[int]]) -> None:
    for ids in texts:
        model(torch.tensor([ids]), output_attentions=True, use_cache=False)


if __name__ == "__main__":
    main()
