"""What the chapters read of a run: one head, a query in it that shows something, and the keys that have a row."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Self

import numpy as np
import torch

from viz_model.drawing.tables import Among, Phrase, Table
from viz_model.island.beats import Beat, Chapter, Guess, Mark, ends
from viz_model.island.held import MOST_TOKENS
from viz_model.island.look import Look
from viz_model.island.prose import Line
from viz_model.measures import heads, lens
from viz_model.measures.stream import part_of
from viz_model.model import ops
from viz_model.runs.recompute import Recomputed
from viz_model.runs.trace import Trace

MOST_KEYS, MOST_ROWS, MOST_MAP = 12, 12, 24
"""Keys of a query, and tokens, that have a row; tokens of a map of weights."""
MOST_WORK = 400_000_000
"""Multiplications for all tokens; of a text or vocabulary that takes more, the selected token alone is looked at."""


@dataclass(frozen=True)
class Run:
    """A look, and what is computed of it for a walk."""

    look: Look

    @classmethod
    def of(cls, look: Look) -> Self:
        source = look.config.source_of(look.trace.stack.side, look.layer)
        if source is not None:  # it tells of the layer in which keys and values are made
            look = replace(look, layer=source)
        return look.once(cls, ("walk", look.layer, look.head, look.token))

    @property
    def trace(self) -> Trace:
        return self.look.trace

    def __len__(self) -> int:
        return len(self.look)

    # Words

    def says(self, key: str, lights: str = "", guess: Guess | None = None, /, **values: Any) -> Beat:
        """A beat: the words of that name; labels that follow it, as in ``"scores_5 later"``, are its {{more}}."""
        key, *names = key.split()
        kept = {name: f"{{{{{name}}}}}" if isinstance(value, Table) else value for name, value in values.items()}
        more = "".join(self.look.t(f"walk.{name}", **kept) for name in names)
        return Beat(Line(self.look.words(self.kind(key), more=more, **values)), lights, guess)

    def among(
        self, keys: Sequence[str], case: np.ndarray, lights: str = "", guess: Guess | None = None, /, **values: Any
    ) -> Beat:
        """A beat of which ``case`` says by the token which of some texts it is: [T or 1]"""
        said = [self.says(key, **values).said.words for key in keys]
        texts = [one.template if isinstance(one, Phrase) else one for one in said]
        tables = {name: value for name, value in values.items() if isinstance(value, Table)}
        return Beat(Line(Phrase(Among(texts, self.by("token", case)), tables)), lights, guess)

    def asks(self, key: str, options: Any, right: Any, /, **values: Any) -> Guess:
        """A question before a beat."""
        return Guess(Line(self.look.words(key, **values)), options, right)

    def chapter(self, name: str, beats: Sequence[Beat], marks: Iterable[Mark], page: str = "") -> Chapter:
        """A chapter, and the page on which there is more."""
        opens = (page, self.look.words("closer", page=self.look.common(f"page_{page}"))) if page else None
        return Chapter(name, self.look.words(f"title_{name}"), beats, list(marks), opens)

    def kind(self, key: str) -> str:
        ends = {"_recorded": self.is_recorded, "_saved": self.look.is_saved, "": True}
        found = [f"{one}{end}" for end in ends if ends[end] for one in (f"{key}_{self.trace.config.kind}", key)]
        return next((one for one in found if self.look.knows(one)), key)

    @property
    def is_recorded(self) -> bool:
        """Whether it is for a file in which the model does not run, and nothing is typed."""
        return self.look.is_saved and "weights" not in self.look.options

    def named(self, at: Any = None, axes: str = "token") -> Any:
        """Tokens by their names: ``at`` are positions, by default each token's own."""
        return self.look.token_named(self.by(axes, np.arange(len(self)) if at is None else at))

    def label(self, at: Any = None) -> Any:
        """The same for the picture."""
        return Among(self.labels, self.by("token", np.arange(len(self)) if at is None else at))

    @cached_property
    def labels(self) -> tuple[str, ...]:
        return tuple(label.replace("\u00a0", " ") for label in self.look.labels)

    def by(self, axes: str, values: Any, write: str = "") -> Any:
        return self.look.by(axes, values, write) if axes else values

    def row(self, values: np.ndarray) -> Any:
        """Numbers side by side, for each token: [T, D]"""
        return self.by("token", values[:, None])

    def ends(self, count: int, *entries: tuple[int, np.ndarray]) -> Any:
        """:func:`viz_model.island.beats.ends` of values by token [T or 1, …], of a long text by the selected one."""
        is_one = len(self) > MOST_TOKENS or len(entries[0][1]) == 1 < len(self)
        own = [(at, values[[self.look.token]] if is_one and len(values) > 1 else values) for at, values in entries]
        made = ends(count, *own, axes="token")
        return made._replace(start={"token": self.look.token}) if is_one else made

    # Tokens

    def each(self, make: Callable[[list[int]], np.ndarray], work: float = 0) -> np.ndarray:
        """``make`` of all tokens, or where that would be too much work of the selected one: [T or 1, …]"""
        return make(list(range(len(self))) if work <= MOST_WORK else [self.look.token])

    def held(self, values: np.ndarray) -> list[int]:
        """Of which tokens something was made so."""
        return [self.look.token] if len(values) == 1 else list(range(len(self)))

    def around(self, most: int = MOST_ROWS) -> range:
        """So many tokens, the selected one among them: those that have a row where all have one alike."""
        return part_of(len(self), self.look.token, most)

    @property
    def table(self) -> torch.Tensor:
        """The embeddings of the vocabulary: [V, D]"""
        return self.trace.model.embedding.weight.detach()

    @property
    def rows_in(self) -> np.ndarray:
        """The embedding of each token, or of each patch: [T, D]"""
        return self.trace["embed.patch" if self.trace.shows_patches else "embed.token"].numpy()

    # The head

    def head(self, name: str) -> np.ndarray:
        """A value of the head, [T, …]; of keys and values that heads share, those that it reads."""
        return self.trace.head(self.look.site(f"attn.{name}"), self.look.head).numpy()

    def last(self, letter: str) -> str:
        """Queries or keys as the product takes them."""
        names = (f"{letter}_rotated", f"{letter}_normed", letter)
        return next(name for name in names if self.look.has(f"attn.{name}"))

    @cached_property
    def visible(self) -> np.ndarray:
        return self.trace.mask(self.look.layer).numpy()

    @cached_property
    def dots(self) -> np.ndarray:
        """Query times key, also of keys that a mask hides: [T, T]"""
        return self.head(self.last("q")) @ self.head(self.last("k")).T

    @cached_property
    def pattern(self) -> np.ndarray:
        return self.head("pattern")

    @cached_property
    def scores(self) -> np.ndarray:
        """As softmax takes them, −∞ where hidden: [T, T]"""
        return self.head("masked")

    @cached_property
    def sharp(self) -> np.ndarray:
        """The weights if nothing were divided: [T, T]"""
        cap, at = self.trace.config.score_cap, f"blocks.{self.look.layer}.attn.sink"
        undivided, scaled = (ops.cap(torch.tensor(one), cap).numpy() for one in (self.dots, self.head("scores")))
        sink = self.trace.head(at, self.look.head).double() if at in self.trace else None
        whole = torch.tensor(self.scores - scaled + undivided, dtype=torch.float64)
        found = ops.pattern(whole, sink).numpy().astype(np.float32)
        below = np.nextafter(np.float32(1), np.float32(0))  # what is all but 100% is not written as 100%
        return np.where(self.visible.sum(-1, keepdims=True) > 1, np.minimum(found, below), found)

    @cached_property
    def shown(self) -> np.ndarray:
        """The keys that have a row, for each query: of many itself, the best, the next, and the heaviest: [T, R]."""
        n = len(self)
        if n <= MOST_KEYS:
            return np.broadcast_to(np.arange(n), (n, n))
        rank, at = self.pattern.copy(), np.arange(n)
        rank[at, at] = 3
        rank[at[:-1], at[1:]] = 2
        rank[at, self.dots.argmax(-1)] = 2.5
        return np.sort(np.argsort(-rank, -1, kind="stable")[:, : MOST_KEYS - 1], -1)

    def rows(self, values: np.ndarray) -> np.ndarray:
        """Of values for each query and key [T, T] those with a row: [T, R]."""
        return np.take_along_axis(values, self.shown, -1)

    @cached_property
    def hidden(self) -> np.ndarray:
        return self.rows(~self.visible)

    # The output

    @cached_property
    def predicts(self) -> bool:
        return lens.predicts(self.trace)

    @cached_property
    def likely(self) -> tuple[np.ndarray, np.ndarray]:
        """The five likeliest tokens of each token and their logits: ids and values [T or 1, 5]."""
        logits = self.each(lambda at: self.trace["logits"][at].numpy(), len(self) * self.trace.config.n_vocab * 50)
        ids = np.argsort(-logits, -1, kind="stable")[:, :5]
        return ids, np.take_along_axis(logits, ids, -1)

    def token(self, id: int) -> str:
        return self.trace.tokenizer.token(int(id)).label.replace("\u00a0", " ")

    def tokens(self, ids: np.ndarray, axes: str, is_code: bool = False) -> Any:
        """Tokens of the vocabulary by their ids."""
        known, at = np.unique(ids, return_inverse=True)
        return Among([self.token(id) for id in known], self.by(axes, at.reshape(ids.shape)), is_code=is_code)


def start(trace: Trace) -> tuple[int, int, int]:
    """Layer, head and token to begin with: a query, not the last, that reads mostly one token farther back."""
    layers = [n for n in trace.attending if trace.config.source_of(trace.stack.side, n) is None]
    if isinstance(trace.values, Recomputed):
        layers = layers[len(layers) // 2 :][:1]
    marks, at = list(heads.marks(trace)), np.arange(len(trace))
    gap = abs(at[:, None] - at)
    worth = np.where((gap > 1) & (at > 0), 1.0, np.where(gap == 1, 0.3, 0.1))
    worth[-1] *= 0.2
    whole = np.array([token.is_whole for token in trace.tokens])  # a piece of a character says nothing
    says = np.array([any(map(str.isalnum, token.text)) or not token.text for token in trace.tokens])
    worth *= np.where(whole[:, None] & whole, 1.0, 0.01) * np.where(says[:, None] & says, 1.0, 0.3)
    # Frequent tokens stand first in a vocabulary, and what they read says little to a reader.
    rare = np.where(np.array(trace.own_ids) > trace.config.n_vocab**0.65, 1.0, 0.4)
    worth *= rare[:, None] * rare
    worth[:, marks] *= 0.01
    worth[marks] *= 0.01
    gaps = np.array(trace.own_ids) == trace.tokenizer.mask_id  # which the model is asked about
    if gaps.any():
        worth[~gaps] = 0
        worth[gaps.argmax()] += 0.01
    found = np.stack([worth * trace[f"blocks.{layer}.attn.pattern"].numpy() for layer in layers])
    layer, head, token, _ = np.unravel_index(found.argmax(), found.shape)
    return layers[layer], int(head), int(token)
