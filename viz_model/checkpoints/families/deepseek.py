"""DeepSeek-V2 and V3 (DeepSeek-AI 2024a, 2024b): latent attention, small experts in groups, and one that reads every
token.

The traps: the turned part stands last in each head of a file, and first here; pairs are neighbors; a file with YaRN
and ``mscale_all_dim`` divides scores by less than √K; V3 chooses by a sigmoid and a bias that counts for the choice
alone, and of a group its two best experts count, where V2 takes a softmax and the best one; the first layers have one
network. What V3 predicts further tokens with is not read.
"""

import math
from dataclasses import replace

from viz_model.checkpoints.families import experts, llama, rope
from viz_model.checkpoints.families.attributes import Attributes
from viz_model.checkpoints.renames import Rename, ignored, rename
from viz_model.config import Experts, Gated, Latent, ModelConfig, Rope

TYPES = ("deepseek_v2", "deepseek_v3")
NAMES = {**llama.NAMES, "mixers": "kv_lora_rank", "ffn": "num_experts_per_tok"}


def config(a: Attributes) -> ModelConfig:
    is_v3 = a.plain["model_type"] == "deepseek_v3"
    a.no_effect([*experts.NO_EFFECT, "pretraining_tp", "num_mtp_layers", "num_nextn_predict_layers"])
    a.no_effect(["num_key_value_heads", "qk_head_dim", "aux_loss_alpha", "seq_aux", "ep_size"])
    a.one_value("moe_layer_freq", 1)
    a.one_value("mlp_bias", False)
    turned, plain = a.size("qk_rope_head_dim", 64), a.size("qk_nope_head_dim", 128)
    width = turned + plain
    a.one_value("head_dim", turned)  # what Transformers takes as the width that turns
    pairing = a.flag("rope_interleave", True)
    factors = a.plain.get("rope_parameters") or a.plain.get("rope_scaling") or {}

    def rotation(a: Attributes, n_context: int) -> Rope:
        share = turned / width if int(width * (turned / width)) == turned else math.nextafter(turned / width, 1.0)
        found = replace(rope.read(a, n_context), fraction=share)
        return replace(found, pairing="interleaved") if pairing else found

    dense = llama.gated(a)
    ffn = _routed(a, dense, is_v3)
    sizes = (129280, 61, 7168, 128, 18432) if is_v3 else (102400, 32, 4096, 32, 11008)
    base = llama.read(
        a, turned=rotation, ffn=ffn, n_vocab=sizes[0], n_layers=sizes[1], d_model=sizes[2], n_heads=sizes[3],
        n_context=4096 if is_v3 else 2048, d_ffn=sizes[4], fixed={"d_head": width, "n_kv_heads": 0},
    )  # fmt: skip
    first, n = a.size("first_k_dense_replace", 3 if is_v3 else 0, 0), base.n_layers
    narrow = Latent(
        rank=a.size("kv_lora_rank", 512),
        query_rank=0 if a.is_null("q_lora_rank") else a.size("q_lora_rank", 1536),
        d_rotated=turned,
        d_value=a.size("v_head_dim", 128),
    )
    return replace(
        base,
        ffns=(dense,) * min(first, n) + (ffn,) * (n - first) if first else (),
        mixers=(narrow,) * n,
        attention_bias=a.flag("attention_bias", False),
        scale_width=_width(factors, width),
    )


def _routed(a: Attributes, dense: Gated, is_v3: bool) -> Experts:
    width = a.size("moe_intermediate_size", 2048 if is_v3 else 1407)
    is_grouped = is_v3 or a.choice("topk_method", {"greedy": False, "group_limited_greedy": True}, "greedy")
    a.no_effect(["topk_method", "scoring_func", "n_group", "topk_group"])
    normalize = a.flag("norm_topk_prob", is_v3)
    n = a.size("n_routed_experts", 256 if is_v3 else 64)
    return Experts(
        expert=dense,
        n_experts=n,
        top_k=a.size("num_experts_per_tok", 8 if is_v3 else None),
        d_expert=width,
        softmax="sigmoid" if is_v3 else "all",
        choice_bias=is_v3,
        n_groups=a.size("n_group", 8 if is_v3 else None) if is_grouped else 1,
        top_groups=a.size("topk_group", 4 if is_v3 else None) if is_grouped else 1,
        group_best=2 if is_v3 else 1,
        normalize=normalize and is_v3,
        factor=a.number("routed_scaling_factor", 2.5 if is_v3 else 1.0),
        d_shared=width * a.size("n_shared_experts", 1 if is_v3 else 2),
    )


def _width(factors: dict[str, float], width: int) -> float | None:
    """What stands under the root of the scores, where YaRN lengthens them: K by the fourth power of its factor."""
    share, factor = factors.get("mscale_all_dim", 0), factors.get("factor", 1.0)
    if not share or factor <= 1:
        return None
    return width / (0.1 * share * math.log(factor) + 1) ** 4


def renames(config: ModelConfig) -> list[Rename]:
    """Llama's table but for attention, the experts, and the one that reads every token."""
    attn, narrow = f"{llama.THEIRS}self_attn.", config.mixers[0]
    assert isinstance(narrow, Latent)
    q = "q_b_proj" if narrow.query_rank else "q_proj"
    mlp = f"{llama.THEIRS}mlp."
    return [
        *llama.without(config, ".q_proj.*", ".k_proj.*", ".v_proj.*"),
        replace(
            rename(f"{attn}{q}.weight", f"{llama.OURS}attn.q.weight", groups=config.n_heads), roll=narrow.d_rotated
        ),
        rename(f"{attn}q_a_proj.*", f"{llama.OURS}attn.q_down.*"),
        rename(f"{attn}q_a_layernorm.weight", f"{llama.OURS}attn.q_latent_norm.weight"),
        rename(f"{attn}kv_a_proj_with_mqa.*", f"{llama.OURS}attn.down.*", f"{llama.OURS}attn.shared.*"),
        rename(f"{attn}kv_a_layernorm.weight", f"{llama.OURS}attn.latent_norm.weight"),
        rename(
            f"{attn}kv_b_proj.weight", f"{llama.OURS}attn.k.weight", f"{llama.OURS}attn.v.weight", groups=config.n_heads
        ),
        *experts.renames(config),
        rename(f"{mlp}gate.e_score_correction_bias", f"{llama.OURS}ffn.choice"),
        *experts.shared(f"{mlp}shared_experts"),
        ignored("mtp.**", "it predicts further tokens"),
    ]
