"""What is asked: which token, at which position, compared with what; and the sum that answers it."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
import torch
from torch import Tensor

from viz_model.drawing.digits import percent
from viz_model.drawing.tables import Among, among
from viz_model.explain import sums
from viz_model.explain.sums import Against, Attribution
from viz_model.explain.written import Decomposition, Part, decompose
from viz_model.island.held import MOST_TOKENS, asks_again
from viz_model.island.look import Look
from viz_model.island.page import there
from viz_model.measures.covering import can_be_covered, covering
from viz_model.measures.lens import predicts
from viz_model.measures.typed import token_typed
from viz_model.runs.recompute import Recomputed
from viz_model.runs.trace import Trace
from viz_model.tokenizers.tokenizer import Token

OFFERED = 20
LONGEST = 60
"""Of what is typed."""
MOST_AT_ONCE, MOST_NUMBERS = 2_000_000, 20_000_000
"""Numbers that all parts write to all tokens, up to which tables hold all of them; and of those that are asked for."""


@dataclass(frozen=True)
class Asked:
    """The question at the selected position, and the sum that answers it; and at each of the T positions of tables.

    Attributes:
        look: at the run that is asked about at the selected position.
        held: the T positions; the selected one alone where more would be too much.
        covered: whether the token of each is covered, in a run of its own, [T]: of an encoder with a mask.
        sums: the answers at all of them, without directions.
        named: rows of the parts that are named in words, [T, 3]: the two that lift most, and what lowers most.
        read: of those that are heads the token from which most comes to them.
        targets: the tokens that are asked about, [T]; None where the stack ends in vectors: then it is their length.
        rivals: what they are compared with: tokens [T], the average, or nothing.
        best: the most probable tokens with their probabilities, which are offered; at each.
        chances: the probability of each target, its rank (1 is first), and the probability of its rival.
        whole: the page's look, where what is made of all positions is kept; by ``look`` that of the selected one.
    """

    look: Look
    held: range
    covered: np.ndarray
    sums: Attribution
    named: np.ndarray
    read: list[list[str | None]]
    targets: np.ndarray | None
    rivals: np.ndarray | Literal["average"] | None
    best: tuple[tuple[tuple[Token, float], ...], ...]
    chances: tuple[np.ndarray, np.ndarray, np.ndarray] | None
    whole: Look

    @property
    def trace(self) -> Trace:
        return self.look.trace

    @property
    def position(self) -> int:
        return self.look.token

    @property
    def place(self) -> int:
        """That of the selected position among those that are held."""
        return self.position - self.held.start

    @property
    def answer(self) -> Attribution:
        return self.look.once(lambda _: self._answer(), "answer")

    def _answer(self) -> Attribution:
        if self.target is None:
            return sums.of_vector(self.trace, self.decomposition)
        return sums.of_logit(self.trace, self.decomposition, self.target, self.against)

    @property
    def decomposition(self) -> Decomposition:
        return self.look.once(lambda _: decompose(self.trace, self.position), "decomposition")

    @property
    def target(self) -> int | None:
        return None if self.targets is None else int(self.targets[self.place])

    @property
    def against(self) -> Against:
        return int(self.rivals[self.place]) if isinstance(self.rivals, np.ndarray) else self.rivals

    @property
    def compared(self) -> list[tuple[int | None, int | None]]:
        """What is asked about at each position, and its rival, or once more itself."""
        if self.targets is None:
            return [(None, None)] * len(self.held)
        return [*zip(self.targets, self.rivals if isinstance(self.rivals, np.ndarray) else self.targets, strict=True)]

    @property
    def token(self) -> str:
        """The name of what stands at the position, for prose."""
        return self.look.code_name(self.look.token)

    @property
    def kind(self) -> str:
        """Which question it is: about a vector, a rival, the average, or the logit itself."""
        if self.targets is None:
            return "vector"
        return "rival" if isinstance(self.rivals, np.ndarray) else self.rivals or "logit"

    @property
    def crosses(self) -> bool:
        """Whether there are heads that read a source."""
        return any(part.at == "cross" for part in self.sums.parts)

    @property
    def at(self) -> str:
        """Which of a block's attentions is shown enlarged."""
        return "cross" if self.crosses and self.look.options.get("at") == "cross" else "attn"

    @property
    def every_chosen(self) -> np.ndarray:
        """The part of the sum that is selected, [T]; as long as nobody has chosen one, the largest of each."""
        sites, picked = [part.site for part in self.sums.parts], self.look.options.get("part")
        return np.full(len(self.held), sites.index(picked)) if picked in sites else self.sums.order()[:, 0]

    @property
    def chosen(self) -> int:
        """That at the selected position."""
        return int(self.every_chosen[self.place])

    def by(self, values: Any, write: str = "") -> Any:
        """A table of T values."""
        return self.look.by("token", np.asarray(values), write)

    def one_of(self, names: Sequence[Any], *, is_code: bool = False) -> Among:
        """Of T names each at its position; or of T lists, all as long."""
        return among(names, self.by, is_code=is_code)

    def plain(self, id: int | None) -> str:
        """A token of the vocabulary, for pictures."""
        return "" if id is None else self.trace.tokenizer.token(id).label

    def labels(self, ids: np.ndarray) -> Among:
        """Tokens of the vocabulary, [T], by their names."""
        return self.one_of([self.plain(int(id)) for id in ids], is_code=True)

    def name(self, part: Part) -> str:
        return self.whole.once(lambda _: name_of(self.look, part), part)

    @property
    def offered(self) -> list[dict[str, str]]:
        """The most probable tokens at each position as options, with their labels."""
        return self.whole.once(
            lambda _: [{f"#{token.id}": f"{token.label}   {percent(p)}" for token, p in row} for row in self.best],
            "offered",
        )

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
        """For prose, at each position: what is asked, and how large it is."""
        return self.whole.once(lambda _: self._facts(), "facts")

    def _facts(self) -> dict[str, Any]:
        mask = self.plain(self.trace.tokenizer.mask_id) if self.covered.any() else ""
        own = zip(self.held, self.covered, strict=True)
        token = self.one_of([mask if covered else self.whole.labels[n] for n, covered in own], is_code=True)
        facts = {"token": token, "total": self.by(self.sums.total, "2"), "n_parts": len(self.sums.parts)}
        if self.chances is None:
            return facts
        targets, rivals = (np.array(ids) for ids in zip(*self.compared, strict=True))
        share, rank, rival_share = self.chances
        return facts | {
            "where": self.look.words("where_at" if self.look.config.kind == "encoder" else "where_after", token=token),
            "target": self.labels(targets),
            "share": self.by(share, "percent"),
            "rank": self.by(rank, "whole"),
            "rival": self.labels(rivals),
            "rival_share": self.by(rival_share, "percent"),
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
    """What is asked of the selected token, and of as many others as tables hold."""
    held, alone = _held(look), range(look.token, look.token + 1)
    key = look.options.get("word"), look.options.get("against")
    found = look.latest("asked", (held.start, len(held), *key), lambda: _asked(look, held))
    found = found or there(look.latest("asked alone", (alone, *key), lambda: _asked(look, alone)))
    read: dict[Any, Any] = found.whole.latest("at", look.token, dict)
    run = _run(found.whole, look.token) if found.covered[look.token - found.held.start] else look.trace
    here = replace(found.whole, trace=run, options=look.options, token=look.token, _read=read)
    return replace(found, look=replace(here, layer=look.layer, head=look.head, layers=look.layers))


def _run(whole: Look, token: int) -> Trace:
    """The run in which a token is covered; of all of them the last one is kept."""
    return whole.latest("covering", token, lambda: covering(whole.trace, token))


def _held(look: Look) -> range:
    """All tokens of a text; of a larger model once a second one is asked about, and else the selected one alone."""
    trace, alone, whole = look.trace, range(look.token, look.token + 1), range(len(look))
    is_covered = any(can_be_covered(trace, token) for token in whole)  # each in a run of its own
    numbers = len(look) * look.config.d_model * look.n_layers * (look.n_heads + 2) * (len(look) if is_covered else 1)
    if numbers > MOST_NUMBERS or len(look) > MOST_TOKENS or isinstance(trace.values, Recomputed):
        return alone
    is_second = asks_again(look.once(lambda _: set(), "asked about"), look.token)
    is_quick = numbers <= MOST_AT_ONCE and not is_covered
    return whole if is_quick or look.is_saved or is_second else alone


def _asked(look: Look, held: range) -> Asked | None:
    """None where the question is of one kind at some tokens, and of another at others."""
    trace, here = look.trace, replace(look, _read={})
    word, against = (look.options.get(name, "") for name in ("word", "against"))
    runs = tuple(_run(here, n) if can_be_covered(trace, n) else trace for n in held)

    def answered(answer: Callable[[Trace, Decomposition, Any], Attribution]) -> Attribution:
        """What ``answer`` makes of a run, its parts, and which of the positions these are of."""
        if _is_one(runs):
            return answer(trace, decompose(trace, slice(held.start, held.stop)), slice(None))
        every = [answer(run, decompose(run, n), k) for k, (run, n) in enumerate(zip(runs, held, strict=True))]
        values, totals = np.stack([one.values for one in every]), np.array([one.total for one in every])
        return Attribution(every[0].parts, values, totals, ())

    if not predicts(trace):
        vectors = answered(lambda run, parts, _: sums.of_vector(run, parts))
        return Asked(here, held, *_told(runs, held, trace, vectors), None, None, (), None, here)
    probs = _rows(runs, "probs", held)
    best = tuple(_best(trace, probs))
    typed = {one: token_typed(trace, one) for one in (word, against)}
    meant = [_meant(typed, word, targets(one)) for one in best]
    compared = [_meant(typed, against, rivals(one, id)) for one, id in zip(best, meant, strict=True)]
    own, others = np.array(meant), compared[0] if not isinstance(compared[0], int) else np.array(compared)
    if isinstance(others, np.ndarray) and (same := own == others).any():
        if not same.all():
            return None
        others = None
    answers = answered(
        lambda run, parts, k: sums.of_logit(run, parts, own[k], others[k] if isinstance(others, np.ndarray) else others)
    )
    share, other = (
        np.take_along_axis(probs.numpy(), ids[:, None], -1)[:, 0]
        for ids in (own, others if isinstance(others, np.ndarray) else own)
    )
    chances = share, 1 + (probs.numpy() > share[:, None]).sum(-1), other
    return Asked(here, held, *_told(runs, held, trace, answers), own, others, best, chances, here)


def _told(
    runs: Sequence[Trace], held: range, trace: Trace, found: Attribution
) -> tuple[np.ndarray, Attribution, np.ndarray, list[list[str | None]]]:
    """Which tokens are covered, the answers, which parts are named in words, and from which tokens most comes to them.

    The runs themselves are not kept: of covered tokens they would take many times what the page's own run takes.
    """
    named = np.concatenate([np.argsort(-found.values, -1, "stable")[:, :2], found.values.argmin(-1)[:, None]], -1)
    known: dict[tuple[Trace, int], np.ndarray | None] = {}

    def read(run: Trace, position: int, row: int) -> str | None:
        part = found.parts[row]
        if (run, row) not in known:
            known[run, row] = sums.reading(run, part)
        most = known[run, row]
        tokens = (run.at("encoder") if part.at == "cross" else run).tokens
        return None if most is None else tokens[int(most[position])].label

    reads = [[read(run, n, row) for row in rows] for run, n, rows in zip(runs, held, named, strict=True)]
    return np.array([run is not trace for run in runs]), found._replace(directions=()), named, reads


def _is_one(runs: Sequence[Trace]) -> bool:
    """Whether several positions are asked about in one run."""
    return len(runs) > 1 and all(run is runs[0] for run in runs)


def _rows(runs: Sequence[Trace], name: str, held: range) -> Tensor:
    """A value at positions, [T, …]; at one without all others."""
    if _is_one(runs):
        return runs[0][name][held.start : held.stop]
    return torch.stack([run.row(name, n) for run, n in zip(runs, held, strict=True)])


def _best(trace: Trace, probs: Tensor) -> Iterator[tuple[tuple[Token, float], ...]]:
    top = probs.topk(min(OFFERED, probs.shape[-1]))
    for ids, shares in zip(top.indices.tolist(), top.values.tolist(), strict=True):
        yield tuple(zip(trace.tokenizer.tokens(ids), shares, strict=True))


def targets(best: tuple[tuple[Token, float], ...]) -> dict[str, Against]:
    """Tokens that can be asked about by a name."""
    return {"top": best[0][0].id}


def rivals(best: tuple[tuple[Token, float], ...], target: Against) -> dict[str, Against]:
    """What a logit can be compared with by a name."""
    second = next((token.id for token, _ in best if token.id != target), target)
    return {"none": None, "average": "average", "second": second}


def _meant(typed: Mapping[str, int | None], said: str, named: Mapping[str, Against]) -> Against:
    """The token, or what is named; the first that has a name where a text means no token."""
    if said in named:
        return named[said]
    id = typed[said]
    return next(iter(named.values())) if id is None else id


def is_of_token(look: Look) -> bool:
    """Whether a token can be asked about."""
    return predicts(look.trace)
