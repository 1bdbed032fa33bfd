"""Attention: which tokens each token reads, head by head, and the arithmetic behind one row."""

from dataclasses import replace

from viz_model.island import say, units, why
from viz_model.island.look import Look
from viz_model.island.page import (
    Item,
    Page,
    Row,
    Section,
    Topic,
    beside,
    columns,
    is_there,
    late,
    narrow,
    through,
    where,
    wide,
)
from viz_model.island.tabs import Trials
from viz_model.topics.attention import (
    between_words,
    brings,
    buffer,
    carries,
    constant,
    convolved,
    forms,
    head,
    heads,
    painted,
    projected,
    query,
    reads,
    recall,
    state,
    tabs,
    together,
)


def _attends(look: Look) -> bool:
    """Whether what a head has mixed of values, each from one matrix, is what it writes."""
    return look.config.sums_heads


def _reports(look: Look) -> bool:
    """Whether a run that was observed has attention weights."""
    return look.has("attn.pattern")


CHAIN = Row([(head.heading(name), head.in_chain(name)) for name in head.CHAIN], (1, 1, 1))
WORDS = (say.title("words_title"), say.text("words"), between_words.typed, between_words.draw, between_words.tell)
LARGE = Section(
    "large",
    (
        head.title,
        head.choose,
        columns((head.draw,), (head.lines, units.link)),
        *where(_attends, *narrow(carries.title, beside(carries.draw, carries.tell))),
        head.chain_title,
        CHAIN,
        *where(buffer.has, say.title("buffer_title"), beside(buffer.draw, buffer.tell)),
        *WORDS,
    ),
    ("words", "matrix", "span", "section=matrices"),
)
TOGETHER = Section(
    "together",
    (
        together.tell,
        *narrow(together.side_by_side),
        together.times,
        *narrow(together.output_matrix),
        together.makes,
        *narrow(together.written),
        together.end,
    ),
    ("section=together",),
    _attends,
)
FORMS = Section("forms", narrow(forms.title, forms.draw, forms.tell), needs=forms.changes)
_WHY = why.About("attn").section
WHY = replace(_WHY, needs=lambda look: _attends(look) and is_there(_WHY, look))
CARE = Section(
    "care",
    (
        *through(brings.here, brings.title),
        *where(
            brings.several,
            *through(
                lambda look: brings.here(look.narrow),
                columns((brings.row_title, brings.row, brings.row_tell), (brings.cloud_title, brings.cloud)),
            ),
        ),
        *through(
            brings.here,
            brings.ask,
            *where(
                brings.is_read,
                brings.ranks_title,
                beside((brings.ranks, brings.gaps), brings.ranks_tell),
                *where(
                    brings.has_groups,
                    brings.choose,
                    brings.sinks_title,
                    columns(brings.sinks("weight"), brings.sinks("share")),
                    brings.sinks_tell,
                ),
            ),
        ),
    ),
    ("group", "run", "section=care"),
    lambda look: look.config.attends,  # it compares the weights of all layers
)
WITHOUT: tuple[Item | Row | Section, ...] = (
    *where(
        state.is_here,
        state.tell,
        state.choose,
        beside((state.draw, reads.draw_steps), reads.tell_steps),
        say.title("reads_title"),
        beside(reads.draw, reads.tell),
    ),
    *where(
        convolved.is_here,
        convolved.tell,
        say.title("convolved_title"),
        beside(convolved.draw, convolved.read, convolved.sizes),
    ),
    Section("constant", (beside(constant.draw, constant.tell),), needs=constant.is_there),
    Section(
        "recall",
        (say.text("recall"), recall.presets, recall.typed, beside(recall.draw, recall.tell)),
        (recall.NAME,),
        state.is_here,
    ),
)
TRIALS = Trials(
    ("scale", "mask", "head", "pattern", "flip"),
    ("causal", "diagonal", "mask_then_softmax", "normalize", "scaled", "divided", "compare", "split"),
)
PAGE = Page(
    "attention",
    has_twin=True,
    items=(
        say.text("lead"),
        Row(
            (
                (*wide(heads.draw, heads.source), *late(projected.title, projected.draw, projected.tell)),
                wide(heads.tell),
            ),
            (3, 2),
        ),
        *wide(query.title, query.draw),
        WHY,
        FORMS,
        LARGE,
        TOGETHER,
        CARE,
    ),
    end=wide(tabs.quiz, tabs.to_try),
    unattended=WITHOUT,
    unattended_tabs=tabs.TABS,
    options=(
        ("memory", range(100_000)),
        ("matrix", ("pattern", *head.MATRICES[:-1])),
        ("group", ("first", "punctuation", "marks")),
        ("run", ("0", "1")),
        between_words.OPTION,
        recall.OPTION,
        *why.OPTIONS,
    ),
    tabs=tabs.TABS,
    trials=TRIALS,
)
PICTURES = Page(
    "attention",
    items=(
        say.text("lead"),
        beside((painted.draw, heads.source), painted.tell),
        Section("grid", (heads.draw, heads.source, say.text("see_grid", lambda look: {"n": len(look)}))),
        Section("steps", (query.title, query.draw)),
        WHY,
        TOGETHER,
    ),
    end=(painted.quiz, say.to_try()),
    options=why.OPTIONS,
    tabs=tabs.TABS,
    trials=Trials(("head", "scale")),
    fits=lambda config: config.is_vision_encoder,
)
OBSERVED = Page(
    "attention",
    items=(
        say.observed,
        *where(
            _reports,
            Row(((heads.draw, heads.source), (heads.tell,)), (3, 2)),
            head.title,
            columns(head.draw, head.lines),
            *WORDS,
        ),
    ),
    options=(between_words.OPTION,),
    observed=True,
)
TOPIC = Topic("attention", (PAGE, PICTURES, OBSERVED), of_words=True, mixes=True)
