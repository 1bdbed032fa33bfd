"""Gemma 3 as far as it reads text (Gemma Team 2025): Gemma's parts, with norms on both ends of every sub-layer.

The traps: five layers in six see a window, and turn by another base than those that see all; only the latter are
scaled; gains are stored from 1, those of queries and keys too; ``query_pre_attn_scalar`` is what the square root is
taken of in the place of K.
"""

from __future__ import annotations

from collections.abc import Collection

from viz_model.checkpoints.families import gemma, llama, rope, windows
from viz_model.checkpoints.families.attributes import Attributes
from viz_model.checkpoints.families.in_gguf import Gguf
from viz_model.checkpoints.renames import Rename, rename
from viz_model.config import LIMITS, Gated, LanguageHead, ModelConfig, RMSNorm, Rope

NAMES = {**llama.NAMES, "windows": "layer_types", "positions": "layer_types", "scale_width": gemma.ROOT}

GLOBAL_BASE, LOCAL_BASE = 1_000_000.0, 10_000.0
GGUF = Gguf(
    "gemma3",
    fields={
        "attention.sliding_window": "sliding_window",
        "rope.freq_base_swa": "rope_local_base_freq",
        "final_logit_softcapping": "final_logit_softcapping",
    },
    required=("attention.sliding_window",),
    seen=lambda plain, tensors: gemma.root_by_depth(plain, 62),
)


def config(attributes: Attributes, tensors: Collection[str]) -> ModelConfig:
    """What the attributes mean. Raises ModelError for a value that is not supported."""
    a = attributes
    a.one_value("use_bidirectional_attention", False)
    a.one_value("attn_logit_softcapping", None)  # the reference reads it, and caps nothing
    # Of the caches of pictures and text, which change no number.
    a.no_effect(["attention_dropout", "cache_implementation", "num_logits_to_keep"])
    n_layers, d_head = a.size("num_hidden_layers", 26), a.size("head_dim", 256)
    n_context = a.size("max_position_embeddings", 131_072)
    kinds = _kinds(a, n_layers)
    window = 0 if a.is_null("sliding_window") else a.size("sliding_window", 4096)
    everywhere, nearby = _turns(a, n_context)
    found = tuple(nearby if kind == windows.SLIDES else everywhere for kind in kinds)
    return ModelConfig(
        n_vocab=a.size("vocab_size", 262_208),
        n_context=n_context,
        n_layers=n_layers,
        d_model=a.size("hidden_size", 2304),
        n_heads=a.size("num_attention_heads", 8),
        n_kv_heads=a.size("num_key_value_heads", 4),
        d_head=d_head,
        d_ffn=a.size("intermediate_size", 9216),
        norm=RMSNorm(eps=a.number("rms_norm_eps", 1e-6)),
        norm_at="both",
        position=everywhere,
        positions=found if windows.SLIDES in kinds else (),
        ffn=Gated(activation=gemma.activation(a)),
        head=LanguageHead(cap=gemma.cap(a, "final_logit_softcapping", None)),
        windows=windows.of_words(a, kinds, window),
        attention_bias=a.flag("attention_bias", False),
        qk_norm=True,
        scale_width=gemma.root(a, d_head),
        tie_embeddings=a.flag("tie_word_embeddings", True),
        scale_embedding=True,
    )


def renames(config: ModelConfig) -> list[Rename]:
    """Llama's table with other norms, all of whose gains are stored from 1."""
    theirs, ours = "[model.]layers.{layer}.", "decoder.blocks.{layer}."
    return gemma.from_one(
        [
            *(row for row in llama.renames(config) if "post_attention_layernorm" not in row.theirs),
            rename(f"{theirs}post_attention_layernorm.weight", f"{ours}attn_out_norm.weight"),
            rename(f"{theirs}pre_feedforward_layernorm.weight", f"{ours}ffn_norm.weight"),
            rename(f"{theirs}post_feedforward_layernorm.weight", f"{ours}ffn_out_norm.weight"),
            *(rename(f"{theirs}self_attn.{x}_norm.weight", f"{ours}attn.qk_norm.{x}.weight") for x in "qk"),
        ]
    )


def _kinds(a: Attributes, n_layers: int) -> list[str]:
    """A word for each layer: as listed, or every sixth (or another) sees all."""
    kinds, pattern = a.words("layer_types"), a.size("sliding_window_pattern", 6)
    a.no_effect(["_sliding_window_pattern"])
    if kinds is not None or n_layers > LIMITS["n_layers"]:
        return kinds or []
    return [windows.SLIDES if (layer + 1) % pattern else windows.SEES_ALL for layer in range(n_layers)]


def _turns(a: Attributes, n_context: int) -> tuple[Rope, Rope]:
    """The rotation of layers that see all, and of those that see a window; the former alone may be scaled."""
    local, base = a.number("rope_local_base_freq", LOCAL_BASE), a.number("rope_theta", GLOBAL_BASE)
    parameters, scaling = a.inner("rope_parameters"), a.inner("rope_scaling")
    if parameters is None:
        everywhere = Rope(base=base) if scaling is None else rope.within(scaling, n_context, base)
        if scaling is not None:
            scaling.finish()
        return everywhere, Rope(base=local)
    found = []
    for name, default in ((windows.SEES_ALL, base), (windows.SLIDES, local)):
        inner = parameters.inner(name)
        found.append(Rope(base=default) if inner is None else rope.within(inner, n_context, default))
        if inner is not None:
            inner.finish()
    parameters.finish()
    return found[0], found[1]
