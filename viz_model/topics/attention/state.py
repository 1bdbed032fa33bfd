"""A layer without attention weights: the matrix that a gated DeltaNet writes and reads, at the selected token."""

from collections.abc import Iterator

import numpy as np

from viz_model.drawing import matrix
from viz_model.drawing.scene import Scene
from viz_model.island.look import Look
from viz_model.island.page import Chooser
from viz_model.island.prose import Line
from viz_model.island.tabs import Worked

SITES = ("alpha", "beta", "kept", "found", "corrected", "state", "read")
"""From what is kept of the state to what the query reads of it."""


def is_here(look: Look) -> bool:
    return look.has("attn.state")


def head_of(look: Look) -> int:
    asked = int(look.options.get("memory") or 0)
    return min(asked, look.every("attn.state").shape[1] - 1)


def tell(look: Look) -> Iterator[Line]:
    _, n, _, rows, columns = look.every("attn.state").shape
    yield look.text("state", n=n, rows=rows, columns=columns, layer=look.layer_number)
    yield from others(look)


def others(look: Look) -> Iterator[Line]:
    """Which layers have attention weights, where some do."""
    if layers := look.trace.attending:
        yield look.text("state_others", layers=", ".join(map(str, layers)))


def choose(look: Look) -> Chooser:
    return Chooser("memory", range(look.every("attn.state").shape[1]), look.words("state_head"), asks=True)


def draw(look: Look) -> Scene:
    """The state of one head behind the selected token: a row for each number of a key, a column for each of a value."""
    states = look.every("attn.state")[:, head_of(look)]  # [L, T, K, U]
    most = np.abs(states).max((-2, -1))
    top = look.by("layer token", np.where(most > 0, most, 1.0).astype(np.float32))
    names = [list(map(str, range(size))) for size in states.shape[-2:]]
    title = look.words("state_title", head=str(head_of(look)), token=look.token_named())
    scene = matrix.scene(
        "attention.state", title, look.by("layer token", states), *names,
        axes=(look.words("state_rows"), look.words("state_columns")), top=top, frames=False, look="signed",
        role="value", height=470,
    )  # fmt: skip
    return look.drawn(scene, ["attn.state"])


def hand(look: Look) -> tuple[Line | None, list[Worked], dict[str, str]]:
    """One cell of the state: decayed, read at the key, corrected, and read by the query."""
    head, token = head_of(look), look.token
    cells = {"state": (head, token, 0, 0), "kept": (head, token, 0, 0), "alpha": (head, token), "beta": (head, token)}
    worked = [
        Worked((f"attention.hand_{name}",), look.site(f"attn.{name}"), cells.get(name, (head, token, 0)))
        for name in SITES
    ]
    return None, worked, {}


def numbers(look: Look) -> tuple[str, np.ndarray, list[str], list[str]]:
    site = look.site("attn.state")
    exact = look.trace[site][head_of(look), look.token].numpy()
    names = [list(map(str, range(size))) for size in exact.shape]
    return f"{look.trace.full_name(site)}[{head_of(look)}, {look.token}]", exact, names[0], names[1]
