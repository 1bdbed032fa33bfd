"""What two models are compared by: their parts, the plan of a block, who sees whom, and one sentence through both."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping, Sequence
from typing import Literal, NamedTuple

import numpy as np
import torch

from viz_model import config as variants
from viz_model.config import Kind, ModelConfig, Side
from viz_model.model import masks
from viz_model.runs.language_model import LanguageModel
from viz_model.runs.trace import Trace
from viz_model.tokenizers.tokenizer import IdTokenizer, Token, Tokenizer
from viz_model.topics.architectures.numbers import parameters

KINDS: tuple[Kind, ...] = ("decoder", "encoder", "encoder_decoder")
ACTIVATIONS = {"relu": "ReLU", "gelu": "GELU", "gelu_tanh": "GELU (tanh)", "silu": "SiLU"}


def default_partner(name: str, twin: str | None, configs: Mapping[str, ModelConfig]) -> str | None:
    """The model to compare ``name`` with at first: its twin, else the one that it is most like."""
    if twin in configs:
        return twin
    kin = nearest(name, configs)
    return kin and kin.name


# Parts


class Part(NamedTuple):
    """One thing that a model has: ``name`` and ``said`` are keys of texts, ``page`` is where it is seen."""

    name: str
    page: str
    said: str
    values: Mapping[str, str] = {}


def parts(lm: LanguageModel) -> tuple[Part, ...]:
    """Everything by which Transformers of this package differ; the same names for every model, in one order."""
    kind, *others = described(lm.config)
    total = sum(parameters.count(lm.model).values())
    learnt = Part("parameters", "architectures", "number", {"n": f"{total:,}"})
    return kind, _tokenizer(lm.tokenizer), *others, learnt


def described(config: ModelConfig) -> tuple[Part, ...]:
    """The parts that a config alone tells of."""
    is_dense = isinstance(config.ffn, variants.Dense)
    return (
        Part("kind", "overview", config.kind),
        Part("vocabulary", "tokens", "number", {"n": f"{config.n_vocab:,}"}),
        Part("context", "position", "number", {"n": f"{config.n_context:,}"}),
        Part("width", "embedding", "number", {"n": f"{config.d_model:,}"}),
        Part("scale_embedding", "embedding", _yes(config.scale_embedding)),
        Part("segments", "embedding", "number" if config.n_segments else "no", {"n": str(config.n_segments)}),
        _position(config.position, config.n_context),
        Part("embedding_norm", "embedding", _yes(config.embedding_norm)),
        _layers(config),
        Part("norm", "block", type(config.norm).__name__.lower(), {"eps": f"{config.norm.eps:g}"}),
        Part("norm_at", "norm_placement", config.norm_at),
        Part("heads", "attention", "heads", {"h": str(config.n_heads), "k": str(config.d_head)}),
        Part("kv_heads", "attention", sharing(config), _groups(config)),
        Part("attention_bias", "attention", _yes(config.attention_bias)),
        Part("qk_norm", "attention", _yes(config.qk_norm)),
        Part("scale_scores", "attention", _yes(config.scale_scores)),
        Part("windows", "attention", "windows" if any(config.windows) else "all", {"n": _windows(config)}),
        Part("ffn", "block", "dense" if is_dense else "gated", {"activation": ACTIVATIONS[config.ffn.activation]}),
        Part("hidden", "block", "hidden", {"n": f"{config.d_ffn:,}", "times": f"{config.d_ffn / config.d_model:.3g}"}),
        Part("ffn_bias", "block", _yes(config.ffn.bias)),
        Part("final_norm", "norm_placement", _yes(config.norm_at == "pre")),
        Part("head", "next_token", type(config.head).__name__.lower()),
        Part("tied", "next_token", _tied(config)),
        Part("head_scale", "next_token", _head(config, lambda head: head.scale)),
        Part("head_bias", "next_token", _head(config, lambda head: head.bias)),
    )


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


def _yes(flag: bool) -> str:
    return "yes" if flag else "no"


def _tokenizer(tokenizer: Tokenizer) -> Part:
    keeps = "exact" if tokenizer.is_lossless else "lossy"
    said = "ids" if isinstance(tokenizer, IdTokenizer) else keeps
    return Part("tokenizer", "tokens", said, {"name": tokenizer.name})


def _position(position: variants.Position, n_context: int) -> Part:
    said, values = type(position).__name__.lower(), {}
    match position:
        case variants.Sinusoidal(base=base):
            values = {"base": f"{base:,.0f}"}
        case variants.Learned():
            values = {"n": f"{n_context:,}"}
        case variants.Rope(base=base, fraction=fraction, scaling=scaling):
            values = {"base": f"{base:,.0f}", "fraction": f"{fraction:.0%}"}
            said = "rope" if scaling is None else "rope_scaled"
            if scaling is not None:
                values["scaling"] = type(scaling).__name__.removesuffix("Scaling")
        case variants.T5Bias(buckets=buckets, max_distance=distance):
            values = {"buckets": str(buckets), "distance": str(distance)}
    return Part("position", "position", said, values)


def _layers(config: ModelConfig) -> Part:
    if config.kind == "encoder_decoder":
        both = {"encoder": str(config.n_encoder_layers), "decoder": str(config.n_layers)}
        return Part("layers", "block", "layers_both", both)
    return Part("layers", "block", "number", {"n": str(config.n_layers)})


def sharing(config: ModelConfig) -> Literal["mha", "gqa", "mqa"]:
    """How query heads share keys and values: each has its own, groups share, all share one."""
    if config.n_kv_heads == config.n_heads:
        return "mha"
    return "mqa" if config.n_kv_heads == 1 else "gqa"


def _groups(config: ModelConfig) -> dict[str, str]:
    return {"g": str(config.n_kv_heads), "per": str(config.n_heads // config.n_kv_heads), "h": str(config.n_heads)}


def _windows(config: ModelConfig) -> str:
    """Widths by layer, runs of equal ones as one: "2 × 512, 1 × ∞"."""
    runs = ((window, len(list(run))) for window, run in itertools.groupby(config.windows))
    return ", ".join(f"{n} × {window or '∞'}" for window, n in runs)


def _tied(config: ModelConfig) -> str:
    return _yes(config.tie_embeddings) if config.has_logits else "nohead"


def _head(config: ModelConfig, flag: Callable[[variants.LanguageHead], bool]) -> str:
    """A flag of a language head; of BERT's head, which has its bias and no scale, that."""
    match config.head:
        case variants.LanguageHead() as head:
            return _yes(flag(head))
        case variants.MaskedHead():
            return _yes(flag(variants.LanguageHead(bias=True, scale=False)))
        case variants.NoHead():
            return "nohead"


# The plan of a stack


class Element(NamedTuple):
    """A step of a stack. ``key`` is its place, ``said`` and ``values`` what stands there, ``role`` its colour."""

    key: str
    said: str
    role: str
    values: Mapping[str, str] = {}


SUBLAYERS = ("attn", "cross", "ffn")
_ATTENTION = ("heads", "qk_norm", "rotate", "scores", "bias", "softmax", "out")
_STEPS = {"attn": _ATTENTION, "cross": _ATTENTION, "ffn": ("up", "act", "down")}
PLACES = (
    *(f"embed.{step}" for step in ("token", "segment", "position", "norm")),
    *(f"{sub}.{step}" for sub in SUBLAYERS for step in ("norm_pre", *_STEPS[sub], "add", "norm_post")),
    *(f"end.{step}" for step in ("norm", "head")),
)
"""Every place that a step may have, from the bottom up."""


def plan(config: ModelConfig, side: Side) -> tuple[Element, ...]:
    """The steps of a stack with one of its blocks, from the tokens up."""
    found: dict[str, Element] = {}

    def put(key: str, said: str, role: str, **values: object) -> None:
        found[key] = Element(key, said, role, {name: str(value) for name, value in values.items()})

    norm = type(config.norm).__name__
    put("embed.token", "plan_token_scaled" if config.scale_embedding else "plan_token", "residual")
    if config.n_segments:
        put("embed.segment", "plan_segment", "residual")
    match config.position:
        case variants.Sinusoidal():
            put("embed.position", "plan_waves", "position")
        case variants.Learned():
            put("embed.position", "plan_learned", "position")
    if config.embedding_norm:
        put("embed.norm", "plan_norm", "norm", norm=norm)
    subs = SUBLAYERS if config.kind == "encoder_decoder" and side == "decoder" else ("attn", "ffn")
    for sub in subs:
        put(f"{sub}.norm_{config.norm_at}", "plan_norm", "norm", norm=norm)
        put(f"{sub}.add", "plan_add", "residual")
        if sub != "ffn":
            _plan_attention(config, side, sub, put)
    up = "plan_gated" if isinstance(config.ffn, variants.Gated) else "plan_up"
    put("ffn.up", up, "ffn", f=f"{config.d_ffn:,}", bias=_bias(config.ffn.bias))
    put("ffn.act", f"{up}_act", "ffn", activation=ACTIVATIONS[config.ffn.activation])
    put("ffn.down", "plan_down", "ffn", d=f"{config.d_model:,}", bias=_bias(config.ffn.bias))
    if config.norm_at == "pre":
        put("end.norm", "plan_norm", "norm", norm=norm)
    if side == config.sides[-1] and config.has_logits:
        # The size of the vocabulary is a row of the table; here it would make every two heads differ.
        put("end.head", f"plan_{type(config.head).__name__.lower()}", "output")
    else:
        put("end.head", "plan_read_by_decoder" if len(config.sides) > 1 else "plan_vectors", "residual")
    return tuple(found[place] for place in PLACES if place in found)


def _bias(flag: bool) -> str:
    return " + b" if flag else ""


def _plan_attention(config: ModelConfig, side: Side, sub: str, put: Callable[..., None]) -> None:
    is_cross = sub == "cross"
    put(
        f"{sub}.heads",
        "plan_heads_cross" if is_cross else "plan_heads",
        "query",
        h=config.n_heads,
        g=config.n_kv_heads,
        k=config.d_head,
    )
    if config.qk_norm:
        put(f"{sub}.qk_norm", "plan_qk_norm", "norm", norm=type(config.norm).__name__)
    put(f"{sub}.scores", "plan_scores" if config.scale_scores else "plan_scores_unscaled", "pattern")
    if not is_cross:
        match config.position:
            case variants.Rope():
                put("attn.rotate", "plan_rotate", "position")
            case variants.Alibi():
                put("attn.bias", "plan_alibi", "position")
            case variants.T5Bias():
                put("attn.bias", "plan_t5bias", "position")
    sees = "plan_softmax_source" if is_cross else "plan_softmax_past" if side == "decoder" else "plan_softmax_all"
    if not is_cross and side == config.sides[-1] and any(config.windows):
        sees += "_window"
    put(f"{sub}.softmax", sees, "pattern")
    put(f"{sub}.out", "plan_out", "value", bias=_bias(config.attention_bias))


def differing(first: Sequence[Element], second: Sequence[Element]) -> frozenset[str]:
    """The places where two plans do not say the same, or only one says anything."""
    left, right = ({element.key: element for element in plan_} for plan_ in (first, second))
    return frozenset(key for key in left.keys() | right.keys() if left.get(key) != right.get(key))


# Who sees whom

HIDDEN, SEEN, SEEN_ACROSS = range(3)


def sight(kind: Kind, n_source: int, n_target: int = 0) -> np.ndarray:
    """What each position sees in a kind of model: [T, T] of :data:`HIDDEN`, :data:`SEEN`, :data:`SEEN_ACROSS`.

    Of an encoder–decoder T is source and target together, the source first: the decoder sees the
    source by cross-attention, and the encoder sees nothing of the target.
    """
    if kind == "decoder":
        return np.where(masks.causal(n_source, n_source).numpy(), SEEN, HIDDEN)
    source = np.where(masks.everything(n_source, n_source).numpy(), SEEN, HIDDEN)
    if kind == "encoder":
        return source
    across = np.where(masks.everything(n_target, n_source).numpy(), SEEN_ACROSS, HIDDEN)
    target = np.where(masks.causal(n_target, n_target).numpy(), SEEN, HIDDEN)
    hidden = np.full((n_source, n_target), HIDDEN)
    return np.block([[source, hidden], [across, target]])


# One sentence through both


def same_place(tokens: Sequence[Token], position: int, others: Sequence[Token]) -> int:
    """The token of another cut that stands where ``position`` stands: at the same share of all bytes.

    Tokenizers may add control tokens or change letters, so bytes need not agree one by one.
    """
    if position == len(tokens) - 1:
        return len(others) - 1
    ours, theirs = (np.cumsum([max(1, len(token.bytes)) for token in cut]) for cut in (tokens, others))
    middle = (ours[position] - max(1, len(tokens[position].bytes)) / 2) / ours[-1]
    return int(np.searchsorted(theirs / theirs[-1], middle))


class Depths(NamedTuple):
    """Lengths ‖r‖ of the residual stream before the first block and after each: ``lengths`` is [L + 1, T]."""

    sites: tuple[str, ...]
    lengths: np.ndarray


def depths(trace: Trace) -> Depths:
    """The stream of one stack by depth. Under Post-LN it is measured after each block's last norm."""
    sites = ("embed.out", *(f"blocks.{i}.resid.out" for i in range(trace.n_layers)))
    return Depths(sites, torch.stack([trace[site].norm(dim=-1) for site in sites]).numpy())


def pattern(trace: Trace, layer: int, head: int) -> np.ndarray:
    """A head's attention to its own stack, [T, T]; NaN where its mask lets it see nothing."""
    site = f"blocks.{layer}.attn."
    visible = torch.isfinite(trace.head(f"{site}mask", head))
    return torch.where(visible, trace.head(f"{site}pattern", head), torch.nan).numpy()
