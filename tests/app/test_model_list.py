"""The page of models: what there is, what could not be opened and why, and looking again."""

import json
import re
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
import streamlit as st
from app_driver import open_page

from viz_model.app import runs
from viz_model.checkpoints import registry
from viz_model.checkpoints.families import absent
from viz_model.texts import Texts


@pytest.fixture
def shelf(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    refused = {
        "a-whale": ("config.json", {"model_type": "deberta"}),
        "an-adapter": ("adapter_config.json", {"peft_type": "LORA", "base_model_name_or_path": "meta/llama"}),
        "half-a-model": ("config.json", {"model_type": "gpt2"}),
    }
    for name, (file, plain) in refused.items():
        (tmp_path / name).mkdir()
        (tmp_path / name / file).write_text(json.dumps(plain), encoding="utf-8")
    monkeypatch.setenv(registry.PATH_VARIABLE, str(tmp_path))
    st.cache_resource.clear()
    yield tmp_path
    st.cache_resource.clear()


def test_what_could_not_be_opened_is_told_with_its_reason(shelf: Path) -> None:
    for lang, reasons in {
        "en": ("is not read here; the nearest that is read is bert", "this is an adapter", "no such file"),
        "zh": ("能读的当中最接近的是 bert", "这是适配器", "没有这个文件"),
    }.items():
        app = open_page("models", {"lang": lang})
        assert not app.exception
        told = [warning.value for warning in app.warning]
        assert len(told) == 3
        names = ("a-whale", "an-adapter", "half-a-model")
        for name, reason, said in zip(names, reasons, told, strict=True):
            assert name in said and reason in said and str(shelf) not in said
        linked = {link.proto.label for link in app.get("page_link")}
        assert linked >= set(runs.configs()) and "a-whale" not in linked


def test_a_model_that_has_come_is_found_and_one_that_was_changed_is_read_anew(shelf: Path) -> None:
    app = open_page("models", {"lang": "en"})
    shutil.copytree(registry.BUNDLED / "story-none", shelf / "newcomer")
    assert "newcomer" not in runs.names()
    app.button(key="model_list.look").click().run()
    assert "`newcomer`" in app.success[0].value and "newcomer" in runs.names()
    own, bundled_before = runs.loaded("newcomer"), runs.loaded("story-none")
    app.button(key="model_list.look").click().run()
    assert "No new model" in app.success[0].value
    assert runs.loaded("newcomer") is not own and runs.loaded("story-none") is bundled_before


@pytest.mark.parametrize("family", absent.ABSENT)
def test_every_refusal_of_a_known_family_is_translated(family: str) -> None:
    message = f"config.json: model_type: {absent.told(family, lambda: ('', ()))}"
    said = Texts("zh").error(message)
    left = said.partition("没有：")[2]
    assert re.search("[\u4e00-\u9fff]", left) and not re.search("[a-z]+ [a-z]+ [a-z]+", left)
