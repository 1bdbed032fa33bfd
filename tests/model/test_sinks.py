"""Softmax with a logit that no key has: against transformers' gpt-oss, fused and in steps, with a cache and padding."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
import torch
from tiny_models import close, random_model, tiny_config
from torch import Tensor
from transformers import Wav2Vec2BertConfig
from transformers.models.wav2vec2_bert.modeling_wav2vec2_bert import Wav2Vec2BertSelfAttention

from viz_model.config import ModelConfig, NoPosition, RelativeKey
from viz_model.model import masks, ops
from viz_model.model.attention import Attention, Given
from viz_model.model.tap import NO_TAP
from viz_model.model.transformer import Transformer


class _Steps:
    """A tap that has the pattern formed, so that nothing is fused."""

    def __call__(self, name: str, value: Tensor) -> Tensor:
        return value

    def at(self, prefix: str) -> _Steps:
        return self

    def changes(self, name: str) -> bool:
        return name == "pattern"


def _model(**changes: Any) -> Transformer:
    return random_model(tiny_config(attention_sink=True, n_heads=4, n_kv_heads=2, d_head=6, **changes))


def test_attention_with_a_sink_is_that_of_gpt_oss() -> None:
    reference = pytest.importorskip("transformers.models.gpt_oss.modeling_gpt_oss").eager_attention_forward
    stack = _model(position=NoPosition()).stack("decoder")
    attn, scheme = stack.block(0).attn, stack.position_of(0)
    x = torch.randn(2, 7, attn.q.in_features, generator=torch.Generator().manual_seed(0))
    q, k, v = attn.queries(x, scheme), attn.keys(x, scheme), attn.values(x)
    causal = ops.additive(masks.causal(7, 7))[None, None]
    own = SimpleNamespace(sinks=attn.sink, num_key_value_groups=2, training=False)
    theirs, weights = reference(own, q, k, v, causal, attn.scale)
    for tap in (NO_TAP, _Steps()):
        torch.testing.assert_close(attn(x, Given(scheme), tap), attn.o(theirs.flatten(-2)))
    masked = ops.scores(q, ops.share_heads(k, 4), attn.scale) + causal
    torch.testing.assert_close(ops.pattern(masked, attn.beside), weights)
    assert (weights.sum(-1) < 1).all() and weights.sum(-1).min() < 0.9


LENGTH = 7


def pair(kind: str) -> tuple[Transformer, Wav2Vec2BertSelfAttention]:
    """Our first layer and theirs with the same weights."""
    config = tiny_config(kind=kind, position=RelativeKey(), n_heads=3)
    reach = config.n_context - 1
    theirs: Wav2Vec2BertSelfAttention = Wav2Vec2BertSelfAttention(  # type: ignore[no-untyped-call]
        Wav2Vec2BertConfig(
            hidden_size=config.d_model,
            num_attention_heads=config.n_heads,
            position_embeddings_type="relative_key",
            left_max_position_embeddings=reach,
            right_max_position_embeddings=reach,
            attn_implementation="eager",  # type: ignore[call-arg]
        )
    ).eval()
    model = random_model(config)
    stack = model.stack(config.sides[0])
    attention: Attention = stack.block(0).attn
    with torch.no_grad():
        for letter, own in (("q", attention.q), ("k", attention.k), ("v", attention.v), ("out", attention.o)):
            getattr(theirs, f"linear_{letter}").load_state_dict(own.state_dict())
        theirs.distance_embedding.weight.copy_(stack.position.get_parameter("distances.weight"))
    return model, theirs


@pytest.mark.parametrize("kind", ["encoder", "decoder"])
def test_attention_is_that_of_transformers(kind: str) -> None:
    model, theirs = pair(kind)
    config: ModelConfig = model.config
    stack = model.stack(config.sides[0])
    x = torch.randn(2, LENGTH, config.d_model, generator=torch.Generator().manual_seed(3))
    mask = None if kind == "encoder" else ops.additive(masks.causal(LENGTH, LENGTH))
    with torch.no_grad():
        expected, pattern = theirs(x, attention_mask=mask)
        given = Given(stack.position_of(0), stack.attn_bias(0, 0, x))
        found = stack.block(0).attn(x, given)
        close(found, expected)
        q, k = (getattr(stack.block(0).attn, name)(x, given.position) for name in ("queries", "keys"))
        scale = stack.block(0).attn.scale
        bias = given.position.content_bias(q, k, 0, scale)
        assert bias is not None and (bias.abs() > 0.01).any()
        scores = ops.scores(q, k, scale) + bias
        close(ops.pattern(scores if mask is None else scores + mask), pattern)
