"""Tokens: the text cut into entries of a vocabulary, and how another vocabulary cuts the same text."""

import streamlit as st

from viz_model.analysis import tokens as cutting
from viz_model.figures import tokens
from viz_model.ui import components, runs
from viz_model.ui.stage import open_stage
from viz_model.ui.texts import literal

stage = open_stage("tokens")
trace, words, tokenizer, cl100k = stage.trace, stage.words, stage.trace.tokenizer, runs.cl100k_base()
facts, text = tokens.facts(trace, cl100k, stage.token), cutting.written(trace).text


def draw(view: tokens.CutsView, key: str) -> None:
    """The same bytes cut by both vocabularies, one above the other."""
    rows = {
        row: words("row", name=cut.name, n=len(cut.tokens), per=f"{view.n_bytes / max(1, len(cut.tokens)):.1f}")
        for row, cut in (("upper", view.upper), ("lower", view.lower))
    }
    hover = {**rows, **{name: words(name) for name in ("position", "id", "bytes")}}
    with st.container(height=560 if view.n_lines > 6 else "content", border=False):
        stage.figure(tokens.draw_cuts(view, hover), key, words("cuts_alt"))


def ribbons(text: str, key: str) -> None:
    """Both vocabularies' tokens, where their bytes cannot be laid one above the other."""
    for vocabulary in (tokenizer, cl100k):
        cut = vocabulary.tokens(vocabulary.encode(text))
        label, where = words("row_apart", name=vocabulary.name, n=len(cut)), f"tokens.{key}.{vocabulary.name}"
        chips = [tokens.chip(token, n, token.id) for n, token in enumerate(cut)]
        st.caption(label)
        components.ribbon(chips, selected=None, label=label, key=where, on_pick=lambda _: None)


picture, see = stage.split()
with picture:
    st.markdown(f"**{words(f'finding_{facts.finding}', **facts.said)}**")
    if facts.view:
        draw(facts.view, "cuts")
    elif facts.finding == "apart":
        ribbons(text, "cuts")
    stage.source("tokens.ids")
with see:
    said = {name: literal(value) for name, value in facts.literals.items()}
    stage.see(**facts.said, **said, kind=words(f"about_{facts.kind}", **said))
    if facts.view:
        stage.see(f"other_{facts.other}", over=" ".join(literal(t.label) for t in facts.over), **facts.said, **said)

if facts.finding != "ids":
    st.subheader(words("known"), anchor=False)
    for key, example in (("chinese", cutting.CHINESE), ("tutorial", cutting.TUTORIAL)):
        theirs = cl100k.tokens(cl100k.encode(example))
        st.markdown(words(f"known_{key}", text=literal(example), n=len(theirs), broken=cutting.broken(theirs)))
        if facts.view:
            ours = tokenizer.tokens(tokenizer.encode(example, special=False))
            draw(tokens.CutsView.of(ours, theirs, (tokenizer.name, cl100k.name)), key)
        else:
            ribbons(example, key)
        st.caption(f"{literal(cl100k.name)}: {literal(' '.join(str(token.id) for token in theirs))}")

formula, hand, code, numbers = stage.tabs()
with formula:
    stage.formula("tokens.ids")
    stage.see(f"rule_{facts.rule}", **facts.said)
with hand:
    chosen, pairs = trace.tokens[stage.token], facts.rule == "pairs" and facts.kind != "control"
    stage.see("hand_single" if pairs and len(chosen.bytes) == 1 else f"hand_{facts.rule}", **facts.said, **said)
    if pairs:
        built = tokens.MergesView.of(cutting.ranks(tokenizer), chosen, stage.token)
        named = {"start": words("start"), "step": words("step", n="{n}", rank="{rank}")}
        stage.figure(tokens.draw_merges(built, named), "merges", words("merges_alt"))
with code:
    stage.code("tokens" if facts.rule == "pairs" else "tokens_library", text=text)
with numbers:
    headings = [words(f"column_{name}") for name in ("position", "token", "id", "bytes")]
    for name, columns in tokens.tables(trace, cl100k):
        st.markdown(f"**{literal(name)}**")
        stage.records(f"tokens.{name}", dict(zip(headings, columns, strict=True)))
stage.question()
