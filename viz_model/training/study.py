"""The scaling study behind the size of the story models: equal work, spent on different sizes.

``python -m viz_model.training.study --data FOLDER`` trains every row of :data:`CHANGES` and writes
``study.json``, which the model cards show. Rows that are already there are not trained again.
"""

import argparse
import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch
from tqdm import tqdm

from viz_model.training import batches, loop, objective, recipe
from viz_model.training.card import STUDY
from viz_model.training.recipe import NextToken, Recipe

OPERATIONS = 1.5e13
"""Multiplications and additions of each row: two or three minutes on one core."""

CHANGES: Mapping[str, Mapping[str, Any]] = {
    "width 128, 4 layers": {"d_model": 128, "n_heads": 4, "d_ffn": 512},
    "width 192, 2 layers": {"n_layers": 2},
    "width 192, 4 layers (as shipped)": {},
    "width 192, 6 layers": {"n_layers": 6},
    "width 256, 4 layers": {"d_model": 256, "n_heads": 8, "d_ffn": 1024},
    "width 192, 4 layers, AdamW alone": {"optimizer": "adamw"},
    "width 192, 4 layers, half the rows a step": {"rows": 0.5},
    "width 192, 4 layers, twice the rows a step": {"rows": 2},
}
SIZES = ("d_model", "n_heads", "n_layers", "d_ffn")


def changed(base: Recipe, change: Mapping[str, Any]) -> Recipe:
    """``base`` with a change, for as many steps as :data:`OPERATIONS` allow.

    A step costs 6 operations for each parameter and token: two forward, four backward (Kaplan et
    al. 2020, section 2.1; the embedding counts once, as the unembedding it is tied to).
    """
    base = base.before(base.rounds[0].last)
    sizes = {key: value for key, value in change.items() if key in SIZES}
    if sizes:
        sizes |= {"n_kv_heads": 0, "d_head": 0}  # the usual ones of the new sizes
    config = replace(base.config, **sizes)
    assert isinstance(base.objective, NextToken)
    rows = {language: max(1, round(n * change.get("rows", 1))) for language, n in base.objective.rows.items()}
    made = replace(
        base, config=config, objective=NextToken(rows=rows), optimizer=change.get("optimizer", base.optimizer)
    )
    n_parameters = sum(p.numel() for p in loop.new_model(made).parameters())
    steps = round(OPERATIONS / (6 * n_parameters * sum(rows.values()) * config.n_context))
    warmup = steps // 10
    return replace(made, steps=steps, warmup=warmup, decay_steps=steps // 3, validate_every=steps)


def row(name: str, base: Recipe, data: Path, cache: Path) -> dict[str, Any]:
    """Train one variant; its row of the table."""
    made = changed(base, CHANGES[name])
    assert isinstance(made.objective, NextToken)
    prepared = batches.prepare(made, data, cache)
    model = loop.new_model(made)
    for _ in tqdm(loop.train(made, prepared, model=model), total=made.steps, desc=name, mininterval=5):
        pass
    figures = objective.figures(model, prepared)
    return {
        "change": name,
        "n_parameters": sum(p.numel() for p in model.parameters()),
        "tokens": made.steps * sum(made.objective.rows.values()) * made.config.n_context,
        **{language: round(found["bits_per_byte"], 4) for language, found in figures.items()},
    }


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m viz_model.training.study", description=__doc__)
    parser.add_argument("--data", type=Path, required=True, help="folder of the corpora")
    parser.add_argument("--runs", type=Path, default=Path("runs"), help="where the tokenized corpora go")
    parser.add_argument("--threads", type=int, default=None)
    args = parser.parse_args()
    loop.prepare_memory()
    if args.threads:
        torch.set_num_threads(args.threads)
    found: dict[str, Any] = {"operations": OPERATIONS, "rows": []}
    if STUDY.exists():
        kept = json.loads(STUDY.read_text(encoding="utf-8"))
        found = kept if kept["operations"] == OPERATIONS else found
    known = {kept["change"]: kept for kept in found["rows"]}
    for name in CHANGES:
        if name not in known:
            known[name] = row(name, recipe.load("story-pre-ln"), args.data, args.runs)
            found["rows"] = [known[other] for other in CHANGES if other in known]
            STUDY.write_text(json.dumps(found, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
