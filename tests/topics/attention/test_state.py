"""Where a layer holds a state or convolves: what tokens do to it, what is read of it, and what it keeps."""

from dataclasses import replace

import islands
import numpy as np
import pytest
import torch
from tiny_models import language_model, mixed

from viz_model.config import Attending, DeltaNet, ShortConv
from viz_model.drawing.scene import Cells
from viz_model.island.look import Look
from viz_model.measures import states
from viz_model.runs.trace import Trace
from viz_model.texts import Texts
from viz_model.tokenizers.tokenizer import story_tokenizer
from viz_model.topics.attention import PAGE, WITHOUT, constant, recall

TEXTUAL = [replace(config, n_vocab=story_tokenizer().n_vocab, n_context=64) for config in mixed()]
WIDE = TEXTUAL[0]
PAGE_OF_STATES = replace(PAGE, items=WITHOUT, end=())


def look(lang: str = "en", **options: str) -> Look:
    trace = language_model(WIDE).trace("The dog saw the dog and the cat")
    return replace(Look.at(trace, Texts(lang), "attention", layer=0, token=3, one=True), options=options)


def test_the_pictures_of_tokens_hold_what_the_run_has() -> None:
    found = look(memory="1")
    trace, shown = found.trace, islands.pictures(PAGE_OF_STATES, found)
    marks = {name: scene.panels[0].marks for name, scene in shown.items()}
    cells = {name: next(one for one in some if isinstance(one, Cells)) for name, some in marks.items()}
    factors = states.shares(trace, 0)[1].numpy()
    proportions = factors / np.abs(factors).sum(-1, keepdims=True)
    drawn = cells["attention.reads"].values
    assert np.isnan(drawn[np.triu_indices(len(trace), 1)]).all()
    np.testing.assert_allclose(np.nan_to_num(drawn), proportions, atol=1e-6)
    alpha, beta = (trace[f"blocks.0.attn.{name}"][1].numpy() for name in ("alpha", "beta"))
    np.testing.assert_allclose(cells["attention.memory"].values[:2], [alpha, beta], atol=1e-6)


def test_the_length_from_which_on_states_take_less_is_the_first_one() -> None:
    for config in (WIDE, replace(WIDE, n_layers=3, mixers=(DeltaNet(), Attending(), DeltaNet()))):
        even = constant.Kept.of(config, 5).even
        (less, more), (before, after) = (constant.Kept.of(config, n).here for n in (even, even - 1))
        assert less < more and before >= after


def test_facts_are_cut_at_their_marks_in_either_language() -> None:
    assert recall.facts_of("Tom is big. Is Lily small? ") == ("Tom is big.", "Is Lily small?")
    assert recall.facts_of("小猫吃鱼。小狗吃肉。没有句号") == ("小猫吃鱼。", "小狗吃肉。")


@pytest.mark.parametrize("text", ["One fact alone.", "Word. Another one here.", "", "no mark, no mark"])
def test_what_cannot_be_asked_is_said(text: str) -> None:
    assert recall.measure(look(), text) is None
    found = look(facts=text or ".")
    assert recall.draw(found) is None
    assert islands.one(recall.tell(found), found.place)[0].startswith("Write at least two sentences")


CONVOLVING = [one for one in TEXTUAL if any(isinstance(mixer, ShortConv) for mixer in one.mixers)]


def run(n: int) -> Trace:
    return language_model(CONVOLVING[n]).trace("The dog saw the dog and the cat")


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
