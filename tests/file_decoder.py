"""The decoder of a saved walk by itself (``frontend/src/decoder.js``), in a page of Chromium."""

import base64
from pathlib import Path
from typing import Any

import viz_model as vm
from viz_model.drawing.scene import Arrays, framed
from viz_model.island import local_model

SOURCE = Path(__file__).resolve().parents[1] / "frontend" / "src"

_LOAD = """async ([decode, decoder, data]) => {
  const module = code => import(URL.createObjectURL(new Blob([code], { type: "text/javascript" })))
  const bytes = Uint8Array.from(atob(data), letter => letter.charCodeAt(0))
  const { header, arrays } = (await module(decode)).decode(bytes)
  globalThis.model = (await module(decoder)).decoder(header, arrays)
}"""


def load(page: Any, lm: vm.LanguageModel) -> None:
    """Put a model into a page, as a file would have it, under the name ``model``."""
    arrays = Arrays()
    data = framed(local_model.sent(lm, arrays), arrays)
    code = [(SOURCE / name).read_text(encoding="utf-8") for name in ("decode.js", "decoder.js")]
    page.evaluate(_LOAD, [*code, base64.b64encode(data).decode()])
