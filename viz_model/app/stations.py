"""The stations that a token passes on its way through a model, and where a page stands among them."""

from __future__ import annotations

from viz_model.app.page import Page
from viz_model.config import ModelConfig, Side
from viz_model.model import sites


def stations(config: ModelConfig, side: Side) -> tuple[str, ...]:
    """The pages of a stack's stations, in the order in which values are made."""
    names = {site.name for _, site in sites.in_order(config)}
    before = ("position",) if "embed.position" in names else ()
    within = ("position",) if names & {"attn.q_rotated", "attn.bias"} and not before else ()
    source = ("cross_attention",) if len(config.sides) > 1 and side == "decoder" else ()
    return ("tokens", "embedding", *before, *within, "attention", *source, "block", "next_token")


def mark(page: Page) -> str:
    """Where a page stands: of how many stations, and in which block; nothing of a page that is none of them."""
    config, side = page.lm.config, page.trace.stack.side
    passed = stations(config, side)
    if page.name not in passed:
        return ""
    place = page.t("common.station", n=passed.index(page.name) + 1, all=len(passed))
    if page.name in ("attention", "cross_attention", "block"):
        place += page.t("common.station_block", layer=page.view.layer, last=config.depth(side) - 1)
    return place
