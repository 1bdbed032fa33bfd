"""How much memory the keys and values take that a decoder keeps."""

from __future__ import annotations

from typing import NamedTuple

from viz_model.config import ModelConfig


class Cache(NamedTuple):
    """Bytes of keys and values that a decoder keeps for a text."""

    self_attention: int
    cross_attention: int

    @property
    def total(self) -> int:
        return self.self_attention + self.cross_attention


def cache(config: ModelConfig, length: int, n_kv_heads: int, n_bytes: int, n_source: int = 0) -> Cache:
    """What a decoder keeps after reading ``length`` tokens, had it ``n_kv_heads`` (Shazeer 2019, section 2.4).

    A key and a value of K numbers for each layer, key–value head and position: 2·L·G·K·T. A layer
    that sees a window needs no more than the window. The keys and values of ``n_source`` positions
    of an encoder are kept too; they do not grow while the decoder speaks.

    Raises:
        ValueError: an encoder reads a text once, and keeps nothing.
    """
    if config.kind == "encoder":
        raise ValueError("an encoder has no KV cache: it reads its text once")
    a_position = 2 * n_kv_heads * config.d_head * n_bytes
    windows = (config.window("decoder", layer) for layer in range(config.n_layers))
    kept = sum(min(length, window or length) for window in windows)
    crossed = config.n_layers * n_source if config.kind == "encoder_decoder" else 0
    return Cache(a_position * kept, a_position * crossed)
