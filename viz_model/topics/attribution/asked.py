"""What is asked: which token, at which position, compared with what; and the sum that answers it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from viz_model.drawing.digits import percent, written
from viz_model.explain import sums
from viz_model.explain.sums import Against, Attribution
from viz_model.explain.written import Decomposition, Part, decompose
from viz_model.island.look import Look
from viz_model.island.page import Chooser, Field
from viz_model.island.prose import Line
from viz_model.measures.covering import can_be_covered, covering
from viz_model.measures.lens import predicts
from viz_model.measures.typed import token_typed
from viz_model.runs.trace import Trace
from viz_model.texts.markdown import literal
from viz_model.tokenizers.tokenizer import Token

OFFERED = 20
LONGEST = 60
"""Of what is typed."""


@dataclass(frozen=True)
class Asked:
    """The question at the selected position, and the sum that answers it.

    Attributes:
        look: at the run that is asked about: of an encoder with a mask that in which the token is covered.
        target: the token that is asked about; None where the stack ends in vectors: then it is the vector's length.
        best: the most probable tokens with their probabilities, which are offered.
        covered: whether the run is another than the page's.
    """

    look: Look
    decomposition: Decomposition
    answer: Attribution
    target: int | None
    against: Against
    best: tuple[tuple[Token, float], ...]
    covered: bool

    @property
    def trace(self) -> Trace:
        return self.look.trace

    @property
    def position(self) -> int:
        return self.look.token

    @property
    def token(self) -> str:
        """The name of what stands at the position, for prose."""
        return self.look.code_name(self.look.token)

    @property
    def kind(self) -> str:
        """Which question it is: about a vector, a rival, the average, or the logit itself."""
        if self.target is None:
            return "vector"
        return "rival" if isinstance(self.against, int) else self.against or "logit"

    @cached_property
    def crosses(self) -> bool:
        """Whether there are heads that read a source."""
        return any(part.at == "cross" for part in self.answer.parts)

    @property
    def at(self) -> str:
        """Which of a block's attentions is shown enlarged."""
        return "cross" if self.crosses and self.look.options.get("at") == "cross" else "attn"

    @property
    def chosen(self) -> int:
        """The part of the sum that is selected; as long as nobody has chosen one, the largest."""
        sites, picked = [part.site for part in self.answer.parts], self.look.options.get("part")
        return sites.index(picked) if picked in sites else int(self.answer.order()[0])

    def plain(self, id: int | None) -> str:
        """A token of the vocabulary, for pictures."""
        return "" if id is None else self.trace.tokenizer.token(id).label

    def name(self, part: Part) -> str:
        return name_of(self.look, part)

    def keys(self, at: str) -> tuple[str, ...]:
        """Labels of what a head reads."""
        return tuple(token.label for token in (self.trace.at("encoder") if at == "cross" else self.trace).tokens)

    def pushes(self, vectors: Any, part: Part) -> np.ndarray:
        """What vectors [N, D] that a part wrote add to every logit, beyond the average: [N, V]."""
        passed = self.decomposition.passed[self.decomposition.row(part)]
        return sums.pushes(self.trace, self.decomposition, vectors, passed)

    def picks(self, part: Part) -> dict[str, Any]:
        """What a click on a part chooses; a head is shown enlarged too."""
        if part.kind != "head":
            return {"part": part.site}
        at = {"at": part.at} if self.crosses else {}
        return {"part": part.site, "layer": part.layer, "head": part.head, **at}

    @property
    def facts(self) -> dict[str, Any]:
        """For prose: what is asked, and how large it is."""
        words = self.look.words
        facts = {
            "token": self.token,
            "total": written(self.answer.total, "2"),
            "n_parts": len(self.answer.parts),
            "position": self.look.token,
        }
        if self.target is None:
            return facts
        logits = self.trace.row("logits", self.look.token)
        shares, rival = logits.softmax(-1), self.against if isinstance(self.against, int) else self.target
        return facts | {
            "where": words("where_at" if self.look.config.kind == "encoder" else "where_after", token=self.token),
            "target": literal(self.plain(self.target)),
            "share": percent(float(shares[self.target])),
            "rank": f"{1 + int((logits > logits[self.target]).sum()):,}",
            "rival": literal(self.plain(rival)),
            "rival_share": percent(float(shares[rival])),
        }


@dataclass(frozen=True)
class OfClass:
    """The same question about a class, which one vector decides."""

    look: Look
    target: int
    against: None = None
    kind: str = "logit"

    @property
    def trace(self) -> Trace:
        return self.look.trace

    @property
    def position(self) -> int:
        return 0

    @property
    def token(self) -> str:
        return self.look.code_name(0)

    def plain(self, id: int | None) -> str:
        return "" if id is None else self.trace.config.classes[id]

    def name(self, part: Part) -> str:
        return name_of(self.look, part)


def of_class(look: Look) -> OfClass:
    """The class that is asked about; the most probable one where nobody has chosen."""
    said, logits = look.options.get("class", ""), look.trace["class.logits"]
    return OfClass(look, int(said) if said and int(said) < len(logits) else int(logits.argmax()))


def name_of(look: Look, part: Part) -> str:
    """A part in words."""
    has_place = part.kind in ("bias", "shift") or part.at == "cross" or (part.kind == "dense" and part.at)
    apart = f"_{part.at}" if has_place else ""
    return str(look.words(f"part_{part.kind}{apart}", layer=part.layer, head=part.head))


def asked(look: Look) -> Asked:
    """What is asked of the selected token."""
    key = look.token, look.options.get("word"), look.options.get("against")
    found = look.latest("asked", key, lambda: _asked(look))
    here = replace(found.look, options=look.options, layer=look.layer, head=look.head, layers=look.layers)
    return replace(found, look=here)


def _asked(look: Look) -> Asked:
    covered = can_be_covered(look.trace, look.token)
    trace = covering(look.trace, look.token) if covered else look.trace
    here = replace(look, trace=trace, _read={})
    decomposition = decompose(trace, look.token)
    if not predicts(trace):
        return Asked(here, decomposition, sums.of_vector(trace, decomposition), None, None, (), covered)
    best = tuple(trace.next_tokens(look.token, OFFERED))
    target = _meant(trace, look.options.get("word", ""), targets(best))
    assert isinstance(target, int)
    against = _meant(trace, look.options.get("against", ""), rivals(best, target))
    against = None if against == target else against
    answer = sums.of_logit(trace, decomposition, target, against)
    return Asked(here, decomposition, answer, target, against, best, covered)


def targets(best: tuple[tuple[Token, float], ...]) -> dict[str, Against]:
    """Tokens that can be asked about by a name."""
    return {"top": best[0][0].id}


def rivals(best: tuple[tuple[Token, float], ...], target: int) -> dict[str, Against]:
    """What a logit can be compared with by a name."""
    second = next((token.id for token, _ in best if token.id != target), target)
    return {"none": None, "average": "average", "second": second}


def _meant(trace: Trace, said: str, named: Mapping[str, Against]) -> Against:
    """The token, or what is named; the first that has a name where a text means no token."""
    if said in named:
        return named[said]
    id = token_typed(trace, said)
    return next(iter(named.values())) if id is None else id


# What is said and chosen


def is_of_token(look: Look) -> bool:
    """Whether a token can be asked about."""
    return predicts(look.trace)


def choose_word(look: Look) -> Chooser | None:
    question = asked(look)
    return _chooser(question, "word", targets(question.best)) if question.best and not look.is_saved else None


def choose_against(look: Look) -> Chooser | None:
    question = asked(look)
    if question.target is None:
        return None
    return _chooser(question, "against", rivals(question.best, question.target))


def _chooser(question: Asked, name: str, named: Mapping[str, Against]) -> Chooser:
    """One of a few named choices, one of the best tokens, or any token that is typed."""
    words, said = question.look.words, question.look.options.get(name, "")
    options = {
        option: words(f"{name}_{option}", token=question.plain(token) if isinstance(token, int) else "")
        for option, token in named.items()
    }
    if not question.look.is_saved:  # a file has what goes by one name at every token; the best ones are others at each
        options |= {f"#{token.id}": f"{token.label}   {percent(p)}" for token, p in question.best}
    if said and said not in options:
        id = token_typed(question.trace, said)
        options[said] = said if id is None or not said.startswith("#") else question.plain(id)
    return Chooser(name, options, words(name), words(f"{name}_help"), asks=True, is_list=True)


def field(name: str) -> Any:
    """An item: a box to type another token in."""

    def made(look: Look) -> Field | None:
        return Field(name, look.words("typed"), most=LONGEST) if is_of_token(look) else None

    return made


def read_as(name: str) -> Any:
    """An item: which token a typed text was read as."""

    def said(look: Look) -> Iterator[Line]:
        question = asked(look)
        typed = look.options.get(name, "")
        if question.target is None or not typed or typed in ("top", "none", "average", "second"):
            return
        id = token_typed(question.trace, typed)
        if id is None:
            yield look.note("unknown", typed=literal(typed))
        elif not typed.startswith("#"):
            yield look.note("read_as", token=literal(question.plain(id)), id=id)

    return said


CHOICES = (("word", choose_word), ("against", choose_against))


def introduce(look: Look) -> Iterator[Line]:
    """What is asked where that does not go without saying."""
    question = asked(look)
    if question.covered:
        yield look.note("covered", token=look.code_name(look.token), position=look.token)
    if question.target is not None and "raw_logits" in question.trace:
        yield look.note("capped", cap=f"{question.trace.model.head.cap:g}")
    if question.target is None:
        yield Line(look.words("encoder" if look.config.has_logits else "no_head"), "notice")
    elif look.is_saved:
        yield look.note("saved")
