"""Where models are on this machine, told by names alone. Needs no PyTorch: the command asks it too."""

import difflib
from collections.abc import Iterable
from pathlib import Path

ADAPTER = "adapter_config.json"


def is_model(path: Path) -> bool:
    """Whether it is a model folder, with an adapter perhaps, or a ``.gguf`` file."""
    try:
        is_folder = any((path / name).is_file() for name in ("config.json", ADAPTER))
        return is_folder or (path.suffix == ".gguf" and path.is_file())
    except OSError:
        return False


def within(path: Path) -> list[Path]:
    """The models of an entry, which is one or a folder of them."""
    return [place for place in ([path] if is_model(path) else _children(path)) if is_model(place)]


def meant(name: str, known: Iterable[str] = ()) -> str:
    """``; did you mean …?`` with names that are almost this one, of ``known`` and of its folder; "" for none."""
    path = Path(name)
    beside = [one.name for one in _children(path.parent)] if name else []
    near = [
        *difflib.get_close_matches(name, list(known), n=3, cutoff=0.75),
        *(str(path.parent / one) for one in difflib.get_close_matches(path.name, beside, n=3)),
    ]
    return f"; did you mean {', '.join(near[:3])}?" if near else ""


def _children(path: Path) -> list[Path]:
    try:
        return sorted(path.iterdir())
    except (OSError, ValueError):
        return []
