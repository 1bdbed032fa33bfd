"""Interventions in the view: what was changed, each with a way to take it back, and what it changed."""

from typing import Any, NamedTuple

import numpy as np
import streamlit as st

import viz_model as vm
from viz_model.app import runs, state
from viz_model.app.cache import cached
from viz_model.app.view import ViewState
from viz_model.drawing import chart
from viz_model.drawing.digits import written
from viz_model.drawing.scene import Scene
from viz_model.island.edited import describe
from viz_model.island.page import Words
from viz_model.measures import change
from viz_model.measures.change import UNCHANGED, Firsts
from viz_model.runs import edits
from viz_model.runs.edits import Edit
from viz_model.runs.trace import Trace
from viz_model.texts import Texts
from viz_model.texts.markdown import literal


def names(found: Firsts, run: Trace) -> dict[str, str]:
    """For prose, of one position: both runs' first guess, and the numbers of it."""
    tops = (literal(run.tokenizer.token(int(ids[0])).label) for ids in found.tops)
    said = {name: written(values[0], write) for name, (values, write) in found.facts.items()}
    return dict(zip(("before", "after"), tops, strict=True)) | said


def draw_guesses(found: Firsts, run: Trace, words: Words, id: str) -> Scene:
    """Bars one below the other: the run as it is in gray, the changed run in color."""
    labels = [token.label for token in run.tokenizer.tokens(found.ids[0].tolist())]
    top = max(found.before.max(), found.after.max())
    scale = chart.axis(np.array([top]), write="%0" if top > 0.05 else "%1" if top > 0.005 else "%2")
    bars = _pair(found.before[0], found.after[0], words, "output", "percent")
    return chart.bars(id, words("guesses_alt"), labels, bars, scale, row=27)


def _pair(before: np.ndarray, after: np.ndarray, words: Words, role: str, write: str) -> list[chart.Bars]:
    told = "{{name}}\n{{value}}"
    return [
        chart.Bars(words("before"), before, "residual", f"{told} · {words('before')}", write),
        chart.Bars(words("after"), after, role, f"{told} · {words('after')}", write),
    ]


class PlacesView(NamedTuple):
    """How far two runs lie apart at every position, [T] numbers from 0 up.

    ``measure`` is "divergence", KL in bits between what they predict, or "turn", 1 − cosine of the
    vectors that leave the stack; ``lengths`` [2, T] are those vectors' lengths.
    """

    labels: tuple[str, ...]
    values: np.ndarray
    lengths: np.ndarray
    measure: str
    token: int
    site: str

    def facts(self) -> dict[str, str]:
        """For prose: the selected token's cosine and lengths, and how many positions changed at all."""
        return {
            "turn": f"{1 - self.values[self.token]:.4f}",
            "length_before": f"{self.lengths[0, self.token]:.2f}",
            "length_after": f"{self.lengths[1, self.token]:.2f}",
            "n_changed": str(int((self.values > UNCHANGED).sum())),
            "n": str(len(self.values)),
        }


def draw_places(view: PlacesView, title: str, alt: str, id: str) -> Scene:
    """One bar a token, the selected one's in color; ``title`` names the measure."""
    fill = ["output" if n == view.token else "residual" for n in range(len(view.labels))]
    names = [f"{n}: {label}" for n, label in enumerate(view.labels)]
    look: dict[str, Any] = {"write": "4", "fill": fill, "facts": {"name": names}}
    bars = chart.Bars(title, view.values.astype(np.float32), "output", "{{name}}\n{{value}}", **look)
    # What counts as no change must not fill the picture.
    top = max(float(view.values.max()), 20 * UNCHANGED)
    scale = chart.axis(np.array([top]), title=title)
    return chart.columns(id, alt, view.labels, [bars], scale, height=240)


def draw_written(before: np.ndarray, after: np.ndarray, words: Words, axis: str, head: int) -> Scene:
    """‖what each head writes‖ [H] in two runs: two bars a head, which ``axis`` names; the selected head is framed."""
    heads = [str(h) for h in range(len(before))]
    bars = _pair(before, after, words, "value", "2")
    scale = chart.axis(before, after, title=words("written_length"))
    return chart.bars(
        "attention.written", words("written_alt"), heads, bars, scale, row=24, chosen=head, names_axis=axis
    )


def places_view(before: Trace, after: Trace, token: int) -> PlacesView:
    """Divergence where this stack's positions have predictions of their own, else the turn."""
    found = change.vectors(before, after)
    predicts = "probs" in before
    return PlacesView(
        labels=tuple(token.label for token in before.tokens),
        values=change.divergences(before, after) if predicts else 1 - found.cosines,
        lengths=np.stack([found.before, found.after]),
        measure="divergence" if predicts else "turn",
        token=token,
        site="probs" if predicts else before.leaving,
    )


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
    site = literal(found.first or "")
    if found.first is None:
        text = t("edits.changed_nothing")
    elif found.before is None or found.after is None:
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
