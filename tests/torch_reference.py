"""PyTorch's own layers with the weights of our blocks: the reference that shares no code with the package."""

from typing import Any

import torch
from torch import Tensor, nn

from viz_model.config import ModelConfig
from viz_model.model.attention import Attention
from viz_model.model.block import Block


def reference_layer(block: Block, config: ModelConfig, activation: str = "relu") -> nn.Module:
    """A layer of an encoder, or of a decoder that reads another stack, with the weights of ``block``."""
    kind = nn.TransformerEncoderLayer if block.cross is None else nn.TransformerDecoderLayer
    how: dict[str, Any] = {"dropout": 0.0, "activation": activation, "layer_norm_eps": config.norm.eps}
    how |= {"batch_first": True, "norm_first": config.norm_at == "pre"}
    layer = kind(config.d_model, config.n_heads, config.d_ffn, **how)
    weights, norms = _attention("self_attn", block.attn), [block.attn_norm, block.ffn_norm]
    if block.cross is not None:
        weights |= _attention("multihead_attn", block.cross)
        norms.insert(1, block.cross_norm)
    for n, (norm, linear) in enumerate(zip(norms, (block.ffn.up, block.ffn.down, None), strict=False), 1):
        for name, part in ((f"norm{n}", norm), (f"linear{n}", linear)):
            weights |= {} if part is None else {f"{name}.{own}": weight for own, weight in part.named_parameters()}
    layer.load_state_dict(weights)
    # In evaluation mode the layer may take a fused path of its own; with a dropout of 0 the
    # training mode computes the same by the plain one.
    return layer.train()


def _attention(name: str, attn: Attention) -> dict[str, Tensor]:
    """The weights of attention under PyTorch's names."""
    parts = (attn.q, attn.k, attn.v)
    return {
        f"{name}.in_proj_weight": torch.cat([part.weight for part in parts]),
        f"{name}.in_proj_bias": torch.cat([part.bias for part in parts]),
        f"{name}.out_proj.weight": attn.o.weight,
        f"{name}.out_proj.bias": attn.o.bias,
    }
