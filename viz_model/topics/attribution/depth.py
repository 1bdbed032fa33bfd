"""When it was decided: what the model would say if it stopped after each block."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from viz_model.claims import Claim, Verdict
from viz_model.drawing import chart, matrix
from viz_model.drawing.brief import brief
from viz_model.drawing.digits import percent
from viz_model.drawing.scene import Cells, Rect, Run, Scene, Texts
from viz_model.drawing.scene.writing import short
from viz_model.drawing.tables import by
from viz_model.island.look import Look
from viz_model.island.prose import Line
from viz_model.measures import lens
from viz_model.measures.stream import evenly
from viz_model.texts.markdown import literal
from viz_model.topics.attribution.asked import Asked, asked
from viz_model.topics.attribution.waterfall import MOST

MOST_DEPTHS, MOST_ROWS, TALL = 8, 12, 30.0
"""Depths and tokens that are drawn, and pixels of a row."""
FEW, LETTERS = 4, (9, 7)
"""Depths that have room for long tokens, and the letters of a token, beside so many depths and beside more."""
STRONG = 0.55
"""The probability from which on a token is written in white."""


class Depths(NamedTuple):
    """What P positions say by depth, each read at some depths.

    Attributes:
        depths: 0 is after the embedding, n after block n − 1.
        own: of the positions, how many name the token that stands there itself, at each depth.
        final: how many say what they say in the end, at each depth.
        n: P.
    """

    depths: Sequence[int]
    own: Sequence[int]
    final: Sequence[int]
    n: int

    @property
    def decided(self) -> int:
        """The place of the first depth from which on, at all that are shown, most positions say the final token."""
        behind = [place for place, count in enumerate(self.final) if count <= MOST * self.n]
        return behind[-1] + 1 if behind else 0


LENS: Verdict[Depths] = Verdict(
    "attribution.lens", Claim("own", lambda seen: seen.own[0] > MOST * seen.n and seen.own[-1] < MOST * seen.n)
)
DECIDED: Verdict[Depths] = Verdict(
    "attribution.decided",
    Claim("last", lambda seen: seen.decided == len(seen.depths) - 1 and seen.depths[-1] - seen.depths[-2] == 1),
)
PATHS: Verdict[Sequence[int]] = Verdict(
    "attribution.paths",
    Claim("start", lambda ranks: all(rank == 1 for rank in ranks)),
    Claim("later", lambda ranks: ranks[-1] == 1),
)
"""Of a token's ranks by depth (1 is first)."""


@brief
class LensView(NamedTuple):
    """The most probable token by position and depth: ``labels`` and ``probs`` [P, S].

    ``own`` and ``final`` [P, S] say where that is the token that stands at the position itself, and where it is
    what the model says in the end. ``selected`` is a row.
    """

    tokens: tuple[str, ...]
    positions: np.ndarray
    depths: tuple[int, ...]
    labels: tuple[tuple[str, ...], ...]
    probs: np.ndarray
    own: np.ndarray
    final: np.ndarray
    selected: int
    length: int

    @property
    def seen(self) -> Depths:
        """How many name themselves, and how many say what they say in the end."""
        own, final = (tuple(map(int, marks.sum(0))) for marks in (self.own, self.final))
        return Depths(self.depths, own, final, len(self.positions))


def part_of(length: int, position: int, most: int) -> range:
    """At most ``most`` neighboring positions of a text, ``position`` among them and late in the row."""
    stop = min(length, max(most, position + 1))
    return range(max(0, stop - most), stop)


def view(look: Look) -> LensView:
    """The lens around the selected token of the run that is asked about, over all depths or some."""
    depths = evenly(look.n_layers + 1, look.layer + 1, MOST_DEPTHS)
    return look.once(lambda look: _view(look, depths), ("lens", depths))


def _view(look: Look, depths: tuple[int, ...]) -> LensView:
    trace = look.trace
    places = part_of(len(look), look.token, min(MOST_ROWS, lens.affordable(trace, len(depths))))
    seen = lens.look(trace, depths, places)
    ids, here = seen.ids.T, np.array([trace.own_ids[place] for place in places])
    return LensView(
        tokens=tuple(trace.tokens[place].label for place in places),
        positions=seen.positions,
        depths=depths,
        labels=tuple(tuple(trace.tokenizer.token(int(id)).label for id in row) for row in ids),
        probs=seen.probs.T,
        own=ids == here[:, None],
        final=ids == ids[:, -1:],
        selected=places.index(look.token),
        length=len(look),
    )


def depth_name(look: Look, depth: int) -> str:
    return str(look.words("depth", layer=depth - 1) if depth else look.words("depth_0"))


def draw(look: Look) -> Scene:
    """Tokens downwards, depth to the right, in each cell the most probable token.

    It is bold where it is the final one, and in quotes where it is the one that stands there.
    """
    found, words = view(asked(look).look), look.words
    names, (n_rows, n) = [depth_name(look, depth) for depth in found.depths], found.probs.shape
    axes = words("lens_axis_position"), words("lens_axis_depth")
    kept: Any = {"look": "share", "role": "output", "frames": False, "written": False, "axes": axes}
    drawn = matrix.scene(
        "attribution.lens", words("lens_alt"), found.probs, found.tokens, names, height=110 + TALL * n_rows, **kept
    )
    cells, *marks = drawn.panels[0].marks
    assert isinstance(cells, Cells) and isinstance(cells.x, float) and isinstance(cells.height, float)
    told = [
        f"{found.tokens[row]} · {names[column]}\n{found.labels[row][column]} {percent(float(found.probs[row, column]))}"
        for row, column in np.ndindex(n_rows, n)
    ]
    step, share = cells.height / n_rows, cells.width[0] / n  # type: ignore[index]
    row, column = np.indices(found.probs.shape).reshape(2, -1)
    pixels = cells.width[1] / n  # type: ignore[index]
    texts = Texts(
        id="tokens",
        texts=[_said(found, *place) for place in np.ndindex(n_rows, n)],
        x=np.stack([(column + 0.5) * share, cells.x + (column + 0.5) * pixels], -1).astype(np.float32),
        y=(matrix.TOP + (row + 0.5) * step).astype(np.float32),
        fill=["white" if prob > STRONG else "ink" for prob in found.probs.ravel()],
        rooms=np.tile(np.array([[1.2 * share, 1.2 * pixels]], np.float32), (len(row), 1)),
    )
    y = matrix.TOP + step * found.selected
    frame = Rect(id="selected", x=cells.x, y=y, width=cells.width, height=step, stroke="accent", thick=2)
    panel = replace(drawn.panels[0], marks=[replace(cells, labels=told), *marks, texts, frame])
    scene = look.only_here(replace(drawn, panels=[panel]), layer=look.n_layers >= MOST_DEPTHS, token=True)
    sites = "embed.out", f"blocks.{look.n_layers - 1}.resid.out"
    return look.drawn(scene, sites, data=found, call=look.call("logit_lens", layer=look.layer, token=look.token))


def _said(found: LensView, row: int, column: int) -> Any:
    said = short(found.labels[row][column], LETTERS[len(found.depths) > FEW])
    if found.final[row, column]:
        return ((Run(said, bold=True),),)
    return f"“{said}”" if found.own[row, column] else said


def _facts(question: Asked) -> dict[str, Any]:
    found = view(question.look)
    seen = found.seen
    return question.facts | {
        "own_first": seen.own[0],
        "own_last": seen.own[-1],
        "n": seen.n,
        "n_decided": seen.final[seen.decided],
        "n_before": seen.final[-2],
        "first": int(found.positions[0]),
        "last": int(found.positions[-1]),
        "length": found.length,
    }


def title(look: Look) -> Iterator[Line]:
    question = asked(look)
    yield Line(LENS.says(look.t.language, view(question.look).seen, **_facts(question)), "title")


def source(look: Look) -> Iterator[Line]:
    """What is shown, and that a long text is drawn in part."""
    question = asked(look)
    yield look.source("embed.out", f"blocks.{look.n_layers - 1}.resid.out")
    if len(view(question.look).positions) < len(look):
        yield look.note("lens_part", **_facts(question))


def tell(look: Look) -> Iterator[Line]:
    question = asked(look)
    found, facts = view(question.look), _facts(question)
    yield look.text("lens", **facts)
    decided = depth_name(look, found.depths[found.seen.decided])
    yield Line(DECIDED.says(look.t.language, found.seen, decided=decided, **facts))
    if has_norms(look):
        yield look.text(f"lens_{'post' if look.trace.norm_at == 'post' else 'pre'}", **facts)


def has_norms(look: Look) -> bool:
    return any(".norm." in name for name in look.trace.sites)


# Ranks by depth


def _followed(question: Asked) -> list[int]:
    """The tokens that are followed by depth: the asked one first, then a rival, the position's own last."""
    rival = [question.against] if isinstance(question.against, int) else []
    own = question.trace.own_ids[question.look.token]
    return list(dict.fromkeys([question.target or 0, *rival, own]))


def paths(question: Asked) -> lens.Paths:
    ids = _followed(question)
    return question.look.once(lambda look: lens.paths(look.trace, look.token, ids), ("paths", *ids))


def draw_paths(look: Look) -> Scene:
    """The rank of the asked token by depth, the first on top, beside its rival and the token that stands here."""
    question = asked(look)
    found, ids, words = paths(question), _followed(question), look.words
    own = question.trace.own_ids[look.token]
    names = [question.plain(id) for id in ids]
    if ids[-1] == own and len(ids) > 1:
        names[-1] = words("own_line", token=names[-1])
    looks: Any = [("output", None, "circle"), ("ffn", "6 4", "x"), ("residual", "2 3", "square")]
    looks = looks if len(ids) > 2 else [looks[0], looks[2]]
    told = f"{{{{at}}}} · {{{{name}}}}\n{words('paths_rank')} {{{{value}}}} · {{{{share}}}}"
    lines = [
        chart.Line(name, ranks, role, dash, symbol, told, "whole", {"share": by("", shares, "percent")})
        for name, ranks, shares, (role, dash, symbol) in zip(names, found.ranks.T, found.probs.T, looks, strict=False)
    ]
    depths = [depth_name(look, depth) for depth in range(look.n_layers + 1)]
    ranks = chart.Axis(1.3 * max(10, int(found.ranks.max())), 0.75, words("paths_rank"), "whole", True)
    across = chart.places(len(depths), words("paths_depth"))
    drawn = words("paths_alt"), np.arange(len(depths)), lines, across, ranks
    scene = chart.lines("attribution.paths", *drawn, height=330, x_names=depths)
    return look.only_here(scene, layer=False, token=True)


def tell_paths(look: Look) -> Iterator[Line]:
    question = asked(look)
    found = paths(question)
    ranks = found.ranks[:, 0].tolist()
    own = question.trace.own_ids[look.token]
    facts = question.facts | {
        "rank_first": f"{ranks[0]:,}",
        "rank_last": f"{ranks[-1]:,}",
        "share_last": percent(float(found.probs[-1, 0])),
        "own_rank_first": f"{found.ranks[0, -1]:,}",
        "own_rank_last": f"{found.ranks[-1, -1]:,}",
    }
    settled = depth_name(look, lens.settled(found.ranks[:, 0]) or 0)
    yield Line(PATHS.says(look.t.language, ranks, settled=settled, **facts))
    if own != question.target:
        yield look.text("paths_own", own=literal(question.plain(own)), **facts)
