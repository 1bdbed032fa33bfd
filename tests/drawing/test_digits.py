"""How numbers are written for people."""

from viz_model.drawing.chart import Axis
from viz_model.drawing.digits import root, small, three, written
from viz_model.texts import LANGUAGES, said


def test_a_root_is_equal_only_where_it_ends() -> None:
    assert root(32) == ("≈ 5.66", "5.66") and root(192, 1) == ("≈ 13.9", "13.9") and root(64) == ("= 8", "8")


def test_what_is_very_small_or_large_has_a_power_of_ten() -> None:
    power = "\u00a0×\u00a010"
    assert written(3.4e-7, "g3") == f"3.4{power}⁻⁷" and written(-4.2e17, "g3") == f"−4.2{power}¹⁷"
    assert small(9e-8) == f"9.00{power}⁻⁸" and small(1234.5) == three(1234.5) == "1230"


def test_below_zero_stands_a_minus_and_codes_stay() -> None:
    told = {"x": "-1.42", "share": "-6%", "id": "-100", "name": "GPT-2"}
    assert said("{{x}} {{share}} {{id}} {{name}}", told) == "−1.42 −6% -100 GPT-2"


def test_what_is_counted_is_one_where_the_number_is_1() -> None:
    one = LANGUAGES["en"].one
    assert said("8 × {{n}} numbers", {"n": 1}, one) == "8 × 1 numbers"
    template = "All {{n}} [tokens](#term-token) are **{{n}}** times."
    assert said(template, {"n": 1}, one) == "All 1 [token](#term-token) is **1** times."
    assert (
        said(template, {"n": 21}, one) == said(template, {"n": 21}) == "All 21 [tokens](#term-token) are **21** times."
    )


def test_ticks_of_shares_are_as_fine_as_their_steps() -> None:
    for top, ticks in (
        (1, "0% 20% 40% 60% 80% 100%"),
        (0.1, "0% 2% 4% 6% 8% 10%"),
        (0.004, "0.0% 0.1% 0.2% 0.3% 0.4%"),
    ):
        axis = Axis(0, top, write="%0")
        assert [axis.named(tick) for tick in axis.ticks()] == ticks.split()
    axis = Axis(0, 0.12, write="%0")
    assert [axis.named(tick) for tick in axis.ticks()] == ["0.0%", "2.5%", "5.0%", "7.5%", "10.0%"]
