"""Index notation: what is printed, what is computed and what is coded are one thing."""

import itertools
import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from latex_reader import Reader
from torch import Tensor

from viz_model.values.code import lines
from viz_model.values.declaration import Scope, inlined
from viz_model.values.expression import Expression, Number
from viz_model.values.leaves import Index, Setting, Value, Weight
from viz_model.values.operations import FUNCTIONS, Apply, Between, Largest, Softmax, Sum, absolute, exp, sqrt, where
from viz_model.values.point import LETTERS, Point, Where
from viz_model.values.steps import Sheet
from viz_model.values.working import Working

T, D = 3, 4
t, d, e = Index("t", "T", T), Index("d", "D", D), Index("e", "D", D)
x, y = Value("x", ("T", "D"), "x"), Value("y", ("T", "1"), "y")
w = Weight("w", "W", (("D",), ("D",)), ((D,), (D,)))
b = Weight("b", "b", (("D",),), ((D,),))
c = Setting("c", 0.75, "config")


class Numbers:
    """Tensors by name, as a run would have them."""

    def __init__(self) -> None:
        random = torch.Generator().manual_seed(3)
        shapes = {"x": (T, D), "y": (T, 1), "w": (D, D), "b": (D,)}
        self.tensors = {name: torch.randn(shape, generator=random).double() for name, shape in shapes.items()}

    def cells(self, site: str, index: tuple[Where, ...]) -> Tensor:
        return self.tensors[site][index]

    def entries(self, weight: str, index: tuple[Where, ...]) -> Tensor:
        return self.tensors[weight][index]

    def given(self, name: str, index: tuple[Where, ...]) -> Tensor:
        raise KeyError(name)

    def rounding(self, site: str, index: tuple[Where, ...]) -> Tensor:
        return self.tensors[site][index].abs()

    def length(self, stack: str) -> int:
        return T


NUMBERS = Numbers()
PLACES: list[Expression] = [t, d, d // 2, d % 3, t - d, (t + 2 * d) // 3, (d + 1) % 2]
LEAVES: list[Expression] = [x[t, d], y[t], b[d], c, Number(0.5), Number(-2), *PLACES]


def expressions() -> st.SearchStrategy[Expression]:
    """Expressions over t and d, of all operations that are defined everywhere."""
    leaves = st.sampled_from(LEAVES)

    def wider(inner: st.SearchStrategy[Expression]) -> st.SearchStrategy[Expression]:
        pairs = st.tuples(inner, inner)
        return st.one_of(
            pairs.map(lambda p: p[0] + p[1]),
            pairs.map(lambda p: p[0] - p[1]),
            pairs.map(lambda p: p[0] * p[1]),
            pairs.map(lambda p: p[0] / (absolute(p[1]) + 1)),
            pairs.map(lambda p: (absolute(p[0]) + 1) ** Apply("tanh", p[1])),
            pairs.map(lambda p: where(p[0] * x[t, d] < p[1], p[1], p[0])),
            st.sampled_from(PLACES).map(lambda p: p * (d // 2)),
            st.sampled_from(PLACES).map(lambda p: (p * 2) % 3),
            st.sampled_from(PLACES).map(lambda p: p / (t % 2 + 1)),
            st.sampled_from(PLACES).map(lambda p: -(p // 2)),
            inner.map(lambda p: Sum(e, p * w[d, e])),
            inner.map(lambda p: Sum(e, p - b[e])),
            inner.map(lambda p: Largest(e, b[e] * p)),
            inner.map(lambda p: Softmax(d, p * x[t, d])),
            inner.map(lambda p: 1 / (p**2 + 1)),
            inner.map(lambda p: Between("m", p)),
            inner.map(lambda p: Apply("log", absolute(p) + 1)),
            inner.map(lambda p: Apply("softplus", p)),
            inner.map(lambda p: Apply("phi", p)),
            inner.map(lambda p: Apply("cos", p)),
            inner.map(lambda p: -p),
            inner.map(lambda p: p**2),
            inner.map(lambda p: sqrt(absolute(p) + 1)),
            inner.map(lambda p: Apply("tanh", p)),
            inner.map(lambda p: Apply("sigmoid", p)),
            pairs.map(lambda p: where(d < 2, p[0], p[1])),
            st.just(Sum(e, x[t, e] * w[d, e])),
            st.just(Sum(e, (x[t, e] - y[t]) ** 2)),
            st.just(Largest(e, absolute(x[t, e]))),
            st.just(Softmax(d, x[t, d])),
        )

    return st.recursive(leaves, wider, max_leaves=6)


def evaluated(expression: Expression) -> Tensor:
    """[T, D]."""
    at = {t: torch.arange(T)[:, None], d: torch.arange(D)}
    return expression.evaluate(Point(at, NUMBERS)).value.expand(T, D)


@given(expressions())
def test_the_lines_of_a_value_make_it(expression: Expression) -> None:
    at = Scope(sizes={"D": D, "T": T}, sites=[])
    at.value("out", (t, d), expression, label="", role="norm", symbol="n")
    expected = evaluated(expression)

    def same(made: Tensor, name: str) -> None:
        assert made.is_floating_point() and made.shape == (T, D)
        torch.testing.assert_close(made.double(), expected, rtol=1e-4, atol=1e-6)

    names = {"torch": torch, "trace": NUMBERS.tensors, "w": NUMBERS.tensors.__getitem__, "same": same}
    exec("\n".join(lines(at.sites[0], lambda index: index.size or T, lambda leaf: leaf.text)), names)


@given(expressions())
def test_a_worked_cell_ends_in_what_is_evaluated(expression: Expression) -> None:
    expected = evaluated(expression)
    for i, j in itertools.product(range(T), range(D)):
        sheet = Sheet()
        made = expression.work(Working(sheet, {t: i, d: j}, NUMBERS, lambda *_: {}), "z")
        assert made.value == pytest.approx(expected[i, j].item(), rel=1e-9, abs=1e-12)
        for step in sheet.steps:
            for text in (step.formula, step.numbers()):
                assert text.count("{") == text.count("}") and "@" not in text and "#" not in text


@given(expressions())
def test_who_takes_the_formula_at_its_word_finds_what_is_evaluated(expression: Expression) -> None:
    tensors = {"x": "x", "y": "y", "W": "w", "b": "b"}

    def read(letter: str, index: tuple[int, ...]) -> float:
        if letter == c.symbol:
            return c.number
        tensor = NUMBERS.tensors[tensors[letter]]
        return float(tensor[(*index, 0)] if letter == "y" else tensor[index])

    text, expected = expression.latex(LETTERS), evaluated(expression)
    for i, j in itertools.product(range(T), range(D)):
        found = Reader(text, {"t": i, "d": j}, {"d": D, "e": D}, read).whole()
        assert found == pytest.approx(expected[i, j].item(), rel=1e-5, abs=1e-9), text


def test_brackets_stand_where_they_are_needed() -> None:
    assert ((x[t, d] + b[d]) * c).latex(LETTERS) == r"\left(x_{t,d} + b_{d}\right)\,c"
    assert (x[t, d] - (b[d] - c)).latex(LETTERS) == r"x_{t,d} - \left(b_{d} - c\right)"
    assert ((-b[d]) ** 2).latex(LETTERS) == r"\left(-b_{d}\right)^{2}"
    assert (Sum(e, x[t, e] * w[d, e]) * c).latex(LETTERS) == r"\left(\sum_{e} x_{t,e}\,W_{d,e}\right)\,c"
    assert Sum(e, x[t, e] - c).latex(LETTERS) == r"\sum_{e} \left(x_{t,e} - c\right)"


@pytest.mark.parametrize("name", FUNCTIONS)
def test_the_slope_of_a_function_bounds_it(name: str) -> None:
    function = FUNCTIONS[name]
    if function.slope is None:
        return
    at = torch.linspace(0.1, 3, 50, dtype=torch.float64)
    step = 1e-6
    moved = (function.compute(at + step) - function.compute(at)).abs()
    assert (moved <= step * function.slope(at) * 1.01 + 1e-12).all()


def test_a_result_in_between_is_made_once() -> None:
    at = Scope(sizes={"D": D, "T": T}, sites=[])
    mean = at.value("mean", (t,), Sum(d, x[t, d]) / D, label="", role="norm", symbol=r"\mu", one=True)
    out = at.value("out", (t, d), (x[t, d] - mean[t]) * mean[t], label="", role="norm", symbol="n")
    expression = inlined(out, at.sites)
    sheet = Sheet()
    expression.work(Working(sheet, {t: 1, d: 2}, NUMBERS, lambda *_: {}), "n")
    assert [step.what for step in sheet.steps] == ["sum", "divide", "subtract", "multiply"]
    row = NUMBERS.tensors["x"][1]
    assert sheet.steps[-1].result == pytest.approx(((row[2] - row.mean()) * row.mean()).item())


def test_infinity_is_coded_and_printed() -> None:
    mask = where(d <= t, 0, -math.inf)
    assert mask.latex(LETTERS) == r"\begin{cases}0 & d \le t \\ -\infty & \text{else}\end{cases}"
    assert exp(mask).evaluate(Point({t: torch.tensor(0), d: torch.tensor(2)}, NUMBERS)).value == 0
