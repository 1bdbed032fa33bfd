"""What a model is: sizes, flags, and the choice made at each place where Transformers differ.

A variant is a small frozen type that carries its own parameters, so that a config can never hold
a setting that belongs to another variant. Each stands in one file with its relatives and their union, under the name
that the file of its class has in :mod:`viz_model.model`. This package knows nothing of torch: it validates, and
that is all it does.
"""

from viz_model.config.feedforward import Activation, Dense, Experts, FeedForward, FeedForwardScheme, Gated, hidden_width
from viz_model.config.fields import check_fields
from viz_model.config.heads import ClassHead, Head, LanguageHead, MaskedHead, NoHead
from viz_model.config.inputs import Input, Patches, Tokens
from viz_model.config.limits import LIMITS
from viz_model.config.mixers import Attending, DeltaNet, Latent, Mixer, ShortConv
from viz_model.config.model import DEFAULTED, Kind, Layer, ModelConfig, NormAt, Side, variants
from viz_model.config.norms import LayerNorm, NoNorm, Norm, NormScheme, RMSNorm
from viz_model.config.positions import (
    ActsOn,
    Alibi,
    Learned,
    LinearScaling,
    Llama3Scaling,
    LongScaling,
    NoPosition,
    Position,
    PositionScheme,
    RelativeKey,
    Rope,
    RopeScaling,
    Sinusoidal,
    T5Bias,
    YarnScaling,
)
from viz_model.config.variant import ConfigError, Variant

__all__ = [
    "DEFAULTED",
    "LIMITS",
    "Activation",
    "ActsOn",
    "Alibi",
    "Attending",
    "ClassHead",
    "ConfigError",
    "DeltaNet",
    "Dense",
    "Experts",
    "FeedForward",
    "FeedForwardScheme",
    "Gated",
    "Head",
    "Input",
    "Kind",
    "LanguageHead",
    "Latent",
    "Layer",
    "LayerNorm",
    "Learned",
    "LinearScaling",
    "Llama3Scaling",
    "LongScaling",
    "MaskedHead",
    "Mixer",
    "ModelConfig",
    "NoHead",
    "NoNorm",
    "NoPosition",
    "Norm",
    "NormAt",
    "NormScheme",
    "Patches",
    "Position",
    "PositionScheme",
    "RMSNorm",
    "RelativeKey",
    "Rope",
    "RopeScaling",
    "ShortConv",
    "Side",
    "Sinusoidal",
    "T5Bias",
    "Tokens",
    "Variant",
    "YarnScaling",
    "check_fields",
    "hidden_width",
    "variants",
]
