"""A tab of a browser that speaks WebDriver, whichever it is: what the tests do in Firefox and WebKit alike."""

import abc
import json
import time
from collections.abc import Mapping
from typing import Any

from browser_driver import TURN

PATIENCE = 120.0
"""Seconds to wait for what a page is to show."""
KEYS = dict(Tab="\ue004", Enter="\ue007", Escape="\ue00c", End="\ue010", ArrowRight="\ue014", ArrowDown="\ue015")
"""Keys by their names, as WebDriver writes them."""
DEEP = """(() => {
  window.deep = (selector, root = document) => {
    const shadows = [...root.querySelectorAll('*')].map(e => e.shadowRoot).filter(Boolean)
    return [...root.querySelectorAll(selector), ...shadows.flatMap(shadow => deep(selector, shadow))]
  }
  return true
})()"""
"""Defines ``deep``: the elements of a selector, those in shadow roots too."""


class Tab(abc.ABC):
    """A tab."""

    @abc.abstractmethod
    def open(self, url: str, width: int = 1366, height: int = 768) -> None:
        """Go to an address, in a window of a size, and wait until nothing more is drawn."""

    @abc.abstractmethod
    def errors(self) -> list[str]:
        """What went wrong in the page that was opened."""

    @abc.abstractmethod
    def evaluate(self, expression: str) -> Any:
        """The value of a JavaScript expression, as JSON brings it; RuntimeError where it throws."""

    @abc.abstractmethod
    def act(self, source: Mapping[str, Any]) -> None:
        """Do the actions of a pointer or a keyboard."""

    def wait_for(self, expression: str) -> Any:
        """The value of an expression as soon as it is true; TimeoutError after :data:`PATIENCE`."""
        until = time.monotonic() + PATIENCE
        while time.monotonic() < until:
            if found := self.evaluate(expression):
                return found
            time.sleep(0.2)
        raise TimeoutError(f"never true: {expression}")

    def settle(self) -> None:
        """Until the title stands and Streamlit is neither running nor waiting for elements."""
        self.evaluate(DEEP)
        self.wait_for("!!deep('[data-testid=stMain] h2, .viz-island :is(h1, h2)')[0]")
        calm, before = 0, -1
        until = time.monotonic() + PATIENCE
        working = "[data-testid=stStatusWidget], [data-testid=stSkeleton], [data-stale=true]"
        while calm < 3 and time.monotonic() < until:
            texts = "deep('[data-testid=stMain], .viz-island').map(each => each.textContent.length)"
            shown = f"{texts}.reduce((all, each) => all + each, 0)"
            busy, now = self.evaluate(f"[!!document.querySelector('{working}'), {shown}]")
            calm = calm + 1 if not busy and now == before else 0
            before = now
            time.sleep(0.1)

    def turn(self, address: str) -> None:
        """Go on to another page of the app, at its address, without opening it anew."""
        title = self.evaluate("document.title")
        self.evaluate(f"({TURN})({json.dumps(address)}), 1")
        self.wait_for(f"document.title !== {json.dumps(title)}")
        self.wait_for("!!document.querySelector('[data-test-script-state=notRunning]')")
        self.settle()

    def click(self, element: str) -> None:
        """Press and let go of the pointer in the middle of what a JavaScript expression gives, once it stands still."""
        box = f"{element}.getBoundingClientRect()"
        place: list[float] = []
        before: list[float] | None = None
        while place != before:
            self.evaluate(f"({element}.scrollIntoView({{block: 'center'}}), 1)")
            before, place = place, self.evaluate(f"[{box}.x + {box}.width / 2, {box}.y + {box}.height / 2]")
            time.sleep(0.05)
        x, y = place
        moves: list[dict[str, Any]] = [{"type": "pointerMove", "x": round(x), "y": round(y)}]
        moves += [{"type": f"pointer{way}", "button": 0} for way in ("Down", "Up")]
        self.act({"type": "pointer", "id": "mouse", "actions": list(moves)})

    def press(self, *keys: str) -> None:
        for key in keys:
            value = KEYS.get(key, key)
            down_up = [{"type": kind, "value": value} for kind in ("keyDown", "keyUp")]
            self.act({"type": "key", "id": "keyboard", "actions": down_up})
