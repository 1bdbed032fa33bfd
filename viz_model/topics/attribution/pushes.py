"""Which tokens a vector pushes up, and which down: of a part, of a head, of a neuron."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from viz_model.drawing import chart
from viz_model.drawing.digits import written
from viz_model.drawing.scene import Scene
from viz_model.drawing.tables import Among
from viz_model.island.look import Look
from viz_model.island.page import Chooser
from viz_model.island.prose import Line
from viz_model.topics.attribution.asked import Asked, asked

MOST = 6
AXES = "layer head"
WAYS = (("up", "positive"), ("down", "negative"))


def extremes(pushed: np.ndarray) -> np.ndarray:
    """The tokens that are pushed up most, then those pushed down most, the strongest first: [..., V] -> [..., N]."""
    most = min(MOST, pushed.shape[-1] // 2)
    order = np.argsort(-pushed, axis=-1, kind="stable")
    return np.concatenate([order[..., :most], order[..., ::-1][..., :most]], -1)


def draw(look: Look, key: str, pushed: np.ndarray) -> Scene:
    """``pushed`` is what is added to every logit, [V], or [L, H, V] of all heads."""
    question, words = asked(look), look.words
    shown = extremes(pushed)
    amounts, ids = np.take_along_axis(pushed, shown, -1), np.unique(shown)
    at = np.searchsorted(ids, shown)
    labels = [question.plain(int(id)) for id in ids]
    names: Any = Among(labels, look.by(AXES, at)) if shown.ndim > 1 else [labels[n] for n in at]
    values: Any = look.by(AXES, amounts) if shown.ndim > 1 else amounts
    fill = [sign for _, sign in WAYS for _ in range(shown.shape[-1] // 2)]
    bars = chart.Bars("", values, "positive", "{{name}}\n{{value}}", "+2", fill=fill)
    scale = chart.axis(amounts, title=words("pushes_axis"), room=0.12)
    scene = chart.bars(f"attribution.pushes_{key}", words("pushes_alt"), names, [bars], scale, row=23, most_name=14)
    keys = [chart.line_key(words(f"pushes_{way}"), sign, "square") for way, sign in WAYS]
    return replace(scene, keys=keys)


# Of the selected part


def pushed(question: Asked) -> np.ndarray:
    """What the selected part adds to every logit, beyond the average: [V]."""
    part = question.answer.parts[question.chosen]
    if part.kind != "prior":
        return question.pushes(question.decomposition.written[question.chosen][None], part)[0]
    bias = question.trace.model.unembedding.bias.detach()
    return np.asarray(bias - bias.mean())


def choose(look: Look) -> Chooser:
    question = asked(look)
    answer, words = question.answer, look.words
    options = {
        answer.parts[row].site: f"{question.name(answer.parts[row])}   {written(answer.values[row], '+2')}"
        for row in answer.order()
    }
    usual = answer.parts[question.chosen].site
    return Chooser("part", options, words("part"), words("part_help"), usual, asks=True, is_list=True)


def draw_part(look: Look) -> Scene:
    return look.only_here(draw(look, "part", pushed(asked(look))), layer=False, token=True)


def tell_part(look: Look) -> Iterator[Line]:
    question = asked(look)
    if question.target is None:
        yield look.text("no_pushes")
        return
    added = pushed(question)
    yield look.text(
        "part",
        name=question.name(question.answer.parts[question.chosen]),
        target=question.facts["target"],
        push=written(added[question.target], "+2"),
        rank=written(rank(added, question.target), "whole"),
    )


def rank(pushed: np.ndarray, token: int) -> Any:
    """The place of a token among all by how far it is pushed up (1 is first): [..., V] -> [...]."""
    return 1 + (pushed > pushed[..., token, None]).sum(-1)
