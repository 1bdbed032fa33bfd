"""A model that reads pictures: the field to draw in, and every page of such a model, in both languages."""

import base64
import dataclasses
import functools
import re
from typing import Any

import islands
import numpy as np
import pytest
import tiny_models
from app_driver import PAGES, boxes, check_cells, heading, offer, open_page, said, shown_of, tell
from PIL import Image, ImageDraw
from tiers import some, turns

import viz_model as vm
from viz_model import images
from viz_model.app import examples
from viz_model.app import sketch as centering
from viz_model.checkpoints import examples as beside
from viz_model.config import ClassHead, ModelConfig, Patches
from viz_model.texts import Texts
from viz_model.tokenizers.numerals import NUMERALS
from viz_model.topics.attribution import PICTURES
from viz_model.topics.attribution import patches as worths

MODEL, STRIPS = "digits-vit", "read-digits"
FOREIGN = {
    (MODEL, "en"): re.compile(r"\bsentences?\b|next token|your text\b|\bthe text\b|words? (before|after)", re.I),
    (MODEL, "zh"): re.compile("句子|这句话|整句话|下一个词元|你的文本"),
    (STRIPS, "en"): re.compile(r"\byour sentence\b|\btype a sentence\b|\btranslat(?!ors|or\b)", re.I),
    (STRIPS, "zh"): re.compile("你的句子|译文|译成|输入一个句子"),
}
"""What is said of models that read texts; a page may compare with these, and speaks of "a text model" then."""
SHAPES: list[dict[str, object]] = [{}, {"shape": [28, 29]}, {"shape": ["a", "b"]}, {"shape": 7}]
LABELS = ("tench, Tinca tinca", *(f"class {n}, a thing of that name" for n in range(30)))
DIGITS = {"en": re.compile(r"\bdigits?\b|\bdrawings?\b|\bink\b", re.I), "zh": re.compile("手写|墨迹|画板")}


def seven() -> np.ndarray:
    paper = Image.new("L", (28, 28))
    ImageDraw.Draw(paper).line([(2, 12), (12, 12), (5, 26)], fill=255, width=3)
    return np.array(paper)


@functools.cache
def shown(model: str, language: str = "en") -> vm.Trace:
    """The run that stands there unasked: of the first example, in the middle."""
    lm = vm.load(model)
    first = examples.of(lm, language)[0]
    if model == MODEL:
        return lm.trace(images.encode(centering.centered(images.decode(first))))
    return lm.trace(first, words(language), target_language=language)


def words(language: str) -> str:
    digits = beside.read(vm.load(STRIPS).folder)[0].numbers
    return {"en": ", ", "zh": "、"}[language].join(NUMERALS[language][n] for n in digits)


@pytest.mark.parametrize(("page", "asked"), turns(PAGES, list(FOREIGN)))
def test_every_page_speaks_of_pictures_or_says_why_not(page: str, asked: tuple[str, str]) -> None:
    model, language = asked
    app = open_page(page, {"model": model, "lang": language})
    t, told = Texts(language, pictures=model == MODEL, strips=model == STRIPS), said(app)
    assert app.query_params["model"] == model
    if shown_of(page, vm.load(model).config) is None:
        assert heading(app) == t(f"common.page_{page}") and t(f"pictures.why_{page}") in told
        assert [button.key for button in app.button if "pictures." in str(button.key)] == [f"pictures.{page}.other"]
        assert not app.tabs
        return
    assert not (found := FOREIGN[asked].search(told)), found
    assert page == "walk" or len(app.tabs) == 4
    assert not re.search(r"\{\{|\bnan\b", told)
    assert model == MODEL or page == "walk" or boxes(app)["target"] == words(language)
    check_cells(app, shown(model, language))


def test_what_is_drawn_is_moved_read_and_kept_in_the_address() -> None:
    app = open_page("next_token", {"model": MODEL, "lang": "en"})
    pixels = base64.b64encode(seven().tobytes()).decode()
    app = tell(app, "frame_sketch_field", "drawn", {"seq": 1, "pixels": pixels, "shape": [28, 28]})
    assert "The model reads a 7" in said(app)
    written = dict(app.query_params)["drawing"]
    written = written[0] if isinstance(written, list) else written
    drawn = images.decode(written)
    assert np.abs(drawn.astype(int) - seven()).max() <= 8  # sixteen levels
    again = open_page("next_token", {"model": MODEL, "lang": "en", "drawing": written})
    assert "The model reads a 7" in said(again)
    blank = base64.b64encode(bytes(784)).decode()
    app = tell(app, "frame_sketch_field", "drawn", {"seq": 2, "pixels": blank, "shape": [28, 28]})
    assert Texts("en", pictures=True)("common.empty") in said(app)


@pytest.mark.parametrize(
    "told",
    [
        None,
        7,
        {},
        {"seq": 1, "pixels": "!"},
        {"seq": "1", "pixels": ""},
        {"seq": 3, "pixels": "AAAA", "shape": [28, 28]},
        *({"seq": 1, "pixels": base64.b64encode(bytes(784)).decode(), **shape} for shape in SHAPES),
    ],
)
def test_what_is_no_drawing_is_left_alone(told: object) -> None:
    app = open_page("next_token", {"model": MODEL, "lang": "en"})
    assert said(tell(app, "frame_sketch_field", "drawn", told)) == said(app)


def large(**changes: Any) -> ModelConfig:
    """A model of pictures in color that are larger than a text holds: 96 × 144 pixels in 216 patches."""
    patches = Patches(height=96, width=144, patch=8)
    digits = vm.load(MODEL).config
    return dataclasses.replace(digits, inputs=patches, n_context=217, head=ClassHead(labels=LABELS), **changes)


@pytest.mark.parametrize("language", some(["en", "zh"], 1))
def test_a_large_picture_in_color_is_read_small_without_digits(language: str, monkeypatch: pytest.MonkeyPatch) -> None:
    lm = tiny_models.language_model(large())
    offer(monkeypatch, {"large": lm})
    ring = images.fit(images.decode(examples.of(lm, language)[0]), *images.held(96, 144), 3)
    run, told = lm.trace(images.encode(ring)), {}
    for page in ("walk", "overview", "attention", "embedding", "next_token", "attribution", "ablations"):
        app = open_page(page, {"model": "large", "lang": language, "door_depth": "1"})
        check_cells(app, run)
        told[page] = said(app)
        assert not DIGITS[language].search(told[page]), page
    t = Texts.of(language, lm.config)
    worth = islands.look(run, PICTURES).once(worths.worth)
    assert (worth.side, worth.n_runs) == (4, 3 * 5)
    assert f"{worth.side} × {worth.side}" in told["attribution"] and str(worth.n_runs) in told["attribution"]
    assert t.prose("next_token.see_depth_most", most=10, n=len(LABELS)) in told["next_token"]
    uploaded = open_page("overview", {"model": "large", "lang": language})
    (help_,) = [each.label for each in uploaded.file_uploader]
    assert "43 × 64" in help_ and "96 × 144" in help_
