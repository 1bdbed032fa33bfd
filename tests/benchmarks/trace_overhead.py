"""What keeping every value costs: traced against untraced forward passes.

    python tests/benchmarks/trace_overhead.py [--model story-pre-ln] [--pairs 100]

The two alternate, and the order within a pair alternates too, so that a machine that slows down
slows both. Times are of the process, on one thread; the overhead is the median of the ratios of
the pairs, which a few disturbed pairs do not move.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable

import torch

import viz_model as vm
from viz_model.trace import record

LENGTHS = (16, 64, 256)


def seconds(run: Callable[[], object]) -> float:
    began = time.process_time()
    run()
    return time.process_time() - began


def pairs(traced: Callable[[], object], plain: Callable[[], object], count: int) -> list[tuple[float, float]]:
    """(traced, plain) seconds of ``count`` pairs, after a warm-up."""
    for _ in range(5):
        traced(), plain()
    found = []
    for n in range(count):
        if n % 2:
            first = seconds(traced)
            found.append((first, seconds(plain)))
        else:
            first = seconds(plain)
            found.append((seconds(traced), first))
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", default="story-pre-ln", help="a bundled name or a model folder")
    parser.add_argument("--pairs", type=int, default=100)
    args = parser.parse_args()
    torch.set_num_threads(1)
    lm = vm.load(args.model)
    story = lm.tokenizer.encode("Once upon a time, there was a little girl who lived by the sea. ")

    print(f"{lm.name}: {args.pairs} interleaved pairs, process time, one thread")
    print(f"{'tokens':>6}  {'plain ms':>9}  {'traced ms':>9}  {'median of ratios':>16}  {'10 % to 90 %':>14}")
    for length in LENGTHS:
        if length > lm.config.n_context:
            continue
        ids = (story * length)[:length]
        batch = torch.tensor([ids])

        @torch.inference_mode()
        def plain(batch: torch.Tensor = batch) -> object:
            return lm.model(batch)

        def traced(ids: list[int] = ids) -> object:
            return record(lm.model, lm.tokenizer, ids)

        found = pairs(traced, plain, args.pairs)
        ratios = [with_tap / without for with_tap, without in found]
        deciles = statistics.quantiles(ratios, n=10)
        print(
            f"{length:>6}  {1e3 * statistics.median(b for _, b in found):>9.2f}"
            f"  {1e3 * statistics.median(a for a, _ in found):>9.2f}"
            f"  {statistics.median(ratios):>16.3f}  {f'{deciles[0]:.2f} to {deciles[-1]:.2f}':>14}"
        )


if __name__ == "__main__":
    main()
