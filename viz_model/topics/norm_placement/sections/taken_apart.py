"""The four tabs of this page, and its question."""

from __future__ import annotations

from viz_model.app import elements
from viz_model.topics.norm_placement.numbers import views
from viz_model.topics.norm_placement.pictures import look
from viz_model.topics.norm_placement.sections.comparison import Comparison
from viz_model.topics.norm_placement.sections.sentence import depth_of
from viz_model.topics.norm_placement.sections.warmup import warmup_view


def formula(shown: Comparison) -> None:
    elements.see(shown.page, "formula", **shown.values({}))
    elements.formula(shown.page, *shown.sites("attn.norm.out", "resid.mid", "resid.cross", "resid.out"))


def hand(shown: Comparison) -> None:
    page = shown.page
    elements.see(page, "hand", **shown.values({}))
    for place, worked in views.by_hand(shown.traces, page.view.layer, page.token).items():
        is_other = place == "post" and not shown.sets_length
        elements.see(page, f"hand_{place}{'_other' if is_other else ''}", **worked)


def code(shown: Comparison) -> None:
    elements.code(shown.page, layer=shown.page.view.layer)


def numbers(shown: Comparison) -> None:
    page, depth = shown.page, depth_of(shown)
    kinds = range(4 if depth.untrained else 3)
    columns = [f"{look.NAMES[place]}: {page.words(f'column_{n}')}" for place in shown.traces for n in kinds]
    elements.table(page, "residual-stream", depth.table(), depth.sites, columns, "depth")
    elements.records(page, "warmup-runs", warmup_view().table())


def question(shown: Comparison) -> None:
    end = "_post" if shown.own == "post" and shown.alone else ""
    elements.question(shown.page, f"question{end}", f"answer{end}")
