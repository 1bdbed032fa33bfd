"""A second model beside the one of the page, and the page's sentence run through it."""

from __future__ import annotations

from dataclasses import dataclass, replace

import streamlit as st

import viz_model as vm
from viz_model.app import elements, runs, state
from viz_model.app.drawn import Drawn
from viz_model.app.page import Page
from viz_model.app.subject import Code
from viz_model.config import Side
from viz_model.runs import notebook
from viz_model.texts.markdown import literal
from viz_model.topics.architectures.choices import COMPARE, TOKEN
from viz_model.topics.architectures.numbers import architectures, views


@dataclass(frozen=True)
class Beside:
    """One of two models, and where it is looked at.

    Attributes:
        key: its name among the models.
        trace: None where it cannot read the text.
    """

    key: str
    lm: vm.LanguageModel
    side: Side
    layer: int
    head: int
    trace: vm.Trace | None
    token: int

    @property
    def name(self) -> str:
        """Its name for prose."""
        return literal(self.lm.name)

    @property
    def predicting(self) -> tuple[vm.Trace, int] | None:
        """The run seen from the stack that predicts, and a position in it; None without a head."""
        if self.trace is None or not self.lm.config.has_logits:
            return None
        last = self.lm.config.sides[-1]
        run = self.trace.at(last)
        return run, self.token if last == self.side else len(run) - 1


@dataclass(frozen=True)
class Pair:
    """What every section of this page is given: the page, its own model, and another one."""

    page: Page
    own: Beside
    other: Beside

    @classmethod
    def of(cls, page: Page) -> Pair:
        """The model of the page as it is looked at there, and the one that is chosen here."""
        side = page.view.stack(page.lm.config)
        own = Beside(page.view.model, page.lm, side, page.view.layer, page.view.head, page.trace, page.token)
        return cls(page, own, _other(page))

    def at(self, page: Page) -> Pair:
        """Both where the page looks at another layer, head or token."""
        own = replace(self.own, layer=page.view.layer, head=page.view.head, token=page.token)
        return Pair(page, own, self.other if self.other.trace is None else _moved(self.other, self.other.trace, page))

    @property
    def both(self) -> tuple[Beside, Beside]:
        return self.own, self.other

    def called(self, made: Drawn, part: str) -> Drawn:
        """A picture with the call that draws it: of two runs seen from one stack, of models that others can load."""
        own, other = self.both
        if own.trace is None or other.trace is None or own.side != other.side or other.key in runs.kept():
            return made
        if (other.layer, other.head, other.token) != views.nearest_place(
            own.trace, other.trace, own.layer, own.head, own.token
        ):
            return made  # the visitor has chosen another token there
        place = {"layer": own.layer, "head": own.head, "token": own.token}
        call = self.page.subject.call("compare", Code("other"), **place, part=part)
        return made._replace(
            call=call, other=f"vm.load({other.key!r}).{notebook.call(other.trace.whole).removeprefix('lm.')}"
        )

    @property
    def lms(self) -> tuple[vm.LanguageModel, vm.LanguageModel]:
        return self.own.lm, self.other.lm

    @property
    def names(self) -> dict[str, str]:
        """The models' names, for prose."""
        return {"first": self.own.name, "second": self.other.name, "model": self.own.name}


def partner(page: Page) -> str | None:
    """The model to stand beside that of the page where nobody has chosen; None where there is no other."""
    return architectures.default_partner(page.view.model, page.lm.twin, runs.readers())


def _other(page: Page) -> Beside:
    """The other model, chosen here, run on the same sentence."""
    others = [name for name in runs.readers() if name != page.view.model]
    asked, usual = page.chosen(COMPARE), partner(page)
    assert usual is not None  # or the page has nothing to compare
    name = usual if asked is None or asked not in others else asked
    if asked not in (None, name) and state.from_address():
        st.warning(page.t("common.unknown_beside", name=COMPARE.name, asked=literal(str(asked))))
    elements.control(page, COMPARE, st.selectbox, others, value=name, format_func=runs.labels().__getitem__)
    with st.spinner(page.words("loading", model=literal(name))):
        try:
            lm = runs.model(name)
        except vm.ModelError as error:
            runs.leave_out(name, error)
            st.rerun()
        side = page.view.stack(lm.config)
        try:
            trace = _run(lm, name, page).at(side)
        except vm.TextError as error:
            st.info(f"{literal(name)}: {page.t.error(error)}")
            return Beside(name, lm, side, 0, 0, None, 0)
    return _moved(Beside(name, lm, side, 0, 0, trace, 0), trace, page)


def _moved(one: Beside, trace: vm.Trace, page: Page) -> Beside:
    """The other model at the layer, head and token of the page, or the nearest that it has."""
    layer, head, token = views.nearest_place(page.trace, trace, page.view.layer, page.view.head, page.token)
    at, picked = page.chosen(TOKEN) or (None, 0)
    if at == page.token and picked < len(trace):
        token = picked
    return replace(one, layer=layer, head=head, token=token)


def _run(lm: vm.LanguageModel, name: str, page: Page) -> vm.Trace:
    """The visitor's sentence through the second model; an encoder–decoder says its own target to it."""
    text = page.trace.text or ""
    if lm.config.kind != "encoder_decoder":
        return runs.trace(runs.RunKey(name, text))
    to = page.view.to if page.view.to in lm.tokenizer.languages else None
    return runs.trace(runs.RunKey(name, text, runs.greedy_target(name, text, to), to))
