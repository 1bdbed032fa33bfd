"""What a bug is: where it is looked at, what both functions are given there, and how what they give is read."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, NamedTuple

from torch import Tensor

from viz_model.model import masks
from viz_model.model.norms import RMSNorm
from viz_model.runs.edits import NoNorm
from viz_model.runs.trace import Trace
from viz_model.tokenizers.tokenizer import IdTokenizer
from viz_model.topics.mistakes.numbers import swaps
from viz_model.topics.mistakes.numbers.results import Axis, Effect, Result, matrix
from viz_model.topics.mistakes.numbers.swaps import Changes, Function

LEAST = 3
"""Tokens that a text must have: with fewer, right and wrong often come to the same."""


class Place(NamedTuple):
    """Where a bug is looked at. ``trace`` is seen from one stack, in which ``position`` counts."""

    trace: Trace
    layer: int
    head: int
    position: int

    def at(self, name: str) -> str:
        """The name of a value of the block."""
        return f"blocks.{self.layer}.{name}"

    @property
    def visible(self) -> Tensor:
        """The mask [Tq, Tk] of the layer's self-attention, True where a query may look."""
        return swaps.visible(self.trace, self.layer)

    @property
    def output(self) -> int:
        """The position of the output that is looked at: this one, or the last, where another stack predicts."""
        run = self.trace
        return self.position if run.stack.side == run.config.sides[-1] else len(run.target_ids or ()) - 1


def _is_affine_norm(place: Place) -> bool:
    """Whether the norms take off a mean, divide by a scale, and have a gain and a shift."""
    names = (place.at("attn.norm.mean"), place.at("attn.norm.scale"))
    weights = place.trace.site(place.at("attn.norm.out")).weights
    return all(name in place.trace for name in names) and len(weights) == 2


def _has_norms_and_additions(place: Place) -> bool:
    config = place.trace.config
    if config.parallel or config.norm_at in (
        "branch",
        "both",
    ):  # the pairs are of one norm, one sub-layer, one addition
        return False
    return config.residual and config.norm != NoNorm.changes["norm"]


def _is_norm_of_heads(place: Place) -> bool:
    """Whether every head's queries and keys have an RMSNorm of their own."""
    norm = place.trace.stack.block(place.layer).attn.qk_norm
    return norm is not None and not norm.over_heads and isinstance(norm.q, RMSNorm)


NEEDS: Mapping[str, Callable[[Place], bool]] = MappingProxyType(
    {
        "long": lambda at: len(at.trace) >= LEAST,
        "causal": lambda at: at.visible.equal(masks.causal(*at.visible.shape)),
        "two_way": lambda at: bool(at.visible.all()) and at.trace.stack.side == "encoder",
        "scaled": lambda at: at.trace.config.divides_by_root and at.trace.config.score_cap is None,
        "uncapped": lambda at: at.trace.config.score_cap is None,
        "heads": lambda at: at.trace.config.n_heads > 1,
        "waves": lambda at: getattr(at.trace.config.position, "layout", "") == "interleaved",
        "layer_norm": _is_affine_norm,
        "qk": lambda at: _is_norm_of_heads(at),
        "words": lambda at: not isinstance(at.trace.tokenizer, IdTokenizer),
        "added": _has_norms_and_additions,
        "pre": lambda at: at.trace.norm_at == "pre",
        "predicts": lambda at: "logits" in at.trace and at.trace.stack.side == "decoder",
        "tied": lambda at: "logits" in at.trace and at.trace.config.tie_embeddings,
    }
)
"""What a run may lack for a bug, by the key of the words that say so."""

INPUTS: Mapping[str, tuple[Axis, Axis]] = MappingProxyType(
    {
        **dict.fromkeys(("scores", "masked", "pattern"), ("query", "key")),
        "q": ("query", "dimension"),
        "x": ("token", "dimension"),
    }
)
"""The axes of the arguments that can be drawn."""


def of_run(place: Place, name: str) -> Tensor:
    """What the run has under a name, of the head that is looked at where heads have their own."""
    run = place.trace
    return run.head(name, place.head) if run.site(name).axes[0] == "H" else run[name]


@dataclass(frozen=True)
class Bug:
    """A pair of functions of one name, of which one is wrong.

    Attributes:
        name: of both functions, in :mod:`.right` and :mod:`.wrong`.
        site: the value of the run that the right one gives; ``{layer}`` is that of the place.
        given: the arguments by name, more than a function takes.
        needs: what a run must have, of :data:`NEEDS`.
        reads: the argument that is drawn before there is an answer, of :data:`INPUTS`; "" draws none.
        shown: draws what is no matrix of the axes of ``site``.
        read: makes of what a function gave what the run holds.
        traced: what the run has in the place of the right one's result, where that is not ``site``.
        facts: numbers for its words, of what both gave.
        changed: a function in every place of the model where it belongs; None where no forward pass holds it.
        effect: what the model says then, where that is not for ``changed`` to say.
        function: the name of both functions, where it depends on the model.
    """

    name: str
    site: str
    given: Callable[[Place], dict[str, Any]]
    needs: tuple[str, ...] = ("long",)
    reads: str = ""
    shown: Callable[[Place, Any], Result] | None = None
    read: Callable[[Place, Any], Any] = lambda place, value: value
    traced: Callable[[Place], Tensor | None] | None = None
    facts: Callable[[Place, Any, Any], dict[str, str]] = lambda place, right, wrong: {}
    changed: Callable[[Place, Function], Changes] | None = None
    effect: Callable[[Place, Function], Effect] | None = None
    function: Callable[[Place], str] | None = None

    def lacks(self, place: Place) -> str | None:
        """What a run lacks for it; None where it has everything."""
        return next((need for need in self.needs if not NEEDS[need](place)), None)

    def function_name(self, place: Place) -> str:
        return self.name if self.function is None else self.function(place)

    def site_of(self, place: Place) -> str:
        """The name of the value that the right one gives."""
        return self.site.format(layer=place.layer)

    def result(self, place: Place, value: Any) -> Result:
        """What a function gave, to be drawn."""
        if self.shown is not None:
            return self.shown(place, value)
        axes = place.trace.site(self.site_of(place)).axes
        columns: Axis = "key" if axes[-1] == "Tk" else "dimension"
        rows: Axis = "token" if len(axes) == 2 else "query"  # of one head
        return matrix(value[: len(place.trace)], rows, columns, is_pattern=columns == "key")
