"""Every page on a model that has experts in every second block alone, as it is and with its routers changed."""

from __future__ import annotations

import pytest
from app_driver import open_page
from tiers import some

from viz_model.app import frame

CHANGES = ("", "expert-off.1.3~expert-only.3.0.2")
CASES = [
    (page, ("en", "zh")[n % 2], ("0", "1")[n // 2 % 2], CHANGES[n % 3 == 0])
    for n, page in enumerate(page for pages in frame.SECTIONS.values() for page in pages)
]


@pytest.mark.parametrize(("page", "lang", "layer", "changes"), some(CASES, 4))
def test_a_page_opens_whether_its_layer_has_experts_or_not(page: str, lang: str, layer: str, changes: str) -> None:
    query = {"model": "story-moe", "text": "Le chat 12 + 7 = 19.", "lang": lang, "layer": layer, "token": "4"}
    app = open_page(page, query | ({"edits": changes} if changes else {}))
    assert not app.exception and not app.warning
    assert not [part.value for part in (*app.markdown, *app.caption, *app.subheader) if "{{" in str(part.value)]
