"""One head between two residual streams: what it reads of one token, and what it adds to the stream of another."""

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from viz_model.claims import Claim, Verdict
from viz_model.drawing.scene import Mark, Panel, Rect, Scene, Text
from viz_model.drawing.tables import Lengths, Phrase
from viz_model.island.look import Look
from viz_model.island.prose import Line
from viz_model.measures import stream
from viz_model.measures.passage import put_together
from viz_model.topics.attention.heads import PLACE, facts, largest

BLOCK, TOP, THICK = 52.0, 34.0, 26.0
"""Pixels of a block, above the first, and of the longest stream's line."""
FROM, TO = 0.2, 0.8
"""Where the two streams stand, as shares of the width."""


class Carried(NamedTuple):
    """Of each query and the key that it reads most.

    Attributes:
        key: its position, [L, H, T].
        added: the length of weight · v · W_O, what the head adds to the query's stream from there, [L, H, T].
        update: of all that attention adds there, from all heads and keys, [L, T].
        before, after: of the stream before the block and once attention is added, before a norm on it, [L, T].
        streams: of the stream before the first block and after each, before a norm on it, [B, T] for B − 1 blocks.
    """

    key: np.ndarray
    added: np.ndarray
    update: np.ndarray
    before: np.ndarray
    after: np.ndarray
    streams: np.ndarray


def carried(look: Look) -> Carried:
    row, config = look.once(largest), look.config
    added = []
    for n, layer in enumerate(look.layers):
        attention: Any = look.trace.stack.block(layer).attn
        w_o = attention.o.weight.detach().numpy().reshape(config.d_model, config.n_heads, -1)  # [D, H, K]
        written = np.einsum("htk,dhk->htd", look.of_heads("attn.v")[n], w_o)
        lengths = np.linalg.norm(written, axis=-1)  # [H, T]
        added.append(row.weight[n] * np.take_along_axis(lengths, row.at[n], -1))

    update = np.linalg.norm(look.every("attn.out"), axis=-1)
    first = look.trace["blocks.0.resid.in"].norm(dim=-1).numpy()
    streams = np.stack([first, *(stream.sum_lengths(look.trace, layer, "ffn") for layer in range(look.n_layers))])
    after = np.stack([stream.sum_lengths(look.trace, layer, "attn") for layer in look.layers])
    return Carried(row.at, np.stack(added), update, streams[list(look.layers)], after, streams)


CARRIES: Verdict[Any] = Verdict("attention.carries", Claim("itself", lambda is_own: is_own))
"""Of whether the token that is read most is the one that reads."""


def is_own(look: Look) -> np.ndarray:
    return np.asarray(look.once(largest).at == np.arange(len(look)))


def title(look: Look) -> Iterator[Line]:
    yield Line(look.claim_label(CARRIES, is_own(look), PLACE, **facts(look)), "title")


def draw(look: Look) -> Scene:
    """Two lines as thick as the streams are long, from above to below; between them the head."""
    found, words, row = look.once(carried), look.words, look.once(largest)
    longest = look.once(lambda look: stream.longest(look.trace, look.twin), "longest")
    where = look.by(PLACE, found.key)
    lines = THICK * found.streams / longest  # [B, T]
    of_key = lines[:, found.key]  # [B, L, H, T]
    marks: list[Mark] = []
    for n in range(len(found.streams)):
        y, height = TOP + n * BLOCK, BLOCK
        key = "carries_sum" if put_together(look.trace) == "post" else "carries_block"
        name = words("carries_start") if n == 0 else words(key, n=n - 1)
        marks.append(Text(id=f"block.{n}", text=name, x=0, y=y + height / 2, fill="muted"))
        own: Any = look.by("token", lines[n].astype(np.float32))
        other: Any = look.by(PLACE, of_key[n].astype(np.float32))
        for side, wide, lengths, at in (
            ("from", other, look.by(PLACE, found.streams[n][found.key], "1"), FROM),
            ("to", own, look.by("token", found.streams[n], "1"), TO),
        ):
            half: Any = Lengths(wide, 0, 1, (at, 0.0), (at, -0.5))
            marks.append(Rect(id=f"{side}.{n}", x=half, y=y, width=wide, height=height - 2, fill="residual"))
            said: Any = Phrase("{{length}}", {"length": lengths})
            marks.append(Text(id=f"{side}.length.{n}", text=said, x=(at, THICK / 2 + 6), y=y + height / 2))
    reading: Any = look.by("layer", TOP + (np.array(list(look.layers), np.float32) + 1) * BLOCK - 4)
    thick: Any = look.by(PLACE, (1.5 + 12 * row.weight).astype(np.float32))
    below: Any = look.by("layer", TOP + (np.array(list(look.layers), np.float32) + 1) * BLOCK - 20)
    marks += [
        Rect(
            id="head", x=(FROM, THICK / 2 + 44), y=reading, width=(TO - FROM, -THICK - 54), height=thick,
            fill="pattern",
        ),
        Text(id="weight", text=words("carries_weight", **facts(look)), x=(0.5, 20), y=below, anchor="middle"),
        Text(id="from", text=look.token_named(where), x=(FROM, 0), y=14, anchor="middle", bold=True, size=14),
        Text(id="to", text=look.token_named(), x=(TO, 0), y=14, anchor="middle", bold=True, size=14),
    ]  # fmt: skip
    panel = Panel(id="carries", marks=marks, height=TOP + len(found.streams) * BLOCK + 4, min=460)
    scene = Scene(id="attention.carries", panels=[panel], title=words("carries_alt"))
    return look.drawn(scene, ["attn.pattern", "attn.v", "resid.in", "attn.out"], data=found)


def tell(look: Look) -> Iterator[Line]:
    found = look.once(carried)
    yield look.claim(
        CARRIES, is_own(look), PLACE, "text", None, **facts(look), added=look.by(PLACE, found.added, "2"),
        update=look.by("layer token", found.update, "2"), before=look.by("layer token", found.before, "2"),
        after=look.by("layer token", found.after, "2"),
    )  # fmt: skip
