"""The softmax of one logit, and one cosine of two sentences, in LaTeX with real numbers."""

from __future__ import annotations

import numpy as np

from viz_model.drawing.theme import signed
from viz_model.runs.trace import Trace
from viz_model.tokenizers.tokenizer import Token
from viz_model.topics.next_token.numbers.output import logit_scale
from viz_model.topics.next_token.numbers.sentences import cosines, sentence_vector, token_vectors
from viz_model.topics.next_token.pictures.choice import ChoiceView


def by_hand(trace: Trace, view: ChoiceView) -> dict[str, str]:
    """The softmax of one token's logit, in LaTeX with real numbers: the marked one, or the runner-up.

    The most probable one would show e⁰ = 1, which explains little.
    """
    rank, _ = hand_token(view)
    temperature = view.temperature or 1.0
    scaled = (view.logits.astype(np.float64) - float(view.logits[0])) / temperature
    exponentials = np.exp(scaled)
    total = exponentials.sum()
    return {
        "scale": f"{logit_scale(trace):.4g}",
        "d_model": str(trace.config.d_model),
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
