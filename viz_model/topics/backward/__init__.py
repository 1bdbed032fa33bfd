"""How does one weight learn? The chain rule backward through this run, for one token that is to come."""

from collections.abc import Sequence
from typing import Any

from viz_model.drawing.cells import COLUMN, ROW
from viz_model.island import say
from viz_model.island.look import Look
from viz_model.island.page import Page, Section, Topic, Typed, columns, where
from viz_model.island.prose import Line
from viz_model.island.tabs import Table, Tabs, Worked
from viz_model.topics.backward import asked, way, weight


def hand(look: Look) -> tuple[Line | None, Sequence[Worked], dict[str, Any]]:
    """The gradient of the station's first number at the selected token, and that of the weight."""
    if not asked.has_room(look):
        return None, (), {}
    here, part, (full, at) = asked.found(look), way.shown(look), weight.chosen(look)
    first = tuple({ROW: look.token, COLUMN: part.columns[0]}.get(one, one) for one in part.where)
    numbers = [Worked((), here.name(name), index, look.trace) for name, index in ((part.full, first), (full, at))]
    return look.text("hand", **asked.facts(look)), numbers, {}


def own(look: Look) -> tuple[str, dict[str, Any]]:
    full, at = weight.chosen(look)
    site = look.trace.full_name(look.site(way.at(look)))
    here = {"position": look.token, "token": asked.target(look).id, "site": site}
    return "backward", {**here, "weight": full, "index": at, "rate": weight.rate(look)}


def numbers(look: Look) -> Table:
    part = way.shown(look)
    rows = [look.labels[n] for n in part.rows]
    return look.site(way.at(look)), part.of(look.trace.whole[part.full]), rows, part.names


def gradient(look: Look) -> list[tuple[str, str, dict[str, Sequence[object]]]]:
    """The numbers of the picture on the right."""
    if not asked.has_room(look):
        return []
    part, label = way.shown(look), look.t.site_label(look.trace.site(look.site(way.at(look))))
    values = part.of(asked.found(look).of(part.full)).T.tolist()
    named = {str(look.common("axis_token")): [f"{n}: {look.labels[n]}" for n in part.rows]}
    columns = {f"{n}: {name}": column for n, name, column in zip(part.columns, part.names, values, strict=True)}
    return [("gradient", f"**{look.words('gradient', label=label)}**", named | columns)]


TABS = Tabs(
    lambda look: [look.site(way.at(look))],
    hand,
    lambda look: [],
    numbers,
    begins=say.text("rules"),
    own=own,
    records=gradient,
)
PAGE = Page(
    "backward",
    (
        say.text("lead"),
        asked.tell_no_room,
        columns((asked.choose, asked.field), where(asked.has_room, say.title("title", asked.facts), asked.tell)),
        *where(
            asked.has_room,
            way.choose,
            columns((way.caption("value"), way.draw_value), (way.caption("gradient"), way.draw_gradient)),
            way.tell,
            weight.title,
            columns((weight.choose, weight.field, weight.draw), weight.tell),
        ),
        Section(
            "step",
            where(asked.has_room, columns((weight.choose_rate, weight.draw_step), weight.tell_step)),
            (weight.RATE,),
        ),
    ),
    end=(say.to_try(),),
    tabs=TABS,
    options=(
        (asked.WORD, Typed(most=asked.LONGEST)),
        (way.AT, ("", *way.STATIONS)),
        (weight.MATRIX, ("", *weight.MATRICES)),
        (weight.ENTRY, Typed(pattern=weight.PLACE, most=11)),
        (weight.RATE, ("", *map(str, range(len(weight.RATES))))),
    ),
    fits=lambda config: config.writes,
    reads_plain=True,
)
TOPIC = Topic("backward", (PAGE,), needs=PAGE.fits, sums_heads=True)
