"""viz_model.runs.language_model: texts in, with what their tokenizer puts around them, and the targets of decoders."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import pytest
from tiny_family import write_family
from tiny_models import language_model, tiny_config

import viz_model as vm
from viz_model.model import masks


@pytest.fixture(scope="module")
def family(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    return write_family(tmp_path_factory.mktemp("family"))


def test_a_long_text_keeps_the_control_tokens_at_its_end(family: dict[str, Path]) -> None:
    lm = vm.load(family["tiny-bert"])
    whole = lm.tokenizer.encode("the cat " * 100)
    trace = lm.trace("the cat " * 100)
    assert len(trace) == lm.config.n_context and trace.n_dropped == len(whole) - len(trace)
    assert trace.ids[-1] == whole[-1] and trace.ids[-1] in lm.tokenizer.controls
    assert list(trace.ids[:-1]) == whole[: len(trace) - 1]
    assert list(lm.trace("the cat " * 100, max_tokens=5).ids) == [*whole[:4], whole[-1]]


def test_a_target_begins_with_the_start_token(family: dict[str, Path]) -> None:
    lm = vm.load(family["tiny-t5"])
    trace = lm.trace("a little cat", "the dog")
    assert trace.target_ids == (lm.config.start_id, *lm.tokenizer.encode("the dog", special=False))
    assert trace.ids == tuple(lm.tokenizer.encode("a little cat"))
    assert [token.id for token in trace.target_tokens] == list(trace.target_ids)
    assert lm.trace("a little cat").target_ids == (lm.config.start_id,)
    again = lm.trace(ids=trace.ids, target_ids=trace.target_ids)
    assert all((again[name] == trace[name]).all() for name in trace.sites)


def test_what_is_said_is_what_the_trace_expects(family: dict[str, Path]) -> None:
    lm = vm.load(family["tiny-t5"])
    said = lm.generate("a little cat", max_new_tokens=5, temperature=0)
    ids = [step.token.id for step in said.steps]
    trace = lm.trace(ids=lm.tokenizer.encode("a little cat"), target_ids=[0, *ids])
    assert [trace.next_tokens(position, 1)[0][0].id for position in range(len(ids))] == ids
    longer = lm.generate("a little cat", "the", max_new_tokens=2, temperature=0)
    expected = lm.trace("a little cat", "the").next_tokens(-1, 1)[0][0]
    assert longer.steps[0].token == expected


def test_the_views_of_a_run(family: dict[str, Path]) -> None:
    trace = vm.load(family["tiny-t5"]).trace("a little cat", "the dog")
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
def test_an_empty_text_is_refused(name: str, family: dict[str, Path]) -> None:
    lm = vm.load(family[name])
    with pytest.raises(ValueError, match="the text is empty"):
        lm.trace("")
    if lm.config.kind != "encoder":
        with pytest.raises(ValueError, match="the text is empty"):
            lm.generate("")


def test_an_encoder_does_not_generate(family: dict[str, Path]) -> None:
    with pytest.raises(ValueError, match="no next token to generate"):
        vm.load(family["tiny-bert"]).generate("the cat")


def test_a_model_without_a_tokenizer_traces_ids(family: dict[str, Path]) -> None:
    lm = vm.load(family["tiny-llama-ids"])
    trace = lm.trace(ids=[5, 9, 12])
    assert [token.text for token in trace.tokens] == ["5", "9", "12"]
    assert lm.trace("5 9 12").ids == trace.ids
    with pytest.raises(vm.TextError, match="is not a token id"):
        lm.trace("hello")


def test_a_decoder_that_does_not_know_its_start_asks_for_it(family: dict[str, Path]) -> None:
    lm = vm.load(family["tiny-t5"])
    blank = language_model(dataclasses.replace(lm.config, start_id=None))
    with pytest.raises(ValueError, match=r"^start_id: "):
        blank.trace(ids=[1, 2])
    assert blank.trace(ids=[1, 2], target_ids=[0, 4])["logits"].shape == (2, lm.config.n_vocab)


def test_a_mask_by_side(family: dict[str, Path]) -> None:
    lm = vm.load(family["tiny-t5"])
    n = len(lm.trace("a little cat").ids)
    trace = lm.trace("a little cat", mask={"encoder": masks.causal(n, n)})
    assert (trace["encoder.blocks.0.attn.pattern"].triu(1) == 0).all()


# Translators into several languages


def test_the_tag_of_a_language_is_all_that_tells_the_decoder(family: dict[str, Path]) -> None:
    lm = vm.load(family["tiny-translator"])
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


def test_a_translation_is_what_the_trace_of_its_language_expects(family: dict[str, Path]) -> None:
    lm = vm.load(family["tiny-translator"])
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
def test_an_unknown_language_is_refused(name: str, language: str, known: str, family: dict[str, Path]) -> None:
    lm = vm.load(family[name])
    with pytest.raises(ValueError, match=f"^target_language: .*{known}"):
        lm.trace("a cat", target_language=language)
    with pytest.raises(ValueError, match=f"^target_language: .*{known}"):
        lm.generate("a cat", target_language=language)


def test_a_mask_that_was_typed_takes_the_space_before_it(family: dict[str, Path]) -> None:
    tokenizer = vm.load(family["tiny-masked"]).tokenizer
    end, mask = tokenizer.end_of_text, tokenizer.mask_id
    words = [tokenizer.encode(word, special=False) for word in ("the", " cat", " sat")]
    assert [len(word) for word in words] == [1, 1, 1]
    (the,), (cat,), (sat,) = words
    assert tokenizer.encode("the [MASK] sat") == [end, the, mask, sat, end]
    assert tokenizer.encode("the cat [MASK] [MASK]") == [end, the, cat, mask, mask, end]
    assert tokenizer.encode("小[MASK]", special=False) == [*tokenizer.encode("小", special=False), mask]
    assert tokenizer.decode(tokenizer.encode("the [MASK] sat")) == "the[MASK] sat" and not tokenizer.is_lossless
    plain = vm.load(family["tiny-alibi"]).tokenizer
    assert plain.decode(plain.encode("the [MASK] sat")) == "the [MASK] sat" and plain.is_lossless
