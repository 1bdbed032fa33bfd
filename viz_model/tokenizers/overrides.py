"""What a folder's settings change of its ``tokenizer.json``: as Transformers' tokenizer classes read both.

A class that a folder names builds the steps before a vocabulary from the settings beside it, and takes from
``tokenizer.json`` the vocabulary and what stands around a text. A folder of no such class is read as its
``tokenizer.json`` says. Tokens that the settings name are added to those that are found in a text.
"""

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from viz_model.checkpoints.weights import ModelError
from viz_model.tokenizers.classes import Built, built, class_of
from viz_model.tokenizers.files import Settings, added_token, read_object, surround

_REFUSED = ("fix_mistral_regex",)


def overridden(path: Path, plain: dict[str, Any], settings: Settings, n_rows: int) -> dict[str, Any]:
    """The description of ``path`` as the settings beside it change it.

    Raises:
        ModelError: a setting changes how a text is cut in a way that is not known here, or ``added_tokens.json`` is
            damaged.
    """
    for name in _REFUSED:
        if settings.plain.get(name):
            raise ModelError(f"{path.parent / 'tokenizer_config.json'}: {name}: expected false, got true")
    if not isinstance(plain.get("model"), dict):
        return plain
    found = built(class_of(plain, settings), plain, settings)
    steps = {} if found is None else {**found.steps, "model": {**plain["model"], **found.steps["model"]}}
    changed = {**plain, **steps, "added_tokens": _added(path, plain, settings, n_rows, found)}
    if found is not None and found.before is not None:
        before, after = ([_named(name, found, settings) for name in names] for names in (found.before, found.after))
        surround(changed, before, after, path)
    return changed


def _named(attribute: str, found: Built, settings: Settings) -> str:
    """The control token that is called "cls", or one by its content."""
    default = found.tokens.get(attribute)
    return attribute if default is None else settings.named(f"{attribute}_token", default)


def _added(path: Path, plain: Mapping[str, Any], settings: Settings, n_rows: int, rebuilt: Built | None) -> Any:
    """The tokens that are found in a text: those of the description, and those that the settings name.

    A class that builds its steps anew knows those of ``added_tokens_decoder`` alone, where there is such a table.
    """
    own = plain.get("added_tokens") or []
    listed = settings.added()
    if not isinstance(own, list) or not all(isinstance(entry, dict) for entry in own):
        return own  # what reads it says what is wrong with it
    found = {entry.get("content"): entry for entry in (listed if rebuilt is not None and listed else own)}
    vocabulary = _ids(plain["model"].get("vocab"))
    if not listed:
        later = path.parent / "added_tokens.json"
        for name, id in (read_object(later) if later.exists() else {}).items():
            if type(id) is not int:
                raise ModelError(f"{later}: the id of {name[:40]!r}: expected a whole number, got {id!r:.40}")
            special = name in settings.controls()
            entry = {**added_token(id, name, special=special), "normalized": not special}
            found.setdefault(name, entry)
    known = {entry["content"]: entry for entry in own if isinstance(entry.get("content"), str)}
    for entry in listed:
        found.setdefault(entry["content"], entry)
    padding = plain.get("padding")
    defaults = {"pad": padding["pad_token"]} if isinstance(padding, dict) and "pad_token" in padding else {}
    more: tuple[str, ...] = ()
    if rebuilt is not None:
        defaults, more = {**defaults, **rebuilt.tokens}, rebuilt.more
    for name, flags in settings.controls(defaults, more).items():
        if name in found:
            found[name] = {**found[name], "special": True}
            continue
        id = known[name]["id"] if name in known else vocabulary.get(name)
        if id is None:
            taken = [*vocabulary.values(), *(entry["id"] for entry in found.values() if type(entry.get("id")) is int)]
            id = max(taken, default=-1) + 1
        if id < n_rows:
            found[name] = {**added_token(id, name), **({} if rebuilt is not None and rebuilt.exact else flags)}
    return list(found.values())


def _ids(vocabulary: object) -> dict[str, int]:
    if isinstance(vocabulary, dict):
        return {name: id for name, id in vocabulary.items() if type(id) is int}
    rows: Iterable[Any] = vocabulary if isinstance(vocabulary, list) else ()
    return {row[0]: id for id, row in enumerate(rows) if isinstance(row, list) and row and isinstance(row[0], str)}
