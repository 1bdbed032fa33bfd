"""What the cross-attention page needs beside its pictures: the decoder's view, and a page for models without one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import streamlit as st

from viz_model.app import components, derivation, runs, state
from viz_model.app.stage import Stage
from viz_model.app.texts import literal
from viz_model.config import Side
from viz_model.drawing import strips
from viz_model.drawing.cells import COLUMN, ROW, Cells, Index
from viz_model.drawing.writing import percent
from viz_model.runs.generation import Sampling
from viz_model.tokenizers.tokenizer import Token
from viz_model.topics.architectures.numbers import parameters
from viz_model.topics.cross_attention import numbers as cross
from viz_model.topics.cross_attention.pictures import cross_attention as figures
from viz_model.topics.next_token.sections.drawn import drawn

BYTES = 4
"""A number in single precision."""


def seen_from(stage: Stage, side: Side) -> Stage:
    """The same page with its trace seen from one stack, whichever the visitor looks at.

    The selected token is that stack's last one where none of its own is selected.
    """
    if stage.trace.side == side:
        return stage
    trace = stage.trace.at(side)
    layer = min(stage.view.layer, trace.n_layers - 1)
    return replace(stage, trace=trace, token=len(trace) - 1, view=replace(stage.view, side=side, layer=layer))


def follow(position: int) -> None:
    """Select a token of the target."""
    state.update(side="decoder", token=position)


def stepper(stage: Stage) -> None:
    """A slider over the steps of decoding; the step is the selected token."""
    last, key = len(stage.trace) - 1, f"{stage.text_key}.step"
    if last == 0:
        return  # nothing to choose
    state.follow(key, stage.token)
    st.slider(
        stage.words("step"),
        0,
        last,
        key=key,
        help=stage.words("step_help"),
        on_change=lambda: follow(st.session_state[key]),
    )


def own_words(stage: Stage) -> tuple[Token, ...]:
    """What the model says to this source by itself, always taking the most probable token."""
    steps = drawn(stage.asked.plain._replace(target=""), Sampling(temperature=0), 0, runs.MAX_SAID)
    return tuple(step.token for step in steps)


def labels(stage: Stage, part: str, keys: Sequence[str]) -> dict[str, str]:
    """The words of a picture by key."""
    return {key: stage.words(f"{part}_{key}") for key in keys}


def facts(stage: Stage, pattern: np.ndarray) -> dict[str, object]:
    """For prose: the selected target token, and what it reads by this pattern [Tq, Ts]."""
    source, config = cross.source_labels(stage.trace), stage.lm.config
    focus = cross.focus(pattern[stage.token])
    return {
        "token": stage.token_name(),
        "strongest": literal(source[focus.strongest]),
        "weight": percent(focus.weight),
        "spread": f"{focus.spread:.1f}",
        "even": percent(1 / len(source)),
        "n_source": len(source),
        "n_target": len(stage.trace),
        "start": stage.start,
        "layer": stage.view.layer,
        "head": stage.view.head,
        "n_heads": config.n_heads,
        "n_layers": config.n_layers,
        "n_encoder_layers": config.n_encoder_layers,
    }


def maps(stage: Stage, every: np.ndarray, pattern: np.ndarray, shown: str) -> None:
    """The weights on the page [Tq, Ts] as one large map, and beside it every head's [H, Tq, Ts]."""
    source, target = cross.source_labels(stage.trace), stage.token_labels
    wide, narrow = st.columns(2, gap="large")
    with wide:
        axes = stage.words("axis_target"), stage.words("axis_source")
        site = f"{stage.at('cross.pattern')} · {stage.words(f'shown_{shown}')}"
        shape: Index = (stage.view.head, ROW, COLUMN)
        spans = tuple(range(len(target))), tuple(range(len(source)))
        cells = Cells(stage.at("cross.pattern"), shape, *spans) if shown == "head" else None
        large = figures.large(figures.MapsView.of(pattern[None], target, source), stage.token, site, axes, cells)
        stage.strips(strips.matrix(large), "map", stage.words("map_alt"))
    with narrow:
        view = figures.MapsView.of(every, target, source)
        chosen = stage.view.head if shown == "head" else None
        site = stage.trace.full_name(stage.at("cross.pattern"))
        header, patterns = figures.maps_scene(view, chosen, labels(stage, "grid", figures.GRID), site)
        components.cross_grid(
            header,
            patterns,
            key=f"{stage.text_key}.grid",
            on_pick=lambda head: state.update(head=head),
            on_ask=derivation.picked,
        )
        if view.pools != (1, 1):
            st.caption(stage.words("pooled", target=view.pools[0], source=view.pools[1]))


def code(stage: Stage) -> tuple[str, ...]:
    """The sites of cross-attention in the order in which their code is offered: the pattern first."""
    first = stage.at("cross.pattern")
    return (first, *(n for n in stage.trace.sites if n.startswith(stage.at("cross.")) and n != first))


def step_cells(stage: Stage) -> dict[str, Cells]:
    """Which numbers of the run the rows of the steps show; a product is the first step of its score."""
    at = stage.at("cross.")
    index: Index = (stage.view.head, stage.token, COLUMN)
    names = {"product": "scores", "scale": "scores", "mask": "masked", "softmax": "pattern"}
    return {row: Cells(at + site, index) for row, site in names.items()}


def sum_cells(stage: Stage) -> dict[str, Cells]:
    """Which numbers of the run the strips of the sum show."""
    after = "after" if stage.lm.config.norm_at == "pre" else "after_norm"
    names = {"before": "resid.mid", "out": "cross.out", after: "resid.cross"}
    return {strip: Cells(stage.at(site), (stage.token, COLUMN)) for strip, site in names.items()}


def reading(stage: Stage) -> dict[str, list[object]]:
    """A table: each target token, and the source token it reads most, by head, layer and model."""
    source = cross.source_labels(stage.trace)
    found = cross.reading(stage.trace, stage.view.layer, stage.view.head)
    columns: dict[str, list[object]] = {stage.words("axis_target"): list(stage.token_labels)}
    for which, (positions, weights) in found._asdict().items():
        title = stage.words(f"by_{which}", layer=stage.view.layer, head=stage.view.head)
        columns[title] = [source[i] for i in positions]
        columns[f"{title}: {stage.words('weight')}"] = weights.tolist()
    return columns


def decoding(stage: Stage, pattern: np.ndarray, shown: str) -> dict[str, list[object]]:
    """The target said step by step, up to the selected token; returns all steps as a table.

    ``pattern`` [Tq, Ts] is what is ``shown``: one "head", or the average of all.
    """
    query: Index = (stage.view.head, stage.token, COLUMN)
    cells = Cells(stage.at("cross.pattern"), query) if shown == "head" else None
    steps, own = cross.decoding(stage.trace), own_words(stage)
    now, same = steps[stage.token], cross.agreement(steps, own)
    source = cross.source_labels(stage.trace)
    guess, chance = now.guesses[0]
    said = {
        "token": stage.token_name(),
        "n": stage.token + 1,
        "guess": literal(guess.label),
        "chance": percent(chance),
        "came": "" if now.came is None else literal(now.came.label),
        "p": "" if now.came is None else percent(now.probability),
        "rank": now.rank,
    }
    st.subheader(stage.words("decoding_title", **said), anchor=False)
    stage.see("decoding", start=stage.start)
    stepper(stage)
    left, right = st.columns([3, 2], gap="large")
    with left:
        view = figures.DecodingView.of(steps, own, stage.token)
        names = labels(stage, "column", figures.COLUMNS)
        stage.figure(figures.draw_decoding(view, names), "decoding", stage.words("decoding_alt"))
        stage.source("tokens.ids", "logits")
    with right:
        stage.see("step_end" if now.came is None else "step_hit" if now.hit else "step_miss", **said)
        stage.figure(figures.draw_guesses(now, stage.token), "guesses", stage.words("guesses_alt"))
        row = figures.row_strip(pattern[stage.token], source, stage.words("weight"), cells)
        stage.strips(row, "row", stage.words("row_alt"))
        stage.source(stage.at("cross.pattern"))
    if len(steps) > 1:
        stage.see(f"own_{_compared(same, len(own), len(steps) - 1)}", n=same, n_target=len(steps) - 1)
    came = [None if step.came is None else step.came.label for step in steps]
    return {
        names["reads"]: [step.reads.label for step in steps],
        names["predicts"]: [step.guesses[0][0].label for step in steps],
        stage.words("column_chance"): [step.guesses[0][1] for step in steps],
        names["comes"]: list(came),
        stage.words("column_probability"): [step.probability for step in steps],
        stage.words("column_rank"): [step.rank or None for step in steps],
        names["says"]: [own[i].label if i < len(own) else None for i in range(len(steps))],
    }


def _compared(same: int, own: int, target: int) -> str:
    """How a target goes with the model's own words, of which ``same`` tokens agree at the start."""
    if same == target:
        return "same"
    if same == own == runs.MAX_SAID:
        return "cut"
    return "differs" if same else "apart"


def wiring(stage: Stage, said: dict[str, object]) -> None:
    """How the halves are joined, and what the decoder keeps of the source."""
    config, source = stage.lm.config, seen_from(stage, "encoder")
    n_source, n_target = len(source.trace), len(stage.trace)
    kept = parameters.cache(config, n_target, config.n_kv_heads, BYTES, n_source)
    st.subheader(stage.words("wiring_title", **said), anchor=False)
    left, right = st.columns([3, 2], gap="large")
    with left:
        view = figures.WiringView.of(config, stage.view.layer, n_source, n_target)
        names = labels(stage, "wire", figures.WIRES)
        stage.figure(figures.draw_wiring(view, names), "wiring", stage.words("wiring_alt"))
        source.source(cross.encoded_site(stage.trace))
        stage.source(stage.at("cross.q"), stage.at("cross.k"), stage.at("cross.v"))
    with right:
        stage.see("wiring", **said)
        stage.see(
            "cache",
            n_source=n_source,
            n_target=n_target,
            source_bytes=f"{kept.cross_attention:,}",
            target_bytes=f"{kept.self_attention:,}",
            products=f"{cross.spared(config, n_source):,}",
        )


def is_formula(stage: Stage, site: str) -> bool:
    """Whether a value of the selected layer belongs to cross-attention's formulas."""
    return site == stage.at("resid.cross") or (
        site.startswith(stage.at("cross.")) and not site.endswith(("norm.mean", "norm.scale"))
    )


def by_hand(stage: Stage, said: dict[str, object]) -> None:
    """One reading worked out from its parts, beside what was recorded."""
    config, view = stage.lm.config, stage.view
    sums = figures.by_hand(stage.trace, view.layer, view.head, stage.token)
    row = stage.trace.head(stage.at("cross.pattern"), view.head)[stage.token].numpy()
    key = literal(cross.source_labels(stage.trace)[cross.focus(row).strongest])
    group = view.head * config.n_kv_heads // config.n_heads
    # The reading is one head's, whichever weights the page shows.
    values = {**said, **sums, "key": key, "group": group, "shared_by": config.n_heads // config.n_kv_heads}
    sections = [
        "hand",
        "hand_grouped" if config.n_kv_heads < config.n_heads else "",
        "hand_normed" if config.qk_norm else "",
        "hand_scaled" if config.scale_scores else "hand_unscaled",
        "hand_softmax",
        "hand_biased" if config.attention_bias else "hand_unbiased",
        f"hand_{config.norm_at}",
        "hand_check",
    ]
    for section in filter(None, sections):
        stage.see(section, **values)


def missing(stage: Stage) -> None:
    """The page of a model without cross-attention: what it has instead, and where to find one that has it."""
    config, model = stage.lm.config, literal(stage.view.model)
    st.info(stage.t.prose(f"{stage.text_key}.missing_{config.kind}", model=model), icon=":material/info:")
    picture, see = stage.split()
    site = stage.at("attn.pattern")
    row = stage.trace.head(site, stage.view.head)[stage.token].numpy()
    with picture:
        strongest = stage.token_name(int(row.argmax()))
        st.subheader(stage.words("instead", token=stage.token_name(), strongest=strongest), anchor=False)
        figure = figures.row_strip(row, stage.token_labels, stage.words("weight"))
        stage.strips(figure, "instead", stage.words("instead_alt"))
        stage.source(site)
    with see:
        stage.see("what")
    st.subheader(stage.words("models_title"), anchor=False)
    found = [name for name, described in runs.configs().items() if cross.exists(described)]
    if found:
        with st.container(horizontal=True):
            for name in found:
                st.button(
                    name,
                    key=f"{stage.text_key}.model.{name}",
                    on_click=state.update,
                    kwargs={"model": name, "side": "decoder", "token": None},
                )
    stage.see("models_found" if found else "models_none")
    stage.see("load")
    stage.code("no_cross_attention")
    stage.question("question_missing", "answer_missing")
