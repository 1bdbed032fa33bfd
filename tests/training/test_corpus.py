"""viz_model.training.sources, corpus and vocabulary: what is read, what is set aside, and what is kept on disk."""

import dataclasses
import shutil
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from training_data import byte_tokenizer, sentences, write_corpus

from viz_model.tokenizers.tokenizer import END_OF_TEXT, STORY_CONTROLS, ByteLevel, load_ranks, story_tokenizer
from viz_model.training import corpus as module
from viz_model.training import vocabulary
from viz_model.training.corpus import Corpus, Documents, PairCorpus
from viz_model.training.sources import PAIRS, TEXTS, CorpusError, Pair, PairSource, Source, documents, pairs, split
from viz_model.training.sources import training_texts as texts_of

SOURCE = Source(file="file", language="en", per_line=False, title="", license="")
PAIR_SOURCE = PairSource(file="file", language="fr", title="", license="")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_corpus(tmp_path_factory.mktemp("data"))


def spelled(found: Documents, tokenizer: ByteLevel) -> list[str]:
    """The documents as text again, each of which must end in end-of-text."""
    assert all(found[n][-1] == tokenizer.end_of_text for n in range(len(found)))
    return [tokenizer.decode(found[n].tolist()) for n in range(len(found))]


def test_documents(tmp_path: Path) -> None:
    text = f" a\nb \n\n{END_OF_TEXT}\n\nc{END_OF_TEXT} {END_OF_TEXT}a\nb"
    (tmp_path / "file").write_text(text, encoding="utf-8")
    assert documents(tmp_path, SOURCE) == ["a\nb", "c"]
    (tmp_path / "file").write_text("a\n\n b \na\nc", encoding="utf-8")
    assert documents(tmp_path, dataclasses.replace(SOURCE, per_line=True)) == ["a", "b", "c"]


def test_pairs(tmp_path: Path) -> None:
    text = "Hi.\tSalut.\tCC BY\nGo!\tVa !\nHi.\tBonjour.\nHi.\t Salut.\nBye.\tAdieu.\n"
    (tmp_path / "file").write_text(text, encoding="utf-8")
    read = [Pair("Hi.", ("Salut.", "Bonjour.")), Pair("Go!", ("Va !",)), Pair("Bye.", ("Adieu.",))]
    assert pairs(tmp_path, PAIR_SOURCE) == read
    for content, message in (
        (b"Hi.\t \nGo!\tVa !\n", "file, line 1: expected two sentences"),
        (b"Hi.\tSalut.\nHi.\tBonjour.\n", "file: expected at least two sentences"),
        (b"Hi.\tSalut.\n\xff\tVa !\n", "file: byte 11 is not UTF-8"),
    ):
        (tmp_path / "file").write_bytes(content)
        with pytest.raises(CorpusError, match=message):
            pairs(tmp_path, PAIR_SOURCE)


@pytest.mark.parametrize("source", [TEXTS[0], PAIRS[0]])
@pytest.mark.parametrize("content", [None, b"", b"\n \n", b"one document", b"\xe6\xb7", b"Hi.\tSalut.\n\tVa !\n"])
def test_a_bad_file_is_named(folder: Path, tmp_path: Path, source: Source | PairSource, content: bytes | None) -> None:
    data = tmp_path / "data"
    shutil.copytree(folder, data)
    path = data / source.file
    path.unlink()
    if content is not None:
        path.write_bytes(content)
    prepare = Corpus.prepare if isinstance(source, Source) else PairCorpus.prepare
    with pytest.raises(CorpusError, match=path.name):
        prepare(data, byte_tokenizer("encoder_decoder"), 0, tmp_path / "cache")
    with pytest.raises(CorpusError, match=path.name):
        list(texts_of(data, 0))


def test_texts_are_tokenized_once_and_mapped(folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tokenizer = byte_tokenizer()
    first = Corpus.prepare(folder, tokenizer, 0, tmp_path)
    with monkeypatch.context() as patch:
        patch.setattr(Documents, "encode", lambda *_: pytest.fail("tokenized again"))
        again = Corpus.prepare(folder, tokenizer, 0, tmp_path)
    assert list(again.languages) == ["en", "zh"] and len(list(tmp_path.iterdir())) == 2
    # Another seed or another vocabulary is another cache.
    Corpus.prepare(folder, tokenizer, 1, tmp_path)
    Corpus.prepare(folder, story_tokenizer(), 0, tmp_path)
    assert len(list(tmp_path.iterdir())) == 6
    for language, found in again.languages.items():
        assert isinstance(found.train.ids, np.memmap) and not found.train.ids.flags.writeable
        assert np.array_equal(found.train.ids, first.languages[language].train.ids)
        train, held_out = spelled(found.train, tokenizer), spelled(found.held_out, tokenizer)
        known = {source: split(documents(folder, source), 0) for source in TEXTS if source.language == language}
        assert sorted(train) == sorted(text for kept, _ in known.values() for text in kept)
        stories = [source for source in known if not source.per_line]
        assert held_out == [text for source in stories for text in known[source][1]]
        assert [sample.source for sample in found.samples] == [source.file for source in stories]
        for source, sample in zip(stories, found.samples, strict=True):
            kept, aside = known[source]
            assert spelled(sample.held_out, tokenizer) == aside
            assert spelled(sample.seen, tokenizer) == kept[: module.SEEN * len(aside)]
    # Files do not follow one another: every batch is of all of them.
    per_line = set(documents(folder, TEXTS[2]))
    places = [n for n, text in enumerate(spelled(again.languages["en"].train, tokenizer)) if text in per_line]
    assert places != list(range(places[0], places[0] + len(places)))


def test_held_out_documents_are_never_trained_on_however_often_they_stand_there(tmp_path: Path) -> None:
    data = write_corpus(tmp_path / "data")
    for source in TEXTS:
        path = data / source.file
        joint = "\n" if source.per_line else END_OF_TEXT
        path.write_text(joint.join([path.read_text(encoding="utf-8")] * 3), encoding="utf-8")
    for pair_source in PAIRS:
        path = data / pair_source.file
        lines = path.read_text(encoding="utf-8").splitlines()
        others = [line.split("\t")[1] for line in lines]
        # Every sentence three times more, with translations of others.
        lines += [f"{line.split(chr(9))[0]}\t{others[n - k]}" for k in (1, 2, 3) for n, line in enumerate(lines)]
        path.write_text("\n".join(lines), encoding="utf-8")
    for seed in range(6):
        tokenizer = byte_tokenizer("encoder_decoder")
        for stories in Corpus.prepare(data, tokenizer, seed, tmp_path / "cache").languages.values():
            held_out = set(spelled(stories.held_out, tokenizer))
            assert held_out and not held_out & set(spelled(stories.train, tokenizer))
        for translated in PairCorpus.prepare(data, tokenizer, seed, tmp_path / "cache").languages.values():
            held_out = {pair.english for pair in translated.held_out_pairs}
            assert held_out and not held_out & set(spelled(translated.train[0], tokenizer))
            assert all(len(pair.translations) > 2 for pair in translated.held_out_pairs)


def test_a_preparation_that_fails_leaves_nothing(folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tokenizer, save = byte_tokenizer(), np.save
    whole = Corpus.prepare(folder, tokenizer, 0, tmp_path / "whole")
    # Of each language the text trained on, and two sources' held-out documents and as many others; two arrays each.
    n_arrays = 2 * (1 + 2 * 2)
    for n_written in (0, 1, n_arrays - 1, n_arrays, n_arrays + 1):
        cache, left = tmp_path / f"cache-{n_written}", iter(range(n_written))

        def interrupted(path: Path, array: np.ndarray, left: Iterator[int] = left) -> None:
            if next(left, None) is None:
                path.write_bytes(b"half")
                raise KeyboardInterrupt
            save(path, array)

        with monkeypatch.context() as patch:
            patch.setattr(np, "save", interrupted)
            with pytest.raises(KeyboardInterrupt):
                Corpus.prepare(folder, tokenizer, 0, cache)
        # What is there is whole: each language was written in one move or is missing.
        assert len(list(cache.iterdir())) == n_written // n_arrays
        again = Corpus.prepare(folder, tokenizer, 0, cache)
        for language, found in whole.languages.items():
            assert np.array_equal(again.languages[language].train.ids, found.train.ids)


@pytest.mark.parametrize("texts", [["one single text that is long enough"], ["a few", "short", "texts"]])
def test_of_few_texts_the_end_is_held_out(texts: list[str]) -> None:
    tokenizer = byte_tokenizer()
    found = Corpus.of_texts(texts, tokenizer).languages["text"]
    whole = Documents.encode(texts, tokenizer).ids
    assert np.array_equal(np.concatenate((found.train.ids, found.held_out.ids)), whole)
    assert len(found.held_out.ids) == max(2, len(whole) // 10)
    for nothing in ([], [" \n", "\t"]):
        with pytest.raises(CorpusError, match="nothing to train on"):
            Corpus.of_texts(nothing, tokenizer)
    with pytest.raises(CorpusError, match="2 tokens long"):
        Corpus.of_texts(["ab"], tokenizer)


def test_a_learned_vocabulary_round_trips(folder: Path, tmp_path: Path) -> None:
    vocabulary.learn(texts_of(folder, seed=0), 340, tmp_path / "tiny.tiktoken")
    learned = ByteLevel(load_ranks(tmp_path / "tiny.tiktoken"))
    assert (learned.n_vocab, learned.end_of_text) == (340, 339)
    assert [learned.token(id).bytes.decode() for id in range(336, 340)] == list(STORY_CONTROLS)
    for language in ("en", "fr", "zh"):
        assert len(learned.encode(" ".join(sentences(language)))) < 0.8 * len(" ".join(sentences(language)).encode())
    for text in [*texts_of(folder, 0), "unseen: čaj 🙂\x00", *STORY_CONTROLS]:
        ids = learned.encode(text)
        assert learned.decode(ids) == text and not learned.controls & set(ids)
    assert [learned.token(id).bytes for id in range(256)] == [bytes([b]) for b in range(256)]
