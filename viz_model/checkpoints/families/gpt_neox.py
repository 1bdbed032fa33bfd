"""GPT-NeoX and Pythia (Black et al. 2022; Biderman et al. 2023): attention and feed-forward side by side, each with a
norm of its own on the stream that enters the block.

The traps: query, key and value are one matrix, by turns for each head; a quarter of each head is turned; the norm
before the feed-forward layer is called ``post_attention_layernorm`` though attention is not before it; some files say
``use_parallel_residual: false``, and are then like GPT-2.
"""

from collections.abc import Sequence

from viz_model.checkpoints.families import rope
from viz_model.checkpoints.families.attributes import ACTIVATIONS, Attributes, Gguf, names, usual
from viz_model.checkpoints.renames import Rename, ignored, rename, unembedding
from viz_model.config import Dense, LayerNorm, ModelConfig

SIZES = usual(n_vocab=50432, n_context=2048, n_layers=44, d_model=6144, n_heads=64, d_ffn=24576)
NAMES = {**names(SIZES), "norm": "layer_norm_eps", "position": "rotary_pct"}
GGUF = Gguf("gptneox", fields={"use_parallel_residual": "use_parallel_residual"}, partial=True)


def config(a: Attributes) -> ModelConfig:
    base, share = a.number("rotary_emb_base", 10_000.0), a.number("rotary_pct", 0.25)
    sizes = a.sizes(SIZES)
    return ModelConfig(
        **sizes,
        norm=LayerNorm(eps=a.number("layer_norm_eps", 1e-5)),
        parallel=a.flag("use_parallel_residual", True),
        position=rope.read(a, sizes["n_context"], base, share),
        ffn=Dense(activation=a.choice("hidden_act", ACTIVATIONS, "gelu")),
        attention_bias=a.flag("attention_bias", True),
        tie_embeddings=a.flag("tie_word_embeddings", False),
        scale_embedding=False,
    )


def renames(config: ModelConfig) -> list[Rename]:
    """Some files store the mask and the angles."""
    theirs = "[gpt_neox.]layers.{layer}."
    follows = "the mask and the angles, which follow from the config"
    return [
        rename("[gpt_neox.]embed_in.weight", "embedding.weight"),
        *block(theirs, "attention", config),
        rename("[gpt_neox.]final_layer_norm.*", "decoder.final_norm.*"),
        unembedding("embed_out.weight", config),
        *(ignored(f"{theirs}attention.{name}", follows) for name in ("bias", "masked_bias", "rotary_emb.inv_freq")),
    ]


NORMS = ("input_layernorm", "post_attention_layernorm")


def block(theirs: str, attention: str, config: ModelConfig, norms: Sequence[str] = NORMS) -> list[Rename]:
    """A block as Megatron's models call it, Falcon's and BLOOM's too; ``norms`` are those of the two sub-layers."""
    ours = "decoder.blocks.{layer}."
    qkv = [f"{ours}attn.{part}.*" for part in "qkv"]
    return [
        rename(f"{theirs}{norms[0]}.*", f"{ours}attn_norm.*"),
        rename(f"{theirs}{attention}.query_key_value.*", *qkv, groups=config.n_kv_heads),
        rename(f"{theirs}{attention}.dense.*", f"{ours}attn.o.*"),
        rename(f"{theirs}{norms[1]}.*", f"{ours}ffn_norm.*"),
        rename(f"{theirs}mlp.dense_h_to_4h.*", f"{ours}ffn.up.*"),
        rename(f"{theirs}mlp.dense_4h_to_h.*", f"{ours}ffn.down.*"),
    ]
