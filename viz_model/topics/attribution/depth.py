"""When it was decided: what the model would say if it stopped after each block, through two lenses."""

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from viz_model.claims import Claim, Verdict
from viz_model.drawing import matrix
from viz_model.drawing.digits import percent
from viz_model.drawing.scene import Run, Scene
from viz_model.drawing.scene.writing import short
from viz_model.drawing.short_repr import short_repr
from viz_model.explain.fitted import FittedLens, reader, shipped
from viz_model.island import say
from viz_model.island.look import Look
from viz_model.island.page import Chooser
from viz_model.island.prose import Line
from viz_model.measures import lens
from viz_model.measures.stream import evenly, part_of
from viz_model.topics.attribution.asked import Asked, asked
from viz_model.topics.attribution.waterfall import MOST

MOST_DEPTHS, MOST_ROWS, TALL = 8, 12, 30.0
"""Depths and tokens that are drawn, and pixels of a row."""
FEW, LETTERS = 4, (9, 7)
"""Depths that have room for long tokens, and the letters of a token, beside so many depths and beside more."""
LENSES = "lens"
"""The option that says which lens a token is followed with."""


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
LENSES_DIFFER: Verdict[tuple[Depths, Depths]] = Verdict(
    "attribution.lenses", Claim("earlier", lambda both: both[1].decided < both[0].decided)
)
"""Of what a plain and a fitted lens see."""
PATHS: Verdict[Sequence[int]] = Verdict(
    "attribution.paths",
    Claim("start", lambda ranks: all(rank == 1 for rank in ranks)),
    Claim("later", lambda ranks: ranks[-1] == 1),
)
"""Of a token's ranks by depth (1 is first)."""


@short_repr
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


def fitted(look: Look) -> FittedLens | None:
    """The lens that came with the model, if one did."""
    return shipped(look.trace.model, look.trace.name)


def _reader(look: Look, name: str) -> lens.Reader:
    found = fitted(look) if name == "fitted" else None
    return lens.plain if found is None else reader(found)


def chosen(look: Look) -> str:
    """Which lens a token is followed with."""
    return "fitted" if look.options.get(LENSES) != "plain" and fitted(look) is not None else "plain"


def _seen(look: Look) -> tuple[tuple[int, ...], range]:
    """The depths and positions that are drawn: all of them or some, those of the selection among them."""
    depths = evenly(look.n_layers + 1, look.layer + 1, MOST_DEPTHS)
    return depths, part_of(len(look), look.token, min(MOST_ROWS, lens.affordable(look.trace, len(depths))))


def view(look: Look, name: str = "plain") -> LensView:
    """A lens around the selected token of the run that is asked about, over all depths or some."""
    return look.once(lambda look: _view(look, name), ("lens", name, *_seen(look)))


def _view(look: Look, name: str) -> LensView:
    trace, (depths, places) = look.trace, _seen(look)
    seen = lens.look(trace, depths, places, _reader(look, name))
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
    """Tokens downwards, depth to the right, in each cell the most probable token by the plain lens.

    It is bold where it is the final one, and in quotes where it is the one that stands there.
    """
    found = view(asked(look).look)
    scene = _draw_lens(look, "lens", found)
    sites = "embed.out", f"blocks.{look.n_layers - 1}.resid.out"
    return look.drawn(scene, sites, data=found, call=look.call("logit_lens", layer=look.layer, token=look.token))


def draw_fitted(look: Look) -> Scene:
    """The same through the fitted lens."""
    return _draw_lens(look, "lens_fitted", view(asked(look).look, "fitted"))


def _draw_lens(look: Look, name: str, found: LensView) -> Scene:
    shape = found.probs.shape
    told = [
        f"{found.labels[row][column]} {percent(float(found.probs[row, column]))}" for row, column in np.ndindex(shape)
    ]
    texts = [_said(found, *place) for place in np.ndindex(shape)]
    return _table(look, name, found.probs, texts, told, found.tokens, found.depths, found.selected)


def _table(
    look: Look,
    name: str,
    values: np.ndarray,
    texts: Sequence[Any],
    told: Sequence[str],
    tokens: Sequence[str],
    depths: Sequence[int],
    selected: int,
) -> Scene:
    """Shares [P, S] as cells with a text each, the row of the selected token framed."""
    words, names, n = look.words, [depth_name(look, depth) for depth in depths], len(depths)
    said = [f"{tokens[k // n]} · {names[k % n]}\n{one}" for k, one in enumerate(told)]
    axes: Any = {"axes": (words("lens_axis_position"), words("lens_axis_depth")), "look": "share", "role": "output"}
    shown = f"attribution.{name}", words(f"{name}_alt"), values, texts, said, tokens, names
    scene = matrix.words(*shown, row=TALL, selected=selected, **axes)
    return look.only_here(scene, layer=look.n_layers >= MOST_DEPTHS, token=True)


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
    yield look.claim(LENS, view(question.look).seen, "", "title", **_facts(question))


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
    yield look.claim(DECIDED, found.seen, "", decided=decided, **facts)
    if has_norms(look):
        yield look.text(f"lens_{'post' if look.trace.norm_at == 'post' else 'pre'}", **facts)


def tell_fitted(look: Look) -> Iterator[Line]:
    """What the fitted lens reads more; where there is none, what the plain one cannot show, and how to fit one."""
    if fitted(look) is None:
        if look.config.kind == "decoder":
            yield look.text("lens_none")
        return
    plain, own = (view(asked(look).look, name).seen for name in ("plain", "fitted"))
    both = {
        "decided": depth_name(look, own.depths[own.decided]),
        "plain": depth_name(look, plain.depths[plain.decided]),
    }
    yield look.text("lens_fitted")
    yield Line(LENSES_DIFFER.says(look.t.language, (plain, own), **both))


def has_norms(look: Look) -> bool:
    return any(".norm." in name for name in look.trace.sites)


# Ranks by depth


def choose(look: Look) -> Chooser:
    """Which of two lenses a token is followed with."""
    options = {name: look.words(f"lens_{name}") for name in ("fitted", "plain")}
    return Chooser(LENSES, options, look.words("lens"), asks=True)


def ranks(question: Asked) -> np.ndarray:
    """The rank of the token that is asked about, at every position and depth that is drawn: [P, S]."""
    look, name, id = question.look, chosen(question.look), question.target or 0
    read, seen = _reader(look, name), _seen(look)
    return look.once(lambda look: lens.ranks(look.trace, id, *seen, read).T, ("ranks", name, id, *seen))


def draw_ranks(look: Look) -> Scene:
    """The rank of the asked token after each block, at every position: the deeper the color, the nearer to first."""
    question = asked(look)
    found, (depths, places) = ranks(question), _seen(question.look)
    near = 1 - np.log(found) / np.log(look.config.n_vocab)
    texts = [f"{rank:,}" for rank in found.ravel()]
    told = [f"{look.words('ranks_rank')} {text}" for text in texts]
    tokens = [question.trace.tokens[place].label for place in places]
    return _table(look, "ranks", near, texts, told, tokens, depths, places.index(look.token))


ranks_title = say.part("ranks_title", lambda look: asked(look).facts)


def tell_ranks(look: Look) -> Iterator[Line]:
    question = asked(look)
    depths, places = _seen(question.look)
    found = ranks(question)[places.index(look.token)]
    facts = question.facts | {
        "rank_first": f"{found[0]:,}",
        "rank_last": f"{found[-1]:,}",
        "lens": look.words(f"lens_{chosen(look)}"),
        "share_last": percent(float(question.trace.row("logits", look.token).softmax(-1)[question.target or 0])),
    }
    settled = depth_name(look, depths[lens.settled(found) or 0])
    yield look.text("ranks", **facts)
    yield look.claim(PATHS, found.tolist(), "", settled=settled, **facts)
