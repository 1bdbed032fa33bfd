"""viz_model.config: what it accepts, what it refuses, and that it survives JSON."""

import json
from typing import Any

import fresh_variants
import pytest
from fresh_feedforwards import DeepConfig
from tiny_models import candidates, tiny_config

from viz_model import config
from viz_model.config import LIMITS, ConfigError, LayerNorm, ModelConfig, Rope, Sinusoidal, T5Bias


def test_json_round_trip() -> None:
    with pytest.raises(ConfigError):
        ModelConfig.from_dict([1])  # type: ignore[arg-type]
    for each in candidates():
        assert ModelConfig.from_dict(json.loads(json.dumps(each.to_dict()))) == each


@pytest.mark.parametrize("field", LIMITS)
def test_sizes_are_bounded_positive_whole_numbers(field: str) -> None:
    sizes: list[Any] = [-1, 1.5, "8", None, True, LIMITS[field] + 1, *([0] if field not in config.DEFAULTED else [])]
    for size in sizes:  # of some 0 asks for the usual size
        with pytest.raises(ConfigError, match=rf"^{field}: "):
            tiny_config(**{field: size})


@pytest.mark.parametrize(
    ("field", "value"),
    [
        *(("n_heads", 5), ("n_kv_heads", 2), ("n_segments", 2), ("start_id", 101), ("windows", (4, -1))),
        *(("norm_at", "before"), ("encoder_norm_at", "post"), ("kind", "seq2seq"), ("head", config.NoHead())),
        *(("norm", wrong) for wrong in ("LayerNorm", LayerNorm(eps=0.0), LayerNorm(eps="1e-5"))),  # type: ignore[arg-type]
        *(("position", wrong) for wrong in (None, Sinusoidal(base=0.0), Rope(base=float("nan")), T5Bias(buckets=6))),
        ("position", Sinusoidal(layout="mixed")),  # type: ignore[arg-type]
        ("position", Rope(pairing="thirds")),  # type: ignore[arg-type]
        ("position", Rope(scaling=config.LinearScaling(factor=-2.0))),
        ("position", T5Bias(buckets=32, max_distance=8)),
        ("ffn", LayerNorm()),
        ("scale_embedding", 1),
        ("n_context", 2**20 * 4),  # a table of waves is bounded
    ],
)
def test_wrong_choices_name_their_field(field: str, value: Any) -> None:
    with pytest.raises(ConfigError, match=rf"^{field}: "):
        tiny_config(**{field: value})


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"rope": True}, "rope"),
        ({"n_vocab": ...}, "n_vocab: missing"),
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
    with pytest.raises(ConfigError, match=rf"^{field}") as error:
        plain = {**tiny_config().to_dict(), **change}
        ModelConfig.from_dict({name: value for name, value in plain.items() if value is not ...})
    assert "\n" not in str(error.value)


def test_a_gate_beside_a_feed_forward_needs_an_activation_with_a_name() -> None:
    with fresh_variants.installed(), pytest.raises(ConfigError, match=r"^d_layer_input: its gate opens as"):
        tiny_config("both", d_layer_input=6, ffn=DeepConfig())
    assert tiny_config("both", d_layer_input=6, ffn=config.Gated()).d_layer_input == 6
