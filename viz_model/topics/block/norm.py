"""A norm at work on one token: its values before and after, the other norm beside it, and what it has learned."""

import math
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from viz_model.claims import Claim, Verdict
from viz_model.drawing import chart
from viz_model.drawing.digits import written
from viz_model.drawing.scene import Cells, Items, Labels, Mark, Panel, Path, Rect, Scene, Series, Text, along
from viz_model.drawing.short_repr import short_repr
from viz_model.drawing.tables import Lengths, by
from viz_model.island.look import Look
from viz_model.island.page import Chooser
from viz_model.island.prose import Line
from viz_model.measures import passage
from viz_model.measures.passage import Normed
from viz_model.runs.trace import Trace
from viz_model.topics.block.vectors import facts, of_one

BINS = 48
COMMON = 4.0
"""Vectors whose reaches differ by no more than this factor share an axis."""
AS_DEFINED = 0.01
"""How far a deviation or a root mean square may lie from 1 and still be called so: ε keeps it below."""
TALL, BARS, LEFT = 130.0, 78.0, 8.0
"""Pixels of a histogram with its name and its ticks, of its bars, and beside it."""


@short_repr
class NormView(NamedTuple):
    """A norm on one token: its values, and how often they fall into each of the bins.

    The four ``counts`` [N] are of the vector before, standardized, as the other norm would make it, and after; of a
    norm that is compared with none the first and the last alone. Their ``edges`` [N + 1] are the same for all, unless
    one of them would shrink to a few bins so; then only the second and the third, which are there to be compared, have
    them in common. ``sites`` are what the norm measures and what it makes; ``reads`` names the step that it reads.
    """

    site: str
    sites: tuple[str, ...]
    reads: str
    normed: Normed
    edges: tuple[np.ndarray, ...]
    counts: tuple[np.ndarray, ...]

    @property
    def is_common(self) -> bool:
        """Whether all histograms have one axis."""
        return len({float(edges[-1]) for edges in self.edges}) == 1

    @property
    def reached(self) -> tuple[float, float, float]:
        """Mean, deviation and root mean square of the standardized vector; NaN where there is none."""
        standard = self.normed.standard
        if standard is None:
            return math.nan, math.nan, math.nan
        return float(standard.mean()), float(standard.std()), float(np.sqrt(np.square(standard).mean()))

    def facts(self) -> dict[str, str]:
        """What tells the two norms apart on this vector, for prose.

        The vector has mean μ, deviation σ and root mean square √(μ² + σ²). One norm divides what is left without μ by
        σ, the other all of it by the root mean square, so the cosine between the two results is σ / √(μ² + σ²).
        """
        before = self.normed.before.astype(np.float64)
        mean, deviation, rms = before.mean(), before.std(), np.sqrt(np.square(before).mean())
        return {
            "mean": written(mean, "4"),
            "deviation": f"{deviation:.4f}",
            "rms": f"{rms:.4f}",
            "share": f"{mean**2 / rms**2 if rms else 0.0:.2%}",
            "cosine": f"{deviation / rms if rms else 1.0:.4f}",
            "own": self.normed.name,
            "other": self.normed.other or "",
        }


def _is_one(value: float) -> bool:
    return abs(value - 1) <= AS_DEFINED


NORM: Verdict[NormView] = Verdict(
    "block.norm",
    Claim(
        "LayerNorm",
        lambda view: (
            view.normed.name == "LayerNorm"
            and view.normed.shift is not None
            and abs(view.reached[0]) <= AS_DEFINED
            and _is_one(view.reached[1])
        ),
    ),
    Claim("RMSNorm", lambda view: view.normed.name == "RMSNorm" and _is_one(view.reached[2])),
)


def shown_vectors(normed: Normed) -> list[tuple[int, np.ndarray]]:
    """The vectors that are shown, with the number by which texts name each."""
    found = (normed.before, normed.standard, normed.instead, normed.after)
    return [(n, values) for n, values in enumerate(found) if values is not None]


def norm_view(trace: Trace, layer: int, sublayer: str, token: int) -> NormView:
    site = f"blocks.{layer}.{sublayer}.norm"
    normed = passage.normed(trace, site, token)
    reads = next(found for found in passage.passage(trace, layer, token).sums if found.sublayer == sublayer).reads
    found = [values for _, values in shown_vectors(normed)]
    reaches = [float(np.abs(values).max()) or 1.0 for values in found]
    reaches[1:-1] = [max(reaches[1:-1])] * len(reaches[1:-1]) if reaches[1:-1] else []
    if max(reaches) <= COMMON * min(reaches):
        reaches = [max(reaches)] * len(found)
    edges = tuple(np.linspace(-reach, reach, BINS + 1) for reach in reaches)
    counts = tuple(np.histogram(values, own)[0] for values, own in zip(found, edges, strict=True))
    return NormView(
        site, tuple(name for name in trace.sites if name.startswith(f"{site}.")), reads, normed, edges, counts
    )


def which(look: Look) -> str:
    """The sub-layer whose norm is chosen, or the first that has one."""
    asked, known = look.options.get("which", ""), of_one(look).normed
    return asked if asked in known else known[0]


def _view(look: Look) -> NormView:
    one = which(look)
    return look.once(
        lambda _: norm_view(look.trace, look.layer, one, look.token), ("norm", look.layer, one, look.token)
    )


def has(look: Look) -> bool:
    """Whether there are norms in the run."""
    return of_one(look).has_norms


def choose(look: Look) -> Chooser:
    found = of_one(look)
    place = f"which_{found.norm_at if found.norm_at in ('post', 'branch') else 'pre'}"
    options: dict[str, str] = {
        one.sublayer: look.words(place, part=look.words(f"part_{one.sublayer}"), reads=one.reads)
        for one in found.sums
        if one.sublayer in found.normed
    }
    return Chooser("which", options, look.words("which"), usual=which(look), asks=True)


def draw(look: Look) -> Scene:
    """Histograms of the D values; above the bars the mean, and a bar one deviation to each side."""
    view, words = _view(look), look.words
    names = {0: words("norm_0"), 3: words(look.kind("norm_3", of_one(look).norm_kind))}
    if view.normed.other:
        names |= {1: words(f"norm_1_{view.normed.name}"), 2: words("norm_2", other=view.normed.other)}
    rows, across = shown_vectors(view.normed), (1.0, -2 * LEFT)
    marks: list[Mark] = []
    for row, ((n, values), edges, counts) in enumerate(zip(rows, view.edges, view.counts, strict=True)):
        top, reach, held = row * TALL, float(edges[-1]), counts > 0
        base = top + 24 + BARS
        tall = (BARS * counts / (1.25 * counts.max())).astype(np.float32)
        middles = (edges[1:] + edges[:-1]) / 2
        share = (np.arange(BINS) + 0.04) / BINS
        x, wide = along(share, LEFT, across), along(np.full(BINS, 0.92 / BINS), 0, across)
        told = [
            f"{words('norm_near')} {middle:.2f}\n{count} {words('norm_values')}"
            for middle, count in zip(middles, counts, strict=True)
        ]
        mean, deviation, rms = float(values.mean()), float(values.std()), float(np.sqrt(np.square(values).mean()))
        said = f"μ {written(mean, '3')}, σ {written(deviation, '3')}, rms {written(rms, '3')}"
        ends = np.array([mean - deviation, mean, mean + deviation])
        at: Any = Lengths(ends, -reach, reach, (0.0, LEFT), (1.0, LEFT + across[1]))
        line = base - BARS + 6
        marks += [
            Text(id=f"name.{n}", text=names[n], x=LEFT, y=top + 12, bold=True),
            Text(id=f"said.{n}", text=said, x=(1, -LEFT), y=top + 12, anchor="end"),
            Items(
                id=f"bars.{n}",
                x=x[held],
                y=(base - tall)[held],
                width=wide[held],
                height=tall[held],
                fill="norm" if n else "residual",
                opacity=0.55 if n == 1 else 0.2 if n == 2 else 1,
                hatch="norm" if n == 2 else None,
                labels=[one for one, is_held in zip(told, held, strict=True) if is_held],
                name=names[n],
            ),
            Path(id=f"deviation.{n}", x=at, y=np.full(3, line, np.float32), stroke="accent", thick=2),
            Items(
                id=f"mean.{n}",
                x=at,
                y=np.full(3, line, np.float32),
                symbol=["line-ns-open", "circle", "line-ns-open"],
                fill="accent",
                stroke="accent",
                walk=False,
            ),
            Rect(id=f"base.{n}", x=LEFT, y=base, width=across, height=1, fill="muted"),
        ]
        if row == len(rows) - 1 or not view.is_common:
            scale = chart.Axis(-reach, reach)
            for tick in scale.ticks(7):
                place = along(scale.share(np.asarray(tick)), LEFT, across)
                marks.append(
                    Text(id=f"tick.{n}.{tick:g}", text=scale.named(tick), x=place, y=base + 12, anchor="middle")
                )
    end = TALL * len(rows)
    marks.append(Text(id="axis", text=words("norm_axis"), x=(0.5, 0), y=end + 6, anchor="middle"))
    title = words("norm_alt" if view.normed.other else "norm_alt_other")
    series = [Series(names[n], [str(one) for one in range(len(values))], values) for n, values in rows]
    scene = Scene(id="block.norm", panels=[Panel(id="norm", marks=marks, height=end + 16)], title=title, series=series)
    call = look.call("norms", layer=look.layer, token=look.token, which=which(look))
    return look.drawn(look.only_here(scene, token=True), _sites(view), data=view, call=call)


def _sites(view: NormView) -> list[str]:
    return [site.split(".", 2)[2] for site in view.sites]


def parameters(look: Look) -> Scene | None:
    """What a norm has learned, one value a dimension: γ from 1, and β from 0 where there is one."""
    if not (learned := _view(look).normed.learned):
        return None
    across, width, left = (1.0, -34.0), look.config.d_model, 30.0
    axis, columns = look.common("axis_dimension"), tuple(map(str, range(width)))
    marks: list[Mark] = []
    for row, (name, values) in enumerate(learned.items()):
        around, top = float(name == "γ"), row * 120
        most = float(np.abs(values - around).max()) or 1.0
        marks += [
            Text(id=f"name.{row}", text=name, x=0, y=top + 54, size=14, bold=True),
            Text(id=f"high.{row}", text=f"{around + most:.2g}", x=left - 4, y=top + 10, anchor="end", fill="muted"),
            Text(id=f"low.{row}", text=written(around - most, "1"), x=left - 4, y=top + 98, anchor="end", fill="muted"),
            Cells(
                id=f"values.{row}",
                x=left,
                y=top + 4,
                width=across,
                height=100,
                values=(values - around).astype(np.float32),
                look="bars",
                signed=True,
                top=most,
                role="norm",
                name=name,
                labels=[f"{axis} {n}\n{value:.4f}" for n, value in enumerate(values)],
            ),
        ]
    tall = 120.0 * len(learned)
    x: Any = Lengths(by("dimension", np.arange(width) + 0.5), 0, width, (0.0, left), (1.0, left + across[1]))
    marks.append(Rect(id="dimension", x=x, y=4, width=1.5, height=tall - 20, fill="accent"))
    marks.append(Labels(id="columns", texts=columns, x=left, y=tall - 12, length=across))
    marks.append(Text(id="axis", text=axis, x=(0.5, left / 2), y=tall + 18, anchor="middle"))
    title = look.words(look.kind("parameters", of_one(look).norm_kind))
    return look.only_here(
        Scene(id="block.parameters", panels=[Panel(id="parameters", marks=marks, height=tall + 28)], title=title)
    )


def title(look: Look) -> Iterator[Line]:
    said = facts(look)
    if has(look):
        yield Line(NORM.says(look.t.language, _view(look), **said), "title")
    else:
        yield look.title("norm_NoNorm", **said)


def tell(look: Look) -> Iterator[Line]:
    said = facts(look)
    if not has(look):
        yield look.text("norm_NoNorm", **said)
        return
    view = _view(look)
    if view.normed.other is None:
        said["learned"] = look.words("norm_learned") if view.normed.learned else ""
        yield look.text("norm_other", formula=look.trace.site(f"{view.site}.out").placed_formula, **said)
    else:
        yield look.text("both_norms", **said, **view.facts())
    yield look.text("why_norm", **said)
    yield look.source(*_sites(view))
