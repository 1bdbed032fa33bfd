"""The three kinds of Transformer: who sees whom on this sentence, and what each is for."""

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from viz_model.config import Kind
from viz_model.drawing.scene import Items, Labels, Mark, Panel, Rect, Scene, Text, Texts, along
from viz_model.drawing.scene.writing import short, width_of
from viz_model.island.look import Look
from viz_model.island.prose import Line
from viz_model.model import masks
from viz_model.runs.trace import Trace
from viz_model.topics.architectures import pair

KINDS: tuple[Kind, ...] = ("decoder", "encoder", "encoder_decoder")
HIDDEN, SEEN, SEEN_ACROSS = range(3)
MOST = 9
"""Tokens of a text in the small pictures of masks."""
HEIGHT, TOP = 320.0, 24.0


def sight(kind: Kind, n_source: int, n_target: int = 0) -> np.ndarray:
    """What each position sees in a kind of model: [T, T] of :data:`HIDDEN`, :data:`SEEN`, :data:`SEEN_ACROSS`.

    Of an encoder–decoder T is source and target together, the source first: the decoder sees the
    source by cross-attention, and the encoder sees nothing of the target.
    """
    if kind == "decoder":
        return np.where(masks.causal(n_source, n_source).numpy(), SEEN, HIDDEN)
    source = np.where(masks.everything(n_source, n_source).numpy(), SEEN, HIDDEN)
    if kind == "encoder":
        return source
    across = np.where(masks.everything(n_target, n_source).numpy(), SEEN_ACROSS, HIDDEN)
    target = np.where(masks.causal(n_target, n_target).numpy(), SEEN, HIDDEN)
    hidden = np.full((n_source, n_target), HIDDEN)
    return np.block([[source, hidden], [across, target]])


class SightView(NamedTuple):
    """Who sees whom in one kind of model: ``cells`` is [T, T] of :func:`sight`'s values.

    ``split`` is how many of the T positions are the source's, of an encoder–decoder, else T.
    """

    kind: str
    cells: np.ndarray
    labels: tuple[str, ...]
    split: int

    @classmethod
    def of(cls, kind: Kind, source: Sequence[str], target: Sequence[str], most: int = MOST) -> "SightView":
        """The first ``most`` tokens of a text, and of what an encoder–decoder says to it."""
        source, target = tuple(source[:most]), tuple(target[:most]) if kind == "encoder_decoder" else ()
        return cls(kind, sight(kind, len(source), len(target)), source + target, len(source))


def _run(look: Look) -> Trace:
    """The run that is shown: the one that has a source and a target, if there is one."""
    traces = [one.trace for one in pair.both(look) if one.trace is not None]
    return next((trace for trace in traces if len(trace.config.sides) > 1), traces[0])


def title(look: Look, kind: Kind) -> Iterator[Line]:
    here = [f"{pair.SIGNS[one.which]} {one.code_name}" for one in pair.both(look) if one.config.kind == kind]
    yield look.part(f"is_{kind}")
    yield Line(" · ".join(here) or look.words("not_chosen"), "note")


_LOOKS = (("residual", 0.16, ""), ("pattern", 0.75, "•"), ("query", 0.75, "×"))
"""Color, strength and sign of what is hidden, seen, and seen across."""


def draw(look: Look, kind: Kind) -> Scene:
    """A cell for every query (row) and key (column): hidden, seen, or seen across from the encoder."""
    run = _run(look)
    source = [token.label for token in run.at(run.config.sides[0]).tokens]
    view = SightView.of(kind, source, [token.label for token in run.target_tokens] or source)
    n, kinds = len(view.labels), [look.words(f"sight_{name}") for name in ("hidden", "seen", "across")]
    left = min(110.0, max(width_of(short(label)) for label in view.labels)) + 10
    below = min(84.0, 0.9 * left)
    tall, flat = (HEIGHT - TOP - below) / n, view.cells.ravel()
    rows, columns = (part.ravel() for part in np.indices(view.cells.shape))

    def across(share: Any) -> Any:
        return along(share, left, (1, -left))

    said = [
        f"{view.labels[q]} → {view.labels[k]}: {kinds[view.cells[q, k]]}" for q, k in zip(rows, columns, strict=True)
    ]
    marks: list[Mark] = [
        Items(
            id="cells", x=across(columns / n), y=(TOP + rows * tall).astype(np.float32),
            width=along(np.full(n * n, 1 / n), -1, (1, -left)),
            height=np.full(n * n, tall - 1, np.float32), fill=[_LOOKS[seen][0] for seen in flat],
            opacity=[_LOOKS[seen][1] for seen in flat],
            labels=said,
        ),
        Texts(id="signs", texts=[_LOOKS[seen][2] for seen in flat], x=across((columns + 0.5) / n),
              y=(TOP + (rows + 0.5) * tall).astype(np.float32), fill="white"),
        Labels(id="rows", texts=view.labels, x=left - 8, y=TOP, length=n * tall, along="y"),
        Labels(id="columns", texts=view.labels, x=left, y=HEIGHT - below + 3, length=(1, -left), turn="always"),
    ]  # fmt: skip
    if view.split < n:
        cut = view.split / n
        marks += [
            Rect(id="cut across", x=across(cut), y=TOP, width=2, height=n * tall, fill="residual"),
            Rect(id="cut down", x=left, y=TOP + view.split * tall, width=(1, -left), height=2, fill="residual"),
        ]
        for name, middle in (("source", cut / 2), ("target", (1 + cut) / 2)):
            marks.append(Text(id=name, text=look.words(f"sight_{name}"), x=across(middle), y=TOP / 2, anchor="middle"))
    panel = Panel(id="sight", marks=marks, height=HEIGHT)
    return Scene(id=f"architectures.{kind}", panels=[panel], title=look.words(f"sight_{kind}_alt"), data=view)


def note(look: Look) -> Iterator[Line]:
    yield look.note("sight_note" if _run(look).target_tokens else "sight_note_same", n=MOST)
