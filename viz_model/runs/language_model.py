"""A model together with its tokenizer: text or picture in, Trace or text out."""

import dataclasses
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import torch
from torch import Tensor

from viz_model import images
from viz_model.config import ModelConfig, Side
from viz_model.model import stored
from viz_model.model.transformer import Transformer
from viz_model.runs import display, generation
from viz_model.runs.edits import Edit, PatchResidual
from viz_model.runs.edits.base import check_number, listed
from viz_model.runs.record import Keep, record
from viz_model.runs.trace import Trace
from viz_model.tokenizers.patches import PatchTokenizer
from viz_model.tokenizers.tokenizer import Tokenizer

Messages: TypeAlias = Sequence[Mapping[str, Any]]
"""A conversation: ``[{"role": "user", "content": "Hello"}, …]``."""


def plain(ids: Any, name: str = "ids") -> list[int]:
    """Ids as a list; of a batch of one text, as tokenizers of ``transformers`` return it, that of the text.

    Raises:
        ValueError: they are no whole numbers, or those of several texts.
    """
    try:
        found = np.asarray(ids) if len(ids) else np.zeros(0, dtype=int)
    except (TypeError, ValueError):
        found = np.zeros(())
    if found.ndim == 2 and len(found) == 1:
        found = found[0]
    if found.ndim != 1 or found.dtype.kind not in "iu":
        raise ValueError(f"{name}: expected the whole numbers of one text, [T]")
    return [int(id) for id in found]


@dataclass(frozen=True, eq=False, repr=False)
class LanguageModel:
    """What :func:`viz_model.load` returns. Immutable, and safe to share between threads.

    Attributes:
        name: its name in :func:`viz_model.models`, or the folder or file it came from.
        twin: the name of the model that differs from it only in where the norm stands, if any.
        folder: where its weights, card and training log lie.
        left_out: parts that its files hold besides, such as a classifier, and that are not shown.
        notices: what is to be said of files that can be read in more than one way: "untied", where the head is another
            than the embedding that the config names, "no_head" where it was saved without one.
    """

    name: str
    model: Transformer
    tokenizer: Tokenizer
    twin: str | None
    folder: Path
    left_out: tuple[str, ...] = ()
    notices: tuple[str, ...] = ()

    def __repr__(self) -> str:
        return display.model_line(self)

    def _repr_html_(self) -> str:
        return display.model_html(self)

    @property
    def config(self) -> ModelConfig:
        return self.model.config

    @property
    def dtype(self) -> torch.dtype:
        """The type in which the weights are kept and runs computed; what is read of them is single precision."""
        return stored.dtype_of(self.model)

    @property
    def device(self) -> torch.device:
        """Where the weights lie and runs are computed; what is read of them is in main memory."""
        return stored.device_of(self.model)

    def chat(
        self,
        messages: Messages,
        *,
        add_generation_prompt: bool = True,
        tools: Sequence[Mapping[str, Any]] | None = None,
        **values: Any,
    ) -> str:
        """The text of a conversation, as the model's template writes it: what :meth:`trace` reads of ``messages``.

        Args:
            messages: in order: ``[{"role": "user", "content": "Why is the sky blue?"}]``.
            add_generation_prompt: whether the beginning of the model's answer stands at the end.
            tools: JSON schemas of functions that the model may call.
            values: what else the template asks for, such as ``enable_thinking=False``.

        Raises:
            ValueError: the model has no template.
            TextError: the template does not take this conversation.
        """
        if (template := self.tokenizer.chat_template) is None:
            raise ValueError(f"messages: {self.name} has no chat template; give a text")
        return template.write(messages, add_generation_prompt=add_generation_prompt, tools=tools, **values)

    def _encoded(self, text: str | Messages, as_text: bool) -> list[int]:
        """The ids of a text, or of a conversation, whose template names all its control tokens."""
        if isinstance(text, str):
            return self.tokenizer.encode(text, as_text=as_text) if text else []
        if any(isinstance(one, str) for one in text):
            raise TypeError(
                "text: expected one text; trace several one after the other, [lm.trace(text) for text in texts]"
            )
        if not all(isinstance(one, Mapping) for one in text):
            raise TypeError("text: expected a text or the messages of a conversation; give token ids as ids=[…]")
        return self.tokenizer.encode(self.chat(text), special=False, as_text=as_text)

    def trace(
        self,
        text: str | Messages | images.Levels | None = None,
        target: str | None = None,
        *,
        ids: Sequence[int] | None = None,
        target_ids: Sequence[int] | None = None,
        segments: Sequence[int] | None = None,
        mask: Tensor | Mapping[Side, Tensor] | None = None,
        edits: Edit | Sequence[Edit] = (),
        max_tokens: int | None = None,
        target_language: str | None = None,
        as_text: bool = False,
        keep: Keep | None = None,
        between: Callable[[], None] | None = None,
    ) -> Trace:
        """Run the model over a text, over token ids, or over a picture, so that every value can be read.

        What exceeds the context is left out at the end, with a warning; ``n_dropped`` of the result counts it. The
        control tokens that end a text (BERT's [SEP]) stay.

        Args:
            text: what the model reads, with the control tokens that its tokenizer puts around it; or the messages of a
                conversation, as :meth:`chat` writes them. Of a model
                of pictures: levels, uint8 [H, W] or [H, W, 3], brought to its size and its colors; or a picture
                that :func:`viz_model.images.encode` wrote as text.
            target: of an encoder–decoder, what the decoder has said so far. It reads its start
                token and then this; without a target, the start token alone.
            ids: token ids in place of a text, read as they are.
            target_ids: what the decoder reads, as it is: begin with the start token.
            segments: the kind of each token, of an encoder that tells two sentences apart.
            mask: boolean [T, T], True where a query may look, in place of the masks of all layers
                (:mod:`viz_model.model.masks`), or [L, T, T], one for each; of an encoder–decoder a mapping by side.
            edits: interventions, in order (:mod:`viz_model.runs.edits`), or one; they find the masks given here.
            max_tokens: read at most so many, where that is less than the context: the rest is left out without a
                warning. A picture is read whole.
            target_language: of a model that translates into several, which ("fr", "zh"); by default
                the first.
            as_text: whether control tokens written in the text, like ``<|im_start|>``, are read as characters.
            keep: "everything" that is recorded, or the residual "stream" alone, from which the rest is
                computed again when it is read; by default as the size of the run suggests
                (:func:`viz_model.runs.record.record`). The values are the same.
            between: called where a block begins; what it raises ends the run.

        Raises:
            ValueError: neither or both of text and ids were given, there is nothing to run, an id
                is unknown, a mask does not fit, an edit names a place that does not exist, or what was given is
                no picture for a model of pictures, or one for another.
            TextError: the text is not Unicode text, or of a model of pictures, no picture.
        """
        if (text is None) == (ids is None):
            raise ValueError("give either a text or ids=[…]")
        picture, edits = None, listed(edits)
        if (patches := self._patches) is not None:
            picture, text = self._picture(patches, self._given(text))
        elif isinstance(text, np.ndarray):
            raise ValueError("text: this model reads tokens, not pictures")
        most = min(self.config.n_context, max_tokens or self.config.n_context)
        if patches is not None:
            ids = run = patches.order
        elif text is not None:
            assert not isinstance(text, np.ndarray)
            ids = self._encoded(text, as_text)
            if not ids:
                raise ValueError("the text is empty: there is nothing to run")
            run = self.shortened(ids, most)
        else:
            assert ids is not None
            ids = plain(ids)
            run = ids[:most]
        reads = self._target(target, target_ids, target_language)
        decoded = None if reads is None else reads[:most]
        for what, given, kept in (("text", ids, run), ("target", reads or (), decoded or ())):
            if max_tokens is None and len(given) > len(kept):
                self._warn_of_cut(what, len(given), most)
        vectors = self._vectors(edits, decoded, max_tokens, target_language)
        return record(
            self.model,
            self.tokenizer,
            run,
            decoded,
            picture=picture,
            segments=segments,
            visible=mask if mask is None or isinstance(mask, Mapping) else {self.config.sides[-1]: mask},
            edits=edits,
            vectors=vectors,
            text=text if isinstance(text, str) else None,
            target=target,
            n_dropped=len(ids) - len(run),
            n_target_dropped=0 if reads is None or decoded is None else len(reads) - len(decoded),
            name=self.name,
            as_text=as_text,
            keep=keep,
            between=between,
        )

    def generate(
        self,
        text: str | Messages | images.Levels | None = None,
        target: str | None = None,
        *,
        ids: Sequence[int] | None = None,
        max_new_tokens: int = 20,
        temperature: float = 1.0,
        top_k: int | None = None,
        top_p: float | None = None,
        seed: int = 0,
        target_language: str | None = None,
        as_text: bool = False,
        edits: Edit | Sequence[Edit] = (),
        on_token: Callable[[generation.Step], object] | None = None,
    ) -> generation.Generation:
        """Continue a text; of an encoder–decoder, say the target of a source ``text``.

        The same arguments draw the same tokens. A text beyond the context is read from its end.

        Args:
            text: the text, or the messages of a conversation that the model answers; or a picture, as :meth:`trace`
                takes it.
            ids: token ids in place of a text, read as they are.
            target: of an encoder–decoder, how the target begins.
            target_language: of a model that translates into several, which ("fr", "zh"); by default
                the first.
            as_text: whether control tokens written in the text are read as characters.
            edits: interventions that hold at every step. Those that name positions are refused: the
                text grows.
            on_token: called with each token as it is drawn (:class:`viz_model.runs.generation.Step`).

        Raises:
            ValueError: the text is empty, a parameter is out of range, the model does not generate, or
                an edit cannot be made.
            TextError: the text is not Unicode text.
        """
        if (text is None) == (ids is None):
            raise ValueError("give either a text or ids=[…]")
        if ids is not None and self.config.reads_pictures:
            raise ValueError("ids: this model reads pictures; give one as its levels or as text")
        read, picture = (plain(ids), None) if ids is not None else self.entering(text, as_text)
        if not read:
            raise ValueError("the text is empty: there is nothing to continue")
        if wrong := [id for id in read if not 0 <= id < self.config.n_ids]:
            raise ValueError(f"token id {wrong[0]}: the vocabulary has {self.config.n_ids}")
        if len(read) > self.config.n_context and picture is None:
            self._warn_of_cut("text", len(read), self.config.n_context)
        made = generation.generate(
            self.decoder(read, target, target_language, edits, picture),
            self.tokenizer,
            max_new_tokens=max_new_tokens,
            sampling=generation.Sampling(temperature=temperature, top_k=top_k, top_p=top_p),
            seed=seed,
            on_token=on_token,
        )
        drawn, most = [step.token.id for step in made.steps], self.config.n_context

        def run() -> Trace:
            begun = self._target(target, None, target_language)
            if begun is None:
                return self.trace(ids=[*read, *drawn][-most:], edits=edits)
            reads = [*begun, *drawn][-most:]
            if picture is None:
                return self.trace(ids=read[:most], target_ids=reads, edits=edits)
            levels = picture[..., 0] if picture.shape[-1] == 1 else picture
            return self.trace(levels, target_ids=reads, edits=edits)

        return dataclasses.replace(made, run=run)

    def decoder(
        self,
        ids: Sequence[int],
        target: str | None = None,
        target_language: str | None = None,
        edits: Edit | Sequence[Edit] = (),
        picture: images.Levels | None = None,
    ) -> generation.Decoder:
        """The model ready to say the next token: after ``ids``, or of the target of a source ``ids``, or of a picture
        [H, W, C] at the size of the model.

        Raises:
            ValueError: the model does not generate, a target is given that it has no place for, or an
                edit cannot be made.
        """
        reads, edits = self._target(target, None, target_language), listed(edits)
        controls = self.tokenizer.controls_by_side
        if reads is None:
            return generation.Decoder(self.model, ids, edits=edits, controls=controls)
        pixels = None if picture is None else torch.from_numpy(picture.copy())
        return generation.Decoder(self.model, reads, ids, picture=pixels, edits=edits, controls=controls)

    def entering(
        self, text: str | Messages | images.Levels | None, as_text: bool = False
    ) -> tuple[list[int], images.Levels | None]:
        """What enters the model: the ids of a text; or of a picture the ids of its patches, and its levels [H, W, C].

        Raises:
            ValueError: it is no picture for a model of pictures, or one for another.
            TextError: the text is not Unicode text, or of a model of pictures, no picture.
        """
        if (patches := self._patches) is not None:
            return patches.order, self._picture(patches, self._given(text))[0]
        if isinstance(text, np.ndarray):
            raise ValueError("text: this model reads tokens, not pictures")
        return self._encoded(text or "", as_text), None

    @property
    def _patches(self) -> PatchTokenizer | None:
        """The patches that it reads, where it reads a picture."""
        found = self.tokenizer.at(self.config.sides[0])
        return found if isinstance(found, PatchTokenizer) else None

    def _given(self, text: object) -> str | images.Levels:
        """What was given, where it may be a picture."""
        if text is None:
            raise ValueError("ids: this model reads pictures; give one as its levels or as text")
        if not isinstance(text, str | np.ndarray):
            raise ValueError("text: this model reads pictures, and no conversation")
        return text

    def _picture(self, tokenizer: PatchTokenizer, given: str | images.Levels) -> tuple[images.Levels, str | None]:
        """The picture [H, W, C] as the model reads it, and the text that gives the same, where it is small enough."""
        levels = tokenizer.picture(given) if isinstance(given, str) else images.check(given)
        asked = tokenizer.patches
        picture = images.fit(levels, asked.height, asked.width, asked.channels, asked.resample)
        if isinstance(given, str):
            return picture, given
        is_small = images.held(asked.height, asked.width) == (asked.height, asked.width)
        return picture, images.encode(picture[..., 0] if asked.channels == 1 else picture) if is_small else None

    def _vectors(
        self,
        edits: Sequence[Edit],
        target_ids: Sequence[int] | None,
        max_tokens: int | None,
        target_language: str | None,
    ) -> dict[Edit, Tensor]:
        """What the patches among ``edits`` put in: [D] each, from runs of the unedited model, one for each text."""
        vectors: dict[Edit, Tensor] = {}
        runs: dict[object, Trace] = {}
        for edit in edits:
            if not isinstance(edit, PatchResidual):
                continue
            side = edit.check(self.config)
            if (run := runs.get(edit.source)) is None:
                text, ids, target = edit.source
                if target is not None and self.config.kind != "encoder_decoder":
                    raise ValueError(f"from_target: only an encoder–decoder has one, this is a {self.config.kind}")
                run = runs[edit.source] = self.trace(
                    text,
                    target,
                    ids=ids,
                    target_ids=target_ids if target is None else None,
                    max_tokens=max_tokens,
                    target_language=None if target is None else target_language,
                )
            seen = run.at(side)
            check_number("from_position", edit.read_at, len(seen))
            # Outside inference mode a copy is a tensor like any other, which a gradient may pass.
            vectors[edit] = run[edit.site][edit.read_at].clone()
        return vectors

    def _warn_of_cut(self, what: str, n: int, most: int) -> None:
        cut = f"the {what} has {n:,} tokens and the context of {self.name} {most:,}: {n - most:,} are left out"
        warnings.warn(cut, stacklevel=3)

    def shortened(self, ids: list[int], most: int) -> list[int]:
        """At most so many ids of a text: the control tokens at its end stand behind whatever is left."""
        if len(ids) <= most:
            return ids
        n_after = 0
        while n_after < most - 1 and ids[-1 - n_after] in self.tokenizer.controls:
            n_after += 1
        return ids[: most - n_after] + ids[len(ids) - n_after :]

    def _target(
        self, target: str | None, target_ids: Sequence[int] | None, target_language: str | None
    ) -> list[int] | None:
        """What the decoder of an encoder–decoder reads, or None for other models."""
        if target_language is not None and target_language not in self.tokenizer.languages:
            known = ", ".join(self.tokenizer.languages) or "none by name"
            raise ValueError(f"target_language: this model translates into {known}, not {target_language!r}")
        if self.config.kind != "encoder_decoder":
            if target is not None or target_ids is not None:
                raise ValueError(f"target: only an encoder–decoder has one, this is a {self.config.kind}")
            return None
        if target_ids is not None:
            if target is not None or target_language is not None:
                raise ValueError("give either a target or target_ids=[…]")
            return plain(target_ids, "target_ids")
        start = self.config.start_id if target_language is None else self.tokenizer.languages[target_language]
        if start is None:
            raise ValueError("start_id: this model does not say what its decoder begins with; give target_ids=[…]")
        return [start, *(self.tokenizer.encode_target(target, special=False) if target else [])]
