"""Where the parameters of a block are."""

from collections.abc import Iterator
from typing import Any, Literal, NamedTuple, get_args

import numpy as np

from viz_model.claims import Claim, Verdict
from viz_model.drawing import chart
from viz_model.drawing.digits import written
from viz_model.drawing.scene import Items, Mark, Panel, Scene, Text, Texts
from viz_model.drawing.tables import Lengths
from viz_model.island.look import Look
from viz_model.island.prose import Line
from viz_model.runs.trace import Trace
from viz_model.topics.block.vectors import facts, of_one

Part = Literal["attention", "cross", "ffn", "norms"]
PARTS: tuple[Part, ...] = get_args(Part)
ROLES = {"q": "query", "k": "key", "v": "value", "o": "pattern"}
ROW = 62.0
"""Pixels of a sub-layer's bar with its name."""
_NAMES = {"q": "W^Q", "k": "W^K", "v": "W^V", "o": "W^O", "gate": "W^gate", "up": "W^up", "down": "W^down"}
_PLAIN_NAMES = {"up": "W¹", "down": "W²"}


class Matrix(NamedTuple):
    """One weight matrix with its bias, or one norm, of a block: how many numbers were learned for it."""

    part: Part
    name: str
    n_parameters: int
    shape: tuple[int, ...]


class WeightsView(NamedTuple):
    """The matrices and norms of a block, with how many parameters each has; biases are counted in."""

    matrices: tuple[Matrix, ...]

    @property
    def total(self) -> int:
        return sum(matrix.n_parameters for matrix in self.matrices)

    @property
    def groups(self) -> dict[str, int]:
        """Parameters by sub-layer, and of all norms, in the order of computation."""
        counts = {part: sum(matrix.n_parameters for matrix in self.matrices if matrix.part == part) for part in PARTS}
        return {part: count for part, count in counts.items() if count}

    def facts(self) -> dict[str, str]:
        """For prose: the whole, and each group's share."""
        groups = {"ffn": 0, "norms": 0} | self.groups  # either may be without weights
        shares = {f"{group}_share": f"{count / self.total:.0%}" for group, count in groups.items()}
        counts = {f"{group}_count": f"{count:,}" for group, count in groups.items()}
        return {"total": f"{self.total:,}", **shares, **counts}


PARAMETERS: Verdict[WeightsView] = Verdict(
    "block.parameters", Claim("ffn", lambda view: view.groups.get("ffn", 0) > view.total / 2)
)


def weights(trace: Trace, layer: int) -> WeightsView:
    """What a block has learned, counted on the module itself, in the module's order; shapes as PyTorch stores them."""
    found: dict[str, Matrix] = {}
    for full, parameter in trace.stack.block(layer).named_parameters():
        name, _, kind = full.rpartition(".")
        known = found.get(name, Matrix(_part(full), name, 0, ()))
        shape = tuple(parameter.shape) if kind == "weight" else known.shape
        found[name] = known._replace(n_parameters=known.n_parameters + parameter.numel(), shape=shape)
    return WeightsView(tuple(found.values()))


def _part(name: str) -> Part:
    steps = name.split(".")
    if any(step.endswith("norm") for step in steps):
        return "norms"
    return "attention" if steps[0] == "attn" else "cross" if steps[0] == "cross" else "ffn"


def _here(look: Look) -> WeightsView:
    return look.once(lambda _: weights(look.trace, look.layer), ("weights", look.layer))


def draw(look: Look) -> Scene:
    """A row a sub-layer, its matrices side by side as long as they are many; the norms below."""
    view = _here(look)
    gated = any(matrix.name == "ffn.gate" for matrix in view.matrices)
    groups, widest = view.groups, max(view.groups.values())
    marks: list[Mark] = []
    for row, (group, count) in enumerate(groups.items()):
        top = row * ROW
        of = "state" if group == "attention" and of_one(look).holds_state else group
        said = f"{look.words(f'weights_{of}')}  {count:,} · {written(count / view.total, '%1')}"
        own = [matrix for matrix in view.matrices if matrix.part == group]
        sizes = np.array([matrix.n_parameters for matrix in own])
        names, ones = [_name(matrix, gated) for matrix in own], np.ones(len(own), np.float32)
        roles = ["norm" if group == "norms" else ROLES.get(one.name.rpartition(".")[2], "ffn") for one in own]
        told = [
            f"{name} [{' × '.join(map(str, matrix.shape))}]\n{matrix.n_parameters:,}"
            for name, matrix in zip(names, own, strict=True)
        ]
        at, wide, middle = (
            Lengths(values, 0, widest, (0.0, 0.0), (1.0, -2.0))
            for values in (sizes.cumsum() - sizes, sizes, sizes.cumsum() - sizes / 2)
        )
        box = {"y": (top + 24) * ones, "height": 30 * ones}
        marks += [
            Text(id=f"name.{group}", text=said, x=0, y=top + 12, bold=True),
            Items(id=group, x=at, width=wide, **box, fill=roles, stroke="paper", labels=told, name=said),  # type: ignore[arg-type]
            Texts(id=f"names.{group}", texts=names, x=middle, y=(top + 39) * ones, rooms=wide),  # type: ignore[arg-type]
        ]
    end = ROW * len(groups)
    axis = chart.Axis(0, widest, look.words("weights_axis"), "whole")
    for tick in axis.ticks(5):
        share = float(axis.share(np.asarray(tick)))
        anchor: Any = "end" if share > 0.95 else "middle" if share > 0.05 else "start"
        marks.append(
            Text(id=f"tick.{tick:g}", text=axis.named(tick), x=(share, 0), y=end + 4, anchor=anchor, fill="muted")
        )
    marks.append(Text(id="axis", text=axis.title, x=(0.5, 0), y=end + 20, anchor="middle"))
    panel = Panel(id="weights", marks=marks, height=end + 32)
    return look.only_here(Scene(id="block.weights", panels=[panel], title=look.words("weights_alt")))


def _name(matrix: Matrix, gated: bool) -> str:
    """How a page calls a matrix or a norm."""
    if matrix.part == "norms":
        return matrix.name
    names = _NAMES if gated or matrix.part != "ffn" else _PLAIN_NAMES
    return names.get(matrix.name.rpartition(".")[2], matrix.name)


def title(look: Look) -> Iterator[Line]:
    view = _here(look)
    yield Line(PARAMETERS.says(look.t.language, view, **facts(look), **view.facts()), "title")


def tell(look: Look) -> Iterator[Line]:
    config = look.here
    way = of_one(look)
    yield look.text(f"weights{way.reader}", **facts(look), **_here(look).facts())
    if config.n_kv_heads < config.n_heads and not way.holds_state:
        yield look.text("weights_shared", n_heads=config.n_heads, n_kv_heads=config.n_kv_heads)
