"""The models of this server: what there is, what could not be opened and why, and looking again for new ones."""

import os

import streamlit as st

from viz_model.app import frame, runs, search, serving, state
from viz_model.checkpoints import registry
from viz_model.config import ModelConfig
from viz_model.texts import Texts
from viz_model.texts.markdown import literal


def run() -> None:
    """Open the page."""
    pages = frame.navigation().pages
    state.has_parts(None)
    view = state.begin(runs.names(), runs.offered(), frame.MODELS, ())
    frame.arrived()
    t = Texts(view.lang)
    state.write(view)
    frame.begin_without_run(t)
    search.heading(t("common.page_models"), t)
    st.markdown(t("model_list.lead"))
    columns = st.columns(2)
    for n, (name, config) in enumerate(runs.offered().items()):
        with columns[n % 2].container(gap=None, key=f"model_card_{name}"):
            there = {"model": name, "lang": t.language}
            st.page_link(pages["overview"], label=runs.label(name), icon=":material/arrow_forward:", query_params=there)
            st.caption(_size(config, t))
    st.page_link(pages["architectures"], label=t("model_list.compare"), icon=":material/compare_arrows:")
    _refused(t)
    _more(t)


def _size(config: ModelConfig, t: Texts) -> str:
    blocks = " + ".join(str(config.depth(side)) for side in config.sides)
    kind = t(f"model_list.kind_{config.kind}")
    if config.reads_pictures:
        patches = {"rows": config.patches.rows, "columns": config.patches.columns, "width": f"{config.d_model:,}"}
        key = "strips" if config.transcribes else "pictures"
        return t(f"model_list.size_{key}", blocks=blocks, **patches)
    numbers = {"width": config.d_model, "context": config.n_context, "entries": config.n_vocab}
    return t("model_list.size", kind=kind, blocks=blocks, **{name: f"{n:,}" for name, n in numbers.items()})


def _refused(t: Texts) -> None:
    refused = runs.refused()
    if not refused:
        return
    st.subheader(t("model_list.refused", n=len(refused)), anchor=False)
    st.markdown(t("model_list.refused_lead"))
    for name, reason in refused.items():
        st.warning(f"**{literal(name)}**: {t.error(reason)}")


def _more(t: Texts) -> None:
    """How to add one. Only who runs the server may have its folders read again."""
    st.subheader(t("model_list.add"), anchor=False)
    st.markdown(t("model_list.add_how", variable=registry.PATH_VARIABLE))
    if serving.is_public():
        return
    listed = os.environ.get(registry.PATH_VARIABLE, "")
    shown = ", ".join(literal(place) for place in listed.split(os.pathsep) if place)
    st.caption(t("model_list.places", places=shown) if shown else t("model_list.no_places"))
    if st.button(t("model_list.look"), icon=":material/refresh:", key="model_list.look"):
        before = set(runs.offered())
        runs.look_again()
        new = [name for name in runs.offered() if name not in before]
        st.session_state["model_list.found"] = new
        st.rerun()
    if (found := st.session_state.pop("model_list.found", None)) is not None:
        names = ", ".join(f"**{literal(name)}**" for name in found)
        st.success(t("model_list.found", names=names) if found else t("model_list.nothing_new"))
