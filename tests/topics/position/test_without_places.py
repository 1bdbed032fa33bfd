"""A model that reads pictures and adds no positions: the page says so."""

from __future__ import annotations

import pytest
from app_driver import offer, open_page
from tiny_models import describe, language_model, of_pictures

from viz_model.texts import LANGUAGES, Texts


@pytest.mark.parametrize("config_", of_pictures(), ids=describe)
def test_places_are_shown_of_a_model_that_adds_them(config_: object, monkeypatch: pytest.MonkeyPatch) -> None:
    lm = language_model(config_)  # type: ignore[arg-type]
    offer(monkeypatch, {"tiny": lm})
    for language in LANGUAGES:
        app = open_page("position", {"model": "tiny", "lang": language})
        said = [part.value for part in app.info]
        assert (Texts(language)("pictures.why_position") in said) == (lm.config.position.acts_on != "embedding")
