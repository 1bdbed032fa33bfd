"""What the sections of this page tell of: the question that is asked, and the sum that answers it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
from torch import Tensor

from viz_model.app import runs, state
from viz_model.app.cache import cached
from viz_model.app.choices import Choice
from viz_model.app.covered import masked
from viz_model.app.page import Page
from viz_model.config import Side
from viz_model.drawing.writing import percent, signed
from viz_model.runs.trace import Trace
from viz_model.texts.markdown import literal
from viz_model.tokenizers.tokenizer import Token
from viz_model.topics.attribution import figures
from viz_model.topics.attribution.choices import AGAINST, AT, PART, WORD
from viz_model.topics.attribution.numbers import attribution, circuits, views
from viz_model.topics.attribution.numbers.attribution import Against, Attribution, Decomposition, Part
from viz_model.topics.attribution.numbers.typed import token_typed
from viz_model.topics.attribution.pictures.pushes import PushesView

OFFERED = 20


def trace_of(run: runs.RunKey, side: Side, covered: int | None) -> Trace:
    """The run of a text, or that in which the mask stands at a position, seen from a stack."""
    return (runs.trace(run) if covered is None else masked(run, covered)).at(side)


# Of a long text every block is computed again for it.
@cached()
def decomposed(run: runs.RunKey, side: Side, covered: int | None, position: int) -> Decomposition:
    """What was written at a position."""
    return attribution.decompose(trace_of(run, side, covered), position)


@cached()
def expected(run: runs.RunKey, side: Side, covered: int | None, position: int) -> tuple[tuple[Token, float], ...]:
    """The most probable tokens at a position, with their probabilities."""
    return tuple(trace_of(run, side, covered).next_tokens(position, OFFERED))


@cached()
def answered(
    run: runs.RunKey, side: Side, covered: int | None, position: int, target: int | None, against: Against
) -> Attribution:
    """The sum at a position; without a ``target``, that of the vector's length."""
    trace, parts = trace_of(run, side, covered), decomposed(run, side, covered, position)
    if target is None:
        return attribution.of_vector(trace, parts)
    return attribution.of_logit(trace, parts, target, against)


@dataclass(frozen=True)
class Question:
    """What is asked, and the sum that answers it.

    ``page`` shows the run that is asked about: of a masked model that in which the token is covered. ``opened`` is
    the page's own. ``target`` is None where the stack ends in vectors; then ``answer`` is of the vector's length.
    ``best`` are the most probable tokens, which are offered.
    """

    opened: Page
    page: Page
    decomposition: Decomposition
    answer: Attribution
    target: int | None
    against: Against
    best: Sequence[tuple[Token, float]]
    covered: int | None

    @classmethod
    def of(cls, opened: Page) -> Question:
        page, covered = opened, None
        mask_id, trace = opened.lm.tokenizer.mask_id, opened.trace
        predicts, side = attribution.predicts(trace), trace.stack.side
        if predicts and opened.lm.config.kind == "encoder" and mask_id not in (None, trace.ids[opened.token]):
            covered = opened.token
            page = replace(opened, trace=trace_of(opened.run_key, side, covered))
        place = opened.run_key, side, covered, page.token
        parts = decomposed(*place)
        if not predicts:
            return cls(opened, page, parts, answered(*place, None, None), None, None, (), covered)
        best = expected(*place)
        target = meant(page, page.chosen(WORD), named_targets(best))
        assert isinstance(target, int)
        against = meant(page, page.chosen(AGAINST), named_rivals(best, target))
        against = None if against == target else against
        return cls(opened, page, parts, answered(*place, target, against), target, against, best, covered)

    @property
    def trace(self) -> Trace:
        return self.page.trace

    @property
    def position(self) -> int:
        return self.decomposition.position

    @property
    def run(self) -> tuple[runs.RunKey, Side, int | None]:
        """What the run is known by (:func:`trace_of`)."""
        return self.opened.run_key, self.trace.stack.side, self.covered

    @property
    def has_norms(self) -> bool:
        return any(".norm." in name for name in self.trace.sites)

    @property
    def kind(self) -> str:
        """Which question it is: about a vector, a rival, the average, or the logit itself."""
        return figures.kind(self.target, self.against)

    @property
    def crosses(self) -> bool:
        """Whether there are heads that read a source."""
        return any(part.at == "cross" for part in self.answer.parts)

    @property
    def at(self) -> Literal["attn", "cross"]:
        """Which of a block's attentions is shown in large."""
        return "cross" if self.crosses and self.page.chosen(AT) == "cross" else "attn"

    def label(self, id: int) -> str:
        """A token of the vocabulary, for prose."""
        return literal(self.trace.tokenizer.token(id).label)

    def name(self, part: Part) -> str:
        """A part in words."""
        return figures.part_name(self.page.subject, part)

    def keys(self, at: str) -> tuple[str, ...]:
        """Labels of what a head reads."""
        tokens = self.trace.at("encoder").tokens if at == "cross" else self.trace.tokens
        return tuple(token.label for token in tokens)

    def reads(self, part: Part) -> circuits.Reads:
        """What a head reads."""
        return circuits.reads(self.trace, self.decomposition, self.answer, part)

    def pushes(self, vector: Tensor, part: Part) -> np.ndarray:
        """What a vector [D] that a part wrote adds to every logit, beyond the average: [V]."""
        passed = self.decomposition.passed[self.decomposition.row(part)]
        return attribution.pushes(self.trace, self.decomposition, vector[None], passed)[0]

    def pushes_view(self, pushed: np.ndarray) -> PushesView:
        """The tokens that gain and lose most of what is added to every logit [V], and where the asked one stands."""
        assert self.target is not None  # or there are no logits
        return views.pushes_view(self.trace, pushed, self.target)

    def facts(self) -> dict[str, object]:
        """For prose: what is asked, and how large it is."""
        facts: dict[str, object] = {
            "token": self.page.token_name(),
            "total": figures.total(self.answer),
            "n_parts": len(self.answer.parts),
            "position": self.position,
        }
        if self.target is None:
            return facts
        logits = self.trace.row("logits", self.position)
        rival = self.against if isinstance(self.against, int) else self.target
        where = "at" if self.page.lm.config.kind == "encoder" else "after"
        return facts | {
            "where": self.page.words(f"where_{where}", token=self.page.token_name()),
            "target": self.label(self.target),
            "share": percent(float(logits.softmax(-1)[self.target])),
            "rank": f"{1 + int((logits > logits[self.target]).sum()):,}",
            "rival": self.label(rival),
            "rival_share": percent(float(logits.softmax(-1)[rival])),
        }

    def with_value(self, row: int) -> str:
        """A part with its value; of a head also what it read."""
        part, value = self.answer.parts[row], signed(float(self.answer.values[row]))
        if part.kind != "head":
            return self.page.words("part_value", name=self.name(part), value=value)
        read = literal(self.keys(part.at)[self.reads(part).most])
        return self.page.words("part_reads", name=self.name(part), value=value, read=read)

    def pick(self, part: Part) -> None:
        """Look at a part; a head is shown in large too."""
        if part.kind == "head":
            self.show_head(part, (PART, part.site))
        else:
            state.update(**state.choose(self.page.name, (PART, part.site)))

    def show_head(self, part: Part, *chosen: tuple[Choice[Any], Any]) -> None:
        """Show a head in large."""
        choices = state.choose(self.page.name, (AT, part.at), *chosen)
        state.update(layer=part.layer, head=part.head, **choices)


def named_targets(best: Sequence[tuple[Token, float]]) -> dict[str, Against]:
    """Tokens that can be asked about by a name."""
    return {"top": best[0][0].id}


def named_rivals(best: Sequence[tuple[Token, float]], target: int) -> dict[str, Against]:
    """What a logit can be compared with by a name."""
    second = next((token.id for token, _ in best if token.id != target), target)
    return {"none": None, "average": "average", "second": second}


def meant(page: Page, written: str, named: dict[str, Against]) -> Against:
    """The token, or what is named; the first that has a name where a text means no token."""
    if written in named:
        return named[written]
    id = token_typed(page.trace, written)
    return next(iter(named.values())) if id is None else id
