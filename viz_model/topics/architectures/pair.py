"""Two models side by side: that of the page and another one, and where each is looked at."""

import re
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
import torch

from viz_model.config import ModelConfig, Side
from viz_model.drawing.chips import chip
from viz_model.drawing.tables import Among
from viz_model.island.held import is_long
from viz_model.island.look import Look
from viz_model.island.page import Chooser, Ribbon
from viz_model.island.prose import Line, line
from viz_model.model.transformer import Transformer
from viz_model.runs import notebook
from viz_model.runs.trace import Trace
from viz_model.texts.markdown import literal
from viz_model.tokenizers.tokenizer import Tokenizer

COLORS = ("#4F7BEA", "#D6246E")
SYMBOLS = ("circle", "square")
SIGNS = "●■"
"""How the two are told apart: by color, by the sign beside their names, and by their names."""
LARGEST = 64
"""Positions along a side of a pattern; of longer texts several share a cell."""


class One(NamedTuple):
    """One of the two.

    Attributes:
        which: 0 for the page's own, 1 for the other.
        trace: the page's text in it, seen from ``side``; None where it cannot read it.
    """

    which: int
    name: str
    model: Transformer
    tokenizer: Tokenizer
    side: Side
    trace: Trace | None

    @property
    def config(self) -> ModelConfig:
        return self.model.config

    @property
    def code_name(self) -> str:
        """Its name for prose."""
        return literal(self.name)


def own(look: Look) -> One:
    trace = look.trace
    return One(0, trace.name, trace.model, trace.tokenizer, trace.stack.side, trace)


def both(look: Look) -> tuple[One, One]:
    """The page's own model, and the one beside it."""
    found = look.other
    assert found is not None  # what asks stands only where there is one
    sides = found.lm.config.sides
    side = look.trace.stack.side if look.trace.stack.side in sides else sides[-1]
    return own(look), One(1, found.lm.name, found.lm.model, found.lm.tokenizer, side, found.trace)


def has_other(look: Look) -> bool:
    return look.other is not None


def names(look: Look) -> dict[str, str]:
    """The names of the models, for prose."""
    first, second = (one.code_name for one in both(look))
    return {"first": first, "second": second, "model": first}


def choose(look: Look) -> Chooser | None:
    """Which model stands beside the page's."""
    if look.other is None:
        return None
    words = look.words("compare"), look.words("compare_help")
    usual = look.other.name
    return Chooser("compare", dict(look.other.labels), *words, usual, asks=True, anew=("other_token",), is_list=True)


def unread(look: Look) -> Iterator[Line]:
    """That there is no other model, or that it cannot read the text."""
    if look.other is None:
        yield line(look.words("alone"), "notice")
    elif look.other.refused:
        yield line(f"{both(look)[1].code_name}: {look.other.refused}", "notice")


def each(item: Callable[[Look, One], Any]) -> tuple[Callable[[Look], Any], Callable[[Look], Any]]:
    """An item of each of the two; there is none while there is no other model."""

    def of(which: int) -> Callable[[Look], Any]:
        return lambda look: item(look, both(look)[which]) if has_other(look) else None

    return of(0), of(1)


def title(n: int) -> Callable[[Look], Iterator[Line]]:
    """What stands over :func:`ribbon`."""

    def said(look: Look) -> Iterator[Line]:
        if both(look)[1].trace and n < len(both(look)[1].config.sides):
            yield look.note(("tokens", "tokens_target")[n], model=both(look)[1].code_name)

    return said


def ribbon(n: int) -> Callable[[Look], Ribbon | None]:
    """The second model's own tokens in its n-th stack; a click on one of the stack in view follows that one there."""

    def made(look: Look) -> Ribbon | None:
        one = both(look)[1]
        if one.trace is None or n >= len(one.config.sides):
            return None
        side, label = one.config.sides[n], look.words(("tokens", "tokens_target")[n], model=one.name)
        chips = [chip(token, position, under=token.id) for position, token in enumerate(one.trace.at(side).tokens)]
        there = (look.by("token", tokens_of(look, one)), "other_token", "token") if side == one.side else ()
        return Ribbon(f"{side}.tokens", label, chips, *there)

    return made


# Where the two are looked at


def written(trace: Trace) -> list[int]:
    """How many bytes of the text each token of a run stands for: none for a control token, which nobody wrote."""
    return [0 if token.id in trace.own_tokenizer.controls else len(token.bytes) for token in trace.tokens]


def same_places(bytes_: Sequence[int], others: Sequence[int]) -> np.ndarray:
    """Of each token the one of another cut that stands in its place: at the same share of all bytes.

    Both cuts are told by the bytes of each token. Tokenizers may change letters, so bytes need not agree one by one.
    """
    # What nobody wrote takes a little room, so that it has a place of its own.
    ours, theirs = (np.maximum(1e-3, cut) for cut in (bytes_, others))
    ends = np.cumsum(theirs)
    found = np.searchsorted(ends / ends[-1], (np.cumsum(ours) - ours / 2) / ours.sum())
    found[-1] = len(others) - 1
    return found


def picked(look: Look) -> tuple[int, int] | None:
    """A token of the page's model, and the one that a visitor chose for it in the other's cut."""
    found = re.fullmatch(r"(\d{1,5})\.(\d{1,5})", look.options.get("other_token", ""), re.ASCII)
    return found and (int(found[1]), int(found[2]))


def tokens_of(look: Look, one: One) -> np.ndarray:
    """Where one of the two is looked at, for each token of the page's model."""
    if one.trace is None or not one.which:
        return np.arange(len(look))
    found = same_places(*map(written, (look.trace, one.trace)))
    at, chosen = picked(look) or (-1, -1)
    if 0 <= at < len(found) and chosen < len(one.trace):
        found[at] = chosen
    return found


def layers_of(look: Look, one: One) -> np.ndarray:
    """The same for each layer: of the other model the nearest that it has."""
    return np.minimum(np.arange(look.n_layers), one.config.depth(one.side) - 1)


def heads_of(look: Look, one: One) -> np.ndarray:
    return np.minimum(np.arange(look.n_heads), one.config.n_heads - 1)


def held(look: Look) -> np.ndarray:
    """The tokens of which tables hold what is read off the whole run: all, of a long one the selected."""
    long = is_long(look.trace) or (look.other is not None and look.other.trace and is_long(look.other.trace))
    return np.array([look.token]) if long else np.arange(len(look))


def kept(look: Look, name: str, one: One) -> tuple[Any, ...]:
    """The name under which something is kept that depends on what :func:`held` and :func:`picked` say."""
    return name, one.which, len(held(look)) == 1 and look.token, look.options.get("other_token", "")


def named(look: Look, trace: Trace, positions: Any) -> Among:
    """Tokens of a run for prose, by the page's token."""
    return Among([token.label for token in trace.tokens], positions, is_code=True)


def has_weights(trace: Trace) -> bool:
    """Whether every layer of a run's stack attends: what holds a state has no attention weights."""
    return len(trace.attending) == trace.n_layers


def patterns(look: Look, one: One) -> np.ndarray:
    """What each head attends to in its own stack, for each of the page's layers that are held and its heads: [L, H, T,
    T], NaN where its mask lets it see nothing.
    """
    trace, layers, heads = one.trace, layers_of(look, one), heads_of(look, one)
    assert trace is not None

    def of_layer(layer: int) -> np.ndarray:
        seen = trace.mask(layer)
        found = torch.stack([trace.head(f"blocks.{layer}.attn.pattern", head) for head in range(one.config.n_heads)])
        return torch.where(seen, found, torch.nan).numpy()

    read = {layer: of_layer(layer) for layer in {int(layers[n]) for n in look.layers}}
    return np.stack([read[int(layers[n])][heads] for n in look.layers])


def call(look: Look, part: str) -> tuple[str, str]:
    """The call that draws a picture of two runs, and what it names ``other``: of runs that are seen from one stack, of
    models that everybody can load, at the places that the call itself finds.
    """
    first, second = both(look)
    is_told = second.trace is not None and first.side == second.side and look.other is not None and look.other.is_public
    if not is_told or second.trace is None or (picked(look) or (-1,))[0] == look.token:
        return "", ""
    made = look.call("compare", layer=look.layer, head=look.head, token=look.token, part=part)
    run = notebook.call(second.trace.whole).removeprefix("lm.")
    return made.replace("(trace,", "(trace, other,", 1), f"vm.load({look.other.name!r}).{run}"  # type: ignore[union-attr]
