"""The causal mask as code keeps it: made once as large as the context, and cut to the text at each run."""

from collections.abc import Iterator

import numpy as np

from viz_model.drawing.digits import byte_size
from viz_model.drawing.scene import Mark, Panel, Path, Rect, Scene, Text
from viz_model.island.look import Look
from viz_model.island.prose import Line
from viz_model.texts.markdown import literal

SIDE, LEAST = 240.0, 3.0
"""Pixels of the whole mask, and of the corner that a text takes at the least."""
LINES = (
    "mask = torch.tril(torch.ones(n_context, n_context, dtype=torch.bool))",
    'self.register_buffer("mask", mask, persistent=False)',
    "scores = scores.masked_fill(~self.mask[:T, :T], -torch.inf)",
)


def has(look: Look) -> bool:
    """Whether every layer has the plain causal mask, which one buffer can hold."""
    config, side = look.config, look.trace.stack.side
    return side == "decoder" and not any(config.window(side, layer) for layer in range(look.n_layers))


def draw(look: Look) -> Scene:
    """The triangle of the whole context, and in its corner what this text takes of it."""
    context, n, words = look.config.n_context, len(look), look.words
    corner = max(LEAST, SIDE * n / context)
    triangle = np.array([[0.0, 0.0], [0.0, SIDE], [SIDE, SIDE], [0.0, 0.0]], np.float32) + 1
    marks: list[Mark] = [
        Rect(id="whole", x=1, y=1, width=SIDE, height=SIDE, stroke="muted", thick=1),
        Path(id="seen", x=triangle[:, 0], y=triangle[:, 1], fill="pattern", opacity=0.35, thick=0),
        Rect(id="text", x=1, y=1, width=corner, height=corner, stroke="accent", thick=2.5),
        Text(id="size", text=f"{context:,} × {context:,}", x=SIDE + 12, y=SIDE - 8, fill="muted"),
        Text(id="own", text=words("buffer_own", n=n), x=SIDE + 12, y=14, bold=True),
    ]
    return Scene(
        id="attention.buffer", panels=[Panel(id="buffer", marks=marks, height=SIDE + 4)], title=words("buffer_alt")
    )


def tell(look: Look) -> Iterator[Line]:
    context, n = look.config.n_context, len(look)
    yield look.text(
        "buffer", context=f"{context:,}", size=byte_size(context * context), n=n, seen=f"{n * (n + 1) // 2:,}"
    )
    for line in LINES:
        yield Line(literal(line))
    yield look.text("buffer_why")
