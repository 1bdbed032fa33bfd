"""Cost: what grows with the square of the text, counted and measured, and what that answers."""

from collections.abc import Iterator

from viz_model.config import DeltaNet, ShortConv
from viz_model.island import say
from viz_model.island.look import Look
from viz_model.island.page import Page, Section, Topic, beside, where
from viz_model.island.prose import Line
from viz_model.topics.cost import kept, kinds, lengths, order, patches, quantized, shares, stacks, tabs, waiting


def _lead(look: Look) -> Iterator[Line]:
    mixers = (look.config.layer(look.trace.stack.side, n).mixer for n in range(look.n_layers))
    is_mixed = any(isinstance(mixer, DeltaNet | ShortConv) for mixer in mixers)
    yield look.text("lead_mixed" if is_mixed else "lead")


def writes(look: Look) -> bool:
    """Whether the model writes a text, token by token."""
    return look.config.kind != "encoder"


PAGE = Page(
    "cost",
    items=(
        _lead,
        say.title("counted_title", shares.facts),
        beside((shares.draw, say.part("curves_title", shares.facts), lengths.curves), shares.tell),
        Section(
            "why",
            (
                say.title("waiting_title", lambda look: {"n": len(look)}),
                beside(waiting.draw, waiting.tell),
                say.title("order_title"),
                beside((order.draw, order.ask), order.tell),
                kinds.title,
                beside(kinds.draw, kinds.tell),
            ),
            ("order",),
        ),
        Section(
            "cache",
            (
                say.title("generated_title"),
                beside(where(writes, lengths.generated), lengths.tell_generated),
                *where(writes, say.title("kept_title"), beside(kept.draw, kept.tell)),
            ),
        ),
        Section(
            "quantized",
            (quantized.title, beside((quantized.draw, quantized.numbers), quantized.tell)),
            needs=quantized.has,
        ),
        Section(
            "stacks",
            (say.title("stacks_title"), stacks.choose, beside(stacks.draw, stacks.tell)),
            ("n_target",),
            stacks.has,
        ),
    ),
    end=(tabs.quiz, tabs.to_try),
    options=(order.OPTION, stacks.OPTION),
    tabs=tabs.APART,
)
PICTURES = Page(
    "cost",
    items=(
        say.text("lead"),
        say.title("cut_title", patches.facts),
        beside(patches.draw, say.text("see_cuts", patches.facts)),
    ),
    end=(patches.quiz, say.to_try()),
    tabs=patches.APART,
    fits=lambda config: config.is_vision_encoder,
)
TOPIC = Topic("cost", (PAGE, PICTURES), has_place=False, without=frozenset({"head"}), mixes=True)
