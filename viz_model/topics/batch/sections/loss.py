"""The loss of a batch: the mean over its real tokens, and what padding would make of it."""

from __future__ import annotations

import numpy as np
import streamlit as st

from viz_model.app import elements
from viz_model.topics.batch.claims import COUNTED, Losses
from viz_model.topics.batch.pictures.tables import draw_tables, loss_view
from viz_model.topics.batch.sections.batched import Batched, sizes
from viz_model.training.batches import IGNORED


def section(batched: Batched) -> None:
    page, run, words = batched.page, batched.run, batched.page.words
    if run.losses is None:
        st.info(words("no_loss"), icon=":material/info:")
        return
    if run.loss is None or run.counted is None:
        st.info(words("nothing_asked"), icon=":material/info:")
        return
    picture, see = elements.split()
    with picture:
        heading = words("losses", shape=sizes("BT", run.losses.shape))
        view = loss_view(heading, batched.names, run.losses, str(IGNORED))
        figure = draw_tables([view], positions=words("position"))
        elements.figure(page, figure, "losses", words("losses_alt"))
        st.caption(words("losses_note", ignored=IGNORED))
    with see:
        n_asked = int(np.isfinite(run.losses).sum())
        facts = {"mean": f"{run.loss:.3f}", "counted": f"{run.counted:.3f}", "n_padding": int(run.beyond.sum())}
        elements.see(page, "loss", n_asked=n_asked, ignored=IGNORED, **facts)
        elements.say(page, COUNTED, Losses(run.loss, run.counted, int(run.beyond.sum())), **facts)
        rows = [f"{each:.3f}" for each in row_means(run.losses) if np.isfinite(each)]
        equal = np.nanmean(row_means(run.losses))
        elements.see(page, "loss_rows", means=page.listed(rows), equal=f"{equal:.3f}", **facts)


def row_means(losses: np.ndarray) -> np.ndarray:
    """The mean of each row [B]; NaN where nothing is asked of it."""
    asked = np.isfinite(losses)
    sums = np.where(asked, losses, 0.0).sum(-1)
    return np.where(asked.any(-1), sums / np.maximum(asked.sum(-1), 1), np.nan)
