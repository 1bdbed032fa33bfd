"""What shows that each claim of the app is true: examples, and checks from the raw values by other code.

One module a topic, of the topic's name, with

``EXAMPLES``
    for each claim, as ``"verdict.claim"``, values of which it is said and values of which it must not be;
``shown``
    what the topic's page would say of a run, each with a check that reads the run's raw values and shares no code
    with the numbers, pictures and claims of the topic.
"""

import importlib
import pkgutil
import zlib
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple, Protocol

import viz_model.topics
from viz_model import measures
from viz_model.app import mask_editor
from viz_model.claims import Verdict
from viz_model.island.look import Look
from viz_model.runs.language_model import LanguageModel
from viz_model.runs.trace import Trace
from viz_model.texts import Texts


class Shown(NamedTuple):
    """Something said of a run.

    Attributes:
        verdict: what was asked.
        values: what it was asked of: the topic's numbers.
        check: whether a claim of that name is true, by the run's raw values; asked of the one that is made.
            "plain" is never asked.
    """

    verdict: Verdict[Any]
    values: Any
    check: Callable[[str], bool]


def seed(said: str) -> int:
    """A number that is the same for what is said in every run: by it texts are passed over where a check is dear."""
    return zlib.crc32(said.encode())


def fact(is_true: object) -> Callable[[str], bool]:
    """A check of a verdict with one claim."""
    return lambda claim: bool(is_true)


def look_at(trace: Trace, topic: str, **place: Any) -> Look:
    return Look.at(trace, Texts("en"), topic, **place)


def model_of(trace: Trace) -> LanguageModel:
    """What runs another text."""
    return LanguageModel(name="", model=trace.model, tokenizer=trace.tokenizer, twin=None, folder=Path())


class Checks(Protocol):
    EXAMPLES: Mapping[str, tuple[Any, Any]]

    def shown(self, trace: Trace) -> Iterator[Shown]: ...


TOPICS = tuple(
    name
    for _, name, _ in pkgutil.iter_modules(viz_model.topics.__path__)
    if (Path(__file__).parent / f"{name}.py").is_file()
)


def verdicts(topic: str) -> dict[str, Verdict[Any]]:
    """All verdicts of a topic by name: they stand beside the pictures that they speak of, or in what topics share."""
    own = importlib.import_module(f"viz_model.topics.{topic}")
    rooms = [room for one in (own, measures) for room in pkgutil.walk_packages(one.__path__, f"{one.__name__}.")]
    names = [own.__name__, mask_editor.__name__, *(room.name for room in rooms)]
    found = [each for name in names for each in vars(importlib.import_module(name)).values()]
    return {each.name: each for each in found if isinstance(each, Verdict) and each.name.startswith(f"{topic}.")}


def checks(topic: str) -> Checks:
    module: Any = importlib.import_module(f"claim_checks.{topic}")
    return module
