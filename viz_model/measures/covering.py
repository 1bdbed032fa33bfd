"""A sentence with its tokens covered, one at a time: what a bidirectional model expects in their place.

An encoder sees the token it is asked about, so a fair question covers that token first (Devlin et
al. 2019, section 3.1; scored this way by Salazar et al. 2020, "pseudo-log-likelihood").
"""

import dataclasses
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from viz_model.runs import recompute
from viz_model.runs.recompute import Notes, Recomputed
from viz_model.runs.record import bytes_kept, most_kept
from viz_model.runs.recorder import recorder
from viz_model.runs.trace import Trace

MOST_COVERED = 64
"""Positions that are covered for one picture at the most."""

# Multiplications for one picture: a second or two on one core.
MOST_WORK = 50_000_000_000

# Texts that go through the model together; more would only take memory.
BATCH = 16

GUESSES = 3


class Covered(NamedTuple):
    """For n positions, each covered alone: what the model expects there of the token that stands there.

    ``nats`` [n] is −ln p of that token, ``ranks`` [n] its rank (1 is first), ``visible`` [n] its
    probability at the same place while it can be seen; ``guesses`` and ``guess_probs`` [n, 3] are
    the ids that were expected most.
    """

    positions: np.ndarray
    nats: np.ndarray
    ranks: np.ndarray
    visible: np.ndarray
    guesses: np.ndarray
    guess_probs: np.ndarray


def can_be_covered(trace: Trace, position: int) -> bool:
    """Whether an encoder could be asked what stands at a position, where nothing covers it yet."""
    mask_id, config = trace.tokenizer.mask_id, trace.config
    is_asked = config.kind == "encoder" and config.has_logits and not config.observed
    return is_asked and mask_id not in (None, trace.ids[position])


@torch.inference_mode()
def covering(trace: Trace, position: int) -> Trace:
    """The run of the same ids, edits and masks with the mask at ``position``; the vocabulary has one."""
    assert trace.tokenizer.mask_id is not None
    ids = [*trace.ids]
    ids[position] = trace.tokenizer.mask_id
    is_short, notes = bytes_kept(trace.config, {trace.stack.side: len(ids)}) <= most_kept(trace.model), Notes()
    rest = () if is_short else (recompute.kept(trace.config), None, notes)
    tap = recorder(trace.config, trace.changes, *rest)
    segments = None if trace.segments is None else torch.tensor([trace.segments])
    leaving = trace.model.vectors(torch.tensor([ids]), segments=segments, visible=trace.visible, tap=tap)
    trace.model.head.before(leaving, tap)
    kept: Mapping[str, Tensor] = {name: value[0] for name, value in tap.values.items()}
    values = kept if is_short else Recomputed(trace.model, kept, notes, trace.changes, trace.visible)
    return dataclasses.replace(trace, ids=tuple(ids), text=None, values=values)


def written(trace: Trace) -> range:
    """The positions of the text itself, without the control tokens that the tokenizer put around it."""
    own = [n for n, token in enumerate(trace.tokens) if token.id not in trace.own_tokenizer.controls]
    return range(own[0], own[-1] + 1) if own else range(len(trace))


def part(trace: Trace, position: int, work: int = MOST_WORK) -> range:
    """The run of positions, with ``position`` in it, that is covered for one picture.

    All of a short text; of a long one, or in a large model, as many as are quickly done.
    """
    weights = sum(parameter.numel() for parameter in trace.stack.parameters())
    n = int(max(1, min(MOST_COVERED, work // (weights * len(trace)))))
    inside = written(trace)
    if position not in inside:
        inside = range(len(trace))
    start = inside.start + (position - inside.start) // n * n
    return range(start, min(start + n, inside.stop))


@torch.inference_mode()
def cover(trace: Trace, positions: Sequence[int], mask_id: int) -> Covered:
    """Run the encoder of ``trace`` once for each of ``positions``, covered by ``mask_id``.

    A position that holds the mask token already is left out: nobody knows what stands under it.
    """
    chosen = [position for position in positions if trace.ids[position] != mask_id]
    ids, places = torch.tensor(trace.ids), torch.tensor(chosen, dtype=torch.long)
    expected = logits(trace, chosen, mask_id).double().log_softmax(-1)  # [n, V]
    own = expected.gather(1, ids[places, None])  # [n, 1]
    best = expected.topk(min(GUESSES, expected.shape[-1]))
    visible = [trace.row("logits", n).double().log_softmax(-1)[trace.ids[n]].exp().item() for n in chosen]
    return Covered(
        positions=np.array(chosen, dtype=np.int64),
        nats=-own[:, 0].numpy(),
        ranks=1 + (expected > own).sum(-1).numpy(),
        visible=np.array(visible),
        guesses=best.indices.numpy(),
        guess_probs=best.values.exp().numpy(),
    )


@torch.inference_mode()
def logits(trace: Trace, positions: Sequence[int], mask_id: int) -> Tensor:
    """[n, V]: the logits at each of n positions, that position covered; edits are left out."""
    ids, places = torch.tensor(trace.ids), torch.tensor(positions, dtype=torch.long)
    if not len(places):
        return trace.row("logits", 0)[None][:0]
    return torch.cat([_logits(trace, ids, at, mask_id) for at in places.split(BATCH)])


def _logits(trace: Trace, ids: Tensor, at: Tensor, mask_id: int) -> Tensor:
    """[n, V]: the logits at each of n positions, that position covered."""
    rows = torch.arange(len(at))
    texts = ids.repeat(len(at), 1)
    texts[rows, at] = mask_id
    side = trace.stack.side
    vectors = trace.stack(trace.model.embed(texts), visible=trace.visible.get(side))  # [n, T, D]
    # The head is the largest part of a small model: it reads the covered positions alone.
    return trace.model.head(vectors[rows, at][:, None])[:, 0]
