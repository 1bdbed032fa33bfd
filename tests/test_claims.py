"""How values stand in what is said."""

from __future__ import annotations

import pytest

from viz_model.claims import Text
from viz_model.texts import fill, said


@pytest.mark.parametrize(
    ("value", "written"),
    [(-0.5, "−0.5"), ("-0.62", "−0.62"), ("-1,234.5%", "−1,234.5%"), ("0.62", "0.62"), ("−1.0", "−1.0")],
)
def test_what_is_below_zero_has_a_minus_sign(value: object, written: str) -> None:
    assert said("at {{x}}", {"x": value}) == f"at {written}"
    assert Text("at {{x}}", "为 {{x}}").fill("zh", {"x": value}) == f"为 {written}"


@pytest.mark.parametrize("value", ["-", "--0.3", "2-3.5", "-5.6-7", "`-0.5`", "-1", "Pre-LN"])
def test_a_hyphen_that_is_no_sign_stays(value: str) -> None:
    assert said("{{x}}", {"x": value}) == value


def test_code_is_filled_in_as_python_writes_it() -> None:
    assert fill("x = {{x}}", {"x": repr(-0.5)}) == "x = -0.5"
    with pytest.raises(KeyError):
        said("{{x}}", {})
