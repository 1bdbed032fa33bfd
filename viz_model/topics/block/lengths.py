"""How long each token's vector is, from the embedding to the last block."""

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from viz_model.claims import Claim, Verdict
from viz_model.drawing import by_depth, chart, theme
from viz_model.drawing.scene import Items, Key, Mark, Panel, Path, Rect, Scene, Series, Texts, along
from viz_model.drawing.short_repr import short_repr
from viz_model.drawing.tables import Each, Lengths, by
from viz_model.island.look import Look
from viz_model.island.prose import Line
from viz_model.measures import stream
from viz_model.model import sites
from viz_model.runs.trace import Trace
from viz_model.topics.block.vectors import facts, of_one

LEVEL = 1.25
"""Lengths that differ by no more than this factor count as level."""
MOST_POINTS, MOST_NUMBERS, HEIGHT = 1_800, 7, 390
OUTLIER = 5.0
"""How many times the median a vector's length must be to be worth a sentence of its own."""


class Outlier(NamedTuple):
    """A vector that is ``times`` as long as the median at its site."""

    token: int
    site: str
    length: float
    times: float


@short_repr
class LengthsView(NamedTuple):
    """Length ‖x‖₂ of the residual stream after every addition, before a norm on it: [S, T], from the bottom up."""

    sites: tuple[str, ...]
    labels: tuple[str, ...]
    lengths: np.ndarray
    token: int
    layer: int

    @property
    def typical(self) -> np.ndarray:
        """The median over the tokens, [S]: a mean would tell of the one or two longest vectors."""
        return np.median(self.lengths, axis=-1)

    @property
    def drawn(self) -> tuple[int, ...]:
        """The tokens that get a line: all of them, or of many some evenly by length."""
        n_tokens = len(self.labels)
        most = max(8, MOST_POINTS // len(self.sites))
        if n_tokens <= most:
            return tuple(range(n_tokens))
        order = np.argsort(self.lengths.max(axis=0), kind="stable")
        return tuple(sorted({*order[np.linspace(0, n_tokens - 1, most).round().astype(int)].tolist()}))

    @property
    def facts(self) -> dict[str, str]:
        """The middle length of the tokens, for prose: at the ends."""
        return {"first": f"{self.typical[0]:.1f}", "last": f"{self.typical[-1]:.1f}"}

    @property
    def ratio(self) -> float:
        """How many times the median length at the embedding the one after the last block is."""
        return float(self.typical[-1] / (self.typical[0] or 1.0))

    @property
    def outlier(self) -> Outlier | None:
        """The vector that stands out most, if one does."""
        if len(self.labels) < 3:
            return None
        times = self.lengths / np.maximum(self.typical[:, None], 1e-12)
        step, token = np.unravel_index(int(times.argmax()), times.shape)
        if times[step, token] < OUTLIER:
            return None
        return Outlier(int(token), self.sites[step], float(self.lengths[step, token]), float(times[step, token]))


TREND: Verdict[LengthsView] = Verdict(
    "block.trend", Claim("grow", lambda view: view.ratio > LEVEL), Claim("shrink", lambda view: view.ratio < 1 / LEVEL)
)
STANDS_OUT: Verdict[Outlier | None] = Verdict(
    "block.outlier", Claim("stands_out", lambda outlier: outlier is not None and outlier.times >= OUTLIER)
)


def lengths(trace: Trace, layer: int, token: int) -> LengthsView:
    """Of all tokens by depth."""
    labels = tuple(token.label for token in trace.tokens)
    return LengthsView(stream.stream_sites(trace), labels, stream.stream_lengths(trace), token, layer)


def _lengths(look: Look) -> LengthsView:
    return look.once(lambda look: lengths(look.trace, 0, 0), "lengths")._replace(layer=look.layer, token=look.token)


def draw(look: Look) -> Scene:
    """One line a token; the selected one in bold with its values, the selected block shaded."""
    found, words = _lengths(look), look.words
    on, marks = _axes(found, look.once(_scale, "scale of lengths"), words("step"))
    per_block = (len(found.sites) - 1) // look.n_layers
    x = on.at_x(np.arange(len(found.sites)))
    start = Lengths(by("layer", 0.5 + per_block * np.arange(look.n_layers)), on.x.low, on.x.high, x.start, x.end)
    wide = per_block / (on.x.high - on.x.low)
    shade: dict[str, Any] = {"y": on.top, "width": along(wide, 0, on.across), "height": on.bottom - on.top}
    marks.insert(0, Rect(id="layer", x=start, fill="muted", opacity=0.2, **shade))  # type: ignore[arg-type]
    marks += _lines(found, on)
    own = by("token", found.lengths.T.astype(np.float32))
    marks.append(Path(id="selected", x=x, y=on.at_y(own), stroke="accent", thick=3))
    numbered = by_depth.shown(found.sites, MOST_NUMBERS)
    numbers = by("token", found.lengths.T[:, numbered].astype(np.float32), "1")
    above = on.at_y(numbers._replace(write=""))._replace(start=on.bottom - 12, end=on.top - 12)
    told: dict[str, Any] = {"texts": Each("{{n}}", {"n": numbers}), "x": on.at_x(np.array(numbered)), "y": above}
    marks.append(Texts(id="numbers", fill="accent", **told))
    steps = [by_depth.short(site) for site in found.sites]
    series = [Series(f"{n}: {label}", steps, found.lengths[:, n]) for n, label in enumerate(found.labels)]
    panel = Panel(id="lengths", marks=marks, height=HEIGHT)
    scene = Scene(id="block.norms", panels=[panel], title=words("norms_alt"), series=series)
    return look.drawn(scene, _sites(look), data=found, call=look.call("residual", layer=look.layer, token=look.token))


def keys(look: Look) -> list[Key]:
    """Which color each token's line has."""
    found = _lengths(look)
    line, level = np.array([0.0, 28.0]), np.array([7.0, 7.0])
    return [
        Key(name=found.labels[n], marks=[Path(id="line", x=line, y=level, stroke=theme.token(n), thick=2)])
        for n in found.drawn
    ]


def _scale(look: Look) -> chart.Axis:
    """For the lengths of this run, and of its twin where that is there too."""
    runs = [run for run in (look.trace, look.twin) if run is not None]
    every = np.concatenate([stream.stream_lengths(run).ravel() for run in runs])
    return by_depth.scale(every, look.words("length"), look.words("log"), room=0.1)


def _axes(found: LengthsView, y: chart.Axis, step: str) -> tuple[chart.Plot, list[Mark]]:
    names = [by_depth.short(site) for site in found.sites]
    return chart.plot(chart.places(len(names), step), y, HEIGHT, x_names=names)


def _lines(found: LengthsView, on: chart.Plot) -> Iterator[Mark]:
    """Tokens of one color as one line with gaps, and a point for each length to point at."""
    drawn, steps = found.drawn, np.arange(len(found.sites), dtype=np.float64)
    n_colors = len(theme.TOKENS)
    for color in sorted({token % n_colors for token in drawn}):
        alike = [token for token in drawn if token % n_colors == color]
        y = np.pad(found.lengths[:, alike].T, ((0, 0), (0, 1)), constant_values=np.nan).ravel()
        x = np.tile(np.append(steps, np.nan), len(alike))
        faint: Any = {"stroke": theme.token(color), "thick": 1.2, "opacity": 0.65 if len(drawn) <= 32 else 0.3}
        yield Path(id=f"line.{color}", x=on.at_x(x), y=on.at_y(y), **faint)
    labels = [
        f"{token}: {found.labels[token]}\n{by_depth.short(site)}\n{found.lengths[n, token]:.4f}"
        for token in drawn
        for n, site in enumerate(found.sites)
    ]
    fill = [theme.token(token) for token in drawn for _ in found.sites]
    symbol = "circle" if len(labels) <= 400 else ""
    x, y = np.tile(steps, len(drawn)), found.lengths[:, drawn].T.ravel()
    yield Items(id="points", x=on.at_x(x), y=on.at_y(y), symbol=symbol, size=5, fill=fill, labels=labels)


def title(look: Look) -> Iterator[Line]:
    found = _lengths(look)
    yield Line(TREND.says(look.t.language, found, **facts(look), **found.facts), "title")


def tell(look: Look) -> Iterator[Line]:
    found, way, said = _lengths(look), of_one(look), facts(look)
    passed = "_states" if look.config.has_states else way.crosses
    yield look.source(*_sites(look))
    yield look.text(f"norms_{way.of_stream}", places=look.words(f"places{passed}"), **said)
    if way.kind == "post":
        yield look.text(look.kind("reach", way.norm_kind), **said)
    if len(found.drawn) < len(found.labels):
        yield look.note("drawn", drawn=len(found.drawn), n=len(found.labels))
    if outlier := found.outlier:
        where = {"long": f"{outlier.length:,.0f}", "times": f"{outlier.times:.0f}", "site": _named(look, outlier.site)}
        yield Line(STANDS_OUT.says(look.t.language, outlier, outlier=look.code_name(outlier.token), **where))


def _sites(look: Look) -> list[str]:
    return ["embed.out", *(name for name in ("resid.mid", "resid.cross", "resid.out") if look.has(name))]


def _named(look: Look, site: str) -> str:
    """What a value is called in prose, and of which block it is."""
    layer, _ = sites.split_name(site)
    label = look.t.site_label(look.trace.site(site))
    return label if layer is None else look.t("common.value_of_block", value=label, n=layer)
