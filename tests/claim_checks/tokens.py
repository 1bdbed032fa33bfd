"""Claims of the tokens page."""

import itertools
from collections.abc import Iterator, Sequence
from functools import partial

import torch

from claim_checks import Shown, fact, look_at
from viz_model.runs.trace import Trace
from viz_model.tokenizers.tokenizer import ByteLevel, Token, cl100k_base
from viz_model.topics.tokens import cuts, cutting, splitting, stretches
from viz_model.topics.tokens.cuts import CUTS, OTHER
from viz_model.topics.tokens.stretches import LENGTH
from viz_model.topics.tokens.stretches import OTHER as FORM
from viz_model.topics.tokens.textbook import ROWS, Rows, rows
from viz_model.topics.tokens.word import JOINS

TABLE = Rows(n=1000, alike=tuple(range(11)), length=3.0, lengths=(0.5, 0.7, 3.0), shared=True)
EXAMPLES = {
    "tokens.cuts.all": ((6, 6), (5, 6)),
    "tokens.cuts.none": ((0, 6), (1, 6)),
    "tokens.other.same": ((True, 1), (False, 1)),
    "tokens.other.cut": ((False, 2), (False, 0)),
    "tokens.joins.next": (1, 0),
    "tokens.stretch.single": (1, 2),
    "tokens.form.dearer": ((4, 7), (7, 7)),
    "tokens.form.cheaper": ((7, 4), (7, 7)),
    "tokens.rows.alike": (TABLE, TABLE._replace(shared=False)),
}


def _spans(tokens: Sequence[Token]) -> list[tuple[int, int]]:
    return list(itertools.pairwise([0, *itertools.accumulate(len(token.bytes) for token in tokens)]))


def _cuts(ours: Sequence[Token], theirs: Sequence[Token], claim: str) -> bool:
    both = {*_spans(ours)} & {*_spans(theirs)}
    return both == {*_spans(ours)} if claim == "all" else not both


def _token(ours: Sequence[Token], theirs: Sequence[Token], place: int, claim: str) -> bool:
    start, stop = _spans(ours)[place]
    if claim == "same":
        return (start, stop) in _spans(theirs)
    return (start, stop) not in _spans(theirs) and any(a < stop and start < b for a, b in _spans(theirs))


def _form(trace: Trace, found: Sequence[stretches.Stretch], claim: str) -> bool:
    own, other = (
        sum(len(trace.tokenizer.encode(word, special=False)) for word in words)
        for words in zip(*((one.text, one.other) for one in found), strict=True)
    )
    return own < other if claim == "dearer" else own > other


def shown(trace: Trace) -> Iterator[Shown]:
    look = look_at(trace, "tokens", token=len(trace) // 2)
    found = cuts.view(look, cl100k_base())
    if found is not None:
        upper = found.upper.tokens
        text = b"".join(token.bytes for token in upper).decode(errors="ignore")
        theirs = cl100k_base().tokens(cl100k_base().encode(text, special=False))
        yield Shown(CUTS, (found.n_shared, len(upper)), partial(_cuts, upper, theirs))
        place = look.token - cutting.written(trace).first
        if 0 <= place < len(upper):
            values = bool(found.upper.shared[place]), len(found.over(place))
            yield Shown(OTHER, values, partial(_token, upper, theirs, place))
    tokenizer = trace.tokenizer
    if isinstance(tokenizer, ByteLevel) and trace.text:
        known = frozenset(tokenizer.encoding._mergeable_ranks)
        for split in splitting.splits(tokenizer, trace.text[:40])[:2]:
            for step in (0, len(split.joins)):
                can = sum(pair.rank is not None for pair in split.pairs(step))
                joins = any(a + b in known for a, b in itertools.pairwise(split.parts(step)))
                yield Shown(JOINS, can, fact(joins))
    if trace.text and tokenizer.rule is not None and stretches.is_chinese(trace.text):
        cut = stretches.stretches(trace.text, tokenizer)
        longest = max((len(one.text.strip()) for one in cut if stretches.is_chinese(one.text)), default=1)
        is_single = all(len(one.text.strip()) == 1 for one in cut if stretches.is_chinese(one.text))
        yield Shown(LENGTH, longest, fact(is_single))
        if other := [one for one in cut if one.form]:
            counts = sum(len(one.tokens) for one in other), sum(len(one.others) for one in other)
            yield Shown(FORM, counts, partial(_form, trace, other))
    if trace.text == "the " * 5:
        view, model = rows(trace.model), trace.model
        weight = model.embedding.weight.detach()
        directions = torch.nn.functional.normalize(weight[list(view.alike)], dim=-1)
        is_one = ((directions @ directions.T) >= 0.9899).all(-1).any() and len(directions) > 0.01 * len(weight)
        yield Shown(ROWS, view, fact(is_one and model.unembedding.weight.data_ptr() == weight.data_ptr()))
