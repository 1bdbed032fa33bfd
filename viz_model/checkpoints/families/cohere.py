"""Command R and R7B (Cohere 2024): gated networks beside attention, one norm without a shift for both.

The traps: pairs are neighbors; logits are multiplied by ``logit_scale``, which stands in the file of a model that says
nothing of it as 1/16; of ``cohere2`` three layers in four see a window, and the others know no positions. Norms of each
head's queries and keys, which Command R+ alone has, are refused.
"""

from dataclasses import replace

from viz_model.checkpoints.families import llama, rope, windows
from viz_model.checkpoints.families.attributes import Attributes
from viz_model.config import LanguageHead, LayerNorm, ModelConfig, NoPosition, Rope

TYPES = ("cohere", "cohere2")
NAMES = {**llama.NAMES, "norm": "layer_norm_eps", "windows": "layer_types"}
renames = llama.renames


def config(a: Attributes) -> ModelConfig:
    a.one_value("use_qk_norm", False)
    a.no_effect(["head_dim"])
    base = llama.read(
        a, turned=_turned, tied=True, n_vocab=256_000, n_context=8192, n_layers=40, d_model=8192, n_heads=64,
        d_head=0, d_ffn=22528,
    )  # fmt: skip
    kinds = _kinds(a, base.n_layers) if a.plain["model_type"] == "cohere2" else []
    slides = tuple(base.position if kind == windows.SLIDES else NoPosition() for kind in kinds)
    return replace(
        base,
        norm=LayerNorm(eps=a.number("layer_norm_eps", 1e-5), shift=False),
        attention_bias=a.flag("attention_bias", False),
        parallel=True,
        shared_norm=True,
        head=LanguageHead(factor=a.number("logit_scale", 0.0625)),
        windows=windows.of_words(a, kinds, windows.size(a)) if kinds else (),
        positions=slides,
    )


def _turned(a: Attributes, n_context: int) -> Rope:
    return replace(rope.read(a, n_context), pairing="interleaved")


def _kinds(a: Attributes, n_layers: int) -> list[str]:
    every = a.size("sliding_window_pattern", 4)
    return windows.words(a, n_layers, lambda layer: (layer + 1) % every != 0)
