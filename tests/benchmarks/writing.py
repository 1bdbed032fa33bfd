"""How many tokens a second a model writes for the first page: made by the server, shown in Chromium, and by a file.

    python tests/benchmarks/writing.py [--model story-pre-ln] [--tokens 60]

A file writes by ``frontend/src/decoder.js`` in Chromium; how long it takes to open is told too.
"""

import argparse
import sys
import tempfile
import time
from pathlib import Path

import torch
from playwright.sync_api import sync_playwright

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import file_decoder
from socket_visitor import server

import viz_model as vm
from viz_model.topics.walk import writing
from viz_model.topics.walk.chapters import write

BEGINNING = "Tom had a cat and a dog. One day the cat"
SECONDS = 5.0


def made(name: str, tokens: int) -> float:
    torch.set_num_threads(1)
    lm = vm.load(name)
    written: list[int] = []
    places = writing.places(lm, BEGINNING, written, temperature=1.0, seed=1, n=1)
    while len(written) < tokens:
        written += [place["drawn"]["id"] for place in places if "drawn" in place]
        places = writing.places(lm, BEGINNING, written, temperature=1.0, seed=1, n=20)
    began = time.perf_counter()
    found = writing.places(lm, BEGINNING, written[:tokens], temperature=1.0, seed=2, n=40)
    return len(found) / (time.perf_counter() - began)


def shown(name: str) -> float:
    """Tokens a second that stand on the page."""
    with server("app.py") as (url, _), sync_playwright() as play:
        browser = play.chromium.launch(executable_path="/usr/bin/chromium", args=["--no-sandbox"])
        page = browser.new_page(viewport={"width": 1366, "height": 768})
        page.goto(f"{url}/?lang=en&chapter=write&model={name}")
        page.locator(".walk .likely b").first.wait_for(timeout=60_000)
        speed = page.locator(".walk .speed input")
        speed.evaluate("slider => { slider.value = slider.max; slider.dispatchEvent(new Event('input')) }")
        page.locator(".walk .tools .go").click()
        page.wait_for_timeout(1500)
        count = page.locator(".walk [data-shown]")
        first, began = int(count.get_attribute("data-shown") or 0), time.perf_counter()
        page.wait_for_timeout(int(1000 * SECONDS))
        last = int(count.get_attribute("data-shown") or 0)
        browser.close()
        return (last - first) / (time.perf_counter() - began)


def in_file(name: str, tokens: int) -> tuple[float, float, int]:
    """Tokens a second that Chromium makes by itself, seconds until the saved walk shows the first ones, its bytes."""
    lm = vm.load(name)
    written = [step.token.id for step in lm.generate(BEGINNING, max_new_tokens=tokens, seed=1).steps]
    asked = {"text": BEGINNING, "edits": "", "temperature": 1.0, "seed": 2, "n": 40, "ids": written}
    asked |= {"temperatures": write.TEMPERATURES, "likeliest": write.LIKELIEST, "most": write.MOST_WRITTEN}
    with sync_playwright() as play, tempfile.TemporaryDirectory() as folder:
        path = vm.page(lm.trace(BEGINNING), "walk").save(Path(folder) / "walk.html")
        browser = play.chromium.launch(executable_path="/usr/bin/chromium", args=["--no-sandbox"])
        page = browser.new_page(viewport={"width": 1366, "height": 768})
        file_decoder.load(page, lm)
        speed = page.evaluate(
            """asked => {
              model.places({ ...asked, n: 1 }) // has read the text
              const began = performance.now(), ids = [...asked.ids]
              while (ids.length < asked.ids.length + asked.n) {
                const places = model.places({ ...asked, ids, most: Infinity })
                for (const { drawn } of places) if (drawn) ids.push(drawn.id)
              }
              return 1000 * (ids.length - asked.ids.length) / (performance.now() - began)
            }""",
            asked,
        )
        began = time.perf_counter()
        page.goto(path.as_uri())
        page.locator(".walk .likely b").first.wait_for(timeout=60_000)
        opened = time.perf_counter() - began
        browser.close()
        return float(speed), opened, path.stat().st_size


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", default="story-pre-ln")
    parser.add_argument("--tokens", type=int, default=60)
    asked = parser.parse_args()
    print(f"made: {made(asked.model, asked.tokens):.0f} tokens a second after {asked.tokens} tokens (wanted 15)")
    speed, opened, size = in_file(asked.model, asked.tokens)
    print(f"in a file: {speed:.0f} tokens a second after {asked.tokens} tokens (wanted 10)")
    print(f"a file of {size:,} bytes is open after {opened:.1f} s")
    print(f"shown: {shown(asked.model):.0f} tokens a second (wanted 15)")


if __name__ == "__main__":
    main()
