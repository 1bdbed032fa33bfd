"""The model card that lies beside a bundled model's weights, and the picture of its curves."""

import json
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from viz_model.config import DeltaNet, Layer, ModelConfig
from viz_model.model import sites
from viz_model.texts import fill
from viz_model.training.corpus import SEEN
from viz_model.training.recipe import Classes, NextToken, Recipe, Transcription, Translation
from viz_model.training.sources import HELD_OUT_EVERY, MORE, PAIRS, PICTURES
from viz_model.training.sources import TEXTS as SOURCES
from viz_model.values import counts

STUDY = Path(__file__).with_name("study.json")
LANGUAGES = {"en": "English", "zh": "Chinese", "fr": "French", "sums": "word problems", "code": "Python programs"}
TEXTS: dict[str, Any] = tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))
"""What stands on every card, and under the name of an objective what stands on those of its models."""
NORM_PLACES = {
    "pre": "in front of each sub-layer, with a final norm (Pre-LN)",
    "post": "behind each addition (Post-LN)",
    "branch": "behind each sub-layer and in front of its addition, with a final norm",
    "both": "in front of and behind each sub-layer, with a final norm",
}
HEADS = {
    "bits_per_byte": "bits per byte",
    "accuracy": "first choice right",
    "bleu": "BLEU",
    "bleu_all_references": "BLEU, all references",
}


def write(
    recipe: Recipe,
    figures: Mapping[str, Mapping[str, float]],
    by_source: Mapping[str, Mapping[str, float]],
    samples: Sequence[tuple[str, str]],
    *,
    n_steps: int,
    n_parameters: int,
    routed: Mapping[str, Any] | None = None,
) -> str:
    """The card, in Markdown; ``routed`` is what :func:`viz_model.training.routing.measure` found."""
    kind = type(recipe.objective)
    columns = [name for name in HEADS if all(name in found for found in figures.values())]
    rows = [
        [LANGUAGES[language], *(_figure(name, found[name]) for name in columns)] for language, found in figures.items()
    ]
    gap = "" if kind is NextToken else " "
    told: dict[str, Any] = TEXTS[kind.__name__]
    return fill(
        TEXTS["card"],
        {
            **told,
            **shared(recipe, n_steps, n_parameters),
            "what": fill(told["what"], {"n": f"{n_parameters:,}"}),
            "stored": TEXTS[recipe.stored],
            "columns": " | ".join(HEADS[name] for name in columns),
            "rule": "---|" * len(columns),
            "figures": table_rows(rows),
            "by_source": _by_source(by_source),
            "again": TEXTS["again"] if by_source else "",
            "routed": "" if routed is None else _routed(routed),
            "samples": "\n".join(f"- **{text}**{gap}{_one_line(said)}" for text, said in samples),
            "rounds": _rounds(recipe),
            "study": _study(),
            "data": table_rows(
                (each.title, each.language, each.license) for each in (PAIRS if kind is Translation else SOURCES)
            ),
            "every": HELD_OUT_EVERY,
        },
    )


def shared(recipe: Recipe, n_steps: int, n_parameters: int) -> dict[str, Any]:
    """What every card says, and one of a model of pictures of what it reads."""
    config = recipe.config
    settings = {key: value for key, value in asdict(recipe).items() if key not in ("config", "name")}
    told = {
        "name": recipe.name,
        "n": f"{n_parameters:,}",
        "sizes": sizes_of(config),
        "n_vocab": f"{config.n_vocab:,}",
        "n_steps": f"{n_steps:,}",
        "settings": json.dumps(settings),
    }
    if not isinstance(recipe.objective, Classes | Transcription):
        return told
    given, name = config.patches, recipe.objective.source
    source, cls = next(source for source in PICTURES if source.name == name), "behind" if given.cls else "no"
    return told | {
        "picture": f"{given.height} × {given.width}, {'gray' if given.channels == 1 else 'color'}",
        "patches": f"{given.n_patches} of {given.patch} × {given.patch} pixels, row by row, {cls} [CLS]",
        "title": source.title,
        "license": source.license,
    }


def table_rows(cells: Iterable[Sequence[str]]) -> str:
    """Rows of a table."""
    return "\n".join(f"| {' | '.join(row)} |" for row in cells)


def sizes_of(config: ModelConfig) -> str:
    layers = {"decoder": f"{config.n_layers}", "encoder": f"{config.n_layers}"}.get(
        config.kind, f"{config.n_encoder_layers} in the encoder, {config.n_layers} in the decoder"
    )
    heads = f"{config.n_heads}"
    if config.n_kv_heads != config.n_heads:
        heads += f" query heads, {config.n_kv_heads} key–value heads"
    layers_ = (config.layer(config.sides[-1], n) for n in range(config.n_layers))
    ffn = ", or ".join(dict.fromkeys(_feed_forward(config, layer) for layer in layers_))
    places = {side: NORM_PLACES[config.norm_place(side)] for side in config.sides}
    where = next(iter(places.values()))
    if len({*places.values()}) > 1:
        where = ", ".join(f"in the {side} {place}" for side, place in places.items())
    rows = {
        "layers": layers,
        "width": f"{config.d_model}",
        "heads": heads,
        **({"states": _states(config)} if config.has_states else {}),
        "feed-forward": ffn,
        "norm": f"{type(config.norm).__name__}, {where}",
        "positions": f"{config.position.label}, context {config.n_context}",
    }
    if config.has_experts:
        held = counts.weights(site for _, site in sites.in_order(config)).values()
        rows["used for one token"] = f"{sum(counts.used(*each) for each in held):,} of the parameters"
    return table_rows(rows.items())


def _states(config: ModelConfig) -> str:
    """Which layers hold a state in the place of attention, and how large it is."""
    held = {n: mixer for n, mixer in enumerate(config.mixers) if isinstance(mixer, DeltaNet)}
    each = dict.fromkeys(f"{one.n_values} states of {one.d_key} × {one.d_value}" for one in held.values())
    return f"{', or '.join(each)} in layers {', '.join(map(str, held))} (gated DeltaNet); the others attend"


def _feed_forward(config: ModelConfig, layer: Layer) -> str:
    told = f"{layer.ffn.activation or type(layer.ffn).__name__}{', gated' if layer.ffn.gated else ''}"
    if (experts := layer.experts) is None:
        return f"{config.d_ffn}, {told}"
    return f"{experts.top_k} of {experts.n_experts} experts of {experts.width(config.d_ffn)}, {told}"


def _by_source(by_source: Mapping[str, Mapping[str, float]]) -> str:
    if not by_source:
        return ""
    titles = {source.file: source.title for source in SOURCES}
    rows = ((titles[file], f"{found['held_out']:.3f}", f"{found['seen']:.3f}") for file, found in by_source.items())
    return fill(TEXTS["by_source"], {"seen": SEEN, "rows": table_rows(rows)})


def _routed(found: Mapping[str, Any]) -> str:
    """Of each kind of text the share of its tokens that each expert reads, a table for each layer."""
    tables = []
    for layer, of in found["layers"].items():
        experts = range(len(next(iter(of["shares"].values()))))
        rows = (
            [LANGUAGES[kind], *(f"{share:.0%}" for share in shares), f"{of['balance'][kind]:.2f}"]
            for kind, shares in of["shares"].items()
        )
        head = ["block " + layer, *(f"expert {n}" for n in experts), "balance"]
        tables.append(f"{table_rows([head])}\n|{'---|' * len(head)}\n{table_rows(rows)}")
    unread = [kind for kind in found["n_tokens"] if kind not in found["trained_on"]]
    titles = "; ".join(f"{source.title} ({source.license})" for source in MORE if source.language in unread)
    n_tokens = f"{next(iter(found['n_tokens'].values())):,}"
    told = {"n": n_tokens, "unread": ", ".join(LANGUAGES[kind] for kind in unread)}
    return fill(TEXTS["routed"], {**told, "titles": titles, "tables": "\n\n".join(tables)})


def _figure(name: str, value: float) -> str:
    return {"accuracy": f"{value:.1%}"}.get(name, f"{value:.1f}" if name.startswith("bleu") else f"{value:.3f}")


def _one_line(text: str) -> str:
    return text.replace("\n", " ⏎ ").rstrip()


def _rounds(recipe: Recipe) -> str:
    """How a run went on from its own end, where it did, or from another model."""
    if not recipe.restarts:
        begun = f", begun from the published weights of {recipe.begin_from}, in half precision"
        if recipe.frozen:
            begun += TEXTS["cut"]
        if recipe.aligned:
            begun += fill(TEXTS["aligned"], {"n": f"{recipe.aligned:,}"})
        return begun if recipe.begin_from else ""
    *lengths, last = (f"{each.n_steps:,}" for each in recipe.rounds)
    return fill(TEXTS["rounds"], {"lengths": ", ".join(lengths), "last": last})


def _study() -> str:
    """The table of the scaling study, where it was run."""
    if not STUDY.exists():
        return ""
    study = json.loads(STUDY.read_text(encoding="utf-8"))
    rows = (
        (
            row["change"],
            *(f"{row[name] / 1e6:.1f} M" for name in ("n_parameters", "tokens")),
            *(f"{row[name]:.3f}" for name in ("en", "zh")),
        )
        for row in study["rows"]
    )
    return fill(TEXTS["study"], {"operations": f"{study['operations']:.1e}", "rows": table_rows(rows)})


def curves(reports: Sequence[Mapping[str, Any]]) -> str:
    """Loss, held-out figures and gradient norm by step, as an SVG that needs nothing else."""
    last = reports[-1]["step"] or 1
    measured: Mapping[str, Mapping[str, float]] = next((r["held_out"] for r in reports if r["held_out"]), {})
    is_of_pictures = any("nats" in figures for figures in measured.values())
    name, one = ("nats", "picture") if is_of_pictures else ("bits_per_byte", "token")
    panels: list[tuple[str, dict[str, list[tuple[int, float]]]]] = [
        (f"loss, nats a {one}", {"loss": [(r["step"], r["loss"]) for r in reports]}),
        (
            "held-out nats a picture" if is_of_pictures else "held-out bits per byte",
            {
                language: [(r["step"], r["held_out"][language][name]) for r in reports if r["held_out"]]
                for language in measured
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
        for color, (name, points) in zip(("#0072b2", "#d55e00"), lines.items(), strict=False):
            heights = [40 + height * (1 - min(1, (y - low) / (high - low))) for _, y in points]
            path = " ".join(f"{left + width * x / last:.1f},{y:.1f}" for (x, _), y in zip(points, heights, strict=True))
            drawn.append(f'<polyline points="{path}" fill="none" stroke="{color}" stroke-width="1.3"/>')
            if len(lines) > 1:
                drawn.append(
                    f'<text x="{left + width - 4}" y="{heights[-1] - 5:.1f}" fill="{color}" text-anchor="end">'
                    f"{LANGUAGES.get(name, name)}</text>"
                )
    size = f'width="{3 * (width + gap) + gap}" height="{height + 70}"'
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" {size} font-family="sans-serif" font-size="12" fill="#333">'
        f'<rect width="100%" height="100%" fill="white"/>{"".join(drawn)}</svg>\n'
    )
