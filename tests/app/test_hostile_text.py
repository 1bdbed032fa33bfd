"""Any text and any address: shown to the letter, or one line on why not; nothing of it is markup, code or a path."""

import functools
import itertools
import json
import re
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from app_driver import ISLAND, PAGES, figures, mounts, naughty, open_page
from hypothesis import given, settings
from hypothesis import strategies as st
from streamlit.testing.v1 import AppTest

import viz_model as vm
from viz_model.app import runs
from viz_model.app.view import ViewState, parse
from viz_model.checkpoints import registry
from viz_model.runs import edits
from viz_model.texts import LANGUAGES, Texts
from viz_model.tokenizers.text import TextError
from viz_model.tokenizers.tokenizer import IdTokenizer, Tokenizer, cl100k_base, story_tokenizer

pytestmark = pytest.mark.full
STORY: dict[str, Callable[[], Tokenizer]] = {
    "story decoder": lambda: story_tokenizer("decoder"),
    "story encoder": lambda: story_tokenizer("encoder"),
    "story translator": lambda: story_tokenizer("encoder_decoder"),
    "cl100k_base": cl100k_base,
}
BROUGHT = ("tiny-t5", "tiny-bert", "tiny-qwen3", "tiny-llama-ids")
N_CASES = 1300
"""Texts for each of eight tokenizers: more than 10,000 in all."""

CONTROLS = ["<|endoftext|>", "[MASK]", "[CLS]", "[SEP]", "<pad>", "</s>", "<unk>", "<|fr|>", "▁", "##a", "<0xE6>", "Ġ"]
SPECIAL = [*CONTROLS, *"\ud800\udfff\x00\u202e\u2066\ue000\U0010ffff\ufdfa", "e\u0301\u0327", "👩‍👩‍👧‍👦"]
ANY = st.text(max_size=40) | st.lists(st.sampled_from([*SPECIAL, " ", "\n", "a", "1", "学"]), max_size=12).map("".join)
# Nothing of an address may be opened, compiled or unpickled: Python tells of all of it.
EVENTS = ("open", "compile", "pickle.find_class", "subprocess.Popen", "os.system", "socket.connect")


def check(tokenizer: Tokenizer, text: str) -> None:
    """Ids and labels for a text, and the text back where that is promised; or the documented error."""
    try:
        ids = tokenizer.encode(text)
    except TextError as error:
        str(error).encode()
        assert "\n" not in str(error)
        assert any(0xD800 <= ord(c) <= 0xDFFF for c in text) or isinstance(tokenizer, IdTokenizer)
        return
    assert all(0 <= token.id < tokenizer.n_vocab and token.label for token in tokenizer.tokens(ids))
    back = tokenizer.decode(tokenizer.encode(text, as_text=True))
    back.encode()
    assert back == text or not tokenizer.is_lossless
    # What stands around a text stands there once, and nothing typed becomes it where it is read as characters.
    assert not tokenizer.controls.intersection(tokenizer.encode(text, special=False, as_text=True))
    if tokenizer.rule is not None:
        tokenizer.words(text)


@pytest.mark.parametrize(("name", "most"), [("story decoder", 50), *((name, N_CASES) for name in [*STORY, *BROUGHT])])
def test_any_text_in_any_tokenizer(name: str, most: int, family: Path) -> None:
    tokenizer = STORY[name]() if name in STORY else registry.tokenizer_of(name)

    @settings(max_examples=most, database=None)
    @given(ANY)
    def any_text(text: str) -> None:
        check(tokenizer, text)

    any_text()
    for text in naughty():
        check(tokenizer, text)
    written = (tokenizer.token(id).text for id in sorted(tokenizer.controls))
    for text in written:  # every control token, typed
        check(tokenizer, f"a {text}{text} b")


# Every piece of it is a token of its own or a run of signs, none of which a page uses by itself.
TYPED = "@ <@ @| `@` ![@](//a.b/@) $@$ **@** :@: <b>@</b> %{@} {{@}} @"
IN_IDS = "![](//a.b/@)"
SPAN = re.compile(r"(?<!`)(`+)(?!`)(.+?)(?<!`)\1(?!`)", re.DOTALL)
MARKDOWN = ("body", "label", "help", "placeholder_markdown", "caption")


def written(node: Any) -> Iterator[str]:
    """All that a page hands to Streamlit as Markdown: texts, labels and help of every element and container."""
    for child in getattr(node, "children", {}).values():
        yield from written(child)
    proto = getattr(node, "proto", None)
    if proto is None or type(node).__name__ in ("Code", "UnknownElement", "Dataframe"):
        return
    for holder in (proto, *(getattr(proto, name, None) for name in ("expandable", "tab", "popover"))):
        for name in MARKDOWN:
            if isinstance(found := getattr(holder, name, None), str) and not found.startswith("<style>"):
                yield found
    for option in getattr(proto, "options", ()):
        if isinstance(found := getattr(option, "content", None), str):
            yield found


@pytest.mark.parametrize(
    ("page", "model"), list(zip(PAGES, itertools.cycle(["story-pre-ln", "tiny-bert", "tiny-translator"]), strict=False))
)
def test_what_was_typed_is_never_markup(page: str, model: str, family: Path) -> None:
    app = open_page(page, {"model": model, "text": TYPED, "layer": "1", "token": "3", "lang": "en"})
    told = list(written(app._tree))
    assert len(told) > 5
    for text in told:
        assert "@" not in SPAN.sub("", text), text
    drawn = json.dumps(figures(app), default=str)
    assert not re.search(r"<(?!/?(?:b|br|extra|i|sub|sup|span)[ >/]|\d)", drawn) and "&amp;lt;" not in drawn


def test_a_refused_text_is_quoted_and_no_image(family: Path) -> None:
    app = AppTest.from_file(Path(__file__).resolve().parents[2] / "app.py", default_timeout=120)
    app.query_params.update({"model": "tiny-llama-ids", "text": IN_IDS, "lang": "en"})
    app.run()
    assert not app.exception
    said = "".join(line["html"] for line in mounts(app)[ISLAND]["notes"])
    assert "@" in said and "@" not in re.sub(r"<code>.*?</code>", "", said) and "<img" not in said


HOSTILE = (
    *("../../etc/passwd", "/etc/passwd", "file:///etc/passwd", "C:\\", "__import__('os')", "\x00", "%00", "\udc80", ""),
    *("9" * 400, "-1", "1e999", "nan", "٣", "0x10", "None", "a" * 100_000, "<script>alert(1)</script>", "{{x}}"),
    *("cos\nsystem\n(S'id'\ntR.", "gASV", "head-off.99999.0", "neuron.0.0.1e308", "patch.embed_out.0..-D800-"),
    *("no-mask~" * 40, "pattern.0.0." + "-".join(["1"] * 500), "blocks.0.attn.q:0,0", "embed.out:" + "9," * 50),
    *("\U000e0001" * 30, "blocks.0.attn.scores:999999999,0,0,0", "shuffle.9223372036854775807", "flip.999999999999.0"),
)
NAMES = [*ViewState.__dataclass_fields__, "x", "__class__"]
NAME, VALUE = st.sampled_from(NAMES) | st.text(max_size=8), st.sampled_from(HOSTILE) | st.text(max_size=30)
ADDRESS = st.dictionaries(NAME, VALUE, max_size=8)
CONFIGS = {name: registry.config_of(name) for name in ("story-pre-ln", "translate-2017")}


@settings(max_examples=200, database=None)
@given(ADDRESS)
def test_any_address_is_a_view_of_a_model_on_offer(query: dict[str, str]) -> None:
    view, notices = parse(query, list(CONFIGS), CONFIGS, "en")
    config = CONFIGS[view.model]
    assert (view.layer or 0) < config.depth(view.stack(config)) and (view.head or 0) < config.n_heads
    assert all(len(str(value)) <= 300 for notice in notices for value in notice.values.values())
    for language in LANGUAGES:
        for notice in notices:
            assert "{{" not in Texts(language)(notice.key, **{name: "" for name in notice.values})


@functools.cache
def watched() -> list[tuple[str, str]]:
    """What was done since it was emptied last; a hook is never taken away again."""
    found: list[tuple[str, str]] = []
    sys.addaudithook(lambda event, args: found.append((event, str(args[:1])[:300])) if event in EVENTS else None)
    return found


@pytest.mark.parametrize("number", range(len(PAGES)))
def test_a_page_at_a_hostile_address(number: int, family: Path, tmp_path: Path) -> None:
    secret = tmp_path / "secret-model"
    secret.mkdir()
    (secret / "config.json").write_text("{}")
    asked = {name: HOSTILE[(7 * number + 3 * n) % len(HOSTILE)] for n, name in enumerate(NAMES)}
    # Lone surrogates cannot come in an address: its parser puts U+FFFD there.
    asked = {name: value.encode("utf-8", "replace").decode() for name, value in asked.items() if name != "lang"}
    asked["model" if number % 2 else "compare"] = str(secret)
    if number % 3:
        asked["text"] = TYPED  # so that other pages than that of an odd text are looked at
    watched().clear()
    app = open_page(PAGES[number], {**asked, "lang": "en"})
    done = watched().copy()
    assert app.warning and app.query_params["model"] in vm.models()
    for event, what in done:
        assert "secret-model" not in what and "passwd" not in what, (event, what)
        assert event in ("open", "compile"), (event, what)


@pytest.mark.parametrize("name", ["story-pre-ln", "tiny-t5", "tiny-bert", "tiny-qwen3", "tiny-translator"])
def test_any_text_can_be_traced(name: str, family: Path) -> None:
    lm = vm.load(name)

    @settings(max_examples=60, database=None)
    @given(ANY)
    def any_text(text: str) -> None:
        try:
            run = lm.trace(text, max_tokens=24)
        except TextError:
            assert runs.readable(text)[1]
        except ValueError as error:
            assert "nothing to run" in str(error)
        else:
            assert run[f"{run.prefix}final"].isfinite().all() if f"{run.prefix}final" in run.sites else len(run) > 0

    any_text()


def test_edits_that_no_model_has_are_said_and_left_out(family: Path) -> None:
    for text in ("patch.embed_out.0..-D800-", "flip.999999999.0", "neuron.0.999999999.1", "head-off.0.0.encoder"):
        assert edits.parse(text)
        app = open_page("block", {"edits": text, "text": "a cat", "lang": "en"})
        assert app.warning or app.info or mounts(app)[ISLAND]["notes"]
