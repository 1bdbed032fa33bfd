"""What a model writes while it learns: the same beginnings, continued with the same random numbers, after some steps.

``python -m viz_model.training NAME --data FOLDER --words`` starts the recipe anew, beside the bundled weights, and
writes ``words.jsonl``. A line is ``{"step", "bits_per_byte", "texts": {language: continuation}}``; bits are those of
text that is held out. The run can be interrupted, and goes on where it was.
"""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from viz_model.checkpoints.registry import load_folder
from viz_model.model.transformer import Transformer
from viz_model.runs.generation import Decoder, Sampling, generate
from viz_model.tokenizers.tokenizer import Tokenizer
from viz_model.training import loop, objective
from viz_model.training.batches import Batches
from viz_model.training.recipe import Recipe

FILE = "words.jsonl"
STEPS = (0, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10_000, 20_000, 40_000)
BEGINNINGS = {"en": "Tom had a cat and a dog. One day the cat", "zh": "小猫坐在垫子上，它"}
TOKENS, TEMPERATURE, SEED = 30, 0.75, 0


class Moment(NamedTuple):
    """After so many steps: bits per byte of held-out text and the continuation of a beginning, by language."""

    step: int
    bits_per_byte: dict[str, float]
    texts: dict[str, str]


def read(folder: Path) -> list[Moment]:
    """What was written while the model in a folder was trained anew; empty where that was not kept."""
    path = folder / FILE
    if not path.exists():
        return []
    found = {one.step: one for one in (Moment(**json.loads(line)) for line in path.read_text("utf-8").splitlines())}
    return [found[step] for step in sorted(found)]


def record(recipe: Recipe, data: Batches, run: Path, published: Path) -> Iterator[Moment]:
    """Train anew in ``run``; note what is written after each of :data:`STEPS` in the folder of the published model."""
    tokenizer, model = load_folder(published).tokenizer, loop.new_model(recipe)
    run.mkdir(parents=True, exist_ok=True)
    known = {one.step for one in read(published)}
    if 0 not in known:
        yield _note(model, tokenizer, data, 0, published)
    for report in loop.train(recipe, data, run, model=model):
        if report.step + 1 in STEPS and report.step + 1 not in known:
            yield _note(model, tokenizer, data, report.step + 1, published)


def _note(model: Transformer, tokenizer: Tokenizer, data: Batches, step: int, folder: Path) -> Moment:
    model.eval()
    held_out: dict[str, Any] = objective.figures(model, data, loop.LOGGED_BATCHES)
    bits = {language: round(figures["bits_per_byte"], 3) for language, figures in held_out.items()}
    moment = Moment(step, bits, {language: _continued(model, tokenizer, said) for language, said in BEGINNINGS.items()})
    with (folder / FILE).open("a", encoding="utf-8") as file:
        file.write(json.dumps(moment._asdict(), ensure_ascii=False) + "\n")
    model.train()
    return moment


def _continued(model: Transformer, tokenizer: Tokenizer, beginning: str) -> str:
    decoder = Decoder(model, tokenizer.encode(beginning), controls=tokenizer.controls_by_side)
    made = generate(decoder, tokenizer, max_new_tokens=TOKENS, sampling=Sampling(temperature=TEMPERATURE), seed=SEED)
    return made.text
