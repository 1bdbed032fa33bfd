"""viz_model.runs.edits.routing: routers changed, against the same made by hand from the router's own logits."""

from __future__ import annotations

import math

import pytest
import torch
from identities import check_identities
from tiny_models import EXPERTS, close, language_model, run_both, tiny_config

from viz_model import config as choices
from viz_model.config import ModelConfig
from viz_model.model.feedforward import Experts
from viz_model.runs.edits import Edit, ExpertOff, ExpertOnly, parse, write

CONFIGS = [tiny_config(ffns=(choices.Dense(), ffn)) for ffn in EXPERTS]
CONFIGS.append(tiny_config(kind="encoder_decoder", start_id=0, ffn=EXPERTS[1]))
every = pytest.mark.parametrize("config", CONFIGS, ids=range(len(CONFIGS)))


def by_hand(config: ModelConfig, router: torch.Tensor) -> torch.Tensor:
    """[T, E] logits to weights: the softmax and the choice of the few that are left, one token at a time."""
    ffn = config.layer(config.sides[-1], 1).ffn
    assert isinstance(ffn, choices.Experts)
    found = torch.zeros_like(router)
    for row, logits in zip(found, router.tolist(), strict=True):
        left = sorted((n for n, x in enumerate(logits) if x > -math.inf), key=lambda n: -logits[n])
        chosen = left[: ffn.top_k]
        powers = {n: math.exp(logits[n]) for n in left}
        over = chosen if ffn.normalise or ffn.softmax == "chosen" else left
        for n in chosen:
            row[n] = powers[n] / sum(powers[m] for m in over)
    return found


@every
def test_an_expert_that_is_out_is_asked_by_nobody_and_the_others_share_its_weight(config: ModelConfig) -> None:
    lm, side = language_model(config), config.sides[-1]
    plain = run_both(lm).at(side)
    gone = int(plain["blocks.1.ffn.chosen"].sum(0).argmax())
    edited = run_both(lm, edits=[ExpertOff(layer=1, expert=gone)]).at(side)
    router = plain["blocks.1.ffn.router"].clone()
    router[:, gone] = -math.inf
    assert torch.equal(edited["blocks.1.ffn.router"], router)
    close(edited["blocks.1.ffn.chosen"], by_hand(config, router))
    assert not edited["blocks.1.ffn.expert_out"][:, gone].any()
    assert plain["blocks.1.ffn.expert_out"][:, gone].any()
    kept = plain["blocks.1.ffn.chosen"][:, gone] == 0
    asked = [run["blocks.1.ffn.chosen"][kept] > 0 for run in (plain, edited)]
    assert torch.equal(*asked)  # who had not chosen it keeps its experts
    check_identities(edited)


@every
@pytest.mark.parametrize("position", [None, 2])
def test_one_expert_alone_writes_what_its_network_writes(config: ModelConfig, position: int | None) -> None:
    lm, side = language_model(config), config.sides[-1]
    plain = run_both(lm).at(side)
    edited = run_both(lm, edits=[ExpertOnly(layer=1, expert=2, position=position)]).at(side)
    rows = range(len(plain)) if position is None else [position]
    layer = lm.model.stack(side).block(1).ffn
    assert isinstance(layer, Experts)
    own = slice(2 * layer.width, 3 * layer.width)
    x = edited["blocks.1.ffn.norm.out"] if "blocks.1.ffn.norm.out" in edited else edited["blocks.1.resid.mid"]
    hidden = edited["blocks.1.ffn.expert_act"][:, 2]
    written = hidden @ layer.down.weight[:, own].T
    if layer.down_bias is not None:
        written = written + layer.down_bias.weight[:, 2]
    for n in range(len(plain)):
        if n in rows:
            assert edited["blocks.1.ffn.chosen"][n].tolist() == [float(e == 2) for e in range(layer.ffn.n_experts)]
            close(edited["blocks.1.ffn.expert_out"][n, 2], written[n])
        else:
            close(edited["blocks.1.ffn.chosen"][n], plain["blocks.1.ffn.chosen"][n])
    assert x.shape == written.shape
    check_identities(edited)


def test_what_is_out_is_out_for_what_comes_after_and_the_last_one_stays() -> None:
    config = CONFIGS[0]
    lm, last = language_model(config), "expert: no expert of layer 1 is left"
    n = EXPERTS[0].n_experts
    off = [ExpertOff(layer=1, expert=e) for e in range(n)]
    alone = run_both(lm, edits=off[:-1])
    same = run_both(lm, edits=[ExpertOnly(layer=1, expert=n - 1)])
    close(alone["logits"], same["logits"])
    refused: list[list[Edit]] = [list(off), [off[0], ExpertOnly(layer=1, expert=0)]]
    refused.append([ExpertOnly(layer=1, expert=0, position=1), off[0]])
    for edits in refused:
        with pytest.raises(ValueError, match=f"^{last}"):
            run_both(lm, edits=edits)


@pytest.mark.parametrize(
    ("edit", "message"),
    [
        (ExpertOff(layer=0, expert=0), "layer: 0 has one feed-forward network for all tokens, and no experts"),
        (ExpertOff(layer=2, expert=0), "layer: expected 0 to 1, got 2"),
        (ExpertOff(layer=1, expert=4), "expert: expected 0 to 3, got 4"),
        (ExpertOnly(layer=1, expert=-1), "expert: expected 0 to 3, got -1"),
        (ExpertOnly(layer=1, expert=0, position=7), "position: expected 0 to 6, got 7"),
        (ExpertOff(layer=1, expert=0, side="encoder"), "side: this model has decoder, not encoder"),
    ],
)
def test_places_that_are_not_there_are_named(edit: Edit, message: str) -> None:
    with pytest.raises(ValueError, match=f"^{message}"):
        run_both(language_model(CONFIGS[0]), edits=[edit])


def test_a_text_is_continued_with_an_expert_out() -> None:
    config = tiny_config(ffn=EXPERTS[0], n_vocab=8192, n_context=32)
    lm = language_model(config)
    off: list[Edit] = [ExpertOff(layer=0, expert=1)]
    written = lm.generate("Once upon", max_new_tokens=3, temperature=0.0, edits=off)
    ids = list(lm.trace("Once upon", edits=off).ids)
    for token in written.tokens:
        ids.append(int(lm.trace(ids=ids, edits=off)["logits"][-1].argmax()))
        assert token.id == ids[-1]
    with pytest.raises(ValueError, match=r"^edits: expert-only names positions"):
        lm.generate("Once", edits=[ExpertOnly(layer=0, expert=1, position=0)])


def test_their_addresses() -> None:
    made = (ExpertOff(layer=1, expert=7), ExpertOnly(layer=3, expert=0, position=2), ExpertOnly(layer=3, expert=1))
    assert write(made) == "expert-off.1.7~expert-only.3.0.2~expert-only.3.1"
    assert parse(write(made)) == made
