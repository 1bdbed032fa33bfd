"""ModernBERT (Warner et al. 2024): an encoder of later parts: rotary positions, a gated GELU, norms before sub-layers;
and its decoder (Weller et al. 2025, Ettin), which has the same block under a causal mask.

The traps: every third layer, the first among them, sees all and turns by another base than those that see a window;
``local_attention`` counts both sides of that window; the embedding is normed, and so the first block has no norm
before attention; of the matrix ``Wi`` the first half is activated and the second is not; query, key and value are one
matrix, in the decoder three; a norm may lack its shift.
"""

from dataclasses import replace

from viz_model.checkpoints.families import rope, windows
from viz_model.checkpoints.families.attributes import ACTIVATIONS, Attributes, names, usual
from viz_model.checkpoints.renames import Rename, rename, task_head, unembedding
from viz_model.config import Gated, LayerNorm, MaskedHead, ModelConfig, NoHead

SIZES = usual(n_vocab=50368, n_context=8192, n_layers=22, d_model=768, n_heads=12, d_ffn=1152)
NAMES = {
    **names(SIZES),
    "norm": "norm_eps",
    "windows": "layer_types",
    "position": "global_rope_theta",
    "positions": "local_rope_theta",
}

DECODER = "modernbert-decoder"
TYPES = ("modernbert", DECODER)

_OF_TRAINING = """
    classifier_pooling cls_token_id deterministic_flash_attn initializer_cutoff_factor layer_norm_eps
    position_embedding_type reference_compile repad_logits_with_grad sparse_pred_ignore_index sparse_prediction
"""


def config(a: Attributes) -> ModelConfig:
    a.no_effect(_OF_TRAINING.split())
    sizes = a.sizes(SIZES)
    bases = a.number("global_rope_theta", 160_000.0), a.number("local_rope_theta", 10_000.0)
    everywhere, nearby = rope.by_kind(a, sizes["n_context"], *bases)
    head = MaskedHead(
        activation=a.choice("classifier_activation", ACTIVATIONS, "gelu"),
        dense_bias=a.flag("classifier_bias", False),
        bias=a.flag("decoder_bias", True),
    )
    is_decoder = a.plain["model_type"] == DECODER
    # A tied decoder without a bias is stored nowhere.
    has_head, classifies = a.holds("head."), a.holds("classifier.")
    base = ModelConfig(
        **sizes,
        kind="decoder" if is_decoder else "encoder",
        norm=LayerNorm(eps=a.number("norm_eps", 1e-5), shift=a.flag("norm_bias", False)),
        first_norm=False,
        position=everywhere,
        embedding_norm=True,
        ffn=Gated(activation=a.choice("hidden_activation", ACTIVATIONS, "gelu"), bias=a.flag("mlp_bias", False)),
        head=head if is_decoder or (has_head and not classifies) else NoHead(),
        attention_bias=a.flag("attention_bias", False),
        tie_embeddings=a.flag("tie_word_embeddings", True),
        scale_embedding=False,
    )
    every = a.size("global_attn_every_n_layers", 3)
    kinds = windows.words(a, base.n_layers, lambda layer: layer % every != 0)
    half = a.size("local_attention", 128) // 2  # to either side of a token of the encoder, which sees itself besides
    half = a.size("sliding_window", half) if is_decoder else half
    return replace(
        base,
        positions=rope.of_words(kinds, everywhere, nearby),
        windows=windows.of_words(a, kinds, half if is_decoder else half + 1),
    )


def renames(config: ModelConfig) -> list[Rename]:
    """The prefix ``model.`` is absent where there is no head."""
    side, head = ("decoder", "lm_head") if config.kind == "decoder" else ("encoder", "head")
    theirs, ours = "[model.]layers.{layer}.", f"{side}.blocks.{{layer}}."
    predicts = isinstance(config.head, MaskedHead)
    own = [(name, f"head.{name}") for name in ("dense.*", "norm.*")]
    return [
        rename("[model.]embeddings.tok_embeddings.weight", "embedding.weight"),
        rename("[model.]embeddings.norm.*", f"{side}.embed_norm.*"),
        rename(f"{theirs}attn_norm.*", f"{ours}attn_norm.*"),
        rename(f"{theirs}attn.Wqkv.*", *(f"{ours}attn.{part}.*" for part in "qkv")),
        *(rename(f"{theirs}attn.{part}_proj.*", f"{ours}attn.{part}.*") for part in "qkv"),
        rename(f"{theirs}attn.Wo.*", f"{ours}attn.o.*"),
        rename(f"{theirs}mlp_norm.*", f"{ours}ffn_norm.*"),
        rename(f"{theirs}mlp.Wi.*", f"{ours}ffn.gate.*", f"{ours}ffn.up.*"),
        rename(f"{theirs}mlp.Wo.*", f"{ours}ffn.down.*"),
        rename("[model.]final_norm.*", f"{side}.final_norm.*"),
        *((rename(f"{head}.{name}", place) if predicts else task_head(f"{head}.{name}")) for name, place in own),
        unembedding("decoder.weight", config),
        rename("decoder.bias", "head.unembedding.bias"),
        task_head("classifier.*"),
    ]
