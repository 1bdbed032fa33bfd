"""A long run: what is computed again when it is read is what the run had."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
import tiers
import torch
from pairs import pairs
from tiny_models import close, describe, few, language_model, variants, without_a_part

from viz_model.config import ModelConfig
from viz_model.model import sites
from viz_model.runs import recompute
from viz_model.runs.edits import AblateHead, Edit, FixPattern, FlipMask, SetNeuron, Skip
from viz_model.runs.record import Keep, bytes_kept, record
from viz_model.runs.trace import Trace

CONFIGS = [*variants(), *without_a_part()]
IDS, TARGET = [3, 1, 4, 1, 5, 9, 2], [2, 7, 1, 8, 2]


def run(config: ModelConfig, keep: Keep | None, edits: tuple[Edit, ...] = (), **more: Any) -> Trace:
    lm = language_model(config)
    target = TARGET if config.kind == "encoder_decoder" else None
    return record(lm.model, lm.tokenizer, IDS, target, edits=edits, keep=keep, **more)


def _has_heads(trace: Trace, name: str) -> bool:
    return trace.site(name).axes[0] in ("H", "G")


def held(trace: Trace) -> int:
    """Bytes of the storages behind what a trace keeps."""
    values = trace.values.kept if isinstance(trace.values, recompute.Recomputed) else trace.values
    storages = {value.untyped_storage().data_ptr(): value.untyped_storage().nbytes() for value in values.values()}
    return sum(storages.values())


@pytest.mark.parametrize("config", [*few(), *without_a_part()], ids=describe)
def test_every_value_is_the_same_at_both_levels(config: ModelConfig) -> None:
    everything, stream = run(config, "everything"), run(config, "stream")
    assert held(stream) < held(everything)
    for name in everything.sites:
        assert torch.equal(stream[name], everything[name]), name


@pytest.mark.parametrize("config", [*few(), *without_a_part()], ids=describe)
def test_one_head_needs_no_other(config: ModelConfig) -> None:
    everything = run(config, "everything")
    for name in everything.sites:
        if sites.split_side(name)[1].startswith("blocks.0.") and _has_heads(everything, name):
            alone = run(config, "stream")  # nothing is held yet
            for head in (0, config.n_heads - 1):
                close(alone.head(name, head), everything.head(name, head))


@pytest.mark.parametrize(
    ("config", "keep"), pairs(CONFIGS, ["everything", "stream"], facts=tiers.chosen), ids=tiers.name
)
def test_a_row_is_the_row_of_the_whole(config: ModelConfig, keep: Keep) -> None:
    trace = run(config, keep)
    for name in trace.sites:
        whole, has_heads = trace[name], _has_heads(trace, name)
        for position in (0, 3, -1):
            close(trace.row(name, position), whole.select(1 if has_heads else 0, position))
            if has_heads:
                close(trace.row(name, position, 1), trace.head(name, 1)[position])


@pytest.mark.parametrize("config", [*few(), *without_a_part()], ids=describe)
def test_what_was_noted_is_true_of_the_vectors(config: ModelConfig) -> None:
    everything, stream = run(config, "everything"), run(config, "stream")
    assert isinstance(stream.values, recompute.Recomputed) and stream.values.noted
    for name in everything.sites:
        if everything.site(name).axes == ("T", "D"):
            for seen, expected in zip(stream.noted(name), recompute.note(everything[name]), strict=True):
                close(torch.as_tensor(seen), torch.as_tensor(expected))


def test_rows_of_a_decoder_run_no_block(monkeypatch: pytest.MonkeyPatch) -> None:
    trace = run(next(config for config in variants() if config.kind == "decoder"), "stream")
    monkeypatch.setattr(recompute.Recomputed, "block", None)
    for name in ("attn.z", "attn.pattern", "attn.norm.scale", "ffn.act", "resid.mid"):
        trace.row(f"blocks.1.{name}", 3)
    trace.noted("blocks.1.resid.mid")
    for name in ("q", "k", "v"):
        trace.head(f"blocks.1.attn.{name}", 1)


def test_a_row_that_does_not_exist() -> None:
    trace = run(variants()[0], "stream")
    with pytest.raises(IndexError, match="position 7: there are 7"):
        trace.row("blocks.0.attn.pattern", 7)
    with pytest.raises(IndexError, match="head 9"):
        trace.row("blocks.0.attn.pattern", 0, 9)
    with pytest.raises(ValueError, match="has no heads"):
        trace.row("blocks.0.ffn.act", 0, 0)
    with pytest.raises(KeyError, match="did you mean"):
        trace.row("blocks.0.attn.patern", 0)


EDITS: list[tuple[Edit, ...]] = [
    (AblateHead(layer=0, head=1),),
    (AblateHead(layer=1, head=0, to="mean"),),
    (FixPattern(layer=0, head=1, pattern="uniform"),),
    (SetNeuron(layer=0, neuron=3, value=2.0),),
    (Skip(layer=1, part="attn"), FlipMask(layer=0, query=3, key=1)),
]


@pytest.mark.parametrize(("config", "edits"), pairs(variants(), EDITS, facts=tiers.chosen), ids=tiers.name)
def test_interventions_are_made_again(config: ModelConfig, edits: tuple[Edit, ...]) -> None:
    everything, stream = run(config, "everything", edits), run(config, "stream", edits)
    for name in everything.sites:
        assert torch.equal(stream[name], everything[name]), name
    close(run(config, "stream", edits).head(_pattern(config), 1), everything.head(_pattern(config), 1))


def _pattern(config: ModelConfig) -> str:
    return next(name for name, _ in sites.in_order(config) if name.endswith("blocks.0.attn.pattern"))


def test_a_run_is_kept_as_a_whole_while_it_is_small(monkeypatch: pytest.MonkeyPatch) -> None:
    config = variants()[0]
    lengths = {config.sides[0]: len(IDS)}
    assert isinstance(run(config, None).values, dict)
    monkeypatch.setattr("viz_model.runs.record.MOST_KEPT", bytes_kept(config, lengths) - 1)
    assert isinstance(run(config, None).values, recompute.Recomputed)


def test_threads_read_one_trace() -> None:
    config = variants()[0]
    everything, stream = run(config, "everything"), run(config, "stream")
    names = [name for name in everything.sites if not name.startswith("probs")] * 8
    # A thread of its own adds up in as many parts as PyTorch likes, unless it is told.
    with ThreadPoolExecutor(8, initializer=torch.set_num_threads, initargs=(1,)) as pool:
        found = list(pool.map(stream.__getitem__, names))
    assert all(torch.equal(value, everything[name]) for name, value in zip(names, found, strict=True))
