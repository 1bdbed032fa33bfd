"""Every page on every kind of model: it renders, in both languages, and its code runs and agrees."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from app_driver import (
    PAGES,
    ROOT,
    answer,
    boxes,
    check_page,
    heading,
    messages,
    open_page,
    pictures,
    said,
    shown_of,
    take,
)
from streamlit.testing.v1 import AppTest
from tiers import crossed, some, turns

import viz_model as vm
from viz_model.app import examples, runs
from viz_model.texts import Texts

IDS, WORDS = "5 9 12 5 30", "A little cat sat on the mat"
NAMES = (
    "tiny-alibi",
    "tiny-bert",
    "tiny-gated-t5",
    "tiny-llama-ids",
    "tiny-masked",
    "tiny-nowhere",
    "tiny-qwen3",
    "tiny-t5",
    "tiny-translator",
    "tiny-window",
)
TWO_SIDED = ("tiny-gated-t5", "tiny-t5", "tiny-translator")
VIEWS = [(name, side) for name in NAMES for side in (("encoder", "decoder") if name in TWO_SIDED else ("decoder",))]

Open = Callable[..., AppTest]


pytestmark = pytest.mark.usefixtures("family")


@pytest.fixture
def visit() -> Open:
    def visit(page: str, model: str, **query: str) -> AppTest:
        return open_page(page, {"model": model, "text": IDS if model.endswith("ids") else WORDS, **query})

    return visit


def stacks(member: tuple[str, str] | str) -> tuple[str, ...]:
    """Which stack is seen of a model of one or of two: every page is opened on each."""
    if isinstance(member, str):
        return ()
    name, side = member
    return (side if name in TWO_SIDED else "encoder alone" if name in ("tiny-bert", "tiny-masked") else "alone",)


@pytest.mark.parametrize(("page", "view"), crossed(PAGES, VIEWS, facts=stacks))
def test_a_page_renders_and_its_code_runs_and_agrees(page: str, view: tuple[str, str], visit: Open) -> None:
    model, side = view
    app = visit(page, model, side=side, layer="1", head="2", token="3", lang="en")
    assert app.query_params["model"] == model
    of_it = shown_of(page, vm.load(model).config)
    assert app.code or of_it is None or of_it.tabs is None
    assert check_page(app, vm.load(model)) or page not in ("embedding", "attention", "block")


@pytest.mark.parametrize(("page", "view"), turns(PAGES, VIEWS))
def test_a_page_speaks_chinese_and_one_token_is_enough(page: str, view: tuple[str, str], visit: Open) -> None:
    model, side = view
    app = visit(page, model, side=side, lang="zh", text="5" if model.endswith("ids") else "a", target="")
    said = Texts("zh")
    # What a model without next tokens does is another page at the same address.
    others: tuple[str, ...] = (
        (said("masked_token.heading"), said("sentence_vectors.heading")) if page == "next_token" else ()
    )
    assert heading(app) in (said(f"common.page_{page}"), *others)


def test_a_text_that_is_no_list_of_ids_is_asked_for_again(visit: Open) -> None:
    app = visit("overview", "tiny-llama-ids", text="hello")
    assert "'hello' is not a token id" in said(app)
    answer(app, text=IDS)
    assert "is not a token id" not in said(app) and "overview.picture" in pictures(app)


# Translators


def test_a_typed_target_stays_in_another_language_until_the_model_is_asked(visit: Open) -> None:
    app = visit("cross_attention", "tiny-translator", to="zh", target="le chat", lang="en")
    assert "the tag that asks for Chinese" in said(app)
    answer(app, options={"to": "fr"})
    assert boxes(app)["target"] == "le chat" and app.query_params["target"] == "le chat"
    assert "the tag that asks for French" in said(app)
    answer(app, target=None)
    assert boxes(app)["target"] == runs.greedy_target("tiny-translator", WORDS, "fr")


@pytest.mark.parametrize("page", some(PAGES, 5))
def test_every_page_of_a_translator_runs_the_language_that_was_asked_for(page: str, visit: Open) -> None:
    app = visit(page, "tiny-translator", to="zh", token="0", lang="en")
    shown = [block.value for block in app.code if "lm.trace(" in block.value]
    assert all("target_language='zh'" in code for code in shown), page
    assert shown or page not in ("attention", "cross_attention", "next_token")


def test_a_language_that_the_model_does_not_know_is_named(visit: Open) -> None:
    app = visit("overview", "tiny-translator", to="xx", lang="en")
    assert any("`xx`" in warning.value and "fr, zh" in warning.value for warning in app.warning)
    assert app.query_params["to"] == "fr"
    assert "to" not in visit("overview", "tiny-alibi", to="fr").query_params


def test_control_tokens_of_a_sentence_are_tokens_or_characters(visit: Open) -> None:
    lm, text = vm.load("tiny-qwen3"), "the cat<|endoftext|>the"

    def count(app: AppTest) -> str:
        counts = [box["count"] for one in messages(app).values() for box in one.header.get("boxes", [])[:1]]
        return str(counts[0])

    as_tokens, as_text = (len(lm.trace(text, as_text=way)) for way in (False, True))
    app = visit("tokens", "tiny-qwen3", text=text, lang="en")
    assert count(app).startswith(f"{as_tokens} of ") and "typed" not in app.query_params
    assert "ordinary characters" not in said(app)
    answer(app, options={"typed": "text"})
    assert count(app).startswith(f"{as_text} of ") and app.query_params["typed"] == "text" and as_text > as_tokens
    answer(app, options={"typed": "tokens"})
    assert count(app).startswith(f"{as_tokens} of ") and "typed" not in app.query_params


def test_without_a_sentence_each_model_shows_an_example_of_its_own(visit: Open) -> None:
    app = AppTest.from_file(ROOT / "app.py", default_timeout=120)
    app.query_params["model"] = "tiny-translator"
    app.switch_page("pages/overview.py").run()
    shown = [boxes(app)["text"]]
    for name in ("tiny-masked", "tiny-llama-ids", "tiny-alibi"):
        app.selectbox(key="sidebar.model").set_value(name).run()
        assert not app.exception and not app.info
        shown.append(boxes(app)["text"])
        assert app.query_params["text"] == shown[-1] == examples.of(vm.load(name), "en")[0]
    assert len(set(shown)) == 4 and "[MASK]" in str(shown[1])
    answer(app, text="my own words")
    app.selectbox(key="sidebar.model").set_value("tiny-translator").run()
    assert boxes(app)["text"] == "my own words"


# The masked model of the bundled vocabulary


def test_a_gap_is_told_of_and_can_be_filled(visit: Open) -> None:
    app = visit("overview", "tiny-masked", text="the cat [MASK] on", token="3", lang="en")
    trace = vm.load("tiny-masked").trace("the cat [MASK] on")
    filled = [trace.next_tokens(3, 1)[0][0].id if id == trace.tokenizer.mask_id else id for id in trace.ids]
    assert "At the position of [MASK]" in said(app)
    take(app, "Fill the gap")
    assert app.query_params["text"] == trace.tokenizer.decode(filled) != trace.text
