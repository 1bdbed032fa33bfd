"""Vectors that are added to the embedding: a row a position, how alike the rows are, and the sum that block 0 reads."""

import math
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import torch

from viz_model.claims import Claim, Verdict
from viz_model.drawing import chart, matrix, strips, theme
from viz_model.drawing.cells import COLUMN, ROW
from viz_model.drawing.cells import Cells as Where
from viz_model.drawing.digits import written
from viz_model.drawing.scene import Cells, Items, Key, Labels, Mark, Panel, Path, Rect, Scene, Series, Text
from viz_model.drawing.short_repr import short_repr
from viz_model.drawing.strips import Strip, StripsView
from viz_model.drawing.tables import By, Each, by
from viz_model.island import say
from viz_model.island.look import Look
from viz_model.island.page import Chooser
from viz_model.island.prose import Line
from viz_model.island.tabs import Worked
from viz_model.measures.stream import cosines
from viz_model.model import ops
from viz_model.runs.trace import Trace

PAPER_BASE = 10_000.0
"""The base of the waves in Vaswani et al. 2017, section 3.5."""
MAX_ROWS, MAX_CELLS, MAX_SIDE = 1024, 24_000, 150
"""Positions that are compared with one another at the most; cells of a matrix, and tokens along a side of a square:
of a longer text every n-th is drawn."""
PARTS = ("embed.token", "embed.patch", "embed.segment", "embed.position")
"""The values that are added up, where a model has them."""
Spans = Sequence[tuple[Any, int]]


def waves(positions: np.ndarray, d_model: int, base: float) -> np.ndarray:
    """[P] positions, whole or not -> [P, D], by the function that the model itself uses.

    A model only ever reads whole positions; the curve between them is for the eye.
    """
    at = torch.from_numpy(np.asarray(positions, dtype=np.float64))
    return ops.sinusoid(at, d_model, base).numpy()


def added(look: Look) -> np.ndarray:
    """What is added to each token, [T, D]."""
    return look.trace["embed.position"].numpy()


def largest_column(look: Look) -> np.ndarray:
    """Where each token's row is furthest from 0, [T]."""
    return np.abs(look.once(added)).argmax(-1)


@short_repr
class Rows(NamedTuple):
    """The picture of some rows: every n-th position, [T / n, any]."""

    values: np.ndarray


def rows(
    look: Look, id: str, alt: str, values: Any, site: str = "", spans: Spans = (), top: Any = None, axis: str = ""
) -> Scene:
    """A matrix with one row for each token, the selected one framed; ``spans`` of columns are framed too.

    ``values`` are [T, any], or a table of such by layer and head.
    """
    is_table = isinstance(values, By)
    array = values.values if is_table else values
    every = -(-math.prod(array.shape[-2:]) // MAX_CELLS)
    thin = array[..., ::every, :]
    drawn = Rows(values._replace(values=thin) if is_table else thin)
    shown = tuple(range(0, len(look), every))
    scene = matrix.scene(
        id,
        alt,
        drawn.values,
        look.labels[::every],
        [str(n) for n in range(array.shape[-1])],
        axes=(look.common("axis_token"), axis or look.common("axis_dimension")),
        top=strips.top_of(array) if top is None else top,
        every=every,
        spans=spans,
        written=False,
        role="position",
        where=look.cells(site, ("head", ROW, COLUMN)[not is_table :], rows=shown) if site else None,
        height=min(560, max(200, 110 + 22 * len(shown))),
    )
    asked = {"layer": look.layer, "head": look.head, "token": look.token}
    call = look.call("position", **asked) if site and not is_table else ""
    return look.drawn(scene, [site] if site else [], data=drawn, call=call)


source = say.source("embed.position")


def slider(look: Look, name: str, n: int, chosen: int, label: str, help: str) -> Chooser:
    """A choice among 0 … n − 1; another is another message. ``label`` and ``help`` are keys."""
    options = {str(one): str(one) for one in range(n)}
    return Chooser(name, options, look.words(label), look.words(help), str(chosen), asks=True, is_scale=True)


# How alike they are


def table(trace: Trace) -> np.ndarray:
    """Position rows [C, D] of a model that adds some: of the whole context, or its first :data:`MAX_ROWS`."""
    found = trace.stack.position.add(0, min(trace.config.n_context, MAX_ROWS))
    if found is None:
        raise ValueError(f"position: {type(trace.config.position).__name__} adds no rows")
    return found.detach().numpy()


class ByDistance(NamedTuple):
    """Over all pairs of positions that far apart: mean, smallest and largest cosine, each [T]."""

    mean: np.ndarray
    low: np.ndarray
    high: np.ndarray


def by_distance(similarities: np.ndarray) -> ByDistance:
    """[T, T] -> one value for each distance from 0 to T − 1.

    For sinusoidal rows low and high agree up to rounding: p_s·p_t = Σ_i cos((s − t) / b^(2i/D)),
    in which only the distance s − t occurs, and every row has the length √(D/2).
    """
    diagonals = [np.diagonal(similarities, offset) for offset in range(len(similarities))]
    mean, low, high = (np.array([of(d) for d in diagonals]) for of in (np.mean, np.min, np.max))
    return ByDistance(mean, low, high)


@short_repr
class Alike(NamedTuple):
    """How alike position rows are: the text's, [T, T], and by distance over C positions of the context.

    ``waves`` [C] is the same curve for sinusoidal rows of this width.
    """

    cosine: np.ndarray
    distance: ByDistance
    waves: np.ndarray

    @property
    def spread(self) -> float:
        """The largest difference between two pairs of positions that are equally far apart."""
        return float((self.distance.high - self.distance.low).max())

    def at(self, distance: int) -> float:
        """The mean at a distance, or at the largest there is."""
        return float(self.distance.mean[min(distance, len(self.distance.mean) - 1)])


def alike(look: Look) -> Alike:
    distance = by_distance(cosines(table(look.trace)))
    paper = waves(np.arange(len(distance.mean)), look.config.d_embedding // 2 * 2, PAPER_BASE)
    return Alike(cosines(look.once(added)), distance, cosines(paper)[0])


ALIKE: Verdict[float] = Verdict("position.alike", Claim("distance", lambda spread: spread < 1e-4))
"""Of the largest difference in similarity between two pairs equally far apart."""


def square(look: Look, prefix: str = "") -> Scene:
    """The square of similarities."""
    cosine, axis = look.once(alike).cosine, look.common("axis_token")
    every = -(-len(cosine) // MAX_SIDE)
    names = look.labels[::every]
    scene = matrix.scene(
        "position.similarity",
        look.words(f"{prefix}similarity_alt"),
        cosine[::every, ::every],
        names,
        names,
        axes=(axis, axis),
        top=1.0,
        every=every,
        written=False,
        look="signed" if cosine.min() < 0 else "share",
        role="position",
        height=380,
    )
    return look.drawn(scene, ["embed.position"], data=look.once(alike))


def curve(look: Look, prefix: str = "") -> Scene:
    """Similarity over distance: of the whole context, and a dot for each distance in the text; of trained rows with the
    range between the least and the most alike pair, and the curve of sinusoidal rows.
    """
    found, words, length = look.once(alike), look.words, len(look)
    is_trained = prefix == "learned_"
    n = min(len(found.distance.mean), max(64, 2 * length))
    at = np.arange(n)
    dots = found.cosine[0]
    values = [found.distance.mean[:n], dots, *((found.distance.low[:n], found.waves[:n]) if is_trained else ())]
    lowest = min(0.0, *(float(one.min()) for one in values))
    x, y = chart.Axis(-1, n, words("distance")), chart.Axis(lowest - 0.02, 1.06, words("cosine"))
    on, marks = chart.plot(x, y, 380)
    keys = []

    def line(id: str, values: np.ndarray, role: str, thick: float, dash: str | None, name: str) -> None:
        points = np.asarray(values[:n], np.float64)
        marks.append(Path(id=id, x=on.at_x(at), y=on.at_y(points), stroke=role, thick=thick, dash=dash))
        told: Any = Each(
            f"{words('distance')} {{{{at}}}}\n{{{{value}}}}",
            {"at": at, "value": by("", values[:n].astype(np.float32), "4")},
        )
        marks.append(Items(id=f"{id}.points", x=on.at_x(at), y=on.at_y(points), labels=told, name=name))
        keys.append(chart.line_key(name, role, "", thick=thick, dash=dash))

    if is_trained:
        around = np.concatenate([at, at[::-1]])
        band = np.concatenate([found.distance.low[:n], found.distance.high[:n][::-1]])
        marks.append(Path(id="band", x=on.at_x(around), y=on.at_y(band), fill="position", opacity=0.22))
        sample = Rect(id="key", y=2, width=28, height=10, fill="position", opacity=0.22)
        keys.append(Key(name=words("learned_curve_range"), marks=[sample]))
        line("waves", found.waves, "residual", 1.8, "5px,3px", words("learned_curve_waves"))
    line("rows", found.distance.mean, "position", 2.6, None, words("learned_curve_mean") if is_trained else "")
    labels: Any = Each(
        f"{{{{label}}}}\n{words('distance')} {{{{at}}}}\n{{{{value}}}}",
        {"label": tuple(look.labels), "at": np.arange(length), "value": by("", dots.astype(np.float32), "4")},
    )
    marks.append(
        Items(
            id="tokens",
            x=on.at_x(np.arange(length)),
            y=on.at_y(dots),
            symbol="circle",
            size=8 if length <= 64 else 4,
            fill=[theme.token(position) for position in range(length)],
            labels=labels,
        )
    )
    alt = words(f"{prefix}distance_alt")
    scene = Scene(
        id="position.distance",
        panels=[Panel(id="lines", marks=marks, height=380)],
        title=alt,
        keys=keys if is_trained else [],
        keys_at="below",
        series=[Series(words("cosine"), [str(one) for one in at], found.distance.mean[:n])],
    )
    return look.drawn(scene, ["embed.position"], data=found)


def near(look: Look) -> dict[str, str]:
    """How alike neighbors are, for prose."""
    return {"near": f"{look.once(alike).at(1):.2f}"}


def context(look: Look) -> dict[str, str]:
    """The context in words, and how much of it is compared."""
    size = look.config.n_context
    return {"context": f"{size:,}", "last_position": f"{size - 1:,}", "compared": f"{min(size, MAX_ROWS):,}"}


def say_alike(look: Look) -> Line:
    spread = look.once(alike).spread
    return Line(ALIKE.says(look.t.language, spread, spread=written(spread, "g2")))


# The sum


def parts(look: Look) -> list[str]:
    """The values that are added up in this model."""
    return [site for site in PARTS if site in look.trace]


def is_normed(look: Look) -> bool:
    """Whether the sum is normalized before block 0 reads it."""
    return "embed.norm.out" in look.trace


def summed(look: Look) -> np.ndarray:
    """The sum, [T, D]: what block 0 reads, or what the norm before it reads."""
    trace = look.trace
    return (trace.norm_input("embed.norm") if is_normed(look) else trace["embed.out"]).numpy()


@short_repr
class Sum(NamedTuple):
    """What is added up for each token, [T, D] each, the sum last; ``normed`` is what block 0 reads where that is
    another.
    """

    strips: tuple[np.ndarray, ...]
    normed: np.ndarray | None


def terms(look: Look) -> Sum:
    values = tuple(look.trace[site].numpy() for site in parts(look))
    return Sum((*values, summed(look)), look.trace["embed.out"].numpy() if is_normed(look) else None)


def _named(look: Look) -> list[tuple[str, str]]:
    """Each term of the sum and the sum, as a site ("" where it has none) and as it is called."""
    names = [look.words("strip_" + site.removeprefix("embed.")) for site in parts(look)]
    named = [(site, f"+ {name}" if n else name) for n, (site, name) in enumerate(zip(parts(look), names, strict=True))]
    end = ("", "strip_read") if is_normed(look) else ("embed.out", "strip_total")
    return [*named, (end[0], look.words(end[1]))]


def is_whole(look: Look) -> Chooser:
    options = {str(int(on)): look.common("on" if on else "off") for on in (False, True)}
    return Chooser("whole", options, look.words("whole"), asks=True)


def sum_title(look: Look) -> Iterator[Line]:
    yield look.title("sum_normed" if is_normed(look) else "sum", token=look.token_named())


def total(look: Look, spans: Callable[[Look], Spans]) -> Scene:
    """The terms and below them their sum, on one color scale: of the selected token, or of all."""
    found, alt = look.once(terms), look.words("sum_alt")
    if look.options.get("whole") == "1":
        scene = _matrices(look, found.strips, alt)
    else:
        tops = np.maximum(np.abs(np.stack(found.strips)).max((0, 2)), 1e-30)
        scene = _strips(look, "position.sum", alt, _named(look), found.strips, tops, spans(look))
    return look.drawn(scene, [site for site, _ in _named(look) if site], data=found)


def normed(look: Look, spans: Callable[[Look], Spans]) -> Scene | None:
    """What block 0 reads where the sum is normalized first, on a scale of its own."""
    values = look.once(terms).normed
    if values is None:
        return None
    name = look.words("strip_normed")
    tops = np.maximum(np.abs(values).max(-1), 1e-30)
    scene = _strips(look, "position.normed", name, [("embed.out", "")], (values,), tops, spans(look))
    return look.drawn(scene, ["embed.out"], heading=name)


def _strips(
    look: Look,
    id: str,
    alt: str,
    named: Sequence[tuple[str, str]],
    values: Sequence[np.ndarray],
    tops: np.ndarray,
    spans: Spans,
) -> Scene:
    top, where = by("token", tops.astype(np.float32)), by("token", np.arange(len(look)))
    drawn = []
    for (site, name), one in zip(named, values, strict=True):
        cells: Any = Where(look.trace.full_name(site), (where, COLUMN)) if site else None
        drawn.append(Strip(name, by("token", one), "signed", top, cells=cells))
    names = tuple(map(str, range(values[0].shape[1])))
    height = 56 + strips.STRIP_HEIGHT * len(drawn)
    view = StripsView(tuple(drawn), names, height, column_axis=look.common("axis_dimension"), spans=spans)
    return strips.scene(view, id, alt, {"masked": look.common("masked")})


def _matrices(look: Look, values: Sequence[np.ndarray], alt: str) -> Scene:
    """Matrices of all tokens below each other."""
    tall, top = min(320.0, max(60.0, 18.0 * len(look))), strips.top_of(np.stack(values))
    marks: list[Mark] = []
    y = 0.0
    for (site, name), one in zip(_named(look), values, strict=True):
        every = -(-one.size // MAX_CELLS)
        shown = tuple(range(0, len(one), every))
        where = Where(look.trace.full_name(site), (ROW, COLUMN), rows=shown) if site else None
        names = look.labels[::every]
        place: dict[str, Any] = {"x": 90, "y": y + 24, "height": tall}
        marks += [
            Text(id=f"name.{name}", text=name, x=90, y=y + 12),
            Cells(id=name, width=(1, -90), values=one[::every], top=top, rows=names, where=where, name=name, **place),
            Labels(id=f"rows.{name}", texts=names, x=82, y=y + 24, length=tall, along="y"),
        ]
        y += tall + 34
    return Scene(id="position.sum", panels=[Panel(id="matrices", marks=marks, height=y)], title=alt)


def sum_source(look: Look) -> Iterator[Line]:
    yield look.source(*parts(look), "embed.out")


def tell_sum(look: Look) -> Iterator[Line]:
    lengths = [np.linalg.norm(one, axis=-1) for one in look.once(terms).strips]
    known = dict(zip(parts(look), lengths, strict=False))
    said = {"embedding": lengths[0], "position": known["embed.position"], "input": lengths[-1]}
    yield look.text("sum", token=look.token_named(), **{name: by("token", one, "2") for name, one in said.items()})


# The tabs that all such schemes share


def worked(look: Look, columns: Sequence[int]) -> list[Worked]:
    """What is added to the selected token in some columns, and then the sum in the first."""
    cells = [Worked((), "embed.position", (look.token, column)) for column in columns]
    return [*cells, Worked((), "embed.out", (look.token, columns[0]))]


def code(look: Look) -> list[str]:
    """Where position enters, then the embedding's other parts."""
    return list(dict.fromkeys(("embed.position", *(site for site in look.trace.sites if site.startswith("embed.")))))


def numbers(look: Look) -> tuple[str, np.ndarray, Sequence[str], Sequence[str]]:
    """The positions of all tokens."""
    values = look.once(added)
    return "embed.position", values, look.labels, [str(n) for n in range(values.shape[1])]


def items(prefix: str) -> list[Any]:
    """The two pictures of how alike rows are, whose texts begin so."""
    return [partial(square, prefix=prefix), partial(curve, prefix=prefix)]
