"""viz_model.runs.trace: full fidelity, the identities between values, and what it refuses."""

import dataclasses
import pickle
from concurrent.futures import ThreadPoolExecutor
from typing import Any, get_args

import pytest
import tiers
import torch
from checkpoint_makers import Reference
from pairs import pairs
from tiny_models import close, describe, few, language_model, mixed, tiny_config, variants, without_a_part

import viz_model as vm
from viz_model.config import ModelConfig
from viz_model.model import sites
from viz_model.model.stored import n_bytes
from viz_model.runs import recompute
from viz_model.runs.edits import AblateHead, Edit, FixPattern, FlipMask, SetNeuron, Skip
from viz_model.runs.record import Keep, bytes_kept, record
from viz_model.runs.trace import Trace

HOSTILE = "<script>alert('x')</script> & \"quotes\""
CONFIGS = [*variants(), *without_a_part()]
IDS, TARGET = [3, 1, 4, 1, 5, 9, 2], [2, 7, 1, 8, 2]


def test_what_exceeds_the_context_is_counted(lm: vm.LanguageModel) -> None:
    text = "The cat sat on the mat. " * 10
    n_tokens = len(lm.tokenizer.encode(text))
    with pytest.warns(UserWarning, match=rf"the text has {n_tokens} tokens and the context of "):
        trace = lm.trace(text)
    with pytest.warns(UserWarning, match="left out"):
        lm.trace(ids=[5] * (lm.config.n_context + 1))
    assert len(trace) == lm.config.n_context and trace.n_dropped == n_tokens - lm.config.n_context > 0
    assert list(trace.ids) == lm.tokenizer.encode(text)[: lm.config.n_context]
    assert lm.trace("The cat").n_dropped == 0


def test_trace_refuses(lm: vm.LanguageModel) -> None:
    wrong: list[tuple[str, dict[str, Any]]] = [("either", {}), ("either", {"text": "a", "ids": [1]})]
    wrong += [(f"token id {n}", {"ids": [1, n]}) for n in (-1, lm.config.n_vocab)]
    for said, one in [*wrong, ("got 0", {"ids": []}), ("a lone surrogate", {"text": "half \ud83d"})]:
        with pytest.raises(ValueError, match=said):
            lm.trace(**one)
    padded = vm.load(Reference("RobertaModel").build(), None)
    assert padded.trace(ids=[3, 2, 4])
    with pytest.raises(vm.TextError, match="token id 1 is padding"):
        padded.trace(ids=[3, 1, 4])
    with pytest.raises(ValueError, match=f"1 to {lm.config.n_context}"):
        record(lm.model, lm.tokenizer, [1] * (lm.config.n_context + 1))


def test_a_run_can_be_given_up_between_blocks() -> None:
    lm = language_model(tiny_config(n_layers=3))
    begun: list[int] = []

    def give_up() -> None:
        begun.append(len(begun))
        if len(begun) == 2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        lm.trace(ids=[1, 2, 3], between=give_up)
    assert begun == [0, 1]
    lm.trace(ids=[1, 2, 3], between=lambda: begun.append(len(begun)))
    assert len(begun) == 5


def test_what_a_notebook_shows_is_escaped(lm: vm.LanguageModel) -> None:
    trace = lm.trace(HOSTILE)
    for html in (trace._repr_html_(), trace.tokens._repr_html_(), lm._repr_html_()):
        assert "<script" not in html and html.count("<") - html.count("</") == html.count("</")
    assert all(f">{token.id}<" in trace.tokens._repr_html_() for token in trace.tokens)


def run(config: ModelConfig, keep: Keep | None, edits: tuple[Edit, ...] = (), **more: Any) -> Trace:
    lm = language_model(config)
    target = TARGET if config.kind == "encoder_decoder" else None
    return record(lm.model, lm.tokenizer, IDS, target, edits=edits, keep=keep, **more)


def held(trace: Trace) -> int:
    """Bytes of the storages behind what a trace keeps."""
    values = trace.values.kept if isinstance(trace.values, recompute.Recomputed) else trace.values
    storages = {value.untyped_storage().data_ptr(): value.untyped_storage().nbytes() for value in values.values()}
    return sum(storages.values())


@pytest.mark.parametrize("config", mixed(), ids=describe)
def test_a_row_of_a_long_run_goes_on_from_the_state_before_it(config: ModelConfig) -> None:
    everything, stream = run(config, "everything"), run(config, "stream")
    for name in everything.sites:
        site = everything.site(name)
        if site.axes[site.before] in ("T", "Tq"):
            close(stream.row(name, 4), everything.row(name, 4))
    assert isinstance(stream.values, recompute.Recomputed) and stream.values.row("blocks.1.attn.out", 4) is not None


@pytest.mark.parametrize(("config", "keep"), pairs(CONFIGS, get_args(Keep), facts=tiers.chosen), ids=tiers.name)
def test_a_row_is_the_row_of_the_whole(config: ModelConfig, keep: Keep) -> None:
    trace = run(config, keep)
    for name in trace.sites:
        whole, has_heads = trace[name], trace.site(name).axes[0] in ("H", "G")
        for position in (0, 3, -1):
            close(trace.row(name, position), whole.select(1 if has_heads else 0, position))
            if has_heads:
                close(trace.row(name, position, 1), trace.head(name, 1)[position])
        if has_heads and keep == "stream":
            close(run(config, keep).head(name, 0), trace.head(name, 0))  # nothing is held yet


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
    trace, wrong = run(variants()[0], "stream"), (IndexError, KeyError, ValueError)
    for said, asked in {
        "position 7: there are 7": ("blocks.0.attn.pattern", 7),
        "head 9": ("blocks.0.attn.pattern", 0, 9),
        "has no heads": ("blocks.0.ffn.act", 0, 0),
        "did you mean": ("blocks.0.attn.patern", 0),
    }.items():
        with pytest.raises(wrong, match=said):
            trace.row(*asked)  # type: ignore[arg-type]
    for said, more in {"position -8": {"position": -8}, "k must be": {"k": 0}}.items():
        with pytest.raises(wrong, match=said):
            trace.next_tokens(**more)


EDITS: list[tuple[Edit, ...]] = [
    (),
    (AblateHead(layer=0, head=1),),
    (AblateHead(layer=1, head=0, to="mean"),),
    (FixPattern(layer=0, head=1, pattern="uniform"),),
    (SetNeuron(layer=0, neuron=3, value=2.0),),
    (Skip(layer=1, part="attn"), FlipMask(layer=0, query=3, key=1)),
]


@pytest.mark.parametrize(("config", "edits"), pairs(CONFIGS, EDITS, facts=tiers.chosen), ids=tiers.name)
def test_every_value_is_the_same_at_both_levels(config: ModelConfig, edits: tuple[Edit, ...]) -> None:
    everything, stream = run(config, "everything", edits), run(config, "stream", edits)
    assert held(stream) < held(everything)
    for name in everything.sites:
        assert torch.equal(stream[name], everything[name]), name


def test_a_run_is_kept_as_a_whole_while_it_is_small(monkeypatch: pytest.MonkeyPatch) -> None:
    config = variants()[0]
    lengths = {config.sides[0]: len(IDS)}
    assert isinstance(run(config, None).values, dict)
    monkeypatch.setattr("viz_model.runs.record.MOST_KEPT", bytes_kept(config, lengths) - 1)
    assert isinstance(run(config, None).values, recompute.Recomputed)
    share = n_bytes(language_model(config).model) // bytes_kept(config, lengths)
    for of, kind in ((share, dict), (share + 1, recompute.Recomputed)):  # small beside the model
        monkeypatch.setattr("viz_model.runs.record.SHARE", of)
        assert isinstance(run(config, None).values, kind)


def test_a_row_of_logits_that_was_read_is_of_its_own_run() -> None:
    trace = run(variants()[0], "everything")
    row, leaving = trace.row("logits", 2), sites.leaving(trace.config, trace.config.sides[-1])
    other = dataclasses.replace(trace, values={**trace.values, leaving: 2 * trace.values[leaving]})
    assert not torch.allclose(other.row("logits", 2), row)
    close(other.row("logits", 2), other["logits"][2])
    for n in (*range(len(trace)), 2):
        close(trace.row("logits", n), trace["logits"][n])


def test_threads_read_one_trace() -> None:
    config = variants()[0]
    everything, stream = run(config, "everything"), run(config, "stream")
    names = [name for name in everything.sites if not name.startswith("probs")] * 8
    # A thread of its own adds up in as many parts as PyTorch likes, unless it is told.
    with ThreadPoolExecutor(8, initializer=torch.set_num_threads, initargs=(1,)) as pool:
        found = list(pool.map(stream.__getitem__, names))
    assert all(torch.equal(value, everything[name]) for name, value in zip(names, found, strict=True))


def test_what_is_asked_the_wrong_way_is_answered_with_the_right_one() -> None:
    lm = vm.load("story-pre-ln")
    trace = lm.trace("The cat sat")
    assert tuple(trace.keys()) == trace.sites
    assert torch.equal(trace["blocks.-1.attn.pattern"], trace["blocks.3.attn.pattern"])
    with pytest.raises(IndexError, match="layer -5: there are 4"):
        trace["blocks.-5.attn.pattern"]
    with pytest.raises(TypeError, match="a trace holds values by name, such as 'probs', not 0"):
        trace[0]  # type: ignore[index]
    with pytest.raises(TypeError, match=r"text: expected one text; trace several one after the other"):
        lm.trace(["a", "b"])  # type: ignore[list-item]
    ids = lm.tokenizer.encode("The cat sat")
    with pytest.raises(TypeError, match=r"text: expected a text or .* give token ids as ids=\["):
        lm.trace(ids)  # type: ignore[arg-type]
    batch = torch.tensor([ids])
    assert torch.equal(lm.trace(ids=batch)["probs"], trace["probs"])  # type: ignore[arg-type]
    assert lm.generate(ids=batch, max_new_tokens=1).trace.ids[:-1] == tuple(ids)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match=r"ids: expected the whole numbers of one text, \[T\]"):
        lm.trace(ids=[3.5, 7.0])  # type: ignore[list-item]
    with pytest.raises(TypeError, match=r"edits: expected edits such as vm.edits.NoMask\(\), got 'no-mask'"):
        lm.trace("a b", edits=["no-mask"])  # type: ignore[list-item]
    again = pickle.loads(pickle.dumps(trace))
    assert again.tokens == trace.tokens and torch.equal(again["probs"], trace["probs"])
