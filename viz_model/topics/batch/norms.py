"""LayerNorm and BatchNorm on the vectors of a batch: what each divides by, and what other neighbors change."""

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor

from viz_model.claims import Claim, Verdict
from viz_model.drawing import strips
from viz_model.drawing.scene import Cells, Labels, Mark, Panel, Rect, Scene, Text, along
from viz_model.drawing.strips import Strip, StripsView
from viz_model.drawing.tables import Among, By, Lengths, Phrase, by
from viz_model.island.look import Look
from viz_model.island.prose import Line
from viz_model.texts.markdown import table
from viz_model.topics.batch.rows import OTHERS, batched, row_of, usual_texts
from viz_model.topics.batch.run import padded_vectors

EPS = 1e-5
"""Of both norms, as in PyTorch. Neither has a gain or a shift here, as at the start of training."""
SIZES = (4, 2, 1)
MOST_FEATURES, MOST_DIMENSIONS = 14, 64
"""Features of each vector that are drawn, the framed one among them; and numbers of a vector in its strip."""
LAYER, BATCH = "norm", "pattern"
"""The colors of their frames."""


class Moves(NamedTuple):
    """How far a vector moves when its neighbors are replaced, ‖Δ‖/‖·‖, in batches of four and of two sentences."""

    layer_four: Any
    layer_two: Any
    batch_four: Any
    batch_two: Any


LAYER_NORM: Verdict[Moves] = Verdict(
    "batch.layer_norm", Claim("nothing", lambda moves: (moves.layer_four == 0) & (moves.layer_two == 0))
)
BATCH_NORM: Verdict[Moves] = Verdict(
    "batch.batch_norm",
    Claim(
        "smaller", lambda moves: (np.round(moves.batch_two, 3) > np.round(moves.batch_four, 3)) & (moves.batch_four > 0)
    ),
)


def layer_norm(x: Tensor) -> Tensor:
    """[N, D] -> [N, D]: each vector by its own mean and biased variance (Ba et al. 2016)."""
    return _normalized(x, -1)


def batch_norm(x: Tensor) -> Tensor:
    """[N, D] -> [N, D]: each feature by its mean and biased variance over the N vectors (Ioffe & Szegedy 2015).

    As in training: when it answers, a BatchNorm uses averages that it has stored.
    """
    return _normalized(x, 0)


def _normalized(x: Tensor, axis: int) -> Tensor:
    centered = x - x.mean(axis, keepdim=True)
    return centered / (centered.square().mean(axis, keepdim=True) + EPS).sqrt()


class Neighbors(NamedTuple):
    """What becomes of the vectors [T, D] of a sentence beside others.

    Attributes:
        x: the vectors.
        layer, batch: normalized, beside their neighbors and beside others: [2, T, D].
        n_vectors: for batches of :data:`SIZES`, the tokens over which BatchNorm takes its mean, [S].
        moves: how far each vector moves, ‖after − before‖ / ‖before‖, when all neighbors are replaced, by LayerNorm
            and by BatchNorm, [2, S, T]; NaN where there are none.
        cuts: the same against the largest batch.
        padded: how far BatchNorm moves each if padding counts, [T]; None where there is none.
        feature: the largest of each, [T].
        own_moments, feature_moments: mean and deviation over its features, and of ``feature`` over all tokens, [2, T].
    """

    x: np.ndarray
    layer: np.ndarray
    batch: np.ndarray
    n_vectors: np.ndarray
    moves: np.ndarray
    cuts: np.ndarray
    padded: np.ndarray | None
    feature: np.ndarray
    own_moments: np.ndarray
    feature_moments: np.ndarray


def neighbors(
    own: Tensor, beside: Sequence[Tensor], others: Sequence[Tensor], padding: Tensor | None = None
) -> Neighbors:
    """Normalize the vectors of a sentence, [T, D], beside its neighbors and beside other ones.

    Args:
        padding: [N, D] vectors at padded places, for a BatchNorm that counts them too.
    """
    norms = (layer_norm, batch_norm)
    full = [norm(torch.cat([own, *beside]))[: len(own)] for norm in norms]
    far = [norm(torch.cat([own, *others]))[: len(own)] for norm in norms]
    moves = np.full((2, len(SIZES), len(own)), np.nan, np.float32)
    cuts = np.zeros_like(moves)
    for k, norm in enumerate(norms):
        for s, size in enumerate(SIZES):
            here, there = (norm(torch.cat([own, *rows[: size - 1]]))[: len(own)] for rows in (beside, others))
            cuts[k, s] = _apart(full[k], here)
            if size > 1:
                moves[k, s] = _apart(here, there)
    padded = None
    if padding is not None and len(padding):
        padded = _apart(full[1], batch_norm(torch.cat([own, *beside, padding]))[: len(own)])
    feature = own.abs().argmax(-1)
    return Neighbors(
        x=own.numpy(),
        layer=torch.stack([full[0], far[0]]).numpy(),
        batch=torch.stack([full[1], far[1]]).numpy(),
        n_vectors=np.array([len(own) + sum(map(len, beside[: size - 1])) for size in SIZES]),
        moves=moves,
        cuts=cuts,
        padded=padded,
        feature=feature.numpy(),
        own_moments=_moments(own.T),
        feature_moments=_moments(torch.cat([own, *beside])[:, feature]),
    )


def _apart(before: Tensor, after: Tensor) -> np.ndarray:
    found: np.ndarray = ((after - before).norm(dim=-1) / before.norm(dim=-1).clamp(min=1e-12)).numpy()
    return found


def _moments(values: Tensor) -> np.ndarray:
    """Mean and √(variance + ε) of columns [N, T]."""
    return torch.stack([values.mean(0), (values.var(0, correction=0) + EPS).sqrt()]).numpy()


class Layers(NamedTuple):
    """What stands in the layers that are held: the vectors of the four sentences, [L][4] of [T, D], and each layer's
    neighbors.
    """

    vectors: list[list[np.ndarray]]
    found: list[Neighbors]

    def every(self, name: str) -> np.ndarray:
        """A field of every layer, [L, …]."""
        return np.stack([getattr(one, name) for one in self.found])


def layers(look: Look) -> Layers:
    """The page's own sentence, always in a batch of four."""
    known = batched(look)
    rows = (known.rows[0], *known.beside)
    key = ("norms", tuple(row.run.text for row in rows))
    return look.once(lambda look: _layers(look, rows), key)


def _layers(look: Look, rows: Sequence[Any]) -> Layers:
    others = [row_of(look, text) for text in usual_texts(look, OTHERS)]
    side, made = look.trace.stack.side, Layers([], [])
    for layer in look.layers:
        name = rows[0].run.at(side).full_name(f"blocks.{layer}.resid.in")
        own, *near = (row.run.whole[name] for row in rows)
        far = [row.run.whole[name] for row in others]
        padding = padded_vectors(look.trace.model, rows, side, name)
        made.vectors.append([own.numpy(), *(each.numpy() for each in near)])
        made.found.append(neighbors(own, near, far, padding))
    return made


def _at(look: Look) -> Any:
    """The selected position, of a row that holds only the first ones."""
    last = len(layers(look).vectors[0][0]) - 1
    return by("token", np.minimum(np.arange(len(look)), last))


def _held(look: Look, values: np.ndarray, write: str = "") -> Any:
    """A table of numbers [L, T, …]."""
    return look.by("layer token", values, write, token=_at(look))


def facts(look: Look) -> dict[str, Any]:
    side, trace = look.trace.stack.side, look.trace
    tokens = trace.tokenizer.tokens(batched(look).rows[0].ids(side))
    return {
        "token": Among([token.label for token in tokens], _at(look), is_code=True),
        "layer": look.layer_number,
        "feature": _held(look, layers(look).every("feature"), "0"),
    }


def lead(look: Look) -> Iterator[Line]:
    yield look.text("norms", **facts(look))


def windows(look: Look) -> tuple[np.ndarray, np.ndarray]:
    """The first of the features that are drawn at each layer and position, [L, T]; and which of the distinct ones of
    each layer that is, counted over all layers.
    """
    feature, width = layers(look).every("feature"), look.config.d_model
    first = np.clip(feature - MOST_FEATURES // 2, 0, max(0, width - MOST_FEATURES))
    keys = np.arange(len(first))[:, None] * width + first
    return first, np.unique(keys, return_inverse=True)[1].reshape(first.shape)


def draw(look: Look) -> Scene:
    """Every sentence as a block of positions by features, padding hatched, with the frames of both norms on it."""
    known, (first, number) = layers(look), windows(look)
    count = min(MOST_FEATURES, look.config.d_model)
    lengths = [len(one) for one in known.vectors[0]]
    tall, n, step = max(lengths), len(lengths), count + 1
    blocks = np.full((number.max() + 1, tall, step * n - 1), np.nan, np.float32)
    tops, ends = np.ones(len(blocks), np.float32), [[""]] * len(blocks)
    for (layer, token), window in np.ndenumerate(number):
        start = int(first[layer, token])
        for k, one in enumerate(known.vectors[layer]):
            blocks[window, : len(one), k * step : k * step + count] = one[:, start : start + count]
        tops[window] = np.nanquantile(np.abs(blocks[window]), 0.95) or 1.0
        ends[window] = [str(d) for _ in lengths for d in (start, start + count - 1)]
    where = _held(look, number)

    def of_window(values: Any) -> Any:
        return By(("window",), values, {"window": where})

    left, top, row = 40.0, 30.0, min(18.0, 310.0 / tall)
    across, end = (1.0, -left - 6), top + tall * row
    columns = step * n - 1

    def place(column: Any) -> Any:
        return along(column / columns, left, across)

    def wide(count: int) -> Any:
        return along(count / columns, 0, across)

    marks: list[Mark] = [
        Cells(
            id="cells", x=left, y=top, width=across, height=end - top, values=of_window(blocks), top=of_window(tops),
            digits=3, empty=True, rows=[str(k) for k in range(tall)], row_axis=look.words("position"),
            told=f"{{value}}\n{look.words('position')} {{row}}",
        )
    ]  # fmt: skip
    column = _held(look, known.every("feature") - first)
    for k, length in enumerate(lengths):
        marks.append(Text(id=f"name.{k}", text=look.words("row", n=k), x=place(k * step + count / 2), y=top - 12,
                          anchor="middle", bold=True))  # fmt: skip
        if length < tall:
            hatched = np.full((1, 1), np.nan, np.float32)
            marks.append(
                Cells(id=f"padding.{k}", x=place(k * step), y=top + length * row, width=wide(count), values=hatched,
                      height=(tall - length) * row, look="share", walk=False)
            )  # fmt: skip
        at: Any = Lengths(column, 0, columns, place(k * step), place(k * step + columns))
        marks.append(Rect(id=f"batch.{k}", x=at, y=top, width=wide(1), height=length * row, stroke=BATCH, thick=2.5))
    own: Any = Lengths(_at(look), 0, tall, top, end)
    marks.append(Rect(id="layer", x=left, y=own, width=wide(count), height=row, stroke=LAYER, thick=2.5))
    places = place(np.array([k * step + d + 0.5 for k in range(n) for d in (0, count - 1)]))
    edges: Any = of_window(ends)
    marks += [
        Labels(id="ends", texts=edges, x=left, y=end + 2, length=across, places=places, turn="never"),
        Labels(id="rows", texts=[str(k) for k in range(tall)], x=left - 6, y=top, length=end - top, along="y"),
        *_frames(look, end),
    ]
    scene = Scene(
        id="batch.vectors", panels=[Panel(id="vectors", marks=marks, height=end + 64)], title=look.words("vectors_alt"),
        words={"masked": look.common("masked")},
    )  # fmt: skip
    return look.drawn(scene, own=False)


def _frames(look: Look, end: float) -> list[Mark]:
    """What stands for each frame."""
    known = layers(look)
    said = {}
    for name, moments, n in (
        ("layer", "own_moments", look.config.d_model),
        ("batch", "feature_moments", sum(map(len, known.vectors[0]))),
    ):
        values = known.every(moments)
        written = {part: _held(look, values[:, k], "2") for k, part in enumerate(("mean", "deviation"))}
        said[name] = look.words(f"frame_{name}", n=n, feature=facts(look)["feature"], **written)
    return [
        Text(id="layer.said", text=said["layer"], x=0, y=end + 32, fill=LAYER, bold=True),
        Text(id="batch.said", text=said["batch"], x=0, y=end + 50, fill=BATCH, bold=True),
    ]


def note(look: Look) -> Iterator[Line]:
    """Which of the numbers are drawn."""
    width, (first, _) = look.config.d_model, windows(look)
    count = min(MOST_FEATURES, width)
    ends = {"first": _held(look, first, "0"), "last": _held(look, first + count - 1, "0")}
    yield look.note("vectors_note", width=width, n_vectors=sum(map(len, layers(look).vectors[0])), **ends)


def draw_strips(look: Look) -> Scene:
    """One vector after each norm, in two batches."""
    known, shown = layers(look), slice(0, MOST_DIMENSIONS)
    x, layer, batch = (known.every(name)[..., shown] for name in ("x", "layer", "batch"))

    def top_of(*values: np.ndarray) -> Any:
        return _held(look, np.maximum(np.abs(np.stack(values)).max((0, -1)), 1e-12))

    rows = [Strip(look.words("strip_x"), _held(look, x), top=top_of(x))]
    top = top_of(*np.moveaxis(layer, 1, 0), *np.moveaxis(batch, 1, 0))
    for kind, both in (("layer", layer), ("batch", batch)):
        for k, where in enumerate(("here", "others")):
            rows.append(Strip(look.words(f"strip_{kind}_{where}"), _held(look, both[:, k]), top=top))
    view = StripsView(tuple(rows), tuple(map(str, range(x.shape[-1]))), 46 * len(rows) + 40)
    scene = strips.scene(view, "batch.strips", look.words("strips_alt"), {"masked": look.common("masked")})
    return look.drawn(scene, own=False)


def changes(look: Look) -> Iterator[Line]:
    """What neighbors change, for batches of each size."""
    known = layers(look)
    moved = np.concatenate([known.every("moves"), known.every("cuts")], 1)  # [L, 4, S, T]
    cells: dict[str, Any] = {}
    rows = []
    for s, size in enumerate(SIZES):
        names = [f"cell_{s}_{k}" for k in range(4)]
        for k, name in enumerate(names):
            one = moved[:, k, s]
            cells[name] = "0" if not one.any() else "–" if np.isnan(one).all() else _held(look, one, "percent")
        rows.append([str(size), str(known.found[0].n_vectors[s]), *(f"{{{{{name}}}}}" for name in names)])
    heads = ("size", "n_vectors", "layer", "batch", "layer_cut", "batch_cut")
    yield Line(Phrase(table([look.words(f"change_{name}") for name in heads], rows, "lrrrrr"), cells))
    yield look.note("changes_note")


def tell(look: Look) -> Iterator[Line]:
    """What other neighbors do to the vector under each norm."""
    moved = layers(look).every("moves")
    moves = Moves(*(moved[:, k, s] for k in (0, 1) for s in (0, 1)))
    numbers = {name: _held(look, values, "percent") for name, values in moves._asdict().items()}
    for verdict in (LAYER_NORM, BATCH_NORM):
        yield look.claim(verdict, moves, "layer token", "text", {"token": _at(look)}, **facts(look), **numbers)
    yield look.text("norms_why")
    if layers(look).found[0].padded is not None:
        padded = _held(look, layers(look).every("padded"), "percent")
        yield look.text("norms_padding", padded=padded, **facts(look))
