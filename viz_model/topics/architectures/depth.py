"""The mean length of the residual stream by depth in two models."""

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
import plotly.graph_objects as go

from viz_model.claims import Claim, Verdict
from viz_model.drawing import theme
from viz_model.drawing.short_repr import short_repr
from viz_model.island.look import Look
from viz_model.island.page import Plot, there
from viz_model.island.prose import Line
from viz_model.measures.stream import stream_lengths, stream_names, stream_sites
from viz_model.runs.trace import Trace
from viz_model.topics.architectures import pair


class Lengths(NamedTuple):
    """The mean length of the residual stream before the first block and after the last."""

    begin: float
    end: float


STREAM: Verdict[Lengths] = Verdict(
    "architectures.stream",
    Claim("longer", lambda stream: stream.end > stream.begin),
    Claim("shorter", lambda stream: stream.end < stream.begin),
)


@short_repr
class DepthView(NamedTuple):
    """The residual stream's length by depth in both models: mean over the tokens, [L + 1] each.

    ``share`` is how far through the blocks, 0 to 1, so that models of any depth share an axis.
    """

    names: tuple[str, str]
    sites: tuple[tuple[str, ...], tuple[str, ...]]
    share: tuple[np.ndarray, np.ndarray]
    mean: tuple[np.ndarray, np.ndarray]


def lengths(trace: Trace) -> tuple[tuple[str, ...], np.ndarray]:
    """The stream before the first block and after each: what is measured, and at each token, [L + 1, T], its length
    before a norm on it.
    """
    sites, every = stream_sites(trace), stream_lengths(trace)
    ends = [n for n, site in enumerate(sites) if site.endswith(".out")]  # embed.out is the first
    names = stream_names(trace)
    return tuple(names[n] if names[n] != sites[n] else trace.full_name(sites[n]) for n in ends), every[ends]


def view(look: Look) -> DepthView | None:
    """None where one of the two cannot read the text."""
    return look.once(_view, "depth")


def _view(look: Look) -> DepthView | None:
    both = pair.both(look)
    traces = [one.trace for one in both if one.trace is not None]
    if len(traces) < 2:
        return None
    (first, above), (second, below) = map(lengths, traces)
    shares = np.linspace(0, 1, len(first)), np.linspace(0, 1, len(second))
    return DepthView((both[0].name, both[1].name), (first, second), shares, (above.mean(1), below.mean(1)))


def title(look: Look) -> Iterator[Line]:
    found = there(view(look))
    grown = {}
    for which, mean in zip(("first", "second"), found.mean, strict=True):
        times = float(mean[-1] / mean[0])
        grown[f"{which}_growth"] = f"{times:.2g}" if times < 10 else f"{times:,.0f}"
    yield look.part("depth_title", **pair.names(look), **grown)


def figure(look: Look, found: DepthView) -> go.Figure:
    """One line a model; logarithmic where the lengths differ more than thirtyfold."""
    made = go.Figure()
    for n, (name, sites, share, mean) in enumerate(zip(*found, strict=True)):
        made.add_scatter(
            x=share, y=mean, name=theme.plain(name), mode="lines+markers",
            hovertext=[f"{site}<br><b>{length:.3f}</b>" for site, length in zip(sites, mean, strict=True)],
            line={"color": pair.COLORS[n], "dash": ("solid", "dash")[n], "width": 2.5},
            marker={"color": pair.COLORS[n], "symbol": pair.SYMBOLS[n], "size": 8},
            hovertemplate="%{hovertext}",
        )  # fmt: skip
    every = np.concatenate(found.mean)
    is_wide = every.max() > 30 * every.min() > 0
    scale: dict[str, Any] = {"type": "log", "dtick": 1} if is_wide else {"rangemode": "tozero"}
    made.update_xaxes(title=look.words("depth_axis"), tickformat=".0%", range=[-0.06, 1.06])
    made.update_yaxes(title=look.words("depth_length"), **scale)
    return made.update_layout(height=300)


def draw(look: Look) -> Plot:
    found = there(view(look))
    call, other = pair.call(look, "depth")
    return Plot("architectures.depth", figure(look, found), look.words("depth_alt"), found, _sites(look), call, other)


def _sites(look: Look) -> tuple[str, str]:
    return "embed.out", f"blocks.{look.n_layers - 1}.resid.out"


def source(look: Look) -> Iterator[Line]:
    yield look.source(*_sites(look))


def tell(look: Look) -> Iterator[Line]:
    found = there(view(look))
    for one, mean in zip(pair.both(look), found.mean, strict=True):
        ends = Lengths(float(mean[0]), float(mean[-1]))
        said = {name: f"{length:.3g}" for name, length in ends._asdict().items()}
        yield look.claim(STREAM, ends, "", model=one.code_name, **said)
    yield look.text("depth")
