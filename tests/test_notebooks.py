"""The notebooks in docs/: they run, what they compare agrees, and both languages run the same code."""

import itertools
import re
from pathlib import Path
from typing import Any

import nbformat
import pytest
from nbclient import NotebookClient

import viz_model as vm

DOCS = Path(__file__).resolve().parents[1] / "docs"
NAMES = sorted(path.stem for path in (DOCS / "notebooks").glob("*.ipynb"))


def read(path: Path) -> Any:
    found = nbformat.read(path, as_version=4)
    nbformat.validate(found)
    return found


@pytest.mark.parametrize("name", NAMES)
def test_both_languages_run_the_same(name: str) -> None:
    cells = [read(DOCS / folder / f"{name}.ipynb").cells for folder in ("notebooks", "zh/notebooks")]
    english, chinese = ([cell.source for cell in found if cell.cell_type == "code"] for found in cells)
    assert english == [code.replace('lang="zh"', 'lang="en"') for code in chinese]
    assert "%pip install --quiet viz-model" in english[0]
    assert [cell.cell_type for cell in cells[0]] == [cell.cell_type for cell in cells[1]]
    # What was run is made again where it is read, and differs from machine to machine.
    assert not any(cell.get("outputs") or cell.get("execution_count") for found in cells for cell in found)


@pytest.mark.full
@pytest.mark.parametrize("language", ["en", "zh"])
def test_the_page_of_figures_has_all_of_them(language: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    page = (DOCS / ("zh" if language == "zh" else ".") / "figures.md").read_text(encoding="utf-8")
    start, *calls = re.findall(r"^```\{code-cell\}\n(.*?)^```", page, flags=re.S | re.M)
    names: dict[str, Any] = {}
    exec(start, names)
    assert Path("head.svg").read_text(encoding="utf-8").count("<text") > 12
    for call in calls:
        figure = eval(call, names)
        shown = figure._repr_mimebundle_()
        assert figure.lang == language and ("<iframe" in shown.get("text/html", "") or isinstance(figure, vm.plot.Grid))
    figures = {name for name in vm.plot.__all__ if name not in ("Figure", "Grid", "show")}
    assert {call.partition("(")[0] for call in calls} == {f"vm.plot.{name}" for name in figures}


@pytest.mark.full
@pytest.mark.parametrize("path", [DOCS / "notebooks" / f"{name}.ipynb" for name in NAMES], ids=NAMES)
def test_it_runs_from_top_to_bottom(path: Path, tmp_path: Path) -> None:
    found = read(path)
    NotebookClient(found, timeout=300, kernel_name="python3", resources={"metadata": {"path": str(tmp_path)}}).execute()
    outputs = list(itertools.chain.from_iterable(cell.get("outputs", ()) for cell in found.cells))
    shown = [output.data["text/plain"] for output in outputs if output.output_type == "execute_result"]
    assert shown and "False" not in shown
    drawn = [cell for cell in found.cells if cell.cell_type == "code" and cell.source.startswith("vm.plot.")]
    assert drawn and all("<iframe" in cell.outputs[-1].data["text/html"] for cell in drawn)
    if path.stem == "attention_by_hand":
        assert shown.count("True") == 3
    printed = "".join(output.text for output in outputs if output.output_type == "stream")
    if path.stem == "your_own_checkpoint":
        assert "h.1.mlp.c_fc.weight" in printed
