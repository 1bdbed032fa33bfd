"""viz_model.model.sites: the registry describes what a run records, no more and no less."""

from __future__ import annotations

import pytest
import torch
from tiny_models import random_model, tiny_config
from torch import Tensor

import viz_model as vm
from viz_model.config import ModelConfig
from viz_model.model import sites
from viz_model.model.transformer import Transformer


class Listener:
    """A tap that only notes names."""

    def __init__(self, names: list[str], prefix: str = "") -> None:
        self.names, self.prefix = names, prefix

    def __call__(self, name: str, value: Tensor) -> Tensor:
        self.names.append(self.prefix + name)
        return value

    def at(self, prefix: str) -> Listener:
        return Listener(self.names, f"{self.prefix}{prefix}.")

    def changes(self, name: str) -> bool:
        return False


def test_every_site_has_the_shape_of_its_axes(lm: vm.LanguageModel) -> None:
    trace = lm.trace("Once upon a time")
    assert len(trace) > 3
    for name, site in sites.in_order(lm.config):
        assert tuple(trace[name].shape) == site.shape(len(trace)), name
        assert trace[name].isfinite().all() or name.endswith(("mask", "masked")), name


def test_recorded_sites_stand_in_the_order_of_the_run(config: ModelConfig, model: Transformer) -> None:
    heard: list[str] = []
    model(torch.tensor([[1, 2, 3]]), tap=Listener(heard))
    assert heard == [name for name, site in sites.in_order(config) if not site.derived]


def test_names_are_unique(config: ModelConfig) -> None:
    names = [name for name, _ in sites.in_order(config)]
    assert len(names) == len(set(names))


@pytest.mark.parametrize("scale_embedding", [True, False])
def test_the_formula_follows_the_config(scale_embedding: bool) -> None:
    config = tiny_config(scale_embedding=scale_embedding)
    assert ("sqrt" in sites.find("embed.token", config).formula) == scale_embedding
    model = random_model(config)
    seen: dict[str, Tensor] = {}

    class Keep(Listener):
        def __call__(self, name: str, value: Tensor) -> Tensor:
            seen.setdefault(name, value)
            return value

    model(torch.tensor([[5]]), tap=Keep([]))
    factor = config.d_model**0.5 if scale_embedding else 1.0
    torch.testing.assert_close(seen["embed.token"][0, 0], model.embedding.weight[5] * factor)


def test_derived_sites_say_so(config: ModelConfig) -> None:
    derived = {sites.split_name(name)[1] for name, site in sites.in_order(config) if site.derived}
    assert {"attn.scores", "attn.mask", "attn.masked", "attn.pattern", "attn.head_out", "probs"} <= derived


def test_rows_are_complete(config: ModelConfig) -> None:
    for name, site in sites.in_order(config):
        assert site.formula and site.label and site.role, name
        assert site.formula.count("{") == site.formula.count("}"), name


def test_the_place_of_the_norm_decides_its_place_in_the_order() -> None:
    def order(norm_at: str) -> list[str]:
        return [name for name, _ in sites.in_order(tiny_config(norm_at))]  # type: ignore[arg-type]

    pre, post = order("pre"), order("post")
    assert pre.index("blocks.0.attn.norm.out") < pre.index("blocks.0.attn.q")
    assert post.index("blocks.0.attn.norm.out") > post.index("blocks.0.attn.out")
    assert "final.norm.out" in pre
    assert "final.norm.out" not in post


def test_find_suggests(config: ModelConfig) -> None:
    with pytest.raises(KeyError, match=r"did you mean .*blocks\.0\.attn\.pattern"):
        sites.find("blocks.0.attn.patern", config)
    for wrong in ("blocks.7.attn.q", "blocks.x.attn.q", "blocks.", "", "zzz"):
        with pytest.raises(KeyError, match="no site"):
            sites.find(wrong, config)


def test_split_name() -> None:
    assert sites.split_name("blocks.12.attn.norm.out") == (12, "attn.norm.out")
    assert sites.split_name("final.norm.out") == (None, "final.norm.out")
