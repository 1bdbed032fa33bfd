"""Films of a page: what a reader sees who goes through it, as GIF, MP4 or WebM.

A browser draws the frames (Playwright), and an existing encoder writes them: Pillow a GIF, imageio's FFmpeg the rest.
Both come with ``viz-model[film]``.
"""

from __future__ import annotations

import io
import os
import re
import shutil
import tempfile
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from PIL import Image

from viz_model.config import Side
from viz_model.plot.pages import PageFile, page
from viz_model.runs.trace import Trace

if TYPE_CHECKING:
    from playwright.sync_api import Page as Tab

FORMATS = (".gif", ".mp4", ".webm")
CODECS = {".mp4": ["-vcodec", "libx264"], ".webm": ["-vcodec", "libvpx-vp9"]}
MOTION = 1.2
"""Seconds of a change (``frontend/src/walk.js``)."""
WORDS, LETTERS = 200, 350
"""Read in a minute: words, and letters of scripts that are written without blanks."""
_WORD, _LETTER = re.compile(r"[^\s\u2e80-\uffef]+"), re.compile(r"[\u2e80-\uffef]")

Frame: TypeAlias = tuple[Image.Image, float]
"""A picture and for how many seconds it stands."""


class NoFilm(RuntimeError):
    """What draws or writes films is not installed; the message says what to install."""


@dataclass(frozen=True)
class Film:
    """A film of a page.

    Attributes:
        file: the page.
        places: what is selected one after another, each a part of an address after the #; of the walk none.
        chapters: of the walk, those that are shown; all where none is named.
        width, height: pixels.
        pace: how much faster than one reads.
        fps: pictures a second of a motion.
        captions: whether what is said stands there.
    """

    file: PageFile
    places: Sequence[dict[str, int]]
    chapters: Sequence[str]
    width: int
    height: int
    pace: float
    fps: int
    captions: bool

    def __repr__(self) -> str:
        return f"Film({self.file.name}: {self.file.opening.look.trace.name})"

    def save(self, path: str | Path) -> Path:
        """Draw it and write it to a file; the ending of its name says as what.

        Raises:
            ValueError: another ending than .gif, .mp4 and .webm.
            NoFilm: what draws or writes it is not installed.
        """
        path = Path(path)
        ending = path.suffix.lower()
        if ending not in FORMATS:
            raise ValueError(f"path: {path.name!r} does not end in one of {', '.join(FORMATS)}")
        write = _gif if ending == ".gif" else _video
        # In a thread of its own: a notebook's has a loop in which Playwright would refuse to run.
        with ThreadPoolExecutor(1) as thread:
            thread.submit(lambda: write(path, self._frames(), self.fps)).result()
        return path

    def _frames(self) -> Iterator[Frame]:
        """Its pictures, drawn one after another."""
        with tempfile.TemporaryDirectory() as folder, _tab(self.width, self.height) as tab:
            tab.goto(self.file.save(Path(folder) / "page.html").as_uri())
            tab.locator(".viz-island[data-still]").wait_for()
            tab.add_style_tag(content=_STILL + ("" if self.captions else _SILENT))
            tab.clock.pause_at(tab.evaluate("Date.now()") + 1000)
            yield from self._beats(tab) if self.file.topic.is_story else self._selected(tab)

    def _beats(self, tab: Tab) -> Iterator[Frame]:
        """The walk, beat by beat: each motion, and then as long as its words take to read."""
        next_one = tab.locator("button.next")
        while True:
            chapter = (tab.locator(".walk").get_attribute("data-at") or "").partition(".")[0]
            shown = not self.chapters or chapter in self.chapters
            if shown:
                yield from self._motion(tab)
                yield _shot(tab), self._reading(tab.locator(".walk .said").inner_text())
            if next_one.is_disabled():
                return
            if (answer := tab.locator(".walk .answer")).count() and shown:
                answer.first.dispatch_event("click")
                yield from self._motion(tab)
            next_one.dispatch_event("click")

    def _selected(self, tab: Tab) -> Iterator[Frame]:
        """A page, for one selection after another."""
        for place in self.places:
            tab.evaluate("said => { location.hash = said }", "&".join(f"{axis}={n}" for axis, n in place.items()))
            yield from self._motion(tab)
            yield _shot(tab), 1.5 / self.pace

    def _motion(self, tab: Tab) -> Iterator[Frame]:
        """What moves, in steps of equal length whatever it takes to draw them: the clock of the page is ours."""
        for _ in range(round(MOTION * self.fps)):
            tab.clock.run_for(round(1000 / self.fps))
            yield _shot(tab), 1 / self.fps

    def _reading(self, text: str) -> float:
        if not self.captions:
            return 1.0 / self.pace
        minutes = len(_LETTER.findall(text)) / LETTERS + len(_WORD.findall(text)) / WORDS
        return max(1.0, 60 * minutes) / self.pace


def film(
    trace: Trace,
    name: str = "walk",
    *,
    layer: int | None = None,
    head: int | None = None,
    token: int | None = None,
    stack: Side | None = None,
    language: str = "en",
    over: str = "token",
    chapters: Sequence[str] = (),
    width: int = 960,
    height: int = 640,
    pace: float = 1.0,
    fps: int = 12,
    captions: bool = True,
) -> Film:
    """A film of the walk, or of another page as one selection follows another.

    >>> vm.film(trace).save("walk.gif")
    >>> vm.film(trace, "attention", over="head", layer=1).save("heads.mp4")

    Args:
        name: of the page.
        layer, head, token, stack, language: as of :func:`viz_model.page`.
        over: of a page, what is gone through: "layer", "head" or "token".
        chapters: of the walk, those that are shown, by their names in its address; all by default.
        width, height: pixels.
        pace: how much faster than one reads.
        fps: pictures a second while something moves.
        captions: whether what is said stands there.

    Raises:
        ValueError: as of :func:`viz_model.page`; no such axis; a size or pace that is none.
    """
    file = page(trace, name, layer=layer, head=head, token=token, stack=stack, language=language, writes=False)
    look = file.opening.look
    if over not in look.sizes:
        raise ValueError(f"over: {over!r} is not one of {', '.join(look.sizes)}")
    if not (0 < pace < float("inf") and 1 <= fps <= 60 and min(width, height) >= 200):
        raise ValueError("pace above 0, fps from 1 to 60, and width and height of at least 200 pixels are needed")
    here = {axis: look.place[axis] for axis in look.sizes}
    places = [] if file.topic.is_story else [{**here, over: n} for n in range(look.sizes[over])]
    even = (width + width % 2, height + height % 2)  # which encoders of film ask for
    return Film(file, places, tuple(chapters), *even, pace, fps, captions)


_STILL = """
.viz-island > .head .controls, .viz-island > .viz-terms, .viz-island .corner { display: none !important }
.walk .buttons { visibility: hidden }
"""
_SILENT = ".walk .foot, .viz-island .prose, .viz-island .quiz { display: none }"


@contextmanager
def _tab(width: int, height: int) -> Iterator[Tab]:
    """A page of a browser whose clock stands still until it is told otherwise.

    Raises:
        NoFilm: there is no Playwright, or no browser for it.
    """
    try:
        from playwright.sync_api import Error, sync_playwright
    except ImportError:
        raise NoFilm("a film is drawn by a browser: pip install 'viz-model[film]'") from None
    with sync_playwright() as playwright:
        found = shutil.which("chromium") or shutil.which("google-chrome")
        options: dict[str, Any] = {"executable_path": found} if found else {}
        if os.name == "posix" and os.geteuid() == 0:
            options["args"] = ["--no-sandbox"]  # which Chromium refuses to make for root
        try:
            browser = playwright.chromium.launch(**options)
        except Error:
            raise NoFilm("a film is drawn by Chromium, which is not here: playwright install chromium") from None
        try:
            context = browser.new_context(viewport={"width": width, "height": height}, offline=True)
            tab = context.new_page()
            tab.clock.install()
            yield tab
        finally:
            browser.close()


def _shot(tab: Tab) -> Image.Image:
    return Image.open(io.BytesIO(tab.screenshot())).convert("RGB")


def _gif(path: Path, frames: Iterator[Frame], fps: int) -> None:
    """Pictures that do not differ are one that stands for longer; colors are the first picture's own 256."""
    kept: list[tuple[Image.Image, float]] = []
    for image, seconds in frames:
        if kept and kept[-1][0].tobytes() == image.tobytes():
            kept[-1] = (kept[-1][0], kept[-1][1] + seconds)
        else:
            kept.append((image, seconds))
    images = [image.quantize(256, dither=Image.Dither.NONE) for image, _ in kept]
    lengths = [max(20, round(1000 * seconds)) for _, seconds in kept]
    images[0].save(path, save_all=True, append_images=images[1:], duration=lengths, loop=0, optimize=False)


def _video(path: Path, frames: Iterator[Frame], fps: int) -> None:
    try:
        import imageio_ffmpeg
    except ImportError:
        raise NoFilm("MP4 and WebM are written by FFmpeg: pip install 'viz-model[film]'; a GIF needs less") from None
    writer: Any = None
    try:
        for image, seconds in frames:
            if writer is None:
                codec = CODECS[path.suffix.lower()][1]
                writer = imageio_ffmpeg.write_frames(
                    str(path), image.size, fps=fps, codec=codec, macro_block_size=2, ffmpeg_log_level="error"
                )
                writer.send(None)
            data = np.ascontiguousarray(image).tobytes()
            for _ in range(max(1, round(seconds * fps))):
                writer.send(data)
    finally:
        if writer is not None:
            writer.close()
