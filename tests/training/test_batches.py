"""viz_model.training.batches: what a step reads, and what it is asked."""

import itertools
from collections import Counter

import numpy as np
import pytest
import torch
from training_data import KINDS, byte_tokenizer, data_of, pairs, sentences, texts, tiny_recipe

from viz_model.config import Kind
from viz_model.training import batches
from viz_model.training.batches import IGNORED, Batch, Masked, Windows
from viz_model.training.corpus import Corpus, Documents, Split
from viz_model.training.recipe import MaskedToken, NextToken
from viz_model.training.sources import CorpusError


def same(one: Batch, other: Batch) -> bool:
    return all(a is b or torch.equal(a, b) for a, b in zip(one, other, strict=True))  # type: ignore[arg-type]


def split_of(train: np.ndarray, held_out: np.ndarray | None = None) -> Split:
    """A split of two streams of ids."""
    held_out = train[:40] if held_out is None else held_out
    kept, aside = (Documents(ids.astype(np.uint16), np.array([0, len(ids)])) for ids in (train, held_out))
    return Split(kept, aside)


@pytest.mark.parametrize("kind", KINDS)
def test_a_batch_is_a_function_of_seed_and_step(kind: Kind) -> None:
    one, other = (data_of(tiny_recipe(kind)) for _ in range(2))
    steps = [7, 0, 31, 7, 1]
    first = {step: one.step(step) for step in steps}
    for step in sorted(steps):
        assert same(other.step(step), first[step]), step
    assert not same(first[0], first[1]) and not same(data_of(tiny_recipe(kind, seed=1)).step(0), first[0])
    for language in one.languages:
        held_out = list(one.held_out(language))
        assert held_out and all(batch.n_asked for batch in held_out)
        assert all(same(a, b) for a, b in zip(held_out, other.held_out(language), strict=True))


@pytest.mark.parametrize(("n_tokens", "window", "rows"), [(1000, 16, 4), (163, 10, 3)])
def test_an_epoch_visits_every_window_once(n_tokens: int, window: int, rows: int) -> None:
    stream = np.arange(n_tokens)
    data = Windows(Corpus({"en": split_of(stream)}, byte_tokenizer()), NextToken(rows={"en": rows}), window, seed=1)
    per_epoch = (n_tokens - window - 1) // window // rows
    orders = []
    for epoch in range(3):
        found = [data.step(step) for step in range(epoch * per_epoch, (epoch + 1) * per_epoch)]
        assert all(batch.ids.shape == batch.answers.shape == (rows, window) for batch in found)
        assert all(torch.equal(batch.answers, batch.ids + 1) for batch in found)  # the next of the stream
        starts = torch.cat([batch.ids[:, 0] for batch in found])
        ordered = starts.sort().values
        assert len(ordered) == per_epoch * rows and (ordered.diff() == window).all()
        assert 0 <= ordered[0] < window and ordered[-1] + window < n_tokens
        orders.append(starts.tolist())
    assert orders[0] != orders[1] != orders[2]


def test_texts_too_small_for_a_step() -> None:
    for texts_, says in (
        ({"en": split_of(np.arange(40))}, "40 tokens are too few for 4 windows of 16"),
        ({"zh": split_of(np.arange(400))}, "the corpus has no text of this language"),
        ({"en": split_of(np.arange(400), np.arange(0))}, "the corpus has no held-out text"),
    ):
        with pytest.raises(CorpusError, match=f"en: {says}"):
            Windows(Corpus(texts_, byte_tokenizer()), NextToken(rows={"en": 4}), 16, 0)
    with pytest.raises(CorpusError, match="no mask"):
        Masked(texts("decoder"), MaskedToken(tokens=9), 8, 0)
    with pytest.raises(CorpusError, match="does not train on a"):
        batches.build(tiny_recipe("decoder"), pairs())


def long_documents(n: int, length: int, seed: int = 0) -> Corpus:
    tokenizer = byte_tokenizer("encoder")
    rng = np.random.default_rng(seed)
    written = ["".join(map(chr, rng.integers(97, 123, size=length))) for _ in range(n)]
    found = Documents.encode(written, tokenizer)
    return Corpus({"en": Split(found, found)}, tokenizer)


@pytest.mark.parametrize("rate", [0.15, 0.4])
def test_the_mask_takes_its_share_and_leaves_the_rest(rate: float) -> None:
    data = Masked(long_documents(40, 98), MaskedToken(tokens=100 * 40, rate=rate), longest=128, seed=3)
    tokenizer = data.tokenizer
    counts: Counter[str] = Counter()
    others = []
    for batch in (data.step(step) for step in range(20)):
        hidden = batch.answers != IGNORED
        counts["tokens"] += int((batch.answers >= 97).sum())
        counts["tokens"] += int(((batch.ids >= 97) & (batch.ids < 123) & ~hidden).sum())
        counts["asked"] += int(hidden.sum())
        counts["masked"] += batch.ids[hidden].tolist().count(tokenizer.mask_id)
        counts["kept"] += int((batch.ids[hidden] == batch.answers[hidden]).sum())
        others += batch.ids[hidden & (batch.ids < 256) & (batch.ids != batch.answers)].tolist()
        assert ((batch.answers[hidden] >= 97) & (batch.answers[hidden] < 123)).all()  # never a control token
        assert tokenizer.mask_id not in batch.ids[~hidden].tolist()
    n = counts["tokens"]
    assert n == 20 * 40 * 98
    # Within four standard deviations of the binomial distributions.
    assert abs(counts["asked"] / n - rate) < 4 * (rate * (1 - rate) / n) ** 0.5
    n = counts["asked"]
    for share, found in ((0.8, counts["masked"]), (0.1, counts["kept"]), (0.1, len(others))):
        assert abs(found / n - share) < 4 * (share * (1 - share) / n) ** 0.5 + 1 / 256  # another may be the same
    assert min(others) < 20 and 230 < max(others) < 256  # any token, but no control


def test_documents_stand_between_two_ends_of_text_and_padding_is_never_asked() -> None:
    data = data_of(tiny_recipe("encoder"))
    end, known = data.tokenizer.end_of_text, set(sentences("en") + sentences("zh"))
    seen = set()
    for step in range(40):
        batch = data.step(step)
        assert batch.padding is not None and batch.target_ids is None
        assert (batch.answers[batch.padding] == IGNORED).all()
        original = torch.where(batch.answers == IGNORED, batch.ids, batch.answers)
        for row, padding in zip(original, batch.padding, strict=True):
            ids = row[~padding].tolist()
            assert padding.tolist() == sorted(padding.tolist())  # behind the document
            assert ids[0] == ids[-1] == end
            seen.add(data.tokenizer.decode(ids))
    assert seen < known
    long = Masked(long_documents(1, 500), MaskedToken(tokens=50), longest=50, seed=0)
    found = [long.step(step) for step in range(30)]
    assert all(batch.ids.shape == (1, 50) for batch in found)  # a random stretch of it
    assert len({tuple(torch.where(b.answers == IGNORED, b.ids, b.answers)[0].tolist()) for b in found}) > 20
    short = Masked(long_documents(20, 1), MaskedToken(tokens=3, rate=0.01), longest=8, seed=0)
    assert all(short.step(step).n_asked >= 1 for step in range(40))


def test_a_decoder_reads_the_tag_and_then_what_it_has_said() -> None:
    data = data_of(tiny_recipe("encoder_decoder"))
    tokenizer = data.tokenizer
    languages = {tag: language for language, tag in tokenizer.languages.items()}
    seen: Counter[tuple[str, str]] = Counter()
    for step in range(30):
        batch = data.step(step)
        assert batch.target_ids is not None and batch.padding is not None
        rows = (batch.ids, batch.padding, batch.target_ids, batch.answers)
        for ids, padding, reads, answers in zip(*rows, strict=True):
            asked = answers != IGNORED
            said, english = answers[asked].tolist(), ids[~padding].tolist()
            assert asked.tolist() == sorted(asked.tolist(), reverse=True)
            assert said[-1] == english[-1] == tokenizer.end_of_text and reads[asked].tolist()[1:] == said[:-1]
            assert tokenizer.encode(tokenizer.decode(english)) == english  # as at inference
            language = languages[int(reads[0])]
            seen[language, tokenizer.decode(english)] += 1
            known = sentences("en").index(tokenizer.decode(english))
            assert tokenizer.decode(said) == sentences(language)[known]
    assert {language for language, _ in seen} == {"fr", "zh"}


def test_every_epoch_of_a_plan_visits_every_item_once() -> None:
    lengths = np.random.default_rng(0).integers(2, 40, size=(2, 500))
    plan = batches._Plan(lengths, tokens=300, seed=4)
    steps = [plan.step(step) for step in range(300)]
    first = list(itertools.accumulate(len(items) for items in steps))
    n_steps = first.index(500) + 1
    assert sorted(np.concatenate(steps[:n_steps])) == list(range(500))
    second = np.concatenate(steps[n_steps : n_steps + first[n_steps:].index(1000) + 1])
    assert sorted(second) == list(range(500))
    # Items of like length meet: what a step reads is hardly wider than what it holds.
    held = sum(int(lengths[:, items].sum()) for items in steps[:n_steps])
    reads = [int(lengths[:, items].max(axis=1).sum() * len(items)) for items in steps[:n_steps]]
    assert held > 0.75 * sum(reads) and max(reads) <= 300
    # And steps do not come in the order of length.
    widths = [int(lengths[:, items].max()) for items in steps[:n_steps]]
    assert widths != sorted(widths)
