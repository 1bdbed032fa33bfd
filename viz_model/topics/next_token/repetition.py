"""Where a text that is drawn token by token goes round in circles, and how sure the model is of what it repeats.

What stands in the text already tends to be more probable the second time, and often more so with every time: decoding
that always takes the most probable token seldom leaves such a circle (Holtzman et al. 2020, "The Curious Case of
Neural Text Degeneration", figure 4).
"""

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from viz_model.claims import Claim, Verdict
from viz_model.drawing import chart
from viz_model.drawing.digits import percent
from viz_model.drawing.scene import Items, Panel, Scene, Series
from viz_model.island.look import Look
from viz_model.island.prose import Line
from viz_model.runs.generation import Step
from viz_model.topics.next_token.drawn import before, steps

RUN = 4
"""Tokens that have to come again, one after the other, to be called a repetition."""
TIMES: dict[str, tuple[int, float]] = {"first": (1, 1), "second": (2, 2), "more": (3, math.inf)}
"""How often a run of tokens has stood in the text: least and most, by the name of the shade it gets."""
SHADES = {"first": ("token", 0.45), "second": ("output", 0.5), "more": ("output", 1.0)}

CIRCLES: Verdict[tuple[int, int]] = Verdict(
    "next_token.circles", Claim("most", lambda counts: counts[0] > 0.5 * counts[1])
)
"""Of how many drawn tokens end four that had stood in the text before, and how many there are."""

REPEATS: Verdict[tuple[float | None, ...]] = Verdict(
    "next_token.repeats",
    Claim(
        "rises",
        lambda means: (
            means[0] is not None
            and any(mean is not None for mean in means[1:])
            and all(mean is None or mean > means[0] for mean in means[1:])
        ),
    ),
)
"""Of the mean probability of tokens that were new, came a second time, and more often; None of no tokens."""


class Repetition(NamedTuple):
    """Of N drawn tokens: ``times`` [N], how often the :data:`RUN` tokens that end with each have stood in the text,
    this time included (the text before the first draw counts), and ``probs`` [N], what the model gave it.
    """

    times: np.ndarray
    probs: np.ndarray

    @property
    def n_repeated(self) -> int:
        return int((self.times > 1).sum())

    def among(self, least: int, most: float = math.inf) -> np.ndarray:
        """[N], bool: the tokens that ended their run for the ``least``-th to ``most``-th time."""
        return (self.times >= least) & (self.times <= most)

    @property
    def means(self) -> tuple[float | None, ...]:
        """The mean probability by how often it was: new, a second time, more; None of no tokens."""
        found = (self.probs[self.among(*times)] for times in TIMES.values())
        return tuple(float(probs.mean()) if len(probs) else None for probs in found)

    def facts(self) -> dict[str, str]:
        """For prose; a mean of no tokens is a dash."""
        means = zip(TIMES, self.means, strict=True)
        return {
            "n": str(len(self.times)),
            "n_repeated": str(self.n_repeated),
            "most": str(int(self.times.max(initial=1))),
            **{f"p_{name}": "–" if p is None else percent(p) for name, p in means},
        }


def repeated(read: Sequence[int], taken: Sequence[Step]) -> Repetition:
    """What is repeated among tokens drawn after the ids ``read``."""
    ids = [*read, *(step.token.id for step in taken)]
    own = np.array(times(ids)[len(read) :], dtype=int)
    return Repetition(own, np.array([step.probability for step in taken], dtype=float))


def times(ids: Sequence[int], run: int = RUN) -> list[int]:
    """For each token how often the ``run`` tokens that end with it have stood up to there; 1 where there are fewer."""
    seen: Counter[tuple[int, ...]] = Counter()
    found = []
    for end in range(1, len(ids) + 1):
        if end < run:
            found.append(1)
            continue
        ending = tuple(ids[end - run : end])
        seen[ending] += 1
        found.append(seen[ending])
    return found


def of_run(look: Look) -> Repetition:
    """What is repeated in the text drawn so far."""
    return repeated(before(look), steps(look))


def is_there(look: Look) -> bool:
    """Whether anything is."""
    return bool(of_run(look).n_repeated)


def title(look: Look) -> Iterator[Line]:
    found = of_run(look)
    counts = found.n_repeated, len(found.times)
    yield Line(CIRCLES.says(look.t.language, counts, **found.facts()), "part")


def tell(look: Look) -> Iterator[Line]:
    found = of_run(look)
    yield look.text("repeats", **found.facts())
    yield Line(REPEATS.says(look.t.language, found.means, **found.facts()))


def draw(look: Look) -> Scene:
    """A bar for each drawn token, as high as its probability, in the shade of how often its run has stood there."""
    found = of_run(look)
    words, n, labels = look.words, len(found.times), [step.token.label for step in steps(look)]
    x, y = chart.Axis(0.4, n + 0.6, words("repeats_draw")), chart.Axis(0, 1.03, words("repeats_p"), "%0")
    on, marks = chart.plot(x, y, 300)
    shades = [next(name for name, (least, most) in TIMES.items() if least <= time <= most) for time in found.times]
    said = [
        f"#{k} {label}\n{words('repeats_p')} {percent(float(p))}\n{words('repeats_time')} {time}"
        for k, (label, p, time) in enumerate(zip(labels, found.probs, found.times, strict=True), start=1)
    ]
    box: dict[str, Any] = {"x": on.at_x(np.arange(n) + 1 - 0.425), "width": on.wide(0.85 / (x.high - x.low), n)}
    box |= {"y": on.at_y(found.probs), "height": on.tall(found.probs)}
    fill, opacity = ([SHADES[name][k] for name in shades] for k in (0, 1))
    look_: dict[str, Any] = {"fill": fill, "opacity": opacity, "labels": said, "name": str(words("repeats_p"))}
    marks.append(Items(id="bars", **box, **look_))
    keys = [chart.bar_key(words(f"repeats_{name}"), *look) for name, look in SHADES.items() if name in shades]
    panel = Panel(id="repeats", marks=marks, height=300)
    series = [Series(str(words("repeats_p")), labels, found.probs)]
    scene = Scene(
        id="next_token.repeats", panels=[panel], title=words("repeats_alt"), keys=keys, series=series, own=False
    )
    return look.drawn(scene)
