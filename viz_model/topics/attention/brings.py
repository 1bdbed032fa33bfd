"""What the weights bring: for one head, for all of them, and for the tokens that only take weight.

What a query takes from a key is α·v·W_O, a vector whose length can be small where the weight α is large (Kobayashi
et al. 2020, "Attention is Not Only a Weight"). Tokens that take weight and give little are called sinks (Xiao et al.
2023, "Efficient Streaming Language Models with Attention Sinks").
"""

from collections.abc import Iterator
from typing import Any

import numpy as np

from viz_model.claims import Claim, Verdict
from viz_model.drawing import chart
from viz_model.drawing.digits import written
from viz_model.drawing.scene import Cells, Items, Labels, Mark, Panel, Path, Rect, Scene, Select, Text, Texts, along
from viz_model.drawing.tables import Among, Each
from viz_model.island import say
from viz_model.island.look import Look
from viz_model.island.page import Chooser, there
from viz_model.island.prose import Line
from viz_model.topics.attention.heads import PLACE
from viz_model.topics.attention.weights import (
    AttentionTrust,
    First,
    Taken,
    ValueWeighted,
    care,
    edited,
    firsts,
    value_weighted,
    work,
)

TOPIC = "attention_caveats"
MOST_WORK = 60_000_000
"""Cells of all patterns that are gone through unasked."""
MOST_KEYS, MOST_PAIRS, MOST_GAPS = 12, 400, 5
"""Keys of a query, pairs of a head and pairs that are told of, at the most."""
WRITTEN_CELLS = 12
"""Rows and columns up to which a cell has its number in it."""


def here(look: Look) -> Look:
    """The look with this section's texts."""
    return look.of(TOPIC)


def shares(look: Look) -> ValueWeighted:
    """What every head of the layer takes from where, each [L, H, T, T]."""
    found = [value_weighted(look.trace, layer) for layer in look.layers]
    return ValueWeighted(*(np.stack([getattr(one, name) for one in found]) for name in ValueWeighted._fields))


def title(look: Look) -> Iterator[Line]:
    yield look.title("title")
    if len(look) < 2:
        yield Line(look.words("one_token"), "notice")
        return
    yield look.text("intro")
    if edited(look.trace):
        yield look.note("edited")


def several(look: Look) -> bool:
    return len(look) > 1


# One query


def order(look: Look) -> tuple[np.ndarray, np.ndarray]:
    """For each query the keys with the largest bars, in the text's order [L, H, T, K], and whether it sees them."""
    found = look.once(shares)
    visible = np.broadcast_to(found.visible[:, None], found.weights.shape)
    most = np.where(visible, np.maximum(found.weights, found.shares), -1.0)
    keys = np.sort(np.argsort(-most, -1, kind="stable")[..., :MOST_KEYS], -1)
    return keys, np.take_along_axis(visible, keys, -1)


def row(look: Look) -> Scene:
    """Two bars a key: its weight, and its share of what arrives."""
    found, (keys, seen) = look.once(shares), look.once(order)
    weights, brought = (
        np.where(seen, np.take_along_axis(values, keys, -1), np.nan).astype(np.float32)
        for values in (found.weights, found.shares)
    )
    names = Among(look.labels, look.by(PLACE, keys))
    told = {name: f"{look.words(name)} {{{{value}}}}" for name in ("weight", "share")}
    series = [
        chart.Bars(
            look.words("weight"), look.by(PLACE, weights), "pattern", f"{{{{name}}}}\n{told['weight']}", "share"
        ),
        chart.Bars(
            look.words("share"),
            look.by(PLACE, brought),
            "value",
            f"{{{{name}}}}\n{told['share']}",
            "share",
            hatched=True,
        ),
    ]
    scale = chart.axis(*(one.values for one in series), title=look.words("axis"), write="%0", room=0.12)
    scene = chart.bars(
        "attention_caveats.row", look.words("row_alt"), names, series, scale, names_axis=look.words("key")
    )
    return look.drawn(scene, ["attn.pattern", "attn.v"])


def row_title(look: Look) -> Iterator[Line]:
    found = look.once(shares)
    visible = np.broadcast_to(found.visible[:, None], found.weights.shape)
    far = np.where(visible, np.abs(found.weights - found.shares), -1.0).argmax(-1)
    weight, share = (np.take_along_axis(values, far[..., None], -1)[..., 0] for values in (found.weights, found.shares))
    facts = {"weight": look.by(PLACE, weight, "share"), "share": look.by(PLACE, share, "share")}
    named = {"token": look.token_named(), "key": look.token_named(look.by(PLACE, far))}
    both = [look.words(key, **facts, **named) for key in ("row_title", "row_one")]
    one = np.broadcast_to((found.visible.sum(-1) == 1)[:, None], far.shape)
    yield Line(_either(look, both, one.astype(int)), "part")


def _either(look: Look, phrases: list[Any], which: np.ndarray) -> Any:
    """One of some phrases at each place."""
    values = {name: value for one in phrases for name, value in one.values.items()}
    return phrases[0]._replace(template=Among([one.template for one in phrases], look.by(PLACE, which)), values=values)


def row_tell(look: Look) -> Iterator[Line]:
    found = look.once(shares)
    first = firsts(found)
    numbers = {name: look.by(PLACE, getattr(first, name), "share") for name in ("read_weight", "weight", "share")}
    named = {name: look.token_named(look.by(PLACE, getattr(first, name))) for name in ("read", "sender")}
    yield look.claim(FIRST, first, PLACE, **numbers, **named)
    n_seen = np.broadcast_to(found.visible.sum(-1)[:, None], first.read.shape)
    if n_seen.max() > MOST_KEYS:
        part = look.words("row_part", shown=MOST_KEYS, n=look.by(PLACE, n_seen, "whole"))
        nothing = part._replace(template=Among(["", part.template], look.by(PLACE, (n_seen > MOST_KEYS).astype(int))))
        yield Line(nothing, "note")


FIRST: Verdict[First] = Verdict(
    "attention.first",
    Claim("tied", lambda row: (row.n_seen > 1) & row.is_tied),
    Claim("agree", lambda row: (row.n_seen > 1) & (row.weight >= row.read_weight)),
    Claim("differ", lambda row: row.n_seen > 1),
)


# Every pair of a head


def pairs(look: Look) -> dict[str, np.ndarray]:
    """The largest pairs of each head: ``queries``, ``keys``, ``weights`` and ``shares`` [L, H, P]; ``counts`` [L].

    A query that sees one key alone takes everything from it, whatever the head does, and is left out.
    """
    found, n = look.once(shares), len(look)
    choosing = found.visible & (found.visible.sum(-1, keepdims=True) > 1)
    counts = choosing.sum((-2, -1))
    most = np.where(choosing[:, None], np.maximum(found.weights, found.shares), -1.0)
    flat = most.reshape(*most.shape[:2], n * n)
    at = np.argsort(-flat, -1, kind="stable")[..., : min(MOST_PAIRS, int(counts.max(initial=1)))]
    taken = {
        name: np.take_along_axis(getattr(found, name).reshape(flat.shape), at, -1).astype(np.float32)
        for name in ("weights", "shares")
    }
    return {"queries": at // n, "keys": at % n, **taken, "counts": counts}


def cloud(look: Look) -> Scene:
    """A point a pair: right of the diagonal much weight brings little; those of the selected query are ringed."""
    found, words = look.once(pairs), look.words
    high = 1.04 * max(float(found["weights"].max()), float(found["shares"].max()), 0.05)
    across, upward = (chart.Axis(0, high, words(name), "%0") for name in ("weight", "share"))
    on, marks = chart.plot(across, upward, 400)
    ends = np.array([0.0, high])
    marks.append(Path(id="equal", x=on.at_x(ends), y=on.at_y(ends), stroke="residual", dash="2 4", thick=1))
    place = "layer head"
    names = [f"{n} {label}" for n, label in enumerate(look.labels)]
    told = "\n".join(f"{words(name)} {{{{{name}}}}}" for name in ("query", "key", "weight", "share"))
    asked = {name: Among(names, look.by(place, found[name])) for name in ("queries", "keys")}
    for name, chosen, role, symbol in (
        ("others", found["keys"] != 0, "pattern", "circle"),
        ("first", found["keys"] == 0, "key", "diamond"),
    ):
        weights, brought = (np.where(chosen, found[side], np.nan).astype(np.float32) for side in ("weights", "shares"))
        x, y = look.by(place, weights), look.by(place, brought)
        labels: Any = Each(
            told,
            {
                "query": asked["queries"],
                "key": asked["keys"],
                "weight": x._replace(write="3"),
                "share": y._replace(write="3"),
            },
        )
        marks.append(
            Items(
                id=name,
                x=on.at_x(x),
                y=on.at_y(y),
                symbol=symbol,
                fill=role,
                opacity=0.65,
                labels=labels,
                name=words(name),
            )
        )
    ringed = [np.where(found["queries"] == token, found["weights"], np.nan) for token in range(len(look))]
    x = look.by("layer head token", np.stack(ringed, 2).astype(np.float32))
    same = [np.where(found["queries"] == token, found["shares"], np.nan) for token in range(len(look))]
    y = look.by("layer head token", np.stack(same, 2).astype(np.float32))
    if len(look) <= 64:
        marks.append(
            Items(id="ring", x=on.at_x(x), y=on.at_y(y), symbol="circle-open", size=12, fill="ink", walk=False)
        )
    scene = Scene(
        id="attention_caveats.pairs",
        panels=[Panel(id="pairs", marks=marks, height=400)],
        title=words("pairs_alt"),
        keys=[
            chart.line_key(words(name), role, symbol)
            for name, role, symbol in (("others", "pattern", "circle"), ("first", "key", "diamond"))
        ],
        note=words(
            "pairs_note",
            shown=found["weights"].shape[-1],
            n=look.by("layer", found["counts"], "whole"),
            token=look.token_named(),
        ),
    )
    return look.drawn(scene, ["attn.pattern", "attn.v"])


cloud_title = say.part("pairs_title", lambda look: {"layer": look.layer_number, "head": look.head_number})


# All heads


def every(look: Look) -> AttentionTrust | None:
    """All heads of the stack, whichever layer is selected; of a long text only where it is asked for."""
    if not several(look) or (work(look.trace) > MOST_WORK and look.options.get("run") != "1"):
        return None
    return look.once(lambda look: care(look.trace), "care")


def is_read(look: Look) -> bool:
    return every(look) is not None


def has_groups(look: Look) -> bool:
    return bool(there(every(look)).groups)


def ask(look: Look) -> Chooser | None:
    """Whether all heads of a long text are gone through."""
    if not several(look) or work(look.trace) <= MOST_WORK:
        return None
    return Chooser("run", {"0": "–", "1": look.words("run")}, "", asks=True)


def grid(look: Look, id: str, title: str, values: np.ndarray, value: str, role: str) -> Scene:
    """A number for every head [L, H], NaN where there is none, layers downward; a click on one selects it.

    ``role`` "rank" is a correlation from −1 to 1; any other is a share from 0 to 1 in that role's color.
    """
    n_layers, n_heads = values.shape
    is_rank = role == "rank"
    write, side = "2" if is_rank else "share", 32.0
    left = 44.0
    across = (1.0, -left - 8)
    rows, columns = [str(n) for n in range(n_layers)], [str(n) for n in range(n_heads)]
    high = n_layers * min(side, 420 / n_layers)
    step = high / n_layers
    marks: list[Mark] = [
        Cells(
            id="cells",
            x=left,
            y=20,
            width=across,
            height=high,
            values=values.astype(np.float32),
            look="signed" if is_rank else "share",
            role="output" if is_rank else role,
            rows=rows,
            columns=columns,
            row_axis=look.common("axis_layer"),
            column_axis=look.common("axis_head"),
            empty=True,
            walk=False,
            told=f"{look.common('axis_layer')} {{row}} · {look.common('axis_head')} {{column}}\n{value} {{value}}",
        )
    ]
    for layer in range(n_layers):
        for head in range(n_heads):
            named = f"{look.common('axis_layer')} {layer} · {look.common('axis_head')} {head}"
            marks.append(
                Rect(
                    id=f"{layer}.{head}",
                    x=along(head / n_heads, left, across),
                    y=20 + layer * step,
                    width=along(1 / n_heads, 0, across),
                    height=step,
                    act=Select(layer=layer, head=head),
                    label=f"{named}: {written(values[layer, head], write)}",
                )
            )
    if max(n_layers, n_heads) <= WRITTEN_CELLS:
        texts = [written(value, write if n_heads <= 8 else "%0") for value in values.ravel()]
        at = along((np.tile(np.arange(n_heads), n_layers) + 0.5) / n_heads, left, across)
        y = (20 + (np.repeat(np.arange(n_layers), n_heads) + 0.5) * step).astype(np.float32)
        dark = np.abs(np.nan_to_num(values.ravel())) > 0.6
        marks.append(Texts(id="numbers", texts=texts, x=at, y=y, fill=["white" if one else "ink" for one in dark]))
    marks.append(Labels(id="rows", texts=rows, x=left - 6, y=20, length=high, along="y"))
    marks.append(Labels(id="columns", texts=columns, x=left, y=high + 23, length=across, turn="never"))
    marks.append(
        Text(
            id="heads",
            text=look.common("axis_head"),
            x=along(0.5, left, across),
            y=10,
            anchor="middle",
            fill="muted",
        )
    )
    middle = 20 + high / 2
    marks.append(
        Text(id="layers", text=look.common("axis_layer"), x=8, y=middle, anchor="middle", fill="muted", rotate=-90)
    )
    return Scene(id=id, panels=[Panel(id="heads", marks=marks, height=high + 44)], title=title)


def ranks_title(look: Look) -> Iterator[Line]:
    facts = there(every(look)).rank_facts()
    yield look.part("ranks_title" if facts else "ranks_none", **facts)


def ranks(look: Look) -> Scene | None:
    """Whether weights rank what arrives, head by head."""
    found = there(every(look))
    if not found.rank_facts():
        return None
    return grid(look, "attention_caveats.ranks", look.words("ranks_alt"), found.ranks, look.words("rank"), "rank")


def gaps(look: Look) -> Iterator[Line]:
    """Where the two disagree most."""
    apart = [gap for gap in there(every(look)).gaps if written(gap.weight, "share") != written(gap.share, "share")]
    lines = []
    for gap in apart[:MOST_GAPS]:
        names = {"query": look.code_name(gap.query), "key": look.code_name(gap.key)}
        numbers = {name: written(getattr(gap, name), "share") for name in ("weight", "share")}
        lines.append("- " + look.words("gap", layer=gap.layer, head=gap.head, **names, **numbers))
    if lines:
        yield Line("\n".join([look.words("gaps_title"), "", *lines]))


def ranks_tell(look: Look) -> Iterator[Line]:
    if facts := there(every(look)).rank_facts():
        yield look.text("ranks_even" if facts["low"] == facts["most"] else "ranks", **facts)


# Tokens that take weight


def choose(look: Look) -> Chooser:
    options: dict[str, str] = {name: look.words(f"group_{name}") for name in there(every(look)).groups}
    return Chooser("group", options, look.words("group"), look.words("group_help"), asks=True)


def _taken(look: Look) -> tuple[Any, Taken]:
    """Which tokens are asked about, and what they take."""
    groups: Any = there(every(look)).groups
    asked = look.options.get("group")
    name = asked if asked in groups else next(iter(groups))
    return name, groups[name]


def _facts(look: Look) -> dict[str, str]:
    _, taken = _taken(look)
    tokens = list(dict.fromkeys(look.code_name(place) for place in taken.positions))
    return taken.facts() | {"tokens": " ".join(tokens[:8]) + (" …" if len(tokens) > 8 else "")}


def sinks_title(look: Look) -> Iterator[Line]:
    facts = _facts(look)
    named = look.words(f"in_title_{_taken(look)[0]}", **facts)
    yield look.part("sinks_title", name=named, **facts)


def sinks(side: str) -> Any:
    """The weight on these tokens in every head, or the share that comes from them."""

    def draw(look: Look) -> Scene:
        _, taken = _taken(look)
        values, role = (taken.weights, "pattern") if side == "weight" else (taken.shares, "value")
        title, heading = look.words(f"sinks_{side}_alt"), look.words(f"sinks_{side}")
        scene = grid(look, f"attention_caveats.sinks_{side}", title, values, look.words(side), role)
        return look.drawn(scene, heading=heading)

    return draw


def sinks_tell(look: Look) -> Iterator[Line]:
    (_, taken), facts = _taken(look), _facts(look)
    yield look.text("sinks", **facts)
    yield Line(APART.says(look.t.language, taken, **facts))
    yield look.text("direction")
    is_less = any(site.endswith("attn.sink") for site in look.trace)
    why = look.words("sinks_why_less" if is_less else "sinks_why")
    yield Line(SINKS.says(look.t.language, taken, **facts, why=why))


APART: Verdict[Taken] = Verdict(
    "attention.apart", Claim("nowhere", lambda taken: bool((np.abs(taken.weights - taken.shares) < 0.005).all()))
)
SINKS: Verdict[Taken] = Verdict("attention.sinks", Claim("some", lambda taken: bool(taken.is_sink.any())))
