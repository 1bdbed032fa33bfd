"""What would be trained, or why it cannot be; the buttons that begin and end it."""

from __future__ import annotations

from viz_model.app import elements, jobs
from viz_model.app.page import Page
from viz_model.topics.training_lab.sections.run import RUN, buttons
from viz_model.topics.training_lab.sections.settings import chosen
from viz_model.training import lab


def section(page: Page) -> None:
    settings = chosen(page)
    try:
        plan = lab.check(settings)
    except lab.LabError as error:
        refused(page, error)
        buttons(page, RUN, None)
        return
    seconds = lab.estimate(plan.recipe)
    elements.see(
        page,
        "preview" if seconds <= jobs.MOST_SECONDS else "preview_long",
        parameters=f"{plan.n_parameters:,}",
        tokens=f"{plan.n_tokens:,}",
        window=plan.recipe.config.n_context,
        steps=plan.recipe.steps,
        seconds=f"{max(1, round(seconds, -1 if seconds > 20 else 0)):.0f}",
        most=f"{jobs.MOST_SECONDS:.0f}",
    )
    buttons(page, RUN, lambda: (lab.Experiment(plan), settings))


def refused(page: Page, error: lab.LabError) -> None:
    """Why something cannot be trained."""
    elements.see(page, f"refused_{error.problem}", field=f"**{page.words(error.field)}**", allowed=error.allowed)
