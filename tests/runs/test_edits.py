"""viz_model.runs.edits: each intervention against the same change made by hand, on every variant."""

import copy
import dataclasses
import math
from typing import Any

import pytest
import torch
from identities import check_cells
from tiny_models import close, describe, few, language_model, random_model, run_both, tiny_config, without_a_part

from viz_model import config as choices
from viz_model.config import ModelConfig, Side
from viz_model.model import masks, ops
from viz_model.runs.edits import Edit
from viz_model.runs.edits.inputs import FlipMask, NoMask, ShuffleTokens
from viz_model.runs.edits.structure import ExpertOff, ExpertOnly, NoNorm, NoPosition, NoResidual, NoScale
from viz_model.runs.edits.values import AblateHead, FixPattern, PatchResidual, SetNeuron, Skip
from viz_model.runs.trace import Trace
from viz_model.tokenizers.tokenizer import story_tokenizer

CONFIGS = [*few(), *without_a_part()]
every = pytest.mark.parametrize("config", CONFIGS, ids=describe)
GENERATING = [config for config in CONFIGS if config.kind != "encoder"]


def catalog(trace: Trace) -> list[Edit]:
    """One edit of every sort that this run can have, on its last stack."""
    side = trace.config.sides[-1]
    at = f"{side}." if len(trace.config.sides) > 1 else ""
    found: list[Edit] = [
        AblateHead(layer=1, head=1),
        AblateHead(layer=0, head=0, to="mean"),
        FixPattern(layer=1, head=2, pattern="uniform"),
        FixPattern(layer=0, head=1, pattern="previous"),
        SetNeuron(layer=0, neuron=3, value=2.5, position=1),
        SetNeuron(layer=1, neuron=0, value=-1.0),
        Skip(layer=0, part="attn"),
        Skip(layer=1, part="ffn"),
        FlipMask(query=1, key=2),
        FlipMask(query=2, key=0, layer=1),
        ShuffleTokens(seed=1),
        PatchResidual(site=f"{at}blocks.0.resid.mid", position=1, from_position=2, from_ids=(5, 6, 7, 8)),
        *(NoScale(), NoPosition(), NoMask(), NoResidual(), NoNorm()),
    ]
    if isinstance(trace.config.layer(side, 1).ffn, choices.Experts):
        found += [ExpertOff(layer=1, expert=1), ExpertOnly(layer=1, expert=0, position=1)]
    if trace.config.kind == "encoder_decoder":
        found += [
            AblateHead(layer=1, head=0, attention="cross"),
            FixPattern(layer=0, head=1, pattern="first", attention="cross"),
            Skip(layer=1, part="cross"),
            FlipMask(query=0, key=3, side="encoder"),
            PatchResidual(site="encoder.embed.out", position=2, from_position=0, from_ids=(9, 9)),
        ]
    return found


def same(found: Trace, expected: Trace) -> None:
    assert found.sites == expected.sites
    for name in expected.sites:
        close(found[name], expected[name])


@every
def test_a_head_at_its_mean_writes_the_same_everywhere(config: ModelConfig) -> None:
    lm = language_model(config)
    plain, edited = run_both(lm), run_both(lm, edits=[AblateHead(layer=0, head=1, to="mean")])
    site = AblateHead(layer=0, head=1).site(config)
    z = plain[site].clone()
    z[1] = z[1].mean(0)
    close(edited[site], z)
    attn = lm.model.stack(config.sides[-1]).block(0).attn
    close(edited[site.removesuffix("z") + "out"], attn.o(ops.merge_heads(z)))


@every
def test_a_fixed_pattern_mixes_the_values_as_it_says(config: ModelConfig) -> None:
    lm = language_model(config)
    plain = run_both(lm)
    view = plain.at(config.sides[-1])
    n, head = len(view), config.n_heads - 1
    visible = view.stack.visible(0, n, n)
    skewed = torch.linspace(1, 2, n * n).view(n, n).softmax(-1)
    eye = torch.eye(n)
    expected = {
        "uniform": visible / visible.sum(-1, keepdim=True),
        "self": eye,
        "previous": torch.cat((eye[:1], eye[:-1])),
        tuple(tuple(row) for row in skewed.tolist()): skewed,
    }
    if not config.windows:
        expected["first"] = eye[:1].expand(n, n)
    for pattern, rows in expected.items():
        edit = FixPattern(layer=0, head=head, pattern=pattern)  # type: ignore[arg-type]
        edited = run_both(lm, edits=[edit])
        name = edit.site(config)
        at = name.removesuffix("pattern")
        close(edited[name][head], rows)
        close(edited[name][:head], plain[name][:head])
        close(edited[at + "masked"], plain[at + "masked"])
        close(edited[at + "z"][head], rows @ edited.head(at + "v", head))


@every
def test_a_neuron_is_held_where_it_should_be(config: ModelConfig) -> None:
    lm, side = language_model(config), config.sides[-1]
    plain = run_both(lm)
    for position in (None, 1):
        edit = SetNeuron(layer=0, neuron=7, value=3.5, position=position)
        edited = run_both(lm, edits=[edit])
        act = plain[edit.site(config)].clone()
        act[slice(None) if position is None else position, 7] = 3.5
        assert torch.equal(edited[edit.site(config)], act)
        more = act - plain[edit.site(config)]  # experts have more that is written: biases by weight, a shared expert
        written = more @ lm.model.stack(side).block(0).ffn.down.weight.T
        close(edited.at(side)["blocks.0.ffn.out"] - plain.at(side)["blocks.0.ffn.out"], written)


@every
def test_a_skipped_sub_layer_is_one_without_weights(config: ModelConfig) -> None:
    parts = ("attn", "ffn", "cross") if config.kind == "encoder_decoder" else ("attn", "ffn")
    for part in parts:
        edited = run_both(language_model(config), edits=[Skip(layer=0, part=part)])  # type: ignore[arg-type]
        lm = dataclasses.replace(language_model(config), model=random_model(config))
        layer = getattr(lm.model.stack(config.sides[-1]).block(0), part)
        last = ("down.", "down_bias", "shared.down.") if part == "ffn" else ("o.",)
        with torch.no_grad():
            for name, weight in layer.named_parameters():
                if name.startswith(last):
                    weight.zero_()
        without = run_both(lm)
        for name in without.sites:
            if not name.endswith(("head_out", "expert_out", "shared.out")):
                close(edited[name], without[name])


@every
def test_a_flipped_cell_is_another_mask(config: ModelConfig) -> None:
    lm, side = language_model(config), config.sides[-1]
    plain = run_both(lm).at(side)
    n = len(plain)
    for layer in (None, 1):
        own = torch.stack([plain.stack.visible(i, n, n) for i in range(plain.n_layers)])
        layers = slice(None) if layer is None else layer
        own[layers, 1, 2] = ~own[layers, 1, 2]
        edited = run_both(lm, edits=[FlipMask(query=1, key=2, layer=layer)])
        for i in range(plain.n_layers):
            assert torch.equal(edited.at(side)[f"blocks.{i}.attn.mask"][0] == 0, own[i])
        same(edited, run_both(lm, mask={side: own}))


@every
def test_a_patch_carries_the_vector_of_another_run(config: ModelConfig) -> None:
    lm, side = language_model(config), config.sides[-1]
    at = f"{side}." if len(config.sides) > 1 else ""
    plain = run_both(lm)
    other = lm.trace(ids=[5, 6, 7, 8], target_ids=plain.target_ids)
    same = PatchResidual(site=at + "blocks.0.resid.mid", position=2, from_ids=plain.ids)
    assert all(torch.equal(run_both(lm, edits=[same])[site], plain[site]) for site in plain.sites)
    for name in ("embed.out", "blocks.0.resid.mid", "blocks.1.resid.out"):
        patch = PatchResidual(site=at + name, position=1, from_position=2, from_ids=(5, 6, 7, 8))
        edited = run_both(lm, edits=[patch])
        expected = plain[at + name].clone()
        expected[1] = other[at + name][2]
        assert torch.equal(edited[at + name], expected)


@every
def test_shuffled_tokens_are_the_same_tokens(config: ModelConfig) -> None:
    lm = language_model(config)
    plain = run_both(lm)
    order = (3, 0, 6, 1, 5, 2, 4)
    edited = run_both(lm, edits=[ShuffleTokens(order=order)])
    assert edited.ids == tuple(plain.ids[n] for n in order)
    same(edited, lm.trace(ids=edited.ids, target_ids=plain.target_ids))
    drawn = [run_both(lm, edits=[ShuffleTokens(seed=seed)]).ids for seed in (1, 1, 2)]
    assert drawn[0] == drawn[1] != drawn[2] and sorted(drawn[0]) == sorted(drawn[2]) == sorted(plain.ids)
    if plain.target_ids:
        target = run_both(lm, edits=[ShuffleTokens(order=(3, 2, 1, 0), side="decoder")]).target_ids
        assert target == (plain.target_ids[0], *plain.target_ids[:0:-1])


@every
def test_a_part_left_out_is_another_config_with_the_same_weights(config: ModelConfig) -> None:
    lm = language_model(config)
    structural: dict[Edit, dict[str, Any]] = {
        NoScale(): {"scale_scores": False},
        NoPosition(): {"position": choices.NoPosition()},
        NoResidual(): {"residual": False},
        NoNorm(): {"norm": choices.NoNorm()},
    }
    for edit, changes in structural.items():
        edited = run_both(lm, edits=[edit])
        assert edited.config == dataclasses.replace(config, **changes) and edited.loaded == config
        fresh = dataclasses.replace(lm, model=random_model(edited.config))
        state = lm.model.state_dict()
        fresh.model.load_state_dict({name: state[name] for name in fresh.model.state_dict()})
        same(edited, run_both(fresh))
        kept = {id(parameter) for parameter in lm.model.parameters()}
        assert {id(parameter) for parameter in edited.model.parameters()} <= kept  # no weight is made anew
    everywhere = run_both(lm, edits=[NoMask()])
    assert all((everywhere[name] == 0).all() for name in everywhere.sites if name.endswith("attn.mask"))


@every
def test_every_edit_leaves_the_model_and_other_runs_alone(config: ModelConfig) -> None:
    lm = language_model(config)
    before = run_both(lm)
    values = {name: before[name].clone() for name in before.sites}
    state = copy.deepcopy(lm.model.state_dict())
    for edit in catalog(before):
        edited = run_both(lm, edits=[edit])
        assert edited.edits == (edit,)
        check_cells(edited)
    assert all(value.equal(state[name]) for name, value in lm.model.state_dict().items())
    after = run_both(lm)
    assert after.sites == tuple(values) and all(after[name].equal(values[name]) for name in values)


@every
def test_edits_hold_together(config: ModelConfig) -> None:
    lm = language_model(config)
    plain = run_both(lm)
    side: Side = config.sides[-1]
    n = len(plain.at(side))
    # Two of one value: the second reads what the first wrote.
    one, other = AblateHead(layer=0, head=0), AblateHead(layer=0, head=1)
    both = run_both(lm, edits=[one, other])
    assert not both[one.site(config)][:2].any() and both[one.site(config)][2].any()
    same(both, run_both(lm, edits=[other, one]))
    # The order counts where it says so: a mask that is opened forgets what was flipped before.
    flip, opened = FlipMask(query=2, key=1), NoMask(side=side)
    assert not run_both(lm, edits=[flip, opened]).at(side)["blocks.0.attn.mask"].any()
    # Positions are counted where shuffled tokens now stand, and an edit finds the mask that was given.
    edits: list[Edit] = [ShuffleTokens(seed=4), SetNeuron(layer=0, neuron=2, value=9.0, position=1), NoScale(), flip]
    given = {side: masks.local_and_global(n, n, 2, [0])}
    together = run_both(lm, edits=edits, mask=given)
    flipped = given[side].clone()
    flipped[2, 1] = ~flipped[2, 1]
    assert torch.equal(together.at(side)["blocks.1.attn.mask"][0] == 0, flipped)
    assert together.at(side)["blocks.0.ffn.act"][1, 2] == 9.0
    step_by_step = lm.trace(ids=together.ids, target_ids=together.target_ids, mask={side: flipped}, edits=edits[1:3])
    same(together, step_by_step)


@pytest.mark.parametrize("config", GENERATING[::2], ids=describe)
def test_a_cache_changes_nothing_under_edits(config: ModelConfig) -> None:
    lm = language_model(config)
    source = [5, 6, 7, 8]
    for edit in catalog(run_both(lm)):
        if isinstance(edit, FlipMask | ShuffleTokens | PatchResidual) or getattr(edit, "position", None) is not None:
            continue  # it names positions
        edits = [edit, AblateHead(layer=0, head=2, to="mean")]
        decoder = lm.decoder(source, edits=edits)
        for id in (9, 10, 11):
            decoder.append(id)
        if config.kind == "decoder":
            whole = lm.trace(ids=[*source, 9, 10, 11], edits=edits)
        else:
            whole = lm.trace(ids=source, target_ids=[0, 9, 10, 11], edits=edits)
        logits = whole["logits"][-1]
        size = logits.abs().max().clamp(min=1)  # without norms logits are large, and so is what is rounded off
        close(decoder.logits / size, logits / size)


def test_a_text_is_written_with_edits() -> None:
    lm = language_model(tiny_config(n_vocab=story_tokenizer().n_vocab, n_context=12))
    edits = [ShuffleTokens(seed=2), NoScale(), AblateHead(layer=0, head=0)]
    written = lm.generate("Once upon a time", max_new_tokens=4, temperature=0, edits=edits)
    ids = list(lm.trace("Once upon a time", edits=edits).ids)
    for token in written.tokens:
        ids.append(int(lm.trace(ids=ids, edits=edits[1:])["logits"][-1].argmax()))
        assert token.id == ids[-1]
    # Beyond the context, too.
    assert len(lm.generate("Once upon a time", max_new_tokens=14, seed=1, edits=[NoMask()]).tokens) == 14
    for edit in (FlipMask(query=1, key=2), ExpertOnly(layer=0, expert=1, position=0)):
        with pytest.raises(ValueError, match=f"^edits: {edit.tag} names positions"):
            lm.generate("Once", edits=[edit])


@pytest.mark.parametrize(
    ("edit", "message"),
    [
        (AblateHead(layer=2, head=0), "layer: expected 0 to 1, got 2"),
        (AblateHead(layer=0, head=0, side="encoder"), "side: this model has decoder, not encoder"),
        (FixPattern(layer=0, head=0, pattern="self", attention="cross"), "pattern: self has no meaning"),
        (FixPattern(layer=0, head=0, pattern=((1.0,),)), "pattern: expected 3 rows of 3 numbers, got 1 of 1"),
        (SetNeuron(layer=0, neuron=40, value=0.0), "neuron: expected 0 to 39, got 40"),
        (SetNeuron(layer=0, neuron=0, value=0.0, position=3), "position: expected 0 to 2, got 3"),
        (Skip(layer=0, part="cross"), "part: only the decoder of"),
        (ShuffleTokens(order=(0, 1, 1)), "order: expected each of 0 to 2 once"),
        (PatchResidual(site="blocks.0.attn.q", position=0, from_ids=(1,)), "site: no vector of the stream"),
        (PatchResidual(site="blocks.9.resid.out", position=0, from_ids=(1,)), r"site: .* try .*blocks\.\d\.resid"),
        (PatchResidual(site="embed.out", position=0, from_ids=(1,), from_target="a"), "from_target: only an"),
    ],
)
def test_edits_name_what_does_not_exist(edit: Edit, message: str) -> None:
    lm = language_model(tiny_config())
    with pytest.raises(ValueError, match=f"^{message}") as refused:
        lm.trace(ids=[1, 2, 3], edits=[edit])
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: SetNeuron(layer=0, neuron=0, value=math.nan), "value: expected a number"),
        (lambda: SetNeuron(layer="0", neuron=0, value=1.0), "layer: expected a whole number"),  # type: ignore[arg-type]
        (lambda: FlipMask(query=True), "query: expected a whole number"),
        (lambda: FixPattern(layer=0, head=0, pattern=((1.0, 0.0), (0.5, 0.4))), "pattern: row 1 sums to 0.9"),
        (lambda: FixPattern(layer=0, head=0, pattern="last"), "pattern: expected"),  # type: ignore[arg-type]
        (lambda: AblateHead(layer=0, head=0, to="noise"), "to: expected one of"),  # type: ignore[arg-type]
        (lambda: ShuffleTokens(), "seed: give either"),
        (lambda: PatchResidual(site="embed.out", position=0), "from_text: give either"),
    ],
)
def test_edits_that_say_nothing_are_not_made(make: Any, message: str) -> None:
    with pytest.raises(ValueError, match=f"^{message}") as refused:
        make()
    assert "\n" not in str(refused.value) and len(str(refused.value)) < 200


def test_a_pattern_does_not_look_behind_a_mask_and_no_row_is_empty() -> None:
    lm = language_model(tiny_config())
    whole = lm.trace(ids=[1, 2, 3, 4], edits=[FlipMask(query=1)])
    assert (whole["blocks.1.attn.mask"][0, 1] == 0).tolist() == [False, False, True, True]
    with pytest.raises(ValueError, match=r"^query: row 0 of layer 1 of the decoder would see no token"):
        lm.trace(ids=[1, 2, 3, 4], edits=[FlipMask(query=0, key=0, layer=1)])
    same(lm.trace(ids=[1, 2, 3, 4], edits=[FlipMask(query=0)] * 2), lm.trace(ids=[1, 2, 3, 4]))  # empty between two
    with pytest.raises(ValueError, match=r"^pattern: row 2 would look at token 1, which its mask hides"):
        lm.trace(ids=[1, 2, 3], edits=[FlipMask(query=2, key=1), FixPattern(layer=0, head=0, pattern="previous")])
    ahead = FixPattern(layer=0, head=0, pattern=((0.0, 1.0), (1.0, 0.0)))  # said in so many words, it may be looked at
    assert lm.trace(ids=[1, 2], edits=[ahead])["blocks.0.attn.pattern"][0, 0, 1] == 1
