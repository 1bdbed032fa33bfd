"""The module tree of a model, with the shapes and the sizes of its parameters."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from viz_model.drawing.writing import percent
from viz_model.topics.architectures.numbers.parameters import Node
from viz_model.topics.architectures.pictures.common import Words, short


def tree_scene(node: Node, words: Words) -> dict[str, Any]:
    """The module tree as its component wants it."""
    total = max(1, node.size)

    def plain(node: Node) -> dict[str, Any]:
        notes = []
        if node.shared:
            notes.append(words("tree_shared", name=node.shared))
        notes += [words("tree_computed", name=name, shape=shape(size)) for name, size in node.computed.items()]
        return {
            "name": node.name,
            "kind": f"{node.copies} × {node.kind}" if node.copies > 1 else node.kind,
            "shapes": [f"{name} {shape(size)}" for name, size in node.shapes.items()],
            "size": f"{node.size:,}",
            "short": short(node.size),
            "share": node.size / total,
            "percent": percent(node.size / total) if node.size else "",
            "note": " · ".join(notes),
            "children": [plain(child) for child in node.children],
        }

    words_ = {key: words(f"tree_{key}") for key in ("open", "close", "alt", "module", "shape", "parameters")}
    return {"root": plain(node), "words": words_}


def shape(sizes: Sequence[int]) -> str:
    return "[" + " × ".join(f"{size:,}" for size in sizes) + "]"
