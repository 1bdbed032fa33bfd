"""Overview: the whole way from text to the model's answer, in one picture of this sentence's values."""

from typing import Any

import streamlit as st

from viz_model.app import components, derivation, frame, runs, state, texts
from viz_model.app.stage import Stage, show
from viz_model.topics.overview.pictures import overview
from viz_model.topics.overview.sections import overview as parts


def draw(stage: Stage) -> None:
    trace, lm = stage.trace, stage.lm

    whole = parts.picture(stage)
    said = {"token": stage.token_name(), "guess": "", "chance": ""}
    if whole.next_tokens:
        best, probability = whole.next_tokens[0]
        said |= {"guess": texts.literal(best), "chance": f"{probability:.0%}"}
    stage.see(f"finding_{overview.finding(trace, stage.token)}", **said)
    if whole.look:
        seen = {"seen": stage.token_name(whole.look.position), "weight": f"{whole.look.weight:.0%}"}
        stage.see("look_back" if trace.side == "decoder" else "look", **seen, **whole.look.place())
    else:
        stage.see("look_first")
    if whole.read:
        source = texts.literal(trace.at("encoder").tokens[whole.read.position].label)
        stage.see("look_source", seen=source, weight=f"{whole.read.weight:.0%}", **whole.read.place())

    def picked(place: dict[str, Any]) -> None:
        """A click in the picture follows a token or opens a stage, on the head that was clicked."""
        changes = {name: place[name] for name in ("token", "layer", "head") if place.get(name) is not None}
        if "page" in place:
            frame.go(place["page"], **changes)
        else:
            state.update(**changes)

    header, numbers = overview.scene(whole, trace.prefix)
    words = {name: stage.words(f"scene_{name}") for name in overview.WORDS}
    words |= {part: stage.words(f"scene_{part}_{overview.ending(trace)}") for part in ("next", "after")}
    asked = {"on_pick": picked, "on_ask": derivation.picked}
    kinds = {block.kind: stage.t(f"attention.kind_{block.kind}") for block in whole.blocks}
    components.pipeline({**header, "words": {**words, "kinds": kinds}}, numbers, key="overview.pipeline", **asked)
    stage.source(*(name for name in ("embed.token", "embed.position", stage.at("attn.pattern")) if name in trace))
    if whole.pool > 1:
        st.caption(stage.words("pooled", pool=whole.pool))
    if len(whole.blocks) < whole.n_layers:
        st.caption(stage.words("folded", shown=len(whole.blocks), n_layers=whole.n_layers))

    st.subheader(stage.words("try"), anchor=False)
    cards: list[tuple[str, dict[str, str], dict[str, Any]]] = []
    if lm.twin in runs.names() and trace.text is not None:
        guess, chance = runs.trace(runs.RunKey(lm.twin, trace.text)).next_tokens(stage.token, 1)[0]
        twin = {"twin": lm.twin, "guess": texts.literal(guess.label), "chance": f"{chance:.0%}"}
        cards.append(("twin", twin, {"model": lm.twin}))
    for name, change in overview.things_to_try(trace, stage.token).items():
        cards.append((name, said, change))
    for column, (name, values, change) in zip(st.columns(3), cards, strict=False):
        with column, st.container(border=True, height="stretch"):
            stage.see(f"try_{name}", **values)
            st.button(stage.words(f"try_{name}"), key=f"overview.{name}", on_click=state.update, kwargs=change)

    along = parts.along(stage)
    path = overview.PathView.of(along, stage.token)
    steps = "\n".join(
        f"| {texts.literal(site)} | {value:+.4f} |" for site, value in zip(path.sites, path.values, strict=True)
    )

    def formula() -> None:
        shown = ("embed.out", stage.at("resid.mid"), stage.at("resid.cross"), stage.at("resid.out"), "logits", "probs")
        stage.formula(*(name for name in shown if name in trace))

    def hand() -> None:
        stage.see("hand_" + lm.config.norm_at, token=stage.token_name(), steps=steps)

    def code() -> None:
        stage.code(k=overview.N_NEXT)

    def table() -> None:
        norms = overview.NormsView.of(along)
        stage.table("resid.norms", norms.values, norms.sites, stage.token_labels, "norms")

    stage.tabs(formula, hand, code, table)
    two_way = "" if trace.side == "decoder" else "_two_way"
    stage.question(f"question{two_way}", f"answer{two_way}")


def run() -> None:
    """Open the page."""
    show("overview", draw)
