"""Next token: logits become probabilities, sampling keeps some of them, and one token is drawn."""

import streamlit as st

from viz_model.figures import next_token
from viz_model.ui import components, controls, runs, state
from viz_model.ui.stage import open_stage
from viz_model.ui.texts import literal

stage = open_stage("next_token")
trace, words = stage.trace, stage.words

sampling = controls.sampling(stage)
choice = next_token.ChoiceView.of(trace, stage.token, sampling)
said = {**choice.facts(), "token": stage.token_name(), "top": literal(choice.tokens[0].label)}
st.subheader(words("choice_title", **said), anchor=False)
picture, see = stage.split()
with picture:
    names = {n: words(f"bar_{n}", **said) for n in ("before", "after", "dropped", "model", "kept_mass", "dropped_mass")}
    stage.figure(next_token.draw_choice(choice, names), "choice", words("choice_alt"))
    stage.figure(next_token.draw_mass(choice, names), "mass", words("mass_alt", **said))
    stage.source("logits", "probs")
with see:
    stage.see(**said)
    stage.see("see_greedy" if sampling.temperature == 0 else "see_all" if choice.kept.all() else "see_some", **said)
st.subheader(words("draw_title"), anchor=False)
row = st.container(horizontal=True, vertical_alignment="bottom")
place = (
    stage.view.model,
    trace.text,
    sampling,
    controls.setting(stage, row.number_input, "seed", 0, 9999, 0, width=150),
)
at, count = st.session_state.get("next_token.count", (place, 0))
steps = runs.drawn(*place, count) if at == place and count else ()
ended = bool(steps) and steps[-1].token.id == stage.lm.tokenizer.end_of_text
for name, more in (("one_more", 1), ("ten_more", 10), ("start_over", -len(steps))):
    change = {"next_token.count": (place, min(next_token.MOST_DRAWN, len(steps) + more))}
    idle = ended or len(steps) == next_token.MOST_DRAWN if more > 0 else not steps
    row.button(words(name), key=f"next_token.{name}", on_click=st.session_state.update, args=(change,), disabled=idle)
change = {"text": next_token.text_of(trace.tokens, steps[: len(steps) - ended]), "token": None}
row.button(words("keep"), key="next_token.keep", on_click=state.update, kwargs=change, disabled=not steps)
if steps:
    cache = next_token.CacheView.of(stage.lm.config, len(trace), len(steps))
    chips = next_token.chips(steps, len(trace))
    components.ribbon(
        chips, selected=len(steps) - 1, label=words("drawn"), key="next_token.drawn", on_pick=lambda _: None
    )
    stage.see("drawn_end" if ended else "drawn", most=next_token.MOST_DRAWN, **cache.facts())
    stage.see("cache", **cache.facts())
    if cache.overflows:
        stage.see("cache_full", context=stage.lm.config.n_context)
    stage.figure(next_token.draw_cache(cache, words("with_cache"), words("without_cache")), "cache", words("cache_alt"))
else:
    stage.see("none_drawn")
if len(trace) > 1:
    came = next_token.ArrivalsView.of(trace)
    labels = {name: words(f"arrivals_{name}") for name in ("probability", "bits", "rank", "guesses")}
    st.subheader(words("arrivals_title", **came.facts()), anchor=False)
    stage.figure(next_token.draw_arrivals(came, labels, stage.token), "arrivals", words("arrivals_alt"))
    stage.see("arrivals", hardest=literal(came.labels[came.probs.argmin()]), **came.facts())
    with st.expander(words("arrivals_table")):
        stage.records("arrivals", {words(f"column_{name}"): values for name, values in came.columns().items()})
else:
    st.info(words("one_token"))

formula, hand, code, numbers = stage.tabs()
with formula:
    stage.formula(*["final.norm.out"] * (stage.lm.config.norm_at == "pre"), "logits", "probs")
    stage.see("formula")
with hand:
    stage.see("hand", token=said["token"], word=literal(choice.tokens[1].label), **next_token.by_hand(trace, choice))
with code:
    stage.code(token=stage.token, temperature=sampling.temperature, top_k=sampling.top_k, top_p=sampling.top_p)
with numbers:
    headings = [words(f"number_{name}", n=len(choice.tokens), **said) for name in ("logit", "model", "before", "after")]
    stage.table("next_token", choice.table(), [t.label for t in choice.tokens], headings, "choice")
stage.question()
