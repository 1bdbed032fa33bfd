"""A fitted lens is the least-squares map, those that are shipped are of the shipped weights, and better than none."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
import torch
from bundled_models import NAMES
from tiny_models import language_model, random_model, run_both, tiny_config

import viz_model as vm
from viz_model import config as choices
from viz_model import explain
from viz_model.checkpoints.registry import BUNDLED
from viz_model.explain import __main__ as command
from viz_model.explain.fitted import FILE, FittedLens, agreement, digest, shipped

DECODERS = [name for name in NAMES if vm.load(name).config.kind == "decoder"]


def texts(n: int = 40, length: int = 12) -> list[list[int]]:
    numbers = torch.Generator().manual_seed(1)
    return [torch.randint(101, (length,), generator=numbers).tolist() for _ in range(n)]


@pytest.mark.parametrize("place", ["pre", "post"])
def test_it_is_the_map_of_least_squares(place: str) -> None:
    lm = language_model(tiny_config(place))  # type: ignore[arg-type]
    fitted = explain.fit_lens(lm, texts())
    traces = [lm.trace(ids=ids) for ids in texts()]
    x = np.concatenate([trace["blocks.1.resid.in"].double().numpy() for trace in traces])
    y = np.concatenate([trace[trace.leaving].double().numpy() for trace in traces])
    expected, *_ = np.linalg.lstsq(np.concatenate([x, np.ones((len(x), 1))], 1), y, rcond=1e-6)
    trace = traces[0]  # under Post-LN the map itself is not one alone: a normed stream leaves a direction out
    read = trace["blocks.1.resid.in"].double().numpy() @ expected[:-1] + expected[-1]
    logits = read @ trace.model.unembedding.weight.double().numpy().T
    np.testing.assert_allclose(explain.lens(trace, 1, fitted).numpy(), logits, atol=2e-3)
    assert torch.equal(explain.lens(trace, -1, fitted), explain.lens(trace, 1, fitted))


@pytest.mark.parametrize("name", DECODERS)
def test_the_shipped_lens_reads_more_than_the_plain_one(name: str) -> None:
    lm = vm.load(name)
    fitted = shipped(lm.model, name)
    assert fitted is not None and fitted.maps.shape == (lm.config.n_layers, lm.config.d_model + 1, lm.config.d_model)
    assert (BUNDLED / name / FILE).stat().st_size < 800_000
    ids = [
        lm.tokenizer.encode(text)[:128] for text in ("Tom had a cat. The cat was small.", "从前有一只小猫，它很高兴。")
    ]
    plain, own = agreement(lm, ids, fitted)
    assert all(better < worse for better, worse in zip(own.bits, plain.bits, strict=True))
    figures = json.loads((BUNDLED / name / "lens.json").read_text())
    card = (BUNDLED / name / "README.md").read_text(encoding="utf-8")
    for language, both in figures.items():
        for layer, (agree, bits) in enumerate(zip(both["fitted"]["agree"], both["fitted"]["bits"], strict=True)):
            before = (
                f"{both['plain']['agree'][layer]:.1%} | {agree:.1%} | {both['plain']['bits'][layer]:.2f} | {bits:.2f}"
            )
            assert f"| {language} | {layer} | {before} |" in card


def test_a_lens_is_of_its_weights(tmp_path: Path) -> None:
    lm = language_model(tiny_config())
    fitted = explain.fit_lens(lm, texts())
    fitted.save(tmp_path / FILE)
    kept = FittedLens.load(tmp_path / FILE)
    assert kept.of == fitted.of == digest(lm.model) != digest(random_model(tiny_config(), seed=1))
    torch.testing.assert_close(kept.maps, fitted.maps, atol=1e-2, rtol=1e-3)
    assert shipped(lm.model, "story-pre-ln") is None and shipped(lm.model, "") is None


def test_what_has_no_lens_says_so() -> None:
    lm = language_model(tiny_config())
    with pytest.raises(ValueError, match="fit_lens makes one"):
        explain.lens(lm.trace(ids=[1, 2]), 0)
    with pytest.raises(IndexError, match="layer 2"):
        explain.lens(lm.trace(ids=[1, 2]), 2, explain.fit_lens(lm, texts()))
    with pytest.raises(ValueError, match="there are none"):
        explain.fit_lens(lm, [])
    with pytest.raises(ValueError, match="decoder"):
        explain.fit_lens(language_model(tiny_config(kind="encoder", head=choices.MaskedHead())), texts())
    assert explain.lens(run_both(vm.load("story-pre-ln")), 0).shape == (7, 8192)


def test_the_command_writes_maps_figures_and_a_section_of_the_card(tmp_path: Path) -> None:
    class Few:
        languages = ("en",)

        def step(self, step: int) -> object:
            return type("Rows", (), {"ids": torch.randint(8000, (2, 40))})

        def held_out(self, language: str) -> list[object]:
            return [self.step(0)]

    for file in ("config.json", "model.safetensors", "README.md"):
        (tmp_path / file).write_bytes((BUNDLED / "story-pre-ln" / file).read_bytes())
    before = (tmp_path / "README.md").read_text()
    figures = command.write(tmp_path, Few(), steps=3, measured=1)  # type: ignore[arg-type]
    assert json.loads((tmp_path / "lens.json").read_text()) == json.loads(json.dumps(figures))
    after = (tmp_path / "README.md").read_text()
    assert after.count("## A fitted lens") == before.count("## A fitted lens") == 1 and after != before
    assert after.partition("## What it writes")[2] == before.partition("## What it writes")[2]
