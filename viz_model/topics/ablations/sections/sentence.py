"""One vector of another sentence in this run: how deep does the answer hang on the word's own place?"""

from __future__ import annotations

import numpy as np
import streamlit as st

from viz_model.app import elements, runs, state
from viz_model.drawing import heatmap
from viz_model.runs.edits import PatchResidual
from viz_model.runs.trace import Trace
from viz_model.texts.markdown import literal
from viz_model.tokenizers.text import TextError
from viz_model.topics.ablations import claims
from viz_model.topics.ablations.choices import OTHER, WORD
from viz_model.topics.ablations.numbers import breaking
from viz_model.topics.ablations.pictures import maps
from viz_model.topics.ablations.sections.experiment import Experiment, Facts, Finding, evenly
from viz_model.topics.ablations.sections.lab import Lab

MOST_DEPTHS, MOST_POSITIONS = 9, 10


def _words(lab: Lab) -> list[int]:
    """Positions of whole words of the text, save where the answer is read."""
    own = lab.at.position if lab.at.side == lab.plain.stack.side else -1
    controls = lab.plain.tokenizer.controls
    tokens = enumerate(lab.plain.tokens)
    return [i for i, token in tokens if token.text.strip().isalnum() and token.id not in controls and i != own]


def _word(lab: Lab) -> int:
    """The chosen word; as long as there is none, the one that the answer's place reads most."""
    words, chosen = _words(lab), lab.page.chosen(WORD)
    if chosen in words:
        return chosen
    attention = "attn" if lab.at.side == lab.plain.stack.side else "cross"
    row = breaking.mean_row(lab.plain.at(lab.at.side), lab.at.position, attention)
    return max([i for i in words if i > 0] or words, key=lambda i: float(row[i]))


def _other(lab: Lab) -> str:
    """The other sentence: as it was written, or with the word's neighbour in its place."""
    written = lab.page.chosen(OTHER)
    return written if written is not None else lab.neighbour(_word(lab)) or lab.plain.text or ""


def _missing(lab: Lab) -> str | None:
    if lab.plain.stack.side != lab.plain.config.sides[0]:
        return "patch_source"
    return None if _words(lab) else "no_words"


def _controls(lab: Lab) -> None:
    page, labels = lab.page, lab.labels
    left, right = st.columns([1, 2], gap="large", vertical_alignment="bottom")
    elements.control(
        page,
        WORD,
        left.selectbox,
        _words(lab),
        value=_word(lab),
        format_func=lambda i: f"{i}: {labels[i]}",
        change=lambda word: state.choose(page.name, (WORD, word), (OTHER, None)),
    )
    elements.control(page, OTHER, right.text_input, value=_other(lab))


def _ask(lab: Lab) -> Facts:
    tried = lab.tried
    if isinstance(tried, PatchResidual):
        text = tried.from_text or lab.plain.tokenizer.decode(tried.from_ids or ())
    else:
        text = _other(lab)
    return {"subject": lab.subject, "other": literal(text)}


def _make(lab: Lab, guess: str | None) -> PatchResidual | None:
    text, _ = runs.readable(_other(lab))
    found = _run(lab, text)
    if isinstance(found, str):
        st.warning(found)
        return None
    lab.allow(("patch", text))
    site = lab.plain.full_name(breaking.depth_site(lab.layer + 1))
    return PatchResidual(site=site, position=breaking.differs_at(lab.plain, found)[0], from_text=text)


def _run(lab: Lab, text: str) -> Trace | str:
    """The other run, or why there is none."""
    if not text:
        return lab.words("other_empty")
    try:
        other = runs.trace(lab.page.run_key.plain._replace(text=text)).at(lab.plain.stack.side)
        breaking.differs_at(lab.plain, other)
    except TextError as wrong:
        return lab.page.t.error(wrong)
    except ValueError:
        return lab.words("other_length", n=len(lab.plain))
    return other


def _positions(lab: Lab, swapped: int, patched: int, most: int) -> list[int]:
    """Those that the answer hangs on, and of the others so many, evenly spread."""
    wanted = {swapped, patched, *([lab.at.position] if lab.at.side == lab.plain.stack.side else [])}
    rest = [i for i in range(len(lab.plain)) if i not in wanted]
    return sorted([*wanted, *evenly(rest, max(1, most - len(wanted)))])


def _answer(lab: Lab, edit: PatchResidual, after: Trace) -> Finding:
    facts: Facts = {"subject": lab.subject, "site": literal(edit.site)}
    text = edit.from_text or ""
    other = _run(lab, text)
    if isinstance(other, str) or edit.read_at != edit.position:
        return Finding(None, facts, text="answer_patch_one")
    swapped = breaking.differs_at(lab.plain, other)[0]
    facts |= {"from": literal(other.tokens[swapped].label), "word": lab.token_name(swapped)}
    depths = evenly(range(lab.plain.n_layers + 1), MOST_DEPTHS)
    most = max(2, min(MOST_POSITIONS, lab.affordable(len(depths) * MOST_POSITIONS) // len(depths)))
    positions = _positions(lab, swapped, edit.position, most)
    n = len(depths) * len(positions)
    if not lab.may(key := ("patch", text), n):
        return Finding(None, facts, waits=(key, n), text="answer_patch_one")
    patching = breaking.Patching(
        tuple(depths), tuple(positions), lab.patches(text, depths, positions), positions.index(swapped)
    )
    names, leaves = lab.depths, patching.leaves
    above = np.where(np.isfinite(patching.moved), patching.moved, np.nan)[1:]
    facts |= {
        "distance": lab.amount(breaking.cost(other, lab.plain, lab.at)),
        "leaves": "" if leaves is None else names[leaves],
        "n_layers": lab.plain.n_layers,
        "best": lab.token_name(positions[int(np.nanargmax(above.max(0)))]),
    }
    outcome = claims.PATCH.of(claims.Reach(leaves, lab.plain.n_layers))
    labels = [names[depth] for depth in depths]

    def draw() -> None:
        row = next((n for n, depth in enumerate(depths) if breaking.depth_site(depth) in edit.site), None)
        axes = lab.words("axis_depth"), lab.words("axis_position")
        view = maps.patching_view(patching, lab.labels, labels, axes, row)
        elements.figure(lab.page, heatmap.draw(view, cell=34), "patching", lab.words("patching_alt"))
        st.caption(lab.words("patching_note"))

    table: dict[str, list[object]] = {"": list(labels)}
    table |= {f"{i}: {lab.labels[i]}": patching.moved[:, n].tolist() for n, i in enumerate(positions)}
    return Finding(outcome, facts, draw, table)


SENTENCE = Experiment(
    "patch", PatchResidual, _ask, _make, _answer, missing=_missing, controls=_controls, everywhere=True
)
