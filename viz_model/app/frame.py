"""What every page shares: navigation, sidebar, the sentence, the token ribbon and the map.

Every page opens the frame itself. On a fresh server Streamlit may run a file of ``pages/``
directly, without ``app.py``; opening the frame twice in one run, as happens otherwise, changes
nothing.
"""

from __future__ import annotations

import functools
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import urlencode

import streamlit as st

import viz_model as vm
from viz_model.app import components, examples, interventions, runs, state
from viz_model.app.state import ViewState
from viz_model.app.texts import LANGUAGES, Texts, literal
from viz_model.config import ModelConfig, Side
from viz_model.drawing import theme
from viz_model.drawing.spans import around
from viz_model.model import sites
from viz_model.runs import edits
from viz_model.tokenizers.tokenizer import END_OF_TEXT, IdTokenizer
from viz_model.topics.architectures.numbers import architectures
from viz_model.topics.tokens.pictures.tokens import chip

SECTIONS = {
    "": ("overview",),
    "section_input": ("tokens", "embedding", "batch", "position"),
    "section_machine": ("attention", "cross_attention", "block", "norm_placement"),
    "section_output": ("next_token", "attribution", "ablations", "mistakes"),
    "section_models": ("architectures", "cost"),
    "section_training": ("training_lab",),
}
FORMER = {
    "why": "attribution",
    "break_it": "ablations",
    "spot_the_mistake": "mistakes",
    "pre_post_ln": "norm_placement",
}
"""Addresses that pages had before: links to them still open the page, on what they ask for."""
MOST_QUOTED = 200
"""Characters of a text that a notice repeats."""

MAX_MAP_LAYERS = 6
MOST_CHIPS = 400
"""Tokens in the ribbon at the most; of longer texts those around the selected one."""
_STYLE = "<style>{}{}</style>".format(
    *((Path(__file__).parent / name).read_text(encoding="utf-8") for name in ("frame.css", "access.css"))
)


class Navigation(NamedTuple):
    """The pages by name, and the one that this run is for."""

    pages: dict[str, Any]
    current: Any


def navigation() -> Navigation:
    """Declare the pages and the layout."""
    st.set_page_config(layout="wide")
    st.html(_STYLE)
    t = Texts(_language())
    pages = {
        name: st.Page(
            f"pages/{name}.py",
            title=t(f"common.page_{name}"),
            url_path=None if name == "overview" else name,
            default=name == "overview",
        )
        for names in SECTIONS.values()
        for name in names
    }
    sections = {
        t(f"common.{section}") if section else "": [pages[name] for name in names]
        for section, names in SECTIONS.items()
    }
    hidden = [
        st.Page(f"pages/{former}.py", title=pages[name].title, url_path=former, visibility="hidden")
        for former, name in FORMER.items()
    ]
    sections[""] += hidden
    return Navigation(pages, st.navigation(sections, expanded=True))


def moved(former: str) -> None:
    """Open the page that now stands for a former address, with the same query."""
    query = {name: st.query_params.get_all(name) for name in st.query_params}
    st.switch_page(navigation().pages[FORMER[former]], query_params=query)


def _language() -> str:
    """The language of the navigation, which is declared before the view is read."""
    asked = st.query_params.get("lang")
    if "view" in st.session_state and (not asked or st.query_params.to_dict() == st.session_state.get("view.url")):
        return st.session_state["view"].lang
    if asked in LANGUAGES:
        return asked
    return "zh" if (st.context.locale or "").lower().startswith("zh") else "en"


def sidebar(view: ViewState, lm: vm.LanguageModel, t: Texts) -> None:
    """Language, model, norm, stack, layer, head, edits, link."""
    with st.sidebar:
        _choice("lang", t("common.language"), list(LANGUAGES), view.lang, LANGUAGES.__getitem__)
        names = runs.names()
        state.follow("sidebar.model", view.model)
        st.selectbox(
            t("common.model"),
            names,
            key="sidebar.model",
            format_func=runs.labels().__getitem__,
            on_change=state.on_change,
            args=("sidebar.model", "model"),
        )
        st.caption(about(view.model, lm, t))
        _norm_toggle(view, lm, t)
        side = view.stack(lm.config)
        if len(lm.config.sides) > 1:
            sides = list(lm.config.sides)
            _choice("side", t("common.side"), sides, side, lambda s: t(f"common.side_{s}"), t("common.side_help"))
        _place(lm.config, side, t)
        interventions.chips(view, t)
        _link(view, t)


@st.fragment(key=state.PLACE)
def _place(config: ModelConfig, side: Side, t: Texts) -> None:
    """Layer and head."""
    view = state.current()
    _index("layer", t("common.layer"), config.depth(side), view.layer, t("common.layer_help"))
    _index("head", t("common.head"), config.n_heads, view.head, t("common.head_help"))


@st.fragment(key=state.LINK)
def _link(view: ViewState, t: Texts) -> None:
    """The address of what is shown."""
    view = state.now(view)
    state.write(view)
    with st.popover(t("common.share"), width="stretch"):
        st.write(t("common.share_help"))
        address = f"{(st.context.url or '').split('?')[0]}?{urlencode(view.query())}"
        st.code(address, language=None, wrap_lines=True)


_SIZES = frozenset({"vocabulary", "context", "width", "layers", "heads", "hidden"})
_UNSAID = frozenset({"ffn_bias", "final_norm", "head_scale", "head_bias"})
"""Parts that follow from others or weigh little: the page on architectures lists them all."""


def about(name: str, lm: vm.LanguageModel, t: Texts) -> str:
    """What a model does, and how it differs from the one of the list that it is most like."""
    if languages := lm.tokenizer.languages:
        into = t("models.or").join(t(f"common.to_{language}") for language in languages)
        said = t("models.does_translate", into=into)
    else:
        said = t(f"models.does_{lm.config.kind if lm.config.has_logits else 'vectors'}")
    kin = architectures.nearest(name, runs.offered())
    if kin is None:
        return t("models.alone", does=said)
    differs = {part.name: part for part in kin.differs if part.name not in _UNSAID}
    for implied, by in (("hidden", "ffn"), ("tied", "head")):  # a gated layer is narrower; no head, no table for it
        if by in differs:
            differs.pop(implied, None)
    parts = [t(f"models.{n}_{part.said}", **part.values) for n, part in differs.items() if n not in _SIZES]
    parts += [t("models.sizes")] if _SIZES & differs.keys() else []
    other = literal(runs.label(kin.name))
    return t("models.like" if parts else "models.same", does=said, other=other, parts=t("models.comma").join(parts))


def _choice(field: str, label: str, options: list[Any], value: Any, show: Any, help: str | None = None) -> None:
    key = f"sidebar.{field}"
    state.follow(key, value)
    st.segmented_control(
        label,
        options,
        key=key,
        format_func=show,
        help=help,
        required=True,
        width="stretch",
        on_change=state.on_change,
        args=(key, field),
    )


def _index(field: str, label: str, size: int, value: int, help: str) -> None:
    if size == 1:
        return  # nothing to choose
    if size <= 8:
        _choice(field, label, list(range(size)), value, str, help)
        return
    key = f"sidebar.{field}"
    state.follow(key, value)
    st.slider(label, 0, size - 1, key=key, help=help, on_change=state.on_change, args=(key, field))


def _norm_toggle(view: ViewState, lm: vm.LanguageModel, t: Texts) -> None:
    """Pre-LN | Post-LN: swaps the model for its trained twin."""
    key = "sidebar.norm_at"
    state.follow(key, lm.config.norm_at)

    def changed() -> None:
        if lm.twin and st.session_state[key] != lm.config.norm_at:
            state.update(model=lm.twin)

    st.segmented_control(
        t("common.norm_at"),
        ["pre", "post"],
        key=key,
        format_func={"pre": "Pre-LN", "post": "Post-LN"}.__getitem__,
        help=t("common.norm_at_help") if lm.twin else t("common.no_twin"),
        disabled=lm.twin is None,
        required=True,
        width="stretch",
        on_change=changed,
    )


def sentence(view: ViewState, lm: vm.LanguageModel, t: Texts) -> vm.Trace | None:
    """The sentence box with its examples, and the trace of what is in it; None if there is none."""
    typed = view.text or ""
    state.follow("frame.text", typed)
    st.text_input(
        t("common.sentence"),
        key="frame.text",
        live="400ms",
        placeholder=t("common.sentence_placeholder"),
        on_change=state.on_change,
        args=("frame.text", "text"),
    )
    columns = st.columns([4, 1], vertical_alignment="center")
    with columns[0], st.container(horizontal=True, gap="xsmall", key="frame_examples"):
        for n, example in enumerate(examples.of(lm, t.language)):
            st.button(
                example if len(example) <= 18 else f"{example[:16].rstrip()}…",
                key=f"frame.example.{n}",
                type="tertiary",
                on_click=state.update,
                kwargs={"text": example, "token": None},
            )
    text, n_replaced = runs.readable(typed)
    if not text:
        st.info(t("common.empty"), icon=":material/edit:")
        return None
    try:
        trace = _run(view, lm, text, t)
    except vm.TextError as error:
        st.info(t.error(error), icon=":material/edit:")
        return None
    with columns[1]:
        _count(typed, trace, t)
    if n_replaced:
        st.warning(t("common.surrogates", n=n_replaced))
    if END_OF_TEXT in text:
        st.caption(t("common.typed_end_of_text", token=literal(END_OF_TEXT)))
    if (read := _read_as(lm, text)) != text:
        st.caption(
            t("common.reads_otherwise", read=literal(read if len(read) <= MOST_QUOTED else read[:MOST_QUOTED] + "…"))
        )
    return trace


def _read_as(lm: vm.LanguageModel, text: str) -> str:
    """What the model's tokens say of a text; the text itself, where its vocabulary promises to keep it."""
    tokenizer = lm.tokenizer
    if tokenizer.is_lossless or isinstance(tokenizer, IdTokenizer):
        return text
    return tokenizer.decode(tokenizer.encode(text, special=False))


def _run(view: ViewState, lm: vm.LanguageModel, text: str, t: Texts) -> vm.Trace:
    """The trace of the sentence, and of the target that stands in its own box where the model reads one."""
    if lm.config.kind != "encoder_decoder":
        return interventions.fitting(runs.RunKey(view.model, text, edits=edits.write(view.edits)), t)
    said, languages = runs.greedy_target(view.model, text, view.to), list(lm.tokenizer.languages)
    state.follow("frame.target", said if view.target is None else view.target)
    with st.container(horizontal=True, vertical_alignment="bottom", key="frame_target"):
        if len(languages) > 1:
            state.follow("frame.to", view.to)
            st.segmented_control(
                t("common.to"),
                languages,
                key="frame.to",
                format_func=lambda language: t(f"common.to_{language}"),
                help=t("common.to_help"),
                required=True,
                width="content",
                on_change=_translate_into,
            )
        st.text_input(
            t("common.target"),
            key="frame.target",
            live="400ms",
            help=t("common.target_help", start=t(f"common.start_{view.to}" if view.to else "common.start")),
            on_change=state.on_change,
            args=("frame.target", "target"),
        )
        st.button(
            t("common.target_is_own" if view.target is None else "common.target_own"),
            key="frame.target_own",
            type="tertiary",
            disabled=view.target is None,
            on_click=state.update,
            kwargs={"target": None},
        )
    target, _ = runs.readable(said if view.target is None else view.target)
    return interventions.fitting(runs.RunKey(view.model, text, target, view.to, edits.write(view.edits)), t)


def _translate_into() -> None:
    """Another language: a target that the model wrote is written anew, one that was typed stays."""
    state.update(to=st.session_state["frame.to"])


def _count(typed: str, trace: vm.Trace, t: Texts) -> None:
    context = runs.most_tokens(trace.config)
    if trace.n_dropped or len(typed) > runs.MAX_CHARACTERS:
        more = "+" if len(typed) > runs.MAX_CHARACTERS else ""
        total = f"{len(trace.ids) + trace.n_dropped:,}{more}"
        st.markdown(f":orange[{t('common.truncated', total=total, context=context)}]", text_alignment="right")
    else:
        st.caption(t("common.count", n=len(trace.ids), context=context), text_alignment="right")


def ribbons(trace: vm.Trace, selected: int, t: Texts, key: str) -> None:
    """The tokens as chips; a click selects one. Of an encoder–decoder the source, then the target.

    ``trace`` is seen from the stack that the page looks at, and ``selected`` is a position in it.
    """
    sides = trace.config.sides
    for side in sides:
        tokens, own = trace.at(side).tokens, side == trace.side
        shown = around(selected if own else 0, len(tokens), MOST_CHIPS)
        label = t(f"common.tokens_{side}", start=start(trace, t)) if len(sides) > 1 else t("common.tokens")
        if len(sides) > 1:
            st.caption(label)
        components.ribbon(
            [
                chip(tokens[position], position, under=tokens[position].id)
                for position in range(shown.start, shown.stop)
            ],
            selected=None,
            label=label,
            first=shown.start,
            ends=[
                {"position": position, "label": t("common.ribbon_to", position=position)}
                for position in (shown.start - 1, shown.stop)
                if 0 <= position < len(tokens)
            ],
            key=f"{key}.{side}",
            on_pick=None if own else functools.partial(_follow, side),
        )
        if shown.stop - shown.start < len(tokens):
            st.caption(t("common.tokens_part", first=shown.start, last=shown.stop - 1, n=len(tokens)))


def start(trace: vm.Trace, t: Texts) -> str:
    """What the decoder of an encoder–decoder begins from, in words."""
    language = trace.target_language
    return t("common.start" if language is None else f"common.start_{language}")


def _follow(side: Side, position: int) -> None:
    state.update(side=side, token=position)


def machine_map(here: str, view: ViewState, lm: vm.LanguageModel, t: Texts) -> None:
    """The strip of stations. A click opens that station's page."""
    kinds = {
        "tokens": "token",
        "embedding": "residual",
        "position": "position",
        "norm": "norm",
        "attention": "pattern",
        "cross_attention": "pattern",
        "ffn": "ffn",
        "vectors": "residual",
        "logits": "output",
        "softmax": "output",
    }
    config, side = lm.config, view.stack(lm.config)
    if side == "encoder" and len(config.sides) > 1:
        ends = ["vectors"]
    else:
        ends = ["logits", "softmax"] if config.has_logits else ["vectors"]
    data = {
        "here": here,
        "norm_at": config.norm_place(side),
        "position_at": _position_at(config),
        "embedding_norm": config.embedding_norm,
        "cross": len(config.sides) > 1 and side == "decoder",
        "ends": ends,
        "layers": _map_layers(view.layer, config.depth(side), t),
        "select": t("common.map_select"),
        "labels": {kind: t(f"common.map_{kind}") for kind in kinds},
        "colours": {kind: theme.ROLES[role] for kind, role in kinds.items()},
        "titles": {name: t(f"common.page_{name}") for names in SECTIONS.values() for name in names},
        "title": t("common.map"),
    }
    components.machine_map(data, key="frame.map", on_pick=_picked_in_map)


def _position_at(config: ModelConfig) -> str | None:
    """Where position enters: beside the embedding, inside every attention, or nowhere."""
    names = {site.name for _, site in sites.in_order(config)}
    if "embed.position" in names:
        return "embedding"
    return "attention" if names & {"attn.q_rotated", "attn.bias"} else None


def _picked_in_map(picked: dict[str, Any]) -> None:
    changes = {"layer": picked["layer"]} if "layer" in picked else {}
    if "page" in picked:
        go(picked["page"], **changes)
    else:
        state.update(**changes)


def go(page: str, **changes: Any) -> None:
    """Open a page on the next run, with changes to the view; a callback cannot switch pages itself."""
    st.session_state["frame.go"] = page
    state.put(**changes)
    state.run_again()


def _map_layers(layer: int, n_layers: int, t: Texts) -> list[dict[str, Any]]:
    """The blocks to draw: all of a small model; of a deep one the ends and the chosen block."""
    if n_layers <= MAX_MAP_LAYERS:
        shown = list(range(n_layers))
    else:
        shown = sorted({0, layer, n_layers - 1})
    layers: list[dict[str, Any]] = []
    for position, i in enumerate(shown):
        if position and i > shown[position - 1] + 1:
            layers.append({"folded": True})
        layers.append({"index": i, "label": t("common.map_block", i=i), "open": i == layer, "folded": False})
    return layers
