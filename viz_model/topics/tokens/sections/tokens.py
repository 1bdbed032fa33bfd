"""Parts of the tokens page: a text in two vocabularies, a word step by step, odd spellings, a whole textbook."""

from __future__ import annotations

import streamlit as st

import viz_model as vm
from viz_model.app import components, controls, runs
from viz_model.app.stage import Stage
from viz_model.app.state import CL100K
from viz_model.app.texts import literal, quoting, row
from viz_model.drawing.writing import percent
from viz_model.tokenizers.tokenizer import IdTokenizer, Tokenizer, make_visible
from viz_model.topics.tokens.numbers import facts, splitting
from viz_model.topics.tokens.numbers import tokens as cutting
from viz_model.topics.tokens.pictures.cuts import CutsView, draw_cuts
from viz_model.topics.tokens.pictures.merges import MergesView, draw_merges
from viz_model.topics.tokens.pictures.survey import draw_survey
from viz_model.topics.tokens.pictures.tokens import chip
from viz_model.topics.tokens.pictures.use import UseView, draw_use

MOST_SPELT = 6
SHOWN_TRIES = 4


def draw(stage: Stage, view: CutsView, key: str) -> None:
    """The same bytes cut by both vocabularies, one above the other."""
    words = stage.words
    rows = {
        row: words("row", name=cut.name, n=len(cut.tokens), per=f"{view.n_bytes / max(1, len(cut.tokens)):.1f}")
        for row, cut in (("upper", view.upper), ("lower", view.lower))
    }
    hover = {**rows, **{name: words(name) for name in ("position", "id", "bytes")}}
    with st.container(height=560 if view.n_lines > 6 else "content", border=False):
        stage.figure(draw_cuts(view, hover), key, words("cuts_alt"))


def beside(stage: Stage, text: str) -> Tokenizer:
    """The second vocabulary, chosen here: ``cl100k_base``, or that of any model that is on offer."""
    own = stage.trace.tokenizer
    if isinstance(own, IdTokenizer):
        return runs.vocabulary(CL100K)
    models = {model: name for name, model in runs.vocabularies().items() if name != own.name}
    names = {CL100K: CL100K, **models}
    chosen = stage.view.vocabulary if stage.view.vocabulary in names else CL100K
    asked = controls.in_view(
        stage,
        st.selectbox,
        "vocabulary",
        chosen,
        list(names),
        read=lambda name: None if name == CL100K else name,
        format_func=names.__getitem__,
        width=320,
    )
    try:
        found = runs.vocabulary(asked)
        found.encode(text)
    except (vm.ModelError, vm.TextError) as error:
        st.info(f"{literal(names[asked])}: {quoting(error)}")
        return runs.vocabulary(CL100K)
    return found


def counts(stage: Stage, text: str, other: Tokenizer) -> None:
    """What the text costs in each vocabulary, as a small table."""
    words, own = stage.words, stage.trace.tokenizer
    row = {one.name: one for one in (own, other, runs.cl100k_base())}
    view = facts.CountView.of(text, list(row.values()))
    heads = [words(f"count_{name}") for name in ("name", "entries", "tokens", "bytes", "characters")]
    lines = [f"| {' | '.join(heads)} |", "|---|---:|---:|---:|---:|"]
    lines += [f"| {literal(name)} | {' | '.join(cells)} |" for name, *cells in view.rows()]
    st.markdown("\n".join(lines))
    st.caption(words("count_note", bytes_n=f"{view.n_bytes:,}", characters_n=f"{view.n_characters:,}"))


def word(stage: Stage, text: str, other: Tokenizer) -> None:
    """A word of the visitor's own, taken apart as a tokenizer does it, step by step."""
    words, own = stage.words, stage.trace.tokenizer
    vocabularies = {one.name: one for one in (own, other) if one.rule is not None}
    st.subheader(words("word"), anchor=False)
    if not vocabularies:
        stage.see("word_no_rule", name=literal(own.name))
        return
    longest = max(text.split(), key=len, default="tokenization")[:40]
    left, right = st.columns(2, gap="large", vertical_alignment="bottom")
    typed = controls.setting(stage, left.text_input, "word_typed", placeholder=longest, max_chars=60, live=True)
    key = "tokens.by"
    if st.session_state.get(key) not in vocabularies:
        st.session_state[key] = next(iter(vocabularies))
    name = right.segmented_control(words("word_by"), list(vocabularies), key=key, required=True, wrap=True)
    assert name is not None  # one is always chosen
    tokenizer = vocabularies[name]
    try:
        found = splitting.splits(tokenizer, typed or longest)
    except vm.TextError as error:
        st.info(quoting(error))
        return
    if not found:
        return
    place = 0
    if len(found) > 1:
        labels = [make_visible(split.word) for split in found]
        place = st.segmented_control(
            words("word_stretch"),
            list(range(len(found))),
            key=f"tokens.stretch.{name}.{typed or longest}",
            default=max(range(len(found)), key=lambda n: len(found[n].word)),
            format_func=lambda n: literal(labels[n]),
            required=True,
            wrap=True,
        )
    split = found[place]
    said = {"word": literal(make_visible(split.word)), "name": literal(tokenizer.name), "n": str(len(split.ids))}
    st.markdown(f"**{words(f'word_title_{split.rule}', **said)}**")
    {"longest": _longest, "unigram": _unigram}.get(split.rule, _joins)(stage, tokenizer, split, said)
    pieces = [f"{literal(token.label)} {token.id:,}" for token in tokenizer.tokens(split.ids)]
    st.markdown(words("word_result", pieces=" · ".join(pieces) or "–"))
    if not split.holds:
        stage.see("word_differs", **said)


def _joins(stage: Stage, tokenizer: Tokenizer, split: splitting.Split, said: dict[str, str]) -> None:
    """The joins as a picture, and at the chosen step every pair of neighbours with its rank."""
    words, n = stage.words, len(split.joins)
    step = 0
    picture, see = stage.split()
    with picture:
        if n:
            where = f"tokens.step.{tokenizer.name}.{split.word}"
            step = st.slider(words("word_step"), 0, n, key=where, help=words("word_step_help"))
        steps = [(join.parts, join.at, join.rank) for join in split.joins]
        view = MergesView.joined(make_visible(split.word), split.start, steps, 0)
        named = {"start": words("word_start"), "step": words("step", n="{n}", rank="{rank}")}
        stage.figure(draw_merges(view, named, now=step), "word", words("merges_alt"))
    with see:
        pairs = split.pairs(step)
        next_ = split.joins[step].at if step < n else -1
        can = [pair.rank for pair in pairs if pair.rank is not None]
        facts = {**said, "step": str(step), "can": str(len(can)), "pairs": str(len(pairs)), "last": str(n)}
        if next_ >= 0:
            joined = literal(pairs[next_].left), literal(pairs[next_].right)
            stage.see("word_next", left=joined[0], right=joined[1], rank=f"{min(can):,}", **facts)
        else:
            stage.see("word_done", **facts)
        lines = [f"| {words('word_pair')} | {words('word_rank')} |", "|---|---:|"]
        by_rank = sorted(enumerate(pairs), key=lambda found: (found[1].rank is None, found[1].rank or 0, found[0]))
        for place, pair in by_rank:
            rank = words("word_no_join") if pair.rank is None else f"{pair.rank:,}"
            mark = ("**", " ←**") if place == next_ else ("", "")
            lines.append(row((f"{literal(pair.left)} + {literal(pair.right)}", f"{mark[0]}{rank}{mark[1]}")))
        if pairs:
            with st.container(height=320 if len(pairs) > 8 else "content", border=False):
                st.markdown("\n".join(lines))


def _longest(stage: Stage, tokenizer: Tokenizer, split: splitting.Split, said: dict[str, str]) -> None:
    """Every look-up from the left: what was tried in vain, and what was found."""
    words = stage.words
    heads = [words(f"word_{name}") for name in ("tried", "found", "id")]
    lines = [f"| {' | '.join(heads)} |", "|---|---|---:|"]
    for taken in split.taken:
        vain = " ".join(literal(piece) for piece in taken.tried[:SHOWN_TRIES])
        more = f" … (+{len(taken.tried) - SHOWN_TRIES})" if len(taken.tried) > SHOWN_TRIES else ""
        id = "–" if taken.entry is None or tokenizer.rule is None else f"{tokenizer.rule.ids[taken.entry]:,}"
        entry = words("word_nothing") if taken.entry is None else f"**{literal(taken.entry)}**"
        lines.append(row((f"{vain or '–'}{more}", entry, id)))
    st.markdown("\n".join(lines))
    stage.see("word_longest", lookups=str(sum(len(t.tried) + (t.entry is not None) for t in split.taken)), **said)


def _unigram(stage: Stage, tokenizer: Tokenizer, split: splitting.Split, said: dict[str, str]) -> None:
    """The most probable ways to cut the word, with the sum of their scores."""
    words = stage.words
    heads = [words(f"word_{name}") for name in ("way", "total", "share")]
    lines = [f"| {' | '.join(heads)} |", "|---|---:|---:|"]
    for n, (way, share) in enumerate(zip(split.ways, splitting.shares(split.ways), strict=True)):
        pieces = " ".join(f"{literal(piece)} {score:.2f}" for piece, score in way.pieces)
        mark = "**" if n == 0 else ""
        lines.append(row((pieces, f"{mark}{way.total:.2f}{mark}", percent(share))))
    st.markdown("\n".join(lines))
    stage.see("word_unigram", ways=str(len(split.ways)), **said)


def odd(stage: Stage, text: str, other: Tokenizer) -> None:
    """What splits oddly, found by counting: words in four spellings, numbers, faces, Chinese characters."""
    words, own = stage.words, stage.trace.tokenizer
    found = runs.surveys(own, other, (own.name, other.name))
    kinds = {kind.kind: kind for kind in found[0].kinds}
    st.subheader(words("odd"), anchor=False)
    bare = kinds["bare"]
    said = {"n": str(bare.n), "name": literal(own.name), "other": literal(other.name)}
    whole = {name: f"{kind.by_tokens[0]:,}" for name, kind in kinds.items()}
    st.markdown(f"**{words('odd_title' if bare.n else 'odd_title_none', **said, **whole)}**")
    picture, see = stage.split()
    with picture:
        parts = [*kinds, "unknown", *(f"tokens_{n}" for n in range(1, splitting.LONG + 1))]
        stage.figure(draw_survey(found, {name: words(f"odd_{name}") for name in parts}), "odd", words("odd_alt"))
    with see:
        stage.see("odd", **said)
    rows = splitting.spellings(own, text, MOST_SPELT)
    if rows:
        st.markdown(f"**{words('odd_yours', name=literal(own.name))}**")
        lines = [f"| {' | '.join(words(f'odd_{form}') for form in splitting.FORMS)} |", "|---|---|---|---|"]
        for one in rows:
            lines.append(row(f"**{len(labels)}** {' '.join(map(literal, labels))}" for labels in one.pieces))
        st.markdown("\n".join(lines))


def ribbons(stage: Stage, text: str, key: str, other: Tokenizer) -> None:
    """Both vocabularies' tokens, where their bytes cannot be laid one above the other."""
    for vocabulary in (stage.trace.tokenizer, other):
        cut = vocabulary.tokens(vocabulary.encode(text, special=False))
        label, where = stage.words("row_apart", name=vocabulary.name, n=len(cut)), f"tokens.{key}.{vocabulary.name}"
        chips = [chip(token, n, token.id) for n, token in enumerate(cut)]
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
            draw(stage, CutsView.of(ours, theirs, (tokenizer.name, cl100k.name)), key)
        else:
            ribbons(stage, example, key, cl100k)
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
    view = UseView.of(text, words("corpus_yours"), (cl100k, own), words("corpus_book"))
    with picture:
        drawn = {name: words(f"corpus_{name}") for name in ("used", "idle", "axis")}
        stage.figure(draw_use(view, drawn), "use", words("corpus_alt"))
        heads = [f"{name}, {literal(one)}" for name, one in zip(view.names, view.vocabularies, strict=True)]
        lines = [("", heads), ("---", ["---:"] * len(heads))]
        lines += [(words(f"corpus_{name}", width=width), values) for name, values in view.rows(width)]
        st.markdown("\n".join(f"| {' | '.join((name, *values))} |" for name, values in lines))
    with see:
        stage.see("corpus", **said)
        stage.see("corpus_slips", **said)
