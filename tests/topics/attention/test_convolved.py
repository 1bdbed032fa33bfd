"""Where a layer convolves: what each token adds to what is written, how large the kernels are, and what is kept."""

from __future__ import annotations

from dataclasses import replace

import islands
import numpy as np
import pytest
import torch
from islands import sentences
from tiny_models import language_model, mixed

from viz_model.config import ShortConv
from viz_model.drawing.scene import Cells
from viz_model.island.look import Look
from viz_model.measures import states
from viz_model.runs.edits import AblateHead
from viz_model.runs.trace import Trace
from viz_model.texts import Texts
from viz_model.tokenizers.tokenizer import story_tokenizer
from viz_model.topics.attention import PAGE, WITHOUT, constant

N_VOCAB = story_tokenizer().n_vocab
CONVOLVING = [
    replace(config, n_vocab=N_VOCAB, n_context=64)
    for config in mixed()
    if any(isinstance(mixer, ShortConv) for mixer in config.mixers)
]
HERE = replace(PAGE, items=WITHOUT, end=())


def run(n: int) -> Trace:
    return language_model(CONVOLVING[n]).trace("The dog saw the dog and the cat")


def look(n: int, lang: str = "en") -> Look:
    return Look.at(run(n), Texts(lang), "attention", layer=0, token=3, one=True)


@pytest.mark.parametrize("n", range(len(CONVOLVING)))
def test_shares_are_those_of_the_run_without_each_input(n: int) -> None:
    """What is written changes, without the input of one token, by a vector; it is measured along what is written."""
    trace, mixer = run(n), CONVOLVING[n].mixers[0]
    assert isinstance(mixer, ShortConv)
    attn = trace.stack.block(0).attn
    entered, leave, out = (trace[f"blocks.0.attn.{name}"] for name in ("entered", "leave", "out"))
    kernel, bias = attn.get_parameter("kernel"), getattr(attn, "kernel_bias", None)

    def written(x: torch.Tensor) -> torch.Tensor:
        made = torch.zeros_like(x) if bias is None else bias.expand_as(x).clone()
        for t in range(len(x)):
            for w in range(mixer.kernel):
                if (at := t - mixer.kernel + 1 + w) >= 0:
                    made[t] = made[t] + kernel[:, w] * x[at]
        return attn.o(leave * made)

    with torch.no_grad():
        torch.testing.assert_close(written(entered), out, atol=1e-5, rtol=1e-5)
        whole = written(entered) - written(torch.zeros_like(entered))
        found = states.of_convolution(trace, 0)[0]
        for token in range(len(entered)):
            without = entered.clone()
            without[token] = 0
            gone = written(entered) - written(without)
            torch.testing.assert_close(found[:, token], (gone * whole).sum(-1), atol=1e-4, rtol=1e-4)


@pytest.mark.parametrize("lang", ["en", "zh"])
def test_everything_is_said_and_drawn(lang: str) -> None:
    for n in range(len(CONVOLVING)):
        said = sentences(HERE, look(n, lang))
        assert said and not any("{{" in one for one in said)
        assert str(CONVOLVING[n].d_model) in " ".join(said)
        assert {"attention.reads", "attention.kernel"} == set(islands.pictures(HERE, look(n, lang))) - {
            "attention.constant"
        }


def test_cells_are_the_shares_and_nothing_further_back_has_one() -> None:
    shown, found = islands.pictures(HERE, look(0)), states.proportions(run(0), 0)[0]
    cells = next(mark for mark in shown["attention.reads"].panels[0].marks if isinstance(mark, Cells))
    far = np.subtract.outer(np.arange(len(found)), np.arange(len(found)))
    hidden = (far < 0) | (far >= 3)
    assert np.isnan(cells.values[hidden]).all() and not found[hidden].any()
    np.testing.assert_allclose(cells.values[~hidden], found[~hidden], atol=1e-6)
    np.testing.assert_allclose(np.abs(found).sum(-1), 1, atol=1e-5)


@pytest.mark.parametrize("n", [1, 2, 40])
def test_bytes_are_those_of_a_cache_that_was_filled(n: int) -> None:
    cache = (model := language_model(CONVOLVING[0]).model).new_cache()
    with torch.inference_mode():
        model(torch.zeros(1, n, dtype=torch.long), cache=cache)
    held = [x for block in cache for x in (block.attn.k, block.attn.v, *block.mixed.values()) if x is not None]
    assert constant.Kept.of(CONVOLVING[0], n).here[0] == sum(x.numel() * x.element_size() for x in held)


def test_a_convolution_over_one_token_keeps_nothing() -> None:
    alone = replace(CONVOLVING[0], mixers=(ShortConv(kernel=1), CONVOLVING[0].mixers[1]))
    here = Look.at(language_model(alone).trace("The dog"), Texts("en"), "attention", layer=0, token=1, one=True)
    assert not constant.is_there(here) and sentences(HERE, here)


def test_a_head_that_is_not_there_cannot_be_switched_off() -> None:
    lm = language_model(CONVOLVING[0])
    with pytest.raises(ValueError, match="layer 0 convolves, and has no heads"):
        lm.trace("The dog", edits=AblateHead(layer=0, head=0))
    assert not torch.equal(
        lm.trace("The dog", edits=AblateHead(layer=1, head=0))["logits"], lm.trace("The dog")["logits"]
    )
