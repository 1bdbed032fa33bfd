"""Gemma 3 as far as it reads text (Gemma Team 2025): Gemma's parts, with norms on both ends of every sub-layer.

The traps: five layers in six see a window, and turn by another base than those that see all; only the latter are
scaled; gains are stored from 1, those of queries and keys too; ``query_pre_attn_scalar`` is what the square root is
taken of in the place of K.
"""

from dataclasses import replace

from viz_model.checkpoints.families import gemma, llama, rope, windows
from viz_model.checkpoints.families.attributes import Attributes, Gguf
from viz_model.checkpoints.renames import Rename, rename
from viz_model.config import LanguageHead, ModelConfig, Rope

TYPES = ("gemma3_text",)
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


def config(a: Attributes) -> ModelConfig:
    a.one_value("attn_logit_softcapping", None)  # the reference reads it, and caps nothing
    base = gemma.read_later(a, lambda a, n_context: _turns(a, n_context)[0], n_vocab=262_208, n_context=131_072)
    kinds = _kinds(a, base.n_layers)
    return replace(
        base,
        positions=rope.of_words(kinds, *_turns(a, base.n_context)),
        head=LanguageHead(cap=gemma.cap(a, "final_logit_softcapping", None)),
        windows=windows.of_words(a, kinds, windows.size(a)),
        qk_norm=True,
    )


def renames(config: ModelConfig) -> list[Rename]:
    """Llama's table with other norms, all of whose gains are stored from 1."""
    return gemma.from_one(
        [
            *llama.without(config, "post_attention_layernorm"),
            rename(f"{llama.THEIRS}post_attention_layernorm.weight", f"{llama.OURS}attn_out_norm.weight"),
            rename(f"{llama.THEIRS}pre_feedforward_layernorm.weight", f"{llama.OURS}ffn_norm.weight"),
            rename(f"{llama.THEIRS}post_feedforward_layernorm.weight", f"{llama.OURS}ffn_out_norm.weight"),
            *llama.qk_norms(),
        ]
    )


def _kinds(a: Attributes, n_layers: int) -> list[str]:
    """A word for each layer: as listed, or every sixth (or another) sees all."""
    pattern = a.size("sliding_window_pattern", 6)
    a.no_effect(["_sliding_window_pattern"])
    return windows.words(a, n_layers, lambda layer: (layer + 1) % pattern != 0)


def _turns(a: Attributes, n_context: int) -> tuple[Rope, Rope]:
    """The rotation of layers that see all, and of those that see a window; the former alone may be scaled."""
    local, base = a.number("rope_local_base_freq", LOCAL_BASE), a.number("rope_theta", GLOBAL_BASE)
    scaling = a.inner("rope_scaling")
    if scaling is None or "rope_parameters" in a:
        return rope.by_kind(a, n_context, base, local)
    everywhere = rope.within(scaling, n_context, base)
    scaling.finish()
    return everywhere, Rope(base=local)
