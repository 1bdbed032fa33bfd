"""Runs that happened elsewhere: tokens, attention, hidden states and logits as plain arrays, or of any model's own run.

Nothing is computed again here but probabilities from logits. What was not handed over cannot be read, and says why.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from viz_model.config import LanguageHead, ModelConfig, NoHead
from viz_model.model.transformer import Transformer
from viz_model.runs import display
from viz_model.runs.language_model import LanguageModel, plain
from viz_model.runs.trace import Trace, counted
from viz_model.tokenizers.text import check_text
from viz_model.tokenizers.tokenizer import IdTokenizer, Token, Tokenizer

Arrays = Sequence[Any]


class Observed(Trace):
    """A run that was handed over: a :class:`Trace` of what is there. Other values raise KeyError, and say why."""

    @property
    def sites(self) -> tuple[str, ...]:
        return tuple(name for name in Trace.sites.fget(self) if name in self)  # type: ignore[attr-defined]

    def __contains__(self, name: object) -> bool:
        return name in self.values or (name == "probs" and "logits" in self.values)

    def __getitem__(self, name: str) -> Tensor:
        full = self.full_name(name)
        if full in self.values:
            return self.values[full]
        if full == "probs" and "logits" in self.values:
            return self.values["logits"].softmax(-1)
        self.site(name)
        there = ", ".join(dict.fromkeys(re.sub(r"^blocks\.\d+", "blocks.*", one) for one in self.values))
        raise KeyError(f"{name}: this run was observed, not recomputed; what was handed over is {there}")

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
        self.name, self.n_vocab = "observed", n_logits + len(self._names)

    def encode(self, text: str, *, special: bool = True, as_text: bool = False) -> list[int]:
        raise ValueError("this run was observed: its tokenizer is not known, so no other text can be read")

    def ids(self, names: Sequence[str]) -> list[int]:
        return [self._first + self._names.index(name) for name in names]

    def decode(self, ids: Any) -> str:
        return "".join(self.token(id).text for id in ids)

    def token(self, id: int) -> Token:
        self._unused(int(id))
        name = str(id) if id < self._first else self._names[id - self._first]
        return Token(int(id), name.encode("utf-8", "replace"), name)


class Reader(Tokenizer):
    """A tokenizer of ``transformers`` as it is, for a model that is observed.

    Args:
        given: the tokenizer.
        n_rows: of what the model predicts among, where that is more than there are tokens.
    """

    def __init__(self, given: Any, n_rows: int) -> None:
        self._given = given
        self.name = str(getattr(given, "name_or_path", "") or type(given).__name__)
        self.n_vocab = max(len(given), n_rows)
        self.controls = frozenset(given.all_special_ids)
        self.mask_id, self.unknown_id = given.mask_token_id, given.unk_token_id

    def encode(self, text: str, *, special: bool = True, as_text: bool = False) -> list[int]:
        check_text(text)
        kept = {"split_special_tokens": True} if as_text else {}
        return list(self._given(text, add_special_tokens=special, **kept)["input_ids"])

    def decode(self, ids: Iterable[int]) -> str:
        return str(self._given.decode(list(ids), skip_special_tokens=True))

    def token(self, id: int) -> Token:
        self._unused(int(id))
        piece = self._given.convert_ids_to_tokens(int(id)) if id < len(self._given) else None
        if piece is None:
            return self._unused(int(id))
        text = str(self._given.decode([int(id)]))
        # SentencePiece writes a space as this sign, and leaves it out in front of a text.
        text = f" {text}" if piece.startswith("\u2581") and not text.startswith(" ") else text
        text = piece if "\ufffd" in text else text  # some bytes of a character
        return Token(int(id), text.encode("utf-8", "replace"), text or piece)


@dataclass(frozen=True, eq=False, repr=False)
class ObservedModel(LanguageModel):
    """What :func:`observe_model` returns: its traces are what the model itself reports, and say so.

    Attributes:
        source: the model of ``transformers``.
        reader: its tokenizer, as :func:`observe_run` takes it.
    """

    source: nn.Module = field(default_factory=nn.Identity)
    reader: Any = None

    def __repr__(self) -> str:
        sizes = f"{self.config.n_layers} layers × {self.config.n_heads} heads, width {self.config.d_model}"
        return f"ObservedModel({self.name!r}: {sizes}; not recomputed)"

    def trace(
        self,
        text: Any = None,
        target: str | None = None,
        *,
        ids: Sequence[int] | None = None,
        max_tokens: int | None = None,
        **asked: Any,
    ) -> Trace:
        """The model's own run on a text or on ids, as :func:`observe_run` reads it.

        Args:
            text, ids: one of them.
            max_tokens: read at most so many.
            target, asked: what :meth:`viz_model.LanguageModel.trace` takes besides; whatever would change the run is
                refused.

        Raises:
            ValueError: neither a text nor ids, nothing to read, or something that changes a run.
        """
        refused = {"target": target, **asked, "between": None, "keep": None, "as_text": None}
        if changed := sorted(name for name, value in refused.items() if value is not None and value != ()):
            raise ValueError(
                f"{changed[0]}: {self.name} is observed, not recomputed: nothing of its run can be changed"
            )
        if (text is None) == (ids is None):
            raise ValueError("give either a text or ids=[…]")
        read = self._encoded(text, bool(asked.get("as_text"))) if ids is None else plain(ids)
        most = min(self.config.n_context, max_tokens or self.config.n_context)
        run = observe_run(self.source, self.shortened(read, most), self.reader, name=self.name)
        return replace(
            run,
            loaded=self.config,
            model=self.model,
            tokenizer=self.tokenizer,
            text=text,
            n_dropped=max(0, len(read) - most),
        )

    def decoder(self, *args: Any, **kwargs: Any) -> Any:
        """Refused: nothing is computed here.

        Raises:
            ValueError: always.
        """
        raise ValueError(f"{self.name} is observed, not recomputed: it does not write here; ask the model itself")


def observe_model(model: nn.Module, tokenizer: Any = None, *, name: str = "") -> ObservedModel:
    """Any model of ``transformers`` as one that :func:`viz_model.open_app` and the pages take: each of its runs is
    observed, not recomputed.

    Args:
        model: loaded with ``attn_implementation="eager"``, so that it can say its attention.
        tokenizer: of ``transformers``; without one, its pages can show nothing that is typed.
        name: what it is called; by default its class.

    Raises:
        ValueError: the model does not run on two tokens, or says nothing of what it computes.
    """
    seen = observe_run(model, [0, 1], tokenizer, name=name)
    said: Any = getattr(model, "config", None)
    longest = getattr(said, "max_position_embeddings", None) or 512
    rows = max(seen.config.n_vocab, int(getattr(said, "vocab_size", 0) or 0))
    config = replace(seen.config, n_context=int(longest), n_vocab=rows)
    reader = IdTokenizer(rows) if tokenizer is None else Reader(tokenizer, rows)
    return ObservedModel(seen.name, _shapes(config), reader, None, Path(), source=model, reader=tokenizer)


def observe(
    tokens: Sequence[str] | Sequence[int],
    *,
    attentions: Arrays = (),
    hidden_states: Arrays = (),
    logits: Any = None,
    tokenizer: Tokenizer | None = None,
    is_last_normed: bool = False,
    name: str = "observed",
) -> Trace:
    """A run that happened elsewhere, of whatever model: a :class:`Trace` of what it has, for :mod:`viz_model.plot`.

    Arrays are tensors, NumPy arrays or nested lists; an axis of 1 in front, of a batch, is left away.

    Args:
        tokens: names or ids of T tokens.
        attentions: for each layer [H, T, T]: rows are queries, and sum to 1.
        hidden_states: [T, D] for each layer and one more: what enters the first block, and what leaves each.
        logits: [T, V].
        tokenizer: of ids; without one they are named by themselves.
        is_last_normed: whether the last of ``hidden_states`` is what the final norm makes of what leaves the last
            block, as most decoders of ``transformers`` have it: it is then ``final.norm.out``.
        name: what the model is called.

    Raises:
        ValueError: nothing was handed over, or shapes do not fit together.
    """
    n = len(tokens)
    maps = [_array(one, f"attentions[{k}]", 3) for k, one in enumerate(attentions)]
    states = [_array(one, f"hidden_states[{k}]", 2) for k, one in enumerate(hidden_states)]
    said = None if logits is None else _array(logits, "logits", 2)
    if not n or not (maps or states or said is not None):
        raise ValueError("give tokens, and attentions=[…], hidden_states=[…] or logits=…")
    for k, one in enumerate(maps):
        if one.shape != maps[0].shape or one.shape[1:] != (n, n):
            raise ValueError(f"attentions[{k}]: expected [H, {n}, {n}] for {n} tokens, got {list(one.shape)}")
        if not torch.allclose(one.sum(-1), torch.ones(()), atol=1e-2):
            raise ValueError(f"attentions[{k}]: the rows of a query sum to 1; these do not")
    for k, one in enumerate(states):
        if one.shape != states[0].shape or len(one) != n:
            raise ValueError(f"hidden_states[{k}]: expected [{n}, D] for {n} tokens, got {list(one.shape)}")
    if said is not None and len(said) != n:
        raise ValueError(f"logits: expected [{n}, V] for {n} tokens, got {list(said.shape)}")
    if maps and states and len(states) != len(maps) + 1:
        raise ValueError(f"hidden_states: expected {len(maps) + 1} for {len(maps)} layers, got {len(states)}")
    depth = len(maps) or max(1, len(states) - 1)

    values: dict[str, Tensor] = {f"blocks.{k}.attn.pattern": one for k, one in enumerate(maps)}
    if states:
        values["embed.out"] = states[0]
    for k, (before, after) in enumerate(pairwise(states)):
        values |= {f"blocks.{k}.resid.in": before, f"blocks.{k}.resid.out": after}
    if is_last_normed and len(states) > 1:
        values["final.norm.out"] = values.pop(f"blocks.{len(states) - 2}.resid.out")
    if said is not None:
        values["logits"] = said
    named, ids = _tokens(tokens, 0 if said is None else said.shape[1], tokenizer)
    values["tokens.ids"] = torch.tensor(ids)
    is_causal = bool(maps) and all(not one.triu(1).any() for one in maps)
    heads = len(maps[0]) if maps else 1
    config = ModelConfig(
        n_vocab=named.n_vocab,
        n_context=n,
        n_layers=depth,
        d_model=states[0].shape[1] if states else heads,
        n_heads=heads,
        d_head=1,
        d_ffn=1,
        kind="decoder" if is_causal or (said is not None and not maps) else "encoder",
        head=LanguageHead() if said is not None or is_causal else NoHead(),
        observed=True,
    )
    return Observed(
        model=_shapes(config),
        tokenizer=named,
        ids=tuple(ids),
        text=None,
        n_dropped=0,
        values=values,
        loaded=config,
        name=name,
    )


def observe_run(model: nn.Module, text: str | Sequence[int], tokenizer: Any = None, *, name: str = "") -> Trace:
    """The run of any model of ``transformers`` on a text, as the model itself computes it: observed, not recomputed.

    For classes that :func:`viz_model.load` does not know. The model must be able to say its attention: load it with
    ``attn_implementation="eager"``.

    Args:
        model: called with ``input_ids`` [1, T], ``output_attentions`` and ``output_hidden_states``.
        text: a text, read by ``tokenizer``; or T ids.
        tokenizer: of ``transformers``; without one, ids are named by themselves.
        name: what the model is called; by default its class.

    Raises:
        ValueError: the model says none of these, or a text was given without a tokenizer.
    """
    if isinstance(text, str) and tokenizer is None:
        raise ValueError("give a tokenizer, or ids in place of a text")
    ids = list(tokenizer(text)["input_ids"]) if isinstance(text, str) else plain(text)
    device = next(model.parameters()).device
    normed: list[Tensor] = []  # kept, so that no other tensor takes the place of one in memory
    norms = [
        module
        for name_of, module in model.named_modules()
        if "norm" in type(module).__name__.lower() and not any(part.isdigit() for part in name_of.split("."))
    ]
    hooks = [one.register_forward_hook(lambda _module, _given, out: normed.append(out)) for one in norms]
    try:
        with torch.inference_mode():
            said = _said(model, ids, device)
    finally:
        for hook in hooks:
            hook.remove()
    full = [one for one in said.get("attentions") or () if one is not None and one.dim() == 4]
    states = said.get("hidden_states") or ()
    last = states[-1].data_ptr() if states else None
    logits = said.get("logits")
    return observe(
        ids,
        attentions=full if not states or len(full) == len(states) - 1 else (),
        hidden_states=states,
        logits=logits,
        tokenizer=None if tokenizer is None else Reader(tokenizer, 0 if logits is None else logits.shape[-1]),
        is_last_normed=any(isinstance(one, Tensor) and one.data_ptr() == last for one in normed),
        name=name or type(model).__name__,
    )


def _said(model: nn.Module, ids: list[int], device: torch.device) -> Any:
    given = torch.tensor([ids], device=device)
    was = model.training
    model.eval()
    try:
        return model(input_ids=given, output_attentions=True, output_hidden_states=True, return_dict=True)
    finally:
        model.train(was)


def _array(given: Any, name: str, axes: int) -> Tensor:
    """An array in single precision, without a batch of one."""
    try:
        found = given.detach() if isinstance(given, Tensor) else torch.as_tensor(np.asarray(given, dtype=np.float32))
    except (TypeError, ValueError):
        raise ValueError(f"{name}: expected numbers in {axes} axes") from None
    found = found.to("cpu", torch.float32)
    if found.dim() == axes + 1 and len(found) == 1:
        found = found[0]
    if found.dim() != axes or not found.numel() or not found.isfinite().all():
        raise ValueError(f"{name}: expected finite numbers in {axes} axes, got the shape {list(found.shape)}")
    return found


def _tokens(given: Sequence[Any], n_logits: int, tokenizer: Tokenizer | None) -> tuple[Tokenizer, list[int]]:
    if all(isinstance(token, str) for token in given):
        named = _Named(given, n_logits)
        return named, named.ids(given)
    ids = [int(id) for id in given]
    if min(ids) < 0:
        raise ValueError(f"tokens: an id is {min(ids)}, expected at least 0")
    return tokenizer or IdTokenizer(max(n_logits, *ids, 0) + (max(ids) >= n_logits)), ids


def _shapes(config: ModelConfig) -> Transformer:
    """A model of this config without weights: what is declared of it is asked, and nothing computed."""
    with torch.device("meta"):
        return Transformer(config)
