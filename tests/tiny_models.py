"""Models small enough to test every variant of them."""

from __future__ import annotations

from typing import Any, Literal

import torch

from viz_model.config import ModelConfig
from viz_model.model import Transformer


def tiny_config(norm_at: Literal["pre", "post"] = "pre", **changes: Any) -> ModelConfig:
    """Two layers of width 24 with every size different from every other, so that swapped axes show."""
    sizes = {"n_vocab": 101, "n_context": 16, "n_layers": 2, "d_model": 24, "n_heads": 3, "d_ffn": 40}
    return ModelConfig(**{**sizes, "norm_at": norm_at, **changes})


def random_model(config: ModelConfig, seed: int = 0) -> Transformer:
    """A model all of whose parameters are random: biases of 0 and gains of 1 would hide mistakes."""
    numbers = torch.Generator().manual_seed(seed)
    model = Transformer(config)
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            noise = torch.randn(parameter.shape, generator=numbers)
            if parameter.dim() >= 2:
                parameter.copy_(noise * parameter.shape[-1] ** -0.5)
            else:
                parameter.copy_(float("norm.weight" in name) + 0.3 * noise)
    return model.eval().requires_grad_(False)


def close(found: torch.Tensor, expected: torch.Tensor) -> None:
    """Assert that two computations of the same values differ by no more than rounding."""
    torch.testing.assert_close(found, expected, atol=1e-5, rtol=1e-5)
