"""How counts grow with the length of a text, of what the package has and of what it does not."""

from __future__ import annotations

import math
from collections.abc import Iterator

import fresh_variants
import pytest
from fresh_positions import LinkedConfig
from tiny_models import describe, tiny_config, variants

from viz_model.config import ModelConfig
from viz_model.topics.cost import counted, tabs
from viz_model.topics.cost.growth import Growth
from viz_model.topics.cost.lengths import CurvesView, GeneratedView
from viz_model.topics.cost.shares import SharesView

PARTS = ("projections", "pairs", "ffn", "position", "total")


@pytest.fixture
def linked() -> Iterator[ModelConfig]:
    with fresh_variants.installed():
        yield tiny_config(position=LinkedConfig())


def check(config: ModelConfig) -> None:
    for side in config.sides:
        for part in PARTS:
            grown = counted.growth(config, side, part, n_source=3)
            assert [grown(n) for n in (0, 1, 5, 13)] == [
                getattr(counted.count(config, side, n, 3), part) for n in (0, 1, 5, 13)
            ]
        passes = counted.crossings(config, side).ffn
        for n, is_more in ((math.ceil(passes) + 1, True), (math.floor(passes) - 1, False)):
            if n > 0:
                made = counted.count(config, side, n)
                assert (made.pairs > made.ffn) == is_more
        assert counted.visible(config, side, 9) <= counted.count(config, side, 9).pairs


@pytest.mark.parametrize("config", variants()[::4], ids=describe)
def test_what_grows_is_what_is_counted(config: ModelConfig) -> None:
    check(config)


def test_so_it_is_of_what_the_package_does_not_have(linked: ModelConfig) -> None:
    for config in (linked, *fresh_variants.fresh_configs()[::3]):
        check(config)


def test_a_sum_within_each_pair_grows_with_the_third_power(linked: ModelConfig) -> None:
    found, h, k = counted.growth(linked, "decoder", "pairs"), linked.n_heads, linked.d_head
    assert [int(power) for power in found.powers] == [0, 0, 2 * h * k * 2, h * (2 * k + 1) * 2, 0]
    assert found.latex().startswith(f"{h * (2 * k + 1) * 2:,}".replace(",", "{,}") + r"\,T^3 + ")
    said = SharesView.of(linked, "decoder", 7).facts()
    assert 100 < float(said["pairs1"].replace(",", "")) < 1000 and said["pairs2"] != "10,000"
    assert not tabs.is_textbook(linked, "decoder") and tabs.is_textbook(tiny_config(), "decoder")
    view = CurvesView.of(linked, "decoder", 7)
    assert (view.visible <= view.parts["pairs"]).all()
    # Each step of saying a text, one by one: with a cache a query alone.
    generated, steps = counted.generating(linked, 9), range(1, 10)
    block = [counted.count(linked, "decoder", t) for t in steps]
    assert generated.uncached == sum(made.total - made.head for made in block) + 9 * block[0].head
    token = block[0].projections + block[0].ffn
    assert generated.cached == sum(token + made.pairs // t for t, made in zip(steps, block, strict=True)) + 9 * (
        block[0].head
    )
    assert GeneratedView.of(linked, 7).cached[0] == GeneratedView.of(linked, 7).uncached[0]


def test_lengths_that_are_passed() -> None:
    square, line = Growth(lambda n: 3 * n * n), Growth(lambda n: 12 * n)
    assert square.passes(line) == 4 and line.passes(square) == math.inf
    assert square.passes(Growth(lambda n: 0)) == 0 and square.alone(5) == 15
    cube = Growth(lambda n: n**3 + 2 * n)
    assert cube.passes(Growth(lambda n: 27 * n)) == pytest.approx(5)
    assert cube.added_up(4) == 1 + 8 + 27 + 64 + 2 * 10 and cube.masked(3, 2, two_way=False) == 3 + 6 + 6
    assert square.masked(3, 2, two_way=True) == 3 * (2 + 3 + 2) and square.masked(5, 0, two_way=True) == square(5)
