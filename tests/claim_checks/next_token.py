"""Claims of the pages on what comes out."""

import itertools
import math
from collections.abc import Iterator, Sequence
from functools import partial

import torch
from torch.nn import functional as F

from claim_checks import Shown, fact, seed
from viz_model.measures import kv_cache
from viz_model.runs.generation import Decoder, Sampling, Step, steps
from viz_model.runs.trace import Trace
from viz_model.topics.next_token import arrivals, beam
from viz_model.topics.next_token import asked as asking
from viz_model.topics.next_token.arrivals import EVEN, Surprise
from viz_model.topics.next_token.asked import COVERED, KEPT, Kept
from viz_model.topics.next_token.beam import BEAM, Ways
from viz_model.topics.next_token.draws import ENDED, FELL, SAME
from viz_model.topics.next_token.repetition import CIRCLES, REPEATS, repeated
from viz_model.topics.next_token.work import SPARED, WorkView

ALL = Kept(temperature=1.0, n_kept=100, n_vocab=100, n_zero=0)
EXAMPLES = {
    "next_token.kept.greedy": (ALL._replace(temperature=0.0, n_kept=1), ALL._replace(n_kept=1)),
    "next_token.kept.all": (ALL, ALL._replace(n_zero=1)),
    "next_token.kept.vanish": (ALL._replace(n_zero=3), ALL._replace(n_kept=99)),
    "next_token.even.worse": (Surprise(13.5, 8192), Surprise(12.5, 8192)),
    "next_token.covered.first": (1, 2),
    "next_token.fell.greedy": (1, 2),
    "next_token.ended.ended": (True, False),
    "next_token.same.all": ((4, 4), (3, 4)),
    "next_token.circles.most": ((6, 10), (5, 10)),
    "next_token.repeats.rises": ((0.2, 0.3, None), (0.2, 0.3, 0.1)),
    "next_token.spared.some": ((9, 20), (20, 20)),
    "next_token.beam.greedy": (Ways(-1.0, -1.0, 1), Ways(-1.0, -1.0, 2)),
    "next_token.beam.better": (Ways(-1.0, -1.2, 3), Ways(-1.2, -1.2, 3)),
    "next_token.beam.worse": (Ways(-1.2, -1.0, 3), Ways(-1.0, -1.2, 3)),
    "next_token.times.longer": ((0.001, 0.0012), (0.001, 0.00105)),
}
ELSEWHERE = ("next_token.times.longer",)
"""Times are measured: ``tests/measures/test_kv_cache.py``."""

SAMPLINGS = (
    Sampling(top_p=0.9),
    Sampling(top_p=1.0),
    Sampling(temperature=0.05, top_p=1.0),
    Sampling(temperature=0.0),
    Sampling(top_k=5),
)
DRAWN = 24


def _kept(trace: Trace, sampling: Sampling, claim: str) -> bool:
    if claim == "greedy":
        return sampling.temperature == 0
    logits = trace.row("logits", -1).double()
    probs = ((logits - logits.max()) / sampling.temperature).softmax(-1).float()
    is_open = sampling.top_k is None and sampling.top_p in (None, 1.0)
    return is_open and bool((probs > 0).all()) == (claim == "all")


def _after(trace: Trace, ids: Sequence[int]) -> torch.Tensor:
    """The logits after ``ids``, read all at once and without a cache."""
    with torch.inference_mode():
        if len(trace.config.sides) == 1:
            return trace.model(torch.tensor([ids]))[0, -1]
        return trace.model.decode(torch.tensor([ids]), trace.model.encode(torch.tensor([trace.ids])))[0, -1]


def _circles(trace: Trace, drawn: Sequence[Step], claim: str) -> bool:
    ids = [*trace.own_ids, *(step.token.id for step in drawn)]
    fours = [ids[n - 4 : n] for n in range(4, len(ids) + 1)]
    again = [four in fours[:n] for n, four in enumerate(fours)]
    return sum(again[-len(drawn) :]) > 0.5 * len(drawn)


def _rises(trace: Trace, drawn: Sequence[Step], claim: str) -> bool:
    ids = [*trace.own_ids, *(step.token.id for step in drawn)]
    by_times: dict[int, list[float]] = {1: [], 2: [], 3: []}
    for n, step in enumerate(drawn, len(trace.own_ids) + 1):
        ending = ids[max(0, n - 4) : n]
        times = sum(ids[m - 4 : m] == ending for m in range(4, n + 1))
        by_times[max(1, min(3, times))].append(step.probability)
    new, *again = (sum(probs) / len(probs) for probs in by_times.values() if probs)
    return bool(by_times[1]) and bool(again) and all(mean > new for mean in again)


def _drawn(trace: Trace, sampling: Sampling) -> tuple[Step, ...]:
    source = trace.ids if len(trace.config.sides) > 1 else None
    going = steps(Decoder(trace.model, trace.own_ids, source), trace.tokenizer, sampling, 0)
    found = list(itertools.islice(going, DRAWN))
    ids = [step.token.id for step in found]
    return tuple(found[: ids.index(end) + 1] if (end := trace.tokenizer.end_of_text) in ids else found)


def _ways(trace: Trace, best: Sequence[int], greedy: Sequence[int], width: int, claim: str) -> bool:
    ways = [
        math.prod(_after(trace, [*trace.own_ids, *ids[:n]]).double().softmax(-1)[id].item() for n, id in enumerate(ids))
        for ids in (best, greedy)
    ]
    return {"greedy": width == 1, "better": ways[0] > ways[1], "worse": ways[1] > ways[0]}[claim]


def _ids(tree: beam.Tree) -> list[int]:
    """Those of the best way, up to where it ends the text."""
    way = beam.path(tree)
    return [node.token.id for node, before in zip(way, (None, *way), strict=False) if before is None or not before.ends]


def shown(trace: Trace) -> Iterator[Shown]:
    chance = seed(trace.text or "") % 40
    if not trace.config.has_logits or trace.side != trace.config.sides[-1] or chance % 4:
        return
    for sampling in SAMPLINGS:
        view = asking.choice_view(trace, -1, trace.row("logits", -1), sampling)
        yield Shown(KEPT, view.counts, partial(_kept, trace, sampling))
    if trace.config.kind == "encoder":
        mask_id, position = trace.tokenizer.mask_id, len(trace) // 2
        assert mask_id is not None
        ids = [mask_id if n == position else id for n, id in enumerate(trace.ids)]
        with torch.inference_mode():
            logits = trace.model(torch.tensor([ids]))[0, position]
        rank = 1 + int((logits > logits[trace.ids[position]]).sum())
        yield Shown(COVERED, rank, fact(logits.argmax() == trace.ids[position]))
        return
    if len(trace) > 1:
        bits = arrivals.following(trace).bits
        loss = F.cross_entropy(trace["logits"][:-1].double(), torch.tensor(trace.own_ids[1:]))
        is_worse = loss > math.log(trace.config.n_vocab)  # than equal chances for all
        yield Shown(EVEN, Surprise(float(bits.mean()), trace.config.n_vocab), fact(is_worse))
    n = len(trace)
    if n + 9 <= trace.config.n_context:
        work = WorkView.of(kv_cache.reads(trace.config.n_context, n, 10), n)
        # Without a cache the text is read again for each of ten tokens; with one, each token once.
        less = n + 9 < sum(n + step for step in range(10))
        yield Shown(SPARED, (work.with_cache, work.without_cache), fact(less))
    if chance or len(trace) + DRAWN > trace.config.n_context:
        return
    trees = {width: beam.search(trace, width) for width in (1, 2, 3, 5)}
    for width, tree in trees.items():
        ways = Ways(beam.path(tree)[-1].total, beam.path(trees[1])[-1].total, width)
        yield Shown(BEAM, ways, partial(_ways, trace, _ids(tree), _ids(trees[1]), width))
    greedy = _drawn(trace, Sampling(temperature=0.0))
    for sampling in (Sampling(temperature=0.0), Sampling(temperature=0.05), Sampling()):
        drawn = _drawn(trace, sampling)
        ids = [step.token.id for step in drawn]
        first = [_after(trace, [*trace.own_ids, *ids[:n]]).argmax() == id for n, id in enumerate(ids)]
        ended = ids[-1] == trace.tokenizer.end_of_text
        yield Shown(ENDED, ended, fact(ids[-1] in trace.tokenizer.controls))
        yield Shown(FELL, drawn[-1].rank + 1, fact(first[-1]))
        same = next((n for n, (a, b) in enumerate(zip(drawn, greedy, strict=False)) if a.token != b.token), len(greedy))
        yield Shown(SAME, (same, len(greedy)), fact(all(first)))
        found = repeated(trace.own_ids, drawn)
        yield Shown(CIRCLES, (found.n_repeated, len(drawn)), partial(_circles, trace, drawn))
        yield Shown(REPEATS, found.means, partial(_rises, trace, drawn))
