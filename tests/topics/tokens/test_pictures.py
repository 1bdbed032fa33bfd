"""The cuts of two vocabularies over the same bytes, the merges of a token, and their drawing."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tiny_models import language_model, tiny_config

import viz_model as vm
from viz_model.tokenizers.tokenizer import IdTokenizer, Token, cl100k_base, story_tokenizer
from viz_model.topics.tokens.numbers import facts, splitting
from viz_model.topics.tokens.numbers import tokens as cutting
from viz_model.topics.tokens.pictures.cuts import CutsView, draw_cuts
from viz_model.topics.tokens.pictures.layout import LINE, columns
from viz_model.topics.tokens.pictures.merges import MergesView, draw_merges
from viz_model.topics.tokens.pictures.survey import draw_survey
from viz_model.topics.tokens.pictures.use import Used, draw_use

NAMES = ("story-8k", "cl100k_base")
WORDS = {"position": "position", "id": "id", "bytes": "bytes", "upper": "upper", "lower": "lower"}
STEPS = {"start": "bytes", "step": "{n} · {rank}"}
TEXTS = [
    "The",
    cutting.TUTORIAL,
    cutting.CHINESE,
    "Once upon a time, there was a little girl named " * 12,
    "👩‍👩‍👧 e\u0301 ß <b>hi</b> $x$ مرحبا\r\n\x00",
    " " * 100,
    "\ufffd",
]


def cuts(text: str, selected: int | None = None) -> CutsView:
    story = story_tokenizer()
    ours = story.tokens(story.encode(text))
    return CutsView.of(ours, cutting.recut(ours, cl100k_base()), NAMES, selected)


def test_the_ids_of_the_tutorial_sentence() -> None:
    view = cuts(cutting.TUTORIAL)
    ids = [token.id for token in view.lower.tokens]
    assert ids == [26072, 220, 16, 25, 17283, 23097, 403, 323, 17013, 1711]


def test_the_chinese_example_has_nine_tokens_and_three_broken_characters() -> None:
    view = cuts(cutting.CHINESE)
    assert len(view.lower.tokens) == 9
    assert cutting.broken(view.lower.tokens) == 3
    assert cutting.characters(view.lower.tokens) == list("我爱爱深深度学习习")


@pytest.mark.parametrize("text", TEXTS)
def test_both_rows_cover_the_same_bytes_without_gap(text: str) -> None:
    view = cuts(text)
    for cut in (view.upper, view.lower):
        assert cut.starts[0] == 0 and cut.stops[-1] == view.n_bytes == len(text.encode())
        np.testing.assert_array_equal(cut.starts[1:], cut.stops[:-1])
        assert b"".join(token.bytes for token in cut.tokens) == text.encode()


@pytest.mark.parametrize("text", TEXTS)
def test_a_token_is_shared_exactly_if_the_other_row_has_its_bytes_there(text: str) -> None:
    view = cuts(text)
    for cut, other in ((view.upper, view.lower), (view.lower, view.upper)):
        spans = list(zip(other.starts.tolist(), other.stops.tolist(), strict=True))
        for position, span in enumerate(zip(cut.starts.tolist(), cut.stops.tolist(), strict=True)):
            assert cut.shared[position] == (span in spans)
            assert cut.origin[position] == (spans.index(span) if span in spans else -1)


@pytest.mark.parametrize("text", TEXTS)
def test_lines_fill_from_the_left_and_keep_to_their_width(text: str) -> None:
    view = cuts(text)
    assert (np.diff(view.line) >= 0).all() and set(view.line) == set(range(view.n_lines))
    assert float((view.x + view.width).max()) <= LINE + 1e-9
    for n in range(view.n_lines):
        x, width = view.x[view.line == n], view.width[view.line == n]
        np.testing.assert_allclose(x, np.cumsum(width) - width, atol=1e-9)


@pytest.mark.parametrize("text", TEXTS)
def test_every_token_has_room_for_its_label(text: str) -> None:
    view = cuts(text)
    for cut in (view.upper, view.lower):
        for token, start, stop in zip(cut.tokens, cut.starts, cut.stops, strict=True):
            assert view.width[start:stop].sum() >= columns(token.label)


@pytest.mark.full
@given(st.text(min_size=1, max_size=60))
def test_any_text_can_be_drawn(text: str) -> None:
    view = cuts(text, selected=0)
    figure = draw_cuts(view, WORDS).drawn()
    assert float((view.x + view.width).max()) <= LINE + 1e-9
    assert "\ufffd" not in figure.to_json()


def test_typed_markup_is_escaped() -> None:
    figure = draw_cuts(cuts("<b>a</b>"), WORDS).drawn()
    written = [text for trace in figure.data if trace.type == "scatter" for text in trace.text]
    assert "<" not in "".join(written) and "&lt;" in "".join(written)


def test_ids_stand_in_the_figure_once_for_each_token() -> None:
    view = cuts("Tom says 你好 " * 20)
    figure = draw_cuts(view, WORDS).drawn()
    for n, cut in enumerate((view.upper, view.lower)):
        assert list(figure.data[3 * n + 2].text) == [str(token.id) for token in cut.tokens]


def test_the_view_is_of_the_trace(lm: vm.LanguageModel) -> None:
    trace = lm.trace("我爱 the cat")
    view = CutsView.of(trace.tokens, cutting.recut(trace.tokens, cl100k_base()), NAMES)
    assert [token.id for token in view.upper.tokens] == trace["tokens.ids"].tolist()


def test_a_text_cut_inside_a_character_is_compared_as_far_as_it_is_text() -> None:
    story = story_tokenizer()
    ours = story.tokens(story.encode("ok 👩"))[:-1]  # the emoji is four bytes, of which one is missing
    theirs = cutting.recut(ours, cl100k_base())
    assert b"".join(token.bytes for token in theirs) == b"ok "
    view = CutsView.of(ours, theirs, NAMES)
    assert not view.over(len(ours) - 1)
    draw_cuts(view, WORDS).drawn()
    assert not CutsView.of(ours[-1:], (), NAMES).n_shared


def test_the_lower_tokens_over_a_token() -> None:
    view = cuts(cutting.CHINESE)
    assert b"".join(token.bytes for token in view.over(1)) == "爱".encode()
    assert len(view.over(1)) == 2


def test_merges_rebuild_every_token_of_the_vocabulary() -> None:
    story = story_tokenizer()
    ranks = cutting.ranks(story)
    for raw, rank in ranks.items():
        steps = cutting.merges(ranks, raw)
        assert len(steps) == len(raw) - 1
        if steps:
            assert steps[-1].parts == (raw,) and steps[-1].rank == rank
            assert all(step.rank == ranks[step.parts[step.at]] for step in steps)


@given(st.text(alphabet="abcdefghij", min_size=1, max_size=12))
def test_merges_cut_a_word_as_the_tokenizer_does(word: str) -> None:
    for tokenizer in (story_tokenizer(), cl100k_base()):
        ranks = cutting.ranks(tokenizer)
        steps = cutting.merges(ranks, word.encode())
        parts = steps[-1].parts if steps else tuple(bytes([byte]) for byte in word.encode())
        assert [ranks[part] for part in parts] == tokenizer.encode(word)


def test_the_merges_view_holds_the_steps() -> None:
    story = story_tokenizer()
    token = story.token(story.encode(" little")[0])
    view = MergesView.of(cutting.ranks(story), token, 3)
    steps = cutting.merges(cutting.ranks(story), token.bytes)
    assert view.parts == (tuple(bytes([byte]) for byte in token.bytes), *(step.parts for step in steps))
    assert view.ranks[-1] == token.id
    figure = draw_merges(view, STEPS).drawn()
    assert len(figure.data[0].base) == sum(len(parts) for parts in view.parts)


def test_the_control_token_has_no_merges_of_its_own() -> None:
    story = story_tokenizer()
    assert story.end_of_text is not None
    view = MergesView.of(cutting.ranks(story), story.token(story.end_of_text), 0)
    assert len(view.parts[-1]) > 1
    draw_merges(view, STEPS).drawn()


@pytest.mark.parametrize(
    ("raw", "kind"), [(b" cat", "space"), (b"cat", "text"), (b"\n", "blank"), (b" ", "blank"), (b"\xe6\xb7", "bytes")]
)
def test_what_stands_in_a_token(raw: bytes, kind: str) -> None:
    assert cutting.kind(Token(0, raw, ""), story_tokenizer()) == kind


def test_control_tokens_are_no_part_of_the_text() -> None:
    tokenizer = IdTokenizer(20)
    assert cutting.kind(tokenizer.token(3), tokenizer) == "row"
    story = story_tokenizer()
    assert story.end_of_text is not None
    assert cutting.kind(story.token(story.end_of_text), story) == "control"


def test_facts_of_the_bundled_vocabulary(lm: vm.LanguageModel) -> None:
    trace = lm.trace("我爱 the cat")
    found = facts.facts(trace, cl100k_base(), 1)
    assert found.view is not None and found.rule == "pairs" and found.finding == "cuts"
    assert found.text_values["n"] == str(len(trace))
    assert found.text_values["m"] == str(len(cl100k_base().encode("我爱 the cat")))
    assert list(facts.tables(trace, cl100k_base())) == ["story-8k", "cl100k_base"]


def test_facts_without_a_vocabulary() -> None:
    lm = dataclasses.replace(language_model(tiny_config()), tokenizer=IdTokenizer(101))
    trace = lm.trace("5 9, 12")
    assert trace.own_ids == (5, 9, 12)
    found = facts.facts(trace, cl100k_base(), 2)
    assert (found.view, found.rule, found.finding, found.kind) == (None, "ids", "ids", "row")
    assert len(facts.tables(trace, cl100k_base())) == 1


def test_the_textbooks_figures_say_what_follows_from_them() -> None:
    book = cutting.TEXTBOOK
    assert book.rows == 100_070 and f"{book.share:.2%}" == "3.77%" and f"{book.per_token:.2f}" == "5.91"
    assert book.numbers(cutting.TEXTBOOK_WIDTH) == (100_070 * 64, 3_771 * 64)
    assert cl100k_base().token(book.largest).bytes == b"Clar"


@given(st.text(max_size=40))
def test_what_a_text_uses_is_counted_on_its_ids(text: str) -> None:
    tokenizer = story_tokenizer()
    ids = tokenizer.encode(text, special=False)
    found = cutting.use(text, tokenizer)
    assert (found.characters, found.tokens, found.distinct) == (len(text), len(ids), len(set(ids)))
    assert all(id < found.rows for id in ids) and found.rows - 1 in {*ids, -1}
    assert 0 <= found.share <= 1


def test_the_bars_are_shares_of_all_rows() -> None:
    story, cl100k = story_tokenizer(), cl100k_base()
    uses = [cutting.TEXTBOOK, *(cutting.use(cutting.TUTORIAL, one) for one in (cl100k, story))]
    assert uses[1].largest == 26072 and uses[1].tokens == 10
    view = [Used("<yours>", "", use) for use in uses]
    used, idle = draw_use(view, {"used": "used", "idle": "idle", "axis": "rows"}).drawn().data
    np.testing.assert_allclose(used.x, [100 * one.distinct / (one.largest + 1) for one in uses])
    np.testing.assert_allclose(np.add(used.x, idle.x), 100)
    assert [one.written(64)["characters"] for one in uses] == ["460,319", "41", "41"]
    assert uses[0].written(64)["full"] == "6,404,480"
    assert "<yours>" not in draw_use(view, {"used": "", "idle": "", "axis": ""}).drawn().to_json()


def test_a_word_is_drawn_step_by_step_and_what_comes_later_is_pale() -> None:
    (split,) = splitting.splits(story_tokenizer(), "unbelievable")
    view = MergesView.joined("unbelievable", split.start, split.joins, 0)
    assert view.parts == (split.start, *(join.parts for join in split.joins))
    whole, early = draw_merges(view, STEPS).drawn(), draw_merges(view, STEPS, now=1).drawn()
    shown = sum(map(len, view.parts[:2]))
    assert early.data[0].marker.color[:shown] == whole.data[0].marker.color[:shown]
    later = zip(early.data[0].marker.color[shown:], whole.data[0].marker.color[shown:], strict=True)
    assert all(pale != full for pale, full in later)
    assert [text.startswith("<b>") for text in early.layout.yaxis.ticktext].index(True) == 1


def test_a_text_is_counted_in_every_vocabulary() -> None:
    story, cl100k = story_tokenizer(), cl100k_base()
    for vocabulary in (story, cl100k):
        n = len(vocabulary.encode("我爱 cats"))
        assert facts.counts("我爱 cats", vocabulary) == (n, 11 / n, 7 / n)


def test_the_bars_of_odd_splits_are_shares_of_each_kind() -> None:
    story = story_tokenizer()
    words = splitting.common_words(story)[:20]
    found = [splitting.Surveyed(one.name, splitting.survey(one, words)) for one in (story, cl100k_base())]
    names = [kind.kind for kind in found[0].kinds]
    parts = [*(f"tokens_{n}" for n in range(1, splitting.LONG + 1)), "unknown"]
    figure = draw_survey(found, {name: name for name in (*names, *parts)}).drawn()
    for n, one in enumerate(found):
        bars = figure.data[n * len(parts) : (n + 1) * len(parts)]
        np.testing.assert_allclose(np.sum([bar.x for bar in bars], axis=0), 100)
        np.testing.assert_allclose(bars[0].x, [100 * kind.by_tokens[0] / kind.n for kind in one.kinds])


def test_vocabularies_that_spell_other_bytes_are_not_laid_over_each_other(lm: vm.LanguageModel) -> None:
    class Lower(type(cl100k_base())):  # type: ignore[misc]
        """Puts everything into lower case, as some vocabularies do."""

        def encode(self, text: str, *, special: bool = True) -> list[int]:
            return list(super().encode(text.lower(), special=special))

    lower, trace = Lower(cl100k_base().encoding), lm.trace("The Cat")
    found = facts.facts(trace, lower, 0)
    assert found.view is None and found.finding == "apart" and found.keeps
    assert facts.facts(trace, cl100k_base(), 0).view is not None
