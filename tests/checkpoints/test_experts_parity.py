"""Families with experts against transformers, on sizes and attributes drawn at random, and attribute by attribute."""

import random
from pathlib import Path
from typing import Any

import pytest
import torch
from checkpoint_makers import Reference, token_ids

from viz_model.checkpoints import huggingface
from viz_model.config import Experts
from viz_model.model.transformer import Transformer
from viz_model.runs import record
from viz_model.tokenizers.tokenizer import story_tokenizer

FAMILIES = {"mixtral": "MixtralForCausalLM", "qwen3-moe": "Qwen3MoeForCausalLM", "olmoe": "OlmoeForCausalLM"}
TEXT = 11


def drawn(family: str, seed: int) -> dict[str, Any]:
    """Attributes of a small model: any that its reader accepts, of any value that it may have."""
    rng = random.Random(f"{family} {seed}")
    groups, kv = rng.choice([1, 2, 3]), rng.choice([1, 2, 3])
    heads, experts = groups * kv, rng.randint(2, 7)
    d_head = 2 * rng.randint(1, 6)
    found: dict[str, Any] = {
        "vocab_size": rng.randint(20, 60),
        "hidden_size": heads * d_head,
        "num_hidden_layers": rng.randint(1, 5),
        "num_attention_heads": heads,
        "num_key_value_heads": kv,
        "intermediate_size": rng.randint(3, 33),
        "num_experts_per_tok": rng.randint(1, experts),
        "hidden_act": rng.choice(["silu", "gelu", "relu"]),
        "rms_norm_eps": rng.choice([1e-6, 1e-2]),
        "tie_word_embeddings": rng.random() < 0.5,
        "rope_parameters": {"rope_type": "default", "rope_theta": rng.choice([50.0, 1e4])},
        "num_local_experts" if family == "mixtral" else "num_experts": experts,
    }
    match family:
        case "mixtral":
            found |= {"head_dim": 2 * rng.randint(2, 7), "sliding_window": rng.choice([None, 1, 3, 8])}
        case "qwen3-moe":
            layers = found["num_hidden_layers"]
            found |= {
                "head_dim": 2 * rng.randint(2, 7),
                "moe_intermediate_size": rng.randint(1, 19),
                "norm_topk_prob": rng.random() < 0.5,
                "decoder_sparse_step": rng.randint(1, 3),
                "mlp_only_layers": rng.sample(range(layers), rng.randint(0, layers - 1)),
                "attention_bias": rng.random() < 0.5,
                "use_sliding_window": rng.random() < 0.5,
                "sliding_window": rng.choice([2, 5]),
            }
        case "olmoe":
            found |= {"norm_topk_prob": rng.random() < 0.5, "attention_bias": rng.random() < 0.5}
    return found


@torch.no_grad()
def compared(theirs: Any, ours: Transformer) -> torch.Tensor:
    """Assert that logits, hidden states and router probabilities agree; the logits [T, V]."""
    config = ours.config
    (ids,) = token_ids((TEXT,), config.n_vocab, seed=5)
    routed = [n for n in range(config.n_layers) if isinstance(config.layer("decoder", n).ffn, Experts)]
    theirs.set_experts_implementation("eager")  # its fused kernel takes widths that are multiples of 4
    expected = theirs(torch.tensor([ids]), output_hidden_states=True, output_router_logits=bool(routed))
    found = record.record(ours, story_tokenizer(), ids, None)
    pairs = {"embed.out": expected.hidden_states[0], "final.norm.out": expected.hidden_states[-1]}
    pairs |= {f"blocks.{n}.resid.out": state for n, state in enumerate(expected.hidden_states[1:-1])}
    pairs["logits"] = expected.logits
    for site, value in pairs.items():
        torch.testing.assert_close(found[site], value[0], atol=1e-4, rtol=1e-4)
    logits = [each for each in expected.router_logits if isinstance(each, torch.Tensor)] if routed else []
    for n, router in zip(routed, logits, strict=True):
        torch.testing.assert_close(found[f"blocks.{n}.ffn.probs"], router.softmax(-1), atol=1e-4, rtol=1e-4)
        assert (found[f"blocks.{n}.ffn.chosen"] > 0).sum(-1).tolist() == [config_k(ours, n)] * TEXT
    return found["logits"]


def config_k(model: Transformer, layer: int) -> int:
    ffn = model.config.layer("decoder", layer).ffn
    assert isinstance(ffn, Experts)
    return ffn.top_k


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("family", FAMILIES)
def test_any_sizes_and_attributes(family: str, seed: int, tmp_path: Path) -> None:
    theirs = Reference(FAMILIES[family], drawn(family, seed)).save(tmp_path, seed)
    compared(theirs, huggingface.load_folder(tmp_path))


BASE: dict[str, Any] = {"num_hidden_layers": 3, "num_attention_heads": 4, "num_key_value_heads": 2, "head_dim": 10}
CHANGES: dict[str, list[dict[str, Any]]] = {
    "mixtral": [{"num_experts_per_tok": 1}, {"num_local_experts": 3}, {"sliding_window": 3}, {"head_dim": 6}],
    "qwen3-moe": [
        {"num_experts_per_tok": 1},
        {"num_experts": 3},
        {"norm_topk_prob": True},
        {"decoder_sparse_step": 2},
        {"mlp_only_layers": [1]},
        {"moe_intermediate_size": 7},
        {"mlp_only_layers": [1], "intermediate_size": 9},
        {"use_sliding_window": True, "sliding_window": 3},
        {"attention_bias": True},
    ],
    "olmoe": [{"num_experts_per_tok": 2}, {"num_experts": 6}, {"norm_topk_prob": True}, {"attention_bias": True}],
}
COMMON: list[dict[str, Any]] = [
    {"hidden_act": "gelu"},
    {"rms_norm_eps": 0.05},
    {"tie_word_embeddings": True},
    {"intermediate_size": 22},
    {"rope_parameters": {"rope_type": "default", "rope_theta": 30.0}},
    {"num_key_value_heads": 1},
]


@pytest.mark.parametrize("family", FAMILIES)
def test_every_attribute_that_is_read_counts(family: str, tmp_path: Path) -> None:
    """Each changes the model that is read, as it changes theirs: its numbers, or what is refused to fit."""
    base = BASE if family != "olmoe" else {**BASE, "hidden_size": 40, "head_dim": None}
    base = {name: value for name, value in base.items() if value is not None}
    (tmp_path / "base").mkdir()
    plain = Reference(FAMILIES[family], base).save(tmp_path / "base", 0)
    kept = huggingface.load_folder(tmp_path / "base")
    before = compared(plain, kept)
    for n, change in enumerate([*CHANGES[family], *COMMON]):
        if family == "qwen3-moe" and change == {"intermediate_size": 22}:
            continue  # all its layers have experts, of a width of their own; above it is changed beside a dense one
        folder = tmp_path / str(n)
        folder.mkdir()
        theirs = Reference(FAMILIES[family], {**base, **change}).save(folder, 0)
        ours = huggingface.load_folder(folder)
        after = compared(theirs, ours)
        assert ours.config != kept.config, change
        assert not torch.allclose(after, before, atol=1e-3), change
