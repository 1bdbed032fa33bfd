"""A model together with its tokenizer: text in, Trace or text out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from viz_model import generation, trace
from viz_model.config import ModelConfig
from viz_model.model import Transformer
from viz_model.tokenizer import Tokenizer


@dataclass(frozen=True, eq=False)
class LanguageModel:
    """What :func:`viz_model.load` returns. Immutable, and safe to share between threads.

    Attributes:
        name: its name in :func:`viz_model.models`, or the folder it came from.
        twin: the name of the model that differs from it only in where the norm stands, if any.
        folder: where its weights, card and training log lie.
    """

    name: str
    model: Transformer
    tokenizer: Tokenizer
    twin: str | None
    folder: Path

    @property
    def config(self) -> ModelConfig:
        return self.model.config

    def trace(self, text: str | None = None, *, ids: Sequence[int] | None = None) -> trace.Trace:
        """Run the model over a text, or over token ids, and keep every value.

        What exceeds the context is left out at the end; ``n_dropped`` of the result counts it.

        Raises:
            ValueError: neither or both were given, there is nothing to run, or an id is unknown.
            TextError: the text is not Unicode text.
        """
        if (text is None) == (ids is None):
            raise ValueError("give either a text or ids=[…]")
        if text is not None:
            ids = self.tokenizer.encode(text)
            if not ids:
                raise ValueError("the text is empty: there is nothing to run")
        assert ids is not None
        run = [int(id) for id in ids][: self.config.n_context]
        return trace.record(self.model, self.tokenizer, run, text=text, n_dropped=len(ids) - len(run))

    def generate(
        self,
        text: str,
        *,
        max_new_tokens: int = 20,
        temperature: float = 1.0,
        top_k: int | None = None,
        top_p: float | None = None,
        seed: int = 0,
    ) -> generation.Generation:
        """Continue a text. The same arguments draw the same tokens.

        A text beyond the context is read from its end.

        Raises:
            ValueError: the text is empty or a parameter is out of range.
            TextError: the text is not Unicode text.
        """
        ids = self.tokenizer.encode(text)
        if not ids:
            raise ValueError("the text is empty: there is nothing to continue")
        sampling = generation.Sampling(temperature=temperature, top_k=top_k, top_p=top_p)
        return generation.generate(
            self.model, self.tokenizer, ids, max_new_tokens=max_new_tokens, sampling=sampling, seed=seed
        )
