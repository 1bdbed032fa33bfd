"""The four tabs, and the question."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import streamlit as st

from viz_model.app import elements
from viz_model.app.elements import Answer, Guess
from viz_model.drawing import theme
from viz_model.drawing.writing import percent
from viz_model.texts.markdown import literal, table
from viz_model.topics.batch.sections import norms
from viz_model.topics.batch.sections.batched import Batched


def formula(batched: Batched) -> None:
    page = batched.page
    elements.see(page, "formula")
    names = ("embed.token", "logits") if "logits" in page.trace else ("embed.token",)
    elements.formula(page, *names)


def hand(batched: Batched) -> None:
    """The mean of the losses, row by row, and one number by both norms."""
    page, run, words = batched.page, batched.run, batched.page.words
    if run.losses is not None and run.loss is not None:
        asked = np.isfinite(run.losses)
        sums, counts = np.where(asked, run.losses, 0.0).sum(-1), asked.sum(-1)
        lines = []
        for name, line, total, n in zip(batched.names, run.losses, sums, counts, strict=True):
            known = [f"{each:.3f}" for each in line if np.isfinite(each)]
            terms = " + ".join(known if len(known) <= 8 else [*known[:6], "…", known[-1]])
            lines.append([name, f"{terms} = **{total:.3f}**" if known else "–", str(n)])
        st.markdown(table((words(f"hand_{name}") for name in ("row", "sum", "count")), lines, "lrr"))
        facts = {"sums": " + ".join(f"{each:.3f}" for each in sums), "counts": " + ".join(map(str, counts))}
        elements.see(page, "hand_loss", **facts, total=f"{sums.sum():.3f}", n=counts.sum(), mean=f"{run.loss:.3f}")
    given = norms.of(batched)
    x, d = given.x[given.feature], given.feature
    facts = {"token": batched.token_name, "d": str(d), "x": f"{x:.4f}", "layer": str(page.view.layer)}
    for kind, moments, made in (
        ("own", given.own_moments, given.layer[0][d]),
        ("feature", given.feature_moments, given.batch[0][d]),
    ):
        facts |= {f"{kind}_mean": theme.signed(moments[0]), f"{kind}_deviation": f"{moments[1]:.4f}"}
        facts[f"{kind}_made"] = f"{made:.4f}"
    n_vectors = sum(map(len, given.vectors))
    elements.see(page, "hand_norms", **facts, width=given.x.size, n_vectors=n_vectors)


def code(batched: Batched) -> None:
    rows, sides = batched.rows, batched.page.lm.config.sides
    ids = [list(row.ids(sides[0])) for row in rows]
    if len(sides) == 1:
        elements.code(batched.page, ids=ids)
    else:
        targets = [list(row.ids("decoder")) for row in rows]
        elements.code(batched.page, "batch_translated", ids=ids, targets=targets)


def numbers(batched: Batched) -> None:
    page, run = batched.page, batched.run
    columns = [str(n) for n in range(run.ids.shape[1])]
    elements.table(page, "ids", run.ids, batched.names, columns, "ids")
    elements.table(page, "attention_mask", 1 - run.padding.astype(int), batched.names, columns, "attention_mask")
    if run.losses is not None:
        places = [str(n) for n in range(run.losses.shape[1])]
        elements.table(page, "losses", run.losses, batched.names, places, "losses")
    headings = (page.words("hand_row"), page.words("alone_gap"), page.words("open_gap"))
    records = (batched.names, run.gaps.tolist(), run.open_gaps.tolist())
    st.markdown(page.words("gaps", output=literal("output")))
    elements.records(page, "gaps", dict(zip(headings, records, strict=True)))


def question(batched: Batched) -> None:
    padding = batched.run.padding
    counts = {"n_padding": int(padding.sum()), "n": padding.size}
    guess = _guess(batched, float(padding.mean()), counts)
    elements.question(batched.page, guess=guess, in_this_run="here", **counts, share=percent(float(padding.mean())))


def _guess(batched: Batched, share: float, counts: Mapping[str, int]) -> Guess:
    """How much of the rectangle is padding; what is offered beside it lies at least a tenth of the rectangle away."""
    page, n = batched.page, round(100 * share)
    others = sorted((other for other in range(0, 100, 15) if abs(other - n) >= 10), key=lambda other: abs(other - n))
    options = {str(option): f"{option}%" for option in sorted({n, *others[:3]})}
    said = page.words("guess_found", **counts, share=percent(share))
    return Guess(page.words("guess", rows=len(batched.keys)), options, lambda: Answer(str(n), said))
