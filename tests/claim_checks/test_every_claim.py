"""Whatever the app claims of a run is true: over hundreds of texts and all bundled models, by independent code.

How often each claim was made is printed at the end of the test run; one that was never made is dead or untested.
"""

from __future__ import annotations

import functools
from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest
from bundled_models import NAMES

import viz_model as vm
from claim_checks import TOPICS, checks, verdicts
from claim_checks.texts import texts
from viz_model.runs.trace import Trace


@functools.cache
def model(name: str) -> vm.LanguageModel:
    return vm.load(name)


def run(lm: vm.LanguageModel, text: str) -> Trace | None:
    """None: the model cannot read this text, as it says."""
    target: dict[str, Any] = {"target": ""} if lm.config.kind == "encoder_decoder" else {}
    if target and lm.tokenizer.languages:
        target["target_language"] = next(iter(lm.tokenizer.languages))
    try:
        return lm.trace(text, **target)
    except ValueError:
        return None


@pytest.mark.slow
@pytest.mark.parametrize("topic", TOPICS)
def test_every_claim_that_is_made_is_true(topic: str, record_property: Callable[[str, object], None]) -> None:
    made: Counter[str] = Counter()
    runs = 0
    for name in NAMES:
        for text in texts():
            trace = run(model(name), text)
            if trace is None:
                continue
            runs += 1
            for side in trace.config.sides:  # a page shows one stack at a time
                for verdict, values, check in checks(topic).shown(trace.at(side)):
                    claim = verdict.of(values)
                    made[f"{verdict.name}.{claim.name}"] += 1
                    said = f"{verdict.name}.{claim.name} of {values} on {text!r} in {name}, {side}"
                    assert claim is verdict.plain or check(claim.name), said
    assert runs > 300
    every = [f"{verdict.name}.{claim.name}" for verdict in verdicts(topic).values() for claim in verdict.claims]
    record_property("claims", {name: made[name] for name in sorted({*every, *made})})
    # Of training runs and experiments there are fewer than of texts: their topics list those made elsewhere.
    elsewhere = tuple(getattr(checks(topic), "ELSEWHERE", ()))
    assert not [name for name in every if not made[name] and not name.startswith(elsewhere or ("\0",))]
