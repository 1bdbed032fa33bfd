"""No position scheme: what order is left, measured."""

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor

from viz_model.claims import Claim, Verdict
from viz_model.drawing import chart
from viz_model.drawing.scene import Scene
from viz_model.drawing.short_repr import short_repr
from viz_model.drawing.tables import Among, By, Phrase, by
from viz_model.island import quiz as asking
from viz_model.island import say
from viz_model.island.look import Look
from viz_model.island.page import Quiz
from viz_model.island.prose import Line
from viz_model.island.tabs import Tabs, Worked
from viz_model.runs.trace import Trace

ROUNDING = 1e-5
"""Relative changes below this come from adding the same numbers in another order."""
AT_ONCE, MOST_TOKENS = 16, 32
"""Orders that a model reads at once, as they take memory; and tokens of a text of which all are measured ahead: of a
longer one the selected one alone.
"""


@short_repr
class OrderEffect(NamedTuple):
    """How much each token's vector changes when the tokens before it change places.

    The changes are |Δr| / |r| behind every block, [T, L], with the model's own mask and with none, measured by running
    the model on both orders; NaN where another order changes no token.
    """

    own_mask: np.ndarray
    no_mask: np.ndarray


@torch.inference_mode()
def order_effect(trace: Trace, tokens: range | None = None) -> OrderEffect:
    """Reverse everything before each token, or each of some, and run the model again."""
    ids = list(trace.own_ids)
    tokens = range(len(ids)) if tokens is None else tokens
    orders = {token: [*ids[:token][::-1], *ids[token:]] for token in tokens}
    moved = [token for token, order in orders.items() if order != ids]
    shape = (len(tokens), trace.n_layers)
    found = OrderEffect(np.full(shape, np.nan, np.float32), np.full(shape, np.nan, np.float32))
    everything = torch.ones(len(ids), len(ids), dtype=torch.bool)
    for values, mask in ((found.own_mask, None), (found.no_mask, everything)):
        (was,) = _behind(trace, [ids], mask)  # [T, L, D]
        for first in range(0, len(moved), AT_ONCE):
            some = moved[first : first + AT_ONCE]
            now = _behind(trace, [orders[token] for token in some], mask)
            at = torch.tensor(some)
            change = now[torch.arange(len(some)), at] - was[at]
            values[[token - tokens.start for token in some]] = (change.norm(dim=-1) / was[at].norm(dim=-1)).numpy()
    return found


def _behind(trace: Trace, orders: list[list[int]], mask: Tensor | None) -> Tensor:
    """The residual stream behind every block, of several orders of one side's tokens: [N, T, L, D]."""
    made: list[Tensor] = []
    hooks = [block.register_forward_hook(lambda *given: made.append(given[2])) for block in trace.stack.blocks]
    given = torch.tensor(orders)
    source, target = given, None
    if trace.prefix and trace.side == "decoder":
        source, target = torch.tensor([list(trace.ids)]).expand(len(orders), -1), given
    elif trace.target_ids is not None and trace.prefix:
        target = torch.tensor([list(trace.target_ids)]).expand(len(orders), -1)
    try:
        trace.model.vectors(source, target, visible={} if mask is None else {trace.stack.side: mask})
    finally:
        for hook in hooks:
            hook.remove()
    return torch.stack(made, 2)


ORDER: Verdict[OrderEffect] = Verdict(
    "position.order",
    Claim("none", lambda effect: np.maximum(effect.own_mask.max(-1), effect.no_mask.max(-1)) < ROUNDING),
    Claim(
        "later",
        lambda effect: (
            (effect.own_mask[..., 0] < ROUNDING)
            & (effect.own_mask.max(-1) > ROUNDING)
            & (effect.no_mask.max(-1) < ROUNDING)
        ),
    ),
    Claim("at_once", lambda effect: (effect.own_mask[..., 0] >= ROUNDING) & (effect.no_mask.max(-1) < ROUNDING)),
)


def measured(look: Look) -> range:
    """The tokens of which it is measured."""
    return range(len(look)) if len(look) <= MOST_TOKENS else range(look.token, look.token + 1)


def effect(look: Look) -> OrderEffect:
    tokens = measured(look)
    return look.once(lambda look: order_effect(look.trace, tokens), (order_effect, tokens))


def _table(look: Look, values: np.ndarray, write: str = "") -> Any:
    return By(("token",), values, start={"token": measured(look).start}, write=write)


def is_moved(look: Look) -> np.ndarray:
    """Of which measured tokens another order changes what stands before them."""
    return ~np.isnan(effect(look).own_mask[:, 0])


lead = say.text("none_lead")


def draw(look: Look) -> Scene | None:
    """The change of the selected token's vector behind every block: under the model's mask, and under none."""
    found, words = effect(look), look.words
    if not is_moved(look).any():
        return None
    told = f"{words('none_layer')} {{{{at}}}}\n{{{{value}}}} · {{{{name}}}}"
    series = [
        chart.Line(words("none_own_mask"), _table(look, found.own_mask), "residual", told=told, write="g3", thick=2.4),
        chart.Line(
            words("none_no_mask"), _table(look, found.no_mask), "position", symbol="diamond", told=told, write="g3",
            thick=2.4,
        ),
    ]  # fmt: skip
    x = chart.Axis(-0.2, look.n_layers - 0.8, words("none_layer"))
    y = chart.axis(found.own_mask, found.no_mask, title=words("none_change"))
    at = np.arange(look.n_layers)
    scene = chart.lines("position.effect", words("none_alt"), at, series, x, y, height=360)
    return look.drawn(
        scene, ["resid.out"], data=OrderEffect(*(_table(look, values) for values in found)), keys_at="below"
    )


source = say.source("resid.out")


def tell(look: Look) -> Iterator[Line]:
    """What another order does to the selected token, or that there is none to try."""
    found, moves = effect(look), is_moved(look)
    ends = {"first": found.own_mask[:, 0], "last": found.own_mask[:, -1], "largest": found.no_mask.max(-1)}
    known = {name: _table(look, values, "g2") for name, values in ends.items()}
    see = look.text("none_see", token=look.token_named(), count=by("token", np.arange(len(look)), "whole"), **known)
    yield _only(look, see, moves)
    yield _only(look, look.claim(ORDER, found, "", **known), moves)
    yield _only(look, Line(look.words("none_short"), "notice"), ~moves)


def _only(look: Look, said: Line, where: np.ndarray) -> Line:
    """A line that is said at some of the measured tokens alone."""
    words = said.words if isinstance(said.words, Phrase) else Phrase(said.words, {})
    texts, at = (words.template,), np.zeros(len(where), int)
    if isinstance(words.template, Among):
        assert isinstance(words.template.at, By)
        texts, at = tuple(words.template.names), words.template.at.values
    which = _table(look, np.where(where, at, len(texts)))
    return said._replace(words=words._replace(template=Among((*texts, ""), which)))


to_try = say.to_try("none_question", "none_answer")


def quiz(look: Look) -> Quiz | None:
    """After which block the other order shows most."""
    if len(measured(look)) < len(look):
        return None
    shown = asking.spread(look.n_layers)
    names = [look.common("guess_block", n=n) for n in shown]
    values = effect(look).own_mask[:, shown]
    return asking.largest(look, "token", values, names, "percent", "guess_order", token=look.token_named())


_said = say.text("none_formula")


def _hand(look: Look) -> Any:
    said = look.text("none_hand", token=look.token_named(), layer=look.layer, head=look.head)
    return said, [Worked((), look.site("attn.z"), (look.head, look.token, 0))], {}


def _numbers(look: Look) -> Any:
    found = effect(look)
    layers = [str(layer) for layer in range(look.n_layers)]
    n = look.token - measured(look).start
    values = np.stack([found.own_mask[n], found.no_mask[n]])
    return "order_effect", values, [look.words("none_own_mask"), look.words("none_no_mask")], layers


APART = Tabs(
    lambda look: ["embed.out", *(look.site(f"attn.{name}") for name in ("scores", "mask", "masked", "pattern"))],
    _hand,
    lambda look: [look.site(f"attn.{name}") for name in ("pattern", "masked", "scores")],
    _numbers,
    _said,
)
