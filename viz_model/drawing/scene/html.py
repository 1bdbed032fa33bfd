"""A scene as one HTML file that works from disk: the browser's module and the numbers are in it, nothing is fetched."""

from __future__ import annotations

import base64
import re
from functools import cache
from html import escape
from pathlib import Path

from viz_model.drawing.scene.encode import encode
from viz_model.drawing.scene.marks import Scene
from viz_model.drawing.scene.svg import FONTS, Theme
from viz_model.drawing.theme import PALETTES

_BROWSER = Path(__file__).resolve().parents[1] / "browser"

_SCHEMES = {None: "light dark", "light": "light", "dark": "dark", "paper": "light"}


def html(
    scene: Scene, lang: str = "en", *, theme: Theme | None = None, caption: str = "", width: float | None = None
) -> str:
    """The picture with what it answers to a pointer and the keyboard.

    Args:
        theme: None for the light or dark that the reader has set.
        caption: written under it, small.
        width: pixels at the most; None for all that there is.
    """
    light: Theme = theme or "light"
    dark: Theme = theme or "dark"
    palette = {"light": PALETTES[light], "dark": PALETTES[dark]}
    data = base64.b64encode(encode(scene, palette)).decode()
    said = f"<p>{escape(caption)}</p>\n" if caption else ""
    room = "" if width is None else f" max-width: {width:g}px;"
    return f"""<!doctype html>
<html lang="{escape(lang)}">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>{escape(scene.title)}</title>
<style>
:root {{ color-scheme: {_SCHEMES[theme]}; {_variables(light)} }}
@media (prefers-color-scheme: dark) {{ :root {{ {_variables(dark)} }} }}
body {{ margin: 16px; background: var(--st-background-color); font-family: var(--st-font);{room} }}
p {{ color: var(--st-text-color); font: 11px/1.4 {FONTS}; overflow-wrap: anywhere; }}
{(_BROWSER / "viz.css").read_text(encoding="utf-8")}
</style>
<div class="viz"></div>
{said}<script type="module">
globalThis.vizSelection = {{ layer: -1, head: -1, token: -1 }}
{_module()}
const data = Uint8Array.from(atob("{data}"), letter => letter.charCodeAt(0))
const draw = () => drawn({{ data, parentElement: document, setTriggerValue: () => {{}} }})
draw()
</script>
</html>
"""


def _variables(theme: str) -> str:
    colours = PALETTES[theme]
    values = {
        "font": FONTS,
        "text-color": colours["ink"],
        "background-color": colours["paper"],
        "border-color": colours["grid"],
        "primary-color": colours["accent"],
    }
    return " ".join(f"--st-{name}: {value};" for name, value in values.items())


@cache
def _module() -> str:
    """The browser's module, with its default export under the name ``drawn``."""
    code = (_BROWSER / "viz.js").read_text(encoding="utf-8")
    exported, n = re.subn(r"export\{([\w$]+) as default\};?\s*$", r"const drawn=\1;", code)
    if n != 1:
        raise RuntimeError("the browser's module has no default export")
    # The end of a script may not stand in one.
    return exported.replace("</script", "<\\/script")
