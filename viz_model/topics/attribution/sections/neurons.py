"""The neurons that add most, where in the text they fire, and what they promote."""

from __future__ import annotations

from typing import Any

import streamlit as st

from viz_model.app import elements, state
from viz_model.app.texts import literal
from viz_model.drawing.writing import signed
from viz_model.topics.attribution.choices import NEURON
from viz_model.topics.attribution.numbers import attribution, views
from viz_model.topics.attribution.numbers.attribution import Part
from viz_model.topics.attribution.pictures.firing import draw_firing
from viz_model.topics.attribution.pictures.neurons import NeuronsView, draw_neurons
from viz_model.topics.attribution.sections import pushes
from viz_model.topics.attribution.sections.question import Question


def section(question: Question) -> None:
    page, trace, position = question.page, question.trace, question.position
    added = attribution.neurons(trace, question.decomposition, question.answer)
    view = views.neurons_view(added)
    options = [f"{layer}.{number}" for layer, number in zip(view.layers, view.numbers, strict=True)]
    helps = next((n for n, value in enumerate(view.values) if value > 0), 0)
    picked = page.chosen(NEURON)
    chosen = options.index(picked) if picked in options else helps
    layer, number = int(view.layers[chosen]), int(view.numbers[chosen])
    fires = views.firing_view(trace, layer, number, position)
    act = float(trace.row(f"blocks.{layer}.ffn.act", position)[number])
    facts = question.facts() | {
        "name": page.words("neuron_name", layer=layer, number=number),
        "layer": layer,
        "number": number,
        "value": signed(float(view.values[chosen])),
        "act": f"{act:.2f}".replace("-", "−"),
        "most": literal(fires.labels[fires.most]),
        "most_act": f"{fires.values[fires.most]:.2f}".replace("-", "−"),
        "n_neurons": f"{added.size:,}",
        "n_fires": f"{int((trace[f'blocks.{layer}.ffn.act'][:, number] > 0).sum()):,}",
        "n_tokens": f"{len(trace):,}",
    }
    st.subheader(page.words("neurons_title", **facts), anchor=False)
    left, middle, right = st.columns(3, gap="medium")
    with left:
        _strongest(question, view, options, chosen)
    with middle:
        st.markdown(page.words("fires_title", **facts))
        elements.figure(page, draw_firing(fires, page.words("fires_axis")), "fires", page.words("fires_alt", **facts))
        if len(fires.values) < fires.length:
            st.caption(page.words("reads_part", n=len(fires.values), n_keys=fires.length))
    with right:
        if question.target is not None:
            st.markdown(page.words("writes_title", **facts))
            written = act * trace.stack.block(layer).ffn.down.weight.detach()[:, number]
            pushed = question.pushes(written, Part("ffn", layer))
            pushes.draw(page, views.pushes_view(trace, pushed, question.target), "neuron")
        else:
            elements.see(page, "no_pushes")
    elements.see(page, "neurons", **facts)
    elements.source(page, f"blocks.{layer}.ffn.act")


def _strongest(question: Question, view: NeuronsView, options: list[str], chosen: int) -> None:
    """The neurons that add most; a click looks at one."""
    page = question.page

    def name(layer: int, number: int) -> str:
        return page.words("neuron_name", layer=layer, number=number)

    def pick(row: Any) -> None:
        state.update(**state.choose(page.name, (NEURON, options[int(row)])))

    elements.control(
        page,
        NEURON,
        st.selectbox,
        options,
        value=options[chosen],
        format_func=lambda option: name(*map(int, option.split("."))),
    )
    figure = draw_neurons(view, name, chosen, page.words("neurons_axis"))
    elements.figure(page, figure, "neurons", page.words("neurons_alt"), on_pick=pick)
