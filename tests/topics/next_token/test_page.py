"""The page on what comes out, for every kind of model: its values are those of the model's own run."""

from __future__ import annotations

import base64
import itertools
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from app_driver import check_cells, figures, offer, open_page, run_code
from streamlit.testing.v1 import AppTest
from tiers import name
from tiny_models import describe, language_model, of_classes, random_model, tiny_config, variants

import viz_model as vm
from viz_model import texts
from viz_model.app import runs
from viz_model.config import LanguageHead, MaskedHead, ModelConfig, NoHead
from viz_model.tokenizers.tokenizer import IdTokenizer, story_tokenizer
from viz_model.topics.next_token.pictures.repetition import RepetitionView
from viz_model.topics.next_token.sections.drawn import drawn

pytestmark = pytest.mark.full

MASK, TEXT, TARGET = 100, "3 1 41 59 26", "5 35 8"

Visit = Callable[..., AppTest]


class Ids(IdTokenizer):
    """A vocabulary of numbers with an end and a mask."""

    end_of_text = 2
    mask_id: int | None = MASK


def ids_model(config: ModelConfig, mask_id: int | None = MASK) -> vm.LanguageModel:
    tokenizer = Ids(config.n_vocab)
    tokenizer.mask_id = mask_id
    name = f"{describe(config)}-{hash(config)}-{mask_id}"  # runs are cached by name
    return vm.LanguageModel(
        name=name, model=random_model(config), tokenizer=tokenizer, twin=None, folder=Path("nowhere")
    )


@pytest.fixture
def visit(monkeypatch: pytest.MonkeyPatch) -> Visit:
    """Open the page on a model of the test's own."""

    def visit(lm: vm.LanguageModel, **query: str) -> AppTest:
        monkeypatch.setattr(runs, "configs", lambda: {lm.name: lm.config})
        monkeypatch.setattr(runs, "model", lambda name: lm)
        monkeypatch.setattr(vm, "load", lambda name: lm)
        if lm.config.kind == "encoder_decoder":
            query.setdefault("target", TARGET)
        return open_page("next_token", {"text": TEXT, "lang": "en", **query})

    return visit


def array(value: Any) -> np.ndarray:
    """Numbers of a figure, typed or written out."""
    if not isinstance(value, dict):
        return np.array([np.nan if number is None else number for number in value], dtype=np.float64)
    return np.frombuffer(base64.b64decode(value["bdata"]), value["dtype"])


def said(app: AppTest) -> str:
    return "\n".join(part.value for part in (*app.markdown, *app.subheader, *app.caption, *app.info))


def first_bar(app: AppTest) -> float:
    """The largest probability drawn after filtering, in the first picture."""
    (bars,) = [part for part in figures(app)[0]["data"] if part["type"] == "bar" and part["width"] == 0.5]
    return float(array(bars["x"])[0])


def run_snippet(app: AppTest) -> str:
    words = run_code(app)
    assert "True" in words and "False" not in words, words
    return " ".join(words)


KINDS = variants()[::4]


def test_the_chosen_variants_are_of_every_kind() -> None:
    found = {(config.kind, type(config.head)) for config in KINDS}
    assert {("decoder", LanguageHead), ("encoder_decoder", LanguageHead)} <= found
    assert {("encoder", head) for head in (LanguageHead, MaskedHead, NoHead)} <= found


@pytest.mark.parametrize("config", KINDS, ids=describe)
@pytest.mark.parametrize("lang", texts.LANGUAGES)
def test_every_kind_has_its_page_and_code_that_agrees(config: ModelConfig, lang: str, visit: Visit) -> None:
    lm = ids_model(config)
    app = visit(lm, lang=lang, token="1")
    speak = texts.Texts(lang)
    if config.kind != "encoder":
        heading = speak("common.page_next_token")
    else:
        heading = speak("masked_token.heading" if config.has_logits else "sentence_vectors.heading")
    assert app.header[0].value == heading
    assert len(figures(app)) >= 2
    run_snippet(app)


@pytest.mark.parametrize("lang", texts.LANGUAGES)
def test_a_classifier_of_texts_shows_its_labels_on_every_page(lang: str, monkeypatch: pytest.MonkeyPatch) -> None:
    lm = ids_model(of_classes()[0])
    offer(monkeypatch, {"classifier": lm})
    best, share = lm.trace(TEXT).classes(k=1)[0]
    told = f"{best}: {share:.1%}" if lang == "en" else f"{best}：{share:.1%}"
    for page in ("next_token", "overview", "walk", "attribution", "batch", "architectures"):
        app = open_page(page, {"model": "classifier", "text": TEXT, "lang": lang})
        if page == "next_token":
            assert app.header[0].value == texts.Texts(lang)("text_classes.heading")
            assert told in said(app)
            check_cells(app, lm.trace(TEXT))
            run_snippet(app)
        if page == "overview":
            assert f"**{best}" in said(app).replace("The model says ", "").replace(
                "模型说 ", ""
            ) and f"{share:.1%}" in said(app)


@pytest.mark.parametrize("config", [c for c in KINDS if c.kind != "encoder"], ids=describe)
def test_the_bars_are_the_decoder_s_at_the_selected_position(config: ModelConfig, visit: Visit) -> None:
    lm = ids_model(config)
    app = visit(lm, token="2")
    app.slider(key="next_token.top_p").set_value(1.0).run()
    trace = lm.trace(TEXT, TARGET if config.kind == "encoder_decoder" else None)
    assert first_bar(app) == pytest.approx(float(trace["probs"][2].max()), rel=1e-5)


def test_the_encoder_s_side_shows_what_the_decoder_says_last(visit: Visit) -> None:
    lm = ids_model(tiny_config(kind="encoder_decoder", start_id=0))
    app = visit(lm, side="encoder", token="1")
    app.slider(key="next_token.top_p").set_value(1.0).run()
    trace = lm.trace(TEXT, TARGET)
    assert first_bar(app) == pytest.approx(float(trace["probs"][3].max()), rel=1e-5)
    assert "predicts nothing" in said(app)
    run_snippet(app)


@pytest.mark.parametrize("config", [c for c in KINDS if c.kind != "encoder"], ids=name)
def test_what_is_drawn_continues_the_right_text(config: ModelConfig, visit: Visit) -> None:
    lm = ids_model(config)
    is_target = config.kind == "encoder_decoder"
    app = visit(lm)
    for _ in range(3):
        if not app.button(key="next_token.one_more").disabled:  # unless the model has ended the text
            app.button(key="next_token.one_more").click().run()
    expected = lm.generate(TEXT, TARGET if is_target else None, max_new_tokens=3, top_p=0.9)
    assert not app.exception
    kept = [str(token.id) for token in expected.tokens]
    assert app.button(key="next_token.one_more").disabled == (expected.stopped == "end_of_text")
    assert app.button(key="next_token.keep").disabled == (not kept)
    if not kept:
        return
    app.button(key="next_token.keep").click().run()
    assert not app.exception
    before, field = (TARGET, "target") if is_target else (TEXT, "text")
    assert app.query_params[field] == " ".join([before, *kept])
    assert is_target == (app.query_params["text"] == TEXT)


def test_the_cache_note_speaks_of_shared_heads_and_of_the_source(visit: Visit) -> None:
    plain, grouped = ids_model(tiny_config()), ids_model(tiny_config(n_heads=4, n_kv_heads=2))
    translator = ids_model(tiny_config(kind="encoder_decoder", start_id=0))
    notes = []
    for lm in (plain, grouped, translator):
        app = visit(lm)
        app.button(key="next_token.one_more").click().run()
        notes.append(said(app))
    assert ["grouped-query" in note for note in notes] == [False, True, False]
    assert ["cross-attention" in note for note in notes] == [False, False, True]
    # 2 · layers · key–value heads · positions · head width · 4 bytes
    assert f"{2 * 2 * 2 * 5 * 6 * 4:,} B" in notes[1]


@pytest.mark.parametrize("config", [c for c in KINDS if c.kind == "encoder" and c.has_logits], ids=describe)
def test_the_selected_token_is_covered(config: ModelConfig, visit: Visit) -> None:
    lm = ids_model(config)
    app = visit(lm, token="2")
    app.slider(key="next_token.top_p").set_value(1.0).run()
    ids = [3, 1, 41, 59, 26]
    probs = lm.trace(ids=[3, 1, MASK, 59, 26])["probs"]
    assert first_bar(app) == pytest.approx(float(probs[2].max()), rel=1e-5)
    rank = 1 + int((probs[2] > probs[2, 41]).sum())
    assert f"rank **{rank}**" in said(app) and "no next token" in said(app)
    strip = next(part for figure in figures(app) for part in figure["data"] if part["type"] == "heatmap")
    visible, covered = array(strip["z"]).reshape(2, len(ids))
    np.testing.assert_allclose(visible, lm.trace(ids=ids)["probs"][range(5), ids], rtol=1e-4)
    for n, id in enumerate(ids):
        alone = lm.trace(ids=[*ids[:n], MASK, *ids[n + 1 :]])["probs"][n, id]
        assert covered[n] == pytest.approx(float(alone), rel=1e-4)
    assert not [button for button in app.button if "one_more" in str(button.key)]


def test_a_typed_mask_is_shown_as_one(visit: Visit) -> None:
    lm = ids_model(tiny_config(kind="encoder", head=MaskedHead()))
    app = visit(lm, text=f"3 {MASK} 41")
    assert "You typed `100` at position 1" in said(app)  # and it is what the page begins with
    assert "are left out" in said(app)
    run_snippet(app)


def test_without_a_mask_token_nothing_is_covered_and_that_is_said(visit: Visit) -> None:
    lm = ids_model(tiny_config(kind="encoder", head=MaskedHead()), mask_id=None)
    app = visit(lm, token="1")
    app.slider(key="next_token.top_p").set_value(1.0).run()
    assert "has no mask token" in said(app)
    assert first_bar(app) == pytest.approx(float(lm.trace(TEXT)["probs"][1].max()), rel=1e-5)
    run_snippet(app)


def test_sentences_are_compared_as_they_are_typed(visit: Visit) -> None:
    lm = ids_model(tiny_config(kind="encoder", head=NoHead(), norm_at="post"))
    app = visit(lm, token="1")
    key = "sentence_vectors.sentence_0"
    app.text_input(key=key).set_value("7 8 9").run()
    assert not app.exception
    own, other = (trace[trace.leaving].mean(0) for trace in (lm.trace(TEXT), lm.trace("7 8 9")))
    expected = torch.cosine_similarity(own, other, dim=0)
    assert array(figures(app)[0]["data"][0]["x"])[0] == pytest.approx(float(expected), abs=1e-5)
    assert "predicts no tokens" in said(app)
    app.text_input(key=key).set_value("no ids").run()  # such as this vocabulary cannot write
    assert not app.exception and "is not a token id" in said(app)
    for n in range(3):
        app.text_input(key=f"sentence_vectors.sentence_{n}").set_value("").run()
    assert not app.exception and "Write a sentence" in said(app)


HEADS = [
    tiny_config(n_vocab=8192),
    tiny_config(kind="encoder", head=MaskedHead(), n_vocab=8192),
    tiny_config(kind="encoder", head=NoHead(), n_vocab=8192),
    tiny_config(kind="encoder_decoder", start_id=0, n_vocab=8192),
]
TEXTS = ["a", "<b>x</b> $y^2$ `z`", "\u202e e\u0301 👩‍👩‍👧 \x00", "long " * 100]


@pytest.mark.parametrize(("config", "text"), list(itertools.product(HEADS, TEXTS)), ids=name)
def test_any_text_renders(config: ModelConfig, text: str, visit: Visit) -> None:
    lm = language_model(config)
    tokenizer = story_tokenizer()
    lm = vm.LanguageModel(
        name=f"any-{describe(config)}-{type(config.head).__name__}",
        model=lm.model,
        tokenizer=tokenizer,
        twin=None,
        folder=lm.folder,
    )
    app = visit(lm, text=text, target="")
    assert len(figures(app)) >= 2


def test_drawing_on_draws_what_drawing_at_once_draws() -> None:
    name, sampling = "story-pre-ln", vm.Sampling(top_p=0.9)
    text = "The cat sat on"
    grown = [drawn(runs.RunKey(name, text), sampling, 3, count) for count in (1, 4, 2)]
    expected = vm.load(name).generate(text, max_new_tokens=4, top_p=0.9, seed=3)
    assert grown[1] == expected.steps and grown[0] == expected.steps[:1] and grown[2] == expected.steps[:2]


def test_every_draw_says_which_number_it_was_and_where_it_fell(visit: Visit) -> None:
    lm = ids_model(tiny_config())
    app = visit(lm, temperature="1.5", top_k="30", seed="7")
    assert app.slider(key="next_token.temperature").value == 1.5
    app.button(key="next_token.one_more").click().run()
    step = lm.generate(TEXT, max_new_tokens=1, temperature=1.5, top_k=30, top_p=0.9, seed=7).steps[0]
    assert f"**{step.drawn:.4f}" in said(app) and f"`{step.token.label}`" in said(app) and "seed **7**" in said(app)
    app.button(key="next_token.another_seed").click().run()
    following = lm.generate(TEXT, max_new_tokens=1, temperature=1.5, top_k=30, top_p=0.9, seed=8).steps[0]
    assert not app.exception and app.query_params["seed"] == "8"
    assert f"**{following.drawn:.4f}" in said(app)


def test_a_text_that_repeats_itself_is_told_with_its_probabilities(visit: Visit) -> None:
    lm = vm.load("story-post-ln")
    app = visit(lm, text="一天早上，", temperature="0")
    app.button(key="next_token.one_more").click().run()
    assert "had stood there before" not in said(app)
    for _ in range(3):
        app.button(key="next_token.ten_more").click().run()
    steps = lm.generate("一天早上，", max_new_tokens=31, temperature=0.0).steps
    facts = RepetitionView.of(lm.tokenizer.encode("一天早上，"), steps).facts()
    assert f"{facts['n_repeated']} of 31 tokens end four that had stood there before" in said(app)
    assert ("Round in circles" in said(app)) == (int(facts["n_repeated"]) > 15)
    assert f"a probability of **{facts['p_first']}** on average" in said(app)


def test_greedy_repeats_are_counted_beside_those_of_the_draw(visit: Visit) -> None:
    lm = ids_model(tiny_config())
    app = visit(lm, temperature="1.5", top_k="0", seed="7")
    for _ in range(2):
        app.button(key="next_token.ten_more").click().run()
    app.toggle(key="next_token.greedy").set_value(True).run()
    ids = lm.tokenizer.encode(TEXT)
    texts = (lm.generate(TEXT, max_new_tokens=20, temperature=t, top_p=0.9, seed=7).steps for t in (0.0, 1.5))
    greedy, drawn = (RepetitionView.of(ids, steps).facts()["n_repeated"] for steps in texts)
    assert f"greedy tokens {greedy} end four that had stood in the text before, of the drawn ones {drawn}." in said(app)


def test_settings_of_the_draw_go_into_the_address(visit: Visit) -> None:
    app = visit(ids_model(tiny_config()))
    assert not {"temperature", "top_k", "top_p", "seed"} & set(app.query_params)
    app.slider(key="next_token.temperature").set_value(0.0).run()
    app.select_slider(key="next_token.top_k").set_value(5).run()
    app.number_input(key="next_token.seed").set_value(3).run()
    assert {name: app.query_params[name] for name in ("temperature", "top_k", "seed")} == {
        "temperature": "0",
        "top_k": "5",
        "seed": "3",
    }


def test_with_a_change_at_one_position_nothing_is_drawn_and_that_is_said(visit: Visit) -> None:
    patch = vm.edits.PatchResidual(site="embed.out", position=0, from_text="7 8")
    app = visit(ids_model(tiny_config()), edits=vm.edits.write([patch]))
    assert "nothing can be drawn while it is made" in said(app)
    assert not [button for button in app.button if "one_more" in str(button.key)]
