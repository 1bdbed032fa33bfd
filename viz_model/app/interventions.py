"""Interventions in the view: what was changed, each with a way to take it back, and what it changed."""

from __future__ import annotations

from typing import NamedTuple

import streamlit as st

import viz_model as vm
from viz_model.app import runs, state
from viz_model.app.cache import cached
from viz_model.app.view import ViewState
from viz_model.island.edited import describe
from viz_model.measures import change
from viz_model.runs import edits
from viz_model.runs.edits import Edit
from viz_model.texts import Texts
from viz_model.texts.markdown import literal


def chips(view: ViewState, t: Texts) -> None:
    """The interventions of the view; a click takes one back, and another all of them."""
    if not view.edits:
        return
    with st.container(horizontal=True, wrap=False, vertical_alignment="center", gap="xsmall"):
        st.markdown(f"**{t('edits.title')}**", help=t("edits.help"))
        _undo("sidebar.reset", t("edits.reset"), ())
    with st.container(horizontal=True, wrap=False, gap="xsmall", key="sidebar_edits"):
        for n, edit in enumerate(view.edits):
            rest = view.edits[:n] + view.edits[n + 1 :]
            st.button(
                describe(edit, t),
                key=f"sidebar.edit.{n}",
                icon=":material/close:",
                help=t("edits.remove"),
                on_click=state.update,
                kwargs={"edits": rest},
            )


def _undo(key: str, label: str, rest: tuple[Edit, ...]) -> None:
    """A button that leaves ``rest`` of the changes."""
    st.button(
        label,
        key=key,
        icon=":material/undo:" if rest else ":material/restart_alt:",
        type="tertiary",
        on_click=state.update,
        kwargs={"edits": rest},
    )


def toggled(view: ViewState, edit: Edit) -> tuple[Edit, ...]:
    """The view's edits with one more, or without it where it is there."""
    return tuple(e for e in view.edits if e != edit) if edit in view.edits else (*view.edits, edit)


class Effect(NamedTuple):
    """What interventions changed at one position; probabilities are None where the model predicts no tokens.

    ``first`` is the first site where the runs differ, None where none does.
    """

    before: tuple[vm.Token, float] | None
    after: tuple[vm.Token, float] | None
    divergence: float
    entropies: tuple[float, float]
    first: str | None


@cached()
def effect(run: runs.RunKey, position: int) -> Effect:
    """The run that was asked for, against the same without interventions."""
    after, before, first = runs.trace(run), runs.trace(run.plain), _first(run)
    if not before.config.has_logits:
        return Effect(None, None, 0.0, (0.0, 0.0), first)
    guesses = change.guesses(before, after, position)
    tops = [each.next_tokens(position, 1)[0] for each in (before, after)]
    return Effect(tops[0], tops[1], guesses.divergence, guesses.entropies, first)


@cached()
def _first(run: runs.RunKey) -> str | None:
    found = change.first(runs.trace(run.plain), runs.trace(run))
    return None if found is None else found.site


_PARTS = {"norm": edits.NoNorm, "residual": edits.NoResidual, "position": edits.NoPosition, "scale": edits.NoScale}


def says(run: runs.RunKey, position: int, t: Texts) -> str:
    """Of an edited run: what it predicts, and what it would have predicted."""
    found = effect(run, position)
    site = t("edits.nowhere") if found.first is None else literal(found.first)
    if found.before is None or found.after is None:
        text = t("edits.changed_vectors", site=site)
    else:
        names = {
            name: f"{literal(token.label)} {share:.1%}"
            for name, (token, share) in (("before", found.before), ("after", found.after))
        }
        low, high = found.entropies
        same = "same" if found.before[0].id == found.after[0].id else "other"
        bits = {"divergence": f"{found.divergence:.2f}", "low": f"{low:.2f}", "high": f"{high:.2f}"}
        text = t(f"edits.changed_{same}", site=site, **names, **bits)
    if missing := [part for part, edit in _PARTS.items() if any(isinstance(e, edit) for e in edits.parse(run.edits))]:
        parts = t("models.comma").join(t(f"edits.part_{part}") for part in missing)
        text += f"\n\n{t('edits.structure', parts=parts)}"
    return text


def banner(run: runs.RunKey, t: Texts) -> None:
    """Above an edited run the ways back; the page says what the change did."""
    with st.container(horizontal=True, gap="small"):
        changes = edits.parse(run.edits)
        if len(changes) > 1:
            _undo("frame.undo", t("edits.undo"), changes[:-1])
        _undo("frame.reset", t("edits.reset" if len(changes) > 1 else "edits.undo"), ())


def fitting(run: runs.RunKey, t: Texts) -> vm.Trace:
    """The run that was asked for; where an edit names a place that is not there, the run without any, and why."""
    try:
        return runs.trace(run)
    except vm.TextError:
        raise
    except ValueError as wrong:
        if not run.edits:
            raise
        st.warning(t("edits.unfit", why=t.error(str(wrong)[:300])))
        return runs.trace(run.plain)
