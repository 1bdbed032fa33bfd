"""Another mask, and heads switched off: the controls, and the run that they ask for.

What an edit can say is an edit of the view, so that it holds on every page and stands in the address: heads that
are off, no mask, and cells turned over by hand. Other masks belong to this page alone.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any, TypeGuard

import numpy as np
import streamlit as st

import viz_model as vm
from viz_model.app import components, elements, export_menu, runs, state
from viz_model.app.cache import cached
from viz_model.app.choices import Choice, one_of, whole, wholes
from viz_model.app.expander import Door
from viz_model.app.export_menu import Known
from viz_model.app.interventions import (
    PlacesView,
    draw_guesses,
    draw_places,
    draw_written,
    names,
    places_view,
)
from viz_model.app.page import Page
from viz_model.app.view import ViewState
from viz_model.claims import Claim, Verdict
from viz_model.config import Side
from viz_model.drawing import digits, matrix, theme
from viz_model.drawing.scene import Scene
from viz_model.drawing.spans import around
from viz_model.measures import change, masks
from viz_model.measures.change import UNCHANGED, Firsts, firsts
from viz_model.runs import edits
from viz_model.runs.edits import AblateHead, Edit, FlipMask, NoMask
from viz_model.texts.markdown import literal
from viz_model.topics.attention import head, pruning
from viz_model.topics.attention.pruning import PRUNED

FURTHEST = 99_999
"""More than any position. Whether the sentence is that long is for the page to say."""
MOST_FLIPPED = 400
"""Cells of a drawing that an address holds."""


def _read_cells(text: str) -> tuple[tuple[int, int], ...]:
    if not re.fullmatch(r"\d{1,5}\.\d{1,5}(~\d{1,5}\.\d{1,5})*", text[: 12 * MOST_FLIPPED], re.ASCII):
        raise ValueError(text)
    pairs = (cell.split(".") for cell in text.split("~", MOST_FLIPPED)[:MOST_FLIPPED])
    return tuple((int(query), int(key)) for query, key in pairs)


def _written_cells(cells: Iterable[tuple[int, int]]) -> str:
    return "~".join(f"{query}.{key}" for query, key in tuple(cells)[:MOST_FLIPPED])


MASK = one_of("mask", masks.MASKS)
"""Of the masks, no mask and a drawn one are edits of the view where edits can say so."""
N_PADDING = whole("n_padding", masks.MaskChoice().n_padding, 1, FURTHEST)
SIZE = whole("size", masks.MaskChoice().size, 1, FURTHEST)
CHOSEN = wholes("chosen", masks.MaskChoice().chosen, FURTHEST, most=64)
FLIPPED: Choice[tuple[tuple[int, int], ...]] = Choice("flipped", (), _read_cells, _written_cells)
CHOICES = (MASK, N_PADDING, SIZE, CHOSEN, FLIPPED)

GUESSES: Verdict[Firsts] = Verdict(
    "attention.guesses",
    Claim("same", lambda found: found.divergence < UNCHANGED and found.best[0] == found.best[1]),
    Claim("stays", lambda found: found.best[0] == found.best[1]),
)

DRAWN = 16
"""Positions along a side of the square that can be drawn in."""


def section(page: Page) -> None:
    """The controls, and below them what the run with them changed."""
    words, view = page.words, page.view
    st.subheader(words("what_if"), anchor=False)
    elements.see(page, "what_if", layer=view.layer)
    if page.at("attn.convolved") in page.trace:  # without heads, there is nothing to switch off or to mask
        st.info(page.t("common.unattended", layer=view.layer, layers=", ".join(map(str, page.trace.attending))))
        return
    mask, before, changed = run(page)
    _matrices(page, mask, changed or before)
    if changed is None:
        return
    left, right = st.columns(2, gap="large")
    with left:
        if off := heads_off(view, page):
            _written(page, before, changed)
            elements.see(page, "change_off")
            _pruned(page, changed, off)
    with right:
        if page.lm.config.has_logits:
            _guesses(page, before, changed)
    with st.container() if page.lm.config.has_logits else right:
        _places(page, places_view(before, changed, page.token))


def _places(page: Page, places: PlacesView) -> None:
    """How much every position changed."""
    words = page.words
    st.markdown(f"**{words('places_title', **places.facts())}**")
    title, alt = words(f"places_{places.measure}"), words("places_alt")
    elements.picture(page, draw_places(places, title, alt, "attention.places"))
    elements.source(page, places.site)
    if places.measure == "turn":
        facts = {"token": page.token_name(), **places.facts()}
        elements.see(page, "change_source" if page.lm.config.has_logits else "change_vectors", **facts)


def _matrices(page: Page, mask: masks.MaskChoice, trace: vm.Trace) -> None:
    """The chosen head under the mask: its scores, the mask itself, both together, and after softmax."""
    named = {"head": page.view.head, "layer": page.view.layer, "mask": page.words(f"mask_{mask.name}")}
    st.markdown(f"**{page.words('under_mask', **named)}**")
    names = [name for name in head.MATRICES if f"blocks.{page.view.layer}.attn.{name}" in trace]
    for start in range(0, len(names), 2):
        for name, place in zip(names[start : start + 2], st.columns(2, gap="medium"), strict=False):
            with place:
                st.markdown(page.words(f"matrix_{name}"))
                scene = head.of_one(replace(page.look, trace=trace), name)
                elements.picture(page, replace(scene, id=f"attention.under_mask.{name}"), own=trace is page.trace)


def _written(page: Page, before: vm.Trace, after: vm.Trace) -> None:
    """How long a vector every head of the layer writes."""
    was, now = (change.written(run, page.view.layer, page.token) for run in (before, after))
    elements.picture(page, draw_written(was, now, page.words, page.t("common.axis_head"), page.view.head))
    elements.source(page, page.at("attn.head_out"))


def _pruned(page: Page, changed: vm.Trace, off: tuple[int, ...]) -> None:
    """The layer with these heads taken out of its matrices, beside the run with them switched off."""
    if not pruning.can_be_compared(changed, page.view.layer):
        return
    small = pruning.pruned(changed, page.view.layer, off)
    st.markdown(f"**{page.words('pruned_title', heads=', '.join(map(str, off)))}**")
    rows = [
        f"| $W_{letter.upper()}$ | {' × '.join(map(str, before))} | {' × '.join(map(str, after))} |"
        for letter, (before, after) in small.shapes.items()
    ]
    elements.see(page, "pruned", rows="\n".join(rows), n_before=f"{small.n_before:,}", n_after=f"{small.n_after:,}")
    elements.say(page, PRUNED, small, difference=digits.small(small.difference), size=digits.small(small.size))


def _guesses(page: Page, before: vm.Trace, after: vm.Trace) -> None:
    """The predictions at the selected token; of an encoder that feeds a decoder, the decoder's last."""
    has_source = "logits" not in before
    if has_source:
        before, after = before.at("decoder"), after.at("decoder")
    position = len(before) - 1 if has_source else page.token
    found, token = firsts(before, after, [position]), literal(before.tokens[position].label)
    values = {
        "where": page.words("where_at" if page.lm.config.kind == "encoder" else "where_after", token=token),
        **names(found, before),
    }
    st.markdown(f"**{GUESSES.label(page.t.language, found, **values)}**")
    elements.picture(page, draw_guesses(found, before, page.words, "attention.guesses"))
    st.caption(f"{page.t.site_label(before.site('probs'))} {literal('probs')}")
    elements.say(page, GUESSES, found, **values)


def run(page: Page) -> tuple[masks.MaskChoice, vm.Trace, vm.Trace | None]:
    """The mask that a visitor chose; the run without what is chosen here, and with it, seen from the page's stack.

    The latter is None where nothing is chosen, or where a drawn mask leaves a token with nothing to see,
    which is then values.
    """
    mask, is_edit = _mask(page)
    _off(page)
    before = _before(page)
    if mask.is_own or is_edit:
        return mask, before, None if before is page.trace else page.trace
    side, trace = page.view.stack(page.lm.config), page.trace
    visible = masks.build(mask, side, len(trace))
    if visible is not None and (blind := masks.blind(visible)):
        names = page.listed(f"{position} {page.token_name(position)}" for position in blind[:5])
        st.error(page.words("blind", tokens=names), icon=":material/visibility_off:")
        return mask, before, None
    return mask, before, _under(page.run_key, side, mask).at(side)


@cached(size=runs.bytes_of)
def _under(run: runs.RunKey, side: Side, mask: masks.MaskChoice) -> vm.Trace:
    """The same run with another mask in all layers of a stack."""
    visible = masks.build(mask, side, len(runs.trace(run).at(side)))
    return runs.run(run, None if visible is None else {side: visible})


def _before(page: Page) -> vm.Trace:
    """The run without the edits that are made here."""
    rest = [edit for edit in page.trace.edits if not _is_made_here(edit, page)]
    if len(rest) == len(page.trace.edits):
        return page.trace
    try:
        run = runs.trace(page.run_key._replace(edits=edits.write(rest)))
    except ValueError:  # an edit that could only be made after one of these
        run = runs.trace(page.run_key.plain)
    return run.at(page.trace.stack.side)


def _is_made_here(edit: Edit, page: Page) -> bool:
    """Whether the controls of this section say so too."""
    return _is_head(edit, page) or _is_cell(edit, page) or _opens(edit, page)


def _is_here(edit: AblateHead | FlipMask | NoMask, page: Page) -> bool:
    """Whether an edit is of the stack that the page shows."""
    return (edit.side or page.lm.config.sides[-1]) == page.view.stack(page.lm.config)


def _is_head(edit: Edit, page: Page) -> TypeGuard[AblateHead]:
    own = isinstance(edit, AblateHead) and edit.attention == "attn" and edit.to == "zero"
    return own and edit.layer == page.view.layer and _is_here(edit, page)  # type: ignore[arg-type, attr-defined]


def _is_cell(edit: Edit, page: Page) -> TypeGuard[FlipMask]:
    return isinstance(edit, FlipMask) and edit.layer is None and edit.key is not None and _is_here(edit, page)


def _opens(edit: Edit, page: Page) -> bool:
    return isinstance(edit, NoMask) and (edit.side is None or _is_here(edit, page))


def _side(page: Page) -> Side | None:
    """The page's stack for an edit; None is the one that the output comes from."""
    side = page.view.stack(page.lm.config)
    return None if side == page.lm.config.sides[-1] else side


def _windowed(page: Page) -> bool:
    """Whether some layer has a mask of its own: drawing starts from a mask that all layers share."""
    config, side = page.lm.config, page.view.stack(page.lm.config)
    return any(config.window(side, layer) for layer in range(config.depth(side)))


def _cells(page: Page) -> tuple[tuple[int, int], ...]:
    """The cells of a drawn mask that the run's edits turn over."""
    flips = [edit for edit in page.trace.edits if _is_cell(edit, page)]
    return tuple(sorted((edit.query, edit.key) for edit in flips if edit.key is not None))


def _change(page: Page, name: masks.Mask, cells: Sequence[tuple[int, int]]) -> dict[str, Any]:
    """The change of the view that makes it this mask: edits as far as they can say so, or else this page's choices."""
    now = state.current().edits
    rest = [edit for edit in now if not (_opens(edit, page) or _is_cell(edit, page))]
    made: list[Edit] = []
    if name == "none":
        made.append(NoMask(side=page.view.stack(page.lm.config) if len(page.lm.config.sides) > 1 else None))
    if name == "drawn" and not _windowed(page) and len(rest) + len(cells) <= edits.MOST_EDITS:
        visible = masks.build(masks.MaskChoice("drawn", flipped=tuple(cells)), page.trace.stack.side, len(page.trace))
        if visible is not None and not masks.blind(visible):
            made += [FlipMask(query=query, key=key, side=_side(page)) for query, key in cells]
    kept = () if made and name == "drawn" else tuple(cells)
    chosen = state.choose(page.name, (MASK, "own" if made else name), (FLIPPED, kept))
    return {"edits": (*rest, *made), **chosen}


def _mask(page: Page) -> tuple[masks.MaskChoice, bool]:
    """The mask, and whether the view's edits have made it already."""
    length, side, drawn = len(page.trace), page.view.stack(page.lm.config), _cells(page)
    cells = drawn or tuple(cell for cell in page.chosen(FLIPPED) if max(cell) < length)
    made: masks.Mask | None = (
        "none" if any(_opens(edit, page) for edit in page.trace.edits) else "drawn" if drawn else None
    )
    options = masks.options(page.lm.config, side, length)
    name = made if made in options else elements.on_offer(page, MASK, options)
    elements.control(
        page,
        MASK,
        st.segmented_control,
        options,
        value=name,
        change=lambda name: _change(page, name, cells),
        required=True,
        wrap=True,
        format_func=lambda name: page.words(f"mask_{name}"),
    )
    choice = masks.MaskChoice(name)
    if name == "padding":
        choice = choice._replace(n_padding=_slider(page, N_PADDING, length - 1))
    if name in ("window", "global"):
        choice = choice._replace(size=_slider(page, SIZE, length))
    if name == "global":
        choice = choice._replace(chosen=_positions(page))
    if name == "drawn":
        choice = choice._replace(flipped=cells)
        _draw(page, cells, is_made=name == made)
    st.caption(page.words(f"mask_{name}_note"))
    return choice, name == made


def heads_off(view: ViewState, page: Page) -> tuple[int, ...]:
    """The heads of the shown layer that the view has switched off."""
    return tuple(sorted({edit.head for edit in view.edits if _is_head(edit, page)}))


def _off(page: Page) -> None:
    """Heads of the shown layer; every layer has its own choice, and all of them are made."""
    view = page.view
    side = view.stack(page.lm.config)
    key = f"attention.off.{view.model}.{side}.{view.layer}"
    state.follow(key, list(heads_off(view, page)))

    def chosen() -> None:
        if state.is_late(key):
            return
        rest = tuple(edit for edit in view.edits if not _is_head(edit, page))
        heads = sorted(st.session_state[key])[: edits.MOST_EDITS - len(rest)]
        off = (AblateHead(layer=view.layer, head=head, side=_side(page)) for head in heads)
        state.update(edits=(*rest, *off))

    st.pills(
        page.words("off_heads"),
        list(range(page.lm.config.n_heads)),
        selection_mode="multi",
        wrap=True,
        key=key,
        help=page.words("off_heads_help"),
        on_change=chosen,
    )


def _slider(page: Page, choice: Choice[int], high: int) -> int:
    if high == 1:
        return 1
    return elements.control(page, choice, st.slider, 1, high, value=min(page.chosen(choice), high))


def _positions(page: Page) -> tuple[int, ...]:
    labels = page.look.labels
    return elements.control(
        page,
        CHOSEN,
        st.multiselect,
        list(range(len(labels))),
        value=tuple(position for position in page.chosen(CHOSEN) if position < len(labels)),
        read=lambda held: tuple(sorted(held)),
        write=list,
        format_func=lambda position: f"{position}: {labels[position]}",
    )


def _draw(page: Page, flipped: tuple[tuple[int, int], ...], *, is_made: bool) -> None:
    """The cells turned over by hand, in a square of the mask around the selected token.

    ``is_made`` says whether the page's run has this mask.
    """
    side, length, within = page.view.stack(page.lm.config), len(page.trace), state.inside()
    visible = masks.build(masks.MaskChoice("drawn", flipped=flipped), side, length)
    assert visible is not None  # only the model's own mask is not built
    shown = around(page.token, length, DRAWN)
    words = {name: page.words(f"draw_{name}") for name in ("label", "corner", "hint", "sees", "hidden")}
    data = {
        "labels": page.look.labels[shown],
        "seen": ["".join("01"[cell] for cell in row) for row in visible[shown, shown].tolist()],
        "blind": [position - shown.start for position in masks.blind(visible)],
        "first": shown.start,
        "colors": {"sees": theme.ROLES["pattern"], "hidden": theme.MASKED},
        "words": words if page.view.present else words | {"menu": page.t("saving.menu")},
    }

    def turn(cells: list[list[int]]) -> None:
        asked = [(query, key) for query, key in cells if 0 <= query < length and 0 <= key < length]
        state.update(within=within, **_change(page, "drawn", masks.flip(flipped, asked)))

    def again() -> None:
        state.update(within=within, **_change(page, "drawn", ()))

    def picture() -> Scene:
        seen, labels = visible[shown, shown].numpy(), page.look.labels[shown]
        return matrix.scene(
            "attention.drawn_mask", words["label"], np.where(seen, 1.0, np.nan), labels, labels, frames=False,
            labels=(labels, labels), axes=(page.t("common.axis_query"), page.t("common.axis_key")), written=False,
            right=matrix.BARE, look="share", site=words["sees"], hidden=words["hidden"],
        )  # fmt: skip

    def known() -> Known:
        if not is_made or page.at("attn.mask") not in page.trace:
            return Known()
        of = page.look
        call = of.call("head", layer=of.layer, head=of.head, matrix="mask", token=of.token)
        return Known(call, (page.at("attn.mask"),))

    key = "attention.mask_cells"
    components.mask(data, key=key, on_pick=turn, on_menu=export_menu.ask(page.name, key))
    export_menu.answer(page, picture, key, own=is_made, known=known)
    row = st.container(horizontal=True, vertical_alignment="center")
    row.button(page.words("draw_again"), key="attention.draw_again", on_click=again, disabled=not flipped)
    if length > DRAWN:
        row.caption(page.words("draw_part", first=shown.start, last=shown.stop - 1))


DOOR = Door("what_if", (section,), CHOICES, "section=what_if", is_alone=True)
