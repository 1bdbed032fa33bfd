"""What one sets for every page: model, norm, stack, layer and head, edits, language; and the link to it all."""

from typing import Any, NamedTuple

import streamlit as st

import viz_model as vm
from viz_model.app import conversation, frame, interventions, island, runs, share, state, twin
from viz_model.app.view import ViewState
from viz_model.checkpoints import registry
from viz_model.island import ribbons
from viz_model.texts import LANGUAGES, Texts
from viz_model.texts.markdown import literal
from viz_model.topics.architectures.parts import Part, nearest


class Slots(NamedTuple):
    """Containers for what is known only when the sentence has run: layer and head, and a question about a number.

    None where that is not shown.
    """

    place: Any
    ask: Any


def draw(view: ViewState, lm: vm.LanguageModel, t: Texts) -> Slots:
    """All but what stands in the slots."""
    _model(view, lm, t)
    conversation.door(view, lm, t)
    if not lm.config.observed:  # where its norms stand is not known
        norm_toggle(view, lm, t, "sidebar.norm_at")
    twin.beside(lm, view, t)
    twin.paired(lm, view, t)
    if len(lm.config.sides) > 1:
        sides = list(lm.config.sides)
        shown = view.stack(lm.config)
        _choice("side", t("common.side"), sides, shown, lambda side: t(f"common.side_{side}"), t("common.side_help"))
    place = st.container(key="sidebar_place")
    interventions.chips(view, t)
    language(view, t)
    if not frame.is_bare():
        share.door(t)
    return Slots(place, st.container())


def _model(view: ViewState, lm: vm.LanguageModel, t: Texts) -> None:
    key = "sidebar.model"
    state.follow(key, view.model)
    st.selectbox(
        t("common.model"),
        runs.names(),
        key=key,
        format_func=runs.labels().__getitem__,
        help=None if lm.config.observed else kin(view.model, lm, t),
        on_change=state.on_change,
        args=(key, "model"),
    )
    st.caption(model(view.model, lm, t))


def norm_toggle(view: ViewState, lm: vm.LanguageModel, t: Texts, key: str) -> None:
    """Pre-LN | Post-LN: swaps the model for its trained twin."""
    state.follow(key, lm.config.norm_at)

    def changed() -> None:
        now = state.current()
        own = runs.model(now.model)  # which may be another than when this was drawn, where one toggles quickly
        if own.twin and st.session_state[key] != own.config.norm_at and not state.is_late(key):
            # One thing changes: what was shown where nobody had chosen stays selected.
            held: dict[str, Any] = {axis: n for axis, n in island.usual().items() if getattr(now, axis) is None}
            state.update(model=own.twin, **held)

    st.segmented_control(
        t("common.norm_at"),
        list(dict.fromkeys(("pre", "post", lm.config.norm_at))),
        key=key,
        format_func=ribbons.NORM_PLACES.__getitem__,
        help=t("common.norm_at_help") if lm.twin else t("common.no_twin"),
        disabled=lm.twin is None,
        required=True,
        width="stretch",
        on_change=changed,
    )


def language(view: ViewState, t: Texts) -> None:
    """The languages of the app."""
    _choice("lang", t("common.language"), list(LANGUAGES), view.lang, lambda lang: LANGUAGES[lang].name, hidden=True)


def _choice(
    field: str, label: str, options: list[Any], value: Any, show: Any, help: str | None = None, hidden: bool = False
) -> None:
    """One of a few values of a field of the view; ``hidden`` leaves its label to screen readers."""
    key = f"sidebar.{field}"
    state.follow(key, value)
    st.segmented_control(
        label,
        options,
        key=key,
        format_func=show,
        help=help,
        required=True,
        label_visibility="collapsed" if hidden else "visible",
        width="stretch",
        on_change=state.on_change,
        args=(key, field),
    )


_SIZES = frozenset({"vocabulary", "context", "width", "layers", "heads", "hidden"})
_UNSAID = frozenset({"ffn_bias", "final_norm", "head_scale", "head_bias"})
"""Parts that follow from others or weigh little: the page on architectures lists them all."""


def model(name: str, lm: vm.LanguageModel, t: Texts) -> str:
    """How large it is, what it has read and what it is good for, as far as that is known."""
    if lm.config.observed:
        return t("models.card_observed")
    n_weights = sum(weight.numel() for weight in lm.model.parameters())
    card = t(f"models.card_{_card(name, lm)}", size=size(n_weights, t), does=_does(lm, t))
    said = [card, *(t(f"models.{notice}") for notice in lm.notices)]
    if lm.left_out:
        said.append(t("models.left_out", parts=", ".join(f"`{part}`" for part in lm.left_out)))
    return " ".join(said)


def _card(name: str, lm: vm.LanguageModel) -> str:
    if name in runs.kept():
        return "own"
    if name in registry.PACKAGES:
        return name
    if lm.config.reads_pictures and lm.folder.parent == registry.BUNDLED:
        return "strips" if lm.config.transcribes else "pictures"
    return lm.config.kind if lm.folder.parent == registry.BUNDLED else "other"


def size(count: int, t: Texts) -> str:
    """A number in words, where the language has a word for it: "3.4 million"."""
    language = LANGUAGES[t.language]
    for unit, name in ((language.large, "large"), (language.small, "small")):
        if count >= unit:
            share = count / unit
            return t(f"models.size_{name}", n=f"{share:.1f}" if share < 10 else f"{share:,.0f}")
    return f"{count:,}"


def _does(lm: vm.LanguageModel, t: Texts) -> str:
    """What a model of its kind is for."""
    if languages := lm.tokenizer.languages:
        words = Texts.of(t.language, lm.config)
        into = t("models.or").join(words(f"common.to_{language}") for language in languages)
        return t("models.does_strips" if lm.config.transcribes else "models.does_translate", into=into)
    if lm.config.reads_pictures:
        return t("models.does_classes" if lm.config.classes else "models.does_picture_vectors")
    if lm.config.classes:
        return t("models.does_text_classes")
    return t(f"models.does_{lm.config.kind if lm.config.has_logits else 'vectors'}")


def kin(name: str, lm: vm.LanguageModel, t: Texts) -> str:
    """What it does, and how it differs from the one of the list that it is most like."""
    said, near = _does(lm, t), nearest(name, {name: lm.config, **runs.readers()})
    if near is None or lm.config.reads_pictures:
        return t("models.alone", does=said)
    differs = {part.name: part for part in near.differs if part.name not in _UNSAID}
    for implied, by in (("hidden", "ffn"), ("tied", "head")):  # a gated layer is narrower; no head, no table for it
        if by in differs:
            differs.pop(implied, None)
    parts = [_told(part, t) for n, part in differs.items() if n not in _SIZES]
    parts += [t("models.sizes")] if _SIZES & differs.keys() else []
    other = literal(runs.label(near.name))
    return t("models.like" if parts else "models.same", does=said, other=other, parts=t("models.comma").join(parts))


def _told(part: Part, t: Texts) -> str:
    """A part in words, or its label where no text speaks of it."""
    key = f"{part.name}_{part.said}"
    is_told = key in t.labels("models") or not part.label
    return t(f"models.{key}", **part.values) if is_told else part.label
