"""What the sections of this page tell of: the chosen block, as the chosen token goes through it."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from viz_model.app import runs
from viz_model.app.cache import cached
from viz_model.app.page import Page
from viz_model.config import Side
from viz_model.model import sites
from viz_model.topics.block.choices import DIMENSION, NEURON
from viz_model.topics.block.numbers import views
from viz_model.topics.block.pictures.neurons import NeuronsView
from viz_model.topics.block.pictures.strips import StripsView


@cached()
def _neurons(run: runs.RunKey, side: Side, layer: int, token: int) -> NeuronsView:
    """Of the hidden layer, with what its strongest neurons promote, which takes as long as all else here."""
    return views.neurons_view(runs.trace(run).at(side), layer, token)


@dataclass(frozen=True)
class OneBlock:
    """The chosen token in the chosen block."""

    page: Page

    @cached_property
    def vectors(self) -> StripsView:
        """From the block's input to its output."""
        return views.strips_view(self.page.trace, self.page.view.layer, self.page.token)

    @property
    def n_neurons(self) -> int:
        """How many hidden neurons its feed-forward has; 0 where it is made otherwise."""
        return sites.n_neurons(self.page.lm.config, self.page.trace.stack.side, self.page.view.layer)

    @cached_property
    def neurons(self) -> NeuronsView:
        """Of its hidden layer, where it has one."""
        page = self.page
        return _neurons(page.run_key, page.trace.stack.side, page.view.layer, page.token)

    @property
    def facts(self) -> dict[str, object]:
        """What most sentences need."""
        d_model = self.page.lm.config.d_model
        return {
            "token": self.page.token_name(),
            "layer": self.page.view.layer,
            "norm": self.vectors.norm,
            "d_model": d_model,
            "root": f"{d_model**0.5:.1f}",
        }

    @property
    def dimension(self) -> int:
        """The one that the visitor follows."""
        return min(self.page.chosen(DIMENSION), self.page.lm.config.d_model - 1)

    @property
    def neuron(self) -> int:
        """The one that is taken for a key and a value; as long as nobody has chosen one, the strongest here."""
        chosen, strongest = self.page.chosen(NEURON), self.neurons.strongest
        if chosen is not None and chosen < self.neurons.n_neurons:
            return chosen
        return strongest[0].number if strongest else 0

    @property
    def kind(self) -> str:
        """Which texts are true of the block that ran: those of its norms' place, or of a part that is missing."""
        if not self.vectors.residual:
            return "alone"
        return self.vectors.norm_at if self.vectors.has_norms else "bare"

    @property
    def of_stream(self) -> str:
        """The same for texts about the stream alone, which on a branch no norm touches."""
        return "branch" if self.kind in ("branch", "both", "parallel") else self.kind

    @property
    def of_sums(self) -> str:
        """The same for texts about what is added to the stream, norms aside."""
        return "pre" if self.kind == "bare" or self.of_stream == "branch" else self.kind

    @property
    def crosses(self) -> str:
        """The end of the keys of texts about a block that reads an encoder too."""
        return "_cross" if self.vectors.crosses else ""

    def labels(self, *keys: str, of: str = "") -> dict[str, str]:
        """Labels of the page by their keys, which it finds after the prefix ``of``."""
        return {key: self.page.words(of + key) for key in keys}
