"""Whatever the app claims of a run is true: over hundreds of texts and all bundled models, by independent code.

How often each claim was made is printed at the end of the test run; one that was never made is dead or untested.
"""

import functools
import itertools
from collections import Counter
from collections.abc import Callable
from typing import Any, NamedTuple

import pytest
from bundled_models import NAMES

import viz_model as vm
from claim_checks import TOPICS, checks, verdicts
from claim_checks.texts import texts
from viz_model.runs.trace import Trace

model = functools.cache(vm.load)


def run(lm: vm.LanguageModel, text: str) -> Trace | None:
    """None: the model cannot read this text, as it says."""
    target: dict[str, Any] = {"target": ""} if lm.config.kind == "encoder_decoder" else {}
    if target and lm.tokenizer.languages:
        target["target_language"] = next(iter(lm.tokenizer.languages))
    try:
        return lm.trace(text, **target)
    except ValueError:
        return None


class Found(NamedTuple):
    """What a topic said of all runs.

    Attributes:
        made: how often each claim was made, by ``"verdict.claim"``.
        wrong: what went wrong first; nothing more was asked of that topic then.
    """

    made: Counter[str]
    wrong: list[Exception]


def found(topics: tuple[str, ...]) -> dict[str, Found]:
    """By topic. Each run is made once, for all these topics."""
    by_topic = {topic: Found(Counter(), []) for topic in topics}
    runs = 0
    for name, text in itertools.product(NAMES, texts()):
        trace = run(model(name), text)
        if trace is None:
            continue
        runs += 1
        for topic, (made, wrong) in by_topic.items():
            if wrong:
                continue
            try:
                ask(topic, trace, made)
            except Exception as error:  # the other topics are asked all the same
                error.add_note(f"on {text!r} in {name}")
                wrong.append(error)
    assert runs > 300
    return by_topic


def ask(topic: str, trace: Trace, made: Counter[str]) -> None:
    """Count the claims that a topic makes of a run.

    Raises:
        AssertionError: one of them is not true.
    """
    for side in trace.config.sides:  # a page shows one stack at a time
        for verdict, values, check in checks(topic).shown(trace.at(side)):
            claim = verdict.of(values)
            made[f"{verdict.name}.{claim.name}"] += 1
            said = f"{verdict.name}.{claim.name} of {values}, {side}"
            assert claim is verdict.plain or check(claim.name), said


# Two tests, so that each run is made once for half of the topics, and two processes share the work.
HALVES = [pytest.param(topics, id="-".join(topics)) for topics in (TOPICS[::2], TOPICS[1::2])]


@pytest.mark.slow
@pytest.mark.parametrize("topics", HALVES)
def test_every_claim_that_is_made_is_true(
    topics: tuple[str, ...], record_property: Callable[[str, object], None]
) -> None:
    by_topic = found(topics)
    never: dict[str, list[str]] = {}
    claims: dict[str, int] = {}
    for topic, (made, _) in by_topic.items():
        every = [f"{verdict.name}.{claim.name}" for verdict in verdicts(topic).values() for claim in verdict.claims]
        claims |= {name: made[name] for name in sorted({*every, *made})}
        # Of training runs and experiments there are fewer than of texts: their topics list those made elsewhere.
        elsewhere = tuple(getattr(checks(topic), "ELSEWHERE", ()))
        never[topic] = [name for name in every if not made[name] and not name.startswith(elsewhere or ("\0",))]
    record_property("claims", claims)
    if wrong := [error for _, errors in by_topic.values() for error in errors]:
        raise ExceptionGroup("claims that are not true", wrong)
    assert not any(never.values()), never
