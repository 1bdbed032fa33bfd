"""A language is a folder: whoever adds one touches no code, and what it does not say stands in English."""

from __future__ import annotations

from pathlib import Path

import pytest
from app_driver import heading, open_page, said

from viz_model import texts
from viz_model.app import glossary
from viz_model.measures.heads import HEAD
from viz_model.texts import ENGLISH, LANGUAGES, Language, Texts


@pytest.fixture
def invented(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """A language with two words of its own."""
    folder = tmp_path / "xx"
    folder.mkdir()
    (folder / "language.toml").write_text('name = "Xxish"\n', encoding="utf-8")
    (folder / "common.toml").write_text('page_attention = "Attenxx"\n', encoding="utf-8")
    (folder / "attention.md").write_text("## lead\nLeadxx.\n", encoding="utf-8")
    monkeypatch.setitem(LANGUAGES, "xx", Language.read(folder))
    return "xx"


def test_a_page_has_the_words_of_a_new_language_and_english_beside_them(invented: str) -> None:
    app = open_page("attention", {"model": "story-pre-ln", "text": "The cat sat", "lang": invented})
    assert heading(app) == "Attenxx" and "Leadxx." in said(app)
    assert Texts(ENGLISH).prose("attention.question").splitlines()[0] in said(app)
    offered = [[option.content for option in part.proto.options] for part in app.get("button_group")]
    assert ["English", "中文", "Xxish"] in offered


def test_what_a_language_lacks_is_english_key_by_key(invented: str) -> None:
    new, english = Texts(invented), Texts(ENGLISH)
    assert new("common.page_attention") == "Attenxx" and new("common.page_block") == english("common.page_block")
    assert new.prose("attention.lead") == "Leadxx." and new.prose("attention.question") == english.prose(
        "attention.question"
    )
    assert new.sections("block") == english.sections("block")  # a file that is not there
    pictures = Texts(invented, pictures=True)
    assert pictures.prose("attention.lead") == Texts(ENGLISH, pictures=True).prose("attention.lead") != "Leadxx."
    assert HEAD.labels(invented) == HEAD.labels(ENGLISH) != HEAD.labels("zh")
    assert glossary.terms(invented) == glossary.terms(ENGLISH)
    assert new.error("nobody has translated this") == english.error("nobody has translated this")


def test_a_browser_gets_the_language_of_its_locale(invented: str) -> None:
    asked = ("zh-CN", "zh", "ZH_tw", "xx", "de-DE", "", None)
    assert [texts.preferred(locale) for locale in asked] == ["zh", "zh", "zh", invented, "en", "en", "en"]


def test_a_language_says_of_itself_only_what_is_known(tmp_path: Path) -> None:
    (tmp_path / "language.toml").write_text('name = "Xxish"\ncolour = "red"\n', encoding="utf-8")
    with pytest.raises(TypeError, match="colour"):
        Language.read(tmp_path)
