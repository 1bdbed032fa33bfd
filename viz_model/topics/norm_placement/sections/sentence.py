"""The visitor's sentence: the tokens' vectors by depth, the pull of the loss, the last norm, the predictions."""

from __future__ import annotations

from typing import Any

import streamlit as st

from viz_model.app import elements, frame, runs
from viz_model.app.cache import cached
from viz_model.app.page import Page
from viz_model.config import Side
from viz_model.drawing.sheet import Sheet
from viz_model.measures.passage import has_norms
from viz_model.texts.markdown import literal
from viz_model.topics.norm_placement import claims
from viz_model.topics.norm_placement.choices import GRADIENT, UNTRAINED
from viz_model.topics.norm_placement.numbers import gradients, last_norm, readings, views
from viz_model.topics.norm_placement.numbers.gradients import StreamGradients
from viz_model.topics.norm_placement.numbers.last_norm import VARIANTS, LastNorm
from viz_model.topics.norm_placement.numbers.readings import Readings
from viz_model.topics.norm_placement.pictures import depth as depth_pictures
from viz_model.topics.norm_placement.pictures import gradients as gradients_picture
from viz_model.topics.norm_placement.pictures import last_norm as last_norm_picture
from viz_model.topics.norm_placement.pictures import look, predictions
from viz_model.topics.norm_placement.pictures.depth import DepthView
from viz_model.topics.norm_placement.sections.comparison import Comparison, finding
from viz_model.topics.norm_placement.sections.fresh import untrained

MOST_WORK = 4_000_000_000
"""Parameters times tokens that are run backwards unasked: about a second."""

MOST_DRAWN = 40_000_000
"""Parameters that are drawn anew unasked: half a second."""

STREAM = ("resid.mid", "resid.cross", "resid.out")


@cached()
def read(key: runs.RunKey, side: Side) -> Readings:
    """What is read of the stream of a stack."""
    return readings.readings(runs.trace(key).at(side))


@cached()
def last(key: runs.RunKey, side: Side) -> LastNorm:
    """The last norm of a stack, in parts."""
    return last_norm.last_norm(runs.trace(key).at(side))


@cached()
def stream_gradients(key: runs.RunKey, side: Side) -> StreamGradients:
    """∂loss/∂r along the residual stream of a stack, for a run that has a loss."""
    return gradients.stream_gradients(runs.trace(key).at(side))


def section(shown: Comparison) -> None:
    part = "part_sentence_alone" if shown.alone else "part_sentence"
    st.subheader(shown.page.words(part), anchor=False)
    elements.see(shown.page, part)
    _lengths(shown, depth_of(shown), *st.columns(2, gap="large"))


def alike(shown: Comparison) -> None:
    """How alike the vectors get, and how the loss pulls at them."""
    left, right = st.columns(2, gap="large")
    _alike(shown, depth_of(shown), left)
    _pull(shown, right)


def ends(shown: Comparison) -> None:
    """What comes out: the last norm, and of twins their first choices."""
    left, right = st.columns(2, gap="large")
    _last_norm(shown, left)
    if not shown.alone:

        def twins(page: Page) -> predictions.PredictionsView:
            return views.predictions_of_twins(shown.traces, page.token)

        def drawn(page: Page) -> Sheet:
            return predictions.draw_predictions(twins(page))

        def facts(page: Page) -> dict[str, str]:
            return _quoted(twins(page).facts())

        finding(shown, right, "predictions", drawn, facts, "logits", "probs", by=("token",))


def _quoted(facts: dict[str, str]) -> dict[str, str]:
    """Tokens as they were typed, to the letter."""
    return {key: literal(value) if key.endswith("_top") else value for key, value in facts.items()}


def depth_of(shown: Comparison) -> DepthView:
    """What is read of the stream, in both models and before their training."""
    page, side = shown.page, shown.page.trace.stack.side
    asked = len(page.trace) > 1 and (not _is_large(shown) or page.chosen(UNTRAINED))
    return DepthView(
        {place: read(key, side) for place, key in shown.keys.items()},
        {place: untrained(key, side) for place, key in shown.keys.items()} if asked else {},
        page.token,
        page.lm.config.d_model**0.5 if shown.sets_length else None,
    )


def _is_large(shown: Comparison) -> bool:
    """Whether a model is too large to be drawn anew unasked."""
    n_parameters = (sum(p.numel() for p in trace.model.parameters()) for trace in shown.traces.values())
    return max(n_parameters) > MOST_DRAWN


def _lengths(shown: Comparison, view: DepthView, place: Any, beside: Any) -> None:
    page, stream = shown.page, ["embed.out", *shown.sites(*STREAM)]
    each = {place_: view.facts(place_) for place_ in shown.traces}

    def drawn(page: Page) -> Sheet:
        at_token = view._replace(token=page.token)
        axis = page.words("length") + (f" {page.words('log')}" if at_token.is_wide else "")
        label = page.trace.tokens[page.token].label
        return depth_pictures.draw_lengths(at_token, axis, {"after": page.words("after")}, label)

    name = "lengths" if shown.sets_length else "lengths_by_formula" if has_norms(page.trace) else "lengths_other"
    said = {"level": f"{view.level:.1f}", **_beside_division(shown)} if view.level else {}
    finding(shown, place, name, drawn, said, *stream, each=each, by=("token",))
    figure = depth_pictures.draw_shares(view, page.words("share"))
    scaled = {"length": page.words("shares_length") if shown.sets_length else ""}
    finding(shown, beside, "shares", figure, scaled, *stream, each=each, lines=shares(shown, view))


def _beside_division(shown: Comparison) -> dict[str, str]:
    """What the norms do but divide, in words: all of it, and what of it is learnt."""
    page, parts = shown.page, last_norm.beside_division(shown.page.trace)
    learnt = [part for part in parts if part != "centring"]
    return {
        "beside": page.words(f"beside_{'_'.join(parts)}"),
        "learnt": page.words(f"beside_{'_'.join(learnt)}"),
        "centred": page.words("centred") if "centring" in parts else "",
    }


def shares(shown: Comparison, view: DepthView) -> list[str]:
    """What may be said of late sub-layers beside early ones, a line for each place of the norm."""
    lines = []
    for place, found in view.readings.items():
        halves = claims.Halves(*found.halves())
        early, late = (f"{share:.0%}" for share in halves)
        says = claims.SHARES.says(shown.page.t.language, halves, early=early, late=late)
        lines.append(shown.page.words("shares_line", place=look.NAMES[place], says=says))
    return lines


def _alike(shown: Comparison, view: DepthView, place: Any) -> None:
    """How alike the tokens' vectors are, and what is claimed of that."""
    page = shown.page
    if len(page.trace) < 2:
        place.info(page.words("one_token_alike"))
        return
    if _is_large(shown):
        label = page.words("untrained_run")
        elements.control(page, UNTRAINED, place.toggle, label=label, help=page.words("untrained_help"))
    each = {place_: view.facts(place_) for place_ in shown.traces}
    figure = depth_pictures.draw_similarity(view, page.words("cosine"), {"untrained": page.words("untrained")})
    lines = []
    if not shown.alone:
        for verdict, found in ((claims.ALIKE, view.readings), (claims.ALIKE_FRESH, view.untrained)):
            if found:
                ends = claims.Alike(*(float(found[at].alike[-1]) for at in ("pre", "post")))
                said = {at: f"{end:.2f}" for at, end in ends._asdict().items()}
                lines.append(verdict.says(page.t.language, ends, **said))
    finding(shown, place, "alike", figure, {}, "embed.out", *shown.sites(*STREAM), each=each, lines=lines)
    with place:
        if view.untrained:
            elements.see(page, "untrained")
        with st.expander(page.words("collapse")):
            elements.see(page, "collapse")


def _pull(shown: Comparison, place: Any) -> None:
    """The gradient of the loss along the stream, or why there is none."""
    page = shown.page
    if why := gradients.no_loss(page.trace):
        place.info(page.words(f"gradient_{why}"))
        return
    if gradients.work(page.trace) > MOST_WORK:
        place.markdown(f"#### {page.words('gradient_ask')}")
        label = page.words("gradient_run")
        if not elements.control(page, GRADIENT, place.toggle, label=label, help=page.words("gradient_help")):
            return
    found = {at: stream_gradients(key, page.trace.stack.side) for at, key in shown.keys.items()}
    each = {at: gradients_picture.facts(pull) for at, pull in found.items()}
    some = next(iter(found.values()))
    what = page.words(f"loss_{some.kind}", n=some.n_predicted, start=frame.start(page.trace, page.t))
    lines = []
    for at, pull in found.items():
        says = claims.GRADIENT.says(page.t.language, claims.Ends(pull.norms[-1], pull.norms[0]), **each[at])
        lines.append(page.words("gradients_line", place=look.NAMES[at], says=says, **each[at]))
    figure = gradients_picture.draw_gradients(found, page.words("gradient"))
    sites = "embed.out", *shown.sites("resid.out")
    finding(shown, place, "gradients", figure, {"what": what}, *sites, each=each, lines=lines)


def _last_norm(shown: Comparison, place: Any) -> None:
    """What of the last norm is length, and what is direction."""
    page, language = shown.page, shown.page.t.language
    if not shown.sets_length:
        place.info(page.words("last_norm_none"))
        return
    found, beside = {at: last(key, page.trace.stack.side) for at, key in shown.keys.items()}, _beside_division(shown)
    each = {at: last_norm_picture.facts(one) for at, one in found.items()}
    lines = []
    for at, one in found.items():
        said: dict[str, str] = {**each[at], **beside, "place": look.NAMES[at]}
        said["stretch"] = claims.LAST_GAIN.says(language, claims.Stretch.of(one), **said)
        if one.top is not None:
            said["rescaled"] = claims.RESCALED.says(language, one.changed("scale"), **said)
        lines.append(
            page.t.prose(f"{page.text_key}.last_norm_{'length' if one.top is None else 'choices'}_each", **said)
        )
    some = next(iter(found.values()))
    kind, axis = ("last_norm_length", "length") if some.p is None else ("last_norm", "probability")
    names = [page.words(f"variant_{variant}", **beside) for variant in VARIANTS]

    def drawn(page: Page) -> Sheet:
        by_place = {at: views.last_norm_view(shown.traces[at], one, page.token) for at, one in found.items()}
        return last_norm_picture.draw_last_norm(by_place, names, page.words(axis))

    finding(shown, place, kind, drawn, beside, lines=lines, by=("token",))
    with place:
        if some.p is not None:
            elements.see(page, "last_norm_proof" if some.keeps_order else "last_norm_no_proof", **beside)
