"""Longer than any text of the training: the loss at every position, within the context and beyond it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional as F

import viz_model as vm
from viz_model.model.transformer import Transformer

TIMES = 4
"""Contexts that are read in one piece at the most."""
STORY = Path(__file__).parents[1] / "long_story.txt"
"""A story that was written for this page: no model was trained on it."""


class Losses(NamedTuple):
    """Nats for each of N tokens, at the position of the token before it.

    ``long`` [N] is the text read in one piece; ``pieces`` [N] are the same tokens read in windows no longer than
    the ``context``, each but the first with at least half a context before it.
    """

    long: np.ndarray
    pieces: np.ndarray
    context: int

    @property
    def beyond(self) -> tuple[float, float]:
        """The means over the tokens beyond the context: read in pieces, and in one piece."""
        return float(self.pieces[self.context :].mean()), float(self.long[self.context :].mean())


def reads(lm: vm.LanguageModel) -> bool:
    """Whether a decoder can be asked: its scheme has no table of positions that would end."""
    scheme = lm.model.stack("decoder").position
    return scheme.add(0, 1) is None or not list(scheme.parameters())


@torch.inference_mode()
def losses(lm: vm.LanguageModel, text: str) -> Losses:
    """The loss of a text by position, up to :data:`TIMES` times the context.

    Raises:
        ValueError: the text is not longer than the context.
    """
    context = lm.config.n_context
    ids = lm.tokenizer.encode(text)[: TIMES * context + 1]
    if len(ids) <= context + 1:
        raise ValueError(f"text: expected more than {context + 1} tokens, got {len(ids)}")
    model = longer(lm.model, len(ids))
    pieces = np.empty(len(ids) - 1, np.float32)
    for start in range(0, len(ids) - 1, context // 2):
        found = _nats(model, ids[start : start + context + 1])
        known = context // 2 if start else 0  # tokens with less before them were read by the window before
        pieces[start + known : start + len(found)] = found[known:]
    return Losses(_nats(model, ids).numpy(), pieces, context)


def longer(model: Transformer, n_context: int) -> Transformer:
    """The same weights in a model that reads so many positions."""
    found = Transformer(replace(model.config, n_context=max(n_context, model.config.n_context)))
    found.load_state_dict(model.state_dict())
    return found.eval()


def _nats(model: Transformer, ids: list[int]) -> Tensor:
    """−ln p of every token but the first, [T − 1]."""
    logits = model(torch.tensor([ids[:-1]]))[0]
    return F.cross_entropy(logits, torch.tensor(ids[1:]), reduction="none")
