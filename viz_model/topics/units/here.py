"""What the unit does on the visitor's own sentence, which tokens it speaks for, and what is lost without it."""

from collections.abc import Iterator
from typing import Any

import numpy as np

from viz_model.claims import Claim, Verdict
from viz_model.drawing import chart, matrix
from viz_model.drawing.digits import written
from viz_model.drawing.scene import Scene
from viz_model.explain.sample import LossChange
from viz_model.explain.units import Removal
from viz_model.island.look import Look
from viz_model.island.prose import Line
from viz_model.measures.stream import part_of
from viz_model.texts.markdown import literal
from viz_model.topics.units.asked import asked, facts, kind

MOST_TOKENS, MOST_ROWS, TALL = 40, 16, 24.0
"""Tokens that have a bar, that have a row of a pattern, and pixels of such a row."""
CHANCE = 3
"""Standard errors within which a change may be due to which texts happened to be sampled."""


def held(look: Look, scene: Scene, *, token: bool = True) -> Scene:
    """A picture of one unit: for another it is asked for."""
    return look.only_here(scene, layer=True, head=asked(look).neuron is None, token=token)


def draw(look: Look) -> Scene:
    """The pattern of a head, or the value of a neuron at every token."""
    found, words = asked(look), look.words
    if found.neuron is not None:
        places = part_of(len(look), look.token, MOST_TOKENS)
        values = found.activity.numpy()[places.start : places.stop]
        series = [chart.Bars("", values, "ffn", "{{name}}\n{{value}}", "3")]
        scale = chart.axis(values, title=words("value_axis"), room=0.1)
        scene = chart.columns("units.here", words("here_alt_neuron"), [look.labels[n] for n in places], series, scale)
        return look.drawn(held(look, scene), ["ffn.act"])
    places = part_of(len(look), look.token, MOST_ROWS)
    values = found.activity.numpy()[places.start : places.stop, places.start : places.stop]
    names, row = [look.labels[n] for n in places], places.index(look.token)
    shown: Any = {
        "axes": (words("asks"), words("read")),
        "look": "share",
        "hidden": "0",
        "height": 120 + TALL * len(places),
    }
    seen = np.where(np.tril(np.ones_like(values)) > 0, values, np.nan)
    scene = matrix.scene("units.here", words("here_alt_head"), seen, names, names, frames=False, **shown)
    return look.drawn(held(look, matrix.framed(scene, row)), ["attn.pattern"])


def tell(look: Look) -> Iterator[Line]:
    known, of = facts(look), kind(look)
    if asked(look).neuron is None and look.trace.mask(look.layer)[look.token].sum() == 1:
        of = "alone"
    yield look.text("here_same" if known.get("is_same") else f"here_{of}", **known)
    yield look.source("attn.pattern" if asked(look).neuron is None else "ffn.act")


# What it writes


def draw_writes(look: Look) -> Scene | None:
    """The tokens that it pushes up most, then those that it pushes down most."""
    up, down = asked(look).writes(look.token)
    if not up:
        return None
    names, values = zip(*up, *reversed(down), strict=True)
    fill = ["positive" if value > 0 else "negative" for value in values]
    series = [chart.Bars("", np.array(values), "positive", "{{name}}\n{{value}}", "+2", fill=fill)]
    scale = chart.axis(np.array(values), title=look.words("writes_axis"), room=0.12)
    scene = chart.bars("units.writes", look.words("writes_alt"), names, series, scale, row=23, most_name=14)
    return look.drawn(held(look, scene))


def tell_writes(look: Look) -> Iterator[Line]:
    up, down = asked(look).writes(look.token)
    if up:
        ends = {"up": up[0][0], "down": down[0][0]}
        yield look.text(f"writes_{kind(look)}", **facts(look), **{name: literal(token) for name, token in ends.items()})
    else:
        yield look.text("writes_none")


# What is lost without it


REMOVED: Verdict[LossChange] = Verdict(
    "units.removed",
    Claim("worse", lambda change: change.mean > CHANCE * change.error),
    Claim("better", lambda change: change.mean < -CHANCE * change.error),
)
"""Of the change of the loss over a sample, in bits a token."""


def removal(look: Look) -> Removal:
    with look.turn():
        return asked(look).removed()


def draw_removed(look: Look) -> Scene | None:
    """How many bits more each token of the sentence costs without it."""
    if len(look) < 2:
        return None
    found, places = removal(look), [n for n in part_of(len(look), look.token, MOST_TOKENS) if n]
    change = (found.after - found.before)[[n - 1 for n in places]]
    fill = ["negative" if value < 0 else "positive" for value in change]
    series = [chart.Bars("", change, "positive", "{{name}}\n{{value}}", "+3", fill=fill)]
    scale = chart.axis(change, title=look.words("removed_axis"), room=0.1)
    names = [look.labels[n] for n in places]
    return look.drawn(held(look, chart.columns("units.removed", look.words("removed_alt"), names, series, scale)))


def tell_removed(look: Look) -> Iterator[Line]:
    known, found = facts(look), removal(look)
    yield look.text("removed_mean" if found.mean else "removed_zero", **known)
    if len(look) > 1:
        means = {name: written(float(getattr(found, name).mean()), "3") for name in ("before", "after")}
        change = found.after - found.before
        most = int(np.abs(change).argmax())
        costs = {"worst": look.code_name(most + 1), "worst_change": written(change[most], "+3")}
        yield look.text("removed_here", **known, **means, **costs)
    if found.change is not None:
        said = {"change": written(abs(found.change.mean), "4"), "error": written(found.change.error, "4")}
        said |= {"n_measured": str(found.n_texts), "signed": written(found.change.mean, "+4")}
        yield Line(REMOVED.says(look.t.language, found.change, **known, **said))
