"""Code of a page that runs as it stands, and the whole run as a notebook."""

from collections.abc import Sequence
from functools import partial
from typing import Any

import streamlit as st

import viz_model as vm
from viz_model.app import runs
from viz_model.app.choices import CODE
from viz_model.app.elements.controls import control
from viz_model.app.elements.formula import sized
from viz_model.app.elements.hub_names import names_on_hub
from viz_model.app.page import Page
from viz_model.checkpoints import registry
from viz_model.model import sites as sites_of
from viz_model.runs import notebook
from viz_model.texts import snippet
from viz_model.texts.markdown import literal

OWN = "page"
"""The choice of the page's own code."""


def code(page: Page, own: str | None = None, /, *, sites: Sequence[str] = (), **values: object) -> None:
    """A few lines that run as they stand for this sentence and model, and the whole run as a notebook.

    Args:
        own: the name of a snippet of the page; without ``sites`` it is that of the page itself. In it
            ``{{run}}`` is the call that gives the page's trace, for a model called ``lm``.
        sites: values that are made in plain PyTorch, each in its own lines
            (:mod:`viz_model.runs.notebook`); a visitor chooses one, the first is shown unasked.
        values: what fills the other places of ``own``; or ``run``, where it is another's.
    """
    t, run, layer = page.t, runs.trace(page.run_key.plain), page.view.layer
    start = "\n".join(notebook.preamble(run, page.view.model))
    labels, code_of, shapes = {}, {}, {}
    if own is not None or not sites:
        values = {"model": page.view.model, "text": page.trace.text, "side": page.trace.side, **values}
        labels[OWN] = t("common.code_own")
        call = str(values.pop("run", notebook.view(page.trace)))
        code_of[OWN] = notebook.as_kept(snippet(own or page.text_key, run=call, **values), run)
    written = {name: snippet for snippet in notebook.snippets(run, layer) for name in snippet.makes}
    for site in sites:
        name = page.trace.full_name(site)
        if name in written:
            _, short = sites_of.split_name(sites_of.split_side(name)[1])
            labels[short] = f"{t.site_label(sites_of.find(name, run.config))} · {name}"
            code_of[short] = f"{start}\n{written[name].code}\n"
            shapes[short] = f"{literal(name)} [{sized(page, site)}]"
    shown = page.chosen(CODE) if page.chosen(CODE) in labels else next(iter(labels))
    if len(labels) > 1:
        options: dict[str, Any] = {"label": t("common.code_of"), "help": None, "format_func": labels.__getitem__}
        control(page, CODE, st.selectbox, list(labels), value=shown, **options)
    st.code(code_of[shown], language="python")
    if shown in shapes:
        st.caption(shapes[shown])
        names_on_hub(page, next(site for site in sites if page.trace.full_name(site).endswith(shown)))
    if page.trace.edits and shown != OWN:
        st.caption(t("common.code_plain"))
    # Of one layer it is short enough to be read; of all of them it is complete.
    kinds: dict[str, int | None] = {"notebook": layer} | ({"notebook_all": None} if run.n_layers > 1 else {})
    with st.container(horizontal=True):
        for kind, of_layer in kinds.items():
            st.download_button(
                t(f"common.{kind}", layer=layer),
                data=partial(_notebook, page, run, of_layer),
                file_name=f"{page.view.model}.ipynb",
                mime="application/x-ipynb+json",
                key=f"{page.text_key}.{kind}",
                help=t("common.notebook_help"),
                on_click="ignore",
                icon=":material/download:",
            )


def _notebook(page: Page, run: vm.Trace, layer: int | None) -> str:
    model, text = page.view.model, literal(run.text or "")
    opening = page.t("common.notebook_opening", model=literal(model), text=text)
    told: dict[str, Any] = {"needs": registry.REQUIREMENTS.get(model), "language": page.t.language}
    return notebook.notebook(run, model, layer, opening=opening, label=page.t.site_label, **told)
