"""The site of the documentation is made without a warning, in both languages, and says what the package says."""

from __future__ import annotations

import html
import subprocess
import sys
from pathlib import Path

import pytest

import viz_model as vm
from viz_model.app import glossary
from viz_model.model import sites

ROOT = Path(__file__).resolve().parents[1]


@pytest.mark.full
def test_the_site_is_made_without_a_warning(tmp_path: Path) -> None:
    # In a process of its own: Sphinx reads docs/conf.py as a script, and leaves its settings behind.
    program = (
        f"import build, pathlib; raise SystemExit(build.build(pathlib.Path({str(tmp_path / 'site')!r}), execute=False))"
    )
    made = subprocess.run([sys.executable, "-c", program], cwd=ROOT / "docs", capture_output=True, text=True)
    assert made.returncode == 0, made.stderr
    for language, folder in (("en", tmp_path / "site"), ("zh", tmp_path / "site" / "zh")):
        terms = html.unescape((folder / "glossary.html").read_text(encoding="utf-8"))
        assert all(term.says in terms for term in glossary.terms(language))
        values = (folder / "values.html").read_text(encoding="utf-8")
        names = [name for name in sites.table(vm.load("story-pre-ln").config) if not name.startswith("blocks.")]
        assert all(f">{name}<" in values for name in names) and values.count("<math") > len(names)
        assert "blocks.0.attn.pattern" in values and "blocks.1." not in values
        start = (folder / "index.html").read_text(encoding="utf-8")
        assert {"teaching.html", "serving.html", "figures.html", "notebooks/first_trace.html"} <= set(start.split('"'))
        there = (folder / ("zh/index.html" if language == "en" else "../index.html")).resolve()
        assert there.exists() and f'href="{"zh" if language == "en" else ".."}/index.html"' in start
    api = (tmp_path / "site" / "api.html").read_text(encoding="utf-8")
    assert all(f'id="viz_model.{name}"' in api for name in ("load", "models", "LanguageModel", "Trace", "ModelConfig"))
    assert all(f'id="viz_model.plot.{name}"' in api for name in vm.plot.__all__ if name != "show")
