"""Tokens: the text cut into entries of a vocabulary, and how another vocabulary cuts the same bytes."""

import streamlit as st

from viz_model.analysis import tokens as cutting
from viz_model.figures import tokens
from viz_model.ui import runs
from viz_model.ui.stage import open_stage
from viz_model.ui.texts import literal

stage = open_stage("tokens")
trace, tokenizer, cl100k = stage.trace, stage.trace.tokenizer, runs.cl100k_base()
chosen = trace.tokens[stage.token]
names = (tokenizer.name, cl100k.name)


def hover(view: tokens.CutsView) -> dict[str, str]:
    """The words of a figure, and the names of its two rows."""
    rows = {
        row: stage.words("row", name=cut.name, n=len(cut.tokens), per=f"{view.n_bytes / max(1, len(cut.tokens)):.1f}")
        for row, cut in (("upper", view.upper), ("lower", view.lower))
    }
    return {**rows, **{key: stage.words(key) for key in ("position", "id", "bytes")}}


view = tokens.CutsView.of(trace.tokens, cutting.recut(trace.tokens, cl100k), names, stage.token)
over = view.over(stage.token)

picture, see = stage.split()
with picture:
    finding = "all" if view.n_shared == len(trace) else "some" if view.n_shared else "none"
    st.markdown(f"**{stage.words(f'finding_{finding}', shared=view.n_shared, n=len(trace))}**")
    with st.container(height=560 if view.n_lines > 6 else "content", border=False):
        stage.figure(tokens.draw_cuts(view, hover(view)), "cuts", stage.words("cuts_alt"))
    stage.source("tokens.ids")
with see:
    stage.see(
        token=stage.token_name(),
        id=f"{chosen.id:,}",
        n_vocab=f"{tokenizer.n_vocab:,}",
        name=literal(tokenizer.name),
        bytes=literal(chosen.bytes.hex(" ").upper()),
        kind=stage.words(f"about_{cutting.kind(chosen)}", characters=literal(view.characters[stage.token])),
        other=stage.words(
            "other_same" if view.upper.shared[stage.token] else "other_cut" if over else "other_none",
            name=literal(cl100k.name),
            id=f"{over[0].id:,}" if over else "",
            tokens=" ".join(literal(token.label) for token in over),
        ),
    )

st.subheader(stage.words("known"), anchor=False)
for key, text in (("chinese", cutting.CHINESE), ("tutorial", cutting.TUTORIAL)):
    ours, theirs = (t.tokens(t.encode(text)) for t in (tokenizer, cl100k))
    example = tokens.CutsView.of(ours, theirs, names)
    st.markdown(stage.words(f"known_{key}", text=literal(text), n=len(theirs), broken=cutting.broken(theirs)))
    stage.figure(tokens.draw_cuts(example, hover(example)), key, stage.words("cuts_alt"))
    st.caption(f"{literal(cl100k.name)}: {literal(' '.join(str(token.id) for token in theirs))}")

formula, hand, code, numbers = stage.tabs()
with formula:
    stage.formula("tokens.ids")
    stage.see("formula", bytes=view.n_bytes, n=len(trace), per=f"{view.n_bytes / len(trace):.2f}")
with hand:
    built = tokens.MergesView.of(cutting.ranks(tokenizer), chosen, stage.token)
    facts = {"token": stage.token_name(), "bytes": literal(chosen.bytes.hex(" ").upper()), "id": f"{chosen.id:,}"}
    stage.see("hand" if len(built.parts) > 1 else "hand_single", **facts, n=len(built.parts) - 1)
    step = stage.words("step", n="{n}", rank="{rank}")
    figure = tokens.draw_merges(built, {"start": stage.words("start"), "step": step})
    stage.figure(figure, "merges", stage.words("merges_alt"))
with code:
    stage.code()
with numbers:
    headings = [stage.words(f"column_{name}") for name in ("position", "token", "id", "bytes", "characters")]
    for cut in (view.upper, view.lower):
        st.markdown(f"**{literal(cut.name)}**")
        stage.records(f"tokens.{cut.name}", dict(zip(headings, cut.table(), strict=True)))
stage.question()
