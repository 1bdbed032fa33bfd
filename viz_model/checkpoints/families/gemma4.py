"""Gemma 4 as far as it reads text (Gemma Team 2026): Gemma 3's blocks, most of whose layers differ in their heads.

The traps: layers that see all have wider heads, of which the first pairs alone turn, paired across the whole head;
scores are divided by nothing; values have a norm without gains, also where they are the keys; the last layers read the
keys and values of the last one of their kind before them; what leaves a block is multiplied by a number that is stored
beside the weights; gains are stored as they are; the last layer sees all, whatever the file says.
"""

from dataclasses import replace

from viz_model.checkpoints.families import gemma, gemma3, llama, rope, windows
from viz_model.checkpoints.families.attributes import Attributes
from viz_model.checkpoints.renames import Rename, ignored, rename
from viz_model.checkpoints.weights import OBSERVED, ModelError
from viz_model.config import Attending, Gated, LanguageHead, ModelConfig, Rope

TYPES = ("gemma4_text",)
NAMES = {
    **llama.NAMES,
    "windows": "layer_types",
    "positions": "rope_parameters",
    "mixers": "per_layer_config",
    "d_layer_input": "hidden_size_per_layer_input",
    "ffns": "use_double_wide_mlp",
}


def config(a: Attributes) -> ModelConfig:
    if a.flag("enable_moe_block", False):
        told = "experts beside a network for all tokens are not read here; the nearest that is read has none"
        raise ModelError(f"{a.path}: enable_moe_block: {told}; {OBSERVED}")
    a.no_effect(["num_experts", "top_k_experts", "moe_intermediate_size"])
    a.one_value("use_bidirectional_attention", "vision")  # which says nothing of tokens
    turns: list[Rope] = []

    def turned(a: Attributes, n_context: int) -> Rope:
        turns.extend(rope.by_kind(a, n_context, gemma3.GLOBAL_BASE, gemma3.LOCAL_BASE, far=rope.PROPORTIONAL))
        return turns[1]  # which fits the heads that a file's first words tell of

    sizes = {"n_layers": 30, "d_model": 2304, "n_heads": 8, "n_kv_heads": 4, "d_head": 256, "d_ffn": 9216}
    base = gemma.tied(a, turned, n_vocab=262_144, n_context=131_072, **sizes)
    kinds = _kinds(a, base.n_layers)
    mixers = _mixers(a, base, kinds)
    assert isinstance(base.ffn, Gated)
    wide, wider = a.flag("use_double_wide_mlp", False), replace(base.ffn, d_hidden=2 * base.d_ffn)
    inputs = a.size("hidden_size_per_layer_input", 256, 0)
    a.one_value("vocab_size_per_layer_input", base.n_vocab if inputs else a.plain.get("vocab_size_per_layer_input"))
    return replace(
        base,
        norm_at="both",
        position=turns[windows.SLIDES in kinds],
        positions=rope.of_words(kinds, *turns),
        head=LanguageHead(cap=gemma.cap(a, "final_logit_softcapping", None)),
        windows=windows.of_words(a, kinds, a.size("sliding_window", 512)),
        mixers=mixers,
        ffns=tuple(base.ffn if one.keys_of is None else wider for one in mixers) if wide else (),
        qk_norm=True,
        scale_scores=False,
        block_scale=True,
        d_layer_input=inputs,
    )


def _kinds(a: Attributes, n_layers: int) -> list[str]:
    """A word for each layer: as listed, or every sixth sees all; the last always does."""
    return [*windows.words(a, n_layers, lambda layer: (layer + 1) % 6 != 0)[:-1], windows.SEES_ALL]


def _mixers(a: Attributes, base: ModelConfig, kinds: list[str]) -> tuple[Attending, ...]:
    """The attention of each layer: the width and number of its heads, and whose keys and values it reads."""
    of_keys, first = a.flag("attention_k_eq_v", False), len(kinds) - a.size("num_kv_shared_layers", 0, 0)
    own = {"head_dim": a.size("global_head_dim", 512)}
    if of_keys and "num_global_key_value_heads" in a:
        own["num_key_value_heads"] = a.size("num_global_key_value_heads")
    a.no_effect(["num_global_key_value_heads"])
    by_layer, found = a.inner("per_layer_config"), list[Attending]()
    for n, kind in enumerate(kinds):
        sees_all = kind == windows.SEES_ALL
        said = Attributes(own if sees_all else {}, a.path)
        if by_layer is not None:
            name = next((name for name in by_layer.plain if name.isdecimal() and int(name) == n), "")  # "7" or "07"
            said = by_layer.inner(name) or Attributes({}, a.path)
        width, groups = said.size("head_dim", base.d_head), said.size("num_key_value_heads", base.n_kv_heads)
        said.finish()
        source = max((m for m in range(first) if kinds[m] == kind), default=None) if n >= first else None
        if n >= first and source is None:
            raise ModelError(f"{a.path}: num_kv_shared_layers: no layer before {first} is of the kind of layer {n}")
        found.append(
            Attending(
                d_head=width if width != base.d_head else 0,
                n_kv_heads=groups if groups != base.n_kv_heads else 0,
                values_of_keys=of_keys and sees_all and source is None,
                value_norm=source is None,
                keys_of=source,
            )
        )
    if by_layer is not None:
        by_layer.finish()
    return tuple(found)


def renames(config: ModelConfig) -> list[Rename]:
    """Gemma 3's table with gains as they are, a number of each block, and what belongs to the second embeddings."""
    shared = [n for n, one in enumerate(config.mixers) if isinstance(one, Attending) and one.keys_of is not None]
    unread = (f"[model.]layers.{n}.self_attn.{name}.weight" for n in shared for name in ("k_proj", "v_proj", "k_norm"))
    return [
        *(ignored(name, "the layer reads the keys and values of another") for name in unread),
        *(replace(row, how="same") if row.how == "from_one" else row for row in gemma3.renames(config)),
        rename(f"{llama.THEIRS}layer_scalar", f"{llama.OURS}scale", how="row"),
        rename("[model.]embed_tokens_per_layer.weight", "decoder.embedded.table.weight"),
        rename("[model.]per_layer_model_projection.weight", "decoder.embedded.projection.weight"),
        rename("[model.]per_layer_projection_norm.weight", "decoder.embedded.norm.weight"),
        rename(f"{llama.THEIRS}per_layer_input_gate.weight", f"{llama.OURS}input.gate.weight"),
        rename(f"{llama.THEIRS}per_layer_projection.weight", f"{llama.OURS}input.up.weight"),
        rename(f"{llama.THEIRS}post_per_layer_input_norm.weight", f"{llama.OURS}input_out_norm.weight"),
    ]
