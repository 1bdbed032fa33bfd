"""The four tabs of this page, and its question."""

from __future__ import annotations

import numpy as np

from viz_model.app import elements
from viz_model.app.elements import Guess, Worked
from viz_model.app.page import Page
from viz_model.drawing.writing import percent
from viz_model.texts.markdown import literal
from viz_model.topics.attention import apart as by_hand
from viz_model.topics.cross_attention import numbers as cross
from viz_model.topics.cross_attention.numbers.steps import steps_view
from viz_model.topics.cross_attention.sections import decoding
from viz_model.topics.cross_attention.sections.one_token import steps_of
from viz_model.topics.cross_attention.sections.weights import Weights


def formula(weights: Weights) -> None:
    page = weights.page
    elements.see(page, "formula")
    own = [name for name in _sites(weights) if not name.endswith(("norm.mean", "norm.scale"))]
    elements.formula(page, *own, page.at("resid.cross"))


def hand(weights: Weights) -> None:
    """One reading worked out from its parts: the head's, whichever weights the page shows."""
    page, config, view = weights.page, weights.page.lm.config, weights.page.view
    steps = steps_view(page.trace, view.layer, view.head, page.token, "cross")
    key, group = int(steps.pattern.argmax()), config.kv_head(view.head)
    shared = (f"{page.text_key}.hand_grouped",) if config.n_kv_heads < config.n_heads else ()
    numbers = [
        Worked((f"{page.text_key}.hand_key", *shared), page.at("cross.k"), (group, key, 0)),
        *by_hand.parts(page.trace, view.layer, view.head, page.token, key, "cross"),
        Worked((f"{page.text_key}.hand_{page.trace.norm_at}",), page.at("resid.cross"), (page.token, 0)),
    ]
    facts = {"key": literal(weights.source[key]), "group": group, "d_head": config.d_head, "n_seen": steps.n_seen}
    elements.see(page, "hand", **{**weights.facts, **facts})
    elements.worked(page, numbers, shared_by=config.n_heads // config.n_kv_heads, **facts)


def code(weights: Weights) -> None:
    first = weights.page.at("cross.pattern")
    elements.code(weights.page, sites=(first, *(name for name in _sites(weights) if name != first)))


def numbers(weights: Weights) -> None:
    page, view, source = weights.page, weights.page.view, weights.source
    pattern_site, target = page.at("cross.pattern"), cross.target_labels(page.trace)
    elements.table(page, pattern_site, weights.pattern, target, source, "pattern")
    steps = steps_of(weights.page)
    rows = {**steps.rows(), "weighted": steps.fetched}
    names = tuple(page.words(f"step_{key}") for key in rows)
    name = f"{page.at('cross.steps')}[{view.head}, {page.token}]"
    elements.table(page, name, np.stack(list(rows.values())), names, source, "steps")
    elements.records(page, "decoding", decoding.table(weights))


def question(weights: Weights) -> None:
    elements.question(weights.page, guess=_guess)


def _guess(page: Page) -> Guess | None:
    """Which source token the chosen one reads most, over all layers and heads."""
    every = np.stack([cross.patterns(page.trace, layer)[:, page.token] for layer in range(page.trace.n_layers)])
    shares = every.mean((0, 1))
    sources = elements.of_tokens(page, cross.source_labels(page.trace), lambda n: float(shares[n]))
    counts = {"token": page.token_name(), "n": every.shape[0] * every.shape[1]}
    return elements.largest(page, sources, percent, **counts)


def _sites(weights: Weights) -> tuple[str, ...]:
    """The values of cross-attention in the selected layer."""
    page = weights.page
    return tuple(name for name in page.trace.sites if name.startswith(page.at("cross.")))
