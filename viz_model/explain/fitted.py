"""A fitted lens: what each depth of a model knows of its answer, read by an affine map of its own.

The plain lens (:mod:`viz_model.measures.lens`) reads the stream before a block as if it were the last vector, and finds
little there in the first blocks: they write in directions that only later blocks turn into those of the unembedding. A
fitted lens learns that turn: for each block the affine map from the stream before it to what the unembedding reads at
the same position that comes closest, in the mean of squares, over many texts (Belrose et al. 2023, "Eliciting Latent
Predictions from Transformers with the Tuned Lens", who fit by gradient descent on the KL divergence).
"""

from __future__ import annotations

import functools
import math
import zlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple
from weakref import WeakKeyDictionary

import numpy as np
import torch
from safetensors import safe_open
from safetensors.torch import save_file
from torch import Tensor

from viz_model.checkpoints.registry import BUNDLED
from viz_model.measures import lens as plain_lens
from viz_model.measures.lens import Reader
from viz_model.model import ops, stored
from viz_model.model.transformer import Transformer
from viz_model.runs.language_model import LanguageModel
from viz_model.runs.recorder import recorder
from viz_model.runs.trace import Trace, counted

FILE = "lens.safetensors"
RIDGE = 1e-6
"""Of the mean square of the stream: what keeps directions that no text uses from being divided by nothing."""


@dataclass(frozen=True, eq=False)
class FittedLens:
    """``maps`` [L, D + 1, D], one for each block; the last row is what is added. ``of`` tells the weights apart."""

    maps: Tensor
    of: str

    def read(self, stream: Tensor, layer: int) -> Tensor:
        """What the unembedding would read, of the stream before a block: [.., D] -> [.., D]."""
        return stream @ self.maps[layer, :-1] + self.maps[layer, -1]

    def save(self, path: str | Path) -> None:
        """Write it to a ``.safetensors`` file, in half precision."""
        save_file({"maps": self.maps.half().contiguous()}, path, metadata={"of": self.of})

    @classmethod
    def load(cls, path: str | Path) -> FittedLens:
        """Read what :meth:`save` wrote."""
        with safe_open(path, "pt") as file:
            return cls(file.get_tensor("maps").float(), (file.metadata() or {}).get("of", ""))


def fit_lens(lm: LanguageModel, texts: Iterable[str | Sequence[int]]) -> FittedLens:
    """Fit a lens to a decoder on texts, or on token ids; a few hundred stories are enough for a model of 3 million.

    Raises:
        ValueError: the model is no decoder with logits, or there are no texts.
    """
    config = lm.config
    if config.kind != "decoder" or not config.has_logits:
        raise ValueError("a lens is fitted to a decoder that predicts tokens")
    names = [f"blocks.{layer}.resid.in" for layer in range(config.n_layers)]
    width, n = config.d_model + 1, 0
    squares = torch.zeros(config.n_layers, width, width, dtype=torch.float64)
    products = torch.zeros(config.n_layers, width, config.d_model, dtype=torch.float64)
    with torch.inference_mode():
        for text in texts:
            ids = lm.tokenizer.encode(text) if isinstance(text, str) else list(text)
            ids = ids[: config.n_context]
            if not ids:
                continue
            tap = recorder(config, {}, frozenset(names))
            read = lm.model.head.before(lm.model.vectors(torch.tensor([ids]), tap=tap))[0]
            ones, n = torch.ones(len(ids), 1), n + len(ids)
            for layer, name in enumerate(names):
                x = torch.cat((tap.values[name][0], ones), -1)
                squares[layer] += (x.T @ x).double()
                products[layer] += (x.T @ read).double()
    if not n:
        raise ValueError("texts: there are none")
    ridge = RIDGE * squares.diagonal(dim1=-2, dim2=-1).mean(-1)
    factor = torch.linalg.cholesky(squares + ridge[:, None, None] * torch.eye(width))
    found = torch.cholesky_solve(products, factor)
    return FittedLens(found.float(), digest(lm.model))


def lens(trace: Trace, layer: int, fitted: FittedLens | None = None) -> Tensor:
    """The logits that a fitted lens reads off the stream before a block, at every position: [T, V].

    Args:
        layer: of the block, counted from 0, or from the end where it is negative.
        fitted: by default the lens that was shipped with the model.

    Raises:
        IndexError: no such layer. ValueError: there is no lens for this model.
    """
    fitted = fitted or shipped(trace.model, trace.name)
    if fitted is None:
        raise ValueError("there is no fitted lens for this model: vm.explain.fit_lens makes one")
    layer = counted("layer", layer, trace.n_layers)
    with torch.inference_mode():
        return logits(trace, fitted.read(trace[f"blocks.{layer}.resid.in"], layer))


def logits(trace: Trace, read: Tensor) -> Tensor:
    """What the unembedding makes of vectors that it reads: [.., D] -> [.., V]."""
    unembedding = trace.model.unembedding
    found = stored.products(read, unembedding)
    return ops.cap(found if unembedding.bias is None else found + unembedding.bias, trace.model.head.cap)


def reader(fitted: FittedLens) -> Reader:
    """The lens as what reads any depth; after the last block that is what the model says."""

    def read(trace: Trace, depth: int, positions: Sequence[int]) -> Tensor:
        if depth == trace.n_layers:
            return plain_lens.plain(trace, depth, positions)
        with torch.inference_mode():
            return logits(trace, fitted.read(trace[f"blocks.{depth}.resid.in"][list(positions)], depth))

    return read


def shipped(model: Transformer, name: str) -> FittedLens | None:
    """The lens that came with a bundled model, where these are its weights."""
    path = BUNDLED / name / FILE
    if not name or not path.is_file():
        return None
    found = _read(path)
    return found if found.of == digest(model) else None


@functools.lru_cache(maxsize=16)
def _read(path: Path) -> FittedLens:
    return FittedLens.load(path)


def digest(model: Transformer) -> str:
    """What tells a model's weights from others'."""
    if model not in _DIGESTS:
        weights = [
            zlib.crc32(value.detach().cpu().contiguous().view(torch.uint8).numpy())
            for value in model.state_dict().values()
        ]
        _DIGESTS[model] = f"{zlib.crc32(repr(weights).encode()):08x}"
    return _DIGESTS[model]


_DIGESTS: WeakKeyDictionary[Transformer, str] = WeakKeyDictionary()
"""Of models that were asked about: their weights are never changed."""


class Agreement(NamedTuple):
    """How close what a lens reads is to what the model says in the end, by layer [L].

    ``agree`` is the share of positions where both name the same token, ``bits`` the mean KL divergence of what is read
    from what is said.
    """

    agree: tuple[float, ...]
    bits: tuple[float, ...]


def agreement(lm: LanguageModel, texts: Iterable[Sequence[int]], fitted: FittedLens) -> tuple[Agreement, Agreement]:
    """How close the plain lens comes on texts that it was not fitted to, and how close the fitted one."""
    sums, n = np.zeros((2, 2, lm.config.n_layers)), 0
    with torch.inference_mode():
        for ids in texts:
            trace = lm.trace(ids=ids, keep="everything")
            said = trace["logits"].log_softmax(-1)
            n += len(trace)
            for layer in range(trace.n_layers):
                plain = plain_lens.logits(trace, plain_lens.stream(trace, layer, range(len(trace))))
                for row, read in enumerate((plain, lens(trace, layer, fitted))):
                    known = read.log_softmax(-1)
                    same = (known.argmax(-1) == said.argmax(-1)).sum()
                    bits = (said.exp() * (said - known)).sum() / math.log(2)
                    sums[row, :, layer] += float(same), float(bits)
    plain_found, fitted_found = (Agreement(*(tuple((row / n).tolist()) for row in rows)) for rows in sums)
    return plain_found, fitted_found
