"""``python -m viz_model.explain NAME --data FOLDER`` fits the lens of a bundled decoder, and measures its units.

The maps go to the model's folder, what they are worth to its card and to ``lens.json``; and so does the sample of heads
and neurons. FOLDER holds the corpora that the model was trained on (:mod:`viz_model.training`).
"""

import argparse
import itertools
import json
import re
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path

import torch

from viz_model.checkpoints.registry import BUNDLED, load_folder
from viz_model.explain import sample as units
from viz_model.explain.fitted import FILE, agreement, fit_lens
from viz_model.explain.sample import UnitSample
from viz_model.texts import fill
from viz_model.training import data as data_of
from viz_model.training import recipe
from viz_model.training.batches import Batches
from viz_model.training.sources import TEXTS, CorpusError

STEPS, MEASURED = 150, 64
"""Batches of training that are fitted to, and held-out windows of each language that are measured."""
MOST_TEXTS = 2600
"""Of a sample of units, all languages together; of stories held out there are fewer."""


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m viz_model.explain", description=__doc__)
    parser.add_argument("name", choices=[name for name in recipe.names() if recipe.load(name).config.kind == "decoder"])
    parser.add_argument("--data", type=Path, required=True, help="folder of the corpora")
    parser.add_argument("--runs", type=Path, default=Path("runs"), help="where tokenized texts are kept")
    parser.add_argument("--only", choices=["lens", "units"], help="one of the two")
    parser.add_argument("--threads", type=int, default=None, help="CPU threads, default PyTorch's choice")
    args = parser.parse_args()
    if args.threads:
        torch.set_num_threads(args.threads)
    try:
        data = data_of.prepare(recipe.load(args.name), args.data, args.runs)
    except CorpusError as error:
        parser.exit(2, f"{error}\n")
    folder = BUNDLED / args.name
    if args.only != "units":
        print(json.dumps(write(folder, data), indent=2))
    if args.only != "lens":
        print(f"{sample(folder, data).n_texts:,} texts: {folder / units.FILE}")


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
    _into_card(folder, "lens", values)
    return figures


def _windows(data: Batches, language: str, most: int) -> Iterator[list[int]]:
    return itertools.islice((row for batch in data.held_out(language) for row in batch.ids.tolist()), most)


def sample(folder: Path, data: Batches, most: int = MOST_TEXTS) -> UnitSample:
    """Measure the units of the model in a folder on held-out text; write what was found and a section of the card."""
    lm, each = load_folder(folder), most // len(data.languages)
    rows = {language: list(_short(data, language))[:each] for language in data.languages}
    found = units.sample_units(lm, [ids for some in rows.values() for ids in some])
    found.save(folder / units.FILE)
    sources = (source for source in TEXTS if source.is_measured and source.language in data.languages)
    values = {
        "name": folder.name,
        "n": f"{found.n_texts:,}",
        "length": str(units.WINDOW),
        "before": str(units.WINDOW - 1),
        "languages": ", ".join(f"{language}: {len(some):,}" for language, some in rows.items()),
        "removed": str(len(found.some(units.REMOVED))),
        "sources": "\n".join(f"- {source.title}: {source.license}" for source in sources),
    }
    _into_card(folder, "units", values)
    return found


def _short(data: Batches, language: str) -> Iterator[list[int]]:
    """Held-out text in pieces of the length that is sampled."""
    for batch in data.held_out(language):
        yield from batch.ids.unfold(1, units.WINDOW, units.WINDOW).flatten(0, 1).tolist()


def _into_card(folder: Path, name: str, values: Mapping[str, str]) -> None:
    """Write one section of a card, in the place of what was said there before."""
    texts = tomllib.loads(Path(__file__).with_name("card.toml").read_text(encoding="utf-8"))[name]
    section, heading, path = fill(texts["section"].strip(), values), texts["heading"], folder / "README.md"
    card = path.read_text(encoding="utf-8")
    rest = re.sub(rf"{re.escape(heading)}\n.*?(?=^## )", "", card, flags=re.S | re.M)
    before, after = rest.split("## What it writes\n", 1)
    path.write_text(f"{before}{heading}\n\n{section}\n\n## What it writes\n{after}", encoding="utf-8")


if __name__ == "__main__":
    main()
