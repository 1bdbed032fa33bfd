"""The four tabs of this page, and its question."""

from __future__ import annotations

from viz_model.app import elements
from viz_model.app.texts import literal
from viz_model.topics.cross_attention import numbers as cross
from viz_model.topics.cross_attention.choices import MASK
from viz_model.topics.cross_attention.numbers.by_hand import by_hand
from viz_model.topics.cross_attention.pictures.steps import STEPS, steps_table
from viz_model.topics.cross_attention.sections import decoding
from viz_model.topics.cross_attention.sections.weights import Weights


def formula(weights: Weights) -> None:
    page = weights.page
    elements.see(page, "formula")
    own = [name for name in _sites(weights) if not name.endswith(("norm.mean", "norm.scale"))]
    elements.formula(page, *own, page.at("resid.cross"))


def hand(weights: Weights) -> None:
    """One reading worked out from its parts, beside what was recorded."""
    page, config, view = weights.page, weights.page.lm.config, weights.page.view
    row = page.trace.head(page.at("cross.pattern"), view.head)[page.token].numpy()
    # The reading is one head's, whichever weights the page shows.
    facts = {
        **weights.facts,
        **by_hand(page.trace, view.layer, view.head, page.token),
        "key": literal(weights.source[cross.focus(row).strongest]),
        "group": config.kv_head(view.head),
        "shared_by": config.n_heads // config.n_kv_heads,
    }
    sections = [
        "hand",
        "hand_grouped" if config.n_kv_heads < config.n_heads else "",
        "hand_normed" if config.qk_norm else "",
        "hand_scaled" if config.scale_scores else "hand_unscaled",
        "hand_softmax",
        "hand_biased" if config.attention_bias else "hand_unbiased",
        f"hand_{page.trace.norm_at}",
        "hand_check",
    ]
    for section in filter(None, sections):
        elements.see(page, section, **facts)


def code(weights: Weights) -> None:
    first = weights.page.at("cross.pattern")
    elements.code(weights.page, sites=(first, *(name for name in _sites(weights) if name != first)))


def numbers(weights: Weights) -> None:
    page, view, source = weights.page, weights.page.view, weights.source
    pattern_site, target = page.at("cross.pattern"), cross.target_labels(page.trace)
    elements.table(page, pattern_site, weights.pattern, target, source, "pattern")
    steps = cross.steps(page.trace, view.layer, view.head, page.token, padded=page.chosen(MASK) == "padding")
    name = f"{page.at('cross.steps')}[{view.head}, {page.token}]"
    elements.table(page, name, *steps_table(steps, weights.labels("step", STEPS), source), "steps")
    elements.records(page, "decoding", decoding.table(weights))


def question(weights: Weights) -> None:
    elements.question(weights.page)


def _sites(weights: Weights) -> tuple[str, ...]:
    """The values of cross-attention in the selected layer."""
    page = weights.page
    return tuple(name for name in page.trace.sites if name.startswith(page.at("cross.")))
