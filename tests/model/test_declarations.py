"""What parts declare is what the forward pass does: weights, shapes, every cell, for every variant and fresh ones."""

import dataclasses
import itertools
from collections.abc import Iterator
from typing import Any

import fresh_variants
import pytest
import torch
from identities import check_cells
from tiny_models import (
    describe,
    language_model,
    mixed,
    mixed_norms,
    of_classes,
    of_pictures,
    of_strips,
    other_blocks,
    run_both,
    tiny_config,
    variants,
    without_a_part,
)

from viz_model import config
from viz_model.config import ModelConfig
from viz_model.model import sites
from viz_model.runs import notebook
from viz_model.runs.derivation import derive
from viz_model.runs.trace import Trace


def check_weights(config_: ModelConfig) -> None:
    """The declared weights are the model's parameters, each with its shape and none left out."""
    declared = {weight.name: weight.shape for _, site in sites.in_order(config_) for weight in site.weights}
    model = language_model(config_).model
    assert declared == {name: tuple(weight.shape) for name, weight in model.named_parameters()}


def check_code(trace: Trace) -> None:
    """The lines that reproduce a value print True, for the first and the last layer."""
    for layer in (0, 1):
        for snippet in notebook.snippets(trace, layer):
            found: list[bool] = []

            def same(made: torch.Tensor, name: str, found: list[bool] = found) -> None:
                expected = trace.whole[name]
                found.append(made.shape == expected.shape and torch.allclose(made, expected, atol=1e-4, rtol=1e-4))

            names = {"torch": torch, "trace": trace, "w": trace.model.get_parameter, "same": same}
            names["lm"] = dataclasses.make_dataclass("Loaded", ["model"])(trace.model)
            exec(snippet.code, names)
            assert found and all(found), snippet.code


def check_derivations(trace: Trace) -> None:
    numbers = torch.Generator().manual_seed(2)
    for name, site in sites.in_order(trace.config):
        cell = tuple(int(torch.randint(size, (), generator=numbers)) for size in site.length(trace.reader.length))
        derivation = derive(trace, name, cell)
        assert derivation.agrees, f"{derivation.cell}: {derivation.result} is not {derivation.value}"


def run(config_: ModelConfig) -> Trace:
    segments = [n % 2 for n in range(7)] if config_.n_segments else None
    return run_both(language_model(config_), segments=segments)


OTHERWISE = [*other_blocks(), *mixed(), *of_pictures(), *of_classes()]
EVERY = [*variants(), *without_a_part(), *mixed_norms(), *of_strips()]


def per_layer() -> list[ModelConfig]:
    """Models whose layers differ: in window, position scheme and feed-forward, one by one and together."""
    slow = config.Rope(base=500.0)
    ropes: dict[str, Any] = {"position": config.Rope(), "positions": (config.Rope(), slow)}
    ffns: dict[str, Any] = {"ffns": (config.Dense(), config.Gated())}
    return [
        tiny_config(**ropes),
        tiny_config("post", position=config.Rope(), positions=(slow, config.NoPosition())),
        tiny_config(**ffns),
        tiny_config(position=config.Alibi(), positions=(config.Rope(), config.T5Bias(buckets=8, max_distance=12))),
        tiny_config(position=config.T5Bias(buckets=8, max_distance=12), positions=(config.Rope(), config.Alibi())),
        tiny_config(kind="encoder_decoder", n_encoder_layers=3, start_id=0, windows=(3, 0), **ropes, **ffns),
    ]


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({"parallel": True, "norm_at": "post"}, "parallel"),
        ({"parallel": True, "kind": "encoder_decoder"}, "parallel"),
        ({"norm_at": "both", "kind": "encoder_decoder"}, "norm_at"),
        ({"encoder_norm_at": "branch", "kind": "encoder_decoder"}, "norm_at"),
        ({"qk_norm": True, "qk_norm_over": "heads"}, "qk_norm_over"),
        ({"qk_norm_over": "head of all"}, "qk_norm_over"),
    ],
)
def test_blocks_that_are_not_known_are_refused(changes: dict[str, Any], field: str) -> None:
    with pytest.raises(config.ConfigError, match=field):
        tiny_config(**changes)


def check(config_: ModelConfig) -> None:
    """Weights, cells, lines of code and derivations."""
    check_weights(config_)
    trace = run(config_)
    check_cells(trace)
    check_code(trace)
    check_derivations(trace)


@pytest.mark.parametrize("config_", EVERY, ids=describe)
def test_the_forward_pass_is_what_is_declared(config_: ModelConfig) -> None:
    check_weights(config_)
    check_cells(run(config_))


@pytest.mark.parametrize("config_", [*OTHERWISE, *per_layer()], ids=describe)
def test_blocks_and_layers_may_be_put_together_otherwise(config_: ModelConfig) -> None:
    check(config_)
    assert ModelConfig.from_dict(config_.to_dict()) == config_


@pytest.fixture
def fresh() -> Iterator[list[ModelConfig]]:
    with fresh_variants.installed():
        own = fresh_variants.fresh_configs(), fresh_variants.looking_configs()
        yield [*itertools.chain(*own)]


def test_a_fresh_variant_needs_no_more_than_its_declaration(fresh: list[ModelConfig]) -> None:
    for config_ in fresh:
        check(config_)
