"""Tokens joined into words: whose they are, and that rows and columns are added as they should be."""

from __future__ import annotations

import pytest
import torch

import viz_model as vm

PATTERN = "blocks.1.attn.pattern"


@pytest.fixture(scope="module")
def lm() -> vm.LanguageModel:
    return vm.load("story-pre-ln")


def test_words_between_blanks(lm: vm.LanguageModel) -> None:
    run = lm.trace("Grandfather unbuttoned his waistcoat.")
    found = vm.words(run, PATTERN)
    assert found.labels == ("Grandfather", "unbuttoned", "his", "waistcoat.") and len(run) > 4
    assert found.spans[0][0] == 0 and found.spans[-1][1] == len(run)
    torch.testing.assert_close(found.value.sum(-1), torch.ones(lm.config.n_heads, 4))
    (a, b), (c, d) = found.spans[3], found.spans[1]
    torch.testing.assert_close(found.value[2, 3, 1], run[PATTERN][2, a:b, c:d].sum(-1).mean())
    stream = vm.words(run, "blocks.0.resid.out").value
    torch.testing.assert_close(stream[3], run["blocks.0.resid.out"][a:b].mean(0))
    queries = vm.words(run, "blocks.0.attn.q").value
    torch.testing.assert_close(queries[1, 3], run["blocks.0.attn.q"][1, a:b].mean(0))


def test_a_segmentation_of_chinese(lm: vm.LanguageModel) -> None:
    by = ["从前", "有", "一只", "小猫", "，", "它", "喜欢", "学习", "🙂"]
    run = lm.trace("".join(by))
    found = vm.words(run, PATTERN, by)
    assert "".join(found.labels).replace(" ", "").startswith("从前") and len(found.labels) <= len(by)
    assert [start for start, _ in found.spans[1:]] == [stop for _, stop in found.spans[:-1]]
    torch.testing.assert_close(found.value.sum(-1), torch.ones(found.value.shape[:2]))
    with pytest.raises(ValueError, match="they are not its words"):
        vm.words(run, PATTERN, by[:-1])


def test_spans_and_blanks_of_ones_own(lm: vm.LanguageModel) -> None:
    run = lm.trace("The cat  sat")
    assert vm.words(run, PATTERN, [(0, 1), (1, len(run))]).spans == ((0, 1), (1, len(run)))
    assert vm.words(run, PATTERN, ["The", "cat", "sat"]).labels == ("The", "cat", "sat")
    for wrong in ([(0, 1)], [(0, 2), (1, len(run))], [(0, len(run) + 1)], [(0, 0), (0, len(run))]):
        with pytest.raises(ValueError, match="spans of words follow one another"):
            vm.words(run, PATTERN, wrong)
    with pytest.raises(KeyError):
        vm.words(run, "blocks.9.attn.pattern")
