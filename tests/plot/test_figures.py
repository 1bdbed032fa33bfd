"""Figures without the app: of every bundled model, in every format, the same picture that a page shows."""

import base64
import csv
import dataclasses
import inspect
import io
import re
import xml.etree.ElementTree as ET
from collections import Counter
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import plotly.graph_objects as go
import pypdfium2
import pytest
import scenes
from app_driver import open_page, pictures
from bundled_models import NAMES, example
from doors import all_open
from matplotlib import figure as canvas
from tiers import crossed, some

import viz_model as vm
from viz_model.drawing.scene import Cells, encode
from viz_model.drawing.scene.svg.ground import Ground
from viz_model.plot import Figure

OF_TEXT = ("tokens", "embedding", "logit_lens", "next_tokens")
OF_HEADS, OF_LAYERS = ("head", "steps", "cross"), ("block", "norms", "neurons")
FUNCTIONS = [*OF_TEXT, *OF_HEADS, *OF_LAYERS, "overview", "position", "heads", "residual", "attribution"]
PLACES = {name: {"layer": 1, "head": 2} if name in OF_HEADS else {"layer": 1} for name in OF_HEADS + OF_LAYERS}
"""Where the functions look that are told."""
LAYERS = {"story-next": 3}
"""Where attention stands in another layer than in that of most models."""


@cache
def run(model: str) -> vm.Trace:
    return example(vm.load(model))


def drawn(model: str, name: str, **options: Any) -> Figure:
    of_weights = model in LAYERS and name in ("head", "steps")
    place = {**PLACES.get(name, {}), **({"layer": LAYERS[model]} if of_weights else {})}
    made: Figure = getattr(vm.plot, name)(run(model), **place, **options)
    return made


def written(file: str) -> list[str]:
    return ["".join(part.itertext()) for part in ET.fromstring(file).iter("{http://www.w3.org/2000/svg}text")]


def _bare(text: str) -> str:
    """Without blanks, and without the pictures of control characters, which few fonts have."""
    return re.sub(r"[\s\u2400-\u2426]", "", text)


def test_every_figure_is_drawn_here() -> None:
    others = {"Figure", "Grid", "compare", "experts", "grid", "painted", "show"}  # in tests of their own
    assert {*FUNCTIONS, *others} == {*vm.plot.__all__}, "FUNCTIONS says which figures these tests draw"


def told(path: Path) -> str:
    """What the only page of a PDF says, without blanks."""
    (page,) = pypdfium2.PdfDocument(path)
    return _bare(page.get_textpage().get_text_range())


@pytest.mark.parametrize(("model", "name"), crossed(NAMES, FUNCTIONS))
def test_every_figure_of_every_model_is_saved_whole(model: str, name: str, tmp_path: Path) -> None:
    lang = ("en", "zh")[(NAMES.index(model) + FUNCTIONS.index(name)) % 2]
    if name == "cross" and len(run(model).config.sides) == 1:
        with pytest.raises(ValueError, match="cross: a model with an encoder and a decoder is needed"):
            drawn(model, name)
        return
    if run(model).config.is_vision_encoder and name in OF_TEXT:
        with pytest.raises(ValueError, match=f"{name}: this model reads a picture"):
            drawn(model, name)
        return
    figure = drawn(model, name, lang=lang, theme="paper")
    assert isinstance(figure.data, tuple), "data: a NamedTuple of arrays, written by @short_repr"
    assert len(repr(figure.data)) < 800  # names and shapes, no numbers
    said = written(figure.save(tmp_path / "x.svg").read_text(encoding="utf-8"))
    assert figure.caption.replace(" ", "") in "".join(said).replace(" ", "") and model in figure.caption
    if lang == "zh":
        assert re.search("[\u4e00-\u9fff]", figure.scene.title)
    in_pdf = told(figure.save(tmp_path / "x.pdf", width_mm=174))
    # Letter by letter: what is written upright and what lies on its side are read into each other.
    assert not Counter(_bare("".join(written(figure.svg(174 / 25.4 * 96))))) - Counter(in_pdf)
    page = figure.save(tmp_path / "x.html").read_text(encoding="utf-8")
    assert f'<html lang="{lang}">' in page and not re.search(r"<link|\bsrc=", page.partition("<script")[0])
    assert (tmp_path / "x.csv") == figure.save(tmp_path / "x.csv")


def test_a_png_is_twice_as_sharp_and_a_name_says_which_file(tmp_path: Path) -> None:
    figure = drawn("story-pre-ln", "steps")
    data = figure.save(tmp_path / "x.PNG").read_bytes()
    assert data.startswith(b"\x89PNG") and int.from_bytes(data[16:20], "big") == 2 * 960
    with pytest.raises(ValueError, match=r"'x.jpg' does not end in one of \.svg, \.png, \.pdf, \.html, \.csv"):
        figure.save(tmp_path / "x.jpg")
    with pytest.raises(ValueError, match="width_mm"):
        figure.save(tmp_path / "x.svg", width_mm=0)
    link = "https://example.org/?layer=1"
    assert written(figure.save(tmp_path / "x.svg", link=link).read_text("utf-8"))[-1].endswith(link)


def same(found: Any, expected: Any) -> None:
    np.testing.assert_allclose(np.asarray(found), np.asarray(expected), rtol=1e-5, atol=1e-6)


def test_an_encoder_is_asked_for_a_token_that_it_does_not_see() -> None:
    trace = run("story-bert")
    lm, position = vm.load("story-bert"), 4
    ids = list(trace.ids)
    ids[position] = lm.tokenizer.mask_id  # type: ignore[assignment]
    logits = lm.trace(ids=ids)["logits"][position]
    choice = vm.plot.next_tokens(trace, position).data
    same(choice.model[0], logits.softmax(-1).max())
    assert choice.marked_token.id == trace.ids[position]
    same(vm.plot.attribution(trace, position).data.total, logits.max())


OF_PAGE = {
    "overview": {"picture": "overview"},
    "attention": {"grid": "heads", "head": "head", "steps": "steps"},
    "embedding": {"matrix": "embedding"},
    "block": {"norms": "residual", "strips": "block", "norm": "norms", "neurons": "neurons"},
    "attribution": {"sum": "attribution", "lens": "logit_lens"},
    "next_token": {"choice": "next_tokens"},
    "cross_attention": {"map": "cross"},
    "tokens": {"cuts": "tokens"},
    "position": {},
}
SCHEMES = {"story-pre-ln": "matrix", "translate-t5": "curves", "story-modern": "angles", "story-none": "effect"}
"""The picture of the position page that each scheme is drawn by."""


def plain(sent: scenes.Sent, number: Callable[[Any], Any] = np.asarray) -> Any:
    """A picture by what it draws and says: not by its name, nor by what a click tells the page."""
    fields = ("panels", "title", "description", "heading", "note", "keys", "even")
    whole = scenes.whole({name: sent.header.get(name) for name in fields}, sent.header.get("lists", []))
    return _drawn(scenes.resolved(whole, sent.arrays, {}), number)


def about(value: Any) -> Any:
    return pytest.approx(value, rel=2e-3, abs=2e-3, nan_ok=True)


def _drawn(value: Any, number: Callable[[Any], Any]) -> Any:
    """Without what a click tells the page, and the place at which a picture is there."""
    if isinstance(value, dict):
        left_out = ("picks", "where", "act", "present")
        return {name: _drawn(inner, number) for name, inner in value.items() if name not in left_out}
    if isinstance(value, list | tuple) and not all(isinstance(one, int | float) for one in value):
        return [_drawn(inner, number) for inner in value]
    is_number = isinstance(value, np.ndarray | np.generic | list | tuple | int | float)
    return number(np.asarray(value, np.float64)) if is_number else value


@pytest.mark.parametrize(
    ("model", "page"),
    some([(model, page) for model in SCHEMES for page in OF_PAGE if page != "cross_attention" or "trans" in model], 6),
)
def test_a_page_shows_the_same_picture(model: str, page: str) -> None:
    text, lang = "She is reading a book.", ("en", "zh")[len(page) % 2]
    place = {"layer": 1, "head": 2, "token": 3}
    query = {"model": model, "text": text, "lang": lang} | {name: str(n) for name, n in place.items()}
    lm = vm.load(model)
    target = {} if len(lm.config.sides) == 1 else {"target": "Elle lit un livre."}
    on_page = pictures(open_page(page, query | target | all_open(page)))
    trace = lm.trace(text, target=target.get("target"))
    for key, name in (OF_PAGE[page] or {SCHEMES[model]: "position"}).items():
        make = getattr(vm.plot, name)
        known = {**place, "position": 3, "stack": None if len(lm.config.sides) == 1 else "decoder", "lang": lang}
        taken = inspect.signature(make).parameters.keys()
        figure = make(trace, **{word: known[word] for word in known.keys() & taken})
        sent = on_page[next(known for known in on_page if known.endswith(f".{key}"))]
        assert plain(scenes.read(encode(figure.scene))) == plain(sent, about), name


def test_runs_of_unlike_models_and_of_a_change_are_compared() -> None:
    text = "The cat sat on the mat"
    decoder, encoder = (vm.load(name).trace(text) for name in ("story-pre-ln", "story-bert"))
    assert vm.plot.compare(decoder, encoder).data.apart is None
    edited = vm.load("story-pre-ln").trace(text, edits=[vm.edits.AblateHead(layer=1, head=2)])
    changed = vm.plot.compare(decoder, edited)
    assert not changed.data.apart.distances[:2].any() and changed.data.apart.distances[2:].all()
    assert changed.data.names == ("story-pre-ln", "story-pre-ln (head-off.1.2)") and "(head-off.1.2)" in changed.caption
    english, french = (vm.load("translate-2017").trace("She reads.", target_language=to) for to in ("zh", "fr"))
    assert vm.plot.compare(english, french, stack="encoder").data.apart is not None


def test_a_figure_shows_itself_in_a_frame_of_its_own() -> None:
    figure = vm.show(run("story-pre-ln"))
    bundle = figure._repr_mimebundle_()
    assert bundle["text/html"].count("<iframe srcdoc=") == bundle["text/html"].count("<iframe") == 1
    # Where frames and handlers are taken out, this is what is left.
    image = re.fullmatch(
        r'<img src="data:image/svg\+xml;base64,(.+)" alt=".+" onload="this.remove\(\)">',
        bundle["text/html"].partition("<iframe")[0],
    )
    assert image and base64.b64decode(image[1]).decode() == bundle["image/svg+xml"]
    ET.fromstring(bundle["image/svg+xml"])
    assert bundle["text/plain"] == f"Figure(overview: {figure.caption})"


def test_what_has_axes_is_had_from_plotly_and_what_has_none_is_refused() -> None:
    trace = run("story-pre-ln")
    made = vm.plot.compare(trace, run("story-post-ln"), part="depth").to_plotly()
    assert isinstance(made, go.Figure) and made.data
    (heat,) = vm.plot.head(trace, 1, 3).to_plotly().data
    pattern = trace["blocks.1.attn.pattern"][3]
    visible = trace.mask(1).numpy()
    same(np.asarray(heat.z)[visible], pattern[visible])
    assert len(vm.plot.steps(trace, 1, 3).to_plotly().data) == 5
    lines = vm.plot.residual(trace).to_plotly().data
    assert len(lines) == len(trace)
    same(lines[2].y[-1], trace["blocks.3.resid.out"][2].norm())
    with pytest.raises(ValueError, match="painted: this picture has no axes"):
        figure = vm.plot.painted(run("digits-vit"), 1, 2)
        figure.scene = dataclasses.replace(figure.scene, panels=())
        figure.to_plotly()


def test_numbers_as_a_data_frame_and_on_axes_of_matplotlib() -> None:
    trace = run("story-pre-ln")
    table = vm.plot.head(trace, 1, 3).to_pandas()
    assert list(table.columns) == ["part", "row", "column", "value"] and len(table) == len(trace) ** 2
    assert table["value"].isna().sum() == (~trace.mask(1)).sum()
    assert not table["row"].str.contains("\n").any()
    axes = canvas.Figure().subplots(1, 2)
    same(vm.plot.head(trace, 1, 3).to_matplotlib(axes[0]).images[0].get_clim()[1], 1.0)
    assert len(vm.plot.residual(trace).to_matplotlib(axes[1]).lines) == len(trace)
    for name in ("tokens", "residual", "norms", "neurons", "experts"):
        assert len(getattr(vm.plot, name)(run("story-moe")).to_pandas()) > 5, name


def test_a_figure_is_laid_out_as_it_is_asked(tmp_path: Path, recwarn: pytest.WarningsRecorder) -> None:
    trace = run("story-pre-ln")
    plain = vm.plot.head(trace, 1, 3)
    styled = vm.plot.head(trace, 1, 3, title="One head", caption=False, highlight=False, square=True)
    assert "One head" in styled.svg() and "story-pre-ln" not in styled.svg()
    frames = [sum(getattr(m, "stroke", None) == "accent" for m in f.scene.panels[0].marks) for f in (plain, styled)]
    assert frames == [1, 0]
    for width in (320.0, 700.0):
        (panel,) = styled._fitted(width).panels
        cells = next(mark for mark in panel.marks if isinstance(mark, Cells) and mark.id == "cells")
        assert cells.height == pytest.approx(Ground(width, {}).px(cells.width), abs=0.01)
    assert vm.plot.residual(trace, legend=True).scene.keys and not vm.plot.residual(trace).scene.keys
    assert vm.plot.head(trace, 1, 3, caption="mine").caption == "mine"
    lettered = vm.plot.compare(trace, run("story-post-ln"), letters=True).svg()
    assert all(f">({letter})</text>" in lettered for letter in "abc")
    low = vm.plot.attribution(trace).save(tmp_path / "low.svg", width_mm=120, height_mm=90)
    root = ET.parse(low).getroot()
    assert root.get("width") == "120mm"
    assert float(root.get("height", "").removesuffix("mm")) == pytest.approx(90, abs=0.2)  # heights are whole pixels
    assert not recwarn.list
    with pytest.raises(ValueError, match="height_mm: at this width the picture needs at least"):
        vm.plot.attribution(trace).save(low, width_mm=120, height_mm=10)
    with pytest.warns(UserWarning, match="width_mm: 40 mm is narrower than the 74 mm that it needs"):
        vm.plot.head(trace, 1, 3).save(tmp_path / "small.svg", width_mm=40)
    with pytest.warns(UserWarning, match="width_mm: at 85 mm there is no room for the numbers"):
        vm.plot.head(trace, 1, 3).save(tmp_path / "small.svg", width_mm=85)


def test_figures_in_a_grid_are_one_file(tmp_path: Path) -> None:
    trace = run("story-pre-ln")
    figures = [vm.plot.head(trace, 1, head, caption=f"head {head}") for head in (0, 3)] + [vm.plot.residual(trace)]
    grid = vm.plot.grid(figures)
    root = ET.fromstring(grid.svg(800))
    inner = [part for part in root if part.tag.endswith("svg")]
    assert [float(part.get("x", "")) for part in inner] == [0, 408, 0]
    assert [part.get("width") for part in inner] == ["392"] * 3
    assert float(root.get("height", "")) == float(inner[2].get("y", "")) + float(inner[2].get("height", ""))
    letters = [part.text for part in root if part.tag.endswith("text")]
    assert letters == ["(a)", "(b)", "(c)"]
    for ending in ("svg", "png", "pdf", "html", "csv"):
        assert grid.save(tmp_path / f"grid.{ending}", width_mm=170).stat().st_size > 2000
    rows = list(csv.reader(io.StringIO(grid.numbers())))
    assert len(rows) == 1 + sum(len(figure.numbers().splitlines()) - 1 for figure in figures)
    assert {row[0][:3] for row in rows[1:]} == {"(a)", "(b)", "(c)"}
    with pytest.raises(ValueError, match="figures: expected at least one"):
        vm.plot.grid([])


REFUSED: list[tuple[str, dict[str, Any], str]] = [
    ("head", {"layer": 4, "head": 0}, "layer: there are layers 0 to 3, not 4"),
    ("head", {"layer": 0, "head": -7}, "head: there are heads 0 to 5, not -7"),
    ("head", {"layer": 0, "head": 0, "matrix": "Q"}, "matrix: 'Q' is not one of q, k, v, "),
    ("steps", {"layer": 0, "head": 0, "token": 99}, "token: there are tokens 0 to 9, not 99"),
    ("steps", {"layer": 0, "head": 0, "token": 1.5}, "token: a whole number is needed, not 1.5"),
    ("overview", {"lang": "none"}, "lang: 'none' is not one of en, "),
    ("overview", {"theme": "blue"}, "theme: 'blue' is not one of light, dark, paper"),
    ("overview", {"stack": "encoder"}, "stack: this model has decoder, not 'encoder'"),
    ("block", {"layer": 0, "dimension": 192}, "dimension: there are dimensions 0 to 191, not 192"),
    ("norms", {"which": "cross"}, "which: 'cross' is not one of attn, ffn"),
    ("attribution", {"target": 10**6}, "target: 1000000 is not a token of this vocabulary"),
    ("attribution", {"target": 5, "rival": 5}, "rival: a token is not compared with itself"),
]
OF_A_STACK = [
    ("next_tokens", {"stack": "encoder"}, "next_tokens: the encoder of this model ends in vectors"),
    ("attribution", {"stack": "encoder", "target": "a"}, "target: the encoder ends in vectors"),
]
EVERY = [*(("story-pre-ln", *one) for one in REFUSED), *(("translate-2017", *one) for one in OF_A_STACK)]


@pytest.mark.parametrize(("model", "name", "asked", "message"), EVERY)
def test_what_there_is_not_is_refused_with_what_there_is(
    model: str, name: str, asked: dict[str, Any], message: str
) -> None:
    with pytest.raises(ValueError, match=re.escape(message)):
        getattr(vm.plot, name)(run(model), **asked)
