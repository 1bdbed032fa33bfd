"""Statistics over a corpus are those of its texts one by one, however they are batched, ordered or interrupted."""

import itertools
import subprocess
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from tiny_models import describe, few, language_model, tiny_config

import viz_model as vm
from viz_model import config, corpus
from viz_model.config import ModelConfig
from viz_model.corpus import MEASURES, Settings, Statistics
from viz_model.training.sources import CorpusError

ROOT = Path(__file__).resolve().parents[2]
SETTINGS = Settings(top=3, batch_tokens=40, job_texts=4)
KINDS = [
    tiny_config(),
    tiny_config("post", kind="encoder", head=config.MaskedHead(), position=config.Learned()),
    tiny_config(kind="encoder_decoder", n_encoder_layers=3, start_id=0, position=config.T5Bias(buckets=8)),
]


def random_texts(n: int, n_vocab: int = 6) -> list[tuple[int, ...]]:
    """Texts of 1 to 14 tokens, of so few kinds that most come again."""
    numbers = torch.Generator().manual_seed(n)
    lengths = torch.randint(1, 15, (n,), generator=numbers).tolist()
    return [tuple(torch.randint(n_vocab, (length,), generator=numbers).tolist()) for length in lengths]


def one_by_one(lm: vm.LanguageModel, given: Sequence[Sequence[int]]) -> tuple[Any, list[list[Any]]]:
    """Means [L, H, M] from traces and plain loops, and the hidden neurons [T, F] by layer and text."""
    side = lm.config.sides[0]
    n_layers = lm.config.depth(side)
    rows: dict[tuple[int, int, str], list[float]] = {}
    acts: list[list[Any]] = [[] for _ in range(n_layers)]
    for ids in given:
        trace = lm.trace(ids=ids, target_ids=[0] if lm.config.kind == "encoder_decoder" else None).at(side)
        for layer, head in itertools.product(range(n_layers), range(lm.config.n_heads)):
            pattern = trace.head(f"blocks.{layer}.attn.pattern", head).double().numpy()
            for measure, found in rows_of(pattern, ids, side == "decoder").items():
                rows.setdefault((layer, head, measure), []).extend(found)
        for layer in range(n_layers):
            acts[layer].append(trace[f"blocks.{layer}.ffn.act"].numpy())
    means = [np.mean(rows[place]) for place in itertools.product(range(n_layers), range(lm.config.n_heads), MEASURES)]
    return np.reshape(means, (n_layers, lm.config.n_heads, len(MEASURES))), acts


def rows_of(pattern: Any, ids: Sequence[int], is_causal: bool) -> dict[str, list[float]]:
    length = len(ids)
    found: dict[str, list[float]] = {measure: [] for measure in MEASURES}
    for i in range(length):
        if i + 1 > 1 if is_causal else length > 1:
            found["entropy"].append(-sum(p * np.log2(p) for p in pattern[i] if p > 0))
            found["itself"].append(pattern[i, i])
            if i + 1 < length:
                found["next"].append(pattern[i, i + 1])
        if i:
            found["previous"].append(pattern[i, i - 1])
            found["first"].append(pattern[i, 0])
        copies = [j for j in range(i) if ids[j] == ids[i]]
        if copies:
            found["duplicate"].append(sum(pattern[i, j] for j in copies))
        if apart := [j for j in copies if j + 1 != i]:
            found["induction"].append(sum(pattern[i, j + 1] for j in apart))
    return found


def same(one: Statistics, other: Statistics) -> None:
    """Assert that two passes found the same, to the last bit."""
    assert (one.n_texts, one.n_tokens, one.n_dropped) == (other.n_texts, other.n_tokens, other.n_dropped)
    for ours, theirs in ((one.heads, other.heads), (one.neurons, other.neurons)):
        for name, array in ours._asdict().items():
            np.testing.assert_array_equal(array, getattr(theirs, name), err_msg=name)


@pytest.mark.parametrize("config", few(), ids=describe)
def test_a_corpus_is_its_texts_one_by_one(config: ModelConfig) -> None:
    lm, given = language_model(config), random_texts(8)
    found = corpus.measure(lm, given, SETTINGS).natural
    means, acts = one_by_one(lm, given)
    np.testing.assert_allclose(np.stack([found.heads.mean(measure) for measure in MEASURES], -1), means, atol=2e-6)
    assert found.n_texts == len(given) and found.n_tokens == sum(map(len, given))
    for layer, texts_ in enumerate(acts):
        highest = np.sort(np.stack([act.max(0) for act in texts_]), axis=0)[::-1][: SETTINGS.top].T  # [F, k]
        values, numbers, positions = found.neurons.at(layer)
        np.testing.assert_allclose(values, highest.clip(min=0), rtol=1e-4, atol=1e-5)
        # Texts that begin alike fire a causal model alike: which of them is named is a matter of rounding.
        for neuron, place in np.argwhere(values > 0):
            number, position = numbers[neuron, place], positions[neuron, place]
            assert texts_[number][position, neuron] == pytest.approx(values[neuron, place], rel=1e-4, abs=1e-5)
            assert number not in numbers[neuron, :place]
        assert (numbers[values == 0] == -1).all() and (positions[values == 0] == -1).all()


@pytest.mark.parametrize("config", KINDS, ids=describe)
def test_padding_changes_nothing(config: ModelConfig) -> None:
    lm, given = language_model(config), random_texts(8)
    alone = Settings(top=3, batch_tokens=1)
    together = Settings(top=3, batch_tokens=10_000)
    one, other = (corpus.measure(lm, given, settings).natural for settings in (together, alone))
    np.testing.assert_array_equal(one.heads.counts, other.heads.counts)
    np.testing.assert_allclose(one.heads.sums, other.heads.sums, rtol=1e-5, atol=1e-5)
    np.testing.assert_allclose(one.neurons.value, other.neurons.value, rtol=1e-4, atol=1e-5)


def test_an_induction_head_is_found_and_a_duplicate_is_something_else() -> None:
    ids = (5, 6, 7, 5, 6, 7)
    queries = corpus.batch._Queries.of(torch.tensor([ids]), torch.ones(1, 6, dtype=torch.bool), is_causal=True)
    after_the_copy, the_copy = torch.zeros(1, 1, 6, 6), torch.zeros(1, 1, 6, 6)
    for query in (3, 4, 5):
        after_the_copy[..., query, query - 2], the_copy[..., query, query - 3] = 1, 1
    assert [queries.total(m, after_the_copy).item() for m in ("induction", "duplicate")] == [3, 0]
    assert [queries.total(m, the_copy).item() for m in ("induction", "duplicate")] == [0, 3]
    assert dict(zip(MEASURES, queries.counts().tolist(), strict=True)) == {
        **dict.fromkeys(("entropy", "previous", "first", "itself"), 5),
        **{"next": 4, "induction": 3, "duplicate": 3},
    }


@pytest.mark.parametrize("config", KINDS, ids=describe)
def test_an_interrupted_pass_finds_what_it_would_have_found(config: ModelConfig, tmp_path: Path) -> None:
    lm, given, partial = language_model(config), random_texts(14), tmp_path / "stats.partial"
    whole = corpus.survey(lm, given, SETTINGS)
    for n_texts in (4, 8):

        def watch(so_far: Statistics, n_texts: int = n_texts) -> None:
            if so_far.n_texts >= n_texts:
                raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt):
            corpus.measure(lm, given, SETTINGS, partial=partial, watch=watch)
        assert corpus.read(partial).natural.n_texts == n_texts
    numbers: list[int] = []
    resumed = corpus.survey(lm, given, SETTINGS, partial=partial, watch=lambda so_far: numbers.append(so_far.n_texts))
    assert numbers == [8, 12, 14]
    same(resumed.natural, whole.natural)
    assert resumed.about == whole.about
    assert resumed.repeated is not None and whole.repeated is not None
    np.testing.assert_array_equal(resumed.repeated.sums, whole.repeated.sums)


def test_numbers_of_another_pass_are_not_added_to(tmp_path: Path) -> None:
    lm, given, partial = language_model(tiny_config()), random_texts(9), tmp_path / "stats.partial"
    corpus.measure(lm, given, SETTINGS, partial=partial)
    others: list[tuple[vm.LanguageModel, Iterable[Any], Settings]] = [
        (lm, [(1, 2), *given[1:]], SETTINGS),
        (lm, given[:-1], SETTINGS),
        (lm, given, Settings(top=2, batch_tokens=40, job_texts=4)),
        (language_model(tiny_config(), seed=1), given, SETTINGS),
    ]
    for other, read, settings in others:
        with pytest.raises(CorpusError, match="another model, other settings or other texts"):
            corpus.measure(other, read, settings, partial=partial)
    more = corpus.measure(lm, [*given, (1, 2, 3)], SETTINGS, partial=partial).natural
    assert more.n_texts == 10
    partial.write_bytes(partial.read_bytes()[:200])
    with pytest.raises(CorpusError, match="damaged"):
        corpus.measure(lm, given, SETTINGS, partial=partial)


def test_a_folder_is_read_in_the_order_of_its_names(tmp_path: Path) -> None:
    (tmp_path / "b").mkdir()
    (tmp_path / "b" / "two.txt").write_text("three\nlines\n\nhere")
    (tmp_path / "a.txt").write_text("one<|endoftext|>\n two <|endoftext|> ")
    (tmp_path / "notes.md").write_text("not a text")
    assert list(corpus.texts_of(tmp_path)) == ["one", "two", "three\nlines\n\nhere"]
    assert list(corpus.texts_of(tmp_path / "b" / "two.txt", per_line=True)) == ["three", "lines", "here"]
    (tmp_path / "b" / "two.txt").write_bytes(b"ab\xff")
    with pytest.raises(CorpusError, match="byte 2"):
        list(corpus.texts_of(tmp_path))
    with pytest.raises(CorpusError, match="no such file"):
        list(corpus.texts_of(tmp_path / "nothing"))


@pytest.mark.slow
def test_the_command_is_killed_and_goes_on(tmp_path: Path) -> None:
    (tmp_path / "stories.txt").write_text("<|endoftext|>".join(f"The cat {n} sat on the mat." for n in range(300)))
    command = [sys.executable, "-m", "viz_model.corpus", str(tmp_path / "stories.txt")]
    command += ["--model", "story-pre-ln", "--out", str(tmp_path / "stats"), "--threads", "1"]
    with subprocess.Popen(command, cwd=ROOT, stderr=subprocess.DEVNULL) as process:
        while not (tmp_path / "stats.partial").exists():
            assert process.poll() is None
        process.kill()
    assert 0 < corpus.read(tmp_path / "stats.partial").natural.n_texts <= 300
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    assert "300 texts" in done.stdout and not (tmp_path / "stats.partial").exists()
    expected = corpus.survey(vm.load("story-pre-ln"), corpus.texts_of(tmp_path / "stories.txt"))
    found = corpus.read(tmp_path / "stats.npz")
    assert found.about == expected.about
    same(found.natural, expected.natural)
    assert found.repeated is not None and expected.repeated is not None
    np.testing.assert_array_equal(found.repeated.sums, expected.repeated.sums)


@pytest.mark.slow
def test_two_workers_find_what_one_process_finds(request: pytest.FixtureRequest) -> None:
    from viz_model.corpus.cluster import on_ray

    ray = pytest.importorskip("ray")
    ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False)
    request.addfinalizer(ray.shutdown)
    lm, settings = vm.load("story-pre-ln"), Settings(top=4, job_texts=3)
    given = [f"Once upon a time, {name} had {n} cats." for n, name in enumerate(("Tom", "Lily", "Ben", "Sue") * 4)]
    expected = corpus.measure(lm, given, settings)
    found = corpus.measure(lm, given, settings, workers=on_ray("story-pre-ln", settings, 2))
    same(found.natural, expected.natural)
    assert found.about == expected.about
