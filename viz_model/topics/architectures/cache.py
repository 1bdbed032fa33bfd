"""What a KV cache holds: bytes of every decoder, had it as many key–value heads as query heads, or one."""

import math
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from viz_model.config import Attending, ModelConfig
from viz_model.drawing.chart import Axis
from viz_model.drawing.digits import byte_size
from viz_model.drawing.scene import Scene
from viz_model.drawing.scene.writing import short
from viz_model.island.look import Look
from viz_model.island.page import Chooser
from viz_model.island.prose import Line
from viz_model.measures import kv_cache
from viz_model.topics.architectures import pair, parts
from viz_model.topics.architectures.references import REFERENCES
from viz_model.topics.architectures.scale import Dots, rows

SIZES = (4, 2)
"""Bytes that a number may take."""
LENGTHS = tuple(2**power for power in range(18))
"""Tokens that a text may have."""


class CacheView(NamedTuple):
    """Bytes that a decoder keeps for a text: [R] for every row, had it H, its own G, or one key–value head.

    ``lengths`` [R] is the text's length, or the row's context where that is shorter.
    """

    names: tuple[str, ...]
    loaded: tuple[bool, ...]
    lengths: np.ndarray
    n_heads: np.ndarray
    n_kv_heads: np.ndarray
    mha: np.ndarray
    own: np.ndarray
    mqa: np.ndarray


def choose_bytes(look: Look) -> Chooser:
    options = {str(n): look.words(f"bytes_{n}") for n in SIZES}
    return Chooser("bytes", options, look.words("bytes"), look.words("bytes_help"), asks=True)


def choose_length(look: Look) -> Chooser:
    options, words = {str(n): f"{n:,}" for n in LENGTHS}, (look.words("length"), look.words("length_help"))
    return Chooser("length", options, *words, "1024", asks=True, is_scale=True)


def asked(look: Look) -> tuple[int, int]:
    """How long the text is, and how many bytes a number takes."""
    return int(look.options.get("length") or 1024), int(look.options.get("bytes") or SIZES[0])


def view(look: Look) -> CacheView:
    """The decoders among the two, then the published ones. Source and target are equally long."""
    length, n_bytes = asked(look)
    every = [(one.name, one.config, True) for one in pair.both(look)]
    every += [(ref.name, ref.config, False) for ref in REFERENCES]
    found = []
    for name, config, is_loaded in every:
        if config.kind != "encoder":
            n, heads = min(length, config.n_context), (config.n_heads, config.n_kv_heads, 1)
            sizes = [kv_cache.cache(config, n, each, n_bytes, n_source=n).total for each in (config.n_heads, None, 1)]
            found.append((name, is_loaded, n, *heads[:2], *sizes))
    names, loaded, *columns = zip(*found, strict=True)
    return CacheView(names, loaded, *(np.array(column, dtype=np.int64) for column in columns))


def draw(look: Look) -> Scene:
    """On a logarithmic axis, a line a model from one key–value head to one for every query head; its own marked."""
    found = view(look)
    columns = (found.names, found.loaded, found.n_heads, found.n_kv_heads, found.lengths)
    names = [
        (f"{short(name, 34)}{'' if here else ' ◇'}", f"H {h}, G {g} · {n:,}")
        for name, here, h, g, n in zip(*columns, strict=True)
    ]
    dots = []
    for name, symbol, size in (("mqa", "diamond-open", 9), ("mha", "circle-open", 11), ("own", "circle", 13)):
        sizes, text, is_own = getattr(found, name), look.words(f"cache_{name}"), name == "own"
        written = list(map(byte_size, sizes.tolist()))
        said = [f"{text} {size} ({n:,} B)" for size, n in zip(written, sizes.tolist(), strict=True)]
        role = "key" if is_own else "residual"
        dots.append(Dots(text, sizes, role, symbol, size, said, written if is_own else (), is_own))
    low, high = math.log10(found.mqa.min()) - 0.6, math.log10(found.mha.max()) + 0.4
    powers = [2**p for p in range(0, 51, 5) if low < p * math.log10(2) < high]
    axis = Axis(10**low, 10**high, look.words("cache_axis"), is_log=True)
    ticks = [(n, byte_size(n)) for n in powers]
    return rows(look, "cache", names, dots, axis, ticks, row=52, lines=(found.mqa, found.mha))


def facts(config: ModelConfig, length: int, n_bytes: int) -> tuple[str, dict[str, str]]:
    """For prose: the section to tell, and what a token costs with the model's own G, with H and with one."""
    if config.kind == "encoder":
        return "cache_none", {}
    n = min(length, config.n_context)

    def per(heads: int) -> int:
        return kv_cache.cache(config, 1, heads, n_bytes, n_source=0).total

    own = kv_cache.cache(config, n, None, n_bytes, n_source=n).total
    is_usual = all(mixer == Attending() for mixer in config.mixers)
    return f"cache_{parts.sharing(config)}" if is_usual else "cache_mixed", {
        "layers": str(config.n_layers),
        "g": str(config.n_kv_heads),
        "h": str(config.n_heads),
        "k": str(config.d_head),
        "bytes": str(n_bytes),
        "own": f"{per(config.n_kv_heads):,}",
        "mha": f"{per(config.n_heads):,}",
        "mqa": f"{per(1):,}",
        "n": f"{n:,}",
        "total": byte_size(own),
        "attended": byte_size(kv_cache.cache(config, n, config.n_kv_heads, n_bytes).total),
        "saved": f"{config.n_heads / config.n_kv_heads:g}",
    }


def tell(look: Look) -> Iterator[Line]:
    """Models that cost the same are told of together."""
    alike: dict[tuple[str, tuple[tuple[str, str], ...]], list[str]] = {}
    for one in pair.both(look):
        section, costs = facts(one.config, *asked(look))
        alike.setdefault((section, tuple(costs.items())), []).append(one.code_name)
    for (section, items), names in alike.items():
        yield look.text(section, model=look.listed(names), **dict(items))
    if any(len(one.config.sides) > 1 for one in pair.both(look)):
        yield look.text("cache_source")
