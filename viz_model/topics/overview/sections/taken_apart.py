"""The four tabs of this page, and its question."""

from __future__ import annotations

from viz_model.app import elements
from viz_model.app.texts import literal
from viz_model.topics.overview.numbers.views import N_NEXT
from viz_model.topics.overview.sections.run import Run


def formula(run: Run) -> None:
    page = run.page
    shown = ("embed.out", page.at("resid.mid"), page.at("resid.cross"), page.at("resid.out"), "logits", "probs")
    elements.formula(page, *(name for name in shown if name in page.trace))


def hand(run: Run) -> None:
    page, ascent = run.page, run.ascent
    lines = zip(ascent.sites, ascent.values[:, page.token], strict=True)
    steps = "\n".join(f"| {literal(site)} | {value:+.4f} |" for site, value in lines)
    elements.see(page, f"hand_{page.trace.norm_at}", token=page.token_name(), steps=steps)


def code(run: Run) -> None:
    elements.code(run.page, k=N_NEXT)


def numbers(run: Run) -> None:
    sites, norms = run.ascent.stream
    elements.table(run.page, "resid.norms", norms, sites, run.page.token_labels, "norms")


def question(run: Run) -> None:
    two_way = "" if run.page.trace.side == "decoder" else "_two_way"
    elements.question(run.page, f"question{two_way}", f"answer{two_way}")
