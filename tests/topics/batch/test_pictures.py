"""A batch's tables mark what nobody wrote, and leave out what has no room."""

from __future__ import annotations

import numpy as np

from viz_model.drawing import plot
from viz_model.drawing.scene import Cells, Texts
from viz_model.topics.batch.pictures.tables import draw_tables, ids_view, mask_view

PADDING = np.array([[False, False, False], [False, True, True]])


def test_padding_is_marked_as_what_nobody_wrote() -> None:
    ids = ids_view("ids", ("a", "b"), np.array([[11, 12, 13], [14, 0, 0]]), PADDING, (("x", "y", "z"), ("w",)))
    tables = draw_tables([ids, mask_view("mask", ("a", "b"), PADDING)], positions="position")
    marks = [mark for panel in plot.scene(tables, "figure", "").panels for mark in panel.marks]
    (cells,) = [mark for mark in marks if isinstance(mark, Cells)]
    (written,) = [mark for mark in marks if isinstance(mark, Texts) and len(mark.texts) == cells.values.size]
    assert not cells.empty
    np.testing.assert_array_equal(np.isnan(cells.values), [*PADDING, [False] * 3, *PADDING])
    assert not np.any(cells.values[2]), "between two tables is nothing"
    assert [bool(text) for text in written.texts] == [True] * 6 + [False] * 3 + [True] * 6
    assert written.rooms is not None and len(written.rooms) == len(written.texts)
    np.testing.assert_allclose(written.rooms[:, 0], 1.2 / 3, rtol=0.05)
