"""A figure: a picture of the app without the app, which shows itself in a notebook and is saved to a file."""

from __future__ import annotations

import base64
from functools import cached_property
from html import escape
from pathlib import Path
from typing import Any, get_args

import plotly.graph_objects as go

from viz_model.drawing.scene import Scene, files, html
from viz_model.drawing.scene import numbers as tables
from viz_model.drawing.scene.svg import Theme, svg
from viz_model.island.look import Look
from viz_model.runs import edits
from viz_model.runs.trace import Trace

WIDTH, SHOWN = 960, 760
"""Pixels of a file's width unless it is said, and of a picture's in a notebook at the most."""

MOST_TEXT, MOST_SITES = 120, 3
"""Characters of a sentence, and values, that a caption tells in full."""

TEMPLATES: dict[Theme, str] = {"light": "plotly_white", "dark": "plotly_dark", "paper": "simple_white"}


class Figure:
    """A picture of a run.

    It shows itself in Jupyter, VS Code and Colab, with what it answers to pointer and keyboard, and asks nothing of
    a server or the network.

    Attributes:
        name: of the function that made it.
        scene: the picture as data: panels with marks, as the app shows it too.
        data: the NamedTuple of arrays that it was drawn from.
        caption: model, sentence, the values that it shows and their shapes; it stands in every file.
        theme: "light", "dark", or "paper" for print.
    """

    def __init__(
        self,
        name: str,
        of: Look,
        scene: Scene,
        theme: Theme = "light",
        *,
        beside: Trace | None = None,
        plotly: go.Figure | None = None,
    ) -> None:
        self.name, self.theme = name, themed(theme)
        self.scene, self._of, self._beside, self._plotly = scene, of, beside, plotly

    def __repr__(self) -> str:
        return f"Figure({self.name}: {self.caption})"

    @property
    def data(self) -> Any:
        return self.scene.data

    @property
    def lang(self) -> str:
        """Of its labels."""
        return self._of.t.language

    @cached_property
    def caption(self) -> str:
        trace = self._of.trace
        text = trace.tokenizer.decode(trace.ids) if trace.text is None else trace.text
        texts = [_short(text) for text in (text, trace.target) if text]
        size = "" if trace.picture is None else " × ".join(map(str, trace.picture.shape[:2]))
        runs = [trace] if self._beside is None else [trace, self._beside]
        names = list(dict.fromkeys(_named(run) for run in runs))
        # Of a picture the text is how an address writes it.
        said = [", ".join(names), size or " → ".join(f"“{text}”" for text in texts), ", ".join(self._sites())]
        return " · ".join(part for part in said if part)

    def _sites(self) -> list[str]:
        """The values with their shapes; of many the first, and how many more there are."""
        trace, names = self._of.trace, self.scene.sites
        told = [f"{trace.full_name(name)} [{' × '.join(map(str, trace.shape(name)))}]" for name in names[:MOST_SITES]]
        return [*told, f"+ {len(names) - MOST_SITES}"] if len(names) > MOST_SITES else told

    def svg(self, width: float = WIDTH, *, theme: Theme | None = None) -> str:
        """As SVG, ``width`` pixels wide."""
        return svg(self.scene, width, themed(theme or self.theme), caption=self.caption)

    def html(self, *, theme: Theme | None = None) -> str:
        """As a page of its own that works from disk, with what it answers to pointer and keyboard."""
        return html.html(self.scene, self.lang, theme=themed(theme or self.theme), caption=self.caption)

    def numbers(self) -> str:
        """Its numbers as CSV, one line for each, with every digit."""
        return tables.numbers(self.scene)

    def save(
        self, path: str | Path, *, width_mm: float | None = None, theme: Theme | None = None, link: str = ""
    ) -> Path:
        """Write it to a file; the ending of its name says as what.

        Args:
            path: ending in .svg, .png, .pdf or .html; or .csv for its numbers.
            width_mm: millimetres across, as for a column of a paper; by default 960 pixels (254 mm).
            link: where it can be seen again; it ends the caption.

        Returns:
            The path.

        Raises:
            ValueError: another ending, a theme that there is not, a width that is not above 0.
            viz_model.drawing.scene.files.NoFont: PNG or PDF of a picture with Chinese in it, on a machine that has
                no font for it.
        """
        path = Path(path)
        ending = path.suffix.lower().removeprefix(".")
        if ending == "csv":
            path.write_text(self.numbers(), encoding="utf-8", newline="")
            return path
        known = {format: format for format in files.FORMATS}
        if ending not in known:
            endings = ", ".join(f".{name}" for name in (*files.FORMATS, "csv"))
            raise ValueError(f"path: {path.name!r} does not end in one of {endings}")
        if width_mm is not None and not 0 < width_mm < float("inf"):
            raise ValueError(f"width_mm: {width_mm} millimetres is no width")
        caption = " · ".join(part for part in (self.caption, link) if part)
        look: dict[str, Any] = {"theme": themed(theme or self.theme), "lang": self.lang, "caption": caption}
        path.write_bytes(files.written(self.scene, known[ending], width=WIDTH, width_mm=width_mm, **look))
        return path

    def to_plotly(self) -> go.Figure:
        """The same picture as a Plotly figure, to be changed further.

        Raises:
            ValueError: it is not made of axes; :meth:`svg` has every picture.
        """
        if self._plotly is None:
            raise ValueError(f"{self.name}: this picture has no axes, so it is none of Plotly's; svg() has it")
        return go.Figure(self._plotly).update_layout(template=TEMPLATES[self.theme])

    def _repr_html_(self) -> str:
        """A frame of its own, so that any number of them may stand on one page; and the picture as an image.

        Where a notebook is not trusted frames are taken out, and so is what removes the image where they are not.
        """
        still = self.svg(SHOWN)
        height = _height(still) + 48
        code = base64.b64encode(still.encode()).decode()
        # How tall a picture is at the width that it gets, it says itself where a frame may be asked.
        grow = "this.style.height=this.contentDocument.documentElement.offsetHeight+'px'"
        return (
            f'<img src="data:image/svg+xml;base64,{code}" alt="{escape(self.scene.title)}" onload="this.remove()">'
            f'<iframe srcdoc="{escape(self.html())}" title="{escape(self.scene.title)}" onload="{escape(grow)}" '
            f'style="width:100%;max-width:{SHOWN + 32}px;height:{height:.0f}px;border:0"></iframe>'
        )

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, str]:
        """For a notebook: HTML, SVG for where scripts do not run, and a line for where nothing is drawn."""
        return {"text/html": self._repr_html_(), "image/svg+xml": self.svg(SHOWN), "text/plain": repr(self)}


def themed(theme: str) -> Theme:
    """A theme that there is.

    Raises:
        ValueError: there is none of that name.
    """
    for known in get_args(Theme):
        if known == theme:
            return known
    raise ValueError(f"theme: {theme!r} is not one of {', '.join(get_args(Theme))}")


def _named(run: Trace) -> str:
    """A run's model, and what was changed in it."""
    changes = edits.write(run.edits)
    return f"{run.name} ({changes})" if changes else run.name or ""


def _short(text: str) -> str:
    return text if len(text) <= MOST_TEXT else f"{text[: MOST_TEXT - 1]}…"


def _height(file: str) -> float:
    """Pixels, as an SVG file says of itself."""
    return float(file.partition(' height="')[2].partition('"')[0])
