"""Classifiers of texts as config files describe them: whose head says which one of some classes a text belongs to."""

from __future__ import annotations

from collections.abc import Collection
from typing import Literal

from viz_model.checkpoints.families.attributes import Attributes
from viz_model.config import ClassHead


def head(a: Attributes, tensors: Collection[str], activation: Literal["tanh", "relu"]) -> ClassHead | None:
    """The head of such a file, with the activation of the layer in front; None where it has no such head."""
    labels = _labels(a, tensors)
    return ClassHead(labels=labels, activation=activation) if labels else None


def _labels(a: Attributes, tensors: Collection[str]) -> tuple[str, ...]:
    """What the classes are called; none where the file has no such head.

    A single number is no class, and several answers at once are no choice among classes: such heads, and those that
    speak of tokens or spans, are left out.
    """
    names = a.words("architectures") or []
    classifies = any(name.endswith("ForSequenceClassification") for name in names)
    if not classifies or not any(name.startswith("classifier.") for name in tensors):
        return ()
    if a.plain.get("problem_type") not in (None, "single_label_classification"):
        return ()
    found = a.by_number("id2label") or tuple(f"LABEL_{n}" for n in range(a.size("num_labels", 2)))
    return found if len(found) > 1 else ()
