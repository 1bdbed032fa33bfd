"""The page of a model without cross-attention: what it has instead, and where to find one that has it."""

from collections.abc import Iterator
from typing import Any

from viz_model.checkpoints import registry
from viz_model.drawing.scene import Scene
from viz_model.island import query
from viz_model.island import quiz as asking
from viz_model.island.look import Look
from viz_model.island.page import Quiz
from viz_model.island.prose import Line
from viz_model.island.tabs import Table, Tabs, Worked
from viz_model.measures.heads import STRONGEST, largest
from viz_model.texts.markdown import literal
from viz_model.topics.cross_attention.row import row
from viz_model.topics.cross_attention.weights import exists

PLACE = "layer head token"


def tell(look: Look) -> Iterator[Line]:
    """Why there is none."""
    said = look.text(f"missing_{look.config.kind}", model=literal(look.trace.name or ""))
    yield said._replace(what="notice")


def title(look: Look) -> Iterator[Line]:
    found = look.once(lambda look: largest(look.every("attn.pattern"), look.visible.sum(-1)[:, None]), "most")
    names = {"token": look.token_named(), "strongest": look.token_named(look.by(PLACE, found.at))}
    yield look.title("instead", reading=look.claim_label(STRONGEST, found, PLACE, **names))


def draw(look: Look) -> Scene:
    """What the selected token reads of its own text."""
    return row(look, "cross_attention.instead", "instead_alt", PLACE, look.every("attn.pattern"), "attn")


def models(look: Look) -> Iterator[Line]:
    """Where to find one that has it."""
    yield look.title("models_title")
    fitting = {name: config for name in registry.models() if exists(config := registry.config_of(name))}
    others = sorted(fitting, key=lambda name: not fitting[name].transcribes)
    if others:
        links = (f"[{name}](cross_attention?model={name}&side=decoder&lang={look.t.language})" for name in others)
        yield Line(" · ".join(links))
    yield look.text("models_found" if others else "models_none")
    yield look.text("load")


def hand(look: Look) -> tuple[None, list[Worked], dict[str, Any]]:
    """What this model has instead, from one score to what is written."""
    row, config = look.trace.row(look.site("attn.pattern"), look.token, look.head), look.config
    seen = int(look.trace.mask(look.layer)[look.token].sum())
    numbers = query.by_hand(look.trace, look.layer, look.head, look.token, int(row.argmax()))
    caps = {"root_of": f"{config.root_of:g}", "cap": f"{config.score_cap or 0:g}"}
    return None, numbers, {"n_seen": seen, "d_head": config.d_head, **caps}


def numbers(look: Look) -> Table:
    site = look.site("attn.pattern")
    return (
        f"{look.trace.full_name(site)}[{look.head}]",
        look.trace.head(site, look.head).numpy(),
        look.labels,
        look.labels,
    )


TABS = Tabs(
    lambda look: [look.site("attn.pattern")], hand, lambda look: (), numbers,
    own=lambda look: ("no_cross_attention", {}),
)  # fmt: skip


def quiz(look: Look) -> Quiz | None:
    """Which token of its own text the selected one reads most, over the heads of the layer?"""
    shares = look.every("attn.pattern").mean(1)  # [L, T, T]
    shown = asking.spread(len(look))
    names = [f"{n}: {look.labels[n]}" for n in shown]
    known: dict[str, Any] = {"token": look.token_named(), "layer": look.layer_number, "n": look.n_heads}
    return asking.largest(look, "layer token", shares[..., shown], names, "percent", "guess_missing", **known)
