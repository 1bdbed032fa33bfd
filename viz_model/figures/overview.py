"""The whole run in one picture: a row a token, a column a stage, every cell a value of the run."""

from __future__ import annotations

from typing import Any, Literal, NamedTuple

import numpy as np

from viz_model.analysis import heads, story
from viz_model.figures import theme
from viz_model.figures.attention import pool_max
from viz_model.tokenizer import ByteLevel
from viz_model.trace import Trace

MAX_ROWS = 64
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
    def of(cls, trace: Trace, token: int, layer: int = 0) -> OverviewView:
        pool = -(-len(trace) // MAX_ROWS)
        labels = tuple(t.label for t in trace.tokens)
        parts = [("embedding", "embed.token"), ("position", "embed.position")]
        predicts = "logits" in trace
        guesses = trace.next_tokens(token, N_NEXT) if predicts else []
        last = "final.norm.out" if "final.norm.out" in trace else f"blocks.{trace.n_layers - 1}.resid.out"
        return cls(
            labels=labels,
            ids=tuple(t.id for t in trace.tokens),
            strips=tuple(_strip(trace, part, part, site, pool) for part, site in parts if site in trace),
            blocks=tuple(_block(trace, i, pool) for i in story.evenly(trace.n_layers, layer, MAX_BLOCKS)),
            vectors=None if predicts else _strip(trace, "vectors", "next_token", last, pool),
            next_tokens=tuple((t.label, p) for t, p in guesses),
            next_ids=tuple(t.id for t, _ in guesses),
            look=story.strongest_look(trace, token),
            read=story.strongest_look(trace, token, "cross") if "blocks.0.cross.pattern" in trace else None,
            token=token,
            pool=pool,
            n_layers=trace.n_layers,
        )


def _strip(trace: Trace, part: str, page: str, site: str, pool: int) -> StripView:
    return StripView(part, page, trace.full_name(site), _extremes(trace[site].numpy(), pool))


def _block(trace: Trace, layer: int, pool: int) -> BlockView:
    patterns = trace[f"blocks.{layer}.attn.pattern"].numpy()
    head = int(story.sharpness(patterns).argmax())
    hidden = np.isneginf(trace.head(f"blocks.{layer}.attn.mask", head).numpy())
    shown = np.where(hidden, HIDDEN, patterns[head]).astype(np.float32)
    missing = -len(shown) % pool  # the last group is filled up with nothing to see
    norms = trace[f"blocks.{layer}.resid.out"].norm(dim=-1).numpy()
    return BlockView(
        layer=layer,
        head=head,
        kind=heads.summarise(patterns[head]).kind,
        pattern=pool_max(np.pad(shown, (0, missing), constant_values=HIDDEN), pool),
        norm=_pad_rows(norms[:, None], pool).mean(axis=1)[:, 0],
    )


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
    arrays = [strip.values for strip in view.strips]
    for block in view.blocks:
        arrays += [block.pattern, block.norm]
    ends = () if view.vectors is None else (view.vectors,)
    arrays += [strip.values for strip in ends]
    header = {
        "rows": len(view.strips[0].values),
        "width": view.strips[0].values.shape[-1],
        "prefix": prefix,
        "labels": view.labels[:: view.pool],
        "all_labels": view.labels,
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


class PathView(NamedTuple):
    """One number on its way up: the value of one dimension of one token at each named site."""

    sites: tuple[str, ...]
    values: tuple[float, ...]
    dimension: int

    @classmethod
    def of(cls, trace: Trace, token: int, dimension: int) -> PathView:
        """The embedding's parts, then what every sub-layer wrote and the stream after it."""
        names = ["embed.token", "embed.segment", "embed.position", "embed.out"]
        for layer in range(trace.n_layers):
            steps = ("attn.out", "resid.mid", "cross.out", "resid.cross", "ffn.out", "resid.out")
            names += [f"blocks.{layer}.{step}" for step in steps]
        names = [name for name in (*names, "final.norm.out") if name in trace]
        values = tuple(trace[name][token, dimension].item() for name in names)
        return cls(tuple(trace.full_name(name) for name in names), values, dimension)


class NormsView(NamedTuple):
    """Length ‖x‖₂ of the residual stream after every step: [sites, T]."""

    sites: tuple[str, ...]
    values: np.ndarray

    @classmethod
    def of(cls, trace: Trace) -> NormsView:
        names = ["embed.out"]
        for layer in range(trace.n_layers):
            names += [f"blocks.{layer}.resid.{place}" for place in ("mid", "cross", "out")]
        names = [name for name in names if name in trace]
        values = np.stack([trace[name].norm(dim=-1).numpy() for name in names])
        return cls(tuple(trace.full_name(name) for name in names), values)
