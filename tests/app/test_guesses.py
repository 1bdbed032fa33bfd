"""The question at the end of a page: what is right is right by numbers that are read from the run here, apart."""

from __future__ import annotations

import math
import re
from collections.abc import Callable

import pytest
import torch
from app_driver import open_page, quiz

import viz_model as vm
from viz_model.runs.trace import Trace

pytestmark = pytest.mark.full

TEXT, LAYER, MODEL, TRANSLATOR = "The cat sat on a", 1, "story-pre-ln", "translate-2017"


def surest(trace: Trace) -> int:
    return int(trace["logits"].softmax(-1).max(-1).values.argmax())


def turning(trace: Trace) -> int:
    d, context = trace.config.d_model, trace.config.n_context
    return sum(2 * math.pi * 10_000 ** (2 * pair / d) <= context for pair in range(d // 2))


ANSWERS: dict[str, Callable[[Trace], int]] = {"overview": surest, "position": turning, "cost": lambda trace: 2}
OTHERS = ("tokens", "attention", "block", "next_token", "batch")
"""Whose right option the tests of their topics know, at every place of a run."""


@pytest.mark.parametrize("page", [*ANSWERS, *OTHERS])
def test_the_run_makes_one_option_of_an_island_right(page: str) -> None:
    app = open_page(page, {"model": MODEL, "text": TEXT, "layer": str(LAYER), "lang": "en"})
    options, right, told = quiz(app)
    assert len(options) > 1 and 0 <= right < len(options) and told
    if page in ANSWERS:
        assert str(ANSWERS[page](vm.load(MODEL).trace(TEXT))) in re.findall(r"\d+", options[right])


def test_the_nearest_row_is_the_nearest_of_all() -> None:
    app = open_page("embedding", {"model": MODEL, "text": TEXT, "token": "1", "lang": "en"})
    lm = vm.load(MODEL)
    table, ids = lm.model.embedding.weight.detach(), lm.trace(TEXT).ids
    for token, id in enumerate(ids):
        alike = torch.cosine_similarity(table, table[id][None])
        alike[id] = -1
        options, right, told = quiz(app, token=token)
        assert lm.tokenizer.token(int(alike.argmax())).label in (options[right] if right >= 0 else told)


def test_what_the_target_reads_of_the_source() -> None:
    lm = vm.load(TRANSLATOR)
    query = {"model": TRANSLATOR, "text": "The cat sleeps.", "target": "Le chat dort.", "to": "fr", "token": "2"}
    app = open_page("cross_attention", {**query, "side": "decoder", "lang": "en"})
    run = lm.trace(query["text"], target=query["target"], target_language="fr").at("decoder")
    rows = [run[f"blocks.{n}.cross.pattern"][:, 2] for n in range(run.n_layers)]
    best = int(torch.stack(rows).mean((0, 1)).argmax())
    options, right, told = quiz(app)
    label = run.at("encoder").tokens[best].label
    assert label in (options[right] if right >= 0 else told)
