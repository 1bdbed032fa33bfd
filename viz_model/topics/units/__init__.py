"""What is this unit for? A head or a neuron on one's own sentence, over many texts, and what is lost without it."""

from collections.abc import Sequence
from typing import Any

from viz_model.island import say
from viz_model.island.look import Look
from viz_model.island.page import Page, Section, Topic, Typed, beside, columns, where
from viz_model.island.prose import Line
from viz_model.island.tabs import Table, Tabs, Worked
from viz_model.island.units import fits
from viz_model.topics.units import asked, here, over_texts


def formulas(look: Look) -> list[str]:
    """The values that it is, and what is made of them."""
    if asked.asked(look).neuron is None:
        return [look.site(f"attn.{name}") for name in ("pattern", "z", "out")]
    return [look.site(f"ffn.{name}") for name in ("act", "out")]


def hand(look: Look) -> tuple[Line | None, Sequence[Worked], dict[str, Any]]:
    """The weight of the token that is read most, or the value of the neuron, at the selected token."""
    found, known = asked.asked(look), asked.facts(look)
    if found.neuron is None:
        at: tuple[int, ...] = (look.head, look.token, known["at"])
        return look.text("hand_head", **known), [Worked((), look.site("attn.pattern"), at)], {}
    return look.text("hand_neuron", **known), [Worked((), look.site("ffn.act"), (look.token, found.neuron))], {}


def numbers(look: Look) -> Table:
    """The pattern of the head; or of the neuron its value at every token."""
    found = asked.asked(look)
    if found.neuron is None:
        return f"{look.site('attn.pattern')}[{look.head}]", found.activity.numpy(), look.labels, look.labels
    return look.site("ffn.act"), found.activity.numpy()[:, None], look.labels, [str(found.neuron)]


TABS = Tabs(formulas, hand, formulas, numbers)
PAGE = Page(
    "units",
    (
        say.text("lead"),
        columns((asked.choose,), (asked.field, asked.unknown)),
        asked.title,
        beside(here.draw, here.tell),
        asked.no_sample,
        *where(asked.has_sample, beside(over_texts.draw_contexts, over_texts.tell_contexts)),
        Section(
            "spread",
            (
                *where(over_texts.varies, beside(over_texts.draw_histogram, over_texts.tell_histogram)),
                *where(asked.is_head, beside(over_texts.draw_roles, over_texts.tell_roles)),
                over_texts.tell_alike,
                *where(asked.is_head, over_texts.alike),
            ),
            needs=asked.has_sample,
        ),
        Section("writes", (beside(here.draw_writes, here.tell_writes),)),
        Section("removed", (beside(here.draw_removed, here.tell_removed),)),
    ),
    end=(say.to_try(),),
    options=((asked.NEURON, Typed(pattern=asked.NUMBER)),),
    tabs=TABS,
    fits=fits,
    reads_plain=True,
)
TOPIC = Topic("units", (PAGE,), needs=fits, sums_heads=True)
