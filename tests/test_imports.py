"""Who may import whom, and that no page can draw a number that no model computed.

The layers are those of CONTRIBUTING.md. The files are read, not run, so this holds for every
module there is, also for those that no other test reaches.
"""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

from viz_model.app.frame import FORMER, SECTIONS

ROOT = Path(__file__).resolve().parents[1]

# From the top down. A module imports from its own row or from rows below it; * is any topic.
LAYERS = (
    ("app", "pages"),
    ("viz_model.topics.*.page",),
    ("viz_model.topics.*.sections",),
    ("viz_model.app",),
    ("viz_model.topics.*.pictures",),
    ("viz_model.topics", "viz_model.topics.*.numbers"),
    ("viz_model.drawing",),
    ("viz_model.corpus",),
    ("viz_model.training",),
    ("viz_model",),
    ("viz_model.runs.derivation", "viz_model.runs.notebook"),
    ("viz_model.runs.language_model",),
    ("viz_model.runs.generation",),
    ("viz_model.runs.trace",),
    ("viz_model.runs.recompute",),
    ("viz_model.runs.recorder",),
    ("viz_model.runs", "viz_model.runs.edits"),
    ("viz_model.checkpoints", "viz_model.tokenizers"),
    ("viz_model.model", "viz_model.model.transformer"),
    ("viz_model.model.attention", "viz_model.model.heads"),
    ("viz_model.model.feedforward", "viz_model.model.norms", "viz_model.model.positions", "viz_model.model.masks"),
    ("viz_model.model.ops", "viz_model.model.tap"),
    ("viz_model.model.sites",),
    ("viz_model.tokenizers.tokenizer",),
    ("viz_model.config",),
)
# What points upward all the same, and why.
EXCEPTIONS = {
    # Reading a checkpoint ends in a model with its tokenizer, which is what runs begin with.
    ("viz_model.checkpoints.gguf", "viz_model.runs.language_model"),
    ("viz_model.checkpoints.registry", "viz_model.runs.language_model"),
}
KNOW_STREAMLIT = ("app", "pages", "viz_model.app", "viz_model.topics.*.sections", "viz_model.topics.*.page")
DRAWN = ("viz_model.drawing", "viz_model.topics.*.pictures")
WHAT_VISITORS_SEE = (*KNOW_STREAMLIT, *DRAWN)
LONGEST_LITERAL = 8


def module_name(path: Path) -> str:
    parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


FILES = {
    module_name(path): path
    for path in sorted([*ROOT.glob("app.py"), *ROOT.glob("pages/**/*.py"), *ROOT.glob("viz_model/**/*.py")])
}


@cache
def tree(module: str) -> ast.Module:
    return ast.parse(FILES[module].read_text(encoding="utf-8"), filename=str(FILES[module]))


def imports(module: str) -> Iterator[str]:
    """Full names of the modules that ``module`` imports, wherever in the file it does so."""
    for node in ast.walk(tree(module)):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = node.module or ""
            if node.level:
                package = module if FILES[module].name == "__init__.py" else module.rpartition(".")[0]
                above = package.split(".")[: len(package.split(".")) - (node.level - 1)]
                base = ".".join([*above, *([node.module] if node.module else [])])
            for alias in node.names:
                full = f"{base}.{alias.name}"
                yield full if full in FILES else base


def inside(module: str, package: str) -> bool:
    parts, above = module.split("."), package.split(".")
    return len(parts) >= len(above) and all(a in ("*", part) for part, a in zip(parts, above, strict=False))


def layer(module: str) -> int | None:
    """The row of ``module`` in LAYERS: the one that names it most closely."""
    rows = [(name.count("."), row) for row, names in enumerate(LAYERS) for name in names if inside(module, name)]
    if not rows or (module.startswith("viz_model.") and max(rows)[0] == 0):
        return None
    return max(rows)[1]


def ours(module: str) -> bool:
    return any(inside(module, top) for top in ("app", "pages", "viz_model"))


def test_the_reader_of_imports_reads() -> None:
    assert "viz_model.runs.trace" in set(imports("viz_model.runs.language_model"))
    assert "viz_model.checkpoints.registry" in set(imports("viz_model"))
    assert layer("viz_model.checkpoints.registry") == layer("viz_model.checkpoints")
    assert layer("viz_model.unheard_of") is None
    assert inside("viz_model.topics.cost.numbers", "viz_model.topics.*.numbers")
    assert inside("viz_model.topics.block.numbers.depth", "viz_model.topics.*.numbers")
    assert not inside("viz_model.topics.cost", "viz_model.topics.*.numbers")


@pytest.mark.parametrize("module", FILES)
def test_every_module_has_a_layer(module: str) -> None:
    assert layer(module) is not None, f"{module} stands in no row of LAYERS"


@pytest.mark.parametrize("module", FILES)
def test_imports_point_downward(module: str) -> None:
    own = layer(module)
    assert own is not None
    for imported in filter(ours, imports(module)):
        if (module, imported) in EXCEPTIONS:
            continue
        below = layer(imported)
        assert below is not None and below >= own, f"{module} imports {imported}, which stands above it"


@pytest.mark.parametrize(("module", "imported"), sorted(EXCEPTIONS))
def test_an_exception_is_needed(module: str, imported: str) -> None:
    own, above = layer(module), layer(imported)
    assert imported in set(imports(module)) and own is not None and above is not None and above < own


@pytest.mark.parametrize("module", [name for name in FILES if inside(name, "pages")])
def test_a_page_is_a_door_to_its_topic(module: str) -> None:
    _, name = module.split(".")
    room = "viz_model.app.frame" if name in FORMER else f"viz_model.topics.{name}.page"
    assert set(imports(module)) == {room}
    opening = tree(module).body[-1]
    assert len(tree(module).body) == 3 and isinstance(opening, ast.Expr) and isinstance(opening.value, ast.Call)


def test_every_topic_has_a_page() -> None:
    topics = {path.parent.name for path in ROOT.glob("viz_model/topics/*/__init__.py")}
    assert topics == {name for pages in SECTIONS.values() for name in pages}


@pytest.mark.parametrize("module", FILES)
def test_only_the_app_its_pages_and_their_sections_import_streamlit(module: str) -> None:
    if not any(inside(module, allowed) for allowed in KNOW_STREAMLIT):
        assert not any(inside(name, "streamlit") for name in imports(module))


@pytest.mark.parametrize("module", [name for name in FILES if inside(name, "viz_model.topics.*.numbers")])
def test_numbers_know_nothing_of_pictures(module: str) -> None:
    assert not any(inside(name, package) for name in imports(module) for package in (*DRAWN, "plotly"))


@pytest.mark.parametrize("module", [name for name in FILES if any(inside(name, package) for package in DRAWN)])
def test_pictures_import_neither_torch_nor_streamlit(module: str) -> None:
    assert not any(inside(name, package) for name in imports(module) for package in ("torch", "streamlit"))


@pytest.mark.parametrize("module", ["viz_model.config", "viz_model.model.sites"])
def test_descriptions_need_no_torch(module: str) -> None:
    assert not any(inside(name, "torch") for name in imports(module))


def test_importing_the_package_brings_no_interface() -> None:
    code = (
        "import sys, viz_model;"
        "print(*({n.partition('.')[0] for n in sys.modules} & {'streamlit', 'transformers', 'plotly', 'tokenizers'}))"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout.split() == []


def made_up_numbers(module: ast.Module) -> Iterator[str]:
    """Where a file draws random numbers, or holds an array of numbers written out."""
    for node in ast.walk(module):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            names = [f"{node.module}.{alias.name}" for alias in node.names]
        elif isinstance(node, ast.Attribute):
            names = [ast.unparse(node)]
        else:
            names = []
        for name in names:
            parts = name.split(".")
            of_torch = parts[0] == "torch" and parts[-1].startswith(("rand", "normal", "bernoulli", "multinomial"))
            if parts[0] in ("random", "secrets") or parts[:2] in (["np", "random"], ["numpy", "random"]) or of_torch:
                yield name
        if isinstance(node, ast.List | ast.Tuple | ast.Set):
            numbers = sum(
                isinstance(part, ast.Constant) and type(part.value) in (int, float, complex) for part in ast.walk(node)
            )
            if numbers > LONGEST_LITERAL:
                yield f"line {node.lineno}: {numbers} numbers written out"


@pytest.mark.parametrize("module", [name for name in FILES if any(inside(name, top) for top in WHAT_VISITORS_SEE)])
def test_nothing_shown_is_made_up(module: str) -> None:
    assert list(made_up_numbers(tree(module))) == []


@pytest.mark.parametrize(
    "source",
    [
        "import random",
        "from random import gauss",
        "import numpy as np\nnp.random.default_rng(0).normal(size=3)",
        "from numpy import random",
        "torch.randn(3)",
        "torch.randn_like(x)",
        "torch.rand(())",
        "from torch import randint",
        "x = [1, 2, 3, 4, 5, 6, 7, 8, 9]",
        "x = [(1, -2, 3), (4, -5, 6), (7, 8, 9.5)]",
    ],
)
def test_made_up_numbers_are_found(source: str) -> None:
    assert list(made_up_numbers(ast.parse(source)))


@pytest.mark.parametrize("source", ["x = [1, 2, 3]", "x = list(range(100))", "x = ['a'] * 20", "row = grand.total"])
def test_other_code_is_left_alone(source: str) -> None:
    assert not list(made_up_numbers(ast.parse(source)))
