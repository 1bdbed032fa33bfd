"""What a model without a head puts out: vectors, how near those of tokens are, and one for a whole sentence."""

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from viz_model.drawing import chart, matrix
from viz_model.drawing.digits import written
from viz_model.drawing.scene import Scene
from viz_model.drawing.scene.writing import begun, short
from viz_model.drawing.spans import around
from viz_model.drawing.theme import signed
from viz_model.island import say
from viz_model.island.look import Look
from viz_model.island.prose import Line
from viz_model.island.tabs import Tabs, Worked
from viz_model.measures.stream import cosines
from viz_model.runs.record import record
from viz_model.runs.trace import Trace
from viz_model.texts.markdown import literal
from viz_model.tokenizers.text import make_visible
from viz_model.tokenizers.tokenizer import IdTokenizer

MOST_TOKENS, LINE = 40, 46
"""Tokens of the matrix at the most, what can still be read; and characters of a sentence that are written."""


def token_vectors(trace: Trace) -> np.ndarray:
    """The last vector of every token, float64 [T, D]."""
    return trace[trace.leaving].double().numpy()


def sentence_vector(trace: Trace) -> np.ndarray:
    """The mean of the tokens' last vectors, [D] (Reimers & Gurevych 2019, section 3, "MEAN")."""
    return token_vectors(trace).mean(0)


class SimilarityView(NamedTuple):
    """Cosines [n + 1, n + 1] of n tokens' last vectors, the tokens from ``first`` on; the last row is the mean of all.

    ``like`` [n] is the row of the token whose vector is nearest to each, or its own where it is alone. ``n_hidden``
    tokens stand outside.
    """

    first: int
    matrix: np.ndarray
    like: np.ndarray
    n_hidden: int

    @property
    def average(self) -> float:
        """The mean of two different tokens; 1 of one token."""
        apart = self.matrix[:-1, :-1][~np.eye(len(self.like), dtype=bool)]
        return float(apart.mean()) if len(apart) else 1.0


def similarity(look: Look) -> SimilarityView:
    """The tokens of a sentence, of a long one those around the selected."""
    vectors = token_vectors(look.trace)
    part = around(look.token, len(look), MOST_TOKENS)
    found = cosines(np.concatenate((vectors[part], vectors.mean(0, keepdims=True))))
    n = len(found) - 1
    others = np.where(np.eye(n, dtype=bool), -np.inf, found[:-1, :-1])
    return SimilarityView(part.start, found, others.argmax(1), len(look) - n)


def _tokens(look: Look) -> dict[str, Any]:
    """What fills the texts; of a long sentence for the selected token alone."""
    found = similarity(look)
    n = len(found.like)
    rows = np.arange(n) if not found.n_hidden else np.array([look.token - found.first])
    like = found.like[rows]
    return {
        "n_shown": n,
        "n_hidden": found.n_hidden,
        "token": look.token_named(),
        "like": look.token_named(look.by("token", found.first + like)),
        "like_position": look.by("token", found.first + like, "0"),
        "like_cosine": look.by("token", found.matrix[rows, like], "2"),
        "mean_cosine": look.by("token", found.matrix[rows, -1], "2"),
        "average": written(found.average, "2"),
    }


def title(look: Look) -> Iterator[Line]:
    yield look.title("tokens_title" if len(look) > 1 else "tokens_title_one", **_tokens(look))


def tell(look: Look) -> Iterator[Line]:
    known = _tokens(look)
    yield look.text("tokens", **known)
    if known["n_hidden"]:
        yield look.text("tokens_part", **known)


def draw(look: Look) -> Scene:
    """Every token against every other, −1 to 1."""
    found, words = similarity(look), look.words
    n = len(found.like)
    labels = [*look.labels[found.first : found.first + n], str(words("mean"))]
    names = [f"{found.first + k}: {label}" for k, label in enumerate(labels[:-1])] + labels[-1:]
    tall = 110 + 30.0 * (n + 1) if n < 10 else min(760.0, max(280.0, 110 + 20.0 * (n + 1)))
    values = found.matrix.astype(np.float32)
    scene = matrix.scene(f"{look.topic}.tokens", words("tokens_alt"), values, labels, labels,
        frames=not found.n_hidden, written=n < 10, labels=(names, names), height=tall, look="signed")  # fmt: skip
    return look.drawn(look.only_here(scene, token=True) if found.n_hidden else scene, [look.trace.leaving])


def source(look: Look) -> Iterator[Line]:
    yield look.source(look.trace.leaving)


# Beside other sentences


class SentencesView(NamedTuple):
    """The cosine [n] of one sentence's vector with those of n others."""

    texts: tuple[str, ...]
    cosines: np.ndarray

    @classmethod
    def of(cls, trace: Trace, others: Sequence[Trace]) -> "SentencesView":
        vectors = np.array([sentence_vector(other) for other in others]).reshape(len(others), trace.config.d_model)
        texts = (" ".join(make_visible(word) for word in (other.text or "").split(" ")) for other in others)
        return cls(tuple(texts), cosines(sentence_vector(trace)[None], vectors)[0])

    def facts(self) -> dict[str, str]:
        return {
            "nearest": literal(begun(self.texts[int(self.cosines.argmax())], LINE)),
            "most": written(self.cosines.max(), "2"),
            "least": written(self.cosines.min(), "2"),
            "n": str(len(self.texts)),
        }


def draw_sentences(found: SentencesView, title: str) -> Scene:
    """A bar from 0 for each sentence; the scale runs to 1, or from −1."""
    low = -1.0 if found.cosines.min() < -0.05 else min(0.0, float(found.cosines.min()))
    names = [short(text, LINE) for text in found.texts]
    bars = [chart.Bars("", found.cosines, "residual", "{{name}}\n{{value}}", "3")]
    scale, best = chart.Axis(low, 1.0), int(found.cosines.argmax())
    return chart.bars("sentence_vectors.sentences", title, names, bars, scale, row=40, most_name=LINE, chosen=best)


def by_hand(trace: Trace, other: Trace, n_terms: int = 3) -> dict[str, str]:
    """One value of the mean, and the cosine of two sentence vectors, in LaTeX with real numbers."""
    vectors, a, b = token_vectors(trace), sentence_vector(trace), sentence_vector(other)
    products = a * b
    largest = np.argsort(-np.abs(products), kind="stable")
    d = int(largest[0])
    terms = [rf"\underset{{d={i}}}{{ {signed(a[i])} \cdot {signed(b[i])} }}" for i in largest[:n_terms]]
    return {
        "d": str(d),
        "tokens": " + ".join(map(signed, vectors[:n_terms, d])) + (r" + \dots" if len(vectors) > n_terms else ""),
        "n": str(len(vectors)),
        "mean": f"{a[d]:.4f}",
        "terms": " + ".join(terms) + (r" + \dots" if len(products) > n_terms else ""),
        "dot": f"{products.sum():.4f}",
        "length_a": f"{np.linalg.norm(a):.4f}",
        "length_b": f"{np.linalg.norm(b):.4f}",
        "cosine": f"{cosines(a[None], b[None])[0, 0]:.4f}",
    }


def _proposed(look: Look) -> Trace | None:
    """The first of the sentences that the page proposes, read by the model; None where it spells no text."""
    trace = look.trace
    if isinstance(trace.tokenizer, IdTokenizer):
        return None
    text = str(look.words("other_0"))
    ids = trace.tokenizer.encode(text)[: trace.config.n_context]
    return record(trace.model, trace.tokenizer, ids, text=text).at(trace.stack.side) if ids else None


def hand(look: Look) -> tuple[Line, list[Worked], dict[str, Any]]:
    if (other := look.once(_proposed)) is None:
        return look.text("hand_none"), [], {}
    return look.text("hand", other=literal(other.text or ""), **by_hand(look.trace, other)), [], {}


def _own(look: Look) -> tuple[str, dict[str, Any]]:
    is_text = not isinstance(look.trace.tokenizer, IdTokenizer)
    others = [str(look.words(f"other_{n}")) for n in range(3)] if is_text else []
    return "sentence_vectors", {"token": look.token, "others": others}


def _numbers(look: Look) -> Any:
    values = token_vectors(look.trace)
    return look.trace.leaving, values, look.labels, [str(n) for n in range(values.shape[1])]


APART = Tabs(lambda look: [look.trace.leaving], hand, lambda look: [], _numbers, say.text("formula"), own=_own)
to_try = say.to_try()
