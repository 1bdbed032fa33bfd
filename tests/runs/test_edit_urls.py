"""viz_model.runs.edits.address: edits as text for an address, and what is refused there."""

import math
import re
import urllib.parse

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from identities import check_cells
from tiny_models import EXPERTS, close, language_model, run_both, tiny_config

from viz_model import config as choices
from viz_model.config import ModelConfig
from viz_model.model.feedforward import Experts
from viz_model.runs import edits
from viz_model.runs.edits import Edit
from viz_model.runs.edits.address import MOST_CHARACTERS, MOST_EDITS
from viz_model.runs.edits.inputs import FlipMask, NoMask, ShuffleTokens
from viz_model.runs.edits.structure import ExpertOff, ExpertOnly, NoNorm, NoScale
from viz_model.runs.edits.values import AblateHead, FixPattern, PatchResidual, SetNeuron, Skip

EXAMPLES: list[tuple[tuple[Edit, ...], str]] = [
    ((), ""),
    ((AblateHead(layer=1, head=3), Skip(layer=2, part="ffn")), "head-off.1.3~skip.2.ffn"),
    ((AblateHead(layer=0, head=0, side="encoder"),), "head-off.0.0.encoder"),
    ((AblateHead(layer=0, head=0, attention="cross", to="mean"),), "head-off.0.0..cross.mean"),
    ((FixPattern(layer=0, head=2, pattern="uniform"),), "pattern.0.2.uniform"),
    ((FixPattern(layer=0, head=2, pattern=((1.0, 0.0), (0.25, 0.75))),), "pattern.0.2.1-0_0p25-0p75"),
    ((SetNeuron(layer=1, neuron=7, value=-1.5),), "neuron.1.7.m1p5"),
    ((SetNeuron(layer=1, neuron=7, value=1e-7, position=2),), "neuron.1.7.1em07.2"),
    ((FlipMask(query=2), FlipMask(query=2, key=0, layer=1, side="decoder")), "flip.2~flip.2.0.1.decoder"),
    ((ShuffleTokens(seed=7), ShuffleTokens(order=(1, 0, 2))), "shuffle.7~shuffle..1-0-2"),
    ((NoScale(), NoMask(), NoMask(side="encoder"), NoNorm()), "no-scale~no-mask~no-mask.encoder~no-norm"),
    (
        (PatchResidual(site="blocks.1.resid.out", position=3, from_text="The cat, 猫"),),
        "patch.blocks_1_resid_out.3..The_cat-2C-_-732B-",
    ),
    (
        (PatchResidual(site="decoder.embed.out", position=0, from_position=1, from_ids=(4, 5), from_target=""),),
        "patch.decoder_embed_out.0.1..--.4-5",
    ),
]


@pytest.mark.parametrize(("made", "text"), EXAMPLES)
def test_what_an_address_looks_like(made: tuple[Edit, ...], text: str) -> None:
    assert edits.write(made) == text and edits.parse(text) == made
    assert urllib.parse.quote(text, safe="") == text  # stands in an address as it is


small = st.integers(0, 10**6)
rows = st.integers(1, 4).flatmap(
    lambda n: st.lists(
        st.lists(st.floats(0.01, 1), min_size=n, max_size=n).map(lambda row: tuple(x / sum(row) for x in row)),
        min_size=1,
        max_size=4,
    ).map(tuple)
)
said = st.fixed_dictionaries({"from_text": st.text(min_size=1, max_size=30)}, optional={"from_target": st.text()})
any_edit = st.one_of(
    st.sampled_from([one for made, _ in EXAMPLES for one in made]),
    st.builds(FixPattern, layer=small, head=small, pattern=rows),
    st.builds(SetNeuron, layer=small, neuron=small, value=st.floats(-1e6, 1e6), position=st.none() | small),
    st.builds(ExpertOnly, layer=small, expert=small, position=st.none() | small),
    st.builds(ShuffleTokens, seed=st.integers(0, 2**63 - 1), side=st.sampled_from([None, "encoder", "decoder"])),
    said.map(lambda told: PatchResidual(site="encoder.blocks.11.resid.cross", position=3, **told)),  # type: ignore[arg-type]
)


@given(st.lists(any_edit, max_size=5).map(tuple))
def test_round_trip(made: tuple[Edit, ...]) -> None:
    text = edits.write(made)
    assert edits.parse(text) == made and re.fullmatch(r"[A-Za-z0-9.~_-]*", text)


@given(st.text(max_size=80) | st.from_regex(r"\A(head-off|pattern|neuron|patch|shuffle|flip)(\.[\w.~-]{0,20}){0,6}\Z"))
def test_hostile_text_is_refused_in_one_line(text: str) -> None:
    try:
        made = edits.parse(text)
    except ValueError as refused:
        assert str(refused).startswith("edits: ") and "\n" not in str(refused)
        assert len(str(refused)) < 500
    else:
        assert edits.parse(edits.write(made)) == made


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("explode", "edits: 'explode': no such edit, there are head-off"),
        ("head-off.1.3~", "edits: '': no such edit"),
        ("skip.2.norm", "edits: 'skip.2.norm': part: expected one of attn, cross, ffn"),
        ("skip.².ffn", "edits: 'skip.².ffn': layer: expected a whole number"),
        ("skip.2", "edits: 'skip.2': part: missing"),
        ("skip.2.ffn.decoder.5", "edits: .*: expected at most layer, part, side"),
        ("neuron.0.0.1e999", "edits: .*: value: expected a number"),
        ("pattern.0.0.1-0_0p5-0p4", "edits: .*: pattern: row 1 sums to 0.9"),
        ("shuffle", "edits: 'shuffle': seed: give either"),
        ("patch.__import__('os').0..x", "edits: .*: site: expected a site"),
        ("patch.embed_out.0..-FFFFFF-", "edits: .*: from_text: expected a text"),
        ("no-scale.1", "edits: .*: expected at most no fields"),
        ("x" * 4001, f"edits: expected at most {MOST_CHARACTERS} characters"),
        ("~".join(["no-norm"] * 33), f"edits: expected at most {MOST_EDITS}, got 33"),
    ],
)
def test_the_part_that_is_wrong_is_named(text: str, message: str) -> None:
    with pytest.raises(ValueError, match=f"^{message}"):
        edits.parse(text)


CONFIGS = [tiny_config(ffns=(choices.Dense(), ffn)) for ffn in sorted(EXPERTS, key=lambda ffn: ffn.n_groups)]
CONFIGS.append(tiny_config(kind="encoder_decoder", start_id=0, ffn=EXPERTS[1]))
UNGROUPED = [one for one in CONFIGS if one.layer(one.sides[-1], 1).experts.n_groups == 1]  # type: ignore[union-attr]


def by_hand(config: ModelConfig, router: torch.Tensor) -> torch.Tensor:
    """[T, E] logits to weights: the softmax and the choice of the few that are left, one token at a time."""
    ffn = config.layer(config.sides[-1], 1).ffn
    assert isinstance(ffn, choices.Experts)
    found = torch.zeros_like(router)
    for row, logits in zip(found, router.tolist(), strict=True):
        left = sorted((n for n, x in enumerate(logits) if x > -math.inf), key=lambda n: -logits[n])
        chosen = left[: ffn.top_k]
        powers = {n: math.exp(logits[n]) for n in left}
        over = chosen if ffn.normalize or ffn.softmax == "chosen" else left
        for n in chosen:
            row[n] = powers[n] / sum(powers[m] for m in over)
    return found


@pytest.mark.parametrize("config", UNGROUPED, ids=range(len(UNGROUPED)))
def test_an_expert_that_is_out_is_asked_by_nobody_and_the_others_share_its_weight(config: ModelConfig) -> None:
    lm, side = language_model(config), config.sides[-1]
    plain = run_both(lm).at(side)
    gone = int(plain["blocks.1.ffn.chosen"].sum(0).argmax())
    edited = run_both(lm, edits=[ExpertOff(layer=1, expert=gone)]).at(side)
    router = plain["blocks.1.ffn.router"].clone()
    router[:, gone] = -math.inf
    assert torch.equal(edited["blocks.1.ffn.router"], router)
    close(edited["blocks.1.ffn.chosen"], by_hand(config, router))
    assert not edited["blocks.1.ffn.expert_out"][:, gone].any() and plain["blocks.1.ffn.expert_out"][:, gone].any()
    kept = plain["blocks.1.ffn.chosen"][:, gone] == 0
    asked = [run["blocks.1.ffn.chosen"][kept] > 0 for run in (plain, edited)]
    assert torch.equal(*asked)  # who had not chosen it keeps its experts
    check_cells(edited)


@pytest.mark.parametrize("config", CONFIGS, ids=range(len(CONFIGS)))
@pytest.mark.parametrize(("expert", "position"), [(2, None), (0, 2)])
def test_one_expert_alone_writes_what_its_network_does(config: ModelConfig, expert: int, position: int | None) -> None:
    lm, side = language_model(config), config.sides[-1]
    plain = run_both(lm).at(side)
    edited = run_both(lm, edits=[ExpertOnly(layer=1, expert=expert, position=position)]).at(side)
    rows = [*range(len(plain))] if position is None else [position]
    layer = lm.model.stack(side).block(1).ffn
    assert isinstance(layer, Experts)
    own = slice(expert * layer.width, (expert + 1) * layer.width)
    written = edited["blocks.1.ffn.expert_act"][:, expert] @ layer.down.weight[:, own].T
    if layer.down_bias is not None:
        written = written + layer.down_bias.weight[:, expert]
    expected = plain["blocks.1.ffn.chosen"].clone()
    expected[rows] = torch.eye(layer.ffn.n_experts)[expert]
    close(edited["blocks.1.ffn.chosen"], expected)
    close(edited["blocks.1.ffn.expert_out"][rows, expert], written[rows])
    check_cells(edited)


@pytest.mark.parametrize(
    ("edit", "message"),
    [
        (ExpertOff(layer=0, expert=0), "layer: 0 has one feed-forward network for all tokens, and no experts"),
        (ExpertOff(layer=1, expert=4), "expert: expected 0 to 3, got 4"),
        (ExpertOnly(layer=1, expert=-1), "expert: expected 0 to 3, got -1"),
        (ExpertOnly(layer=1, expert=0, position=7), "position: expected 0 to 6, got 7"),
    ],
)
def test_places_that_are_not_there_are_named(edit: Edit, message: str) -> None:
    with pytest.raises(ValueError, match=f"^{message}"):
        run_both(language_model(CONFIGS[0]), edits=[edit])
    off = [ExpertOff(layer=1, expert=n) for n in range(4)]
    with pytest.raises(ValueError, match=r"^expert: no expert of layer 1 is left"):
        run_both(language_model(CONFIGS[0]), edits=off)
