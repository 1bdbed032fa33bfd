"""The tokens page: the cuts of two vocabularies, merges and rows, their drawing, and what is said of them."""

import unicodedata

import islands
import numpy as np
import pytest
import torch
from tiny_models import language_model, random_model, tiny_config
from torch.nn import functional as F

import viz_model as vm
from viz_model.tokenizers.tokenizer import Token, cl100k_base, story_tokenizer
from viz_model.topics.tokens import PAGE, cutting, stretches
from viz_model.topics.tokens.cuts import EXAMPLES, CutsView
from viz_model.topics.tokens.textbook import ROWS, rows

NAMES = ("story-8k", "cl100k_base")
TUTORIAL, CHINESE = EXAMPLES["tutorial"], EXAMPLES["chinese"]
TEXTS = [
    "The",
    TUTORIAL,
    CHINESE,
    "Once upon a time, there was a little girl named " * 12,
    "👩‍👩‍👧 e\u0301 ß <b>hi</b> $x$ مرحبا\r\n\x00",
    " " * 100,
    "\ufffd",
]


def view(text: str) -> CutsView:
    story = story_tokenizer()
    ours = story.tokens(story.encode(text))
    return CutsView.of(ours, cutting.recut(ours, cl100k_base()), NAMES)


@pytest.mark.parametrize("text", TEXTS)
def test_both_rows_cover_the_same_bytes_without_gap(text: str) -> None:
    found = view(text)
    for cut in (found.upper, found.lower):
        assert cut.starts[0] == 0 and cut.stops[-1] == found.n_bytes == len(text.encode())
        np.testing.assert_array_equal(cut.starts[1:], cut.stops[:-1])
        assert b"".join(token.bytes for token in cut.tokens) == text.encode()
    for cut, other in ((found.upper, found.lower), (found.lower, found.upper)):
        spans = list(zip(other.starts.tolist(), other.stops.tolist(), strict=True))
        for position, span in enumerate(zip(cut.starts.tolist(), cut.stops.tolist(), strict=True)):
            assert cut.shared[position] == (span in spans)
            assert cut.origin[position] == (spans.index(span) if span in spans else -1)


def test_a_text_cut_inside_a_character_is_compared_as_far_as_it_is_text() -> None:
    story = story_tokenizer()
    ours = story.tokens(story.encode("ok 👩"))[:-1]  # the emoji is four bytes, of which one is missing
    theirs = cutting.recut(ours, cl100k_base())
    assert b"".join(token.bytes for token in theirs) == b"ok "
    assert not CutsView.of(ours, theirs, NAMES).over(len(ours) - 1)
    assert not CutsView.of(ours[-1:], (), NAMES).n_shared


def test_merges_rebuild_every_token_of_the_vocabulary() -> None:
    ranks = cutting.ranks(story_tokenizer())
    for raw, rank in ranks.items():
        steps = cutting.merges(ranks, raw)
        assert len(steps) == len(raw) - 1
        if steps:
            assert steps[-1].parts == (raw,) and steps[-1].rank == rank
            assert all(step.rank == ranks[step.parts[step.at]] for step in steps)


@pytest.mark.parametrize(
    ("raw", "kind"), [(b" cat", "space"), (b"cat", "text"), (b"\n", "blank"), (b" ", "blank"), (b"\xe6\xb7", "bytes")]
)
def test_what_stands_in_a_token(raw: bytes, kind: str) -> None:
    assert cutting.kind(Token(0, raw, ""), story_tokenizer()) == kind


@pytest.fixture(scope="module")
def tiny() -> vm.LanguageModel:
    return language_model(tiny_config(n_vocab=8192, n_context=64))


def sentences(lm: vm.LanguageModel, text: str, lang: str = "en", **place: int) -> str:
    return islands.told(PAGE, islands.look(lm.trace(text), PAGE, lang), **place)


@pytest.mark.parametrize("lang", ["en", "zh"])
@pytest.mark.parametrize("token", [0, 1, 3])
def test_a_token_is_told_of_in_both_vocabularies(token: int, lang: str, tiny: vm.LanguageModel) -> None:
    text = "我爱 the cat"
    told, own = sentences(tiny, text, lang, token=token), story_tokenizer()
    ids, theirs = own.encode(text), cl100k_base().encode(text)
    one, alone = own.token(ids[token]), [cl100k_base().token(id).bytes for id in theirs]
    assert " ".join(f"0x{byte:02X}" for byte in one.bytes) in told and f"{one.id:,}" in told and "{{" not in told
    same = one.bytes in alone
    found = f"{theirs[alone.index(one.bytes)]:,}" if same else "76207"
    assert same is (token != 1) and found in told
    assert str(len(set(alone) & {own.token(id).bytes for id in ids})) in told


def test_where_nothing_is_written_nothing_is_compared() -> None:
    look = islands.look(vm.load("translate-2017").trace("A cat", target_language="fr").at("decoder"), PAGE, "en")
    told = islands.sentences(PAGE, look)
    assert "Nothing is written yet: there is no text to cut" in told and not any("laid one" in one for one in told)
    assert not any("this text, cl100k_base" in one for one in told)
    assert not islands.pictures(PAGE, look).keys() & {"tokens.cuts", "tokens.apart"}


def test_no_token_crosses_the_ends_of_a_stretch() -> None:
    text = "小猫坐在垫子上，它很高兴。ABC"
    found = stretches.stretches(text, cl100k_base())
    assert "".join(one.text for one in found) == text
    assert [token.id for one in found for token in one.tokens] == list(cl100k_base().encode(text))


def test_other_forms() -> None:
    assert stretches.other_form("小猫坐在垫子上") == ("traditional", "小貓坐在墊子上")
    assert stretches.other_form("小貓坐在墊子上") == ("simplified", "小猫坐在垫子上")
    assert stretches.other_form("一二三") == (None, "一二三")
    form, other = stretches.other_form("ABC!")
    assert (form, unicodedata.normalize("NFKC", other)) == ("full", "ABC!") and stretches.other_form(other)[0] == "half"


def test_no_character_has_two_other_forms() -> None:
    pairs = stretches.PAIRS.read_text(encoding="utf-8").split()
    both = [character for pair in pairs for character in pair]
    assert all(len(pair) == 2 for pair in pairs) and len(set(both)) == len(both)
    assert all(unicodedata.name(character).startswith("CJK UNIFIED") for character in both)


def test_rows_that_point_the_same_way_are_counted() -> None:
    model = random_model(tiny_config())
    with torch.no_grad():
        model.embedding.weight[40:60] = torch.arange(1.0, 21.0)[:, None] * model.embedding.weight[40]
    found = rows(model)
    assert found.alike == tuple(range(40, 60)) and found.n == 101
    lengths = model.embedding.weight.norm(dim=-1)
    assert found.lengths == pytest.approx([f(lengths).item() for f in (torch.min, torch.median, torch.max)])
    assert found.length == pytest.approx(lengths[40:60].median().item())


def test_in_a_bundled_model_rows_of_pieces_that_stories_lack_have_become_one_direction() -> None:
    lm = vm.load("story-pre-ln")
    found = rows(lm.model)
    assert ROWS.of(found).name == "alike" and lm.tokenizer.mask_id is None
    assert {"[MASK]", "<|fr|>"} <= {lm.tokenizer.token(id).label for id in found.alike}
    units = F.normalize(lm.model.embedding.weight.detach()[list(found.alike)], dim=-1)
    assert (units @ units.T).min() > 0.95
    assert found.length > 3 * found.lengths[1]
