"""Loaded models and traced texts, shared by all visitors."""

import functools
import gc
import logging
import math
import re
import uuid
from collections.abc import Callable, Mapping
from typing import NamedTuple

import streamlit as st
import torch

import viz_model as vm
from viz_model import images
from viz_model.app import run_lock
from viz_model.app.cache import MOST_KEPT, Call, cached, store
from viz_model.checkpoints import registry, room
from viz_model.config import ModelConfig, Side
from viz_model.model import sites
from viz_model.model.stored import n_bytes
from viz_model.runs import recompute
from viz_model.runs.generation import MOST_SAID
from viz_model.runs.observed_model import ObservedModel
from viz_model.runs.recompute import Recomputed
from viz_model.runs.record import bytes_kept

# Characters that are tokenized at the most. Far more than any context holds, few enough that a
# pasted book costs milliseconds.
MAX_CHARACTERS = 20_000

LONGER, WARMTH = 12, 0.75
"""Tokens by which a sentence is continued, and at which temperature."""

MOST_RUN = 100_000_000
"""Bytes of residual stream of the longest text that is run: of a model of SmolLM2's size, some 1,300 tokens."""

MOST_KEPT_MODELS = max(1_200_000_000, (room.available() or 0) // 2)
"""Bytes of the weights of all loaded models together: a large one stays beside the small one that a page compares."""

_LOG = logging.getLogger(__name__)


MOST_OWN = 2
"""Models of a visitor's own: a third takes the place of the first."""

_KEPT = "runs.kept"


class Kept(NamedTuple):
    """A model that only this visitor has."""

    lm: vm.LanguageModel
    label: str


def kept() -> dict[str, Kept]:
    """The visitor's own models by name. They live in the session alone: no other visitor's run can name them."""
    return dict(st.session_state.get(_KEPT, {}))


def keep(make: Callable[[str], vm.LanguageModel], label: str) -> str:
    """Offer this visitor a model of their own; the name that ``make`` was given for it.

    No two models ever share a name, because what was run is cached by it; nor can it be guessed.
    """
    name = f"my-model-{uuid.uuid4().hex[:16]}"
    own = [*kept().items(), (name, Kept(make(name), label))]
    st.session_state[_KEPT] = dict(own[-MOST_OWN:])
    return name


def names() -> list[str]:
    """The models a visitor may choose from."""
    return list(offered())


def offered() -> dict[str, ModelConfig]:
    """The config of each of :func:`names`: the models of the server, then the visitor's own."""
    return configs() | {name: own.lm.config for name, own in kept().items()}


def readers() -> dict[str, ModelConfig]:
    """Those of :func:`offered` that read a text, as pages need that run it through several models."""
    return {name: config for name, config in offered().items() if not config.reads_pictures}


def label(name: str) -> str:
    """What a model is called on the screen."""
    own = kept()
    return own[name].label if name in own else name


def labels() -> dict[str, str]:
    """What each of :func:`names` is called: for widgets, which ask outside of a visitor's run too."""
    return {name: label(name) for name in names()}


class _Shelf(NamedTuple):
    """The models of this server: the config of each that can be opened, and of the others why they cannot."""

    configs: dict[str, ModelConfig]
    refused: dict[str, str]


@st.cache_resource(show_spinner=False)
def _shelf() -> _Shelf:
    shelf = _Shelf({}, {})
    for name in vm.models():
        try:
            shelf.configs[name] = registry.config_of(name)
        except vm.ModelError as error:
            _refuse(shelf, name, error)
    return shelf


def _refuse(shelf: _Shelf, name: str, error: vm.ModelError) -> None:
    _LOG.warning("model %s is left out: %s", name, error)
    shelf.configs.pop(name, None)
    # Where the server keeps its models is nobody's business: a message begins with the path of a file.
    shelf.refused[name] = re.sub(r"^.*?[/\\](?=[^/\\]+: )", "", str(error), count=1)


def configs() -> dict[str, ModelConfig]:
    """The config of every model that was there when somebody last looked; those that cannot be read are left out."""
    return _shelf().configs


def refused() -> dict[str, str]:
    """Why each of the models cannot be opened that are there and are left out."""
    return _shelf().refused


def leave_out(name: str, error: vm.ModelError) -> None:
    """Offer a model no longer whose weights or vocabulary turned out to be damaged."""
    _refuse(_shelf(), name, error)


def look_again() -> None:
    """Read the folders of models once more. What came with the app stays in memory, and all else is loaded anew."""
    before = _shelf()
    _shelf.clear()
    stays = {path.name for path in registry.BUNDLED.iterdir()}
    for name in {*before.configs, *before.refused} - stays:
        store("models", MOST_KEPT_MODELS).forget(lambda call, name=name: call.args[:1] == (name,))  # type: ignore[misc]
        _let_go(name)


def model(name: str) -> vm.LanguageModel:
    """A model of the server, or of this visitor."""
    own = kept()
    return own[name].lm if name in own else loaded(name)


def is_loaded(name: str) -> bool:
    """Whether :func:`model` has it at hand."""
    return name in kept() or loaded.holds(name)


def _weights(lm: vm.LanguageModel) -> int:
    """Bytes of a model: 540 MB where it has 135 million parameters."""
    return n_bytes(lm.model)


def _let_go(name: str) -> None:
    """Forget the runs of a model that has left: each of them would hold its weights."""

    def of_it(call: Call) -> bool:
        return any(name in (argument, getattr(argument, "model", None)) for argument in call.args)

    store("runs", MOST_KEPT).forget(of_it)


@cached(where=("models", MOST_KEPT_MODELS), size=_weights, beside=True, leave=lambda call: _let_go(call.args[0]))
def loaded(name: str) -> vm.LanguageModel:
    # Beside other processes, PyTorch's second thread waits more than it works (measured: 356 ms
    # for what one thread does in 7).
    torch.set_num_threads(1)
    lm = vm.load(name)  # with as many threads as the environment asks for
    # The libraries and the weights stay: Python's collector need not go through them again and again.
    gc.collect()
    gc.freeze()
    return lm


class RunKey(NamedTuple):
    """A run that a visitor asks for: the key under which it, and what follows from it, is kept.

    Texts, never tensors, so that equal keys are equal runs.

    Attributes:
        model: its name.
        text: one that :func:`readable` has passed.
        target: of an encoder–decoder, what its decoder has said so far.
        to: the language of the target, of a model that translates into several.
        edits: interventions, as an address writes them (:func:`viz_model.runs.edits.write`).
        as_text: whether control tokens that the text names are read as characters.
    """

    model: str
    text: str
    target: str | None = None
    to: str | None = None
    edits: str = ""
    as_text: bool = False

    @classmethod
    def of(cls, model: str, run: vm.Trace) -> "RunKey":
        """The key of a run of a text."""
        return cls(model, run.text or "", run.target, run.target_language, vm.edits.write(run.edits), run.as_text)

    @property
    def plain(self) -> "RunKey":
        """The same without interventions."""
        return self._replace(edits="")


def bytes_of(run: vm.Trace) -> int:
    """What a run keeps, and of a long one the block that may be computed again beside it."""
    lengths: dict[Side, int] = {side: len(run.at(side)) for side in run.config.sides}
    if not isinstance(run.values, Recomputed):
        return bytes_kept(run.config, lengths)
    blocks = sum(run.config.depth(side) for side in run.config.sides)
    storages = [value.untyped_storage() for value in run.values.kept.values()]
    stored = {storage.data_ptr(): storage.nbytes() for storage in storages}  # one may have two names
    noted = sum(note.lengths.nbytes + note.first.nbytes for note in run.values.noted.values())
    read_by_heads = 4 * run.config.d_model * max(lengths.values())
    return sum(stored.values()) + noted + read_by_heads + bytes_kept(run.config, lengths) // blocks


@cached(size=bytes_of)
def trace(asked: RunKey) -> vm.Trace:
    """What was asked for. It is immutable, so that visitors can share it.

    Raises:
        TextError: the text cannot be written in the model's vocabulary.
        ValueError: an edit names a place that the model or the text does not have.
    """
    return run(asked)


def run(
    asked: RunKey, mask: Mapping[Side, torch.Tensor] | None = None, picture: images.Levels | None = None
) -> vm.Trace:
    """Run a text, under another mask or on another picture where one is given; what comes out is not kept here."""
    lm = model(asked.model)
    with run_lock.RUNNING:
        return lm.trace(
            asked.text if picture is None else picture,
            asked.target,
            mask=mask,
            edits=vm.edits.parse(asked.edits),
            max_tokens=most_tokens(lm.config),
            target_language=asked.to,
            as_text=asked.as_text,
            between=run_lock.check,
        )


@cached()
def greedy_target(name: str, text: str, to: str | None = None) -> str:
    """What an encoder–decoder says to a source by itself: its greedy target."""
    lm = model(name)
    with run_lock.RUNNING:
        if isinstance(lm, ObservedModel):
            return lm.said(text, MOST_SAID)
        return lm.generate(text, max_new_tokens=MOST_SAID, temperature=0, target_language=to).text


def longer(name: str, text: str) -> str:
    """A sentence with what the model writes after it; the same where the model ends it there."""
    lm = model(name)
    if lm.config.kind != "decoder" or len(lm.tokenizer.encode(text)) >= most_tokens(lm.config):
        return text
    return text + lm.generate(text, max_new_tokens=LONGER, temperature=WARMTH, seed=len(text)).text


@functools.cache
def most_tokens(config: ModelConfig) -> int:
    """How many tokens of a text are run: the whole context, where the run's residual stream is not too large to keep.

    The rest of a run follows from its stream (:mod:`viz_model.runs.recompute`).
    """
    own = recompute.kept(config)
    # The stream that enters a block is the one that left the block below: one tensor under two names.
    rows = [(name, site) for name, site in sites.in_order(config) if name in own and not name.endswith("resid.in")]
    vectors = sum(math.prod(site.shape(1)) for _, site in rows)
    return max(1, min(config.n_context, MOST_RUN // (4 * vectors)))


def readable(text: str) -> tuple[str, int]:
    """``text`` with every lone surrogate replaced by U+FFFD and cut to what is ever tokenized.

    Returns it with the number of characters that were replaced.
    """
    head = text[:MAX_CHARACTERS]
    clean = head.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return clean, sum(0xD800 <= ord(c) <= 0xDFFF for c in head)
