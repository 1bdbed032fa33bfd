"""OLMo 2 (OLMo Team 2024): Llama's parts; what each sub-layer writes is normalized before it is added. In OLMo 3 (OLMo
Team 2025) three layers in four see a window.

The traps: no norm stands before a sub-layer, which reads the stream as it is; ``post_attention_layernorm`` is not the
norm before the feed-forward layer, as it is in Llama; queries and keys are normalized over all heads as one vector. Of
OLMo 3 only the layers that see all turn by scaled angles, so that a file's ``rope_scaling`` is not that of every layer.
"""

from dataclasses import replace

from viz_model.checkpoints.families import llama, rope, windows
from viz_model.checkpoints.families.attributes import Attributes, Gguf
from viz_model.checkpoints.renames import Rename, rename
from viz_model.config import ModelConfig, Rope

TYPES = ("olmo2", "olmo3")
NAMES = {**llama.NAMES, "windows": "layer_types", "positions": "layer_types"}
GGUF = Gguf("olmo2")
BASE = 500_000.0


def config(a: Attributes) -> ModelConfig:
    schemes: list[Rope] = []

    def turned(a: Attributes, n_context: int) -> Rope:
        base = a.number("rope_theta", BASE)
        if (old := a.inner("rope_scaling")) is not None:
            schemes.extend((rope.within(old, n_context, base), Rope(base=base)))
            old.finish()
        else:
            schemes.extend(rope.by_kind(a, n_context, base, base))
        return schemes[0]

    slides, has_bias = a.plain.get("model_type") == "olmo3", a.flag("attention_bias", False)
    base = llama.read(
        a, turned=turned if slides else rope.read, n_vocab=50304, eps=1e-5, norm_at="branch", attention_bias=has_bias,
        qk_norm=True, qk_norm_over="heads",
    )  # fmt: skip
    if not slides:
        return base
    kinds = windows.words(a, base.n_layers, lambda layer: (layer + 1) % 4 != 0)
    by_layer = windows.of_words(a, kinds, windows.size(a))
    return replace(base, windows=by_layer, positions=rope.of_words(kinds, *schemes))


def renames(config: ModelConfig) -> list[Rename]:
    """Llama's table, but for the norms."""
    return [
        *llama.without(config, "layernorm"),
        rename(f"{llama.THEIRS}post_attention_layernorm.weight", f"{llama.OURS}attn_norm.weight"),
        rename(f"{llama.THEIRS}post_feedforward_layernorm.weight", f"{llama.OURS}ffn_norm.weight"),
        *llama.qk_norms(),
    ]
