"""The classic slips: each step as two short functions, one of them wrong, and what the wrong one does to a run.

>>> slip = SLIPS["causal"]
>>> sources(slip, place)  # what visitors read: the very lines that are run
>>> outcome(slip, place).effect

A slip is computed where a run has what it needs: its own tensors go through both functions, and then the
whole model runs with the wrong one in every place where it belongs. The model that is loaded is never
changed: a copy shares its weights (:mod:`viz_model.topics.mistakes.numbers.swaps`).
"""

from __future__ import annotations

import ast
import inspect
import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Literal, NamedTuple

import numpy as np
import torch
from torch import Tensor

from viz_model.config import LayerNorm, NoNorm, Sinusoidal
from viz_model.model import masks, ops
from viz_model.model.attention import scale
from viz_model.model.transformer import Transformer
from viz_model.runs import record
from viz_model.runs.trace import Trace
from viz_model.tokenizers.tokenizer import Token, cl100k_base
from viz_model.topics.mistakes.numbers import right, swaps, wrong
from viz_model.topics.mistakes.numbers.swaps import Function, call

LEAST = 3
"""Tokens that a text must have: with fewer, right and wrong often come to the same."""
N_PADDING = 4
P_DROPOUT = 0.1
"""Of the base model in Vaswani et al. 2017, section 5.4."""
CHINESE, CHINESE_WORDS = "我爱深度学习", 4
LARGEST_ID = 100_069
"""The largest id in a well-known tutorial's corpus, cut by cl100k_base."""

Axis = Literal["query", "key", "token", "dimension", "candidate"]


class Place(NamedTuple):
    """Where a slip is looked at. ``trace`` is seen from one stack, in which ``position`` counts."""

    trace: Trace
    layer: int
    head: int
    position: int

    def at(self, name: str) -> str:
        """The name of a value of the block."""
        return f"blocks.{self.layer}.{name}"

    @property
    def visible(self) -> Tensor:
        """The mask [Tq, Tk] of the layer's self-attention, True where a query may look."""
        return swaps.visible(self.trace, self.layer)

    @property
    def output(self) -> int:
        """The position of the output that is looked at: this one, or the last, where another stack predicts."""
        run = self.trace
        return self.position if run.stack.side == run.config.sides[-1] else len(run.target_ids or ()) - 1


def _is_waves(place: Place) -> bool:
    position = place.trace.config.position
    return isinstance(position, Sinusoidal) and position.layout == "interleaved"


NEEDS: Mapping[str, Callable[[Place], bool]] = MappingProxyType(
    {
        "long": lambda at: len(at.trace) >= LEAST,
        "causal": lambda at: at.visible.equal(masks.causal(*at.visible.shape)),
        "two_way": lambda at: bool(at.visible.all()) and at.trace.stack.side == "encoder",
        "scaled": lambda at: at.trace.config.scale_scores,
        "heads": lambda at: at.trace.config.n_heads > 1,
        "waves": _is_waves,
        "layer_norm": lambda at: isinstance(at.trace.config.norm, LayerNorm),
        "added": lambda at: at.trace.config.residual and not isinstance(at.trace.config.norm, NoNorm),
        "pre": lambda at: at.trace.config.norm_at == "pre",
        "predicts": lambda at: "logits" in at.trace and at.trace.stack.side == "decoder",
        "tied": lambda at: "logits" in at.trace and at.trace.config.tie_embeddings,
    }
)
"""What a run may lack for a slip, by the key of the words that say so."""


class Matrix(NamedTuple):
    """Numbers [R, C] with what their axes are; the columns may be the first of more (``n_columns``)."""

    values: np.ndarray
    rows: Axis
    columns: Axis
    n_columns: int
    is_pattern: bool = False


class Bars(NamedTuple):
    """A number for each of a few tokens."""

    values: np.ndarray
    tokens: tuple[Token, ...]
    of: Literal["loss", "probability"]


class Said(NamedTuple):
    """What a function gave back or refused, in Python's own words."""

    text: str
    is_error: bool


Result = Matrix | Bars | Said


class Effect(NamedTuple):
    """What the whole model says at one position, right and with the slip everywhere.

    Without logits there are no tokens, and ``change`` is ‖difference‖ / ‖right‖ of the vectors; with
    them it is KL(right ‖ wrong) in bits. It is NaN where the slip leaves no number.
    """

    before: tuple[Token, float] | None
    after: tuple[Token, float] | None
    change: float

    @property
    def is_lost(self) -> bool:
        return math.isnan(self.change)


class Outcome(NamedTuple):
    """What both functions made of the same tensors.

    ``largest`` is max |right − wrong| at cell ``at`` and ``relative`` ‖right − wrong‖ / ‖right‖ over the finite
    cells, ``n_lost`` the rows of the wrong one that hold NaN, ``gap`` max |right − trace|. All are None where they
    mean nothing. ``facts`` are further numbers by name.
    """

    right: Result
    wrong: Result
    largest: float | None
    at: tuple[int, int] | None
    relative: float | None
    n_lost: int
    gap: float | None
    effect: Effect | None
    facts: Mapping[str, str]


MOST_COLUMNS = 48


@dataclass(frozen=True)
class Slip(ABC):
    """One pair of functions.

    ``name`` is what both are called, ``needs`` what a run must have (:data:`NEEDS`), ``reads`` the argument that
    they are given first.
    """

    name: str
    needs: tuple[str, ...] = ()
    reads: str = "x"

    def lacks(self, place: Place) -> str | None:
        """What a run lacks for it; None where it has everything."""
        return next((need for need in ("long", *self.needs) if not NEEDS[need](place)), None)

    def function(self, place: Place) -> str:
        """The name of both functions."""
        return self.name

    @abstractmethod
    def site(self, place: Place) -> str:
        """The value of the run that the right one gives."""

    @abstractmethod
    def given(self, place: Place) -> dict[str, Any]:
        """The arguments, by name; more than a function takes."""

    @abstractmethod
    def shown(self, place: Place, value: Any) -> Result:
        """What a function gave, to be drawn."""

    def traced(self, place: Place) -> Tensor | None:
        """What the run has in the place of the right one's result."""
        return place.trace[self.site(place)]

    def comparable(self, place: Place, value: Any) -> Any:
        """What a function gave, as the run holds it."""
        return value

    def changed(self, place: Place, function: Function) -> Transformer | None:
        """The model with a function in every place where it belongs; None where no forward pass holds it."""
        return None

    def effect(self, place: Place, function: Function) -> Effect | None:
        """What the model then says."""
        model = self.changed(place, function)
        if model is None:
            return None
        run = place.trace
        return effect(run, swaps.last_vectors(run), swaps.vectors(run, model), place.output)

    def facts(self, place: Place, results: tuple[Any, Any]) -> dict[str, str]:
        """Numbers for its words."""
        return {}

    def input(self, place: Place) -> Matrix | None:
        """What both functions are given first."""
        return None


def _matrix(value: Tensor, rows: Axis, columns: Axis, *, is_pattern: bool = False) -> Matrix:
    shown = value if columns == "key" else value[:, :MOST_COLUMNS]
    return Matrix(shown.float().numpy(), rows, columns, value.shape[-1], is_pattern)


@dataclass(frozen=True)
class Pattern(Slip):
    """How scores become weights. Both functions give one head's pattern [Tq, Tk]."""

    reads: str = "scores"

    def site(self, place: Place) -> str:
        return place.at("attn.pattern")

    def given(self, place: Place) -> dict[str, Any]:
        run, layer = place.trace, place.layer
        q, k = swaps.queries_and_keys(run, layer, place.head)
        bias = run.head(place.at("attn.bias"), place.head) if place.at("attn.bias") in run else None
        return swaps.attention_arguments(q, k, bias, place.visible, scale(run.config))

    def shown(self, place: Place, value: Any) -> Result:
        return _matrix(value, "query", "key", is_pattern=True)

    def traced(self, place: Place) -> Tensor | None:
        return place.trace.head(self.site(place), place.head)

    def changed(self, place: Place, function: Function) -> Transformer | None:
        run = place.trace
        layers = [
            layer
            for layer in range(run.n_layers)
            if "causal" not in self.needs or NEEDS["causal"](place._replace(layer=layer))
        ]
        return swaps.with_pattern(run, layers, function)

    def facts(self, place: Place, results: tuple[Any, Any]) -> dict[str, str]:
        made = results[1]
        sums, finite = made.sum(-1), made[made.isfinite().all(-1)]
        later = finite.triu(1).sum(-1).mean().item() if len(finite) else 0.0
        width = place.trace.config.d_head
        return {
            "k": str(width),
            "root": f"{math.sqrt(width):.2f}".rstrip("0").rstrip("."),
            "sum_low": f"{sums.nan_to_num(nan=math.inf).min().item():.2f}",
            "sum_high": f"{sums.nan_to_num(nan=-math.inf).max().item():.2f}",
            "column_low": f"{made.nansum(0).min().item():.2f}",
            "column_high": f"{made.nansum(0).max().item():.2f}",
            "future": f"{later:.0%}",
            "peak": f"{results[0].amax(-1).mean().item():.0%}",
            "wrong_peak": f"{made.amax(-1).nanmean().item():.0%}",
        }

    def input(self, place: Place) -> Matrix | None:
        value = self.given(place)[self.reads]
        return _matrix(value, "query", "key") if self.reads != "q" else _matrix(value, "query", "dimension")


@dataclass(frozen=True)
class Padding(Slip):
    """One text in a batch whose other texts are longer. What is behind its end must not be looked at."""

    reads: str = "scores"

    def site(self, place: Place) -> str:
        return place.at("attn.pattern")

    def _run(self, place: Place) -> tuple[Trace, Tensor]:
        """The text with padding behind it that nobody sees, and which of its tokens are padding [T]."""
        ids, is_padding = swaps.padded(place.trace, N_PADDING)
        side = place.trace.stack.side
        visible = {side: masks.padding(len(ids), is_padding)}
        run = record.record(place.trace.model, place.trace.tokenizer, ids, place.trace.target_ids, visible=visible)
        return run.at(side), is_padding

    def given(self, place: Place) -> dict[str, Any]:
        run, is_padding = self._run(place)
        q, k = swaps.queries_and_keys(run, place.layer, place.head)
        bias = run.head(place.at("attn.bias"), place.head) if place.at("attn.bias") in run else None
        visible = masks.everything(len(is_padding), len(is_padding))
        return {
            **swaps.attention_arguments(q, k, bias, visible, scale(run.config)),
            "padding": is_padding,
        }

    def shown(self, place: Place, value: Any) -> Result:
        return _matrix(value[: len(place.trace)], "query", "key", is_pattern=True)

    def traced(self, place: Place) -> Tensor | None:
        pattern = place.trace.head(self.site(place), place.head)
        kept = len(swaps.padded(place.trace, N_PADDING)[0]) - N_PADDING
        if kept < len(pattern):
            return None  # the text fills the context, and was cut to make room
        return torch.nn.functional.pad(pattern, (0, N_PADDING))

    def effect(self, place: Place, function: Function) -> Effect | None:
        run = place.trace
        ids, is_padding = swaps.padded(run, N_PADDING)
        both = [swaps.vectors(run, run.model, ids=ids, padding=padding) for padding in (is_padding, None)]
        return effect(run, both[0], both[1], min(place.output, len(both[0]) - 1))

    def facts(self, place: Place, results: tuple[Any, Any]) -> dict[str, str]:
        n = results[1].shape[-1] - N_PADDING
        share = results[1][:n, n:].sum(-1).mean().item()
        return {"share": f"{share:.0%}", "n_padding": str(N_PADDING)}

    def input(self, place: Place) -> Matrix | None:
        return _matrix(self.given(place)["scores"][: len(place.trace)], "query", "key")


@dataclass(frozen=True)
class Split(Slip):
    """One matrix of all heads' queries, cut into heads."""

    def site(self, place: Place) -> str:
        return place.at("attn.q")

    def given(self, place: Place) -> dict[str, Any]:
        q = place.trace[self.site(place)]
        return {"x": ops.merge_heads(q).contiguous(), "n_heads": len(q)}

    def shown(self, place: Place, value: Any) -> Result:
        return _matrix(value[place.head], "query", "dimension")

    def traced(self, place: Place) -> Tensor | None:
        return place.trace[self.site(place)]

    def changed(self, place: Place, function: Function) -> Transformer | None:
        return swaps.with_split(place.trace, function)

    def facts(self, place: Place, results: tuple[Any, Any]) -> dict[str, str]:
        n_heads, length, _ = results[0].shape
        touched = range(place.head * length // n_heads, ((place.head + 1) * length - 1) // n_heads + 1)
        return {"first_token": str(touched[0]), "last_token": str(touched[-1]), "n_heads": str(n_heads)}

    def input(self, place: Place) -> Matrix | None:
        return _matrix(self.given(place)["x"], "token", "dimension")


@dataclass(frozen=True)
class Count(Slip):
    """A text is as long as its tokens, not as its characters."""

    def site(self, place: Place) -> str:
        return "tokens.ids"

    def lacks(self, place: Place) -> str | None:
        return None

    def given(self, place: Place) -> dict[str, Any]:
        return {"text": place.trace.text or "", "tokenizer": place.trace.tokenizer}

    def shown(self, place: Place, value: Any) -> Result:
        return Said(str(value), False)

    def traced(self, place: Place) -> Tensor | None:
        run = place.trace
        n_read = sum(id not in run.tokenizer.controls for id in run.ids) + run.n_dropped
        return torch.tensor(n_read) if run.text is not None else None

    def facts(self, place: Place, results: tuple[Any, Any]) -> dict[str, str]:
        return {
            "n_tokens": f"{results[0]:,}",
            "n_characters": f"{results[1]:,}",
            "chinese": CHINESE,
            "chinese_characters": str(len(CHINESE)),
            "chinese_words": str(CHINESE_WORDS),
            "chinese_tokens": str(right.count(CHINESE, cl100k_base())),
        }


@dataclass(frozen=True)
class LookUp(Slip):
    """Ids count from 0: the largest id is one less than the rows that are needed."""

    def site(self, place: Place) -> str:
        return "embed.token"

    def given(self, place: Place) -> dict[str, Any]:
        return {
            "embedding": place.trace.model.embedding.weight,
            "ids": torch.tensor(place.trace.own_ids),
        }

    def shown(self, place: Place, value: Any) -> Result:
        if isinstance(value, IndexError):
            return Said(f"IndexError: {value}", True)
        return Said(f"{' × '.join(map(str, value.shape))}", False)

    def traced(self, place: Place) -> Tensor | None:
        return place.trace["embed.token"] / place.trace.model.embedding_scale

    def facts(self, place: Place, results: tuple[Any, Any]) -> dict[str, str]:
        largest = max(place.trace.own_ids)
        return {
            "largest_id": f"{largest:,}",
            "n_rows": f"{largest + 1:,}",
            "tutorial_id": f"{LARGEST_ID:,}",
            "tutorial_rows": f"{LARGEST_ID + 1:,}",
        }


@dataclass(frozen=True)
class Waves(Slip):
    """The position vectors of Vaswani et al. 2017, section 3.5."""

    def site(self, place: Place) -> str:
        return "embed.position"

    def given(self, place: Place) -> dict[str, Any]:
        position = place.trace.config.position
        assert isinstance(position, Sinusoidal)  # or the slip's needs say no
        at = torch.arange(len(place.trace), dtype=torch.float64)
        return {"positions": at, "d_model": place.trace.config.d_model, "base": position.base}

    def _table(self, place: Place, value: Any) -> Tensor:
        table: Tensor = value
        if value.shape[-1] < place.trace.config.d_model:  # angles: a sine and a cosine of each
            table = torch.stack((value.sin(), value.cos()), dim=-1).flatten(-2)
        return table.float()

    def shown(self, place: Place, value: Any) -> Result:
        return _matrix(self._table(place, value), "token", "dimension")

    def traced(self, place: Place) -> Tensor | None:
        return place.trace[self.site(place)]

    def comparable(self, place: Place, value: Any) -> Any:
        return self._table(place, value)

    def changed(self, place: Place, function: Function) -> Transformer | None:
        return swaps.with_waves(place.trace, lambda **given: self._table(place, call(function, given)))

    def facts(self, place: Place, results: tuple[Any, Any]) -> dict[str, str]:
        one = {"positions": torch.ones(1, dtype=torch.float64), "d_model": 4, "base": 10_000.0}
        sines = [call(made.angles, one)[0, 1].sin().item() for made in (right, wrong)]
        half = place.trace.config.d_model // 2
        return {
            "sine": f"{sines[0]:.7f}",
            "wrong_sine": f"{sines[1]:.7f}".rstrip("0"),
            "half": str(half),
            "width": str(2 * half),
        }


@dataclass(frozen=True)
class Norm(Slip):
    """One LayerNorm: the first of the block."""

    def site(self, place: Place) -> str:
        return place.at("attn.norm.out")

    def given(self, place: Place) -> dict[str, Any]:
        norm = place.trace.stack.block(place.layer).attn_norm
        read = place.trace.norm_input(place.at("attn.norm"))
        return {"x": read, "gain": norm.weight, "shift": norm.bias, "eps": norm.eps}

    def shown(self, place: Place, value: Any) -> Result:
        return _matrix(value, "token", "dimension")

    def changed(self, place: Place, function: Function) -> Transformer | None:
        return swaps.with_norm(place.trace, function)

    def facts(self, place: Place, results: tuple[Any, Any]) -> dict[str, str]:
        width = place.trace.config.d_model
        return {"width": str(width), "factor": f"{math.sqrt((width - 1) / width):.5f}"}

    def input(self, place: Place) -> Matrix | None:
        return _matrix(self.given(place)["x"], "token", "dimension")


@dataclass(frozen=True)
class Residual(Slip):
    """A sub-layer, its norm and the addition: here the block's feed-forward."""

    def function(self, place: Place) -> str:
        return f"{place.trace.config.norm_at}_ln" if self.name == "norm_side" else self.name

    def site(self, place: Place) -> str:
        return place.at("resid.out")

    def given(self, place: Place) -> dict[str, Any]:
        block = place.trace.stack.block(place.layer)
        before = next(name for name in ("resid.cross", "resid.mid") if place.at(name) in place.trace)
        return {"x": place.trace[place.at(before)], "norm": block.ffn_norm, "sublayer": block.ffn}

    def shown(self, place: Place, value: Any) -> Result:
        return _matrix(value, "token", "dimension")

    def changed(self, place: Place, function: Function) -> Transformer | None:
        return swaps.with_addition(place.trace, function)

    def facts(self, place: Place, results: tuple[Any, Any]) -> dict[str, str]:
        lengths = [made.norm(dim=-1).mean().item() for made in results]
        return {"length": f"{lengths[0]:.1f}", "wrong_length": f"{lengths[1]:.1f}"}

    def input(self, place: Place) -> Matrix | None:
        return _matrix(self.given(place)["x"], "token", "dimension")


@dataclass(frozen=True)
class Dropout(Slip):
    """What a sub-layer adds, while the model answers."""

    def site(self, place: Place) -> str:
        return place.at("attn.out")

    def given(self, place: Place) -> dict[str, Any]:
        numbers = torch.Generator().manual_seed(0)
        return {"x": place.trace[self.site(place)], "p": P_DROPOUT, "training": False, "numbers": numbers}

    def shown(self, place: Place, value: Any) -> Result:
        return _matrix(value, "token", "dimension")

    def changed(self, place: Place, function: Function) -> Transformer | None:
        return self._drawn(place, function, seed=1)

    def _drawn(self, place: Place, function: Function, seed: int) -> Transformer:
        numbers = torch.Generator().manual_seed(seed)
        given = {"p": P_DROPOUT, "training": False, "numbers": numbers}
        return swaps.with_dropout(place.trace, lambda x: call(function, {"x": x, **given}))

    def facts(self, place: Place, results: tuple[Any, Any]) -> dict[str, str]:
        run = place.trace
        model = self._drawn(place, getattr(wrong, self.name), seed=2)
        other = swaps.vectors(run, model)[place.output]
        first = swaps.vectors(run, self._drawn(place, getattr(wrong, self.name), seed=1))[place.output]
        return {
            "zeros": f"{(results[1] == 0).float().mean().item():.0%}",
            "p": f"{P_DROPOUT:.0%}",
            "grown": f"{1 / (1 - P_DROPOUT):.2f}",
            "apart": f"{((first - other).norm() / first.norm()).item():.0%}",
        }

    def input(self, place: Place) -> Matrix | None:
        return _matrix(self.given(place)["x"], "token", "dimension")


@dataclass(frozen=True)
class Loss(Slip):
    """The loss of a model that predicts the next token, on the visitor's own text."""

    def site(self, place: Place) -> str:
        return "logits"

    def given(self, place: Place) -> dict[str, Any]:
        return {"logits": place.trace["logits"], "ids": torch.tensor(place.trace.own_ids)}

    def shown(self, place: Place, value: Any) -> Result:
        tokens = place.trace.tokens
        return Bars(value.numpy() / math.log(2), tokens[len(tokens) - len(value) :], "loss")

    def traced(self, place: Place) -> Tensor | None:
        ids = torch.tensor(place.trace.own_ids)[1:]
        return -place.trace["logits"][:-1].log_softmax(-1).gather(-1, ids[:, None])[:, 0]

    def facts(self, place: Place, results: tuple[Any, Any]) -> dict[str, str]:
        means = [made.mean().item() / math.log(2) for made in results]
        return {"loss": f"{means[0]:.2f}", "wrong_loss": f"{means[1]:.2f}"}


@dataclass(frozen=True)
class Untied(Slip):
    """The table that turns vectors into logits is the embedding's own."""

    def site(self, place: Place) -> str:
        return "logits"

    def given(self, place: Place) -> dict[str, Any]:
        run = place.trace
        x = run.model.head.before(swaps.last_vectors(run)[place.output : place.output + 1])
        numbers = torch.Generator().manual_seed(0)
        return {"x": x, "embedding": run.model.embedding.weight, "numbers": numbers}

    def _logits(self, place: Place, value: Tensor) -> Tensor:
        bias = place.trace.model.unembedding.bias
        return value if bias is None else value + bias

    def shown(self, place: Place, value: Any) -> Result:
        probabilities, ids = self._logits(place, value)[0].softmax(-1).topk(min(8, value.shape[-1]))
        return Bars(probabilities.numpy(), place.trace.tokenizer.tokens(ids.tolist()), "probability")

    def traced(self, place: Place) -> Tensor | None:
        bias = place.trace.model.unembedding.bias
        logits = place.trace.row("logits", place.output)[None]
        return logits if bias is None else logits - bias

    def effect(self, place: Place, function: Function) -> Effect | None:
        both = [self._logits(place, call(made, self.given(place)))[0] for made in (right.logits, function)]
        return _of_logits(place.trace, both[0], both[1])

    def facts(self, place: Place, results: tuple[Any, Any]) -> dict[str, str]:
        n_vocab, width = place.trace.model.embedding.weight.shape
        return {"rows": f"{n_vocab:,}", "width": str(width), "spared": f"{n_vocab * width:,}"}


SLIPS: Mapping[str, Slip] = MappingProxyType(
    {
        slip.name: slip
        for slip in (
            Pattern("causal", ("causal",)),
            Pattern("diagonal", ("causal",)),
            Pattern("mask_then_softmax", ("causal",)),
            Padding("padded", ("two_way",)),
            Pattern("normalise", reads="masked"),
            Pattern("scaled", ("scaled",), reads="q"),
            Pattern("divided", ("scaled",), reads="q"),
            Pattern("compare", reads="q"),
            Split("split", ("heads",)),
            Count("count"),
            LookUp("look_up"),
            Waves("angles", ("waves",)),
            Waves("waves", ("waves",)),
            Norm("layer_norm", ("layer_norm",)),
            Residual("norm_side", ("added",)),
            Residual("add", ("added", "pre")),
            Dropout("leave_out"),
            Loss("loss", ("predicts",)),
            Untied("logits", ("tied",)),
        )
    }
)
"""Every slip by name, in the order in which they are shown."""


def promise(slip: Slip, place: Place) -> str:
    """What both functions say they do: their docstring."""
    return inspect.getdoc(getattr(right, slip.function(place))) or ""


def sources(slip: Slip, place: Place) -> tuple[str, str]:
    """The lines of the right function and of the wrong one, without what both promise: what is shown is what is run."""
    name = slip.function(place)
    return _lines(getattr(right, name)), _lines(getattr(wrong, name))


def _lines(function: Function) -> str:
    source = inspect.getsource(function)
    (made,) = ast.parse(source).body
    assert isinstance(made, ast.FunctionDef)
    said = made.body[0]
    lines = source.splitlines()
    return "\n".join(lines[: said.lineno - 1] + lines[said.end_lineno :])


@torch.inference_mode()
def given(slip: Slip, place: Place) -> Matrix | None:
    """What both functions are given first, where it is a matrix."""
    return slip.input(place)


@torch.inference_mode()
def outcome(slip: Slip, place: Place) -> Outcome:
    """Run both functions on the same tensors, and the model with the wrong one in it.

    Raises:
        ValueError: the run lacks what the slip needs.
    """
    if (lack := slip.lacks(place)) is not None:
        raise ValueError(f"{slip.name}: this run lacks what it needs ({lack})")
    name = slip.function(place)
    functions = getattr(right, name), getattr(wrong, name)
    # Arguments anew for each: a generator would go on where the other function left it.
    results = tuple(_attempt(function, slip.given(place)) for function in functions)
    traced = slip.traced(place)
    made = tuple(slip.shown(place, result) for result in results)
    largest, at, relative = _difference(*made)
    return Outcome(
        right=made[0],
        wrong=made[1],
        largest=largest,
        at=at,
        relative=relative,
        n_lost=int(np.isnan(made[1].values).any(-1).sum()) if isinstance(made[1], Matrix) else 0,
        gap=None if traced is None else _gap(slip.comparable(place, results[0]), traced),
        effect=slip.effect(place, functions[1]),
        facts=slip.facts(place, (results[0], results[1])),
    )


def _attempt(function: Function, given: Mapping[str, Any]) -> Any:
    try:
        return call(function, given)
    except IndexError as error:
        return error


def _gap(made: Any, traced: Tensor) -> float:
    """max |made − traced| over the rows that the run has."""
    value = torch.as_tensor(made, dtype=torch.float32)
    value = value[: len(traced)] if value.dim() else value
    return (value - traced).abs().max().item()


def _difference(a: Result, b: Result) -> tuple[float | None, tuple[int, int] | None, float | None]:
    if not (isinstance(a, Matrix) and isinstance(b, Matrix)):
        return None, None, None
    gaps = np.abs(a.values - b.values)
    known = np.isfinite(gaps)
    if not known.any():
        return None, None, None
    at = np.unravel_index(np.where(known, gaps, -1).argmax(), gaps.shape)
    length = float(np.linalg.norm(a.values[known]))
    relative = float(np.linalg.norm(gaps[known])) / length if length else None
    return float(gaps[at]), (int(at[0]), int(at[1])), relative


def effect(run: Trace, before: Tensor, after: Tensor, position: int) -> Effect:
    """What two last vectors [T, D] say at a position."""
    if not run.config.has_logits:
        gap = ((after[position] - before[position]).norm() / before[position].norm()).item()
        return Effect(None, None, gap if math.isfinite(gap) else math.nan)
    return _of_logits(run, *(run.model.head(x[None, position : position + 1])[0, 0] for x in (before, after)))


def _of_logits(run: Trace, before: Tensor, after: Tensor) -> Effect:
    """The same of two rows of logits [V]."""
    logs = [row.double().log_softmax(-1) for row in (before, after)]
    tops = [(run.tokenizer.token(int(log.argmax())), log.max().exp().item()) for log in logs]
    p = logs[0].exp()
    bits = torch.where(p > 0, p * (logs[0] - logs[1]), 0).sum().item() / math.log(2)
    if math.isnan(bits):
        return Effect(tops[0], None, math.nan)
    return Effect(tops[0], tops[1], max(0.0, bits))
