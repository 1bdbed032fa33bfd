"""The embedding page: one word in two sentences of the visitor's choice."""

from __future__ import annotations

import pytest
from app_driver import open_page, pictures

pytestmark = pytest.mark.full


@pytest.mark.parametrize(("model", "lang"), [("story-pre-ln", "en"), ("story-bert", "zh"), ("translate-2017", "en")])
def test_a_word_in_two_sentences(model: str, lang: str) -> None:
    app = open_page("embedding", {"model": model, "text": "the cat and the dog", "lang": lang, "context": "1"})
    words = "\n".join(str(part.value) for part in (*app.markdown, *app.subheader))
    assert ("·light" if lang == "en" else "花") in words
    app.text_input(key="embedding.one").set_value("the big dog ran").run()
    assert not app.exception and app.query_params["one"] == "the big dog ran"
    app.text_input(key="embedding.other").set_value("一二三").run()
    words = "\n".join(str(part.value) for part in app.markdown)
    assert not app.exception and ("share a token" in words or "共有一个词元" in words)
    app.text_input(key="embedding.other").set_value("the small dog ran").run()
    assert not app.exception and any(key.endswith(".two") for key in pictures(app))
