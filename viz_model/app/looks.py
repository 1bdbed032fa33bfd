"""The look at a run that a page is drawn from: the run itself, what stands beside it, and what was read of it."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import NamedTuple

import viz_model as vm
from viz_model.app import examples, island, run_lock, runs, state
from viz_model.app import page as app
from viz_model.app.cache import cached
from viz_model.config import Side
from viz_model.island.look import Look, Other, one_layer
from viz_model.island.page import Page
from viz_model.texts import Texts


def of_page(shown: Page, page: app.Page, beside: runs.RunKey | None = None) -> Look:
    """The look at a run, the page's own or another; what pictures read of it is kept with the run."""
    options = island.chosen_of(state.current(), page.name, island.options_of(shown))
    run, side = beside or page.run_key, page.trace.stack.side
    other = _other(shown, page, run, options.get("compare", ""))
    both = [(run, side), *([(other.run, other.side)] if other and other.run else [])]
    layer = page.view.layer if any(one_layer(runs.trace(one).at(stack)) for one, stack in both) else None
    run = run.plain if shown.reads_plain else run
    look = _looked(run, side, page.t.language, shown.topic, layer, shown.has_twin, other)
    chosen = min(token(page), len(look) - 1)
    return replace(look, layer=page.view.layer, head=page.view.head, token=chosen, options=options, lm=page.lm)


def token(page: app.Page) -> int:
    """The token that is selected, which may be beyond the shorter of two texts."""
    return page.token if page.view.token is None else page.view.token


class _Beside(NamedTuple):
    """Which model stands beside that of the page, of which ones, and its run; without one, why it cannot read the
    text.
    """

    name: str
    labels: tuple[tuple[str, str], ...]
    side: Side
    run: runs.RunKey | None
    refused: str = ""


def _other(shown: Page, page: app.Page, run: runs.RunKey, asked: str) -> _Beside | None:
    """The model that a visitor chose, or the usual one; None where the page shows one alone, or there is no other."""
    while shown.other is not None:
        usual_one = shown.other(page.view.model, page.lm.twin, runs.readers())
        name = asked if asked != page.view.model and asked in runs.readers() else usual_one
        if name is None:
            return None
        try:
            lm = runs.model(name)
        except vm.ModelError as error:
            runs.leave_out(name, error)
            continue
        labels = tuple((other, runs.label(other)) for other in runs.readers() if other != page.view.model)
        side, text = page.view.stack(lm.config), runs.trace(run).text or ""
        key = runs.RunKey(name, text)
        try:
            if lm.config.kind == "encoder_decoder":  # it says its own target
                to = page.view.to if page.view.to in lm.tokenizer.languages else None
                key = runs.RunKey(name, text, runs.greedy_target(name, text, to), to)
            runs.trace(key)
        except vm.TextError as error:
            return _Beside(name, labels, side, None, page.t.error(error))
        return _Beside(name, labels, side, key)
    return None


@cached(size=lambda look: runs.bytes_of(look.trace))
def _looked(
    run: runs.RunKey, side: Side, language: str, topic: str, layer: int | None, has_twin: bool, other: _Beside | None
) -> Look:
    trace = runs.trace(run).at(side)
    look = Look.at(trace, Texts.of(language, trace.config), topic, layer=layer or 0)
    if layer is not None:
        look = replace(look, layers=range(layer, layer + 1))
    if other is not None:
        second = None if other.run is None else runs.trace(other.run).at(other.side)
        lm, is_public = runs.model(other.name), other.name not in runs.kept()
        look = replace(look, other=Other(other.name, dict(other.labels), lm, second, other.refused, is_public))
    plain = _looked(run.plain, side, language, topic, layer, has_twin, other) if run.edits else None
    look = replace(look, others=partial(_bundled, run.model, language), unedited=plain, turn=lambda: run_lock.RUNNING)
    twin = runs.model(run.model).twin if has_twin else None
    return replace(look, twin=runs.trace(run._replace(model=twin)).at(side)) if twin in runs.names() else look


def _bundled(own: str, language: str, model: str, text: str) -> vm.Trace | None:
    """Another run, as :attr:`viz_model.island.look.Look.others` has it."""
    name = model or own
    if name != own and name not in runs.offered():
        return None
    lm = runs.model(name)
    run = runs.trace(runs.RunKey(name, text or examples.of(lm, language)[0]))
    return run.at(lm.config.sides[-1])
