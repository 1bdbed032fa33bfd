"""Rotary positions: pairs of every query and key are turned."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial

import streamlit as st

from viz_model.app import elements
from viz_model.app.drawn import Drawn
from viz_model.app.elements import Guess, Said, title
from viz_model.app.page import Page
from viz_model.app.topic import Door, Layout, Tabs
from viz_model.drawing.sheet import Sheet
from viz_model.runs.trace import Trace
from viz_model.topics.position import figures, numbers
from viz_model.topics.position.choices import MAX_SHIFT, PAIR, SHIFT
from viz_model.topics.position.claims import MOVED, UNMET, Moved
from viz_model.topics.position.numbers import attention_views as views
from viz_model.topics.position.numbers import by_hand
from viz_model.topics.position.pictures.lines import draw_offsets
from viz_model.topics.position.pictures.plane import ShiftView, draw_plane, draw_shift
from viz_model.topics.position.pictures.wavelengths import draw_wavelengths
from viz_model.topics.position.sections import key as chosen_key
from viz_model.topics.position.sections import schemes, scores, turning
from viz_model.topics.position.sections.scores import words


@dataclass(frozen=True)
class Turned:
    """One pair of one head, and the score of the chosen token with one key; ``facts`` are for prose."""

    page: Page
    pair: int
    last: int
    key: int
    facts: dict[str, str]

    @classmethod
    def of(cls, page: Page) -> Turned:
        trace, layer, head = page.trace, page.view.layer, page.view.head
        last = len(numbers.frequencies(trace, layer).used) - 1
        chosen = page.chosen(PAIR)
        pair = figures.first_pair(page.subject) if chosen is None else min(chosen, last)
        key = chosen_key.shown(page)
        facts = {
            **by_hand.pair_by_hand(trace, layer, head, page.token, key, pair),
            **by_hand.frequencies_in_words(trace, layer, pair),
            "token": page.token_name(),
            "key": page.token_name(key),
        }
        return cls(page, pair, last, key, facts)


def plane(given: Turned) -> None:
    page, pair = given.page, given.pair
    trace, layer = page.trace, page.view.layer
    elements.see(page, "rope_lead")
    picture, see = elements.split()
    with picture:
        if given.last:
            label = {"label": page.words("rope_pair_slider"), "help": page.words("rope_pair_help")}
            elements.control(page, PAIR, st.slider, 0, given.last, value=pair, **label)  # type: ignore[arg-type]
        labels = words(page, "rope", "value", "before", "after")
        for column, role in zip(st.columns(2), ("query", "key"), strict=True):
            with column:
                elements.told(page, partial(_whose, role), f"{role}_title", by=("head",))
                alt = page.words("rope_plane_alt", pair=pair)
                drawn = schemes.drawn(page, partial(_plane, pair=pair, role=role, labels=labels))
                elements.figure(page, drawn, f"plane_{role}", alt)
        names = [numbers.unrotated_site(trace, layer, letter) for letter in "qk"]
        elements.source(page, *names, *(page.at(f"attn.{letter}_rotated") for letter in "qk"))
    with see:
        schemes.told(page, _tell, "see")
        scores.self_only(page)


def _whose(role: str, page: Page) -> Iterator[str]:
    head = page.view.head if role == "query" else page.lm.config.kv_head(page.view.head)
    yield f"**{page.words(f'rope_{role}', head=head)}**"


def _plane(page: Page, pair: int, role: str, labels: dict[str, str]) -> Sheet:
    """One pair of the queries or keys, before and after its turn."""
    view = views.plane_view(page.trace, page.view.layer, page.view.head, page.token, pair, role)
    return draw_plane(view, labels)


def _tell(page: Page) -> Iterator[str]:
    """The turn of the chosen token, and what is special in this model's rotation."""
    facts, sizes = Turned.of(page).facts, page.lm.config
    scaling = numbers.rotary(page.trace, page.view.layer).scaling
    yield page.prose("rope_see", **facts)
    if facts["kept"] != "0":
        yield page.prose("rope_partial", **facts)
    if sizes.qk_norm:
        yield page.prose("rope_normed")
    if sizes.n_kv_heads < sizes.n_heads:
        head, share = page.view.head, sizes.n_heads // sizes.n_kv_heads
        yield page.prose("rope_shared", head=head, group=sizes.kv_head(head), share=share)
    if scaling is not None:
        yield page.prose(f"rope_scaled_{type(scaling).__name__}", **facts)


def frequencies(given: Turned) -> None:
    page, facts = given.page, given.facts
    schemes.told(page, _frequencies_title, "frequencies_title", ("layer",))
    angles, lengths = st.columns(2, gap="large")

    def angles_of(page: Page) -> Drawn:
        return figures.angles(page.subject, given.pair)

    with angles:
        elements.shown(page, schemes.drawn(page, angles_of), "angles", by=("layer", "token"))
        st.caption(page.words("rope_angles_note"))
    with lengths:
        names = ("pair", "wavelength", "used", "unscaled", "sentence", "context")
        labels = {name: page.words(f"rope_{name}", **facts) for name in names}
        drawn = angles_of(page).picture
        assert isinstance(drawn, Sheet)
        height = max(300, drawn.layout["height"])

        def lengths_of(page: Page) -> Sheet:
            return draw_wavelengths(views.wavelength_view(page.trace, page.view.layer, given.pair), labels, height)

        alt = page.words("rope_lengths_alt")
        elements.figure(page, schemes.drawn(page, lengths_of), "lengths", alt, by=("layer",))
        st.caption(page.words("rope_lengths_note"))
    schemes.told(page, _tell_frequencies, "frequencies", ("layer",))


def _frequencies_title(page: Page) -> Iterator[Said]:
    yield title(page.words("rope_frequencies", **Turned.of(page).facts))


def _tell_frequencies(page: Page) -> Iterator[str]:
    yield page.prose("rope_frequencies", **Turned.of(page).facts)


def proof(given: Turned) -> None:
    """Both positions moved by the same amount: every score stays."""
    page = given.page
    st.subheader(page.words("rope_proof"), anchor=False)
    chosen, moved = st.columns(2, gap="large")
    with chosen:
        chosen_key.choose(page)
    with moved:
        elements.control(page, SHIFT, st.slider, 0, MAX_SHIFT)
    plane, curve = st.columns(2, gap="large")
    with plane:
        labels = words(page, "rope", "value", "position") | words(page, "role", "query", "key")
        drawn = schemes.drawn(page, lambda page: draw_shift(_shifted(page), labels))
        elements.figure(page, drawn, "moved", page.words("rope_shift_alt"))
        st.caption(page.words("rope_shift_note", pair=given.pair))
    with curve:
        named = words(page, "rope", "offset", "score", "recorded", "shifted")

        def offsets_of(page: Page) -> Sheet:
            found = _shifted(page).shifted
            return draw_offsets(views.offsets_view(*_where(page), found), named)

        elements.figure(page, schemes.drawn(page, offsets_of), "offsets", page.words("rope_offsets_alt"))
        elements.source(page, page.at("attn.scores"))
    schemes.told(page, _tell_proof, "proof")


def _tell_proof(page: Page) -> Iterator[str]:
    view, shift, facts = _shifted(page), page.chosen(SHIFT), Turned.of(page).facts
    yield page.prose(
        "rope_proof",
        token=facts["token"],
        key=facts["key"],
        query_at=view.query,
        key_at=view.key,
        query_to=view.query + shift,
        key_to=view.key + shift,
        offset=view.query - view.key,
        recorded=f"{view.recorded:.6f}",
        shifted=f"{view.shifted:.6f}",
        shift=shift,
    )
    change = Moved(view.largest, view.score)
    yield page.verdict(MOVED, change, scores=f"{len(page.trace) ** 2:,}", largest=f"{view.largest:.0e}")


def _where(page: Page) -> tuple[Trace, int, int, int, int]:
    """The run, layer and head, the chosen token and its key."""
    return page.trace, page.view.layer, page.view.head, page.token, chosen_key.shown(page)


def _shifted(page: Page) -> ShiftView:
    """The chosen query and its key, both further on."""
    return views.shift_view(*_where(page), Turned.of(page).pair, page.chosen(SHIFT))


def formula(given: Turned) -> None:
    page, scheme = given.page, numbers.rotary(given.page.trace, given.page.view.layer)
    elements.formula(page, *(page.at(f"attn.{name}") for name in ("q_rotated", "k_rotated", "scores")))
    elements.see(page, f"rope_formula_{scheme.pairing}", **given.facts)
    elements.see(page, "rope_formula", **given.facts)
    if scheme.scaling is not None:
        elements.see(page, f"rope_formula_{type(scheme.scaling).__name__}", **given.facts)


def hand(given: Turned) -> None:
    elements.see(given.page, "rope_hand", **given.facts)
    if numbers.rope(given.page.trace, given.page.view.layer).stretch != 1:
        elements.see(given.page, "rope_hand_stretch", **given.facts)


def code(given: Turned) -> None:
    page = given.page
    names = map(page.at, ("attn.q_rotated", "attn.q", "attn.k", "attn.q_normed", "attn.k_normed", "attn.scores"))
    elements.code(page, sites=[name for name in names if name in page.trace])


def tables(given: Turned) -> None:
    page, layer = given.page, given.page.view.layer
    values = numbers.frequencies(page.trace, layer)
    pairs = [numbers.rotated_columns(page.trace, layer, pair) for pair in range(len(values.used))]
    elements.records(
        page,
        "rope_frequencies",
        {
            "pair": range(len(pairs)),
            "values": [f"{a}, {b}" for a, b in pairs],
            "radians": values.used.tolist(),
            "radians_unscaled": values.unscaled.tolist(),
            "wavelength": values.wavelengths.tolist(),
        },
    )
    vectors(page)


def vectors(page: Page) -> None:
    """A head's queries and keys, before and after position has its say."""
    trace, head = page.trace, page.view.head
    columns = [str(n) for n in range(page.lm.config.d_head)]
    for letter, of in (("q", head), ("k", page.lm.config.kv_head(head))):
        for name in (numbers.unrotated_site(trace, page.view.layer, letter), page.at(f"attn.{letter}_rotated")):
            values = trace.head(name, head).numpy()
            elements.table(page, f"{name}[{of}]", values, page.token_labels, columns, name)


def question(given: Turned) -> None:
    page = given.page
    unmet = page.verdict(UNMET, _turns(page), **given.facts)
    elements.question(page, "rope_question", "rope_answer", guess=schemes.drawn(page, _guess), unmet=unmet)


def _guess(page: Page) -> Guess | None:
    return turning.guess(page, _turns(page))


def _turns(page: Page) -> numbers.Turns:
    """How far the pairs of the layer turn within the context."""
    found, context = numbers.frequencies(page.trace, page.view.layer), page.lm.config.n_context
    return numbers.Turns(found.turning(context), len(found.used), context / float(found.wavelengths.max()))


LAYOUT = Layout(
    of=Turned.of,
    sections=(plane, Door("frequencies", (frequencies,)), Door("proof", (proof,), (SHIFT,))),
    tabs=Tabs(formula, hand, code, tables),
    question=question,
)
