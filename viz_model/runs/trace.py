"""A Trace: every value of one run, by name.

A run keeps what the forward pass computed anyway, as aliases; a long one the residual stream alone
(:mod:`viz_model.runs.recompute`). The T×T values of attention are not among them, because fused attention
never forms them: they are rebuilt from the queries and keys when somebody looks, by the functions
of :mod:`viz_model.model.ops`. Nor are the logits, T×V, of which one row is looked at.
"""

import dataclasses
import functools
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field

import torch
from torch import Tensor

from viz_model.config import ModelConfig, NormAt, Side
from viz_model.model import ops, sites
from viz_model.model.sites import Site
from viz_model.model.transformer import Stack, Transformer
from viz_model.runs import derived, display, gradient, recompute
from viz_model.runs.attention_steps import STEPS, AttentionSteps
from viz_model.runs.edits import Edit, ValueEdit
from viz_model.runs.reader import RunReader
from viz_model.runs.recompute import Noted, Recomputed
from viz_model.tokenizers.patches import PatchTokenizer, Place
from viz_model.tokenizers.tokenizer import Token, Tokenizer, Tokens


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class Trace:
    """One run of one text.

    ``trace[name]`` is the tensor of a site, without a batch axis; :meth:`head` and :meth:`row` are
    parts of it, at the price of the part. Nothing that is read changes what is read later, so a
    Trace may be shared between threads.

    An encoder–decoder has two stacks, and its names begin with ``encoder.`` or ``decoder.``.
    ``trace.at("decoder")`` is the same run seen from one of them: names without that prefix,
    and that side's tokens, as if it were a model of one stack.

    Attributes:
        values: what was recorded, by full name; of a long run most of it is computed again when it
            is read (:mod:`viz_model.runs.recompute`).
        text: what was run, or None where ids were given; ``target`` likewise.
        target_ids: what the decoder of an encoder–decoder read, its start token first.
        n_dropped: tokens at the end of the text beyond the model's context.
        picture: the levels [H, W, C] that a model of pictures read, uint8. ``ids`` are then the patches at the
            positions, of an encoder–decoder those of its encoder: 0 is [CLS], n is patch n, row by row.
        segments: the kind of each token, where kinds were given.
        visible: masks that stood in for the model's own, by side: [T, T], or [L, T, T], one for each layer.
        edits, changes: the interventions as they were given; those among them that change a value, by its full name.
        loaded: the config of the model as it was loaded; ``config`` is that of what was run, which
            an edit may have taken a part from.
        side: the stack this trace is seen from, if it is.
        name, as_text: what the model is called; whether control tokens that the text names were read as characters.
        looked: rows of logits that were read last, by position, each with the values that it is of.
    """

    model: Transformer
    tokenizer: Tokenizer
    ids: tuple[int, ...]
    text: str | None
    n_dropped: int
    values: Mapping[str, Tensor]
    target_ids: tuple[int, ...] | None = None
    target: str | None = None
    n_target_dropped: int = 0
    picture: Tensor | None = None
    segments: tuple[int, ...] | None = None
    visible: Mapping[Side, Tensor] = field(default_factory=dict)
    edits: tuple[Edit, ...] = ()
    changes: Mapping[str, tuple[ValueEdit, ...]] = field(default_factory=dict)
    loaded: ModelConfig
    side: Side | None = None
    name: str = ""
    as_text: bool = False
    looked: dict[int, tuple[object, Tensor]] = field(default_factory=dict, repr=False)

    @property
    def config(self) -> ModelConfig:
        return self.model.config

    def at(self, side: Side) -> "Trace":
        """This run, seen from one of its stacks.

        Raises:
            ValueError: the model has no such stack.
        """
        self.model.stack(side)
        return dataclasses.replace(self, side=side)

    @property
    def whole(self) -> "Trace":
        """This run, seen from nowhere in particular: names are full names."""
        return self if self.side is None else dataclasses.replace(self, side=None)

    @property
    def prefix(self) -> str:
        """What stands before the names of this view in the full names: ``""``, or ``"decoder."``."""
        return f"{self.side}." if self.side is not None and len(self.config.sides) > 1 else ""

    @property
    def stack(self) -> Stack:
        """The stack this trace is seen from; of a model with one, that one."""
        return self.model.stack(self.side or self.config.sides[0])

    @property
    def n_layers(self) -> int:
        """The number of blocks of :attr:`stack`."""
        return len(self.stack.blocks)

    @property
    def attending(self) -> list[int]:
        """The blocks of :attr:`stack` that have attention weights: one that holds a state has none."""
        return [layer for layer in range(self.n_layers) if f"blocks.{layer}.attn.pattern" in self]

    @property
    def norm_at(self) -> NormAt:
        """Where the norm stands in the blocks of :attr:`stack`."""
        return self.config.norm_place(self.stack.side)

    @property
    def leaving(self) -> str:
        """The name of the vectors [T, D] that leave :attr:`stack`: after the final norm, where there is one."""
        return sites.leaving(self.config, self.stack.side).removeprefix(self.prefix)

    @property
    def sites(self) -> tuple[str, ...]:
        """The names of all values, in the order a token meets them."""
        return tuple(sites.seen_from(self.config, self.side))

    @functools.cached_property
    def tokens(self) -> Tokens:
        """The token at each position: of the source, in a run that has a target too; of a picture, its patches."""
        return self.own_tokenizer.tokens(self.own_ids)

    @property
    def own_tokenizer(self) -> Tokenizer:
        """What :attr:`own_ids` are of: of a picture, its patches."""
        return self.tokenizer.at(self.stack.side)

    @property
    def shows_patches(self) -> bool:
        """Whether patches of a picture stand at the positions of this view."""
        return isinstance(self.own_tokenizer, PatchTokenizer)

    @property
    def positions(self) -> tuple[Place, ...]:
        """What stands at each position of this view: tokens of a text, or the patches of a picture."""
        if isinstance(self.own_tokenizer, PatchTokenizer):
            return self.own_tokenizer.places(self.own_ids)
        return tuple(Place(token.label, n) for n, token in enumerate(self.tokens))

    @property
    def patches(self) -> Tensor:
        """The patches at the positions, without [CLS] where there is one, as levels: uint8 [N, P, P, C].

        Raises:
            ValueError: the model reads no picture.
        """
        if self.picture is None or self.model.patches is None:
            raise ValueError("patches: this model reads tokens, and no picture")
        side = self.model.patches.patches.patch
        cut = self.picture.unflatten(1, (-1, side)).unflatten(0, (-1, side))  # [rows, P, columns, P, C]
        return cut.transpose(1, 2).flatten(0, 1)[[id - 1 for id in self.ids if id]]

    def classes(self, k: int = 10) -> list[tuple[str, float]]:
        """The k most probable classes of a picture or a text, with their probabilities.

        Raises:
            ValueError: k is not positive, or the model has no classes.
        """
        labels = self.config.classes
        if not labels:
            raise ValueError("classes: this model has none")
        if k < 1:
            raise ValueError(f"k must be at least 1, got {k}")
        top = self["class.probs"].topk(min(k, len(labels)))
        return [(labels[n], p) for n, p in zip(top.indices.tolist(), top.values.tolist(), strict=True)]

    @property
    def target_tokens(self) -> Tokens:
        """The token at each position of the decoder's input; none without a target."""
        return self.tokenizer.tokens(self.target_ids or ())

    @property
    def own_ids(self) -> tuple[int, ...]:
        """The token ids of this view: the target's, where it is the decoder of an encoder–decoder."""
        return self.target_ids or () if self.side == "decoder" and len(self.config.sides) > 1 else self.ids

    @property
    def target_language(self) -> str | None:
        """The language that the target's first token asks for, of a model that translates into several."""
        first = self.target_ids[0] if self.target_ids else None
        return next((language for language, id in self.tokenizer.languages.items() if id == first), None)

    def __len__(self) -> int:
        return len(self.own_ids)

    def __iter__(self) -> Iterator[str]:
        return iter(self.sites)

    def keys(self) -> tuple[str, ...]:
        """The names of all values, as of a dictionary; ``len(trace)`` counts tokens."""
        return self.sites

    def __contains__(self, name: object) -> bool:
        return name in sites.seen_from(self.config, self.side)

    def full_name(self, name: str) -> str:
        """The name of a site outside this view: ``blocks.0.attn.q`` -> ``decoder.blocks.0.attn.q``.

        Layers count from the end where they are negative: ``blocks.-1.attn.q``.
        """
        if not isinstance(name, str):
            raise TypeError(f"a trace holds values by name, such as {self.sites[-1]!r}, not {name!r}")
        if name.startswith("blocks.-"):
            layer, rest = name.removeprefix("blocks.").split(".", 1)
            name = f"blocks.{counted('layer', int(layer), self.n_layers)}.{rest}"
        return name if name in sites.OUTPUT and self.side != "encoder" else self.prefix + name

    def site(self, name: str) -> Site:
        """The registry's row of a value.

        Raises:
            KeyError: this model has no such site; the message suggests the nearest names.
        """
        return sites.find(self.full_name(name), self.config)

    def shape(self, name: str) -> tuple[int, ...]:
        """The shape of ``trace[name]``, which is not computed for it.

        Raises:
            KeyError: this model has no such site; the message suggests the nearest names.
        """
        # Of cross-attention the keys are the source's.
        return self.site(name).shape(self._length(self.full_name(name)), len(self.ids) if ".cross." in name else None)

    def __repr__(self) -> str:
        return display.trace_line(self)

    def _repr_html_(self) -> str:
        return display.trace_html(self)

    def __getitem__(self, name: str) -> Tensor:
        """The value of a site, with the axes that :mod:`viz_model.model.sites` gives it.

        Raises:
            KeyError: this model has no such site; the message suggests the nearest names.
        """
        full = self.full_name(name)
        sites.find(full, self.config)
        return self.values[full] if full in self.values else self._derive(full)

    def head(self, name: str, head: int) -> Tensor:
        """One query head of a site with heads, computed without the others.

        Of keys and values, whose heads may be shared, it is the one that this query head reads.

        Raises:
            KeyError: no such site. IndexError: no such head. ValueError: the site has no heads.
        """
        full = sites.made(self.full_name(name), self.config)
        site = sites.find(full, self.config)
        if not site.has_heads:
            raise ValueError(f"site {name!r} has no heads: its axes are {' '.join(site.axes)}")
        head = counted("head", head, self.config.n_heads)
        if full in self.values:
            found = self._alone(full, head, self.values) if isinstance(self.values, Recomputed) else None
            return self.values[full][site.row_of(head, self.config.n_heads)] if found is None else found
        return self._derive(full, head)[0]

    def _alone(self, full: str, head: int, values: Recomputed) -> Tensor | None:
        """A recorded value of one query head, without the rest of its block; None where only that has it."""
        at, _, own = full.rpartition(".attn.")
        attends = f"{at}.attn.pattern" in sites.table(self.config)
        if not attends or own != "z" or full in values.kept or values.reads_block(at):
            return values.head(full, head)
        pattern, v = self._derive(f"{at}.attn.pattern", head), self.head(f"{at}.attn.v", head)
        return ops.mix(pattern, v[None])[0]

    def row(self, name: str, position: int, head: int | None = None) -> Tensor:
        """A site at one position, computed without all others: ``trace[name]`` there, or ``trace.head(name, head)``.

        Of attention, the position is the query's: ``row("blocks.0.attn.pattern", 3)`` is [H, Tk].

        Raises:
            KeyError: no such site. IndexError: no such position or head. ValueError: it has no heads, or no positions.
        """
        full = self.full_name(name)
        site = sites.find(full, self.config)
        axis = site.before
        if head is not None and not axis:
            raise ValueError(f"site {name!r} has no heads: its axes are {' '.join(site.axes)}")
        if len(site.index) <= axis:
            raise ValueError(f"site {name!r} has no positions: its axes are {' '.join(site.axes)}")
        # Of cross-attention, keys and values are the source's: only the value knows how many.
        count = self.values[full].shape[axis] if ".cross." in full and full in self.values else self._count(full)
        position = counted("position", position, count)
        rows = slice(position, position + 1)
        head = None if head is None else counted("head", head, self.config.n_heads)
        if full not in self.values:
            found = self._derive(full, head, rows).select(axis, 0)
            return found if head is None else found[0]
        found = self._rows(full, rows).select(axis, 0)
        if head is None:
            return found
        return found[site.row_of(head, self.config.n_heads)]

    def chunks(self, name: str, rows: int = 64) -> Iterator[Tensor]:
        """``trace[name]`` some positions at a time, in order: [≤ rows, …], or [H, ≤ rows, Tk] of an attention pattern.

        For what is taken of every row of the logits or of every head: all of them at once are T×V, or H×T×T.

        Raises:
            KeyError: no such site. ValueError: the site has heads, and is no pattern.
        """
        full = self.full_name(name)
        has_heads = sites.find(full, self.config).has_heads
        if has_heads and not full.endswith(".pattern"):
            raise ValueError(f"site {name!r} has heads: read them one by one")
        if full in self.values:
            yield from self.values[full].split(rows, dim=sites.find(full, self.config).before)
            return
        if has_heads:
            yield from self._attended(full.removesuffix(".pattern")).patterns(rows)
            return
        count = self._count(full)
        for start in range(0, count, rows):
            yield self._derive(full, None, slice(start, min(start + rows, count)))

    def mask(self, layer: int) -> Tensor:
        """Who may look at whom in a layer's self-attention: boolean [T, T], True where a query may look."""
        layer = counted("layer", layer, self.n_layers)
        return self._attended(f"{self.prefix}blocks.{layer}.attn").visible

    def _length(self, full: str) -> int:
        """The number of positions, or of queries, of a site."""
        side = sites.split_side(full)[0] or self.config.sides[-1]
        return len(self.target_ids or ()) if side == "decoder" and len(self.config.sides) > 1 else len(self.ids)

    def _count(self, full: str) -> int:
        """How many rows a site has: its positions, or what else its first axis without heads counts."""
        site = sites.find(full, self.config)
        first = site.index[site.before]
        return first.length(lambda _: self._length(full))

    def next_tokens(self, position: int = -1, k: int = 10) -> list[tuple[Token, float]]:
        """The k most probable tokens after ``position``, with their probabilities.

        Of an encoder, which predicts the tokens that were masked, they are the most probable at
        ``position`` itself. The softmax runs over the full vocabulary, so the probabilities are
        those of the model.

        Raises:
            IndexError: no such position. ValueError: k is not positive, or the model has no logits.
        """
        if self.config.classes:
            raise ValueError("next_tokens: this model predicts no tokens but a class: ask classes()")
        if not self.config.has_logits:
            raise ValueError("this model predicts no tokens: it has no head, its output is its vectors")
        if k < 1:
            raise ValueError(f"k must be at least 1, got {k}")
        top = self.row("probs", position).topk(min(k, self.config.n_vocab))
        return [(self.tokenizer.token(id), p) for id, p in zip(top.indices.tolist(), top.values.tolist(), strict=True)]

    def grad(self, of: Callable[[Mapping[str, Tensor]], Tensor], *names: str) -> dict[str, Tensor]:
        """The gradient of a number by values of this run, each in the shape of the value: autograd's, in one pass back.

        >>> trace.grad(lambda run: run["logits"][-1, 42], "blocks.0.attn.pattern", "embed.out")

        Interventions and masks hold in it: a value that is halved passes on half of the gradient.

        Args:
            of: from the values of the run by name, in the graph, to the number: a logit, a loss, a length.
            names: of what is recorded, attention's ``pattern`` and ``masked``, ``logits`` and ``probs``.

        Raises:
            KeyError: no such site, or one that the run does not pass on but that is derived when somebody looks.
            ValueError: ``of`` makes no single number of the run, or a value holds whole numbers.
        """
        return gradient.grad(self, of, names)

    def noted(self, name: str) -> Noted:
        """What is told of the vectors [T, D] of a site as a whole; a long run noted it as it went past.

        Raises:
            KeyError: no such site.
        """
        full = self.full_name(name)
        if isinstance(self.values, Recomputed) and full in self.values.noted:
            return self.values.noted[full]
        return recompute.note(self[name])

    def norm_input(self, name: str, position: int | None = None) -> Tensor:
        """What a norm reads, [T, D], or [D] at one position; ``name`` is like ``blocks.0.attn.norm`` or ``final.norm``.

        Raises:
            IndexError: no such position.
        """
        full = self.full_name(name)
        if position is None:
            return self._norm_input(full)
        position = counted("position", position, self._length(full))
        return self._norm_input(full, slice(position, position + 1))[0]

    def _rows(self, full: str, rows: slice) -> Tensor:
        """A recorded value at some positions: [≤ T, …], or with heads before."""
        if isinstance(self.values, Recomputed) and rows.stop is not None and rows.stop - rows.start == 1:
            found = self.values.row(full, rows.start)
            if found is not None:
                return found
        value = self.values[full]
        return value[(slice(None),) * sites.find(full, self.config).before + (rows,)]

    def _norm_input(self, full: str, rows: slice = slice(None)) -> Tensor:
        """What a norm read at ``rows``, [T, D]; ``full`` is like ``decoder.blocks.0.attn.norm``."""
        return torch.stack([self._rows(name, rows) for name in sites.norm_reads(full, self.config)]).sum(0)

    def _attended(self, at: str) -> AttentionSteps:
        """The attention layer of a full name such as ``decoder.blocks.0.cross``."""
        return AttentionSteps(self.model, self.values, at, self._length(at), self.visible)

    def _derive(self, full: str, head: int | None = None, rows: slice = slice(None)) -> Tensor:
        """A derived value: all heads, or one with an axis of 1 in their place; all positions, or ``rows``."""
        if (found := derived.said(self, full, rows)) is not None:
            return found.detach()
        at, _, last = full.rpartition(".")
        if last == "head_out":
            heads = slice(None) if head is None else slice(head, head + 1)
            (z,) = sites.find(full, self.config).reads  # gated, where the model has a gate
            n_heads = self.config.n_heads if z.axes[0] == "H" else len(self.values[z.site])
            w_o = self._attended(at).attention.o.weight.T.unflatten(0, (n_heads, -1))[heads]
            return ops.head_out(self._rows(z.site, rows)[heads], w_o.flatten(0, 1)).detach()
        if at.endswith((".attn", ".cross")) and last in STEPS:
            return self._attended(at).step(last, head, rows).detach()
        return derived.evaluated(self, sites.find(full, self.config), head, rows)

    @property
    def reader(self) -> RunReader:
        """Cells of this run and entries of its weights, for declarations."""
        return RunReader(self)


def counted(name: str, n: int, count: int) -> int:
    """A number that counts from 0, or from the end where it is negative."""
    if not -count <= n < count:
        raise IndexError(f"{name} {n}: there are {count}")
    return n % count
