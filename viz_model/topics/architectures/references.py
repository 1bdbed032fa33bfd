"""Sizes of well-known models, as published. None of them is loaded: they are something to compare with.

Each is a whole :class:`~viz_model.config.ModelConfig`, so that its parameters are counted by the
function that counts the loaded models, and the counts can be checked against the published ones.
"""

import dataclasses
from typing import NamedTuple

from viz_model.config import (
    Dense,
    Gated,
    LanguageHead,
    LayerNorm,
    Learned,
    MaskedHead,
    ModelConfig,
    RMSNorm,
    Rope,
    Sinusoidal,
    T5Bias,
)


class Reference(NamedTuple):
    """A published model. ``said`` is the number of parameters that its source states, as it states it."""

    name: str
    config: ModelConfig
    source: str
    said: str


# The paper shares one vocabulary of about 37,000 pairs between both languages and all three
# tables (sections 5.1 and 3.4). It states no longest text; waves have no end.
_PAPER = ModelConfig(
    kind="encoder_decoder",
    n_vocab=37_000,
    n_context=2**16,
    n_layers=6,
    d_model=512,
    n_heads=8,
    d_ffn=2048,
    norm=LayerNorm(),
    norm_at="post",
    position=Sinusoidal(),
    ffn=Dense(activation="relu"),
    attention_bias=False,
)

_BIG = dataclasses.replace(_PAPER, d_model=1024, n_heads=16, n_kv_heads=16, d_ffn=4096)

_GPT2 = ModelConfig(
    n_vocab=50_257,
    n_context=1024,
    n_layers=12,
    d_model=768,
    n_heads=12,
    d_ffn=3072,
    position=Learned(),
    ffn=Dense(activation="gelu_tanh"),
    scale_embedding=False,
)

# The feed-forward layer is 4 · D wide, tokens and normalization are GPT-2's (section 2.1). Every other layer's
# attention is locally banded, which changes no parameter.
_GPT3 = dataclasses.replace(
    _GPT2, n_context=2048, n_layers=96, d_model=12_288, n_heads=96, n_kv_heads=96, d_head=128, d_ffn=4 * 12_288
)

_BERT = ModelConfig(
    kind="encoder",
    n_vocab=30_522,
    n_context=512,
    n_layers=12,
    d_model=768,
    n_heads=12,
    d_ffn=3072,
    norm=LayerNorm(eps=1e-12),
    norm_at="post",
    position=Learned(),
    ffn=Dense(activation="gelu"),
    head=MaskedHead(),
    embedding_norm=True,
    n_segments=2,
    scale_embedding=False,
)

_T5 = ModelConfig(
    kind="encoder_decoder",
    n_vocab=32_128,
    n_context=512,
    n_layers=6,
    d_model=512,
    n_heads=8,
    d_ffn=2048,
    norm=RMSNorm(),
    position=T5Bias(),
    ffn=Dense(activation="relu", bias=False),
    head=LanguageHead(scale=True),
    attention_bias=False,
    scale_scores=False,
    scale_embedding=False,
)

_QWEN3 = ModelConfig(
    n_vocab=151_936,
    n_context=40_960,
    n_layers=40,
    d_model=5120,
    n_heads=40,
    n_kv_heads=8,
    d_head=128,
    d_ffn=17_408,
    norm=RMSNorm(),
    position=Rope(base=1e6),
    ffn=Gated(activation="silu"),
    attention_bias=False,
    qk_norm=True,
    tie_embeddings=False,
    scale_embedding=False,
)

REFERENCES = (
    Reference("Transformer base (2017)", _PAPER, "Vaswani et al. 2017, table 3", "65 M"),
    Reference("Transformer big (2017)", _BIG, "Vaswani et al. 2017, table 3", "213 M"),
    Reference("BERT base (2018)", _BERT, "Devlin et al. 2019, section 3; google-bert/bert-base-uncased", "110 M"),
    Reference("GPT-2 small (2019)", _GPT2, "openai-community/gpt2; Radford et al. 2019, table 2, say 117 M", "124 M"),
    Reference("GPT-3 (2020)", _GPT3, "Brown et al. 2020, table 2.1", "175 B"),
    Reference("T5 small (2020)", _T5, "Raffel et al. 2020, section 3.7; google-t5/t5-small", "60 M"),
    Reference("Qwen3-14B (2025)", _QWEN3, "Yang et al. 2025, table 1; Qwen/Qwen3-14B", "14.8 B"),
)
