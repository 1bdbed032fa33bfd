"""What the weights of one part of a model are called in published checkpoints, read off the tables that load them."""

import re
from collections.abc import Iterable, Sequence

from viz_model.checkpoints.huggingface import FAMILIES
from viz_model.checkpoints.renames import Rename
from viz_model.config import Gated, ModelConfig

SHOWN = ("llama", "qwen3", "gpt2", "bert", "t5")
"""Families whose names stand beside ours."""

ENDS = ("weight", "bias")
_SIDE, _BLOCK = re.compile(r"^(encoder|decoder)\."), re.compile(r"\bblocks\.(\d+)\.")


def hub_names(config: ModelConfig, weights: Iterable[str]) -> dict[str, dict[str, str]]:
    """For each of our weights that some family has too, its name there by family.

    Where their tensor holds several of ours, the name is followed by which part of it is meant.

    Args:
        weights: full names of parameters, such as ``decoder.blocks.1.attn.q.weight``.
    """
    tables = {family: FAMILIES[family].renames(config) for family in SHOWN}
    # T5 has two names for the matrix that a gate multiplies: the later is that of models with a gate.
    later = ".ffn.up." if isinstance(config.ffn, Gated) else None
    found = {
        one: {family: _theirs(one, table[:: -1 if later and later in one else 1]) for family, table in tables.items()}
        for one in weights
    }
    kept = {one: {family: name for family, name in named.items() if name} for one, named in found.items()}
    return {one: named for one, named in kept.items() if named}


def _theirs(weight: str, table: Sequence[Rename]) -> str:
    """The name in one family, "" where it has none; a stack that it lacks is read off the one that it has."""
    layer = _BLOCK.search(weight)
    wanted = _BLOCK.sub("blocks.{layer}.", weight)
    rows = [(row, n, row.ours[n].replace("*", end), end) for row in table for n in range(len(row.ours)) for end in ENDS]
    same = [row for row in rows if row[2] == wanted]
    for row, n, _, end in same or [row for row in rows if _SIDE.sub("", row[2]) == _SIDE.sub("", wanted)]:
        name = row.theirs.replace("[", "").replace("]", "").replace("*", end)
        name = name.replace("{layer}", layer[1] if layer else "")
        return f"{name} [{n + 1}/{len(row.ours)}]" if len(row.ours) > 1 else name
    return ""


def weights_of(names: Iterable[str], site: str) -> list[str]:
    """Of the names of all parameters those of the part that makes a value, such as ``decoder.blocks.1.attn.z``."""
    block = re.match(r"(?:(encoder|decoder)\.)?blocks\.(\d+)\.(\w+)\.", site)
    if block is None:
        return [name for name in names if name == "embedding.weight" and site.split(".")[-2:] == ["embed", "token"]]
    side, layer, part = block.groups()
    return [name for name in names if re.match(rf"{side or '(encoder|decoder)'}\.blocks\.{layer}\.{part}\.", name)]
