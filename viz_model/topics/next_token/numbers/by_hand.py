"""One logit with its softmax, and one cosine of two sentences, in LaTeX with real numbers."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from viz_model.drawing.theme import signed
from viz_model.runs.trace import Trace
from viz_model.tokenizers.tokenizer import Token
from viz_model.topics.next_token.numbers.output import logit_scale, read_site
from viz_model.topics.next_token.numbers.sentences import cosines, sentence_vector, token_vectors
from viz_model.topics.next_token.pictures.choice import ChoiceView


class LogitView(NamedTuple):
    """One logit as a dot product: s·x·E[w] + b[w] over D dimensions.

    ``vector`` [D] is s·x, what the unembedding reads; ``products`` [D] are the terms s·x_d E[w, d];
    ``bias`` is b[w], or None in a model that adds none; ``recorded`` is the logit of the run.
    """

    products: np.ndarray
    vector: np.ndarray
    row: np.ndarray
    bias: float | None
    scale: float
    recorded: float

    @property
    def total(self) -> float:
        return float(self.products.sum()) + (self.bias or 0.0)

    @classmethod
    def of(cls, trace: Trace, position: int, token: Token) -> LogitView:
        unembedding, scale = trace.model.unembedding, logit_scale(trace)
        vector = trace[read_site(trace)][position].numpy().astype(np.float64) * scale
        row = unembedding.weight[token.id].detach().numpy().astype(np.float64)
        bias = None if unembedding.bias is None else float(unembedding.bias[token.id])
        return cls(vector * row, vector, row, bias, scale, float(trace.row("logits", position)[token.id]))


def by_hand(trace: Trace, view: ChoiceView, n_terms: int = 4) -> dict[str, str]:
    """One token's logit and its softmax, in LaTeX with real numbers: the marked one, or the runner-up.

    The most probable one would show e⁰ = 1, which explains little.
    """
    rank, token = hand_token(view)
    logit = LogitView.of(trace, view.position, token)
    largest = np.argsort(-np.abs(logit.products), kind="stable")[:n_terms]
    temperature = view.temperature or 1.0
    scaled = (view.logits.astype(np.float64) - float(view.logits[0])) / temperature
    exponentials = np.exp(scaled)
    total = exponentials.sum()
    return {
        "terms": " + ".join(
            rf"\underset{{d={d}}}{{ {signed(logit.vector[d])} \cdot {signed(logit.row[d])} }}" for d in largest
        ),
        "largest": signed(logit.products[largest].sum()),
        "rest": signed(logit.products.sum() - logit.products[largest].sum()),
        "n_rest": str(len(logit.products) - len(largest)),
        "plus_bias": "" if logit.bias is None else rf"+ \underset{{b_w}}{{ {signed(logit.bias)} }}",
        "scale": f"{logit.scale:.4g}",
        "d_model": str(len(logit.products)),
        "sum": f"{logit.total:.4f}",
        "recorded": f"{logit.recorded:.4f}",
        "logit": f"{view.logits[rank]:.4f}",
        "minus_top": f"- {view.logits[0]:.4f}" if view.logits[0] >= 0 else f"+ {-view.logits[0]:.4f}",
        "divisor": f"{temperature:g}",
        "scaled": f"{scaled[rank]:.4f}",
        "exponential": _decimal(exponentials[rank], 4),
        "total": f"{total:,.4f}".replace(",", "{,}"),
        "probability": _decimal(exponentials[rank] / total, 6),
        "at_temperature": _decimal(float(view.probs[rank]), 6),
        "n_vocab": f"{len(view.order):,}",
        "kept": f"{view.kept_mass:.6f}",
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


def sentences_by_hand(trace: Trace, other: Trace, n_terms: int = 3) -> dict[str, str]:
    """One value of the mean, and the cosine of two sentence vectors, in LaTeX with real numbers."""
    vectors, a, b = token_vectors(trace), sentence_vector(trace), sentence_vector(other)
    largest = np.argsort(-np.abs(a * b), kind="stable")
    d = int(largest[0])
    tokens = [signed(value) for value in vectors[:n_terms, d]]
    products = a * b
    terms = [rf"\underset{{d={i}}}{{ {signed(a[i])} \cdot {signed(b[i])} }}" for i in largest[:n_terms]]
    lengths = float(np.linalg.norm(a)), float(np.linalg.norm(b))
    return {
        "d": str(d),
        "tokens": " + ".join(tokens) + (r" + \dots" if len(vectors) > n_terms else ""),
        "n": str(len(vectors)),
        "mean": f"{a[d]:.4f}",
        "terms": " + ".join(terms) + (r" + \dots" if len(products) > n_terms else ""),
        "dot": f"{products.sum():.4f}",
        "length_a": f"{lengths[0]:.4f}",
        "length_b": f"{lengths[1]:.4f}",
        "cosine": f"{cosines(a[None], b[None])[0, 0]:.4f}",
    }
