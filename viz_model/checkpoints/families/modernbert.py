"""ModernBERT (Warner et al. 2024): an encoder of later parts: rotary positions, a gated GELU, norms before sub-layers.

The traps: every third layer, the first among them, sees all and turns by another base than those that see a window;
``local_attention`` counts both sides of that window; the embedding is normed, and so the first block has no norm
before attention; of the matrix ``Wi`` the first half is activated and the second is not; query, key and value are one
matrix; a norm may lack its shift.
"""

from __future__ import annotations

from collections.abc import Collection

from viz_model.checkpoints.families import rope, windows
from viz_model.checkpoints.families.attributes import ACTIVATIONS, Attributes
from viz_model.checkpoints.renames import Rename, rename, task_head
from viz_model.config import LIMITS, Gated, LayerNorm, MaskedHead, ModelConfig, NoHead, Rope

NAMES = {
    "n_vocab": "vocab_size",
    "n_context": "max_position_embeddings",
    "n_layers": "num_hidden_layers",
    "d_model": "hidden_size",
    "n_heads": "num_attention_heads",
    "d_ffn": "intermediate_size",
    "norm": "norm_eps",
    "windows": "layer_types",
    "position": "global_rope_theta",
    "positions": "local_rope_theta",
}

_OF_TRAINING = """
    attention_dropout classifier_dropout classifier_pooling cls_token_id deterministic_flash_attn embedding_dropout
    initializer_cutoff_factor layer_norm_eps mlp_dropout position_embedding_type reference_compile
    repad_logits_with_grad sparse_pred_ignore_index sparse_prediction
"""


def config(attributes: Attributes, tensors: Collection[str]) -> ModelConfig:
    """What the attributes mean. Raises ModelError for a value that is not supported."""
    a = attributes
    a.no_effect(_OF_TRAINING.split())
    n_layers, n_context = a.size("num_hidden_layers", 22), a.size("max_position_embeddings", 8192)
    kinds, every = a.words("layer_types"), a.size("global_attn_every_n_layers", 3)
    if kinds is None:
        n_words = n_layers if n_layers <= LIMITS["n_layers"] else 0  # ModelConfig refuses the rest
        kinds = [windows.SLIDES if layer % every else windows.SEES_ALL for layer in range(n_words)]
    window = a.size("local_attention", 128) // 2 + 1
    everywhere, nearby = _turns(a, n_context)
    found = tuple(nearby if kind == windows.SLIDES else everywhere for kind in kinds)
    head_bias, head_activation = (
        a.flag("classifier_bias", False),
        a.choice("classifier_activation", ACTIVATIONS, "gelu"),
    )
    out_bias = a.flag("decoder_bias", True)
    # A tied decoder without a bias is stored nowhere.
    has_head, classifies = (any(name.startswith(p) for name in tensors) for p in ("head.", "classifier."))
    fills_masks = has_head and not classifies
    return ModelConfig(
        kind="encoder",
        n_vocab=a.size("vocab_size", 50368),
        n_context=n_context,
        n_layers=n_layers,
        d_model=a.size("hidden_size", 768),
        n_heads=a.size("num_attention_heads", 12),
        d_ffn=a.size("intermediate_size", 1152),
        norm=LayerNorm(eps=a.number("norm_eps", 1e-5), shift=a.flag("norm_bias", False)),
        first_norm=False,
        position=everywhere,
        positions=found if windows.SLIDES in kinds else (),
        embedding_norm=True,
        ffn=Gated(activation=a.choice("hidden_activation", ACTIVATIONS, "gelu"), bias=a.flag("mlp_bias", False)),
        head=MaskedHead(activation=head_activation, dense_bias=head_bias, bias=out_bias) if fills_masks else NoHead(),
        windows=windows.of_words(a, kinds, window),
        attention_bias=a.flag("attention_bias", False),
        tie_embeddings=a.flag("tie_word_embeddings", True),
        scale_embedding=False,
    )


def renames(config: ModelConfig) -> list[Rename]:
    """The prefix ``model.`` is absent where there is no head."""
    theirs, ours = "[model.]layers.{layer}.", "encoder.blocks.{layer}."
    heads = [] if isinstance(config.head, MaskedHead) else [*map(task_head, ("head.dense.*", "head.norm.*"))]
    return [
        rename("[model.]embeddings.tok_embeddings.weight", "embedding.weight"),
        rename("[model.]embeddings.norm.*", "encoder.embed_norm.*"),
        rename(f"{theirs}attn_norm.*", f"{ours}attn_norm.*"),
        rename(f"{theirs}attn.Wqkv.*", *(f"{ours}attn.{part}.*" for part in "qkv")),
        rename(f"{theirs}attn.Wo.*", f"{ours}attn.o.*"),
        rename(f"{theirs}mlp_norm.*", f"{ours}ffn_norm.*"),
        rename(f"{theirs}mlp.Wi.*", f"{ours}ffn.gate.*", f"{ours}ffn.up.*"),
        rename(f"{theirs}mlp.Wo.*", f"{ours}ffn.down.*"),
        rename("[model.]final_norm.*", "encoder.final_norm.*"),
        *heads,
        rename("head.dense.*", "head.dense.*"),
        rename("head.norm.*", "head.norm.*"),
        rename("decoder.weight", "embedding.weight" if config.tie_embeddings else "head.unembedding.weight"),
        rename("decoder.bias", "head.unembedding.bias"),
        task_head("classifier.*"),
    ]


def _turns(a: Attributes, n_context: int) -> tuple[Rope, Rope]:
    """The rotation of layers that see all, and of those that see a window."""
    bases = a.number("global_rope_theta", 160_000.0), a.number("local_rope_theta", 10_000.0)
    parameters, found = a.inner("rope_parameters"), []
    for name, base in zip((windows.SEES_ALL, windows.SLIDES), bases, strict=True):
        inner = None if parameters is None else parameters.inner(name)
        found.append(Rope(base=base) if inner is None else rope.within(inner, n_context, base))
        if inner is not None:
            inner.finish()
    if parameters is not None:
        parameters.finish()
    return found[0], found[1]
