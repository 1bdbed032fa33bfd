"""What the four tabs of this page have, and what is asked at its end."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from viz_model.drawing.tables import pick
from viz_model.island import query
from viz_model.island import quiz as asking
from viz_model.island.look import Look
from viz_model.island.page import Quiz
from viz_model.island.prose import Line
from viz_model.island.tabs import Table, Tabs, Worked
from viz_model.texts.markdown import literal
from viz_model.topics.cross_attention import decoding
from viz_model.topics.cross_attention.steps import n_padding
from viz_model.topics.cross_attention.weights import axes, facts, weights


def begins(look: Look) -> list[Line]:
    return [look.text("formula")]


def formulas(look: Look) -> list[str]:
    own = [name for name in sites(look) if not name.endswith(("norm.mean", "norm.scale"))]
    return [*own, look.site("resid.cross")]


def sites(look: Look) -> list[str]:
    """The values of cross-attention in the selected layer."""
    return [name for name in look.trace.sites if name.startswith(look.site("cross."))]


def hand(look: Look) -> tuple[Line | None, Sequence[Worked], dict[str, Any]]:
    """One reading worked out from its parts: the head's, whichever weights the page shows."""
    config = look.config
    row = look.trace.row(look.site("cross.pattern"), look.token, look.head)
    key, group = int(row.argmax()), config.kv_head(look.head)
    source, topic = query.key_names(look, "cross"), look.topic
    shared = (f"{topic}.hand_grouped",) if config.n_kv_heads < config.n_heads else ()
    numbers = [
        Worked((f"{topic}.hand_key", *shared), look.site("cross.k"), (group, key, 0)),
        *query.by_hand(look.trace, look.layer, look.head, look.token, key, "cross"),
        Worked((f"{topic}.hand_{look.trace.norm_at}",), look.site("resid.cross"), (look.token, 0)),
    ]
    said = {name: pick(value, look.place) for name, value in facts(look).items()} | {
        "key": source[key] if config.reads_pictures else literal(source[key]),
        "group": group,
        "d_head": config.d_head,
        "n_seen": len(source),
        "shared_by": config.n_heads // config.n_kv_heads,
    }
    return look.text("hand", **{**said, "token": literal(look.names[look.token])}), numbers, said


def code(look: Look) -> tuple[str, ...]:
    """The pattern, then all values of cross-attention as they are made."""
    own = look.site("cross.pattern")
    return own, *(name for name in sites(look) if name != own)


def numbers(look: Look) -> Table:
    """The weights that are shown."""
    found = np.asarray(pick(look.by(axes(look), weights(look)), look.place))
    return look.site("cross.pattern"), found, look.labels, query.keys(look, "cross")


def tables(look: Look) -> list[Table]:
    """The steps of the selected token, with all keys, and every step of decoding."""
    source, at = query.keys(look, "cross"), (look.layer - look.layers.start, look.head, look.token)
    rows = {name: values[at] for name, values in query.every(look, "cross", n_padding(look)).items()}
    named = f"{look.site('cross.steps')}[{look.head}, {look.token}]"
    found = decoding.steps(look)
    columns = [look.words(f"column_{name}") for name in ("chance", "probability", "rank")]
    said = np.array([[step.guesses[0][1], step.probability, step.rank or np.nan] for step in found])
    told = [f"{step.reads.label} → {step.guesses[0][0].label}" for step in found]
    return [
        (named, np.stack(list(rows.values())), [look.words(f"step_{name}") for name in rows], source),
        (look.words("door_decoding"), said, told, columns),
    ]


def quiz(look: Look) -> Quiz | None:
    """Which source token does the selected one read most, over all layers and heads?"""
    every = [look.trace[look.site("cross.pattern", layer)].numpy() for layer in range(look.n_layers)]
    shares = np.stack(every).mean((0, 1))  # [Tq, Ts]
    source, is_picture = query.key_names(look, "cross"), look.config.reads_pictures
    shown = np.sort(shares.mean(0).argsort()[-6:]) if is_picture else asking.spread(len(source))
    names = [source[n] if is_picture else f"{n}: {source[n]}" for n in shown]
    counts = {"token": look.token_named(), "n": look.n_layers * look.n_heads}
    return asking.largest(look, "token", shares[:, shown], names, "percent", **counts)


TABS = Tabs(formulas, hand, code, numbers, begins=begins, tables=tables)
