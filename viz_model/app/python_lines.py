"""Lines of Python that make the numbers of a picture, found from which numbers of the run its cells are."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from viz_model.drawing.cells import BESIDE, COLUMN, ROW
from viz_model.drawing.cells import Cells as Where
from viz_model.drawing.scene import Cells, Items, Scene
from viz_model.runs import notebook
from viz_model.runs.trace import Trace

MOST_LISTED = 64
"""Numbers that a line lists one by one: what would take more is no line to read."""


def of(scene: Scene, run: Trace, model: str, plot: str = "") -> str:
    """Lines that run as they stand; "" where a picture says of none of its numbers which they are.

    Args:
        run: the whole run that the picture is of.
        model: what :func:`viz_model.load` is to be given.
        plot: the call of :mod:`viz_model.plot` that draws the picture of ``trace``, where there is one.
    """
    start = ["import viz_model as vm", "", f"lm = vm.load({model!r})", f"trace = {notebook.call(run)}"]
    if plot:
        return "\n".join([*start, f"vm.plot.{plot}"])
    made = expressions(scene, run)
    if not made:
        return ""
    if len(made) == 1:
        return "\n".join([*start, f"numbers = {made[0]}"])
    return "\n".join([*start, "numbers = [", *(f"    {one}," for one in made), "]"])


def sites(scene: Scene, run: Trace) -> tuple[str, ...]:
    """The values of the whole run that a picture shows, by their full names, in order."""
    known = frozenset(run.sites)
    names = [where.site for where, _ in _shown(scene)]
    # Of maps of a long text, no cell is one number; they still name their value.
    names += [mark.site.partition("[")[0] for mark in _marks(scene) if isinstance(mark, Cells)]
    return tuple(name for name in dict.fromkeys(names) if name in known)


class _Group(NamedTuple):
    """Cells of one site that are alike but for numbers that are fixed."""

    site: str
    size: tuple[int, int]
    form: tuple[str, ...]
    lists: tuple[tuple[int, ...], ...]


def expressions(scene: Scene, run: Trace) -> list[str]:
    """Of ``trace``, the whole run: one for each value that a picture shows, of those of its numbers that are shown."""
    known = frozenset(run.sites)
    groups: dict[_Group, list[tuple[int, ...]]] = {}
    for where, size in _shown(scene):
        if where.site not in known:
            continue
        form = tuple("fixed" if isinstance(part, int) else part for part in where.where)
        lists = (where.rows, where.columns, where.beside)
        fixed = tuple(part for part in where.where if isinstance(part, int))
        groups.setdefault(_Group(where.site, size, form, lists), []).append(fixed)
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


def _marks(scene: Scene) -> Iterator[object]:
    return (mark for panel in scene.panels for mark in panel.marks)


def _shown(scene: Scene) -> Iterator[tuple[Where, tuple[int, int]]]:
    """Which numbers of the run stand in a picture, each with its rows and columns; of items their count is both."""
    for mark in _marks(scene):
        if isinstance(mark, Cells) and mark.where is not None and getattr(mark.values, "size", 0):
            yield mark.where, mark.values.shape if mark.values.ndim == 2 else (1, len(mark.values))
        elif isinstance(mark, Items) and mark.where is not None and len(mark.x):
            yield mark.where, (len(mark.x), len(mark.x))
