"""A class in a room: thirty Chromium pages join, answer the first question, and the teacher's page counts them.

    python tests/benchmarks/classroom.py [--pupils 30]

Then the server is killed and started again: the room is gone, and what pupils answered stands in their addresses.
"""

import argparse
import os
import shutil
import signal
import statistics
import sys
import time
from pathlib import Path
from typing import Any

from playwright.sync_api import sync_playwright

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from browser_driver import query
from socket_visitor import free_port, server

PATIENCE = 300_000
"""Milliseconds until something is given up."""
ROOMS = {"VIZ_MODEL_ROOMS": "1"}


def joined(browser: Any, address: str, name: str) -> Any:
    page = browser.new_context(viewport={"width": 1024, "height": 768}).new_page()
    page.set_default_timeout(PATIENCE)
    page.goto(address)
    page.get_by_label("Your name, as your teacher knows it", exact=True).fill(name)
    page.get_by_role("button", name="Join").click()
    page.get_by_text("step 1 of").wait_for()
    return page


def answered(page: Any, says: bool) -> None:
    if says:
        page.get_by_text("·the", exact=True).click()  # right; who is wrong is asked again
        page.get_by_role("button", name="Answer").click()
    else:
        page.locator(".st-key-lesson-pass button").click()
    page.wait_for_url(lambda url: "lesson.given" in url)


def told(began: float, waits: list[float]) -> str:
    whole, usual = time.perf_counter() - began, statistics.median(waits)
    return f"after {whole:.0f} s: {usual:.1f} s each, {max(waits):.1f} s at the most"


def lesson(count: int) -> list[str]:
    problems: list[str] = []
    port = free_port()
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        with server("app.py", port, environment=ROOMS) as (url, pid):
            teacher = browser.new_context(viewport={"width": 1024, "height": 768}).new_page()
            teacher.set_default_timeout(PATIENCE)
            teacher.goto(f"{url}/lessons?desk=room&lang=en")
            teacher.get_by_role("button", name="Open a room").click()
            teacher.get_by_text("Nobody is here yet.").wait_for()
            room = f"{url}/?room={query(teacher)['room']}&lang=en"
            began, pupils, waits = time.perf_counter(), list[Any](), list[float]()
            for n in range(count):
                one = time.perf_counter()
                pupils.append(joined(browser, room, f"Pupil {n}"))
                waits.append(time.perf_counter() - one)
            teacher.get_by_text(f"0 of {count} have answered").wait_for()
            print(f"{count} have joined, one after the other, {told(began, waits)}", flush=True)
            began, waits = time.perf_counter(), []
            for n, page in enumerate(pupils):
                one = time.perf_counter()
                answered(page, n % 2 == 0)
                waits.append(time.perf_counter() - one)
            teacher.get_by_text(f"{count} of {count} have answered").wait_for()
            print(f"the teacher sees {count} answers {told(began, waits)}", flush=True)
            given = [query(page).get("lesson.given") for page in pupils]
            if [said == "*p" for said in given] != [n % 2 == 1 for n in range(count)]:
                problems.append(f"addresses hold other answers: {given}")
            os.kill(pid, signal.SIGKILL)
        with server("app.py", port, environment=ROOMS):
            began = time.perf_counter()
            for page, said in zip(pupils[:2], given, strict=False):
                page.reload()
                page.get_by_text("The room is closed.").wait_for()
                if query(page).get("lesson.given") != said:
                    problems.append("an answer was lost with the server")
            print(f"after another server has taken its place, two are back within {time.perf_counter() - began:.0f} s")
        browser.close()
    return problems


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pupils", type=int, default=30)
    problems = lesson(parser.parse_args().pupils)
    for problem in problems:
        print("WRONG:", problem)
    return bool(problems)


if __name__ == "__main__":
    sys.exit(main())
