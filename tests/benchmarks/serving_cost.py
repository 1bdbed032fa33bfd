"""What a visitor costs: bytes and processor seconds of the live app, and bytes of the same pages as files.

    python tests/benchmarks/serving_cost.py [--pages walk attention] [--core-hour 0.03] [--gigabyte 0.05]

Chromium opens each page with an empty cache, then types new sentences. A file counts as long as it is: what is in it is
compressed already. At the end stands what a day costs, at prices that are examples.
"""

import argparse
import math
import shutil
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from playwright.sync_api import sync_playwright

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from browser_driver import settle
from socket_visitor import server, worked

import viz_model as vm
from viz_model.app import examples


def opened(tab: Any) -> list[int]:
    """The bytes that come from now on, in one place."""
    count, client = [0], tab.context.new_cdp_session(tab)
    client.send("Network.enable")
    client.on("Network.loadingFinished", lambda done: count.append(int(done["encodedDataLength"])))
    client.on("Network.webSocketFrameReceived", lambda got: count.append(len(got["response"]["payloadData"]) * 3 // 4))
    return count


VISITORS = (100, 10_000, 1_000_000)
SENTENCES, RUSH, BUSY = 9, 2.0, 0.5
"""New sentences of a visitor after the first page; hours in which half of a day's visitors come; the share of the time
that a core is planned to be busy.
"""


def bill(
    first: tuple[float, float], each: tuple[float, float], files: Mapping[str, float], core: float, gb: float
) -> None:
    """Print what a day costs, of the bytes and processor seconds of a first page and of each sentence after it, of what
    a static host sends, and of the prices of a core for an hour and of a gigabyte."""
    sent, seconds = (one + SENTENCES * other for one, other in zip(first, each, strict=True))
    fetched = ", ".join(f"{name} {size / 1e6:.1f} MB" for name, size in files.items())
    print(f"a visitor: live {seconds:.2f} s and {sent / 1e6:.1f} MB; {fetched}")
    for n in VISITORS:
        cores = math.ceil(n * seconds / 2 / (RUSH * 3600) / BUSY)
        live = cores * 24 * core + n * sent / 1e9 * gb
        told = [f"live {n * seconds / 3600:,.1f} h, {cores} cores, {n * sent / 1e9:,.1f} GB, price {live:,.2f}"]
        for name, size in files.items():
            rate = n * size * 8 / 2 / (RUSH * 3600) / 1e6
            told.append(f"{name} {n * size / 1e9:,.1f} GB, {rate:,.1f} Mbit/s, price {n * size / 1e9 * gb:,.2f}")
        print(f"{n:,} visitors a day: " + "; ".join(told))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pages", nargs="+", default=["walk", "attention", "overview"])
    parser.add_argument("--sentences", type=int, default=5)
    parser.add_argument("--core-hour", type=float, default=0.03, help="an example (%(default)s)")
    parser.add_argument("--gigabyte", type=float, default=0.05, help="an example (%(default)s)")
    asked = parser.parse_args()
    lm = vm.load("story-pre-ln")
    firsts, news, files = list[tuple[float, float]](), list[tuple[float, float]](), dict[str, int]()
    with server("app.py") as (address, pid), sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        for page in asked.pages:
            for visit in ("first", "second"):
                before, context = worked(pid), browser.new_context()
                tab = context.new_page()
                count = opened(tab)
                tab.goto(f"{address}/{page}?lang=en")
                settle(tab)
                seconds, sent = worked(pid) - before, sum(count)
                print(f"{page}: {visit} visit {sent:,} bytes, {seconds:.2f} s", flush=True)
                firsts.append((sent, seconds))
                if visit == "second":
                    before, begun = worked(pid), sum(count)
                    for n in range(asked.sentences):
                        tab.goto(f"{address}/{page}?lang=en&text=Sentence+{n}+of+{page}+and+a+little+dog+who")
                        settle(tab)
                    each = (sum(count) - begun) // asked.sentences, (worked(pid) - before) / asked.sentences
                    print(f"{page}: opened with a new sentence {each[0]:,} bytes, {each[1]:.2f} s", flush=True)
                    news.append(each)
                context.close()
            trace = lm.trace(examples.of(lm, "en")[0])
            with tempfile.TemporaryDirectory() as folder:
                for name, writes in ((page, True), (f"{page} without the model", False)):
                    path = vm.page(trace, page, writes=writes).save(Path(folder) / f"{page}.html")
                    files[name] = path.stat().st_size
                    print(f"{name}: as a file {files[name]:,} bytes", flush=True)
        browser.close()
    most = [tuple(map(max, zip(*found, strict=True))) for found in (firsts, news)]
    others = max(size for name, size in files.items() if not name.startswith("walk"))
    ways = {"files": files["walk"] + others, "files without the model": files["walk without the model"] + others}
    bill(most[0], most[1], ways, asked.core_hour, asked.gigabyte)


if __name__ == "__main__":
    main()
