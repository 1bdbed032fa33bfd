"""What a model says of a picture or a text: a number for each class, and where one of them comes from."""

from typing import NamedTuple

import numpy as np
import torch

from viz_model.drawing.digits import percent
from viz_model.drawing.scene.writing import short
from viz_model.runs.trace import Trace

MOST_LETTERS = 18
"""Of the name of a class; those of ImageNet are lists of synonyms."""


class Classes(NamedTuple):
    """The classes of a run: their names, logits and probabilities [Y], and their order, the most probable first.

    ``labels`` are the names, short enough to stand beside a bar.
    """

    names: tuple[str, ...]
    labels: tuple[str, ...]
    logits: np.ndarray
    probs: np.ndarray
    order: tuple[int, ...]

    @property
    def top(self) -> int:
        return self.order[0]

    @property
    def facts(self) -> dict[str, object]:
        """The two most probable ones, for prose."""
        first, second = self.order[:2]
        return {
            "class": self.names[first],
            "share": percent(float(self.probs[first])),
            "second": self.names[second],
            "second_share": percent(float(self.probs[second])),
        }


def classes(trace: Trace) -> Classes:
    logits, probs = trace["class.logits"], trace["class.probs"]
    order = logits.argsort(descending=True).tolist()
    names = trace.config.classes
    labels = tuple(short(name, MOST_LETTERS) for name in names)
    return Classes(names, labels, logits.numpy(), probs.numpy(), tuple(order))


class Depth(NamedTuple):
    """What the head says of [CLS], the first position, as it stands after each block, through the last norm.

    ``probs`` are [L + 1, Y].
    """

    sites: tuple[str, ...]
    probs: np.ndarray


@torch.inference_mode()
def by_depth(trace: Trace) -> Depth:
    """The stream at [CLS] is read before the first block, and after each (nostalgebraist 2020)."""
    stack, head = trace.stack, trace.model.head
    sites = ("embed.out", *(f"blocks.{layer}.resid.out" for layer in range(trace.n_layers)))
    found = []
    for site in sites:
        x = trace.row(site, 0)[None, None]
        read = x if stack.final_norm is None else stack.final_norm(x)
        found.append(head(read)[0].softmax(-1).numpy())
    return Depth(sites, np.stack(found))
