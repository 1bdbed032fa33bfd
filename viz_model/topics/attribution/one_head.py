"""What a head reads from where, what of it arrives, and which tokens that speaks for."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
import torch

from viz_model.claims import Claim, Verdict
from viz_model.drawing import chart
from viz_model.drawing.digits import written
from viz_model.drawing.scene import Scene
from viz_model.drawing.tables import Among, Phrase
from viz_model.explain import sums
from viz_model.explain.written import Part
from viz_model.island.look import Look
from viz_model.island.page import Chooser
from viz_model.island.prose import Line
from viz_model.runs.measures import is_sink
from viz_model.topics.attribution import pushes
from viz_model.topics.attribution.asked import Asked, asked
from viz_model.topics.attribution.pushes import AXES

MOST_KEYS = 16
MOST_WORK = 1_000_000_000
"""Multiplications for what all heads push up: of larger models tables hold one layer."""

SINK: Verdict[tuple[Any, Any]] = Verdict("attribution.sink", Claim("sink", lambda key: is_sink(*key)))
"""Of the weight of the key that a head weighs most, and its share of what arrives."""


class Heads(NamedTuple):
    """What each head reads at the position, [L, H, …], over the Tk keys.

    ``weights``, ``shares`` of what arrives and ``values`` that are added [.., Tk]; ``most``, ``least`` and ``largest``
    the keys that give most, that give least for their weight, and whose value is the largest; ``length`` of what is
    written, ``value`` that it adds, and ``written`` itself [.., D].
    """

    weights: np.ndarray
    shares: np.ndarray
    values: np.ndarray
    most: np.ndarray
    least: np.ndarray
    largest: np.ndarray
    length: np.ndarray
    value: np.ndarray
    written: np.ndarray

    def of(self, name: str, at: np.ndarray) -> np.ndarray:
        """The values of one key of each head."""
        return np.take_along_axis(getattr(self, name), at[..., None], -1)[..., 0]

    @property
    def shown(self) -> np.ndarray:
        """Of many keys the largest by weight or share, in order: [L, H, K]."""
        order = np.argsort(-np.maximum(self.weights, self.shares), axis=-1, kind="stable")
        return np.sort(order[..., :MOST_KEYS], -1)


def _question(look: Look) -> Asked:
    """With tables of as many layers as are quickly made."""
    config, question = look.config, asked(look)
    is_large = config.n_vocab * config.d_model * config.n_heads * look.n_layers > MOST_WORK
    return replace(question, look=question.look.narrow) if is_large else question


def heads(question: Asked) -> Heads:
    at, layers = question.at, question.look.layers
    return question.look.once(lambda _: _heads(question), ("heads", at, layers))


def _heads(question: Asked) -> Heads:
    look, at, rows = question.look, question.at, []
    for layer in look.layers:
        for head in range(look.n_heads):
            part = Part("head", layer, head, at)
            found = sums.reads(look.trace, question.decomposition, question.answer, part)
            strongest, length = int(np.abs(found.values).argmax()), float(found.written.norm())
            keys = found.weights, found.shares, found.values, found.most, found.least, strongest
            rows.append((*keys, length, question.answer.of(part), found.written.numpy()))
    shape = len(look.layers), look.n_heads
    columns = [np.array(column) for column in zip(*rows, strict=True)]
    return Heads(*(column.reshape(*shape, *column.shape[1:]) for column in columns))


def _name(look: Look, at: str) -> Any:
    key = "part_head_cross" if at == "cross" else "part_head"
    return look.words(key, layer=look.layer_number, head=look.head_number)


def _facts(question: Asked) -> dict[str, Any]:
    found, look, at = heads(question), question.look, question.at
    keys = question.keys(at)

    def named(places: np.ndarray) -> Among:
        return Among(keys, look.by(AXES, places), is_code=True)

    return question.facts | {
        "name": _name(look, at),
        "value": look.by(AXES, found.value, "+2"),
        "most": named(found.most),
        "most_weight": look.by(AXES, found.of("weights", found.most), "share"),
        "most_share": look.by(AXES, found.of("shares", found.most), "share"),
        "length": look.by(AXES, found.length, "2"),
        "from": named(found.largest),
        "from_value": look.by(AXES, found.of("values", found.largest), "+2"),
        "sink": named(found.least),
        "weight": look.by(AXES, found.of("weights", found.least), "percent"),
        "share": look.by(AXES, found.of("shares", found.least), "percent"),
    }


def title(look: Look) -> Iterator[Line]:
    said = look.words("head_title", **_facts(_question(look)))
    assert isinstance(said, Phrase) and isinstance(said.template, str)
    yield Line(said._replace(template=said.template[0].upper() + said.template[1:]), "title")


def best(look: Look) -> Iterator[Line]:
    question = asked(look)
    part = max((part for part in question.answer.parts if part.kind == "head"), key=question.answer.of)
    yield look.note("best_head", name=question.name(part), value=written(question.answer.of(part), "+2"))


def choose(look: Look) -> Chooser | None:
    """Of a decoder that reads a source, which of a block's attentions is shown."""
    if not asked(look).crosses:
        return None
    return Chooser("at", {name: look.words(f"at_{name}") for name in ("attn", "cross")}, look.words("at"), asks=True)


def draw(look: Look) -> Scene:
    """The weight of each key beside its share of what arrives."""
    question, words = _question(look), look.words
    found, here = heads(question), question.look
    shown = found.shown
    places = here.by(AXES, shown)

    def table(name: str, write: str = "") -> Any:
        return here.by(AXES, np.take_along_axis(getattr(found, name), shown, -1), write)

    labels = question.keys(question.at)
    facts = {
        "key": Among([str(n) for n in range(len(labels))], places),
        "weight": table("weights", "3"),
        "arrives": table("shares", "3"),
        "adds": table("values", "+2"),
    }
    lines = (("weight", "weight"), ("share", "arrives"), ("value", "adds"))
    told = "\n".join(["{{key}}: {{name}}", *(f"{words(f'reads_{name}')} {{{{{of}}}}}" for name, of in lines)])
    series = [
        chart.Bars(words(f"reads_{name}"), table(of), role, told, outside=False, facts=facts)
        for name, of, role in (("weight", "weights", "pattern"), ("share", "shares", "value"))
    ]
    top = max(0.05, float(found.weights.max()), float(found.shares.max()))
    scale = chart.Axis(0, 1.05 * top, words("reads_axis"), "%0")
    scene = chart.bars(
        "attribution.reads", words("reads_alt"), Among(labels, places), series, scale, row=23, most_name=14,
        names_axis=words("reads_key"),
    )  # fmt: skip
    return look.only_here(scene, layer=False, token=True)


def source(look: Look) -> Iterator[Line]:
    question = _question(look)
    yield look.source(f"{question.at}.pattern", f"{question.at}.v")
    n = len(question.keys(question.at))
    if n > MOST_KEYS:
        yield look.note("reads_part", n=MOST_KEYS, n_keys=n)


def tell(look: Look) -> Iterator[Line]:
    question = _question(look)
    found, facts = heads(question), _facts(question)
    yield look.text("head", **facts)
    sinks = found.of("weights", found.least), found.of("shares", found.least)
    said = {name: facts[name] for name in ("sink", "weight", "share")}
    yield question.look.claim(SINK, sinks, AXES, "text", **said)


def draw_pushes(look: Look) -> Scene | None:
    """What each head says for and against."""
    question = _question(look)
    if question.target is None:
        return None
    pushed = question.look.once(lambda _: _pushed(question), ("pushed", question.at, question.look.layers))
    return look.only_here(pushes.draw(question.look, "head", pushed), layer=False, token=True)


def _pushed(question: Asked) -> np.ndarray:
    found = heads(question).written
    rows = [
        question.pushes(torch.from_numpy(written), Part("head", layer, 0, question.at))
        for layer, written in zip(question.look.layers, found, strict=True)
    ]
    return np.stack(rows)
