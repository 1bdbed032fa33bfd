"""Running a model once so that every value can be read: what :meth:`viz_model.LanguageModel.trace` calls."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Literal

import torch
from torch import Tensor

from viz_model.config import Learned, ModelConfig, Side
from viz_model.images import Levels
from viz_model.model import masks, sites
from viz_model.model.stored import n_bytes
from viz_model.model.transformer import Transformer
from viz_model.runs import edits as interventions
from viz_model.runs import recompute
from viz_model.runs.edits import Edit
from viz_model.runs.recompute import Notes, Recomputed
from viz_model.runs.recorder import recorder
from viz_model.runs.trace import Trace
from viz_model.tokenizers.text import TextError
from viz_model.tokenizers.tokenizer import Tokenizer

Keep = Literal["everything", "stream"]

MOST_KEPT, SHARE = 8_000_000, 10
"""Bytes of a run that is kept as a whole, or those of its model's weights divided by the second number if more."""


def most_kept(model: Transformer) -> int:
    """Bytes of a run of this model that is kept as a whole."""
    return max(MOST_KEPT, n_bytes(model) // SHARE)


@torch.inference_mode()
def record(
    model: Transformer,
    tokenizer: Tokenizer,
    ids: Sequence[int],
    target_ids: Sequence[int] | None = None,
    *,
    picture: Levels | None = None,
    segments: Sequence[int] | None = None,
    visible: Mapping[Side, Tensor] | None = None,
    edits: Sequence[Edit] = (),
    vectors: Mapping[Edit, Tensor] | None = None,
    text: str | None = None,
    target: str | None = None,
    n_dropped: int = 0,
    n_target_dropped: int = 0,
    name: str = "",
    as_text: bool = False,
    keep: Keep | None = None,
    between: Callable[[], None] | None = None,
) -> Trace:
    """Run ``model`` once over ``ids`` so that every value can be read.

    Args:
        picture: [H, W, C], of a model that reads one; the ids then say which patch stands where.
        vectors: those of other runs, which patches among the edits put in.
        name: what the model is called.
        as_text: whether control tokens that the text names were read as characters.
        keep: "everything" that is recorded; or the residual "stream", from which the rest is
            computed again, a block at a time, when it is read. By default the former where it
            takes at most :func:`most_kept` bytes. What is read is the same.
        between: called where a block begins. What it raises ends the run: so somebody who no longer
            wants a long one can give it up.

    Raises:
        ValueError: there are no ids, more than the context holds, or one outside the vocabulary;
            a mask that does not fit; an edit of a place that does not exist.
    """
    config = model.config
    lengths: dict[Side, int] = {config.sides[0]: _check_ids(ids, config, config.sides[0])}
    if target_ids is not None:
        lengths["decoder"] = _check_ids(target_ids, config, "decoder")
    if segments is not None:
        _check_segments(segments, len(ids), config)
    if unknown := sorted(set(visible or {}) - set(lengths)):
        raise ValueError(f"mask: this model has {' and '.join(config.sides)}, not {unknown[0]}")
    read: dict[Side, tuple[int, ...]] = {config.sides[0]: tuple(ids)}
    if target_ids is not None:
        read["decoder"] = tuple(target_ids)
    if config.kind == "encoder_decoder" and target_ids is None:
        raise ValueError("target_ids: the decoder of an encoder–decoder needs something to read")
    given = {side: masks.check(mask, lengths[side], config.depth(side)) for side, mask in (visible or {}).items()}
    run = interventions.prepare(model, read, edits, masks=given, controls=tokenizer.controls_by_side, vectors=vectors)
    built = interventions.rebuilt(model, run.config)
    if keep is None:
        keep = "everything" if bytes_kept(run.config, lengths) <= most_kept(model) else "stream"
    notes = Notes()
    if keep == "stream":
        tap = recorder(run.config, run.changes, recompute.kept(run.config), between, notes)
    else:
        tap = recorder(run.config, run.changes, between=between)
    source, target_read = run.ids[config.sides[0]], run.ids["decoder"] if target_ids is not None else None
    pixels = None if picture is None else torch.from_numpy(picture.copy())
    leaving = built.vectors(
        torch.tensor([source]),
        None if target_read is None else torch.tensor([target_read]),
        pixels=None if pixels is None else pixels[None],
        segments=None if segments is None else torch.tensor([segments]),
        visible=run.masks,
        tap=tap,
    )
    built.head.before(leaving, tap)
    values: Mapping[str, Tensor] = {name: value[0] for name, value in tap.values.items()}
    return Trace(
        model=built,
        tokenizer=tokenizer,
        ids=source,
        text=text,
        n_dropped=n_dropped,
        values=values if keep == "everything" else Recomputed(built, values, notes, run.changes, run.masks),
        target_ids=target_read,
        target=target,
        n_target_dropped=n_target_dropped,
        picture=pixels,
        segments=None if segments is None else tuple(segments),
        visible=run.masks,
        edits=tuple(edits),
        changes=run.changes,
        loaded=config,
        name=name,
        as_text=as_text,
    )


def bytes_kept(config: ModelConfig, lengths: Mapping[Side, int]) -> int:
    """Bytes of everything that a run records in single precision; ``lengths`` are the tokens of its stacks."""
    floats = 0
    for name, site in sites.in_order(config):
        if not site.derived:
            side = sites.split_side(name)[0] or config.sides[-1]
            keys = lengths["encoder"] if ".cross." in name else None
            floats += math.prod(site.shape(lengths[side], keys))
    return 4 * floats


def again(trace: Trace, model: Transformer | None = None, **changes: Any) -> Trace:
    """What a run read, read once more and seen from the same stack: by another ``model``, or with ``changes`` of what
    :func:`record` is given.
    """
    given: dict[str, Any] = {
        "ids": trace.ids,
        "target_ids": trace.target_ids,
        "picture": None if trace.picture is None else trace.picture.numpy(),
        "segments": trace.segments,
        "text": trace.text,
        "target": trace.target,
    }
    return replace(record(model or trace.model, trace.tokenizer, **given | changes), side=trace.side)


def _check_ids(ids: Sequence[int], config: ModelConfig, side: Side) -> int:
    if not 1 <= len(ids) <= config.n_context:
        raise ValueError(f"expected 1 to {config.n_context} tokens, got {len(ids)}")
    n_ids = config.input_of(side).n_ids(config)
    if wrong := [id for id in ids if not 0 <= id < n_ids]:
        raise ValueError(f"token id {wrong[0]}: the vocabulary has {n_ids}")
    if isinstance(config.position, Learned) and (padding := config.position.padding) in ids:
        raise TextError(f"token id {padding} is padding, which has no position in this model: leave it out")
    return len(ids)


def _check_segments(segments: Sequence[int], length: int, config: ModelConfig) -> None:
    if not config.n_segments:
        raise ValueError("segments: this model has none")
    if len(segments) != length:
        raise ValueError(f"segments: expected one for each of {length} tokens, got {len(segments)}")
    if wrong := [segment for segment in segments if not 0 <= segment < config.n_segments]:
        raise ValueError(f"segments: this model has {config.n_segments}, got {wrong[0]}")
