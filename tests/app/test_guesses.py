"""The question at the end of a page: what is right is right by numbers that are read from the run here, apart."""

from __future__ import annotations

import pytest
import torch
from app_driver import open_page, quiz

import viz_model as vm

pytestmark = pytest.mark.full

TEXT, MODEL, TRANSLATOR = "The cat sat on a", "story-pre-ln", "translate-2017"


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
