"""Many visitors at once: is every picture its own visitor's, how long do they wait, what does memory do?

    python tests/benchmarks/visitors.py [--visitors 30] [--interactions 2000] [--think 10] [--url http://…]

Each walks through the same steps alone and with all others, ``--think`` seconds apart; both times every picture must be
the same, byte for byte. Then they go on with new sentences, and the server's memory is read early and at the end.
"""

import argparse
import contextlib
import functools
import itertools
import statistics
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT), str(ROOT / "tests")]

from socket_visitor import Visitor, resident, server  # noqa: E402

import viz_model as vm  # noqa: E402
from viz_model.runs.edits import AblateHead, NoScale  # noqa: E402

PAGES = ("", "attention", "block", "embedding", "next_token", "position")
WHO = ("The cat", "A dog", "My friend", "The old man", "小兔子", "A little girl", "The bird")
DOES = ("sat on", "looked at", "ran to", "liked", "found", "走到", "saw")
WHAT = ("the mat.", "a big tree.", "the red ball.", "her mother.", "河边。", "the moon.", "a new house.")


class Plan(NamedTuple):
    """What one visitor does: an address, and the sentences typed there."""

    page: str
    then: str
    query: dict[str, str]
    sentences: tuple[str, ...]


class Seen(NamedTuple):
    """One step of a visitor: how long it took, and what stood on the page then."""

    seconds: float
    text: str
    language: str
    pictures: dict[str, str]


def plans(count: int) -> list[Plan]:
    """One plan a visitor; no two have the same address, and none the same sentence as another."""
    models, sentences = vm.models(), [" ".join(words) for words in itertools.product(WHO, DOES, WHAT)]
    models = [name for name in models if name.startswith(("story", "translate"))]
    found = []
    for i in range(count):
        edits = ("", vm.edits.write([AblateHead(layer=0, head=i % 4)]), vm.edits.write([NoScale()]))
        query = {"model": models[i % len(models)], "lang": ("en", "zh")[i // 2 % 2], "text": sentences[3 * i]}
        query |= {"layer": str(i % 3), "edits": edits[i % 3]}
        pages = PAGES[i % len(PAGES)], PAGES[(i + 1) % len(PAGES)]
        found.append(Plan(*pages, {k: v for k, v in query.items() if v}, tuple(sentences[3 * i + 1 : 3 * i + 3])))
    return found


def walk(url: str, plan: Plan, think: float, n_steps: int, wait: float = 0.0) -> tuple[list[Seen], list[str]]:
    """One visitor's steps; what was seen at each, and what went wrong."""
    seen: list[Seen] = []
    time.sleep(wait)
    with Visitor(url, plan.page, plan.query) as visitor:
        steps: list[Callable[[], float]] = [visitor.open]
        steps += [functools.partial(visitor.type, text) for text in plan.sentences]
        steps += [functools.partial(visitor.open, plan.then, {**plan.query, "text": plan.sentences[-1]})]
        for step in steps[:n_steps]:
            seconds = step()
            seen.append(Seen(seconds, visitor.text, visitor.language, visitor.digest()))
            time.sleep(think)
        return seen, visitor.errors


def together(url: str, which: Sequence[Plan], think: float, n_steps: int) -> list[tuple[list[Seen], list[str]]]:
    """All visitors at once, their first steps spread over the time between two of one."""

    def one(i: int) -> tuple[list[Seen], list[str]]:
        try:
            return walk(url, which[i], think, n_steps, wait=think * i / len(which))
        except Exception as error:
            return [], [f"{type(error).__name__}: {error}"]

    with ThreadPoolExecutor(len(which)) as pool:
        return list(pool.map(one, range(len(which))))


def strangers(plan: Plan, alone: Sequence[Seen], crowd: Sequence[Seen]) -> Iterator[str]:
    """Where a visitor saw something that is not their own."""
    texts = (plan.query["text"], *plan.sentences, plan.sentences[-1])[: max(len(alone), len(crowd))]
    for n, (text, mine, other) in enumerate(itertools.zip_longest(texts, alone, crowd)):
        if mine is None or other is None:
            yield f"step {n} of {plan.query}: not reached"
        elif not mine.text == other.text == text or other.language != plan.query["lang"]:
            yield f"step {n} of {plan.query}: {other.text!r} in {other.language!r}"
        elif changed := [k for k in mine.pictures | other.pictures if mine.pictures.get(k) != other.pictures.get(k)]:
            yield f"step {n} of {plan.query}: {', '.join(changed)} differ"


def soak(url: str, which: Sequence[Plan], interactions: int, pid: int | None) -> Iterator[tuple[int, float]]:
    """Visitors that go on and on, each sentence a new one; (interactions so far, megabytes of the server)."""
    words, early = itertools.count(), interactions // 10
    with contextlib.ExitStack() as stack:
        visitors = [stack.enter_context(Visitor(url, plan.page, plan.query)) for plan in which]
        for visitor in visitors:
            visitor.open()
        done = 0
        while done < interactions:
            for visitor, plan in zip(visitors, which, strict=True):
                text = f"{plan.sentences[0]} {next(words)}"
                visitor.type(text)
                assert visitor.text == text and not visitor.errors, (visitor.text, visitor.errors)
                done += 1
                if done in (early, interactions) or done % max(1, interactions // 10) == 0:
                    yield done, resident(pid) if pid else float("nan")
                if done == interactions:
                    break


@contextlib.contextmanager
def started(script: str) -> Iterator[tuple[str, int]]:
    began = time.perf_counter()
    with server(script) as (url, pid):
        print(f"healthy after {time.perf_counter() - began:.1f} s, {resident(pid):.0f} MB")
        yield url, pid


def tenth(values: Sequence[float]) -> float:
    """The time within which nine of ten were served."""
    return sorted(values)[max(0, -(-9 * len(values) // 10) - 1)]


def main() -> int:
    parse = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parse.add_argument("--visitors", type=int, default=30)
    parse.add_argument("--interactions", type=int, default=2000)
    parse.add_argument("--think", type=float, default=10.0)
    parse.add_argument("--steps", type=int, default=4, help="of each visitor, before the long run")
    parse.add_argument("--url")
    parse.add_argument("--serve", default="app.py")
    told = parse.parse_args()
    which = plans(told.visitors)
    wrong: list[str] = []
    with contextlib.ExitStack() as stack:
        url, pid = (told.url, None) if told.url else stack.enter_context(started(told.serve))
        for model in sorted({plan.query["model"] for plan in which}):  # loaded, and every page compiled
            with Visitor(url, "", {"model": model, "stop": "look"}) as visitor:
                print(f"{model}: first page after {visitor.open():.1f} s")
        before = resident(pid) if pid else float("nan")
        alone = [walk(url, plan, 0.0, told.steps) for plan in which]
        lone = [seen.seconds for steps, _ in alone for seen in steps]
        print(f"alone: median {statistics.median(lone):.2f} s, nine of ten within {tenth(lone):.2f} s")
        crowd = together(url, which, told.think, told.steps)
        busy = [seen.seconds for steps, _ in crowd for seen in steps]
        print(
            f"{told.visitors} at once: median {statistics.median(busy):.2f} s, nine of ten within {tenth(busy):.2f} s,"
            f" {tenth(busy) / statistics.median(lone):.1f} times the lone visitor"
        )
        for plan, (mine, errors), (theirs, more) in zip(which, alone, crowd, strict=True):
            wrong += [*errors, *more, *strangers(plan, mine, theirs)]
        print(f"{len(lone)} pages compared, {sum(len(s.pictures) for steps, _ in crowd for s in steps)} pictures")
        if pid:
            print(f"memory: {before:.0f} MB with all models loaded, {resident(pid):.0f} MB after the visitors")
        for count, megabytes in soak(url, which, told.interactions, pid) if told.interactions else ():
            print(f"after {count} interactions: {megabytes:.0f} MB")
    for line in wrong:
        print("WRONG:", line)
    print("no visitor saw anything of another's, and no error" if not wrong else f"{len(wrong)} things are wrong")
    return bool(wrong)


if __name__ == "__main__":
    sys.exit(main())
