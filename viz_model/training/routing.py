"""What the experts of a model get of texts of several kinds: measured when it is published, and shipped beside it."""

import itertools
from collections.abc import Iterable
from typing import Any

import torch
from torch import Tensor

from viz_model.model import ops
from viz_model.model.feedforward import Experts
from viz_model.runs.language_model import LanguageModel
from viz_model.training.batches import in_windows
from viz_model.training.corpus import Corpus
from viz_model.training.sources import KINDS
from viz_model.training.upcycle import watched

FILE = "routing.json"
BATCHES = 4
"""Of each kind, 16 windows of the whole context each."""
MOST_TOKENS, LEAST_TIMES = 8, 20
"""How many tokens are told of an expert, and how often each must have occurred."""


@torch.no_grad()
def measure(lm: LanguageModel, corpus: Corpus, trained_on: Iterable[str]) -> dict[str, Any]:
    """Of every layer with experts, by kind of held-out text: shares, balance, and the tokens of each expert.

    ``shares`` are of the kind's tokens those that chose each expert, so that they sum to ``top_k``; ``balance`` is
    E · Σ f·P (Fedus et al. 2022, equation 4), over all kinds alike under ``all``. ``tokens`` names for each expert the
    tokens of which it reads most beyond its share of all, with the share of their occurrences that it reads, and the
    number of these.
    """
    ids: dict[str, Tensor] = {}
    routers: dict[str, dict[str, Tensor]] = {}
    for kind in KINDS:
        batches = itertools.islice(in_windows(corpus.languages[kind].held_out.ids, lm.config.n_context), BATCHES)
        with watched(lm.model, lambda out, _: out.flatten(0, -2)) as seen:
            read = [batch.ids for batch in batches]
            for each in read:
                lm.model.vectors(each)
        ids[kind] = torch.cat([each.flatten() for each in read])
        routers[kind] = {name.split(".")[-2]: torch.cat(found) for name, found in seen.items()}
    layers = {}
    for layer in next(iter(routers.values())):
        module = lm.model.stack("decoder").block(int(layer)).ffn
        assert isinstance(module, Experts)
        logits = {kind: found[layer] for kind, found in routers.items()}
        chosen = {kind: ops.is_top(found, module.ffn.top_k).double() for kind, found in logits.items()}
        probs = {kind: found.double().softmax(-1) for kind, found in logits.items()}
        layers[layer] = {
            "shares": {kind: _rounded(found.mean(0)) for kind, found in chosen.items()},
            "balance": {kind: _balance([chosen[kind]], [probs[kind]], module.ffn.top_k) for kind in KINDS}
            | {"all": _balance([*chosen.values()], [*probs.values()], module.ffn.top_k)},
            "tokens": _tokens(lm, torch.cat([*ids.values()]), torch.cat([*chosen.values()])),
        }
    n_tokens = {kind: len(found) for kind, found in ids.items()}
    return {"trained_on": list(trained_on), "n_tokens": n_tokens, "layers": layers}


def _balance(chosen: list[Tensor], probs: list[Tensor], top_k: int) -> float:
    """Each kind counts alike, however many tokens it has."""
    f, p = (torch.stack([part.mean(0) for part in parts]).mean(0) for parts in (chosen, probs))
    return round(float(len(f) * (f / top_k * p).sum()), 4)


def _tokens(lm: LanguageModel, ids: Tensor, chosen: Tensor) -> list[list[tuple[str, float, int]]]:
    """For each expert of [N, E] choices its tokens: label, share of its occurrences that it reads, occurrences."""
    found, place, times = ids.unique(return_inverse=True, return_counts=True)
    shares = torch.zeros(len(found), chosen.shape[1], dtype=torch.double).index_add_(0, place, chosen) / times[:, None]
    beyond = (shares - chosen.mean(0)) * times[:, None]
    beyond[times < LEAST_TIMES] = -torch.inf
    told = []
    for expert, column in enumerate(beyond.T):
        best = [n for n in column.topk(min(MOST_TOKENS, len(column))).indices.tolist() if column[n] > 0]
        labels = [token.label for token in lm.tokenizer.tokens([int(found[n]) for n in best])]
        rows = zip(labels, shares[best, expert].tolist(), times[best].tolist(), strict=True)
        told.append([(label, round(share, 3), n) for label, share, n in rows])
    return told


def _rounded(shares: Tensor) -> list[float]:
    return [round(share, 4) for share in shares.tolist()]
