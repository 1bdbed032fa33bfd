"""Claims of the attention page."""

import math
from collections.abc import Iterator
from dataclasses import replace
from functools import partial

import numpy as np
import torch

from claim_checks import Shown, look_at, model_of, seed
from viz_model.app.mask_editor import GUESSES
from viz_model.measures import heads
from viz_model.measures.change import firsts
from viz_model.measures.heads import HEAD, STRONGEST, HeadSummary, Largest
from viz_model.runs.edits import AblateHead
from viz_model.runs.trace import Trace
from viz_model.texts import Texts
from viz_model.topics.ablations.compare import Compared
from viz_model.topics.attention import weights as caveats
from viz_model.topics.attention.brings import APART, FIRST, SINKS
from viz_model.topics.attention.carries import CARRIES
from viz_model.topics.attention.constant import KEPT, Kept
from viz_model.topics.attention.heads import SIGHT, Sight, sight
from viz_model.topics.attention.pruning import PRUNED, Pruned, pruned
from viz_model.topics.attention.reads import READS, Read, read
from viz_model.topics.attention.recall import RECALL, Recall, measure

ROW = Largest(*map(np.array, (1, 0.4, 0.3, 5)))
SIGHT_OF = Sight(
    n=6, hidden=np.array([10]), is_causal=np.array([False]), size=np.array([0]), is_two_way=np.array([True])
)
SMALL = Pruned({}, 2, 1, torch.zeros(1), difference=1e-6, size=1.0)
CHANGED = Compared(0.0001, (0, 0))
KEYS = caveats.First(*map(np.array, (4, 0, 0.5, 0, 0.5, 0.6, False)))
TAKEN = caveats.Taken((0,), np.array([[0.6]]), np.array([[0.2]]), 0.25)
READ = Read(*(np.array([[value]]) for value in (1, 0.3, 0.1)))
STATES = Kept(np.array([1]), 100, np.array([1]), np.array([1]), 1, (101, 100), 100)
TOLD = Recall("The dog is", "·Max", (0.9, 0.5, 0.1), (0.0, 0.0, 0.0), ("·Max", "·Max", "·Max"))
NOWHERE = HeadSummary(previous=0.3, next=0.0, first=0.3, itself=0.3, marks=0.1, entropy=0.5, even=0.2)
EXAMPLES = {
    "attention.carries.itself": (True, False),
    "attention.head.alone": (NOWHERE._replace(chooses=False), NOWHERE),
    "attention.head.previous": (NOWHERE._replace(previous=0.51), NOWHERE._replace(previous=0.5)),
    "attention.head.next": (NOWHERE._replace(next=0.6), NOWHERE._replace(next=0.6, previous=0.7)),
    "attention.head.first": (NOWHERE._replace(first=0.68), NOWHERE._replace(first=0.49, entropy=0.9)),
    "attention.head.itself": (NOWHERE._replace(itself=0.6), NOWHERE),
    "attention.head.broad": (NOWHERE._replace(even=0.95), NOWHERE._replace(even=0.5, entropy=0.95)),
    "attention.head.marks": (NOWHERE._replace(marks=0.6), NOWHERE),
    "attention.strongest.only": (ROW._replace(n_seen=np.array(1)), ROW),
    "attention.strongest.most": (ROW, ROW._replace(second=np.array(0.39999))),
    "attention.sight.alone": (SIGHT_OF._replace(n=1), SIGHT_OF),
    "attention.sight.everything": (SIGHT_OF._replace(hidden=np.array([0])), SIGHT_OF),
    "attention.sight.causal": (SIGHT_OF._replace(is_causal=np.array([True])), SIGHT_OF),
    "attention.sight.window": (
        SIGHT_OF._replace(size=np.array([3]), is_two_way=np.array([False])),
        SIGHT_OF._replace(is_two_way=np.array([False])),
    ),
    "attention.sight.window_two_way": (SIGHT_OF._replace(size=np.array([3])), SIGHT_OF),
    "attention.pruned.equal": (SMALL, SMALL._replace(difference=0.01)),
    "attention.guesses.same": (CHANGED, CHANGED._replace(divergence=0.0006)),
    "attention.guesses.stays": (CHANGED._replace(divergence=2.0), CHANGED._replace(divergence=2.0, best=(0, 1))),
    "attention.first.tied": (KEYS._replace(is_tied=np.array(True)), KEYS),
    "attention.first.agree": (KEYS, KEYS._replace(weight=np.array(0.1))),
    "attention.first.differ": (KEYS._replace(weight=np.array(0.1)), KEYS._replace(n_seen=np.array(1))),
    "attention.apart.nowhere": (TAKEN._replace(shares=np.array([[0.597]])), TAKEN),
    "attention.reads.itself": (READ._replace(at=np.array([[0]])), READ),
    "attention.reads.against": (READ._replace(largest=np.array([[-0.3]])), READ),
    "attention.constant.more": (STATES, STATES._replace(here=(100, 100))),
    "attention.recall.kept": (TOLD, TOLD._replace(says=("·Max", "·Max", "·a"))),
    "attention.recall.lost": (TOLD._replace(says=("·Max", "·a", "·a")), TOLD._replace(says=("·Max", "·a", "·Max"))),
    "attention.recall.later": (TOLD._replace(says=("·Max", "·Max", "·a")), TOLD._replace(says=("·Max", "·a", "·Max"))),
    "attention.recall.never": (TOLD._replace(says=("·a", "·a", "·a")), TOLD._replace(says=("·a", "·Max", "·a"))),
    "attention.sinks.some": (TAKEN, TAKEN._replace(weights=np.array([[0.1]]))),
}
ELSEWHERE = ("attention.sight.window", "attention.sight.window_two_way")
"""Of models with a window, which no bundled one has: ``tests/measures/test_masks.py``."""


def head_does(trace: Trace, layer: int, head: int, claim: str) -> bool:
    """Row by row, from the pattern and the mask as the run has them."""
    pattern = trace.head(f"blocks.{layer}.attn.pattern", head).tolist()
    mask = trace.head(f"blocks.{layer}.attn.mask", head).tolist()
    seen = [[j for j, added in enumerate(row) if added > -math.inf] for row in mask]
    rows = [i for i, keys in enumerate(seen) if len(keys) > 1]
    last = len(pattern) - 1
    weights = {
        "previous": [pattern[i][i - 1] for i in rows if i > 0],
        "next": [pattern[i][i + 1] for i in rows if i < last],
        "first": [pattern[i][0] for i in rows if i > 0],
        "itself": [pattern[i][i] for i in rows],
    }
    match claim:
        case "alone":
            return not rows
        case "broad":
            even = [all(pattern[i][j] <= 2 / len(seen[i]) for j in seen[i]) for i in rows]
            return sum(even) >= 0.9 * len(rows)
        case "marks":
            around = heads.marks(trace)
            return sum(pattern[i][j] for i in rows for j in around) > 0.5 * len(rows)
        case _:
            return sum(weights[claim]) > 0.5 * len(weights[claim])


def stands_out(row: list[float]) -> bool:
    """One weight is the largest, by more than what another order of adding up would change."""
    return sum(weight >= max(row) * (1 - 1e-4) for weight in row) == 1


def _sight(trace: Trace, layer: int, claim: str) -> bool:
    mask = trace.head(f"blocks.{layer}.attn.mask", 0).tolist()
    hidden = {(i, j) for i, row in enumerate(mask) for j, added in enumerate(row) if added == -math.inf}
    n, size = len(mask), trace.config.window(trace.stack.side, layer)
    cells = [(i, j) for i in range(n) for j in range(n)]
    expected = {
        "everything": set(),
        "causal": {(i, j) for i, j in cells if j > i},
        "window": {(i, j) for i, j in cells if j > i or i - j >= size},
        "window_two_way": {(i, j) for i, j in cells if abs(i - j) >= size},
    }
    return n == 1 if claim == "alone" else hidden == expected[claim]


def _arriving(trace: Trace, layer: int) -> tuple[torch.Tensor, torch.Tensor]:
    """Weights and shares of what arrives, [H, T, T]: from the vectors themselves."""
    pattern = trace[f"blocks.{layer}.attn.pattern"].double()
    shares = []
    for head, weights in enumerate(pattern):
        columns = slice(head * trace.config.d_head, (head + 1) * trace.config.d_head)
        w_o = trace.stack.block(layer).attn.o.weight[:, columns].detach().double()
        lengths = weights * (trace.head(f"blocks.{layer}.attn.v", head).double() @ w_o.T).norm(dim=-1)
        shares.append(lengths / lengths.sum(-1, keepdim=True))
    return pattern, torch.stack(shares)


def _first(trace: Trace, layer: int, head: int, query: int, claim: str) -> bool:
    weights, shares = (each[head, query] for each in _arriving(trace, layer))
    if claim == "tied":
        return any(each.sort().values.diff()[-1] < 0.00051 for each in (weights, shares))
    return (weights[shares.argmax()] >= weights.max()).item() == (claim == "agree")


def _taken(trace: Trace, positions: tuple[int, ...]) -> Iterator[tuple[torch.Tensor, torch.Tensor]]:
    """Of each layer the weight that its heads put on some positions, and the share that comes from there: each [H]."""
    for layer in range(trace.n_layers):
        seen = trace[f"blocks.{layer}.attn.mask"][0] == 0
        rows = [i for i in range(len(trace)) if i not in positions and seen[i].sum() > 1]
        taken, given = (each[:, rows][..., list(positions)].sum(-1).mean(-1) for each in _arriving(trace, layer))
        yield taken, given


def _sinks(trace: Trace, positions: tuple[int, ...], claim: str) -> bool:
    return any(((taken >= 0.2) & (given < 0.5 * taken)).any() for taken, given in _taken(trace, positions))


def _apart(trace: Trace, positions: tuple[int, ...], claim: str) -> bool:
    return all(bool(((taken - given).abs() < 0.0051).all()) for taken, given in _taken(trace, positions))


def _pruned(before: Trace, off: Trace, layer: int, head: int, claim: str) -> bool:
    """What the layer writes without the head is what all others wrote when it was there: the layer reads the same."""
    written = before[f"blocks.{layer}.attn.head_out"].double()
    bias = before.stack.block(layer).attn.o.bias
    others = written.sum(0) - written[head] + (0 if bias is None else bias.detach())
    return torch.allclose(others, off[f"blocks.{layer}.attn.out"].double(), atol=1e-4)


def _guesses(before: Trace, after: Trace, claim: str) -> bool:
    first, second = (trace.row("logits", -1).double().log_softmax(-1) for trace in (before, after))
    apart = (first.exp() * (first - second)).sum().item() / math.log(2)
    return first.argmax().item() == second.argmax().item() and (claim == "stays" or apart < 0.00051)


def _factors(trace: Trace, layer: int, head: int) -> torch.Tensor:
    """Of each token's value in what each query reads of a state, [T, T]: token by token, the values kept apart."""
    at, n = f"blocks.{layer}.attn.", len(trace)
    alpha, beta = (trace[f"{at}{name}"][head].double() for name in ("alpha", "beta"))
    group = head * len(trace[f"{at}key_unit"]) // trace.config.n_heads
    q, k = (trace[f"{at}{name}_unit"][group].double() for name in ("query", "key"))
    held, rows = torch.zeros(k.shape[-1], n, dtype=torch.double), []
    for t in range(n):
        held = alpha[t] * held
        new = -(k[t] @ held)
        new[t] += 1
        held = held + beta[t] * torch.outer(k[t], new)
        rows.append(q[t] @ held)
    return torch.stack(rows)


def _reads(trace: Trace, layer: int, head: int, query: int, claim: str) -> bool:
    row = _factors(trace, layer, head)[query]
    if claim == "against":
        return row.min().item() < 0 and row.min().abs().item() >= row.max().item() * (1 - 1e-4)
    return row[query].abs().item() >= row.abs().max().item() * (1 - 1e-4)


def _kept(trace: Trace, claim: str) -> bool:
    """Bytes of a cache that the model has filled, against keys and values in all layers."""
    cache, config = trace.model.new_cache(), trace.config
    with torch.inference_mode():
        trace.model(torch.tensor([trace.own_ids]), cache=cache)
    tensors = [x for block in cache for x in (block.attn.k, block.attn.v, *block.mixed.values()) if x is not None]
    one = 2 * config.n_layers * config.n_kv_heads * config.d_head * 4
    return sum(x.numel() * x.element_size() for x in tensors) > one * len(trace)


FACTS = (
    "The key is red. The box is blue. The cat is green. The dog is black.",
    "The moon is old. The sun is hot. The sea is deep.",
)
"""Of a visitor's own."""


def _recalls(trace: Trace, text: str, claim: str) -> bool:
    """Whether the name that was said first is what the model says first, with more and more sentences in between."""
    sentences = [f"{one}." for one in text.rstrip(".").split(". ")]
    asked, _, name = sentences[0].rstrip(".").rpartition(" ")
    right = []
    for n in range(len(sentences)):
        so_far = " ".join([*sentences[: n + 1], asked])
        with torch.inference_mode():
            logits = trace.model(torch.tensor([trace.tokenizer.encode(so_far)]))[0, -1]
        wanted = trace.tokenizer.encode(f"{asked} {name}")[len(trace.tokenizer.encode(asked))]
        right.append(logits.argmax().item() == wanted)
    told = {"kept": all(right), "lost": right[0] and sum(right) == 1, "later": right[0] and not right[-1]}
    return told.get(claim, not any(right))


def of_states(trace: Trace, layer: int, head: int, query: int, chance: int) -> Iterator[Shown]:
    look = replace(look_at(trace, "attention", layer=layer, one=True), options={"memory": str(head)})
    found = Read(*(each[:, query : query + 1] for each in read(look)))
    values = found._replace(at=found.at - query)  # of one query alone, its own token stands at 0
    yield Shown(READS, values, partial(_reads, trace, layer, head, query))
    yield Shown(KEPT, Kept.of(trace.config, len(trace)), partial(_kept, trace))
    if chance % 15 == 0:
        for text in (Texts("en")("attention.recall_1"), Texts("en")("attention.recall_2"), *FACTS):
            told = measure(look, text)
            assert told is not None
            yield Shown(RECALL, told, partial(_recalls, trace, text))


def shown(trace: Trace) -> Iterator[Shown]:
    attending = [layer for layer in range(trace.n_layers) if f"blocks.{layer}.attn.pattern" in trace]
    every = heads.kinds(trace)
    for layer in attending:
        for head, summary in enumerate(every[layer]):
            yield Shown(HEAD, summary, partial(head_does, trace, layer, head))
    chance = seed(repr(trace.ids))
    layer, head, query = chance % trace.n_layers, chance // 7 % trace.config.n_heads, chance // 11 % len(trace)
    if layer not in attending:
        yield from of_states(trace, layer, head, query, chance)
        return
    row = trace.row(f"blocks.{layer}.attn.pattern", query, head).numpy()
    n_seen = trace[f"blocks.{layer}.attn.mask"][head, query].tolist().count(0)
    largest = heads.largest(row, int(trace.mask(layer)[query].sum()))
    yield Shown(STRONGEST, largest, lambda claim: (n_seen == 1) == (claim == "only") and stands_out(row.tolist()))
    yield Shown(CARRIES, int(row.argmax()) == query, lambda claim: bool((row[query] >= row).all()))
    seen = sight(look_at(trace, "attention", layer=layer, one=True))
    yield Shown(SIGHT, seen, partial(_sight, trace, layer))
    if chance % 5 == 0 and len(trace) > 1:
        found = caveats.value_weighted(trace, layer)
        first = caveats.First(*(values[head, query] for values in caveats.firsts(found)))
        yield Shown(FIRST, first, partial(_first, trace, layer, head, query))
    if chance % 12 == 0 and len(trace) > 1:
        for taken in caveats.care(trace).groups.values():
            yield Shown(APART, taken, partial(_apart, trace, taken.positions))
            yield Shown(SINKS, taken, partial(_sinks, trace, taken.positions))
    if chance % 20 == 0 and trace.config.has_logits and "logits" in trace:
        edits = [AblateHead(layer=layer, head=head, side=trace.stack.side)]
        target, to = (trace.target, trace.target_language) if trace.prefix else (None, None)
        off = model_of(trace).trace(trace.text, target, target_language=to, edits=edits).at(trace.stack.side)
        yield Shown(PRUNED, pruned(off, layer, (head,)), partial(_pruned, trace, off, layer, head))
        yield Shown(GUESSES, firsts(trace, off, [len(trace) - 1]), partial(_guesses, trace, off))
