"""Every class of transformers that predicts tokens: its own logits, or refused in a line and then observed."""

import re
from collections.abc import Iterator
from typing import Any

import pytest
import torch
import transformers
from checkpoint_makers import SIZES, TASKS, Reference, logits_of
from tiny_models import close
from transformers.models.auto.configuration_auto import CONFIG_MAPPING

import viz_model as vm
from viz_model.checkpoints.huggingface import FAMILIES
from viz_model.checkpoints.weights import ModelError

KINDS = dict(zip(("seq2seq", "masked", "causal"), TASKS, strict=False))
SMALL = {
    32: "hidden_size d_model n_embd dim embed_dim emb_dim embedding_size",
    48: "intermediate_size ffn_dim d_ff n_inner hidden_dim encoder_ffn_dim decoder_ffn_dim d_inner ffn_hidden_size",
    2: "num_hidden_layers n_layer n_layers num_layers encoder_layers decoder_layers num_decoder_layers "
    "num_encoder_layers num_blocks num_key_value_heads num_experts_per_tok eos_token_id",
    4: "num_attention_heads n_head n_heads num_heads encoder_attention_heads decoder_attention_heads num_experts "
    "num_local_experts n_routed_experts linear_num_value_heads mamba_n_heads",
    8: "head_dim d_kv state_size mamba_d_state",
    16: "kv_lora_rank q_lora_rank mamba_d_head sliding_window",
    24: "moe_intermediate_size shared_expert_intermediate_size",
    64: "max_position_embeddings n_positions n_ctx max_seq_len",
    97: "vocab_size vocab_size_per_layer_input",
    0: "bos_token_id decoder_start_token_id",
    1: "pad_token_id n_group topk_group",
}
SIZED = {name: size for size, names in SMALL.items() for name in names.split()}
IDS, TARGET = [5, 9, 12, 30, 7], [0, 6, 8]
LARGEST = 10_000_000
# What reports nothing of the shape of its tokens, or reads no five tokens.
NOT_OBSERVED = ("FunnelForMaskedLM",)
READ = {"causal": 42, "masked": 10, "seq2seq": 6}
OBSERVED = {"causal": 60, "masked": 25, "seq2seq": 14}


def built(kind: str) -> Iterator[tuple[str, str, Any]]:
    """Type, class and model; those left out cannot be made small, or do not run by themselves on a text."""
    for model_type, name in dict(KINDS[kind]).items():
        cls: Any = getattr(transformers, name, None)
        try:
            if model_type in FAMILIES and any(name.lower().startswith(family) for family in SIZES):
                yield model_type, name, Reference(name).build()
                continue
            config_class: Any = CONFIG_MAPPING[model_type]
            plain = config_class().to_dict()
            config = config_class(**{key: size for key, size in SIZED.items() if key in plain})
            config._attn_implementation = "eager"
            with torch.device("meta"):
                if sum(weight.numel() for weight in cls(config).parameters()) > LARGEST:
                    continue
            torch.manual_seed(0)
            model = cls(config).eval()
            logits_of(model, *given(model))
        except Exception:  # whatever a class of somebody else raises
            continue
        yield model_type, name, model


def given(model: Any) -> tuple[list[int], list[int] | None]:
    return IDS, TARGET if "decoder_input_ids" in model.forward.__annotations__ else None


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_a_class_is_read_exactly_or_refused_and_observed(kind: str) -> None:
    read, seen = [], []
    for model_type, name, model in built(kind):
        ids, target_ids = given(model)
        expected = logits_of(model, ids, target_ids)
        try:
            lm = vm.load(model)
        except ModelError as refused:
            line = str(refused)
            assert "\n" not in line and len(line) < 400 and "vm.observe_model or viz-model --observe" in line, line
            if model_type not in FAMILIES:
                assert re.search(r"is not read here; the nearest that is read is \S+, (without|which) ", line), line
            if name in NOT_OBSERVED:
                continue
            lm = vm.observe_model(model)
            assert torch.equal(lm.trace(ids=ids, target_ids=target_ids)["logits"], expected), name
            seen.append(name)
        else:
            close(lm.trace(ids=ids, target_ids=target_ids)["logits"], expected, name)
            read.append(name)
    assert len(read) >= READ[kind] and len(seen) >= OBSERVED[kind]
