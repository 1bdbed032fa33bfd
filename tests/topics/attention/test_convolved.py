"""Where a layer convolves: what each token adds to what is written, how large the kernels are, and what is kept."""

from __future__ import annotations

from dataclasses import replace

import islands
import numpy as np
import pytest
import torch
from tiny_models import language_model, mixed

from viz_model.config import ShortConv
from viz_model.drawing.scene import Cells
from viz_model.island.look import Look
from viz_model.measures import states
from viz_model.runs.trace import Trace
from viz_model.texts import Texts
from viz_model.tokenizers.tokenizer import story_tokenizer
from viz_model.topics.attention import PAGE, WITHOUT

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


def test_cells_are_the_shares_and_nothing_further_back_has_one() -> None:
    shown, found = islands.pictures(HERE, look(0)), states.proportions(run(0), 0)[0]
    cells = next(mark for mark in shown["attention.reads"].panels[0].marks if isinstance(mark, Cells))
    far = np.subtract.outer(np.arange(len(found)), np.arange(len(found)))
    hidden = (far < 0) | (far >= 3)
    assert np.isnan(cells.values[hidden]).all() and not found[hidden].any()
    np.testing.assert_allclose(cells.values[~hidden], found[~hidden], atol=1e-6)
    np.testing.assert_allclose(np.abs(found).sum(-1), 1, atol=1e-5)
