"""The functions of :mod:`viz_model.plot`: each asks a topic for its picture and its labels."""

from dataclasses import replace
from pathlib import Path
from typing import Unpack

from viz_model.config import Side
from viz_model.drawing.scene.svg import Theme
from viz_model.island.look import Other
from viz_model.measures.lens import predicts
from viz_model.model import sites
from viz_model.plot import asking
from viz_model.plot.asking import Asked, Made, Options, drawn, figure, selected, spelled
from viz_model.plot.figure import Figure, Style, named, themed
from viz_model.runs.generation import Sampling
from viz_model.runs.gradient import needs_weights
from viz_model.runs.language_model import LanguageModel
from viz_model.runs.trace import Trace
from viz_model.tokenizers.tokenizer import Tokenizer, cl100k_base
from viz_model.topics import next_token
from viz_model.topics import position as positions
from viz_model.topics.architectures import compared, depth
from viz_model.topics.attention import every_head
from viz_model.topics.attention import head as one_head
from viz_model.topics.attention import heads as of_layer
from viz_model.topics.attention import painted as over_picture
from viz_model.topics.attention import query as one_query
from viz_model.topics.attribution import depth as lenses
from viz_model.topics.attribution import waterfall
from viz_model.topics.block import experts as routing
from viz_model.topics.block import lengths, norm, vectors
from viz_model.topics.block import neurons as hidden
from viz_model.topics.cross_attention import maps as crossing
from viz_model.topics.cross_attention import painted as words_over_picture
from viz_model.topics.embedding import lookup as embeddings
from viz_model.topics.next_token import asked as next_token_asked
from viz_model.topics.next_token import choice as choices
from viz_model.topics.overview import drawn as whole_picture
from viz_model.topics.overview import observed
from viz_model.topics.overview import whole as whole_run
from viz_model.topics.tokens import cuts

LONGEST_NAME = 40
"""Characters of a run's name, with what was changed in it, that a legend has room for."""


@figure
def overview(trace: Trace, *, layer: int = 0, token: int = -1, **options: Unpack[Options]) -> Made:
    """The whole run in one picture: tokens, what enters the blocks, a head of each block, the next token.

    Of a model that reads pictures: patches, vectors, where the chosen one looks in each block, the class.
    ``token`` is the position that is followed. Of more than 56 tokens several share a row; of more than six blocks
    some are left out, but not ``layer``. Of a run that was observed: how long its hidden states are.

    Raises:
        ValueError: as :func:`viz_model.plot.asking.selected` says; so do all functions here.
    """
    of = selected(trace, "overview", layer=layer, token=token, **options)
    if of.config.observed:
        if not observed.states(of):
            raise ValueError("overview: no hidden states of this run were observed; heads() draws its attention")
        return of, drawn(of, observed.draw)
    return of, drawn(of, whole_picture.draw if of.config.is_vision_encoder else whole_run.draw)


@figure
def tokens(trace: Trace, *, beside: Tokenizer | None = None, token: int = -1, **options: Unpack[Options]) -> Made:
    """The text cut by the model's vocabulary, over the same bytes cut by another: ``cl100k_base`` unless said.

    Raises:
        ValueError: the bytes of the two cannot be laid over each other, as this vocabulary does not keep a text as it
            was typed, or spells none; or the model reads a picture.
    """
    _needs_text(trace, "tokens", options.get("stack"))
    of = selected(trace, "tokens", token=token, **options)
    other = beside or cl100k_base()
    if cuts.view(of, other) is None:
        raise ValueError("tokens: this vocabulary does not keep the text as it was typed, so no other lies beside it")
    return of, drawn(of, lambda look: cuts.draw_beside(look, other))


@figure
def embedding(trace: Trace, *, token: int = -1, **options: Unpack[Options]) -> Made:
    """The rows of the table that the tokens pick, ``embed.token`` [T, D]; that of ``token`` is marked.

    Raises:
        ValueError: the stack reads a picture.
    """
    _needs_text(trace, "embedding", options.get("stack"))
    of = selected(trace, "embedding", token=token, **options)
    return of, drawn(of, embeddings.rows)


@figure
def position(trace: Trace, *, layer: int = 0, head: int = 0, token: int = -1, **options: Unpack[Options]) -> Made:
    """What tells the model the order of its tokens, by its scheme.

    Sinusoidal and learned positions: the vectors that are added, [T, D]. Rotary: by which angle each pair is turned,
    [T, K/2]. A bias on the scores: what each head adds over the distance, [H, distances], or to each score, [Tq, Tk],
    where more than distance counts. None: how far vectors move when the tokens before are reordered, by layer.

    Raises:
        ValueError: nothing of the kind can be drawn of this layer, or of so short a text.
    """
    of = selected(trace, "position", layer=layer, head=head, token=token, **options)
    needs_weights(trace, "position")
    if positions.picture(of) is None:
        raise ValueError(f"position: nothing tells layer {of.layer} the order in a way that can be drawn of this text")
    return of, drawn(of, positions.picture)


@figure
def heads(trace: Trace, layer: int | None = None, **options: Unpack[Options]) -> Made:
    """The attention patterns of one layer's heads, [H, T, T]; without a ``layer`` of all, [L, H, T, T].

    Each row of a pattern is a query, and sums to 1, or to less where a logit that no key has takes a part. Of long
    texts several tokens share a cell, which holds the largest of their weights; cells that a mask hides are NaN.
    """
    of = selected(trace, "attention", layer=layer or 0, **options)
    return of, drawn(of, every_head.draw if layer is None else of_layer.draw)


@figure
def head(
    trace: Trace, layer: int, head: int, *, matrix: str = "pattern", token: int = -1, **options: Unpack[Options]
) -> Made:
    """One matrix of a head, enlarged: its pattern [Tq, Tk], or "q", "k", "v", "z" [T, K], "scores", "masked" …

    Of a text of more than 88 tokens, those around ``token``.

    Raises:
        ValueError: this model has no such matrix; the message says which it has.
    """
    of = selected(trace, "attention", layer=layer, head=head, token=token, **options)
    known = dict.fromkeys((*one_head.known(of, one_head.CHAIN), *one_head.known(of)))
    if matrix not in known:
        raise ValueError(f"matrix: {matrix!r} is not one of {', '.join(known)}")
    return of, drawn(of, lambda look: one_head.of_one(look, matrix))


@figure
def painted(trace: Trace, layer: int, head: int | None, token: int = 0, **options: Unpack[Options]) -> Made:
    """Where one patch looks, painted over the picture: a head enlarged, and all heads of its layer, [H, T].

    ``token`` is the patch that asks, 0 [CLS]. Of a decoder that writes what its encoder reads in a picture it is where
    that looks for each token, [Tq, Ts], that of ``token`` enlarged; without a ``head`` the average over the layer's.

    Raises:
        ValueError: the model reads a text.
    """
    if isinstance(trace, Trace) and trace.config.transcribes:
        options["stack"] = "decoder"
        of = selected(trace, "cross_attention", layer=layer, head=head or 0, token=token, **options)
        return of, drawn(of, words_over_picture.draw, painted="average" if head is None else "head")
    if head is None:
        raise ValueError("head: expected a number; only of a decoder that reads a picture the heads are averaged")
    of = selected(trace, "attention", layer=layer, head=head, token=token, **options)
    if of.trace.picture is None:
        raise ValueError("painted: this model reads a text; head() and heads() draw where its tokens look")
    return of, drawn(of, over_picture.draw)


@figure
def steps(trace: Trace, layer: int, head: int, token: int = -1, **options: Unpack[Options]) -> Made:
    """One query from its dot products with all keys to its weights, step by step: a row [Tk] a step."""
    of = selected(trace, "attention", layer=layer, head=head, token=token, **options)
    return of, drawn(of, one_query.draw)


@figure
def residual(trace: Trace, *, layer: int = 0, token: int = -1, **options: Unpack[Options]) -> Made:
    """How long the residual stream of each token is before a norm on it, from the embedding to the last block.

    ``layer`` and ``token`` are marked. ``legend=True`` names the lines, by the color of each token.
    """
    of = selected(trace, "block", layer=layer, token=token, **options)
    made = drawn(of, lengths.draw)
    return of, replace(made, keys=lengths.keys(of)) if options.get("legend") else made


@figure
def block(trace: Trace, layer: int, token: int = -1, *, dimension: int = 0, **options: Unpack[Options]) -> Made:
    """A token's vectors [D] on their way through a block, from its input to its output; one ``dimension`` is followed.

    Raises:
        ValueError: the model has no such dimension.
    """
    of = selected(trace, "block", layer=layer, token=token, **options)
    width = of.trace.config.d_model
    if not 0 <= dimension < width:
        raise ValueError(f"dimension: there are dimensions 0 to {width - 1}, not {dimension}")
    return of, drawn(of, vectors.draw, dimension=str(dimension))


@figure
def norms(
    trace: Trace, layer: int = 0, token: int = -1, *, which: str | None = None, **options: Unpack[Options]
) -> Made:
    """What a norm of the block makes of a token's vector [D]: before, standardized, after the learned gain.

    ``which`` is the sublayer that the norm belongs to, "attn", "cross" or "ffn"; by default the first.

    Raises:
        ValueError: the block has no norms, or none of that sublayer.
    """
    of = selected(trace, "block", layer=layer, token=token, **options)
    known = vectors.of_one(of).normed
    if not known:
        raise ValueError(f"norms: block {of.layer} has none")
    if which is not None and which not in known:
        raise ValueError(f"which: {which!r} is not one of {', '.join(known)}")
    return of, drawn(of, norm.draw, which=which or "")


@figure
def neurons(trace: Trace, layer: int = 0, token: int = -1, **options: Unpack[Options]) -> Made:
    """The feed-forward neurons with the largest values on a token, and what each of them promotes.

    Raises:
        ValueError: the feed-forward of this block has no hidden neurons.
    """
    of = selected(trace, "block", layer=layer, token=token, **options)
    if not sites.n_neurons(of.trace.config, of.trace.stack.side, of.layer):
        raise ValueError(f"neurons: the feed-forward of block {of.layer} has none")
    return of, drawn(of, hidden.draw)


@figure
def experts(trace: Trace, layer: int = 0, token: int = -1, **options: Unpack[Options]) -> Made:
    """Which experts are chosen for each token in each layer that has some, and with which weight.

    At most 22 tokens, around ``token``; of many layers those around ``layer``, which may be one without experts.

    Raises:
        ValueError: no layer has experts.
    """
    of = selected(trace, "block", layer=layer, token=token, **options)
    if routing.draw_routes(of) is None:
        raise ValueError("experts: no block of this stack has experts")
    return of, drawn(of, routing.draw_routes)


@figure
def attribution(
    trace: Trace, token: int = -1, target: int | str | None = None, rival: Asked = None, **options: Unpack[Options]
) -> Made:
    """The logit at a position as the sum that it is: what heads, feed-forward layers and embedding add to it.

    An encoder with a mask is asked with the token covered. Of a stack without logits the sum is the vector's length.

    Args:
        target: the token that is asked about, by id or text; by default the most probable.
        rival: a token, by id or text, whose logit is taken off; "average" for the mean of all; None for neither.

    Raises:
        ValueError: there is no such token, or the stack has no logits to ask about.
    """
    of = asking.covered(selected(trace, "attribution", token=token, **options))
    if not predicts(of.trace):
        if target is not None or rival is not None:
            raise ValueError(f"target: the {of.trace.stack.side} ends in vectors, there is no token to ask about")
        return of, drawn(of, waterfall.draw)
    best = of.trace.next_tokens(of.token, 1)[0][0].id if target is None else asking.vocabulary(of, target, "target")
    against = asking.rival(of, rival, best)
    compared = f"#{against}" if isinstance(against, int) else against or "none"
    asked = {} if target is None else {"word": f"#{best}"}
    return of, drawn(of, waterfall.draw, **asked, against=compared)


@figure
def logit_lens(trace: Trace, *, layer: int = 0, token: int = -1, **options: Unpack[Options]) -> Made:
    """What the model would say if it stopped after each block: the most probable token by position and depth, [P, S].

    At most twelve positions around ``token`` and eight depths, that after ``layer`` among them. An encoder with a mask
    is asked with the token covered.

    Raises:
        ValueError: the stack has no logits.
    """
    of = asking.covered(selected(trace, "attribution", layer=layer, token=token, **options))
    _needs_logits(of.trace, "logit_lens")
    return of, drawn(of, lenses.draw)


@figure
def next_tokens(
    trace: Trace, position: int = -1, *, sampling: Sampling = next_token_asked.USUAL, **options: Unpack[Options]
) -> Made:
    """The twenty most probable tokens after a position, before and after ``sampling`` filters them (shares of 1).

    Of an encoder: in place of the token there, which is covered where the vocabulary has a mask.

    Raises:
        ValueError: the stack has no logits.
    """
    group = next_token.group_of(asking.from_stack(trace, options.get("stack")).config)
    of = selected(trace, group, token=position, **options)
    _needs_logits(of.trace, "next_tokens")
    return of, drawn(of, choices.draw, **next_token_asked.written(sampling))


@spelled
def compare(
    first: Trace,
    second: Trace,
    *,
    layer: int = 0,
    head: int = 0,
    token: int = -1,
    part: str | None = None,
    stack: Side | None = None,
    lang: str = "en",
    theme: Theme = "light",
    **style: Unpack[Style],
) -> Figure:
    """What two runs differ in, of two models or of one with and without an edit.

    Side by side what each expects at ``token`` and where that ``head`` looks; the mean length of the residual stream
    by depth, [L + 1] each; and, of as many heads and tokens in both, how far the patterns of every head lie apart,
    [L, H]. Of the second run the nearest layer, head and token that it has. ``part`` draws one of these alone:
    "choices0", "choices1", "head0", "head1", "depth" or "distances".

    Raises:
        ValueError: these runs have no such part; the message says which they have.
    """
    of = selected(first, "architectures", stack=stack, layer=layer, head=head, token=token, lang=lang)
    other = asking.from_stack(second, of.trace.stack.side if stack is None and len(second.config.sides) > 1 else stack)
    names = (of.trace.name or "1", other.name or "2")
    if names[0] == names[1] and len(changed := named(other)) <= LONGEST_NAME:
        names = (named(of.trace) or "1", changed or "2")
    if names[0] == names[1]:
        names = (f"{names[0]} (1)", f"{names[1]} (2)")
    lm = LanguageModel(names[1], other.model, other.tokenizer, None, Path())
    beside = Other(names[1], {}, lm, replace(other, name=names[1]), is_public=False)
    look = replace(of, trace=replace(of.trace, name=names[0]), other=beside, layers=range(of.layer, of.layer + 1))
    parts = compared.parts(look)
    if part is not None and part not in parts:
        raise ValueError(f"part: {part!r} is not one of {', '.join(parts)}")
    scene = compared.joined(look, parts) if part is None else parts[part]
    seen, which = of, int(part in ("choices1", "head1"))
    if which:
        layer, head, token = compared.place(look, 1)
        seen = replace(of, trace=other, layer=layer, head=head, token=token)
    plot = depth.draw(look) if part == "depth" else None
    plotly = None if plot is None else plot.figure
    return Figure(part or "compare", seen, scene, theme, beside=None if part else other, plotly=plotly, **style)


@spelled
def cross(
    trace: Trace,
    layer: int = 0,
    head: int | None = 0,
    *,
    token: int = -1,
    lang: str = "en",
    theme: Theme = "light",
    **style: Unpack[Style],
) -> Figure:
    """What the target reads of its source: a pattern [Tq, Ts] of cross-attention; without a ``head`` the average.

    Raises:
        ValueError: the model has one stack, so nothing is read across.
    """
    sides = asking.from_stack(trace, None).config.sides
    if len(sides) < 2:
        raise ValueError(f"cross: a model with an encoder and a decoder is needed; this one has its {sides[0]} alone")
    of = selected(trace, "cross_attention", stack="decoder", layer=layer, head=head or 0, token=token, lang=lang)
    shown = "average" if head is None else "head"
    made = drawn(of, crossing.large, shown=shown, painted=shown)
    return Figure("cross", of, made, theme, **style)


@spelled
def show(trace: Trace, *, lang: str = "en", theme: Theme = "light", **style: Unpack[Style]) -> Figure:
    """The run as the app's first page shows it: :func:`overview`."""
    return overview(trace, lang=lang, theme=themed(theme), **style)


def _needs_text(trace: Trace, name: str, stack: Side | None = None) -> None:
    if isinstance(trace, Trace) and asking.from_stack(trace, stack).shows_patches:
        raise ValueError(f"{name}: this model reads a picture, and no tokens of a vocabulary")


def _needs_logits(trace: Trace, name: str) -> None:
    _needs_text(trace, name)
    if not predicts(trace):
        raise ValueError(f"{name}: the {trace.stack.side} of this model ends in vectors and predicts no token")
