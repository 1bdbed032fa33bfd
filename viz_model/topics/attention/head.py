"""The selected head enlarged: one of its matrices with every number, and its weights as lines between tokens."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from viz_model.drawing import heatmap, matrix
from viz_model.drawing.cells import COLUMN, ROW
from viz_model.drawing.heatmap import HeatmapView
from viz_model.drawing.scene import Scene
from viz_model.drawing.tables import Phrase, by
from viz_model.island import lines as joined
from viz_model.island import say
from viz_model.island.look import Look
from viz_model.island.page import Chooser
from viz_model.island.prose import Line
from viz_model.island.query import FORMS, products
from viz_model.island.query import values_of as matrix_of
from viz_model.measures import heads

MATRICES = ("scores", "capped", "bias", "mask", "masked", "pattern")
"""The T×T values of a head, in the order in which they are made."""
CHAIN = ("q", "k", "v", "products", *MATRICES, "z")
"""A head as matrices: Q, K, V [T, K], QKᵀ and what becomes of it [T, T], what it mixes [T, K]."""
VECTORS = {"q": "query", "k": "key", "v": "value", "z": "value"}
"""The roles of a head's matrices [T, K]; its others are [Tq, Tk]."""
LARGEST = 88
"""Positions along a side of a matrix; of longer texts several share a cell."""


def known(look: Look, names: tuple[str, ...] = MATRICES) -> tuple[str, ...]:
    """Those that this model has."""
    return tuple(name for name in names if name == "products" or look.has(f"attn.{name}"))


def site_of(look: Look, name: str) -> str:
    """The value of a block that holds a matrix; products are the first step of the scores."""
    if name in ("q", "k"):
        return next(f"attn.{name}{form}" for form in reversed(FORMS) if look.has(f"attn.{name}{form}"))
    return "attn.scores" if name == "products" else f"attn.{name}"


def values_of(look: Look, name: str) -> np.ndarray:
    """A matrix of every head of the layers that are held: [L, H, T, K] or [L, H, T, T].

    In the pattern cells that a mask hides are NaN: they are no small weights, softmax had no choice there.
    """
    if name == "products":
        return products(look)
    if name in MATRICES and name != "pattern":
        return matrix_of(look, name)
    found = look.of_heads(site_of(look, name))
    return np.where(look.visible[:, None], found, np.nan) if name == "pattern" else found


def pool(look: Look) -> int:
    return -(-len(look) // LARGEST)


def of_one(look: Look, name: str) -> Scene:
    """One matrix of the selected head, with its numbers where there is room.

    Of a long text some positions share a cell, which shows the largest by size.
    """
    found = look.once(lambda look: values_of(look, name), f"matrix {name}")
    size, axes = pool(look), (look.common("axis_query"), look.common("axis_key"), look.words("form_axis"))
    is_square, is_pattern = name not in VECTORS, name == "pattern"
    names = heatmap.spans(look.labels, size)
    columns = names if is_square else tuple(map(str, range(found.shape[-1])))
    if size > 1:
        found = look.once(
            lambda _: heatmap.pooled(found, heatmap.Pool(size, size if is_square else 1)), f"pooled {name}"
        )
    head = look.by("head", shared(look)) if name in "kv" else "head"
    where = look.cells(site_of(look, name), (head, ROW, COLUMN)) if size == 1 else None
    site: Any = Phrase("{{site}}[{{head}}]", {"site": look.full(site_of(look, name)), "head": numbers_of(look, name)})
    finite = np.where(np.isfinite(found), np.abs(found), 0.0).max((-2, -1))
    top: Any = 1.0 if is_pattern else look.by("layer head", np.where(finite > 0, finite, 1.0).astype(np.float32))
    title = look.words("matrix_alt", name=look.words(f"matrix_{name}"), head=look.head_number, layer=look.layer_number)
    scene = matrix.scene(
        "attention.head",
        title,
        look.by("layer head", found),
        names,
        columns,
        axes=(axes[1] if name in "kv" else axes[0], axes[1 if is_square else 2]),
        top=top,
        right=matrix.SCALE if finite.any() else matrix.BARE,  # a mask is of zeros, and no color stands for a number
        frames=name not in ("k", "v") and size == 1,
        look="share" if is_pattern else "signed",
        role={**VECTORS, "bias": "position"}.get(name, "pattern"),
        site=site,
        hidden="0" if is_pattern else "−∞",
        where=where,
        bound="≤ " if size > 1 else "",
    )
    data = HeatmapView(
        look.by("layer head", found), names, columns, site,
        {**VECTORS, "bias": "position"}.get(name, "pattern"), "probability" if is_pattern else "signed",
    )  # fmt: skip
    call = look.call("head", layer=look.layer, head=look.head, matrix=name, token=look.token)
    note = look.common("pooled", rows=size, columns=size) if size > 1 else ""
    return look.drawn(scene, [site_of(look, name)], data=data, call=call, note=note)


def shared(look: Look) -> list[int]:
    """Of each head, whose keys and values it reads."""
    return [heads.shared_with(look.here, n)[0] for n in range(look.n_heads)]


def numbers_of(look: Look, name: str) -> Any:
    """Which of the matrices of a name the selected head reads, as a text."""
    return by("head", np.array(shared(look)), "whole") if name in "kv" else look.head_number


title = say.title("one_head", lambda look: {"head": look.head_number, "layer": look.layer_number})


def choose(look: Look) -> Chooser:
    options = {name: look.words(f"matrix_{name}") for name in known(look)}
    return Chooser("matrix", options, look.words("matrix"), look.words("matrix_help"), "pattern", asks=True)


def draw(look: Look) -> Scene:
    """The matrix that is chosen."""
    chosen = look.options.get("matrix", "pattern")
    scene = of_one(look.narrow, chosen if chosen in known(look) else "pattern")
    return replace(scene, id="attention.head")


def lines(look: Look) -> Scene:
    """Keys on the left, queries on the right, joined by lines as thick as the weights; a click selects a query."""
    look = look.narrow
    scene = joined.draw(look, "attention.lines", "layer head", look.every("attn.pattern"), look.labels, "lines_part")
    return look.drawn(scene, ["attn.pattern"])


def chain_title(look: Look) -> Iterator[Line]:
    config = look.here
    yield look.title("matrices_title", head=look.head_number, layer=look.layer_number)
    yield look.text("matrices", n=len(look), d_head=config.d_head)


def in_chain(name: str) -> Callable[[Look], Scene | None]:
    """One matrix of the chain with its symbol and shape, where this model has it."""

    def draw(look: Look) -> Scene | None:
        if name not in known(look, CHAIN):
            return None
        return replace(of_one(look.narrow, name), id=f"attention.chain.{name}")

    return draw


def heading(name: str) -> Callable[[Look], Iterator[Line]]:
    """What a matrix of the chain is, and its shape."""

    def tell(look: Look) -> Iterator[Line]:
        if name in known(look, CHAIN):
            n, width = len(look), look.here.d_head
            size = f"{n} × {width if name in VECTORS else n}"
            yield Line(f"{_symbol(look, name)} {look.words(f'matrix_{name}')} [{size}]")
            if name == "mask":
                yield look.note("mask_legend")

    return tell


def _symbol(look: Look, name: str) -> str:
    """LaTeX of a matrix and of how it is made of those before it."""
    config = look.config
    scores = "S" if config.score_cap is None else r"\bar{S}"
    root = r"\sqrt{d_k}" if config.divides_by_root else rf"\sqrt{{{config.root_of:g}}}"
    symbols = {
        "q": "Q",
        "k": "K",
        "v": "V",
        "products": r"QK^\top",
        "scores": rf"S = QK^\top / {root}" if config.scale_scores else r"S = QK^\top",
        "capped": rf"\bar{{S}} = c \tanh(S / c),\; c = {config.score_cap or 0:g}",
        "bias": "B",
        "mask": "M",
        "masked": rf"\tilde{{S}} = {scores} + B + M" if look.has("attn.bias") else rf"\tilde{{S}} = {scores} + M",
        "pattern": r"A = \mathrm{softmax}(\tilde{S})",
        "z": "Z = AV",
    }
    return f"${symbols[name]}$"
