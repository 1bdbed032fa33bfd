"""The question at the end of a page: what is right is right by numbers that are read from the run here, apart."""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Callable

import pytest
import torch
from app_driver import open_page, quiz

import viz_model as vm
from viz_model.runs.trace import Trace
from viz_model.topics.batch.rows import BESIDE

pytestmark = pytest.mark.full

TEXT, LAYER, MODEL, TRANSLATOR = "The cat sat on a", 1, "story-pre-ln", "translate-2017"


def surest(trace: Trace) -> int:
    return int(trace["logits"].softmax(-1).max(-1).values.argmax())


def capitals(trace: Trace) -> int:
    return len(trace.tokenizer.encode("THE", special=False))


def before(trace: Trace) -> int:
    pattern = trace[f"blocks.{LAYER}.attn.pattern"]
    return int(torch.stack([pattern[:, n, n - 1] for n in range(1, len(trace))]).mean(0).argmax())


def turning(trace: Trace) -> int:
    d, context = trace.config.d_model, trace.config.n_context
    return sum(2 * math.pi * 10_000 ** (2 * pair / d) <= context for pair in range(d // 2))


def change(trace: Trace) -> int:
    lines = [trace["embed.out"][-1], *(trace[f"blocks.{n}.resid.out"][-1] for n in range(trace.n_layers))]
    return int(torch.tensor([float((b - a).norm() / a.norm()) for a, b in itertools.pairwise(lines)]).argmax())


def half(trace: Trace) -> int:
    total, n = 0.0, 0
    for chance in sorted(trace["logits"][-1].softmax(-1).tolist(), reverse=True):
        total, n = total + chance, n + 1
        if total >= 0.5:
            break
    return next(most for most in (1, 4, 20, trace.config.n_vocab) if n <= most)


def padding(trace: Trace) -> int:
    lengths = [len(trace.tokenizer.encode(text)) for text in (TEXT, *BESIDE)]
    return round(100 * (1 - sum(lengths) / (len(lengths) * max(lengths))))


ANSWERS: dict[str, Callable[[Trace], int]] = {
    "overview": surest,
    "tokens": capitals,
    "attention": before,
    "position": turning,
    "block": change,
    "next_token": half,
    "batch": padding,
    "cost": lambda trace: 2,
}


@pytest.mark.parametrize("page", ANSWERS)
def test_the_run_makes_one_option_of_an_island_right(page: str) -> None:
    app = open_page(page, {"model": MODEL, "text": TEXT, "layer": str(LAYER), "lang": "en"})
    expected = str(ANSWERS[page](vm.load(MODEL).trace(TEXT)))
    options, right, told = quiz(app)
    assert len(options) > 1 and expected in re.findall(r"\d+", options[right]) and told


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
