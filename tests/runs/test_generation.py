"""viz_model.runs.generation: what is kept and drawn, and that the cache changes nothing."""

from __future__ import annotations

import dataclasses
import math
from pathlib import Path
from typing import Any

import pytest
import torch
from hypothesis import assume, example, given
from hypothesis import strategies as st
from tiny_models import language_model, random_model, tiny_config

import viz_model as vm
from viz_model.model import masks
from viz_model.model.norms import LayerNorm
from viz_model.runs.generation import Decoder, Sampling, distribution, draw, steps
from viz_model.tokenizers.tokenizer import story_tokenizer

LOGITS = st.lists(st.floats(-30, 30, width=32), min_size=1, max_size=40)


def plain_softmax(logits: list[float], temperature: float) -> list[float]:
    highest = max(logits)
    powers = [math.exp((x - highest) / temperature) for x in logits]
    return [power / math.fsum(powers) for power in powers]


def plain_distribution(
    logits: list[float], temperature: float, top_k: int | None, top_p: float | None
) -> tuple[list[float], list[int], list[float]]:
    """The definition without tensors: (probs, kept ids in falling order, final)."""
    probs = plain_softmax(logits, temperature)
    ranked = sorted(range(len(logits)), key=lambda id: (-probs[id], id))[:top_k]
    if top_p is not None and top_p < 1:
        whole = math.fsum(probs[id] for id in ranked)
        kept: list[int] = []
        for id in ranked:
            kept.append(id)
            if math.fsum(probs[i] for i in kept) >= top_p * whole:
                break
        ranked = kept
    mass = math.fsum(probs[id] for id in ranked)
    return probs, ranked, [probs[id] / mass if id in ranked else 0.0 for id in range(len(logits))]


@given(
    logits=LOGITS,
    temperature=st.floats(0.05, 5),
    top_k=st.none() | st.integers(1, 50),
    top_p=st.none() | st.floats(0.01, 1),
)
@example(logits=[0.0] * 10, temperature=1.0, top_k=3, top_p=None)
@example(logits=[2.0, 1.0, 0.0], temperature=1.0, top_k=2, top_p=1.0)
def test_against_a_plain_implementation(
    logits: list[float], temperature: float, top_k: int | None, top_p: float | None
) -> None:
    probs, ranked, final = plain_distribution(logits, temperature, top_k, top_p)
    if top_p is not None:
        # Where a running sum meets p exactly, rounding decides, and either answer is right.
        running = [math.fsum(probs[id] for id in ranked[: n + 1]) for n in range(len(ranked))]
        whole = math.fsum(sorted(probs, reverse=True)[:top_k])
        assume(all(abs(total - top_p * whole) > 1e-12 for total in running))
    found = distribution(torch.tensor(logits), Sampling(temperature=temperature, top_k=top_k, top_p=top_p))
    assert found.probs.tolist() == pytest.approx(probs, abs=1e-6)
    assert found.kept.nonzero()[:, 0].tolist() == sorted(ranked)
    assert found.final.tolist() == pytest.approx(final, abs=1e-6)
    assert found.kept_mass == pytest.approx(math.fsum(probs[id] for id in ranked), abs=1e-6)


@given(
    logits=LOGITS,
    temperature=st.just(0.0) | st.floats(1e-320, 1e6),
    top_k=st.none() | st.integers(1, 50),
    top_p=st.none() | st.floats(1e-9, 1),
)
@example(logits=[0.0, 1e-18], temperature=0.0, top_k=None, top_p=None)  # two logits, one probability
def test_what_is_final_is_a_distribution(
    logits: list[float], temperature: float, top_k: int | None, top_p: float | None
) -> None:
    found = distribution(torch.tensor(logits), Sampling(temperature=temperature, top_k=top_k, top_p=top_p))
    assert found.probs.sum().item() == pytest.approx(1, abs=1e-5)
    assert found.final.sum().item() == pytest.approx(1, abs=1e-5)
    assert (found.final >= 0).all()
    assert (found.final[~found.kept] == 0).all()
    assert found.kept.sum() >= 1
    assert found.probs[found.kept].max() == found.probs.max()


def test_top_p_of_one_keeps_the_tail_of_a_large_vocabulary() -> None:
    logits = 4 * torch.randn(8192, generator=torch.Generator().manual_seed(0))
    assert distribution(logits, Sampling(top_p=1.0)).kept.all()
    nearly = distribution(logits, Sampling(top_p=1 - 1e-9))
    assert nearly.probs[~nearly.kept].double().sum() <= 2e-9


@given(
    logits=LOGITS.filter(lambda values: len(values) == 1 or sorted(values)[-1] - sorted(values)[-2] > 0.01),
    temperature=st.sampled_from([1e-3, 1e-6, 1e-40, 1e-46, 1e-320]),
)
def test_a_vanishing_temperature_is_greedy(logits: list[float], temperature: float) -> None:
    limit = distribution(torch.tensor(logits), Sampling(temperature=temperature))
    greedy = distribution(torch.tensor(logits), Sampling(temperature=0))
    torch.testing.assert_close(limit.final, greedy.final, atol=1e-4, rtol=0)
    assert greedy.final.tolist() == [float(x == max(logits)) for x in logits]


def test_greedy_shows_the_probabilities_it_chose_from() -> None:
    found = distribution(torch.tensor([0.0, math.log(3), 0.0]), Sampling(temperature=0))
    assert found.probs.tolist() == pytest.approx([0.2, 0.6, 0.2])
    assert found.kept_mass == pytest.approx(0.6)


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("temperature", -0.1),
        ("temperature", math.nan),
        ("temperature", math.inf),
        ("top_k", 0),
        ("top_k", -3),
        ("top_k", 2.5),
        ("top_p", 0.0),
        ("top_p", 1.01),
        ("top_p", math.nan),
    ],
)
def test_sampling_refuses(field: str, value: Any, lm: vm.LanguageModel) -> None:
    with pytest.raises(ValueError, match=rf"^{field}: "):
        Sampling(**{field: value})
    with pytest.raises(ValueError, match=rf"^{field}: "):
        lm.generate("The cat", **{field: value})


@given(logits=LOGITS, number=st.floats(0, 1, exclude_max=True), top_k=st.none() | st.integers(1, 5))
@example(logits=[0.0, 0.0], number=0.5, top_k=None)
@example(logits=[0.0, 1.0], number=math.nextafter(1, 0), top_k=1)
def test_a_draw_falls_into_its_interval(logits: list[float], number: float, top_k: int | None) -> None:
    found = distribution(torch.tensor(logits), Sampling(top_k=top_k))
    id = draw(found, number)
    assert found.final[id] > 0
    ranked = sorted(range(len(logits)), key=lambda i: (-found.final[i].item(), i))
    below = math.fsum(found.final[i].item() for i in ranked[: ranked.index(id)])
    assert below <= number + 1e-6
    assert number <= below + found.final[id].item() + 1e-6


def test_draws_follow_the_distribution() -> None:
    found = distribution(torch.tensor([0.5, 0.3, 0.2]).log(), Sampling())
    counts = [0, 0, 0]
    for n in range(1000):
        counts[draw(found, (n + 0.5) / 1000)] += 1
    assert counts == [500, 300, 200]


def test_the_cache_changes_no_step(lm: vm.LanguageModel) -> None:
    ids = lm.tokenizer.encode("Once upon")
    decoder = Decoder(lm.model, ids)
    for id in range(100, 100 + lm.config.n_context - len(ids)):
        whole = lm.model(torch.tensor([ids]))[0, -1]
        torch.testing.assert_close(decoder.logits, whole, atol=1e-5, rtol=1e-5)
        ids = [*ids, id]
        decoder.append(id)
    assert len(ids) == lm.config.n_context
    torch.testing.assert_close(decoder.logits, lm.model(torch.tensor([ids]))[0, -1], atol=1e-5, rtol=1e-5)


def test_a_full_context_forgets_its_older_half() -> None:
    model = random_model(tiny_config(n_context=6))
    decoder = Decoder(model, [1, 2, 3, 4, 5, 6])
    logits = decoder.append(7)
    assert decoder.ids == [5, 6, 7]
    torch.testing.assert_close(logits, model(torch.tensor([[5, 6, 7]]))[0, -1], atol=1e-5, rtol=1e-5)
    decoder.append(8)
    assert decoder.ids == [5, 6, 7, 8]


@pytest.mark.parametrize("n_context", [1, 2, 3])
def test_the_smallest_contexts_go_on(n_context: int) -> None:
    decoder = Decoder(random_model(tiny_config(n_context=n_context)), [1, 2, 3, 4, 5])
    for id in range(10):
        assert decoder.append(id).isfinite().all()
        assert 1 <= len(decoder.ids) <= n_context


def test_a_long_text_is_read_from_its_end(lm: vm.LanguageModel) -> None:
    long = "The cat sat on the mat. " * 10
    ids = lm.tokenizer.encode(long)[-lm.config.n_context :]
    torch.testing.assert_close(Decoder(lm.model, ids).logits, lm.model(torch.tensor([ids]))[0, -1])
    assert len(lm.generate(long, max_new_tokens=40, seed=1).tokens) == 40


def test_the_seed_decides(lm: vm.LanguageModel) -> None:
    first = lm.generate("The cat", max_new_tokens=12, seed=3)
    assert first == lm.generate("The cat", max_new_tokens=12, seed=3)
    assert first != lm.generate("The cat", max_new_tokens=12, seed=4)
    torch.manual_seed(123)  # nor does anybody else's use of random numbers
    assert first == lm.generate("The cat", max_new_tokens=12, seed=3)


def test_greedy_needs_no_seed(lm: vm.LanguageModel) -> None:
    first = lm.generate("The cat", max_new_tokens=8, temperature=0, seed=1)
    assert first.tokens == lm.generate("The cat", max_new_tokens=8, temperature=0, seed=2).tokens
    ids = lm.tokenizer.encode("The cat")
    for token in first.tokens:
        assert token.id == lm.model(torch.tensor([ids]))[0, -1].argmax()
        ids.append(token.id)


def test_the_text_is_the_continuation_alone(lm: vm.LanguageModel) -> None:
    result = lm.generate("The cat", max_new_tokens=9, seed=0)
    assert result.text == lm.tokenizer.decode(token.id for token in result.tokens)
    assert len(result.steps) == 9
    assert result.stopped == "length"
    for step in result.steps:
        assert 0 < step.probability <= 1
        assert 0 < step.final_probability <= 1
        assert 0 <= step.drawn < 1


def test_steps_report_the_model_s_probabilities(lm: vm.LanguageModel) -> None:
    ids = lm.tokenizer.encode("The cat")
    sampling = Sampling(temperature=0.7, top_k=20)
    for _, step in zip(range(5), steps(lm.decoder(ids), lm.tokenizer, sampling, seed=5), strict=False):
        expected = distribution(lm.model(torch.tensor([ids]))[0, -1], sampling)
        assert step.probability == pytest.approx(expected.probs[step.token.id].item(), abs=1e-6)
        assert step.final_probability == pytest.approx(expected.final[step.token.id].item(), abs=1e-6)
        ids = [*ids, step.token.id]


def test_end_of_text_stops_and_is_no_part_of_the_text() -> None:
    tokenizer = story_tokenizer()
    model = random_model(tiny_config(n_vocab=tokenizer.n_vocab, tie_embeddings=False))
    with torch.no_grad():
        model.unembedding.weight.zero_()
        final = model.stack("decoder").final_norm
        assert isinstance(final, LayerNorm)
        final.weight.zero_()
        assert final.bias is not None
        final.bias.fill_(1.0)
        model.unembedding.weight[tokenizer.end_of_text] = 1.0
    lm = vm.LanguageModel(name="", model=model, tokenizer=tokenizer, twin=None, folder=Path())
    result = lm.generate("The cat", max_new_tokens=5, temperature=0)
    assert (result.text, result.steps, result.stopped) == ("", (), "end_of_text")


def test_nothing_asked_nothing_drawn(lm: vm.LanguageModel) -> None:
    result = lm.generate("The cat", max_new_tokens=0)
    assert (result.text, result.steps, result.stopped) == ("", (), "length")


def test_generate_refuses(lm: vm.LanguageModel) -> None:
    with pytest.raises(vm.TextError, match="character 1"):
        lm.generate("\ud800")


def test_a_long_text_keeps_the_control_tokens_at_its_end(family_folder: Path) -> None:
    lm = vm.load(family_folder / "tiny-bert")
    whole = lm.tokenizer.encode("the cat " * 100)
    trace = lm.trace("the cat " * 100)
    assert len(trace) == lm.config.n_context and trace.n_dropped == len(whole) - len(trace)
    assert trace.ids[-1] == whole[-1] and trace.ids[-1] in lm.tokenizer.controls
    assert list(trace.ids[:-1]) == whole[: len(trace) - 1]
    assert list(lm.trace("the cat " * 100, max_tokens=5).ids) == [*whole[:4], whole[-1]]


def test_a_target_begins_with_the_start_token(family_folder: Path) -> None:
    lm = vm.load(family_folder / "tiny-t5")
    trace = lm.trace("a little cat", "the dog")
    assert trace.target_ids == (lm.config.start_id, *lm.tokenizer.encode("the dog", special=False))
    assert trace.ids == tuple(lm.tokenizer.encode("a little cat"))
    assert [token.id for token in trace.target_tokens] == list(trace.target_ids)
    assert lm.trace("a little cat").target_ids == (lm.config.start_id,)
    again = lm.trace(ids=trace.ids, target_ids=trace.target_ids)
    assert all((again[name] == trace[name]).all() for name in trace.sites)


def test_what_is_said_is_what_the_trace_expects(family_folder: Path) -> None:
    lm = vm.load(family_folder / "tiny-t5")
    said = lm.generate("a little cat", max_new_tokens=5, temperature=0)
    ids = [step.token.id for step in said.steps]
    trace = lm.trace(ids=lm.tokenizer.encode("a little cat"), target_ids=[0, *ids])
    assert [trace.next_tokens(position, 1)[0][0].id for position in range(len(ids))] == ids
    longer = lm.generate("a little cat", "the", max_new_tokens=2, temperature=0)
    expected = lm.trace("a little cat", "the").next_tokens(-1, 1)[0][0]
    assert longer.steps[0].token == expected


def test_the_views_of_a_run(family_folder: Path) -> None:
    trace = vm.load(family_folder / "tiny-t5").trace("a little cat", "the dog")
    encoder, decoder = trace.at("encoder"), trace.at("decoder")
    assert (len(encoder), len(decoder)) == (len(trace.ids), len(trace.target_ids or ()))
    assert (encoder.tokens, decoder.tokens) == (trace.tokens, trace.target_tokens)
    assert (decoder["blocks.0.cross.k"] == trace["decoder.blocks.0.cross.k"]).all()
    assert "blocks.0.cross.k" not in encoder and "logits" in decoder and "logits" not in encoder
    assert decoder.full_name("blocks.0.attn.q") == "decoder.blocks.0.attn.q" and decoder.full_name("probs") == "probs"
    assert decoder.at("encoder").tokens == trace.tokens
    with pytest.raises(ValueError, match="this model has no encoder"):
        language_model(tiny_config()).trace(ids=[1]).at("encoder")


@pytest.mark.parametrize("name", ["tiny-bert", "tiny-t5", "tiny-alibi"])
def test_an_empty_text_is_refused(name: str, family_folder: Path) -> None:
    lm = vm.load(family_folder / name)
    with pytest.raises(ValueError, match="the text is empty"):
        lm.trace("")
    if lm.config.kind != "encoder":
        with pytest.raises(ValueError, match="the text is empty"):
            lm.generate("")


def test_an_encoder_does_not_generate(family_folder: Path) -> None:
    with pytest.raises(ValueError, match="no next token to generate"):
        vm.load(family_folder / "tiny-bert").generate("the cat")


def test_a_model_without_a_tokenizer_traces_ids(family_folder: Path) -> None:
    lm = vm.load(family_folder / "tiny-llama-ids")
    trace = lm.trace(ids=[5, 9, 12])
    assert [token.text for token in trace.tokens] == ["5", "9", "12"]
    assert lm.trace("5 9 12").ids == trace.ids
    with pytest.raises(vm.TextError, match="is not a token id"):
        lm.trace("hello")


def test_a_decoder_that_does_not_know_its_start_asks_for_it(family_folder: Path) -> None:
    lm = vm.load(family_folder / "tiny-t5")
    blank = language_model(dataclasses.replace(lm.config, start_id=None))
    with pytest.raises(ValueError, match=r"^start_id: "):
        blank.trace(ids=[1, 2])
    assert blank.trace(ids=[1, 2], target_ids=[0, 4])["logits"].shape == (2, lm.config.n_vocab)


def test_a_mask_by_side(family_folder: Path) -> None:
    lm = vm.load(family_folder / "tiny-t5")
    n = len(lm.trace("a little cat").ids)
    trace = lm.trace("a little cat", mask={"encoder": masks.causal(n, n)})
    assert (trace["encoder.blocks.0.attn.pattern"].triu(1) == 0).all()


# Translators into several languages


def test_the_tag_of_a_language_is_all_that_tells_the_decoder(family_folder: Path) -> None:
    lm = vm.load(family_folder / "tiny-translator")
    tags = lm.tokenizer.languages
    assert list(tags) == ["fr", "zh"] and lm.config.start_id == tags["fr"]
    asked = {language: lm.trace("a cat", "le", target_language=language) for language in tags}
    for language, trace in asked.items():
        assert trace.target_ids == (tags[language], *lm.tokenizer.encode("le", special=False))
        assert (trace.target_language, trace.target) == (language, "le")
        assert trace.ids == tuple(lm.tokenizer.encode("a cat"))
        again = lm.trace(ids=trace.ids, target_ids=trace.target_ids)
        assert again.target_language == language and (again["logits"] == trace["logits"]).all()
    assert (asked["fr"]["logits"] != asked["zh"]["logits"]).any()
    assert lm.trace("a cat", "le").target_ids == asked["fr"].target_ids
    assert lm.trace(ids=[1], target_ids=[5]).target_language is None


def test_a_translation_is_what_the_trace_of_its_language_expects(family_folder: Path) -> None:
    lm = vm.load(family_folder / "tiny-translator")
    said = {
        language: lm.generate("a cat", max_new_tokens=4, temperature=0, target_language=language)
        for language in lm.tokenizer.languages
    }
    assert said["fr"].tokens != said["zh"].tokens
    for language, generated in said.items():
        ids = [token.id for token in generated.tokens]
        trace = lm.trace(ids=lm.tokenizer.encode("a cat"), target_ids=[lm.tokenizer.languages[language], *ids])
        assert [trace.next_tokens(position, 1)[0][0].id for position in range(len(ids))] == ids


@pytest.mark.parametrize(
    ("name", "language", "known"), [("tiny-translator", "de", "fr, zh"), ("tiny-t5", "fr", "none by name")]
)
def test_an_unknown_language_is_refused(name: str, language: str, known: str, family_folder: Path) -> None:
    lm = vm.load(family_folder / name)
    with pytest.raises(ValueError, match=f"^target_language: .*{known}"):
        lm.trace("a cat", target_language=language)
    with pytest.raises(ValueError, match=f"^target_language: .*{known}"):
        lm.generate("a cat", target_language=language)


def test_a_mask_that_was_typed_takes_the_space_before_it(family_folder: Path) -> None:
    tokenizer = vm.load(family_folder / "tiny-masked").tokenizer
    end, mask = tokenizer.end_of_text, tokenizer.mask_id
    words = [tokenizer.encode(word, special=False) for word in ("the", " cat", " sat")]
    assert [len(word) for word in words] == [1, 1, 1]
    (the,), (cat,), (sat,) = words
    assert tokenizer.encode("the [MASK] sat") == [end, the, mask, sat, end]
    assert tokenizer.encode("the cat [MASK] [MASK]") == [end, the, cat, mask, mask, end]
    assert tokenizer.encode("小[MASK]", special=False) == [*tokenizer.encode("小", special=False), mask]
    assert tokenizer.decode(tokenizer.encode("the [MASK] sat")) == "the[MASK] sat" and not tokenizer.is_lossless
    plain = vm.load(family_folder / "tiny-alibi").tokenizer
    assert plain.decode(plain.encode("the [MASK] sat")) == "the [MASK] sat" and plain.is_lossless


@pytest.mark.parametrize("name", ["story-pre-ln", "translate-2017"])
def test_a_generation_has_its_run(name: str) -> None:
    lm = vm.load(name)
    made = lm.generate("The cat", max_new_tokens=5, temperature=0)
    run = made.trace
    ids = run.ids if run.target_ids is None else run.target_ids
    assert list(ids)[-len(made.steps) :] == [token.id for token in made.tokens]
    rows = run["probs"][-len(made.steps) - 1 : -1]
    for row, step in zip(rows, made.steps, strict=True):
        assert row[step.token.id].item() == pytest.approx(step.probability, abs=1e-5)
    again = lm.generate(ids=lm.tokenizer.encode("The cat"), max_new_tokens=5, temperature=0)
    assert again == made and again.trace.ids == run.ids
    refused: list[dict[str, Any]] = [{}, {"text": "a", "ids": [1]}, {"ids": []}, {"ids": [10**6]}]
    for wrong in refused:
        with pytest.raises(ValueError, match=r"give either|empty|token id"):
            lm.generate(**wrong)
