"""From logits to text: what temperature, top-k and top-p keep, and the loop that draws tokens."""

import functools
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal, NamedTuple

import numpy as np
import torch
from torch import Tensor

from viz_model.config import Side
from viz_model.model.attention import Source
from viz_model.model.tap import NO_TAP, Tap
from viz_model.model.transformer import Transformer
from viz_model.runs import display
from viz_model.runs import edits as interventions
from viz_model.runs.edits import Edit, ShuffleTokens
from viz_model.runs.recorder import recorder
from viz_model.tokenizers.tokenizer import Token, Tokenizer, Tokens

if TYPE_CHECKING:
    from viz_model.runs.trace import Trace


@dataclass(frozen=True, kw_only=True)
class Sampling:
    """How the next token is chosen.

    ``temperature`` divides the logits; 0 means greedy, the most probable token. ``top_k`` keeps
    the k most probable tokens, then ``top_p`` the fewest of those whose probabilities reach p
    (Holtzman et al. 2020). None keeps all.

    Raises:
        ValueError: a parameter is out of range; the message begins with its name.
    """

    temperature: float = 1.0
    top_k: int | None = None
    top_p: float | None = None

    def __post_init__(self) -> None:
        if not (math.isfinite(self.temperature) and self.temperature >= 0):
            raise ValueError(f"temperature: expected a number of at least 0, got {self.temperature!r}")
        if self.top_k is not None and not (isinstance(self.top_k, int) and self.top_k >= 1):
            raise ValueError(f"top_k: expected a whole number of at least 1, got {self.top_k!r}")
        if self.top_p is not None and not 0 < self.top_p <= 1:
            raise ValueError(f"top_p: expected more than 0 and at most 1, got {self.top_p!r}")


class Distribution(NamedTuple):
    """The next token's distribution, before and after the choice of what to keep. Each is [V].

    ``probs`` is the softmax over the full vocabulary at this temperature, ``kept`` what top-k and
    top-p leave, ``final`` the kept probabilities divided by their sum.
    """

    probs: Tensor
    kept: Tensor
    final: Tensor


def falling(logits: Tensor) -> Tensor:
    """The ids in falling order of logits [V], of equal ones the smaller first: argsort in a quarter of its time."""
    bits = (logits.float() + 0.0).cpu().numpy().view(np.int32).astype(np.int64)  # which makes one zero of two
    rising = bits ^ ((bits >> 63) & 0x7FFFFFFF)  # of numbers below 0 the larger bits are the smaller number
    return torch.from_numpy(np.sort((~rising << 32) | np.arange(len(bits))) & 0xFFFFFFFF).to(logits.device)


def distribution(logits: Tensor, sampling: Sampling, order: Tensor | None = None) -> Distribution:
    """Logits [V] -> the distribution that ``sampling`` draws from; ``order`` has the ids in falling order of logits."""
    # Sums over a whole vocabulary run in double precision: in single, rounding alone is larger
    # than the tail that top-p has to tell apart.
    order, logits = falling(logits) if order is None and sampling.temperature else order, logits.double()
    if sampling.temperature == 0:
        probs = logits.softmax(-1)
        kept = torch.zeros_like(probs, dtype=torch.bool)
        kept[logits.argmax()] = True
        return Distribution(probs.float(), kept, kept.float())
    # The maximum is subtracted before dividing, or a tiny temperature would overflow to inf.
    probs = ((logits - logits.max()) / sampling.temperature).softmax(-1)
    assert order is not None
    ordered = probs[order]
    kept_in_order = torch.ones_like(ordered, dtype=torch.bool)
    if sampling.top_k is not None:
        kept_in_order[sampling.top_k :] = False
    if sampling.top_p is not None and sampling.top_p < 1:  # 1 keeps all, however the sum rounds
        remaining = ordered * kept_in_order
        before = remaining.cumsum(-1) - remaining
        # The token that carries the sum past p is kept, so at least one always is.
        kept_in_order &= before < sampling.top_p * remaining.sum()
        kept_in_order[0] = True
    kept = torch.zeros_like(kept_in_order).scatter(0, order, kept_in_order)
    final = probs * kept
    return Distribution(probs.float(), kept, (final / final.sum()).float())


MOST_SAID = 64
"""Tokens that an encoder–decoder says unasked: twice as many as there are in a long sentence."""
LEADERS = 12
"""How many of the most probable tokens a step remembers."""


class Step(NamedTuple):
    """One drawn token: its probability before and after filtering, and the number drawn in [0, 1).

    The number lies in [``start``, ``stop``), the token's interval of the cumulative distribution after filtering, in
    which ``rank`` tokens stand before it. ``leaders`` are the first of them with their probabilities; the very first
    is what greedy decoding takes.
    """

    token: Token
    probability: float
    final_probability: float
    drawn: float
    start: float
    stop: float
    rank: int
    leaders: tuple[tuple[Token, float], ...]


@dataclass(frozen=True, repr=False)
class Generation:
    """What :func:`generate` drew. ``text`` is the continuation alone.

    Attributes:
        run: makes the run of :attr:`trace`; of a model by itself there is none.
    """

    text: str
    steps: tuple[Step, ...]
    stopped: Literal["length", "end_of_text"]
    run: "Callable[[], Trace] | None" = field(default=None, compare=False)

    @functools.cached_property
    def trace(self) -> "Trace":
        """The run of what was read and what was drawn, as far as the context holds its end.

        Raises:
            ValueError: nobody knows what was read.
        """
        if self.run is None:
            raise ValueError("trace: ask the generation of a LanguageModel, which knows what was read")
        return self.run()

    @property
    def tokens(self) -> Tokens:
        return Tokens(step.token for step in self.steps)

    def __repr__(self) -> str:
        return display.generation_line(self)

    def _repr_html_(self) -> str:
        return display.generation_html(self)


class Decoder:
    """The next token's logits for a growing text, with a KV cache.

    A cache spares the keys and values of the past: a new token costs one position instead of all
    of them. When the context is full the older half of the text is forgotten and the rest is
    read again from position 0, because a position embedding gives a position its number, not its
    distance.

    Edits hold at every step. Where what they do to a position depends on the tokens after it (a head
    at its mean, no mask), the past changes with every token, so all of it is read again each time.
    Tokens are shuffled once, before the first.

    Args:
        ids: what the decoder has read so far.
        source_ids: what the encoder of an encoder–decoder reads, once.
        edits: interventions (:mod:`viz_model.runs.edits`).
        picture: levels [H, W, C], of an encoder–decoder whose encoder reads a picture.
        controls: by side, ids that a shuffle leaves where they are.

    Raises:
        ValueError: the model generates nothing, the source is missing or out of place, or an edit
            names positions of a text, which here grows, or a place that does not exist.
    """

    def __init__(
        self,
        model: Transformer,
        ids: Sequence[int],
        source_ids: Sequence[int] | None = None,
        *,
        picture: Tensor | None = None,
        edits: Sequence[Edit] = (),
        controls: Mapping[Side, frozenset[int]] | None = None,
    ) -> None:
        config = model.config
        if config.kind == "encoder":
            raise ValueError("an encoder sees the whole text at once: it has no next token to generate")
        if (source_ids is not None) != (config.kind == "encoder_decoder"):
            raise ValueError(
                f"source_ids: only an encoder–decoder reads a source, and needs one; this is a {config.kind}"
            )
        for edit in edits:
            if edit.names_positions:
                raise ValueError(
                    f"edits: {edit.tag} names positions of one text, and a text that is being written grows; "
                    "it can be made in a trace"
                )
        read: dict[Side, tuple[int, ...]] = {"decoder": tuple(ids)[-config.n_context :]}
        if source_ids is not None:
            read["encoder"] = tuple(source_ids)[: config.n_context]
        self._run = interventions.prepare(model, read, edits, controls=controls)
        self._edits = [edit for edit in edits if not isinstance(edit, ShuffleTokens)]
        self._keeps = not any(edit.reads_whole_text for edit in edits)
        self._model = interventions.rebuilt(model, self._run.config)
        self.ids = list(self._run.ids["decoder"])
        self._pixels = None if picture is None else picture[None]
        self._source = None if source_ids is None else self._encode(self._run.ids["encoder"])
        self.logits = self._read(self.ids, fresh=True)

    def append(self, id: int) -> Tensor:
        """Add a token and return the logits [V] of the one after it."""
        context = self._model.config.n_context
        self.ids.append(id)
        if len(self.ids) > context:
            self.ids = self.ids[-max(1, context // 2) :]
            self.logits = self._read(self.ids, fresh=True)
        else:
            self.logits = self._read([id], fresh=False) if self._keeps else self._read(self.ids, fresh=True)
        return self.logits

    @torch.inference_mode()
    def _encode(self, ids: Sequence[int]) -> Source:
        visible = self._run.masks.get("encoder")
        return self._model.encode(torch.tensor([ids]), pixels=self._pixels, visible=visible, tap=self._tap())

    @torch.inference_mode()
    def _read(self, ids: Sequence[int], *, fresh: bool) -> Tensor:
        if fresh:
            self.cache = self._model.new_cache()
        if not self._keeps:
            read = {**self._run.ids, "decoder": tuple(ids)}
            self._run = interventions.prepare(self._run.model, read, self._edits)
        new = torch.tensor([ids])
        visible = self._run.masks.get("decoder")
        if self._source is None:
            given = None if visible is None else {"decoder": visible}
            return self._model(new, visible=given, tap=self._tap(), cache=self.cache)[0, -1]
        return self._model.decode(new, self._source, visible=visible, tap=self._tap(), cache=self.cache)[0, -1]

    def _tap(self) -> Tap:
        return recorder(self._run.config, self._run.changes) if self._run.changes else NO_TAP


class Interval(NamedTuple):
    """A token's place in the cumulative distribution: from ``start`` to ``stop``, behind ``rank`` other tokens."""

    id: int
    start: float
    stop: float
    rank: int


def interval(distribution: Distribution, number: float) -> Interval:
    """The interval of the cumulative distribution that holds ``number``, in [0, 1).

    Intervals stand in order of falling probability, of equal ones the lower id first; the last one ends at 1.
    """
    ordered, order = distribution.final.double().sort(descending=True, stable=True)
    edges = ordered.cumsum(-1)
    last = int((ordered > 0).sum()) - 1
    rank = min(int(torch.searchsorted(edges, torch.tensor(number, dtype=torch.float64), right=True)), last)
    start = edges[rank - 1].item() if rank else 0.0
    return Interval(int(order[rank]), start, 1.0 if rank == last else edges[rank].item(), rank)


def number(seed: int, place: int) -> float:
    """The random number from 0 to 1 of the n-th token after a text, whichever of them are asked for."""
    numbers = torch.Generator().manual_seed(1_000_003 * seed + place)
    return torch.rand((), generator=numbers, dtype=torch.float64).item()


def draw(distribution: Distribution, number: float) -> int:
    """The token whose interval holds ``number``, in [0, 1): see :func:`interval`."""
    return interval(distribution, number).id


def steps(decoder: Decoder, tokenizer: Tokenizer, sampling: Sampling, seed: int) -> Iterator[Step]:
    """Draw tokens one after the other, without end; end-of-text is yielded like any other."""
    numbers = torch.Generator().manual_seed(seed)
    while True:
        choice = distribution(decoder.logits, sampling)
        number = torch.rand((), generator=numbers, dtype=torch.float64).item()
        id, start, stop, rank = interval(choice, number)
        shares, first = choice.final.sort(descending=True, stable=True)
        leaders = tuple(
            (tokenizer.token(leader), share)
            for leader, share in zip(first[:LEADERS].tolist(), shares[:LEADERS].tolist(), strict=True)
            if share > 0
        )
        p, final = choice.probs[id].item(), choice.final[id].item()
        yield Step(tokenizer.token(id), p, final, number, start, stop, rank, leaders)
        decoder.append(id)


def generate(
    decoder: Decoder,
    tokenizer: Tokenizer,
    *,
    max_new_tokens: int,
    sampling: Sampling,
    seed: int,
    on_token: Callable[[Step], object] | None = None,
) -> Generation:
    """Draw up to ``max_new_tokens`` tokens, fewer where the model ends the text; ``on_token`` hears of each."""
    drawn: list[Step] = []
    stopped: Literal["length", "end_of_text"] = "length"
    if max_new_tokens > 0:
        for step in steps(decoder, tokenizer, sampling, seed):
            if step.token.id == tokenizer.end_of_text:
                stopped = "end_of_text"
                break
            drawn.append(step)
            if on_token is not None:
                on_token(step)
            if len(drawn) == max_new_tokens:
                break
    return Generation(tokenizer.decode(step.token.id for step in drawn), tuple(drawn), stopped)
