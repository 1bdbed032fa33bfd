"""What the README shows works as it is written."""

import contextlib
import html
import io
import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

import viz_model as vm
from viz_model.island import glossary
from viz_model.model import sites

ROOT = Path(__file__).resolve().parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")
CHINESE = (ROOT / "README.zh.md").read_text(encoding="utf-8")


def test_the_python_examples_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    below = README.partition("## In Python")[2]
    example, figures = re.findall(r"```python\n(.*?)```", below, flags=re.S)
    monkeypatch.chdir(tmp_path)
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(compile(example + figures, "README.md", "exec"), {})
    assert (tmp_path / "head.pdf").read_bytes().startswith(b"%PDF")
    assert "blocks.0.attn" in printed.getvalue() or "embed.token" in printed.getvalue()
    assert "torch.Size([6, 6, 6])" in printed.getvalue()


def test_linked_files_are_there() -> None:
    for text in (README, CHINESE):
        links = re.findall(r"\]\(((?!http)[^)#]+)\)", text)
        assert links and not [link for link in links if not (ROOT / link).exists()]


def sections(text: str) -> list[str]:
    return re.split(r"^## ", text, flags=re.M)


def commands(section: str) -> list[list[str]]:
    """What a section shows to be typed, without the remarks beside it."""
    blocks = re.findall(r"^```\w*\n(.*?)^```", section, flags=re.S | re.M)
    return [[line.partition("  #")[0] for line in block.splitlines()] for block in blocks]


def figures(section: str) -> set[str]:
    """The numbers that a section states: large ones in millions, where Chinese counts in 万 (10⁴) and 亿 (10⁸)."""
    told = re.sub(r"^```.*?^```|^1?\d\. |\]\([^)]*\)|\d+ 月", "", section, flags=re.S | re.M)
    told = re.sub(r"([\d,.]+) 万", lambda found: f"{float(found[1].replace(',', '')) / 100:g}", told)
    told = re.sub(r"([\d,.]+) 亿", lambda found: f"{float(found[1].replace(',', '')) * 100:g}", told)
    return set(re.findall(r"(?<![\w.,-])\d+(?:,\d{3})*(?:\.\d+)?", told))


@pytest.mark.parametrize("page", ["", "checkpoints", "models", "python", "serving", "speed"])
def test_both_languages_name_the_same_commands_and_figures(page: str) -> None:
    folders = ("", "zh/") if page else ()
    texts = [(ROOT / f"docs/{folder}{page}.md").read_text("utf-8") for folder in folders] or [README, CHINESE]
    english, chinese = map(sections, texts)
    assert len(english) == len(chinese)
    for ours, theirs in zip(english, chinese, strict=True):
        assert commands(ours) == commands(theirs), theirs.partition("\n")[0]
        assert figures(ours) == figures(theirs), theirs.partition("\n")[0]
        plain = (re.sub(r"^```.*?^```", "", text, flags=re.S | re.M) for text in (ours, theirs))
        names = (set(re.findall(r"`([^`\n]*\w[^`\n]*)`", text)) for text in plain)
        assert len({frozenset(found) for found in names}) == 1, theirs.partition("\n")[0]


def test_the_models_are_as_good_as_it_says() -> None:
    kept = ROOT.glob("viz_model/models/*/figures.json")
    measured = {path.parent.name: json.loads(path.read_text(encoding="utf-8")) for path in kept}
    told = (ROOT / "docs/models.md").read_text(encoding="utf-8")
    rows = {name: row for name in measured if (row := re.search(rf"^\| `{name}` .*$", told, flags=re.M))}
    assert rows.keys() == measured.keys()
    for name, found in measured.items():
        figures = found["held_out"]
        if "fr" in figures:
            said = f"BLEU {figures['fr']['bleu']:.1f} / {figures['zh']['bleu']:.1f}"
        elif "exact" in figures["en" if "en" in figures else "test"]:
            said = f"{figures['en']['exact']:.1%} / {figures['zh']['exact']:.1%}"
        elif "test" in figures:
            said = f"{figures['test']['accuracy']:.1%}"
        elif name == "story-bert":
            said = f"{figures['en']['accuracy']:.0%}"
        else:
            said = f"{figures['en']['bits_per_byte']:.3f} / {figures['zh']['bits_per_byte']:.3f}"
        assert said in rows[name][0], name
    decoders = ("story-pre-ln", "story-post-ln", "story-modern")
    by_text = [measured[name]["by_source"] for name in decoders]
    for file in by_text[0]:
        cells = (f"{found[file]['held_out']:.3f} ({found[file]['seen']:.3f})" for found in by_text)
        assert f"| {' | '.join(cells)} |" in told, file


@pytest.mark.full
def test_the_site_is_made_without_a_warning(tmp_path: Path) -> None:
    # In a process of its own: Sphinx reads docs/conf.py as a script, and leaves its settings behind.
    site = tmp_path / "site"
    program = f"import build, pathlib; raise SystemExit(build.build(pathlib.Path({str(site)!r}), execute=False))"
    made = subprocess.run([sys.executable, "-c", program], cwd=ROOT / "docs", capture_output=True, text=True)
    assert made.returncode == 0, made.stderr
    for language, folder, other in (("en", site, "zh"), ("zh", site / "zh", "..")):
        pages = {path.stem: html.unescape(path.read_text(encoding="utf-8")) for path in folder.glob("*.html")}
        assert all(term.says in pages["glossary"] for term in glossary.terms(language))
        names = [name for name in sites.table(vm.load("story-pre-ln").config) if not name.startswith("blocks.")]
        assert all(f">{name}<" in pages["values"] for name in names) and pages["values"].count("<math") > len(names)
        assert "blocks.0.attn.pattern" in pages["values"] and "blocks.1." not in pages["values"]
        start = set(pages["index"].split('"'))
        assert {"teaching.html", "serving.html", "figures.html", "notebooks/first_trace.html"} <= start
        assert f"{other}/index.html" in start and (folder / other / "index.html").exists()
    api = (site / "api.html").read_text(encoding="utf-8")
    assert all(f'id="viz_model.{name}"' in api for name in ("load", "models", "LanguageModel", "Trace", "ModelConfig"))


def test_every_file_that_contributing_names_is_there() -> None:
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    named = set(re.findall(r"`([\w./-]+\.(?:py|js|toml|md|json))`", text)) - {"topics/attention/bits.py"}  # its example
    there = [str(path.relative_to(ROOT)) for path in ROOT.rglob("*.*") if "node_modules" not in path.parts]
    assert named and not {name for name in named if not any(f"/{path}".endswith(f"/{name}") for path in there)}
