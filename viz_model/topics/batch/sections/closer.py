"""Three parts of which one is open: the loss of the batch, norms over it, and the batch of a tutorial."""

from __future__ import annotations

from functools import partial

from viz_model.app import elements
from viz_model.topics.batch.choices import PART
from viz_model.topics.batch.sections import loss, norms, tutorial
from viz_model.topics.batch.sections.batched import Batched


def section(batched: Batched) -> None:
    drawn = {"loss": loss.section, "norms": norms.section, "tutorial": tutorial.section}
    elements.tabs(batched.page, PART, {name: partial(part, batched) for name, part in drawn.items()})
