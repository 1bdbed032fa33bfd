"""What the README shows works as it is written."""

from __future__ import annotations

import contextlib
import io
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
    from viz_model.ui.frame import SECTIONS

    names = {name for names in SECTIONS.values() for name in names}
    # Streamlit finds a page by its file's name when a link is a fresh server's first request.
    assert {path.stem for path in (ROOT / "pages").glob("*.py")} == names
