"""A page as one component: what it is told by the browser becomes the view, and what the view asks for is sent.

Layer, head and token are for the browser to know: it tells them once a visitor rests, and then only the address is
written. A new sentence, an opened section or another option is a question, which another message answers.
"""

import functools
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import streamlit as st

import viz_model as vm
from viz_model.app import components, examples, export_menu, interventions, runs, serving, state
from viz_model.app.choices import Choice, one_of, switch, whole, words
from viz_model.app.view import TYPED, ViewState
from viz_model.drawing.scene import Arrays
from viz_model.island import ribbons
from viz_model.island.page import Chooser, Page, Typed
from viz_model.island.prose import Line, line
from viz_model.measures import patches
from viz_model.runs import edits
from viz_model.texts import LANGUAGES, Texts
from viz_model.texts.markdown import literal
from viz_model.tokenizers.tokenizer import END_OF_TEXT, IdTokenizer

KEY = "frame_island"
LIVE = 0.15
"""Seconds that a run may take for a sentence to be answered letter by letter."""
MOST_QUOTED = 200
"""Characters that a notice repeats."""
MOST_INDEX = 100_000
"""Beyond this no layer, head or token is worth reading."""

_READ, _SAID, _KNOWN, _PACE, _RESTS, _USUAL, _SENT, _IS_AGAIN = (
    f"island.{name}" for name in ("read", "said", "known", "pace", "rests", "usual", "sent", "is_again")
)
_FIELDS = ("layer", "head", "token")


class Reading(NamedTuple):
    """What becomes of what was typed: a run, or none, and what is to be said of it."""

    trace: vm.Trace | None
    notes: tuple[Line, ...]


# What is read


def read(view: ViewState, lm: vm.LanguageModel, t: Texts, picture: runs.RunKey | None = None) -> Reading:
    """Run the sentence of a view, or what a visitor has a model say of a ``picture``; notes say where the model does
    not read what was typed.
    """
    typed = (view.text if picture is None else picture.text) or ""
    text, n_replaced = runs.readable(typed)
    if not text:
        return Reading(None, (line(t("common.empty"), "notice"),))
    try:
        began = time.perf_counter()
        trace = interventions.fitting(asked(view, lm, text), t)
        _note_pace(view.model, time.perf_counter() - began)
    except vm.TextError as error:
        return Reading(None, (line(t.error(error), "notice"),))
    return Reading(trace, tuple(_remarks(typed, text, n_replaced, trace, lm, t)))


def asked(view: ViewState, lm: vm.LanguageModel, text: str) -> runs.RunKey:
    """The run of a text; of an encoder–decoder with a target, which is what the model says where nobody has typed."""
    key = runs.RunKey(view.model, text, edits=edits.write(view.edits), as_text=view.as_text)
    if lm.config.kind != "encoder_decoder":
        return key
    return key._replace(target=runs.readable(_target(view, text))[0], to=view.to)


def _target(view: ViewState, text: str) -> str:
    return runs.greedy_target(view.model, text, view.to) if view.target is None else view.target


def _note_pace(model: str, seconds: float) -> None:
    """A run that was kept takes no time, and says nothing of one that was not."""
    pace: dict[str, float] = st.session_state.setdefault(_PACE, {})
    pace[model] = max(seconds, 0.8 * pace.get(model, 0.0))


def _remarks(typed: str, text: str, n_replaced: int, trace: vm.Trace, lm: vm.LanguageModel, t: Texts) -> list[Line]:
    said = []
    if trace.n_dropped or len(typed) > runs.MAX_CHARACTERS:
        more = "+" if len(typed) > runs.MAX_CHARACTERS else ""
        total = f"{len(trace.ids) + trace.n_dropped:,}{more}"
        said.append(line(t("common.truncated", total=total, context=runs.most_tokens(trace.config)), "notice"))
    if n_replaced:
        said.append(line(t("common.surrogates", n=n_replaced), "notice"))
    if END_OF_TEXT in text and not trace.as_text and END_OF_TEXT not in lm.tokenizer.controls_in(text):
        said.append(line(t("common.typed_end_of_text", token=literal(END_OF_TEXT)), "note"))
    tokenizer = lm.tokenizer
    named = tokenizer.controls_in(text)
    if not tokenizer.is_lossless and not named and not isinstance(tokenizer, IdTokenizer):
        read = tokenizer.decode(tokenizer.encode(text, special=False, as_text=True))
        if read != text:
            shown = literal(read if len(read) <= MOST_QUOTED else read[:MOST_QUOTED] + "…")
            said.append(line(t("common.reads_otherwise", read=shown), "note"))
    return said


# What is sent


def head(
    view: ViewState,
    lm: vm.LanguageModel,
    trace: vm.Trace | None,
    beside: vm.Trace | None,
    token: int,
    t: Texts,
    *,
    is_fixed: bool,
    is_story: bool,
    arrays: Arrays,
) -> dict[str, Any]:
    """The sentence's boxes and its tokens, as the browser draws them; ``beside`` is the run that stands beside. A story
    has its model and language there too, and its tokens in its own pictures.
    """
    boxes, controls = ([], []) if lm.config.is_vision_encoder else _boxes(view, lm, trace, t, is_fixed, is_story)
    if is_story:
        own = [] if is_fixed else _settings(view, t)
        boxes = [] if lm.config.reads_pictures else boxes[:1]
        return {"boxes": boxes, "controls": [*controls, *own], "ribbons": []}
    if boxes and not is_fixed and not view.twin and not lm.config.reads_pictures:
        boxes.append(_also(boxes[0], view, beside, t))
    rows = [] if trace is None else ribbons.ribbons(trace, beside, token, t, arrays)
    if view.present and lm.config.transcribes:  # the picture itself stands there
        rows = rows[1:]
    draws = patches.is_drawn(lm.config) and not is_fixed
    beneath = lm.config.transcribes  # the field, which alone stays in sight
    return {"boxes": boxes, "controls": controls, "ribbons": rows, "draws": draws, "beneath": beneath}


def _settings(view: ViewState, t: Texts) -> list[dict[str, Any]]:
    """Model and language; and the page as a file, which a server for strangers does not make."""
    labels = runs.labels()
    models = Chooser("model", {name: labels[name] for name in runs.names()}, t("common.model"), "", view.model, True)
    named = {name: language.name for name, language in LANGUAGES.items()}
    languages = Chooser("lang", named, t("common.language"), "", view.lang, True)
    saver = [] if serving.is_public() else [{"kind": "saver", "id": export_menu.PAGE, "label": t("saving.page_save")}]
    return [*(one._replace(is_list=True).plain for one in (models, languages)), *saver]


def _boxes(
    view: ViewState, lm: vm.LanguageModel, trace: vm.Trace | None, t: Texts, is_fixed: bool, is_story: bool
) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    pace: dict[str, float] = st.session_state.get(_PACE, {})
    common = {"live": pace.get(view.model, 0.0) < LIVE, "fixed": is_fixed}
    keeps = lm.config.kind == "decoder" and not (lm.config.observed or is_fixed or is_story or view.as_text)
    box = {
        "name": "text",
        "text": view.text or "",
        "label": t("common.sentence"),
        "hint": t("common.sentence_placeholder"),
        "count": _count(trace, t),
        "examples": [] if is_fixed else [[one, one] for one in examples.of(lm, t.language, is_story)],
        "examples_label": t("common.examples"),
        "keeps": t("common.keep_writing") if keeps else "",
        **common,
    }
    controls = []
    if not is_fixed and (lm.tokenizer.controls_in(view.text or "") or view.as_text):
        ways = {way: t(f"common.typed_{way}") for way in ("tokens", TYPED)}
        shown = TYPED if view.as_text else "tokens"
        controls.append(Chooser("typed", ways, t("common.typed"), t("common.typed_help"), shown, True).plain)
    if lm.config.kind != "encoder_decoder":
        return [box], controls
    text = runs.readable(view.text or "")[0] if trace is None or trace.picture is None else trace.text or ""
    target = {
        "name": "target",
        "text": _target(view, text) if text else view.target or "",
        "label": t("common.target"),
        "examples": [] if is_fixed or view.target is None else [[t("common.target_own"), None]],
        "examples_label": t("common.target"),
        **common,
    }
    languages = {language: t(f"common.to_{language}") for language in lm.tokenizer.languages}
    if len(languages) > 1 and not is_fixed:
        chooser = Chooser("to", languages, t("common.to"), t("common.to_help"), view.to or next(iter(languages)), True)
        controls.append(chooser.plain)
    return [target] if lm.config.reads_pictures else [box, target], controls


def _count(trace: vm.Trace | None, t: Texts) -> str | None:
    return None if trace is None else t("common.count", n=len(trace.ids), context=runs.most_tokens(trace.config))


def _also(box: Mapping[str, Any], view: ViewState, beside: vm.Trace | None, t: Texts) -> dict[str, Any]:
    """The box of another text, like that of the first: a button while there is none."""
    words = {"keeps": "", "label": t("common.also"), "opens": t("common.also_open"), "closes": t("common.also_close")}
    return {**box, "name": "also", "text": view.also or "", "count": _count(beside, t), "examples": [], **words}


def place(view: ViewState, usual: Mapping[str, int], choices: Mapping[str, str], opened: list[str]) -> dict[str, Any]:
    """Where the server is: what it has read; and where to look, as it was when the server last said so."""
    now = _chosen(view, choices, opened) | {"of": (view.side, view.page)}
    # After Back or Forward even where they lead to what is known: more may be selected than was told.
    if st.session_state.get(_KNOWN) != now or state.goes_through_history():
        st.session_state[_SAID] = {"nav": st.session_state.get(_SAID, {}).get("nav", 0) + 1, **now}
        st.session_state[_KNOWN] = now
    said: dict[str, Any] = st.session_state[_SAID]
    st.session_state[_USUAL] = dict(usual)
    where = {name: said[name] for name in ("nav", "chosen", "options", "open")}
    return {"seq": st.session_state.get(_READ, 0), "usual": dict(usual), **where}


def usual() -> dict[str, int]:
    """The layer, head and token that the page shows where nobody has chosen."""
    found: dict[str, int] = st.session_state.get(_USUAL, {})
    return found


def _chosen(view: ViewState, choices: Mapping[str, str], opened: list[str]) -> dict[str, Any]:
    chosen = {name: n for name in _FIELDS if (n := getattr(view, name)) is not None}
    return {
        "chosen": chosen,
        "options": dict(choices),
        "open": opened,
        "words": (view.text, view.also, view.target, view.to, view.as_text),
    }


def turns(view: ViewState, page: str, t: Texts) -> dict[str, str] | None:
    """The words of who turns from picture to picture by a projector; None elsewhere."""
    if not view.present:
        return None
    words = {name: t(f"common.present_{name}") for name in ("back", "on", "count", "nothing")}
    return {"page": t(f"common.page_{page}"), **words}


def begin() -> None:
    """A whole page runs, for something else than a letter that was typed."""
    st.session_state[_RESTS] = True


def rests() -> bool:
    """Whether the address is to say what is shown: not while somebody types."""
    return bool(st.session_state.get(_RESTS, True))


def unchanged() -> bytes | None:
    """What was sent last, where a visitor has since come to rest and done nothing else; else None."""
    of, data = st.session_state.get(_SENT, (None, None))
    return data if st.session_state.pop(_IS_AGAIN, False) and of == _question() else None


def _question() -> tuple[ViewState, int]:
    """What a message shows, and which question it answers."""
    return state.current(), st.session_state.get(_READ, 0)


# What is told


class Heard(NamedTuple):
    """What the parts of a page do when they are told something.

    Attributes:
        parts: which of them show what was told: another run, or only another place in it.
    """

    asked: Callable[[dict[str, Any]], None]
    menu: Callable[[str], None]
    picked: Callable[[str, Any], None]
    parts: Callable[[bool], tuple[str, ...]]


def mount(data: bytes, page: str, options: Mapping[str, Choice[Any]], sections: tuple[str, ...], heard: Heard) -> None:
    """Draw the page."""
    st.session_state[_SENT] = _question(), data

    def triggered(name: str, answer: Callable[[Any], None]) -> Callable[[], None]:
        def changed() -> None:
            told = getattr(st.session_state.get(KEY), name, None)
            if isinstance(told, Mapping):
                answer(told)

        return changed

    components.island(
        data,
        key=KEY,
        on_told_change=functools.partial(_told, page, options, sections, heard.parts),
        on_asked_change=triggered("asked", lambda told: heard.asked(dict(told["value"]))),
        on_menu_change=triggered("menu", lambda told: heard.menu(str(told["of"]))),
        on_picked_change=triggered("picked", lambda told: heard.picked(str(told["of"]), told.get("value"))),
    )


def _told(
    page: str,
    options: Mapping[str, Choice[Any]],
    sections: tuple[str, ...],
    parts_of: Callable[[bool], tuple[str, ...]],
) -> None:
    """What the browser says becomes the view's; what makes no sense is left alone."""
    told = getattr(st.session_state.get(KEY), "told", None)
    if not isinstance(told, Mapping):
        return
    if _is_index(told.get("seq")):
        st.session_state[_READ] = told["seq"]
    if state.goes_through_history():  # the address leads, whatever the browser says
        return
    if told.get("nav") != st.session_state.get(_SAID, {}).get("nav"):  # said before it read where to look now
        return
    view = state.current()
    changes: dict[str, Any] = {}
    where = told.get("place")
    if isinstance(where, Mapping):
        changes |= {name: where.get(name) if _is_index(where.get(name)) else None for name in _FIELDS}
    for name in ("text", "target"):
        if name in told and (told[name] is None or isinstance(told[name], str)):
            changes[name] = told[name]
    if isinstance(also := told.get("also"), str):
        changes["also"] = also or None
    chosen: list[tuple[Choice[Any], Any]] = []
    given = told.get("options")
    whole = {name: given[name] for name in ("model", "lang") if name in given} if isinstance(given, Mapping) else {}
    known = {"model": runs.names(), "lang": tuple(LANGUAGES)}
    changes |= {name: one for name, one in whole.items() if one in known[name]}
    for name, said in (given if isinstance(given, Mapping) else {}).items():
        if name == "to" and isinstance(said, str):
            changes["to"] = said
        elif name == "typed":
            changes["as_text"] = said == TYPED
        elif name in options:
            try:
                chosen.append((options[name], options[name].read(str(said))))
            except ValueError:
                continue
    opened = told.get("open")
    if isinstance(opened, list):
        chosen += [(switch(f"door_{name}"), name in opened) for name in sections]
    st.session_state[_RESTS] = st.session_state[_IS_AGAIN] = bool(told.get("rests"))
    state.put(**changes, **state.choose(page, *chosen))
    now = state.current()
    _know(now, page, options, sections)
    if (view.model, view.lang) != (now.model, now.lang):
        state.run_again()
        return
    is_another = any(getattr(view, name) != getattr(now, name) for name in ("text", "also", "target", "to", "as_text"))
    parts = parts_of(is_another) if now != view else (state.BODY,)
    # The page stands in its body, which runs as it is; or, with what else was asked for meanwhile, the whole page does.
    if parts != (state.BODY,) and state.is_part_run():
        state.run_alone(*parts)


def _know(view: ViewState, page: str, options: Mapping[str, Choice[Any]], sections: tuple[str, ...]) -> None:
    """What the browser itself has told it need not be told again."""
    now = _chosen(view, chosen_of(view, page, options), open_of(view, page, sections))
    st.session_state[_KNOWN] = {**st.session_state.get(_KNOWN, {}), **now}


def chosen_of(view: ViewState, page: str, options: Mapping[str, Choice[Any]]) -> dict[str, str]:
    """What is chosen beside the selection, as an address says it."""
    return {name: choice.write(view.chosen(page, choice)) for name, choice in options.items()}


def open_of(view: ViewState, page: str, sections: tuple[str, ...]) -> list[str]:
    """The sections that are open."""
    return [name for name in sections if view.chosen(page, switch(f"door_{name}"))]


def options_of(page: Page) -> dict[str, Choice[Any]]:
    """What a visitor chooses on a page, as the view keeps it."""
    return {name: _choice(name, values) for name, values in page.options}


def _choice(name: str, values: Sequence[str] | range | Typed) -> Choice[str]:
    if isinstance(values, Typed):
        # Half a surrogate pair is no text, and no message can hold it.
        return words(name, values.pattern or rf"[^\x00-\x1f\ud800-\udfff]{{0,{values.most}}}", values.usual)
    if not isinstance(values, range):
        return one_of(name, tuple(values))
    number = whole(name, 0, values.start, values.stop - 1)
    return Choice(name, "", lambda text: str(number.read(text)) if text else "")


def _is_index(n: object) -> bool:
    return isinstance(n, int) and not isinstance(n, bool) and 0 <= n < MOST_INDEX
