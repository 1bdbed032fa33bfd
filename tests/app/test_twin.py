"""Under the toggle of the norm: numbers of both models, by other arithmetic, and the way to a pair and back."""

from __future__ import annotations

import pytest
from app_driver import ISLAND, messages, open_page

import viz_model as vm
from viz_model.app import twin
from viz_model.drawing.digits import percent
from viz_model.texts import LANGUAGES

TEXT = "Tom had a cat and a"


def test_what_changed_are_numbers_of_both() -> None:
    own, other = (vm.load(f"story-{at}-ln").trace(TEXT) for at in ("pre", "post"))
    found = twin.facts(own, other, 1, 2, 3)
    for name, run in (("own", own), ("other", other)):
        assert str(run.tokenizer.token(int(run["logits"][3].argmax())).label) in found[f"guess_{name}"]
    rows = [run["blocks.1.attn.pattern"][2, 3] for run in (own, other)]
    assert found["moved"] == percent(float((rows[0] - rows[1]).clamp(min=0).sum()))
    summed = other["blocks.1.resid.mid"][3] + other["blocks.1.ffn.out"][3]
    assert found["length_other"] == f"{summed.norm():.1f}"
    assert found["length_own"] == f"{own['blocks.1.resid.out'][3].norm():.1f}"


@pytest.mark.parametrize("lang", LANGUAGES)
def test_a_model_without_a_twin_leads_to_a_pair_and_back(lang: str) -> None:
    app = open_page("attention", {"model": "story-modern", "text": TEXT, "lang": lang})
    app.button(key="sidebar.twin").click().run()
    assert "story-pre-ln" in app.query_params["model"] and not app.exception
    assert "story-post-ln" in messages(app)[ISLAND].header["heads"]["said"]
    app.button(key="sidebar.twin").click().run()
    assert "story-modern" in app.query_params["model"]
