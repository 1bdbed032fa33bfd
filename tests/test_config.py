"""viz_model.config: what it accepts, what it refuses, and that it survives JSON."""

from __future__ import annotations

import dataclasses
import json
from typing import Any

import fresh_variants
import pytest
from fresh_feedforwards import SquaredConfig
from tiny_models import tiny_config

from viz_model.config import (
    DEFAULTED,
    LIMITS,
    ConfigError,
    Gated,
    LayerNorm,
    LinearScaling,
    ModelConfig,
    NoHead,
    Rope,
    Sinusoidal,
    T5Bias,
)


def test_json_round_trip(config: ModelConfig) -> None:
    changed = dataclasses.replace(
        config, norm=LayerNorm(eps=1e-3), position=Sinusoidal(base=500.0), tie_embeddings=False, scale_embedding=False
    )
    for each in (config, changed):
        assert ModelConfig.from_dict(json.loads(json.dumps(each.to_dict()))) == each


def test_variants_carry_their_type_and_parameters() -> None:
    plain = tiny_config().to_dict()
    assert plain["norm"] == {"type": "LayerNorm", "eps": 1e-5, "shift": True}
    assert plain["position"] == {"type": "Sinusoidal", "base": 10_000.0, "layout": "interleaved"}
    assert plain["ffn"] == {"type": "Dense", "activation": "relu", "bias": True}


@pytest.mark.parametrize("field", LIMITS)
def test_sizes_are_positive_whole_numbers(field: str) -> None:
    sizes: tuple[Any, ...] = (-1, 1.5, "8", None, True, *((0,) if field not in DEFAULTED else ()))
    for size in sizes:  # of some 0 asks for the usual size
        with pytest.raises(ConfigError, match=rf"^{field}: "):
            tiny_config(**{field: size})


@pytest.mark.parametrize("field", LIMITS)
def test_sizes_are_bounded(field: str) -> None:
    beyond: dict[str, Any] = {field: LIMITS[field] + 1}
    with pytest.raises(ConfigError, match=rf"^{field}: "):
        tiny_config(**beyond)


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("n_heads", 5),
        ("position", Sinusoidal(layout="mixed")),  # type: ignore[arg-type]
        ("norm", "LayerNorm"),
        ("norm", LayerNorm(eps=0.0)),
        ("norm", LayerNorm(eps=float("nan"))),
        ("norm", LayerNorm(eps="1e-5")),  # type: ignore[arg-type]
        ("norm_at", "before"),
        ("norm_at", ["pre"]),
        ("encoder_norm_at", "post"),
        ("encoder_norm_at", "both"),
        ("position", None),
        ("position", Sinusoidal(base=0.0)),
        ("position", Sinusoidal(base=float("inf"))),
        ("position", Sinusoidal(base="wide")),  # type: ignore[arg-type]
        ("ffn", LayerNorm()),
        ("kind", "seq2seq"),
        ("head", NoHead()),
        ("n_kv_heads", 2),
        ("windows", (4,)),
        ("windows", (4, -1)),
        ("windows", [4, 4]),
        ("start_id", 101),
        ("start_id", -1),
        ("n_segments", 2),
        ("position", Rope(base=float("nan"))),
        ("position", Rope(fraction=0.0)),
        ("position", Rope(pairing="thirds")),  # type: ignore[arg-type]
        ("position", Rope(scaling=LinearScaling(factor=-2.0))),
        ("position", T5Bias(buckets=6)),
        ("position", T5Bias(buckets=32, max_distance=8)),
        ("tie_embeddings", "yes"),
        ("scale_embedding", 1),
        ("n_context", 2**20 * 4),
    ],
)
def test_wrong_choices_name_their_field(field: str, value: Any) -> None:
    with pytest.raises(ConfigError, match=rf"^{field}: "):
        tiny_config(**{field: value})


def test_the_table_of_waves_is_bounded() -> None:
    with pytest.raises(ConfigError, match=r"^n_context: "):
        tiny_config(n_context=2**20, d_model=2**10, n_heads=1)


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"rope": True}, "rope"),
        ({"norm": {"type": "BatchNorm"}}, "norm"),
        ({"norm": {"eps": 1e-5}}, "norm"),
        ({"norm": {"type": "LayerNorm", "momentum": 0.1}}, "norm"),
        ({"norm": "LayerNorm"}, "norm"),
        ({"position": {"type": "Sinusoidal", "base": None}}, "position"),
        ({"ffn": {"type": "Dense", "activation": "cube"}}, "ffn"),
        ({"ffn": {"type": ["Dense"]}}, "ffn"),
    ],
)
def test_from_dict_names_the_field(change: dict[str, Any], field: str) -> None:
    with pytest.raises(ConfigError, match=rf"^{field}: ") as error:
        ModelConfig.from_dict({**tiny_config().to_dict(), **change})
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("field", ["n_vocab", "n_layers", "d_ffn"])
def test_from_dict_names_what_is_missing(field: str) -> None:
    plain = tiny_config().to_dict()
    del plain[field]
    with pytest.raises(ConfigError, match=rf"^{field}: missing"):
        ModelConfig.from_dict(plain)


@pytest.mark.parametrize("plain", [None, 3, "config", [1]])
def test_from_dict_wants_an_object(plain: Any) -> None:
    with pytest.raises(ConfigError):
        ModelConfig.from_dict(plain)


def test_a_gate_beside_a_feed_forward_needs_an_activation_with_a_name() -> None:
    with fresh_variants.installed(), pytest.raises(ConfigError, match=r"^d_layer_input: its gate opens as"):
        tiny_config("both", d_layer_input=6, ffn=SquaredConfig())
    assert tiny_config("both", d_layer_input=6, ffn=Gated()).d_layer_input == 6
