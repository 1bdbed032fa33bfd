"""Pages as files: what is in them, in which languages, and what is refused."""

import base64
import gzip
import json
import re
import struct
from pathlib import Path
from typing import Any

import pytest
from tiny_models import language_model, tiny_config

import viz_model as vm
from viz_model import command
from viz_model.config import Rope
from viz_model.island.page_file import MOST_BYTES, MOST_WITH_WEIGHTS
from viz_model.plot.pages import NAMES
from viz_model.texts import LANGUAGES, Texts


def message(html: str) -> dict[str, Any]:
    """The header of a file, its shared parts put in their places."""
    found = re.search(r'unpacked\("([^"]+)"\)', html)
    assert found is not None
    data = gzip.decompress(base64.b64decode(found[1]))
    (length,) = struct.unpack("<I", data[:4])
    header: dict[str, Any] = json.loads(data[4 : 4 + length])
    known: list[Any] = []

    def whole(value: Any) -> Any:
        match value:
            case {"same": int(n)}:
                return known[n]
            case {"list": int(n)}:
                return header["lists"][n]
            case dict():
                return {name: whole(one) for name, one in value.items()}
            case list():
                return [whole(one) for one in value]
            case _:
                return value

    for part in header["pool"]:
        known.append(whole(part))
    return {**header, "pages": whole(header["pages"])}


def every(value: Any, kind: str) -> list[dict[str, Any]]:
    match value:
        case dict():
            own = [value] if value.get("kind") == kind else []
            return own + [found for one in value.values() for found in every(one, kind)]
        case list():
            return [found for one in value for found in every(one, kind)]
        case _:
            return []


@pytest.fixture(scope="module")
def run() -> vm.Trace:
    return vm.load("story-pre-ln").trace("The cat sat on")


@pytest.mark.parametrize("name", ["attention", "block", "overview", "embedding", "tokens", "norm_placement"])
def test_a_page_is_whole_in_every_language(run: vm.Trace, name: str, tmp_path: Path) -> None:
    path = vm.page(run, name, head=2, language="zh").save(tmp_path / f"{name}.html")
    html = path.read_text(encoding="utf-8")
    assert len(html.encode()) <= MOST_BYTES and '<html lang="zh">' in html
    assert not re.search(r'(?:src|href)="(?!data:)|url\(\s*["\']?(?!data:)', html.split("<script")[0])
    found = message(html)
    assert set(found["pages"]) == set(LANGUAGES) and found["first"]["place"] == {"head": 2}
    for language, sides in found["pages"].items():
        page, t = sides["decoder"], Texts.of(language, run.config)
        assert page["language"] == language and t(f"common.page_{name}") in page["heading"]
        assert every(page["items"], "scene") and page["boxes"][0]["fixed"]
        assert not every(page, "offer") and not every(page, "field") and '"where"' not in json.dumps(page)
        assert all("items" in section for section in every(page["items"], "section"))
        lists = {one["name"] for one in page["controls"]}
        assert {"lang"} <= lists and ("layer" in lists) == ("layer" not in vm.page(run, name).topic.without)


def test_of_a_long_text_a_part_is_held_and_said(run: vm.Trace) -> None:
    long = vm.load("story-pre-ln").trace("Once upon a time there was a dog. " * 20)
    page = message(vm.page(long, "overview", token=-1).html)["pages"]["en"]["decoder"]
    first, stop = page["holds"]["token"]
    assert 0 < first < stop == len(long) and f"tokens {first} to {stop - 1}" in json.dumps(page["notes"])
    short = message(vm.page(run, "overview").html)["pages"]["en"]["decoder"]
    assert short["holds"] == {"layer": [0, 4], "token": [0, 4]} and not short["notes"]


def test_the_walk_has_all_chapters_and_what_the_model_wrote(run: vm.Trace) -> None:
    found = message(vm.page(run, "walk", writes=False).html)
    stories = every(found["pages"]["en"]["decoder"], "walk")
    assert len(stories) == run.n_layers * run.config.n_heads
    names = [chapter["name"] for chapter in stories[0]["chapters"]]
    assert names[0] == "write" and names[-1] == "broken" and not stories[0]["ways"]
    recorded = stories[0]["recorded"]
    assert len(recorded) == 6 and len(recorded[" 0.75"]) > 20
    assert all(place["tokens"] and len(place["p"]) == 9 for place in recorded[" 0.75"])
    zh = every(found["pages"]["zh"]["decoder"], "walk")[0]
    assert zh["recorded"] is None and zh["chapters"][0]["title"] != stories[0]["chapters"][0]["title"]
    assert found["model"] is None and "writes nothing else" in json.dumps(stories[0]["chapters"][0]["beats"][0])


def test_the_walk_holds_the_weights_where_the_browser_knows_the_model(run: vm.Trace) -> None:
    html = vm.page(run, "walk").html
    found = message(html)
    assert MOST_BYTES < len(html) <= MOST_WITH_WEIGHTS
    assert found["model"]["config"]["d_model"] == 192 and len(found["model"]["labels"]) == 8192
    story = every(found["pages"]["en"]["decoder"], "walk")[0]
    assert story["recorded"] is None and "in this file" in json.dumps(story["chapters"][0]["beats"][0])
    assert (
        not found["pages"]["en"]["decoder"]["notes"]
        and every(story, "toy")[0]["data"]["types"]
        and len(story["chapters"][0]["beats"]) == 4
    )
    other = message(vm.page(vm.load("translate-t5").trace("The cat sat.", target="Le chat"), "walk").html)
    assert other["model"] is None and any(one["recorded"] for one in every(other["pages"]["en"], "walk"))
    assert message(vm.page(run, "tokens").html)["model"] is None


@pytest.mark.parametrize("name", sorted(set(NAMES) - {"cross_attention", "walk"}))
def test_a_run_of_ids_has_pages(name: str) -> None:
    lm = vm.load(language_model(tiny_config(position=Rope())).model, name="of ids")
    assert vm.page(lm.trace(ids=[3, 1, 4, 1, 5]), name).html


def test_what_there_is_not_is_refused(run: vm.Trace, tmp_path: Path) -> None:
    for wrong, said in (
        ({"name": "attentions"}, "attentions.*attention"),
        ({"layer": 9}, "layers 0 to 3"),
        ({"head": -7}, "heads 0 to 5"),
        ({"token": 4}, "tokens 0 to 3"),
        ({"language": "none"}, "none.*en"),
        ({"name": "cross_attention"}, "shows nothing"),
        ({"stack": "encoder"}, "decoder"),
    ):
        with pytest.raises(ValueError, match=said):
            vm.page(run, **wrong)
    with pytest.raises(ValueError, match=r"page\.pdf.*\.html"):
        vm.page(run).save(tmp_path / "page.pdf")
    with pytest.raises(TypeError, match=r"lm\.trace"):
        vm.page("text")  # type: ignore[arg-type]
    assert {"attention", "walk", "tokens"} <= set(NAMES)


def test_the_command_writes_a_page(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "tokens.html"
    command.main(["export", str(path), "--text", "A cat", "--language", "zh", "--token", "1"])
    assert f"{path.stat().st_size:,} bytes" in capsys.readouterr().out
    assert message(path.read_text(encoding="utf-8"))["first"] == {
        "lang": "zh", "side": "decoder", "place": {"token": 1}, "open": []
    }  # fmt: skip
    for wrong, said in (
        ([str(tmp_path / "x.html"), "--text", "A"], "--page"),
        ([str(path), "--text", "A", "--model", "nobody"], "nobody"),
        ([str(path), "--text", "A", "--layer", "9"], "layers 0 to 3"),
        ([str(tmp_path / "tokens.pdf"), "--text", "A"], ".html"),
    ):
        with pytest.raises(SystemExit):
            command.main(["export", *wrong])
        assert said in capsys.readouterr().err
