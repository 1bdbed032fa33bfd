"""One neuron as a key and its value: what the key matches, what fires it, and what the value says."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from functools import partial

import streamlit as st

import viz_model as vm
from viz_model.app import elements, runs
from viz_model.app.cache import cached
from viz_model.app.elements import Said, title
from viz_model.app.page import Page
from viz_model.config import Side
from viz_model.drawing import strips, theme
from viz_model.drawing.sheet import Sheet
from viz_model.texts.markdown import literal, row
from viz_model.topics.block.choices import FIRES, NEURON
from viz_model.topics.block.claims import FIRING
from viz_model.topics.block.numbers import experts, memory, views
from viz_model.topics.block.pictures.ranked import draw_ranked
from viz_model.topics.block.sections.one_block import OneBlock


@cached(beside=True)
def of_stories(model: str, side: Side, layer: int) -> memory.Firings:
    """What fires the neurons of a layer over the package's stories."""
    lm = runs.model(model)
    stories = memory.sample(sum(parameter.numel() for parameter in lm.model.parameters()))

    def read() -> Iterator[vm.Trace]:
        for story in stories:
            with contextlib.suppress(ValueError):  # a vocabulary may lack some of its letters
                yield runs.run(runs.RunKey(model, story)).at(side)

    return memory.firings(read(), layer)


@cached()
def _memory(run: runs.RunKey, side: Side, layer: int, token: int, neuron: int) -> memory.Memory | None:
    """A neuron beside what it reads at a token."""
    trace = runs.trace(run).at(side)
    return memory.memory(trace, layer, neuron, views.strips_view(trace, layer, token).reads("ffn"))


def _of(page: Page) -> memory.Memory | None:
    return _memory(page.run_key, page.trace.stack.side, page.view.layer, page.token, OneBlock(page).neuron)


def section(block: OneBlock) -> None:
    if not block.n_neurons:
        return
    page, neuron = block.page, block.neuron
    words = {"neuron": neuron, **block.facts}
    elements.told(page, _title, "memory_title")
    elements.control(page, NEURON, st.number_input, 0, block.n_neurons - 1, value=neuron,
                     label=page.words("set_neuron"), help=page.words("set_neuron_help"), width=180)  # fmt: skip
    view = _of(page)
    if view is None:
        elements.see(page, "memory_none", **words)
        return
    elements.heat_rows(page, _rows, "memory", page.words("memory_alt"))
    elements.told(page, _expert, "neuron_of_expert")
    left, right = st.columns(2, gap="large")
    with left:
        elements.told(page, _matched_title, "matched_title")
        _ranked(page, lambda view: view.matched, "matched", "key")
        elements.told(page, _matched, "matched_told")
    with right:
        if view.promoted:
            st.markdown(page.words("says", **words))
            _ranked(page, lambda view: (*view.promoted, *reversed(view.suppressed)), "says", "ffn")
            elements.see(page, "says", **words)
    if page.trace.stack.side == page.lm.config.sides[0]:
        elements.fold(page, FIRES, partial(_fires, page, neuron))


def _words(page: Page) -> dict[str, object]:
    block = OneBlock(page)
    return {"neuron": block.neuron, **block.facts}


def _title(page: Page) -> Iterator[Said]:
    if OneBlock(page).n_neurons:
        yield title(page.words("memory", **_words(page)))


def _expert(page: Page) -> Iterator[str]:
    if not OneBlock(page).n_neurons:
        return
    inside = experts.of_neuron(page.trace, page.view.layer, page.token, OneBlock(page).neuron)
    if inside is not None:
        told = inside._asdict() | {"weight": f"{inside.weight:.0%}", "n_tokens": len(page.trace)}
        yield page.words("neuron_of_expert", **_words(page), **told)


def _matched_title(page: Page) -> Iterator[str]:
    if OneBlock(page).n_neurons:
        yield page.words("matched", **_words(page))


def _matched(page: Page) -> Iterator[str]:
    if OneBlock(page).n_neurons and (view := _of(page)) is not None:
        yield page.prose("matched", product=f"{float(view.key @ view.reads):.2f}", **_words(page))


def _rows(page: Page) -> strips.StripsView | None:
    """The key, what it is compared with, and the value."""
    if (view := _of(page)) is None:
        return None
    rows = {"key": view.key, "reads": view.reads, "value": view.value}
    drawn = tuple(strips.scaled(page.words(f"memory_{name}"), values) for name, values in rows.items())
    return strips.StripsView(drawn, page.dimension_labels, 200)


def _ranked(page: Page, tokens: Callable[[memory.Memory], memory.Ranked], key: str, role: str) -> None:
    """Tokens as bars, each with its number."""

    def drawn(page: Page) -> Sheet | None:
        if (view := _of(page)) is None:
            return None
        labels, values = zip(*tokens(view), strict=True)
        return draw_ranked(labels, values, page.words(f"{key}_axis"), theme.ROLES[role])

    elements.figure(page, drawn, key, page.words(f"{key}_alt"))


def _fires(page: Page, neuron: int) -> None:
    view = of_stories(page.view.model, page.trace.stack.side, page.view.layer)
    share, n_tokens = float(view.share[neuron]), sum(map(len, view.tokens))
    elements.say(page, FIRING, share, neuron=neuron, share=f"{share:.1%}", n_tokens=f"{n_tokens:,}")
    lines = [row(["h", page.words("fires_where")]), "|-:|:-|"]
    for rank, value in enumerate(view.value[:, neuron]):
        before, token, behind = map(literal, view.context(rank, neuron))
        lines.append(row([f"{value:.2f}", f"{before} **{token}** {behind}"]))
    st.markdown("\n".join(lines))
    elements.see(page, "fires", n_texts=len(view.tokens))
