"""What a classifier of pictures or of texts says at its end: a class; and what it would say after fewer blocks."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from viz_model.drawing.picture import ink, shares
from viz_model.drawing.scene import Cells, Mark, Panel, Rect, Scene, Text
from viz_model.island import say
from viz_model.island.look import Look
from viz_model.island.page import Quiz
from viz_model.island.prose import Line
from viz_model.island.tabs import Tabs, Worked
from viz_model.measures import classes as measured
from viz_model.measures import patches
from viz_model.measures.classes import Classes

SITES = ("class.logits", "class.probs")
PICTURE, BAR, TOP = 196.0, 26.0, 24.0
"""Pixels of the picture, of a bar from one to the next, and above them."""
MOST, COLUMNS = 20, 10
"""Bars at the most, and columns."""


def of_run(look: Look) -> Classes:
    """The classes of the run, where the model does not end in vectors."""
    return look.once(lambda look: measured.classes(look.trace), "classes")


def facts(look: Look) -> dict[str, Any]:
    found = of_run(look)
    first, second = found.order[:2]
    own = {"logit": f"{found.logits[first]:+.3f}", "second_logit": f"{found.logits[second]:+.3f}"}
    return {**found.facts, **own, "n": len(found.labels), "d_model": look.config.d_model}


def has(look: Look) -> bool:
    return bool(look.config.classes)


def title(look: Look) -> Iterator[Line]:
    if has(look):
        yield look.title("class_title", **facts(look))
    else:
        yield Line(look.words("no_classes"), "notice")


tell = say.text("see_classes", facts)
source = say.source(*SITES)


def draw(look: Look) -> Scene:
    """The picture, where one was read, and beside it a bar for each class in its own order.

    Of many classes the most probable ones have a bar.
    """
    found = of_run(look)
    shown = range(len(found.labels)) if len(found.labels) <= MOST else found.order[:MOST]
    reads = look.config.reads_pictures
    height = max(TOP + PICTURE + 6 if reads else 0, TOP + BAR * len(shown) + 6)
    panels = [_picture(look)] if reads else []
    left = 12.0 + 8.0 * max(len(label) for label in found.labels)
    place: dict[str, Any] = {"left": left, "top": TOP, "step": BAR, "inset": (3, 3), "right": -8}
    marks: list[Mark] = [
        Text(id="name", text=look.words("classes_name"), y=12, bold=True),
        *shares(found.labels, found.probs, shown, size=15, site=look.trace.full_name("class.probs"), **place),
    ]
    panels.append(Panel(id="classes", marks=marks, height=height, min=240, grow=2))
    return look.drawn(Scene(id="next_token.classes", panels=panels, title=look.words("classes_alt")), SITES)


def _picture(look: Look) -> Panel:
    pixels = patches.pixels(look.trace)
    tall = PICTURE * pixels.shape[0] / pixels.shape[1]
    marks: list[Mark] = [
        Text(id="name", text=look.words("picture_name"), y=12, bold=True),
        *ink("ink", pixels, 0, TOP, PICTURE, tall),
        Rect(id="frame", y=TOP, width=PICTURE, height=tall, stroke="grid"),
    ]
    return Panel(id="picture", marks=marks, height=TOP + tall + 6, min=int(PICTURE), most=int(PICTURE), grow=0)


def draw_depth(look: Look) -> Scene:
    """A row for the stream before the first block and after each, a column a class."""
    found = of_run(look)
    shown = list(found.order[:COLUMNS] if len(found.labels) > COLUMNS else range(len(found.labels)))
    each = look.once(lambda look: measured.by_depth(look.trace), "classes by depth").probs[:, shown]
    rows = [str(look.words("depth_before")), *(str(look.words("depth_after", layer=n)) for n in range(look.n_layers))]
    labels = [found.labels[n] for n in shown]
    left, tall = 130.0, 34.0
    marks: list[Mark] = []
    for n, (name, probs) in enumerate(zip(rows, each, strict=True)):
        y = TOP + n * tall
        marks += [
            Text(id=f"row.{n}", text=name, x=left - 10, y=y + tall / 2, anchor="end"),
            Cells(id=f"cells.{n}", x=left, y=y, width=(1, -left), height=tall - 4, values=probs[None], look="share",
                role="output", rows=(name,), columns=tuple(labels), digits=3, written=True, gap=2),
        ]  # fmt: skip
    for n, label in enumerate(labels):
        share = (n + 0.5) / len(labels)
        marks.append(Text(id=f"label.{n}", text=label, x=(share, left * (1 - share)), y=12, anchor="middle", size=14))
    panel = Panel(id="depth", marks=marks, height=TOP + tall * len(rows) + 4, min=300)
    return look.drawn(Scene(id="next_token.depth", panels=[panel], title=look.words("depth_alt"), own=False))


def tell_depth(look: Look) -> Iterator[Line]:
    yield look.text("see_depth", **facts(look))
    if look.config.classes and len(look.config.classes) > COLUMNS:
        yield look.text("see_depth_most", most=COLUMNS, **facts(look))


def sites(look: Look) -> list[str]:
    """What is taken apart; a classifier of texts has a layer of its own in front."""
    return [name for name in ("class.act", *SITES) if name in look.trace]


def hand(look: Look) -> tuple[Line | None, list[Worked], dict[str, Any]]:
    if not has(look):
        return None, [], {}
    found = of_run(look)
    keys = ("hand_class", "hand_class_share")
    numbers = [Worked((f"{look.topic}.{key}",), site, (found.top,)) for key, site in zip(keys, SITES, strict=True)]
    return None, numbers, facts(look)


def records(look: Look) -> list[tuple[str, str, Mapping[str, Sequence[object]]]]:
    if not has(look):
        return []
    found = of_run(look)
    columns = {"class": found.names, "logit": found.logits.tolist(), "share": found.probs.tolist()}
    return [("classes", "", {str(look.words(f"column_{name}")): column for name, column in columns.items()})]


def quiz(look: Look) -> Quiz | None:
    """Which class comes second."""
    if not has(look) or len((found := of_run(look)).labels) < 3:
        return None
    offered, known = sorted(found.order[1:6]), facts(look)
    labels = tuple(found.labels[n] for n in offered)
    said = look.words("guess_second_found", **known)
    return Quiz(look.words("guess_second", **known), labels, offered.index(found.order[1]), said)


APART = Tabs(sites, hand, lambda look: sites(look)[::-1] or [look.trace.leaving], lambda _: None, records=records)
to_try = say.to_try()
