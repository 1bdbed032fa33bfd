"""All heads of a layer at one position: side by side, and what the output matrix makes of them."""

from collections.abc import Iterator

import numpy as np

from viz_model.drawing import heatmap, matrix, strips
from viz_model.drawing.cells import BESIDE, COLUMN
from viz_model.drawing.heatmap import Pool
from viz_model.drawing.scene import Scene
from viz_model.drawing.strips import Strip, StripsView
from viz_model.drawing.tables import Phrase
from viz_model.island.look import Look
from viz_model.island.prose import Line

MOST_COLUMNS, MOST_HEADS = 512, 12
"""Columns of the output matrix that are drawn at the most, and heads whose writing is drawn one by one."""


def sizes(look: Look) -> dict[str, str]:
    """For prose: the sizes of the heads."""
    config = look.here
    width = config.n_heads * config.d_head
    return {
        "n_heads": str(config.n_heads),
        "d_head": str(config.d_head),
        "d_heads": str(width),
        "d_model": str(config.d_model),
    }


def tell(look: Look) -> Iterator[Line]:
    config, given = look.here, sizes(look)
    yield look.title("together_title", layer=look.layer_number, token=look.token_named(), **given)
    yield look.text("heads" if config.n_heads * config.d_head == config.d_model else "heads_free", **given)
    if config.n_kv_heads < config.n_heads:
        times = config.n_heads // config.n_kv_heads
        yield look.text("heads_shared", n_kv_heads=config.n_kv_heads, d_head=config.d_head, times=times)
    yield Line(look.words("together_row", **given))


def _columns(look: Look, pool: int = 1) -> tuple[str, ...]:
    """Head and dimension of every number of the concatenation: ``2 · 17``."""
    config = look.here
    return tuple(f"{head} · {d}" for head in range(config.n_heads) for d in range(0, config.d_head, pool))


def _length(look: Look, values: np.ndarray) -> Phrase:
    """The length of a vector, behind it."""
    length = look.by("layer token", np.linalg.norm(values, axis=-1), "2")
    return Phrase(f"{look.words('form_length')} {{{{length}}}}", {"length": length})


def side_by_side(look: Look) -> Scene:
    """What the heads mixed as one row, cut into its heads."""
    z = look.every("attn.z").swapaxes(1, 2)  # [L, T, H, K]
    row = z.reshape(*z.shape[:2], -1)
    at, dimensions = np.divmod(np.arange(row.shape[-1]), look.here.d_head)
    lists = {"columns": tuple(dimensions.tolist()), "beside": tuple(at.tolist())}
    where = look.cells("attn.z", (BESIDE, "token", COLUMN), **lists)
    top = look.by("layer token", np.maximum(np.abs(row).max(-1), 1e-30))
    strip = Strip(
        look.words("together_mixed"), look.by("layer token", row), top=top, cells=where, behind=_length(look, row)
    )
    parts = tuple((str(head), look.here.d_head) for head in range(look.n_heads))
    view = StripsView((strip,), _columns(look), 110, column_axis=look.words("together_axis"), parts=parts)
    scene = strips.scene(view, "attention.together.row", look.words("together_row_alt"), _masked(look))
    return look.drawn(scene, ["attn.z"])


def times(look: Look) -> Iterator[Line]:
    yield look.source("attn.z")
    yield Line(look.words("together_matrix", **sizes(look)))


def output_matrix(look: Look) -> Scene:
    """W_O as it is stored, [D, H·K], below the concatenation: each head's columns under its part.

    Of a large one neighbors share a cell; a cell never holds numbers of two heads.
    """
    w_o = look.trace.stack.block(look.layer).attn.o.weight.detach().numpy()
    width = look.here.d_head
    fitting = (n for n in range(1, width) if width % n == 0 and w_o.shape[1] // n <= MOST_COLUMNS)
    across = next(fitting, width)
    pool = Pool(-(-len(w_o) // (heatmap.MOST_CELLS // (w_o.shape[1] // across))), across)
    rows, columns = heatmap.spans(tuple(map(str, range(len(w_o)))), pool.rows), _columns(look, across)
    parts = tuple((str(head), width // across) for head in range(look.n_heads))
    values = heatmap.extremes(w_o, pool)
    scene = matrix.scene(
        "attention.together.matrix", look.words("together_matrix_alt"), values, rows, columns, labels=(rows, columns),
        axes=(look.common("axis_dimension"), look.words("together_axis")), top=strips.top_of(values), frames=False,
        written=False, parts=parts, height=300, right=46, role="value", site="W_O",
    )  # fmt: skip
    note = look.common("pooled", rows=pool.rows, columns=pool.columns) if pool != Pool() else ""
    return look.drawn(look.only_here(scene), note=note)


def makes(look: Look) -> Iterator[Line]:
    yield Line(look.words("together_out", **sizes(look)))


def written(look: Look) -> Scene:
    """What each head writes, the bias, and the sum, on one scale."""
    out = look.every("attn.out")  # [L, T, D]
    heads_out = look.every("attn.head_out").swapaxes(1, 2)  # [L, T, H, D]
    named = {look.words("together_head", head=head): heads_out[:, :, head] for head in range(look.n_heads)[:MOST_HEADS]}
    cells = [look.cells("attn.head_out", (head, "token", COLUMN)) for head in range(len(named))]
    if look.n_heads > MOST_HEADS:
        named[look.words("together_rest")] = heads_out[:, :, MOST_HEADS:].sum(2)
        cells.append(None)
    bias = look.trace.stack.block(look.layer).attn.o.bias
    if bias is not None:
        named[look.words("together_bias")] = np.broadcast_to(bias.detach().numpy(), out.shape)
        cells.append(None)
    named[look.words("together_sum")] = out
    cells.append(look.cells("attn.out", ("token", COLUMN)))
    top = look.by("layer token", np.max([np.abs(values).max(-1) for values in named.values()], axis=0))
    drawn = tuple(
        Strip(name, look.by("layer token", values), top=top, cells=where, behind=_length(look, values))
        for (name, values), where in zip(named.items(), cells, strict=True)
    )
    height = 56 + min(50, max(26, 400 // len(drawn))) * len(drawn)
    columns = tuple(map(str, range(out.shape[-1])))
    view = StripsView(drawn, columns, height, column_axis=look.common("axis_dimension"))
    scene = strips.scene(view, "attention.together.out", look.words("together_out_alt"), _masked(look))
    return look.drawn(scene, ["attn.head_out", "attn.out"])


def end(look: Look) -> Iterator[Line]:
    yield look.source("attn.head_out", "attn.out")
    yield look.text("together_sizes", **sizes(look))


def _masked(look: Look) -> dict[str, str]:
    return {"masked": look.common("masked")}
