"""Every page, run by Streamlit's own driver, on every kind of model: real values, both languages, and any input."""

import dataclasses
import itertools
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import app_driver
import pytest
from app_driver import ISLAND, PAGES, answer, boxes, check_page, heading, messages, offer, open_page, said, shown_of
from doors import all_open, island_of
from streamlit.testing.v1 import AppTest
from tiers import crossed, turns
from tiny_models import describe, language_model, mixed, other_blocks, tiny_config

import viz_model as vm
from viz_model.app import examples, frame, health, runs
from viz_model.app.frame import DESK, MODELS
from viz_model.config import ModelConfig
from viz_model.texts import Texts
from viz_model.texts.markdown import literal
from viz_model.tokenizers.tokenizer import story_tokenizer

pytestmark = pytest.mark.usefixtures("family")
CAT = "The cat sat on the mat"
IDS, WORDS = "5 9 12 5 30", "A little cat sat on the mat"
ALONE = ("tiny-alibi", "tiny-bert", "tiny-llama-ids", "tiny-masked", "tiny-nowhere", "tiny-qwen3", "tiny-window")
TWO_SIDED = ("tiny-gated-t5", "tiny-t5", "tiny-translator")
VIEWS = [*((name, "decoder") for name in ALONE), *itertools.product(TWO_SIDED, ("encoder", "decoder"))]
Open = Callable[..., AppTest]
ANOTHER_WAY = re.compile(
    r"""\de[+-]?\d  # 10⁻⁵, not 1e-05
    |(?<![\w`–.\]-])-\d+(?:\.\d+|%)  # a minus is no hyphen
    |[−-]\s*−\d  # what is taken from something below 0 is added, or stands in brackets
    |√\d+\s=\s\d+\.\d  # a root that does not end is about so much
    |\d\s%""",
    re.VERBOSE,
)
ONE, TWO = (
    tiny_config(n_vocab=8192, n_context=32),
    tiny_config(kind="encoder_decoder", start_id=0, n_vocab=8192, n_context=16, n_layers=1, n_heads=1),
)


def check_written(app: AppTest) -> None:
    """Numbers are written in one way. LaTeX has its own signs."""
    outside = re.sub(r"\$\$.*?\$\$", "", said(app), flags=re.DOTALL)
    prose = "\n".join(line for line in outside.splitlines() if "\\" not in line)
    told = re.sub(r"`[^`]*`|<code.*?</code>|\$[^$]*\$", "", prose)
    assert not [told[max(found.start() - 30, 0) : found.end() + 20] for found in ANOTHER_WAY.finditer(told)]


@pytest.fixture
def visit() -> Open:
    def visit(page: str, model: str, **query: str) -> AppTest:
        return open_page(page, {"model": model, "text": IDS if model.endswith("ids") else WORDS, **query})

    return visit


def stacks(member: tuple[str, str] | str) -> tuple[str, ...]:
    if isinstance(member, str):
        return ()
    name, side = member
    return (side if name in TWO_SIDED else "encoder alone" if name in ("tiny-bert", "tiny-masked") else "alone",)


@pytest.mark.parametrize(("page", "view"), crossed(PAGES, VIEWS, facts=stacks))
def test_a_page_renders_and_its_code_runs_and_agrees(page: str, view: tuple[str, str], visit: Open) -> None:
    model, side = view
    app = visit(page, model, side=side, layer="1", head="2", token="3", lang="en")
    assert app.query_params["model"] == model
    check_written(app)
    of_it = shown_of(page, vm.load(model).config)
    assert app.code or of_it is None or of_it.tabs is None
    assert check_page(app, vm.load(model)) or page not in ("embedding", "attention", "block")


def _others() -> dict[str, vm.LanguageModel]:
    """Blocks put together otherwise, with the whole vocabulary."""
    found: dict[str, ModelConfig] = {}
    for config in other_blocks():
        found.setdefault("parallel" if config.parallel else config.norm_at, config)
        is_rare = config.shared_norm or not config.first_norm or config.attention_sink or config.score_cap is not None
        if is_rare or config.projects_embedding or config.shared_blocks:
            found[str(len(found))] = config
    whole: dict[str, Any] = {"n_vocab": story_tokenizer().n_vocab, "n_context": 32}
    made = [language_model(dataclasses.replace(config, **whole)) for config in (*found.values(), *mixed())]
    return {f"{n}-{describe(lm.config)}": lm for n, lm in enumerate(made)}


OTHERS = _others()


@pytest.mark.parametrize(("page", "name"), turns(PAGES, list(OTHERS)))
def test_a_page_opens_on_other_blocks(page: str, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    lm = dataclasses.replace(OTHERS[name], name=name)
    offer(monkeypatch, {name: lm})
    lang = ("en", "zh")[PAGES.index(page) % 2]
    app = open_page(page, {"model": name, "text": "A cat sat", "lang": lang, "layer": "1", "token": "2"})
    check_page(app, lm)
    check_written(app)
    if lm.config.attention_sink:  # where softmax counts more than the keys
        found = said(open_page("attention", {"model": name, "text": "A cat sat", "lang": "en"}))
        assert "a logit that belongs to no key takes the rest" in found and "sums to 1." not in found
        assert health.check(lm).is_well


@pytest.mark.parametrize(("page", "layer"), turns(PAGES, ["0", "3"]))
def test_a_page_opens_at_a_layer_that_holds_a_state_and_at_one_that_attends(page: str, layer: str) -> None:
    lang = ("en", "zh")[PAGES.index(page) % 2]
    query = {"model": "story-next", "text": "Tom had a red ball.", "lang": lang, "token": "2", "layer": layer}
    app, t, topic = open_page(page, query), Texts(lang), island_of(page)
    check_page(app, vm.load("story-next"), compares=page != "architectures")
    found = said(app)
    assert (t("common.mixed_otherwise")[:20] in found) == (not (topic.mixes or topic.sums_heads))
    # These say at a layer without weights where there are some.
    is_said = page in ("position", "walk", "ablations") and layer == "0"
    assert (t("common.unattended", layer=layer, layers="3") in found) == is_said


@pytest.mark.parametrize(("page", "view"), turns(PAGES, VIEWS))
def test_a_page_speaks_chinese_and_one_token_is_enough(page: str, view: tuple[str, str], visit: Open) -> None:
    model, side = view
    app = visit(page, model, side=side, lang="zh", text="5" if model.endswith("ids") else "a", target="")
    said = Texts("zh")
    # What a model without next tokens does is another page at the same address.
    others = ("masked_token.heading", "sentence_vectors.heading") if page == "next_token" else ()
    assert heading(app) in map(said, (f"common.page_{page}", *others))


def test_a_typed_target_stays_in_another_language_until_the_model_is_asked(visit: Open) -> None:
    app = visit("cross_attention", "tiny-translator", to="zh", target="le chat", lang="en")
    assert "the tag that asks for Chinese" in said(app)
    answer(app, options={"to": "fr"})
    assert boxes(app)["target"] == "le chat" and app.query_params["target"] == "le chat"
    assert "the tag that asks for French" in said(app)
    answer(app, target=None)
    assert boxes(app)["target"] == runs.greedy_target("tiny-translator", WORDS, "fr")


def test_a_language_that_the_model_does_not_know_is_named(visit: Open) -> None:
    app = visit("overview", "tiny-translator", to="xx", lang="en")
    assert any("`xx`" in warning.value and "fr, zh" in warning.value for warning in app.warning)
    assert app.query_params["to"] == "fr" and "to" not in visit("overview", "tiny-alibi", to="fr").query_params


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
    app = AppTest.from_file(app_driver.ROOT / "app.py", default_timeout=120)
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


def test_a_token_beyond_the_sentence_is_named_only_where_a_link_asked_for_it() -> None:
    app = open_page("attention", {"text": CAT, "token": "40"})
    beyond = "asks for token 40"
    assert beyond in said(app)
    app = open_page("attention", {"text": CAT, "token": "5"})
    answer(app, text="The cat")
    assert beyond not in said(app) and "token" not in app.query_params


@pytest.mark.parametrize("page", [*PAGES, DESK, MODELS])
def test_every_page_says_what_is_not_there(page: str, monkeypatch: pytest.MonkeyPatch) -> None:
    offer(monkeypatch, {"own": language_model(ONE), "translator": language_model(TWO)})
    app = open_page(page, {"lang": "en", "layer": "99", "head": "-1", "token": "9999"})
    config, t = TWO if page == "cross_attention" else ONE, Texts("en")
    asked = {"layer": ("99", config.n_layers), "head": ("-1", config.n_heads), "token": ("9999", config.n_context)}
    named = ((name, literal(given), literal(str(n - 1))) for name, (given, n) in asked.items())
    wanted = {t(f"common.unknown_{name}", asked=given, last=last) for name, given, last in named}
    assert wanted <= {warning.value for warning in app.warning}
    if page == "cost":  # they go when something is changed
        assert not answer(app, text="a dog").warning


def test_a_model_is_lent_to_a_page_and_the_former_comes_back_as_it_was(monkeypatch: pytest.MonkeyPatch) -> None:
    offer(monkeypatch, {"own": language_model(ONE), "translator": language_model(TWO)})
    named: list[str] = []

    def section_name(section: str, config: ModelConfig, t: Texts) -> str:
        named.append(config.kind)
        return section

    monkeypatch.setattr(frame, "section_name", section_name)
    app = open_page("attention", {"model": "own", "lang": "en", "text": "the cat", "head": "2", "edits": "no-scale"})

    def go(page: str) -> tuple[str, bool]:
        """As the navigation does: to a page, with an empty query."""
        app.query_params.clear()
        app.switch_page(f"pages/{page}.py").run()
        assert not app.exception
        return app.session_state["view"].model, "so it shows translator" in said(app)

    before = app.session_state["view"]
    assert go("cross_attention") == ("translator", True) and named[-1] == "encoder_decoder"  # the navigation's words
    assert (app.session_state["view"].text, app.session_state["view"].edits) == (before.text, ())
    assert go("block") == ("own", False) and named[-1] == "decoder"
    assert dataclasses.replace(app.session_state["view"], page=before.page) == before
    # What was chosen on the page or in the address stays.
    asked = open_page("cross_attention", {"model": "own", "lang": "en"})
    assert asked.session_state["view"].model == "own" and "so it shows" not in said(asked)
    app = open_page("cross_attention", {"lang": "en"})
    for name in ("own", "translator"):
        app.selectbox(key="sidebar.model").set_value(name).run()
    assert go("block") == ("translator", False)


@pytest.mark.parametrize(("page", "model"), turns(PAGES, ["digits-vit", "story-alibi", "story-bert", "translate-t5"]))
def test_numbers_are_written_in_one_way(page: str, model: str) -> None:
    for language in ("en", "zh"):
        check_written(open_page(page, {"model": model, "lang": language, "text": "" if model == "digits-vit" else CAT}))


@pytest.mark.full
@pytest.mark.parametrize("page", PAGES)
def test_every_part_of_a_page_opens_for_models_that_read_pictures(page: str) -> None:
    """What a page has of a text is not there, or told of the picture."""
    for model in ("read-digits", "digits-vit"):
        assert not open_page(page, {"model": model, "lang": "en", **all_open(page)}).exception


@pytest.mark.parametrize("page", ["cross_attention", "attribution"])
def test_a_page_of_the_decoder_alone_says_so_beside_it(page: str) -> None:
    """Whichever half was looked at before; and who then asks for the encoder is told so again."""
    model = "read-digits" if page == "attribution" else "translate-t5"
    app = open_page(page, {"model": model, "side": "encoder", "lang": "en"})
    assert app.button_group(key="sidebar.side").value == "decoder" and "side" not in app.query_params
    app.button_group(key="sidebar.side").set_value("encoder").run()
    assert app.button_group(key="sidebar.side").value == "decoder" and "side" not in app.query_params


def test_the_norm_toggle_swaps_the_twins_and_keeps_the_view() -> None:
    app = open_page("attention", {"text": CAT, "layer": "2", "head": "3", "token": "1"})
    app.button_group(key="sidebar.norm_at").set_value("post").run()
    assert not app.exception
    asked = {name: app.query_params[name] for name in ("model", "text", "layer", "head", "token")}
    assert asked == {"model": "story-post-ln", "text": CAT, "layer": "2", "head": "3", "token": "1"}


def test_the_norm_toggle_changes_nothing_else_where_nobody_has_chosen() -> None:
    """The twin alone would show another layer and head: the telling ones of its own run."""
    app = open_page("attention", {"text": CAT})
    shown = messages(app)[ISLAND].header
    app.button_group(key="sidebar.norm_at").set_value("post").run()
    now = messages(app)[ISLAND].header
    assert {axis: now["chosen"][axis] for axis in ("layer", "head", "token")} == shown["usual"]
    assert now["usual"] != shown["usual"]


@pytest.mark.parametrize("sheet", sorted(Path(frame.__file__).parent.glob("*.css")), ids=lambda sheet: sheet.stem)
def test_no_rule_asks_for_a_part_of_a_class(sheet: Path) -> None:
    """A class that changes anywhere would have a browser ask such a rule again, and each run changes most of them."""
    rules = re.sub(r"/\*.*?\*/", "", sheet.read_text(encoding="utf-8"), flags=re.S)
    assert rules.strip() and not re.findall(r"""\[class\s*[*^$~|]?=""", rules)
