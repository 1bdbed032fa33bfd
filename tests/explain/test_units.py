"""Lenses and samples that are shipped are of the shipped weights, and what raw runs and least squares give."""

import dataclasses
import json
import math
import shutil
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch
from tiny_models import language_model, random_model, run_both, tiny_config

import viz_model as vm
from viz_model import config as choices
from viz_model import explain
from viz_model.checkpoints.registry import BUNDLED
from viz_model.explain import __main__ as command
from viz_model.explain.fitted import FILE as LENS
from viz_model.explain.fitted import FittedLens, agreement, digest
from viz_model.explain.fitted import shipped as shipped_lens
from viz_model.explain.sample import BINS, FILE, WINDOW, beside, shipped

NAMES = ("story-alibi", "story-modern", "story-moe", "story-next", "story-none", "story-post-ln", "story-pre-ln")
TEXT = "Tom had a cat and a dog. The cat and the"


def texts(n: int = 30, length: int = 16, seed: int = 1) -> list[list[int]]:
    numbers = torch.Generator().manual_seed(seed)
    return [torch.randint(101, (length,), generator=numbers).tolist() for _ in range(n)]


@pytest.mark.parametrize("name", NAMES)
def test_a_shipped_head_is_what_raw_runs_give(name: str) -> None:
    lm, layer, head = vm.load(name), 3 if name == "story-next" else 2, 3
    sample = shipped(lm.model, name)
    assert sample is not None
    unit = explain.unit(lm.trace(TEXT), layer, head=head)
    for text, query, key, value in zip(
        *(sample[f"heads.{part}"][layer, head][:3].tolist() for part in ("text", "query", "key", "value")), strict=True
    ):
        pattern = lm.trace(ids=sample["ids"][text].tolist())[f"blocks.{layer}.attn.pattern"][head]
        assert float(pattern[query, key]) == pytest.approx(value, abs=2e-3)
        assert float(pattern.tril(-1)[:, 1:].max()) == pytest.approx(value, abs=2e-3)
    context = unit.contexts(1)[0]
    assert context.values.sum() == pytest.approx(1, abs=1e-5)
    assert context.key == int(context.values[1 : context.at].argmax()) + 1
    values = sample["heads.value"][layer, head]
    assert (values[:-1] >= values[1:]).all()
    rows = sample.some(40)
    largest = torch.cat([lm.trace(ids=ids)[f"blocks.{layer}.attn.pattern"][head, 1:].amax(-1) for ids in rows.tolist()])
    few = np.histogram(largest, BINS, (0, 1))[0] / len(largest)
    assert np.abs(few - unit.histogram()[1]).max() < 0.05
    assert int(sample["heads.counts"][layer, head].sum()) == sample.n_texts * (WINDOW - 1)
    assert sample["ids"].shape == (sample.n_texts, WINDOW) and sample.n_texts > 1_500
    card = (BUNDLED / name / "README.md").read_text(encoding="utf-8")
    assert f"{sample.n_texts:,} texts of {WINDOW} tokens" in card and "CC BY-SA 4.0" in card
    best, act = int(sample["3.text"][40, 0]), "blocks.3.ffn.act"
    raw = lm.trace(ids=sample["ids"][best].tolist())[act][:, 40]
    assert float(raw.max()) == pytest.approx(float(sample["3.value"][40, 0]), rel=2e-3)
    assert int(raw.argmax()) == int(sample["3.position"][40, 0])
    own, near = sample["heads.roles"][layer, head], unit.alike(1)[0]
    theirs = shipped(vm.load(near.model).model, near.model)
    assert theirs is not None
    assert near.distance == pytest.approx(float((theirs["heads.roles"][near.layer, near.head] - own).norm()))
    # What it writes, read by the table of tokens.
    up, down = explain.unit(lm.trace(TEXT), 3, neuron=30).writes()
    logits = lm.model.stack("decoder").block(3).ffn.down.weight[:, 30] @ lm.model.unembedding.weight.T
    assert [up[0][1], down[0][1]] == pytest.approx([float(logits.max()), float(logits.min())], rel=1e-4)


def test_every_figure_of_a_small_sample_is_exact() -> None:
    lm = language_model(tiny_config(n_vocab=101))
    rows = texts()
    sample = explain.sample_units(lm, [*rows, [1, 2, 3]])
    assert sample["ids"].tolist() == rows
    traces = [lm.trace(ids=ids) for ids in rows]
    act = torch.stack([trace["blocks.1.ffn.act"] for trace in traces])  # [N, T, F]
    torch.testing.assert_close(sample["1.mean"], act.mean((0, 1)))
    torch.testing.assert_close(sample["1.fires"], (act > 0).float().mean((0, 1)))
    torch.testing.assert_close(sample["1.high"], act.amax((0, 1)))
    counts = np.histogram(act[..., 5].flatten(), BINS, (float(act[..., 5].min()), float(act[..., 5].max())))[0]
    assert np.abs(counts / act[..., 5].numel() - sample["1.counts"][5].numpy()).max() <= 2 / act[..., 5].numel()
    torch.testing.assert_close(
        sample["heads.mean"][0], torch.stack([t["blocks.0.attn.z"] for t in traces]).mean((0, 2))
    )
    patterns = torch.stack([trace["blocks.1.attn.pattern"] for trace in traces])  # [N, H, T, T]
    best = patterns.tril(-1)[..., 1:].amax((-2, -1)).sort(0, descending=True).values[:8].T
    torch.testing.assert_close(sample["heads.value"][1], best)
    assert sample["heads.change"].abs().max() > 0


@pytest.mark.parametrize("place", ["pre", "post"])
def test_without_a_head_the_loss_is_that_of_weights_that_write_its_mean(place: str) -> None:
    config = tiny_config(place, n_vocab=101)  # type: ignore[arg-type]
    lm = dataclasses.replace(language_model(config), model=random_model(config, seed=1))
    sample, trace = explain.sample_units(lm, texts()), run_both(lm)
    removed = explain.unit(trace, 0, head=1, sample=sample).removed()
    ids, width = torch.tensor([trace.own_ids]), lm.config.d_head
    o = lm.model.stack("decoder").block(0).attn.o
    columns = slice(width, 2 * width)

    def loss(rows: torch.Tensor) -> torch.Tensor:
        with torch.inference_mode():
            logits = lm.model(rows)[:, :-1]
        return -logits.log_softmax(-1).gather(-1, rows[:, 1:, None])[..., 0] / math.log(2)

    before, whole = loss(ids)[0], loss(sample["ids"].long())
    with torch.no_grad():
        o.bias.add_(o.weight[:, columns] @ sample["heads.mean"][0, 1])
        o.weight[:, columns] = 0
    after, change = loss(ids)[0], (loss(sample["ids"].long()) - whole).mean(-1)
    np.testing.assert_allclose(removed.before, before, atol=1e-5)
    np.testing.assert_allclose(removed.after, after, atol=1e-4)
    expected = float(change.mean()), float(change.std()) / math.sqrt(30)
    assert removed.mean and removed.change == pytest.approx(expected, abs=1e-5)


def test_without_a_sample_it_writes_nothing_and_says_so() -> None:
    trace = run_both(language_model(tiny_config(n_vocab=101)))
    unit = explain.unit(trace, -1, head=0)
    removed = unit.removed()
    assert unit.layer == 1 and not removed.mean and removed.change is None and removed.n_texts == 0
    off = language_model(tiny_config(n_vocab=101)).trace(ids=trace.ids, edits=[vm.edits.AblateHead(layer=1, head=0)])
    expected = -off["logits"][:-1].log_softmax(-1).gather(-1, torch.tensor(trace.own_ids[1:])[:, None])[:, 0]
    np.testing.assert_allclose(removed.after, expected / math.log(2), atol=1e-4)
    with pytest.raises(ValueError, match="sample_units makes one"):
        unit.roles()


def test_a_sample_is_of_its_weights(tmp_path: Path) -> None:
    lm = language_model(tiny_config(n_vocab=101))
    sample = explain.sample_units(lm, texts())
    sample.save(tmp_path / FILE)
    kept = beside(lm.model, tmp_path)
    assert kept is not None and kept.of == sample.of
    torch.testing.assert_close(kept["heads.mean"], sample["heads.mean"])
    torch.testing.assert_close(kept["1.counts"].float(), sample["1.counts"], atol=1e-3, rtol=1e-3)
    assert beside(vm.load("story-pre-ln").model, tmp_path) is None and shipped(lm.model, "story-pre-ln") is None


def test_what_cannot_be_asked() -> None:
    lm = language_model(tiny_config(n_vocab=101))
    trace = run_both(lm)
    with pytest.raises(ValueError, match="there is none of"):
        explain.sample_units(lm, [[1, 2]])
    with pytest.raises(ValueError, match="decoder"):
        explain.sample_units(language_model(tiny_config(kind="encoder", head=choices.MaskedHead())), texts())
    with pytest.raises(ValueError, match="decoder"):
        explain.unit(run_both(language_model(tiny_config(kind="encoder"))), 0, head=0)
    for wrong in (dict[str, Any](), {"head": 0, "neuron": 0}):
        with pytest.raises(ValueError, match="either head= or neuron="):
            explain.unit(trace, 0, **wrong)
    with pytest.raises(IndexError, match="neuron 40"):
        explain.unit(trace, 0, neuron=40)


@pytest.mark.parametrize("place", ["pre", "post"])
def test_it_is_the_map_of_least_squares(place: str) -> None:
    lm = language_model(tiny_config(place))  # type: ignore[arg-type]
    fitted = explain.fit_lens(lm, texts(40, 12))
    traces = [lm.trace(ids=ids) for ids in texts(40, 12)]
    x = np.concatenate([trace["blocks.1.resid.in"].double().numpy() for trace in traces])
    y = np.concatenate([trace[trace.leaving].double().numpy() for trace in traces])
    expected, *_ = np.linalg.lstsq(np.concatenate([x, np.ones((len(x), 1))], 1), y, rcond=1e-6)
    trace = traces[0]  # under Post-LN the map itself is not one alone: a normed stream leaves a direction out
    read = trace["blocks.1.resid.in"].double().numpy() @ expected[:-1] + expected[-1]
    logits = read @ trace.model.unembedding.weight.double().numpy().T
    np.testing.assert_allclose(explain.lens(trace, 1, fitted).numpy(), logits, atol=2e-3)
    assert torch.equal(explain.lens(trace, -1, fitted), explain.lens(trace, 1, fitted))


@pytest.mark.parametrize("name", NAMES)
def test_the_shipped_lens_reads_more_than_the_plain_one(name: str) -> None:
    lm = vm.load(name)
    fitted = shipped_lens(lm.model, name)
    assert fitted is not None and fitted.maps.shape == (lm.config.n_layers, lm.config.d_model + 1, lm.config.d_model)
    assert (BUNDLED / name / LENS).stat().st_size < 800_000
    ids = map(lm.tokenizer.encode, ("Tom had a cat. The cat was small.", "从前有一只小猫，它很高兴。"))
    plain, own = agreement(lm, [*ids], fitted)
    assert all(better < worse for better, worse in zip(own.bits, plain.bits, strict=True))
    figures = json.loads((BUNDLED / name / "lens.json").read_text())
    card = (BUNDLED / name / "README.md").read_text(encoding="utf-8")
    for language, both in figures.items():
        for layer, (agree, bits) in enumerate(zip(both["fitted"]["agree"], both["fitted"]["bits"], strict=True)):
            before = both["plain"]["agree"][layer], both["plain"]["bits"][layer]
            row = f"{before[0]:.1%} | {agree:.1%} | {before[1]:.2f} | {bits:.2f}"
            assert f"| {language} | {layer} | {row} |" in card


def test_a_lens_is_of_its_weights(tmp_path: Path) -> None:
    lm = language_model(tiny_config())
    fitted = explain.fit_lens(lm, texts(40, 12))
    fitted.save(tmp_path / LENS)
    kept = FittedLens.load(tmp_path / LENS)
    assert kept.of == fitted.of == digest(lm.model) != digest(random_model(tiny_config(), seed=1))
    torch.testing.assert_close(kept.maps, fitted.maps, atol=1e-2, rtol=1e-3)
    assert shipped_lens(lm.model, "story-pre-ln") is None and shipped_lens(lm.model, "") is None


def test_what_has_no_lens_says_so() -> None:
    lm = language_model(tiny_config())
    with pytest.raises(ValueError, match="fit_lens makes one"):
        explain.lens(lm.trace(ids=[1, 2]), 0)
    with pytest.raises(IndexError, match="layer 2"):
        explain.lens(lm.trace(ids=[1, 2]), 2, explain.fit_lens(lm, texts(40, 12)))
    with pytest.raises(ValueError, match="there are none"):
        explain.fit_lens(lm, [])
    with pytest.raises(ValueError, match="decoder"):
        explain.fit_lens(language_model(tiny_config(kind="encoder", head=choices.MaskedHead())), texts(40, 12))
    assert explain.lens(run_both(vm.load("story-pre-ln")), 0).shape == (7, 8192)


def test_the_command_writes_files_and_sections_of_the_card(tmp_path: Path) -> None:
    rows = SimpleNamespace(ids=torch.randint(8000, (2, 100)))
    few: Any = SimpleNamespace(languages=("en",), step=lambda step: rows, held_out=lambda language: [rows])
    for file in ("config.json", "model.safetensors", "README.md"):
        shutil.copy(BUNDLED / "story-pre-ln" / file, tmp_path)
    before = (tmp_path / "README.md").read_text()
    figures = command.write(tmp_path, few, steps=3, measured=1)
    assert json.loads((tmp_path / "lens.json").read_text()) == json.loads(json.dumps(figures))
    after = (tmp_path / "README.md").read_text()
    assert after.count("## A fitted lens") == before.count("## A fitted lens") == 1 and after != before
    assert after.partition("## What it writes")[2] == before.partition("## What it writes")[2]
    assert command.sample(tmp_path, few).n_texts == 4 and (tmp_path / FILE).is_file()
    card = (tmp_path / "README.md").read_text()
    assert card.count("## What its heads and neurons do") == 1 and "holds 4 texts of 48 tokens" in card
    assert "## A fitted lens" in card and "en: 4)" in card
