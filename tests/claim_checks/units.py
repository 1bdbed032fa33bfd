"""Claims of the page of heads and neurons."""

from collections.abc import Iterator
from functools import partial

import numpy as np
import torch

from claim_checks import Shown, seed
from viz_model import explain
from viz_model.explain.sample import ROLES, LossChange, UnitSample, logits, replaced, shipped
from viz_model.explain.units import Role
from viz_model.runs.record import record
from viz_model.runs.trace import Trace
from viz_model.topics.units.asked import FIRES, ROLE
from viz_model.topics.units.here import REMOVED


def _roles(**scores: float) -> tuple[Role, ...]:
    return tuple(Role(name, scores.get(name, 0.1), np.zeros((1, 1)), 1) for name in ROLES)


EXAMPLES = {
    "units.role.induction": (_roles(repeated=0.6), _roles(repeated=0.4)),
    "units.role.previous": (_roles(previous=0.6), _roles(previous=0.5)),
    "units.role.itself": (_roles(itself=0.6), _roles(itself=0.4)),
    "units.role.first": (_roles(first=0.6), _roles(first=0.4)),
    "units.fires.never": (0.0, 0.01),
    "units.fires.rarely": (0.04, 0.06),
    "units.fires.often": (0.6, 0.5),
    "units.removed.worse": (LossChange(0.004, 0.001), LossChange(0.002, 0.001)),
    "units.removed.better": (LossChange(-0.004, 0.001), LossChange(-0.002, 0.001)),
}
ELSEWHERE = ("units.role.first", "units.role.induction", "units.removed.better")
"""Of heads that the story decoders do not have; and of neurons, which each test run would measure anew."""


def _role(trace: Trace, layer: int, head: int, claim: str) -> bool:
    """From patterns of every fortieth text; of repeated tokens, on tokens drawn here."""
    rows = _sample(trace)["ids"][::40].long()
    if claim == "induction":
        rows = torch.randint(0, 8000, (8, 25), generator=torch.Generator().manual_seed(7)).repeat(1, 4)
    found: list[float] = []
    for ids in rows.tolist():
        run = record(trace.model, trace.tokenizer, ids)
        for query, weights in enumerate(run.head(f"blocks.{layer}.attn.pattern", head)):
            after = [key + 1 for key in range(query - 1) if ids[key] == ids[query]]
            keys = {"previous": [query - 1], "itself": [query], "first": [0], "induction": after}[claim]
            if query and keys:
                found.append(float(weights[keys].sum()))
    return sum(found) / len(found) > 0.45


def _fires(trace: Trace, layer: int, neuron: int, claim: str) -> bool:
    runs = (record(trace.model, trace.tokenizer, ids) for ids in _sample(trace)["ids"][::16].long().tolist())
    share = float(torch.cat([run[f"blocks.{layer}.ffn.act"][:, neuron] > 0 for run in runs]).float().mean())
    return {"never": share == 0, "rarely": share < 0.07, "often": share > 0.45}[claim]


def _sample(trace: Trace) -> UnitSample:
    sample = shipped(trace.model, trace.name)
    assert sample is not None
    return sample


def _removed(trace: Trace, layer: int, head: int, claim: str) -> bool:
    """Over some of the texts, by PyTorch's own loss."""
    edit, texts = replaced(_sample(trace), layer, head=head), _sample(trace).some(64)
    loss = [
        torch.nn.functional.cross_entropy(logits(trace.model, texts, one)[:, :-1].flatten(0, 1), texts[:, 1:].flatten())
        for one in (None, edit)
    ]
    return float(loss[1] > loss[0]) == (claim == "worse")


def shown(trace: Trace) -> Iterator[Shown]:
    """Of some heads and neurons of models that have a sample; of few texts, for a sample says the same of all."""
    sample = shipped(trace.model, trace.name) if trace.side in (None, "decoder") else None
    if sample is None or seed(trace.text or "") % 80:
        return
    scores, change = sample["heads.roles"].numpy(), sample["heads.change"].numpy()
    for values in (scores[..., 0], scores[..., 1]):
        layer, head = map(int, np.unravel_index(np.nanargmax(values), values.shape))
        roles = tuple(explain.unit(trace, layer, head=head).roles())
        yield Shown(ROLE, roles, partial(_role, trace, layer, head))
    for layer in range(trace.n_layers):
        fires = sample[f"{layer}.fires"]
        neuron = int(fires.argmin() if layer % 2 else fires.argmax())
        yield Shown(FIRES, float(fires[neuron]), partial(_fires, trace, layer, neuron))
    sure = change[..., 0] / change[..., 1]
    layer, head = map(int, np.unravel_index(np.nanargmax(sure), sure.shape))
    yield Shown(REMOVED, LossChange(*change[layer, head].tolist()), partial(_removed, trace, layer, head))
