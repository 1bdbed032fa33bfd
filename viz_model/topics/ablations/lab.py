"""The run as it is beside the one that the page shows, what an experiment is, and how what it found is said."""

import operator
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple, TypeVar

import numpy as np

from viz_model.claims import Claim, Verdict
from viz_model.config import Side
from viz_model.drawing import chart
from viz_model.drawing.scene import Scene
from viz_model.drawing.tables import Among, by
from viz_model.island.look import Look
from viz_model.island.page import Buttons, Plot
from viz_model.island.prose import Line
from viz_model.runs.edits import Edit
from viz_model.runs.trace import Trace
from viz_model.topics.ablations import breaking
from viz_model.topics.ablations.breaking import Cost

AT_ONCE, AT_MOST = 2e9, 6e10
"""Multiplications of several runs that are made unasked, about two seconds on a slow core; and when a visitor asks."""
MOST_TOKENS = 128
"""Tokens of a text for each of which a change of the answer is measured, of a longer one that of the selected alone."""
ROLES = {
    "before": "residual",
    "after": "output",
    "attn": "pattern",
    "cross": "query",
    "ffn": "ffn",
    "cost": "output",
    "out": "output",
    "alone": "query",
}
"""The colors of what is drawn beside each other."""

Facts = dict[str, Any]
T = TypeVar("T")


@dataclass(frozen=True)
class Lab:
    """A look at an edited run, with the run as it is."""

    look: Look

    @property
    def plain(self) -> Trace:
        return self.look.plain.trace

    @property
    def after(self) -> Trace:
        return self.look.trace

    @property
    def side(self) -> Side | None:
        """The stack for an edit; None is the one that the output comes from."""
        side = self.plain.stack.side
        return None if side == self.plain.config.sides[-1] else side

    @property
    def tried(self) -> Edit | None:
        """The view's change, where it has a single one."""
        return self.after.edits[0] if len(self.after.edits) == 1 else None

    # Where answers are read: at every token, or of what feeds a decoder at that one's last.

    @property
    def answers(self) -> Side:
        return self.plain.config.sides[-1]

    @property
    def answering(self) -> Trace:
        return self.plain.at(self.answers)

    @property
    def positions(self) -> range:
        """The positions whose answers are compared."""
        if self.side is not None:
            last = len(self.answering) - 1
            return range(last, last + 1)
        token = self.look.token
        return range(len(self.plain)) if len(self.plain) <= MOST_TOKENS else range(token, token + 1)

    def of_answers(self, values: Any, write: str = "", **more: Any) -> Any:
        """A table of values by position, [P, …]."""
        if self.side is not None:
            return by(" ".join(["answer", *more]), values, write, answer=0, **more)
        return self.look.by(" ".join(["token", *more]), values, write, **more)

    def each(self, verdict: Verdict[Any], values: np.ndarray) -> tuple[Verdict[Any], Any, str]:
        """A verdict on each answer, of values [P, …]."""
        return (verdict, values, "token") if self.side is None else (verdict, values[0], "")

    @property
    def here(self) -> int:
        """The entry of the selected token among the positions."""
        return self.look.token - self.positions.start if self.side is None else 0

    def costs(self, edits: Sequence[Edit]) -> Cost:
        """What each edit alone does to the answers, [P, E]: a run of the model for each."""
        positions = self.positions

        def made(look: Look) -> Cost:
            found = self.by_turns(breaking.tried(self.plain, edits, self.answers, positions))
            return Cost(*(np.stack(each, -1) for each in zip(*found, strict=True)))

        return self.look.plain.once(made, ("costs", tuple(edits), positions))

    def by_turns(self, runs: Iterator[T]) -> Iterator[T]:
        """What comes of runs of the model, each in a turn of its own, so that others have theirs between."""
        while True:
            with self.look.turn():
                try:
                    found = next(runs)
                except StopIteration:
                    return
            yield found

    @property
    def cost(self) -> Cost:
        """What the view's change does to the answers, [P]."""
        positions, after = self.positions, self.after
        return self.look.once(lambda _: breaking.costs(self.plain, after, self.answers, positions), ("cost", positions))

    # Many runs are only made when a visitor asks for them.

    @property
    def _work(self) -> int:
        """Multiplications of one run, about."""
        n_tokens = len(self.plain.ids) + len(self.plain.target_ids or ())
        return sum(parameter.numel() for parameter in self.plain.model.parameters()) * n_tokens

    def affordable(self, n: int) -> int:
        """How many of ``n`` runs are made when asked, at least 8."""
        return min(n, max(8, int(AT_MOST / self._work)))

    def may(self, n: int) -> bool:
        """Whether ``n`` runs may be made now."""
        return n * self._work <= AT_ONCE or self.look.options.get("measured") == "1"

    # In words.

    def token_named(self, at: Any = None) -> Any:
        """The name of a token of the run as it is: ``at`` is a table of positions, by default of the selected one."""
        labels = [token.label for token in self.plain.tokens]
        return Among(labels, by("token", np.arange(len(labels))) if at is None else at, is_code=True)

    @property
    def labels(self) -> tuple[str, ...]:
        return tuple(token.label for token in self.plain.tokens)

    @property
    def unit(self) -> str:
        """The measure of a changed answer."""
        return str(self.look.words("bits" if self.plain.config.has_logits else "turn"))

    def amount(self, values: Any) -> Any:
        """Changed answers [P] in words: bits, or 1 − cosine."""
        key = "amount_bits" if self.plain.config.has_logits else "amount_turn"
        return self.look.words(key, amount=self.of_answers(values, "3"))

    @property
    def subject(self) -> Any:
        """What is asked about, in words: the first choice here, or the direction of the last vector."""
        seen, look = self.answering, self.look
        labels, at = [token.label for token in seen.tokens], np.array(self.positions)
        token = Among(labels, self.of_answers(at), is_code=True)
        if not self.plain.config.has_logits:
            return look.words("subject_vector", token=token)
        tops = [seen.next_tokens(position, 1)[0] for position in self.positions]
        names = list(dict.fromkeys(top.label for top, _ in tops))
        which = np.array([names.index(top.label) for top, _ in tops])
        share = self.of_answers(np.array([share for _, share in tops]), "percent")
        key = "subject_at" if self.plain.config.kind == "encoder" else "subject_after"
        return look.words(key, token=token, top=Among(names, self.of_answers(which), is_code=True), share=share)

    @property
    def enters(self) -> str:
        """Where position enters this model, in words."""
        return str(self.look.words(f"enters_{self.plain.config.position.acts_on}"))

    @property
    def depths(self) -> list[str]:
        """Names of the depths of the stream: the embedding, then each block."""
        words = self.look.words
        return [words("depth_0"), *(words("depth", layer=layer) for layer in range(self.plain.n_layers))]

    def extremes(self, names: Sequence[str], found: Cost) -> Facts:
        """What changes the answer most, and least, and how many of them change the first choice."""
        most, least = ranked(found)
        facts: Facts = {"n_changed": self.of_answers(found.changed.sum(-1), "whole"), "n": len(names)}
        for name, at in (("most", most), ("least", least)):
            facts[name] = Among(list(names), self.of_answers(at))
            facts[f"{name}_cost"] = self.amount(np.take_along_axis(found.amount, at[:, None], -1)[:, 0])
        return facts


def lab(look: Look) -> Lab:
    return Lab(look)


def ranked(found: Cost) -> tuple[np.ndarray, np.ndarray]:
    """Of edits [P, E] the one that changes each answer most, and least, among those that could be made."""
    amount = found.amount
    return np.where(np.isnan(amount), -1.0, amount).argmax(-1), np.where(np.isnan(amount), np.inf, amount).argmin(-1)


class Finding(NamedTuple):
    """What an experiment found.

    Attributes:
        verdict: what may come of it, of which values, and by which axes; None where there is no outcome yet.
        facts: fill its words.
        draw: draws the measure.
        below: what stands below that: sentences and buttons.
        table: its columns.
        waits: for a visitor who asks for so many runs.
        text: says as much as is known, where there is no outcome.
    """

    verdict: tuple[Verdict[Any], Any, str] | None
    facts: Facts
    draw: Callable[[], Scene | Plot | None] = lambda: None
    below: Sequence[Line | Buttons] = ()
    table: Mapping[str, Sequence[object]] = {}
    waits: int = 0
    text: str = ""


@dataclass(frozen=True)
class Experiment:
    """One question.

    Attributes:
        verdict: what may come of it, whose name is the experiment's.
        edit: the sort of edit that belongs to it, or the sorts.
        ask: for the question, what the run as it is says.
        make: the edit that answers it at the selection, for a guess; None where there is nothing to change.
        answer: what the changed run says.
        missing: why it cannot be tried on this model or text: a key of the page's words.
        hidden: where there is nothing to change at some tokens: whether, by token, and why.
        before: draws the measure as it is, while the question is open.
        belongs: which edits of that sort are meant; by default all.
        everywhere: its edit is of no one stack.
        least: tokens that it takes.
        guesses: those that make sense in this model; by default all.
    """

    verdict: Verdict[Any]
    edit: type[Edit] | tuple[type[Edit], ...]
    ask: Callable[[Lab], Facts]
    make: Callable[[Lab, str | None], Edit | None]
    answer: Callable[[Lab, Any], Finding]
    missing: Callable[[Lab], str | None] = lambda lab: None
    hidden: Callable[[Lab], tuple[np.ndarray, str]] | None = None
    before: Callable[[Lab], Scene | Plot | None] = lambda lab: None
    belongs: Callable[[Lab, Any], bool] = lambda lab, edit: True
    everywhere: bool = False
    least: int = 2
    guesses: Callable[[Lab], Sequence[str]] | None = None

    @property
    def name(self) -> str:
        return self.verdict.name.removeprefix("ablations.")

    def lacks(self, lab: Lab) -> str | None:
        return "few_tokens" if len(lab.plain) < self.least else self.missing(lab)

    def fits(self, lab: Lab, edit: Edit) -> bool:
        """Whether an edit is one that this experiment asks about, in the stack that is looked at."""
        side = getattr(edit, "side", None) or lab.plain.config.sides[-1]
        is_here = self.everywhere or side == lab.plain.stack.side
        return isinstance(edit, self.edit) and is_here and self.belongs(lab, edit)

    def options(self, lab: Lab) -> list[str]:
        """What one may guess."""
        return [claim.name for claim in self.verdict.claims] if self.guesses is None else list(self.guesses(lab))


def another(name: str) -> Verdict[Any]:
    """Of whether the answer is another one."""
    return Verdict(f"ablations.{name}", Claim("stays", np.logical_not), Claim("changes", np.asarray))


def one_of(name: str, *names: str) -> Verdict[Any]:
    """Of which of some things it is, by their names."""
    return Verdict(f"ablations.{name}", *(Claim(one, partial(operator.eq, one)) for one in names))


def evenly(items: Sequence[T], most: int) -> list[T]:
    """At most so many items, evenly spread, the first and the last among them."""
    if len(items) <= most:
        return list(items)
    return [items[round(n * (len(items) - 1) / (most - 1))] for n in range(most)]


def bars(lab: Lab, id: str, names: Sequence[str], series: Mapping[str, Any], axes: tuple[str, str]) -> Scene:
    """Bars side by side by place, a series for each run or sort of part; ``axes`` name the places and the measure."""
    look = lab.look
    title = look.words("measure_alt", measure=axes[1])
    drawn = [
        chart.Bars(look.words(f"series_{key}"), finite(values), ROLES[key], "{{name}}\n{{value}}", write="4")
        for key, values in series.items()
    ]
    scale = chart.axis(*(one.values for one in drawn), title=axes[1], write="")
    scene = chart.columns(f"ablations.{id}", title, tuple(names), drawn, scale._replace(write=_digits(scale.high)))
    return look.drawn(scene, note=axes[0], own=False)


def _digits(top: float) -> str:
    return str(max(0, 1 - int(np.floor(np.log10(top)))) if top > 0 else 0)


def finite(values: Any) -> Any:
    """What overflowed is left out of a drawing."""
    if not hasattr(values, "values"):
        return np.where(np.isfinite(values), values, np.nan).astype(np.float32)
    return values._replace(values=finite(np.asarray(values.values)))
