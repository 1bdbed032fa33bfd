"""Who may import whom, and that no page can draw a number that no model computed.

The rules on imports are those that ``lint-imports`` reads in pyproject.toml. The files are read, not run, so
this holds for every module there is, also for those that no other test reaches.
"""

from __future__ import annotations

import ast
import functools
import re
import subprocess
import sys
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path

import pytest

from viz_model import config
from viz_model.app.frame import DESK, FORMER, MODELS, SECTIONS

ROOT = Path(__file__).resolve().parents[1]
RULES = ROOT / "pyproject.toml"
PAGES = sorted((ROOT / "pages").glob("*.py"))
WHAT_VISITORS_SEE = (
    "app.py",
    "pages/*.py",
    "viz_model/app/**/*.py",
    "viz_model/drawing/**/*.py",
    "viz_model/island/**/*.py",
    "viz_model/topics/**/*.py",
)
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


def broken(rules: Path) -> str:
    """What breaks the rules of a file; nothing where the imports keep them."""
    command = [str(Path(sys.executable).with_name("lint-imports")), "--config", str(rules), "--no-cache", "--no-logo"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    return done.stdout if done.returncode else ""


@functools.cache
def read(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"), filename=str(path))


def test_imports_keep_the_rules() -> None:
    assert not broken(RULES)


OTHERWISE = (
    ('forbidden_modules = ["torch"]', 'forbidden_modules = ["numpy"]', "is not allowed to import numpy"),
    ('"streamlit"', '"torch"', "is not allowed to import torch"),
)
"""Of two rules: what stands there, what else could, and what would be told then."""


def test_every_rule_that_is_broken_is_told(tmp_path: Path) -> None:
    rules = RULES.read_text(encoding="utf-8")
    for rule, other, _ in OTHERWISE:
        assert rule in rules
        rules = rules.replace(rule, other)
    (tmp_path / "rules.toml").write_text(rules, encoding="utf-8")
    found = " ".join(broken(tmp_path / "rules.toml").split())
    assert all(told in found for _, _, told in OTHERWISE), found


OF_NO_RUN = {DESK: "viz_model.app.lessons import desk", MODELS: "viz_model.app import model_list"}


def test_a_page_is_a_door_to_its_topic() -> None:
    for path in PAGES:
        if path.stem not in FORMER and hasattr(
            import_module(f"viz_model.topics.{path.stem}") if path.stem in TOPICS else None, "TOPIC"
        ):
            about, frame, door, opening = read(path).body
            assert isinstance(about, ast.Expr) and ast.unparse(frame) == "from viz_model.app import show"
            assert ast.unparse(door) == f"from viz_model.topics import {path.stem}", path.name
            assert ast.unparse(opening) == f"show.show({path.stem}.TOPIC)", path.name
            continue
        room = OF_NO_RUN.get(path.stem, "viz_model.app import frame")
        about, door, opening = read(path).body
        assert isinstance(about, ast.Expr) and ast.unparse(door) == f"from {room}", path.name
        assert re.fullmatch(r"frame\.moved\('\w+'\)|(desk|model_list)\.run\(\)", ast.unparse(opening)), path.name


TOPICS = {path.parent.name for path in ROOT.glob("viz_model/topics/*/__init__.py")}


def test_every_topic_has_a_page() -> None:
    assert {name for pages in SECTIONS.values() for name in pages} == TOPICS


def test_importing_the_package_brings_no_interface() -> None:
    code = (
        "import sys, viz_model;"
        "print(*({n.partition('.')[0] for n in sys.modules} & {'streamlit', 'transformers', 'plotly', 'tokenizers'}))"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout.split() == []


UNUSED = ("torch._dynamo", "sympy", "gguf", "viz_model.checkpoints.gguf", "viz_model.checkpoints.huggingface")
"""What a model of ours needs nothing of, and takes longer to import than to load it."""


def test_a_bundled_model_is_loaded_and_run_without_what_only_others_need() -> None:
    code = (
        "import sys, viz_model as vm\n"
        "for name in ('story-pre-ln', 'story-modern', 'story-alibi', 'translate-t5'):\n"
        "    lm = vm.load(name)\n"
        "    lm.trace('The cat sat')['probs']\n"
        f"print(*({set(UNUSED)} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout.split() == []


def written_out(node: ast.AST) -> int:
    """How many numbers a literal holds; what is given to a function in it, such as the place of a mark, is none."""
    if isinstance(node, ast.Constant):
        return int(type(node.value) in (int, float, complex))
    if isinstance(node, ast.List | ast.Tuple | ast.Set | ast.UnaryOp | ast.BinOp):
        return sum(map(written_out, ast.iter_child_nodes(node)))
    return 0


RANDOM = ("rand", "normal", "bernoulli", "multinomial")


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
            of_torch = parts[0] == "torch" and parts[-1].startswith(RANDOM) and parts[-1] != "normalize"
            if parts[0] in ("random", "secrets") or parts[:2] in (["np", "random"], ["numpy", "random"]) or of_torch:
                yield name
        if isinstance(node, ast.List | ast.Tuple | ast.Set):
            numbers = written_out(node)
            if numbers > LONGEST_LITERAL:
                yield f"line {node.lineno}: {numbers} numbers written out"


def test_nothing_shown_is_made_up() -> None:
    files = [path for pattern in WHAT_VISITORS_SEE for path in sorted(ROOT.glob(pattern))]
    assert len(files) > 150
    found = {str(path.relative_to(ROOT)): list(made_up_numbers(read(path))) for path in files}
    assert {path for path, numbers in found.items() if numbers} == EXPERIMENTS


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


OWN = {"position": "positions", "norm": "norms", "ffn": "feedforward", "head": "heads", "inputs": "inputs"}
"""The file of each choice's classes, in config and in model."""


@functools.cache
def _said(path: Path) -> frozenset[tuple[str, str]]:
    """The names in a file that are read off another or brought from a module, each behind where it is from."""
    nodes = list(ast.walk(read(path)))
    brought = [
        (node.module or "", alias.name) for node in nodes if isinstance(node, ast.ImportFrom) for alias in node.names
    ]
    read_off = [node for node in nodes if isinstance(node, ast.Attribute)]
    return frozenset(brought) | {(node.value.id, node.attr) for node in read_off if isinstance(node.value, ast.Name)}


def _names(path: Path, own: str) -> set[str]:
    """What a file names of the choices and of their classes in ``own``."""
    homes = {"viz_model.config", f"viz_model.config.{own}", f"viz_model.model.{own}", "config", own}
    return {name for home, name in _said(path) if home in homes}


@pytest.mark.parametrize("choice", OWN)
def test_few_files_know_a_variant_by_its_name(choice: str) -> None:
    """Others ask what it says of itself. Files of checkpoints name what they read."""
    package, own = ROOT / "viz_model", OWN[choice]
    files = [
        path for path in package.rglob("*.py") if path.relative_to(package).parts[0] not in ("config", "checkpoints")
    ]
    named = [_names(path, own) for path in files if path != package / "model" / f"{own}.py"]
    for variant in config.variants(choice):
        n = sum(variant.__name__ in names for names in named)
        assert n <= 5, f"{n} files name {variant.__name__}"
    assert any(variant.__name__ in names for variant in config.variants(choice) for names in named)
