"""A value and its gradient side by side, station by station from the loss back to the embedding."""

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from viz_model.claims import Claim, Verdict
from viz_model.drawing import matrix
from viz_model.drawing.cells import COLUMN, ROW, Cells
from viz_model.drawing.digits import written
from viz_model.drawing.scene import Scene
from viz_model.island.look import Look
from viz_model.island.page import Chooser
from viz_model.island.prose import Line
from viz_model.model import sites
from viz_model.topics.backward.asked import facts, found, name, target
from viz_model.values.backward import NoRule

AT = "at"
STATIONS = {
    "logits": "loss",
    "final.norm.out": "unembed",
    "resid.out": "add",
    "ffn.out": "branch",
    "ffn.act": "down",
    "ffn.gate": "gate",
    "ffn.up": "up",
    "ffn.norm.out": "norm",
    "resid.mid": "add",
    "attn.out": "branch",
    "attn.z": "out",
    "attn.v": "value",
    "attn.pattern": "pattern",
    "attn.capped": "softmax",
    "attn.scores": "softmax",
    "attn.q_rotated": "query",
    "attn.k_rotated": "key",
    "attn.q": "query",
    "attn.k": "key",
    "attn.norm.out": "read",
    "resid.in": "add",
    "embed.out": "first",
}
"""Values on the way back, and which text says how each gradient is made."""
MOST_ROWS = 16
"""Tokens that have a row: the last ones up to the selected."""
MOST_WORDS = 12
HEIGHT = 260.0
"""Pixels of a picture: two stand on a page with more below."""


def stations(look: Look) -> list[str]:
    """Those of the selected block and of both ends, the nearest to the loss first."""
    own, seen = f"blocks.{look.layer}.", []
    for full in look.trace.sites:
        short = full.removeprefix(own)
        if short in STATIONS:
            seen.append(short)
    if "attn.capped" in seen:  # what the softmax reads
        seen.remove("attn.scores")
    return seen[::-1]


def kind(look: Look) -> str:
    """Which text says how the gradient of the station is made."""
    station = at(look)
    if station == "ffn.up" and look.has("ffn.gate"):
        return "through"
    is_read_last = look.trace.leaving == look.site(station)
    return "unembed" if is_read_last else STATIONS[station]


def at(look: Look) -> str:
    """The station that is shown."""
    here, said = stations(look), look.options.get(AT, "")
    return said if said in here else here[0]


def choose(look: Look) -> Chooser:
    options = {one: look.t.site_label(look.trace.site(look.site(one))) for one in stations(look)}
    return Chooser(AT, options, look.words("at"), look.words("at_help"), asks=True, is_scale=True)


class Shown(NamedTuple):
    """A part of a value, rows of tokens: which numbers, and what its columns are called.

    Attributes:
        full: the name of the value.
        where: its cells; rows and columns as marks have them.
        rows, columns: the numbers that they stand for.
        names: of the columns.
    """

    full: str
    where: tuple[Any, ...]
    rows: tuple[int, ...]
    columns: tuple[int, ...]
    names: Sequence[str]

    def of(self, value: Any) -> np.ndarray:
        """The shown cells of a value of that shape."""
        at = {ROW: np.array(self.rows)[:, None], COLUMN: np.array(self.columns)[None]}
        return np.asarray(value)[tuple(at.get(part, part) for part in self.where)]


def shown(look: Look) -> Shown:
    station = at(look)
    site = look.trace.site(look.site(station))
    rows = tuple(range(max(0, look.token + 1 - MOST_ROWS), look.token + 1))
    columns: tuple[int, ...] = tuple(range(site.index[-1].size or 0))
    names: Sequence[str] = tuple(map(str, columns))
    if station == "logits":
        best = [token.id for token, _ in look.trace.next_tokens(look.token, MOST_WORDS)]
        columns = tuple(dict.fromkeys((target(look).id, *best)))[:MOST_WORDS]
        names = [name(look, id) for id in columns]
    elif site.index[-1].size is None:
        columns, names = rows, [look.labels[n] for n in rows]
    index: tuple[Any, ...] = (ROW, COLUMN)
    if site.has_heads:
        index = (look.here.kv_head(look.head) if site.axes[0] == "G" else look.head, *index)
    return Shown(site.full, index, rows, columns, names)


def draw_value(look: Look) -> Scene:
    part = shown(look)
    return _drawn(look, "value", part, part.of(look.trace.whole[part.full]), part.full)


def draw_gradient(look: Look) -> Scene | None:
    part, here = shown(look), found(look)
    return _drawn(look, "gradient", part, part.of(here.of(part.full)), here.name(part.full))


def _drawn(look: Look, which: str, part: Shown, values: np.ndarray, site: str) -> Scene:
    label = look.t.site_label(sites.find(part.full, look.config))
    is_share = which == "value" and at(look) == "attn.pattern"
    more: dict[str, Any] = {"look": "share", "role": "pattern"} if is_share else {}
    scene = matrix.scene(
        f"backward.{which}",
        look.words(f"{which}_alt", label=label),
        values.astype(np.float32),
        [look.labels[n] for n in part.rows],
        part.names,
        top=1.0 if is_share else float(np.abs(values).max()) or 1.0,
        frames=False,
        labels=([f"{n}: {look.labels[n]}" for n in part.rows], list(map(str, part.names))),
        height=HEIGHT,
        where=Cells(site, part.where, part.rows, part.columns),
        **more,
    )
    return look.drawn(look.only_here(scene, head=True, token=True), data=values)


def caption(which: str) -> Any:
    """An item: what the picture below it shows."""

    def said(look: Look) -> Iterator[Line]:
        yield look.part(which, label=look.t.site_label(look.trace.site(look.site(at(look)))))

    return said


class Reach(NamedTuple):
    """How large the gradient is at each token, [T], and which token the loss is read at."""

    sizes: np.ndarray
    position: int


REACH: Verdict[Reach] = Verdict(
    "backward.reach",
    Claim("first", lambda reach: reach.position == 0),
    Claim("own", lambda reach: reach.sizes[reach.position] > reach.sizes.sum() / 2),
    Claim("earlier", lambda reach: reach.sizes[: reach.position].sum() > reach.sizes.sum() / 2),
)


def reach(look: Look) -> Reach:
    """Of the stream that enters the selected block."""
    gradient = found(look).of(look.site("resid.in"))
    return Reach(gradient.norm(dim=-1).numpy(), look.token)


def tell(look: Look) -> Iterator[Line]:
    station, here = at(look), found(look)
    # A score gets what its sum with the mask gets; the softmax behind that is what there is to see.
    full = look.trace.full_name(look.site("attn.masked" if STATIONS[station] == "softmax" else station))
    yield look.text(f"at_{kind(look)}", **facts(look))
    try:
        yield look.text("formula", formula=here.site(full).formula)
    except NoRule:
        yield look.note("no_rule")
    yield look.note("click")
    sizes = reach(look)
    share = sizes.sizes / (sizes.sizes.sum() or 1.0)
    most = int(share[: look.token].argmax()) if look.token else 0
    said = {"own": written(share[look.token], "percent"), "most": look.code_name(most)}
    yield look.claim(REACH, sizes, "", **facts(look), **said)
