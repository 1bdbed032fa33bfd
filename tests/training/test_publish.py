"""A run's log, card, curves and published model; the command that makes them."""

import dataclasses
import json
import types
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest
import torch
from svg_files import drawn
from torch.nn import functional as F
from training_data import KINDS, check_card, published_of, tiny_recipe, write_corpus

import viz_model as vm
from viz_model.checkpoints.registry import load_folder
from viz_model.config import Kind
from viz_model.training import __main__ as command
from viz_model.training import batches, log, publish, recipe, samples
from viz_model.training.batches import Batches, Translations, Windows
from viz_model.training.checkpoint import TrainingError
from viz_model.training.loop import StepReport, trained_model
from viz_model.training.recipe import Recipe
from viz_model.training.sources import PAIRS, TEXTS

Published = tuple[Recipe, Batches, Path, Path]
BUNDLED = [path.parent.name for path in sorted(publish.MODELS.glob("*/figures.json"))]


def report(step: int, **changes: Any) -> StepReport:
    values: dict[str, Any] = {"loss": 5.0 - step / 100, "learning_rate": 1e-3, "tokens_per_second": 1000.0}
    values |= {"gradient_norm": 1.0 + step % 2}
    values |= {"gradient_norms": {"embedding": 0.5, "decoder.blocks.0": 0.25 * (step % 2)}}
    return StepReport(step=step, **{**values, **changes})


def test_a_log_of_more_steps_than_a_plot_shows() -> None:
    held_out = {"en": {"bits_per_byte": 1.23456789, "accuracy": 0.5}}
    reports = [asdict(report(n, held_out=held_out if n % 5 == 4 else None)) for n in range(25)]
    found = log.thin(reports, most=10)
    assert [each["step"] for each in found] == [2, 5, 8, 11, 14, 17, 20, 23, 24]
    assert found[0]["loss"] == pytest.approx(4.99) and found[1]["gradient_norm"] == pytest.approx(5 / 3, rel=1e-3)
    assert found[1]["gradient_norms"] == {"embedding": 0.5, "decoder.blocks.0": pytest.approx(0.5 / 3, rel=1e-3)}
    assert found[0]["held_out"] is None
    assert found[1]["held_out"] == {"en": {"bits_per_byte": 1.2346, "accuracy": 0.5}}
    assert len(log.thin(reports)) == 25 and log.thin([]) == []
    whole = [asdict(report(n)) for n in range(60)]
    again = log.thin([*log.thin(whole[:20], most=5), *whole[20:]], most=30)  # four steps a line, as they were before
    assert [each["step"] for each in again] == list(range(3, 60, 4))
    assert [each["loss"] for each in again] == pytest.approx([each["loss"] for each in log.thin(whole, most=15)])


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_corpus(tmp_path_factory.mktemp("data"))


@pytest.fixture(scope="module", params=[KINDS[0], *(pytest.param(kind, marks=pytest.mark.full) for kind in KINDS[1:])])
def published(
    request: pytest.FixtureRequest, data: Path, tmp_path_factory: pytest.TempPathFactory
) -> tuple[Recipe, Batches, Path, Path]:
    """(recipe, data, run, model folder) of a tiny run with the bundled vocabulary, published."""
    kind: Kind = request.param
    folder = tmp_path_factory.mktemp(kind)
    start = {"start_id": 8189} if kind == "encoder_decoder" else {}
    chosen = tiny_recipe(kind, steps=4, warmup=1, decay_steps=2, config={"n_vocab": 8192, **start})
    prepared = batches.prepare(chosen, data, folder / "cache")
    return chosen, prepared, folder / "run", published_of(chosen, prepared, folder)


def test_a_published_model_is_the_trained_one_in_half_precision(published: Published) -> None:
    chosen, _, run, folder = published
    lm = load_folder(folder)
    assert lm.config == chosen.config and lm.tokenizer.name == "story-8k"
    trained = trained_model(chosen, run).state_dict()
    for name, value in lm.model.state_dict().items():
        assert torch.equal(value, trained[name].half().float()), name
    assert not lm.model.training and vm.load(folder).trace("The tailor hummed")["logits"].isfinite().all()


def test_published_figures_are_measured_on_what_is_published(published: Published) -> None:
    chosen, data, _, folder = published
    lm = load_folder(folder)
    kept = json.loads((folder / "figures.json").read_text(encoding="utf-8"))
    assert set(kept["held_out"]) == set(data.languages)
    for language, figures in publish.held_out(lm, data).items():
        assert kept["held_out"][language] == pytest.approx(figures, rel=1e-6)
        assert ("bleu" in figures) == isinstance(data, Translations)
    assert kept["own_text"] == pytest.approx(publish.own_text(lm), rel=1e-6)
    for source, figures in publish.by_source(lm, data).items():
        assert kept["by_source"][source] == pytest.approx(figures, rel=1e-6)
    stories = [source.file for source in TEXTS if not source.per_line] if isinstance(data, Windows) else []
    assert list(kept["by_source"]) == stories
    assert drawn((folder / "curves.svg").read_text(encoding="utf-8"), "polyline")
    written = check_card(folder, chosen)
    for figures in kept["held_out"].values():
        assert f"{figures['bits_per_byte']:.3f}" in written and f"{figures['accuracy']:.1%}" in written
    for of in PAIRS if isinstance(data, Translations) else TEXTS:
        assert f"| {of.title} | {of.language} | {of.license} |" in written
    for text in TEXTS:
        if found := kept["by_source"].get(text.file):
            assert f"| {text.title} | {found['held_out']:.3f} | {found['seen']:.3f} |" in written


def test_a_line_that_a_crash_cut_short_does_not_swallow_the_next(data: Path, tmp_path: Path) -> None:
    chosen = tiny_recipe(steps=2, warmup=0, decay_steps=0, config={"n_vocab": 8192})
    prepared = batches.prepare(chosen, data, tmp_path / "cache")
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "log.jsonl").write_text(log.line(report(1)) + '{"step": 0, "lo')
    for _ in range(2):  # a finished run is not run again; of a step that was made twice the later counts
        command.run(chosen, prepared, tmp_path / "run", torch.device("cpu"))
        found = log.read(tmp_path / "run" / "log.jsonl")
        assert [each["step"] for each in found] == [0, 1] and found[1]["tokens_per_second"] != 1000.0


def test_only_a_model_that_ended_at_the_restart_is_trained_on(published: Published, tmp_path: Path) -> None:
    chosen, _, run, folder = published
    for other in (chosen, dataclasses.replace(chosen, steps=9, restarts=(5,))):
        with pytest.raises(TrainingError, match="published after 4 steps"):
            publish.resume_published(other, tmp_path, folder)
    assert not list(tmp_path.iterdir())
    with pytest.raises(TrainingError, match="holds a run already"):
        publish.resume_published(dataclasses.replace(chosen, steps=9, restarts=(4,)), run, folder)


@pytest.mark.parametrize("language", ["fr", "zh"])
def test_bleu_of_known_translations(data: Path, tmp_path: Path, language: str) -> None:
    chosen = tiny_recipe("encoder_decoder", config={"n_vocab": 8192, "start_id": 8189})
    prepared: Any = batches.prepare(chosen, data, tmp_path)

    def bleu(says: Callable[[str], str]) -> dict[str, float]:
        lm: Any = types.SimpleNamespace(generate=lambda text, **_: types.SimpleNamespace(text=says(text)))
        return publish.bleu(lm, prepared, language)

    known = {pair.english: pair.translations for pair in prepared.held_out_pairs(language)}
    exact = {"bleu": pytest.approx(100), "bleu_all_references": pytest.approx(100)}
    assert bleu(lambda text: known[text][0]) == exact
    assert bleu(lambda text: known[text][-1])["bleu_all_references"] == exact["bleu_all_references"]
    assert bleu(lambda text: "...")["bleu"] < 20


def test_own_text_by_hand(published: Published) -> None:
    chosen, _, _, folder = published
    lm, kind = load_folder(folder), chosen.config.kind
    found = publish.own_text(lm)
    ids = asked = torch.tensor(lm.tokenizer.encode(samples.OWN_TEXT["zh"]))
    if kind == "decoder":
        logits, asked = lm.model(ids[None])[0, :-1], ids[1:]
    elif kind == "encoder":
        inner = torch.arange(1, len(ids) - 1)  # what stands between the two ends of text, each hidden alone
        hidden = ids.repeat(len(inner), 1).scatter(1, inner[:, None], lm.tokenizer.mask_id or 0)
        logits, asked = lm.model(hidden)[torch.arange(len(inner)), inner], ids[inner]
    else:
        said = publish.OWN_TRANSLATIONS["zh"]
        logits = lm.trace(publish.OWN_SENTENCES["zh"], said, target_language="zh")["logits"]
        asked = torch.tensor([*lm.tokenizer.encode(said, special=False), lm.tokenizer.end_of_text])
    assert found["zh"] == pytest.approx(F.cross_entropy(logits, asked).item(), rel=1e-5)
    assert set(found) == ({"fr", "zh"} if kind == "encoder_decoder" else {"en", "zh"})


@pytest.mark.parametrize("name", BUNDLED)
def test_the_shipped_weights_are_those_of_the_card(name: str) -> None:
    kept = json.loads((publish.MODELS / name / "figures.json").read_text(encoding="utf-8"))
    lm, chosen = vm.load(name), recipe.load(name)
    assert publish.own_text(lm) == pytest.approx(kept["own_text"], abs=1e-3)
    assert (lm.config, lm.twin) == (chosen.config, recipe.twin(chosen))
    assert log.read(lm.folder / "log.jsonl")[-1]["step"] + 1 == chosen.steps


def test_gaps_are_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    for name, source in (("story-pre-ln", TEXTS[0]), ("translate-t5", PAIRS[0]), ("vocabulary", TEXTS[0])):
        monkeypatch.setattr("sys.argv", ["training", name, "--data", str(tmp_path), "--runs", str(tmp_path / "runs")])
        with pytest.raises(SystemExit, match="2"):
            command.main()
        said = capsys.readouterr().err
        assert source.file in said and "Traceback" not in said
