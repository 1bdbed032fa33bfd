"""The page on what comes out, for every kind of model: which it shows, its code, and what its address says."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from app_driver import answer, check_cells, heading, offer, open_page, run_code, said
from streamlit.testing.v1 import AppTest
from tiny_models import describe, few, of_classes, random_model, tiny_config, variants

import viz_model as vm
from viz_model import texts
from viz_model.app import declared
from viz_model.app import view as views
from viz_model.app.measuring import MEASURING
from viz_model.app.view import Notice, ViewState
from viz_model.checkpoints import registry
from viz_model.config import LanguageHead, MaskedHead, ModelConfig, NoHead
from viz_model.measures import kv_cache
from viz_model.tokenizers.tokenizer import IdTokenizer
from viz_model.topics import next_token as topic

MASK, TEXT, TARGET = 100, "3 1 41 59 26", "5 35 8"
MODEL = "story-pre-ln"
KINDS = [*few(), next(c for c in variants() if c.kind == "encoder" and isinstance(c.head, LanguageHead))]

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
        offer(monkeypatch, {"own": lm})
        if lm.config.kind == "encoder_decoder":
            query.setdefault("target", TARGET)
        return open_page("next_token", {"model": "own", "text": TEXT, "lang": "en", **query})

    return visit


def run_snippet(app: AppTest) -> str:
    words = run_code(app)
    assert "True" in words and "False" not in words, words
    return " ".join(words)


@pytest.mark.full
@pytest.mark.parametrize("config", KINDS, ids=describe)
def test_every_kind_has_its_page_and_code_that_agrees(config: ModelConfig, visit: Visit) -> None:
    lm = ids_model(config)
    for lang in texts.LANGUAGES:
        app = visit(lm, lang=lang, token="1", apart="1", tab="code")
        key = "common.page_next_token"
        if config.kind == "encoder":
            key = "masked_token.heading" if config.has_logits else "sentence_vectors.heading"
        assert heading(app) == texts.Texts(lang)(key) and "{{" not in said(app)
        run_snippet(app)
    check_cells(app, lm.trace(TEXT, TARGET if config.kind == "encoder_decoder" else None))


def test_the_chosen_variants_are_of_every_kind() -> None:
    found = {(config.kind, type(config.head)) for config in KINDS}
    assert {("decoder", LanguageHead), ("encoder_decoder", LanguageHead)} <= found
    assert {("encoder", head) for head in (LanguageHead, MaskedHead, NoHead)} <= found


@pytest.mark.full
@pytest.mark.parametrize("lang", texts.LANGUAGES)
def test_a_classifier_of_texts_shows_its_labels_on_every_page(lang: str, monkeypatch: pytest.MonkeyPatch) -> None:
    lm = ids_model(of_classes()[0])
    offer(monkeypatch, {"classifier": lm})
    best, share = lm.trace(TEXT).classes(k=1)[0]
    told = f"{best}: {share:.1%}" if lang == "en" else f"{best}：{share:.1%}"
    for page in ("next_token", "overview", "walk", "attribution", "batch", "architectures"):
        app = open_page(page, {"model": "classifier", "text": TEXT, "lang": lang, "apart": "1", "tab": "code"})
        if page == "next_token":
            assert heading(app) == texts.Texts(lang)("text_classes.heading")
            assert told in said(app)
            check_cells(app, lm.trace(TEXT))
            run_snippet(app)


@pytest.mark.full
def test_the_encoder_s_side_has_the_decoder_s_code(visit: Visit) -> None:
    lm = ids_model(tiny_config(kind="encoder_decoder", start_id=0))
    app = visit(lm, side="encoder", token="1", apart="1", tab="code")
    assert "predicts nothing" in said(app)
    run_snippet(app)
    for tab in ("formula", "hand", "numbers"):
        assert "{{" not in said(visit(lm, side="encoder", token="1", apart="1", tab=tab))


@pytest.mark.full
@pytest.mark.parametrize("head", [MaskedHead(), NoHead()], ids=("masked", "vectors"))
def test_the_tabs_of_an_encoder_speak_of_what_it_was_asked(head: MaskedHead | NoHead, visit: Visit) -> None:
    lm = ids_model(tiny_config(kind="encoder", head=head))
    for tab in ("formula", "hand", "numbers"):
        for text in (TEXT, f"3 {MASK} 41"):
            assert "{{" not in said(visit(lm, text=text, token="1", apart="1", tab=tab))
    without = visit(ids_model(tiny_config(kind="encoder", head=head), None), token="1", apart="1", tab="code")
    assert ("has no mask token" in said(without)) == isinstance(head, MaskedHead)
    run_snippet(without)


@pytest.mark.full
def test_drawing_goes_into_the_address_and_what_was_drawn_into_the_sentence(visit: Visit) -> None:
    lm = ids_model(tiny_config())
    app = visit(lm)
    options = {
        "temperature": "1.5",
        "top_k": "30",
        "top_p": "0.9",
        "seed": "7",
        "drawn": "1",
        "picked": "",
        "greedy": "0",
    }
    app = answer(app, options=options)
    asked = {name: app.query_params[name] for name in ("temperature", "top_k", "seed", "drawn")}
    assert asked == {"temperature": "1.5", "top_k": "30", "seed": "7", "drawn": "1"}
    assert not {"top_p", "greedy", "picked"} & set(app.query_params)
    step = lm.generate(TEXT, max_new_tokens=1, temperature=1.5, top_k=30, top_p=0.9, seed=7).steps[0]
    assert f"{step.drawn:.4f}" in said(app)
    app = answer(app, text=f"{TEXT} {step.token.id}", options={**options, "drawn": ""})
    assert app.query_params["text"] == f"{TEXT} {step.token.id}" and "drawn" not in app.query_params


@pytest.mark.full
def test_sentences_are_compared_as_they_are_typed(visit: Visit) -> None:
    lm = ids_model(tiny_config(kind="encoder", head=NoHead(), norm_at="post"))
    app = visit(lm, token="1", door_sentences="1")
    key = "sentence_vectors.sentence_0"
    app.text_input(key=key).set_value("7 8 9").run()
    assert not app.exception
    own, *others = (trace[trace.leaving].mean(0) for trace in map(lm.trace, (TEXT, "7 8 9")))
    expected = float(torch.cosine_similarity(own, others[0], dim=0))
    assert f"= {expected:.4f}" in said(app)
    assert "predicts no tokens" in said(app)
    app.text_input(key=key).set_value("no ids").run()  # such as this vocabulary cannot write
    assert not app.exception and "is not a token id" in said(app)
    for n in range(3):
        app.text_input(key=f"sentence_vectors.sentence_{n}").set_value("").run()
    assert not app.exception and "Write a sentence" in said(app)


def test_both_ways_are_measured_on_demand_and_one_at_a_time(visit: Visit, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kv_cache, "BUDGET", 1.0)
    app = visit(ids_model(tiny_config(n_context=32)), door_times="1")
    with MEASURING:
        app.button(key="kv_cache.measure").click().run()
        assert "Another measurement" in said(app) and "median of" not in said(app)
    app.button(key="kv_cache.measure").click().run()
    assert not app.exception
    assert "median of" in said(app) and not MEASURING.locked()
    full = visit(ids_model(tiny_config()), text=" ".join(["7"] * 40), door_times="1")
    assert "tokens is full" in said(full) and not [one for one in full.button if one.key == "kv_cache.measure"]


# The address


def parse(query: dict[str, str]) -> tuple[ViewState, list[Notice]]:
    configs = {MODEL: registry.config_of(MODEL)}
    return views.parse(query, [MODEL], configs, "en", "next_token", declared.declared(topic.TOPIC).all_choices)


@pytest.mark.parametrize(
    ("name", "wrong"),
    [
        ("temperature", ("-1", "2.05", "nan", "1e0", "0.123")),
        ("top_k", ("0", "101", "2.5", "٣", "off")),
        ("top_p", ("0", "1.01", "0.01")),
        ("seed", ("-1", "10000", "1_0")),
        ("drawn", ("-1", "101")),
        ("sentence_0", ("x" * 401,)),
    ],
)
def test_what_no_slider_can_be_set_to_stays_as_it_was_and_is_said(name: str, wrong: tuple[str, ...]) -> None:
    for asked in wrong:
        view, (notice,) = parse({name: asked})
        assert not view.choices
        assert notice.values["name"] == name and notice.values["asked"] == asked[:80]


def test_an_address_says_of_sampling_only_what_was_chosen() -> None:
    chosen = {"temperature": "0", "top_k": "7", "top_p": "1", "seed": "12", "drawn": "3", "sentence_1": ""}
    view, notices = parse({**chosen, "sentence_0": "a\nb"})
    assert not notices
    assert {name: view.query()[name] for name in chosen} == chosen
    assert parse(view.query())[0] == view
    assert not {"temperature", "top_p"} & parse({"temperature": "1", "top_p": "0.9"})[0].query().keys()
