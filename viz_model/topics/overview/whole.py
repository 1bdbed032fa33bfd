"""The whole run in one picture: a row a token, a column a stage, every cell a value of the run."""

import math
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from viz_model.drawing import chart, heatmap, theme
from viz_model.drawing.cells import COLUMN, ROW
from viz_model.drawing.cells import Cells as Where
from viz_model.drawing.heatmap import Pool
from viz_model.drawing.scene import Cells, Key, Mark, Panel, Pick, Rect, Scene, Select, Text
from viz_model.drawing.scene.writing import short, width_of
from viz_model.drawing.short_repr import short_repr
from viz_model.drawing.tables import Among, Lengths, Phrase, by
from viz_model.island.look import Look
from viz_model.island.prose import Line
from viz_model.measures import states
from viz_model.measures.heads import HEAD, HeadSummary
from viz_model.measures.passage import has_norms
from viz_model.measures.stream import evenly, longest, sum_lengths
from viz_model.runs.trace import Trace
from viz_model.topics.overview.finding import Guesses, Strong, ending, guesses, held, selected

ROW_WIDE = 890
"""Pixels of a row of panels, without the room between them."""
MOST_ROWS, MOST_BLOCKS = 56, 6
"""Rows of the picture, of longer texts several tokens share one; and blocks, of deeper models some are left out."""
MOST_NUMBERS = 27_000
"""Numbers of the whole picture, 4 bytes each: of strips that would be too wide neighbors are drawn as their mean."""
HIDDEN = -1.0
"""What a masked cell holds in place of a weight."""
TOP, TALLEST, LEAST = 44.0, 420.0, 220.0
"""Pixels above the first row, of all rows at the most, and of the picture's body at the least."""


class StripView(NamedTuple):
    """Vectors of all tokens at one site: ``values`` is [S, D]; ``part`` is its key in the words, and ``page`` where it
    is told of.
    """

    part: str
    page: str
    site: str
    values: np.ndarray


class BlockView(NamedTuple):
    """One block: the pattern [S, S] of the head that looks away most sharply, −1 where a mask hides, and the lengths of
    the stream behind it [S]. Of a block that holds a state, or convolves, and has no weights, what is read of each
    token through it, and ``does`` is None.
    """

    layer: int
    head: int
    does: HeadSummary | None
    pattern: np.ndarray
    norm: np.ndarray


@short_repr
class OverviewView(NamedTuple):
    """The stages of one run. S rows stand for T tokens, ``pool`` tokens each.

    Of pooled tokens each dimension shows the value of largest magnitude, patterns the largest weight, lengths the mean.
    ``strips`` are what enters the blocks; ``vectors`` what the run ends in where it predicts nothing. ``next_tokens``
    are those at ``token``, over the full vocabulary; ``look`` is its strongest look at another position, ``read`` at
    the source. Deep models show ``blocks`` at even distances, ``n_layers`` in all.
    """

    labels: tuple[str, ...]
    ids: tuple[int, ...]
    strips: tuple[StripView, ...]
    blocks: tuple[BlockView, ...]
    vectors: StripView | None
    next_tokens: tuple[tuple[str, float], ...]
    look: Strong | None
    read: Strong | None
    token: int
    pool: int
    n_layers: int

    @property
    def rows(self) -> int:
        return len(self.strips[0].values)


def block_view(look: Look, layer: int, pool: int) -> BlockView:
    """Of one block, as it is told in :class:`BlockView`."""

    def make(look: Look) -> BlockView:
        lengths = sum_lengths(look.trace, layer, "ffn")
        means = np.array([lengths[n : n + pool].mean() for n in range(0, len(lengths), pool)])
        if f"blocks.{layer}.attn.pattern" not in look.trace:
            return BlockView(layer, *states.farthest(look.trace, layer, pool), means)
        every = look.heads(layer, pool)
        head = int(np.argmax(every.sharpness))
        return BlockView(layer, head, every.does[head], np.nan_to_num(every.patterns[head], nan=HIDDEN), means)

    return look.once(make, ("block", layer, pool))


def view(look: Look) -> OverviewView:
    """Of the selected token."""
    trace, found = look.trace, guesses(look)
    pool, at = -(-len(look) // MOST_ROWS), look.token - held(look).start
    parts = [("embedding", "embed.token"), ("position", "embed.position")]
    return OverviewView(
        labels=look.labels,
        ids=tuple(token.id for token in trace.tokens),
        strips=tuple(_strip_view(look, part, part, site, pool) for part, site in parts if site in trace),
        blocks=tuple(block_view(look, layer, pool) for layer in evenly(look.n_layers, look.layer, MOST_BLOCKS)),
        vectors=_strip_view(look, "vectors", "next_token", trace.leaving, pool) if "logits" not in trace else None,
        next_tokens=() if found is None else tuple(zip(found.labels[at], found.chances[at].tolist(), strict=True)),
        look=selected(look),
        read=selected(look, "cross") if look.has("cross.pattern") else None,
        token=look.token,
        pool=pool,
        n_layers=look.n_layers,
    )


def _strip_view(look: Look, part: str, page: str, site: str, pool: int) -> StripView:
    values = look.once(lambda look: heatmap.extremes(look.trace[site].numpy(), Pool(pool, 1)), ("strip", site))
    return StripView(part, page, look.trace.full_name(site), values)


def draw(look: Look) -> Scene:
    """The stages as panels from left to right, a row a token in each; a click on a heading opens its stage."""
    drawn = view(look)
    rows = drawn.rows
    height = max(6.0, min(30.0, TALLEST / rows)) * rows
    ends = () if drawn.vectors is None else (drawn.vectors,)
    room = MOST_NUMBERS - len(drawn.blocks) * rows * (rows + 1)
    every = -(-drawn.strips[0].values.shape[1] * rows * (len(drawn.strips) + len(ends)) // room)
    names = [f"{n * drawn.pool}: {label}" for n, label in enumerate(drawn.labels[:: drawn.pool])]
    frame = _Frame(look, drawn.pool, height, TOP + max(height, LEAST) + 8, names, every)
    panels = [_tokens(drawn, frame)]
    top = max(_largest(strip) for strip in drawn.strips)
    panels += [_strip(strip, n, top, frame) for n, strip in enumerate(drawn.strips)]
    longest = look.once(longest_of)
    place = norms_stand(look.trace)
    shown = [evenly(look.n_layers, layer, MOST_BLOCKS) for layer in look.layers]
    for layer in sorted({layer for each in shown for layer in each}):
        own = [_block(block_view(look, layer, drawn.pool), longest, frame, place)]
        if look.has("cross.pattern"):
            own.append(_crossing(layer, frame))
        is_there: Any = look.by("layer", [layer in each for each in shown])
        panels += own if all(layer in each for each in shown) else [replace(one, present=is_there) for one in own]
    panels += [_strip(strip, 0, _largest(strip), frame) for strip in ends]
    if (found := guesses(look)) is not None:
        panels.append(_next(found, frame))
    panels = _flow(panels)
    if look.has("cross.pattern"):
        panels = _source(look) + panels
    notes = [look.words("pooled", pool=drawn.pool)] if drawn.pool > 1 else []
    if len(drawn.blocks) < drawn.n_layers:
        notes.append(look.words("folded", shown=len(drawn.blocks), n_layers=drawn.n_layers))
    scene = Scene(
        id="overview.picture",
        panels=panels,
        title=look.words("scene_alt"),
        description=look.words("scene_hint"),
        words={"masked": look.words("scene_masked")},
        note=" ".join(notes),
        keys=_keys(look, longest, place),
        keys_at="below",
        data=drawn,
        call=look.call("overview", layer=look.layer, token=look.token),
    )
    sites = [name for name in ("embed.token", "embed.position", "attn.pattern") if look.has(name)]
    is_whole = drawn.n_layers in (len(shown), len(drawn.blocks))
    return look.drawn(scene if is_whole else look.only_here(scene), sites)


def longest_of(look: Look) -> float:
    """What a full bar stands for: the longest stream of this run, and of its twin where that is there too."""
    return longest(look.trace, look.twin)


def norms_stand(trace: Trace) -> str:
    """Where the norms of a run stand: "before" what sub-layers read, "after" the addition, or "behind" a sub-layer."""
    if not has_norms(trace):
        return ""
    return {"pre": "before", "post": "after", "branch": "behind", "both": "before"}.get(trace.norm_at, "before")


def _keys(look: Look, longest: float, place: str) -> list[Key]:
    """What the bars are, with their scale, and where the norms stand."""
    keys = [chart.bar_key(look.words("scene_length", longest=f"{longest:.1f}"), "residual")]
    if place:
        keys.append(chart.bar_key(look.words(f"scene_norm_{place}"), "norm"))
    return keys


def _flow(panels: list[Panel]) -> list[Panel]:
    """The same with an arrow from each heading to the next."""
    arrow = Text(id="flow", text="→", x=(1, -2), y=10, anchor="end", fill="muted", size=14)
    return [*(replace(panel, marks=[*panel.marks, arrow]) for panel in panels[:-1]), panels[-1]]


def _source(look: Look) -> list[Panel]:
    """The other stack, which reads the source: its tokens, what enters it and its blocks; nothing of it is selected."""
    own: dict[Any, Any] = look.once(lambda _: {}, "source")
    trace = look.trace.at("encoder")
    there = replace(
        look, trace=trace, token=len(trace) - 1, layer=0, layers=range(trace.n_layers), twin=None, _read=own
    )
    found = view(there)
    step = max(6.0, min(22.0, 0.6 * TALLEST / found.rows))
    names = [f"{n * found.pool}: {label}" for n, label in enumerate(found.labels[:: found.pool])]
    frame = _Frame(there, found.pool, step * found.rows, TOP + step * found.rows + 8, names, 1)
    every = -(-found.strips[0].values.size // 4_000)
    longest = there.once(longest_of)
    panels = [_tokens(found, frame, is_source=True)]
    panels += [_strip(strip, n, _largest(strip), frame._replace(every=every)) for n, strip in enumerate(found.strips)]
    # As wide as a page, so that the stack that is written begins in a row of its own.
    wide = max(112, (ROW_WIDE - 118 - 98 * len(found.strips)) // max(1, len(found.blocks)))
    for block in found.blocks:
        panels.append(replace(_block(block, longest, frame, norms_stand(trace)), min=wide, most=max(wide, 300)))
    return [replace(panel, id=f"source.{panel.id}") for panel in _flow(panels)]


def _crossing(layer: int, frame: "_Frame") -> Panel:
    """What a decoder's block reads of the source: the pattern of its sharpest head of cross-attention."""
    look, source = frame.look, frame.look.trace.at("encoder")
    pattern = look.trace[f"blocks.{layer}.cross.pattern"].numpy()
    head, across = int(pattern.max(-1).mean(-1).argmax()), -(-len(source) // MOST_ROWS)
    labels = [token.label for token in source.tokens][::across]
    site = look.trace.full_name(f"blocks.{layer}.cross.pattern")
    cells = Cells(
        id="cells", y=TOP, height=frame.height, values=heatmap.extremes(pattern[head], Pool(frame.pool, across)),
        look="share", role="key", rows=frame.names, columns=labels, site=f"{site}[{head}]",
        where=Where(site, (head, ROW, COLUMN)) if frame.pool == across == 1 else None,
        bound="≤ " if frame.pool * across > 1 else "", name=look.words("scene_crossing"),
    )  # fmt: skip
    opens = Pick({"page": "cross_attention", "layer": layer, "head": head})
    marks = [*heading(look.words("scene_crossing"), f"{look.words('scene_head')} {head}", opens), cells]
    return Panel(id=f"cross.{layer}", marks=marks, height=frame.tall, min=84, most=200, grow=1)


def _largest(strip: StripView) -> float:
    return float(np.abs(strip.values).max(initial=0)) or 1.0


class _Frame(NamedTuple):
    """What all panels share: pixels of all rows and of a panel, the names of the rows, dimensions to a cell."""

    look: Look
    pool: int
    height: float
    tall: float
    names: list[str]
    every: int


def heading(name: str, beside: Any, opens: Any, label: Any = None) -> list[Mark]:
    """Two lines over a panel; a click opens the page that they name."""
    said = f"{name} · {beside}" if label is None else label
    return [
        Text(id="title", text=name, y=10, bold=True),
        Text(id="beside", text=beside, y=28, fill="muted"),
        Rect(id="open", width=(1, 0), height=38, act=opens, label=said),
    ]


def _tokens(view: OverviewView, frame: _Frame, *, is_source: bool = False) -> Panel:
    """Tokens and their ids, a row each where there is room for letters; a click follows one."""
    step = frame.height / view.rows
    name = "scene_source" if is_source else "scene_tokens"
    marks = heading(frame.look.words(name), str(len(view.labels)), Pick({"page": "tokens"}))
    for row in range(view.rows):
        position, y = row * view.pool, TOP + row * step
        label, id, role = view.labels[position], view.ids[position], theme.token(position)
        told = f"{position}: {label} · id {id}"
        box: dict[str, Any] = {"y": y + 1, "height": step - 2, "fill": role}
        act = None if is_source else Select(token=position)
        marks += [
            Rect(id=f"row.{row}", width=(1, 0), opacity=0.13, act=act, label=told, **box),
            Rect(id=f"mark.{row}", width=3, **box),
        ]
        if step >= 12:
            marks.append(Text(id=f"token.{row}", text=short(label, 10), x=8, y=y + step / 2, size=13))
            marks.append(Text(id=f"id.{row}", text=str(id), x=(1, -5), y=y + step / 2, anchor="end", fill="muted"))
    if is_source:
        return Panel(id="tokens", marks=marks, height=frame.tall, min=118, most=150)
    rows = np.arange(len(view.labels)) // view.pool
    chosen: Any = by("token", (TOP + step * rows).astype(np.float32))
    marks.append(Rect(id="chosen", y=chosen, width=(1, 0), height=step, stroke="accent", thick=2, radius=3))
    return Panel(id="tokens", marks=marks, height=frame.tall, min=118, most=150)


def _strip(strip: StripView, n: int, top: float, frame: _Frame) -> Panel:
    """Vectors, a row a token; of wide ones the mean of n dimensions."""
    words, every, width = frame.look.words, frame.every, strip.values.shape[1]
    said = words("scene_dimensions", n=width) if every == 1 else words("scene_every", n=every, of=width)
    where = Where(strip.site, (ROW, COLUMN)) if frame.pool == every == 1 else None
    starts = np.arange(0, width, every)
    counts = np.diff([*starts, width])
    means = np.add.reduceat(strip.values, starts, axis=1) / counts if every > 1 else strip.values
    columns = [str(n) if count == 1 else f"{n} … {n + count - 1}" for n, count in zip(starts, counts, strict=True)]
    name = words(f"scene_{strip.part}")
    cells = Cells(
        id="cells", y=TOP, height=frame.height, values=means, top=top, rows=frame.names,
        columns=[f"{words('scene_dimension')} {d}" for d in columns], site=strip.site, where=where, name=name,
    )  # fmt: skip
    # What is added has the dimensions of what it is added to.
    title, beside = f"{'+ ' if n else ''}{name}", "" if n else said
    marks = [*heading(title, beside, Pick({"page": strip.page}), title), cells]
    return Panel(id=f"strip.{strip.part}", marks=marks, height=frame.tall, min=math.ceil(max(76.0, width_of(beside))))


def _block(block: BlockView, longest: float, frame: _Frame, place: str) -> Panel:
    """A block's sharpest head, which a click looks at, and the lengths of the stream behind it."""
    look, names, step = frame.look, frame.names, frame.height / len(block.norm)
    at = f"{look.trace.prefix}blocks.{block.layer}"
    share = (block.norm / longest).astype(np.float32)
    bars: list[Mark] = [
        Rect(
            id=f"length.{row}", x=(0.7, 4), y=TOP + row * step + 0.2 * step, height=0.6 * step,
            width=(0.3 * float(one), -4 * float(one)), fill="residual",
        )
        for row, one in enumerate(share)
    ]  # fmt: skip
    measured = f'‖norm_input("{at}.ffn.norm")‖' if place == "after" else f"‖{at}.resid.out‖"
    lengths = Cells(
        id="lengths", x=(0.7, 4), y=TOP, width=(0.3, -4), height=frame.height, values=block.norm[:, None], look="blank",
        rows=names, columns=("",), site=measured, name=measured,
    )  # fmt: skip
    title, head = f"{look.words('scene_block')} {block.layer}", f"{look.words('scene_head')} {block.head}"
    convolves = look.site("attn.convolved", block.layer) in look.trace  # without heads
    site, pattern = f"{at}.attn.pattern", np.where(block.pattern == HIDDEN, np.nan, block.pattern)
    shown: dict[str, Any] = {"look": "share", "site": f"{site}[{block.head}]", "bound": "≤ " if frame.pool > 1 else ""}
    shown["where"] = Where(site, (block.head, ROW, COLUMN)) if frame.pool == 1 else None
    if block.does is None:
        shown = {"look": "signed", "top": float(np.nanmax(np.abs(pattern))) or 1.0, "role": "value"}
    cells = Cells(
        id="cells", y=TOP, width=(0.7, 0), height=frame.height, values=pattern, rows=names, columns=names,
        hidden=look.words("scene_masked"), name=title if convolves else f"{title}, {head}", **shown,
    )  # fmt: skip
    opens = Pick({"page": "attention", "layer": block.layer, "head": block.head})
    does = look.words("scene_state") if block.does is None else HEAD.label(look.t.language, block.does)
    named = look.words("scene_convolution") if convolves else f"{head} · {does}"
    marks = [*heading(title, named, opens), cells, *bars, lengths]
    if place:
        x: Any = 0 if place == "before" else (0.7, 0)
        told = look.words(f"scene_norm_{place}")
        marks.append(Rect(id="norm", x=x, y=TOP, width=3, height=frame.height, fill="norm", label=told))
    return Panel(id=f"block.{block.layer}", marks=marks, height=frame.tall, min=112, most=300, grow=2)


def _next(found: Guesses, frame: _Frame) -> Panel:
    """The most probable next tokens of the selected one."""
    look, n = frame.look, found.chances.shape[1]
    which, step = ending(look.trace), min(28.0, (frame.tall - TOP - 8) / n)
    title, after = look.words(f"scene_next_{which}"), look.words(f"scene_after_{which}")
    named: Any = Phrase(
        f"{after} {{{{token}}}}", {"token": Among(list(map(short, look.labels)), by("token", np.arange(len(look))))}
    )
    marks = heading(title, named, Pick({"page": "next_token"}), title)
    names = sorted({label for labels in found.labels for label in labels})
    number = {name: n for n, name in enumerate(names)}
    which_name = np.array([[number[label] for label in labels] for labels in found.labels])
    for k in range(n):
        y = TOP + k * step
        chance: Any = look.by("token guess", found.chances, guess=k)
        label: Any = Among(names, look.by("token guess", which_name, guess=k))
        said: Any = Among(list(map(short, names)), label.at)
        share: Any = look.by("token guess", found.chances, "percent", guess=k)
        wide: Any = Lengths(chance, 0, 1, (0.0, 0.0), (1.0, 0.0))
        where: Any = Where("probs", (by("token", np.arange(len(look))), look.by("token guess", found.ids, guess=k)))
        cell: Any = look.by("token guess", found.chances[..., None, None], guess=k)
        marks += [
            Rect(id=f"room.{k}", y=y + 2, width=(1, 0), height=step - 5, fill="output", opacity=0.2),
            Rect(id=f"bar.{k}", y=y + 2, width=wide, height=step - 5, fill="output", opacity=0.6),
            Text(id=f"guess.{k}", text=said, x=7, y=y + step / 2, size=13),
            Text(id=f"share.{k}", text=share, x=(1, -6), y=y + step / 2, size=13, anchor="end"),
            Cells(
                id=f"cell.{k}",
                y=y,
                height=step,
                values=cell,
                where=where,
                look="blank",
                columns=("",),
                site="probs",
                name=label,
            ),
        ]
    # In a row of its own it takes no more than its bars.
    return Panel(id="next", marks=marks, height=TOP + step * n + 8, min=140, most=260)


def source(look: Look) -> list[Line]:
    return [look.source(*(name for name in ("embed.token", "embed.position", "attn.pattern") if look.has(name)))]
