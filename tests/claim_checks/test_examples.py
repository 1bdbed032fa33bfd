"""Every claim has an example of which it is said, and one of which it must not be, and says the same everywhere."""

import re
from typing import Any

import pytest

from claim_checks import TOPICS, checks, verdicts
from viz_model import texts
from viz_model.claims import Claim, Verdict
from viz_model.texts import LANGUAGES

EVERY = [(topic, verdict) for topic in TOPICS for verdict in verdicts(topic).values()]
CLAIMS = [(topic, verdict, claim) for topic, verdict in EVERY for claim in verdict.claims]


@pytest.mark.parametrize(("topic", "verdict", "claim"), CLAIMS, ids=lambda part: getattr(part, "name", part))
def test_a_claim_holds_where_it_should_and_nowhere_else(topic: str, verdict: Verdict[Any], claim: Claim[Any]) -> None:
    name, examples = f"{verdict.name}.{claim.name}", checks(topic).EXAMPLES
    assert name in examples, f"{name}: EXAMPLES of tests/claim_checks/{topic}.py has no values of which it is said"
    said, unsaid = examples[name]
    assert verdict.of(said) is claim
    assert verdict.of(unsaid) is not claim


@pytest.mark.parametrize("language", ["en", "zh"])
@pytest.mark.parametrize("topic", TOPICS)
def test_every_claim_has_a_sentence_and_every_sentence_a_claim(topic: str, language: str) -> None:
    """In each language itself: none is English because it is missing."""
    said, labels, found = texts.sections(language, topic), texts.labels(language, topic), verdicts(topic)
    keys = {f"{name}.plain" for name in map(key_of, found.values())}
    for verdict in found.values():
        names = {f"{key_of(verdict)}.{claim.name}" for claim in verdict.claims}
        assert names <= said.keys() or f"{key_of(verdict)}.plain" in said
        keys |= names
    assert {key for key in said if "." in key} <= keys
    assert {key for key in labels if "." in key} <= {f"{key}.label" for key in keys}


def key_of(verdict: Verdict[Any]) -> str:
    return verdict.name.partition(".")[2]


def test_no_example_is_of_a_claim_that_does_not_exist() -> None:
    known = {f"{verdict.name}.{claim.name}" for _, verdict, claim in CLAIMS}
    assert {name for topic in TOPICS for name in checks(topic).EXAMPLES} == known


VERDICTS = re.compile("mostly|mainly|almost|hardly|barely|largely|主要|几乎|大多|多半|基本上|绝大部分", re.I)
SENTENCES = re.compile(r"(?<=[.!?;:。！？；：])\s*")


@pytest.mark.parametrize("language", LANGUAGES)
def test_no_other_sentence_judges_the_values_in_it(language: str) -> None:
    """A sentence with a run's values in it that judges them is a claim, and stands under the name of one."""
    for path in sorted(LANGUAGES[language].folder.iterdir()):
        if path.name in ("language.toml", "glossary.toml"):
            continue
        known = {f"{key_of(verdict)}." for verdict in verdicts(path.stem).values()} if path.stem in TOPICS else set()
        for key, text in (texts.labels if path.suffix == ".toml" else texts.sections)(language, path.stem).items():
            if not key.startswith(tuple(known)):
                for sentence in SENTENCES.split(text):
                    assert "{{" not in sentence or not VERDICTS.search(sentence), (path.name, sentence)
