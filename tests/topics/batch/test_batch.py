"""A batch as one tensor against its rows alone; its loss and its norms against PyTorch's own; and its page."""

import dataclasses

import numpy as np
import pytest
import torch
from tiny_models import describe, few, language_model
from torch.nn import functional as F

import viz_model as vm
from viz_model.config import ModelConfig
from viz_model.topics.batch import norms
from viz_model.topics.batch.loss import COUNTED, Losses
from viz_model.topics.batch.rows import BESIDE
from viz_model.topics.batch.run import PADDING, Row, Together, collate, padded_vectors, row, together
from viz_model.topics.batch.shapes import OPEN, Gap
from viz_model.training.batches import IGNORED

TEXT = "Once upon a time, there was a little girl named"
CONFIGS = [dataclasses.replace(config, n_vocab=8192, n_context=32) for config in few()]


def rows_of(lm: vm.LanguageModel, texts: tuple[str, ...] = (TEXT, *BESIDE)) -> list[Row]:
    targets = [text.split()[0] if lm.config.kind == "encoder_decoder" else None for text in texts]
    return [row(lm, text, target) for text, target in zip(texts, targets, strict=True)]


def counted(found: Together) -> str:
    assert found.loss is not None and found.counted is not None
    return COUNTED.of(Losses(found.loss, found.counted, int(found.beyond.sum()))).name


@pytest.mark.parametrize("config", CONFIGS, ids=describe)
def test_a_row_of_the_batch_is_the_sentence_alone_on_any_model(config: ModelConfig) -> None:
    lm = language_model(config)
    rows = rows_of(lm)
    found = together(lm.model, rows)
    assert found.gaps.max() < 1e-4 * max(1.0, found.largest)
    assert found.ids.shape == (4, max(len(row.ids(config.sides[0])) for row in rows))
    assert found.shape[-1] == (config.n_vocab if config.has_logits else config.d_model)
    assert (found.ids[found.padding] == PADDING).all()
    if config.kind == "encoder" and not config.windows:
        assert found.open_gaps.max() > 1e-3  # what the mask is for
    if config.kind == "decoder":
        assert OPEN.of(Gap(float(found.open_gaps.max()), found.largest, found.n_padding)).name == "same"


@pytest.mark.parametrize("name", ["story-pre-ln", "story-bert", "translate-t5"])
def test_the_loss_is_what_training_takes(name: str) -> None:
    lm = vm.load(name)
    rows = rows_of(lm)
    found, batch = together(lm.model, rows), collate(rows)
    logits = lm.model(batch.ids, batch.target_ids, padding=batch.padding)
    expected = F.cross_entropy(logits.transpose(1, 2), batch.answers, ignore_index=IGNORED)
    assert found.loss == pytest.approx(expected.item(), rel=1e-4)
    filled = torch.where(torch.from_numpy(found.beyond), PADDING, batch.answers)
    counted = F.cross_entropy(logits.transpose(1, 2), filled, ignore_index=IGNORED)
    assert found.counted == pytest.approx(counted.item(), rel=1e-4)
    assert found.losses is not None and np.isfinite(found.losses).sum() == batch.n_asked


def test_a_batch_without_padding_and_one_with_nothing_to_ask() -> None:
    lm = vm.load("story-pre-ln")
    found = together(lm.model, rows_of(lm, ("The cat", "The cat")))
    assert OPEN.of(Gap(float(found.open_gaps.max()), found.largest, found.n_padding)).name == "full"
    assert counted(found) == "none"
    assert together(lm.model, rows_of(lm, ("a", "a"))).loss is None


def test_padding_may_make_a_loss_look_better() -> None:
    made = []
    for seed in range(6):
        lm = language_model(CONFIGS[0], seed)
        made.append(counted(together(lm.model, rows_of(lm))))
    assert {*made} == {"higher", "lower"}


@pytest.mark.parametrize("name", ["story-pre-ln", "story-bert"])
def test_neighbors_move_batch_norm_alone(name: str) -> None:
    lm = vm.load(name)
    site = "blocks.1.resid.in"
    own, *beside = (each.run.whole[site] for each in rows_of(lm))
    others = [each.run.whole[site] for each in rows_of(lm, ("Where is it?", "He ran to the big house.", "No."))]
    rows = rows_of(lm)
    padding = padded_vectors(lm.model, rows, lm.config.sides[0], site)
    found = norms.neighbors(own, beside, others, padding)
    assert len(padding) == int(together(lm.model, rows).padding.sum())
    (layer, batch), (layer_cut, batch_cut) = found.moves, found.cuts
    assert not layer[:2].any() and not layer_cut.any() and np.isnan(found.moves[:, 2]).all()
    assert (batch[:2] > 0.01).all() and (batch_cut[2] > 0).all() and not batch_cut[0].any()
    everything = torch.cat([own, *beside])
    reference = torch.nn.BatchNorm1d(everything.shape[1], affine=False).train()
    np.testing.assert_allclose(found.batch[0], reference(everything)[: len(own)], atol=1e-4)
    np.testing.assert_allclose(found.layer[0], F.layer_norm(own, own.shape[1:]), atol=1e-4)
    here, there = (reference(torch.cat([own, rows[0]]))[: len(own)] for rows in (beside, others))
    np.testing.assert_allclose(batch[1], (there - here).norm(dim=-1) / here.norm(dim=-1), rtol=1e-3)
    counting, before = reference(torch.cat([everything, padding]))[: len(own)], torch.from_numpy(found.batch[0])
    assert found.padded is not None
    np.testing.assert_allclose(found.padded, (counting - before).norm(dim=-1) / before.norm(dim=-1), rtol=1e-3)
