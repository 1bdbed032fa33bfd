"""How values stand in what is said, and which words a claim finds."""

import pytest

from viz_model import texts
from viz_model.claims import Claim, Verdict
from viz_model.texts import fill, said


def test_what_is_below_zero_has_a_minus_sign_and_a_hyphen_that_is_no_sign_stays() -> None:
    for value, written in ((-0.5, "−0.5"), ("-0.62", "−0.62"), ("-1,234.5%", "−1,234.5%"), ("0.62", "0.62")):
        assert said("at {{x}}", {"x": value}) == f"at {written}"
    for value in ("-", "--0.3", "2-3.5", "-5.6-7", "`-0.5`", "-1", "Pre-LN", "−1.0"):
        assert said("{{x}}", {"x": value}) == value
    assert fill("x = {{x}}", {"x": repr(-0.5)}) == "x = -0.5"  # code, as Python writes it
    with pytest.raises(KeyError):
        said("{{x}}", {})


def test_a_claim_finds_its_words_by_its_name(monkeypatch: pytest.MonkeyPatch) -> None:
    files = {
        "sections": {("en", "topic"): {"thing.grows": "From {{a}} on.", "thing.plain": "At {{a}}."}},
        "labels": {("en", "topic"): {"thing.grows.label": "up"}},
    }
    for read, found in files.items():
        monkeypatch.setattr(texts, read, lambda language, group, found=found: found.get((language, group), {}))
    thing: Verdict[int] = Verdict("topic.thing", Claim("grows", lambda n: n > 1), Claim("falls", lambda n: n < -1))
    assert [thing.says("en", n, a=n) for n in (2, -2, 0)] == ["From 2 on.", "At -2.", "At 0."]
    assert [thing.label("en", n) for n in (2, -2, 0)] == ["up", "", ""] and thing.labels("zh") == {"grows": "up"}
    assert not Verdict("topic.other", Claim("grows", bool)).says("en", True)
