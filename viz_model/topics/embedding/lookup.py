"""Every token id picks its row of the table, and those rows go on into the model."""

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from viz_model.claims import Claim, Verdict
from viz_model.drawing import chart, heatmap, matrix, theme
from viz_model.drawing.cells import COLUMN, ROW
from viz_model.drawing.cells import Cells as Where
from viz_model.drawing.scene import Cells, Items, Mark, Panel, Path, Rect, Scene, Series, Text, Texts
from viz_model.drawing.scene.writing import short
from viz_model.drawing.short_repr import short_repr
from viz_model.drawing.tables import Among, Each, Lengths, by
from viz_model.island import say
from viz_model.island.look import Look
from viz_model.island.prose import Line
from viz_model.topics.embedding import table
from viz_model.topics.embedding.table import facts

MAX_NAMED_ROWS, MAX_CELLS, MOST_LINES = 28, 14_000, 256
"""Rows of the picked matrix that are named, as beyond the names would touch; its cells, of wider models neighboring
dimensions share one; and lines to its rows.
"""
STRIP_QUANTILE = 0.97
TOP, NAMES = 24.0, 92.0
"""Pixels above the table, and of the names in front of the rows."""


def full_from(values: np.ndarray) -> float:
    """Where colors are full. A few tokens have rows many times larger, and would gray out the rest."""
    return float(np.quantile(np.abs(values), 0.98)) or 1.0


def strip_top(strip: np.ndarray) -> float:
    """Where the strip's colors are full: a few rows of bytes that no text holds dwarf all others."""
    return float(np.quantile(np.abs(strip), STRIP_QUANTILE)) or 1.0


@short_repr
class Lookup(NamedTuple):
    """The table with groups of rows and columns averaged; the ids [T] of the picked rows, and their values [T, D]."""

    strip: np.ndarray
    ids: np.ndarray
    rows: np.ndarray


def picked(look: Look) -> Lookup:
    ids = np.array(look.trace.own_ids)
    return Lookup(table.of(look).strip, ids, table.of(look).rows(ids))


def draw(look: Look) -> Scene:
    """The whole table as a strip, and a line from every picked row to its place in the matrix."""
    found, words, known = look.once(picked), look.words, facts(look)
    length, n_vocab = len(look), len(table.of(look).norms)
    is_named = length <= MAX_NAMED_ROWS
    height = 400.0 if is_named else 560.0
    inner = height - TOP - 8
    # Rows of a short text stay as flat as those of a longer one, in the middle of the picture.
    tall = min(inner, 36.0 * length)
    top = TOP + (inner - tall) / 2
    step = tall / length
    pool = heatmap.Pool(1, -(-found.rows.size // MAX_CELLS))
    starts = (TOP + (found.ids + 0.5) / n_vocab * inner).astype(np.float32)
    stops = (top + (np.arange(length) + 0.5) * step).astype(np.float32)
    end = 0.56, -NAMES if is_named else -4.0
    x = np.array([[0.11, 4.0], end], np.float32)
    y = np.stack([starts, stops], -1)
    labels = [f"{n}: {label}" for n, label in enumerate(look.labels)]
    strip = np.linspace(0, n_vocab, len(found.strip), endpoint=False).astype(int)
    colors = [theme.token(n) for n in range(length)]
    marks: list[Mark] = [
        Text(id="table", text=words("lookup_table", **known), y=10),
        Text(id="rows", text=words("lookup_rows", **known), x=(1, 0), y=10, anchor="end"),
        Cells(
            id="strip", x=36, y=TOP, width=(0.11, -36), height=inner, values=found.strip, top=strip_top(found.strip),
            rows=[f"{words('lookup_row')} ≈ {n}" for n in strip], name=words("lookup_mean"),
        ),
        Rect(id="edge", x=36, y=TOP, width=(0.11, -36), height=inner, stroke="grid"),
        Text(id="first", text="0", x=32, y=TOP + 6, anchor="end", fill="muted"),
        Text(id="last", text=str(n_vocab - 1), x=32, y=TOP + inner - 6, anchor="end", fill="muted"),
    ]  # fmt: skip
    for n in range(0, length, -(-length // MOST_LINES)):
        opacity = 0.75 if is_named else 0.35
        marks.append(Path(id=f"line.{n}", x=x, y=y[n], stroke=colors[n], thick=1.2, opacity=opacity, curve="link"))
    chosen: Any = {"y": by("token", y), "stroke": by("token", colors)}
    marks.append(Path(id="own", x=x, thick=3, curve="link", **chosen))
    if is_named:
        texts = [short(label, 10) for label in look.labels]
        at = np.tile(np.array([[0.56, 4 - NAMES]], np.float32), (length, 1))
        marks.append(Texts(id="names", texts=texts, x=at, y=stops, anchor="start", mono=True))
    shown = heatmap.extremes(found.rows, pool).astype(np.float32)
    marks.append(
        Cells(
            id="picked", x=(0.56, 0), y=top, width=(0.44, 0), height=tall, values=shown, top=full_from(found.rows),
            rows=labels, columns=[str(n) for n in range(0, found.rows.shape[1], pool.columns)],
            row_axis=look.common("axis_token"), column_axis=look.common("axis_dimension"), name=words("lookup_row"),
        )
    )  # fmt: skip
    ring: Any = {"y": by("token", stops - step / 2), "stroke": by("token", colors)}
    marks.append(Rect(id="selected", x=(0.56, 0), width=(0.44, 0), height=step, thick=2, **ring))
    note = look.common("pooled", **pool._asdict()) if pool.columns > 1 else ""
    panel = Panel(id="lookup", marks=marks, height=height)
    scene = Scene(id="embedding.lookup", panels=[panel], title=words("lookup_alt", **known), note=note)
    return look.drawn(scene, ["tokens.ids"], data=found)


REPEATED: Verdict[np.ndarray] = Verdict("embedding.repeated", Claim("again", lambda places: np.size(places) > 1))


def repeats(look: Look) -> list[int]:
    """The positions of the token that stands at most places, if it stands at more than one."""
    places: dict[int, list[int]] = {}
    for position, id in enumerate(look.trace.own_ids):
        places.setdefault(id, []).append(position)
    most = max(places.values(), key=len)
    return most if len(most) > 1 else []


def tell(look: Look) -> Iterator[Line]:
    known, found, places = facts(look), look.once(table.near), look.once(repeats)
    positions = look.listed(map(str, places[:6])) + (" …" if len(places) > 6 else "")
    again = look.code_name(places[0] if places else 0)
    repeat = REPEATED.says(look.t.language, np.array(places), again=again, positions=positions)
    yield look.text("see", **known, nearest=table.named(look, found.ids[:, :3], True), repeat=repeat)
    rows, columns = table.of(look).shape
    if look.config.projects_embedding:
        whole, factors = rows * look.config.d_model, rows * columns + columns * look.config.d_model
        numbers = {"d_model": look.config.d_model, "whole": f"{whole:,}", "factors": f"{factors:,}"}
        yield look.text("narrow", **numbers, **known)
    strip = table.of(look).strip.shape
    yield look.note("pooled", rows=-(-rows // strip[0]), columns=-(-columns // strip[1]), **known)


def heading(look: Look) -> Iterator[Line]:
    yield look.title("matrix" if look.config.scale_embedding else "matrix_plain", **facts(look))


@short_repr
class Rows(NamedTuple):
    """``embed.token``, [T, D]: the picked rows as they enter the model."""

    values: np.ndarray


def rows(look: Look) -> Scene:
    values = look.trace["embed.token"].numpy()
    dimensions = tuple(map(str, range(values.shape[1])))
    pool = heatmap.pool_of(values)
    labels = heatmap.spans(look.labels, pool.rows)
    scene = matrix.scene(
        "embedding.matrix",
        look.words("matrix_alt", length=values.shape[0], width=values.shape[1]),
        heatmap.pooled(values, pool),
        labels,
        heatmap.spans(dimensions, pool.columns),
        axes=(look.common("axis_token"), look.common("axis_dimension")),
        top=full_from(values),
        every=pool.rows,
        written=False,
        where=Where(look.trace.full_name("embed.token"), (ROW, COLUMN)) if pool == heatmap.Pool() else None,
        height=min(400, max(200, 110 + 22 * len(labels))),
    )
    note = look.common("pooled", **pool._asdict()) if pool != heatmap.Pool() else ""
    return look.drawn(
        scene, ["embed.token"], data=Rows(values), note=note, call=look.call("embedding", token=look.token)
    )


def limit(look: Look) -> Iterator[Line]:
    yield look.note("limit", limit=f"{full_from(look.trace['embed.token'].numpy()):.2f}")
    yield look.source("embed.token")


# One row, number by number


def tell_vector(look: Look) -> Iterator[Line]:
    sites = [name for name in ("embed.segment", "embed.position", "embed.norm.out") if name in look.trace]
    if sites:
        named = look.listed(look.t.site_label(look.trace.site(name)) for name in sites)
        yield look.text("added", token=look.token_named(), sites=named)
    values = look.trace["embed.token"].numpy()
    largest = np.abs(values).argmax(-1)
    value = by("token", values[np.arange(len(look)), largest], "2")
    yield Line(look.words("vector", value=value, d=by("token", largest, "0"), **facts(look)), "part")


def vector(look: Look) -> Scene:
    """A bar a dimension; the colors of the signs are those of the heatmap."""
    values = look.trace["embed.token"].numpy()
    width = values.shape[1]
    on, marks = chart.plot(chart.Axis(-1, width, look.common("axis_dimension")), chart.axis(values), 210)
    bars: Any = by("token", values)
    share = 0.9 * float(on.x.share(np.array(1.0)) - on.x.share(np.array(0.0)))
    # From its end back to the line at 0, up or down.
    heights: Any = Lengths(bars, 0.0, on.y.high - on.y.low, 0.0, on.bottom - on.top)
    signs = by("token", (values < 0).astype(int))
    fill: Any = Among(("positive", "negative"), signs)
    said: Any = Each(f"{look.common('axis_dimension')} {{{{d}}}}\n{{{{value}}}}", {
        "d": tuple(map(str, range(width))), "value": bars._replace(write="4"),
    })  # fmt: skip
    x, wide = on.places_x(np.arange(width) - 0.45), on.wide(share, width)
    where = look.cells("embed.token", ("token", COLUMN))
    y: Any = on.at_y(bars)
    marks.append(Items(id="bars", x=x, y=y, width=wide, height=heights, fill=fill, labels=said, where=where))
    marks.append(Rect(id="zero", x=on.left, y=on.pixels_y(0.0), width=on.across, height=1, fill="muted"))
    scene = Scene(
        id="embedding.vector",
        panels=[Panel(id="bars", marks=marks, height=210)],
        title=look.words("vector_alt", **facts(look)),
        series=[Series(look.common("axis_dimension"), tuple(map(str, range(width))), bars)],
    )
    return look.drawn(scene, ["embed.token"], data=Rows(bars))


source = say.source("tokens.ids")
