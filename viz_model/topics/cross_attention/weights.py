"""Target and source as two columns, joined by lines as thick as the weights of a head, or of all heads of the layer."""

from collections.abc import Iterator
from typing import Any

import numpy as np

from viz_model.config import ModelConfig
from viz_model.drawing.digits import percent
from viz_model.drawing.scene import Scene
from viz_model.drawing.tables import Among
from viz_model.island import lines, query
from viz_model.island.look import Look
from viz_model.island.page import Chooser
from viz_model.island.prose import Line
from viz_model.measures.heads import STRONGEST, Largest, largest

SHOWN = ("head", "average")
"""Whose weights: one head's, or the average over those of its layer."""
PAINTED = ("average", "head")
"""The same of what is read in a picture, where all heads together are shown first."""


def exists(config: ModelConfig) -> bool:
    """Whether a model has cross-attention at all."""
    return config.kind == "encoder_decoder"


def shown(look: Look) -> str:
    """Which of :data:`SHOWN` is chosen, or of :data:`PAINTED`."""
    name, options = _choice(look)
    return str(look.options.get(name, options[0]))


def _choice(look: Look) -> tuple[str, tuple[str, ...]]:
    return ("painted", PAINTED) if look.config.transcribes else ("shown", SHOWN)


def axes(look: Look) -> str:
    """What the weights that are shown are looked up by."""
    return "layer head" if shown(look) == "head" else "layer"


def place(look: Look) -> str:
    """The same of a row of them."""
    return f"{axes(look)} token"


def weights(look: Look) -> np.ndarray:
    """Those that are shown, by :func:`axes`: [L, H, Tq, Ts], or the averages [L, Tq, Ts]."""
    found = look.every("cross.pattern")
    return found if shown(look) == "head" else look.once(lambda _: found.mean(1), "averages")


def most(look: Look) -> Largest:
    """Of each row of the weights that are shown the source token of most weight."""
    found = weights(look)
    return look.once(lambda _: largest(found), f"most {shown(look)}")


def spread(rows: np.ndarray) -> np.ndarray:
    """The exponential of the entropy of rows [..., Ts]: over how many tokens, were they read alike, each spreads its
    weight. From 1 (one token) to Ts (all alike).
    """
    wide = rows.astype(np.float64)
    return np.asarray(np.exp(-(wide * np.log(np.where(wide > 0, wide, 1.0))).sum(-1)))


def facts(look: Look) -> dict[str, Any]:
    """For prose: the selected target token, what it reads, and the sizes of the model."""
    found, config = most(look), look.config
    source, is_code = query.key_names(look, "cross"), not config.reads_pictures
    language = look.trace.target_language
    return {
        "token": look.token_named(),
        "strongest": Among(source, look.by(place(look), found.at), is_code=is_code),
        "weight": look.by(place(look), found.weight, "percent"),
        "spread": look.by(place(look), spread(weights(look)), "1"),
        "even": percent(1 / len(source)),
        "n_source": len(source),
        "n_target": len(look),
        "start": look.common("start" if language is None else f"start_{language}"),
        "layer": look.layer_number,
        "head": look.head_number,
        "n_heads": config.n_heads,
        "n_layers": config.n_layers,
        "n_encoder_layers": config.n_encoder_layers,
    }


def lead(look: Look) -> Iterator[Line]:
    yield look.text("lead")
    if look.config.transcribes and "saved" not in look.options:  # a file has no field
        yield look.text("lead_field")


def choose(look: Look) -> Chooser:
    choice, names = _choice(look)
    options = {name: look.words(f"shown_{name}") for name in names}
    return Chooser(choice, options, look.words("shown"), look.words("shown_help"), asks=True)


def draw(look: Look) -> Scene:
    """The source on the left, the target on the right; a click selects a token of the target."""
    source = query.keys(look, "cross")
    scene = lines.draw(look, "cross_attention.lines", axes(look), weights(look), source, "window")
    return look.drawn(scene, ["cross.pattern"])


def tell(look: Look) -> Iterator[Line]:
    known = facts(look)
    yield Line(look.claim_label(STRONGEST, most(look), place(look), **known), "title")
    of = look.words(f"of_{shown(look)}", **known)
    yield look.claim(STRONGEST, most(look), place(look), "text", of=of, **known)
    yield look.text(f"see_{shown(look)}", **known)
