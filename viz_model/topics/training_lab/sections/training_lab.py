"""The training lab: choosing a small model, training it in the background, and watching it learn."""

from __future__ import annotations

from typing import Any, NamedTuple

import streamlit as st

from viz_model.app import components, controls, jobs, runs, state
from viz_model.app.stage import Stage
from viz_model.app.texts import literal, row
from viz_model.topics.training_lab.pictures import training
from viz_model.topics.training_lab.pictures.training import RunView
from viz_model.training import lab
from viz_model.training.checkpoint import TrainingError

EVERY_SECONDS = 1.0
_RUN, _KEPT, _BUSY = "training_lab.run", "training_lab.kept", "training_lab.busy"
_N_KEPT = "training_lab.n_kept"


class Run(NamedTuple):
    """This visitor's run: what is trained, and the job that does it."""

    experiment: lab.Experiment
    job: jobs.Job
    settings: lab.Settings


def run() -> Run | None:
    """The visitor's last run, under way or over. It lives in the session alone."""
    found: Run | None = st.session_state.get(_RUN)
    return found


def settings(stage: Stage) -> lab.Settings:
    """The controls, in three columns, and the text to train on."""
    plain, words = lab.Settings(), stage.words
    chosen: dict[str, Any] = {}

    def pick(name: str, show: Any = str) -> None:
        options = list(lab.CHOICES[name])
        chosen[name] = controls.setting(
            stage,
            st.segmented_control,
            name,
            options,
            default=getattr(plain, name),
            required=True,
            wrap=True,
            format_func=show,
        )

    model, training_, regular = st.columns(3, gap="large")
    with model:
        pick("norm_at", {"pre": "Pre-LN", "post": "Post-LN"}.__getitem__)
        chosen["n_layers"] = controls.setting(stage, st.slider, "n_layers", *lab.RANGES["n_layers"], plain.n_layers)
        pick("d_model")
        pick("n_heads")
    with training_:
        chosen["peak_rate"] = controls.setting(
            stage, st.number_input, "peak_rate", value=plain.peak_rate, step=0.001, format="%.4f"
        )
        chosen["warmup"] = controls.setting(stage, st.toggle, "warmup", plain.warmup)
        chosen["steps"] = controls.setting(stage, st.slider, "steps", *lab.RANGES["steps"], plain.steps, 10)
        chosen["tie_embeddings"] = controls.setting(stage, st.toggle, "tie_embeddings", plain.tie_embeddings)
    with regular:
        for name in ("dropout", "label_smoothing"):
            chosen[name] = controls.setting(stage, st.slider, name, *lab.RANGES[name], getattr(plain, name), 0.05)
        pick("source", lambda source: words(f"source_{source}"))
    if chosen["source"] == "own":
        chosen["text"] = controls.setting(stage, st.text_area, "text", height=160, max_chars=lab.MOST_CHARACTERS)
    return lab.Settings(**chosen)


def start(stage: Stage, chosen: lab.Settings) -> None:
    """What would be trained, or why it cannot be; the buttons that begin and end it."""
    try:
        plan = lab.check(chosen)
    except lab.LabError as error:
        stage.see(f"refused_{error.problem}", field=f"**{stage.words(error.field)}**", allowed=error.allowed)
        plan = None
    now = run()
    is_going = now is not None and now.job.ended is None
    if plan is not None:
        seconds = lab.estimate(plan.recipe)
        stage.see(
            "preview" if seconds <= jobs.MOST_SECONDS else "preview_long",
            parameters=f"{plan.n_parameters:,}",
            tokens=f"{plan.n_tokens:,}",
            window=plan.recipe.config.n_context,
            steps=plan.recipe.steps,
            seconds=f"{max(1, round(seconds, -1 if seconds > 20 else 0)):.0f}",
            most=f"{jobs.MOST_SECONDS:.0f}",
        )
    with st.container(horizontal=True):
        st.button(
            stage.words("again" if now else "start"),
            key="training_lab.start",
            type="primary",
            icon=":material/play_arrow:",
            disabled=plan is None,
            on_click=_begin,
            args=(plan, chosen),
        )
        st.button(
            stage.words("stop"),
            key="training_lab.stop",
            icon=":material/stop:",
            disabled=not is_going,
            on_click=_end,
        )
    if st.session_state.pop(_BUSY, False):
        st.warning(stage.words("busy", most=jobs.MOST_JOBS))


def _begin(plan: lab.Plan, chosen: lab.Settings) -> None:
    before, experiment = run(), lab.Experiment(plan)
    try:
        job = jobs.SERVER.start(experiment.steps, jobs.visitor(), before.job if before else None)
    except jobs.Busy:
        st.session_state[_BUSY] = True
        return
    st.session_state[_RUN] = Run(experiment, job, chosen)
    st.session_state[_KEPT] = ()


def _end() -> None:
    if (now := run()) is not None:
        now.job.stop()
        now.job.wait(2)  # so that the page that follows already shows it ended


def watch(stage: Stage) -> None:
    """The run, drawn anew every second while it goes on, and once more when it is over."""
    now = run()
    if now is None:
        stage.see("before")
        return
    is_going = now.job.ended is None

    @st.fragment(run_every=EVERY_SECONDS if is_going else None)
    def live() -> None:
        if is_going and now.job.ended is not None:
            st.rerun()  # the whole page: buttons and tabs speak of a finished run
        _show(stage, now)

    live()


def _show(stage: Stage, now: Run) -> None:
    view, words = RunView.of(now.experiment), stage.words
    planned = len(view.planned)
    st.progress(view.done / planned, text=words("progress", done=view.done, planned=planned))
    _verdict(stage, now, view)
    left, right = st.columns(2, gap="large")
    said = view.facts() if view.done else {}
    with left:
        if view.done:
            st.markdown(f"#### {words(f'loss_title_{view.outcome()}', **said)}")
        else:
            st.markdown(f"#### {words('loss_title')}")
        _draw(training.loss_chart(view, words), "loss")
    with right:
        if view.done:
            st.markdown(f"#### {words('norms_title', **said)}")
        else:
            st.markdown(f"#### {words('norms_title_empty')}")
        _draw(training.norms_chart(view, words), "norms")
    left, right = st.columns(2, gap="large")
    with left:
        rate = "rate_title" if view.warmup else "rate_title_none"
        st.markdown(f"#### {words(rate, warmup=view.warmup, peak=f'{view.planned.max():g}')}")
        _draw(training.rate_chart(view, words), "rate")
    if view.done:
        with right:
            stage.see(f"see_{view.outcome()}", **said)
            if view.overfits():
                stage.see("overfits", **said)
    _samples(stage, now.experiment)


def _draw(chart: training.Chart, name: str) -> None:
    components.curves(chart.header(), chart.numbers(), key=f"training_lab.{name}")


def _verdict(stage: Stage, now: Run, view: RunView) -> None:
    """One line on how the run stands."""
    words, ended = stage.words, now.job.ended
    pace = now.experiment.reports[-1].tokens_per_second if now.experiment.reports else 0
    if ended is None:
        st.caption(words("going", pace=f"{pace:,.0f}") if view.done else words("getting_ready"))
    elif ended == "failed":
        st.error(words("broke", step=view.done + 1) if isinstance(now.job.error, TrainingError) else words("failed"))
    else:
        st.caption(words(f"ended_{ended}", seconds=f"{now.job.seconds:.0f}", done=view.done, pace=f"{pace:,.0f}"))


def _samples(stage: Stage, experiment: lab.Experiment) -> None:
    """How the prompt was continued. Rows to come are there from the start, so that nothing below moves."""
    written = {sample.steps: sample.text for sample in tuple(experiment.samples)}
    planned = len(experiment.plan.rates)
    rows = sorted({*(at for at in lab.SAMPLED_AT if at < planned), planned, *written})
    st.markdown(f"#### {stage.words('samples_title')}")
    st.caption(stage.words("samples_prompt", prompt=literal(experiment.plan.prompt)))
    lines = [f"| {stage.words('samples_step')} | {stage.words('samples_text')} |", "|--:|:--|"]
    lines += [row((str(at), literal(written[at]) if at in written else "…")) for at in rows]
    st.markdown("\n".join(lines))


def explain(stage: Stage) -> None:
    """What the gradients of a run that is over show."""
    now = run()
    if now is None or now.job.ended is None or not now.experiment.reports:
        return
    view = RunView.of(now.experiment)
    said: dict[str, object] = dict(view.facts())
    left, right = st.columns(2, gap="large")
    with left:
        stage.see("gradients" if len(view.blocks) > 1 else "gradients_one", **said)
    with right:
        if len(view.blocks) > 1:
            stage.see(f"gradients_{view.verdict()}", **said)


def keep(stage: Stage) -> None:
    """Make the model, or what it was before, one of this visitor's models."""
    now = run()
    if now is None or now.job.ended is None or not now.experiment.reports:
        return
    stage.see("keep", most=runs.MOST_OWN)
    done = st.session_state.get(_KEPT, ())
    with st.container(horizontal=True):
        for which in ("trained", "untrained"):
            st.button(
                stage.words(f"keep_{which}"),
                key=f"training_lab.keep_{which}",
                icon=":material/bookmark_add:",
                disabled=which in done,
                on_click=_keep,
                args=(stage, now, which),
            )
    if done:
        st.success(stage.words("is_kept", model=literal(runs.label(stage.view.model))))


def _keep(stage: Stage, now: Run, which: str) -> None:
    number = st.session_state.get(_N_KEPT, 0) + 1
    label = stage.words(
        f"label_{which}",
        n=number,
        norm={"pre": "Pre-LN", "post": "Post-LN"}[now.settings.norm_at],
        layers=now.settings.n_layers,
        steps=len(now.experiment.reports),
    )
    name = runs.keep(lambda name: now.experiment.language_model(name, trained=which == "trained"), label)
    st.session_state.update({_N_KEPT: number, _KEPT: (*st.session_state.get(_KEPT, ()), which)})
    state.update(model=name, token=None)


def by_hand(stage: Stage) -> None:
    """One step of AdamW for one weight, in the numbers of the run."""
    now = run()
    if now is None or now.job.ended is None or now.experiment.update is None:
        stage.see("hand_none")
        return
    update = now.experiment.update
    last = len(update.before) - 1
    column = controls.setting(stage, st.number_input, "column", min_value=0, max_value=last, value=0, step=1)
    said = training.by_hand(update, min(max(0, int(column)), last))
    stage.see("hand", **said, watched=literal(lab.WATCHED))


def numbers(stage: Stage) -> None:
    """Every report of the run."""
    now = run()
    if now is None or now.job.ended is None or not now.experiment.reports:
        stage.see("numbers_none")
        return
    stage.records("training", training.columns(now.experiment.reports, now.experiment.held_out, stage.words))
