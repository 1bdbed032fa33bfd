"""A model that reads pictures: its parts beside those of a text encoder, its parameters, and published sizes."""

from __future__ import annotations

import streamlit as st

from viz_model.app import elements
from viz_model.app.page import Page
from viz_model.app.topic import Door, Layout, Tabs, itself
from viz_model.texts.markdown import literal, row, table
from viz_model.topics.architectures.numbers import parameters


def section(page: Page) -> None:
    """Which parts are as in a text encoder, and which are not."""
    config = page.lm.config
    inputs = config.patches
    patch = inputs.patch
    facts = {
        "patch": patch, "values": inputs.n_values, "d_model": config.d_model, "layers": config.n_layers,
        "heads": config.n_heads, "n": inputs.n_patches, "norm": config.norm_at,
    }  # fmt: skip
    rows = [row([page.words("part"), page.words("of_text"), page.words("of_picture")]), "|---|---|---|"]
    for name in ("input", "first", "positions", "blocks", "mask", "head"):
        cells = (page.words(f"{of}_{name}", **facts) for of in ("name", "text", "picture"))
        rows.append(row(list(cells)))
    st.markdown("\n".join(rows))
    elements.see(page, "see_parts", **facts)


def sizes(page: Page) -> None:
    """Where its parameters are, and how large published models are."""
    counted = parameters.count(page.lm.model)
    total = sum(counted.values())
    rows = [[page.words(f"where_{part}"), f"{n:,}", f"{n / total:.1%}"] for part, n in counted.items() if n]
    rows.append([page.words("where_total"), f"{total:,}", "100%"])
    st.markdown(table([page.words("where_part"), page.words("where_n"), "%"], rows))
    config = page.lm.config
    own = {"layers": config.n_layers, "width": config.d_model, "hidden": config.d_ffn, "heads": config.n_heads}
    elements.see(page, "see_sizes", model=literal(page.view.model), total=f"{total / 1e6:.2f}", **own)


def formula(page: Page) -> None:
    shown = ("patches.projected", "embed.patch", "embed.out", "class.logits")
    elements.formula(page, *(name for name in shown if name in page.trace))


def hand(page: Page) -> None:
    config = page.lm.config
    values, d_model, n = config.patches.n_values, config.d_model, config.n_context
    elements.see(
        page, "hand_vision", values=values, d_model=d_model, projection=f"{values * d_model + d_model:,}", n=n,
        positions=f"{n * d_model:,}",
    )  # fmt: skip


def code(page: Page) -> None:
    elements.code(page, sites=("patches.projected", "embed.patch", "class.logits"))


def numbers(page: Page) -> None:
    weights = [(name, "×".join(map(str, w.shape)), w.numel()) for name, w in page.lm.model.named_parameters()]
    names = (page.words("column_name"), page.words("column_shape"), page.words("column_numbers"))
    elements.records(page, "parameters", dict(zip(names, map(list, zip(*weights, strict=True)), strict=True)))


LAYOUT = Layout(of=itself, sections=(section, Door("sizes", (sizes,))), tabs=Tabs(formula, hand, code, numbers))
