"""Who may import whom, and that no page draws a number that no model computed. Files are read, not run."""

import ast
import functools
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from viz_model import config
from viz_model.app.frame import DESK, FORMER, MODELS, SECTIONS

ROOT = Path(__file__).resolve().parents[1]
FOLDERS = ("app", "drawing", "island", "topics")
WHAT_VISITORS_SEE = ("app.py", "pages/*.py", *(f"viz_model/{name}/**/*.py" for name in FOLDERS))
LONGEST_LITERAL = 8
EXPERIMENTS = {
    f"viz_model/topics/{name}.py"
    for name in (
        *("batch/tutorial", "block/real_code", "embedding/nearest", "next_token/choice"),
        *("mistakes/bugs", "mistakes/right", "mistakes/wrong", "position/each"),
        *("norm_placement/fresh", "norm_placement/mixed", "norm_placement/readings", "questions/measured"),
    )
}
"""What draws numbers for an experiment of its own, or checks a text's own numbers, and says so on its page."""
TOPICS = {path.parent.name for path in ROOT.glob("viz_model/topics/*/__init__.py")}
UNUSED = ("torch._dynamo", "sympy", "gguf", "viz_model.checkpoints.gguf", "viz_model.checkpoints.huggingface")
"""What a model of ours needs nothing of, and takes longer to import than to load it."""
RANDOM = re.compile(r"(random|secrets|(np|numpy)\.random)\b|torch\.(.*\.)?(rand|normal(?!ize$)|bernoulli|multinomial)")
OWN = {"position": "positions", "norm": "norms", "ffn": "feedforward", "head": "heads", "inputs": "inputs"}
"""The file of each choice's classes, in config and in model."""


@functools.cache
def read(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"), filename=str(path))


def test_imports_keep_the_rules() -> None:
    command = [str(Path(sys.executable).with_name("lint-imports")), "--no-cache", "--no-logo"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert not done.returncode, done.stdout


def test_every_topic_has_a_page() -> None:
    """Streamlit finds a page by its file's name when a link is a fresh server's first request."""
    names = {name for pages in SECTIONS.values() for name in pages}
    assert names == TOPICS and {path.stem for path in ROOT.glob("pages/*.py")} == names | {*FORMER, DESK, MODELS}


@pytest.mark.parametrize(
    ("code", "unused"),
    [
        ("import viz_model", ("streamlit", "transformers", "plotly", "tokenizers")),
        ("import viz_model as vm; vm.load('story-modern').trace('The cat')['probs']; vm.load('translate-t5')", UNUSED),
    ],
)
def test_nothing_is_imported_that_is_not_needed(code: str, unused: tuple[str, ...]) -> None:
    code += f"; import sys; print(*({set(unused)} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert not done.stdout.strip()


def written_out(node: ast.AST) -> int:
    """How many numbers a literal holds; what is given to a function in it, such as the place of a mark, is none."""
    if isinstance(node, ast.Constant):
        return int(type(node.value) in (int, float, complex))
    if isinstance(node, ast.List | ast.Tuple | ast.Set | ast.UnaryOp | ast.BinOp):
        return sum(map(written_out, ast.iter_child_nodes(node)))
    return 0


def made_up_numbers(module: ast.Module) -> Iterator[str]:
    """Where a file draws random numbers, or holds an array of numbers written out."""
    for node in ast.walk(module):
        match node:
            case ast.Import(names=names):
                found = [alias.name for alias in names]
            case ast.ImportFrom(module=module_, names=names):
                found = [f"{module_}.{alias.name}" for alias in names]
            case ast.Attribute():
                found = [ast.unparse(node)]
            case ast.List() | ast.Tuple() | ast.Set() if written_out(node) > LONGEST_LITERAL:
                yield f"line {node.lineno}: {written_out(node)} numbers written out"
                continue
            case _:
                continue
        yield from filter(RANDOM.match, found)


def test_nothing_shown_is_made_up() -> None:
    files = [path for pattern in WHAT_VISITORS_SEE for path in sorted(ROOT.glob(pattern))]
    assert len(files) > 150
    found = {str(path.relative_to(ROOT)): list(made_up_numbers(read(path))) for path in files}
    assert {path for path, numbers in found.items() if numbers} == EXPERIMENTS


def test_made_up_numbers_are_found_and_other_code_is_left_alone() -> None:
    for source in (
        *("import random", "from random import gauss", "from numpy import random", "torch.randn_like(x)"),
        *("import numpy as np\nnp.random.default_rng(0).normal(size=3)", "torch.rand(())", "from torch import randint"),
        *("x = [1, 2, 3, 4, 5, 6, 7, 8, 9]", "x = [(1, -2, 3), (4, -5, 6), (7, 8, 9.5)]"),
    ):
        assert list(made_up_numbers(ast.parse(source))), source
    for source in ("x = [1, 2, 3]", "x = list(range(100))", "x = ['a'] * 20", "row = grand.total"):
        assert not list(made_up_numbers(ast.parse(source)))


def _names(path: Path, own: str) -> set[str]:
    """What a file names of the choices and of their classes in ``own``: brought from a module, or read off one."""
    homes = {"viz_model.config", f"viz_model.config.{own}", f"viz_model.model.{own}", "config", own}
    found: set[str] = set()
    for node in ast.walk(read(path)):
        if isinstance(node, ast.ImportFrom) and node.module in homes:
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id in homes:
            found.add(node.attr)
    return found


@pytest.mark.parametrize("choice", OWN)
def test_few_files_know_a_variant_by_its_name(choice: str) -> None:
    """Others ask what it says of itself. Files of checkpoints name what they read."""
    package, own = ROOT / "viz_model", OWN[choice]
    folders = {package / name for name in ("config", "checkpoints")}
    files = [path for path in package.rglob("*.py") if folders.isdisjoint(path.parents)]
    named = [_names(path, own) for path in files if path != package / "model" / f"{own}.py"]
    for variant in config.variants(choice):
        n = sum(variant.__name__ in names for names in named)
        assert n <= 5, f"{n} files name {variant.__name__}"
    assert any(variant.__name__ in names for variant in config.variants(choice) for names in named)
