"""A second model beside the one of the page, and the page's sentence run through it."""

from __future__ import annotations

import functools
from dataclasses import dataclass

import streamlit as st

import viz_model as vm
from viz_model.app import components, controls, runs
from viz_model.app.stage import Stage
from viz_model.app.texts import literal, quoting
from viz_model.config import Side
from viz_model.drawing.writing import percent
from viz_model.topics.architectures.numbers import architectures
from viz_model.topics.architectures.pictures import cache, same_sentence, sight
from viz_model.topics.tokens.pictures.tokens import chip

_PICKED = "architectures.token"


@dataclass(frozen=True)
class Beside:
    """One of two models, and where it is looked at. ``trace`` is None where it cannot read the text."""

    lm: vm.LanguageModel
    side: Side
    layer: int
    head: int
    trace: vm.Trace | None
    token: int

    @property
    def predicting(self) -> tuple[vm.Trace, int] | None:
        """The run seen from the stack that predicts, and a position in it; None without a head."""
        if self.trace is None or not self.lm.config.has_logits:
            return None
        last = self.lm.config.sides[-1]
        run = self.trace.at(last)
        return run, self.token if last == self.side else len(run) - 1


def first(stage: Stage) -> Beside:
    """The model of the page, as it is looked at there."""
    side = stage.view.stack(stage.lm.config)
    return Beside(stage.lm, side, stage.view.layer, stage.view.head, stage.trace, stage.token)


def second(stage: Stage) -> Beside | None:
    """The other model, chosen here, run on the same sentence; None where there is only one."""
    configs = runs.offered()
    default = architectures.default_partner(stage.view.model, stage.lm.twin, configs)
    if default is None:
        return None
    others = [name for name in configs if name != stage.view.model]
    chosen = stage.view.compare if stage.view.compare in others else default
    name = controls.in_view(stage, st.selectbox, "compare", chosen, others, format_func=runs.labels().__getitem__)
    with st.spinner(stage.words("loading", model=name)):
        try:
            lm = runs.model(name)
        except vm.ModelError as error:
            runs.leave_out(name, error)
            st.rerun()
        side = stage.view.stack(lm.config)
        layer = min(stage.view.layer, lm.config.depth(side) - 1)
        head = min(stage.view.head, lm.config.n_heads - 1)
        try:
            trace = _run(lm, name, stage).at(side)
        except vm.TextError as error:
            st.info(f"{literal(name)}: {quoting(error)}")
            return Beside(lm, side, layer, head, None, 0)
    token = architectures.same_place(stage.trace.tokens, stage.token, trace.tokens)
    asked, picked = st.session_state.get(_PICKED, (None, 0))
    if asked == (name, trace.text, side, stage.token) and picked < len(trace):
        token = picked
    return Beside(lm, side, layer, head, trace, token)


def _run(lm: vm.LanguageModel, name: str, stage: Stage) -> vm.Trace:
    """The visitor's sentence through the second model; an encoder–decoder says its own target to it."""
    text = stage.trace.text or ""
    if lm.config.kind != "encoder_decoder":
        return runs.trace(runs.RunKey(name, text))
    to = stage.view.to if stage.view.to in lm.tokenizer.languages else None
    return runs.trace(runs.RunKey(name, text, runs.greedy_target(name, text, to), to))


def ribbons(stage: Stage, other: Beside) -> None:
    """The second model's own tokens; a click on those of the stack in view follows one there."""
    if other.trace is None:
        return
    asked = (other.lm.name, other.trace.text, other.side, stage.token)
    for side in other.lm.config.sides:
        label = stage.words(
            "tokens" if side == other.lm.config.sides[0] else "tokens_target", model=literal(other.lm.name)
        )
        st.caption(label)
        in_view = side == other.side
        components.ribbon(
            [chip(token, position, under=token.id) for position, token in enumerate(other.trace.at(side).tokens)],
            selected=other.token if in_view else None,
            label=label,
            key=f"{stage.text_key}.ribbon.{side}",
            on_pick=functools.partial(_follow, asked if in_view else None),
        )


def _follow(asked: tuple[object, ...] | None, position: int) -> None:
    if asked:
        st.session_state[_PICKED] = (asked, position)


def sentence(stage: Stage, both: tuple[Beside, Beside]) -> None:
    """The same sentence through both: tokens, predictions, one head, and the stream by depth."""
    own, other = both
    ribbons(stage, other)
    for name, place in (("choices", _choices), ("head", _head)):
        for which, (column, one) in enumerate(zip(st.columns(2, gap="large"), both, strict=True)):
            if one.trace is not None:
                with column:
                    place(stage, f"{name}{which}", one, which)
    if own.trace is None or other.trace is None:
        return
    depth = same_sentence.DepthView.of((own.lm.name, other.lm.name), (own.trace, other.trace))
    facts = {"first": literal(own.lm.name), "second": literal(other.lm.name), **depth.facts()}
    st.markdown(f"#### {stage.words('depth_title', **facts)}")
    stage.figure(same_sentence.draw_depth(depth, stage.words), "depth", stage.words("depth_alt"))
    stage.source("embed.out", f"blocks.{own.trace.n_layers - 1}.resid.out")
    stage.see("depth")


def _choices(stage: Stage, key: str, one: Beside, which: int) -> None:
    name = literal(one.lm.name)
    if one.predicting is None:
        st.markdown(f"#### {stage.words('no_head_title', model=name)}")
        stage.see("no_head", d=one.lm.config.d_model)
        return
    run, position = one.predicting
    view = same_sentence.ChoicesView.of(run, position)
    facts = {"model": name, "token": literal(run.tokens[position].label), "position": position}
    best = {"top": literal(view.labels[0]), "p": percent(float(view.probs[0]))}
    story = "choices_here" if one.lm.config.kind == "encoder" else "choices_next"
    st.markdown(f"#### {stage.words(f'{story}_title', **facts, **best)}")
    stage.figure(same_sentence.draw_choices(view, which), key, stage.words("choices_alt", model=one.lm.name))
    stage.see(story, **facts, own=percent(same_sentence.own_probability(run, position)))


def _head(stage: Stage, key: str, one: Beside, which: int) -> None:
    assert one.trace is not None  # or there is nothing to draw
    axes = (stage.t("common.axis_query"), stage.t("common.axis_key"))
    view = same_sentence.pattern_view(one.trace, one.layer, one.head, axes)
    facts = {"model": literal(one.lm.name), "layer": one.layer, "head": one.head}
    token = literal(one.trace.tokens[one.token].label)
    seen = same_sentence.most_looked_at(one.trace, one.layer, one.head, one.token)
    look = {"token": token, "key": literal(seen.label), "p": percent(seen.weight)}
    st.markdown(f"#### {stage.words('head_title', **facts, **look)}")
    own = which == 0 and not stage.trace.edits
    stage.figure(same_sentence.draw_pattern(view), key, stage.words("head_alt", model=one.lm.name), own=own)
    st.caption(stage.words("head_note", **facts, last=one.trace.n_layers - 1, site=literal(view.site)))


def kinds(stage: Stage, both: tuple[Beside, Beside]) -> None:
    """The three kinds of Transformer: who sees whom on this sentence, and what each is for."""
    runs_ = [one.trace for one in both if one.trace is not None]
    run = next((run for run in runs_ if len(run.config.sides) > 1), runs_[0])
    source = [token.label for token in run.at(run.config.sides[0]).tokens]
    target = [token.label for token in run.target_tokens] or source
    for column, kind in zip(st.columns(3, gap="large"), architectures.KINDS, strict=True):
        with column:
            here = [
                f"{'●■'[which]} {literal(one.lm.name)}" for which, one in enumerate(both) if one.lm.config.kind == kind
            ]
            st.markdown(f"#### {stage.words(f'is_{kind}')}")
            st.caption(" · ".join(here) or stage.words("not_chosen"))
            view = sight.SightView.of(kind, source, target)
            stage.figure(sight.draw_sight(view, stage.words), kind, stage.words(f"sight_{kind}_alt"))
            stage.see(f"for_{kind}")
    st.caption(stage.words("sight_note" if run.target_tokens else "sight_note_same", n=sight.SIGHT_TOKENS))


def cache_controls(stage: Stage) -> tuple[int, int]:
    """Bytes of a number, and the length of the text."""
    options = {"default": 4, "required": True, "format_func": lambda n: stage.words(f"bytes_{n}")}
    n_bytes = controls.setting(stage, st.segmented_control, "bytes", (4, 2), **options)
    length = controls.setting(stage, st.select_slider, "length", cache.LENGTHS, 1024, format_func="{:,}".format)
    return n_bytes, length


def caches(stage: Stage, lms: tuple[vm.LanguageModel, ...], length: int, n_bytes: int) -> None:
    """What a token costs in each model's KV cache; said once of models that cost the same."""
    told: dict[tuple[str, tuple[tuple[str, str], ...]], list[str]] = {}
    for lm in lms:
        section, costs = cache.cache_story(lm.config, length, n_bytes)
        told.setdefault((section, tuple(costs.items())), []).append(literal(lm.name))
    for (section, costs_), names in told.items():
        stage.see(section, model=stage.words("comma").join(names), **dict(costs_))
