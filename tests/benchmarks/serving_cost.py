"""What a visitor costs: bytes and processor seconds of the live app, and bytes of the same pages as files.

    python tests/benchmarks/serving_cost.py [--pages walk attention] [--sentences 5]

A server of its own is started, and Chromium opens each page with an empty cache, then types sentences that nobody has
typed before. What a static host sends of a file is its length: what is in it is compressed already.
"""

from __future__ import annotations

import argparse
import shutil
import sys
import tempfile
from pathlib import Path
from typing import Any

from playwright.sync_api import sync_playwright

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from browser_driver import settle
from socket_visitor import server

import viz_model as vm
from viz_model.app import examples

TICKS = 100.0
"""Of Linux's clock in a second."""


def processor(pid: int) -> float:
    """Seconds of a process so far."""
    fields = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / TICKS


def opened(tab: Any) -> list[int]:
    """The bytes that come from now on, in one place."""
    count, client = [0], tab.context.new_cdp_session(tab)
    client.send("Network.enable")
    client.on("Network.loadingFinished", lambda done: count.append(int(done["encodedDataLength"])))
    client.on("Network.webSocketFrameReceived", lambda got: count.append(len(got["response"]["payloadData"]) * 3 // 4))
    return count


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pages", nargs="+", default=["walk", "attention", "overview"])
    parser.add_argument("--sentences", type=int, default=5)
    asked = parser.parse_args()
    lm = vm.load("story-pre-ln")
    with server("app.py") as (address, pid), sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        for page in asked.pages:
            for visit in ("first", "second"):
                before, context = processor(pid), browser.new_context()
                tab = context.new_page()
                count = opened(tab)
                tab.goto(f"{address}/{page}?lang=en")
                settle(tab)
                seconds, sent = processor(pid) - before, sum(count)
                print(f"{page}: {visit} visit {sent:,} bytes, {seconds:.2f} s", flush=True)
                if visit == "second":
                    before, begun = processor(pid), sum(count)
                    for n in range(asked.sentences):
                        tab.goto(f"{address}/{page}?lang=en&text=Sentence+{n}+of+{page}+and+a+little+dog+who")
                        settle(tab)
                    each = (processor(pid) - before) / asked.sentences, (sum(count) - begun) // asked.sentences
                    print(f"{page}: opened with a new sentence {each[1]:,} bytes, {each[0]:.2f} s", flush=True)
                context.close()
            trace = lm.trace(examples.of(lm, "en")[0])
            with tempfile.TemporaryDirectory() as folder:
                path = vm.page(trace, page).save(Path(folder) / f"{page}.html")
                print(f"{page}: as a file {path.stat().st_size:,} bytes", flush=True)
        browser.close()


if __name__ == "__main__":
    main()
