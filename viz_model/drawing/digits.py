"""How numbers are written, in pictures and in prose: digits, signs, percentages.

The browser has the same rules (``frontend/src/digits.js``); a test compares the two.
"""

import math
from collections.abc import Callable, Mapping
from decimal import ROUND_HALF_UP, Decimal
from types import MappingProxyType
from typing import Any


def written(value: Any, how: str) -> str:
    """A number as ``how`` says: "2" digits behind the point, "+2" with its sign, "%1" as a percentage, "whole" with
    thousands separated, "whole1" with a digit behind the point as well, "g3" with three significant digits, or one of
    :data:`RULES`. Half a unit is rounded up, as browsers do; the minus is a real one.
    """
    number = float(value)
    if math.isnan(number):
        return "–"
    if how in RULES:
        return RULES[how](number)
    if how[0] == "g":
        return _significant(number, int(how[1:]))
    if how.startswith("whole"):
        return _fixed(number, int(how[5:] or 0), group=",")
    sign, digits = ("+", how[1:]) if how[0] == "+" else ("", how)
    if digits[0] == "%":
        return _fixed(100 * number, int(digits[1:]), sign) + "%"
    return _fixed(number, int(digits), sign)


def _fixed(number: float, digits: int, sign: str = "", group: str = "") -> str:
    if not math.isfinite(number):
        return "−∞" if number < 0 else "∞"
    rounded = abs(Decimal(number)).quantize(Decimal(1).scaleb(-digits), ROUND_HALF_UP)
    # No negative zero, and none that is written as one.
    shown = "−" if number < 0 and rounded else sign
    return f"{shown}{rounded:{group}f}"


def _significant(number: float, digits: int) -> str:
    """Without zeros at the end; what is very small or large with a power of ten."""
    if not number or not math.isfinite(number):
        return _fixed(number, 0)
    exact = Decimal(number)
    exact = exact.quantize(Decimal(1).scaleb(exact.adjusted() - digits + 1), ROUND_HALF_UP)
    power = exact.adjusted()
    if -5 <= power < 15:
        return _bare(f"{exact:f}")
    return f"{_bare(f'{exact.scaleb(-power):f}')}\u00a0×\u00a0{power_of_ten(power)}"


def _bare(text: str) -> str:
    return (text.rstrip("0").rstrip(".") if "." in text else text).replace("-", "−")


_RAISED = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")


def power_of_ten(exponent: int) -> str:
    """10⁻³, in characters."""
    return f"10{str(exponent).translate(_RAISED)}"


def percent(p: float) -> str:
    """A probability, never rounded to a zero or a whole that it is not."""
    if 0 < p < 0.0001:
        return "<0.01%"
    if 0.9995 <= p < 1:
        return ">99.9%"
    return _fixed(100 * p, 2 if 0 < p < 0.01 else 1) + "%"


def share(value: float) -> str:
    """A share: 46%, or finer where whole per cent would say too little, or all: 0.4%, 99.6%."""
    if 0.995 <= value < 1:
        return percent(value)
    return _fixed(100 * value, 1 if 0 < value < 0.0995 else 0) + "%"


def byte_size(n: float) -> str:
    """Bytes to three digits, in powers of 1024: 768 B, 4.5 KiB, 1.25 GiB."""
    for limit, unit in ((2**40, "TiB"), (2**30, "GiB"), (2**20, "MiB"), (2**10, "KiB")):
        if n >= limit:
            return f"{n / limit:.3g} {unit}" if n < 999.5 * limit else f"{n / limit:,.0f} {unit}"
    return f"{n:,.0f} B"


def three(n: float) -> str:
    """A number of any size, with three significant digits."""
    return written(n, "g3")


def big(n: float) -> str:
    """A count for prose: whole up to six digits, then 4.30 × 10⁹."""
    return f"{n:,.0f}" if abs(n) < 1e6 else _scientific(n)


def small(n: float) -> str:
    """A difference for prose: 0.57, or 1.0 × 10⁻⁶."""
    return three(n) if n == 0 or n >= 1e-3 else _scientific(n)


def _scientific(n: float) -> str:
    power = math.floor(math.log10(abs(n)))
    digits = f"{n / 10**power:.2f}"
    if digits == "10.00":
        digits, power = "1.00", power + 1
    return f"{digits}\u00a0×\u00a0{power_of_ten(power)}"


def root(n: float, digits: int = 2) -> tuple[str, str]:
    """A square root, first behind the sign that is true of it as written: ("≈ 5.66", "5.66"), ("= 8", "8")."""
    value = math.sqrt(n)
    is_whole = abs(value - round(value)) < 1e-9
    said = written(value, "0" if is_whole else str(digits))
    return f"{'=' if is_whole else '≈'} {said}", said


def duration(seconds: float) -> str:
    """A time to three digits: 3.2 µs, 45 ms, 1.8 s."""
    for unit, size in (("s", 1.0), ("ms", 1e-3), ("µs", 1e-6)):
        if seconds >= size:
            return f"{seconds / size:.3g} {unit}" if seconds < 999.5 * size else f"{seconds / size:,.0f} {unit}"
    return f"{seconds / 1e-9:.3g} ns"


RULES: Mapping[str, Callable[[float], str]] = MappingProxyType({"percent": percent, "share": share})
"""Rules of writing that choose their own digits."""
