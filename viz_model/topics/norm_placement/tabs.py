"""The four tabs of this page, and its question."""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from viz_model.island.look import Look
from viz_model.island.page import Quiz
from viz_model.island.prose import Line
from viz_model.island.quiz import largest, spread
from viz_model.island.tabs import Table, Tabs, Worked
from viz_model.measures.passage import norm_name
from viz_model.topics.norm_placement.depth import share_lines, view
from viz_model.topics.norm_placement.places import NAMES, facts, is_alone, runs

FORMULAS = ("attn.norm.out", "resid.mid", "resid.cross", "resid.out")


def begins(look: Look) -> Iterator[Line]:
    yield look.text("formula", **facts(look))


def formulas(look: Look) -> list[str]:
    return [look.site(name) for name in FORMULAS if look.has(name)]


def hand(look: Look) -> tuple[Line, Sequence[Worked], dict[str, Any]]:
    """One residual step, in each of the runs."""
    numbers, given = [], {}
    for at, run in runs(look).items():
        given = {"name": norm_name(run), "a": f"{run[look.site('attn.out')][look.token, 0].item():.4f}"}
        for n, site in enumerate(["attn.norm.out", "resid.mid"] if at == "pre" else ["attn.norm.out"], start=1):
            words = look.t.prose(f"norm_placement.hand_{at}_{n}", **given)
            numbers.append(Worked((), look.site(site), (look.token, 0), run, words))
    return look.text("hand", **facts(look)), numbers, given


def code(look: Look) -> list[str]:
    return [name for name in look.trace.sites if name.startswith(look.site(""))]


def numbers(look: Look) -> Table:
    found = view(look)
    columns = found.table(look.token)
    names = []
    for key in columns:
        at, _, kind = key.partition(".")
        names.append(f"{NAMES[at]}: {look.words(f'column_{kind}')}")
    return "residual-stream", np.stack(list(columns.values()), -1), found.sites, names


TABS = Tabs(formulas, hand, code, numbers, begins=begins)


def quiz(look: Look) -> Quiz | None:
    """Whose stream grows most; of a model alone, whose vector is longest at the end."""
    found = view(look).readings
    if is_alone(look):
        ends = next(iter(found.values())).before[-1]
        shown = spread(len(ends))
        names = [look.names[n] for n in shown]
        return largest(look, "", ends[shown], names, "1", "guess_alone")
    grown = [np.median(one.before, 1) for one in found.values()]
    ratios = np.array([lengths[-1] / lengths[0] for lengths in grown])
    return largest(look, "", ratios, [NAMES[at] for at in found], "2")


def to_try(look: Look) -> Iterator[Line]:
    """The answer is made of this run's numbers, and says why."""
    depth = view(look)
    lines = [look.words("answer_line", place=NAMES[at], **depth.facts(at)) for at in depth.readings]
    said = "\n".join(f"- {line}" for line in (*lines, *share_lines(look)))
    yield look.to_try("question")
    yield look.answer("answer", lines=said)
