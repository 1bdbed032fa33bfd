"""ALiBi: every head subtracts its slope times the distance."""

import math
from collections.abc import Iterator
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from viz_model.claims import Claim, Verdict
from viz_model.drawing import chart
from viz_model.drawing.scene import Scene
from viz_model.drawing.tables import by
from viz_model.island import say
from viz_model.island.look import Look
from viz_model.island.prose import Line
from viz_model.island.tabs import Tabs
from viz_model.model import ops
from viz_model.topics.position import bias


def slopes(look: Look) -> np.ndarray:
    """[H] slopes: what each further token of distance takes from a score."""
    here, next_ = bias.bias_by_distance(look.trace, look.layers.start, np.array([0, -1])).T
    return np.asarray(here - next_)


def facts(look: Look) -> dict[str, Any]:
    found = look.once(slopes)
    steepest, flattest = float(found.max()), float(found.min())
    return {
        "head": look.head_number,
        "slope": by("head", found, "g6"),
        "factor": by("head", np.exp(-found), "4"),
        "power": by("head", np.log2(found), "g4"),
        "tenth": by("head", math.log(10) / found, "1"),
        "n_heads": len(found),
        "steepest": f"{steepest:.4g}",
        "flattest": f"{flattest:.4g}",
        "steep_factor": f"{math.exp(-10 * steepest):.3g}",
        "flat_factor": f"{math.exp(-10 * flattest):.3g}",
    }


lead = say.text("alibi_lead")
curves = partial(bias.curves, alt="alibi_curves_alt")


tell = say.text("alibi_see", facts)
slopes_title = say.title("alibi_slopes", facts)


def draw_slopes(look: Look) -> Scene:
    """A bar a head."""
    found = look.once(slopes)
    names = [f"{look.words('bias_head')} {head}" for head in range(len(found))]
    series = [chart.Bars("", found.astype(np.float32), "position", write="g4")]
    scale = chart.axis(found, title=look.words("bias_slope"))
    chosen = by("head", np.arange(len(found)))
    scene = chart.bars("position.slopes", look.words("alibi_slopes_alt"), names, series, scale, row=24, chosen=chosen)
    return look.drawn(scene)


class Reach(NamedTuple):
    """How far the heads with the steepest and the flattest slope look in a run, in tokens on average; each [L]."""

    steepest: np.ndarray
    flattest: np.ndarray


def reach(look: Look) -> Reach:
    """Over all rows of the two heads' patterns."""
    falls = look.once(slopes)
    away = ops.distances(len(look), len(look)).abs().numpy()
    far = (look.every("attn.pattern") * away).sum(-1).mean(-1)
    return Reach(far[:, falls.argmax()], far[:, falls.argmin()])


REACH: Verdict[Reach] = Verdict(
    "position.reach", Claim("nearer", lambda reach: np.round(reach.flattest, 1) > np.round(reach.steepest, 1))
)


def tell_slopes(look: Look) -> Iterator[Line]:
    found = look.once(reach)
    yield look.text("alibi_slopes", **facts(look))
    near, far = (look.by("layer", values, "1") for values in found)
    yield look.claim(REACH, found, "layer", near=near, far=far)


to_try = say.to_try("alibi_question", "alibi_answer", facts)
_said = say.text("alibi_formula", facts)


APART = Tabs(bias.formulas, lambda look: (None, bias.worked(look), {}), bias.code, bias.numbers, _said)
