"""The four tabs of this page, and its question."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from viz_model.app import elements
from viz_model.app.elements import Guess, Option
from viz_model.app.page import Page
from viz_model.measures.passage import norm_name
from viz_model.topics.norm_placement.pictures.look import NAMES
from viz_model.topics.norm_placement.sections.comparison import Comparison
from viz_model.topics.norm_placement.sections.sentence import depth_of, shares
from viz_model.topics.norm_placement.sections.warmup import warmup_view


def formula(shown: Comparison) -> None:
    elements.see(shown.page, "formula", **shown.values)
    elements.formula(shown.page, *shown.sites("attn.norm.out", "resid.mid", "resid.cross", "resid.out"))


def hand(shown: Comparison) -> None:
    page = shown.page
    elements.see(page, "hand", **shown.values)
    at, token = f"blocks.{page.view.layer}.", page.token
    for place, trace in shown.traces.items():
        facts = {"name": norm_name(trace), "a": f"{trace[f'{at}attn.out'][token, 0].item():.4f}"}
        steps = ["attn.norm.out", "resid.mid"] if place == "pre" else ["attn.norm.out"]
        numbers = [
            elements.Worked((f"norm_placement.hand_{place}_{n}",), at + site, (token, 0), trace)
            for n, site in enumerate(steps, start=1)
        ]
        elements.worked(page, numbers, **facts)


def code(shown: Comparison) -> None:
    elements.code(shown.page, layer=shown.page.view.layer)


def numbers(shown: Comparison) -> None:
    page, depth = shown.page, depth_of(shown)
    columns: dict[str, Sequence[object]] = {"site": depth.sites}
    for key, values in depth.table().items():
        place, _, kind = key.partition(".")
        columns[f"{NAMES[place]}: {page.words(f'column_{kind}')}"] = values.tolist()
    elements.records(page, "residual-stream", columns)
    elements.records(page, "warmup-runs", warmup_view().table())


def question(shown: Comparison) -> None:
    """The answer is made of this run's numbers, and says why."""
    depth = depth_of(shown)
    lines = []
    for place in shown.traces:
        facts = depth.facts(place)
        lines.append(shown.page.words("answer_line", place=NAMES[place], **facts))
    answer = "\n".join(f"- {line}" for line in (*lines, *shares(shown, depth)))
    elements.question(shown.page, guess=_guess, lines=answer)


def _guess(page: Page) -> Guess | None:
    """Whose stream grows most; of a model alone, whose line is longest at the end."""
    shown = Comparison.of(page)
    found = depth_of(shown).readings
    if shown.alone:
        ends = found[shown.own].before[-1]
        options = elements.of_tokens(page, page.token_labels, lambda n: float(ends[n]))
        return elements.largest(page, options, "{:.1f}".format, "guess_alone")
    grown = {}
    for n, (place, readings) in enumerate(found.items()):
        lengths = np.median(readings.before, 1)
        grown[n] = Option(NAMES[place], float(lengths[-1] / lengths[0]), NAMES[place])
    return elements.largest(page, grown, "×{:.2f}".format)
