"""``python -m viz_model.explain NAME --data FOLDER`` fits the lens of a bundled decoder, and measures it.

The maps go to the model's folder, what they are worth to its card and to ``lens.json``. FOLDER holds the corpora that
the model was trained on (:mod:`viz_model.training`).
"""

from __future__ import annotations

import argparse
import itertools
import json
import re
import tomllib
from collections.abc import Iterator
from pathlib import Path

import torch

from viz_model.checkpoints.registry import BUNDLED, load_folder
from viz_model.explain.fitted import FILE, agreement, fit_lens
from viz_model.training import data as data_of
from viz_model.training import recipe
from viz_model.training.batches import Batches
from viz_model.training.sources import CorpusError

STEPS, MEASURED = 150, 64
"""Batches of training that are fitted to, and held-out windows of each language that are measured."""


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m viz_model.explain", description=__doc__)
    parser.add_argument("name", choices=[name for name in recipe.names() if recipe.load(name).config.kind == "decoder"])
    parser.add_argument("--data", type=Path, required=True, help="folder of the corpora")
    parser.add_argument("--runs", type=Path, default=Path("runs"), help="where tokenized texts are kept")
    parser.add_argument("--threads", type=int, default=None, help="CPU threads, default PyTorch's choice")
    args = parser.parse_args()
    if args.threads:
        torch.set_num_threads(args.threads)
    try:
        data = data_of.prepare(recipe.load(args.name), args.data, args.runs)
    except CorpusError as error:
        parser.exit(2, f"{error}\n")
    folder = BUNDLED / args.name
    figures = write(folder, data)
    print(json.dumps(figures, indent=2))


def write(folder: Path, data: Batches, steps: int = STEPS, measured: int = MEASURED) -> dict[str, object]:
    """Fit and measure the lens of the model in a folder; write maps, figures and a section of the card."""
    lm = load_folder(folder)
    rows = [row for step in range(steps) for row in data.step(step).ids.tolist()]
    fitted = fit_lens(lm, rows)
    fitted.save(folder / FILE)
    shipped = type(fitted).load(folder / FILE)
    found = {language: agreement(lm, _windows(data, language, measured), shipped) for language in data.languages}
    figures: dict[str, object] = {
        language: {name: one._asdict() for name, one in zip(("plain", "fitted"), both, strict=True)}
        for language, both in found.items()
    }
    (folder / "lens.json").write_text(json.dumps(figures, indent=1) + "\n", encoding="utf-8")
    lines = [
        f"| {language} | {layer} | {plain.agree[layer]:.1%} | {own.agree[layer]:.1%} "
        f"| {plain.bits[layer]:.2f} | {own.bits[layer]:.2f} |"
        for language, (plain, own) in found.items()
        for layer in range(lm.config.n_layers)
    ]
    values = {"name": folder.name, "n": f"{sum(map(len, rows)):,}", "rows": "\n".join(lines)}
    card = folder / "README.md"
    card.write_text(_with_section(card.read_text(encoding="utf-8"), values), encoding="utf-8")
    return figures


def _windows(data: Batches, language: str, most: int) -> Iterator[list[int]]:
    return itertools.islice((row for batch in data.held_out(language) for row in batch.ids.tolist()), most)


def _with_section(card: str, values: dict[str, str]) -> str:
    """A card with what is said of the lens, in the place of what was said before."""
    texts = tomllib.loads(Path(__file__).with_name("card.toml").read_text(encoding="utf-8"))
    section = texts["section"].strip()
    for name, value in values.items():
        section = section.replace(f"{{{{{name}}}}}", value)
    rest = re.sub(rf"{re.escape(texts['heading'])}\n.*?(?=^## )", "", card, flags=re.S | re.M)
    before, heading, after = rest.partition("## What it says\n")
    return f"{before}{texts['heading']}\n\n{section}\n\n{heading}{after}"


if __name__ == "__main__":
    main()
