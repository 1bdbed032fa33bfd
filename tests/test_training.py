"""viz_model.training: the corpus, the vocabulary, a loop that can be killed, and publishing."""

from __future__ import annotations

import dataclasses
import itertools
import json
import math
import shutil
import types
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from tiny_models import random_model, tiny_config

import viz_model as vm
from viz_model.tokenizer import END_OF_TEXT, ByteLevel, load_ranks, story_tokenizer
from viz_model.training import __main__ as command
from viz_model.training import loop, publish, vocabulary
from viz_model.training.corpus import (
    HELD_OUT_EVERY,
    SOURCES,
    Corpus,
    CorpusError,
    HeldOut,
    Source,
    documents,
    split,
    training_texts,
    windows_of_step,
)
from viz_model.training.loop import TrainingError, bits_per_byte, learning_rate, train, trained_model
from viz_model.training.recipes import RECIPES, Recipe

WHO = {"en": ["The tailor", "A grey heron", "My aunt", "The lamp"], "zh": ["裁缝", "苍鹭", "姑妈", "小灯"]}
DID = {"en": [" mended a sail", " counted stones", " hummed"], "zh": ["补好了船帆", "数石头", "哼着歌"]}
WHERE = {"en": [" by the pier.", " in the attic.", " at dusk."], "zh": ["在码头边。", "在阁楼里。", "在黄昏。"]}


def sentences(language: str) -> list[str]:
    parts = itertools.product(WHO[language], DID[language], WHERE[language])
    return ["".join(part) for part in parts]


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A corpus folder with every source, all sentences made up here."""
    folder = tmp_path_factory.mktemp("data")
    for n, source in enumerate(SOURCES):
        lines = sentences(source.language)
        lines = lines[n:] + lines[:n]
        if source.per_line:
            text = "\n".join(lines)
        else:
            stories = [" ".join(lines[i : i + 9]) for i in range(0, len(lines), 9)]
            text = f"\n{END_OF_TEXT}\n".join(stories)
        path = folder / source.file
        path.parent.mkdir(exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return folder


@pytest.fixture(scope="module")
def tokenizer(data: Path, tmp_path_factory: pytest.TempPathFactory) -> ByteLevel:
    path = tmp_path_factory.mktemp("vocabulary") / "tiny.tiktoken"
    vocabulary.learn(training_texts(data, seed=0), 320, path)
    return ByteLevel(load_ranks(path))


@pytest.fixture(scope="module")
def corpus(data: Path, tokenizer: ByteLevel, tmp_path_factory: pytest.TempPathFactory) -> Corpus:
    return Corpus.prepare(data, tokenizer, seed=0, cache=tmp_path_factory.mktemp("cache"))


@pytest.fixture
def recipe(tokenizer: ByteLevel) -> Recipe:
    return Recipe(
        config=tiny_config(n_vocab=tokenizer.n_vocab), steps=8, windows=3, warmup=3, peak_rate=1e-2, validate_every=4
    )


def measured(reports: Any) -> list[tuple[Any, ...]]:
    """What must not depend on when a run was interrupted: everything but its speed."""
    return [(r.step, r.loss, r.learning_rate, r.gradient_norm, r.bits_per_byte) for r in reports]


# The corpus


def test_documents(tmp_path: Path) -> None:
    (tmp_path / "file").write_text(f" a\nb \n\n{END_OF_TEXT}\n\nc{END_OF_TEXT} ", encoding="utf-8")
    story = Source(file="file", language="en", per_line=False, title="", licence="")
    assert documents(tmp_path, story) == ["a\nb", "c"]
    assert documents(tmp_path, dataclasses.replace(story, per_line=True))[:2] == ["a", "b"]


@pytest.mark.parametrize("text", [None, "", "\n \n"])
def test_a_missing_or_empty_source_is_named(data: Path, tmp_path: Path, tokenizer: ByteLevel, text: str | None) -> None:
    folder = tmp_path / "data"
    shutil.copytree(data, folder)
    path = folder / SOURCES[3].file
    path.unlink()
    if text is not None:
        path.write_text(text)
    with pytest.raises(CorpusError, match=path.name):
        Corpus.prepare(folder, tokenizer, 0, tmp_path / "cache")
    with pytest.raises(CorpusError, match=path.name):
        list(training_texts(folder, 0))


def test_split_loses_nothing_and_repeats() -> None:
    found = [str(n) for n in range(230)]
    train_part, held = split(found, seed=5)
    assert sorted(train_part + held) == sorted(found)
    assert len(held) == math.ceil(230 / HELD_OUT_EVERY)
    assert split(found, seed=5) == (train_part, held)
    assert split(found, seed=6) != (train_part, held)


def test_prepare(data: Path, tokenizer: ByteLevel, corpus: Corpus, tmp_path: Path) -> None:
    def documents(ids: np.ndarray) -> list[str]:
        """What stands between the end-of-text tokens, which decoding leaves out."""
        return b"".join(token.bytes for token in tokenizer.tokens(ids.tolist())).decode().split(END_OF_TEXT)

    found = documents(corpus.train)
    assert found.pop() == ""  # every document is followed by end-of-text
    assert sorted(found) == sorted(training_texts(data, 0))
    assert {held.language for held in corpus.held_out} == {"en", "zh"}
    for held in corpus.held_out:
        texts = documents(held.ids)
        assert held.n_bytes == sum(len(text.encode()) for text in texts)
        assert not set(texts) & set(found)
    again = Corpus.prepare(data, tokenizer, 0, tmp_path)
    mapped = Corpus.prepare(data, tokenizer, 0, tmp_path)
    assert np.array_equal(again.train, corpus.train)
    assert np.array_equal(mapped.train, corpus.train)
    assert isinstance(mapped.train, np.memmap)
    assert len(list(tmp_path.iterdir())) == 1


@pytest.mark.parametrize(("n_tokens", "window", "per_step"), [(1000, 16, 4), (163, 10, 3), (98, 16, 5)])
def test_an_epoch_visits_every_window_once(n_tokens: int, window: int, per_step: int) -> None:
    per_epoch = (n_tokens - window - 1) // window // per_step
    orders = []
    for epoch in range(3):
        steps = range(epoch * per_epoch, (epoch + 1) * per_epoch)
        order = np.concatenate([windows_of_step(n_tokens, window, per_step, step, seed=1) for step in steps])
        starts = np.sort(order)
        assert len(starts) == per_epoch * per_step
        assert (np.diff(starts) == window).all()
        assert 0 <= starts[0] < window
        assert starts[-1] + window + 1 <= n_tokens
        orders.append(order.tolist())
    if per_epoch * per_step > 5:
        assert orders[0] != orders[1] != orders[2]


def test_the_order_is_a_function_of_seed_and_step() -> None:
    def starts(step: int, seed: int) -> list[int]:
        return windows_of_step(5000, 16, 4, step, seed).tolist()

    late = starts(70, 3)
    starts(1, 3)
    np.random.default_rng(0).random()
    assert starts(70, 3) == late
    assert starts(70, 4) != late
    assert starts(71, 3) != late


def test_too_few_tokens() -> None:
    with pytest.raises(CorpusError, match="40 tokens"):
        windows_of_step(40, 16, 4, 0, 0)


# The vocabulary


def test_a_learnt_vocabulary_round_trips(tokenizer: ByteLevel, data: Path) -> None:
    assert tokenizer.n_vocab == 320
    assert tokenizer.end_of_text == 319
    for text in [*training_texts(data, 0), "unseen: čaj 🙂\x00", END_OF_TEXT]:
        ids = tokenizer.encode(text)
        assert tokenizer.decode(ids) == text
        assert tokenizer.end_of_text not in ids
    assert [tokenizer.token(id).bytes for id in range(256)] == [bytes([b]) for b in range(256)]


def test_a_learnt_vocabulary_shortens_its_text(tokenizer: ByteLevel) -> None:
    text = " ".join(sentences("en"))
    # 63 merges are not many, but this text has few words.
    assert len(tokenizer.encode(text)) < 0.8 * len(text.encode())


def test_the_bundled_vocabulary_is_of_the_same_make() -> None:
    tokenizer = story_tokenizer()
    assert [tokenizer.token(id).bytes for id in range(256)] == [bytes([b]) for b in range(256)]


# The loop


def test_learning_rate() -> None:
    recipe = Recipe(config=tiny_config(), steps=104, warmup=4, peak_rate=1.0)
    rates = [learning_rate(recipe, step) for step in range(104)]
    assert rates[:5] == pytest.approx([0.25, 0.5, 0.75, 1.0, 1.0])
    assert rates[54] == pytest.approx(0.55)  # half-way down from 1 to 0.1
    assert rates[29] == pytest.approx(0.1 + 0.45 * (1 + math.cos(math.pi / 4)))
    assert learning_rate(recipe, 104) == pytest.approx(0.1)
    assert learning_rate(recipe, 10_000) == pytest.approx(0.1)
    assert rates[4:] == sorted(rates[4:], reverse=True)


def test_no_warm_up() -> None:
    assert learning_rate(Recipe(config=tiny_config(), steps=10, warmup=0, peak_rate=0.5), 0) == 0.5


def test_bits_per_byte_by_hand() -> None:
    model = random_model(tiny_config(n_context=4))
    ids = [int(n) for n in torch.randint(101, (11,), generator=torch.Generator().manual_seed(0))]
    nats = 0.0
    for start in (0, 4):  # the third window would need the twelfth token
        log_probs = model(torch.tensor([ids[start : start + 4]]))[0].log_softmax(-1)
        for t in range(4):
            nats -= log_probs[t, ids[start + t + 1]].item()
    per_token = nats / 8 / math.log(2)
    held = HeldOut("en", np.array(ids, dtype=np.uint16), n_bytes=33)
    assert bits_per_byte(model, held) == pytest.approx(per_token / 3, rel=1e-5)
    assert bits_per_byte(model, held, max_windows=5) == pytest.approx(per_token / 3, rel=1e-5)
    assert bits_per_byte(model, held, max_windows=1) != pytest.approx(per_token / 3, rel=1e-5)


def test_bits_per_byte_of_a_uniform_model() -> None:
    model = random_model(tiny_config(n_vocab=64, n_context=4))
    with torch.no_grad():
        model.embedding.weight.zero_()
    ids = np.arange(60, dtype=np.uint16)
    # Six bits a token, two bytes a token; more windows than fit one batch change nothing.
    assert bits_per_byte(model, HeldOut("en", ids, n_bytes=120)) == pytest.approx(3)
    assert bits_per_byte(model, HeldOut("en", np.tile(ids, 5), n_bytes=600)) == pytest.approx(3)


def test_held_out_text_must_fill_a_window() -> None:
    with pytest.raises(CorpusError, match="zh"):
        bits_per_byte(random_model(tiny_config()), HeldOut("zh", np.arange(16, dtype=np.uint16), n_bytes=16))


def test_training_learns(recipe: Recipe, corpus: Corpus, tmp_path: Path) -> None:
    reports = list(train(dataclasses.replace(recipe, steps=40, windows=4), corpus, tmp_path))
    assert reports[-1].loss < reports[0].loss - 1
    assert [report.step for report in reports] == list(range(40))
    validated = [report.step for report in reports if report.bits_per_byte]
    assert validated == list(range(3, 40, 4))
    first, last = reports[3].bits_per_byte, reports[-1].bits_per_byte
    assert first and last and all(last[language] < first[language] for language in ("en", "zh"))


@pytest.mark.parametrize("interruptions", [[1], [4], [7], [2, 3], [1, 1, 1, 1]])
def test_an_interrupted_run_is_the_uninterrupted_one(
    recipe: Recipe, corpus: Corpus, tmp_path: Path, interruptions: list[int]
) -> None:
    whole = measured(train(recipe, corpus, tmp_path / "whole"))
    parts = []
    for n_steps in interruptions:
        reports = train(recipe, corpus, tmp_path / "parts")
        parts += measured(itertools.islice(reports, n_steps))
        reports.close()
        torch.rand(3)
    parts += measured(train(recipe, corpus, tmp_path / "parts"))
    assert parts == whole
    one, other = (trained_model(recipe, tmp_path / name).state_dict() for name in ("whole", "parts"))
    assert all(torch.equal(one[name], other[name]) for name in one)


def test_a_killed_run_repeats_the_steps_after_its_checkpoint(
    recipe: Recipe, corpus: Corpus, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(loop, "SAVE_EVERY_SECONDS", -1.0)
    (tmp_path / "killed").mkdir()
    whole = []
    for report in train(recipe, corpus, tmp_path / "whole"):
        whole += measured([report])
        if report.step == 5:  # what a kill would leave at this moment
            shutil.copy(tmp_path / "whole" / "checkpoint.pt", tmp_path / "killed")
            (tmp_path / "killed" / "checkpoint.partial").write_bytes(b"half")
    assert measured(train(recipe, corpus, tmp_path / "killed")) == whole[5:]


def test_a_finished_run_has_nothing_left_to_do(recipe: Recipe, corpus: Corpus, tmp_path: Path) -> None:
    list(train(recipe, corpus, tmp_path))
    assert list(train(recipe, corpus, tmp_path)) == []


def test_a_folder_belongs_to_one_recipe(recipe: Recipe, corpus: Corpus, tmp_path: Path) -> None:
    list(train(recipe, corpus, tmp_path))
    with pytest.raises(TrainingError, match="another recipe"):
        next(train(dataclasses.replace(recipe, peak_rate=1e-3), corpus, tmp_path))


def _lost(loss: torch.Tensor) -> torch.Tensor:
    return loss * math.nan


def _steep(loss: torch.Tensor) -> torch.Tensor:
    return loss + (loss * 0).sqrt()  # a finite loss without a finite gradient


@pytest.mark.parametrize(("spoil", "message"), [(_lost, "step 5: the loss is nan"), (_steep, "step 5: the gradient")])
def test_a_loss_that_is_no_number_stops_the_run(
    recipe: Recipe,
    corpus: Corpus,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    spoil: Callable[[torch.Tensor], torch.Tensor],
    message: str,
) -> None:
    whole = measured(train(recipe, corpus, tmp_path / "whole"))
    cross_entropy = torch.nn.functional.cross_entropy
    calls = itertools.count()

    def spoilt(*args: Any, **kwargs: Any) -> torch.Tensor:
        loss = cross_entropy(*args, **kwargs)
        return spoil(loss) if next(calls) == 5 else loss

    recipe_without_validation = dataclasses.replace(recipe, validate_every=100)
    monkeypatch.setattr(loop, "SAVE_EVERY_SECONDS", -1.0)
    with monkeypatch.context() as patch:
        patch.setattr(loop, "F", types.SimpleNamespace(cross_entropy=spoilt))
        with pytest.raises(TrainingError, match=message):
            list(train(recipe_without_validation, corpus, tmp_path / "spoilt"))
    model = trained_model(recipe, tmp_path / "spoilt")
    assert all(p.isfinite().all() for p in model.parameters())
    resumed = list(train(recipe_without_validation, corpus, tmp_path / "spoilt"))
    assert [(r.step, r.loss) for r in resumed] == [(step, loss) for step, loss, *_ in whole[5:]]


def test_a_corpus_too_small_for_a_step(recipe: Recipe, corpus: Corpus, tmp_path: Path) -> None:
    small = Corpus(train=corpus.train[:20], held_out=corpus.held_out)
    with pytest.raises(CorpusError, match="20 tokens"):
        next(train(recipe, small, tmp_path))


def test_the_twins_recipes_differ_in_where_the_norm_stands() -> None:
    pre, post = RECIPES["story-pre-ln"], RECIPES["story-post-ln"]
    assert dataclasses.replace(pre, config=dataclasses.replace(pre.config, norm_at="post")) == post


# Publishing, and the command


def test_a_log_keeps_the_last_report_of_a_step(tmp_path: Path) -> None:
    reports = [{"step": 0, "loss": 3}, {"step": 1, "loss": 2}, {"step": 1, "loss": 2.5}, {"step": 2, "loss": 1}]
    (tmp_path / "log.jsonl").write_text("".join(json.dumps(report) + "\n" for report in reports))
    assert [report["loss"] for report in publish.read_log(tmp_path / "log.jsonl")] == [3, 2.5, 1]


def test_publish(data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    config = tiny_config(n_vocab=story_tokenizer().n_vocab)
    recipes = {
        "tiny": Recipe(config=config, steps=3, windows=2, warmup=1),
        "tiny-post": Recipe(config=dataclasses.replace(config, norm_at="post"), steps=3, windows=2, warmup=1),
    }
    monkeypatch.setattr(publish, "RECIPES", recipes)
    monkeypatch.setattr(command, "RECIPES", recipes)
    runs, target = tmp_path / "runs", tmp_path / "models" / "tiny"
    command.run("tiny", data, runs)
    command.run("tiny", data, runs)  # a finished run has nothing left to do
    publish.publish("tiny", runs / "tiny", data, runs, target)

    lm = vm.load(target)
    assert (lm.name, lm.twin, lm.config) == ("tiny", "tiny-post", config)
    trained = trained_model(recipes["tiny"], runs / "tiny").state_dict()
    for name, value in lm.model.state_dict().items():
        assert torch.equal(value, trained[name].half().float()), name
    assert lm.generate("The tailor", max_new_tokens=3).text
    log = [json.loads(line) for line in (target / "log.jsonl").read_text().splitlines()]
    assert [report["step"] for report in log] == [0, 1, 2]
    card = (target / "README.md").read_text(encoding="utf-8")
    held = Corpus.prepare(data, story_tokenizer(), 0, runs).held_out
    for each in held:
        assert f"{bits_per_byte(lm.model, each):.3f}" in card
    for source in SOURCES:
        assert source.title in card and source.licence in card


def test_the_command_names_what_is_missing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = ["story-pre-ln", "--data", str(tmp_path), "--runs", str(tmp_path / "runs")]
    monkeypatch.setattr("sys.argv", ["training", *arguments])
    with pytest.raises(SystemExit) as end:
        command.main()
    assert end.value.code == 2
    assert SOURCES[0].file in capsys.readouterr().err
