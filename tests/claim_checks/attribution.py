"""Claims of the page on why a token is expected."""

import itertools
from collections.abc import Iterator, Sequence
from functools import partial

import torch
from torch import Tensor

from claim_checks import Shown, fact, look_at, seed
from viz_model import explain
from viz_model.explain import sums
from viz_model.explain.written import Part, decompose
from viz_model.measures import lens
from viz_model.model.feedforward import Dense
from viz_model.runs.trace import Trace
from viz_model.topics.attribution import depth
from viz_model.topics.attribution.depth import DECIDED, LENS, LENSES_DIFFER, PATHS, Depths
from viz_model.topics.attribution.one_head import SINK
from viz_model.topics.attribution.routes import REACT
from viz_model.topics.attribution.waterfall import GROUPS, PARTS

EVEN = {"embedding": 1.0, "attention": 1.0, "ffn": 1.0, "constant": 1.0}
CUT = explain.Cut(explain.Node(Part("token"), 0, "decoder"), None, -1.0, -1.0)
ALREADY = Depths(depths=(0, 1, 2), own=(3, 2, 1), final=(0, 3, 4), n=4)
EXAMPLES = {
    "attribution.parts.none": ((), (1.0,)),
    "attribution.parts.one": ((0.51, 0.49), (0.5, 0.5)),
    "attribution.parts.two": ((0.3, 0.25, 0.25, 0.2), (0.25, 0.18, 0.17, 0.16, 0.14, 0.1)),
    **{f"attribution.groups.{name}": (dict(EVEN, **{name: 1.5}), EVEN) for name in EVEN},
    "attribution.lens.own": (ALREADY, ALREADY._replace(own=(2, 1, 0))),
    "attribution.decided.last": (ALREADY._replace(final=(0, 2, 4)), ALREADY),
    "attribution.lenses.earlier": ((ALREADY._replace(final=(0, 2, 4)), ALREADY), (ALREADY, ALREADY)),
    "attribution.paths.start": ((1, 1, 1), (1, 2, 1)),
    "attribution.paths.later": ((7, 2, 1), (7, 1, 2)),
    "attribution.sink.sink": ((0.6, 0.2), (0.6, 0.31)),
    "attribution.react.same": (CUT._replace(measured=-1.05), CUT._replace(measured=-1.2)),
    "attribution.react.turned": (CUT._replace(measured=0.2), CUT._replace(measured=-0.2)),
    "attribution.react.weaker": (CUT._replace(measured=-0.5), CUT._replace(measured=-1.5)),
}
ELSEWHERE = ("attribution.parts.none",)
"""Where nothing lifts a sum: ``tests/explain/test_sums.py``."""


def _terms(trace: Trace, position: int, u: Tensor) -> list[tuple[str, float]]:
    """What each part adds to the product with a direction of the logits: that is carried back through every norm.

    From the recorded values and the weights, with the scales that the run measured.
    """
    weights = {name: weight.detach().double() for name, weight in trace.stack.named_parameters()}
    weights |= {f"head.{name}": weight.detach().double() for name, weight in trace.model.head.named_parameters()}
    found: list[tuple[str, float]] = []

    def add(group: str, vectors: Tensor | None) -> None:
        found.extend((group, float(one @ u)) for one in (() if vectors is None else vectors.double().view(-1, len(u))))

    def norm(site: str, name: str) -> None:
        nonlocal u
        if f"{name}.weight" in weights:
            add("constant", weights.get(f"{name}.bias"))
            u = u * weights[f"{name}.weight"] / trace[f"{site}.scale"][position].double()
            u = u - u.mean() if f"{site}.mean" in trace else u

    if "head.dense.weight" in weights:
        norm("head.norm", "head.norm")
        read = weights["head.dense.weight"] @ trace.row(trace.leaving, position).double() + weights["head.dense.bias"]
        u = u * torch.special.ndtr(read)
        add("constant", weights["head.dense.bias"])
        u = u @ weights["head.dense.weight"]
    norm("final.norm", "final_norm")
    for layer, at in itertools.product(range(trace.n_layers)[::-1], ("ffn", "cross", "attn")):
        site = f"blocks.{layer}.{at}"
        if f"{site}.out" in trace:
            if trace.config.norm_at == "post":
                norm(f"{site}.norm", f"{site}_norm")
            if at == "ffn":
                add("ffn", trace[f"{site}.out"][position])
            else:
                add("attention", trace[f"{site}.head_out"][:, position])
            add("constant", weights.get(f"{site}.o.bias"))
    norm("embed.norm", "embed_norm")
    for site in ("embed.token", "embed.segment", "embed.position"):
        add("embedding", trace[site][position] if site in trace else None)
    return found


def _parts(trace: Trace, position: int, token: int, rival: int | None, claim: str) -> bool:
    def apart(of: Tensor) -> Tensor:
        return of[token] - (0 if rival is None else of[rival])

    weight, bias = trace.model.unembedding.weight.detach().double(), trace.model.unembedding.bias
    terms = _terms(trace, position, apart(weight) * trace.model.head.scale)
    terms += [] if bias is None else [("constant", float(apart(bias)))]
    assert abs(sum(value for _, value in terms) - float(apart(trace.row("logits", position)))) < 1e-2
    if claim in EVEN:
        totals = {name: sum(value for group, value in terms if group == name) for name in EVEN}
        return max(totals, key=lambda name: totals[name]) == claim
    up = sorted((value for _, value in terms if value > 0), reverse=True)
    return {"none": not up, "one": up[0] > 0.5 * sum(up), "two": up[0] + up[1] > 0.5 * sum(up)}[claim]


def _by_depth(trace: Trace, positions: Sequence[int]) -> list[Tensor]:
    """Logits [P, V] after the embedding and after each block, by the model's own end."""
    at = [f"blocks.{layer}." for layer in range(trace.config.n_layers)]
    norm = trace.stack.final_norm or trace.stack.block(trace.n_layers - 1).ffn_norm
    vectors = [trace["embed.out"], *(trace[f"{block}resid.out"] for block in at)]
    if trace.stack.final_norm is None:  # under Post-LN the sum that the norm of a block reads
        before = "resid.cross" if "blocks.0.resid.cross" in trace else "resid.mid"
        vectors[1:] = [trace[block + before] + trace[f"{block}ffn.out"] for block in at]
    with torch.inference_mode():
        return [trace.model.head(norm(one[list(positions)])) for one in vectors]


def _earlier(trace: Trace, positions: Sequence[int], claim: str) -> bool:
    final = trace["logits"][list(positions)].argmax(-1)
    fitted = [explain.lens(trace, layer)[list(positions)] for layer in range(trace.n_layers)]
    read = _by_depth(trace, positions), [*fitted, trace["logits"][list(positions)]]
    shares = [[float((logits.argmax(-1) == final).double().mean()) for logits in one] for one in read]
    plain, own = (max(n for n in range(len(one) + 1) if n == 0 or one[n - 1] <= 0.5) for one in shares)
    return own < plain


def _path(trace: Trace, position: int, token: int, claim: str) -> bool:
    first = [logits[0].max() == logits[0, token] for logits in _by_depth(trace, [position])]
    return all(first) if claim == "start" else bool(first[-1]) and not all(first)


def _sink(trace: Trace, position: int, part: Part, key: int, claim: str) -> bool:
    site, head, width = f"blocks.{part.layer}.{part.at}", part.head or 0, trace.config.d_head
    weights = trace.head(f"{site}.pattern", head)[position]
    o = dict(trace.stack.named_parameters())[f"{site}.o.weight"].detach()[:, head * width : (head + 1) * width]
    lengths = (weights[:, None] * (trace.head(f"{site}.v", head) @ o.T)).norm(dim=-1)
    share = float(lengths[key] / lengths.sum())
    return float(weights[key]) >= 0.2 and share < 0.5 * float(weights[key])


def _cut(trace: Trace, position: int, token: int, written: Tensor, claim: str) -> bool:
    """The last feed-forward layer of a Pre-LN decoder without a vector in what it reads, by PyTorch's own functions."""
    at, block, final = f"blocks.{trace.n_layers - 1}", trace.stack.block(trace.n_layers - 1), trace.stack.final_norm
    assert isinstance(block.ffn, Dense) and final is not None
    norm, mid, row = block.ffn_norm, trace[f"{at}.resid.mid"][position], trace.model.unembedding.weight[token]
    with torch.inference_mode():
        before = float(trace.row("logits", position)[token])
        measured = float(final(mid + block.ffn(norm(mid - written))) @ row) - before
        up = block.ffn.up(norm(mid))
        centered = (written - written.mean()) / trace[f"{at}.ffn.norm.scale"][position] * norm.state_dict()["weight"]
        lost = block.ffn.down.weight @ ((up > 0) * (block.ffn.up.weight @ centered))
        lost = (lost - lost.mean()) / trace["final.norm.scale"][position] * final.state_dict()["weight"]
    predicted = -float(lost @ row)
    near = abs(measured - predicted) <= 0.1 * abs(predicted) + 1e-4
    less = abs(measured) < abs(predicted) + 1e-4
    return {"same": near, "turned": measured * predicted < 1e-4, "weaker": less}[claim]


def shown(trace: Trace) -> Iterator[Shown]:
    """Of the last position; a decomposition is dear, so most texts are passed over."""
    chance = seed(trace.text or "") % 18
    if not lens.predicts(trace) or chance % 3:
        return
    position = len(trace) - 1
    logits = trace.row("logits", position)
    token, lowest = int(logits.argmax()), int(logits.argmin())
    for asked in (token, trace.own_ids[position]):
        ranks = lens.ranks(trace, asked, range(trace.n_layers + 1), [position])[:, 0]
        yield Shown(PATHS, tuple(map(int, ranks)), partial(_path, trace, position, asked))
    if chance:
        return
    if trace.name == "story-pre-ln":
        routes, last = explain.routes(trace, position, token, most=1), trace.n_layers - 1
        reader = explain.Node(Part("ffn", last), position, "decoder")
        writers = {Part("token"): "embed.token", **{Part("ffn", n): f"blocks.{n}.ffn.out" for n in range(last)}}
        for part, site in writers.items():
            cut = explain.cut(routes, explain.Node(part, position, "decoder"), reader)
            yield Shown(REACT, cut, partial(_cut, trace, position, token, trace[site][position]))
    found = decompose(trace, position)
    for asked, rival in ((lowest, None), (lowest, token), (token, None)):
        answer = sums.of_logit(trace, found, asked, rival)
        check = partial(_parts, trace, position, asked, rival)
        yield Shown(PARTS, answer.lifts(), check)
        yield Shown(GROUPS, answer.by_kind(), check)
    look = look_at(trace, "attribution", token=position)
    view = depth.view(look)
    positions = view.positions.tolist()
    own = torch.tensor([trace.own_ids[position] for position in positions])
    best = [logits.argmax(-1) for logits in _by_depth(trace, positions)]
    pairs = ((best[0], own), (best[-1], own), (best[-2], best[-1]))
    shares = [float((one == other).double().mean()) for one, other in pairs]
    yield Shown(LENS, view.seen, fact(shares[0] > 0.5 > shares[1]))
    yield Shown(DECIDED, view.seen, fact(shares[2] <= 0.5))
    if depth.fitted(look) is not None:
        yield Shown(LENSES_DIFFER, (view.seen, depth.view(look, "fitted").seen), partial(_earlier, trace, positions))
    for layer in (n for n in range(trace.n_layers) if f"blocks.{n}.attn.pattern" in trace):
        part = Part("head", layer, layer % trace.config.n_heads, "attn")
        reads = sums.reads(trace, found, answer, part)
        key = reads.least
        values = float(reads.weights[key]), float(reads.shares[key])
        yield Shown(SINK, values, partial(_sink, trace, position, part, key))
