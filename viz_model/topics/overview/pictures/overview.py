"""The whole run in one picture: a row a token, a column a stage, every cell a value of the run."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, Literal, NamedTuple

import numpy as np

from viz_model.drawing import theme
from viz_model.runs.trace import Trace
from viz_model.tokenizers.tokenizer import ByteLevel
from viz_model.topics.attention.numbers import heads
from viz_model.topics.attention.pictures.attention import pool_max
from viz_model.topics.overview import numbers as story

MAX_ROWS = 56
MOST_NUMBERS = 32_000
"""Numbers of the whole picture, 4 bytes each: of strips that would be too wide every n-th dimension is drawn."""
MAX_BLOCKS = 6
N_NEXT = 8
HIDDEN = -1.0
"""What a masked cell holds in place of a weight."""
WORDS = (
    "tokens",
    "embedding",
    "position",
    "dimensions",
    "every",
    "dimension",
    "block",
    "head",
    "masked",
    "vectors",
    "hint",
    "alt",
)
"""Keys of the words that the picture is labelled with."""


class StripView(NamedTuple):
    """Vectors of all tokens at one site: ``values`` is [S, D]; ``part`` is its key in the words, and its page."""

    part: str
    page: str
    site: str
    values: np.ndarray


class BlockView(NamedTuple):
    """One block: the pattern [S, S] of the head that looks away most sharply, and residual norms [S].

    Cells that the mask hides are −1.
    """

    layer: int
    head: int
    kind: heads.Kind
    pattern: np.ndarray
    norm: np.ndarray

    @classmethod
    def of(cls, trace: Trace, layer: int, pool: int) -> BlockView:
        site = f"blocks.{layer}.attn.pattern"
        # One T×T matrix at a time: all heads of a long text are a lot of memory.
        sharp = [float(story.sharpness(trace.head(site, h).numpy()[None])[0]) for h in range(trace.config.n_heads)]
        head = int(np.argmax(sharp))
        pattern = trace.head(site, head).numpy()
        hidden = np.isneginf(trace.head(f"blocks.{layer}.attn.mask", head).numpy())
        shown = np.where(hidden, HIDDEN, pattern).astype(np.float32)
        missing = -len(shown) % pool  # the last group is filled up with nothing to see
        norms = trace[f"blocks.{layer}.resid.out"].norm(dim=-1).numpy()
        return cls(
            layer=layer,
            head=head,
            kind=heads.summarise(pattern).kind,
            pattern=pool_max(np.pad(shown, (0, missing), constant_values=HIDDEN), pool),
            norm=_pad_rows(norms[:, None], pool).mean(axis=1)[:, 0],
        )


class OverviewView(NamedTuple):
    """The stages of one run. S rows stand for T tokens, ``pool`` tokens each.

    Of pooled tokens each dimension shows the value of largest magnitude, patterns the largest
    weight, norms the mean. ``strips`` are what enters the blocks; where the run ends in vectors
    rather than in logits they are the last strip. ``next_tokens`` are those at ``token``, over the
    full vocabulary, and ``next_ids`` their ids; ``look`` is its strongest look at another position, ``read``
    at the source.
    Deep models show ``blocks`` at even distances, ``n_layers`` in all.
    """

    labels: tuple[str, ...]
    ids: tuple[int, ...]
    strips: tuple[StripView, ...]
    blocks: tuple[BlockView, ...]
    vectors: StripView | None
    next_tokens: tuple[tuple[str, float], ...]
    look: story.Look | None
    read: story.Look | None
    token: int
    pool: int
    n_layers: int
    next_ids: tuple[int, ...] = ()

    @classmethod
    def of(
        cls,
        trace: Trace,
        token: int,
        layer: int = 0,
        block: Callable[[int, int], BlockView] | None = None,
        look: Callable[[str], story.Look | None] | None = None,
    ) -> OverviewView:
        """``block`` and ``look`` give what is known already: a block by layer and pool, a look by kind of attention."""
        block = block or functools.partial(BlockView.of, trace)
        look = look or functools.partial(story.strongest_look, trace, token)
        pool = -(-len(trace) // MAX_ROWS)
        labels = tuple(t.label for t in trace.tokens)
        parts = [("embedding", "embed.token"), ("position", "embed.position")]
        predicts = "logits" in trace
        guesses = trace.next_tokens(token, N_NEXT) if predicts else []
        last = trace.leaving
        return cls(
            labels=labels,
            ids=tuple(t.id for t in trace.tokens),
            strips=tuple(_strip(trace, part, part, site, pool) for part, site in parts if site in trace),
            blocks=tuple(block(i, pool) for i in story.evenly(trace.n_layers, layer, MAX_BLOCKS)),
            vectors=None if predicts else _strip(trace, "vectors", "next_token", last, pool),
            next_tokens=tuple((t.label, p) for t, p in guesses),
            next_ids=tuple(t.id for t, _ in guesses),
            look=look("attn"),
            read=look("cross") if "blocks.0.cross.pattern" in trace else None,
            token=token,
            pool=pool,
            n_layers=trace.n_layers,
        )


def _strip(trace: Trace, part: str, page: str, site: str, pool: int) -> StripView:
    return StripView(part, page, trace.full_name(site), _extremes(trace[site].numpy(), pool))


def _pad_rows(values: np.ndarray, pool: int) -> np.ndarray:
    """[T, N] -> [S, pool, N]; the last group is filled up with its own last row."""
    missing = -len(values) % pool
    padded = np.concatenate([values, np.repeat(values[-1:], missing, axis=0)])
    return padded.reshape(-1, pool, values.shape[-1])


def _extremes(values: np.ndarray, pool: int) -> np.ndarray:
    """[T, D] -> [S, D]: of each group of rows, the value of largest magnitude with its sign."""
    grouped = _pad_rows(values, pool)
    largest = np.abs(grouped).argmax(axis=1, keepdims=True)
    return np.take_along_axis(grouped, largest, axis=1)[:, 0]


def scene(view: OverviewView, prefix: str = "") -> tuple[dict[str, Any], np.ndarray]:
    """What the browser draws: a header, and all numbers in one float32 array.

    The array holds the strips, then pattern and norms of every block, then the vectors that the
    run ends in, where it does. ``prefix`` stands before the names of the blocks' sites.
    """
    ends = () if view.vectors is None else (view.vectors,)
    rows, width = view.strips[0].values.shape
    left = MOST_NUMBERS - len(view.blocks) * rows * (rows + 1)
    every = -(-width * rows * len((*view.strips, *ends)) // left)
    arrays = [strip.values[:, ::every] for strip in view.strips]
    for block in view.blocks:
        arrays += [block.pattern, block.norm]
    arrays += [strip.values[:, ::every] for strip in ends]
    header = {
        "rows": rows,
        "width": arrays[0].shape[-1],
        "dimensions": width,
        "every": every,
        "prefix": prefix,
        "labels": view.labels[:: view.pool],
        "tokens": len(view.labels),
        "after": view.labels[view.token],
        "ids": view.ids[:: view.pool],
        "colours": [theme.token_colour(position) for position in range(0, len(view.labels), view.pool)],
        "token": view.token // view.pool,
        "picked": view.token,
        "pool": view.pool,
        "strips": [{"part": strip.part, "page": strip.page, "site": strip.site} for strip in view.strips],
        "ends": [{"part": strip.part, "page": strip.page, "site": strip.site} for strip in ends],
        "blocks": [{"layer": block.layer, "head": block.head, "kind": block.kind} for block in view.blocks],
        "next": [
            {"label": label, "probability": probability, "id": id}
            for (label, probability), id in zip(view.next_tokens, view.next_ids, strict=True)
        ],
        "palette": {role: theme.rgb(role) for role in ("pattern", "residual", "output")}
        | {"negative": theme.channels(theme.NEGATIVE), "positive": theme.channels(theme.POSITIVE)},
    }
    numbers = np.concatenate([np.asarray(array, dtype=np.float32).ravel() for array in arrays])
    return header, numbers


def ending(trace: Trace) -> Literal["next", "masked", "vectors"]:
    """What this stack of this model ends in: the next token, the token that was covered, or its vectors."""
    if "logits" not in trace:
        return "vectors"
    return "next" if trace.side == "decoder" else "masked"


def finding(trace: Trace, token: int) -> Literal["next", "end", "masked", "covered", "vectors"]:
    """What to say of a position: as :func:`ending`, or that the text ends there, or that a mask stands there."""
    which = ending(trace)
    if which == "next":
        best, _ = trace.next_tokens(token, 1)[0]
        return "end" if best.id == trace.tokenizer.end_of_text else "next"
    return "covered" if which == "masked" and trace.own_ids[token] == trace.tokenizer.mask_id else which


def things_to_try(trace: Trace, token: int) -> dict[str, dict[str, object]]:
    """By the key of their words, changes of the view that a visitor may like to see."""
    found: dict[str, dict[str, object]] = {}
    tokenizer, shown = trace.tokenizer, trace.tokens
    if ending(trace) == "next":
        best, _ = trace.next_tokens(token, 1)[0]
        longer = [*(t.id for t in shown[: token + 1]), best.id]
        if best.id in tokenizer.controls:
            pass  # the end of a text, or what no text is made of: nothing to add
        elif trace.prefix:  # the start token is no part of the target
            found["guess_target"] = {"target": tokenizer.decode(longer[1:]), "token": None}
        else:
            found["guess"] = {"text": tokenizer.decode(longer), "token": None}
    if ending(trace) == "masked" and tokenizer.mask_id is not None and shown[token].id != tokenizer.mask_id:
        before, after = (tokenizer.decode(t.id for t in part) for part in (shown[:token], shown[token + 1 :]))
        mask = tokenizer.token(tokenizer.mask_id).text
        if isinstance(tokenizer, ByteLevel):  # each token brings its own space, if it has one
            mask = " " * shown[token].bytes.startswith(b" ") + mask
        else:
            before, after = f"{before} ", f" {after}"
        found["mask"] = {"text": f"{before}{mask}{after}".strip()}
    if finding(trace, token) == "covered":
        best, _ = trace.next_tokens(token, 1)[0]
        filled = (best.id if position == token else id for position, id in enumerate(trace.own_ids))
        found["fill"] = {"text": tokenizer.decode(filled), "token": token}
    others = [language for language in tokenizer.languages if language != trace.target_language]
    if trace.target_language and others:
        found["tag"] = {"to": others[0], "target": None, "token": None}
    if trace.prefix:
        found["side"] = {"side": "encoder" if trace.side == "decoder" else "decoder", "token": None}
    found["reverse"] = {"text": tokenizer.decode(reversed(trace.ids))}
    return found


class Along(NamedTuple):
    """One dimension of every token, and the length of its vector, on their way up: [S, T] each, at S named sites."""

    sites: tuple[str, ...]
    values: np.ndarray
    norms: np.ndarray
    dimension: int
    prefix: str = ""

    @classmethod
    def of(cls, trace: Trace, dimension: int = 0) -> Along:
        """The embedding's parts, then what every sub-layer wrote and the stream after it.

        Of dimension 0, a long run has noted all of it; of another, its blocks are computed again.
        """
        way = story.way(trace)
        values = np.stack([trace[name][:, dimension].numpy() for name in way.sites]) if dimension else way.values
        return cls(way.sites, values, way.norms, dimension, trace.prefix)


class PathView(NamedTuple):
    """One number on its way up: the value of one dimension of one token at each named site."""

    sites: tuple[str, ...]
    values: tuple[float, ...]
    dimension: int

    @classmethod
    def of(cls, along: Along, token: int) -> PathView:
        sites = tuple(along.prefix + name for name in along.sites)
        return cls(sites, tuple(along.values[:, token].tolist()), along.dimension)


class NormsView(NamedTuple):
    """Length ‖x‖₂ of the residual stream after every step: [sites, T]."""

    sites: tuple[str, ...]
    values: np.ndarray

    @classmethod
    def of(cls, along: Along) -> NormsView:
        stream = [n for n, name in enumerate(along.sites) if name == "embed.out" or ".resid." in name]
        return cls(tuple(along.prefix + along.sites[n] for n in stream), along.norms[stream])
