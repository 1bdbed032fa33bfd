"""What a model, a run and a generated text say of themselves: in a line, and as HTML in a notebook."""

from __future__ import annotations

from collections.abc import Iterable
from html import escape
from itertools import groupby
from typing import TYPE_CHECKING, NamedTuple

from viz_model.config import ModelConfig
from viz_model.model import sites
from viz_model.tokenizers import chips

if TYPE_CHECKING:
    from viz_model.runs.generation import Generation
    from viz_model.runs.language_model import LanguageModel
    from viz_model.runs.trace import Trace

LONGEST = 60
"""Characters of a text that a line quotes."""

_CELL = "text-align:left;padding:0 12px 0 0;font-family:monospace"


class Value(NamedTuple):
    """A value of a run, its axes and its shape."""

    name: str
    axes: tuple[str, ...]
    shape: tuple[int, ...]

    def __str__(self) -> str:
        return " × ".join(f"{axis} {size}" for axis, size in zip(self.axes, self.shape, strict=True))


def model_line(lm: LanguageModel) -> str:
    n_weights = sum(weight.numel() for weight in lm.model.parameters())
    reads = f"vocabulary {lm.config.n_vocab:,}"
    if lm.config.reads_pictures:
        given = lm.config.patches
        reads = f"pictures of {given.height} × {given.width} in {given.n_patches} patches"
        reads += f", vocabulary {lm.config.n_vocab:,}" if lm.config.n_vocab else ""
    return f"LanguageModel({lm.name!r}: {_sizes(lm.config)}, {n_weights:,} weights, {reads})"


def trace_line(trace: Trace) -> str:
    told = [_quoted(trace.text) if trace.text is not None else "ids", f"{len(trace.ids)} tokens"]
    if trace.picture is not None:
        told = ["picture", f"{'[CLS] and ' if 0 in trace.ids else ''}{len(trace.patches)} patches"]
    if trace.target_ids is not None:
        told += [f"target {_quoted(trace.target or '')}", f"{len(trace.target_ids)} tokens"]
    if n_out := trace.n_dropped + trace.n_target_dropped:
        told.append(f"{n_out:,} beyond the context left out")
    if trace.edits:
        told.append(f"{len(trace.edits)} edit{'s' if len(trace.edits) > 1 else ''}")
    return f"Trace({', '.join(told)}; {_sizes(trace.config)}; {len(trace.sites)} values, such as {_telling(trace)!r})"


def generation_line(made: Generation) -> str:
    return f"Generation({_quoted(made.text)}, {len(made.steps)} tokens, stopped by {made.stopped})"


def _rows(pairs: Iterable[tuple[str, str]]) -> str:
    lines = ("".join(f'<td style="{_CELL}">{escape(text)}</td>' for text in pair) for pair in pairs)
    return f"<table>{''.join(f'<tr>{line}</tr>' for line in lines)}</table>"


def _fold(title: str, body: str) -> str:
    return f"<details><summary>{escape(title)}</summary>{body}</details>"


def values(trace: Trace) -> list[Value]:
    """All values of a run, in the order a token meets them."""
    return [Value(name, trace.site(name).axes, trace.shape(name)) for name in trace.sites]


def trace_html(trace: Trace) -> str:
    """The tokens, and the names of all values with their axes and shapes, block by block."""
    parts = [f"<p>{escape(trace_line(trace).partition(';')[0])}; {escape(_sizes(trace.config))})</p>"]
    parts.append(chips.html(trace.tokens))
    if trace.side is None and trace.target_ids is not None:
        parts.append(chips.html(trace.target_tokens))
    for group, own in groupby(values(trace), lambda value: _group(value.name, trace.config)):
        parts.append(_fold(group, _rows((f'trace["{value.name}"]', str(value)) for value in own)))
    return "".join(parts)


def model_html(lm: LanguageModel) -> str:
    """The line, and every weight with its shape, block by block."""
    parts = [f"<p>{escape(model_line(lm))}</p>"]
    weights = [(name, tuple(weight.shape)) for name, weight in lm.model.named_parameters()]
    for group, own in groupby(weights, lambda weight: _group(weight[0], lm.config)):
        parts.append(_fold(group, _rows((name, " × ".join(map(str, shape))) for name, shape in own)))
    return "".join(parts)


def generation_html(made: Generation) -> str:
    """The tokens that were drawn, and of each how probable it was."""
    told = _rows((step.token.label, f"{step.probability:.1%}") for step in made.steps)
    return f"<p>{escape(generation_line(made))}</p>{chips.html(made.tokens)}{_fold('probabilities', told)}"


def _sizes(config: ModelConfig) -> str:
    depth = " + ".join(str(config.depth(side)) for side in config.sides)
    return f"{config.kind.replace('_', '–')}, {depth} blocks × {config.n_heads} heads, width {config.d_model}"


def _telling(trace: Trace) -> str:
    """The name of a value that a reader might want first: how the last block reads."""
    patterns = [name for name in trace.sites if name.endswith(".attn.pattern")]
    return (patterns or trace.sites)[-1]


def _quoted(text: str) -> str:
    return repr(text if len(text) <= LONGEST else f"{text[: LONGEST - 1]}…")


def _group(name: str, config: ModelConfig) -> str:
    """The first parts of a name, up to the number of its block: ``decoder.blocks.0``."""
    parts = name.split(".")
    numbers = [n for n, part in enumerate(parts) if part.isdigit()]
    return ".".join(parts[: numbers[0] + 1] if numbers else parts[: 1 + (sites.split_side(name)[0] is not None)])
