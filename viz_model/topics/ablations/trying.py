"""The experiments to choose from: a question with a guess, one press, and what was measured."""

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from viz_model.drawing.scene import Scene
from viz_model.drawing.tables import Among, Phrase
from viz_model.island.edited import describe
from viz_model.island.look import Look
from viz_model.island.page import Button, Buttons, Chooser, Field, Plot, Typed
from viz_model.island.prose import Line
from viz_model.topics.ablations import pieces, reading, sentence, structure
from viz_model.topics.ablations.lab import Experiment, Finding, Lab, lab

_SCALE, _POSITION, *_STRUCTURE = structure.EXPERIMENTS
_HEAD, _PATTERN, _LAYER, _NEURON = pieces.EXPERIMENTS
EXPERIMENTS: Mapping[str, Experiment] = {
    experiment.name: experiment
    for experiment in (
        _SCALE,
        _POSITION,
        reading.ORDER,
        *_STRUCTURE,
        _HEAD,
        _PATTERN,
        _LAYER,
        _NEURON,
        reading.EXPERIMENT,
        reading.CELL,
        sentence.EXPERIMENT,
    )
}
"""What a visitor can try, in the order in which the page offers it."""
OPTIONS: tuple[tuple[str, Any], ...] = (
    ("experiment", ("", *EXPERIMENTS)),
    ("guess", ("", *dict.fromkeys(claim.name for one in EXPERIMENTS.values() for claim in one.verdict.claims))),
    ("word", range(100_000)),
    ("other", Typed("", sentence.MOST_CHARACTERS)),
    ("measured", ("", "1")),
)
"""The experiment, by default the one that the view's change belongs to; a guess; the word to replace, and the other
sentence; and whether a visitor has asked for the many runs that measuring takes.
"""
ANEW = ("guess", "measured")


def chosen(lab: Lab) -> Experiment:
    if found := EXPERIMENTS.get(lab.look.options.get("experiment") or ""):
        return found
    tried, every = lab.tried, EXPERIMENTS.values()
    fitting = None if tried is None else next((one for one in every if one.fits(lab, tried)), None)
    return fitting or next(one for one in every if one.name == "head" or one.lacks(lab) is None)


def finding(lab: Lab) -> Finding | None:
    """What was found, once the view's change is one that answers the question."""
    experiment, tried = chosen(lab), lab.tried
    if tried is None or experiment.lacks(lab) or not experiment.fits(lab, tried):
        return None
    key = ("finding", experiment.name, tuple(sorted(lab.look.options.items())), lab.look.layer, lab.look.token)
    return lab.look.once(lambda _: experiment.answer(lab, tried), key)


def choose(look: Look) -> Chooser:
    options = {name: look.words(f"experiment_{name}") for name in EXPERIMENTS}
    own = chosen(lab(look)).name
    words = look.words
    return Chooser("experiment", options, words("experiment"), words("experiment_help"), own, True, anew=ANEW)


def title(look: Look) -> Iterator[Line]:
    own = lab(look)
    experiment = chosen(own)
    yield look.title(f"title_{experiment.name}")
    if lack := experiment.lacks(own):
        yield Line(look.words(f"missing_{lack}"), "notice")


def can_be_tried(look: Look) -> bool:
    """Whether the run has what the experiment is about."""
    return not chosen(lab(look)).lacks(lab(look))


def is_open(look: Look) -> bool:
    """Whether another sentence can be chosen: while nothing is tried."""
    own = lab(look)
    return chosen(own) is sentence.EXPERIMENT and can_be_tried(look) and finding(own) is None


def word(look: Look) -> Chooser:
    return sentence.choose(lab(look))


def other(look: Look) -> Field:
    return sentence.field(lab(look))


def refused(look: Look) -> Iterator[Line]:
    return sentence.refused(lab(look))


def ask(look: Look) -> Iterator[Line]:
    """The question; where there is nothing to change at a token, why."""
    own = lab(look)
    experiment = chosen(own)
    line = look.text(f"question_{experiment.name}", **experiment.ask(own))
    if experiment is sentence.EXPERIMENT:
        line = sentence.here(own, line)
    elif experiment.hidden is not None and finding(own) is None:
        is_hidden, why = experiment.hidden(own)
        template, values = (
            (line.words.template, line.words.values) if isinstance(line.words, Phrase) else (line.words, {})
        )
        texts = [template, look.words(f"missing_{why}")]
        line = Line(Phrase(Among(texts, look.by("token", is_hidden.astype(int))), values))
    yield line
    yield look.note("guess")


def guess(look: Look) -> Buttons:
    own = lab(look)
    experiment = chosen(own)
    labels = experiment.verdict.labels(look.t.language)
    return guesses(look, "guess", {name: labels[name] for name in experiment.options(own)})


def guesses(look: Look, option: str, labels: Mapping[str, str]) -> Buttons:
    """What may come of it, to be guessed; another click takes a guess back."""
    guessed = look.options.get(option) or ""
    buttons = [
        Button(("● " if name == guessed else "") + label, {option: "" if name == guessed else name})
        for name, label in labels.items()
    ]
    return Buttons(option, buttons)


def press(look: Look) -> Mapping[str, Any]:
    """Try it: the change that answers the question becomes the view's."""
    own = lab(look)
    experiment = chosen(own)
    edit = None if experiment.lacks(own) else experiment.make(own, look.options.get("guess") or None)
    if edit is None:
        return {}
    return {"edits": (edit,), "options": {"experiment": experiment.name, "measured": "1"}}


def buttons(look: Look) -> Buttons:
    own = lab(look)
    experiment = chosen(own)
    is_tried = finding(own) is not None
    off: Any = is_tried
    if not is_tried and experiment.hidden is not None:
        off = look.by("token", experiment.hidden(own)[0])
    both = [Button(look.words("again" if is_tried else "try"), press="try", is_off=off)]
    return Buttons("try", [*both, Button(look.words("undo"), change={"edits": ""}, is_off=not look.trace.edits)])


def replaced(look: Look) -> Iterator[Line]:
    """What trying it takes the place of."""
    own = lab(look)
    if look.trace.edits and finding(own) is None:
        yield look.note("replaces", changes=look.listed(describe(edit, look.t) for edit in look.trace.edits))


def tell(look: Look) -> Iterator[Line]:
    """Whether the guess was right, what was found, and why."""
    own = lab(look)
    found, experiment = finding(own), chosen(own)
    if found is None:
        return
    if found.verdict is None:
        yield look.text(found.text, **found.facts)
    else:
        verdict, values, axes = found.verdict
        yield _judged(own, verdict, values, axes)
        line = look.claim(verdict, values, axes, **found.facts)
        yield sentence.here(own, line) if experiment is sentence.EXPERIMENT else line
    yield look.text(f"why_{experiment.name}", **found.facts)


def _judged(own: Lab, verdict: Any, values: Any, axes: str) -> Line:
    look, guessed = own.look, own.look.options.get("guess") or ""
    labels = [claim.label(look.t.language) for claim in verdict.every]
    which = verdict.table(values)
    right = Among(labels, look.by(axes, which)) if which.ndim else labels[int(which)]
    names = [claim.name for claim in verdict.claims]
    if guessed not in names:
        return Line(look.words("verdict_none", right=right))
    texts = [look.t(f"{look.topic}.verdict_{name}", right="{{right}}") for name in ("wrong", "right")]
    is_right = (which == names.index(guessed)).astype(int)
    template = Among(texts, look.by(axes, is_right)) if which.ndim else texts[int(is_right)]
    return Line(Phrase(template, {"right": right}))


def measure(look: Look) -> Buttons | None:
    """The many runs that measuring takes, for who asks for them."""
    found = finding(lab(look))
    if found is None or not found.waits:
        return None
    return Buttons("measure", [Button(look.words("measure", n=found.waits), {"measured": "1"})])


def draw(look: Look) -> Scene | Plot | None:
    """The measure: as it is while the question is open, and then of both runs."""
    own = lab(look)
    found = finding(own)
    if found is not None:
        return found.draw()
    return chosen(own).before(own)


def below(n: int, kind: type) -> Callable[[Look], Any]:
    """What stands below the measure: the n-th part, where it is of a kind."""

    def made(look: Look) -> Any:
        found = finding(lab(look))
        one = found.below[n] if found is not None and n < len(found.below) else None
        if not isinstance(one, kind):
            return None
        return [one] if isinstance(one, Line) else one

    return made


MOST_BELOW = 5
BELOW = tuple(below(n, kind) for n in range(MOST_BELOW) for kind in (Line, Buttons))
