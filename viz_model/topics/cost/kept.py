"""Four ways to keep the past of attention: what is kept of a token, what is made again, what a step multiplies."""

from collections.abc import Iterator
from typing import NamedTuple

from viz_model.config import Latent, ModelConfig
from viz_model.drawing.digits import big, byte_size
from viz_model.island.look import Look
from viz_model.island.prose import Line
from viz_model.measures import kv_cache
from viz_model.texts.markdown import table


class Way(NamedTuple):
    """One way, of one layer.

    Attributes:
        kept: numbers for each token.
        rebuilt: multiplications of a step that make keys and values of what was kept.
        step: all multiplications of a step: projections of the new token, what is rebuilt, scores and mixing.
    """

    kept: int
    rebuilt: int
    step: int


class Ways(NamedTuple):
    """By name; ``groups`` of grouped-query attention, and the widths of latent attention."""

    ways: dict[str, Way]
    groups: int
    rank: int
    shared: int


def grouped(config: ModelConfig, length: int, groups: int) -> Way:
    """Attention with ``groups`` key–value heads, for one token that sees ``length`` (Ainslie et al. 2023)."""
    d, heads, width = config.d_model, config.n_heads, config.d_head
    step = 2 * d * heads * width + 2 * d * groups * width + 2 * length * heads * width
    return Way(2 * groups * width, 0, step)


def latent(config: ModelConfig, length: int, mixer: Latent, own: int, *, absorbed: bool) -> Way:
    """Latent attention whose keys have ``own`` numbers of each head's own (DeepSeek-AI 2024a, section 2.1.2).

    Either keys and values of all positions are made again at every step, or their matrices are taken into those of
    queries and of the output, and the narrow vectors themselves are compared and mixed.
    """
    d, heads, rank, shared, value = config.d_model, config.n_heads, mixer.rank, mixer.d_rotated, mixer.d_value
    queries = d * (mixer.query_rank or heads * (own + shared)) + mixer.query_rank * heads * (own + shared)
    projected = queries + d * (rank + shared) + heads * value * d
    if absorbed:
        return Way(rank + shared, 0, projected + heads * rank * (own + value) + length * heads * (2 * rank + shared))
    rebuilt = length * rank * heads * (own + value)
    return Way(rank + shared, rebuilt, projected + rebuilt + length * heads * (own + shared + value))


def ways(config: ModelConfig, length: int) -> Ways:
    """With the model's own groups and narrow vector, or else half as many groups as heads, and a vector four times as
    wide as a head beside a shared part half as wide, as in DeepSeek-AI 2024a, table 1.
    """
    heads, width = config.n_heads, config.d_head
    groups = config.n_kv_heads if 1 < config.n_kv_heads < heads else next(
        n for n in range(max(1, heads // 2), 0, -1) if heads % n == 0
    )  # fmt: skip
    mine = next((mixer for mixer in config.mixers if isinstance(mixer, Latent)), None)
    mixer = mine or Latent(rank=4 * width, d_rotated=max(1, width // 2), d_value=width)
    own = width - mixer.d_rotated if mine else width
    found = {
        "mha": grouped(config, length, heads),
        "gqa": grouped(config, length, groups),
        "mqa": grouped(config, length, 1),
        "mla": latent(config, length, mixer, own, absorbed=False),
        "mla_absorbed": latent(config, length, mixer, own, absorbed=True),
    }
    return Ways(found, groups, mixer.rank, mixer.d_rotated)


def draw(look: Look) -> Iterator[Line]:
    """A row a way."""
    found, words, n = ways(look.here, len(look)), look.words, len(look)
    size = n * kv_cache.itemsize(look.trace) * look.n_layers
    columns = (words(f"kept_{name}", n=f"{n:,}") for name in ("way", "numbers", "bytes", "rebuilt", "step"))
    rows = [
        [
            words(f"kept_{name}", groups=found.groups), f"{way.kept:,}",
            byte_size(way.kept * size), big(way.rebuilt) if way.rebuilt else "0", big(way.step),
        ]
        for name, way in found.ways.items()
    ]  # fmt: skip
    yield Line(table(list(columns), rows))


def tell(look: Look) -> Iterator[Line]:
    found = ways(look.here, len(look))
    yield look.text(
        "kept", rank=f"{found.rank:,}", shared=f"{found.shared:,}", both=f"{found.rank + found.shared:,}",
        h=look.n_heads, k=look.here.d_head, layers=look.n_layers,
    )  # fmt: skip
