"""Variants that the package does not have, one for each way in which a variant may differ: what somebody adds who
follows CONTRIBUTING. They stand in the unions of :mod:`viz_model.config` only while :func:`installed` holds."""

import contextlib
import functools
import itertools
import operator
import types
from collections.abc import Iterator
from typing import Any
from unittest import mock

import fresh_feedforwards
import fresh_inputs
import fresh_norms
import fresh_positions as schemes
from tiny_models import KINDS, PLACES, SHARED, tiny_config

from viz_model import config
from viz_model.config import ModelConfig, fields
from viz_model.model import feedforward, inputs, norms, positions


def _classes(module: types.ModuleType) -> dict[type, type[Any]]:
    """The modules of a file by their configs: ``Sized`` is what ``SizedConfig`` describes."""
    own = {name: one for name, one in vars(module).items() if getattr(one, "__module__", "") == module.__name__}
    return {one: own[name.removesuffix("Config")] for name, one in own.items() if name.endswith("Config")}


_FILES = {"position": schemes, "norm": fresh_norms, "ffn": fresh_feedforwards, "inputs": fresh_inputs}
FRESH = {choice: _classes(module) for choice, module in _FILES.items()}
"""For each choice of a config, what is added to it."""


@contextlib.contextmanager
def installed() -> Iterator[None]:
    """All of them are members of their unions, as if their lines stood in the package."""
    known = fields.hints(ModelConfig)
    unions = {field: functools.reduce(operator.or_, classes, known[field]) for field, classes in FRESH.items()}
    by_layer = {"positions": (unions["position"], ...), "ffns": (unions["ffn"], ...)}
    wider = {**known, **unions, **{field: types.GenericAlias(tuple, of) for field, of in by_layer.items()}}
    classes = {config_: module for added in FRESH.values() for config_, module in added.items()}
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
    for n, (kind, norm_at) in enumerate(itertools.product(KINDS, PLACES)):
        choices: dict[str, Any] = {"position": schemes.LogarithmicConfig(), "norm": fresh_norms.SquashConfig()}
        choices["ffn"] = fresh_feedforwards.NarrowConfig()
        alone = list(choices)[n % 3]
        changes = choices if n % 4 in (0, 3) else {alone: choices[alone]}
        changes |= {"qk_norm": norm_at == "pre", "embedding_norm": kind == "encoder"}
        found.append(tiny_config(norm_at, **_of_kind(kind), **changes))
    return [*found, *layered_configs()]


def _of_kind(kind: config.Kind) -> dict[str, Any]:
    own: dict[str, dict[str, Any]] = {"encoder": {"head": config.MaskedHead()}, "encoder_decoder": {"start_id": 0}}
    return {"kind": kind, **own.get(kind, {})}


def layered_configs() -> list[ModelConfig]:
    """Layers that differ, with heads that share their keys: keys that turn in their own way, gates of keys alone."""
    own, forgetting, grouped = schemes.ExtrapolatedConfig(), schemes.ForgettingConfig(), fresh_norms.GroupedConfig()
    deep, refined = fresh_feedforwards.DeepConfig(), fresh_feedforwards.RefinedConfig()
    narrow, experts = fresh_feedforwards.NarrowConfig(), config.Experts(n_experts=4, top_k=2, d_expert=10)

    def of(norm_at: config.NormAt, kind: config.Kind, first: Any, second: Any, ffns: Any, **more: Any) -> ModelConfig:
        more |= {"position": first, "positions": (first, second), "ffn": ffns[0], "ffns": ffns}
        return tiny_config(norm_at, norm=grouped, **_of_kind(kind), **SHARED, **more)

    return [
        of("pre", "decoder", own, forgetting, (refined, deep), qk_norm=True, windows=(3, 0)),
        of("post", "encoder", forgetting, config.Rope(), (deep, experts)),
        of("pre", "encoder_decoder", forgetting, own, (narrow, config.Dense()), qk_norm=True),
    ]


def looking_configs() -> list[ModelConfig]:
    """Feed-forwards that look at other positions or count them, score biases that read keys, rows of two factors."""
    shifted, spatial = fresh_feedforwards.ShiftedConfig(), fresh_feedforwards.SpatialConfig(context=32)
    gates = schemes.ForgettingConfig()
    factors = {"inputs": fresh_inputs.FactorizedConfig(), "tie_embeddings": False, "scale_embedding": False}
    pair, dense, rope = _of_kind("encoder_decoder"), config.Dense(), config.Rope()
    return [
        tiny_config("both", position=gates, ffn=spatial, ffns=(spatial, shifted), **_of_kind("encoder")),
        tiny_config(position=gates, ffn=spatial, ffns=(shifted, dense), n_encoder_layers=3, **pair, **SHARED),
        tiny_config("post", position=rope, ffn=shifted, ffns=(spatial, shifted), **pair, **factors),
        tiny_config(parallel=True, position=rope, positions=(gates, rope), ffn=spatial),
        tiny_config("branch", position=config.NoPosition(), ffn=shifted, ffns=(dense, shifted), score_cap=5.0),
    ]
