"""Terms have the same definitions to give in every language, and stand in its prose."""

from __future__ import annotations

import re

import pytest

from viz_model import texts
from viz_model.app import glossary

SENTENCE = {"en": re.compile(r"[A-Z][^.]*\.|[^.]*\d\.\d[^.]*\."), "zh": re.compile(r"[^。]+。")}


def prose(language: str) -> str:
    """All that the app says in a language, but for its glossary."""
    paths = [path for path in texts.LANGUAGES[language].folder.iterdir() if path.stem != "glossary"]
    return "\n".join(path.read_text(encoding="utf-8") for path in paths)


def test_every_language_defines_the_same_terms_in_the_same_order() -> None:
    """As the files have them: no term is defined in English because it is missing."""
    keys = {language: list(texts.tables(language, "glossary")) for language in SENTENCE}
    assert len(keys["en"]) > 50
    assert all(found == keys["en"] for found in keys.values())


@pytest.mark.parametrize("language", SENTENCE)
def test_a_definition_is_one_sentence_and_no_form_has_two(language: str) -> None:
    terms = glossary.terms(language)
    forms = [form for term in terms for form in term.forms]
    assert len(set(forms)) == len(forms)
    for term in terms:
        assert SENTENCE[language].fullmatch(term.says), term.key
        assert len(term.says) < 200, term.key


@pytest.mark.parametrize("language", SENTENCE)
def test_every_form_stands_in_the_prose(language: str) -> None:
    said = re.sub(r"[*_]", "", prose(language))
    start, end = (r"(?<!\w)", r"(?!\w)") if language == "en" else ("", "")
    forms = ["".join(form) for term in glossary.terms(language) for form in term.forms]
    missing = [form for form in forms if not re.search(start + re.escape(form) + end, said, flags=re.IGNORECASE)]
    assert not missing
