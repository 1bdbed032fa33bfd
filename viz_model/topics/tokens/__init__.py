"""Tokens: the text cut into entries of a vocabulary, and how another vocabulary cuts the same text."""

from dataclasses import replace

from viz_model.island import say
from viz_model.island.page import Page, Section, Topic, beside, columns, where
from viz_model.island.tabs import Trials
from viz_model.texts.markdown import literal
from viz_model.topics.tokens import cuts, odd, second, stretches, tabs, textbook, word
from viz_model.topics.tokens.second import has_text

TEXTBOOK = Section(
    "textbook",
    (textbook.title, textbook.finding, beside((textbook.draw, textbook.numbers), textbook.tell)),
    needs=has_text,
)
PAGE = Page(
    "tokens",
    (
        say.text("lead"),
        second.choose,
        second.why,
        beside((cuts.title, cuts.draw, cuts.source), cuts.tell),
        word.title,
        columns(word.box, word.choose_vocabulary),
        word.choose_stretch,
        word.finding,
        beside((word.choose_step, word.draw), word.tell),
        word.result,
        Section(
            "odd",
            (
                *where(
                    stretches.has,
                    say.title("stretches_title", lambda look: {"name": literal(look.trace.tokenizer.name)}),
                    stretches.draw,
                    stretches.tell,
                ),
                odd.tell_counts,
                odd.title,
                odd.finding,
                beside(odd.draw, odd.tell),
                odd.own_words,
            ),
            needs=has_text,
        ),
        Section("known", (say.title("known"), *cuts.example("chinese"), *cuts.example("tutorial")), needs=has_text),
        TEXTBOOK,
    ),
    (tabs.quiz, tabs.to_try),
    (second.OPTION, *word.OPTIONS),
    tabs.APART,
    Trials(bugs=("count", "spell")),
)
OBSERVED = replace(
    PAGE,
    items=(say.observed, *(item for item in PAGE.items if item is not TEXTBOOK)),
    end=(),
    tabs=None,
    trials=None,
    observed=True,
)
TOPIC = Topic("tokens", (PAGE, OBSERVED), of_words=True, has_place=False, without=frozenset({"head"}), mixes=True)
