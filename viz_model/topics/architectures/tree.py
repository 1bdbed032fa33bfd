"""The module tree of a model, with the shapes and the sizes of its parameters."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from viz_model.drawing.digits import percent
from viz_model.island.look import Look
from viz_model.island.page import Chooser, Plain
from viz_model.topics.architectures import pair, parameters
from viz_model.topics.architectures.parameters import Node, short


def choose(look: Look) -> Chooser:
    options = {str(one.which): one.name for one in pair.both(look)}
    return Chooser("tree", options, look.words("tree"), look.words("tree_help"), asks=True)


def draw(look: Look) -> Plain:
    """The modules of one of the two, read off the loaded model."""
    node = parameters.tree(pair.both(look)[int(look.options.get("tree") or 0)].model)
    total = max(1, node.size)

    def plain(node: Node) -> dict[str, Any]:
        notes = [look.words("tree_shared", name=node.shared)] if node.shared else []
        notes += [look.words("tree_computed", name=name, shape=shape(size)) for name, size in node.computed.items()]
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

    words = {key: look.words(f"tree_{key}") for key in ("open", "close", "alt", "module", "shape", "parameters")}
    return Plain("tree", "architectures.modules", {"root": plain(node), "words": words})


def shape(sizes: Sequence[int]) -> str:
    return "[" + " × ".join(f"{size:,}" for size in sizes) + "]"
