"""The page of experiments: a question, a guess, one press, and what was measured."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import streamlit as st

from viz_model.app import controls, interventions, runs, state
from viz_model.app.stage import Stage
from viz_model.app.texts import literal
from viz_model.drawing import heatmap
from viz_model.drawing.writing import percent
from viz_model.runs.trace import Trace
from viz_model.topics.ablations.numbers import breaking
from viz_model.topics.ablations.pictures import ablations as pictures
from viz_model.topics.ablations.pictures import change
from viz_model.topics.ablations.sections.experiments import EXPERIMENTS, Experiment, Finding, Lab

_CHOSEN, _SEEN = "ablations.experiment", "ablations.seen"


def lab(stage: Stage) -> Lab:
    """The page with the run as it is beside the one that it shows."""
    plain = runs.trace(stage.asked.plain).at(stage.trace.stack.side)
    return Lab(stage, plain, breaking.place(plain, min(stage.token, len(plain) - 1)))


def belongs(lab: Lab) -> Experiment | None:
    """The experiment that the view's only change belongs to."""
    if (edit := lab.tried) is None:
        return None
    return next((each for each in EXPERIMENTS.values() if each.fits(lab, edit)), None)


def choose(lab: Lab) -> Experiment:
    """Which experiment; that of the address, where the address has one."""
    edits = lab.stage.trace.edits
    if st.session_state.get(_SEEN) != edits:
        st.session_state[_SEEN] = edits
        if found := belongs(lab):
            st.session_state[_CHOSEN] = found.name
    first = next(name for name, each in EXPERIMENTS.items() if name == "head" or each.missing(lab) is None)
    return EXPERIMENTS[controls.choose(lab.stage, "experiment", list(EXPERIMENTS), first)]


def ask(lab: Lab, experiment: Experiment) -> Finding | None:
    """The question with its guesses and its button, and the answer once it was tried."""
    stage, name = lab.stage, experiment.name
    edits = stage.trace.edits
    tried = lab.tried if belongs(lab) is experiment else None
    st.subheader(stage.words(f"title_{name}"), anchor=False)
    if why := experiment.missing(lab):
        st.info(stage.words(f"missing_{why}"), icon=":material/info:")
        return None
    if tried is None:
        experiment.controls(lab)
    left, right = st.columns(2, gap="large")
    with left:
        stage.see(f"question_{name}", **experiment.ask(lab))
        guess = _guess(lab, experiment)
        with st.container(horizontal=True, vertical_alignment="center"):
            pressed = st.button(
                stage.words("again" if tried else "try"),
                key="ablations.try",
                type="secondary" if tried else "primary",
                icon=":material/science:",
                disabled=tried is not None,
            )
            st.button(
                stage.words("undo"),
                key="ablations.undo",
                icon=":material/restart_alt:",
                type="tertiary",
                disabled=not edits,
                on_click=state.update,
                kwargs={"edits": ()},
            )
        if edits and tried is None:
            st.caption(stage.words("replaces", changes=", ".join(interventions.describe(e, stage.t) for e in edits)))
    if pressed:
        _try(lab, experiment, guess)
    if tried is None:
        with right:
            experiment.before(lab)
        return None
    with left:
        finding = experiment.answer(lab, tried, stage.trace)
        if finding.outcome is not None:
            st.markdown(_verdict(lab, experiment, guess, finding.outcome))
        stage.see(finding.told, **finding.facts)
        stage.see(f"why_{name}", **finding.facts)
    with right:
        finding.draw()
    return finding


def _try(lab: Lab, experiment: Experiment, guess: str | None) -> None:
    edit = experiment.make(lab, guess)
    if edit is None:
        st.warning(lab.stage.words("cannot"))
        return
    st.session_state["ablations.pressed_patch"] = getattr(edit, "from_text", None)
    state.put(edits=(edit,))
    st.rerun()


def _guess(lab: Lab, experiment: Experiment) -> str | None:
    """What the visitor expects, of the options."""
    stage, options = lab.stage, experiment.choices(lab)
    key = f"ablations.guess.{experiment.name}"
    if st.session_state.get(key) not in (*options, None):
        del st.session_state[key]
    chosen: str | None = st.pills(
        stage.words("guess"),
        list(options),
        key=key,
        format_func=lambda option: stage.words(f"guess_{experiment.name}_{option}"),
        wrap=True,
        persist_state="session",
    )
    return chosen


def _verdict(lab: Lab, experiment: Experiment, guess: str | None, outcome: str) -> str:
    words = lab.stage.words
    right = words(f"guess_{experiment.name}_{outcome}")
    if guess is None:
        return words("verdict_none", right=right)
    return words("verdict_right" if guess == outcome else "verdict_wrong", right=right)


def compare(lab: Lab) -> None:
    """The run as it is and the changed one side by side: what they expect, and where they differ."""
    stage = lab.stage
    if not stage.trace.edits:
        return
    st.divider()
    left, right = st.columns(2, gap="large")
    after = stage.trace
    with left:
        if lab.plain.config.has_logits:
            _guesses(lab, after)
        else:
            found = breaking.cost(lab.plain, after, lab.at)
            st.markdown(f"**{stage.words('vectors_title', amount=lab.amount(found.amount))}**")
            places = change.PlacesView.of(lab.plain, after, lab.token)
            stage.figure(change.draw_places(places, stage.words("turn")), "places", stage.words("places_alt"))
    with right:
        _spread(lab, after)


def _guesses(lab: Lab, after: Trace) -> None:
    stage = lab.stage
    was, now = (run.at(lab.at.side) for run in (lab.plain, after))
    view = change.GuessesView.of(was, now, lab.at.position)
    facts = view.facts()
    titles = {
        "before": literal(view.labels[view.best[0]]),
        "after": literal(view.labels[view.best[1]]),
        "token": literal(was.tokens[lab.at.position].label),
        **facts,
    }
    st.markdown(f"**{stage.words(f'guesses_{view.outcome}', **titles)}**")
    names = {name: stage.words(f"series_{name}") for name in ("before", "after")}
    stage.figure(change.draw_guesses(view, names), "guesses", stage.words("guesses_alt"))
    stage.see("compare", **facts)


def _spread(lab: Lab, after: Trace) -> None:
    """The map of differences by depth and position."""
    stage = lab.stage
    found = interventions.effect(stage.asked, lab.at.position)
    key = "spread_nowhere" if found.first is None else "spread_title"
    st.markdown(f"**{stage.words(key, site=literal(found.first or ''))}**")
    axes = stage.words("axis_depth"), stage.words("axis_position")
    spread = pictures.spread_view(lab.plain, after, lab.token, axes, lab.depths(lab.plain.n_layers))
    stage.figure(heatmap.draw(spread.view, cell=26), "spread", stage.words("spread_alt"))
    if spread.stop - spread.first < spread.n:
        st.caption(stage.words("spread_part", first=spread.first, last=spread.stop - 1, n=spread.n))
    stage.see("spread")


# The tabs


def formula(lab: Lab, experiment: Experiment) -> None:
    lab.stage.see(f"formula_{experiment.name}")
    lab.stage.see("formula_logits" if lab.plain.config.has_logits else "formula_vectors")


def hand(lab: Lab) -> None:
    """The divergence of the two predictions, by its largest terms."""
    stage = lab.stage
    if not stage.trace.edits:
        stage.see("hand_nothing")
    elif not lab.plain.config.has_logits:
        found = pictures.turn_by_hand(lab.plain, stage.trace, lab.token)
        stage.see("hand_vectors", token=lab.token_name(lab.token), **found)
    else:
        before, after = breaking.probabilities(lab.plain, stage.trace, lab.at)
        labels = _Labels(lab.plain)
        stage.see("hand", **pictures.divergence_by_hand(before, after, labels))


class _Labels(Sequence[str]):
    """Tokens of the vocabulary for prose, made as they are asked for."""

    def __init__(self, trace: Trace) -> None:
        self._tokenizer, self._size = trace.tokenizer, trace.config.n_vocab

    def __len__(self) -> int:
        return self._size

    def __getitem__(self, id: Any) -> Any:
        return literal(self._tokenizer.token(int(id)).label)


def code(lab: Lab) -> None:
    lab.stage.code()


def numbers(lab: Lab, finding: Finding | None) -> None:
    """The measure, and the first guesses of both runs."""
    stage = lab.stage
    if finding is not None and finding.table:
        names = {key: _column(lab, key) for key in finding.table}
        stage.records("experiment", {names[key]: values for key, values in finding.table.items()})
    if lab.plain.config.has_logits:
        was, now = (run.at(lab.at.side) for run in (lab.plain, stage.trace))
        view = change.GuessesView.of(was, now, lab.at.position)
        columns = {stage.words("column_token"): list(view.labels)}
        for key, values in (("before", view.before), ("after", view.after)):
            columns[stage.words(f"series_{key}")] = [percent(value) for value in values]
        stage.records("guesses", columns)
    elif finding is None:
        st.caption(stage.words("no_numbers"))


def _column(lab: Lab, key: str) -> str:
    known = ("before", "after", "attn", "cross", "ffn", "cost")
    return lab.stage.words(f"series_{key}") if key in known else key or lab.stage.words("column_place")
