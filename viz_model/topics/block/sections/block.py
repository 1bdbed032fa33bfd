"""The block page, section by section: the way up, a norm, the hidden neurons, the weights."""

from __future__ import annotations

import streamlit as st

from viz_model.app import interventions, runs, state, texts
from viz_model.app.stage import Stage
from viz_model.config import NoNorm
from viz_model.runs import edits
from viz_model.runs.edits import Edit, SetNeuron, Skip
from viz_model.topics.ablations.pictures import change
from viz_model.topics.block.pictures import lengths, neurons, norm, strips, weights


def words(stage: Stage, *keys: str, of: str = "") -> dict[str, str]:
    """Labels of the page by their keys, which it finds after the prefix ``of``."""
    return {key: stage.words(of + key) for key in keys}


def _named(stage: Stage, way: strips.StripsView) -> dict[str, object]:
    """What most sentences need."""
    return {
        "token": stage.token_name(),
        "layer": stage.view.layer,
        "norm": way.norm,
        "d_model": stage.lm.config.d_model,
        "root": f"{stage.lm.config.d_model**0.5:.1f}",
    }


def story(way: strips.StripsView) -> str:
    """Which words are true of the block that ran: those of its norms' place, or of a part that is missing."""
    if not way.residual:
        return "alone"
    return "bare" if way.norm == NoNorm.__name__ else way.norm_at


def sums(way: strips.StripsView) -> str:
    """Which words are true of the sums worked by hand: under Post-LN each is then normalised."""
    if not way.residual:
        return "alone"
    return "pre" if way.norm == NoNorm.__name__ else way.norm_at


def way_up(stage: Stage, way: strips.StripsView) -> int:
    """The strips, and what they say; the dimension that the visitor follows."""
    side, crosses, last = way.norm_at, "_cross" if way.crosses else "", stage.lm.config.d_model - 1
    picture, see = stage.split()
    with picture:
        state.follow("block.dimension", min(st.session_state.get("block.dimension", 0), last))
        dimension: int = st.slider(
            stage.words("dimension"), 0, last, key="block.dimension", help=stage.words("dimension_help")
        )
        figure = strips.draw_strips(way, dimension, stage.t("common.axis_dimension"), stage.words("length"))
        stage.figure(figure, "strips", stage.words(f"strips_alt{crosses}"))
        stage.source(*way.sites)
        if way.n_clipped:
            largest = f"{way.largest:.1f}"
            st.caption(stage.words("clipped", limit=f"{way.limit:.1f}", n=way.n_clipped, largest=largest))
    with see:
        facts = _named(stage, way) | strips.summary(way)
        wrote = "added" if way.residual else "wrote"
        added, reads = stage.words(f"{wrote}{crosses}", **facts), stage.words(f"reads{crosses}")
        normed = "post" if side == "post" and way.norm != NoNorm.__name__ else "pre"
        stage.see(f"see_{normed if way.residual else 'alone'}", added=added, reads=reads, **facts)
        stage.see(f"numbered_{way.numbering}")
    return dimension


def long_way(stage: Stage, way: strips.StripsView, view: lengths.LengthsView) -> None:
    """Lengths by depth."""
    named, crosses = _named(stage, way), "_cross" if way.crosses else ""
    st.subheader(stage.words(f"norms_{view.trend}", **named, **view.said), anchor=False)
    figure = lengths.draw_lengths(view, words(stage, "step", "length", "log"))
    stage.figure(figure, "norms", stage.words("norms_alt"))
    stage.source("embed.out", *(site for site in way.sites if ".resid." in site and not site.endswith(".in")))
    stage.see(f"norms_{story(way)}", places=stage.words(f"places{crosses}"), **named)
    if way.norm_at == "post" and way.residual and way.norm != NoNorm.__name__:
        stage.see(f"reach_{way.norm}", **named)
    if len(view.drawn) < len(view.labels):
        st.caption(stage.words("drawn", drawn=len(view.drawn), n=len(view.labels)))
    if view.outlier:
        stage.see("outlier", outlier=stage.token_name(view.outlier.token), **view.outlier.said)


def one_norm(stage: Stage, way: strips.StripsView, dimension: int) -> norm.NormView | None:
    """A norm of the visitor's choice at work, and the other kind of norm on the same vector; None without norms."""
    named = _named(stage, way)
    st.subheader(stage.words(f"norm_{way.norm}", **named), anchor=False)
    if way.norm == NoNorm.__name__:
        stage.see("norm_NoNorm", **named)
        return None
    names = {
        found.sublayer: stage.words(
            f"which_{way.norm_at}", part=stage.words(f"part_{found.sublayer}"), reads=found.reads
        )
        for found in way.sums
    }
    chosen = st.session_state.get("block.which")
    state.follow("block.which", chosen if chosen in names else "attn")
    which = st.segmented_control(
        stage.words("which"),
        list(names),
        key="block.which",
        format_func=lambda option: names[option],
        label_visibility="collapsed",
        required=True,
    )
    view = norm.NormView.of(stage.trace, stage.view.layer, which or "attn", stage.token)
    left, right = st.columns(2, gap="large")
    with left:
        labels = words(stage, "0", "near", "values", "axis", of="norm_") | {
            "1": stage.words(f"norm_1_{way.norm}"),
            "2": stage.words("norm_2", other=view.normed.other),
            "3": stage.words(f"norm_3_{way.norm}"),
        }
        stage.figure(norm.draw_norm(view, labels), "norm", stage.words("norm_alt"))
    with right:
        figure = norm.draw_parameters(view, dimension, stage.t("common.axis_dimension"))
        stage.figure(figure, "parameters", stage.words(f"parameters_{way.norm}"))
        stage.see("both_norms", **named, **view.facts())
        stage.see("why_norm", **named)
    stage.source(*view.statistics)
    return view


def hidden(stage: Stage, way: strips.StripsView, view: neurons.NeuronsView, curve: neurons.CurveView) -> None:
    """The hidden layer: its busiest neurons, its activation and, where it has them, its gates."""
    facts = _named(stage, way) | view.facts() | curve.facts()
    facts["activation"] = stage.words(f"activation_{view.activation}")
    facts["times"] = f"{view.n_neurons / stage.lm.config.d_model:.3g}"
    st.subheader(stage.words(f"neurons_{view.kind}", **facts), anchor=False)
    left, right = st.columns(2, gap="large")
    with left:
        counted = stage.words("counted_fires" if view.fires else "counted_half")
        figure = neurons.draw_active(view, (stage.t("common.axis_token"), counted))
        stage.figure(figure, "active", stage.words("active_alt"))
        stage.see(f"neurons_{view.kind}", **facts)
    with right:
        labels = words(stage, "neuron", "writes", "promotes", "activation", of="neuron_")
        stage.figure(neurons.draw_neurons(view, labels), "neurons", stage.words("neurons_alt"))
        stage.see(f"promoted_{view.path}", **facts)
    stage.source(stage.at("ffn.act"))

    gated = "gate" if view.gated else "dense"
    title = stage.words("gates_title" if view.closed else "curve_title", **facts)
    st.subheader(title, anchor=False)
    left, right = st.columns(2, gap="large") if view.gated else stage.split()
    with left:
        labels = words(stage, "after", "count", of="curve_") | {"before": stage.words(f"curve_before_{gated}")}
        stage.figure(neurons.draw_curve(curve, labels), "curve", stage.words("curve_alt", **facts))
    if view.gated:
        with right:
            labels = words(stage, "gate", "gate_act", "up", "product", "neuron", of="gates_")
            stage.figure(neurons.draw_gates(view, labels), "gates", stage.words("gates_alt"))
    with left if view.gated else right:
        stage.see(f"curve_{view.activation}", **facts)
        stage.see(f"curve_of_{gated}", **facts)
    if view.gated:
        with right:
            stage.see("gates", **facts)
    names = ("ffn.gate", "ffn.gate_act", "ffn.up", "ffn.act") if view.gated else ("ffn.up", "ffn.act")
    stage.source(*map(stage.at, names))


def learnt(stage: Stage, way: strips.StripsView, view: weights.WeightsView) -> None:
    """Where the block's parameters are."""
    facts = _named(stage, way) | view.facts()
    st.subheader(stage.words("weights_title", **facts), anchor=False)
    picture, see = stage.split()
    with picture:
        labels = words(stage, *view.groups, "axis", of="weights_")
        stage.figure(weights.draw_weights(view, labels), "weights", stage.words("weights_alt"))
    with see:
        stage.see(f"weights{'_cross' if way.crosses else ''}", **facts)
        config = stage.lm.config
        if config.n_kv_heads < config.n_heads:
            stage.see("weights_shared", n_heads=config.n_heads, n_kv_heads=config.n_kv_heads)


def what_if(stage: Stage, way: strips.StripsView, view: neurons.NeuronsView) -> None:
    """A sub-layer of this block left out, or a neuron held at a value: edits of the view, with before and after."""
    st.subheader(stage.words("what_if"), anchor=False)
    stage.see("what_if", **_named(stage, way))
    layer, side = stage.view.layer, stage.view.stack(stage.lm.config)
    of = None if side == stage.lm.config.sides[-1] else side
    strongest = view.strongest[0].number if view.strongest else 0
    with st.container(horizontal=True, vertical_alignment="bottom"):
        for part in (found.sublayer for found in way.sums):
            skip = Skip(layer=layer, part=part, side=of)
            st.toggle(
                stage.words("skip", part=stage.words(f"part_{part}")),
                value=skip in stage.trace.edits,
                key=f"block.skip.{part}.{skip in stage.trace.edits}",
                on_change=_toggle,
                args=(stage, skip),
            )
    row = st.container(horizontal=True, vertical_alignment="bottom")
    last = stage.lm.config.d_ffn - 1
    if st.session_state.get("block.neuron", 0) > last:
        del st.session_state["block.neuron"]
    neuron = row.number_input(
        stage.words("set_neuron"),
        0,
        last,
        strongest,
        key="block.neuron",
        help=stage.words("set_neuron_help"),
        width=180,
    )
    now = float(stage.trace.row(stage.at("ffn.act"), stage.token)[neuron])
    most = edits.LARGEST_ACTIVATION
    value = row.number_input(
        stage.words("set_value", now=f"{now:.2f}"), -most, most, 0.0, step=1.0, key="block.value", width=220
    )
    asked = SetNeuron(layer=layer, neuron=int(neuron), value=float(value), position=stage.token, side=of)
    row.button(
        stage.words("set"), key="block.set", on_click=_set, args=(stage, asked), disabled=asked in stage.trace.edits
    )
    if not stage.trace.edits:
        return
    st.caption(stage.words("made", changes=", ".join(interventions.describe(e, stage.t) for e in stage.trace.edits)))
    _before_and_after(stage)


def _toggle(stage: Stage, edit: Edit) -> None:
    if len(stage.view.edits) < edits.MOST_EDITS or edit in stage.view.edits:
        state.update(edits=interventions.toggled(stage.view, edit))


def _set(stage: Stage, edit: SetNeuron) -> None:
    """The neuron is held at this value from now on, and at no other on this token."""
    place = edit.layer, edit.neuron, edit.position, edit.side
    rest = tuple(
        e
        for e in stage.view.edits
        if not (isinstance(e, SetNeuron) and (e.layer, e.neuron, e.position, e.side) == place)
    )
    if len(rest) < edits.MOST_EDITS:
        state.update(edits=(*rest, edit))


def _before_and_after(stage: Stage) -> None:
    """What the run as it is and the changed one expect; of a stack without predictions, how its vectors turned."""
    before = runs.trace(stage.asked.plain).at(stage.trace.stack.side)
    if "logits" not in before:
        places = change.PlacesView.of(before, stage.trace, stage.token)
        stage.figure(change.draw_places(places, stage.words("turn")), "places", stage.words("turn"))
        stage.source(places.site)
        return
    view = change.GuessesView.of(before, stage.trace, stage.token)
    names = {name: stage.words(name) for name in ("before", "after")}
    facts = {"before": texts.literal(view.labels[view.best[0]]), "after": texts.literal(view.labels[view.best[1]])}
    st.markdown(f"**{stage.words(f'guesses_{view.outcome}', **view.facts(), **facts)}**")
    stage.figure(change.draw_guesses(view, names), "guesses", stage.words("guesses_alt"))
