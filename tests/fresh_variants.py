"""Variants that the package does not have: what somebody adds who follows CONTRIBUTING, without touching the rest.

Score biases that read places, queries or keys, and queries and keys that change without turning; norms without mean or
deviation, number by number, by a measure of the vector or of its parts, or of all numbers together; feed-forwards of
another activation, of three layers, with a norm of their own, of a width of their own, without hidden neurons or
weights, and such as look at other positions; score biases that read ids; rows of tokens made of two factors. They stand
in the unions of :mod:`viz_model.config` only while :func:`installed` holds.
"""

from __future__ import annotations

import contextlib
import functools
import itertools
import operator
import types
from collections.abc import Iterator, Mapping
from typing import Any
from unittest import mock

from fresh_feedforwards import (
    Branches,
    BranchesConfig,
    Convolved,
    ConvolvedConfig,
    Cut,
    CutConfig,
    Deep,
    DeepConfig,
    Narrow,
    NarrowConfig,
    Parted,
    PartedConfig,
    Refined,
    RefinedConfig,
    Shifted,
    ShiftedConfig,
    Spatial,
    SpatialConfig,
    Squared,
    SquaredConfig,
    Twofold,
    TwofoldConfig,
)
from fresh_inputs import Factorised, FactorisedConfig
from fresh_norms import (
    Between,
    BetweenConfig,
    Grouped,
    GroupedConfig,
    Half,
    HalfConfig,
    Shares,
    SharesConfig,
    Sized,
    SizedConfig,
    Squash,
    SquashConfig,
)
from fresh_positions import (
    Asked,
    AskedConfig,
    Extrapolated,
    ExtrapolatedConfig,
    Fading,
    FadingConfig,
    Forgetting,
    ForgettingConfig,
    KeyToken,
    KeyTokenConfig,
    Leaving,
    LeavingConfig,
    Linked,
    LinkedConfig,
    Logarithmic,
    LogarithmicConfig,
    Near,
    NearConfig,
    Pull,
    PullConfig,
    SameToken,
    SameTokenConfig,
    Sunk,
    SunkConfig,
    Turned,
    TurnedConfig,
    Waning,
    WaningConfig,
)
from tiny_models import tiny_config

from viz_model import config
from viz_model.config import ModelConfig, fields
from viz_model.model import feedforward, inputs, norms, positions

POSITIONS: Mapping[type, type[positions.Position]] = {
    LogarithmicConfig: Logarithmic,
    AskedConfig: Asked,
    PullConfig: Pull,
    NearConfig: Near,
    LinkedConfig: Linked,
    FadingConfig: Fading,
    ExtrapolatedConfig: Extrapolated,
    TurnedConfig: Turned,
    SunkConfig: Sunk,
    LeavingConfig: Leaving,
    SameTokenConfig: SameToken,
    KeyTokenConfig: KeyToken,
    WaningConfig: Waning,
    ForgettingConfig: Forgetting,
}
NORMS: Mapping[type, type[norms.Norm]] = {
    SquashConfig: Squash,
    SizedConfig: Sized,
    GroupedConfig: Grouped,
    SharesConfig: Shares,
    HalfConfig: Half,
    BetweenConfig: Between,
}
FFNS: Mapping[type, type[feedforward.FeedForward]] = {
    SquaredConfig: Squared,
    DeepConfig: Deep,
    RefinedConfig: Refined,
    BranchesConfig: Branches,
    NarrowConfig: Narrow,
    PartedConfig: Parted,
    CutConfig: Cut,
    ShiftedConfig: Shifted,
    ConvolvedConfig: Convolved,
    SpatialConfig: Spatial,
    TwofoldConfig: Twofold,
}
INPUTS: Mapping[type, type[inputs.Input]] = {FactorisedConfig: Factorised}


@contextlib.contextmanager
def installed() -> Iterator[None]:
    """All of them are members of their unions, as if their lines stood in the package."""
    known = fields.hints(ModelConfig)
    unions = {
        field: functools.reduce(operator.or_, classes, known[field])
        for field, classes in {"position": POSITIONS, "norm": NORMS, "ffn": FFNS, "inputs": INPUTS}.items()
    }
    by_layer = {"positions": (unions["position"], ...), "ffns": (unions["ffn"], ...)}
    wider = {**known, **unions, **{field: types.GenericAlias(tuple, of) for field, of in by_layer.items()}}
    classes: dict[type, Any] = {**POSITIONS, **NORMS, **FFNS, **INPUTS}
    config.variants.cache_clear()
    with contextlib.ExitStack() as stack:
        stack.enter_context(mock.patch.dict(fields._HINTS, {ModelConfig: wider}))
        for module in (positions, norms, feedforward, inputs):
            kind = module.kind
            stack.enter_context(
                mock.patch.object(module, "kind", lambda choice, kind=kind: classes.get(type(choice)) or kind(choice))
            )
        yield
    config.variants.cache_clear()


def fresh_configs() -> list[ModelConfig]:
    """Configs with the variants, together and each alone, in every kind of model; only where they are installed."""
    found = []
    kinds: tuple[config.Kind, ...] = ("decoder", "encoder", "encoder_decoder")
    for n, (kind, norm_at) in enumerate(itertools.product(kinds, ("pre", "post"))):
        position, norm = (AskedConfig(), SizedConfig()) if n % 2 else (LogarithmicConfig(), SquashConfig())
        choices: dict[str, Any] = {"position": position, "norm": norm, "ffn": SquaredConfig()}
        alone = list(choices)[n % 3]
        for changes in (choices, {alone: choices[alone]}):
            found.append(
                tiny_config(
                    norm_at,  # type: ignore[arg-type]
                    kind=kind,
                    qk_norm=norm_at == "pre",
                    embedding_norm=kind == "encoder",
                    head=config.MaskedHead() if kind == "encoder" else config.LanguageHead(),
                    start_id=0 if kind == "encoder_decoder" else None,
                    **changes,
                )
            )
    return [*found, *_per_layer(), *_without_neurons(), *_of_parts(), *_of_sums(), *_of_keys_alone()]


def _without_neurons() -> list[ModelConfig]:
    """Feed-forwards without hidden neurons, and of a width of their own, in one layer or in all."""
    kinds: tuple[config.Kind, ...] = ("decoder", "encoder", "encoder_decoder", "decoder")
    branches, narrow = BranchesConfig(), NarrowConfig()
    ffns = (branches, branches), (branches, narrow), (narrow, branches), (narrow, narrow)
    return [
        tiny_config(
            "post" if n == 2 else "pre",
            kind=kind,
            position=NearConfig() if n % 3 == 0 else config.Sinusoidal(),
            norm=SharesConfig() if n < 2 else config.LayerNorm(),
            ffn=own[0],
            ffns=own,
            head=config.MaskedHead() if kind == "encoder" else config.LanguageHead(),
            start_id=0 if kind == "encoder_decoder" else None,
        )
        for n, (kind, own) in enumerate(zip(kinds, ffns, strict=True))
    ]


def _of_parts() -> list[ModelConfig]:
    """What reads a part of a vector, or a number beside its own; and a feed-forward without weights."""
    turned, half = TurnedConfig(), HalfConfig()
    return [
        tiny_config(position=turned, norm=half, ffn=PartedConfig(), qk_norm=True),
        tiny_config("post", kind="encoder", position=turned, norm=half, ffn=CutConfig(), head=config.MaskedHead()),
    ]


def _of_keys_alone() -> list[ModelConfig]:
    """Keys that are turned in another way than queries."""
    own = ExtrapolatedConfig()
    return [
        tiny_config(position=own, positions=(own, config.Rope()), n_heads=4, n_kv_heads=2, d_head=6),
        tiny_config("post", kind="encoder_decoder", position=own, qk_norm=True, start_id=0),
    ]


def _of_sums() -> list[ModelConfig]:
    """Values of heads and of keys alone, numbers that stand in several places, and neurons that are not all alike."""
    waning, forgetting = WaningConfig(), ForgettingConfig()
    ffns = TwofoldConfig(), config.Gated()
    return [
        tiny_config(
            "post", kind="encoder_decoder", position=forgetting, norm=BetweenConfig(), ffn=TwofoldConfig(), start_id=0
        ),
        tiny_config(
            position=waning,
            positions=(waning, forgetting),
            windows=(3, 0),
            norm=BetweenConfig(),
            ffn=ffns[0],
            ffns=ffns,
            qk_norm=True,
            n_heads=4,
            n_kv_heads=2,
            d_head=6,
        ),
    ]


def sinking_configs() -> list[ModelConfig]:
    """Softmax with a logit that no key has: of each layer, and of each query."""
    own = SunkConfig(layer=0), SunkConfig(layer=1)
    return [
        tiny_config("post", kind="encoder_decoder", position=LeavingConfig(), start_id=0),
        tiny_config(position=own[0], positions=own, n_heads=4, n_kv_heads=2, d_head=6),
        tiny_config(kind="encoder", position=LeavingConfig(), head=config.MaskedHead(), score_cap=5.0),
    ]


def looking_configs() -> list[ModelConfig]:
    """Feed-forwards that look at other positions or count them, score biases that read ids, rows of two factors."""
    shifted, convolved, spatial = ShiftedConfig(), ConvolvedConfig(), SpatialConfig(context=32)
    same, pulls = SameTokenConfig(), (KeyTokenConfig(layer=0), KeyTokenConfig(layer=1))
    masked: dict[str, Any] = {"kind": "encoder", "head": config.MaskedHead()}
    pair: dict[str, Any] = {"kind": "encoder_decoder", "start_id": 0}
    factors: dict[str, Any] = {"inputs": FactorisedConfig(), "tie_embeddings": False, "scale_embedding": False}
    shared: dict[str, Any] = {"n_heads": 4, "n_kv_heads": 2, "d_head": 6}
    return [
        tiny_config(position=same, ffn=shifted),
        tiny_config(
            "post", position=pulls[0], positions=pulls, ffn=convolved, ffns=(config.Gated(), convolved), **shared
        ),
        tiny_config("post", position=pulls[0], ffn=shifted, **masked),
        tiny_config("both", position=same, ffn=convolved, ffns=(convolved, shifted), n_segments=2, **masked),
        tiny_config(position=same, ffn=convolved, ffns=(shifted, config.Dense()), n_encoder_layers=3, **pair, **shared),
        tiny_config("post", position=config.Rope(), ffn=shifted, ffns=(spatial, convolved), **pair, **factors),
        tiny_config(parallel=True, position=config.Alibi(), positions=(same, config.Alibi()), ffn=spatial),
        tiny_config(position=config.NoPosition(), ffn=shifted, **factors),
        tiny_config("branch", position=pulls[0], ffn=config.Dense(), ffns=(config.Dense(), spatial), score_cap=5.0),
    ]


def _per_layer() -> list[ModelConfig]:
    """The same where layers differ, with heads that share their keys."""
    pull, fading = PullConfig(), FadingConfig()
    kinds: tuple[config.Kind, ...] = ("decoder", "encoder", "encoder_decoder")
    ffns = (RefinedConfig(), DeepConfig()), (DeepConfig(), config.Experts(n_experts=4, top_k=2, d_expert=10))
    return [
        tiny_config(
            ("pre", "post")[n % 2],
            kind=kind,
            position=schemes[0],
            positions=schemes,
            norm=GroupedConfig(),
            ffn=ffns[n % 2][0],
            ffns=ffns[n % 2],
            qk_norm=n != 1,
            n_heads=4,
            n_kv_heads=2,
            d_head=6,
            head=config.MaskedHead() if kind == "encoder" else config.LanguageHead(),
            start_id=0 if kind == "encoder_decoder" else None,
        )
        for n, (kind, schemes) in enumerate(zip(kinds, ((pull, fading), (fading, fading), (fading, pull)), strict=True))
    ]
