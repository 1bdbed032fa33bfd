"""The residual stream by depth: how long its vectors are, whose work they are, and how alike."""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from viz_model.claims import Claim, Verdict
from viz_model.drawing import by_depth, chart
from viz_model.drawing.digits import root, written
from viz_model.drawing.scene import Scene
from viz_model.drawing.tables import by
from viz_model.island.look import Look
from viz_model.island.page import Chooser
from viz_model.island.prose import Line
from viz_model.measures.passage import has_norms, sets_length
from viz_model.topics.norm_placement import readings
from viz_model.topics.norm_placement.fresh import DRAWING
from viz_model.topics.norm_placement.last_norm import beside
from viz_model.topics.norm_placement.places import COLORS, HEIGHT, NAMES, SYMBOLS, Finding, is_alone, ratio, runs
from viz_model.topics.norm_placement.readings import Readings

SHARES_APART = 1.25
"""The mean share of late sub-layers and that of early ones differ where one is that many times the other."""
MOST_DRAWN = 40_000_000
"""Parameters that are drawn anew unasked: half a second."""
STREAM = ("embed.out", "resid.mid", "resid.cross", "resid.out")
DOTTED = "2 3"


class DepthView(NamedTuple):
    """The residual stream at S depths, by place of the norm.

    Attributes:
        readings: of each model on the text.
        untrained: of the same models with weights as drawn, before any training, where they were measured.
        level: √D, the length that division by σ gives; None where the norms bring vectors to no length.
    """

    readings: Mapping[str, Readings]
    untrained: Mapping[str, Readings]
    level: float | None

    @property
    def sites(self) -> tuple[str, ...]:
        return next(iter(self.readings.values())).sites

    def facts(self, place: str) -> dict[str, str]:
        """For prose: medians over the tokens at both ends."""
        found, fresh = self.readings[place], self.untrained.get(place)
        before, after = np.median(found.before, 1), np.median(found.after, 1)
        shares = np.median(found.share[1:], axis=1)
        return {
            "is_level": "" if self.level is None else root(self.level**2, 1)[0],
            "first": f"{before[0]:.1f}",
            "last": f"{before[-1]:.1f}",
            "growth": ratio(float(before[-1] / (before[0] or 1.0))),
            "read_first": f"{after[0]:.1f}",
            "read_last": f"{after[-1]:.1f}",
            "shares": " … ".join(written(end, "%0") for end in (shares.min(), shares.max())),
            "alike": f"{found.alike[-1]:.2f}",
            "alike_before": f"{found.alike_before[-1]:.2f}",
            "alike_first": f"{found.alike[0]:.2f}",
            "alike_fresh": f"{fresh.alike[-1]:.2f}" if fresh else "",
        }

    def table(self, token: int) -> dict[str, np.ndarray]:
        """[S] a column: medians over the tokens, the token that is looked at, and how alike the tokens are."""
        columns: dict[str, np.ndarray] = {}
        for place, found in self.readings.items():
            columns |= {
                f"{place}.before": np.median(found.before, 1),
                f"{place}.token": found.before[:, token],
                f"{place}.after": np.median(found.after, 1),
                f"{place}.share": np.median(found.share, 1),
                f"{place}.alike_before": found.alike_before,
                f"{place}.alike": found.alike,
            }
            if place in self.untrained:
                columns[f"{place}.untrained"] = self.untrained[place].alike
        return columns


class Halves(NamedTuple):
    """The mean share of a sub-layer in the first half of a stack, and in the second."""

    early: float
    late: float


SHARES: Verdict[Halves] = Verdict(
    "norm_placement.shares",
    Claim("less", lambda shares: shares.late * SHARES_APART < shares.early),
    Claim("more", lambda shares: shares.late > shares.early * SHARES_APART),
)


class Alike(NamedTuple):
    """The mean cosine of the tokens' vectors as the last reader gets them, under either place of the norm."""

    pre: float
    post: float


def _alike(name: str) -> Verdict[Alike]:
    return Verdict(
        name,
        Claim("pre", lambda it: round(it.pre, 2) > round(it.post, 2)),
        Claim("post", lambda it: round(it.post, 2) > round(it.pre, 2)),
    )


ALIKE = _alike("norm_placement.alike")
"""Of the trained models."""
ALIKE_FRESH = _alike("norm_placement.alike_fresh")
"""Of the same models before their first step."""


def is_large(look: Look) -> bool:
    """Whether a model is too large to be drawn anew unasked."""
    return max(sum(p.numel() for p in run.model.parameters()) for run in runs(look).values()) > MOST_DRAWN


def view(look: Look) -> DepthView:
    """What is read of the stream, in both models and before their training."""
    asked = len(look) > 1 and (not is_large(look) or look.options.get("untrained") == "1")
    found = look.once(lambda look: {at: readings.readings(run) for at, run in runs(look).items()}, "readings")
    fresh = look.once(_untrained) if asked else {}
    return DepthView(found, fresh, look.config.d_model**0.5 if sets_length(look.trace) else None)


def _untrained(look: Look) -> dict[str, Readings]:
    with DRAWING:
        return {at: readings.untrained(run) for at, run in runs(look).items()}


def part(look: Look) -> Iterator[Line]:
    name = "part_sentence_alone" if is_alone(look) else "part_sentence"
    yield look.title(name)
    yield look.text(name)


# Lengths


def lengths(look: Look) -> Finding:
    found = view(look)
    name = "lengths" if found.level else "lengths_by_formula" if has_norms(look.trace) else "lengths_other"
    said = {"is_level": root(found.level**2, 1)[0], **beside(look)} if found.level else {}
    return Finding(name, {at: found.facts(at) for at in found.readings}, said, sites=STREAM)


def draw_lengths(look: Look) -> Scene:
    return look.drawn(lengths_of(look, view(look), "norm_placement.lengths", look.words("length"), points=True), STREAM)


def lengths_of(look: Look, found: DepthView, id: str, axis: str, points: bool = False) -> Scene:
    """‖r‖ by depth, medians: full as the addition leaves it, dotted as the next reader gets it; points for a token."""
    series: list[chart.Line] = []
    for at, one in found.readings.items():
        series.append(_line(at, np.median(one.before, 1), NAMES[at]))
        after = f"{NAMES[at]}, {look.words('after')}"
        series.append(_line(at, np.median(one.after, 1), after)._replace(dash=DOTTED, symbol="", thick=1.5))
    values = np.concatenate([np.ravel(one.values) for one in series])
    if points:
        values = np.concatenate([values, *(one.before.ravel() for one in found.readings.values())])
        for at, one in found.readings.items():
            own: Any = by("token", one.before.T.astype(np.float32))
            ring = f"{SYMBOLS[at]}-open"
            named = chart.Line("", own, COLORS[at], symbol=ring, told="{{token}} · {{at}}: {{value}}", thick=0)
            series.append(named._replace(facts={"token": look.token_named()}))
    if found.level is not None:
        level = np.full(len(found.sites), found.level)
        series.append(chart.Line(f"√D = {found.level:.1f}", level, "norm", dash="6 4", symbol="", thick=1))
    y = by_depth.scale(values, axis, look.words("log"))
    scene = by_depth.lines(id, look.words("lengths_alt"), found.sites, series, y, height=HEIGHT)
    return replace(scene, keys=[key for key in scene.keys if key.name])


def _line(at: str, values: np.ndarray, name: str, write: str = "2") -> chart.Line:
    return chart.Line(name, values, COLORS[at], symbol=SYMBOLS[at], write=write, thick=2.5)


# Shares


def share_lines(look: Look) -> list[str]:
    """What may be said of late sub-layers beside early ones, a line for each place of the norm."""
    lines = []
    for at, found in view(look).readings.items():
        halves = Halves(*found.halves())
        early, late = (f"{share:.0%}" for share in halves)
        says = SHARES.says(look.t.language, halves, early=early, late=late)
        lines.append(look.words("shares_line", place=NAMES[at], says=says))
    return lines


def shares(look: Look) -> Finding:
    found = view(look)
    scaled = {"length": look.words("shares_length") if found.level else ""}
    return Finding("shares", {at: found.facts(at) for at in found.readings}, scaled, share_lines(look), STREAM)


def draw_shares(look: Look) -> Scene:
    """The share of what the next reader gets that each sub-layer has just added: the median over the tokens."""
    found = view(look)
    series = [_line(at, np.median(one.share, 1), NAMES[at], "%0") for at, one in found.readings.items()]
    y = chart.axis(*(one.values for one in series), title=look.words("share"), write="%0")
    alt = look.words("shares_alt")
    return look.drawn(by_depth.lines("norm_placement.shares", alt, found.sites, series, y, height=HEIGHT), STREAM)


# How alike


def ask(look: Look) -> Chooser | None:
    if len(look) < 2 or not is_large(look):
        return None
    options = {"0": "–", "1": look.words("untrained_run")}
    return Chooser("untrained", options, "", look.words("untrained_help"), asks=True)


def alike(look: Look) -> Finding:
    """How alike the tokens' vectors are, and what is claimed of that."""
    found, lines = view(look), []
    if not is_alone(look):
        for verdict, of in ((ALIKE, found.readings), (ALIKE_FRESH, found.untrained)):
            if of:
                ends = Alike(*(float(of[at].alike[-1]) for at in ("pre", "post")))
                said = {at: f"{end:.2f}" for at, end in ends._asdict().items()}
                lines.append(verdict.says(look.t.language, ends, **said))
    return Finding("alike", {at: found.facts(at) for at in found.readings}, {}, lines, STREAM)


def draw_alike(look: Look) -> Scene:
    """Mean cosine between different tokens by depth; dotted before any training."""
    found = view(look)
    series = [_line(at, one.alike, NAMES[at], "3") for at, one in found.readings.items()]
    for at, one in found.untrained.items():
        named = _line(at, one.alike, f"{NAMES[at]}, {look.words('untrained')}", "3")
        series.append(named._replace(dash=DOTTED, symbol="", thick=1.5))
    low = min(0.0, *(float(np.nanmin(one.values)) for one in series)) - 0.02
    y = chart.Axis(low, 1.02, look.words("cosine"), "1")
    alt = look.words("alike_alt")
    return look.drawn(by_depth.lines("norm_placement.alike", alt, found.sites, series, y, height=HEIGHT), STREAM)


def end_alike(look: Look) -> Iterator[Line]:
    if len(look) < 2:
        yield Line(look.words("one_token_alike"), "notice")
        return
    if view(look).untrained:
        yield look.text("untrained")
    yield Line(look.words("collapse"), "part")
    yield look.text("collapse")
