"""The picture of routes: its lines are what the largest routes carry, and a cut is said as it is."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import islands
import numpy as np
import pytest
from tiny_models import describe, few, language_model, run_both

import viz_model as vm
from viz_model import explain
from viz_model.drawing.scene import Items, Path
from viz_model.explain.routes import SOURCES
from viz_model.island.look import Look
from viz_model.topics.attribution import PAGE, routes
from viz_model.topics.attribution.asked import asked


def look(trace: vm.Trace, **options: Any) -> Look:
    return replace(islands.look(trace, PAGE, token=-1), options=options)


@pytest.mark.parametrize("config", [c for c in few() if c.has_logits], ids=describe)
def test_lines_are_the_edges_of_the_largest_routes(config: vm.ModelConfig) -> None:
    here = look(run_both(language_model(config), length=8).at(config.sides[-1]))
    question = asked(here)
    seen, found = routes.view(question), routes.found(question)
    answers = [n for n, (_, reader) in enumerate(seen.edges) if reader is None]
    np.testing.assert_allclose(
        seen.shown, [sum(route.value for route in found.listed[:most]) for most in routes.STEPS], atol=1e-9
    )
    for step, most in enumerate(routes.STEPS):
        arriving = sum(r.value for r in found.listed[:most] if r.nodes[-1].part.kind in ("head", "ffn", *SOURCES))
        assert seen.flows[step, answers].sum() == pytest.approx(arriving, abs=1e-6)
        scene = islands.pictures(PAGE, here, **{routes.MANY: step})["attribution.routes"]
        lines = [mark for mark in scene.panels[0].marks if isinstance(mark, Path)]
        assert len(lines) == np.count_nonzero(seen.flows[step])
    assert seen.error < 1e-3


def test_a_click_on_a_line_cuts_it() -> None:
    trace = vm.load("story-pre-ln").trace("Tom had a cat and a dog. The cat and the")
    plain = look(trace)
    scene = islands.pictures(PAGE, plain, **{routes.MANY: 2})["attribution.routes"]
    assert dict(PAGE.options)[routes.MANY][0] == str(routes.USUAL), "the first is what an address leaves out"
    (dots,) = [mark for mark in scene.panels[0].marks if isinstance(mark, Items)]
    edge = "embed.token@6>blocks.2.attn.head_out[2]@11"
    assert scene.option == routes.CUT and edge in dots.picks
    cut = look(trace, cut=edge)
    writer, reader = routes.chosen(asked(cut)) or (None, None)
    assert writer is not None
    made = explain.cut(explain.routes(trace, -1), writer, reader)
    said = " ".join(islands.one(routes.tell(cut), {**cut.place, routes.MANY: 2}))
    assert f"−{abs(made.predicted):.2f}" in said and f"−{abs(made.measured):.2f}" in said
    assert "hardly reacts" in said
    assert routes.chosen(asked(look(trace, cut="nothing"))) is None
