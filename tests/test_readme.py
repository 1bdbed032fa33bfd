"""What the README shows works as it is written."""

from __future__ import annotations

import contextlib
import io
import json
import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")


def test_the_python_example_runs() -> None:
    example = re.search(r"```python\n(.*?)```", README, flags=re.S)
    assert example
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(compile(example[1], "README.md", "exec"), {})
    assert "blocks.0.attn" in printed.getvalue() or "embed.token" in printed.getvalue()
    assert "torch.Size([6, 6, 6])" in printed.getvalue()


def test_linked_files_are_there() -> None:
    links = re.findall(r"\]\(((?!http)[^)#]+)\)", README)
    assert links
    assert not [link for link in links if not (ROOT / link).exists()]


def test_every_page_of_the_app_is_named_in_the_pages_folder() -> None:
    from viz_model.app.frame import DESK, FORMER, MODELS, SECTIONS

    names = {name for names in SECTIONS.values() for name in names} | FORMER.keys() | {DESK, MODELS}
    # Streamlit finds a page by its file's name when a link is a fresh server's first request.
    assert {path.stem for path in (ROOT / "pages").glob("*.py")} == names


def test_the_models_are_as_good_as_it_says() -> None:
    measured = {
        path.parent.name: json.loads(path.read_text(encoding="utf-8"))
        for path in ROOT.glob("viz_model/models/*/figures.json")
    }
    rows = {name: row for name in measured if (row := re.search(rf"^\| \[`{name}`\].*$", README, flags=re.M))}
    assert rows.keys() == measured.keys()
    for name, found in measured.items():
        figures = found["held_out"]
        if "fr" in figures:
            said = f"BLEU {figures['fr']['bleu']:.1f} / {figures['zh']['bleu']:.1f}"
        elif name == "story-bert":
            said = f"{figures['en']['accuracy']:.0%}".replace("%", " %")
        else:
            said = f"{figures['en']['bits_per_byte']:.3f} / {figures['zh']['bits_per_byte']:.3f}"
        assert said in rows[name][0], name
    decoders = ("story-pre-ln", "story-post-ln", "story-modern")
    by_text = [measured[name]["by_source"] for name in decoders]
    for file in by_text[0]:
        cells = (f"{found[file]['held_out']:.3f} ({found[file]['seen']:.3f})" for found in by_text)
        assert f"| {' | '.join(cells)} |" in README, file
