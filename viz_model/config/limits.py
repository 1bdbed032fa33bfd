"""Bounds that turn a damaged or hostile config into one line instead of an exhausted machine."""

LIMITS = {
    "n_vocab": 2**20,
    "n_context": 2**20,
    "n_layers": 512,
    "n_encoder_layers": 512,
    "d_model": 2**16,
    "n_heads": 2**10,
    "n_kv_heads": 2**10,
    "d_head": 2**12,
    "d_ffn": 2**18,
}
