"""The stations that a token passes on its way through a model, and where a page stands among those one reads."""

from __future__ import annotations

from viz_model.app.page import Page
from viz_model.config import ModelConfig, Side
from viz_model.model import sites


def stations(config: ModelConfig, side: Side) -> frozenset[str]:
    """The pages of a stack's stations."""
    names = {site.name for _, site in sites.in_order(config)}
    position = ("position",) if names & {"embed.position", "attn.q_rotated", "attn.bias"} else ()
    source = ("cross_attention",) if len(config.sides) > 1 and side == "decoder" else ()
    tokens = () if config.reads_pictures else ("tokens",)
    return frozenset((*tokens, "embedding", *position, "attention", *source, "block", "next_token"))


def mark(page: Page, layer: object = None) -> str:
    """Where a page stands in the order of reading: of how many stations, and in which block; of others nothing.

    ``layer`` stands for the selected one where it is given.
    """
    config, side = page.lm.config, page.trace.stack.side
    passed = stations(config, side)
    if page.name not in passed:
        return ""
    order = [name for name in page.pages if name in passed]
    place = page.t("common.station", n=order.index(page.name) + 1, all=len(order))
    if page.name in ("attention", "cross_attention", "block"):
        last, now = config.depth(side) - 1, page.view.layer if layer is None else layer
        place += page.t("common.station_block", layer=now, last=last)
    return place
