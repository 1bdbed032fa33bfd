"""What the pictures of this page show of a run."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from viz_model.drawing.cells import span_of
from viz_model.measures.covering import GUESSES, Covered
from viz_model.runs.generation import Sampling, distribution
from viz_model.runs.trace import Trace
from viz_model.tokenizers.tokenizer import Tokenizer
from viz_model.topics.next_token.numbers.sentences import cosines, sentence_vector, token_vectors
from viz_model.topics.next_token.pictures.arrivals import ArrivalsView
from viz_model.topics.next_token.pictures.choice import ChoiceView
from viz_model.topics.next_token.pictures.sentences import SentencesView, one_line
from viz_model.topics.next_token.pictures.similarity import MOST_TOKENS, SimilarityView


def choice_view(
    trace: Trace, position: int, sampling: Sampling, most: int = 500, marked_id: int | None = None
) -> ChoiceView:
    """What follows a position, or stands there; ``tokens`` are the first ``most`` of the order."""
    logits = trace.row("logits", position)
    choice = distribution(logits, sampling)
    order = np.argsort(-logits.numpy(), kind="stable")
    arrays = (logits, logits.softmax(-1), choice.probs, choice.kept, choice.final)
    logit, model, probs, kept, final = (array.numpy()[order] for array in arrays)
    tokens = trace.tokenizer.tokens(order[:most].tolist())
    marked = None if marked_id is None else int((order == marked_id).argmax())
    token = None if marked_id is None else trace.tokenizer.token(marked_id)
    return ChoiceView(position, tokens, sampling.temperature, order, logit, model, probs, kept, final, marked, token)


def arrivals_view(trace: Trace) -> ArrivalsView:
    """Each of the T − 1 tokens after the first, as the position before it expected it."""
    tokens = trace.tokens
    came = np.array([token.id for token in tokens[1:]], dtype=np.int64)
    found, start = [], 0
    for logits in trace.chunks("logits", 32):  # of a large vocabulary all rows at once are a lot of memory
        following = came[start : start + len(logits)]
        start += len(logits)
        logits = logits[: len(following)]  # nothing has come after the last token
        own = logits[np.arange(len(following)), following][:, None]
        best = logits.topk(min(GUESSES, logits.shape[-1]))
        rank = 1 + (logits > own).sum(-1)
        found.append((own[:, 0], logits.double().logsumexp(-1), best.values, best.indices, rank))
    own_logits, total, values, ids, ranks = (np.concatenate(parts) for parts in zip(*found, strict=True))
    shares = np.exp(values.astype(np.float64) - total[:, None])
    nats = np.maximum(0.0, total - own_logits.astype(np.float64))
    return ArrivalsView(
        positions=np.arange(len(came)) + 1,
        labels=tuple(token.label for token in tokens[1:]),
        probs=np.exp(-nats),
        bits=nats / np.log(2),
        ranks=ranks,
        guesses=_named(trace.tokenizer, ids, shares),
        before=tuple(token.label for token in tokens[:-1]),
        ids=span_of(came),
    )


def covered_view(trace: Trace, found: Covered) -> ArrivalsView:
    """Tokens of a text that were covered one at a time.

    As :func:`viz_model.measures.covering.cover` covers them.
    """
    tokens = trace.tokens
    return ArrivalsView(
        positions=found.positions,
        labels=tuple(tokens[position].label for position in found.positions),
        probs=np.exp(-found.nats),
        bits=found.nats / np.log(2),
        ranks=found.ranks,
        guesses=_named(trace.tokenizer, found.guesses, found.guess_probs),
        visible=found.visible,
    )


def _named(tokenizer: Tokenizer, ids: np.ndarray, probs: np.ndarray) -> tuple[tuple[tuple[str, float], ...], ...]:
    """Ids and probabilities [n, k] as labels and probabilities."""
    return tuple(
        tuple((tokenizer.token(int(id)).label, float(p)) for id, p in zip(*row, strict=True))
        for row in zip(ids, probs, strict=True)
    )


def sentences_view(trace: Trace, others: Sequence[Trace]) -> SentencesView:
    """A sentence beside others."""
    vectors = np.array([sentence_vector(other) for other in others]).reshape(len(others), trace.config.d_model)
    found = cosines(sentence_vector(trace)[None], vectors)[0]
    return SentencesView(tuple(one_line(other.text or "") for other in others), found)


def similarity_view(trace: Trace, position: int, mean: str) -> SimilarityView:
    """The tokens around a position; ``mean`` is the name of the last row."""
    vectors = token_vectors(trace)
    shown = min(len(trace), MOST_TOKENS)
    start = min(max(0, position - shown // 2), len(trace) - shown)
    selected = position - start
    part = np.concatenate((vectors[start : start + shown], vectors.mean(0, keepdims=True)))
    matrix = cosines(part, part)
    others = np.where(np.arange(shown) == selected, -np.inf, matrix[selected, :shown])
    labels = (*(token.label for token in trace.tokens[start : start + shown]), mean)
    like = int(others.argmax()) if shown > 1 else selected
    return SimilarityView(tuple(range(start, start + shown)), labels, matrix, selected, like, len(trace) - shown)
