"""A part of every block left out: the division of the scores, positions, the mask, the additions, the norms."""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from viz_model.claims import Claim, Verdict
from viz_model.drawing import by_depth as depth
from viz_model.drawing import digits, theme
from viz_model.drawing.plotted import curve
from viz_model.drawing.scene import Scene
from viz_model.island.page import Plot
from viz_model.measures import stream
from viz_model.runs import edits
from viz_model.runs.edits.structure import StructureEdit
from viz_model.runs.trace import Trace
from viz_model.topics.ablations import breaking
from viz_model.topics.ablations.lab import Experiment, Facts, Finding, Lab, bars

MOST_HEADS, CLEAR = 16, 0.05
"""Heads that are shown; differences of entropies (bits) or of cosines up to here count as none."""


class Shift(NamedTuple):
    """A measure of a run as it is, and of the changed run."""

    before: Any
    after: Any

    @property
    def gap(self) -> Any:
        return self.after - self.before


SCALE: Verdict[Shift] = Verdict(
    "ablations.scale",
    Claim("sharper", lambda entropy: entropy.gap < -CLEAR),
    Claim("flatter", lambda entropy: entropy.gap > CLEAR),
    Claim("same", lambda entropy: abs(entropy.gap) <= CLEAR),
)
"""Of the mean entropy of a head's rows, in bits."""

POSITION: Verdict[Shift] = Verdict(
    "ablations.position",
    Claim("loses", lambda share: share.after < share.before / 2),
    Claim("keeps", lambda share: share.after >= share.before / 2),
)
"""Of a head's mean weight on the token before."""

MASK: Verdict[float] = Verdict(
    "ablations.mask",
    Claim("little", lambda share: share < 0.1),
    Claim("some", lambda share: 0.1 <= share <= 0.5),
    Claim("most", lambda share: share > 0.5),
)
"""Of the share of all attention that goes to later tokens."""

RESIDUAL: Verdict[Shift] = Verdict(
    "ablations.residual",
    Claim("alike", lambda cosine: cosine.gap > CLEAR),
    Claim("apart", lambda cosine: cosine.gap < -CLEAR),
    Claim("same", lambda cosine: abs(cosine.gap) <= CLEAR),
)
"""Of the mean cosine between tokens after the last block."""

NORM: Verdict[Shift] = Verdict(
    "ablations.norm",
    Claim("longer", lambda length: not length.after <= 2 * length.before),
    Claim("shorter", lambda length: length.after < length.before / 2),
    Claim("same", lambda length: length.before / 2 <= length.after <= 2 * length.before),
)
"""Of the median length of the stream after the last block; what overflowed is no number, and longer."""


def both(lab: Lab, measure: Callable[[Trace], np.ndarray], name: str = "") -> dict[str, np.ndarray]:
    """A measure of the run as it is, and where something is changed, of the changed run.

    It is known by its ``name``, where it is another function each time.
    """
    found = {"before": lab.look.plain.once(lambda look: measure(look.trace), ("before", name or measure))}
    if lab.after.edits:
        found["after"] = lab.look.once(lambda look: measure(look.trace), ("after", name or measure))
    return found


def left_out(
    verdict: Verdict[Any],
    edit: type[StructureEdit] | type[edits.NoMask],
    ask: Callable[[Lab], Facts],
    measured: Callable[[Lab], dict[str, Any]],
    judge: Callable[[Lab, dict[str, Any]], tuple[Any, str, Any]],
    draw: Callable[[Lab, dict[str, Any]], Scene | Plot],
    **more: Any,
) -> Experiment:
    """An experiment about a part that is left out everywhere; a model may not have it in the first place.

    Args:
        measured: the measure before, and after.
        judge: what the verdict is asked of, by which axes, and what the text calls ``after``.
    """
    name = verdict.name.removeprefix("ablations.")

    def lacks(lab: Lab) -> str | None:
        assert issubclass(edit, StructureEdit)
        is_left_out = all(getattr(lab.plain.config, field) == value for field, value in edit.changes.items())
        return f"no_{name}" if is_left_out else None

    def answer(lab: Lab, tried: Any) -> Finding:
        found = measured(lab)
        values, axes, after = judge(lab, found)
        table = {key: np.asarray(getattr(each, "values", each)).ravel().tolist() for key, each in found.items()}
        return Finding(
            (verdict, values, axes), {**ask(lab), "after": after}, lambda: draw(lab, found), table=_short(lab, table)
        )

    def before(lab: Lab) -> Scene | Plot:
        return draw(lab, {"before": measured(lab)["before"]})

    def make(lab: Lab, guess: str | None) -> Any:
        return edit()

    kept = {"make": make, "missing": lacks, "before": before, "everywhere": True, **more}
    return Experiment(verdict=verdict, edit=edit, ask=ask, answer=answer, **kept)


def _short(lab: Lab, table: dict[str, list[float]]) -> dict[str, list[float]]:
    """Of what every head has, that of the selected one."""
    n = len(lab.look.layers) * lab.look.n_heads * len(lab.plain)
    at = ((lab.look.layer - lab.look.layers.start) * lab.look.n_heads + lab.look.head) * len(lab.plain)
    return {key: each[at : at + len(lab.plain)] if len(each) == n else each for key, each in table.items()}


# Without ÷√dₖ: how sharp is a head's pattern?


def _entropies(lab: Lab) -> dict[str, Any]:
    def measure(trace: Trace) -> np.ndarray:
        heads = range(trace.config.n_heads)
        rows = [[breaking.row_entropies(trace, layer, head) for head in heads] for layer in lab.look.layers]
        return np.array(rows)

    return {key: lab.look.by("layer head", values) for key, values in both(lab, measure, "entropies").items()}


def _ask_scale(lab: Lab) -> Facts:
    look, width = lab.look, lab.look.here.d_head
    is_root, root = digits.root(width)
    return {
        "head": look.head_number,
        "layer": look.layer_number,
        "d_head": width,
        "is_root": is_root,
        "root": root,
        "ratio": f"{np.exp(width**0.5):,.0f}",
        "before": look.by("layer head", np.nanmean(_entropies(lab)["before"].values, -1), "2"),
    }


def _judge_scale(lab: Lab, found: dict[str, Any]) -> tuple[Any, str, Any]:
    shift = Shift(*(np.nanmean(each.values, -1) for each in found.values()))
    return shift, "layer head", lab.look.by("layer head", shift.after, "2")


def _draw_scale(lab: Lab, found: dict[str, Any]) -> Scene:
    axes = lab.look.common("axis_query"), lab.look.words("axis_entropy")
    return bars(lab, "measure_scale", lab.labels, found, axes)


# Without positions: does the head that looks one place back still find its place?


def _heads(lab: Lab) -> list[tuple[int, int]]:
    """The heads that look one place back most, in falling order: layer and number of each."""
    shares = both(lab, breaking.previous_shares)["before"]
    order = np.argsort(-shares, axis=None, kind="stable")
    places, known = (divmod(int(n), shares.shape[1]) for n in order), lab.plain.attending
    return [(layer, head) for layer, head in places if layer in known][:MOST_HEADS]


def _previous(lab: Lab) -> dict[str, Any]:
    heads = _heads(lab)
    return {key: np.array([one[place] for place in heads]) for key, one in both(lab, breaking.previous_shares).items()}


def _ask_position(lab: Lab) -> Facts:
    layer, head = _heads(lab)[0]
    even = breaking.even_previous(lab.plain, layer)
    own = {"before": f"{_previous(lab)['before'][0]:.0%}", "even": f"{even:.0%}", "enters": lab.enters}
    return {"head": head, "layer": layer, **own}


def _draw_position(lab: Lab, found: dict[str, Any]) -> Scene:
    names = [f"{layer}.{head}" for layer, head in _heads(lab)]
    axes = lab.look.words("axis_heads"), lab.look.words("axis_previous")
    return bars(lab, "measure_position", names, found, axes)


# Without the mask: how much attention goes to the future?


def _ask_mask(lab: Lab) -> Facts:
    n = len(lab.plain)
    return {"even": f"{np.mean([(n - 1 - query) / n for query in range(n - 1)]):.0%}"}


def _judge_mask(lab: Lab, found: dict[str, Any]) -> tuple[Any, str, Any]:
    share = float(found["after"].mean())
    return share, "", f"{share:.0%}"


def _draw_mask(lab: Lab, found: dict[str, Any]) -> Scene:
    axes = lab.look.words("axis_layer"), lab.look.words("axis_future")
    return bars(lab, "measure_mask", list(map(str, lab.plain.attending)), found, axes)


# Without the additions: how alike do the tokens become? Without the norms: how long do the vectors become?


def _ask_residual(lab: Lab) -> Facts:
    cosines = both(lab, stream.stream_similarity)["before"]
    return {"before": f"{cosines[-1]:.2f}", "n_layers": lab.plain.n_layers}


def _ask_norm(lab: Lab) -> Facts:
    lengths = both(lab, breaking.lengths_by_depth)["before"]
    return {"first": f"{lengths[0]:,.1f}", "before": f"{lengths[-1]:,.1f}", "n_layers": lab.plain.n_layers}


def _last(lab: Lab, found: dict[str, Any]) -> Shift:
    return Shift(*(float(each[-1]) for each in found.values()))


def _judge_norm(lab: Lab, found: dict[str, Any]) -> tuple[Any, str, Any]:
    shift = _last(lab, found)
    return shift, "", f"{shift.after:,.1f}" if np.isfinite(shift.after) else "∞"


def _judge_residual(lab: Lab, found: dict[str, Any]) -> tuple[Any, str, Any]:
    shift = _last(lab, found)
    return shift, "", f"{shift.after:.2f}"


def _curve(name: str, axis: str, *, is_log: bool = False) -> Callable[[Lab, dict[str, Any]], Plot]:
    """A measure of the stream by depth; logarithmic where lengths lie far apart."""

    def draw(lab: Lab, found: dict[str, Any]) -> Plot:
        import plotly.graph_objects as go

        look = lab.look
        names = [depth.short(site).replace(" ", "<br>") for site in stream.stream_sites(lab.plain)]
        styles = {"before": ("residual", "dot", "circle"), "after": ("output", "solid", "square")}
        figure = go.Figure()
        for key, values in found.items():
            role, dash, symbol = styles[key]
            hue = theme.ROLES[role]
            curve(figure, names, values, look.words(f"series_{key}"), hue, dash=dash, symbol=symbol, at="{}")
        title = look.words(axis)
        known = np.concatenate([each[np.isfinite(each)] for each in found.values()])
        is_wide = is_log and known.size > 0 and known.min() > 0 and known.max() > 20 * known.min()
        figure.update_xaxes(title=look.words("axis_depth"), type="category")
        figure.update_yaxes(title=title, type="log" if is_wide else "linear")
        return Plot(f"ablations.measure_{name}", figure, look.words("measure_alt", measure=title), own=False)

    return draw


EXPERIMENTS = (
    left_out(SCALE, edits.NoScale, _ask_scale, _entropies, _judge_scale, _draw_scale),
    left_out(
        POSITION,
        edits.NoPosition,
        _ask_position,
        _previous,
        lambda lab, found: (Shift(found["before"][0], found["after"][0]), "", f"{found['after'][0]:.0%}"),
        _draw_position,
    ),
    left_out(
        MASK,
        edits.NoMask,
        _ask_mask,
        lambda lab: both(lab, breaking.future_shares),
        _judge_mask,
        _draw_mask,
        make=lambda lab, guess: edits.NoMask(side="decoder" if len(lab.plain.config.sides) > 1 else None),
        missing=lambda lab: None if lab.plain.stack.side == "decoder" else "no_mask",
    ),
    left_out(
        RESIDUAL,
        edits.NoResidual,
        _ask_residual,
        lambda lab: both(lab, stream.stream_similarity),
        _judge_residual,
        _curve("residual", "axis_similarity"),
    ),
    left_out(
        NORM,
        edits.NoNorm,
        _ask_norm,
        lambda lab: both(lab, breaking.lengths_by_depth),
        _judge_norm,
        _curve("norm", "axis_length", is_log=True),
        least=1,
    ),
)
