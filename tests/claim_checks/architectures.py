"""Claims of the architectures page."""

from collections.abc import Iterator
from functools import partial

import islands
from identities import stream_length

from claim_checks import Shown, fact, seed
from viz_model.runs.trace import Trace
from viz_model.topics.architectures import PAGE, depth, heads, pair, parameters, where
from viz_model.topics.architectures.depth import Lengths
from viz_model.topics.architectures.where import Vocabulary

EXAMPLES = {
    "architectures.stream.longer": (Lengths(13.6, 30.4), Lengths(13.6, 13.0)),
    "architectures.stream.shorter": (Lengths(15.6, 10.4), Lengths(1.0, 1.0)),
    "architectures.look.mostly": (0.51, 0.5),
    "architectures.largest.half": (0.66, 0.49),
    "architectures.vocabulary.falls": (Vocabulary(0.4, 0.1), Vocabulary(0.1, 0.4)),
}
ELSEWHERE = ("architectures.vocabulary.falls", "architectures.largest.half")
"""Of several models at once; and of models larger than the bundled ones."""


def _half(trace: Trace, claim: str) -> bool:
    sizes: dict[str, int] = {}
    for name, weight in trace.model.named_parameters():
        names = ("cross_norm", "attn_norm", "ffn_norm", "embed_norm", "final_norm", "qk_norm", "cross", "attn", "ffn")
        part = next((each for each in names if f".{each}." in f".{name}."), name.partition(".")[0])
        sizes[part] = sizes.get(part, 0) + weight.numel()
    return max(sizes.values()) > 0.5 * sum(sizes.values())


def shown(trace: Trace) -> Iterator[Shown]:
    chance = seed(trace.text or "")
    if chance % 4:
        return
    mean = depth.lengths(trace)[1].mean(1)
    ends = ("embed.out", f"blocks.{len(trace.stack.blocks) - 1}.resid.out")
    begin, end = (stream_length(trace, site).double().mean() for site in ends)
    grew = Lengths(float(mean[0]), float(mean[-1]))
    yield Shown(depth.STREAM, grew, lambda claim: bool(end > begin if claim == "longer" else end < begin))
    look = islands.look(trace, PAGE)
    if pair.has_weights(trace):
        _, most = heads.strongest(look, pair.own(look))
        yield Shown(heads.LOOK, most[0, 1, -1], fact(trace.head("blocks.0.attn.pattern", 1)[-1].max() > 0.5))
    if chance % 40 == 0:
        found = parameters.count(trace.model)
        shares = max(found.values()) / sum(found.values())
        yield Shown(where.LARGEST, shares, partial(_half, trace))
