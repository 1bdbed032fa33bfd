"""How llama.cpp's files hold a family, declared in the family's own file.

Its converter writes what most families need in words of its own (``gguf.md`` of ggml), and its readers know the rest by
the name of the architecture. The tensors' names are those of ``gguf.get_tensor_name_map``.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal


@dataclass(frozen=True)
class Gguf:
    """What such a file says of a family, and what it does not.

    Attributes:
        architecture: the word under ``general.architecture``; Mixtral shares Llama's.
        has_experts: whether ``expert_count`` is above 0.
        fields: attributes of the family by the metadata that hold them, beside those that all families have.
        required: those of ``fields`` without which the family's own default would be taken, and be wrong.
        fixed: attributes that no such file holds, where llama.cpp does not take the family's own default.
        seen: attributes that follow from the others and from the names of the tensors.
        pairing: the converter reorders the rows of Llama's q and k so that its pairs are neighbours, and leaves
            those of most others alone.
        partial: whether a part of each head may be left unturned.
    """

    architecture: str
    has_experts: bool = False
    fields: Mapping[str, str] = field(default_factory=dict)
    required: tuple[str, ...] = ()
    fixed: Mapping[str, Any] = field(default_factory=dict)
    seen: Callable[[Mapping[str, Any], Collection[str]], Mapping[str, Any]] = lambda plain, tensors: {}
    pairing: Literal["interleaved", "halves"] = "halves"
    partial: bool = False
