"""What the unit does over a sample of texts: its contexts, how often which value, its roles, and heads like it."""

import itertools
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from viz_model.drawing import chart, matrix
from viz_model.drawing.digits import percent, written
from viz_model.drawing.scene import Items, Panel, Run, Scene
from viz_model.drawing.scene.writing import short
from viz_model.explain.units import Context, Role
from viz_model.island.look import Look
from viz_model.island.page import Button, Buttons
from viz_model.island.prose import Line
from viz_model.topics.units.asked import asked, facts, kind
from viz_model.topics.units.here import held

BEFORE, AFTER = 8, 3
"""Tokens that are shown before the one that a context is about, and after it."""
TALL, LETTERS = 30.0, 9


def _shown(context: Context) -> list[int | None]:
    """The positions that a row shows; of a head that looks farther back, those around its key before a gap."""
    if context.key is None:
        return [n if 0 <= n < len(context.ids) else None for n in range(context.at - BEFORE, context.at + AFTER + 1)]
    if context.at - context.key <= BEFORE + AFTER:
        return [n if n >= 0 else None for n in range(context.at - BEFORE - AFTER, context.at + 1)]
    around: list[int | None] = [n if n >= 0 else None for n in range(context.key - 2, context.key + 4)]
    return [*around, None, *range(context.at - 4, context.at + 1)]


def _contexts(look: Look) -> list[Context]:
    found = asked(look)
    with look.turn():
        return look.once(lambda _: found.contexts(), ("contexts", found.layer, found.head, found.neuron))


def draw_contexts(look: Look) -> Scene | None:
    """The texts in which it is strongest, its value in color: a row a text."""
    if not (contexts := _contexts(look)):
        return None
    tokenizer, of_head = look.trace.tokenizer, asked(look).neuron is None
    places = [_shown(context) for context in contexts]
    values = np.array(
        [[np.nan if n is None else c.values[n] for n in row] for c, row in zip(contexts, places, strict=True)]
    )
    texts, told = list[Any](), list[str]()
    for context, row in zip(contexts, places, strict=True):
        for n in row:
            label = "" if n is None else tokenizer.token(context.ids[n]).label
            # There is no room for a sign before each of several bytes.
            said = label.replace("0x", "") if label.count("0x") > 1 else short(label, LETTERS)
            texts.append(((Run(said, bold=True),),) if n is not None and n in (context.at, context.key) else said)
            told.append("" if n is None else f"{label}\n{written(context.values[n], '3')}")
    top = 1.0 if of_head else float(np.nanmax(np.abs(values)))
    more: Any = {"look": "share", "role": "pattern"} if of_head else {"look": "signed", "role": "ffn"}
    ends = values.shape[1] - 1 if of_head else BEFORE
    rows, columns = [f"{n + 1}" for n in range(len(contexts))], [""] * values.shape[1]
    shown = "units.contexts", look.words("contexts_alt"), values, texts, told, rows, columns
    scene = matrix.words(*shown, row=TALL, top=top, spans=[(ends, 1)], empty=True, **more)
    return look.drawn(held(look, scene, token=False))


def tell_contexts(look: Look) -> Iterator[Line]:
    n = len(_contexts(look))
    yield look.text(f"contexts_{kind(look)}" if n else "contexts_none", n=n, **facts(look))


def draw_histogram(look: Look) -> Scene:
    """How often which value: of a neuron on all tokens, of a head the largest weight of each row."""
    edges, shares = asked(look).histogram()
    names = [written(edge, "2") if n % 6 == 0 else "" for n, edge in enumerate(edges[:-1])]
    span = [f"{written(a, '2')} … {written(b, '2')}" for a, b in itertools.pairwise(edges)]
    role, high = ("pattern", "spread_axis_head") if asked(look).neuron is None else ("ffn", "spread_axis_neuron")
    values = np.where(shares > 0, shares, np.nan)  # on a log scale nothing has no bar
    bars = [chart.Bars("", values, role, "{{span}}\n{{value}}", "percent", facts={"span": span})]
    low = 10.0 ** np.floor(np.log10(np.nanmin(values)))
    scale = chart.Axis(float(low) / 2, 1.0, look.words("spread_axis"), is_log=True)
    scene = chart.columns("units.histogram", look.words(high), names, bars, scale, height=230)
    return look.drawn(held(look, scene, token=False))


def varies(look: Look) -> bool:
    """Whether there are values of which some are larger than others: a neuron may be 0 everywhere."""
    return float(np.ptp(asked(look).histogram()[0])) > 0


def tell_histogram(look: Look) -> Iterator[Line]:
    yield look.text(f"spread_{kind(look)}", **facts(look))


# Of heads


def _measured(roles: Sequence[Role]) -> list[tuple[int, int]]:
    """The heads that have roles, by layer and number: those of layers with a state have none."""
    return [at for at in np.ndindex(roles[0].every.shape) if not all(np.isnan(role.every[at]) for role in roles)]


def draw_roles(look: Look) -> Scene:
    """What all heads of the model score for each role, this one in the accent color."""
    roles = asked(look).roles()
    names, places = [look.words(f"role_{role.name}") for role in roles], _measured(roles)
    axis = chart.Axis(0.0, 1.0, look.words("roles_axis"), "%0")
    on, marks = chart.plot(chart.places(len(roles)), axis, 300, x_names=names)
    for n, role in enumerate(roles):
        every = np.array([np.nan_to_num(role.every[at]) for at in places])
        told = [
            f"{look.words('name_head', layer=layer, head=head)}\n{names[n]} {percent(float(one))}"
            for (layer, head), one in zip(places, every, strict=True)
        ]
        here = places.index((look.layer, look.head))
        own = every[here]
        at = {"x": on.at_x(np.full(every.size, n)), "y": on.at_y(every)}
        marks.append(Items(id=f"every.{n}", **at, symbol="circle", size=7, fill="residual", opacity=0.5, labels=told))
        at = {"x": on.at_x(np.array([n])), "y": on.at_y(np.array([own]))}
        said = [told[here]]
        marks.append(Items(id=f"own.{n}", **at, symbol="diamond", size=13, fill="accent", labels=said))
    panel = Panel(id="roles", marks=marks, height=300)
    return look.drawn(held(look, Scene(id="units.roles", panels=[panel], title=look.words("roles_alt")), token=False))


def tell_roles(look: Look) -> Iterator[Line]:
    roles = asked(look).roles()
    first = min(roles, key=lambda role: role.rank)
    said = {"role": look.words(f"role_{first.name}"), "rank": first.rank, "score": percent(first.score)}
    yield look.text("roles", n=len(_measured(roles)), **said, **facts(look))


def alike(look: Look) -> Buttons:
    """The nearest heads by their scores, across layers and models."""
    made = []
    for one in asked(look).alike():
        named = look.words(
            "alike_head", model=one.model, layer=one.layer, head=one.head, far=written(one.distance, "2")
        )
        made.append(Button(named, change={"model": one.model, "layer": one.layer, "head": one.head}))
    return Buttons("alike", made)


def tell_alike(look: Look) -> Iterator[Line]:
    yield look.text(f"alike_{kind(look)}", **facts(look))
