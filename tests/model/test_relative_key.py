"""Relative keys (Shaw et al. 2018) against the implementation in transformers, whose table is the other way round."""

from __future__ import annotations

import pytest
import torch
from tiny_models import close, random_model, tiny_config
from transformers import Wav2Vec2BertConfig
from transformers.models.wav2vec2_bert.modeling_wav2vec2_bert import Wav2Vec2BertSelfAttention

from viz_model.config import ModelConfig, RelativeKey
from viz_model.model import masks, ops
from viz_model.model.attention import Attention, Given
from viz_model.model.transformer import Transformer

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
