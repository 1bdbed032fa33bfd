"""Every family with sizes and attributes drawn at random, against the library its checkpoints come from.

What one family reads of another's attributes shows where they meet: windows shorter than the text beside stretched
rotations, heads wider than D/H beside groups, tied tables beside biases. Every seed is a config of its own.
"""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
import torch
from checkpoint_makers import Reference, compared
from pytest import mark
from torch import Tensor

from viz_model.checkpoints import huggingface

TOLERANCE = 1e-4
Draw = random.Random
Choices = Mapping[str, Any]

YES = (True, False)
ACTIVATIONS = ("relu", "gelu", "gelu_new", "gelu_pytorch_tanh", "gelu_fast", "silu")
WAYS = ("default", "linear", "llama3", "yarn")


def _rope(draw: Draw, ways: tuple[str, ...] = WAYS, share: float | None = None) -> dict[str, Any]:
    way = draw.choice(ways)
    found: dict[str, Any] = {"rope_type": way, "rope_theta": draw.choice((50.0, 10_000.0))}
    if way != "default":
        found["factor"] = draw.choice((1.5, 4.0))
    if way in ("llama3", "yarn"):
        found["original_max_position_embeddings"] = draw.choice((8, 64))
    if way == "llama3":
        found |= {"low_freq_factor": 1.0, "high_freq_factor": draw.choice((2.0, 4.0))}
    if way == "yarn":
        more: tuple[dict[str, Any], ...] = (
            {},
            {"attention_factor": 1.3},
            {"beta_fast": 20.0, "beta_slow": 2.0, "truncate": False},
            {"mscale": 0.7, "mscale_all_dim": 1.0},
        )
        found |= draw.choice(more)
    return found if share is None else {**found, "partial_rotary_factor": share}


def _layers(draw: Draw, n: int) -> list[str]:
    return [draw.choice(("sliding_attention", "full_attention")) for _ in range(n)]


def _heads(draw: Draw, *, free: bool = True) -> dict[str, Any]:
    """Sizes of a decoder whose heads share keys, and where ``free`` may be wider or narrower than D/H."""
    n, width = draw.choice((1, 2, 4, 6)), draw.choice((4, 6, 10))
    sizes = {
        "vocab_size": draw.randint(40, 90),
        "num_hidden_layers": draw.randint(1, 4),
        "num_attention_heads": n,
        "num_key_value_heads": draw.choice([g for g in (1, 2, 3, 6) if n % g == 0]),
        "hidden_size": n * width,
        "intermediate_size": 4 * draw.randint(2, 9),
        "max_position_embeddings": 24,
        "rope_parameters": _rope(draw),
        "tie_word_embeddings": draw.choice(YES),
        "hidden_act": draw.choice(ACTIVATIONS),
    }
    return {**sizes, "head_dim": width, "hidden_size": n * draw.randint(2, 9)} if free else sizes


def _windows(draw: Draw) -> dict[str, Any]:
    """Qwen's sizes, the layers from one on with a window."""
    found = _heads(draw)
    n = found["num_hidden_layers"]
    found |= {"use_sliding_window": draw.choice(YES), "sliding_window": draw.choice((2, 5))}
    return {**found, "max_window_layers": draw.randint(0, n)}


def _gemma(draw: Draw) -> dict[str, Any]:
    found = _heads(draw)
    own = {
        "attention_bias": draw.choice(YES),
        "query_pre_attn_scalar": draw.choice((found["head_dim"], 7, 256)),
        "sliding_window": draw.choice((2, 5)),
        "layer_types": _layers(draw, found["num_hidden_layers"]),
        "final_logit_softcapping": draw.choice((None, 2.0)),
        "hidden_activation": draw.choice(("gelu", "gelu_pytorch_tanh", "silu")),
    }
    return {**found, **own}


def _gemma3(draw: Draw) -> dict[str, Any]:
    ropes = {"full_attention": _rope(draw, WAYS[:2]), "sliding_attention": _rope(draw, WAYS[:1])}
    return {**_gemma(draw), "rope_parameters": ropes}


def _gemma4(draw: Draw) -> dict[str, Any]:
    found, n = _heads(draw), draw.randint(4, 7)
    kinds = ["full_attention", "sliding_attention", *_layers(draw, n - 3), "full_attention"]
    across = {"rope_type": "proportional", "rope_theta": draw.choice((50.0, 1e6)), "factor": draw.choice((1.0, 2.5))}
    near, far = _rope(draw, WAYS[:1]), draw.choice((None, {**across, "partial_rotary_factor": draw.choice((0.4, 1.0))}))
    own = {
        "num_hidden_layers": n,
        "layer_types": kinds,
        "num_kv_shared_layers": draw.randint(0, n - 2),
        "use_double_wide_mlp": draw.choice(YES),
        "attention_k_eq_v": draw.choice(YES),
        "attention_bias": draw.choice(YES),
        "global_head_dim": draw.choice((10, 14)),
        "num_global_key_value_heads": draw.choice((None, 1)),
        "hidden_size_per_layer_input": draw.choice((0, 5)),
        "vocab_size_per_layer_input": found["vocab_size"],
        "sliding_window": draw.choice((2, 5)),
        "final_logit_softcapping": draw.choice((None, 2.0)),
        "hidden_activation": draw.choice(("gelu_pytorch_tanh", "silu")),
        "use_bidirectional_attention": draw.choice((None, "vision")),
        "rope_parameters": far and {"full_attention": far, "sliding_attention": near},
        "rms_norm_eps": 0.1,  # scores are divided by nothing: small differences of them show
    }
    return {**found, **own}


def _encoder(draw: Draw) -> dict[str, Any]:
    n = draw.choice((1, 2, 3))
    return {
        "vocab_size": 53,
        "max_position_embeddings": 26,
        "hidden_size": n * draw.choice((4, 6, 8)),
        "num_hidden_layers": draw.randint(1, 4),
        "num_attention_heads": n,
        "intermediate_size": draw.randint(5, 30),
        "hidden_act": draw.choice(ACTIVATIONS),
        "type_vocab_size": draw.choice((1, 3)),
        "layer_norm_eps": draw.choice((1e-12, 1e-2)),
    }


def _two_stacks(draw: Draw) -> dict[str, Any]:
    sides = {f"{side}_{name}": draw.randint(1, 3) for side in ("encoder", "decoder") for name in ("layers",)}
    n = draw.choice((1, 2, 3))
    heads = {f"{side}_attention_heads": n for side in ("encoder", "decoder")}
    width = {"d_model": 2 * n * draw.randint(2, 5), "encoder_ffn_dim": 20, "decoder_ffn_dim": 20}
    switches = {"activation_function": draw.choice(ACTIVATIONS), "scale_embedding": draw.choice(YES)}
    return {**sides, **heads, **width, **switches}


def _neox(draw: Draw) -> dict[str, Any]:
    found = _heads(draw, free=False)
    found["hidden_size"] = found["num_attention_heads"] * 8
    own = {name: draw.choice(YES) for name in ("use_parallel_residual", "attention_bias")}
    del found["num_key_value_heads"]
    return {**found, **own, "rope_parameters": _rope(draw, share=draw.choice((0.25, 0.5, 1.0)))}


def _opt(draw: Draw) -> dict[str, Any]:
    width = 2 * draw.randint(2, 9)
    own = {name: draw.choice(YES) for name in ("do_layer_norm_before", "enable_bias", "tie_word_embeddings")}
    activation = {"activation_function": draw.choice(ACTIVATIONS)}
    return {"hidden_size": width, "word_embed_proj_dim": width, "num_attention_heads": 2, **own, **activation}


def _falcon(draw: Draw) -> dict[str, Any]:
    found = {**_heads(draw, free=False), "activation": draw.choice(ACTIVATIONS), "bias": draw.choice(YES)}
    found |= {"ffn_hidden_size": draw.choice((None, 13))}
    for name in ("hidden_act", "intermediate_size"):
        del found[name]
    groups = found.pop("num_key_value_heads")
    new = {"new_decoder_architecture": True, "num_kv_heads": groups}
    new["num_ln_in_parallel_attn"] = draw.choice((None, 1, 2))
    old = {name: draw.choice(YES) for name in ("parallel_attn", "multi_query")}
    return {**found, **draw.choice((new, old))}


def _modern(draw: Draw) -> dict[str, Any]:
    others = ("hidden_act", "type_vocab_size", "layer_norm_eps")
    found = {name: value for name, value in _encoder(draw).items() if name not in others}
    names = ("norm_bias", "attention_bias", "mlp_bias", "classifier_bias", "decoder_bias", "tie_word_embeddings")
    found |= {name: draw.choice(YES) for name in names}
    found |= {f"{part}_activation": draw.choice(ACTIVATIONS) for part in ("hidden", "classifier")}
    found |= {"local_attention": draw.choice((2, 3, 6)), "global_attn_every_n_layers": draw.choice((1, 2, 3))}
    bases = {"full_attention": _rope(draw, WAYS[:3]), "sliding_attention": _rope(draw, WAYS[:1])}
    return {**found, "rope_parameters": bases}


def _lfm2(draw: Draw) -> dict[str, Any]:
    found = {**_heads(draw, free=draw.choice(YES)), "conv_L_cache": draw.randint(1, 5), "conv_bias": draw.choice(YES)}
    del found["hidden_act"]
    found |= {"block_multiple_of": draw.choice((1, 7, 16)), "block_ffn_dim_multiplier": draw.choice((1, 1.3, 0.4))}
    kinds = ["conv" if draw.choice(YES) else "full_attention" for _ in range(found["num_hidden_layers"])]
    kinds[draw.randrange(len(kinds))] = "full_attention"  # of convolutions alone the reference has no length
    return {**found, "block_auto_adjust_ff_dim": draw.choice(YES), "layer_types": kinds}


def _experts(draw: Draw, name: str = "num_experts") -> dict[str, Any]:
    """Sizes of a decoder with experts, under the name that a family has for how many they are."""
    n = draw.randint(2, 7)
    return {**_heads(draw, free=name != "num_experts"), name: n, "num_experts_per_tok": draw.randint(1, n)}


def _qwen3_moe(draw: Draw) -> dict[str, Any]:
    found = {**_experts(draw), **_windows(draw)}
    layers = found["num_hidden_layers"]
    own = {
        "moe_intermediate_size": draw.randint(1, 19),
        "norm_topk_prob": draw.choice(YES),
        "decoder_sparse_step": draw.randint(1, 3),
        "mlp_only_layers": draw.sample(range(layers), draw.randint(0, layers - 1)),
        "attention_bias": draw.choice(YES),
    }
    return {**found, **own}


def _sized(draw: Draw) -> dict[str, Any]:
    return {**_heads(draw), "attention_bias": draw.choice(YES)}


def _equal(draw: Draw) -> dict[str, Any]:
    return {**_heads(draw, free=False), "attention_bias": draw.choice(YES)}


FAMILIES: dict[str, tuple[Callable[[Draw], Choices] | None, dict[str, Sequence[Any]]]] = {
    "LlamaForCausalLM": (_sized, {"mlp_bias": YES}),
    "Qwen2ForCausalLM": (_windows, {}),
    "Qwen3ForCausalLM": (_windows, {"attention_bias": YES}),
    "MistralForCausalLM": (_heads, {"sliding_window": (None, 2, 5)}),
    "GemmaForCausalLM": (_sized, {}),
    "Gemma2ForCausalLM": (_gemma, {"attn_logit_softcapping": (None, 1.5)}),
    "Gemma3ForCausalLM": (_gemma3, {}),
    "Gemma4ForCausalLM": (_gemma4, {}),
    "Phi3ForCausalLM": (
        lambda draw: {**_heads(draw), "rope_parameters": _rope(draw, WAYS[:1])},
        {"sliding_window": (None, 4)},
    ),
    "SmolLM3ForCausalLM": (_equal, {"no_rope_layer_interval": (2, 3), "mlp_bias": YES}),
    "Olmo2ForCausalLM": (_equal, {}),
    "Lfm2ForCausalLM": (_lfm2, {}),
    "GPTNeoXForCausalLM": (_neox, {}),
    "GPTNeoForCausalLM": (
        None,
        {"window_size": (2, 30), "intermediate_size": (None, 13), "activation_function": ACTIVATIONS},
    ),
    "GPT2LMHeadModel": (
        None,
        {"n_inner": (None, 17), "n_head": (1, 3, 8), "layer_norm_epsilon": (1e-5, 0.05)}
        | {"activation_function": ACTIVATIONS, "scale_attn_weights": YES, "tie_word_embeddings": YES},
    ),
    "OPTForCausalLM": (_opt, {}),
    "FalconForCausalLM": (_falcon, {}),
    "BloomForCausalLM": (
        lambda draw: {"hidden_size": 30},
        {"n_head": (1, 3, 5, 6), "layer_norm_epsilon": (1e-5, 1e-2), "tie_word_embeddings": YES},
    ),
    "BertForMaskedLM": (_encoder, {}),
    "RobertaForMaskedLM": (_encoder, {}),
    "AlbertForMaskedLM": (_encoder, {"embedding_size": range(3, 31)}),
    "ElectraForMaskedLM": (_encoder, {"embedding_size": range(3, 31)}),
    "DistilBertForMaskedLM": (None, {"activation": ACTIVATIONS, "sinusoidal_pos_embds": YES}),
    "ModernBertForMaskedLM": (_modern, {}),
    "BartForConditionalGeneration": (_two_stacks, {}),
    "MBartForConditionalGeneration": (_two_stacks, {}),
    "MarianMTModel": (_two_stacks, {}),
    "T5ForConditionalGeneration": (
        None,
        {"d_model": (10, 24), "d_kv": (3, 8), "num_heads": (1, 3), "num_decoder_layers": (1, 2, 3)}
        | {"relative_attention_num_buckets": (8, 32), "relative_attention_max_distance": (40, 128)}
        | {"feed_forward_proj": ("relu", "gelu", "gated-gelu", "gated-silu"), "layer_norm_epsilon": (1e-6, 1e-2)},
    ),
    "MixtralForCausalLM": (lambda draw: _experts(draw, "num_local_experts"), {"sliding_window": (None, 1, 3, 8)}),
    "Qwen3MoeForCausalLM": (_qwen3_moe, {}),
    "OlmoeForCausalLM": (_experts, {"norm_topk_prob": YES, "attention_bias": YES}),
}
"""Of each class the attributes that depend on one another, and those that are drawn alone."""


def _respell(folder: Path, draw: Draw) -> None:
    """Rotary attributes as older files have them, in every other config."""
    path = folder / "config.json"
    plain = json.loads(path.read_text())
    parameters = dict(plain.get("rope_parameters") or {})
    if "rope_type" not in parameters or "partial_rotary_factor" in parameters or draw.choice(YES):
        return
    del plain["rope_parameters"]
    plain["rope_theta"] = parameters.pop("rope_theta")
    if parameters["rope_type"] != "default":
        plain["rope_scaling"] = {draw.choice(("type", "rope_type")): parameters.pop("rope_type"), **parameters}
    path.write_text(json.dumps(plain))


def _close(found: Tensor, expected: Tensor, what: str) -> None:
    atol = TOLERANCE * max(1.0, float(expected.abs().max()))  # a small number may be the difference of large ones
    torch.testing.assert_close(found, expected, atol=atol, rtol=TOLERANCE, msg=lambda text: f"{what}: {text}")


@pytest.mark.parametrize("seed", [0, *(pytest.param(seed, marks=mark.full) for seed in range(1, 6))])
@pytest.mark.parametrize("model", FAMILIES)
@torch.no_grad()
def test_drawn_attributes(model: str, seed: int, tmp_path: Path) -> None:
    draw = random.Random(f"{model} {seed}")
    together, alone = FAMILIES[model]
    changes = {**(together(draw) if together else {}), **{name: draw.choice(of) for name, of in alone.items()}}
    theirs = Reference(model, changes).save(tmp_path, seed)
    _respell(tmp_path, draw)
    compared(theirs, huggingface.load_folder(tmp_path), 20, _close)
