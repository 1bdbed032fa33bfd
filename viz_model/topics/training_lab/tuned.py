"""What a training on another text has changed."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from viz_model.claims import Claim, Verdict
from viz_model.drawing.plotted import curve
from viz_model.drawing.theme import ROLES
from viz_model.island.page import Plot, Words
from viz_model.topics.training_lab.curves import HELD_OUT, TRAIN, figure, top
from viz_model.training.tuning import TEXTS, Losses

CLEARLY = 0.05
"""Nats a token by which a text has become easier or harder for the same model."""
N_LEADERS = 3
"""Of the next token, the most probable ones that are shown: before, and after."""


class Change(NamedTuple):
    """The loss on one text before a model was trained on and after, in nats a token."""

    before: float
    after: float

    @property
    def fell(self) -> bool:
        return self.after < self.before - CLEARLY

    @property
    def rose(self) -> bool:
        return self.after > self.before + CLEARLY


class Tuned(NamedTuple):
    """The loss on the text that was trained on, on its end that was not, and on the stories."""

    own: Change
    end: Change
    stories: tuple[Change, ...]


def changes(losses: Sequence[Losses]) -> dict[str, Change]:
    """Of each of :data:`viz_model.training.tuning.TEXTS`."""
    return {name: Change(getattr(losses[0], name), getattr(losses[-1], name)) for name in TEXTS}


def summary(changes: Mapping[str, Change]) -> Tuned:
    """The same, sorted by what a text is."""
    return Tuned(changes["own"], changes["end"], (changes["en"], changes["zh"]))


def written(change: Change) -> dict[str, str]:
    """Both losses for prose."""
    return {"before": f"{change.before:.2f}", "after": f"{change.after:.2f}"}


def leaders(before: np.ndarray, after: np.ndarray, truth: int) -> list[int]:
    """The ids that are most probable [V] at one of both times, and the ``truth``; what is so afterwards comes first."""
    ids = {truth, *(int(id) for probs in (before, after) for id in np.argsort(probs)[-N_LEADERS:])}
    return sorted(ids, key=lambda id: -after[id])


TUNED: Verdict[Change] = Verdict(
    "training_lab.tuned", Claim("fell", lambda loss: loss.fell), Claim("rose", lambda loss: loss.rose)
)
"""What became of the loss on one text."""


LEARNED: Verdict[Tuned] = Verdict(
    "training_lab.learned",
    Claim("forgets", lambda texts: texts.own.fell and any(story.rose for story in texts.stories)),
    Claim("keeps", lambda texts: texts.own.fell and not any(story.rose for story in texts.stories)),
)
"""What was won, and what it cost."""

RECITED: Verdict[Tuned] = Verdict(
    "training_lab.recited",
    Claim("by_heart", lambda texts: texts.own.fell and texts.end.rose),
    Claim("carries_over", lambda texts: texts.own.fell and texts.end.fell),
)
"""Whether what was learned helps beyond the very words."""


def plot(steps: Sequence[int], losses: Mapping[str, Sequence[float]], n_steps: int, words: Words) -> Plot:
    """The loss [N] of each of several texts after ``steps`` [N]."""
    made = figure("tuned_axis", n_steps, words)
    looks = ((TRAIN, "solid"), (HELD_OUT, "dot"), (ROLES["value"], "dash"), (ROLES["ffn"], "longdash"))
    for (name, values), (hue, dash) in zip(losses.items(), looks, strict=True):
        curve(made, steps, values, words(f"text_{name}"), hue, dash=dash)
    made.update_yaxes(range=[0, top([*losses.values()], 1.0)])
    return Plot("training_lab.tuned_loss", made, words("tuned_alt"), own=False)
