"""What a card says of a model's sizes, of every sort of feed-forward."""

from __future__ import annotations

import fresh_feedforwards
import fresh_variants
import pytest
from tiny_models import EXPERTS, tiny_config

from viz_model import config
from viz_model.training import card


@pytest.mark.parametrize(
    ("ffns", "told"),
    [
        ((config.Dense(), config.Dense()), "40, relu"),
        ((config.Dense(activation="gelu"), config.Gated()), "40, gelu, or 40, silu, gated"),
        ((EXPERTS[0], config.Dense()), "2 of 4 experts of 10, relu, or 40, relu"),
    ],
)
def test_feed_forwards_of_all_layers(ffns: tuple[config.FeedForward, config.FeedForward], told: str) -> None:
    assert f"| feed-forward | {told} |" in card.sizes_of(tiny_config(ffns=ffns))


def test_one_that_the_package_does_not_have_is_called_by_its_type() -> None:
    with fresh_variants.installed():
        said = card.sizes_of(tiny_config(ffn=fresh_feedforwards.DeepConfig(), norm=config.RMSNorm()))
    assert "| feed-forward | 40, DeepConfig |" in said and "RMSNorm" in said
