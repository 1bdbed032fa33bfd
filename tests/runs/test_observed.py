"""Runs that happened elsewhere: what was handed over is there, exactly, and nothing else is."""

from typing import Any

import numpy as np
import pytest
import torch
import transformers
from tokenizers import Tokenizer, decoders, models, pre_tokenizers

import viz_model as vm
from viz_model.island.page import scenes
from viz_model.plot import pages
from viz_model.runs.observed import Observed
from viz_model.topics.next_token import choice

TEXT = "The cat sat on the mat."


@pytest.fixture(scope="module")
def run() -> vm.Trace:
    return vm.load("story-pre-ln").trace(TEXT)


def arrays(run: vm.Trace) -> dict[str, Any]:
    layers = range(run.n_layers)
    return {
        "attentions": [run[f"blocks.{n}.attn.pattern"].numpy() for n in layers],
        "hidden_states": [run["embed.out"][None], *(run[f"blocks.{n}.resid.out"][None] for n in layers)],
        "logits": run["logits"].tolist(),
    }


@pytest.mark.parametrize("names", ["texts", "ids"])
def test_what_was_handed_over_is_there(run: vm.Trace, names: str) -> None:
    tokens = [token.label for token in run.tokens] if names == "texts" else list(run.ids)
    seen = vm.observe(tokens, **arrays(run), tokenizer=run.tokenizer if names == "ids" else None, name="mine")
    assert [token.label for token in seen.tokens] == [token.label for token in run.tokens]
    assert set(seen.sites) <= set(run.sites) and all(name in seen for name in seen.sites)
    for name in set(seen.sites) - {"tokens.ids"}:
        torch.testing.assert_close(seen[name], run[name])
        assert seen.site(name).axes == run.site(name).axes and seen.shape(name) == run.shape(name)
    torch.testing.assert_close(seen.row("blocks.1.attn.pattern", 3, 1), run.row("blocks.1.attn.pattern", 3, 1))
    torch.testing.assert_close(torch.cat(list(seen.chunks("probs", 2))), run["probs"])
    assert torch.equal(seen.mask(0), run.mask(0))
    for name in ("blocks.0.attn.q", "blocks.0.ffn.act", "final.norm.out"):
        assert name not in seen and name in run
        with pytest.raises(KeyError, match=f"{name}: this run was observed, not recomputed; what was handed over is"):
            seen[name]
    with pytest.raises(KeyError, match="no site"):
        seen["blocks.9.attn.pattern"]


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"attentions": (), "hidden_states": (), "logits": None}, "give tokens, and"),
        ({"attentions": [np.ones((2, 3, 3))]}, r"attentions\[0\]: expected \[H, 2, 2\] for 2 tokens"),
        ({"attentions": [np.ones((2, 2, 2))]}, "rows of a query sum to 1"),
        ({"attentions": [np.eye(2)[None], np.eye(2)[None].repeat(2, 0)]}, "expected as many heads in every layer"),
        ({"cross_attentions": [np.eye(2)[None]]}, "target: what a decoder has read"),
        ({"target": ["c"], "cross_attentions": [np.eye(2)[None]]}, r"cross_attentions\[0\]: expected \[H, 1, 2\]"),
        ({"target": ["c"], "attentions": [np.eye(2)[None]], "decoder_attentions": [[[[1.0]]] * 2]}, "heads: .*1, 2"),
        ({"hidden_states": [np.ones((3, 4))]}, r"hidden_states\[0\]: expected \[2, D\]"),
        ({"hidden_states": [np.full((2, 4), np.nan)]}, "it holds numbers that are not finite"),
        ({"attentions": [np.eye(2)[None], None]}, r"attentions\[1\]: it is None; leave the argument out"),
        ({"tokens": "ab", "logits": np.ones((2, 4))}, "expected a list of tokens or of ids, got a text"),
        ({"hidden_states": [np.ones((2, 4))], "attentions": [np.eye(2)[None]]}, "expected 2 for 1 layers, got 1"),
        ({"tokens": [-1, 2], "logits": np.ones((2, 4))}, "an id is -1"),
    ],
)
def test_what_does_not_fit_is_refused(changes: dict[str, Any], says: str) -> None:
    with pytest.raises(ValueError, match=says):
        vm.observe(**{"tokens": ["a", "b"], **changes})


PAIRS = {
    "BartForConditionalGeneration": {"encoder_layers": 2, "decoder_layers": 3, "encoder_attention_heads": 4}
    | {"decoder_attention_heads": 4, "encoder_ffn_dim": 40, "decoder_ffn_dim": 40, "max_position_embeddings": 32},
    "SwitchTransformersForConditionalGeneration": {"num_layers": 2, "num_decoder_layers": 3, "num_heads": 4}
    | {"d_kv": 8, "d_ff": 40, "decoder_start_token_id": 0},
}


@pytest.mark.parametrize("made", PAIRS)
def test_both_stacks_of_an_encoder_decoder_are_observed(made: str) -> None:
    cls: Any = getattr(transformers, made)
    config = cls.config_class(vocab_size=99, d_model=32, **PAIRS[made])
    torch.manual_seed(0)
    lm: Any = vm.observe_model(cls._from_config(config, attn_implementation="eager").eval())
    ids, reads = [3, 5, 7, 9], [2, 4, 6]
    run = lm.trace(ids=ids, target_ids=reads)
    said = lm.source(torch.tensor([ids]), decoder_input_ids=torch.tensor([reads]), output_attentions=True)
    assert run.config.kind == "encoder_decoder" and (run.ids, run.target_ids) == (tuple(ids), tuple(reads))
    decoder, encoder = run.at("decoder"), run.at("encoder")
    for n in range(3):
        assert torch.equal(decoder[f"blocks.{n}.cross.pattern"], said.cross_attentions[n][0])
        assert torch.equal(decoder[f"blocks.{n}.attn.pattern"], said.decoder_attentions[n][0])
    assert torch.equal(encoder["blocks.1.attn.pattern"], said.encoder_attentions[1][0])
    assert torch.equal(run["logits"], said.logits[0]) and len(decoder["embed.out"]) == 3
    assert (decoder.leaving in decoder) == (encoder.leaving in encoder) == made.startswith("Switch")
    assert lm.trace(ids=ids).target_ids == (lm.config.start_id,)
    with pytest.raises(ValueError, match="the text is empty"):
        lm.trace(ids=[])
    if made.startswith("Bart"):  # whose positions end
        assert lm.said("5 " * 40, 60) == lm.said("5 " * 32, 60) and len(lm.trace("5 " * 40, max_tokens=32).ids) == 32
    lm.source.generation_config.decoder_start_token_id = lm.source.config.decoder_start_token_id = None
    with pytest.raises(ValueError, match=r"does not say what its decoder begins with; give target=\["):
        vm.observe_run(lm.source, ids)
    assert vm.observe_model(lm.source).trace(ids=ids, target_ids=reads).target_ids == tuple(reads)
    of = vm.page(run, "cross_attention")
    assert "cross_attention.lines" in {scene.id for _, scene in scenes(of.page, of.opening.looks["en"]["decoder"])}


def test_arrays_of_every_kind_are_taken() -> None:
    maps = np.tril(np.full((3, 2, 4, 4), 1 / np.arange(1, 5)[:, None]))
    kinds: list[Any] = [maps.astype(np.float16), torch.tensor(maps).bfloat16(), maps[:, None], maps.tolist()]
    tokens: list[Any] = [[5, 6, 7, 8], np.arange(5, 9), torch.arange(5, 9)[None], (5, 6, 7, 8)]
    for attentions, ids in zip(kinds, tokens, strict=True):
        run = vm.observe(ids, attentions=attentions, logits=np.ones((4, 11)))
        assert run.ids == (5, 6, 7, 8) and run.config.kind == "decoder"
        expected = torch.tensor(maps[2], dtype=torch.float32)
        torch.testing.assert_close(run["blocks.2.attn.pattern"], expected, atol=2e-3, rtol=0)


def test_names_of_tokens_spell_words() -> None:
    spelled = {"The Ġc at Ġä½ł ĠĠ": ["The", "cat", "你", "·"], "<s> ▁The ▁c at </s>": ["<s>", "The", "cat</s>"]}
    spelled["[CLS] the c ##at [SEP]"] = ["[CLS]", "the", "cat", "[SEP]"]
    for tokens, words in spelled.items():
        run = vm.observe(tokens.split(" "), attentions=[np.eye(5)[None]])
        assert list(vm.words(run, "blocks.0.attn.pattern").labels) == words


def test_what_needs_weights_says_that_there_are_none() -> None:
    run = vm.observe(["a", "b"], attentions=[np.eye(2)[None]], logits=np.ones((2, 4)))
    asked: dict[str, Any] = {"gradients": vm.explain.gradients, "routes": vm.explain.routes}
    asked["grad"] = lambda run: run.grad(lambda values: values["logits"].sum(), "logits")
    for name, ask in asked.items():
        with pytest.raises(ValueError, match=f"{name}: this run was observed, .* weights of its model are not known"):
            ask(run)
    with pytest.raises(ValueError, match="overview: no hidden states of this run were observed"):
        vm.show(run)
    states = vm.observe(["a", "b"], hidden_states=list(np.ones((3, 2, 4))))
    assert vm.show(states).scene.id == "overview.observed"


def small(name: str, **more: int) -> Any:
    sizes = {"vocab_size": 300, "hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4}
    cls: Any = getattr(transformers, name)
    torch.manual_seed(0)
    config = cls.config_class(**sizes, intermediate_size=40, embedding_size=32, **more)
    return cls._from_config(config, attn_implementation="eager").eval()


def test_what_does_not_fit_together_is_left_out_of_a_run() -> None:
    with pytest.warns(UserWarning, match="the attention that it reports is left out: it is no map"):
        seen = vm.observe_run(small("SqueezeBertForMaskedLM"), [1, 2, 3])  # it reports scores in the place of weights
    assert "logits" in seen and not [name for name in seen.sites if "pattern" in name]
    with pytest.warns(UserWarning, match="its encoder has other heads or another width"):
        seen = vm.observe_run(small("MvpForConditionalGeneration", decoder_attention_heads=2), [1, 2], target=[0, 4])
    assert "decoder.blocks.0.attn.pattern" in seen and "encoder.blocks.0.attn.pattern" not in seen
    assert vm.observe_model(small("XLNetLMHeadModel", d_head=8)).config.n_context == 512  # it says −1: no end


def test_logits_are_of_the_next_token_or_of_the_same_place_or_of_classes() -> None:
    kinds = {"FNetForMaskedLM": "encoder", "MambaForCausalLM": "decoder", "DebertaForMaskedLM": "encoder"}
    for name, kind in kinds.items():
        for ids in ([5, 6, 7], [5]):
            assert vm.observe_run(small(name), ids).config.kind == kind, (name, ids)
    assert "logits" not in vm.observe_run(small("BertForTokenClassification"), [5, 6, 7])
    (fused := small("PersimmonForCausalLM")).set_attn_implementation("sdpa")
    with pytest.warns(UserWarning, match="with 'sdpa' it says no attention; load it with attn_implementation"):
        vm.observe_run(fused, [5, 6, 7])
    for name, why in (("FocalNetModel", "reads pixel_values, no"), ("BrosModel", "does not run on these")):
        with pytest.raises(ValueError, match=f"{name}: it {why} tokens.*; hand what it computes to vm.observe"):
            vm.observe_run(small(name), [5, 6, 7])


def observed(name: str = "BloomForCausalLM") -> vm.LanguageModel:
    """A class that is not recomputed here, whose tokens are single bytes."""
    fast: Any = transformers.PreTrainedTokenizerFast
    letters = pre_tokenizers.ByteLevel.alphabet()
    words = Tokenizer(models.BPE({letter: n for n, letter in enumerate(sorted(letters))}, []))
    words.pre_tokenizer, words.decoder = pre_tokenizers.ByteLevel(add_prefix_space=False), decoders.ByteLevel()
    return vm.observe_model(small(name), fast(tokenizer_object=words, mask_token="!"), name="bloom")


def test_a_model_that_is_observed_reads_texts_as_it_does_itself() -> None:
    lm: Any = observed()
    run = lm.trace("A cat, 猫")
    ids = lm.reader("A cat, 猫")["input_ids"]
    said = lm.source(torch.tensor([ids]), output_attentions=True)
    assert isinstance(run, Observed) and list(run.ids) == ids and run.text == "A cat, 猫"
    torch.testing.assert_close(run["logits"], said.logits[0].detach())
    torch.testing.assert_close(run["blocks.1.attn.pattern"], said.attentions[1][0].detach())
    assert lm.tokenizer.decode(ids) == "A cat, 猫" and run.tokens[1].label == "·"
    assert lm.config.kind == "decoder" and lm.config.observed and run.config == lm.config
    with pytest.raises(ValueError, match="edits: bloom is observed, not recomputed"):
        lm.trace("A cat", edits=vm.edits.AblateHead(layer=0, head=0))
    with pytest.raises(ValueError, match="target: only an encoder–decoder has one"):
        lm.trace("A cat", "x")
    with pytest.raises(ValueError, match="it does not write here"):
        lm.generate("A cat")


@pytest.mark.parametrize("language", ["en", "zh"])
@pytest.mark.parametrize("model", ["BloomForCausalLM", "DebertaForMaskedLM"])
def test_pages_show_what_an_observed_model_reports_and_others_say_why_not(language: str, model: str) -> None:
    run = observed(model).trace("A cat, 猫")
    is_decoder = run.config.kind == "decoder"
    drawn = {"overview": "overview.observed", "attention": "attention.grid"}
    drawn |= {"tokens": "tokens.apart", "next_token": f"{'next' if is_decoder else 'masked'}_token.choice"}
    assert vm.plot.next_tokens(run).data.marked is None
    mark, otherwise = {"en": ("Observed, not", "runs are observed"), "zh": ("只是观察", "只能观察")}[language]
    in_place = {"en": ["which it can see", "while it could see"], "zh": ["看得见", "看得见"]}[language]
    seen = vm.page(run, "next_token", language=language).opening.looks[language][run.config.sides[0]]
    lines = [str(next(iter(part(seen))).words) for part in (choice.title, choice.tell)]
    assert [part in line for part, line in zip(in_place, lines, strict=True)] == [not is_decoder] * 2
    for name in set(pages.NAMES) - {"cross_attention"} if is_decoder else drawn:
        of = vm.page(run, name, language=language)
        look = of.opening.looks[language][run.config.sides[0]]
        first: Any = of.page.items[0]
        said = str(next(iter(first(look))).words)
        assert (mark in said) == (name in drawn) and (otherwise in said) == (name not in drawn), name
        ids = {scene.id for _, scene in scenes(of.page, look)}
        assert ids >= {drawn[name]} if name in drawn else not ids, (name, ids)
