"""viz_model.runs.generation: what is kept and drawn, and that the cache changes nothing."""

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
from viz_model.config import LanguageHead
from viz_model.runs.generation import Decoder, Sampling, distribution, draw, falling

LOGITS = st.lists(st.floats(-30, 30, width=32), min_size=1, max_size=40)


def plain_distribution(
    logits: list[float], temperature: float, top_k: int | None, top_p: float | None
) -> tuple[list[float], list[int], list[float]]:
    """The definition without tensors: (probs, kept ids in falling order, final)."""
    powers = [math.exp((x - max(logits)) / temperature) for x in logits]
    probs = [power / math.fsum(powers) for power in powers]
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


@given(LOGITS, st.floats(0.05, 5), st.none() | st.integers(1, 50), st.none() | st.floats(0.01, 1))
@example(logits=[0.0] * 10, temperature=1.0, top_k=3, top_p=None)
@example(logits=[2.0, 1.0, 0.0], temperature=1.0, top_k=2, top_p=1.0)
@example(logits=[4 * math.sin(n * n) for n in range(8192)], temperature=1.0, top_k=None, top_p=1.0)
def test_by_plain_sampling(logits: list[float], temperature: float, top_k: int | None, top_p: float | None) -> None:
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
    assert found.probs[found.kept].sum().item() == pytest.approx(math.fsum(probs[id] for id in ranked), abs=1e-6)


def test_sampling_refuses(lm: vm.LanguageModel) -> None:
    wrong: dict[str, tuple[Any, ...]] = {"temperature": (-0.1, math.inf), "top_k": (0, 2.5), "top_p": (0.0, 1.01)}
    for field, values in wrong.items():
        for value in values:
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
    assert below <= number + 1e-6 and number <= below + found.final[id].item() + 1e-6


@pytest.mark.parametrize("temperature", [0.0, 1e-6, 1e-40, 1e-46, 1e-320])
def test_a_vanishing_temperature_is_greedy(temperature: float) -> None:
    found = distribution(torch.tensor([0.0, math.log(3), 0.0]), Sampling(temperature=temperature))
    assert found.final.tolist() == pytest.approx([0.0, 1.0, 0.0])
    # Greedy shows the probabilities that it chose from; of two logits of one probability it takes one.
    assert temperature or found.probs.tolist() == pytest.approx([0.2, 0.6, 0.2])
    assert distribution(torch.tensor([0.0, 1e-18]), Sampling(temperature=temperature)).final.sum() == 1


def test_a_full_context_forgets_its_older_half() -> None:
    model = random_model(tiny_config(n_context=6))
    decoder = Decoder(model, [1, 2, 3, 4, 5, 6])
    logits = decoder.append(7)
    assert decoder.ids == [5, 6, 7]
    torch.testing.assert_close(logits, model(torch.tensor([[5, 6, 7]]))[0, -1], atol=1e-5, rtol=1e-5)
    decoder.append(8)
    assert decoder.ids == [5, 6, 7, 8]


def test_the_seed_decides(lm: vm.LanguageModel) -> None:
    first = lm.generate("The cat", max_new_tokens=12, seed=3)
    assert first == lm.generate("The cat", max_new_tokens=12, seed=3)
    assert first != lm.generate("The cat", max_new_tokens=12, seed=4)
    torch.manual_seed(123)  # nobody else's use of random numbers does
    assert first == lm.generate("The cat", max_new_tokens=12, seed=3)


def test_end_of_text_stops_and_is_no_part_of_the_text() -> None:
    config = tiny_config(n_vocab=8192, head=LanguageHead(bias=True))
    model, lm = random_model(config), language_model(config)
    model.get_parameter("head.unembedding.bias")[lm.tokenizer.end_of_text] = 1e3
    lm = dataclasses.replace(lm, model=model)
    result = lm.generate("The cat", max_new_tokens=5, temperature=0)
    assert (result.text, result.steps, result.stopped) == ("", (), "end_of_text")
    nothing = lm.generate("The cat", max_new_tokens=0)
    assert (nothing.text, nothing.steps, nothing.stopped) == ("", (), "length")


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
    expected = trace.next_tokens(-1, 1)[0][0]
    assert lm.generate("a little cat", "the dog", max_new_tokens=2, temperature=0).steps[0].token == expected
    blank = language_model(dataclasses.replace(lm.config, start_id=None))
    with pytest.raises(ValueError, match=r"^start_id: "):
        blank.trace(ids=[1, 2])
    assert blank.trace(ids=[1, 2], target_ids=[0, 4])["logits"].shape == (2, lm.config.n_vocab)


@pytest.mark.parametrize("name", ["tiny-bert", "tiny-t5", "tiny-alibi"])
def test_an_empty_text_is_refused(name: str, family_folder: Path) -> None:
    lm = vm.load(family_folder / name)
    for ask in (lm.trace, lm.generate):
        with pytest.raises(ValueError, match="the text is empty"):
            ask("")
    if name == "tiny-bert":
        with pytest.raises(ValueError, match="no next token to generate"):
            lm.generate("the cat")


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
    with pytest.raises(ValueError, match=r"^target_language: .*fr, zh"):
        lm.trace("a cat", target_language="de")


@pytest.mark.parametrize("name", ["story-pre-ln", "translate-2017"])
def test_a_generation_has_its_run(name: str) -> None:
    lm = vm.load(name)
    made = lm.generate("The cat", max_new_tokens=5, temperature=0)
    run = made.trace
    assert made.text == lm.tokenizer.decode(token.id for token in made.tokens)
    ids = run.ids if run.target_ids is None else run.target_ids
    assert list(ids)[-len(made.steps) :] == [token.id for token in made.tokens]
    rows = run["probs"][-len(made.steps) - 1 : -1]
    for row, step in zip(rows, made.steps, strict=True):
        assert step.token.id == row.argmax() and step.final_probability == 1
        assert row[step.token.id].item() == pytest.approx(step.probability, abs=1e-5)
    again = lm.generate(ids=lm.tokenizer.encode("The cat"), max_new_tokens=5, temperature=0)
    assert again == made and again.trace.ids == run.ids
    refused: list[dict[str, Any]] = [{}, {"text": "a", "ids": [1]}, {"ids": []}, {"ids": [10**6]}]
    for wrong in refused:
        with pytest.raises(ValueError, match=r"give either|empty|token id"):
            lm.generate(**wrong)


def test_ids_fall_as_a_stable_sort_has_them() -> None:
    special = torch.tensor([0.0, -0.0, 3.5, -torch.inf, 3.5, -2.0, 1e-40, -1e-40, torch.inf])
    for logits in (special, torch.randn(5000).bfloat16()):
        assert falling(logits).tolist() == logits.argsort(descending=True, stable=True).tolist()
