"""The cuts of two vocabularies over the same bytes, the merges of a token, and their drawing."""

from __future__ import annotations

import dataclasses

import islands
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scenes import Sent, sent
from tiny_models import language_model, tiny_config

import viz_model as vm
from viz_model.drawing.scene import Scene, seen
from viz_model.island.look import Look
from viz_model.tokenizers.tokenizer import Token, cl100k_base, story_tokenizer, token_of
from viz_model.topics.tokens import PAGE, cuts, cutting, tabs, textbook
from viz_model.topics.tokens.cuts import EXAMPLES, CutsView
from viz_model.topics.tokens.textbook import TEXTBOOK, use

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


@pytest.fixture(scope="module")
def tiny() -> vm.LanguageModel:
    """A model of the bundled vocabulary that reads long texts."""
    return language_model(tiny_config(n_vocab=8192, n_context=256))


def look_at(lm: vm.LanguageModel, text: str, lang: str = "en", token: int = 0, **options: str) -> Look:
    return dataclasses.replace(islands.look(lm.trace(text), PAGE, lang, token=token), options=options)


def drawn(scene: Scene | None, look: Look, **place: int) -> Sent:
    assert scene is not None
    return sent(seen(scene, {**look.place, **place}))


def test_the_ids_of_the_tutorial_sentence() -> None:
    ids = [token.id for token in view(TUTORIAL).lower.tokens]
    assert ids == [26072, 220, 16, 25, 17283, 23097, 403, 323, 17013, 1711]


@pytest.mark.parametrize("text", TEXTS)
def test_both_rows_cover_the_same_bytes_without_gap(text: str) -> None:
    found = view(text)
    for cut in (found.upper, found.lower):
        assert cut.starts[0] == 0 and cut.stops[-1] == found.n_bytes == len(text.encode())
        np.testing.assert_array_equal(cut.starts[1:], cut.stops[:-1])
        assert b"".join(token.bytes for token in cut.tokens) == text.encode()


@pytest.mark.parametrize("text", TEXTS)
def test_a_token_is_shared_exactly_if_the_other_row_has_its_bytes_there(text: str) -> None:
    found = view(text)
    for cut, other in ((found.upper, found.lower), (found.lower, found.upper)):
        spans = list(zip(other.starts.tolist(), other.stops.tolist(), strict=True))
        for position, span in enumerate(zip(cut.starts.tolist(), cut.stops.tolist(), strict=True)):
            assert cut.shared[position] == (span in spans)
            assert cut.origin[position] == (spans.index(span) if span in spans else -1)


@pytest.mark.parametrize("token", [0, 3, 5])
def test_the_boxes_of_the_selected_token_are_marked_in_both_rows(token: int, tiny: vm.LanguageModel) -> None:
    look = look_at(tiny, "The cat 我爱深度学习 sat")
    made, found = drawn(cuts.draw(look), look, token=token), cuts.view(look, cl100k_base())
    assert found is not None
    chosen, rows = made.mark("selected"), {row: made.mark(row) for row in ("upper", "lower")}
    marked = {(x, y) for x, y in zip(chosen["x"][:, 0], chosen["y"], strict=True) if np.isfinite(x)}
    expected = set()
    for row, cut in (("upper", found.upper), ("lower", found.lower)):
        owners = np.arange(len(cut.tokens)) if row == "upper" else cut.origin
        for n, label in enumerate(rows[row]["labels"]):
            position = int(label.splitlines()[-4].removeprefix("position "))
            if owners[position] == token:
                expected.add((rows[row]["x"][n, 0], rows[row]["y"][n]))
    assert marked == expected and len(marked) == 1 + int(found.upper.shared[token])


def test_a_text_cut_inside_a_character_is_compared_as_far_as_it_is_text() -> None:
    story = story_tokenizer()
    ours = story.tokens(story.encode("ok 👩"))[:-1]  # the emoji is four bytes, of which one is missing
    theirs = cutting.recut(ours, cl100k_base())
    assert b"".join(token.bytes for token in theirs) == b"ok "
    found = CutsView.of(ours, theirs, NAMES)
    assert not found.over(len(ours) - 1)
    assert not CutsView.of(ours[-1:], (), NAMES).n_shared


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


def test_the_merges_of_a_token_are_drawn_step_by_step(lm: vm.LanguageModel) -> None:
    look = look_at(lm, "a little cat", token=1)
    token = look.trace.tokens[1]
    steps = cutting.merges(cutting.ranks(story_tokenizer()), token.bytes)
    made = drawn(tabs.draw_merges(look), look)
    assert len(made.mark("names")["texts"]) == 1 + len(steps) == len(token.bytes)
    assert made.mark("names")["texts"][-1].endswith(f"{token.id:,}")
    for n, step in enumerate(steps, 1):
        assert made.mark(f"labels.{n}")["texts"] == [token_of(-1, part).label for part in step.parts]
        assert [hue != "token" for hue in made.mark(f"row.{n}")["fill"]] == [
            k == step.at for k in range(len(step.parts))
        ]


@pytest.mark.parametrize(
    ("raw", "kind"), [(b" cat", "space"), (b"cat", "text"), (b"\n", "blank"), (b" ", "blank"), (b"\xe6\xb7", "bytes")]
)
def test_what_stands_in_a_token(raw: bytes, kind: str) -> None:
    assert cutting.kind(Token(0, raw, ""), story_tokenizer()) == kind


def test_the_bars_are_shares_of_all_rows(lm: vm.LanguageModel) -> None:
    story, cl100k = story_tokenizer(), cl100k_base()
    uses = [TEXTBOOK, *(use(TUTORIAL, one) for one in (cl100k, story))]
    assert uses[1].largest == 26072 and uses[1].tokens == 10
    look = look_at(lm, "a")
    scene = textbook.draw_use(look, {("<yours>", str(n)): one for n, one in enumerate(uses)})
    used, idle = (np.array(one.values) for one in scene.series)
    np.testing.assert_allclose(used, [one.distinct / (one.largest + 1) for one in uses])
    np.testing.assert_allclose(used + idle, 1)
    made = drawn(scene, look)
    np.testing.assert_allclose(made.mark("bars.0.0")["width"][:, 0], used, rtol=1e-6)
    np.testing.assert_allclose(made.mark("bars.0.1")["x"][:, 0], used, rtol=1e-6)
    assert [one.written(64)["characters"] for one in uses] == ["460,319", "41", "41"]
    assert uses[0].written(64)["full"] == "6,404,480"
