"""A long text through the largest model that comes as a package: what does the first paint of a page cost?

    OMP_NUM_THREADS=1 python tests/benchmarks/long_text.py [--tokens 1000] [--page overview] [--rounds 3]

Processor seconds of the forward pass, of a trace, and of a server that opens the page with a text that nobody ran.
"""

import argparse
import statistics
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT), str(ROOT / "tests")]

import torch  # noqa: E402
from socket_visitor import Visitor, server, worked  # noqa: E402

import viz_model as vm  # noqa: E402

SENTENCE = "Number {n}: the old man went down to the river and asked the bird where the red ball was. "


def text_of(lm: vm.LanguageModel, count: int, first: int) -> str:
    """A text of some ``count`` tokens, another one for every ``first``."""
    ids = lm.tokenizer.encode("".join(SENTENCE.format(n=first + n) for n in range(count // 10)))
    return lm.tokenizer.decode(ids[:count]).strip()


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--tokens", type=int, default=1000)
    parser.add_argument("--model", default="smollm2-135m-instruct")
    parser.add_argument("--page", default="overview")
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    lm = vm.load(options.model)
    lm.trace("The cat sat on the mat.")
    texts = [text_of(lm, options.tokens, 1000 * (n + 1)) for n in range(options.rounds)]
    ids = [lm.tokenizer.encode(text) for text in texts]
    passes, traces, pages = [], [], []
    for text, of in zip(texts, ids, strict=True):
        began = time.process_time()
        with torch.inference_mode():
            lm.model.vectors(torch.tensor([of]))
        run = time.process_time()
        lm.trace(text)
        passes.append(run - began)
        traces.append(time.process_time() - run)
    query = {"model": options.model, "lang": "en"}
    short = query | {"text": "The cat sat on the mat."}
    with server(str(ROOT / "app.py")) as (url, pid), Visitor(url, options.page, short) as visitor:
        visitor.open()
        for text in texts:
            before = worked(pid)
            visitor.open(query=query | {"text": text})
            pages.append(worked(pid) - before)
            assert visitor.text and text.startswith(visitor.text) and not visitor.errors, visitor.errors
    print(f"{options.model}, {min(map(len, ids))} to {max(map(len, ids))} tokens, processor seconds:")
    for what, seconds in (("forward pass", passes), ("trace", traces), (options.page, pages)):
        print(f"  {what:12} {statistics.median(seconds):.1f} ({', '.join(f'{one:.1f}' for one in seconds)})")


if __name__ == "__main__":
    main()
