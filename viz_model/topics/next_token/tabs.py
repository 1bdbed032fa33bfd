"""The four tabs of a page on tokens: the softmax of one logit, from the vectors that are read on; and its question."""

import itertools
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from viz_model.island.look import Look
from viz_model.island.page import Quiz
from viz_model.island.prose import Line
from viz_model.island.tabs import Table, Tabs, Worked
from viz_model.measures.lens import read_site
from viz_model.texts.markdown import literal
from viz_model.tokenizers.tokenizer import Token
from viz_model.topics.next_token import arrivals, draws
from viz_model.topics.next_token import asked as asking
from viz_model.topics.next_token.asked import ChoiceView


def by_hand(view: ChoiceView) -> dict[str, str]:
    """The softmax of one token's logit, in LaTeX with real numbers: the marked one, or the runner-up.

    The most probable one would show e⁰ = 1, which explains little.
    """
    rank, _ = hand_token(view)
    temperature = view.temperature or 1.0
    scaled = (view.logits.astype(np.float64) - float(view.logits[0])) / temperature
    exponentials = np.exp(scaled)
    total = exponentials.sum()
    return {
        "logit": f"{view.logits[rank]:.4f}",
        "minus_top": f"- {view.logits[0]:.4f}" if view.logits[0] >= 0 else f"+ {-view.logits[0]:.4f}",
        "divisor": f"{temperature:g}",
        "scaled": f"{scaled[rank]:.4f}",
        "exponential": _decimal(exponentials[rank], 4),
        "total": f"{total:,.4f}".replace(",", "{,}"),
        "probability": _decimal(exponentials[rank] / total, 6),
        "at_temperature": _decimal(float(view.probs[rank]), 6),
        "n_vocab": f"{view.whole.n_vocab:,}",
        "kept": f"{view.whole.mass:.6f}",
        "final": _decimal(float(view.final[rank]), 6),
    }


def hand_token(view: ChoiceView) -> tuple[int, Token]:
    """The token that is worked out by hand, with its place in the order."""
    if view.marked is not None and view.marked_token is not None and view.marked > 0:
        return view.marked, view.marked_token
    rank = min(1, len(view.order) - 1)
    return rank, view.tokens[rank]


def _decimal(number: float, digits: int) -> str:
    """A number in LaTeX, in powers of ten where the digits would show only noughts."""
    if number == 0 or abs(number) >= 10.0 ** (1 - digits):
        return f"{number:.{digits}f}"
    mantissa, exponent = f"{number:.3e}".split("e")
    return rf"{mantissa} \cdot 10^{{{int(exponent)}}}"


def _formulas(look: Look) -> list[str]:
    trace = asking.asked(look).look.trace
    names = ("final.norm.out", "head.act", "head.norm.out", "logits", "probs")
    return [name for name in names if name in trace]


def _begins(look: Look) -> Iterator[Line]:
    if asking.of_kind(look) != "following":
        yield look.text("formula")


def _says(look: Look) -> Iterator[Line]:
    yield look.of("next_token").text("formula")


def _hand(look: Look) -> tuple[Line, list[Worked], dict[str, Any]]:
    """One logit and its softmax."""
    view, run, shared = asking.asked(look).here, asking.run_at(look), look.of("next_token")
    _, token = hand_token(view)
    where = {"head": "head", "final": "norm"}.get(read_site(run).split(".")[0], "block")
    scale, how = float(run.model.head.scale), asking.of_kind(look)
    multiplied = shared.words("reads_scaled", scale=f"{scale:.4g}") if scale != 1 else ""
    how = "typed" if how == "covered" and view.marked is None else how
    position = look.token if run.side == look.trace.side else len(run) - 1
    named = literal(run.tokens[position].label) if how == "following" else look.code_name(look.token)
    intro = look.words(f"hand_{how}", word=literal(token.label), token=named)
    logit = Worked(("next_token.hand_logit",), "logits", (view.position, token.id), run)
    facts = {
        "reads": shared.words(f"reads_{where}"),
        "multiplied": multiplied,
        "d_model": str(run.model.unembedding.in_features),
    }
    return shared.text("hand", intro=intro), [logit], facts


def _all(look: Look) -> ChoiceView:
    every = asking.whole(look)
    return every[0 if len(every) == 1 else asking.asked(look).look.token]


def _share(look: Look) -> Iterator[Line]:
    yield look.of("next_token").text("hand_share", **by_hand(_all(look)))


def _own(look: Look) -> tuple[str, dict[str, Any]]:
    how, asked = asking.sampling(look), asking.asked(look)
    values = {"temperature": how.temperature, "top_k": how.top_k, "top_p": how.top_p}
    return look.topic, {"token": asked.here.position, **values}


def _numbers(look: Look) -> Table:
    """The most probable tokens: logit, the model's probability, at the temperature, and after filtering."""
    view, words = asking.asked(look).here, look.of("next_token").words
    n, temperature = len(view.tokens), f"{view.temperature:.2f}"
    arrays = (view.logits, view.model, view.probs, view.final)
    known = {"n": n, "n_vocab": f"{view.whole.n_vocab:,}", "temperature": temperature}
    columns = [str(words(f"number_{name}", **known)) for name in ("logit", "model", "before", "after")]
    return look.topic, np.stack([one[:n] for one in arrays], 1), [token.label for token in view.tokens], columns


def _records(look: Look) -> list[tuple[str, str, Mapping[str, Sequence[object]]]]:
    """Every token of the text, and every draw."""
    words, found = look.of("next_token").words, {"arrivals": arrivals.records(look)}
    if asking.of_kind(look) == "following":
        found["draws"] = draws.records(look)
    return [(name, str(words(f"{name}_table")), columns) for name, columns in found.items() if columns]


APART = Tabs(
    _formulas,
    _hand,
    lambda look: ["logits", "probs"],
    _numbers,
    _says,
    _begins,
    own=_own,
    records=_records,
    ends=_share,
    side=lambda look: asking.asked(look).look.trace.stack.side,
)

_COUNTS = (1, 4, 20)
"""Numbers of tokens that end the ranges to guess among; the last range is open."""


def quiz(look: Look) -> Quiz:
    """How many tokens share the most probable half."""
    found, words = asking.asked(look), look.of("next_token").words
    counts = np.array([one.whole.half for one in found.views])
    n_vocab, known = found.here.whole.n_vocab, asking.facts(look)
    ends = (*_COUNTS, n_vocab)
    ranges = (str(words("guess_range", low=low + 1, high=end)) for low, end in itertools.pairwise(ends[:-1]))
    labels = ("1", *ranges, str(words("guess_more", n=_COUNTS[-1])))
    right = found.by(np.searchsorted(ends, counts).astype(np.float32))
    said = words("guess_found", **{**known, "n": found.by(counts, "whole"), "all": f"{n_vocab:,}"})
    return Quiz(words("guess", **known), labels, right, said)


def to_try(look: Look) -> Iterator[Line]:
    """Something to try, and of a decoder how open the choice is in this run at two temperatures."""
    how, known = asking.of_kind(look), asking.facts(look)
    more = "_visible" if how == "visible" else ""
    yield look.to_try(f"question{more}", **known)
    if how != "following":
        yield look.answer(f"answer{more}", **known)
        return
    found = asking.asked(look)
    open_1, open_2 = (found.by([getattr(one.whole, f"open_{t}") for one in found.views], "whole1") for t in (1, 2))
    yield look.answer("answer", "here", **known, open_1=open_1, open_2=open_2)
