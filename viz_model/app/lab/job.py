"""What this visitor trains: one job at a time, under way or over. It lives in the session alone."""

from collections.abc import Callable
from typing import Any, Generic, NamedTuple, TypeVar

import streamlit as st

from viz_model.app import jobs
from viz_model.app.page import Page
from viz_model.training import lab, tuning
from viz_model.training.checkpoint import TrainingError

RUN, KEPT, TUNED, FORMER = "training_lab.run", "training_lab.kept", "training_lab.tuned", "training_lab.former"
EVERY_SECONDS = 1.0

E = TypeVar("E", lab.Experiment, tuning.Tuning)


class Run(NamedTuple, Generic[E]):
    """What is trained, and the job that does it."""

    experiment: E
    job: jobs.Job
    settings: Any

    @property
    def is_going(self) -> bool:
        return self.job.ended is None

    @property
    def broken(self) -> bool:
        """Whether the loss or its gradient was no number any more."""
        return isinstance(self.job.error, TrainingError)


class Former(NamedTuple):
    """What is left of the training before the last one: the loss of each step, and how it was trained."""

    losses: tuple[float, ...]
    settings: lab.Settings


def former() -> Former | None:
    found: Former | None = st.session_state.get(FORMER)
    return found


def current(key: str = RUN) -> Run[Any] | None:
    """The visitor's last training of a new model, or what was last :data:`TUNED`."""
    last: Run[Any] | None = st.session_state.get(key)
    return last


def finished() -> Run[lab.Experiment] | None:
    """The last training of a new model, once it is over and has come as far as a step."""
    last = current()
    return last if last is not None and not last.is_going and last.experiment.reports else None


def buttons(page: Page, key: str, make: Callable[[], tuple[Any, Any]] | None) -> None:
    """The buttons that begin and end a training; ``make`` gives what is trained and how, None where nothing can be."""
    now = current(key)
    prefix, busy = key.removesuffix(".run"), f"{key}.busy"
    with st.container(horizontal=True):
        st.button(
            page.words("again" if now else "start"),
            key=f"{prefix}.start",
            type="primary",
            icon=":material/play_arrow:",
            disabled=make is None,
            on_click=_begin,
            args=(key, busy, make),
        )
        st.button(
            page.words("stop"),
            key=f"{prefix}.stop",
            icon=":material/stop:",
            disabled=now is None or not now.is_going,
            on_click=_end,
            args=(key,),
        )
    if st.session_state.pop(busy, False):
        st.warning(page.words("busy", most=jobs.MOST_JOBS))


def _begin(key: str, busy: str, make: Callable[[], tuple[Any, Any]]) -> None:
    going = [run.job for run in map(current, (RUN, TUNED)) if run is not None and run.is_going]
    experiment, settings = make()
    try:
        job = jobs.SERVER.start(experiment.steps, jobs.visitor(), *going)
    except jobs.Busy:
        st.session_state[busy] = True
        return
    last = current(key)
    st.session_state[key] = Run(experiment, job, settings)
    if key == RUN:
        if last is not None and last.experiment.reports:
            st.session_state[FORMER] = Former(tuple(one.loss for one in last.experiment.reports), last.settings)
        st.session_state[KEPT] = ()


def _end(key: str) -> None:
    if (now := current(key)) is not None:
        now.job.stop()
        now.job.wait(2)  # so that the page that follows already shows it ended


def live(now: Run[Any], show: Callable[[], None]) -> None:
    """``show`` a training: again every second while it goes on, and once more when it is over."""
    is_going = now.is_going

    @st.fragment(run_every=EVERY_SECONDS if is_going else None)
    def again() -> None:
        if is_going and not now.is_going:
            st.rerun()  # the whole page: buttons and tabs speak of a finished run
        show()

    again()


def progress(page: Page, now: Run[Any], planned: int) -> None:
    """How far a training is, and one line on how it stands."""
    words, ended, reports = page.words, now.job.ended, tuple(now.experiment.reports)
    done, pace = len(reports), f"{reports[-1].tokens_per_second:,.0f}" if reports else "0"
    st.progress(done / planned, text=words("progress", done=done, planned=planned))
    if ended is None:
        st.caption(words("going", pace=pace) if done else words("getting_ready"))
    elif ended == "failed":
        st.error(words("broke", step=done + 1) if now.broken else words("failed"))
    else:
        st.caption(words(f"ended_{ended}", seconds=f"{now.job.seconds:.0f}", done=done, pace=pace))
