"""The log of a run: one JSON object a line, one line a step."""

import itertools
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from viz_model.training.loop import StepReport

MOST_LINES = 1500
"""Of a log that ships with a model: more than a plot has pixels."""


def line(report: StepReport) -> str:
    return json.dumps(asdict(report)) + "\n"


def read(path: Path) -> list[dict[str, Any]]:
    """The reports of a log, one a step, as mappings of :class:`StepReport`'s fields.

    A resumed run repeats the steps after its checkpoint: the later line of a step replaces the
    earlier. A line cut short by a crash is left out.
    """
    reports: dict[int, dict[str, Any]] = {}
    for text in path.read_text(encoding="utf-8").splitlines():
        try:
            report = json.loads(text)
        except json.JSONDecodeError:
            continue
        reports[report["step"]] = report
    return [reports[step] for step in sorted(reports)]


def thin(reports: Sequence[Mapping[str, Any]], most: int = MOST_LINES) -> list[dict[str, Any]]:
    """At most ``most`` reports, each the mean of equally many steps, with the digits that a plot can show.

    ``reports`` may begin with those of a thinned log, each of which stands for several steps: then no
    report of the result stands for fewer. ``step`` is the last of a report's steps,
    ``tokens_per_second`` is left out, and of held-out figures the last is kept.
    """
    if not reports:
        return []
    ends = [-1, *(int(report["step"]) for report in reports)]
    counts = [end - before for before, end in itertools.pairwise(ends)]
    coarsest = max(counts)
    size = coarsest * -(-(ends[-1] + 1) // (coarsest * most))
    counted = zip(reports, counts, strict=True)
    return [_mean(list(group)) for _, group in itertools.groupby(counted, key=lambda each: each[0]["step"] // size)]


def _mean(counted: Sequence[tuple[Mapping[str, Any], int]]) -> dict[str, Any]:
    """The mean of reports, each with the number of steps that it stands for."""
    reports, counts = zip(*counted, strict=True)

    def mean(values: Iterable[float]) -> float:
        found = sum(value * count for value, count in zip(values, counts, strict=True))
        return float(f"{found / sum(counts):.4g}")

    measured = [report["held_out"] for report in reports if report["held_out"]]
    return {
        "step": reports[-1]["step"],
        "loss": round(mean(report["loss"] for report in reports), 4),
        "learning_rate": mean(report["learning_rate"] for report in reports),
        "gradient_norm": mean(report["gradient_norm"] for report in reports),
        "gradient_norms": {
            part: mean(report["gradient_norms"][part] for report in reports) for part in reports[0]["gradient_norms"]
        },
        "held_out": {
            language: {name: round(value, 4) for name, value in figures.items()}
            for language, figures in measured[-1].items()
        }
        if measured
        else None,
        **({"balance": mean(report["balance"] for report in reports)} if reports[0].get("balance") else {}),
    }
