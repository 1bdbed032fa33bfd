"""The shape of a stage page: a picture, what you see, and four tabs that take it apart."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd
import plotly.graph_objects as go
import streamlit as st

import viz_model as vm
from viz_model.app import components, derivation, frame, interventions, runs, state, texts
from viz_model.app.state import ViewState
from viz_model.app.texts import Texts, literal
from viz_model.config import ModelConfig
from viz_model.drawing import cells as cells_of
from viz_model.drawing.cells import Cells
from viz_model.drawing.heatmap import Pool
from viz_model.drawing.strips import StripsView
from viz_model.drawing.strips import scene as strips_scene
from viz_model.model import sites as sites_of
from viz_model.runs import notebook

MAX_TABLE_CELLS, MAX_TABLE_COLUMNS = 16_000, 256
"""What a table shows at the most; its file has everything."""


@dataclass(frozen=True)
class Stage:
    """An open page: the view, the trace it shows, and the places where its parts go.

    ``trace`` is the run seen from the stack that the visitor looks at (:meth:`viz_model.Trace.at`):
    on a page, an encoder–decoder is a model of one stack. ``token`` is the selected position,
    always one that the trace has.
    """

    name: str
    view: ViewState
    lm: vm.LanguageModel
    trace: vm.Trace
    t: Texts
    token: int
    pages: dict[str, Any]

    # Values and their names

    def at(self, site: str) -> str:
        """The full name of a block's site in the selected layer."""
        return f"blocks.{self.view.layer}.{site}"

    def words(self, key: str, /, **values: object) -> str:
        """A label of this page."""
        return self.t(f"{self.name}.{key}", **values)

    @property
    def asked(self) -> runs.Asked:
        """The run that the page shows."""
        return runs.Asked.of(self.view.model, self.trace)

    @property
    def start(self) -> str:
        """What the decoder of an encoder–decoder begins from, for prose."""
        return frame.start(self.trace, self.t)

    def token_name(self, position: int | None = None) -> str:
        """A token of this sentence for prose: literal, whatever the visitor typed."""
        return literal(self.trace.tokens[self.token if position is None else position].label)

    @property
    def token_labels(self) -> tuple[str, ...]:
        return tuple(token.label for token in self.trace.tokens)

    @property
    def dimension_labels(self) -> tuple[str, ...]:
        return tuple(str(d) for d in range(self.lm.config.d_model))

    # Parts of the page

    def split(self) -> tuple[Any, Any]:
        """Two thirds for the picture, one for what you see."""
        picture, see = st.columns([2, 1], gap="large")
        return picture, see

    def figure(self, figure: go.Figure, key: str, alt: str, *, own: bool = True) -> None:
        """Draw a figure; ``alt`` says in words what it shows.

        A click on a cell that says which number it is (:class:`viz_model.drawing.cells.Cells`) opens the
        derivation of that number. Without ``own`` the figure is of another run than the page's.
        """
        for part in figure.data:
            cells = self._known(cells_of.read(part.meta))
            if cells is not None and own:
                part.meta = cells.meta
            elif cells is not None:
                part.meta = None
                part.hoverinfo = "skip" if part.hoverinfo == "none" else part.hoverinfo
        st.plotly_chart(figure, key=f"{self.name}.{key}", alt=alt, config={"displayModeBar": False})
        said = figure.layout.meta or {}
        if part := said.get("part"):
            st.caption(self.t("common.tokens_part", **part))
        if pool := said.get("pool"):
            st.caption(self.t("common.pooled", **pool))

    def strips(self, view: StripsView, key: str, alt: str, *, own: bool = True) -> None:
        """Draw rows of cells; ``alt``, ``own`` and a click on a cell are as in :meth:`figure`."""
        rows = tuple(row._replace(cells=self._known(row.cells) if own else None) for row in view.strips)
        said = {"alt": alt, "masked": self.t("common.masked")}
        header, numbers = strips_scene(view._replace(strips=rows), said)
        components.strips(header, numbers, key=f"{self.name}.{key}", on_ask=derivation.picked)
        if view.pool != Pool():
            st.caption(self.t("common.pooled", **view.pool._asdict()))

    def _known(self, cells: Cells | None) -> Cells | None:
        """Cells of a site by its full name."""
        if cells is None or cells.site in sites_of.table(self.trace.config):
            return cells
        return cells._replace(site=self.trace.full_name(cells.site))

    def source(self, *names: str) -> None:
        """Under a picture: which sites it shows, their shapes, and how to get them."""
        said = []
        for name in names:
            site = self.trace.site(name)
            shape = " × ".join(map(str, self._shape(name)))
            said.append(f"{self.t.site_label(site)} {literal(self.trace.full_name(name))} [{shape}]")
        st.caption(" · ".join(said))

    def see(self, section: str = "see", /, **values: object) -> None:
        """What the picture shows, in this sentence's own tokens and numbers."""
        st.markdown(self.t.prose(f"{self.name}.{section}", **values))

    def tabs(self, *draw: Callable[[], None]) -> None:
        """Formula, By hand, Code, Numbers: each drawn when it is open."""
        _tabs(
            f"{self.name}.tabs", [self.t(f"common.tab_{tab}") for tab in ("formula", "hand", "code", "numbers")], draw
        )

    def parts(self, draw: Mapping[str, Callable[[], None]]) -> None:
        """Parts of the page of which a visitor looks at one, each labelled with the page's ``part_name``."""
        _tabs(f"{self.name}.parts", [self.words(f"part_{name}") for name in draw], tuple(draw.values()))

    def formula(self, *names: str) -> None:
        """The formulas of sites, from the registry, each with this run's sizes: one table, which is drawn at once."""
        if not names:
            return
        head = [self.t(f"common.formula_{column}") for column in ("value", "formula", "shape")]
        lines = [f"| {' | '.join(head)} |", "|:-|:-|:-|"]
        for name in names:
            site = self.trace.site(name)
            shape = " × ".join(
                f"{axis} {size}" if axis != "1" else "1"
                for axis, size in zip(site.axes, self._shape(name), strict=True)
            )
            value = f"**{self.t.site_label(site)}** {literal(self.trace.full_name(name))}"
            lines.append(f"| {value} | $\\displaystyle {site.formula}$ | {shape} |")
        with st.container(key=f"{self.name}.formula.{names[0]}"):
            st.markdown("\n".join(lines))

    def _shape(self, name: str) -> tuple[int, ...]:
        """The shape of a site in this run; of cross-attention the keys are the source's."""
        n_keys = len(self.trace.ids) if ".cross." in name else None
        return self.trace.site(name).shape(len(self.trace), n_keys)

    def code(self, own: str | None = None, /, *, sites: Sequence[str] = (), **values: object) -> None:
        """A few lines that run as they stand for this sentence and model, and the whole run as a notebook.

        Args:
            own: the name of a snippet of the page; without ``sites`` it is that of the page itself. In it
                ``{{run}}`` is the call that gives the page's trace, for a model called ``lm``.
            sites: values that are made in plain PyTorch, each in its own lines
                (:mod:`viz_model.runs.notebook`); a visitor chooses one, the first is shown unasked.
            values: what fills the other places of ``own``.
        """
        run, layer = runs.trace(self.asked.plain), self.view.layer
        start = "\n".join(notebook.preamble(run, self.view.model))
        found: dict[str, str] = {}
        if own is not None or not sites:
            values = {"model": self.view.model, "text": self.trace.text, "side": self.trace.side, **values}
            found[self.t("common.code_own")] = texts.snippet(own or self.name, run=self._call(), **values)
        written = {name: snippet for snippet in notebook.snippets(run, layer) for name in snippet.makes}
        for name in map(self.trace.full_name, sites):
            if name in written:
                label = f"{self.t.site_label(sites_of.find(name, run.config))} · {name}"
                found[label] = f"{start}\n{written[name].code}\n"
        shown = next(iter(found))
        if len(found) > 1:
            shown = st.selectbox(self.t("common.code_of"), list(found), key=f"{self.name}.code")
        st.code(found[shown], language="python")
        if self.trace.edits and shown != self.t("common.code_own"):
            st.caption(self.t("common.code_plain"))
        st.download_button(
            self.t("common.notebook"),
            data=lambda: self._notebook(run, layer),
            file_name=f"{self.view.model}.ipynb",
            mime="application/x-ipynb+json",
            key=f"{self.name}.notebook",
            help=self.t("common.notebook_help"),
            on_click="ignore",
            icon=":material/download:",
        )

    def _notebook(self, run: vm.Trace, layer: int) -> str:
        opening = self.t("common.notebook_opening", model=literal(self.view.model), text=literal(run.text or ""))
        return notebook.notebook(run, self.view.model, layer, opening=opening, label=self.t.site_label)

    def _call(self) -> str:
        """Python that gives this page's trace, for a model called ``lm``."""
        run, to = self.trace, self.trace.target_language
        said = [repr(run.text)]
        said += [repr(run.target)] if run.prefix else []
        said += [f"target_language={to!r}"] if to is not None else []
        said += [f"edits=vm.edits.parse({vm.edits.write(run.edits)!r})"] if run.edits else []
        return f"lm.trace({', '.join(said)})" + (f".at({run.side!r})" if run.prefix else "")

    def table(self, site: str, values: np.ndarray, rows: Sequence[str], columns: Sequence[str], key: str) -> None:
        """A matrix as a table, and as a CSV file with every digit."""
        shown = values[:, :MAX_TABLE_COLUMNS]
        shown = shown[: max(1, MAX_TABLE_CELLS // max(1, shown.shape[1]))]
        cells = pd.DataFrame(shown, columns=_distinct(columns[: shown.shape[1]]))
        cells.insert(0, " ", _distinct(rows[: len(shown)]))
        if shown.shape != values.shape:
            sizes = (*shown.shape, *values.shape)
            names = ("rows", "columns", "all_rows", "all_columns")
            st.caption(self.t("common.table_part", **dict(zip(names, map("{:,}".format, sizes), strict=True))))
        self._table(cells, site, lambda: _csv(values, rows, columns), key)

    def records(self, name: str, columns: Mapping[str, Sequence[object]]) -> None:
        """Columns of any kind as a table, and as a CSV file."""
        cells = pd.DataFrame(columns)
        shown = cells.head(max(1, MAX_TABLE_CELLS // 4 // max(1, cells.shape[1])))  # words take more than numbers
        if len(shown) < len(cells):
            sizes = {"rows": f"{len(shown):,}", "all_rows": f"{len(cells):,}"}
            st.caption(self.t("common.records_part", **sizes))
        self._table(shown, name, lambda: cells.to_csv(index=False), name)

    def _table(self, cells: pd.DataFrame, name: str, csv_text: Callable[[], str], key: str) -> None:
        """The CSV is only written when somebody asks for it."""
        key = f"{self.name}.{key}"
        st.dataframe(cells, hide_index=True, key=f"{key}.table", height=min(420, 38 + 35 * len(cells)))
        st.download_button(
            self.t("common.download", site=name),
            data=csv_text,
            file_name=f"{name}.csv",
            mime="text/csv",
            key=f"{key}.csv",
            on_click="ignore",
            icon=":material/download:",
        )

    def question(self, section: str = "question", answer: str = "answer", /, **values: object) -> None:
        """Something to find out by trying, with the answer folded away."""
        st.divider()
        st.markdown(f"**{self.t('common.try_it')}** {self.t.prose(f'{self.name}.{section}', **values)}")
        with st.expander(self.t("common.answer")):
            st.markdown(self.t.prose(f"{self.name}.{answer}", **values))


@dataclass(frozen=True)
class _Opened:
    """What a page was opened on. The run itself is kept by :mod:`viz_model.app.runs`, which bounds what all take."""

    name: str
    told: str
    asked: runs.Asked
    example: str
    t: Texts
    pages: dict[str, Any]


def show(
    name: str,
    page: Callable[[Stage], None],
    told_as: Callable[[ModelConfig], str] | None = None,
    *,
    without: Collection[str] = (),
) -> None:
    """Open the frame and, below the sentence, draw the page; nothing below where there is no text to run.

    What is below runs again alone when only that can change (:func:`viz_model.app.state.update`).

    Args:
        told_as: names the texts of a page that has another story to tell of another kind of model.
        without: fields of the view that make no difference to the page.
    """
    pages = frame.navigation().pages
    state.has_parts(None)
    view = state.begin(runs.names(), runs.offered())
    t = Texts(view.lang)
    try:
        # Said only where it takes long: Streamlit waits a moment before it draws this.
        with st.spinner(t("common.loading", model=literal(view.model))):
            lm = runs.model(view.model)
    except vm.ModelError as error:
        runs.leave_out(view.model, error)
        state.write(view)
        del st.session_state["view"]  # so that the address is read again, which still asks for it
        st.rerun()
    example = frame.examples(lm)[0]
    view = state.fit(view, lm.config, example, tuple(lm.tokenizer.languages))
    if destination := st.session_state.pop("frame.go", None):
        st.switch_page(pages[destination])
    frame.sidebar(view, lm, t)
    for notice in state.notices():
        st.warning(t(notice.key, **{k: literal(str(v)) for k, v in notice.values.items()}))
    run = frame.sentence(view, lm, t)
    if run is None:
        st.stop()
    opened = _Opened(name, told_as(lm.config) if told_as else name, runs.Asked.of(view.model, run), example, t, pages)
    state.has_parts(without)
    with st.sidebar:
        _ask(opened)
    _body(opened, page)


@st.fragment(key=state.ASK)
def _ask(opened: _Opened) -> None:
    stage = _now(opened)
    derivation.offer(stage.trace, stage.token, stage.t)


@st.fragment(key=state.BODY)
def _body(opened: _Opened, page: Callable[[Stage], None]) -> None:
    """All below the sentence."""
    stage, t = _now(opened), opened.t
    last = len(stage.trace) - 1
    if stage.view.token is not None and stage.view.token > last:
        if state.from_address():
            st.warning(t("common.token_beyond", asked=stage.view.token, last=last))
        else:  # the sentence was shortened under the chosen token
            state.put(token=None)
            stage = _now(opened)
    view, trace = stage.view, stage.trace
    frame.ribbons(trace, stage.token, t, key="frame.ribbon")
    frame.machine_map(opened.name, view, stage.lm, t)
    if trace.edits:
        own_token = stage.token if trace.side == stage.lm.config.sides[-1] else -1
        interventions.banner(runs.Asked.of(view.model, trace), own_token, t)
    derivation.watch(opened.name, view, trace, t)
    st.header(t(f"common.page_{opened.name}" if opened.told == opened.name else f"{opened.told}.heading"), anchor=False)
    st.markdown(t.prose(f"{opened.told}.lead"))
    page(stage)


@st.fragment
def _tabs(key: str, names: Sequence[str], draw: Sequence[Callable[[], None]]) -> None:
    """In a fragment, so that another tab draws itself and nothing else."""
    for tab, inside in zip(st.tabs(names, key=key, on_change="rerun"), draw, strict=True):
        if tab.open or not state.has_browser():
            with tab:
                inside()


def _now(opened: _Opened) -> Stage:
    """The page at this moment: layer, head and token may be others than when it was opened."""
    lm, run = runs.model(opened.asked.model), runs.trace(opened.asked)
    view = state.fit(state.current(), lm.config, opened.example, tuple(lm.tokenizer.languages))
    trace = run.at(view.stack(lm.config))
    token = _asked_about(trace, view.target is None) if view.token is None else min(view.token, len(trace) - 1)
    if trace.model is not lm.model:  # an edit has taken a part out of it
        lm = replace(lm, model=trace.model)
    return Stage(name=opened.told, view=view, lm=lm, trace=trace, t=opened.t, token=token, pages=opened.pages)


def _asked_about(trace: vm.Trace, is_own: bool) -> int:
    """The position to tell of where none was chosen: a mask that was typed, or else the last one of the text.

    After the text an encoder may read control tokens. A target that the model said by itself
    (``is_own``) ends where nothing more is to be said: of that, the last one with a letter.
    """
    controls, mask = trace.tokenizer.controls, trace.tokenizer.mask_id
    if mask in trace.own_ids:
        return trace.own_ids.index(mask)
    written = [i for i, id in enumerate(trace.own_ids) if id not in controls]
    if trace.prefix and trace.side == "decoder" and is_own:
        written = [i for i in written if any(map(str.isalpha, trace.tokens[i].text))] or written
    return written[-1] if written else len(trace) - 1


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
