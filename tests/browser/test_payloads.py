"""Payloads typed into the box of a real browser: shown to the letter, and nothing of them runs or is fetched."""

from typing import Any

import pytest
from app_driver import naughty
from browser_driver import Visit, settle
from doors import all_open

from viz_model.app.frame import FIRST, SECTIONS

pytestmark = pytest.mark.browser
PAGES = [page for pages in SECTIONS.values() for page in pages if page != FIRST]
"""The first has no chips to compare with; what is typed there, ``test_walk.py`` looks at."""
OWN = (
    "![](//a.invalid/i) <img src=//a.invalid onerror=hit()><svg onload=hit()>",
    "<script>hit()</script><iframe src=//a.invalid></iframe><a href=javascript:hit()>x</a>",
    "[a](javascript:hit()) <https://a.invalid> www.a.invalid $\\href{javascript:hit()}{x}$ :red[x] :smile: ^x^",
    "%{x} %{meta} %{customdata[0]} <a href='//a.invalid'>k</a> <sup>b</sup> &lt;b&gt; {{name}} `x` |a|b| ~~s~~",
)
LONGEST = 500
"""Characters in one batch: about as many as the models read."""

# Elements that a payload would have become, wherever they stand.
FOUND = """() => {
  // A link into the app carries the sentence in its query, encoded.
  const leads = at => {
    try { return new URL(at, location).origin === location.origin ? at.split('?')[0] : at } catch { return at }
  }
  const found = [], look = root => {
    for (const e of root.querySelectorAll('*')) {
      if (e.shadowRoot) look(e.shadowRoot)
      const name = e.tagName.toLowerCase(), at = e.getAttribute('src') || e.getAttribute('href') || ''
      // The picture of a heatmap: any letters may stand in it.
      if (name === 'image' && at.startsWith('data:image/png')) continue
      const on = [...e.attributes].some(a => /^on/i.test(a.name))
      const active = ['iframe', 'object', 'embed', 'marquee', 'blink', 'meter', 'video', 'audio'].includes(name)
      if (on || active || /a\\.invalid|javascript:|xss/i.test(leads(at))) found.push(e.outerHTML.slice(0, 120))
    }
  }
  look(document)
  return found
}"""


def batches() -> list[str]:
    """Our payloads, then the naughty strings that hold signs of markup or code, joined."""
    made = [""]
    for text in (*OWN, *(line for line in naughty() if set(line) & set("<>$*_[]`&%{}"))):
        line = " ".join(text.split())  # the box has one line
        if len(made[-1]) + len(line) > LONGEST:
            made.append("")
        made[-1] = f"{made[-1]} {line}".strip()
    return made


def sentence(page: Any) -> Any:
    """The box above the page; of an island it comes after all that is not in a shadow root."""
    own = page.locator(".viz-island .sentence:visible").first  # of a translator the target's box follows
    return own if own.count() else page.get_by_role("textbox").first


def ribbon(page: Any) -> str:
    """The tokens above the page, one behind the other, without spaces."""
    chips = page.locator(".chips").first.locator(".chip").all_inner_texts()
    return "".join(line.partition("\n")[0] for line in chips).replace("·", "").replace(" ", "")


@pytest.mark.parametrize("number", range(len(PAGES)))
def test_what_is_typed_is_shown_and_does_nothing(number: int, visit: Visit) -> None:
    """What asks for something elsewhere, opens a dialog or calls ``hit``, which there is not, fails the visit too."""
    name, typed = PAGES[number], batches()
    page = visit(f"/{name}", saves_data=True, text="a", lang="en", **all_open(name))
    for text in typed[number :: len(PAGES)] or [typed[number % len(typed)]]:
        sentence(page).fill(text)
        start = "".join(chr(0x2400 + ord(c)) if c < " " else c for c in "".join(text.split())[:12])
        for _ in range(300):
            if ribbon(page).startswith(start):
                break
            page.wait_for_timeout(200)
        settle(page)
        assert ribbon(page).startswith(start)
        assert not page.evaluate(FOUND)
        assert page.locator("[data-testid=stException]").count() == 0
