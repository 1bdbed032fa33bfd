"""What one head or one neuron is for: what it does on a run and over a sample of texts, and what is lost without it."""

from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from viz_model.checkpoints.registry import BUNDLED
from viz_model.explain.sample import BINS, FILE, REMOVED, ROLES, LossChange, UnitSample, bits, read, replaced, shipped
from viz_model.measures.neurons import promoted
from viz_model.model import sites
from viz_model.runs.record import record
from viz_model.runs.trace import Trace, counted

MEASURED = 64
"""Texts of a sample over which the loss without a neuron is measured when somebody asks."""


class Context(NamedTuple):
    """A text of the sample: its ``ids``, the unit's ``values`` on each of them [T], and the position ``at``.

    Of a neuron it is where the value is largest. Of a head it is the query whose weights the values are, and ``key``
    the token that it looks at.
    """

    ids: tuple[int, ...]
    values: np.ndarray
    at: int
    key: int | None


class Role(NamedTuple):
    """What a head scores for one of the roles, what all heads score [L, H], and its rank among them (1 is first)."""

    name: str
    score: float
    every: np.ndarray
    rank: int


class Alike(NamedTuple):
    """A head of a model whose scores are near, and the distance (Euclidean, over the roles)."""

    model: str
    layer: int
    head: int
    distance: float


class Removal(NamedTuple):
    """Bits of each token that comes on the run, as the model is and without the unit: [T − 1] each; and, where there is
    a sample, the change over some of its texts. ``mean`` says that its mean over the sample stood in for
    it; else it wrote nothing.
    """

    before: np.ndarray
    after: np.ndarray
    mean: bool
    change: LossChange | None
    n_texts: int


@dataclass(frozen=True, eq=False)
class Unit:
    """A head or a neuron of a layer, on a run; where there is a sample, over that too.

    Attributes:
        trace: the run.
        layer, head, neuron: which it is; one of the latter two is None.
        sample: what is known of it over many texts; None where nobody has measured.
    """

    trace: Trace
    layer: int
    head: int | None
    neuron: int | None
    sample: UnitSample | None
    _read: dict[str, Removal] = field(default_factory=dict, repr=False)

    @property
    def activity(self) -> Tensor:
        """The pattern of a head, [T, T]; the value of a neuron at each token, [T]."""
        return self._on(self.trace)

    def _on(self, trace: Trace) -> Tensor:
        at = f"blocks.{self.layer}."
        if self.head is not None:
            return trace.head(f"{at}attn.pattern", self.head)
        return trace[f"{at}ffn.act"][:, self.neuron]

    def writes(self, position: int = -1, most: int = 8) -> tuple[list[tuple[str, float]], list[tuple[str, float]]]:
        """The tokens that it pushes up most and down most, with the logits that it adds.

        Of a head it is what it writes at a position; of a neuron what it writes where its value is 1. It is read on the
        direct path, without later blocks and norms; nothing where there is none, as under a head with a layer of its
        own.
        """
        block = self.trace.stack.block(self.layer)
        if self.head is None:
            written = block.ffn.down.weight.detach()[:, self.neuron]
        else:
            o = block.attn.o.weight.detach().T.unflatten(0, (self.trace.config.n_heads, -1))[self.head]
            written = self.trace.row(f"blocks.{self.layer}.attn.z", position, self.head) @ o
        up, down = promoted(self.trace, torch.stack((written, -written)), most)
        return list(up), [(token, -logit) for token, logit in down]

    def removed(self) -> Removal:
        """The loss without it, measured now: on the run as the model makes it, and on some texts of the sample."""
        if "removed" not in self._read:
            edit = replaced(self.sample, self.layer, self.head, self.neuron)
            ids, model, sample = torch.tensor([self.trace.own_ids]), self.trace.model, self.sample
            before, after = (bits(model, ids, one)[0].numpy() for one in (None, edit))
            change, most = None, MEASURED if self.head is None else REMOVED
            if sample is not None and self.head is None:
                change = sample.change(model, edit, most)
            elif sample is not None:
                change = LossChange(*sample["heads.change"][self.layer, self.head].tolist())
            n_texts = 0 if sample is None else len(sample.some(most))
            self._read["removed"] = Removal(before, after, sample is not None, change, n_texts)
        return self._read["removed"]

    # Over the sample.

    @property
    def _at(self) -> tuple[str, tuple[int, ...]]:
        """Its place among the values of a sample."""
        if self.head is not None:
            return "heads", (self.layer, self.head)
        return str(self.layer), (self.neuron or 0,)

    def found(self, name: str) -> np.ndarray:
        """One of the sample's values of this unit (:class:`UnitSample`).

        Raises:
            ValueError: there is no sample.
        """
        if self.sample is None:
            raise ValueError("there is no sample for this model: vm.explain.sample_units makes one")
        group, place = self._at
        return self.sample[f"{group}.{name}"][place].float().numpy()

    def histogram(self) -> tuple[np.ndarray, np.ndarray]:
        """Edges [B + 1] and shares [B]: of a neuron's values on all tokens, or of a head's largest weights."""
        counts = self.found("counts")
        low, high = (0.0, 1.0) if self.head is not None else (float(self.found("low")), float(self.found("high")))
        return np.linspace(low, high, BINS + 1), counts / counts.sum()

    def contexts(self, most: int = 6) -> list[Context]:
        """The texts in which its value is largest, or in which it looks at another token most, the strongest first."""
        texts, places = self.found("text"), self.found("query" if self.head is not None else "position")
        keys = self.found("key") if self.head is not None else np.full(len(texts), -1)
        assert self.sample is not None
        contexts = []
        for text, place, key in zip(texts[:most].astype(int), places.astype(int), keys.astype(int), strict=False):
            if text < 0:
                break
            ids = tuple(self.sample["ids"][text].tolist())
            values = self._on(record(self.trace.model, self.trace.tokenizer, ids)).numpy()
            row = values if self.head is None else values[place]
            contexts.append(Context(ids, row, int(place), None if self.head is None else int(key)))
        return contexts

    def roles(self) -> list[Role]:
        """What a head scores for each role, beside all heads of the model."""
        scores = self.found("roles")
        assert self.sample is not None
        every = self.sample["heads.roles"].numpy()
        rank = 1 + (every > scores).sum((0, 1))
        return [Role(name, float(scores[n]), every[..., n], int(rank[n])) for n, name in enumerate(ROLES)]

    def alike(self, most: int = 5) -> list[Alike]:
        """The heads of this model, and of the bundled ones that have a sample, that are nearest by their scores."""
        own, here = self.found("roles"), (self.trace.name, self.layer, self.head)
        assert self.sample is not None
        others = {path.parent.name: read(path) for path in sorted(BUNDLED.glob(f"*/{FILE}"))}
        known = {**others, self.trace.name: self.sample}
        found = []
        for name, sample in known.items():
            roles = sample["heads.roles"].numpy()
            far = np.linalg.norm(np.nan_to_num(roles - own), axis=-1)
            places = zip(*np.nonzero(~np.isnan(roles).all(-1)), strict=True)  # what holds a state has no roles
            found += [Alike(name, int(layer), int(head), float(far[layer, head])) for layer, head in places]
        return sorted((one for one in found if one[:3] != here), key=lambda one: one.distance)[:most]


def unit(
    trace: Trace, layer: int, *, head: int | None = None, neuron: int | None = None, sample: UnitSample | None = None
) -> Unit:
    """What a head or a neuron is for: what it does on this run, over a sample of texts, and what is lost without it.

    Args:
        layer, head, neuron: counted from 0, or from the end where negative; a head, or a neuron.
        sample: by default the one that was shipped with the model; without one, only what needs the run is known.

    Raises:
        ValueError: the model is no decoder that predicts tokens, neither or both of head and neuron were given, or
            the layer has no neurons, or a state instead of attention weights. IndexError: there is no such layer, head
            or neuron.
    """
    if trace.config.kind != "decoder" or not trace.config.has_logits:
        raise ValueError("units: a decoder that predicts tokens is asked")
    if (head is None) == (neuron is None):
        raise ValueError("give either head= or neuron=")
    layer = counted("layer", layer, trace.n_layers)
    if head is not None:
        if f"blocks.{layer}.attn.pattern" not in trace:
            raise ValueError(f"head: layer {layer} holds a state, and its heads have no attention weights")
        head = counted("head", head, trace.config.n_heads)
    elif neuron is not None:
        if not (n := sites.n_neurons(trace.config, trace.stack.side, layer)):
            raise ValueError(f"neuron: the feed-forward of layer {layer} has no hidden neurons")
        neuron = counted("neuron", neuron, n)
    return Unit(trace, layer, head, neuron, sample or shipped(trace.model, trace.name))
