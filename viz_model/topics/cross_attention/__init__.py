"""Cross-attention: what each token of the target reads of the source, and decoding step by step."""

from viz_model.island import say, why
from viz_model.island.page import Page, Section, Topic, Trials, beside, columns
from viz_model.topics.cross_attention import apart, decoding, maps, missing, reading, steps, weights, wiring, written

PAGE = Page(
    "cross_attention",
    items=(
        weights.lead,
        beside((weights.choose, weights.draw, weights.source), weights.tell),
        steps.title,
        steps.choose,
        steps.draw,
        steps.tell,
        why.About("cross").section,
        Section(
            "maps",
            (
                maps.title,
                columns(maps.large, maps.every),
                beside((written.draw,), written.heads),
                written.source,
                reading.tell,
            ),
        ),
        Section(
            "decoding",
            (
                decoding.title,
                decoding.choose,
                beside(
                    (decoding.draw, decoding.source), decoding.tell, decoding.guesses, decoding.row, decoding.row_source
                ),
                decoding.compare,
            ),
        ),
        Section("wiring", (wiring.title, beside((wiring.draw, wiring.source), wiring.tell))),
    ),
    end=(apart.quiz, say.to_try()),
    options=(("shown", weights.SHOWN), ("mask", steps.MASKS), *why.OPTIONS),
    apart=apart.TABS,
    trials=Trials(("scale", "head", "pattern"), ("compare", "padded")),
    fits=weights.exists,
)
MISSING = Page(
    "cross_attention",
    items=(missing.tell, missing.title, beside((missing.draw, missing.source), missing.what), missing.models),
    end=(missing.quiz, say.to_try("question_missing", "answer_missing")),
    apart=missing.TABS,
)
TOPIC = Topic("cross_attention", (PAGE, MISSING), part="cross", needs=weights.exists)
