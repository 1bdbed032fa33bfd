"""How a patch of a picture becomes a vector: the filters of the projection, and one of them at work."""

from collections.abc import Iterator
from typing import Any

import numpy as np

from viz_model.drawing import strips
from viz_model.drawing.cells import Cells as Where
from viz_model.drawing.picture import ink
from viz_model.drawing.scene import Cells, Mark, Panel, Pick, Rect, Scene, Text
from viz_model.drawing.strips import StripsView, scaled
from viz_model.drawing.tables import By, Phrase, by
from viz_model.island import quiz as asking
from viz_model.island import say
from viz_model.island.look import Look
from viz_model.island.page import Quiz
from viz_model.island.prose import Line
from viz_model.island.tabs import Tabs, Worked
from viz_model.measures import filters, patches

SIDE, PICTURE, LARGE, TOP = 42.0, 168.0, 126.0, 26.0
"""Pixels of a filter, of the picture, of a patch enlarged, and above them."""


def shown(look: Look) -> np.ndarray:
    """The patch that is shown at each position, [T]: where [CLS] is selected, the one with most ink."""
    return np.array([patches.fullest(look.trace) - 1, *range(len(look) - 1)])


def number(look: Look) -> np.ndarray:
    """The filter at each position, [T]: the one that was chosen, or else the one that answers the patch most."""
    asked = look.options.get("filter", "")
    if asked and int(asked) < look.config.d_model:
        return np.full(len(look), int(asked))
    return np.abs(look.trace["patches.projected"].numpy()).argmax(-1)[look.once(shown)]


def worked(look: Look) -> list[filters.Filtered]:
    """Each position's patch under its filter."""
    return [filters.filtered(look.trace, int(p), int(n)) for p, n in zip(look.once(shown), number(look), strict=True)]


def facts(look: Look) -> dict[str, Any]:
    found, at = worked(look), look.once(shown)
    inked = (patches.of(look.trace) > 0).sum((1, 2))
    numbers = {"sum": ("+3", [float(one.products.sum()) for one in found]), "bias": ("+3", [one.bias for one in found]),
               "value": ("+4", [one.value for one in found])}  # fmt: skip
    return {
        "patch": look.token_named(by("token", at + 1)),
        "number": by("token", number(look), "0"),
        "n_filters": len(found[0].filters),
        "n_pixels": found[0].patch.size,
        "n_inked": by("token", inked[at], "0"),
        "paper": f"{look.trace['patches.pixels'].min():+.2f}",
        **{name: by("token", np.array(values), how) for name, (how, values) in numbers.items()},
    }


def title(look: Look) -> Iterator[Line]:
    note = look.note("class_has_none", **facts(look))
    words = note.words if isinstance(note.words, Phrase) else Phrase(note.words, {})
    first = By(("token",), [words, *[""] * (len(look) - 1)])
    yield Line(Phrase("{{said}}", {"said": first}), "note")
    yield look.title("filter_title", **facts(look))


def draw(look: Look) -> Scene:
    """The patch in its picture, the patch, the filter, and their products, whose sum with the bias is the number."""
    found, known = worked(look), facts(look)
    rows, columns = patches.grid(look.config)
    labels = {
        name: look.words(f"worked_{name}", **known) for name in ("picture", "patch", "filter", "product", "value")
    }
    down, along = np.divmod(look.once(shown), columns)
    wide, tall = PICTURE / columns, PICTURE / rows
    ring: Any = {"x": by("token", (along * wide).astype(np.float32)), "y": by("token", TOP + down * tall)}
    marks: list[Mark] = [
        Text(id="name", text=labels["picture"], y=12, bold=True),
        *ink("ink", patches.pixels(look.trace), 0, TOP, PICTURE, PICTURE),
        Rect(id="frame", y=TOP, width=PICTURE, height=PICTURE, stroke="grid"),
        Rect(id="ring", width=wide, height=tall, stroke="accent", thick=3, **ring),
    ]
    height = TOP + PICTURE + 6
    panels = [Panel(id="picture", marks=marks, height=height, min=int(PICTURE), most=int(PICTURE))]
    side = [f"{n + 1}" for n in range(found[0].patch.shape[1])]
    parts = {
        "patch": ("×", np.stack([one.patch for one in found])),
        "filter": ("=", np.stack([one.filters[one.number] for one in found])),
        "product": ("", np.stack([one.products for one in found])),
    }
    for name, (sign, values) in parts.items():
        top: Any = by("token", np.maximum(np.abs(values).max((1, 2)), 1e-30))
        panels.append(
            Panel(
                id=name,
                marks=[
                    Text(id="name", text=labels[name], y=12, bold=True),
                    Cells(id="cells", y=TOP, width=LARGE, height=LARGE, values=by("token", values), top=top,
                          rows=[f"{n + 1}" for n in range(values.shape[1])], columns=side, digits=3, name=labels[name]),
                    Rect(id="frame", y=TOP, width=LARGE, height=LARGE, stroke="grid"),
                    Text(id="sign", text=sign, x=LARGE + 12, y=TOP + LARGE / 2, anchor="middle", size=20),
                ],
                height=height, min=int(LARGE + 26), most=int(LARGE + 26),
            )
        )  # fmt: skip
    place: Any = (by("token", look.once(shown)), by("token", number(look)))
    value: Any = by("token", np.array([[[one.value]] for one in found]))
    where = Where(look.trace.full_name("patches.projected"), place)
    middle = TOP + LARGE / 2
    total: Any = Phrase("{{sum}} {{bias}}", {name: known[name] for name in ("sum", "bias")})
    result: Any = Phrase("= {{value}}", {"value": known["value"]})
    marks = [
        Text(id="name", text=labels["value"], y=12, bold=True),
        Text(id="parts", text=total, y=middle - 34, fill="muted"),
        Text(id="sum", text=result, y=middle, size=18, bold=True),
        Cells(id="value", y=middle - 18, width=96, height=36, values=value, look="blank", rows=("",), columns=("",),
              where=where, name=labels["value"]),
    ]  # fmt: skip
    panels.append(Panel(id="sum", marks=marks, height=height, min=150, most=200))
    scene = Scene(id="embedding.worked", panels=panels, title=look.words("worked_alt", **known))
    return look.drawn(scene, ["patches.pixels", "patches.projected"])


source = say.source("patches.pixels", "patches.projected")
tell = say.text("see_filter", facts)
filters_title = say.title("filters_title", facts)


def grid(look: Look) -> Scene:
    """All filters, as many in a row as there is room for; the one at work is ringed."""
    every, answers = worked(look)[0].filters, look.trace["patches.projected"].numpy()[look.once(shown)]
    top, name, size = float(np.abs(every).max()), str(look.words("filters_name")), int(SIDE)
    panels = []
    for n, values in enumerate(every):
        said: Any = Phrase(f"{name.replace('#', str(n))}: {{{{value}}}}", {"value": by("token", answers[:, n], "+3")})
        is_chosen: Any = by("token", [bool(one) for one in number(look) == n])
        marks: list[Mark] = [
            Cells(id="filter", width=SIDE, height=SIDE, values=values, top=top, walk=False, coarse=True),
            Rect(id="frame", width=SIDE, height=SIDE, stroke="grid"),
            Rect(id="ring", x=1, y=1, width=SIDE - 2, height=SIDE - 2, stroke="accent", thick=3, present=is_chosen),
        ]
        look_: Any = {"act": Pick(n), "label": said, "min": size, "most": size}
        panels.append(Panel(id=f"filter.{n}", marks=marks, height=SIDE, **look_))
    return Scene(id="embedding.filters", panels=panels, title=look.words("filters_alt"), option="filter")


tell_filters = say.text("see_filters", facts)


def vectors(look: Look) -> Scene:
    """The vectors of all positions, before places are added."""
    values = look.trace["embed.patch"].numpy()
    rows = tuple(scaled(name, row) for name, row in zip(look.names, values, strict=True))
    view = StripsView(rows, tuple(str(n) for n in range(values.shape[1])), 50 + 24 * len(rows))
    scene = strips.scene(view, "embedding.vectors", str(look.words("vectors_alt")), {"masked": look.common("masked")})
    return look.drawn(scene, ["embed.patch"])


vectors_source = say.source("embed.patch")
tell_vectors = say.text("see_vectors", lambda look: {"n": len(look), "d_model": look.config.d_model})


def quiz(look: Look) -> Quiz | None:
    """Which of some patches the filter answers most."""
    answers = look.trace["patches.projected"].numpy()[:, number(look)].T
    picked = asking.spread(answers.shape[1])
    names = [look.names[1 + n] for n in picked]
    known = by("token", number(look), "0")
    return asking.largest(look, "token", answers[:, picked], names, "+3", "guess_filter", number=known)


def _hand(look: Look) -> Any:
    at = int(look.once(shown)[look.token]), int(number(look)[look.token])
    return None, [Worked(("embedding.hand_filter",), "patches.projected", at)], {
        "number": at[1], "n_pixels": worked(look)[0].patch.size,
    }  # fmt: skip


def _numbers(look: Look) -> Any:
    values = look.trace["embed.patch"].numpy()
    return "embed.patch", values, look.names, [str(n) for n in range(values.shape[1])]


APART = Tabs(
    lambda look: ["patches.pixels", "patches.projected", "embed.patch"],
    _hand,
    lambda look: ["patches.projected", "patches.pixels", "embed.patch"],
    _numbers,
)
