"""viz_model.runs.notebook: every snippet runs, and makes what the run made."""

import contextlib
import io
import itertools
import json
from importlib.metadata import PathDistribution
from typing import Any

import bundled_models
import nbformat
import pytest
from IPython.core.inputtransformer2 import TransformerManager
from tiers import some
from tiny_models import describe, language_model, run_both, tiny_config, variants

import viz_model as vm
from viz_model.config import ModelConfig
from viz_model.model import sites
from viz_model.runs.notebook import MOST_LINES, Snippet, notebook, preamble, snippets, source
from viz_model.runs.trace import Trace


def run(code: str, names: dict[str, Any]) -> list[list[str]]:
    """What code prints, line by line, in words; lines that only IPython reads are made Python as IPython does it."""
    with contextlib.redirect_stdout(io.StringIO()) as printed:
        exec(TransformerManager().transform_cell(code), names)
    return [line.split() for line in printed.getvalue().splitlines()]


def check(trace: Trace, names: dict[str, Any], layer: int = 0) -> tuple[Snippet, ...]:
    """Run every snippet after one preamble; each compares what it says that it makes."""
    found = snippets(trace, layer)
    for snippet in found:
        assert run(snippet.code, names) == [[name, "True"] for name in snippet.makes], snippet.code
    return found


def pictures(written: str) -> dict[str, str]:
    """The cells of a notebook that draw, by the value that the cell before them made."""
    cells = ["".join(cell["source"]) for cell in json.loads(written)["cells"] if cell["cell_type"] == "code"]
    drawing = [pair for pair in itertools.pairwise(cells) if pair[1].startswith("vm.plot.")]
    return {before.rpartition(", ")[2].strip('")'): cell for before, cell in drawing}


@pytest.mark.parametrize("config_", variants(), ids=describe)
def test_every_site_is_reproduced(config_: ModelConfig, monkeypatch: pytest.MonkeyPatch) -> None:
    lm = language_model(config_)
    monkeypatch.setattr(vm, "load", lambda name: lm)
    trace = run_both(lm, segments=[n % 2 for n in range(7)] if config_.n_segments else None)
    names: dict[str, Any] = {}
    assert run("\n".join(preamble(trace, "tiny")), names) == []
    again: Trace = names["trace"]
    assert again is not trace and again.ids == trace.ids and again.target_ids == trace.target_ids
    found = check(trace, names, layer=1)
    made = [name for snippet in found for name in snippet.makes]
    assert len(set(made)) == len(made)
    longest = max(found, key=lambda snippet: len(snippet.lines)).lines
    assert len(preamble(trace, "tiny")) + len(longest) <= MOST_LINES
    layers = {name: sites.split_name(sites.split_side(name)[1])[0] for name in sites.table(config_)}
    assert set(made) == {name for name, layer in layers.items() if layer in (None, 1)}


def test_the_notebook_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    lm = language_model(tiny_config(n_vocab=8192))
    monkeypatch.setattr(vm, "load", lambda name: lm)
    trace = lm.trace("Once \"upon\" a 'time'\n从前 \\", max_tokens=9)
    assert trace.n_dropped
    written = json.loads(notebook(trace, "tiny", 1, opening="# 从前", label=lambda site: site.label.upper()))
    nbformat.validate(nbformat.from_dict(written))
    cells = written["cells"]
    assert cells[0]["source"] == ["# 从前"]
    names: dict[str, Any] = {}
    printed = []
    for cell in cells:
        if cell["cell_type"] == "code":
            printed += run("".join(cell["source"]), names)
    assert names["trace"].ids == trace.ids
    assert len(printed) > 30 and all(line[1] == "True" for line in printed)
    assert any("ATTENTION PATTERN" in "".join(cell["source"]) for cell in cells)
    with pytest.raises(ValueError, match="changed"):
        notebook(run_both(lm, edits=[vm.edits.AblateHead(layer=0, head=1)]), "tiny")


@pytest.mark.parametrize(
    ("said", "origin"),
    [
        ({"url": "file:///home/me/viz-model", "dir_info": {}}, ""),
        ({"url": "https://example.org/viz_model-1.whl", "archive_info": {}}, "https://example.org/viz_model-1.whl"),
        (
            {"url": "https://example.org/v.git", "vcs_info": {"vcs": "git", "commit_id": "abc"}},
            "git+https://example.org/v.git@abc",
        ),
        (None, ""),
    ],
)
def test_a_notebook_installs_no_name_that_is_free(said: Any, origin: str, monkeypatch: pytest.MonkeyPatch) -> None:
    text = None if said is None else json.dumps(said)
    monkeypatch.delenv("VIZ_MODEL_SOURCE", raising=False)
    monkeypatch.setattr(PathDistribution, "read_text", lambda self, name: text)
    assert source() == origin
    first = "".join(json.loads(notebook(run_both(language_model(tiny_config())), "tiny", None))["cells"][0]["source"])
    assert (f"%pip install --quiet {origin}" if origin else "raise ModuleNotFoundError(") in first
    assert "install --quiet viz" not in first


@pytest.mark.parametrize("name", some(bundled_models.NAMES, 3))
def test_the_bundled_models(name: str) -> None:
    trace = bundled_models.example(vm.load(name))
    names: dict[str, Any] = {}
    run("\n".join(preamble(trace, name)), names)
    assert names["trace"].ids == trace.ids and names["trace"].target_ids == trace.target_ids
    check(trace, names, layer=1)
    drawn = pictures(notebook(trace, name, 1))
    # A layer that holds a state has no picture of weights.
    assert len(drawn) >= (1 + trace.config.attends) * len(trace.config.sides) + trace.config.has_logits
    for after, picture in drawn.items():
        assert eval(picture, names).scene.panels
        assert not after.endswith("pattern") or f"{after} [" in eval(picture, names).caption
