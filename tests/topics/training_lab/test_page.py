"""The page of the training lab: it refuses, trains, shows, and keeps a model for its visitor alone."""

from __future__ import annotations

import re
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import streamlit as st
from app_driver import open_page, plots, run_code
from streamlit.testing.v1 import AppTest

from viz_model.app import jobs, runs
from viz_model.app.jobs import Jobs
from viz_model.app.lab import job as part
from viz_model.texts import Texts
from viz_model.topics.training_lab.by_hand import by_hand
from viz_model.topics.training_lab.course import Course, Gradients
from viz_model.training import lab, samples
from viz_model.training.checkpoint import TrainingError

pytestmark = pytest.mark.full

TEXT = " ".join(samples.stories("en", 4))
SMALL = {"n_layers": 1, "d_model": 32, "n_heads": 2, "steps": 20, "peak_rate": 0.01, "source": "own", "text": TEXT}
SOON = 60.0


@pytest.fixture(autouse=True)
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[Jobs]:
    """Places of the test's own, empty at its end."""
    found = Jobs(jobs.MOST_JOBS)
    monkeypatch.setattr(jobs, "SERVER", found)
    yield found
    for job in tuple(found._running):
        job.stop()
        assert job.wait(SOON)


def open_lab(lang: str = "en", **chosen: Any) -> AppTest:
    app = AppTest.from_file(f"{open_page.__globals__['ROOT']}/app.py", default_timeout=120)
    app.query_params["lang"] = lang
    settings = SMALL | chosen
    app.session_state["training_lab.text"] = settings.pop("text")
    for name, value in settings.items():
        app.query_params[name] = str(value)
    app.switch_page("pages/training_lab.py").run()
    assert not app.exception, app.exception[0].message
    return app


def click(app: AppTest, name: str) -> AppTest:
    app.button(key=f"training_lab.{name}").click().run()
    assert not app.exception, app.exception[0].message
    return app


def train(app: AppTest) -> AppTest:
    """Press the button, wait for the end, and look."""
    click(app, "start")
    assert run_of(app).job.wait(SOON)
    app.run()
    assert not app.exception, app.exception[0].message
    return app


def run_of(app: AppTest) -> part.Run[lab.Experiment]:
    return app.session_state["training_lab.run"]


def said(app: AppTest) -> str:
    parts = (*app.markdown, *app.caption, *app.warning, *app.error, *app.success, *app.info)
    return "\n".join(str(one.value) for one in parts)


def offered(app: AppTest) -> list[str]:
    return list(app.selectbox(key="sidebar.model").options)


@pytest.mark.parametrize("lang", ["en", "zh"])
def test_a_run_from_the_first_look_to_its_numbers(lang: str) -> None:
    app = open_lab(lang)
    assert not app.button(key="training_lab.start").disabled and app.button(key="training_lab.stop").disabled
    assert "{{" not in said(app) and not plots(app)
    train(app)
    assert run_of(app).job.ended == "done" and "{{" not in said(app)
    table = next(frame.value for frame in app.dataframe)
    reports = run_of(app).experiment.reports
    assert len(table) == len(reports) == 20
    losses = [report.loss for report in reports]
    np.testing.assert_allclose(table.iloc[:, 1], losses, atol=1e-4)
    drawn, words = plots(app)["training_lab.loss"], Texts(lang).labels("training_lab")
    held_out = run_of(app).experiment.held_out
    np.testing.assert_allclose(drawn[words["held_out"]], [measured.loss for measured in held_out], rtol=1e-5)
    np.testing.assert_allclose(drawn[words["train"]], losses, rtol=1e-5)


def test_prose_and_work_by_hand_are_of_this_run() -> None:
    app = train(open_lab(n_layers=2))
    course, norms = (numbers.of(run_of(app).experiment).facts() for numbers in (Course, Gradients))
    text = said(app)
    assert course["held_last"] in text and norms["low"] in text and f"{norms['clipped']} of 20 steps" in text
    update = run_of(app).experiment.update
    assert update is not None and by_hand(update, 0)["computed"].replace("-", "−") in text
    # A power of a number that itself ends in a power is no LaTeX.
    assert "10^{" in said(app) and not re.search(r"10\^\{-?\d+\}\^", said(app))
    app.number_input(key="training_lab.column").set_value(5).run()
    assert by_hand(update, 5)["computed"].replace("-", "−") in said(app)


@pytest.mark.parametrize(
    ("field", "value", "label"),
    [
        ("peak_rate", -1.0, "Learning rate"),
        ("peak_rate", 1000.0, "Learning rate"),
        ("text", "", "Your text"),
        ("text", "cat", "Your text"),
    ],
)
def test_what_cannot_be_trained_is_refused_by_name(field: str, value: Any, label: str) -> None:
    app = open_lab(**{field: value})
    assert app.button(key="training_lab.start").disabled
    assert label in next(one.value for one in app.markdown if ":orange[" in one.value)


def test_before_the_first_step_the_model_finds_all_tokens_alike() -> None:
    app = open_lab()
    for guess, verdict in (("4", "guess_wrong"), ("2", "guess_right")):
        group: Any = next(one for one in app.get("button_group") if one.key == "training_lab.guessed")
        group.set_value(guess)
        app.run()
        assert Texts("en")(f"common.{verdict}") in said(app) and not app.exception


def test_settings_stand_in_the_address() -> None:
    app = open_lab(norm_at="post", warmup=0, dropout=0.15, peak_rate=0.0125, d_model=96, n_heads=8)
    assert app.number_input(key="training_lab.peak_rate").value == 0.0125
    assert app.toggle(key="training_lab.warmup").value is False
    app.number_input(key="training_lab.peak_rate").set_value(-0.00025).run()
    assert not app.exception and app.query_params["peak_rate"] in ("-0.00025", ["-0.00025"])
    assert run_of(train(open_lab(norm_at="post", dropout=0.15))).settings.dropout == 0.15


def test_a_full_server_says_so_and_lets_one_try_again(monkeypatch: pytest.MonkeyPatch, server: Jobs) -> None:
    monkeypatch.setattr(jobs, "SERVER", Jobs(0))
    app = click(open_lab(), "start")
    assert "try again" in app.warning[0].value and part.RUN not in app.session_state
    monkeypatch.setattr(jobs, "SERVER", server)
    assert run_of(train(app)).job.ended == "done"


def test_a_run_can_be_stopped_and_stays_on_the_screen() -> None:
    app = click(open_lab(steps=600), "start")
    job = run_of(app).job
    click(app, "stop")
    assert job.wait(SOON) and job.ended == "stopped"
    app.run()
    assert "Stopped after" in said(app) and app.button(key="training_lab.stop").disabled


def test_training_again_stops_what_was_going_on(server: Jobs) -> None:
    app = click(open_lab(steps=600), "start")
    first = run_of(app).job
    click(app, "start")
    assert first.wait(SOON) and first.ended == "stopped"
    assert run_of(app).job is not first and server.n_running <= 1


def test_the_loss_of_the_training_before_is_kept() -> None:
    app = train(open_lab(steps=10))
    losses = tuple(one.loss for one in run_of(app).experiment.reports)
    assert part.FORMER not in app.session_state
    train(app)
    assert app.session_state[part.FORMER].losses == losses


def test_training_that_breaks_is_told_in_words(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(run: Any) -> Iterator[None]:
        raise TrainingError("step 0: the loss is nan")
        yield

    monkeypatch.setattr(lab.Experiment, "steps", broken)
    app = train(open_lab())
    assert "Training broke at step 1" in app.error[0].value and "Traceback" not in said(app)


def test_another_error_is_not_blamed_on_the_visitor(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(run: Any) -> Iterator[None]:
        raise KeyError("ours")
        yield

    monkeypatch.setattr(lab.Experiment, "steps", broken)
    assert "fault of this app" in train(open_lab()).error[0].value


def test_a_kept_model_is_there_on_every_page_for_this_visitor_alone() -> None:
    app = click(train(open_lab(norm_at="post")), "keep_trained")
    (name,) = runs_kept(app)
    assert app.query_params["model"] in (name, [name]) and "Post-LN" in offered(app)[-1]
    assert app.button(key="training_lab.keep_trained").disabled
    for page in ("overview", "attention", "next_token", "architectures"):
        app.switch_page(f"pages/{page}.py").run()
        assert not app.exception, app.exception[0].message
        assert app.query_params["model"] in (name, [name])
    stranger = open_page("attention", {"model": name, "lang": "en"})
    assert name in stranger.warning[0].value and stranger.query_params["model"] != name
    assert offered(stranger) == offered(app)[:-1] and not runs_kept(stranger)


def runs_kept(app: AppTest) -> list[str]:
    return list(app.session_state[runs._KEPT]) if runs._KEPT in app.session_state else []


def test_of_kept_models_the_newest_stay() -> None:
    app = train(open_lab())
    click(app, "keep_trained")
    click(app, "keep_untrained")
    first = runs_kept(app)
    assert len(first) == len(set(first)) == runs.MOST_OWN
    click(train(app), "keep_trained")
    assert runs_kept(app)[0] == first[1] and len(runs_kept(app)) == runs.MOST_OWN
    assert "1:" not in offered(app)[-1] + offered(app)[-2]


def test_the_untrained_one_is_the_model_of_step_0() -> None:
    app = click(train(open_lab()), "keep_untrained")
    kept = app.session_state[runs._KEPT][runs_kept(app)[0]].lm
    before = run_of(app).experiment.before
    assert all((a == b).all() for a, b in zip(kept.model.parameters(), before.parameters(), strict=True))


@pytest.mark.parametrize("lang", ["en", "zh"])
def test_a_bundled_model_goes_on_with_a_text_behind_a_door(lang: str, server: Jobs) -> None:
    app = click(open_lab(lang, tune_steps=10, steps=600), "start")
    first = run_of(app).job
    click(app, "tuned.start")
    now = app.session_state[part.TUNED]
    assert first.wait(SOON) and first.ended == "stopped", "a visitor has one training at a time"
    assert now.job.wait(SOON) and now.job.ended == "done" and server.n_running == 0
    app.run()
    assert not app.exception and "{{" not in said(app)
    text, last = said(app), now.experiment.losses[-1]
    assert (
        f"**{last.own:.2f}**" in text and f"**{last.zh:.2f}**" in text and now.experiment.spoken[-1].text[1:9] in text
    )
    app.text_area(key="training_lab.tune_text").set_value("cat").run()
    assert app.button(key="training_lab.tuned.start").disabled


def test_targets_that_are_left_out_are_shown_on_the_sentence() -> None:
    app = open_lab(ignored=2)
    assert app.slider(key="training_lab.ignored").value == 2 and said(app).count("| **−100** |") == 2
    other = open_lab(model="story-bert")
    assert "training_lab.ignored" not in {slider.key for slider in other.slider}
    assert "training_lab.tuned.start" not in {button.key for button in other.button}


def test_the_code_runs_and_agrees() -> None:
    printed = run_code(open_lab())
    assert printed.count("True") == 2 and "False" not in printed


def test_a_visitor_is_here_while_the_session_is_connected(monkeypatch: pytest.MonkeyPatch) -> None:
    connected = {"one"}
    monkeypatch.setattr(jobs, "get_script_run_ctx", lambda: SimpleNamespace(session_id="one"))
    monkeypatch.setattr(
        jobs,
        "runtime",
        SimpleNamespace(
            exists=lambda: True, get_instance=lambda: SimpleNamespace(is_active_session=connected.__contains__)
        ),
    )
    is_here = jobs.visitor()
    assert is_here()
    connected.clear()
    assert not is_here()


def test_streamlit_still_tells_who_is_connected() -> None:
    assert callable(st.runtime.Runtime.is_active_session)
