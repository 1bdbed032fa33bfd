"""Every page on every kind of model: it renders, in both languages, and its code runs and agrees."""

from __future__ import annotations

import contextlib
import io
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import torch
from streamlit.testing.v1 import AppTest
from tiny_family import write_family

import viz_model as vm
from viz_model.ui import runs
from viz_model.ui.frame import SECTIONS

ROOT = Path(__file__).resolve().parents[1]
PAGES = [page for pages in SECTIONS.values() for page in pages]
IDS, WORDS = "5 9 12 5 30", "A little cat sat on the mat"
NAMES = (
    "tiny-alibi",
    "tiny-bert",
    "tiny-gated-t5",
    "tiny-llama-ids",
    "tiny-nowhere",
    "tiny-qwen3",
    "tiny-t5",
    "tiny-window",
)
VIEWS = [(name, side) for name in NAMES for side in (("encoder", "decoder") if "t5" in name else ("decoder",))]

Open = Callable[..., AppTest]


@pytest.fixture(scope="module", autouse=True)
def family(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """The models of :mod:`tiny_family`, in the app's list."""
    folder = tmp_path_factory.mktemp("family")
    assert tuple(write_family(folder)) == NAMES
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("VIZ_MODEL_PATH", str(folder))
        runs.configs.clear()  # the app looks for models once
        yield
    runs.configs.clear()


@pytest.fixture
def visit() -> Open:
    def visit(page: str, model: str, **query: str) -> AppTest:
        app = AppTest.from_file(ROOT / "app.py", default_timeout=120)
        app.query_params["model"] = model
        app.query_params["text"] = IDS if model.endswith("ids") else WORDS
        for name, value in query.items():
            app.query_params[name] = value
        app.run()
        if page != "overview":
            app.switch_page(f"pages/{page}.py").run()
        assert not app.exception, app.exception[0].message
        return app

    return visit


def test_the_app_lists_them() -> None:
    assert set(NAMES) <= set(vm.models())


@pytest.mark.parametrize("page", PAGES)
@pytest.mark.parametrize(("model", "side"), VIEWS)
def test_a_page_renders_and_its_code_runs_and_agrees(page: str, model: str, side: str, visit: Open) -> None:
    app = visit(page, model, side=side, layer="1", head="2", token="3", lang="en")
    assert app.query_params["model"] == model
    said = [part.value for part in (*app.markdown, *app.caption, *app.subheader, *app.info)]
    assert not [text for text in said if "{{" in text]
    shown = [block.value for block in app.code if "import viz_model" in block.value]
    assert shown or (page == "cross_attention" and "t5" not in model)
    for code in shown:
        assert len(code.splitlines()) <= 32
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed), torch.no_grad():
            exec(compile(code, page, "exec"), {})
        lines = printed.getvalue().split()
        assert "True" in lines and "False" not in lines, code


@pytest.mark.parametrize("page", PAGES)
@pytest.mark.parametrize(("model", "side"), VIEWS)
def test_a_page_speaks_chinese_and_one_token_is_enough(page: str, model: str, side: str, visit: Open) -> None:
    visit(page, model, side=side, lang="zh", text="5" if model.endswith("ids") else "a", target="")


def test_a_target_is_part_of_the_view(visit: Open) -> None:
    app = visit("overview", "tiny-t5", target="the cat", token="1")
    assert app.text_input(key="frame.target").value == "the cat"
    assert app.query_params["target"] == "the cat"
    app.button(key="frame.target_own").click().run()
    assert not app.exception and "target" not in app.query_params


def test_a_text_that_is_no_list_of_ids_is_asked_for_again(visit: Open) -> None:
    app = visit("overview", "tiny-llama-ids", text="hello")
    assert "'hello' is not a token id" in app.info[0].value
    app.button(key="frame.example.0").click().run()
    assert not app.exception and not app.info


def test_another_model_keeps_the_view_within_its_bounds(visit: Open) -> None:
    app = visit("attention", "tiny-t5", layer="2", side="decoder")
    assert app.query_params["layer"] == "2"
    app.selectbox(key="sidebar.model").set_value("tiny-bert").run()
    assert not app.exception and app.query_params["layer"] == "1"
