"""Lines of Python that make the numbers of a picture, found from which numbers of the run its cells are."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from viz_model.drawing.cells import BESIDE, COLUMN, ROW
from viz_model.drawing.cells import Cells as Where
from viz_model.drawing.scene import Cells, Items, Scene
from viz_model.runs import notebook
from viz_model.runs.trace import Trace

MOST_LISTED = 64
"""Numbers that a line lists one by one: what would take more is no line to read."""


class Shown(NamedTuple):
    """Numbers of the run in a picture: which, and how many rows and columns; of items their count is both."""

    where: Where
    size: tuple[int, int]


def shown(scene: Scene, run: Trace, more: Sequence[Where] = ()) -> tuple[Shown, ...]:
    """What a picture shows of the whole run: of cells only those that hold what the run has there.

    A product before it is scaled asks how the score was made, and is not that score.

    Args:
        more: whole values that it shows without saying so.
    """
    found, known = [], frozenset(run.sites)
    for mark in (mark for panel in scene.panels for mark in panel.marks):
        if not isinstance(mark, Cells | Items) or mark.where is None or mark.where.site not in known:
            continue
        if isinstance(mark, Items):
            found.append(Shown(mark.where, (len(mark.x), len(mark.x))))
        elif np.size(mark.values) and _is_run(np.atleast_2d(mark.values), mark.where, run):
            found.append(Shown(mark.where, np.atleast_2d(mark.values).shape))
    for where in more:
        axes = [n for part, n in zip(where.where, run.shape(where.site), strict=True) if not isinstance(part, int)]
        found.append(Shown(where, (axes[0], axes[-1])))
    return tuple(found)


def _is_run(values: np.ndarray, where: Where, run: Trace) -> bool:
    """Whether [rows, columns] are those numbers of the run, wherever they are not masked."""
    place = {ROW: where.rows, COLUMN: where.columns, BESIDE: where.beside}
    index: list[int | np.ndarray] = []
    for part in where.where:
        if isinstance(part, int):
            index.append(part)
        elif part == ROW:
            index.append(np.asarray(place[part] or range(values.shape[0]))[:, None])
        else:
            index.append(np.asarray(place[part] or range(values.shape[1]))[None, :])
    there, seen = np.broadcast_to(run[where.site].detach().numpy()[tuple(index)], values.shape), np.isfinite(values)
    return bool(np.allclose(values[seen], there[seen], rtol=1e-4, atol=1e-5))


def of(shown: Sequence[Shown], run: Trace, model: str, plot: str = "", other: str = "") -> str:
    """Lines that run as they stand; "" where nothing that is shown is known to be of the run.

    Args:
        run: the whole run.
        model: what :func:`viz_model.load` is to be given.
        plot: the call of :mod:`viz_model.plot` that draws the picture of ``trace``, where there is one.
        other: what that call names so.
    """
    load = notebook.as_kept(f"lm = vm.load({model!r})", run)
    start = ["import viz_model as vm", "", load, f"trace = {notebook.call(run)}"]
    made = expressions(shown, run)
    if not made and not plot:
        return ""
    numbers = ["numbers = [", *(f"    {one}," for one in made), "]"] if len(made) > 1 else []
    numbers = [f"numbers = {made[0]}"] if len(made) == 1 else numbers
    # A notebook shows what stands last.
    return "\n".join(
        [*start, *numbers, *([*([f"other = {other}"] if other else []), f"vm.plot.{plot}"] if plot else [])]
    )


class _Group(NamedTuple):
    """Cells of one site that are alike but for numbers that are fixed."""

    site: str
    size: tuple[int, int]
    form: tuple[str, ...]
    lists: tuple[tuple[int, ...], ...]


def expressions(shown: Sequence[Shown], run: Trace) -> list[str]:
    """Of ``trace``: one for each value, of those of its numbers that are shown."""
    groups: dict[_Group, list[tuple[int, ...]]] = {}
    for where, size in shown:
        form = tuple("fixed" if isinstance(part, int) else part for part in where.where)
        fixed = tuple(part for part in where.where if isinstance(part, int))
        group = _Group(where.site, size, form, (where.rows, where.columns, where.beside))
        groups.setdefault(group, []).append(fixed)
    found = [_expression(group, fixed, run.shape(group.site)) for group, fixed in groups.items()]
    return list(dict.fromkeys(one for one in found if one))


def _expression(group: _Group, fixed: Sequence[tuple[int, ...]], shape: Sequence[int]) -> str:
    """``trace["name"]`` with the index of what is shown; "" where that is no line to read."""
    rows, columns, beside = group.lists
    chosen: list[tuple[int, ...] | int] = []
    numbers: Iterator[tuple[int, ...]] = iter(tuple(dict.fromkeys(each)) for each in zip(*fixed, strict=True))
    for part in group.form:
        match part:
            case "row":
                chosen.append(rows or tuple(range(group.size[0])))
            case "column":
                chosen.append(columns or tuple(range(group.size[1])))
            case "beside":
                chosen.append(beside or tuple(range(group.size[1])))
            case _:
                several = next(numbers)
                chosen.append(several if len(several) > 1 else several[0])
    left = [part for part, those in zip(group.form, chosen, strict=True) if not isinstance(those, int)]
    name = f'trace["{group.site}"]'
    if COLUMN in left and BESIDE in left:
        return _paired(name, group.form, chosen, shape)
    made = name + _index([_slice(those, n) for those, n in zip(chosen, shape, strict=True)])
    kept = [(those, n) for those, n in zip(chosen, shape, strict=True) if not isinstance(those, int)]
    for axis, (those, n) in enumerate(kept):
        if _slice(those, n) is None:
            if len(those) > MOST_LISTED:
                return ""
            made += _index([":"] * axis + [str(list(those))])
    is_turned = ROW in left and COLUMN in left and left.index(COLUMN) < left.index(ROW)
    return made + (".T" if is_turned and len(left) == 2 else "")


def _paired(name: str, form: Sequence[str], chosen: Sequence[tuple[int, ...] | int], shape: Sequence[int]) -> str:
    """Where each column stands for two numbers at once."""
    made = name + _index([":" if isinstance(those, tuple) else str(those) for those in chosen])
    axes = [(those, n) for those, n in zip(chosen, shape, strict=True) if isinstance(those, tuple)]
    if len(axes) != 2 or ROW in form:
        return ""
    (first, _), (second, n) = axes
    if list(zip(first, second, strict=True)) == [(i, j) for i in range(axes[0][1]) for j in range(n)]:
        return f"{made}.flatten()"
    return f"{made}[{list(first)}, {list(second)}]" if len(first) <= MOST_LISTED else ""


def _slice(those: tuple[int, ...] | int, size: int) -> str | None:
    """An index without a list: a number or a slice; None where it takes a list."""
    if isinstance(those, int):
        return str(those)
    first, last = those[0], those[-1]
    if those != tuple(range(first, last + 1)):
        return None
    return f"{first or ''}:{last + 1 if last + 1 < size else ''}"


def _index(parts: Sequence[str | None]) -> str:
    """In brackets, without the whole axes at the end; what takes a list of its own is whole at first."""
    whole = [":" if part is None else part for part in parts]
    while whole and whole[-1] == ":":
        whole.pop()
    return f"[{', '.join(whole)}]" if whole else ""
