"""A figure: a picture of the app without the app, which shows itself in a notebook and is saved to a file."""

import base64
from collections.abc import Sequence
from dataclasses import replace
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypedDict, Unpack, get_args

import pandas as pd
import plotly.graph_objects as go

from viz_model.drawing.scene import Scene, files, html
from viz_model.drawing.scene import numbers as tables
from viz_model.drawing.scene.svg import MILLIMETRES, Theme, svg
from viz_model.island.look import Look
from viz_model.plot import fitting, others
from viz_model.runs import edits
from viz_model.runs.trace import Trace

if TYPE_CHECKING:
    from matplotlib.axes import Axes

WIDTH, SHOWN = 960, 760
"""Pixels of a file's width unless it is said, and of a picture's in a notebook at the most."""

MOST_TEXT, MOST_SITES = 120, 3
"""Characters of a sentence, and values, that a caption tells in full."""

TEMPLATES: dict[Theme, str] = {"light": "plotly_white", "dark": "plotly_dark", "paper": "simple_white"}


# How tall a picture is at the width that it gets, it says itself, and again when that changes; where a frame may not
# reach its page, it keeps the height that it has at the usual width.
_GROW = """<script>
new ResizeObserver(() => {
  const drawn = document.querySelector(".viz").offsetHeight, { frameElement } = window
  if (frameElement && drawn) frameElement.style.height = `${document.body.scrollHeight + 32}px`
}).observe(document.body)
</script>"""


class Style(TypedDict, total=False):
    """How a figure is laid out.

    Attributes:
        title: written over it.
        caption: under it: its own (True), none (False), or another.
        legend: whether it has one, where a picture has or can have one.
        highlight: whether what is selected is marked.
        square: whether cells are as high as wide.
        letters: whether panels are lettered, (a), (b), …
    """

    title: str
    caption: str | bool
    legend: bool
    highlight: bool
    square: bool
    letters: bool


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
        lang: of its labels.
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
        **style: Unpack[Style],
    ) -> None:
        self.name, self.theme, self.lang = name, themed(theme), of.t.language
        caption = style.get("caption", True)
        self.caption = caption if isinstance(caption, str) else _caption(of.trace, beside, scene) if caption else ""
        if not style.get("highlight", True):
            scene = fitting.unmarked(scene)
        if style.get("legend") is False:
            scene = replace(scene, keys=())
        if title := style.get("title"):
            scene = replace(scene, heading=title)
        self.scene = fitting.lettered(scene) if style.get("letters") else scene
        self._plotly, self._square = plotly, style.get("square", False)

    def __repr__(self) -> str:
        return f"Figure({self.name}: {self.caption})"

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "scene": replace(self.scene, coarser=None)}

    @property
    def data(self) -> Any:
        return self.scene.data

    def svg(self, width: float = WIDTH, *, height: float | None = None, theme: Theme | None = None) -> str:
        """As SVG, ``width`` pixels wide, and ``height`` high; by default as high as it needs to be.

        Raises:
            ValueError: that is too low for what is in it.
        """
        return svg(self._fitted(width, height), width, themed(theme or self.theme), caption=self.caption)

    def _fitted(self, width: float, height: float | None = None, caption: str | None = None) -> Scene:
        scene = fitting.squared(self.scene, width) if self._square else self.scene
        if height is None:
            return scene
        return fitting.heightened(scene, width, height, self.caption if caption is None else caption)

    def html(self, *, theme: Theme | None = None) -> str:
        """As a page of its own that works from disk, with what it answers to pointer and keyboard."""
        return html.html(self._fitted(SHOWN), self.lang, theme=themed(theme or self.theme), caption=self.caption)

    def numbers(self) -> str:
        """Its numbers as CSV, one line for each, with every digit."""
        return tables.numbers(self.scene)

    def to_pandas(self) -> pd.DataFrame:
        """Its numbers as a data frame, a row for each: part, row, column, value."""
        return others.frame(self.scene)

    def save(
        self,
        path: str | Path,
        *,
        width_mm: float | None = None,
        height_mm: float | None = None,
        theme: Theme | None = None,
        link: str = "",
    ) -> Path:
        """Write it to a file; the ending of its name says as what.

        Args:
            path: ending in .svg, .png, .pdf or .html; or .csv for its numbers.
            width_mm: millimeters across, as for a column of a paper; by default 960 pixels (254 mm). Where that is
                too narrow for what is in it, a warning says so.
            height_mm: millimeters up and down, with title, legend and caption; by default what it needs.
            link: where it can be seen again; it ends the caption.

        Returns:
            The path.

        Raises:
            ValueError: another ending, a theme that there is not, a width that is not above 0, a height that is too
                low.
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
        for name, size in (("width_mm", width_mm), ("height_mm", height_mm)):
            if size is not None and not 0 < size < float("inf"):
                raise ValueError(f"{name}: expected a number above 0, got {size}")
        caption = " · ".join(part for part in (self.caption, link) if part)
        across = WIDTH if width_mm is None else width_mm / MILLIMETRES
        scene = self._fitted(across, None if height_mm is None else height_mm / MILLIMETRES, caption)
        if width_mm is not None and ending != "html":
            fitting.check(scene, across)
        look: dict[str, Any] = {"theme": themed(theme or self.theme), "lang": self.lang, "caption": caption}
        path.write_bytes(files.written(scene, known[ending], width=WIDTH, width_mm=width_mm, **look))
        return path

    def to_plotly(self) -> go.Figure:
        """The same numbers as a Plotly figure, to be changed further: cells as heatmaps, else bars or lines.

        Raises:
            ValueError: the picture holds no numbers; :meth:`svg` has every picture.
        """
        if self._plotly is None and not self.scene.series and not others.matrices(self.scene):
            raise ValueError(f"{self.name}: this picture has no axes, so it is none of Plotly's; svg() has it")
        made = others.plotly(self.scene, self.theme) if self._plotly is None else go.Figure(self._plotly)
        return made.update_layout(template=TEMPLATES[self.theme])

    def to_matplotlib(self, ax: "Axes | None" = None) -> "Axes":
        """The same numbers on axes of Matplotlib, its own where none are given: its first cells, else bars or lines.

        Raises:
            ImportError: Matplotlib is not installed.
        """
        if ax is None:
            from matplotlib import pyplot

            ax = pyplot.subplots()[1]
        return others.matplotlib(self.scene, self.theme, ax)

    def _repr_html_(self) -> str:
        """A frame of its own, so that any number of them may stand on one page; and the picture as an image.

        Where a notebook is not trusted frames are taken out, and so is what removes the image where they are not.
        """
        still = self.svg(SHOWN)
        code = base64.b64encode(still.encode()).decode()
        return (
            f'<img src="data:image/svg+xml;base64,{code}" alt="{escape(self.scene.title)}" onload="this.remove()">'
            f'<iframe srcdoc="{escape(self.html() + _GROW)}" title="{escape(self.scene.title)}" '
            f'style="width:100%;max-width:{SHOWN + 32}px;height:{_height(still) + 48:.0f}px;border:0"></iframe>'
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


def _caption(trace: Trace, beside: Trace | None, scene: Scene) -> str:
    text = trace.tokenizer.decode(trace.ids) if trace.text is None else trace.text
    texts = [_short(text) for text in (text, trace.target) if text]
    size = "" if trace.picture is None else " × ".join(map(str, trace.picture.shape[:2]))
    names = list(dict.fromkeys(named(run) for run in (trace, beside) if run is not None))
    # Of a picture the text is how an address writes it.
    said = [", ".join(names), size or " → ".join(f"“{text}”" for text in texts), ", ".join(_sites(trace, scene.sites))]
    return " · ".join(part for part in said if part)


def _sites(trace: Trace, names: Sequence[str]) -> list[str]:
    """The values with their shapes; of many the first, and how many more there are. Of two stacks those of this one."""
    names = [name for name in names if name in trace]
    told = [f"{trace.full_name(name)} [{' × '.join(map(str, trace.shape(name)))}]" for name in names[:MOST_SITES]]
    return [*told, f"+ {len(names) - MOST_SITES}"] if len(names) > MOST_SITES else told


def named(run: Trace) -> str:
    """A run's model, and what was changed in it."""
    changes = edits.write(run.edits)
    return f"{run.name} ({changes})" if changes else run.name or ""


def _short(text: str) -> str:
    return text if len(text) <= MOST_TEXT else f"{text[: MOST_TEXT - 1]}…"


def _height(file: str) -> float:
    """Pixels, as an SVG file says of itself."""
    return float(file.partition(' height="')[2].partition('"')[0])
