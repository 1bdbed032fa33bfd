"""How long explanations of 32 tokens take beside their trace. ``python tests/benchmarks/explain.py``"""

import argparse
import statistics
import time
from collections.abc import Callable
from functools import partial

import viz_model as vm

TEXT = "Tom had a cat and a dog. The cat was small and the dog was big. They liked to play in the park all day. "


def milliseconds(work: Callable[[], object], rounds: int) -> float:
    """The median of some rounds, after one that is not counted."""
    took = []
    for _ in range(rounds + 1):
        began = time.perf_counter()
        work()
        took.append(1000 * (time.perf_counter() - began))
    return statistics.median(took[1:])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--models", nargs="+", default=["story-pre-ln", "story-post-ln", "story-modern"])
    parser.add_argument("--rounds", type=int, default=7)
    args = parser.parse_args()
    for name in args.models:
        lm = vm.load(name)
        ids = lm.tokenizer.encode(TEXT * 2)[:32]
        trace = lm.trace(ids=ids)
        found = vm.explain.routes(trace)
        edge = found.listed[0].edges[0]
        works: dict[str, Callable[[], object]] = {
            "trace": partial(lm.trace, ids=ids),
            "score": partial(vm.explain.score, trace, layer=-1, head=0, query=-1, key=0),
            "routes": partial(vm.explain.routes, trace),
            "cut": partial(vm.explain.cut, found, *edge),
            "lens": partial(vm.explain.lens, trace, 1),
        }
        took = {what: milliseconds(work, args.rounds) for what, work in works.items()}
        print(f"{name}: " + ", ".join(f"{what} {ms:.1f} ms" for what, ms in took.items()))


if __name__ == "__main__":
    main()
