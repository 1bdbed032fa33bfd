"""The same sentence through both: tokens, predictions, one head, and the stream by depth."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import partial

import streamlit as st

from viz_model.app import components, elements, runs, state
from viz_model.app.cache import cached
from viz_model.app.drawn import Drawn
from viz_model.app.elements import Said, note
from viz_model.app.page import Page
from viz_model.app.subject import Subject
from viz_model.config import Side
from viz_model.drawing.chips import chip
from viz_model.drawing.heatmap import HeatmapView
from viz_model.drawing.writing import percent
from viz_model.runs.trace import Trace
from viz_model.texts.markdown import literal
from viz_model.topics.architectures import claims, figures
from viz_model.topics.architectures.choices import TOKEN
from viz_model.topics.architectures.numbers import views
from viz_model.topics.architectures.pictures.compared import ApartView
from viz_model.topics.architectures.sections.beside import Beside, Pair


def section(pair: Pair) -> None:
    page = pair.page
    st.subheader(page.words("sentence_title"), anchor=False)
    _ribbons(page, pair.other)
    for name, place in (("choices", _choices), ("head", _head)):
        for which, (column, one) in enumerate(zip(st.columns(2, gap="large"), pair.both, strict=True)):
            if one.trace is not None:
                with column:
                    place(pair, f"{name}{which}", one, which)
    own, other = pair.both
    if own.trace is None or other.trace is None:
        return
    depth = views.depth_view((own.lm.name, other.lm.name), (own.trace, other.trace))
    st.markdown(f"#### {page.words('depth_title', **pair.names, **depth.facts())}")
    drawn = pair.called(figures.of_depth(page.subject, depth), "depth")
    elements.shown(page, lambda _: drawn, "depth", by=())
    elements.source(page, "embed.out", f"blocks.{own.trace.n_layers - 1}.resid.out")
    for one, mean in zip(pair.both, depth.mean, strict=True):
        ends = claims.Lengths(float(mean[0]), float(mean[-1]))
        said = {name: f"{length:.3g}" for name, length in ends._asdict().items()}
        elements.say(page, claims.STREAM, ends, model=one.name, **said)
    elements.see(page, "depth")
    _apart(pair)


def _ribbons(page: Page, other: Beside) -> None:
    """The second model's own tokens; a click on those of the stack in view follows one there."""
    if other.trace is None:
        return
    for side in other.lm.config.sides:
        label = page.words(
            "tokens" if side == other.lm.config.sides[0] else "tokens_target", model=literal(other.lm.name)
        )
        st.caption(label)
        in_view = side == other.side
        components.ribbon(
            [chip(token, position, under=token.id) for position, token in enumerate(other.trace.at(side).tokens)],
            selected=other.token if in_view else None,
            label=label,
            key=f"{page.text_key}.ribbon.{side}",
            on_pick=partial(_follow, page, in_view),
        )


def _follow(page: Page, in_view: bool, position: int) -> None:
    if in_view:
        state.update(**state.choose(page.name, (TOKEN, (page.token, position))))


def _choices(pair: Pair, key: str, one: Beside, which: int) -> None:
    page = pair.page
    if one.predicting is None:
        st.markdown(f"#### {page.words('no_head_title', model=literal(one.lm.name))}")
        elements.see(page, "no_head", d=one.lm.config.d_model)
        return
    section_ = "choices_here" if one.lm.config.kind == "encoder" else "choices_next"

    def asked(page: Page) -> tuple[Trace, int, dict[str, object]]:
        one = pair.at(page).both[which]
        assert one.predicting is not None  # which hangs on the model alone
        run, position = one.predicting
        facts = {"model": literal(one.lm.name), "token": literal(run.tokens[position].label), "position": position}
        return run, position, facts

    def title(page: Page) -> Iterator[str]:
        run, position, facts = asked(page)
        view = views.choices_view(run, position)
        best = {"top": literal(view.labels[0]), "p": percent(float(view.probs[0]))}
        yield f"#### {page.words(f'{section_}_title', **facts, **best)}"

    def tell(page: Page) -> Iterator[str]:
        run, position, facts = asked(page)
        yield page.prose(section_, **facts, own=percent(views.own_probability(run, position)))

    def drawn(page: Page) -> Drawn:
        run, position, _ = asked(page)
        of = replace(page.subject, trace=run, token=position)
        made = figures.of_choices(of, views.choices_view(run, position), which, one.lm.name)
        return pair.at(page).called(made, f"choices{which}")

    elements.told(page, title, f"{key}_title", by=("token",))
    elements.shown(page, drawn, key, by=("token",))
    elements.told(page, tell, key, by=("token",))


def _head(pair: Pair, key: str, one: Beside, which: int) -> None:
    page, trace = pair.page, one.trace
    assert trace is not None  # or there is nothing to draw
    axes = (page.t("common.axis_query"), page.t("common.axis_key"))

    def view_of(one: Beside) -> HeatmapView:
        return views.pattern_view(trace, one.layer, one.head, axes)

    def drawn(page: Page) -> Drawn:
        one = pair.at(page).both[which]
        of = Subject(trace, one.layer, one.head, one.token, page.t, page.text_key)
        return pair.at(page).called(figures.of_pattern(of, view_of(one), one.lm.name), f"head{which}")

    def title(page: Page) -> Iterator[str]:
        one = pair.at(page).both[which]
        seen = views.most_looked_at(trace, one.layer, one.head, one.token)
        look = {"token": literal(trace.tokens[one.token].label), "key": literal(seen.label), "p": percent(seen.weight)}
        yield f"#### {page.verdict(claims.LOOK, seen.weight, model=literal(one.lm.name), **look)}"

    def tell(page: Page) -> Iterator[Said]:
        one = pair.at(page).both[which]
        yield note(page.words("head_note", layer=one.layer, head=one.head, last=trace.n_layers - 1))

    elements.told(page, title, f"{key}_title")
    elements.shown(page, drawn, key, own=which == 0 and not page.trace.edits, by=("layer", "head"))
    elements.told(page, tell, key, by=("layer", "head"))


@cached()
def _distances(first: runs.RunKey, second: runs.RunKey, side: Side) -> ApartView | None:
    """How far the heads of two runs lie apart."""
    return views.apart_view((runs.trace(first).at(side), runs.trace(second).at(side)))


def _apart(pair: Pair) -> None:
    """Where both have the same heads and positions."""
    page, own, other = pair.page, pair.own, pair.other
    if own.trace is None or other.trace is None or own.side != other.side:
        return
    first, second = runs.RunKey.of(own.key, own.trace), runs.RunKey.of(other.key, other.trace)
    apart = _distances(first, second, own.side)
    if apart is None:
        return
    layer, head = divmod(int(apart.distances.argmax()), apart.distances.shape[1])
    found = {"layer": layer, "head": head, "distance": f"{apart.distances.max():.2f}"}
    st.markdown(f"#### {page.words('apart_title', **found)}")
    drawn = pair.called(figures.of_apart(page.subject, apart), "distances")
    elements.shown(page, lambda _: drawn, "distances", own=False, by=())
    elements.see(page, "apart")
