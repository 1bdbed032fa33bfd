"""Cross-attention: what each token of the target reads of the source, and decoding step by step."""

from dataclasses import replace

from viz_model.island import say, why
from viz_model.island.look import Look
from viz_model.island.page import Page, Section, Topic, beside, columns, where
from viz_model.island.tabs import Trials
from viz_model.topics.cross_attention import (
    decoding,
    maps,
    missing,
    painted,
    reading,
    steps,
    tabs,
    weights,
    wiring,
    written,
)


def _reports(look: Look) -> bool:
    """Whether a run that was observed has weights of cross-attention."""
    return look.has("cross.pattern")


SOURCE = say.source("cross.pattern")
STEPS = (say.title("steps_title", weights.facts), steps.choose, steps.draw, steps.tell)
WHY = why.About("cross").section
DECODING = (
    Section(
        "decoding",
        (
            decoding.title,
            decoding.choose,
            beside(
                (decoding.draw, say.source("tokens.ids", "logits")),
                decoding.tell,
                decoding.guesses,
                decoding.row,
                SOURCE,
            ),
            decoding.compare,
        ),
    ),
    Section(
        "wiring",
        (
            say.title("wiring_title", weights.facts),
            beside((wiring.draw, say.source("cross.q", "cross.k", "cross.v")), wiring.tell),
        ),
    ),
)
PAGE = Page(
    "cross_attention",
    items=(
        weights.lead,
        beside((weights.choose, weights.draw, SOURCE), weights.tell),
        *STEPS,
        WHY,
        Section(
            "maps",
            (
                maps.title,
                columns(maps.large, maps.every),
                beside((written.draw,), written.heads),
                say.source(*written.SITES),
                reading.tell,
            ),
        ),
        *DECODING,
    ),
    end=(tabs.quiz, say.to_try()),
    options=(("shown", weights.SHOWN), ("mask", steps.MASKS), *why.OPTIONS),
    tabs=tabs.TABS,
    trials=Trials(("scale", "head", "pattern"), ("compare", "padded")),
    fits=lambda config: weights.exists(config) and not config.transcribes,
)
PICTURES = replace(
    PAGE,
    items=(
        weights.lead,
        columns((weights.choose, painted.draw, SOURCE), (weights.tell, painted.tell)),
        Section("steps", STEPS, ("mask",)),
        WHY,
        Section(
            "maps",
            (
                painted.heads_title,
                columns(painted.heads, maps.large),
                beside((written.draw,), written.heads),
                say.source(*written.SITES),
                reading.tell,
            ),
        ),
        *DECODING,
    ),
    options=(("painted", weights.PAINTED), ("mask", steps.MASKS), *why.OPTIONS),
    trials=None,
    fits=lambda config: config.transcribes,
)
MISSING = Page(
    "cross_attention",
    items=(
        missing.tell,
        missing.title,
        beside((missing.draw, say.source("attn.pattern")), say.text("what")),
        missing.models,
    ),
    end=(missing.quiz, say.to_try("question_missing", "answer_missing")),
    tabs=missing.TABS,
    unattended=(missing.tell, say.text("what"), missing.models),
)
OBSERVED = Page(
    "cross_attention",
    items=(
        say.observed,
        *where(_reports, weights.choose, beside((weights.draw, SOURCE), weights.tell)),
    ),
    options=(("shown", weights.SHOWN),),
    fits=weights.exists,
    observed=True,
)
TOPIC = Topic(
    "cross_attention",
    (PAGE, PICTURES, MISSING, OBSERVED),
    part="cross",
    needs=weights.exists,
    mixes=True,
    prefers=lambda config: config.transcribes,
)
