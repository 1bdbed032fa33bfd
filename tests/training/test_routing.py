"""viz_model.training.routing: what experts get of several kinds of text, against counting by hand."""

from __future__ import annotations

import dataclasses
import json

import numpy as np
import pytest
import torch
from tiny_models import EXPERTS, language_model, tiny_config
from training_data import byte_tokenizer

import viz_model as vm
from viz_model.checkpoints import registry
from viz_model.config import Dense
from viz_model.training import card, recipe, routing
from viz_model.training.corpus import Corpus, Documents, Split
from viz_model.training.sources import KINDS, MORE

TOKENIZER = byte_tokenizer()


def corpus() -> Corpus:
    texts = {kind: [f"{kind} " * (30 + n) for n in range(3)] for kind in KINDS}
    parts = {kind: Documents.encode(found, TOKENIZER) for kind, found in texts.items()}
    return Corpus({kind: Split(part, part) for kind, part in parts.items()}, TOKENIZER)


def test_shares_balance_and_tokens_are_those_of_the_routers() -> None:
    config = tiny_config(n_vocab=TOKENIZER.n_vocab, n_context=16, ffns=(Dense(), EXPERTS[0]))
    lm = dataclasses.replace(language_model(config), tokenizer=TOKENIZER)
    assert lm.config.has_experts and not tiny_config().has_experts
    data = corpus()
    found = routing.measure(lm, data, ("en",))
    assert found["trained_on"] == ["en"] and list(found["n_tokens"]) == list(KINDS)
    assert list(found["layers"]) == ["1"]
    of = found["layers"]["1"]
    by_kind, counted = [], np.zeros((TOKENIZER.n_vocab, 2, 4))
    for kind in KINDS:
        ids = data.languages[kind].held_out.ids.astype(np.int64)
        windows = [ids[n : n + 16] for n in range(0, (len(ids) - 1) // 16 * 16, 16)]
        weights, probs = [], []
        for window in windows:
            trace = lm.trace(ids=window.tolist())
            weights.append(trace["blocks.1.ffn.chosen"].numpy() > 0)
            probs.append(trace["blocks.1.ffn.probs"].numpy())
            for id, row in zip(window, weights[-1], strict=True):
                counted[id, 0] += row
                counted[id, 1] += 1
        assert found["n_tokens"][kind] == 16 * len(windows)
        chosen, shares = np.concatenate(weights).mean(0), np.concatenate(probs).mean(0)
        by_kind.append((chosen, shares))
        np.testing.assert_allclose(of["shares"][kind], chosen, atol=1e-4)
        assert of["balance"][kind] == pytest.approx(4 * (chosen / 2 * shares).sum(), abs=1e-3)
    f, p = (np.mean(part, axis=0) for part in zip(*by_kind, strict=True))
    assert of["balance"]["all"] == pytest.approx(4 * (f / 2 * p).sum(), abs=1e-3)
    labels = {TOKENIZER.token(id).label: id for id in np.flatnonzero(counted[:, 1, 0] >= routing.LEAST_TIMES).tolist()}
    for expert, rows in enumerate(of["tokens"]):
        assert rows and len(rows) <= routing.MOST_TOKENS
        for label, share, times in rows:
            read, occurred = counted[labels[label], :, expert]
            assert times == occurred and share == pytest.approx(read / occurred, abs=1e-3)


def test_what_is_shipped_is_told_on_the_card() -> None:
    folder = registry.BUNDLED / "story-moe"
    shipped = json.loads((folder / routing.FILE).read_text(encoding="utf-8"))
    told = (folder / "README.md").read_text(encoding="utf-8")
    assert shipped["trained_on"] == list(recipe.load("story-moe").objective.rows)  # type: ignore[union-attr]
    assert set(shipped["layers"]) == {"1", "3"} and set(shipped["n_tokens"]) == set(KINDS)
    for of in shipped["layers"].values():
        for kind, shares in of["shares"].items():
            assert sum(shares) == pytest.approx(2, abs=1e-3)
            row = " | ".join([card.LANGUAGES[kind], *(f"{x:.0%}" for x in shares), f"{of['balance'][kind]:.2f}"])
            assert f"| {row} |" in told
    assert all(f"{source.title} ({source.licence})" in told for source in MORE)
    # A few lines that it never read, beside what was measured: the routers are those that were shipped.
    lm = vm.load("story-moe")
    router = lm.trace("Je ne veux pas qu'elle vienne. Je suis content.")["blocks.3.ffn.router"]
    chosen = torch.zeros_like(router).scatter(1, router.topk(2).indices, 1.0).mean(0)
    assert chosen[:2].mean() > 0.4 and min(shipped["layers"]["3"]["shares"]["fr"][:2]) > 0.4
