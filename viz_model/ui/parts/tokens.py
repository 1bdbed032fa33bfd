"""Parts of the tokens page: a text in two vocabularies, examples that are well known, and a whole textbook."""

from __future__ import annotations

import streamlit as st

from viz_model.analysis import tokens as cutting
from viz_model.figures import tokens
from viz_model.ui import components, runs
from viz_model.ui.stage import Stage
from viz_model.ui.texts import literal


def draw(stage: Stage, view: tokens.CutsView, key: str) -> None:
    """The same bytes cut by both vocabularies, one above the other."""
    words = stage.words
    rows = {
        row: words("row", name=cut.name, n=len(cut.tokens), per=f"{view.n_bytes / max(1, len(cut.tokens)):.1f}")
        for row, cut in (("upper", view.upper), ("lower", view.lower))
    }
    hover = {**rows, **{name: words(name) for name in ("position", "id", "bytes")}}
    with st.container(height=560 if view.n_lines > 6 else "content", border=False):
        stage.figure(tokens.draw_cuts(view, hover), key, words("cuts_alt"))


def ribbons(stage: Stage, text: str, key: str) -> None:
    """Both vocabularies' tokens, where their bytes cannot be laid one above the other."""
    for vocabulary in (stage.trace.tokenizer, runs.cl100k_base()):
        cut = vocabulary.tokens(vocabulary.encode(text))
        label, where = stage.words("row_apart", name=vocabulary.name, n=len(cut)), f"tokens.{key}.{vocabulary.name}"
        chips = [tokens.chip(token, n, token.id) for n, token in enumerate(cut)]
        st.caption(label)
        components.ribbon(chips, selected=None, label=label, key=where, on_pick=lambda _: None)


def known(stage: Stage, *, aligned: bool) -> None:
    """Two examples of tutorials, counted; ``aligned`` where both vocabularies keep a text as it was typed."""
    tokenizer, cl100k = stage.trace.tokenizer, runs.cl100k_base()
    st.subheader(stage.words("known"), anchor=False)
    for key, example in (("chinese", cutting.CHINESE), ("tutorial", cutting.TUTORIAL)):
        theirs = cl100k.tokens(cl100k.encode(example))
        told = stage.words(f"known_{key}", text=literal(example), n=len(theirs), broken=cutting.broken(theirs))
        st.markdown(told)
        if aligned:
            ours = tokenizer.tokens(tokenizer.encode(example, special=False))
            draw(stage, tokens.CutsView.of(ours, theirs, (tokenizer.name, cl100k.name)), key)
        else:
            ribbons(stage, example, key)
        st.caption(f"{literal(cl100k.name)}: {literal(' '.join(str(token.id) for token in theirs))}")


def textbook(stage: Stage, text: str) -> None:
    """The textbook of a tutorial, then ``text``, in ``cl100k_base`` and in the model's own vocabulary."""
    words, cl100k, own = stage.words, runs.cl100k_base(), stage.trace.tokenizer
    book, width = cutting.TEXTBOOK, cutting.TEXTBOOK_WIDTH
    full, compact = book.numbers(width)
    said = {
        **{name: f"{value:,}" for name, value in book._asdict().items()},
        "share": f"{book.share:.2%}",
        "rows": f"{book.rows:,}",
        "short": f"{book.largest:,}",
        "per": f"{book.per_token:.2f}",
        "width": width,
        "full": f"{full:,}",
        "compact": f"{compact:,}",
        "times": f"{full / compact:.1f}",
        "last": literal(cl100k.token(book.largest).label),
        "last_bytes": literal(cl100k.token(book.largest).bytes.hex(" ").upper()),
    }
    st.subheader(words("corpus"), anchor=False)
    st.markdown(f"**{words('corpus_title', **said)}**")
    picture, see = stage.split()
    view = tokens.UseView.of(text, words("corpus_yours"), (cl100k, own), words("corpus_book"))
    with picture:
        drawn = {name: words(f"corpus_{name}") for name in ("used", "idle", "axis")}
        stage.figure(tokens.draw_use(view, drawn), "use", words("corpus_alt"))
        heads = [f"{name}, {literal(one)}" for name, one in zip(view.names, view.vocabularies, strict=True)]
        lines = [("", heads), ("---", ["---:"] * len(heads))]
        lines += [(words(f"corpus_{name}", width=width), values) for name, values in view.rows(width)]
        st.markdown("\n".join(f"| {' | '.join((name, *values))} |" for name, values in lines))
    with see:
        stage.see("corpus", **said)
        stage.see("corpus_slips", **said)
