"""Claims of the architectures page."""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from functools import partial

from claim_checks import Shown
from viz_model.runs.trace import Trace
from viz_model.topics.architectures import claims
from viz_model.topics.architectures.claims import Lengths, Vocabulary
from viz_model.topics.architectures.numbers import architectures, parameters, views

EXAMPLES = {
    "architectures.stream.longer": (Lengths(13.6, 30.4), Lengths(13.6, 13.0)),
    "architectures.stream.shorter": (Lengths(15.6, 10.4), Lengths(1.0, 1.0)),
    "architectures.look.mostly": (0.51, 0.5),
    "architectures.largest.half": (0.66, 0.49),
    "architectures.vocabulary.falls": (Vocabulary(0.4, 0.1), Vocabulary(0.1, 0.4)),
}
ELSEWHERE = ("architectures.vocabulary.falls", "architectures.largest.half")
"""Of several models at once; and of models larger than the bundled ones."""


def _grew(trace: Trace, claim: str) -> bool:
    last = trace[f"blocks.{len(trace.stack.blocks) - 1}.resid.out"]
    begin, end = (v.square().sum(-1).sqrt().double().mean() for v in (trace["embed.out"], last))
    return bool(end > begin if claim == "longer" else end < begin)


def _mostly(trace: Trace, claim: str) -> bool:
    return max(trace.head("blocks.0.attn.pattern", 1)[-1].tolist()) > 0.5


def _half(trace: Trace, claim: str) -> bool:
    """Of the weights by the names of their modules."""
    sizes: dict[str, int] = {}
    for name, weight in trace.model.named_parameters():
        names = ("cross_norm", "attn_norm", "ffn_norm", "embed_norm", "final_norm", "qk_norm", "cross", "attn", "ffn")
        part = next((each for each in names if f".{each}." in f".{name}."), name.partition(".")[0])
        sizes[part] = sizes.get(part, 0) + weight.numel()
    return max(sizes.values()) > 0.5 * sum(sizes.values())


def shown(trace: Trace) -> Iterator[Shown]:
    seed = zlib.crc32((trace.text or "").encode())
    if seed % 4:
        return
    mean = architectures.depths(trace).lengths.mean(1)
    yield Shown(claims.STREAM, Lengths(float(mean[0]), float(mean[-1])), partial(_grew, trace))
    seen = views.most_looked_at(trace, 0, 1, len(trace) - 1)
    yield Shown(claims.LOOK, seen.weight, partial(_mostly, trace))
    if seed % 40 == 0:
        found = parameters.count(trace.model)
        shares = max(found.values()) / sum(found.values())
        yield Shown(claims.LARGEST, shares, partial(_half, trace))
