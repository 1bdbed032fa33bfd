"""Formulas of values, from the registry, and what their symbols mean."""

from collections.abc import Iterable, Sequence

import streamlit as st

from viz_model.app.cell_names import named_axis, written
from viz_model.app.page import Page
from viz_model.model import sites as registry
from viz_model.values.declaration import Site
from viz_model.values.leaves import Entry, FromTable, GivenAt, Index, Setting, indexed
from viz_model.values.point import stack_and_block

SIZES = {"D": "D", "H": "H", "G": "G", "K": "d_k", "F": "F", "V": "V"}
"""How formulas write the length of an axis that is the same in every run."""


def formula(page: Page, *names: str) -> None:
    """The formulas of sites: one table, which is drawn at once, and under it their symbols."""
    if not names:
        return
    sites = [page.trace.site(name) for name in names]
    head = [page.t(f"common.formula_{column}") for column in ("value", "formula")]
    lines = [f"| {' | '.join(head)} |", "|:-|:-|"]
    lines += [f"| **{page.t.site_label(site)}** | $\\displaystyle {site.placed_formula}$ |" for site in sites]
    with st.container(key=f"{page.text_key}.formula.{names[0]}"):
        st.markdown("\n".join(lines))
    st.markdown("\n".join(f"- {page.t(f'common.symbols_{kind}')} {said}" for kind, said in symbols(page, sites)))


def _letter(site: Site) -> str:
    """A value's letter with its stack and block."""
    return indexed(site.symbol, (), (), stack_and_block(site.full))


def symbols(page: Page, sites: Sequence[Site]) -> list[tuple[str, str]]:
    """What the symbols of formulas mean, by kind, for Markdown: what counts, what was made before, learned, fixed,
    and what stands above a letter.

    Values that are among the ``sites`` have a name there.
    """
    t, separator = page.t, " · "
    parts = [part for site in sites for part in site.expression.walk()]
    indices = [*(index for site in sites for index in site.index), *(part for part in parts if isinstance(part, Index))]
    known = {site.full for site in sites}
    before = [
        registry.find(value.site, page.trace.config)
        for site in sites
        for value in site.reads
        if value.site not in known
    ]
    fixed = [part for part in parts if isinstance(part, Setting) and part.key != "size"]
    beside = {f"\\mathrm{{{part.given.symbol}}}": part.given.key for part in parts if isinstance(part, GivenAt)}
    beside |= {part.table.symbol: part.table.key for part in parts if isinstance(part, FromTable)}
    found = {
        "index": separator.join(_counts(page, index) for index in _by_letter(indices)),
        "before": separator.join(dict.fromkeys(f"${_letter(site)}$ {t.site_label(site)}" for site in before)),
        "learned": separator.join(
            dict.fromkeys(f"${part.weight.symbol}$" for part in parts if isinstance(part, Entry))
        ),
        "fixed": separator.join(
            dict.fromkeys(
                [f"${part.symbol}$ = {written(part.number)}" for part in fixed]
                + [f"${symbol}$ {t(f'derivation.setting_{key}')}" for symbol, key in beside.items()]
            )
        ),
        "place": t("common.symbols_above") if any("blocks" in site.full for site in sites) else "",
    }
    return [(kind, said) for kind, said in found.items() if said]


def _by_letter(indices: Iterable[Index]) -> list[Index]:
    return list({index.name: index for index in indices}.values())


def _counts(page: Page, index: Index) -> str:
    """A letter that counts, and how far."""
    config = page.trace.config
    axis = named_axis(index.axis, config)
    if axis == "G" and index.size == config.n_heads:
        axis = "H"
    words = page.t(f"common.symbol_{axis}", axis=index.axis)
    size = index.length(page.trace.whole.reader.length)
    many = f"${SIZES[index.axis]}$ = {size:,}" if index.axis in SIZES else f"{size:,}"
    return page.t("common.symbol_counts", letter=f"${index.name}$", words=words, size=many)


def sized(page: Page, name: str) -> str:
    """The axes of a site with their sizes in this run: H 6 × Tq 11 × K 32."""
    axes = zip(page.trace.site(name).axes, page.trace.shape(name), strict=True)
    return " × ".join(f"{axis} {size}" if axis != "1" else "1" for axis, size in axes)
