"""A scene as one HTML file that works from disk: the browser's module and the numbers are in it, nothing is fetched."""

import base64
import gzip
import json
import re
from collections.abc import Mapping
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


def page(title: str, lang: str, data: bytes, *, plots: bool) -> str:
    """A page of the app (:mod:`viz_model.island.page_file`), with all that draws it.

    Args:
        data: its message.
        plots: whether anything in it is drawn by Plotly.
    """
    names = ["app.js", "katex.js", *(["plotly.js"] if plots else [])]
    files = {name: (_BROWSER / name).read_text(encoding="utf-8") for name in names}
    files["katex.css"] = _FONT.sub(_font, (_BROWSER / "katex.css").read_text(encoding="utf-8"))
    return f"""<!doctype html>
<html lang="{escape(lang)}">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<link rel="icon" href="data:,">
<title>{escape(title)}</title>
<style>
:root {{ color-scheme: light dark; {_variables("light")} }}
@media (prefers-color-scheme: dark) {{ :root {{ {_variables("dark")} }} }}
body {{ margin: 0 auto; padding: 8px clamp(8px, 2vw, 24px) 48px; max-width: 1280px; {_BODY} }}
{(_BROWSER / "viz.css").read_text(encoding="utf-8")}
</style>
<div class="viz"></div>
<script type="module">
const unpacked = async text => {{
  const letters = atob(text), packed = new Uint8Array(letters.length)
  for (let n = 0; n < letters.length; n++) packed[n] = letters.charCodeAt(n)
  return new Response(new Blob([packed]).stream().pipeThrough(new DecompressionStream("gzip"))).arrayBuffer()
}}
globalThis.vizFiles = {{}}
for (const [name, text] of Object.entries({_packed(files)})) {{
  const type = name.endsWith("css") ? "text/css" : "text/javascript"
  vizFiles[name] = URL.createObjectURL(new Blob([await unpacked(text)], {{ type }}))
}}
const {{ default: draw }} = await import(vizFiles["app.js"])
const data = new Uint8Array(await unpacked("{_gzipped(data)}"))
draw({{ data, parentElement: document, setTriggerValue: () => {{}}, setStateValue: () => {{}} }})
</script>
</html>
"""


_BODY = "background: var(--st-background-color); color: var(--st-text-color); font-family: var(--st-font);"
_FONT = re.compile(r"url\(fonts/(\w+-\w+)\.woff2\)[^;}]*")


def _font(found: re.Match[str]) -> str:
    data = base64.b64encode((_BROWSER / "fonts" / f"{found[1]}.woff2").read_bytes()).decode()
    return f'url(data:font/woff2;base64,{data}) format("woff2")'


def _packed(files: Mapping[str, str]) -> str:
    return json.dumps({name: _gzipped(text.encode()) for name, text in files.items()})


def _gzipped(data: bytes) -> str:
    return base64.b64encode(gzip.compress(data, 9, mtime=0)).decode()


def _variables(theme: str) -> str:
    colors = PALETTES[theme]
    values = {
        "font": FONTS,
        "text-color": colors["ink"],
        "background-color": colors["paper"],
        "border-color": colors["grid"],
        "primary-color": colors["accent"],
        "link-color": colors["accent"],
        "secondary-background-color": f"color-mix(in srgb, {colors['ink']} 6%, {colors['paper']})",
        "code-font": "ui-monospace, monospace",
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
