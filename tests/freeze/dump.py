"""What the pages say and draw, written down: run before and after a change that is to leave both as they are.

    python tests/freeze/dump.py FOLDER [--pages attention block] [--models story-pre-ln]
    python tests/freeze/dump.py FOLDER --against EARLIER [--pages attention block] [--models story-pre-ln]

Every page that follows a selection is opened without a browser, on the bundled models that it can show, in both
languages and at two selections, with all its sections open. The sentences are written below ``sentences/`` beside
this file: a line each, in the order of the page, without marks of Markdown; of the second selection, those that the
first does not say. Blocks of code are left out. The arrays of the pictures are written to FOLDER, a file for each
page. With ``--against``, nothing is written beside this file: sentences are compared with those that stand there,
arrays with those of an earlier FOLDER made on the same machine, and each difference is printed.
"""

from __future__ import annotations

import argparse
import difflib
import html
import re
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "tests")]

from app_driver import island_lines, open_page, pictures  # noqa: E402
from bundled_models import NAMES  # noqa: E402
from doors import all_open, island_of, topic  # noqa: E402
from streamlit.testing.v1 import AppTest  # noqa: E402

from viz_model.app.show import Declared  # noqa: E402
from viz_model.checkpoints import registry  # noqa: E402

SENTENCES = HERE / "sentences"
PAGES = (
    "attention",
    "cross_attention",
    "position",
    "block",
    "norm_placement",
    "embedding",
    "tokens",
    "next_token",
    "attribution",
    "overview",
    "batch",
)
LANGUAGES = ("en", "zh")
SELECTIONS: dict[str, dict[str, str]] = {"default": {}, "other": {"layer": "1", "head": "2", "token": "3"}}
TOLERANCE = 1e-4
"""Of the largest number of an array."""

_BLOCKS = ("expander", "tab")
"""Whose label is read."""
_TEXTS = ("header", "subheader", "title", "markdown", "caption", "text", "html", "latex", "metric")
_ALERTS = ("info", "success", "warning", "error")

_KEPT = re.compile(r"(\$\$.+?\$\$|\$[^$]+\$|`+[^`]+`+)", re.S)
"""Formulas and code within a sentence, in which a star is no mark."""
_WORDS_OF = re.compile(r":[a-z-]+\[((?:[^\[\]]|\[[^\[\]]*\])*)\]|!?\[([^\[\]]*)\]\([^()]*\)")
"""Colored words and links."""
_SENTENCE = re.compile(r"(?<=[.!?:;])\s+(?=[^\W\d_a-z])|(?<=[。！？；])")


def plain(words: str) -> list[str]:
    """The sentences of a text in Markdown; each row of a table is one."""
    found = []
    for line in html.unescape(words).splitlines():
        line = re.sub(r"^\s*(#+|[-*>]|\d+\.)\s+", "", line)
        while (shorter := _WORDS_OF.sub(lambda one: one[1] or one[2] or "", line)) != line:
            line = shorter
        parts = _KEPT.split(line)
        parts[::2] = [re.sub(r"\*+|\\(?=\W)", "", part) for part in parts[::2]]
        parts[1::2] = [part.strip("`") for part in parts[1::2]]
        line = re.sub(r"\s+", " ", "".join(parts)).strip(" |")
        if not re.fullmatch(r"[\s|:$-]*", line):
            found += [part for part in map(str.strip, _SENTENCE.split(line)) if part]
    return found


def sentences(app: AppTest) -> list[str]:
    """What a page says, from above to below."""
    own = (line for one in island_lines(app) for line in plain(one))
    return [*own, *(sentence for words in _said(app._tree) for sentence in plain(words))]


def _said(block: Any) -> Iterator[str]:
    for child in block.children.values():
        if hasattr(child, "children"):
            if child.type in _BLOCKS:
                yield child.label
            yield from _said(child)
        elif child.type in _ALERTS or child.type in _TEXTS:
            words = str(child.proto.body if child.type == "html" else child.value)
            yield re.sub(r"<style>.*?</style>|<[^>]+>", "", words, flags=re.S) if child.type == "html" else words


def arrays(app: AppTest) -> dict[str, np.ndarray]:
    """The numbers of a page's pictures, by picture, panel, mark and what they are of it."""
    found: dict[str, np.ndarray] = {}
    for key, picture in pictures(app).items():
        for panel in picture.panels():
            for mark in picture.marks(panel=panel):
                for name, value in mark.items():
                    if isinstance(value, np.ndarray) and value.dtype.kind in "fiu":
                        found[f"{key}/{panel}/{mark['id']}/{name}"] = value
    return found


def models(page: str, asked: list[str]) -> list[str]:
    """The bundled models that a page has something to show of."""
    shown = topic(page)
    configs = {name: registry.config_of(name) for name in NAMES if name in asked}
    if isinstance(shown, Declared):
        return [name for name, config in configs.items() if any(own.fits(config) for own in island_of(page).pages)]
    return [
        name
        for name, config in configs.items()
        if shown.has_sense(config) and (shown.needs is None or shown.needs(config))
    ]


def dump(page: str, asked: list[str]) -> tuple[dict[str, str], dict[str, np.ndarray]]:
    """The sentences of a page by their files, and its arrays by model, selection and picture."""
    texts: dict[str, str] = {}
    numbers: dict[str, np.ndarray] = {}
    for model in models(page, asked):
        for language in LANGUAGES:
            lines: list[str] = []
            for selection, chosen in SELECTIONS.items():
                app = open_page(page, {"model": model, "lang": language, **all_open(page), **chosen})
                said = [sentence for sentence in sentences(app) if not chosen or sentence not in lines]
                lines += [f"== {selection}", *said]
                numbers |= {f"{model}.{language}/{selection}/{name}": value for name, value in arrays(app).items()}
            texts[f"{page}/{model}.{language}.txt"] = "\n".join(lines) + "\n"
    return texts, numbers


def compare_sentences(texts: Mapping[str, str]) -> Iterator[str]:
    """Lines that were added to, or removed from, the files beside this one."""
    for name, text in texts.items():
        before = (SENTENCES / name).read_text(encoding="utf-8") if (SENTENCES / name).exists() else ""
        changed = difflib.unified_diff(before.splitlines(), text.splitlines(), lineterm="", n=0)
        lines = [line for line in changed if not line.startswith(("---", "+++", "@@"))]
        yield from ([f"{name}:", *(f"  {line}" for line in lines)] if lines else [])


def compare_arrays(before: Mapping[str, np.ndarray], now: Mapping[str, np.ndarray]) -> Iterator[str]:
    """Arrays that are other numbers than before, and those that are gone, each with one that holds the same now."""
    for name in sorted(before.keys() - now.keys()):
        view = "/".join(name.split("/")[:2]) + "/"
        alike = (one for one in now if one.startswith(view) and difference(before[name], now[one]) <= TOLERANCE)
        yield f"{name}: gone; the same numbers: {next(alike, 'nowhere')}"
    for name in sorted(now.keys() - before.keys()):
        yield f"{name}: new"
    for name in sorted(before.keys() & now.keys()):
        if before[name].shape != now[name].shape:
            yield f"{name}: {before[name].shape} before, {now[name].shape} now"
        elif (largest := difference(before[name], now[name])) > TOLERANCE:
            yield f"{name}: differs by {largest:.2g} of its largest number"


def difference(one: np.ndarray, other: np.ndarray) -> float:
    """The largest difference of two arrays relative to their largest number; infinite where one lacks a number."""
    if one.shape != other.shape or not np.array_equal(np.isfinite(one), np.isfinite(other)):
        return np.inf
    shown = np.isfinite(one)
    if not np.array_equal(one[~shown], other[~shown], equal_nan=True):
        return np.inf
    one, other = one[shown].astype(float), other[shown].astype(float)
    largest = max((np.abs(part).max() for part in (one, other) if part.size), default=0)
    return float(np.abs(one - other).max() / largest) if largest else 0.0


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path, help="where the arrays go")
    parser.add_argument("--against", type=Path, help="the folder of an earlier run, to compare with")
    parser.add_argument("--pages", nargs="+", choices=PAGES, default=PAGES)
    parser.add_argument("--models", nargs="+", choices=NAMES, default=NAMES)
    asked = parser.parse_args()
    asked.folder.mkdir(parents=True, exist_ok=True)
    n_differences = 0
    for page in asked.pages:
        texts, numbers = dump(page, asked.models)
        np.savez_compressed(asked.folder / f"{page}.npz", allow_pickle=False, **numbers)
        if asked.against is None:
            for name, text in texts.items():
                (SENTENCES / name).parent.mkdir(parents=True, exist_ok=True)
                (SENTENCES / name).write_text(text, encoding="utf-8")
            continue
        with np.load(asked.against / f"{page}.npz") as earlier:
            before = {name: earlier[name] for name in earlier.files if name.split(".")[0] in asked.models}
        found = [*compare_sentences(texts), *compare_arrays(before, numbers)]
        n_differences += len(found)
        print(page, f"{len(numbers)} arrays", *found or ["as before"], sep="\n  ")
    if n_differences:
        raise SystemExit(f"{n_differences} differences")


if __name__ == "__main__":
    main()
