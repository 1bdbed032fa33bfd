"""Loaded models and traced texts, shared by all visitors."""

from __future__ import annotations

import itertools
import threading
from typing import Any

import streamlit as st
import torch

import viz_model as vm
from viz_model.analysis.embedding import Geometry, geometry
from viz_model.analysis.gradients import StreamGradients, stream_gradients
from viz_model.generation import Step, steps
from viz_model.tokenizer import cl100k_base as cl100k_base
from viz_model.training.publish import read_log

# Characters that are tokenised at the most. Far more than any context holds, few enough that a
# pasted book costs milliseconds.
MAX_CHARACTERS = 20_000

# One run at a time: a second thread would only take the cores from the first.
_RUNNING = threading.Lock()


def names() -> list[str]:
    """The models a visitor may choose from."""
    return vm.models()


@st.cache_resource(show_spinner=False, max_entries=8)
def model(name: str) -> vm.LanguageModel:
    # Beside other processes, PyTorch's second thread waits more than it works (measured: 356 ms
    # for what one thread does in 7).
    torch.set_num_threads(1)
    return vm.load(name)


# A full context keeps about 16 MB, most of it logits.
@st.cache_resource(show_spinner=False, max_entries=16)
def trace(name: str, text: str) -> vm.Trace:
    """The trace of a text that :func:`readable` has passed.

    Keyed by name and text, never by tensors, and immutable, so that visitors can share it.
    """
    with _RUNNING:
        return model(name).trace(text)


def readable(text: str) -> tuple[str, int]:
    """``text`` with every lone surrogate replaced by U+FFFD and cut to what is ever tokenised.

    Returns it with the number of characters that were replaced.
    """
    head = text[:MAX_CHARACTERS]
    clean = head.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return clean, sum(0xD800 <= ord(c) <= 0xDFFF for c in head)


@st.cache_resource(show_spinner=False, max_entries=64)
def gradients(name: str, text: str) -> StreamGradients:
    """∂loss/∂r along the residual stream, for a text of at least 2 tokens."""
    run = trace(name, text)
    with _RUNNING:
        return stream_gradients(run)


@st.cache_resource(show_spinner=False, max_entries=8)
def training_log(name: str) -> list[dict[str, Any]]:
    """The log that lies beside a model's weights; empty where none does."""
    path = model(name).folder / "log.jsonl"
    return read_log(path) if path.exists() else []


@st.cache_resource(show_spinner=False, max_entries=64)
def drawn(name: str, text: str, sampling: vm.Sampling, seed: int, count: int) -> tuple[Step, ...]:
    """The first ``count`` tokens that continue the traced part of a text, fewer where the model ends it.

    An end-of-text token is the last one.
    """
    lm, ids = model(name), trace(name, text).ids
    found: list[Step] = []
    with _RUNNING:
        for step in itertools.islice(steps(lm.decoder(ids), lm.tokenizer, sampling, seed), count):
            found.append(step)
            if step.token.id == lm.tokenizer.end_of_text:
                break
    return tuple(found)


@st.cache_resource(show_spinner=False, max_entries=4)
def embedding_geometry(name: str) -> Geometry:
    """Nearest rows and principal directions of a model's embedding table."""
    return geometry(model(name).model.embedding.weight.detach().numpy())
