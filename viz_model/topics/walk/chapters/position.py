"""Position: what tells the first occurrence of a token from the second, in each of the ways that there are."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from viz_model.config import Sinusoidal
from viz_model.drawing.digits import root
from viz_model.island.beats import Box, Cells, Chapter, Mark, Text, ends
from viz_model.topics.walk import layout
from viz_model.topics.walk.run import Run

ROW, HIGH = 34, 26


def way(run: Run) -> str:
    """How places are told apart: "waves", "learned", "turned", "changed", "biased" or "none"."""
    trace, at = run.trace, f"blocks.{run.look.layer}.attn."
    if "embed.position" in trace:
        return "waves" if isinstance(trace.config.position, Sinusoidal) else "learned"
    if f"{at}q_rotated" in trace:
        scheme = trace.config.layer(trace.stack.side, run.look.layer).position
        return "turned" if scheme.acts_on == "queries" else "changed"
    return "biased" if f"{at}bias" in trace else "none"


def pair(run: Run) -> tuple[int, int] | None:
    """Two places at which the same token stands; None where none stands twice."""
    ids = run.trace.own_ids
    found = ((a, b) for b in range(len(ids)) for a in range(b) if ids[a] == ids[b])
    return next(found, None)


def chapter(run: Run) -> Chapter:
    look, kind, twins = run.look, way(run), pair(run)
    values: dict[str, Any] = {
        "word": look.code_name(twins[0] if twins else look.token),
        "d": run.trace.config.d_embedding,
    }
    values["is_root"] = root(run.trace.config.d_embedding)[0]
    beats = [run.says("position_1" if twins else "position_1_once", "row", **values)]
    beats.append(run.says(f"position_2_{kind}", "position", **values))
    if kind in ("waves", "learned"):
        scaled = "_scaled" if run.trace.config.scale_embedding else ""
        beats.append(run.says(f"position_3{scaled}" if twins else f"position_3{scaled}_once", "", **values))
    marks = list(_marks(run, kind, twins))
    return Chapter("position", look.words("title_position"), beats, marks, ("position", look.words("closer_position")))


def _marks(run: Run, kind: str, twins: tuple[int, int] | None) -> Iterator[Mark]:
    trace, look = run.trace, run.look
    places: tuple[int, ...]
    of: tuple[int, ...]
    if twins is not None:
        places, of = twins, twins
    elif kind in ("waves", "learned") and len(run) > 1:  # the same token, as it would be at another place
        places = (look.token, 0 if look.token else len(run) - 1)
        of = (look.token, look.token)
    else:
        places = of = (look.token,)
    strip: dict[str, Any] = {"x": layout.NAMES + 56, "width": (1, -layout.NAMES - 56), "height": HIGH}
    rows = run.rows_in[list(of)]
    added, parts = None, [("row", rows, 1)]
    if kind in ("waves", "learned"):
        added = trace["embed.position"][list(places)].numpy()
        parts += [("position", added, 2), ("sum", rows + added, 3)]
    elif kind in ("turned", "changed"):
        letter = "k_normed" if f"blocks.{look.layer}.attn.k_normed" in trace else "k"
        parts = [("row", rows, 1)] + [
            (name, run.head(site)[list(places)], 2) for name, site in (("key", letter), ("turned", "k_rotated"))
        ]
    for g, at in enumerate(places):
        y = 24 + (190 if len(parts) > 1 else 90) * g
        yield Text(text=look.words("place", n=at), x=0, y=y, look="small")
        yield Text(text=run.labels[of[g]], x=0, y=y + 26, look="bold")
        for n, (name, values, since) in enumerate(parts):
            top, key = y + 16 + ROW * n, "row_scaled" if name == "row" and trace.config.scale_embedding else name
            label = look.words(f"strip_{key}", d=trace.config.d_embedding)
            yield Text(text=label, x=layout.NAMES + 48, y=top + HIGH / 2, anchor="end", since=since, look="small")
            most = layout.most(values)
            yield layout.strip(
                values[g],
                y=ends(3, (0, y + 16), (since, top)),
                top=most,
                since=since,
                part="sum" if name == "sum" else name,
                **strip,
            )
            if name == "position":
                yield Cells(
                    values=values[g],
                    look="bars",
                    y=top + ROW * 2,
                    x=strip["x"],
                    width=strip["width"],
                    height=50,
                    top=most,
                    since=2,
                    part="position",
                )
    if kind == "biased":
        yield from _bias(run)


def _bias(run: Run) -> Iterator[Mark]:
    """What is added to the scores of each token of the window, by the place of a key."""
    bias, at = run.head("bias"), list(run.window)
    seen = np.where(run.visible, bias, 0.0)[:, at]
    top = layout.most(seen)
    high = layout.pitch(len(at), 250, 420)
    yield Text(text=run.look.words("bias", token=run.label(range(len(run)))), x=0, y=236, since=2)
    for n, place in enumerate(at):
        y = 250 + high * n
        yield layout.name(run.labels[place], y + high / 2, since=2)
        width = run.by("token", layout.lengths(np.abs(seen[:, n]) / top, less=200))
        yield Box(
            x=layout.NAMES,
            y=y + 2,
            width=width,
            height=high - 4,
            part="position",
            since=2,
            when=layout.turn(n, len(at)),
        )
        number = run.by("token", np.where(run.visible[:, place], bias[:, place], np.nan))
        yield Text(text=number, form="2", x=(1, -4), y=y + high / 2, anchor="end", since=2, part="position")
