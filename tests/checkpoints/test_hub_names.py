"""Names of weights on the hub against the models of transformers themselves."""

from __future__ import annotations

import pytest
from checkpoint_makers import Reference
from tiny_models import random_model, tiny_config

from viz_model.checkpoints.hub_names import hub_names, weights_of
from viz_model.config import Gated

THEIRS = {
    "llama": Reference("LlamaForCausalLM"),
    "qwen3": Reference("Qwen3ForCausalLM"),
    "gpt2": Reference("GPT2LMHeadModel"),
    "bert": Reference("BertForMaskedLM"),
    "t5": Reference("T5ForConditionalGeneration", {"feed_forward_proj": "gated-gelu"}),
}
CONFIG = tiny_config(n_layers=2, ffn=Gated(), n_heads=2)


def names() -> list[str]:
    return [name for name, _ in random_model(CONFIG).named_parameters()]


@pytest.mark.parametrize("family", THEIRS)
def test_a_family_has_tensors_of_these_names(family: str) -> None:
    theirs = set(THEIRS[family].build().state_dict())
    parts = [f"decoder.blocks.1.{part}.out" for part in ("attn", "ffn", "attn_norm", "ffn_norm")]
    weights = [name for part in parts for name in weights_of(names(), part) if name.endswith("weight")]
    found = {named[family].split(" ")[0] for named in hub_names(CONFIG, weights).values() if family in named}
    assert len(found) >= 4
    assert found <= theirs


def test_weights_of_a_value_are_those_of_its_part() -> None:
    own = weights_of(names(), "blocks.1.attn.pattern")
    assert {name.split(".")[4] for name in own} == {"q", "k", "v", "o"}
    assert all(name.startswith("decoder.blocks.1.attn.") for name in own)
    assert weights_of(names(), "embed.token") == ["embedding.weight"]
    assert weights_of(names(), "blocks.1.resid.out") == []
