"""An encoder–decoder whose stacks have their norms at places of their own, with weights as drawn."""

from collections.abc import Iterator, Mapping
from typing import NamedTuple

import torch
from torch.nn import functional as F

from viz_model.config import ModelConfig, NormAt, Side
from viz_model.drawing.digits import small
from viz_model.drawing.scene import Scene
from viz_model.island import say
from viz_model.island.look import Look
from viz_model.island.page import Chooser, Item
from viz_model.island.prose import Line
from viz_model.model.transformer import Transformer
from viz_model.runs.record import record
from viz_model.runs.trace import Trace
from viz_model.topics.norm_placement import depth, pull
from viz_model.topics.norm_placement.fresh import DRAWING
from viz_model.topics.norm_placement.places import NAMES
from viz_model.topics.norm_placement.pull import StreamGradients, stream_gradients
from viz_model.topics.norm_placement.readings import Readings, readings

PLACES: dict[str, tuple[NormAt, NormAt]] = {
    "pre_post": ("pre", "post"),
    "post_pre": ("post", "pre"),
    "pre_pre": ("pre", "pre"),
    "post_post": ("post", "post"),
}
"""Where the norm stands in the encoder, and where in the decoder."""

BLOCKS, WIDTH = 3, 64
MOST = 32
"""Tokens of the text that are read."""


class Mixed(NamedTuple):
    """One such model on a text, by stack.

    Attributes:
        again: the largest change that one more norm (γ = 1, β = 0) makes to the vectors that leave the decoder.
    """

    places: Mapping[Side, NormAt]
    readings: Mapping[Side, Readings]
    gradients: Mapping[Side, StreamGradients]
    again: float


def config(encoder: NormAt, decoder: NormAt, n_vocab: int) -> ModelConfig:
    """Small, but otherwise as the paper of 2017 has it."""
    return ModelConfig(
        kind="encoder_decoder",
        n_vocab=n_vocab,
        n_context=MOST,
        n_layers=BLOCKS,
        d_model=WIDTH,
        n_heads=4,
        d_ffn=4 * WIDTH,
        encoder_norm_at=encoder,
        norm_at=decoder,
        start_id=0,
    )


def mixed(trace: Trace, places: str) -> Mixed:
    """The text of a run as source and as target of a fresh model; ``places`` is one of :data:`PLACES`.

    The loss behind the gradients is that of the target's next tokens. Of two tokens at least.
    """
    config_ = config(*PLACES[places], trace.tokenizer.n_vocab)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        model = Transformer(config_).eval().requires_grad_(False)
    ids = trace.own_ids[:MOST]
    run = record(model, trace.tokenizer, ids, ids)
    out = run.at("decoder")[run.at("decoder").leaving]
    return Mixed(
        places={side: config_.norm_place(side) for side in config_.sides},
        readings={side: readings(run.at(side)) for side in config_.sides},
        gradients={side: stream_gradients(run.at(side)) for side in config_.sides},
        again=(F.layer_norm(out, out.shape[-1:]) - out).abs().max().item(),
    )


def _chosen(look: Look) -> str:
    asked = look.options.get("mixed", "")
    return asked if asked in PLACES else next(iter(PLACES))


def _made(look: Look) -> Mixed:
    """Of two tokens at least: the target of one has no loss."""
    places = _chosen(look)
    with DRAWING:
        return look.once(lambda look: mixed(look.trace, places), ("mixed", places))


def lead(look: Look) -> Iterator[Line]:
    yield look.text("part_mixed", blocks=BLOCKS, width=WIDTH, most=MOST)
    if len(look) < 2:
        yield Line(look.words("mixed_few"), "notice")


def choose(look: Look) -> Chooser:
    options = {places: look.words(f"mixed_{places}") for places in PLACES}
    return Chooser("mixed", options, look.words("mixed"), look.words("mixed_help"), asks=True)


def stack(side: Side) -> tuple[Item, Item, Item]:
    """One of the two stacks of the fresh model."""

    def view(look: Look) -> depth.DepthView:
        found = _made(look)
        return depth.DepthView({found.places[side]: found.readings[side]}, {}, WIDTH**0.5)

    def facts(look: Look) -> dict[str, str]:
        found = _made(look)
        at = found.places[side]
        return {**view(look).facts(at), **pull.facts(found.gradients[side]), "place": NAMES[at]}

    def draw(look: Look) -> Scene:
        scene = depth.lengths_of(look, view(look), f"norm_placement.mixed_{side}", look.words("length"))
        return look.drawn(scene, own=False)

    def tell(look: Look) -> Iterator[Line]:
        yield look.text("mixed_stack", **facts(look))
        yield look.text(f"mixed_{side}_{_made(look).places[side]}", **facts(look))

    return say.part(f"mixed_{side}", facts), draw, tell


again = say.text("mixed_again", lambda look: {"again": small(_made(look).again)})
