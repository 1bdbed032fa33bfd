"""Every family with attributes drawn at random, so that each meets others: the values are those of its library, or the
folder is refused. Every seed is a config of its own."""

import json
import random
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
import torch
from checkpoint_makers import REFERENCES, Reference, compared
from pytest import mark
from torch import Tensor

import viz_model as vm
from viz_model.checkpoints.weights import ModelError

TOLERANCE = 1e-4
N_SEEDS, N_DRAWN = 8, 4
_BETAS, _SCALES = {"beta_fast": 20.0, "beta_slow": 2.0, "truncate": False}, {"mscale": 0.7, "mscale_all_dim": 1.0}
YARN: tuple[dict[str, Any], ...] = ({}, {"attention_factor": 1.3}, _BETAS, _SCALES)
ACTIVATIONS = ("relu", "gelu", "gelu_new", "gelu_pytorch_tanh", "gelu_fast", "silu")
EPS = (1e-6, 0.05)
DRAWN: dict[str, Sequence[Any]] = {
    **dict.fromkeys(("hidden_act", "activation_function", "hidden_activation", "activation"), ACTIVATIONS),
    **dict.fromkeys(("layer_norm_eps", "rms_norm_eps", "norm_eps", "layer_norm_epsilon"), EPS),
    **dict.fromkeys(("num_hidden_layers", "n_layer", "n_layers", "encoder_layers", "num_decoder_layers"), (1, 3)),
    **dict.fromkeys(("num_attention_heads", "n_head", "num_heads", "n_heads"), (1, 2, 4, 6)),
    **dict.fromkeys(("intermediate_size", "n_inner", "d_ff", "ffn_dim", "ffn_hidden_size"), (13, 20, 28)),
    **dict.fromkeys(("sliding_window", "window_size", "local_attention"), (2, 3, 5, 6)),
    **dict.fromkeys(("num_experts_per_tok", "decoder_sparse_step", "no_rope_layer_interval"), (1, 2, 3)),
    **dict.fromkeys(("global_attn_every_n_layers", "type_vocab_size", "max_window_layers"), (1, 2, 3)),
    "num_key_value_heads": (1, 2, 4),
    "head_dim": (6, 10, 12),
    "d_kv": (3, 8),
    "embedding_size": (5, 30),
    "feed_forward_proj": ("relu", "gelu", "gated-gelu", "gated-silu"),
    "relative_attention_num_buckets": (8, 32),
    "relative_attention_max_distance": (40, 128),
    "final_logit_softcapping": (None, 2.0),
    "attn_logit_softcapping": (None, 1.5),
    "query_pre_attn_scalar": (7, 256),
    "num_kv_shared_layers": (0, 1, 2),
    "num_global_key_value_heads": (None, 1),
    "hidden_size_per_layer_input": (0, 5),
    "num_ln_in_parallel_attn": (None, 1, 2),
    "conv_L_cache": (1, 2, 5),
    "block_ffn_dim_multiplier": (1, 1.3, 0.4),
}
"""By an attribute's name what else it may be; what is true or false may be either."""
NOT_DRAWN = "return|is_(en|de)coder|add_cross|alibi"
OTHERS = {"olmo2": Reference("Olmo2ForCausalLM"), "mbart": Reference("MBartForConditionalGeneration")}
EVERY = {name: made for name, made in (REFERENCES | OTHERS).items() if name != "vit"}


def _rope(draw: random.Random, plain: dict[str, Any]) -> dict[str, Any]:
    """Another stretching of the angles, with the share that turns as it was."""
    way = draw.choice(("default", "linear", "llama3", "yarn"))
    found: dict[str, Any] = {"rope_type": way, "rope_theta": draw.choice((50.0, 10_000.0))}
    found |= {name: value for name, value in plain.items() if name == "partial_rotary_factor"}
    if way != "default":
        found["factor"] = draw.choice((1.5, 4.0))
    if way in ("llama3", "yarn"):
        found["original_max_position_embeddings"] = draw.choice((8, 64))
    if way == "llama3":
        found |= {"low_freq_factor": 1.0, "high_freq_factor": draw.choice((2.0, 4.0))}
    return found | (draw.choice(YARN) if way == "yarn" else {})


def _changes(draw: random.Random, made: Reference) -> dict[str, Any]:
    plain = made.build().config.to_dict()
    either = {name for name, value in plain.items() if isinstance(value, bool)}
    names = [name for name in plain if name in DRAWN or (name in either and not re.search(NOT_DRAWN, name))]
    drawn = draw.sample(names, min(N_DRAWN, len(names)))
    changes = {name: draw.choice(DRAWN.get(name, (True, False))) for name in drawn}
    ropes = plain.get("rope_parameters") or {}
    if plain["model_type"] in ("gemma4_text", "phi3"):  # whose angles are stretched in ways of their own
        pass
    elif "rope_type" in ropes:
        changes["rope_parameters"] = _rope(draw, ropes)
    elif ropes:
        changes["rope_parameters"] = {kind: _rope(draw, of) for kind, of in ropes.items()}
    if "layer_types" in plain and {*plain["layer_types"]} <= {"full_attention", "sliding_attention"}:
        n = changes.get("num_hidden_layers", plain["num_hidden_layers"])
        changes["layer_types"] = [draw.choice(("sliding_attention", "full_attention")) for _ in range(n)]
    return {**made.changes, **changes}


def _respell(folder: Path, draw: random.Random) -> None:
    """Rotary attributes as older files have them, in every other config."""
    path = folder / "config.json"
    plain = json.loads(path.read_text())
    parameters = dict(plain.get("rope_parameters") or {})
    if "rope_type" not in parameters or "partial_rotary_factor" in parameters or draw.choice((True, False)):
        return
    del plain["rope_parameters"]
    plain["rope_theta"] = parameters.pop("rope_theta")
    if parameters["rope_type"] != "default":
        plain["rope_scaling"] = {draw.choice(("type", "rope_type")): parameters.pop("rope_type"), **parameters}
    path.write_text(json.dumps(plain))


def _close(found: Tensor, expected: Tensor, what: str) -> None:
    atol = TOLERANCE * max(1.0, float(expected.abs().max()))  # a small number may be the difference of large ones
    torch.testing.assert_close(found, expected, atol=atol, rtol=TOLERANCE, msg=lambda text: f"{what}: {text}")


@mark.parametrize("family", [pytest.param(f, marks=[mark.full] * bool(n % 4)) for n, f in enumerate(EVERY)])
@torch.no_grad()
def test_drawn_attributes(family: str, tmp_path: Path) -> None:
    n_compared = 0
    for seed in range(N_SEEDS):
        draw, folder = random.Random(f"{family} {seed}"), tmp_path / str(seed)
        changes = _changes(draw, EVERY[family])
        try:
            theirs = Reference(EVERY[family].model, changes).save(folder, seed)
            theirs(**theirs.dummy_inputs)
        except Exception:  # sizes that the library itself does not take
            continue
        _respell(folder, draw)
        try:
            ours = vm.load(folder).model
        except ModelError:
            continue
        compared(theirs, ours, 20, _close)
        n_compared += 1
    assert n_compared
