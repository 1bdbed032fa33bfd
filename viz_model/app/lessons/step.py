"""One step of a lesson: its text and question beside the page that it shows."""

from dataclasses import dataclass
from typing import Any

import streamlit as st

import viz_model as vm
from viz_model.app import frame, runs, share, sidebar, state
from viz_model.app.frame import Places
from viz_model.app.lessons import asking, shelf
from viz_model.app.lessons import seat as rooms
from viz_model.app.sidebar import Slots
from viz_model.app.view import ViewState
from viz_model.lessons import answers, room
from viz_model.lessons.answers import Given, Outcome, Progress
from viz_model.lessons.keys import Answer
from viz_model.lessons.lesson import Lesson, Step, View, said
from viz_model.runs import edits
from viz_model.texts import Texts


@dataclass(frozen=True)
class Taught:
    """A step that is shown.

    Attributes:
        shown: the page and the query that it pins.
        answer: its key, or why it has none.
    """

    lesson: Lesson
    progress: Progress
    shown: View
    answer: Answer

    @property
    def step(self) -> Step:
        return self.lesson.steps[self.progress.step]

    @property
    def given(self) -> Given:
        return self.progress.of(self.progress.step)

    @property
    def outcome(self) -> Outcome:
        return answers.outcome(self.answer.key, self.given)

    @property
    def is_behind_curtain(self) -> bool:
        """Whether the page waits for an answer."""
        return self.step.guess and self.outcome == "open"


def opened(page: str, pages: dict[str, Any]) -> Taught | None:
    """The step that the address asks for; None outside of a lesson. Opens the step's own page, and pins its run."""
    view = state.current()
    progress = view.lesson
    if progress is None:
        return None
    lesson = shelf.lessons().lessons.get(progress.name)
    if lesson is None or not 0 <= progress.step < len(lesson.steps):
        st.switch_page(pages[frame.DESK], query_params={**progress.query(), "lang": view.lang})
    step = room.allowed(progress)
    shown = lesson.view(step, progress.on, view.lang)
    if shown.page != page or step != progress.step:
        progress = progress.at(step)
        st.switch_page(pages[shown.page], query_params=address(lesson, progress, view.lang))
    _pin(lesson.steps[progress.step], shown)
    return Taught(lesson, progress, shown, shelf.answer(lesson, progress.step, progress.on, view.lang))


def address(lesson: Lesson, progress: Progress, language: str) -> dict[str, str]:
    """The query of the address of a step."""
    return {**lesson.view(progress.step, progress.on, language).query, "lang": language, **progress.query()}


def go(lesson: Lesson, progress: Progress, step: int, language: str) -> None:
    """Open another step on the next run, or beyond the last one the desk, where the lesson ends."""
    there = progress.at(step)
    if 0 <= step < len(lesson.steps):
        frame.lead(lesson.view(step, progress.on, language).page, address(lesson, there, language))
    else:
        frame.lead(frame.DESK, {**there.query(), "lang": language})


def _pin(step: Step, shown: View) -> None:
    """Make the run the step's own, whatever was chosen on the page."""
    view, query = state.current(), shown.query
    pinned: dict[str, Any] = {name: query.get(name) for name in ("text", "target", "to")}
    pinned |= {"model": query["model"], "side": "encoder" if query.get("side") == "encoder" else "decoder"}
    if "edits" not in step.controls:
        pinned["edits"] = edits.parse(query.get("edits", ""))
    changed = {name: value for name, value in pinned.items() if getattr(view, name) != value}
    if "to" in changed and "to" not in query:  # the language that the model begins with is named when it is shown
        del changed["to"]
    if changed:
        state.put(**changed)


def lay_out(reads_pictures: bool) -> Places:
    """The frame of a step: of a model that reads pictures the picture above, the lesson beside the page."""
    picture = frame.field(reads_pictures)
    columns = st.container(horizontal=True, wrap=False, gap="medium", key="lesson_columns")
    # Another name is another element: the same one would stay scrolled where it was.
    progress = state.current().lesson
    panel = columns.container(gap="small", key=f"lesson_panel_{progress.step if progress else 0}")
    return Places(picture, panel, body=columns.container())


def curtain(t: Texts) -> None:
    """In place of the page, until there is an answer."""
    st.info(t("lesson.curtain"), icon=":material/visibility_off:")


def draw(taught: Taught, view: ViewState, lm: vm.LanguageModel, t: Texts) -> Slots:
    """What stands beside the page."""
    lesson, progress, step = taught.lesson, taught.progress, taught.step
    lang, n = t.language, len(lesson.steps)
    rooms.report(lesson, progress, t)
    st.caption(f"{lesson.title[lang]} · {t('lesson.step', n=progress.step + 1, all=n)}")
    st.progress(progress.step / n)
    st.header(step.title[lang], anchor=False)
    config = runs.model(taught.shown.query["model"]).config
    st.markdown(said(step.text[lang], config))
    if step.question is not None and step.ask is not None:
        _question(taught, t)
    _onward(taught, t)
    place = None
    if not taught.is_behind_curtain:
        place = st.container(key="lesson_place") if "heads" in step.controls else None
    with st.container(key="lesson_below", gap="xsmall"):
        _back_to_view(taught, t)
        with st.popover(t("lesson.more"), type="tertiary", icon=":material/more_horiz:", key="lesson_more"):
            sidebar.language(view, t)
        share.door(t)
        st.button(
            t("lesson.leave"),
            key="lesson.leave",
            type="tertiary",
            icon=":material/close:",
            on_click=frame.lead,
            args=(frame.DESK, {"lang": lang}),
        )
    return Slots(place, None)


def _question(taught: Taught, t: Texts) -> None:
    step, given, key, lang = taught.step, taught.given, taught.answer.key, t.language
    assert step.question is not None and step.ask is not None
    config = runs.model(taught.shown.query["model"]).config
    st.markdown(f"**{said(step.ask[lang], config)}**")
    if key is None:
        st.info(t("lesson.cannot_ask", why=t.error(taught.answer.why)), icon=":material/info:")
        return
    outcome = taught.outcome
    if outcome == "open":
        # All that asks is one thing in the place of which what is told comes: each by itself would stand on until the
        # page is drawn, and *Next* would move from under the finger that presses it when they go.
        with st.container(key="lesson_asked", gap="small"):
            if given.tries:
                told = asking.shown(key, given.tries[-1])
                st.warning(t("lesson.not_yet", given=told), icon=":material/close:")
            if step.hint is not None and (given.has_hint or given.tries):
                st.info(f"**{t('lesson.hint')}** {said(step.hint[lang], config)}", icon=":material/lightbulb:")
            asking.ask(key, f"lesson.answer.{taught.progress.name}.{taught.progress.step}", t, _answered(taught))
            with st.container(horizontal=True, gap="small", key="lesson_help"):
                if step.hint is not None and not (given.has_hint or given.tries):
                    _helper(t("lesson.hint_button"), "hint", taught, given._replace(has_hint=True))
                _helper(t("lesson.pass"), "pass", taught, given._replace(has_passed=True))
        return
    for each in given.tries:
        st.caption(f"{t('lesson.you_said')} {asking.shown(key, each)}")
    told = asking.told(key)
    is_skipped = outcome == "passed" and not answers.told(key)
    message = t("lesson.outcome_skipped" if is_skipped else f"lesson.outcome_{outcome}", answer=told)
    if outcome in ("right", "hinted"):
        st.success(message, icon=":material/check:")
    elif outcome == "kept":
        st.info(message, icon=":material/edit:")
    else:
        st.warning(message, icon=":material/close:")
    if step.then is not None:
        st.markdown(said(step.then[lang], config, told))


def _answered(taught: Taught) -> asking.Hear:
    def hear(answer: str) -> None:
        given = taught.given
        state.update(lesson=taught.progress.with_given(given._replace(tries=(*given.tries, answer))))

    return hear


def _helper(label: str, name: str, taught: Taught, given: Given) -> None:
    """A button that changes what was answered."""
    progress = taught.progress.with_given(given)
    st.button(label, key=f"lesson.{name}", on_click=state.update, kwargs={"lesson": progress})


def _onward(taught: Taught, t: Texts) -> None:
    """Back, and on when the question has come out."""
    lesson, progress = taught.lesson, taught.progress
    is_open = taught.step.question is not None and taught.outcome == "open"
    here = progress.step
    waits = not room.may_open(progress, here + 1)
    is_last = here + 1 == len(lesson.steps)
    with st.container(horizontal=True, horizontal_alignment="distribute", key="lesson_onward"):
        st.button(
            t("lesson.back"),
            key="lesson.back",
            icon=":material/arrow_back:",
            disabled=here == 0,
            on_click=go,
            args=(lesson, progress, here - 1, t.language),
        )
        st.button(
            t("lesson.finish" if is_last else "lesson.next"),
            key="lesson.next",
            icon=":material/arrow_forward:",
            type="secondary" if is_open else "primary",
            disabled=is_open or waits,
            on_click=go,
            args=(lesson, progress, here + 1, t.language),
        )
    if waits and not is_open:
        rooms.wait(progress, t)


def _back_to_view(taught: Taught, t: Texts) -> None:
    """The way back to what the step shows, for who has looked elsewhere."""
    if taught.is_behind_curtain:
        return

    def again() -> None:
        state.put(layer=None, head=None, token=None, cell=None)
        go(taught.lesson, taught.progress, taught.progress.step, t.language)

    st.button(t("lesson.view_again"), key="lesson.again", type="tertiary", icon=":material/undo:", on_click=again)
