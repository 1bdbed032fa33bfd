"""This visitor's run: under way or over, it lives in the session alone."""

from __future__ import annotations

from typing import NamedTuple

import streamlit as st

from viz_model.app import jobs
from viz_model.training import lab

RUN, KEPT = "training_lab.run", "training_lab.kept"


class Run(NamedTuple):
    """What is trained, and the job that does it."""

    experiment: lab.Experiment
    job: jobs.Job
    settings: lab.Settings


def current() -> Run | None:
    """The visitor's last run."""
    last: Run | None = st.session_state.get(RUN)
    return last


def finished() -> Run | None:
    """The same, once it is over and has come as far as a step."""
    last = current()
    is_over = last is not None and last.job.ended is not None and last.experiment.reports
    return last if is_over else None
