"""The neurons that add most, where in the text they fire, and what they promote."""

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from viz_model.drawing import chart
from viz_model.drawing.digits import written
from viz_model.drawing.scene import Scene
from viz_model.explain import sums
from viz_model.explain.written import Part, behind
from viz_model.island import units
from viz_model.island.look import Look
from viz_model.island.page import Chooser, Offer
from viz_model.island.prose import Line
from viz_model.model import sites
from viz_model.texts.markdown import literal
from viz_model.topics.attribution import pushes
from viz_model.topics.attribution.asked import Asked, asked

MOST_NEURONS, MOST_TOKENS = 8, 16


class Strongest(NamedTuple):
    """The neurons that add most to what is asked, over all layers, and the ``chosen`` row of them.

    Attributes:
        layers, numbers, values: [N].
        acts: of the chosen one on each token, [T].
        tokens: those that are shown: the largest |value|, and the one that is asked about; by position.
    """

    layers: np.ndarray
    numbers: np.ndarray
    values: np.ndarray
    chosen: int
    acts: np.ndarray
    tokens: np.ndarray

    @property
    def options(self) -> list[str]:
        return [f"{layer}.{number}" for layer, number in zip(self.layers, self.numbers, strict=True)]

    @property
    def layer(self) -> int:
        return int(self.layers[self.chosen])

    @property
    def number(self) -> int:
        return int(self.numbers[self.chosen])

    @property
    def most(self) -> int:
        """The position at which the chosen one is farthest from 0."""
        return int(np.abs(self.acts).argmax())


def ranked(added: np.ndarray, most: int = MOST_NEURONS) -> tuple[np.ndarray, np.ndarray]:
    """Layer and number of the largest |value| of [L, F]; what is no number is none of them."""
    order = np.argsort(-np.abs(added), axis=None, kind="stable")[: min(most, int(np.isfinite(added).sum()))]
    layers, numbers = np.unravel_index(order, added.shape)
    return layers, numbers


def strongest(question: Asked) -> Strongest:
    """As long as nobody has chosen one of them, the chosen one is the first that helps."""
    trace, look = question.trace, question.look
    added = look.once(lambda _: sums.neurons(trace, question.decomposition, question.answer), "added")
    layers, numbers = ranked(added)
    values = added[layers, numbers]
    found = Strongest(layers, numbers, values, 0, values, numbers)
    helps, picked = next((n for n, value in enumerate(values) if value > 0), 0), look.options.get("neuron")
    found = found._replace(chosen=found.options.index(picked) if picked in found.options else helps)
    acts = trace[f"blocks.{found.layer}.ffn.act"][:, found.number].numpy()
    order = [look.token, *(int(n) for n in np.argsort(-np.abs(acts), kind="stable") if n != look.token)]
    return found._replace(acts=acts, tokens=np.sort(order[:MOST_TOKENS]))


def count(look: Look) -> int:
    """Of all layers together."""
    return sum(sites.n_neurons(look.config, look.trace.stack.side, layer) for layer in range(look.n_layers))


def _name(look: Look, option: str) -> str:
    layer, number = option.split(".")
    return str(look.words("neuron_name", layer=layer, number=number))


def facts(look: Look) -> dict[str, Any]:
    question = asked(look)
    found, names = strongest(question), question.keys("attn")
    return question.facts | {
        "name": _name(look, found.options[found.chosen]),
        "value": written(found.values[found.chosen], "+2"),
        "act": written(found.acts[look.token], "2"),
        "most": literal(names[found.most]),
        "most_act": written(found.acts[found.most], "2"),
        "n_neurons": f"{count(look):,}",
        "n_fires": f"{int((found.acts > 0).sum()):,}",
        "n_tokens": f"{len(found.acts):,}",
    }


def title(look: Look) -> Iterator[Line]:
    if count(look):
        yield look.title("neurons_title", **facts(look))
    else:
        yield look.text("neurons_none")


def choose(look: Look) -> Chooser:
    found, words = strongest(asked(look)), look.words
    options = {option: _name(look, option) for option in found.options}
    usual = found.options[found.chosen]
    return Chooser("neuron", options, words("neuron"), words("neuron_help"), usual, asks=True, is_list=True)


def draw(look: Look) -> Scene:
    """The neurons that add most; a click selects one."""
    found, words = strongest(asked(look)), look.words
    fill = ["ffn" if value > 0 else "negative" for value in found.values]
    picks = [{"neuron": option} for option in found.options]
    facts = {"said": [_name(look, option) for option in found.options]}
    bars = chart.Bars("", found.values, "ffn", "{{said}}\n{{value}}", "+2", facts=facts, fill=fill, picks=picks)
    scale = chart.axis(found.values, title=words("neurons_axis"), room=0.2)
    drawn = words("neurons_alt"), found.options, [bars], scale
    named = words("neuron")
    scene = chart.bars("attribution.neurons", *drawn, row=29, chosen=found.chosen, names_axis=named)
    return look.only_here(scene, layer=False, token=True)


def fires_title(look: Look) -> Iterator[Line]:
    yield Line(look.words("fires_title"))


def draw_fires(look: Look) -> Scene:
    """Where in the text the chosen one fires, the token that is asked about framed."""
    question = asked(look)
    found, names = strongest(question), question.keys("attn")
    values = found.acts[found.tokens]
    told = [f"{n}: {names[n]}" for n in found.tokens]
    fill = ["ffn" if value > 0 else "negative" for value in values]
    bars = chart.Bars("", values, "ffn", "{{said}}\n{{value}}", "3", False, {"said": told}, fill)
    scale = chart.axis(values, title=look.words("fires_axis"))
    alt, here = look.words("fires_alt", **facts(look)), int(np.flatnonzero(found.tokens == look.token)[0])
    shown = [names[n] for n in found.tokens]
    scene = chart.bars("attribution.fires", alt, shown, [bars], scale, row=24, most_name=14, chosen=here)
    return look.only_here(scene, layer=False, token=True)


def fires_part(look: Look) -> Iterator[Line]:
    if len(look) > MOST_TOKENS:
        yield look.note("reads_part", n=MOST_TOKENS, n_keys=len(look))


def writes_title(look: Look) -> Iterator[Line]:
    question = asked(look)
    if question.target is None:
        yield look.text("no_pushes")
    else:
        yield Line(look.words("writes_title", **question.facts))


def draw_pushes(look: Look) -> Scene:
    """What the chosen one says for and against."""
    return look.only_here(pushes.draw(look, "neuron", pushed(asked(look))), layer=False, token=True)


def pushed(question: Asked) -> np.ndarray:
    """What it adds to every logit, beyond the average: [V]."""
    found, trace = strongest(question), question.trace
    out = trace.stack.block(found.layer).ffn.down.weight.detach()[:, found.number]
    norm_behind = behind(trace, question.look.token, found.layer, "ffn")
    written = norm_behind.forward(float(found.acts[question.look.token]) * out)
    return question.pushes(written[None], Part("ffn", found.layer))[0]


def tell(look: Look) -> Iterator[Line]:
    yield look.text("neurons", **facts(look))
    yield look.source(f"blocks.{strongest(asked(look)).layer}.ffn.act")


def link(look: Look) -> Offer | None:
    """The way to the page of the chosen one."""
    found = strongest(asked(look))
    return units.link(look, found.layer, neuron=found.number)
