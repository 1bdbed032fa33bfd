"""The keys of a lesson: for each step the run that it shows, and the answer to its question."""

from collections.abc import Callable, Mapping
from typing import NamedTuple, TypeAlias

from viz_model.drawing.digits import written
from viz_model.lessons.lesson import Lesson
from viz_model.lessons.questions import Choice, Key, key
from viz_model.lessons.reading import POSITIONS, CannotAsk, Run, labels
from viz_model.runs.trace import Trace


class Asked(NamedTuple):
    """A run that a step asks for, as an address says it; without a target an encoder–decoder says its own."""

    model: str
    text: str
    target: str | None = None
    to: str | None = None
    edits: str = ""

    @classmethod
    def of(cls, query: Mapping[str, str]) -> "Asked":
        """Of a view's query, which names model and text."""
        return cls(query["model"], query["text"], query.get("target"), query.get("to"), query.get("edits", ""))


Runs: TypeAlias = Callable[[Asked], Trace]
"""Runs what is asked for. Raises ValueError where that cannot be run."""


class Answer(NamedTuple):
    """The key of a step, or why there is none: its question cannot be asked of this run, or it asks nothing."""

    key: Key | None
    why: str = ""


def answer(lesson: Lesson, step: int, on: str, language: str, run: Runs, model: str | None = None) -> Answer:
    """The key of one step on a sentence.

    Args:
        on, language: as in :meth:`Lesson.view`.
        run: makes the runs.
        model: in place of the lesson's own; views that name a model keep theirs.
    """
    question = lesson.steps[step].question
    if question is None:
        return Answer(None)
    query = _query(lesson, step, on, language, model)
    spoken = on if on in lesson.sentence else language
    try:
        variants: tuple[Run, ...] = ()
        if isinstance(question, Choice) and question.runs:
            bare = {name: said for name, said in query.items() if name != "edits"}
            variants = tuple(_run({**bare, **each.view}, spoken, run) for each in question.runs)
        return Answer(key(question, _run(query, spoken, run), variants))
    except CannotAsk as why:
        return Answer(None, str(why))


class Printed(NamedTuple):
    """Numbers for paper: what they are, a name for each row, and the numbers [rows, columns] as they are written."""

    label: str
    rows: tuple[str, ...]
    cells: tuple[tuple[str, ...], ...]


def printed(
    lesson: Lesson, step: int, on: str, language: str, run: Runs, model: str | None = None
) -> tuple[Printed, ...]:
    """What is printed beside a step; arguments as those of :func:`answer`. Without a run, nothing."""
    query, found = _query(lesson, step, on, language, model), []
    for each in lesson.steps[step].numbers:
        try:
            made = _run(query, on if on in lesson.sentence else language, run)
            left = each.reading.left(made.trace.config)
            values = each.reading.numbers(made, left if each.reading.take == "itself" else left[:1]).values
            site = each.reading.names(made.trace.config)[0]
            places = [axis for axis in left if axis in POSITIONS]
            rows = labels(made.trace, site, places[0]) if places else ("",)
        except CannotAsk:
            continue
        table = values.reshape(len(rows), -1)
        cells = tuple(tuple(written(float(one), str(each.digits)) for one in row) for row in table)
        found.append(Printed(each.label[language], rows, cells))
    return tuple(found)


def _query(lesson: Lesson, step: int, on: str, language: str, model: str | None) -> dict[str, str]:
    query = dict(lesson.view(step, on, language).query)
    return {**query, "model": model} if model is not None and query["model"] == lesson.model else query


def _run(query: Mapping[str, str], language: str, run: Runs) -> Run:
    asked = Asked.of(query)
    try:
        made = run(asked)
        return Run(made, run(asked._replace(edits="")) if asked.edits else made, language)
    except ValueError as wrong:
        raise CannotAsk(str(wrong)) from None
