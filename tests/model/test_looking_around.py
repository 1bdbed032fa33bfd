"""Feed-forwards that look at other positions, biases that read ids: whatever way a run is made, it is the same."""

from __future__ import annotations

from collections.abc import Iterator

import fresh_variants
import pytest
import torch
from fresh_feedforwards import ConvolvedConfig, NarrowConfig, RefinedConfig, ShiftedConfig, SpatialConfig
from tiers import some
from tiny_models import close, language_model, tiny_config

from viz_model import config
from viz_model.config import ModelConfig, Variant
from viz_model.model import sites
from viz_model.model.neighbours import Neighbours
from viz_model.runs.edits import AblateHead, Edit, FlipMask, NoPosition, ShuffleTokens, Skip
from viz_model.runs.generation import Decoder
from viz_model.runs.record import Keep, record
from viz_model.runs.trace import Trace

N = 5
IDS, TARGET = [3, 1, 4, 1, 5, 9, 1], [2, 7, 1, 2, 7]


@pytest.fixture(autouse=True)
def installed() -> Iterator[None]:
    with fresh_variants.installed():
        yield


def looking(n: int) -> ModelConfig:
    found = fresh_variants.looking_configs()
    assert len(found) == N
    return found[n]


def run(config_: ModelConfig, keep: Keep, edits: tuple[Edit, ...] = ()) -> Trace:
    lm = language_model(config_)
    target = TARGET if config_.kind == "encoder_decoder" else None
    return record(lm.model, lm.tokenizer, IDS, target, edits=edits, keep=keep)


@pytest.mark.parametrize("n", range(N))
@pytest.mark.parametrize("pieces", [[1] * 9, [9], [4, 5], [6, 1, 2], [1, 8]], ids=str)
def test_the_cache_changes_nothing(n: int, pieces: list[int]) -> None:
    config_, ids = looking(n), torch.randint(5, (2, 9), generator=torch.Generator().manual_seed(0))
    model = language_model(config_).model
    if config_.kind == "encoder":
        return
    cache = model.new_cache()
    if config_.kind == "decoder":
        read = [model(piece, cache=cache) for piece in ids.split(pieces, dim=1)]
        close(torch.cat(read, dim=1), model(ids))
    else:
        source = model.encode(ids[:, :4])
        read = [model.decode(piece, source, cache=cache) for piece in ids.split(pieces, dim=1)]
        close(torch.cat(read, dim=1), model(ids[:, :4], ids))
    copied = [block.copy() for block in cache]
    new = torch.tensor([[1], [2]])
    read = [
        model(new, cache=one) if config_.kind == "decoder" else model.decode(new, source, cache=one)
        for one in (copied, cache)
    ]
    close(*read)


@pytest.mark.parametrize("n", range(N))
def test_padding_is_not_seen_on_either_side(n: int) -> None:
    config_ = looking(n)
    model = language_model(config_).model
    short, long = torch.tensor([[5, 6, 5, 8]]), torch.tensor([[5, 6, 5, 8, 1, 5, 1], [7, 2, 2, 9, 9, 1, 3]])
    target = torch.tensor([[0, 3, 0]]) if config_.kind == "encoder_decoder" else None
    both = None if target is None else target.expand(2, -1)
    padding = torch.tensor([[False] * 4 + [True] * 3, [False] * 7])
    rows = slice(None) if target is not None else slice(4)
    found = model(long, both, padding=padding)
    close(found[:1, rows], model(short, target))
    close(found[1:], model(long[1:], target))


def test_nothing_is_read_of_padding_in_front() -> None:
    x, padding = torch.arange(1.0, 7.0).view(1, 3, 2), torch.tensor([[True, False, False]])
    around = Neighbours(padding=padding)
    assert around.near("x", x, 1)[..., 0].tolist() == [[0, 0, 3, 5]] and around.all("x", x)[..., 0].tolist() == [
        [0, 3, 5]
    ]


@pytest.mark.parametrize("n", some(range(N), 1))
def test_a_long_run_is_read_as_it_was(n: int) -> None:
    config_ = looking(n)
    everything, stream = run(config_, "everything"), run(config_, "stream")
    for name in everything.sites:
        assert torch.equal(stream[name], everything[name]), name
        has_heads = everything.site(name).has_heads
        for position in (0, 3, -1):
            alone = run(config_, "stream")  # nothing is held yet
            close(alone.row(name, position), everything[name].select(int(has_heads), position))
            if has_heads:
                close(run(config_, "stream").row(name, position, 1), everything.head(name, 1)[position])
        for head in (0, config_.n_heads - 1) if has_heads else ():
            close(run(config_, "stream").head(name, head), everything.head(name, head))


@pytest.mark.parametrize("n", range(N))
def test_drawn_tokens_are_those_without_a_cache(n: int) -> None:
    config_ = looking(n)
    if config_.kind == "encoder":
        return
    lm, ids = language_model(config_), [5, 6, 5]
    source = [4, 7, 4] if config_.kind == "encoder_decoder" else None
    decoder = Decoder(lm.model, ids, source)
    for _ in range(config_.n_context + 4):  # past the context, where the older half is forgotten
        fresh = Decoder(lm.model, decoder.ids, source)
        close(decoder.logits, fresh.logits)
        decoder.append(int(decoder.logits.argmax()))


EDITS: list[tuple[Edit, ...]] = [
    (AblateHead(layer=0, head=1),),
    (AblateHead(layer=1, head=0, to="mean"),),
    (ShuffleTokens(seed=1), Skip(layer=0, part="ffn")),
    (FlipMask(layer=0, query=3, key=1), NoPosition()),
]


@pytest.mark.parametrize("n", range(N))
@pytest.mark.parametrize("edits", EDITS, ids=lambda edits: edits[0].tag)
def test_interventions_are_made_in_either_kind_of_run(n: int, edits: tuple[Edit, ...]) -> None:
    everything, stream = run(looking(n), "everything", edits), run(looking(n), "stream", edits)
    plain = run(looking(n), "everything")
    for name in everything.sites:
        assert torch.equal(stream[name], everything[name]), name
    last = sites.leaving(everything.config, everything.config.sides[-1])
    assert not torch.allclose(everything[last], plain[last])


def test_what_looks_around_is_read_off_the_declaration() -> None:
    kinds: list[tuple[Variant, bool]] = [
        (config.Dense(), True), (config.Gated(), True), (config.Experts(n_experts=3, top_k=1), True),
        (NarrowConfig(), True), (RefinedConfig(), True),
        (ShiftedConfig(), False), (ConvolvedConfig(), False), (SpatialConfig(), False),
    ]  # fmt: skip
    for ffn, alone in kinds:
        assert sites.stands_alone(tiny_config(ffn=ffn), "decoder", 1) == alone, ffn
    mixed = tiny_config(ffn=config.Dense(), ffns=(config.Dense(), ShiftedConfig()))
    assert [sites.stands_alone(mixed, "decoder", n) for n in (0, 1)] == [True, False]
