"""A token's vectors from the block's input up to its output, with the residual stream drawn beside them."""

import functools
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from viz_model.claims import Claim, Verdict
from viz_model.drawing import matrix
from viz_model.drawing.cells import COLUMN
from viz_model.drawing.digits import root
from viz_model.drawing.scene import Cells, Items, Labels, Mark, Panel, Path, Rect, Scene, Text, Texts
from viz_model.drawing.short_repr import short_repr
from viz_model.drawing.tables import Among, First, Lengths, Phrase, by
from viz_model.island.look import Look
from viz_model.island.page import Chooser
from viz_model.island.prose import Line
from viz_model.measures import passage, stream
from viz_model.measures.passage import Step, SubLayer, Sum
from viz_model.runs.trace import Trace

PLACE = "layer token"
CLIP = 2.0
"""Colors end at this many times the magnitude that 98 % of the values do not reach."""
MORE = 1.25
"""How many times as long as all others the longest vector is that adds "the most"."""
MOST_NUMBERS, MOST_TOGETHER = 400_000, 200_000
"""Numbers of all tokens of a layer that are sent together: of more those of the selected token alone; and those of all
layers: of more those of the selected layer, and of the selected token.
"""
TALL, LEFT, CENTER = 62, 62.0, 36.0
"""Pixels of a strip with its name, before the strips, and from a strip's top to the middle of its cells."""


@short_repr
class Vectors(NamedTuple):
    """A block's vectors in the order of computation: of one token [D], or of all, [T, D]; of some blocks [L, T, D].

    Attributes:
        norm_at: the place of the norms, or "parallel".
        limit: where the colors are at their fullest: the largest magnitude, or less where a few values are so large
            that the others would have no color; of all tokens [T], of some blocks [L, T].
        residual: whether what a sub-layer writes is added to what it read, or takes its place.
        shifts: whether the norm adds β.
        normed: the sub-layers whose norm does something.
        holds_state: whether a state carries from token to token, in the place of attention.
    """

    steps: tuple[Step, ...]
    sums: tuple[Sum, ...]
    norm_at: str
    norm: str
    limit: Any
    residual: bool
    has_norms: bool
    shifts: bool
    normed: tuple[SubLayer, ...]
    holds_state: bool = False

    @property
    def matrix(self) -> np.ndarray:
        """The steps as rows, from x on: [7 or 10, …]."""
        return np.stack([step.values for step in self.steps])

    @property
    def sites(self) -> tuple[str, ...]:
        """The sites among the steps: a sum that goes straight to a norm has none."""
        return tuple(step.site for step in self.steps if not step.site.startswith("norm_input"))

    @property
    def largest(self) -> Any:
        """The largest magnitude."""
        return np.abs(self.matrix).max((0, -1))

    @property
    def n_clipped(self) -> Any:
        """How many values are larger than the colors can say."""
        return (np.abs(self.matrix) > np.asarray(self.limit)[..., None]).sum((0, -1))

    def values(self, name: str) -> np.ndarray:
        return next(step.values for step in self.steps if step.name == name)

    def length(self, name: str) -> Any:
        """L2 length of the step called ``name``."""
        return np.linalg.norm(self.values(name), axis=-1)

    def reads(self, sublayer: str) -> np.ndarray:
        """What a sub-layer reads: under Pre-LN the normalized stream, under Post-LN the stream."""
        return self.values(next(found.asks for found in self.sums if found.sublayer == sublayer))

    # Which texts are true of it.

    @property
    def crosses(self) -> str:
        """The end of the keys of texts about a block that reads an encoder too."""
        return "_cross" if any(found.sublayer == "cross" for found in self.sums) else ""

    @property
    def reader(self) -> str:
        """The end of the keys of texts on what reads other tokens here, where that is not attention to a text alone."""
        return self.crosses or ("_state" if self.holds_state else "")

    @property
    def norm_kind(self) -> str:
        """The norm, as texts tell it apart."""
        return self.norm if self.shifts else f"{self.norm}_no_shift"

    @property
    def kind(self) -> str:
        """The place of its norms, or a part that is missing in this run."""
        if not self.residual:
            return "alone"
        return self.norm_at if self.has_norms else "bare"

    @property
    def of_stream(self) -> str:
        """The same for texts about the stream alone, which on a branch no norm touches."""
        return "branch" if self.kind in ("branch", "both", "parallel") else self.kind

    @property
    def of_sums(self) -> str:
        """The same for texts about what is added to the stream, norms aside."""
        return "pre" if self.kind == "bare" or self.of_stream == "branch" else self.kind

    @property
    def numbering(self) -> str:
        """Which words on the textbook's numbers are true: a norm's name, "post", "cross", "changed", "otherwise"."""
        if any(step.equation for step in self.steps):
            return self.norm
        if self.norm_at == "post" and not (self.has_norms and self.residual):
            return "changed"
        return {"pre": "cross", "post": "post"}.get(self.norm_at, "otherwise")


def vectors(trace: Trace, layer: int, token: int | None = None) -> Vectors:
    """A token's vectors in a block, or those of all tokens."""
    steps, sums = passage.passage(trace, layer, token)
    sizes = np.abs(np.stack([step.values for step in steps]))
    largest, most = sizes.max((0, -1)), CLIP * np.quantile(sizes, 0.98, axis=(0, -1))
    largest = np.where(largest > 0, largest, 1.0)
    return Vectors(
        steps,
        sums,
        passage.put_together(trace),
        passage.norm_name(trace),
        np.where(most > 0, np.minimum(largest, most), largest),
        trace.config.residual,
        passage.has_norms(trace),
        getattr(trace.config.norm, "shift", True),
        tuple(one for one in passage.sublayers(trace, layer) if passage.measures(trace, f"blocks.{layer}.{one}.norm")),
        f"blocks.{layer}.attn.state" in trace,
    )


def held(look: Look) -> Look:
    """At all layers where their steps are called alike, for a file if they are few; else at the selected one."""
    every = (whole := look.wide).once(_every)
    called = {tuple(step[:2] for step in one.steps) for one in every}
    few = sum(step.values.size for one in every for step in one.steps) <= MOST_TOGETHER
    return whole if len(called) == 1 and (few or not look.is_saved) else look.narrow


def _every(look: Look) -> list[Vectors]:
    return [vectors(look.trace, layer) for layer in look.layers]


def whole(look: Look) -> Vectors:
    """Of all tokens in the layers that are held."""
    every = look.once(_every)
    values = (np.stack([one.steps[n].values for one in every]) for n in range(len(every[0].steps)))
    steps = [step._replace(values=one) for step, one in zip(every[0].steps, values, strict=True)]
    return every[0]._replace(steps=tuple(steps), limit=np.stack([one.limit for one in every]))


def of_one(look: Look) -> Vectors:
    """Of the selected token."""
    return look.narrow.once(lambda _: vectors(look.trace, look.layer, look.token), ("vectors", look.token))


def facts(look: Look) -> dict[str, Any]:
    """What most sentences on the selected place need."""
    found, d_model = of_one(look), look.config.d_model
    return {
        "token": look.code_name(look.token),
        "layer": look.layer,
        "norm": found.norm,
        "d_model": d_model,
        "is_root": root(d_model, 1)[0],
    }


def dimension(look: Look) -> int:
    """The one that the visitor follows."""
    asked = look.options.get("dimension", "")
    return min(int(asked), look.config.d_model - 1) if asked else 0


def choose(look: Look) -> Chooser:
    return Chooser("dimension", range(look.config.d_model), *map(look.words, ("dimension", "dimension_help")))


# The picture


def draw(look: Look) -> Scene:
    """Strips from x at the top to the output, on one color scale, so that sums can be checked by eye."""
    look = held(look)
    found, words, width = look.once(whole), look.words, look.config.d_model
    limit, across = look.by(PLACE, found.limit), (1.0, -LEFT - matrix.SCALE)
    axis, columns = look.common("axis_dimension"), tuple(map(str, range(width)))
    marks: list[Mark] = []
    for n, step in enumerate(found.steps):
        top, made = n * TALL, f"{step.name} = {step.formula}" if step.formula else step.name
        is_site = step.site in found.sites
        where = look.cells(step.site.split(".", 2)[2], ("token", COLUMN)) if is_site else None
        length: Any = {"length": look.by(PLACE, found.length(step.name), "2")}
        named = made + (f" ({step.equation})" if step.equation else "")
        told: Any = Phrase(f"{named} · {words('length')} {{{{length}}}}", length)
        marks += [
            Rect(id=f"role.{n}", x=LEFT, y=top + 5, width=10, height=10, fill=step.role),
            Text(id=f"name.{n}", text=made, x=LEFT + 15, y=top + 10, size=13, bold=True),
            Cells(
                id=f"cells.{n}",
                x=LEFT,
                y=top + 20,
                width=across,
                height=CENTER - 4,
                values=_of_tokens(look, step.values),
                top=limit,
                name=told,
                columns=columns,
                column_axis=axis,
                site=look.full(step.site.split(".", 2)[2]) if is_site else _of_layer(look, step.site),
                where=where,
            ),
        ]
        x = Lengths(by("dimension", np.arange(width)), 0, width, (0.0, LEFT), (1.0, LEFT + across[1]))
        box: dict[str, Any] = {"y": top + 19, "width": (1 / width, across[1] / width), "height": CENTER - 2}
        marks.append(Rect(id=f"dimension.{n}", x=x, stroke="accent", thick=1.5, **box))  # type: ignore[arg-type]
    end = TALL * len(found.steps) - 6.0
    marks += [*_rail(found), *matrix.scale("signed", limit, "pattern", end)]
    marks.append(Labels(id="columns", texts=columns, x=LEFT, y=end + 3, length=across))
    middle = (0.5, LEFT + across[1] / 2)
    marks.append(Text(id="axis", text=axis, x=middle, y=end + 32, anchor="middle"))
    scene = Scene(
        id="block.strips",
        panels=[Panel(id="strips", marks=marks, height=end + 42)],
        title=words(f"strips_alt{found.crosses}"),
        words={"masked": look.common("masked")},
    )
    call = look.call("block", layer=look.layer, token=look.token, dimension=dimension(look))
    scene, sites = look.only_here(scene, layer=len(look.layers) < look.n_layers), _own(found)
    return look.drawn(scene, sites, data=of_one(look), call=call)


def _own(found: Vectors) -> list[str]:
    """The values among the steps, by their names within a block."""
    return [site.split(".", 2)[2] for site in found.sites]


def _of_tokens(look: Look, values: np.ndarray) -> Any:
    """Numbers [L, T, D] by layer and token: all, or those of the selected layer, and of the selected token in all."""
    if 7 * values.size <= MOST_TOGETHER:
        return look.by(PLACE, values)
    at, layer = look.token, look.layer - look.layers.start
    of_token = look.by(PLACE, values[:, at : at + 1])
    if 7 * values[0].size > MOST_NUMBERS:
        return of_token
    of_layer = look.narrow.by(PLACE, values[layer : layer + 1])
    return of_layer if len(look.layers) == 1 else First((of_layer, of_token))


def _of_layer(look: Look, name: str) -> Any:
    """The name of a value of the first block that is held, as one of any."""
    return Phrase(name.replace(f"blocks.{look.layers.start}.", "blocks.{{layer}}."), {"layer": look.layer_number})


def _rail(found: Vectors) -> Iterator[Mark]:
    """The stream as a gray line, each sub-layer as a branch beside it that comes back at a ⊕."""
    steps, stream, branch = found.steps, 14.0, 40.0

    def line(id: str, x: list[float], rows: list[int], role: str, thick: float) -> Path:
        y = np.array([row * TALL + CENTER for row in rows], np.float32)
        return Path(id=id, x=np.array(x, np.float32), y=y, stroke=role, thick=thick)

    # Without the additions nothing passes a sub-layer by: there the stream leads through it alone.
    together = [[n, n + 1] for n in range(len(steps) - 1) if steps[n].on_stream and steps[n + 1].on_stream]
    for n, rows in enumerate([[0, len(steps) - 1]] if found.residual else together):
        yield line(f"stream.{n}", [stream] * 2, rows, "residual", 4)
    below, sums = 0, []
    for row, step in enumerate(steps):
        sums.append(found.residual and step.on_stream and row > 0 and not steps[row - 1].on_stream)
        if step.on_stream:
            if aside := list(range(below + 1, row)):
                leaves = 0 if found.norm_at == "parallel" else below
                role = next(steps[n].role for n in reversed(aside) if steps[n].role != "norm")
                yield line(f"branch.{row}", [stream, *(branch for _ in aside), stream], [leaves, *aside, row], role, 2)
            below = row
    x = np.array([stream if step.on_stream else branch for step in steps], np.float32)
    y = (TALL * np.arange(len(steps)) + CENTER).astype(np.float32)
    sizes, roles = [18.0 if is_sum else 12.0 for is_sum in sums], [step.role for step in steps]
    yield Items(id="steps", x=x, y=y, symbol="circle", size=sizes, fill=roles, walk=False)
    signs = ["+" if is_sum else "" for is_sum in sums]
    yield Texts(id="signs", texts=signs, x=x, y=y, size=16, fill="white")


# What is said


class Written(NamedTuple):
    """How long the vectors are that the parts of a block write at a token; 0 where there is no such one."""

    attn: Any
    ffn: Any
    cross: Any = 0.0
    state: Any = 0.0
    input: Any = 0.0


def _adds_most(part: str) -> Claim[Written]:
    def holds(written: Written) -> Any:
        others = (getattr(written, other) for other in written._fields if other != part)
        return getattr(written, part) > MORE * functools.reduce(np.maximum, others)

    return Claim(part, holds)


WRITTEN: Verdict[Written] = Verdict("block.written", *map(_adds_most, ("attn", "cross", "ffn", "state", "input")))


def written(found: Vectors) -> Written:
    lengths: dict[str, Any] = {one.sublayer: found.length(one.written) for one in found.sums}
    if found.holds_state:
        lengths |= {"state": lengths["attn"], "attn": 0.0}
    return Written(**lengths)


def _lengths(look: Look) -> dict[str, Any]:
    """What the block does to each token's vector: lengths, before a norm on the stream, and how far it turns."""
    found = look.once(whole)
    entering, leaving = found.steps[0], found.steps[-1]
    product = np.linalg.norm(entering.values, axis=-1) * np.linalg.norm(leaving.values, axis=-1)
    cosine = (entering.values * leaving.values).sum(-1) / np.where(product > 0, product, 1.0)
    names = {"entering": "x", "leaving": leaving.name} | {one.sublayer: one.written for one in found.sums}
    if stream.is_normed(look.trace):  # of the sums, not of what norms make of them
        names["leaving"] = found.sums[-1].total
    lengths = {key: found.length(name) for key, name in names.items()}
    for n, layer in enumerate(look.layers):
        if layer and stream.is_normed(look.trace):
            lengths["entering"][n] = stream.sum_lengths(look.trace, layer - 1, "ffn")
    said = {key: look.by(PLACE, one, "1") for key, one in lengths.items()}
    return {
        "token": look.token_named(),
        "layer": look.layer_number,
        "cosine": look.by(PLACE, cosine, "2"),
        **said,
    }


def instead(look: Look) -> Iterator[Line]:
    """What the page calls attention, at a layer where something else carries from token to token."""
    for name in ("state", "convolved"):
        if look.has(f"attn.{name}"):
            yield look.text(f"instead_{name}", layer=look.layer_number)


def shared(look: Look) -> Iterator[Line]:
    """That the block's weights are those of every layer."""
    if look.config.shared_blocks:
        yield look.text("shared", layers=look.n_layers)


def title(look: Look) -> Iterator[Line]:
    look = held(look)
    yield look.title("title", **_lengths(look))


def below(look: Look) -> Iterator[Line]:
    """The values that are drawn, and how many of them are larger than colors can say."""
    look = held(look)
    found = look.once(whole)
    yield look.source(*_own(found))
    if (clipped := found.n_clipped).any():
        limits = {name: look.by(PLACE, getattr(found, name), "1") for name in ("limit", "largest")}
        said = look.words("clipped", n=look.by(PLACE, clipped, "whole"), **limits)
        which = look.by(PLACE, (clipped > 0).astype(int))
        yield Line(said._replace(template=Among(["", said.template], which)), "note")


def tell(look: Look) -> Iterator[Line]:
    look = held(look)
    found, given = look.once(whole), _lengths(look)
    wrote = "added" if found.residual else "wrote"
    added, reads = (look.words(f"{key}{found.reader}", **given) for key in (wrote, "reads"))
    yield look.text(f"see_{found.of_sums}", **given, added=added, reads=reads)
    if "input" in given:
        yield look.text("see_input", **given)
    if look.config.block_scale:
        scale = [look.trace.stack.block(layer).get_parameter("scale").item() for layer in look.layers]
        yield look.text("see_scale", scale=look.by("layer", np.array(scale), "3"))
    lengths = written(found)
    sizes = np.sort(np.stack([np.broadcast_to(one, lengths.ffn.shape) for one in lengths]), axis=0)
    times = sizes[-1] / np.where(sizes[-2] > 0, sizes[-2], 1.0)
    yield look.claim(WRITTEN, lengths, PLACE, times=look.by(PLACE, times, "1"))
