"""Models of ``transformers`` that are not recomputed here: each of their runs is what the model itself reports."""

import inspect
import warnings
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from viz_model.runs.language_model import LanguageModel, plain
from viz_model.runs.observed import are_weights, observe, shapes
from viz_model.runs.trace import Trace
from viz_model.tokenizers.text import check_text
from viz_model.tokenizers.tokenizer import IdTokenizer, Token, Tokenizer


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

    def encode_target(self, text: str, *, special: bool = True, as_text: bool = False) -> list[int]:
        check_text(text)
        kept = {"split_special_tokens": True} if as_text else {}
        return list(self._given(text_target=text, add_special_tokens=special, **kept)["input_ids"])

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
        target_ids: Sequence[int] | None = None,
        max_tokens: int | None = None,
        **asked: Any,
    ) -> Trace:
        """The model's own run on a text or on ids, as :func:`observe_run` reads it.

        Args:
            text, ids: one of them.
            target, target_ids: of an encoder–decoder, what its decoder has said so far; its start alone by default.
            max_tokens: read at most so many.
            asked: what :meth:`viz_model.LanguageModel.trace` takes besides; whatever would change the run is refused.

        Raises:
            ValueError: neither a text nor ids, nothing to read, or something that changes a run.
        """
        refused = {**asked, "between": None, "keep": None, "as_text": None}
        if changed := sorted(name for name, value in refused.items() if value is not None and value != ()):
            raise ValueError(
                f"{changed[0]}: {self.name} is observed, not recomputed: nothing of its run can be changed"
            )
        if (text is None) == (ids is None):
            raise ValueError("give either a text or ids=[…]")
        read = self._encoded(text, bool(asked.get("as_text"))) if ids is None else plain(ids)
        reads = self._target(target, target_ids, None)
        most = min(self.config.n_context, max_tokens or self.config.n_context)
        kept = None if reads is None else reads[:most]
        run = observe_run(self.source, self.shortened(read, most), self.reader, target=kept, name=self.name)
        return replace(
            run,
            loaded=self.config,
            model=self.model,
            tokenizer=self.tokenizer,
            text=text,
            n_dropped=max(0, len(read) - most),
            target=target,
            n_target_dropped=0 if reads is None or kept is None else len(reads) - len(kept),
        )

    def said(self, text: str, most: int) -> str:
        """What an encoder–decoder writes by itself of a text, in at most so many tokens: nothing where it cannot."""
        if (start := self.config.start_id) is None or not self.config.has_logits:
            return ""
        ids, reads = self.shortened(self.tokenizer.encode(text), self.config.n_context), [start]
        source: Any = self.source
        ends = getattr(getattr(source, "generation_config", source.config), "eos_token_id", None)
        ends = {ends} if ends is None or isinstance(ends, int) else set(ends)
        with torch.inference_mode():
            # Some begin with the token that ends.
            while len(reads) <= min(most, self.config.n_context) and not (reads[1:] and reads[-1] in ends):
                reads.append(int(reported(source, ids, reads)["logits"][0, -1].argmax()))
        return self.tokenizer.decode([id for id in reads[1:] if id not in ends])

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
    start = _start(model) if _is_pair(model) else None
    padding = getattr(getattr(model, "config", None), "pad_token_id", None)
    two = [id for id in range(3) if id != padding][:2]  # some warn of padding, and fail in that
    seen = observe_run(model, two, tokenizer, target=[start or 0] if _is_pair(model) else None, name=name)
    said: Any = getattr(model, "config", None)
    longest = getattr(said, "max_position_embeddings", None)
    longest = longest if isinstance(longest, int) and longest > 0 else 512  # XLNet says −1: no end
    rows = max(seen.config.n_vocab, int(getattr(said, "vocab_size", 0) or 0))
    config = replace(seen.config, n_context=longest, n_vocab=rows, start_id=start)
    reader = IdTokenizer(rows) if tokenizer is None else Reader(tokenizer, rows)
    return ObservedModel(seen.name, shapes(config), reader, None, Path(), source=model, reader=tokenizer)


def observe_run(
    model: nn.Module,
    text: str | Sequence[int],
    tokenizer: Any = None,
    *,
    target: str | Sequence[int] | None = None,
    name: str = "",
) -> Trace:
    """The run of any model of ``transformers`` on a text, as the model itself computes it: observed, not recomputed.

    For classes that :func:`viz_model.load` does not know. The model must be able to say its attention: load it with
    ``attn_implementation="eager"``. What it reports in another shape than :func:`viz_model.observe` takes is left out,
    and so are logits of classes.

    Args:
        model: called with ``input_ids`` [1, T], ``output_attentions`` and ``output_hidden_states``.
        text: a text, read by ``tokenizer``; or T ids.
        tokenizer: of ``transformers``; without one, ids are named by themselves.
        target: of an encoder–decoder, what its decoder has said behind its start token; or all ids that it reads, the
            start token first. By default the start token alone.
        name: what the model is called; by default its class.

    Raises:
        ValueError: the model says none of these, a text was given without a tokenizer, or there is nothing to run.
    """
    name = name or type(model).__name__
    if tokenizer is None and (isinstance(text, str) or isinstance(target, str)):
        raise ValueError("give a tokenizer, or ids in place of a text")
    ids = list(tokenizer(text)["input_ids"]) if isinstance(text, str) else plain(text)
    reads = _reads(model, target, tokenizer)
    if not ids or reads == []:
        raise ValueError("the text is empty: there is nothing to run")
    normed: list[Tensor] = []  # kept, so that no other tensor takes the place of one in memory
    norms = [
        module
        for name_of, module in model.named_modules()
        if "norm" in type(module).__name__.lower() and not any(part.isdigit() for part in name_of.split("."))
    ]
    hooks = [one.register_forward_hook(lambda _module, _given, out: normed.append(out)) for one in norms]
    try:
        with torch.inference_mode():
            said = reported(model, ids, reads)
    finally:
        for hook in hooks:
            hook.remove()
    n = len(ids if reads is None else reads)
    logits = said.get("logits")
    is_fit = isinstance(logits, Tensor) and logits.dim() == 3 and logits.shape[1] == n
    logits = None if not is_fit or _names_classes(model, logits) else logits
    first = "" if reads is None else "encoder_"
    maps, states = _fitting(said, first, len(ids))
    decoder_maps, decoder_states = ((), ()) if reads is None else _fitting(said, "decoder_", n)
    across = () if reads is None else _maps(said.get("cross_attentions"), (n, len(ids)))
    two = ((maps, decoder_maps, 1), (states, decoder_states, 2))
    if any(one and other and one[0].shape[axis] != other[0].shape[axis] for one, other, axis in two):
        what = "its encoder has other heads or another width than its decoder, and is left out"
        warnings.warn(f"{name}: {what}", stacklevel=2)
        maps, states = [], []
    if not (maps or states or decoder_maps or decoder_states or logits is not None):
        raise ValueError(f"{name}: it reports no attention, no hidden states and no logits of the shape of its tokens")
    if not (maps or decoder_maps or across):
        _warn_of_no_attention(model, said, name)
    ends = {each[-1].data_ptr() for each in (states, decoder_states) if each}
    return observe(
        ids,
        attentions=maps,
        hidden_states=states,
        logits=logits,
        target=reads,
        decoder_attentions=decoder_maps,
        decoder_hidden_states=decoder_states,
        cross_attentions=across if len(across) == len(decoder_maps) else (),
        tokenizer=None if tokenizer is None else Reader(tokenizer, 0 if logits is None else logits.shape[-1]),
        is_last_normed=any(isinstance(one, Tensor) and one.data_ptr() in ends for one in normed),
        is_causal=_writes(model) if logits is not None and (n == 1 or not maps) else None,
        name=name,
    )


def _warn_of_no_attention(model: nn.Module, said: Any, name: str) -> None:
    """Where a model has attention that cannot be shown, why."""
    kind = getattr(getattr(model, "config", None), "_attn_implementation", None) or "eager"
    given = [one for key, found in said.items() if "attentions" in key for one in found or () if one is not None]
    if given:
        what = "no map of weights between its tokens, of as many heads in every layer"
        warnings.warn(f"{name}: the attention that it reports is left out: it is {what}", stacklevel=3)
    elif kind != "eager":
        how = 'load it with attn_implementation="eager"'
        warnings.warn(f"{name}: loaded with {kind!r} it says no attention; {how}", stacklevel=3)


def _names_classes(model: nn.Module, logits: Tensor) -> bool:
    """Whether its logits are of classes, one for each token, and of no vocabulary."""
    is_as_wide = logits.shape[-1] == getattr(getattr(model, "config", None), "num_labels", None)
    asked = getattr(model, "get_output_embeddings", None)
    return is_as_wide and asked is not None and asked() is None


def _writes(model: nn.Module) -> bool | None:
    """Whether its logits are of the next token, where its class says so: attention that shows it may be missing."""
    asked = getattr(model, "can_generate", None)
    return None if asked is None else bool(asked())


def _is_pair(model: nn.Module) -> bool:
    """Whether it is an encoder–decoder, and reads what its decoder has said."""
    takes = inspect.signature(model.forward).parameters
    return bool(getattr(getattr(model, "config", None), "is_encoder_decoder", False)) and "decoder_input_ids" in takes


def _start(model: nn.Module) -> int | None:
    """The token that its decoder begins with, where it says so."""
    for said in (getattr(model, "generation_config", None), getattr(model, "config", None)):
        if (start := getattr(said, "decoder_start_token_id", None)) is not None:
            return int(start)
    return None


def _reads(model: nn.Module, target: str | Sequence[int] | None, tokenizer: Any) -> list[int] | None:
    """What the decoder of an encoder–decoder reads; None for other models."""
    if not _is_pair(model):
        if target is not None:
            raise ValueError(f"target: only an encoder–decoder has one, {type(model).__name__} is none")
        return None
    if target is not None and not isinstance(target, str):
        return plain(target, "target")
    if (start := _start(model)) is None:
        raise ValueError(f"{type(model).__name__} does not say what its decoder begins with; give target=[…]")
    return [start, *(tokenizer(text_target=target, add_special_tokens=False)["input_ids"] if target else ())]


def reported(model: nn.Module, ids: list[int], reads: list[int] | None, *, attention: bool = True) -> Any:
    """What a model of ``transformers`` returns of T ids, and of those that its decoder reads, where it has one.

    Raises:
        ValueError: it is called in another way, or does not take so many tokens.
    """
    device = next(model.parameters()).device
    given = {"input_ids": ids} if reads is None else {"input_ids": ids, "decoder_input_ids": reads}
    was = model.training
    model.eval()
    try:
        return model(
            **{key: torch.tensor([one], device=device) for key, one in given.items()},
            output_attentions=attention,
            output_hidden_states=True,
            return_dict=True,
        )
    except torch.OutOfMemoryError:
        raise
    except Exception as error:  # whatever a class raises that is called in another way, or takes other lengths
        takes = getattr(model, "main_input_name", "input_ids")
        said = " ".join(str(error).split())[:200]
        why = f"reads {takes}, no tokens" if takes != "input_ids" else f"does not run on these tokens alone ({said})"
        raise ValueError(f"{type(model).__name__}: it {why}; hand what it computes to vm.observe") from None
    finally:
        model.train(was)


def _maps(given: Any, size: tuple[int, int]) -> list[Tensor]:
    """Attention weights of all layers, or nothing: a band of them is no map of tokens, layers have heads alike, and
    scores before the softmax are no weights."""
    found = [one for one in given or () if isinstance(one, Tensor) and one.dim() == 4]
    fits = all(one.shape[1:] == (found[0].shape[1], *size) for one in found)
    return found if fits and all(map(are_weights, found)) else []


def _fitting(said: Any, first: str, n: int) -> tuple[list[Tensor], list[Tensor]]:
    """Attention and hidden states of a stack, as far as they are of its tokens and fit together."""
    states = list(said.get(f"{first}hidden_states") or ())
    fits = (isinstance(one, Tensor) and one.dim() == 3 and one.shape[1:] == (n, states[0].shape[2]) for one in states)
    states = states if all(fits) else []
    maps = _maps(said.get(f"{first}attentions"), (n, n))
    return maps if not states or len(maps) == len(states) - 1 else [], states
