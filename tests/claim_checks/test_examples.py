"""Every claim has an example of which it is said, and one of which it must not be, and says the same everywhere."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from claim_checks import TOPICS, checks, verdicts
from viz_model.claims import Claim, Verdict
from viz_model.texts import LANGUAGES

EVERY = [(topic, verdict) for topic in TOPICS for verdict in verdicts(topic).values()]
CLAIMS = [(topic, verdict, claim) for topic, verdict in EVERY for claim in verdict.claims]
PLACEHOLDER = re.compile(r"\{\{(\w+)\}\}")


def test_names_are_unique() -> None:
    names = [f"{verdict.name}.{claim.name}" for _, verdict, claim in CLAIMS]
    assert len({*names}) == len(names)
    assert all(name.startswith(f"{topic}.") for topic, verdict in EVERY for name in [verdict.name])


@pytest.mark.parametrize(("topic", "verdict", "claim"), CLAIMS, ids=lambda part: getattr(part, "name", part))
def test_a_claim_holds_where_it_should_and_nowhere_else(topic: str, verdict: Verdict[Any], claim: Claim[Any]) -> None:
    said, unsaid = checks(topic).EXAMPLES[f"{verdict.name}.{claim.name}"]
    assert verdict.of(said) is claim
    assert verdict.of(unsaid) is not claim


@pytest.mark.parametrize(("topic", "verdict"), EVERY, ids=lambda part: getattr(part, "name", part))
def test_languages_have_the_same_placeholders(topic: str, verdict: Verdict[Any]) -> None:
    for claim in (*verdict.claims, verdict.plain):
        for text in filter(None, (claim.says, claim.label)):
            assert {*PLACEHOLDER.findall(text.en)} == {*PLACEHOLDER.findall(text.zh)}, claim.name
            assert bool(text.en) == bool(text.zh)


def test_no_example_is_of_a_claim_that_does_not_exist() -> None:
    known = {f"{verdict.name}.{claim.name}" for _, verdict, claim in CLAIMS}
    assert {name for topic in TOPICS for name in checks(topic).EXAMPLES} == known


VERDICTS = re.compile("mostly|mainly|almost|hardly|barely|largely|主要|几乎|大多|多半|基本上|绝大部分", re.I)
SENTENCES = re.compile(r"(?<=[.!?;:。！？；：])\s*")


@pytest.mark.parametrize(
    "path",
    [path for language in LANGUAGES.values() for path in sorted(language.folder.iterdir())],
    ids=lambda path: f"{path.parent.name}-{path.name}",
)
def test_no_other_sentence_judges_the_values_in_it(path: Path) -> None:
    """A sentence with a run's values in it that judges them is a claim, and stands among the claims."""
    for line in path.read_text(encoding="utf-8").splitlines():
        for sentence in SENTENCES.split(line):
            assert "{{" not in sentence or not VERDICTS.search(sentence), sentence
