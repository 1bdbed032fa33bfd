"""Behind a door: the chosen model goes on learning, with a text of the visitor's."""

import streamlit as st

from viz_model.app import elements, runs
from viz_model.app.lab import job
from viz_model.app.lab.settings import TUNE_STEPS, refused
from viz_model.app.page import Page
from viz_model.drawing import digits
from viz_model.texts.markdown import literal, table
from viz_model.topics.training_lab import tuned
from viz_model.topics.training_lab.tuned import LEARNED, RECITED, TUNED
from viz_model.training import lab, tuning

TEXT = "training_lab.tune_text"


def section(page: Page) -> None:
    now = job.current(job.TUNED)
    _offer(page)
    if now is not None:
        job.live(now, lambda: _show(page, now))


def _offer(page: Page) -> None:
    """What would be trained on, and the buttons."""
    lm = runs.model(page.view.model)  # the page's own may lack a part that an edit took
    if not tuning.can_tune(lm):
        elements.see(page, "tune_other", model=literal(runs.label(lm.name)))
        return
    elements.see(page, "tune", model=literal(runs.label(page.view.model)))
    st.session_state.setdefault(TEXT, page.words("tune_example"))
    label, most = page.words("text"), lab.MOST_CHARACTERS
    st.text_area(label, key=TEXT, help=page.words("text_help"), max_chars=most, persist_state="session")
    elements.control(page, TUNE_STEPS, st.slider, *tuning.STEPS, step=10)
    text, steps, name = st.session_state[TEXT], page.chosen(TUNE_STEPS), page.view.model
    try:
        lab.own_text(text)
    except lab.LabError as error:
        refused(page, error)
        job.buttons(page, job.TUNED, None)
        return
    job.buttons(page, job.TUNED, lambda: (tuning.Tuning(lm, text, steps), runs.label(name)))


def _show(page: Page, now: job.Run[tuning.Tuning]) -> None:
    going, words, language = now.experiment, page.words, page.t.language
    job.progress(page, now, going.recipe.steps)
    losses, spoken = tuple(going.losses), tuple(going.spoken)
    if not losses:
        return
    st.markdown(f"#### {words('tuned_title', model=literal(now.settings))}")
    by_text = {name: [getattr(each, name) for each in losses] for name in tuning.TEXTS}
    elements.plot(page, tuned.plot([each.steps for each in losses], by_text, going.recipe.steps, words))
    changes = tuned.changes(losses)
    lines = []
    for name, change in changes.items():
        said = TUNED.says(language, change, **tuned.written(change))
        lines.append((words(f"text_{name}"), f"{going.n_tokens[name]:,}", said))
    st.markdown(table((words(f"tuned_{name}") for name in ("text", "tokens", "axis")), lines, "lrl"))
    if len(spoken) < 2:
        return
    facts = {f"{name}_{when}": told for name, change in changes.items() for when, told in tuned.written(change).items()}
    whole = tuned.summary(changes)
    elements.say(page, LEARNED, whole, **facts)
    elements.say(page, RECITED, whole, **facts)
    _speak(page, going)


def _speak(page: Page, going: tuning.Tuning) -> None:
    """What the model says after the beginning of the text, before and after."""
    before, after = going.spoken[0], going.spoken[-1]
    words, tokenizer = page.words, going.tokenizer
    facts = {"n": len(going.truth), "before": before.n_followed, "after": after.n_followed}
    elements.see(page, "tuned_speaks", prompt=literal(tokenizer.decode(going.prompt)), **facts)
    columns = [words("tuned_before"), words("tuned_after")]
    said = [(when, literal(each.text)) for when, each in zip(columns, (before, after), strict=True)]
    st.markdown(table((words("tuned_when"), words("samples_text")), said, "ll"))
    lines = []
    for id in tuned.leaders(before.probs, after.probs, going.truth[0]):
        mark = f" ← {words('tuned_truth')}" if id == going.truth[0] else ""
        chances = (digits.percent(float(each.probs[id])) for each in (before, after))
        lines.append((literal(tokenizer.token(id).label) + mark, *chances))
    st.markdown(table((words("tuned_next"), *columns), lines, "lrr"))
