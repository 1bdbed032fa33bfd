"""The same sentence through both: tokens, predictions, one head, and the stream by depth."""

from __future__ import annotations

from functools import partial

import streamlit as st

from viz_model.app import components, elements, state
from viz_model.app.page import Page
from viz_model.app.texts import literal
from viz_model.drawing.heatmap import HeatmapView
from viz_model.drawing.sheet import Sheet
from viz_model.drawing.writing import percent
from viz_model.topics.architectures import claims, figures
from viz_model.topics.architectures.choices import TOKEN
from viz_model.topics.architectures.numbers import views
from viz_model.topics.architectures.pictures.pattern import draw_pattern
from viz_model.topics.architectures.pictures.predictions import draw_choices
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
    drawn = figures.of_depth(page.subject, depth)
    elements.shown(page, lambda _: drawn, "depth", by=())
    elements.source(page, "embed.out", f"blocks.{own.trace.n_layers - 1}.resid.out")
    for one, mean in zip(pair.both, depth.mean, strict=True):
        ends = claims.Lengths(float(mean[0]), float(mean[-1]))
        said = {name: f"{length:.3g}" for name, length in ends._asdict().items()}
        elements.say(page, claims.STREAM, ends, model=one.name, **said)
    elements.see(page, "depth")


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

    def drawn(page: Page) -> Sheet | None:
        predicting = pair.at(page).both[which].predicting
        return None if predicting is None else draw_choices(views.choices_view(*predicting), which)

    elements.figure(page, drawn, key, page.words("choices_alt", model=one.lm.name), by=("token",))
    elements.see(page, section_, **facts, own=percent(views.own_probability(run, position)))


def _head(pair: Pair, key: str, one: Beside, which: int) -> None:
    page, trace = pair.page, one.trace
    assert trace is not None  # or there is nothing to draw
    axes = (page.t("common.axis_query"), page.t("common.axis_key"))

    def view_of(page: Page) -> HeatmapView:
        one = pair.at(page).both[which]
        return views.pattern_view(trace, one.layer, one.head, axes)

    facts = {"model": literal(one.lm.name), "layer": one.layer, "head": one.head}
    token = literal(trace.tokens[one.token].label)
    seen = views.most_looked_at(trace, one.layer, one.head, one.token)
    look = {"token": token, "key": literal(seen.label), "p": percent(seen.weight)}
    st.markdown(f"#### {claims.LOOK.says(page.t.language, seen.weight, **facts, **look)}")
    own = which == 0 and not page.trace.edits
    elements.figure(
        page,
        lambda page: draw_pattern(view_of(page)),
        key,
        page.words("head_alt", model=one.lm.name),
        own=own,
        by=("layer", "head"),
    )
    st.caption(page.words("head_note", **facts, last=trace.n_layers - 1))
