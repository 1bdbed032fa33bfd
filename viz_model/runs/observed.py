"""Runs that happened elsewhere: tokens, attention, hidden states and logits as plain arrays.

Nothing is computed again here but probabilities from logits. What was not handed over cannot be read, and says why.
"""

import operator
import re
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor

from viz_model.config import LanguageHead, ModelConfig, NoHead
from viz_model.model.transformer import Transformer
from viz_model.runs import display
from viz_model.runs.trace import Trace, counted
from viz_model.tokenizers.descriptions import from_symbols
from viz_model.tokenizers.text import CONTINUES
from viz_model.tokenizers.tokenizer import IdTokenizer, Token, Tokenizer, token_of

Arrays = Sequence[Any]
_ROUNDING = 1e-2
"""By how much the weights of a query may sum to more than 1, as numbers of 16 bits do."""


class Observed(Trace):
    """A run that was handed over: a :class:`Trace` of what is there. Other values raise KeyError, and say why."""

    @property
    def sites(self) -> tuple[str, ...]:
        return tuple(name for name in Trace.sites.fget(self) if name in self)  # type: ignore[attr-defined]

    def __contains__(self, name: object) -> bool:
        full = self.full_name(name) if isinstance(name, str) else ""
        return full in self.values or (full == "probs" and "logits" in self.values)

    def __getitem__(self, name: str) -> Tensor:
        full = self.full_name(name)
        if full in self.values:
            return self.values[full]
        if full == "probs" and "logits" in self.values:
            return self.values["logits"].softmax(-1)
        self.site(name)
        there = ", ".join(dict.fromkeys(re.sub(r"blocks\.\d+", "blocks.*", one) for one in self.values))
        raise KeyError(f"{name}: this run was observed, not recomputed; what was handed over is {there}")

    def shape(self, name: str) -> tuple[int, ...]:
        return tuple(self[name].shape) if name in self else super().shape(name)

    def head(self, name: str, head: int) -> Tensor:
        value = self[name]
        if not self.site(name).has_heads:
            raise ValueError(f"site {name!r} has no heads: its axes are {' '.join(self.site(name).axes)}")
        return value[counted("head", head, len(value))]

    def row(self, name: str, position: int, head: int | None = None) -> Tensor:
        value = self[name] if head is None else self.head(name, head)
        axis = int(self.site(name).has_heads and head is None)
        return value.select(axis, counted("position", position, value.shape[axis]))

    def chunks(self, name: str, rows: int = 64) -> Iterator[Tensor]:
        yield from self[name].split(rows, dim=int(self.site(name).has_heads))

    def norm_input(self, name: str, position: int | None = None) -> Tensor:
        raise KeyError(f"{name}: this run was observed, not recomputed; its norms are not known")

    def mask(self, layer: int) -> Tensor:
        return self[f"blocks.{layer}.attn.pattern"].gt(0).any(0)

    def __repr__(self) -> str:
        return display.trace_line(self).replace("Trace(", "Observed(", 1)


class _Named(Tokenizer):
    """Tokens that have names and no text: those of a run, behind the ids that logits are of."""

    def __init__(self, names: Sequence[str], n_logits: int) -> None:
        self._names, self._first = tuple(dict.fromkeys(names)), n_logits
        self._bytes = spelled_as_text(self._names)
        self.name, self.n_vocab = "observed", n_logits + len(self._names)

    def encode(self, text: str, *, special: bool = True, as_text: bool = False) -> list[int]:
        raise ValueError("this run was observed: its tokenizer is not known, so no other text can be read")

    def ids(self, names: Sequence[str]) -> list[int]:
        return [self._first + self._names.index(name) for name in names]

    def decode(self, ids: Any) -> str:
        return "".join(self.token(id).text for id in ids)

    def token(self, id: int) -> Token:
        self._unused(int(id))
        return Token(int(id), str(id).encode(), str(id)) if id < self._first else self._read(id)

    def _read(self, id: int) -> Token:
        name, raw = self._names[id - self._first], self._bytes[id - self._first]
        goes_on = name.startswith(CONTINUES) and len(name) > len(CONTINUES)  # of a word
        return Token(int(id), raw[len(CONTINUES) :], name) if goes_on else token_of(int(id), raw)


def spelled_as_text(names: Sequence[str]) -> list[bytes]:
    """What names of tokens spell: in GPT-2's alphabet, where one begins with Ġ, or with ▁ for a space."""
    if any(name.startswith("Ġ") for name in names):
        return [from_symbols(name) or name.encode("utf-8", "replace") for name in names]
    return [name.replace("▁", " ").encode("utf-8", "replace") for name in names]


def observe(
    tokens: Sequence[str] | Sequence[int],
    *,
    attentions: Arrays = (),
    hidden_states: Arrays = (),
    logits: Any = None,
    target: Sequence[str] | Sequence[int] | None = None,
    decoder_attentions: Arrays = (),
    decoder_hidden_states: Arrays = (),
    cross_attentions: Arrays = (),
    tokenizer: Tokenizer | None = None,
    is_last_normed: bool = False,
    is_causal: bool | None = None,
    name: str = "observed",
) -> Trace:
    """A run that happened elsewhere, of whatever model: a :class:`Trace` of what it has, for :mod:`viz_model.plot`.

    Arrays are tensors, NumPy arrays or nested lists; an axis of 1 in front, of a batch, is left away.

    Args:
        tokens: names or ids of T tokens, as ``convert_ids_to_tokens`` gives them too; of an encoder–decoder, those of
            the source.
        attentions: for each layer [H, T, T]: rows are queries, and sum to 1, or to less where a sink takes the rest.
        hidden_states: [T, D] for each layer and one more: what enters the first block, and what leaves each.
        logits: [T, V]; of an encoder–decoder at each of the target's tokens.
        target: names or ids of what the decoder of an encoder–decoder has read.
        decoder_attentions, decoder_hidden_states: of its decoder, as the others are of its encoder.
        cross_attentions: for each layer of the decoder [H, target, T].
        tokenizer: of ids; without one they are named by themselves.
        is_last_normed: whether the last hidden states of a stack are what a final norm makes of what leaves the last
            block, as most decoders of ``transformers`` have it: they are then ``final.norm.out``.
        is_causal: whether a token has seen those before it alone, so that logits are of the next one. None: where
            attention says so, or where there are logits without attention.
        name: what the model is called.

    Raises:
        ValueError: nothing was handed over, or shapes do not fit together.
    """
    tokens, target = _listed(tokens, "tokens"), None if target is None else _listed(target, "target")
    first = "" if target is None else "encoder."
    said = None if logits is None else _array(logits, "logits", 2)
    given = [*tokens, *(target or ())]
    stacks = [_stack(first, "", len(tokens), attentions, hidden_states, (), is_last_normed)]
    if target is not None:
        read = (decoder_attentions, decoder_hidden_states, cross_attentions)
        stacks.append(_stack("decoder.", "decoder_", len(target), *read, is_last_normed, len(tokens)))
    elif any(map(len, (cross_attentions, decoder_attentions, decoder_hidden_states))):
        raise ValueError("target: what a decoder has read is asked for with what is handed over of it")
    if not given or not (said is not None or any(stack.values for stack in stacks)):
        raise ValueError("give tokens, and attentions=[…], hidden_states=[…] or logits=…")
    last, n = stacks[-1], len(tokens if target is None else target)
    if said is not None and len(said) != n:
        raise ValueError(f"logits: expected [{n}, V] for {n} tokens, got {list(said.shape)}")
    sizes = {key: {size for stack in stacks if (size := getattr(stack, key))} for key in ("heads", "width")}
    if wrong := next((key for key, found in sizes.items() if len(found) > 1), None):
        raise ValueError(f"{wrong}: expected the same of both stacks, got {sorted(sizes[wrong])}")

    named, ids = _tokens(given, 0 if said is None else said.shape[1], tokenizer)
    values = {key: value for stack in stacks for key, value in stack.values.items()}
    values[f"{first}tokens.ids"] = torch.tensor(ids[: len(tokens)])
    if target is not None:
        values["decoder.tokens.ids"] = torch.tensor(ids[len(tokens) :])
    if said is not None:
        values["logits"] = said
    heads = max(sizes["heads"], default=1)
    decodes = last.is_causal or (said is not None and not len(attentions)) if is_causal is None else is_causal
    config = ModelConfig(
        n_vocab=named.n_vocab,
        n_context=max(len(stack) for stack in (tokens, target or ())),
        n_layers=last.depth,
        n_encoder_layers=0 if target is None else stacks[0].depth,
        d_model=max(sizes["width"], default=heads),
        n_heads=heads,
        d_head=1,
        d_ffn=1,
        kind="encoder_decoder" if target is not None else "decoder" if decodes else "encoder",
        head=LanguageHead() if target is not None or said is not None or decodes else NoHead(),
        observed=True,
    )
    return Observed(
        model=shapes(config),
        tokenizer=named,
        ids=tuple(ids[: len(tokens)]),
        text=None,
        n_dropped=0,
        values=values,
        target_ids=None if target is None else tuple(ids[len(tokens) :]),
        loaded=config,
        name=name,
    )


class _Stack(NamedTuple):
    """What is known of one stack: values by their full names, and sizes; 0 where nothing says them."""

    values: dict[str, Tensor]
    depth: int
    heads: int
    width: int
    is_causal: bool


def _stack(
    at: str,
    called: str,
    n: int,
    attentions: Arrays,
    hidden_states: Arrays,
    cross_attentions: Arrays,
    is_last_normed: bool,
    n_source: int = 0,
) -> _Stack:
    """The arrays of one stack under the names of sites that begin with ``at``; ``called`` begins those of arguments."""
    maps = [_weights(one, f"{called}attentions[{k}]", (n, n)) for k, one in enumerate(attentions)]
    across = [_weights(one, f"cross_attentions[{k}]", (n, n_source)) for k, one in enumerate(cross_attentions)]
    states = [_array(one, f"{called}hidden_states[{k}]", 2) for k, one in enumerate(hidden_states)]
    for k, one in enumerate(states):
        if one.shape != states[0].shape or len(one) != n:
            raise ValueError(f"{called}hidden_states[{k}]: expected [{n}, D] for {n} tokens, got {list(one.shape)}")
    if len(counts := {len(one) for one in (*maps, *across)}) > 1:
        raise ValueError(f"{called}attentions: expected as many heads in every layer, got {sorted(counts)}")
    depth = len(maps) or len(across) or max(1, len(states) - 1)
    if across and len(across) != depth:
        raise ValueError(f"cross_attentions: expected {depth} for {depth} layers, got {len(across)}")
    if maps and states and len(states) != depth + 1:
        raise ValueError(f"{called}hidden_states: expected {depth + 1} for {depth} layers, got {len(states)}")

    values = {f"{at}blocks.{k}.attn.pattern": one for k, one in enumerate(maps)}
    values |= {f"{at}blocks.{k}.cross.pattern": one for k, one in enumerate(across)}
    if states:
        values[f"{at}embed.out"] = states[0]
    for k, (before, after) in enumerate(pairwise(states)):
        values |= {f"{at}blocks.{k}.resid.in": before, f"{at}blocks.{k}.resid.out": after}
    if is_last_normed and len(states) > 1:
        values[f"{at}final.norm.out"] = values.pop(f"{at}blocks.{len(states) - 2}.resid.out")
    return _Stack(
        values,
        depth,
        heads=max(counts, default=0),
        width=states[0].shape[1] if states else 0,
        is_causal=bool(maps) and all(not one.triu(1).any() for one in maps),
    )


def are_weights(found: Tensor) -> bool:
    """Whether no number is negative, and no row sums to more than 1."""
    return not found.numel() or bool(found.min() >= 0 and found.sum(-1).max() <= 1 + _ROUNDING)


def _weights(given: Any, name: str, size: tuple[int, int]) -> Tensor:
    """Attention weights [H, Tq, Tk]."""
    found = _array(given, name, 3)
    if found.shape[1:] != size:
        raise ValueError(f"{name}: expected [H, {size[0]}, {size[1]}] for {size[0]} tokens, got {list(found.shape)}")
    if not are_weights(found):
        raise ValueError(f"{name}: the rows of a query sum to 1, or to less where a sink takes the rest; these do not")
    return found


def _listed(given: Any, name: str) -> list[Any]:
    """Names or ids of tokens, without a batch of one."""
    if isinstance(given, str):
        raise ValueError(f"{name}: expected a list of tokens or of ids, got a text")
    found = given.tolist() if isinstance(given, Tensor | np.ndarray) else list(given)
    return found[0] if len(found) == 1 and isinstance(found[0], list) else found


def _array(given: Any, name: str, axes: int) -> Tensor:
    """An array in single precision, without a batch of one."""
    if given is None:
        raise ValueError(f"{name}: it is None; leave the argument out where some layers report nothing")
    try:
        found = given.detach() if isinstance(given, Tensor) else torch.as_tensor(np.asarray(given, dtype=np.float32))
    except (TypeError, ValueError):
        raise ValueError(f"{name}: expected numbers in {axes} axes") from None
    found = found.to("cpu", torch.float32)
    if found.dim() == axes + 1 and len(found) == 1:
        found = found[0]
    if found.dim() != axes or not found.numel():
        raise ValueError(f"{name}: expected numbers in {axes} axes, got the shape {list(found.shape)}")
    if not found.isfinite().all():
        raise ValueError(f"{name}: it holds numbers that are not finite")
    return found


def _tokens(given: Sequence[Any], n_logits: int, tokenizer: Tokenizer | None) -> tuple[Tokenizer, list[int]]:
    if all(isinstance(token, str) for token in given):
        named = _Named(given, n_logits)
        return named, named.ids(given)
    try:
        ids = [operator.index(id) for id in given]
    except TypeError:
        raise ValueError("tokens: expected names alone, or ids alone") from None
    if min(ids) < 0:
        raise ValueError(f"tokens: an id is {min(ids)}, expected at least 0")
    return tokenizer or IdTokenizer(max(n_logits, *ids, 0) + (max(ids) >= n_logits)), ids


def shapes(config: ModelConfig) -> Transformer:
    """A model of this config without weights: what is declared of it is asked, and nothing computed."""
    with torch.device("meta"):
        return Transformer(config)
