"""Overview: the whole way from text to the next token, in one picture of this sentence's values."""

import streamlit as st

from viz_model.figures import overview
from viz_model.ui import components, frame, runs, state, texts
from viz_model.ui.stage import open_stage

stage = open_stage("overview")
view, trace, lm = stage.view, stage.trace, stage.lm

whole = overview.OverviewView.of(trace, stage.token)
best, probability = trace.next_tokens(stage.token, 1)[0]
look = whole.look
said = {"before": stage.token_name(), "guess": texts.literal(best.label), "chance": f"{probability:.0%}"}
if look is None:
    stage.see("finding_first", **said)
else:
    place = {"seen": stage.token_name(look.position), "weight": f"{look.weight:.0%}"}
    stage.see("finding", **said, **place, layer=look.layer, head=look.head)


def picked(place: dict) -> None:
    """A click in the picture follows a token or opens a stage, on the head that was clicked."""
    state.update(**{name: place[name] for name in ("token", "layer", "head") if place.get(name) is not None})
    if "page" in place:
        frame.go(place["page"])


header, numbers = overview.scene(whole)
words = {name: stage.words(f"scene_{name}") for name in overview.WORDS}
kinds = {block.kind: stage.t(f"attention.kind_{block.kind}") for block in whole.blocks}
components.pipeline({**header, "words": {**words, "kinds": kinds}}, numbers, key="overview.pipeline", on_pick=picked)
stage.source("embed.token", "embed.position", stage.at("attn.pattern"), stage.at("resid.out"), "probs")
if whole.pool > 1:
    st.caption(stage.words("pooled", pool=whole.pool))

st.subheader(stage.words("try"), anchor=False)
columns = st.columns(3)
if lm.twin:
    guess, chance = runs.trace(lm.twin, trace.text).next_tokens(stage.token, 1)[0]
    twin = {"twin": lm.twin, "guess": texts.literal(guess.label), "chance": f"{chance:.0%}"}
    with columns[0], st.container(border=True, height="stretch"):
        stage.see("try_twin", **twin)
        st.button(stage.words("try_twin"), key="overview.twin", on_click=state.update, kwargs={"model": lm.twin})
with columns[1], st.container(border=True, height="stretch"):
    stage.see("try_guess", guess=texts.literal(best.label))
    longer = lm.tokenizer.decode([*trace.ids[: stage.token + 1], best.id])
    st.button(
        stage.words("try_guess"), key="overview.guess", on_click=state.update, kwargs={"text": longer, "token": None}
    )
with columns[2], st.container(border=True, height="stretch"):
    stage.see("try_reverse")
    turned = lm.tokenizer.decode(reversed(trace.ids))
    st.button(stage.words("try_reverse"), key="overview.reverse", on_click=state.update, kwargs={"text": turned})

formula, hand, code, table = stage.tabs()
path = overview.PathView.of(trace, stage.token, dimension=0)
steps = "\n".join(
    f"| {texts.literal(site)} | {value:+.4f} |" for site, value in zip(path.sites, path.values, strict=True)
)
with formula:
    stage.formula("embed.out", stage.at("resid.mid"), stage.at("resid.out"), "logits", "probs")
with hand:
    stage.see("hand_" + lm.config.norm_at, token=stage.token_name(), steps=steps)
with code:
    stage.code(k=overview.N_NEXT)
with table:
    norms = overview.NormsView.of(trace)
    stage.table("resid.norms", norms.values, norms.sites, stage.token_labels, "norms")
stage.question()
