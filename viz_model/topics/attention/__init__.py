"""Attention: which tokens each token reads, head by head, and the arithmetic behind one row."""

from dataclasses import replace

from viz_model.island import say, units, why
from viz_model.island.look import Look
from viz_model.island.page import Item, Page, Row, Section, Topic, beside, columns, is_there, where
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
WORDS = (between_words.title, between_words.lead, between_words.typed, between_words.draw, between_words.tell)
LARGE = Section(
    "large",
    (
        head.title,
        head.choose,
        columns((head.draw,), (head.lines, units.link)),
        *where(_attends, carries.title),
        beside(where(_attends, carries.draw), *where(_attends, carries.tell)),
        head.chain_title,
        CHAIN,
        buffer.title,
        beside(buffer.draw, buffer.tell),
        *WORDS,
    ),
    ("words", "matrix", "span", "section=matrices"),
)
TOGETHER = Section(
    "together",
    (
        together.tell,
        together.side_by_side,
        together.times,
        together.output_matrix,
        together.makes,
        together.written,
        together.end,
    ),
    ("section=together",),
    _attends,
)
FORMS = Section("forms", (forms.title, forms.draw, forms.tell), needs=forms.changes)
_WHY = why.About("attn").section
WHY = replace(_WHY, needs=lambda look: _attends(look) and is_there(_WHY, look))
CARE = Section(
    "care",
    (
        brings.title,
        columns((brings.row_title, brings.row, brings.row_tell), (brings.cloud_title, brings.cloud)),
        brings.ask,
        brings.ranks_title,
        beside((brings.ranks, brings.gaps), brings.ranks_tell),
        brings.choose,
        brings.sinks_title,
        columns(brings.sinks("weight"), brings.sinks("share")),
        brings.sinks_tell,
    ),
    ("group", "run", "section=care"),
    lambda look: look.config.attends,  # it compares the weights of all layers
)
WITHOUT: tuple[Item | Row | Section, ...] = (
    *where(state.is_here, state.tell, state.choose),
    beside(where(state.is_here, state.draw, reads.draw_steps), *where(state.is_here, reads.tell_steps)),
    *where(state.is_here, reads.title),
    beside(where(state.is_here, reads.draw), *where(state.is_here, reads.tell)),
    *where(convolved.is_here, convolved.tell, convolved.title),
    beside(where(convolved.is_here, convolved.draw), *where(convolved.is_here, convolved.read, convolved.sizes)),
    Section("constant", (beside(constant.draw, constant.tell),), needs=constant.is_there),
    Section(
        "recall",
        (recall.lead, recall.presets, recall.typed, beside(recall.draw, recall.tell)),
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
        heads.lead,
        Row(((heads.draw, heads.source, projected.title, projected.draw, projected.tell), (heads.tell,)), (3, 2)),
        query.title,
        query.draw,
        WHY,
        FORMS,
        LARGE,
        TOGETHER,
        CARE,
    ),
    end=(tabs.quiz, tabs.to_try),
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
        heads.lead,
        beside((painted.draw, heads.source), painted.tell),
        Section("grid", (heads.draw, heads.source, painted.maps)),
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
        Row((where(_reports, heads.draw, heads.source), where(_reports, heads.tell)), (3, 2)),
        *where(_reports, head.title),
        columns(*where(_reports, head.draw, head.lines)),
        *where(_reports, *WORDS),
    ),
    options=(between_words.OPTION,),
    observed=True,
)
TOPIC = Topic("attention", (PAGE, PICTURES, OBSERVED), of_words=True, mixes=True)
