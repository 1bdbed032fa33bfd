"""The page of the training lab: it refuses, trains, shows, and keeps a model for its visitor alone."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from app_driver import open_page, plots, said
from streamlit.testing.v1 import AppTest

from viz_model.app import jobs, runs
from viz_model.app.jobs import Jobs
from viz_model.app.lab import job as part
from viz_model.texts import Texts
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
    click(app, "start")
    assert run_of(app).job.wait(SOON)
    app.run()
    assert not app.exception, app.exception[0].message
    return app


def run_of(app: AppTest) -> part.Run[lab.Experiment]:
    return app.session_state["training_lab.run"]


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


@pytest.mark.parametrize(
    ("field", "value", "label"),
    [("peak_rate", -1.0, "Learning rate"), ("peak_rate", 1000.0, "Learning rate"), ("text", "cat", "Your text")],
)
def test_what_cannot_be_trained_is_refused_by_name(field: str, value: Any, label: str) -> None:
    app = open_lab(**{field: value})
    assert app.button(key="training_lab.start").disabled
    assert label in next(one.value for one in app.markdown if ":orange[" in one.value)


def test_a_run_can_be_stopped_and_stays_on_the_screen() -> None:
    app = click(open_lab(steps=600), "start")
    job = run_of(app).job
    click(app, "stop")
    assert job.wait(SOON) and job.ended == "stopped"
    app.run()
    assert "Stopped after" in said(app) and app.button(key="training_lab.stop").disabled


def test_training_that_breaks_is_told_in_words(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(run: Any) -> Iterator[None]:
        raise TrainingError("step 0: the loss is nan")
        yield

    monkeypatch.setattr(lab.Experiment, "steps", broken)
    app = train(open_lab())
    assert "Training broke at step 1" in app.error[0].value and "Traceback" not in said(app)


def test_a_kept_model_is_there_on_every_page_for_this_visitor_alone() -> None:
    app = click(train(open_lab(norm_at="post")), "keep_trained")
    (name,), offered = app.session_state[runs._KEPT], list(app.selectbox(key="sidebar.model").options)
    assert app.query_params["model"] in (name, [name]) and "Post-LN" in offered[-1]
    assert app.button(key="training_lab.keep_trained").disabled
    for page in ("overview", "attention", "next_token", "architectures"):
        app.switch_page(f"pages/{page}.py").run()
        assert not app.exception, app.exception[0].message
        assert app.query_params["model"] in (name, [name])
    stranger = open_page("attention", {"model": name, "lang": "en"})
    assert name in stranger.warning[0].value and stranger.query_params["model"] != name
    assert list(stranger.selectbox(key="sidebar.model").options) == offered[:-1]


@pytest.mark.parametrize("lang", ["en", "zh"])
def test_a_bundled_model_goes_on_with_a_text_behind_a_door(lang: str, server: Jobs) -> None:
    app = click(open_lab(lang, tune_steps=10, steps=600), "start")
    first = run_of(app).job
    click(app, "tuned.start")
    now = app.session_state[part.TUNED]
    assert first.wait(SOON) and first.ended == "stopped", "a visitor has one training at a time"
    assert now.job.wait(SOON) and now.job.ended == "done" and not server._running
    app.run()
    assert not app.exception and "{{" not in said(app)
    text, last = said(app), now.experiment.losses[-1]
    assert all(part in text for part in (f"**{last.own:.2f}**", f"**{last.zh:.2f}**"))
    app.text_area(key="training_lab.tune_text").set_value("cat").run()
    assert app.button(key="training_lab.tuned.start").disabled
