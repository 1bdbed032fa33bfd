"""Films, decoded: as long as asked for, of the size asked for, and something moves in them."""

import itertools
import sys
from pathlib import Path
from typing import Any

import imageio_ffmpeg
import numpy as np
import pytest
from PIL import Image, ImageSequence

import viz_model as vm
from viz_model.plot import films

pytestmark = pytest.mark.browser


@pytest.fixture(scope="module")
def run(chromium: Any) -> vm.Trace:
    assert chromium  # it draws them
    return vm.load("story-pre-ln").trace("The cat sat on")


def test_a_page_goes_through_its_heads_as_a_gif(run: vm.Trace, tmp_path: Path) -> None:
    path = vm.film(run, "overview", over="token", width=640, height=480, fps=4).save(tmp_path / "tokens.gif")
    frames = [np.asarray(frame.convert("RGB")).astype(int) for frame in ImageSequence.Iterator(Image.open(path))]
    assert len(frames) >= len(run) and all(frame.shape == (480, 640, 3) for frame in frames)
    assert all(np.abs(one - next_one).max() > 40 for one, next_one in itertools.pairwise(frames))


def test_the_walk_is_a_film_with_and_without_captions(run: vm.Trace, tmp_path: Path) -> None:
    how: dict[str, Any] = {"chapters": ("position",), "width": 600, "height": 500, "fps": 4}
    lengths = []
    cases: tuple[dict[str, Any], ...] = ({"pace": 4}, {"pace": 8, "captions": False})
    for said in cases:
        reader = imageio_ffmpeg.read_frames(str(vm.film(run, **how, **said).save(tmp_path / "walk.mp4")))
        meta = next(reader)
        lengths.append(meta["duration"])
        assert meta["size"] == (600, 500) and len(set(reader)) > 8
    assert lengths[0] > lengths[1] > 2


def test_what_is_no_film_is_refused(run: vm.Trace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ValueError, match=r"\.avi.*\.gif"):
        vm.film(run, "tokens").save(tmp_path / "film.avi")
    for wrong in ({"pace": 0}, {"fps": 0}, {"width": 10}, {"over": "word"}):
        with pytest.raises(ValueError):
            vm.film(run, "tokens", **wrong)
    monkeypatch.setitem(sys.modules, "playwright.sync_api", None)
    with pytest.raises(films.NoFilm, match=r"pip install 'viz-model\[film\]'"):
        vm.film(run, "tokens").save(tmp_path / "film.gif")
