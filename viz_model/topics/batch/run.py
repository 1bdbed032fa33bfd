"""Several sentences through a model as one tensor, and each of them alone."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor
from torch.nn.utils.rnn import pad_sequence

import viz_model as vm
from viz_model.config import Side
from viz_model.model.transformer import Transformer
from viz_model.runs.recorder import recorder
from viz_model.runs.trace import Trace
from viz_model.training.batches import IGNORED, Batch

MOST_TOKENS = 24
"""Tokens of a sentence in the batch; of a longer one the first."""
PADDING = 0
"""The id that fills up short rows, as in training. Nobody looks at it, so any other would do."""


class Row(NamedTuple):
    """A sentence of the batch.

    Attributes:
        run: the sentence alone.
        answers: the token asked for at each position of the output, IGNORED where none is. None where the model
            predicts no tokens.
        hidden: where a token was hidden from an encoder, to be asked for.
    """

    run: Trace
    answers: tuple[int, ...] | None
    hidden: int | None = None

    @property
    def side(self) -> Side:
        """The stack that predicts."""
        return self.run.config.sides[-1]

    def ids(self, side: Side) -> tuple[int, ...]:
        """What a stack reads."""
        return self.run.at(side).own_ids

    def output(self) -> Tensor:
        """Logits [T, V], or the last vectors [T, D] of a model without a head."""
        seen = self.run.at(self.side)
        return seen["logits"] if self.run.config.has_logits else seen[seen.leaving]


def row(lm: vm.LanguageModel, text: str, target: str | None = None, to: str | None = None) -> Row:
    """Run a sentence alone; what is asked of it is what the model is trained on.

    A decoder is asked for each next token, an encoder for one that is hidden from it: the middle one of the text.

    Raises:
        ValueError: the model cannot read this text.
    """
    run = lm.trace(text, target, max_tokens=MOST_TOKENS, target_language=to)
    if not lm.config.has_logits:
        return Row(run, None)
    if lm.config.kind != "encoder":
        ids = run.at("decoder").own_ids
        return Row(run, (*ids[1:], IGNORED))
    mask = lm.tokenizer.mask_id
    if mask is None:
        return Row(run, None)
    places = [n for n, id in enumerate(run.ids) if id != mask and id not in lm.tokenizer.controls]
    hidden = places[len(places) // 2] if places else None
    answers = tuple(id if n == hidden else IGNORED for n, id in enumerate(run.ids))
    ids = tuple(mask if n == hidden else id for n, id in enumerate(run.ids))
    return Row(lm.trace(ids=ids), answers, hidden)


def collate(rows: Sequence[Row]) -> Batch:
    """Rows of unequal length as the tensors of one step of training: filled up at their ends."""

    def table(ids: Sequence[Sequence[int]], fill: int = PADDING) -> Tensor:
        return pad_sequence([torch.tensor(row) for row in ids], batch_first=True, padding_value=fill)

    first = rows[0].run.config.sides[0]
    read = [row.ids(first) for row in rows]
    two = rows[0].run.target_ids is not None
    asked = [row.answers or (IGNORED,) * len(row.ids(row.side)) for row in rows]
    return Batch(
        ids=table(read),
        answers=table(asked, IGNORED),
        target_ids=table([row.ids("decoder") for row in rows]) if two else None,
        padding=table([[0] * len(ids) for ids in read], 1).bool(),
    )


class Together(NamedTuple):
    """A batch as it ran.

    Attributes:
        ids, padding: [B, T] what the model read first (of an encoder–decoder its encoder), and where it was filled up.
        target_ids, beyond: [B, Tq] the same of the decoder of an encoder–decoder, which is also its output's.
        shape: of the output: (B, T, V), or (B, T, D) without a head.
        gaps: [B] max |in the batch − alone| of each row's output.
        open_gaps: [B] the same where the padding is not hidden.
        largest: max |alone|.
        losses: [B, T] nats where a token is asked for, NaN elsewhere; None where the model predicts no tokens.
        padded_losses: [B, T] nats of the padding's id where a row has ended, NaN elsewhere.
    """

    ids: np.ndarray
    padding: np.ndarray
    target_ids: np.ndarray | None
    beyond: np.ndarray
    shape: tuple[int, int, int]
    gaps: np.ndarray
    open_gaps: np.ndarray
    largest: float
    losses: np.ndarray | None
    padded_losses: np.ndarray | None

    @property
    def n_padding(self) -> int:
        """Positions that a model reads and nobody wrote, of all its stacks."""
        return int(self.padding.sum()) + (0 if self.target_ids is None else int(self.beyond.sum()))

    @property
    def loss(self) -> float | None:
        """Mean over the tokens asked for; None where none is."""
        return _mean(self.losses)

    @property
    def counted(self) -> float | None:
        """The same with padding counted as if its id were the answer."""
        if self.losses is None or self.padded_losses is None:
            return None
        return _mean(np.stack([self.losses, self.padded_losses]))


def _mean(losses: np.ndarray | None) -> float | None:
    if losses is None or np.isnan(losses).all():
        return None
    return float(np.nanmean(losses))


@torch.inference_mode()
def together(model: Transformer, rows: Sequence[Row]) -> Together:
    """Run the rows as one tensor, as training does: the padding is hidden from everybody."""
    batch = collate(rows)
    through = model if model.config.has_logits else model.vectors  # a class is said of a text, not of a position
    output = through(batch.ids, batch.target_ids, padding=batch.padding)
    seen = through(batch.ids, batch.target_ids)
    alone = [row.output() for row in rows]
    gaps, open_gaps = (
        np.array([(made[b, : len(own)] - own).abs().max().item() for b, own in enumerate(alone)])
        for made in (output, seen)
    )
    lengths = torch.tensor([len(own) for own in alone])
    beyond = torch.arange(output.shape[1]) >= lengths[:, None]
    losses = padded_losses = None
    if all(row.answers is not None for row in rows):
        nats = -output.log_softmax(-1)
        asked = batch.answers != IGNORED
        losses = _at(nats, batch.answers.clamp(min=0), asked)
        padded_losses = _at(nats, torch.full_like(batch.answers, PADDING), beyond)
    return Together(
        ids=batch.ids.numpy(),
        padding=_known(batch.padding),
        target_ids=None if batch.target_ids is None else batch.target_ids.numpy(),
        beyond=beyond.numpy(),
        shape=(output.shape[0], output.shape[1], output.shape[2]),
        gaps=gaps,
        open_gaps=open_gaps,
        largest=max(own.abs().max().item() for own in alone),
        losses=losses,
        padded_losses=padded_losses,
    )


def _at(nats: Tensor, ids: Tensor, where: Tensor) -> np.ndarray:
    """[B, T, V] at ids [B, T]; NaN where not ``where``."""
    found = nats.gather(-1, ids[..., None])[..., 0]
    return found.masked_fill(~where, torch.nan).numpy()


def _known(tensor: Tensor | None) -> np.ndarray:
    assert tensor is not None
    found: np.ndarray = tensor.numpy()
    return found


@torch.inference_mode()
def padded_vectors(model: Transformer, rows: Sequence[Row], side: Side, name: str) -> Tensor:
    """What stands at the padded places of a stack, [N, D], under a full name, when the rows run as one tensor."""
    batch, tap = collate(rows), recorder(model.config, kept=frozenset({name}))
    model.vectors(batch.ids, batch.target_ids, padding=batch.padding, tap=tap)
    lengths = torch.tensor([len(row.ids(side)) for row in rows])
    value = tap.values[name]
    return value[torch.arange(value.shape[1]) >= lengths[:, None]]
