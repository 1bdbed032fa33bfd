"""What the four tabs of this page have, and what is asked at its end."""

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from viz_model.claims import Claim, Verdict, exceeds
from viz_model.drawing.digits import written
from viz_model.island import quiz as asking
from viz_model.island.look import Look
from viz_model.island.page import Quiz
from viz_model.island.prose import Line
from viz_model.island.tabs import Table, Tabs, Worked
from viz_model.model import sites
from viz_model.runs.measures import entropy
from viz_model.runs.trace import Trace
from viz_model.topics.overview.finding import N_NEXT, guesses, held


class Ascent(NamedTuple):
    """One dimension of every vector, and its length, on the way up: [S, T] each, at S sites by their full names."""

    sites: tuple[str, ...]
    values: np.ndarray
    norms: np.ndarray

    @property
    def stream(self) -> tuple[tuple[str, ...], np.ndarray]:
        """Length ‖x‖₂ of the residual stream alone after every step: its sites, and [sites, T]."""
        rows = [n for n, name in enumerate(self.sites) if name.endswith("embed.out") or ".resid." in name]
        return tuple(self.sites[n] for n in rows), self.norms[rows]


def ascent(trace: Trace, dimension: int = 0) -> Ascent:
    """The embedding's parts, then what every sub-layer wrote and the stream after it.

    Of dimension 0, a long run has noted all of it; of another, its blocks are computed again.
    """
    names = ["embed.token", "embed.segment", "embed.position", "embed.out"]
    for layer in range(trace.n_layers):
        attn, cross, ffn = (sites.written(trace.config, trace.stack.side, part) for part in ("attn", "cross", "ffn"))
        steps = (attn, "resid.mid", cross, "resid.cross", ffn, "resid.out")
        names += [f"blocks.{layer}.{step}" for step in steps]
    names = [name for name in (*names, "final.norm.out") if name in trace]
    noted = [trace.noted(name) for name in names]
    values = [trace[name][:, dimension].numpy() for name in names] if dimension else [n.first.numpy() for n in noted]
    lengths = [one.lengths.numpy() for one in noted]
    return Ascent(tuple(map(trace.full_name, names)), np.stack(values), np.stack(lengths))


class Ends(NamedTuple):
    """Entropy in bits of what is predicted after the first and after the last of ``n`` tokens."""

    n: int
    first: float
    last: float


SHARPER: Verdict[Ends] = Verdict(
    "overview.sharper",
    Claim("one", lambda ends: ends.n == 1),
    Claim("last", lambda ends: exceeds(ends.first, ends.last, 2)),
)


def way(look: Look) -> Ascent:
    return look.once(lambda look: ascent(look.trace), "ascent")


def formulas(look: Look) -> list[str]:
    names = ("embed.out", "resid.mid", "resid.cross", "resid.out", "logits", "probs")
    return [look.site(name) for name in names if look.has(name)]


def hand(look: Look) -> tuple[Line | None, Sequence[Worked], dict[str, Any]]:
    """One number followed through all blocks."""
    found, at = way(look), look.trace.norm_at
    names = [f"{look.t.site_label(look.trace.whole.site(site))} `{site}`" for site in found.sites]
    rows = zip(names, found.values[:, look.token], strict=True)
    steps = "\n".join(f"| {name} | {written(value, '+4')} |" for name, value in rows)
    key = f"hand_{'branch' if at == 'both' else at}"
    return look.text(key, token=look.code_name(look.token), steps=steps), (), {}


def numbers(look: Look) -> Table:
    names, lengths = way(look).stream
    return "resid.norms", lengths, names, look.labels


TABS = Tabs(formulas, hand, lambda look: (), numbers, own=lambda look: ("overview", {"k": N_NEXT}))


def quiz(look: Look) -> Quiz | None:
    """Where the model is surest; of a stack that predicts nothing, whose vector has become longest."""
    shown = asking.spread(len(look))
    labels = [f"{n}: {look.labels[n]}" for n in shown]
    if "logits" not in look.trace:
        return asking.largest(look, "", way(look).stream[1][-1][shown], labels, "1", "guess_longest")
    found, tokens = guesses(look), held(look)
    assert found is not None
    own = {n: found.chances[n - tokens.start, 0] for n in shown if n in tokens}
    surest = np.array([own[n] if n in own else look.trace.row("probs", n).max().item() for n in shown])
    return asking.largest(
        look, "", surest, labels, "percent", "guess" if look.trace.side == "decoder" else "guess_two_way"
    )


def to_try(look: Look) -> Iterator[Line]:
    if look.trace.side != "decoder":
        yield look.to_try("question_two_way")
        yield look.answer("answer_two_way")
        return
    first, last = (entropy(look.trace.row("logits", n).log_softmax(-1)).item() for n in (0, -1))
    ends = Ends(len(look), first, last)
    measured = SHARPER.says(look.t.language, ends, first=f"{first:.2f}", last=f"{last:.2f}")
    yield look.to_try("question")
    yield look.answer("answer", measured=measured)
