"""The parts that Transformers differ by, what each of two models says of them, and which model another
is most like; and the module tree of each."""

import dataclasses
import itertools
from collections.abc import Mapping, Sequence
from typing import Any, Literal, NamedTuple

from viz_model.config import Attending, DeltaNet, ModelConfig, ShortConv, hidden_width
from viz_model.drawing.digits import percent
from viz_model.island.look import Look
from viz_model.island.page import Chooser, Plain
from viz_model.model.transformer import Transformer
from viz_model.tokenizers.tokenizer import IdTokenizer, Tokenizer
from viz_model.topics.architectures import pair, parameters
from viz_model.topics.architectures.parameters import Node
from viz_model.topics.architectures.plan import activation


def default_partner(name: str, twin: str | None, configs: Mapping[str, ModelConfig]) -> str | None:
    """The model to compare ``name`` with at first: its twin, else the one that it is most like."""
    if twin in configs:
        return twin
    kin = nearest(name, configs)
    return kin and kin.name


# Parts


class Part(NamedTuple):
    """One thing that a model has: ``name`` and ``said`` are keys of texts, ``page`` is where it is seen.

    ``label`` is said of a variant that there is no text of.
    """

    name: str
    page: str
    said: str
    values: Mapping[str, str] = {}
    label: str = ""


def parts(model: Transformer, tokenizer: Tokenizer) -> tuple[Part, ...]:
    """Everything by which Transformers of this package differ; the same names for every model, in one order."""
    kind, *others = described(model.config)
    total = sum(parameters.count(model).values())
    learned = Part("parameters", "architectures", "number", {"n": f"{total:,}"})
    return kind, _tokenizer(tokenizer), *others, learned


def described(config: ModelConfig) -> tuple[Part, ...]:
    """The parts that a config alone tells of."""
    width = hidden_width(config.ffn, config.d_ffn)
    return (
        Part("kind", "overview", config.kind),
        Part("vocabulary", "tokens", "number", {"n": f"{config.n_vocab:,}"}),
        Part("context", "position", "number", {"n": f"{config.n_context:,}"}),
        _width(config),
        Part("scale_embedding", "embedding", _yes(config.scale_embedding)),
        Part("segments", "embedding", "number" if config.n_segments else "no", {"n": str(config.n_segments)}),
        _by_layer("position", "position", config.position, config.positions),
        Part("embedding_norm", "embedding", _yes(config.embedding_norm)),
        Part(
            "layer_input", "embedding", "number" if config.d_layer_input else "no", {"n": f"{config.d_layer_input:,}"}
        ),
        _layers(config),
        _norm(config),
        Part("norm_at", "norm_placement", _norm_at(config)),
        Part("block_scale", "norm_placement", _yes(config.block_scale)),
        Part("heads", "attention", "heads", {"h": str(config.n_heads), "k": _of_layers(config, "d_head")}),
        Part("kv_heads", "attention", sharing(config), _groups(config)),
        _values(config),
        Part("attention_bias", "attention", _biases(config)),
        Part("qk_norm", "attention", _qk_norm(config)),
        Part("scale_scores", "attention", *_division(config)),
        _cap("score_cap", "attention", config.score_cap),
        _windows(config),
        _by_layer("ffn", "block", config.ffn, config.ffns, **activation(config.ffn)),
        Part("hidden", "block", "hidden", {"n": f"{width:,}", "times": f"{width / config.d_model:.3g}"}),
        Part("ffn_bias", "block", _yes(config.ffn.bias)),
        Part("final_norm", "norm_placement", _yes({*map(config.norm_place, config.sides)} != {"post"})),
        _variant("head", "next_token", config.head),
        Part("tied", "next_token", _yes(config.tie_embeddings) if config.has_logits else "nohead"),
        _cap("logit_cap", "next_token", getattr(config.head, "cap", None)),
        _head_scale(config),
        Part("head_bias", "next_token", _head(config, "bias", True)),
    )


def _norm(config: ModelConfig) -> Part:
    part = _variant("norm", "block", config.norm)
    return part if getattr(config.norm, "shift", True) else part._replace(said=f"{part.said}_no_shift")


def _norm_at(config: ModelConfig) -> str:
    """Where the norms stand, of all stacks: "pre_post" where the encoder is Pre-LN alone; "parallel" where both
    sub-layers have theirs on the same stream, "pre_first" where the first attention has none."""
    if config.parallel:
        return "parallel_shared" if config.shared_norm else "parallel"
    return "pre_first" if not config.first_norm else "_".join(dict.fromkeys(map(config.norm_place, config.sides)))


def _qk_norm(config: ModelConfig) -> str:
    return "heads_whole" if config.qk_norm and config.qk_norm_over == "heads" else _yes(config.qk_norm)


_TUNED = ("position", "norm", "kv_heads")
"""Parts whose numbers only tune them: another ε is no other norm."""


def _is_alike(part: Part, other: Part) -> bool:
    return part.said == other.said and (part.name in _TUNED or part.values == other.values)


class Kin(NamedTuple):
    """The model that another is most like, and the parts of that other one in which they differ."""

    name: str
    differs: tuple[Part, ...]


def nearest(name: str, configs: Mapping[str, ModelConfig]) -> Kin | None:
    """Of the models listed before ``name`` the one with the fewest other parts, of its kind if there is one.

    The first model is compared with those behind it; alone, with none.
    """
    names = list(configs)
    others = names[: names.index(name)] or names[1:]
    alike = [other for other in others if configs[other].kind == configs[name].kind] or others
    own = described(configs[name])

    def differs(other: str) -> tuple[Part, ...]:
        pairs = zip(own, described(configs[other]), strict=True)
        return tuple(part for part, theirs in pairs if not _is_alike(part, theirs))

    found = (Kin(other, differs(other)) for other in alike)
    return min(found, key=lambda kin: len(kin.differs), default=None)


def _division(config: ModelConfig) -> tuple[str, Mapping[str, str]]:
    """Whether scores are divided by √K, by another root, or not at all."""
    if config.scale_scores and not config.divides_by_root:
        return "width", {"n": f"{config.root_of:g}"}
    return _yes(config.scale_scores), {}


def _cap(name: str, page: str, cap: float | None) -> Part:
    return Part(name, page, "no") if cap is None else Part(name, page, "cap", {"n": f"{cap:g}"})


def _yes(flag: bool) -> str:
    return "yes" if flag else "no"


def _biases(config: ModelConfig) -> str:
    """Whether attention has biases: all of its matrices, none, those of q, k and v, or that of the output."""
    if config.attention_bias == config.has_out_bias:
        return _yes(config.attention_bias)
    return "qkv" if config.attention_bias else "out"


def _tokenizer(tokenizer: Tokenizer) -> Part:
    keeps = "exact" if tokenizer.is_lossless else "lossy"
    said = "ids" if isinstance(tokenizer, IdTokenizer) else keeps
    return Part("tokenizer", "tokens", said, {"name": tokenizer.name})


def _variant(name: str, page: str, variant: Any, **values: str) -> Part:
    """The member of a union that a model has, with the numbers that tune it; flags are rows of their own."""
    held = {field.name: getattr(variant, field.name) for field in dataclasses.fields(variant)}
    plain = {key: value for key, value in held.items() if not dataclasses.is_dataclass(value) or key == "scaling"}
    numbers = {key: _number(key, value) for key, value in plain.items() if not isinstance(value, bool | str | None)}
    label = type(variant).__name__
    scaled = "_scaled" if held.get("scaling") is not None else ""
    return Part(name, page, f"{label.lower()}{scaled}", numbers | values, label)


def _number(name: str, value: object) -> str:
    if not isinstance(value, int | float):
        return type(value).__name__.removesuffix("Scaling")
    if name == "fraction":
        return f"{value:.0%}"
    return f"{value:,.0f}" if value == int(value) else f"{value:g}"


def _by_layer(name: str, page: str, same: object, each: Sequence[object], **values: str) -> Part:
    """The member that all layers have, or those of its layers, runs of equal ones as one: "2 × Rope, 1 × Alibi"."""
    if len(set(each)) < 2:
        return _variant(name, page, each[0] if each else same, **values)
    return Part(name, page, "by_layer", {"n": _runs([type(one).__name__ for one in each])})


def _layers(config: ModelConfig) -> Part:
    if config.kind == "encoder_decoder":
        both = {"encoder": str(config.n_encoder_layers), "decoder": str(config.n_layers)}
        return Part("layers", "block", "layers_both", both)
    held = sum(isinstance(mixer, DeltaNet | ShortConv) for mixer in config.mixers)
    said = "layers_shared" if config.shared_blocks else "layers_mixed" if held else "number"
    return Part("layers", "block", said, {"n": str(config.n_layers), "attending": str(config.n_layers - held)})


def _width(config: ModelConfig) -> Part:
    said = "width_narrow" if config.projects_embedding else "number"
    return Part("width", "embedding", said, {"n": f"{config.d_model:,}", "rows": f"{config.d_embedding:,}"})


def sharing(config: ModelConfig) -> Literal["mha", "gqa", "mqa"]:
    """How query heads share keys and values: each has its own, groups share, all share one."""
    if config.n_kv_heads == config.n_heads:
        return "mha"
    return "mqa" if config.n_kv_heads == 1 else "gqa"


def _groups(config: ModelConfig) -> dict[str, str]:
    groups = _of_layers(config, "n_kv_heads")
    per = " / ".join(str(config.n_heads // int(each)) for each in groups.split(" / "))
    return {"g": groups, "per": per, "h": str(config.n_heads)}


def _of_layers(config: ModelConfig, size: str) -> str:
    """A size that layers may have of their own: each that occurs, in the order of the layers."""
    side = config.sides[-1]
    return " / ".join(dict.fromkeys(str(getattr(config.of_layer(side, n), size)) for n in range(config.depth(side))))


def _values(config: ModelConfig) -> Part:
    """Where values and keys are not each what a matrix makes: what layers have."""
    mixers = [mixer for mixer in config.mixers if isinstance(mixer, Attending)]
    found = [name for name in ("value_norm", "values_of_keys") if any(getattr(mixer, name) for mixer in mixers)]
    read = sum(mixer.keys_of is not None for mixer in mixers)
    found += ["keys_of"] if read else []
    return Part("values", "attention", "values_" + "_".join(found) if found else "values_own", {"n": str(read)})


def _windows(config: ModelConfig) -> Part:
    each = {"n": _runs([window or "∞" for window in config.windows])}
    return Part("windows", "attention", "windows" if any(config.windows) else "all", each)


def _runs(each: Sequence[object]) -> str:
    """By layer, runs of equal ones as one: "2 × 512, 1 × ∞"."""
    runs = ((one, len(list(run))) for one, run in itertools.groupby(each))
    return ", ".join(f"{n} × {one}" for one, n in runs)


def _head_scale(config: ModelConfig) -> Part:
    if (factor := getattr(config.head, "factor", None)) is not None:
        return Part("head_scale", "next_token", "factor", {"n": f"{factor:g}"})
    return Part("head_scale", "next_token", _head(config, "scale", False))


def _head(config: ModelConfig, flag: str, otherwise: bool) -> str:
    """A flag of the head, or what it is of a head that has no such choice."""
    return _yes(getattr(config.head, flag, otherwise)) if config.has_logits else "nohead"


# The table of both


class PartRow(NamedTuple):
    """One part of both models. Both name the same part, whatever they say of it."""

    first: Part
    second: Part

    @property
    def differs(self) -> bool:
        return (self.first.said, self.first.values) != (self.second.said, self.second.values)


def rows(look: Look) -> tuple[PartRow, ...]:
    """All parts in their order."""

    def made(look: Look) -> tuple[PartRow, ...]:
        both = (parts(one.model, one.tokenizer) for one in pair.both(look))
        return tuple(PartRow(*row) for row in zip(*both, strict=True))

    return look.once(made, "parts")


def facts(look: Look) -> dict[str, str]:
    """For prose: how many parts differ, of how many, and which."""
    every = rows(look)
    differ = [look.words(f"part_{row.first.name}") for row in every if row.differs]
    return {"differ": str(len(differ)), "all": str(len(every)), "list": look.listed(differ) or look.words("nothing")}


def said(look: Look, key: str, otherwise: str, **values: object) -> str:
    """A text of the page, or ``otherwise`` where it has none: a variant that it knows nothing more of."""
    try:
        return str(look.words(key, **values))
    except KeyError:
        return otherwise


def draw(look: Look) -> Plain:
    """All parts of both, first those that differ."""

    def value(part: Part) -> str:
        listed = (f"{name} {number}" for name, number in part.values.items())
        return said(look, f"is_{part.said}", ", ".join((part.label, *listed)), **part.values)

    def why(row: PartRow) -> str:
        """What a part is for; of variants that there is no text of, what holds for any."""
        own = look.words(f"why_{row.first.name}")
        known = all(said(look, f"is_{part.said}", "", **part.values) for part in row)
        return str(own if known else said(look, f"why_{row.first.name}_other", own))

    every = rows(look)
    words = {"differ": look.words("parts_differ"), "alt": look.words("parts_alt")}
    words["same"] = look.words("parts_same", n=sum(not row.differs for row in every))
    listed = [
        {
            "name": look.words(f"part_{row.first.name}"),
            "why": why(row),
            "differs": row.differs,
            "values": [value(row.first), value(row.second)],
            "page": row.first.page,
            "title": look.common(f"page_{row.first.page}"),
        }
        for row in every
    ]
    names = [one.name for one in pair.both(look)]
    return Plain(
        "parts", "architectures.parts", {"names": names, "colors": pair.COLORS, "words": words, "rows": listed}
    )


# The module tree


def choose_tree(look: Look) -> Chooser:
    options = {str(one.which): one.name for one in pair.both(look)}
    return Chooser("tree", options, look.words("tree"), look.words("tree_help"), asks=True)


def draw_tree(look: Look) -> Plain:
    """The modules of one of the two, read off the loaded model."""
    node = parameters.tree(pair.both(look)[int(look.options.get("tree") or 0)].model)
    total = max(1, node.size)

    def plain(node: Node) -> dict[str, Any]:
        notes = [look.words("tree_shared", name=node.shared)] if node.shared else []
        notes += [look.words("tree_computed", name=name, shape=_shape(size)) for name, size in node.computed.items()]
        return {
            "name": node.name,
            "kind": f"{node.copies} × {node.kind}" if node.copies > 1 else node.kind,
            "shapes": [f"{name} {_shape(size)}" for name, size in node.shapes.items()],
            "size": f"{node.size:,}",
            "short": parameters.short(node.size),
            "share": node.size / total,
            "percent": percent(node.size / total) if node.size else "",
            "note": " · ".join(notes),
            "children": [plain(child) for child in node.children],
        }

    words = {key: look.words(f"tree_{key}") for key in ("open", "close", "alt", "module", "shape", "parameters")}
    return Plain("tree", "architectures.modules", {"root": plain(node), "words": words})


def _shape(sizes: Sequence[int]) -> str:
    return "[" + " × ".join(f"{size:,}" for size in sizes) + "]"
