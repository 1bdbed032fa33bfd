"""The same sentence through both: tokens, predictions, one head, and the stream by depth."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import streamlit as st

from viz_model.app import components, elements, runs, state
from viz_model.app.cache import cached
from viz_model.app.drawn import Drawn
from viz_model.app.page import Page
from viz_model.app.subject import Subject
from viz_model.app.texts import literal
from viz_model.config import Side
from viz_model.drawing.heatmap import HeatmapView
from viz_model.drawing.writing import percent
from viz_model.topics.architectures import claims, figures
from viz_model.topics.architectures.choices import TOKEN
from viz_model.topics.architectures.numbers import views
from viz_model.topics.architectures.pictures.compared import ApartView
from viz_model.topics.architectures.sections.beside import Beside, Pair
from viz_model.topics.tokens.pictures.tokens import chip


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
    page, name = pair.page, literal(one.lm.name)
    if one.predicting is None:
        st.markdown(f"#### {page.words('no_head_title', model=name)}")
        elements.see(page, "no_head", d=one.lm.config.d_model)
        return
    run, position = one.predicting
    view = views.choices_view(run, position)
    facts = {"model": name, "token": literal(run.tokens[position].label), "position": position}
    best = {"top": literal(view.labels[0]), "p": percent(float(view.probs[0]))}
    section_ = "choices_here" if one.lm.config.kind == "encoder" else "choices_next"
    st.markdown(f"#### {page.words(f'{section_}_title', **facts, **best)}")

    def drawn(page: Page) -> Drawn | None:
        predicting = pair.at(page).both[which].predicting
        if predicting is None:
            return None
        of = replace(page.subject, trace=predicting[0], token=predicting[1])
        made = figures.of_choices(of, views.choices_view(*predicting), which, one.lm.name)
        return pair.at(page).called(made, f"choices{which}")

    elements.shown(page, drawn, key, by=("token",))
    elements.see(page, section_, **facts, own=percent(views.own_probability(run, position)))


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

    facts = {"model": literal(one.lm.name), "layer": one.layer, "head": one.head}
    token = literal(trace.tokens[one.token].label)
    seen = views.most_looked_at(trace, one.layer, one.head, one.token)
    look = {"token": token, "key": literal(seen.label), "p": percent(seen.weight)}
    st.markdown(f"#### {claims.LOOK.says(page.t.language, seen.weight, **facts, **look)}")
    own = which == 0 and not page.trace.edits
    elements.shown(page, drawn, key, own=own, by=("layer", "head"))
    st.caption(page.words("head_note", **facts, last=trace.n_layers - 1))


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
