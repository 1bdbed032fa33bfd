"""Numbers of a page as tables, and as files with every digit."""

import csv
import io
from collections.abc import Callable, Mapping, Sequence

import numpy as np
import pandas as pd
import streamlit as st

from viz_model.app.page import Page

MAX_TABLE_CELLS, MAX_TABLE_COLUMNS = 16_000, 256
"""What a table shows at the most; its file has everything."""


def table(page: Page, site: str, values: np.ndarray, rows: Sequence[str], columns: Sequence[str], key: str) -> None:
    """A matrix as a table, and as a CSV file with every digit."""
    shown = values[:, :MAX_TABLE_COLUMNS]
    shown = shown[: max(1, MAX_TABLE_CELLS // max(1, shown.shape[1]))]
    cells = pd.DataFrame(shown, columns=_distinct(columns[: shown.shape[1]]))
    first = page.t("common.numbers_item")
    cells.insert(0, f"{first} " if first in cells else first, _distinct(rows[: len(shown)]))
    if shown.shape != values.shape:
        sizes = (*shown.shape, *values.shape)
        names = ("rows", "columns", "all_rows", "all_columns")
        st.caption(page.t("common.table_part", **dict(zip(names, map("{:,}".format, sizes), strict=True))))
    _table(page, cells, site, lambda: _csv(values, rows, columns), key)


def records(page: Page, name: str, columns: Mapping[str, Sequence[object]]) -> None:
    """Columns of any kind as a table, and as a CSV file."""
    cells = pd.DataFrame(columns)
    shown = cells.head(max(1, MAX_TABLE_CELLS // 4 // max(1, cells.shape[1])))  # words take more than numbers
    if len(shown) < len(cells):
        st.caption(page.t("common.records_part", rows=f"{len(shown):,}", all_rows=f"{len(cells):,}"))
    _table(page, shown, name, lambda: cells.to_csv(index=False), name)


def _table(page: Page, cells: pd.DataFrame, name: str, csv_text: Callable[[], str], key: str) -> None:
    """The CSV is only written when somebody asks for it."""
    key = f"{page.text_key}.{key}"
    st.dataframe(cells, hide_index=True, key=f"{key}.table", height=min(420, 38 + 35 * len(cells)))
    st.download_button(
        page.t("common.download", site=name),
        data=csv_text,
        file_name=f"{name}.csv",
        mime="text/csv",
        key=f"{key}.csv",
        on_click="ignore",
        icon=":material/download:",
    )


def _distinct(names: Sequence[str]) -> list[str]:
    """Names for a table, which takes none twice: numbered where some are alike."""
    return list(names) if len(set(names)) == len(names) else [f"{i} {name}" for i, name in enumerate(names)]


def _csv(values: np.ndarray, rows: Sequence[str], columns: Sequence[str]) -> str:
    out = io.StringIO()
    writer = csv.writer(out)
    writer.writerow(["", *columns])
    for row, numbers in zip(rows, values, strict=True):
        writer.writerow([row, *(f"{number:.9g}" for number in numbers)])
    return out.getvalue()
