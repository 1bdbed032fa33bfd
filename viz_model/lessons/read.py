"""Reading a lesson's file: whatever is wrong with it is refused, with the line and the reason."""

import hashlib
import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple
from urllib.parse import parse_qsl, urlsplit

from viz_model.config import ModelConfig
from viz_model.lessons.lesson import ANSWER, CONTROLS, NAMES, Control, Lesson, Printed, Step, View, Words, unknown
from viz_model.lessons.questions import AMONG, WHICH, Cell, Choice, Free, Number, Own, Question, Variant, Which, needed
from viz_model.lessons.reading import TAKES, CannotAsk, Reading, Where
from viz_model.lessons.source import LessonError, Path, Source
from viz_model.texts import ENGLISH, LANGUAGES

MOST_STEPS = 30
MOST_CHARACTERS = 200_000
PINNED = ("lang", "lesson")
"""Of an address that was copied: what a view does not say."""


class Offer(NamedTuple):
    """What lessons may name.

    Attributes:
        models: the configs of the models by name.
        first: the page of an address without one.
        wrong: what is wrong with a page and the query of its address, which names model and text; None where nothing
            is.
    """

    models: Mapping[str, ModelConfig]
    first: str
    wrong: Callable[[str, Mapping[str, str]], str | None]


def read(name: str, text: str, offer: Offer) -> Lesson:
    """A lesson from the text of its file.

    Raises:
        LessonError: it says something that is not known, or leaves out something.
    """
    if len(text) > MOST_CHARACTERS:
        raise LessonError(name, 1, f"longer than {MOST_CHARACTERS} characters")
    source = Source(name, text)
    top = _Table(source, (), source.said)
    top.only("minutes", "model", "controls", "title", "about", "sentence", "step")
    model = top.text("model", "story-pre-ln")
    if model not in offer.models:
        raise source.error(("model",), f"no model {model!r}; there are {', '.join(offer.models)}")
    if offer.models[model].reads_pictures:
        raise source.error(("model",), f"{model} reads pictures, and a lesson has a sentence")
    usual = top.controls(("tokens", "heads"))
    entries = top.said.get("step")
    if not isinstance(entries, list) or not entries:
        raise source.error(("step",), "a lesson has steps: tables under [[step]]")
    if len(entries) > MOST_STEPS:
        raise source.error(("step", MOST_STEPS), f"more than {MOST_STEPS} steps")
    minutes = top.number("minutes")
    if minutes not in range(1, 241):
        raise top.error("minutes", f"expected a whole number from 1 to 240, got {minutes:g}")
    title, about, sentence = top.words("title"), top.words("about"), top.words("sentence")
    runs = {language: {"model": model, "text": sentence[language]} for language in LANGUAGES}
    return Lesson(
        name=name,
        digest=hashlib.sha256(text.encode()).hexdigest()[:12],
        minutes=int(minutes),
        model=model,
        title=title,
        about=about,
        sentence=sentence,
        steps=tuple(_step(_Table(source, ("step", n), entry), runs, usual, offer) for n, entry in enumerate(entries)),
    )


class _Table:
    """A table of the file: what it says under a key, or the error that it does not."""

    def __init__(self, source: Source, path: Path, said: Any) -> None:
        if not isinstance(said, dict):
            raise source.error(path, f"expected a table, got {said!r}", _named(path))
        self.source, self.path, self.said = source, path, said

    def error(self, key: str, why: str) -> LessonError:
        return self.source.error((*self.path, key), why, _named((*self.path, key)))

    def only(self, *known: str) -> None:
        """Raises LessonError: there is another key."""
        if unknown := [key for key in self.said if key not in known]:
            raise self.error(unknown[0], f"not known here; known are {', '.join(known)}")

    def text(self, key: str, usual: str | None = None, among: Sequence[str] = ()) -> str:
        found = self.said.get(key, usual)
        if not isinstance(found, str):
            raise self.error(key, "a text is missing" if found is None else f"expected a text, got {found!r}")
        if among and found not in among:
            raise self.error(key, f"expected one of {', '.join(among)}; got {found!r}")
        return found

    def number(self, key: str, usual: float | None = None) -> float:
        found = self.said.get(key, usual)
        if not isinstance(found, int | float) or isinstance(found, bool) or not math.isfinite(found):
            raise self.error(key, "a number is missing" if found is None else f"expected a number, got {found!r}")
        return found

    def switch(self, key: str) -> bool:
        found = self.said.get(key, False)
        if not isinstance(found, bool):
            raise self.error(key, f"expected true or false, got {found!r}")
        return found

    def listed(self, key: str, known: Sequence[str]) -> tuple[str, ...]:
        found = self.said.get(key, [])
        if not isinstance(found, list):
            raise self.error(key, f"expected a list, got {found!r}")
        for each in found:
            if each not in known:
                raise self.error(key, f"expected some of {', '.join(known)}; got {each!r}")
        return tuple(found)

    def controls(self, usual: tuple[Control, ...]) -> tuple[Control, ...]:
        named = self.listed("controls", CONTROLS)
        return tuple(each for each in CONTROLS if each in named) if "controls" in self.said else usual

    def words(self, key: str, known: tuple[str, ...] = ()) -> Words:
        """A text in every language, with these placeholders; one text alone stands for all."""
        said = self._words(key)
        for language, text in said.items():
            if name := unknown(text, known):
                raise self.error(key, f"{language}: nothing is known of {{{{{name}}}}}; known are {', '.join(known)}")
        return said

    def _words(self, key: str) -> Words:
        found = self.said.get(key)
        if isinstance(found, str):
            if not found.strip():
                raise self.error(key, "the text is empty")
            return dict.fromkeys(LANGUAGES, found.strip())
        if found is None:
            raise self.error(key, "a text is missing")
        table = _Table(self.source, (*self.path, key), found)
        table.only(*LANGUAGES)
        english = table.text(ENGLISH)
        said = {language: table.text(language, english).strip() for language in LANGUAGES}
        if empty := [language for language in LANGUAGES if not said[language]]:
            raise table.error(empty[0], "the text is empty")
        return said

    def maybe_words(self, key: str, known: tuple[str, ...]) -> Words | None:
        return self.words(key, known) if key in self.said else None


def _named(path: Path) -> str:
    """What a message calls a key: of a step or a question only what stands within it, ``hint.zh``."""
    words = [part for part in path if isinstance(part, str)]
    return ".".join(words[-2:] if words[-1] in LANGUAGES else words[-1:])


def _step(table: _Table, runs: Mapping[str, Mapping[str, str]], usual: tuple[Control, ...], offer: Offer) -> Step:
    """A step; ``runs`` are the model and the sentence of the lesson, in every language."""
    table.only("view", "controls", "guess", "title", "text", "question", "ask", "hint", "then", "paper", "numbers")
    views = {
        language: _view(table, address, runs[language], offer) for language, address in table.words("view").items()
    }
    shown = [{**runs[language], **view.query} for language, view in views.items()]
    step = Step(
        view=views,
        title=table.words("title"),
        text=table.words("text", NAMES),
        controls=table.controls(usual),
        guess=table.switch("guess"),
        ask=table.maybe_words("ask", NAMES),
        hint=table.maybe_words("hint", NAMES),
        then=table.maybe_words("then", (*NAMES, ANSWER)),
        paper=_on_paper(_Table(table.source, (*table.path, "paper"), table.said.get("paper", {}))),
        numbers=tuple(_printed(table, n, each) for n, each in enumerate(table.said.get("numbers", []))),
    )
    if "question" not in table.said:
        if absent := [key for key in ("ask", "hint", "then", "guess") if table.said.get(key)]:
            raise table.error(absent[0], "there is no question: [step.question] is missing")
        return step
    if step.ask is None:
        raise table.error("question", "what is asked is missing: a text under ask")
    asked = _Table(table.source, (*table.path, "question"), table.said["question"])
    question = _question(asked, shown, offer)
    models = {query["model"] for query in shown}
    if isinstance(question, Choice):
        models |= {run.view["model"] for run in question.runs if "model" in run.view}
    for name in sorted(models):
        _check(asked, question, offer.models[name])
    line = table.source.line((*asked.path, "at" if "at" in asked.said else "kind"))
    return Step(**{**step.__dict__, "question": question, "line": line})


def _on_paper(table: _Table) -> dict[str, Words]:
    table.only("text", "ask", "hint")
    return {key: table.words(key, NAMES) for key in table.said}


def _printed(table: _Table, n: int, said: Any) -> Printed:
    own = _Table(table.source, (*table.path, "numbers", n), said)
    own.only("label", "value", "at", "take", "digits")
    return Printed(own.words("label"), _reading(own), int(own.number("digits", 2)))


def _view(table: _Table, address: str, run: Mapping[str, str], offer: Offer) -> View:
    """What an address shows of a run: ``attention?layer=1``, or one that was copied whole."""
    parts = urlsplit(address)
    page = parts.path.rstrip("/").rpartition("/")[2] or offer.first
    pairs = parse_qsl(parts.query, keep_blank_values=True)
    query = {key: value for key, value in pairs if key not in PINNED and not key.startswith("lesson")}
    if problem := offer.wrong(page, {**run, **query}):
        raise table.error("view", problem)
    return View(page, query)


def _question(table: _Table, shown: Sequence[Mapping[str, str]], offer: Offer) -> Question:
    """A question of a step; ``shown`` are the queries of its view."""
    match table.text("kind", among=("number", "choice", "cell", "free")):
        case "number":
            table.only("kind", "value", "at", "take", "tolerance", "digits", "percent")
            tolerance = table.number("tolerance") if "tolerance" in table.said else None
            digits = table.number("digits", 2)
            if tolerance is not None and tolerance < 0:
                raise table.error("tolerance", f"expected 0 or more, got {tolerance:g}")
            if digits not in range(7):
                raise table.error("digits", f"expected 0 to 6, got {digits:g}")
            return Number(_reading(table), tolerance, int(digits), table.switch("percent"))
        case "choice":
            return _own(table) if table.said.get("among") == "own" else _choice(table, shown, offer)
        case "cell":
            table.only("kind", "value", "at", "take", "which", "without")
            return Cell(_reading(table), _which(table), table.listed("without", ("first", "last")))
        case _:
            table.only("kind")
            return Free()


def _choice(table: _Table, shown: Sequence[Mapping[str, str]], offer: Offer) -> Choice:
    table.only("kind", "among", "value", "at", "take", "which", "without", "run")
    among = next(each for each in AMONG if each == table.text("among", among=(*AMONG, "own")))
    if among == "guesses":
        if unused := [key for key in ("value", "at", "take", "which", "without", "run") if key in table.said]:
            raise table.error(unused[0], "guesses are chosen by their probability, nothing else is asked")
        return Choice("guesses", Reading("probs", {"token": "last"}, "largest"))
    without = table.listed("without", ("first", "last"))
    if without and among != "tokens":
        raise table.error("without", "only of tokens some can be left out")
    if ("run" in table.said) != (among == "runs"):
        raise table.error("run", 'a choice among = "runs" has tables [[step.question.run]], and no other has')
    entries = table.said.get("run", [])
    tables = [_Table(table.source, (*table.path, "run", n), each) for n, each in enumerate(entries)]
    runs = tuple(_variant(each, shown, offer) for each in tables)
    if among == "runs" and len(runs) < 2:
        raise table.error("run", "one is no choice")
    return Choice(among, _reading(table), _which(table), without, runs)


def _own(table: _Table) -> Own:
    table.only("kind", "among", "option")
    entries = table.said.get("option")
    if not isinstance(entries, list) or len(entries) < 2:
        raise table.error("option", 'a choice among = "own" has at least two tables [[step.question.option]]')
    options = [_Table(table.source, (*table.path, "option", n), each) for n, each in enumerate(entries)]
    for option in options:
        option.only("label", "right")
    labels, right = [option.words("label") for option in options], [option.switch("right") for option in options]
    if not any(right):
        raise table.error("option", "none is right: right = true is missing")
    return Own(tuple(labels), tuple(n for n, is_right in enumerate(right) if is_right))


def _variant(table: _Table, shown: Sequence[Mapping[str, str]], offer: Offer) -> Variant:
    table.only("view", "label")
    query = dict(parse_qsl(table.text("view", ""), keep_blank_values=True))
    if unknown := [key for key in query if key not in ("model", "edits", "to")]:
        raise table.error("view", f"runs differ by model, edits or to, not by {unknown[0]}")
    for each in shown:
        run = {name: said for name, said in each.items() if name in ("model", "text", "target", "to")}
        if problem := offer.wrong("overview", {**run, **query}):
            raise table.error("view", problem)
    return Variant(query, table.words("label"))


def _which(table: _Table) -> Which:
    return next(each for each in WHICH if each == table.text("which", "largest", WHICH))


def _reading(table: _Table) -> Reading:
    places = table.said.get("at", {})
    if not isinstance(places, dict):
        raise table.error("at", f'expected a table such as {{head = 2, query = "last"}}, got {places!r}')
    take = next(each for each in TAKES if each == table.text("take", "itself", TAKES))
    return Reading(table.text("value"), {axis: _where(table, axis, where) for axis, where in places.items()}, take)


def _where(table: _Table, axis: str, where: Any) -> Where:
    if isinstance(where, dict) and ENGLISH in where and where.keys() <= LANGUAGES.keys():
        return {language: _place(table, axis, where.get(language, where[ENGLISH])) for language in LANGUAGES}
    return _place(table, axis, where)


def _place(table: _Table, axis: str, where: Any) -> int | str:
    if isinstance(where, bool) or not isinstance(where, int | str):
        raise table.error("at", f"{axis}: expected a number, a word, or one for each language; got {where!r}")
    return where


def _check(table: _Table, question: Question, config: ModelConfig) -> None:
    """Raises LessonError: the model has no such value, or what is left of it is not what is asked for."""
    if isinstance(question, Free | Own):
        return
    try:
        left, keep = question.reading.left(config), needed(question, config)
        if lacking := [axis for axis in keep if axis not in left]:
            raise CannotAsk(f"the axis {lacking[0]!r} must be left open; open are {', '.join(left) or 'none'}")
        over = [axis for axis in left if axis not in keep]
        if over and question.reading.take == "itself":
            raise CannotAsk(f"{', '.join(over)} is left open: say where in at, or what to take of it")
    except CannotAsk as problem:
        names = str(problem).startswith("no site")
        raise table.error("value" if names or "at" not in table.said else "at", str(problem)) from None
