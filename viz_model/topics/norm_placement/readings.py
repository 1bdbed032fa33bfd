"""The residual stream as those who read it get it: before each norm, after it, and whose work that is.

The two places of the norm leave streams that cannot be compared as they are recorded: that of Pre-LN is measured
before any norm, that of Post-LN after one with learned gains. Here both are measured twice at every depth: as the
addition leaves it, and as the next reader gets it.
"""

import functools
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from viz_model.config import ModelConfig
from viz_model.measures.passage import sublayers
from viz_model.measures.stream import stream_sites
from viz_model.model.norms import Norm
from viz_model.model.ops import mean_similarity
from viz_model.model.transformer import Transformer
from viz_model.runs.record import again
from viz_model.runs.trace import Trace


class Readings(NamedTuple):
    """What is read of the stream at S places: after the embedding, and after each addition.

    Attributes:
        sites: of the stream, from the bottom up.
        norms: between each of these places and its next reader; "" at the embedding of a Post-LN stack, which
            the first block reads as it is.
        before: [S, T] lengths as the addition leaves them; a Post-LN norm comes after that.
        after: [S, T] lengths as the next reader gets them, after division by σ, γ and β.
        share: [S, T] of what the reader gets (β left out), the part that the sub-layer has just added: the projection
            on the whole, so that it and the share of what was there before make 1. NaN at the embedding.
        alike_before, alike: [S] the mean cosine of two tokens' vectors, as the addition leaves them and as the next
            reader gets them; NaN of one token.
    """

    sites: tuple[str, ...]
    norms: tuple[str, ...]
    before: np.ndarray
    after: np.ndarray
    share: np.ndarray
    alike_before: np.ndarray
    alike: np.ndarray

    def halves(self) -> tuple[float, float]:
        """The mean share of a sub-layer in the first half of them and in the second; of an odd one out, in neither."""
        each = np.median(self.share[1:], axis=1)
        half = len(each) // 2
        return float(each[:half].mean()), float(each[-half:].mean())


def norm_of(trace: Trace, name: str) -> Norm:
    """The module of a norm called ``blocks.0.attn.norm`` or ``final.norm``."""
    found = trace.stack.get_submodule(name.replace(".norm", "_norm"))
    assert isinstance(found, Norm)
    return found


def norm_names(trace: Trace) -> tuple[str, ...]:
    """The norm that reads the stream at each of :func:`stream_sites`."""
    inside = [f"blocks.{i}.{part}.norm" for i in range(trace.n_layers) for part in sublayers(trace, i)]
    return (*inside, "final.norm") if trace.norm_at == "pre" else ("", *inside)


@torch.inference_mode()
def readings(trace: Trace) -> Readings:
    """Of the stack that the trace is seen from."""
    places, names = stream_sites(trace), norm_names(trace)
    written = ["", *(f"blocks.{i}.{part}.out" for i in range(trace.n_layers) for part in sublayers(trace, i))]
    before, after, shares, alike = [], [], [], []
    for site, name, out in zip(places, names, written, strict=True):
        total = trace.norm_input(name) if name else trace[site]
        read = trace[f"{name}.out"] if name else total
        before.append(total.norm(dim=-1))
        after.append(read.norm(dim=-1))
        alike.append((mean_similarity(total), mean_similarity(read)))
        shares.append(_share(norm_of(trace, name), total, trace[out]) if out else torch.full((len(trace),), torch.nan))
    stacked = (torch.stack(each).numpy() for each in (before, after, shares))
    return Readings(places, names, *stacked, *np.array(alike).T)


def _share(norm: Norm, total: Tensor, added: Tensor) -> Tensor:
    """How much of a norm's output comes from ``added``, which is a part of what it reads: [T, D] twice -> [T]."""
    held = norm.held(total)
    part, whole = (held.factor * (x - x.mean(-1, keepdim=True) if held.centered else x) for x in (added, total))
    return (part * whole).sum(-1) / whole.square().sum(-1)


@torch.inference_mode()
def untrained(trace: Trace) -> Readings:
    """The same text in a model of the same config before any training, its weights drawn as training draws them."""
    return readings(again(trace, _drawn(trace.config), visible=trace.visible))


@functools.lru_cache(maxsize=2)  # each sentence asks for the same twins
def _drawn(config: ModelConfig) -> Transformer:
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        return Transformer(config).eval()
