"""The training lab below its title: a form, a training that goes on while one watches, and what it left."""

import itertools
from functools import partial

import streamlit as st

from viz_model.app import elements, jobs
from viz_model.app.cache import cached
from viz_model.app.choices import APART, Choice
from viz_model.app.expander import Door
from viz_model.app.lab import settings, tune, watch
from viz_model.app.lab.job import RUN, buttons, current, finished
from viz_model.app.lab.settings import COLUMN, IGNORED, chosen, refused
from viz_model.app.page import Page
from viz_model.texts.markdown import literal, table
from viz_model.topics.training_lab import by_hand
from viz_model.topics.training_lab.ignored import EQUAL, LEFT_OUT, Ignored
from viz_model.training import lab, loop, objective


def _start(page: Page) -> None:
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


def _settings(page: Page) -> None:
    """The form, folded away once something is trained, so that the curves stand right below the button."""
    with st.expander(page.words("settings"), expanded=current() is None):
        settings.draw(page)


def _ignored(page: Page) -> None:
    elements.see(page, "ignored")
    loss = Ignored.of(page.trace, page.chosen(IGNORED))
    if loss is None:
        elements.see(page, "ignored_none")
        return
    most = len(loss.targets) - 1
    if most:
        elements.control(page, IGNORED, st.slider, 0, most, value=loss.n_ignored)
    tokens = page.trace.tokens
    lines = []
    for n, (target, nats) in enumerate(zip(loss.targets, loss.nats, strict=True)):
        asked = n >= loss.n_ignored
        target_name = f"{literal(tokens[n + 1].label)} {target}"
        cells = (target_name, f"{nats:.4f}") if asked else ("**−100**", f"({nats:.4f})")
        lines.append((literal(tokens[n].label), *cells))
    st.markdown(table((page.words(f"ignored_{name}") for name in ("read", "target", "loss")), lines, "lrr"))
    named = {name: f"{getattr(loss, name):.4f}" for name in ("computed", "of_rest", "of_all")}
    elements.say(page, EQUAL, loss, **named, n=len(loss.targets) - loss.n_ignored)
    if loss.n_ignored:
        elements.say(page, LEFT_OUT, loss, **named)


def _formula(page: Page) -> None:
    elements.see(page, "formula")


def _hand(page: Page) -> None:
    """One step of AdamW for one weight, in the numbers of the run."""
    run = finished()
    if run is None or run.experiment.update is None:
        elements.see(page, "hand_none")
        return
    update = run.experiment.update
    last = len(update.before) - 1
    column = min(page.chosen(COLUMN), last)
    elements.control(page, COLUMN, st.number_input, 0, last, value=column, step=1)
    elements.see(page, "hand", **by_hand.by_hand(update, column), watched=literal(lab.WATCHED))


def _code(page: Page) -> None:
    elements.code(page)


def _numbers(page: Page) -> None:
    """Every report of the run."""
    run = finished()
    if run is None:
        elements.see(page, "numbers_none")
        return
    elements.records(page, "training", by_hand.columns(run.experiment.reports, run.experiment.held_out, page.words))


@cached()
def _first_loss(settings: lab.Settings) -> float:
    """The loss of the model as it is drawn, in nats a token, on the held-out text that runs are measured on."""
    plan = lab.check(settings)
    held_out = itertools.islice(plan.data.held_out("text"), loop.LOGGED_BATCHES)
    return objective.measure(loop.new_model(plan.recipe), held_out, plan.data.tokenizer).nats_per_token


def _question(page: Page) -> None:
    """What does the model know before its first step? And what there is to find out."""
    words, config = page.words, chosen(page)
    try:
        n_vocab = lab.check(config).recipe.config.n_vocab
    except lab.LabError:  # of these settings there is no model
        return
    even = lab.guessing(n_vocab)
    offered = {str(n): even * n / 2 for n in (0, 1, 2, 4)}
    named = {name: words("guess_about", nats=f"{nats:.1f}") for name, nats in offered.items()}
    st.markdown(f"**{page.t('common.guess')}** {words('guess')}")
    guess = st.segmented_control(
        words("guess"), list(named), format_func=named.__getitem__, key="training_lab.guessed",
        label_visibility="collapsed",
    )  # fmt: skip
    if guess is not None:
        loss = _first_loss(config)
        right = min(offered, key=lambda name: abs(offered[name] - loss))
        verdict = page.t(f"common.guess_{'right' if guess == right else 'wrong'}")
        st.markdown(f"{verdict} {words('guess_found', loss=f'{loss:.2f}', even=f'{even:.2f}', n=f'{n_vocab:,}')}")


def _to_try(page: Page) -> None:
    st.markdown(f"**{page.t('common.try_it')}** {page.prose('question')}")
    with st.expander(page.t("common.answer")):
        st.markdown(page.prose("answer"))


class _Open(Door):
    """What is no door: it stands there open."""

    @property
    def opened_by(self) -> dict[str, Choice[bool]]:
        return {}

    def draw(self, page: Page) -> None:
        for section in self.sections:
            section(page)


class _Tabs(Door):
    """The four tabs, which are of the visitor's training and not of the run that a page reads."""

    @property
    def choice(self) -> Choice[bool]:
        return APART

    def draw(self, page: Page) -> None:
        label = f"**{page.t('common.apart')}** · {page.t('common.apart_line')}"
        parts = (partial(part, page) for part in (_formula, _hand, _code, _numbers))
        elements.door(page, self.choice, label, partial(elements.four_tabs, page, *parts))


DOORS: tuple[Door, ...] = (
    _Open("train", (_start, _settings, watch.section, watch.gradients, watch.keep), (*settings.SETTINGS, COLUMN)),
    Door("tune", (tune.section,), (settings.TUNE_STEPS,)),
    Door("ignored", (_ignored,), (IGNORED,)),
    _Tabs("tabs", ()),
    _Open("question", (_question, _to_try)),
)
