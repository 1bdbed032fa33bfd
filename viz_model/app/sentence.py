"""The line of the sentence, which is read as one types, its tokens, and the run of what is in it."""

from __future__ import annotations

import functools

import streamlit as st

import viz_model as vm
from viz_model.app import components, examples, frame, interventions, runs, state
from viz_model.app.frame import Places
from viz_model.app.state import ViewState
from viz_model.config import Side
from viz_model.drawing.chips import chip
from viz_model.drawing.spans import around
from viz_model.runs import edits
from viz_model.texts import Texts
from viz_model.texts.markdown import literal
from viz_model.tokenizers.tokenizer import END_OF_TEXT, IdTokenizer

MOST_QUOTED = 200
"""Characters of a text that a notice repeats."""

MOST_CHIPS = 400
"""Tokens in the line at the most; of longer texts those around the selected one."""


def line(places: Places, view: ViewState, lm: vm.LanguageModel, t: Texts, *, is_fixed: bool = False) -> vm.Trace | None:
    """The sentence's box with its examples, and the trace of what is in it; None if there is none.

    What is to be said of the text stands where this is called, below what stays in sight. A sentence that
    ``is_fixed`` is shown and has no box.
    """
    typed = view.text or ""
    text, n_replaced = runs.readable(typed)
    with places.line:
        if is_fixed:
            st.markdown(literal(text))
        else:
            _box(typed, lm, t)
    if not text:
        st.info(t("common.empty"), icon=":material/edit:")
        return None
    try:
        asked = runs.RunKey(view.model, text, edits=edits.write(view.edits))
        if lm.config.kind == "encoder_decoder":
            target = _said(view, text) if is_fixed else _target(places, view, lm, text, t)
            asked = asked._replace(target=runs.readable(target)[0], to=view.to)
        trace = interventions.fitting(asked, t)
    except vm.TextError as error:
        st.info(t.error(error), icon=":material/edit:")
        return None
    if not is_fixed:
        context = runs.most_tokens(trace.config)
        places.line.caption(t("common.count", n=len(trace.ids), context=context), width="content")
    _remarks(typed, text, n_replaced, trace, lm, t)
    return trace


def _box(typed: str, lm: vm.LanguageModel, t: Texts) -> None:
    state.follow("frame.text", typed)
    st.text_input(
        t("common.sentence"),
        key="frame.text",
        live="400ms",
        label_visibility="collapsed",
        placeholder=t("common.sentence_placeholder"),
        on_change=state.on_change,
        args=("frame.text", "text"),
    )
    with st.popover(t("common.examples"), icon=":material/format_list_bulleted:", key="frame_examples"):
        for n, example in enumerate(examples.of(lm, t.language)):
            st.button(
                example,
                key=f"frame.example.{n}",
                type="tertiary",
                on_click=state.update,
                kwargs={"text": example, "token": None},
            )


def _target(places: Places, view: ViewState, lm: vm.LanguageModel, text: str, t: Texts) -> str:
    """The box of the target, and what is in it."""
    shown, languages = _said(view, text), list(lm.tokenizer.languages)
    with places.line:
        if len(languages) > 1:
            state.follow("frame.to", view.to)
            st.segmented_control(
                t("common.to"),
                languages,
                key="frame.to",
                format_func=lambda language: t(f"common.to_{language}"),
                required=True,
                label_visibility="collapsed",
                width="content",
                on_change=_translate_into,
            )
        state.follow("frame.target", shown)
        st.text_input(
            t("common.target"),
            key="frame.target",
            live="400ms",
            label_visibility="collapsed",
            on_change=state.on_change,
            args=("frame.target", "target"),
        )
        _explained(view, languages, t)
    return shown


def _said(view: ViewState, text: str) -> str:
    """The target: what was typed, or else what the model says by itself."""
    return runs.greedy_target(view.model, text, view.to) if view.target is None else view.target


def _explained(view: ViewState, languages: list[str], t: Texts) -> None:
    """What the target is, and the way back to what the model says by itself."""
    with st.popover(t("common.target"), icon=":material/help:", type="tertiary", key="frame_target_help"):
        st.markdown(t("common.target_help", start=t(f"common.start_{view.to}" if view.to else "common.start")))
        if len(languages) > 1:
            st.markdown(t("common.to_help"))
        st.button(
            t("common.target_is_own" if view.target is None else "common.target_own"),
            key="frame.target_own",
            disabled=view.target is None,
            on_click=state.update,
            kwargs={"target": None},
        )


def _translate_into() -> None:
    """Another language: a target that the model wrote is written anew, one that was typed stays."""
    if not state.is_late("frame.to"):
        state.update(to=st.session_state["frame.to"])


def _remarks(typed: str, text: str, n_replaced: int, trace: vm.Trace, lm: vm.LanguageModel, t: Texts) -> None:
    """Where the model does not read what was typed."""
    if trace.n_dropped or len(typed) > runs.MAX_CHARACTERS:
        more = "+" if len(typed) > runs.MAX_CHARACTERS else ""
        total = f"{len(trace.ids) + trace.n_dropped:,}{more}"
        st.markdown(f":orange[{t('common.truncated', total=total, context=runs.most_tokens(trace.config))}]")
    if n_replaced:
        st.warning(t("common.surrogates", n=n_replaced))
    if END_OF_TEXT in text:
        st.caption(t("common.typed_end_of_text", token=literal(END_OF_TEXT)))
    if (read := _read_as(lm, text)) != text:
        st.caption(
            t("common.reads_otherwise", read=literal(read if len(read) <= MOST_QUOTED else read[:MOST_QUOTED] + "…"))
        )


def _read_as(lm: vm.LanguageModel, text: str) -> str:
    """What the model's tokens say of a text; the text itself, where its vocabulary promises to keep it."""
    tokenizer = lm.tokenizer
    if tokenizer.is_lossless or isinstance(tokenizer, IdTokenizer):
        return text
    return tokenizer.decode(tokenizer.encode(text, special=False))


def tokens(trace: vm.Trace, t: Texts, token: int) -> None:
    """The tokens as chips, of an encoder–decoder those of the source and below them those of the target.

    ``trace`` is seen from the stack that the page looks at, and ``token`` is a position in it. The browser itself
    selects among its tokens; a click on one of the other stack goes there.
    """
    with st.container(gap="xsmall", key="frame_chips"):
        for side in trace.config.sides:
            with st.container(horizontal=True, wrap=False, vertical_alignment="center", gap="xsmall"):
                if len(trace.config.sides) > 1:
                    st.caption(t(f"common.side_{side}"), width="content")
                _chips(trace, side, token, t)


def _chips(trace: vm.Trace, side: Side, token: int, t: Texts) -> None:
    tokens, is_own = trace.at(side).tokens, side == trace.side
    shown = around(token if is_own else 0, len(tokens), MOST_CHIPS)
    label = "tokens" if len(trace.config.sides) == 1 else f"tokens_{side}"
    components.ribbon(
        [chip(token, position, under=token.id) for position, token in enumerate(tokens[shown], shown.start)],
        selected=None,
        label=t(f"common.{label}", start=frame.start(trace, t)),
        first=shown.start,
        ends=[
            {"position": position, "label": t("common.ribbon_to", position=position)}
            for position in (shown.start - 1, shown.stop)
            if 0 <= position < len(tokens)
        ],
        key=f"frame.ribbon.{side}",
        on_pick=None if is_own else functools.partial(_follow, side),
        many=False,
        flat=len(trace.config.sides) > 1,
    )


def _follow(side: Side, position: int) -> None:
    state.update(side=side, token=position)
