"""The neurons that add most, where in the text they fire, and what they promote."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import streamlit as st

from viz_model.app import elements, state
from viz_model.app.elements import Said, title
from viz_model.app.page import Page
from viz_model.drawing.sheet import Sheet
from viz_model.drawing.writing import signed
from viz_model.model import sites
from viz_model.texts.markdown import literal
from viz_model.topics.attribution.choices import NEURON
from viz_model.topics.attribution.numbers import attribution, views
from viz_model.topics.attribution.numbers.attribution import Behind, Part
from viz_model.topics.attribution.pictures.firing import FiringView, draw_firing
from viz_model.topics.attribution.pictures.neurons import NeuronsView, draw_neurons
from viz_model.topics.attribution.pictures.pushes import PushesView
from viz_model.topics.attribution.sections import pushes
from viz_model.topics.attribution.sections.question import Question


class Strongest(NamedTuple):
    """The neurons that add most to the answer, and the ``chosen`` row of them.

    Attributes:
        n_neurons: of all layers.
        layer, number: of the chosen one.
        act: what it is here.
    """

    question: Question
    view: NeuronsView
    chosen: int
    n_neurons: int
    layer: int
    number: int
    act: float

    @classmethod
    def of(cls, question: Question) -> Strongest:
        """As long as nobody has chosen one of them, the first that helps."""
        trace = question.trace
        added = attribution.neurons(trace, question.decomposition, question.answer)
        view = views.neurons_view(added)
        helps = next((n for n, value in enumerate(view.values) if value > 0), 0)
        options, picked = _options(view), question.page.chosen(NEURON)
        chosen = options.index(picked) if picked in options else helps
        layer, number = int(view.layers[chosen]), int(view.numbers[chosen])
        act = float(trace.row(f"blocks.{layer}.ffn.act", question.position)[number])
        return cls(question, view, chosen, _n_neurons(question), layer, number, act)

    @property
    def fires(self) -> FiringView:
        """Where in the text the chosen one fires."""
        return views.firing_view(self.question.trace, self.layer, self.number, self.question.position)

    @property
    def facts(self) -> dict[str, object]:
        question, fires = self.question, self.fires
        acts = question.trace[f"blocks.{self.layer}.ffn.act"][:, self.number]
        return question.facts() | {
            "name": question.page.words("neuron_name", layer=self.layer, number=self.number),
            "layer": self.layer,
            "number": self.number,
            "value": signed(float(self.view.values[self.chosen])),
            "act": f"{self.act:.2f}".replace("-", "−"),
            "most": literal(fires.labels[fires.most]),
            "most_act": f"{fires.values[fires.most]:.2f}".replace("-", "−"),
            "n_neurons": f"{self.n_neurons:,}",
            "n_fires": f"{int((acts > 0).sum()):,}",
            "n_tokens": f"{len(acts):,}",
        }


def _of(page: Page) -> Strongest:
    return Strongest.of(Question.of(page))


def _n_neurons(question: Question) -> int:
    """Of all layers together."""
    trace = question.trace
    return sum(sites.n_neurons(trace.config, trace.stack.side, layer) for layer in range(trace.n_layers))


def _options(view: NeuronsView) -> list[str]:
    return [f"{layer}.{number}" for layer, number in zip(view.layers, view.numbers, strict=True)]


def section(question: Question) -> None:
    if not _n_neurons(question):
        elements.see(question.page, "neurons_none")
        return
    page, strongest = question.page, Strongest.of(question)
    fires = strongest.fires
    elements.told(question.opened, _title, "neurons_title", by=("token",))
    left, middle, right = st.columns(3, gap="medium")
    with left:
        _strongest(strongest)
    with middle:
        st.markdown(page.words("fires_title"))
        elements.figure(
            question.opened,
            lambda page: draw_firing(_of(page).fires, page.words("fires_axis")),
            "fires",
            lambda page: page.words("fires_alt", **_of(page).facts),
            by=("token",),
        )
        if len(fires.values) < fires.length:
            st.caption(page.words("reads_part", n=len(fires.values), n_keys=fires.length))
    with right:
        if question.target is not None:
            elements.told(question.opened, _writes_title, "writes_title", by=("token",))
            pushes.draw(question, _pushed, "neuron", by=("token",))
        else:
            elements.see(page, "no_pushes")
    elements.told(question.opened, _tell, "neurons_told", by=("token",))
    elements.source(page, f"blocks.{strongest.layer}.ffn.act")


def _title(page: Page) -> Iterator[Said]:
    strongest = _of(page)
    yield title(strongest.question.page.words("neurons_title", **strongest.facts))


def _writes_title(page: Page) -> Iterator[str]:
    question = Question.of(page)
    yield question.page.words("writes_title", **question.facts())


def _tell(page: Page) -> Iterator[str]:
    strongest = _of(page)
    yield strongest.question.page.prose("neurons", **strongest.facts)


def _pushed(question: Question) -> PushesView:
    """What the chosen neuron says for and against."""
    neuron = Strongest.of(question)
    out = question.trace.stack.block(neuron.layer).ffn.down.weight.detach()[:, neuron.number]
    behind = Behind.of(question.trace, question.decomposition.position, neuron.layer, "ffn")
    return question.pushes_view(question.pushes(behind(neuron.act * out), Part("ffn", neuron.layer)))


def _strongest(strongest: Strongest) -> None:
    """The neurons that add most; a click looks at one."""
    question, page, options = strongest.question, strongest.question.page, _options(strongest.view)

    def name(layer: int, number: int) -> str:
        return page.words("neuron_name", layer=layer, number=number)

    def pick(row: Any) -> None:
        state.update(**state.choose(page.name, (NEURON, options[int(row)])))

    elements.control(
        page,
        NEURON,
        st.selectbox,
        options,
        value=options[strongest.chosen],
        format_func=lambda option: name(*map(int, option.split("."))),
    )

    def drawn(page: Page) -> Sheet:
        strongest = _of(page)
        return draw_neurons(strongest.view, name, strongest.chosen, page.words("neurons_axis"))

    elements.figure(question.opened, drawn, "neurons", page.words("neurons_alt"), by=("token",), on_pick=pick)
