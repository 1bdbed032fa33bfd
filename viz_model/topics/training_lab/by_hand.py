"""The last step for one weight worked out for prose, and all reports for a table."""

from collections.abc import Callable, Sequence

from viz_model.training import lab
from viz_model.training.loop import StepReport


def latex(number: float, digits: int = 5) -> str:
    """A number of any size for a formula: 0.0031, or 1.35·10⁻⁵."""
    mantissa, _, exponent = f"{number:.{digits}e}".partition("e")
    if number == 0 or -3 <= int(exponent) < 4:
        return f"{number:.{digits + 1}g}"
    return rf"{mantissa}\times 10^{{{int(exponent)}}}"


def by_hand(update: lab.Update, column: int) -> dict[str, str]:
    """AdamW's last step for one weight of the watched row, number by number."""
    beta1, beta2 = update.betas
    signed = {
        "w": update.before,
        "g": update.gradient,
        "m0": update.m_before,
        "v0": update.v_before,
        "m": update.m,
        "v": update.v,
        "mh": update.m_hat,
        "vh": update.v_hat,
        "after": update.after,
        "computed": update.computed(),
    }
    facts = {name: latex(float(values[column])) for name, values in signed.items()}
    # Where it stands behind a factor or in a power, a negative number needs brackets.
    for name in ("g", "m0", "mh", "w"):
        value = facts[name]
        facts[f"{name}_b"] = f"({value})" if value.startswith("-") else value
    return facts | {
        "t": str(update.t),
        "rate": latex(update.rate),
        "decay": f"{update.weight_decay:g}",
        "beta1": f"{beta1:g}",
        "beta2": f"{beta2:g}",
        "rest1": f"{1 - beta1:.4g}",
        "rest2": f"{1 - beta2:.4g}",
        "eps": latex(lab.EPS, 0),
        "column": str(column),
        "row": "0",
        "change": latex(float(update.after[column] - update.before[column])),
    }


def columns(
    reports: Sequence[StepReport], held_out: Sequence[lab.Measured], words: Callable[..., str]
) -> dict[str, list[object]]:
    """The reports of a run as the columns of a table, one row a step."""
    measured = {found.steps: found for found in held_out}
    table: dict[str, list[object]] = {
        words("step_axis"): [report.step + 1 for report in reports],
        words("train"): [round(report.loss, 5) for report in reports],
        words("rate_axis"): [report.learning_rate for report in reports],
        words("column_norm"): [round(report.gradient_norm, 5) for report in reports],
        words("held_out"): [
            round(measured[report.step + 1].loss, 5) if report.step + 1 in measured else None for report in reports
        ],
        words("column_pace"): [round(report.tokens_per_second) for report in reports],
    }
    for part in reports[0].gradient_norms if reports else ():
        table[f"‖g‖ {part}"] = [round(report.gradient_norms[part], 6) for report in reports]
    return table
