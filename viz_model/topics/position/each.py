"""Each scheme on one sentence: what it adds to the scores of one query, with the weights of this model."""

import re
from collections.abc import Iterator
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
import torch

from viz_model.config import ConfigError, NoPosition, Position, variants
from viz_model.drawing import matrix
from viz_model.drawing.scene import Scene
from viz_model.drawing.tables import Among
from viz_model.island import say
from viz_model.island.look import Look
from viz_model.island.prose import Line
from viz_model.model.transformer import Transformer
from viz_model.runs.record import again
from viz_model.runs.trace import Trace
from viz_model.topics.position import schemes

MOST_WEIGHTS, MOST_KEYS = 20_000_000, 24
"""Weights of a model that is made anew for each scheme; keys that are drawn, the last ones of a longer text."""


def with_scheme(trace: Trace, scheme: Position, *, first: bool = False) -> Trace:
    """The same tokens, read by the same weights, with another scheme in every layer; ``first`` has the first one alone.

    What is trained of a scheme is as it is before any training.
    """
    config = replace(trace.config, position=scheme, positions=())
    if first:
        config = replace(config, n_layers=1, n_encoder_layers=1, windows=config.windows[:1], ffns=config.ffns[:1])
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        model = Transformer(config)
    weights = {name: weight for name, weight in trace.model.state_dict().items() if "position" not in name}
    model.load_state_dict(weights, strict=False)
    return again(trace, model.eval().requires_grad_(False))


class Adds(NamedTuple):
    """What each scheme adds to every score of the first block, [S, H, T, T], NaN where the mask hides.

    Attributes:
        schemes: in the order of the table below; those that this model's sizes do not allow are left out.
        is_untrained: of each whether it has numbers of its own that nobody has trained.
    """

    schemes: tuple[Position, ...]
    is_untrained: tuple[bool, ...]
    values: np.ndarray


def adds(look: Look) -> Adds | None:
    """None of a model that is too large to be made anew, or has layers without scores."""
    if not look.config.attends or sum(weight.numel() for weight in look.trace.model.parameters()) > MOST_WEIGHTS:
        return None
    return look.once(_adds)


def _adds(look: Look) -> Adds:
    own, plain = schemes.scheme_of(look.trace, 0), _scores(with_scheme(look.trace, NoPosition(), first=True))
    found: dict[Position, tuple[bool, np.ndarray]] = {}
    for kind in variants("position"):
        scheme: Any = own if isinstance(own, kind) else kind()
        try:
            run = look.trace if scheme == own and not look.trace.edits else with_scheme(look.trace, scheme, first=True)
        except ConfigError:
            continue
        is_own = run is look.trace
        is_trained = is_own or not schemes.scheme_facts(scheme, look.config).n_trained
        found[scheme] = not is_trained, _scores(run) - plain
    hidden = ~look.trace.mask(0).numpy()
    values = np.stack([values for _, values in found.values()])
    return Adds(
        tuple(found),
        tuple(is_untrained for is_untrained, _ in found.values()),
        np.where(hidden, np.float32(np.nan), values).astype(np.float32),
    )


def _scores(run: Trace) -> np.ndarray:
    """The scores of the first block with all that position adds to them: [H, T, T]."""
    scores = run["blocks.0.attn.scores"]
    return (scores + run["blocks.0.attn.bias"] if "blocks.0.attn.bias" in run else scores).numpy()


title = say.title("each", say.token)


def draw(look: Look) -> Scene | None:
    """A row a scheme, a column a key: what is added to the selected token's scores, on one scale."""
    if (found := adds(look)) is None:
        return None
    first = max(0, len(look) - MOST_KEYS)
    values = found.values[..., first:].transpose(1, 2, 0, 3)  # [H, T, S, K]
    top = np.nanmax(np.abs(found.values), axis=(0, 3))
    names = [
        re.split(r" ?[(（]", schemes.name(look, scheme))[0] + ("*" if is_untrained else "")
        for scheme, is_untrained in zip(found.schemes, found.is_untrained, strict=True)
    ]
    scene = matrix.scene(
        "position.each",
        look.words("each_alt"),
        look.by("head token", values),
        names,
        look.labels[first:],
        axes=("", look.common("axis_key")),
        top=look.by("head token", np.where(top > 0, top, 1.0).astype(np.float32)),
        frames=False,
        role="position",
        hidden=look.common("masked"),
    )
    return look.drawn(scene, ["blocks.0.attn.scores"], own=False)


def tell(look: Look) -> Iterator[Line]:
    """What stands in the picture, and which scheme changes the scores of this query most."""
    if (found := adds(look)) is None:
        yield look.note("each_large")
        return
    size = np.nanmax(np.abs(found.values), axis=-1).transpose(1, 2, 0)  # [H, T, S]
    names = [schemes.name(look, scheme) for scheme in found.schemes]
    most = look.by("head token", size.max(-1), "2")
    which = Among(names, look.by("head token", size.argmax(-1)))
    yield look.text("each", token=look.token_named(), head=look.head_number, which=which, most=most)
