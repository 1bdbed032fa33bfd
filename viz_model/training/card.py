"""The model card that lies beside a bundled model's weights, and the picture of its curves."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from viz_model.config import ModelConfig
from viz_model.training.corpus import SEEN
from viz_model.training.recipe import MaskedToken, NextToken, Recipe, Translation
from viz_model.training.sources import HELD_OUT_EVERY, PAIRS, TEXTS

STUDY = Path(__file__).with_name("study.json")
LANGUAGES = {"en": "English", "zh": "Chinese", "fr": "French"}
WHAT = {
    NextToken: "A causal decoder of {n:,} parameters that continues short stories and sentences in English and"
    " Chinese.",
    MaskedToken: "A bidirectional encoder of {n:,} parameters that fills in hidden words of short stories and sentences"
    " in English and Chinese.",
    Translation: "An encoder–decoder of {n:,} parameters that translates short English sentences into French and"
    " Chinese; the token its decoder begins from says into which.",
}
CANNOT = {
    NextToken: "It knows the world of children's stories and short sentences, and no facts. Expect grammar, names and"
    " moods, not sense over many sentences. Chinese had half of every batch, from half as much text, and shows it: a"
    " greedy continuation soon goes round in circles (an English one later), a drawn one does not.",
    MaskedToken: "It knows the world of children's stories and short sentences, and no facts. It does not write text,"
    " and its vectors were not trained to be compared as meanings of sentences.",
    Translation: "It translates everyday sentences of up to about a dozen words. Rare words, names, idioms and long"
    " sentences come out wrong or missing. Chinese had a sixth as many sentences as French.",
}


def write(
    recipe: Recipe,
    figures: Mapping[str, Mapping[str, float]],
    by_source: Mapping[str, Mapping[str, float]],
    samples: Sequence[tuple[str, str]],
    *,
    n_steps: int,
    n_parameters: int,
) -> str:
    """The card, in Markdown."""
    config, kind = recipe.config, type(recipe.objective)
    settings = {key: value for key, value in asdict(recipe).items() if key not in ("config", "name")}
    named = ["bits_per_byte", "accuracy", "bleu", "bleu_all_references"]
    columns = [name for name in named if all(name in found for found in figures.values())]
    heads = {
        "bits_per_byte": "bits per byte",
        "accuracy": "first choice right",
        "bleu": "BLEU",
        "bleu_all_references": "BLEU, all references",
    }
    rows = "\n".join(
        f"| {LANGUAGES[language]} | " + " | ".join(_figure(name, found[name]) for name in columns) + " |"
        for language, found in figures.items()
    )
    shown = "\n".join(f"- **{text}**{' ' if kind is not NextToken else ''}{_one_line(said)}" for text, said in samples)
    sources = PAIRS if kind is Translation else TEXTS
    data = "\n".join(f"| {source.title} | {source.language} | {source.licence} |" for source in sources)
    return f"""# {recipe.name}

{WHAT[kind].format(n=n_parameters)} It exists to be looked at: small enough to trace in milliseconds, trained
enough that its attention, neurons and probabilities mean something.

| | |
|---|---|
{_sizes(config)}
| vocabulary | {config.n_vocab:,}, byte-level BPE, shared by all models of the family |
| weights | safetensors, half precision; computed with in single |

## Held-out text

{_measured(kind)}

| language | {" | ".join(heads[name] for name in columns)} |
|---|{"---|" * len(columns)}
{rows}
{_by_source(by_source)}
`python -m viz_model.training {recipe.name} --data FOLDER --measure` measures them again{_again(by_source)}.
The same loss on a text that comes with the code is in `figures.json`.

## What it says

{_intro(kind)}

{shown}

## Training

`python -m viz_model.training {recipe.name} --data FOLDER --publish`: {n_steps:,} steps{_rounds(recipe)}.

![loss, held-out bits per byte and gradient norm by step](curves.svg)

The loss, learning rate and gradient norm of every part, by step, are in `log.jsonl`.

```json
{json.dumps(settings)}
```
{_study()}
## Data

| text | language | licence |
|---|---|---|
{data}

Every {HELD_OUT_EVERY}th {"English sentence, with all its translations," if kind is Translation else "document"} was set
aside after a seeded shuffle, and never trained on.

## What it cannot do

{CANNOT[kind]} Whatever bias the texts have, it has.
"""


def _sizes(config: ModelConfig) -> str:
    layers = {"decoder": f"{config.n_layers}", "encoder": f"{config.n_layers}"}.get(
        config.kind, f"{config.n_encoder_layers} in the encoder, {config.n_layers} in the decoder"
    )
    heads = f"{config.n_heads}"
    if config.n_kv_heads != config.n_heads:
        heads += f" query heads, {config.n_kv_heads} key–value heads"
    ffn = f"{config.d_ffn}, {config.ffn.activation}{', gated' if config.ffn.gated else ''}"
    norm = f"{type(config.norm).__name__}, " + (
        "in front of each sub-layer, with a final norm (Pre-LN)"
        if config.norm_at == "pre"
        else "behind each addition (Post-LN)"
    )
    rows = {
        "layers": layers,
        "width": f"{config.d_model}",
        "heads": heads,
        "feed-forward": ffn,
        "norm": norm,
        "positions": f"{config.position.label}, context {config.n_context}",
    }
    return "\n".join(f"| {name} | {value} |" for name, value in rows.items())


def _measured(kind: type) -> str:
    return {
        NextToken: "Stories set aside before training; windows of the whole context, without overlap. Bits for each"
        " UTF-8 byte.",
        MaskedToken: "Stories set aside before training, 15 % of the tokens asked for (of those 80 % masked, 10 %"
        " replaced, 10 % kept). Bits for each UTF-8 byte asked for.",
        Translation: "Sentences set aside before training. Bits for each UTF-8 byte of the translation, given its"
        " beginning; BLEU (sacrebleu) of greedy translations against the first translation of each sentence, and"
        " against all that the corpus has.",
    }[kind]


def _by_source(by_source: Mapping[str, Mapping[str, float]]) -> str:
    if not by_source:
        return ""
    titles = {source.file: source.title for source in TEXTS}
    rows = "\n".join(
        f"| {titles[file]} | {found['held_out']:.3f} | {found['seen']:.3f} |" for file, found in by_source.items()
    )
    return f"""
By text, in bits per byte, beside {SEEN} times as many documents that it was trained on: the difference is what it knows
by heart, and chance where a text has few documents.

| text | held out | trained on |
|---|---|---|
{rows}
"""


def _again(by_source: Mapping[str, Mapping[str, float]]) -> str:
    return ", `--measure-sources` those by text" if by_source else ""


def _intro(kind: type) -> str:
    return {
        NextToken: "Greedy continuations:",
        MaskedToken: "Its first choices for the mask:",
        Translation: "Greedy translations:",
    }[kind]


def _figure(name: str, value: float) -> str:
    return {"accuracy": f"{value:.1%}"}.get(name, f"{value:.1f}" if name.startswith("bleu") else f"{value:.3f}")


def _one_line(text: str) -> str:
    return text.replace("\n", " ⏎ ").rstrip()


def _rounds(recipe: Recipe) -> str:
    """How a run went on from its own end, where it did, or from another model."""
    if not recipe.restarts:
        begun = f", begun from the published weights of {recipe.begin_from}, in half precision"
        return begun if recipe.begin_from else ""
    *lengths, last = (f"{each.n_steps:,}" for each in recipe.rounds)
    return (
        f", in rounds of {', '.join(lengths)} and {last}: each has a warm-up and a decay of its own and begins with a "
        "new optimiser. "
        "The last began from the weights that the one before had published, in half precision (`--from-published`)"
    )


def _study() -> str:
    """The table of the scaling study, where it was run."""
    if not STUDY.exists():
        return ""
    study = json.loads(STUDY.read_text(encoding="utf-8"))
    rows = "\n".join(
        f"| {row['change']} | {row['n_parameters'] / 1e6:.1f} M | {row['tokens'] / 1e6:.1f} M |"
        f" {row['en']:.3f} | {row['zh']:.3f} |"
        for row in study["rows"]
    )
    return f"""
### Why this size

A decoder like story-pre-ln, trained with the same number of multiplications in each row
({study["operations"]:.1e}): what a larger model gains it must pay for in tokens. So short a run favours few
parameters and small steps; the longer the run, the larger the model that is best (Kaplan et al. 2020, section 6), and
the bundled ones saw many times as many tokens. Held-out bits per byte:

| | parameters | tokens | English | Chinese |
|---|---|---|---|---|
{rows}
"""


def curves(reports: Sequence[Mapping[str, Any]]) -> str:
    """Loss, held-out bits per byte and gradient norm by step, as an SVG that needs nothing else."""
    last = reports[-1]["step"] or 1
    panels: list[tuple[str, dict[str, list[tuple[int, float]]]]] = [
        ("loss, nats a token", {"loss": [(r["step"], r["loss"]) for r in reports]}),
        (
            "held-out bits per byte",
            {
                language: [(r["step"], r["held_out"][language]["bits_per_byte"]) for r in reports if r["held_out"]]
                for language in next((r["held_out"] for r in reports if r["held_out"]), {})
            },
        ),
        ("gradient norm", {"norm": [(r["step"], r["gradient_norm"]) for r in reports]}),
    ]
    width, height, gap = 300, 180, 50
    drawn = []
    for n, (title, lines) in enumerate(panels):
        values = [y for points in lines.values() for _, y in points]
        if not values:
            continue
        # From the second tenth on: the first steps would press the rest against the axis.
        settled = sorted(values)[: max(1, int(len(values) * 0.97))]
        low, high = settled[0], max(settled[-1], settled[0] + 1e-9)
        left = gap + n * (width + gap)
        drawn.append(
            f'<text x="{left}" y="18">{title}</text><text x="{left}" y="{height + 58}">step 0</text>'
            f'<text x="{left + width}" y="{height + 58}" text-anchor="end">{last + 1:,}</text>'
            f'<text x="{left - 4}" y="{height + 40}" text-anchor="end">{low:.2f}</text>'
            f'<text x="{left - 4}" y="44" text-anchor="end">{high:.2f}</text>'
            f'<rect x="{left}" y="34" width="{width}" height="{height + 6}" fill="none" stroke="#bbb"/>'
        )
        for colour, (name, points) in zip(("#0072b2", "#d55e00"), lines.items(), strict=False):
            path = " ".join(
                f"{left + width * x / last:.1f},{40 + height * (1 - min(1, (y - low) / (high - low))):.1f}"
                for x, y in points
            )
            drawn.append(f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="1.3"/>')
            if len(lines) > 1:
                height_at = 40 + height * (1 - min(1, (points[-1][1] - low) / (high - low)))
                drawn.append(
                    f'<text x="{left + width - 4}" y="{height_at - 5:.1f}" fill="{colour}" text-anchor="end">'
                    f"{LANGUAGES.get(name, name)}</text>"
                )
    size = f'width="{3 * (width + gap) + gap}" height="{height + 70}"'
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" {size} font-family="sans-serif" font-size="12" fill="#333">'
        f'<rect width="100%" height="100%" fill="white"/>{"".join(drawn)}</svg>\n'
    )
