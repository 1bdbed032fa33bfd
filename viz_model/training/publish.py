"""A finished run becomes a bundled model: weights in half precision, card, training log."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import save_file

from viz_model import generation
from viz_model.checkpoints.registry import load_folder
from viz_model.checkpoints.weights import stored_tensors
from viz_model.tokenizer import story_tokenizer
from viz_model.training.corpus import SOURCES, Corpus
from viz_model.training.loop import bits_per_byte, trained_model
from viz_model.training.recipes import RECIPES, Recipe

PROMPTS = ("Once upon a time, there was a little girl named", "One day, Tom", "从前，有一只小", "我爱深度学习")


def read_log(path: Path) -> list[dict[str, Any]]:
    """The step reports of a training log, one a step: a resumed run's repeats replace earlier ones."""
    reports = {report["step"]: report for report in map(json.loads, path.read_text().splitlines())}
    return [reports[step] for step in sorted(reports)]


def publish(name: str, run: Path, data: Path, cache: Path, target: Path) -> None:
    """Write weights (fp16), config, log and card of a finished run to ``target``.

    The figures of the card are measured here, on the weights as shipped.
    """
    recipe = RECIPES[name]
    twin = next((other for other in RECIPES if other != name), None)
    target.mkdir(parents=True, exist_ok=True)
    tensors = {key: value.half().contiguous() for key, value in stored_tensors(trained_model(recipe, run)).items()}
    save_file(tensors, target / "model.safetensors")
    description = {"tokenizer": "story-8k", "twin": twin, "config": recipe.config.to_dict()}
    (target / "config.json").write_text(json.dumps(description, indent=2) + "\n")

    log = read_log(run / "log.jsonl")
    (target / "log.jsonl").write_text("".join(json.dumps(_thin(report)) + "\n" for report in log))

    lm = load_folder(target)
    corpus = Corpus.prepare(data, story_tokenizer(), recipe.seed, cache)
    figures = {held.language: bits_per_byte(lm.model, held) for held in corpus.held_out}
    greedy = generation.Sampling(temperature=0.0)
    samples = {
        prompt: generation.generate(
            lm.decoder(lm.tokenizer.encode(prompt)), lm.tokenizer, max_new_tokens=40, sampling=greedy, seed=0
        ).text
        for prompt in PROMPTS
    }
    (target / "README.md").write_text(card(name, recipe, figures, samples, log, tensors), encoding="utf-8")


def _thin(report: dict[str, Any]) -> dict[str, Any]:
    """A step report with the digits that a plot can show."""
    return {
        "step": report["step"],
        "loss": round(report["loss"], 4),
        "learning_rate": float(f"{report['learning_rate']:.4g}"),
        "gradient_norm": round(report["gradient_norm"], 4),
        "bits_per_byte": report["bits_per_byte"]
        and {language: round(value, 4) for language, value in report["bits_per_byte"].items()},
    }


def card(
    name: str,
    recipe: Recipe,
    figures: dict[str, float],
    samples: dict[str, str],
    log: list[dict[str, Any]],
    tensors: dict[str, torch.Tensor],
) -> str:
    """The model card, in Markdown."""
    config = recipe.config
    n_parameters = sum(tensor.numel() for tensor in tensors.values())
    tokens = recipe.steps * recipe.windows * config.n_context
    norm = {
        "pre": "before each sub-layer, with a final norm (Pre-LN)",
        "post": "after each addition, without a final norm (Post-LN)",
    }[config.norm_at]
    rows = "\n".join(f"| {source.title} | {source.language} | {source.licence} |" for source in SOURCES)
    continued = "\n".join(f"- **{prompt}**{_one_line(text)}" for prompt, text in samples.items())
    settings = {key: value for key, value in asdict(recipe).items() if key != "config"}
    tail = log[-100:]
    return f"""# {name}

A causal decoder of {n_parameters:,} parameters that continues short stories and sentences in English and
Chinese. It exists to be looked at: small enough to trace in milliseconds, trained enough that its attention,
neurons and probabilities mean something. Its twin differs from it in one field, where the LayerNorm stands.

| | |
|---|---|
| layers, width, heads | {config.n_layers}, {config.d_model}, {config.n_heads} |
| feed-forward | {config.d_ffn}, ReLU |
| norm | LayerNorm, {norm} |
| positions | sinusoidal, context {config.n_context} |
| vocabulary | {config.n_vocab:,}, byte-level BPE, shared by embedding and unembedding |
| weights | safetensors, half precision; computed with in single |

## Held-out text

Stories set aside before training, in bits for each UTF-8 byte, windows of {config.n_context} tokens without overlap:

| language | bits per byte |
|---|---|
| English | {figures["en"]:.3f} |
| Chinese | {figures["zh"]:.3f} |

Training loss over the last {len(tail)} steps: {sum(report["loss"] for report in tail) / len(tail):.3f} nats a token.
The loss of every step is in `log.jsonl` beside this file.

## Greedy continuations

{continued}

## Training

`python -m viz_model.training {name} --data FOLDER --publish`: {recipe.steps:,} steps of {recipe.windows} windows,
{tokens / 1e6:.1f} million tokens, on CPU in bfloat16 autocast. AdamW, linear warm-up, then cosine decay to a tenth.

```json
{json.dumps(settings)}
```

## Data

| text | language | licence |
|---|---|---|
{rows}

Every fiftieth document was set aside and never trained on.

## What it cannot do

It knows the world of children's stories and short sentences, and no facts. It has seen about {tokens / 1e6:.0f} million
tokens, where useful models see trillions: expect grammar, names and moods, not sense over several
sentences. Chinese had a third of the text and shows it. Whatever bias the texts have, it has.
"""


def _one_line(text: str) -> str:
    return text.replace("\n", " ⏎ ").rstrip()
