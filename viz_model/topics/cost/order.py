"""A stack without positions: the same tokens in another order."""

from collections.abc import Iterator
from dataclasses import replace
from typing import NamedTuple

import torch
from torch import Tensor

from viz_model.claims import Claim, Verdict
from viz_model.config import ModelConfig, NoPosition
from viz_model.drawing.digits import small
from viz_model.island.look import Look
from viz_model.island.page import Button, Buttons
from viz_model.island.prose import Line
from viz_model.model import masks, stored
from viz_model.model.transformer import Stack
from viz_model.runs.trace import Trace
from viz_model.texts.markdown import literal, table
from viz_model.topics.cost.counted import count


class Shuffled(NamedTuple):
    """How far a stack's last vectors are from being those of the same tokens in another order, merely reordered.

    Each is the largest difference of any value, in units of the values' root mean square: 0 but
    for rounding where the stack takes no notice of the order. ``bare`` has no positions, ``own``
    the model's; ``_masked`` with the causal mask, else every token sees every token.
    """

    order: tuple[int, ...]
    bare: float
    own: float
    bare_masked: float
    own_masked: float


SHUFFLED = 12
MOST_WORK = 2_000_000_000
"""Multiplications that are run unasked when words are shuffled."""
SAME = 1e-3
"""Below this share of the values' size a difference is rounding: single precision, through all blocks."""


def work_of_shuffling(trace: Trace) -> int:
    """Multiplications by weights that :func:`shuffled` takes: four runs of two orders."""
    one = count(trace.config, trace.stack.side, 1)
    return 8 * min(SHUFFLED, len(trace)) * (one.projections + one.ffn)


def is_alike(trace: Trace) -> bool:
    """Whether the tokens that would be shuffled are all the same."""
    return len(set(trace.own_ids[:SHUFFLED])) == 1


@torch.inference_mode()
def shuffled(trace: Trace) -> Shuffled | None:
    """The first tokens of a run read again in another order, by the same weights with and without positions.

    Every other token comes first, so that distances change and not only directions. None for a
    single token, which has no other order, and for tokens that are the same in the other order.
    """
    stack, ids = trace.stack, trace.own_ids[:SHUFFLED]
    length = len(ids)
    order = [*range(1, length, 2), *range(0, length, 2)]
    if length < 2 or is_alike(trace):
        return None
    both_orders = torch.tensor([ids, [ids[i] for i in order]])  # [2, T]
    pixels = None if trace.picture is None else trace.picture.expand(2, *trace.picture.shape)
    own = pixels if trace.config.input_of(stack.side).is_picture else None
    rows = trace.model.embed(both_orders, pixels=own, side=stack.side)  # [2, T, D]
    source = None
    if len(trace.config.sides) > 1 and stack.side == "decoder":
        source = trace.model.encode(torch.tensor([trace.ids, trace.ids]), pixels=pixels)

    def change(stack: Stack, mask: Tensor) -> float:
        first, second = stack(rows, ids=both_orders, visible=mask, source=source)
        return float((second - first[order]).abs().max() / first.square().mean().sqrt())

    plain, both, past = without_positions(stack, trace.config), masks.everything(length, length), masks.causal
    return Shuffled(
        order=tuple(order),
        bare=change(plain, both),
        own=change(stack, both),
        bare_masked=change(plain, past(length, length)),
        own_masked=change(stack, past(length, length)),
    )


def without_positions(stack: Stack, config: ModelConfig) -> Stack:
    """The same weights, not copied, in a stack that tells no positions apart."""
    with torch.device("meta"):
        bare = Stack(replace(config, position=NoPosition(), positions=()), stack.side)
    weights = {
        name: stored.single(value) for name, value in stack.state_dict().items() if "position" not in name.split(".")[0]
    }
    bare.load_state_dict(weights, assign=True)
    return bare.eval()


ORDER: Verdict[Shuffled] = Verdict(
    "cost.order",
    Claim("same", lambda shuffled: max(shuffled.bare, shuffled.own) < SAME),
    Claim("differs", lambda shuffled: shuffled.bare < SAME <= shuffled.own),
)
MASK: Verdict[Shuffled] = Verdict(
    "cost.mask", Claim("tells", lambda shuffled: shuffled.bare < SAME <= shuffled.bare_masked)
)
OPTION = ("order", ("0", "1"))
"""Whether words are shuffled though it takes long."""


def _waits(look: Look) -> bool:
    """Whether it takes long, and nobody has asked for it."""
    return work_of_shuffling(look.trace) > MOST_WORK and look.options.get("order") != "1"


def _found(look: Look) -> Shuffled | None:
    return None if _waits(look) else look.once(lambda look: shuffled(look.trace), "shuffled")


def ask(look: Look) -> Buttons | None:
    if is_alike(look.trace) or not _waits(look):
        return None
    return Buttons("order", [Button(look.words("order"), {"order": "1"})])


def draw(look: Look) -> Iterator[Line]:
    """A table of the changes."""
    words, found = look.words, _found(look)
    if len(look) < 2:
        yield Line(words("order_one"), "notice")
    elif is_alike(look.trace):
        yield Line(words("order_alike"), "notice")
    elif found is None:
        yield look.note("order_help")
    else:
        headings = [words("order_change"), words("order_all"), words("order_past")]
        facts = _facts(look, found)
        rows = [[words(f"order_{row}"), facts[row], facts[f"{row}_masked"]] for row in ("bare", "own")]
        yield Line(table(headings, rows))
        yield look.note("order_note")


def tell(look: Look) -> Iterator[Line]:
    if (found := _found(look)) is not None:
        for verdict in (ORDER, MASK):
            yield Line(verdict.says(look.t.language, found, **_facts(look, found)))


def _facts(look: Look, found: Shuffled) -> dict[str, str]:
    labels = [token.label for token in look.trace.tokens]
    facts = {name: small(getattr(found, name)) for name in ("bare", "own", "bare_masked", "own_masked")}
    facts["before"] = literal(" ".join(labels[: len(found.order)]))
    return {**facts, "after": literal(" ".join(labels[i] for i in found.order))}
