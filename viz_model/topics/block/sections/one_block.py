"""What the sections of this page tell of: the chosen block, as the chosen token goes through it."""

from __future__ import annotations

from typing import NamedTuple

from viz_model.app.page import Page
from viz_model.topics.block.choices import DIMENSION, NEURON
from viz_model.topics.block.numbers import views
from viz_model.topics.block.pictures.neurons import NeuronsView
from viz_model.topics.block.pictures.strips import StripsView


class OneBlock(NamedTuple):
    """The chosen token in the chosen block.

    Attributes:
        vectors: from the block's input to its output.
        neurons: of its hidden layer.
    """

    page: Page
    vectors: StripsView
    neurons: NeuronsView

    @classmethod
    def of(cls, page: Page) -> OneBlock:
        place = page.trace, page.view.layer, page.token
        return cls(page, views.strips_view(*place), views.neurons_view(*place))

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
    def crosses(self) -> str:
        """The end of the keys of texts about a block that reads an encoder too."""
        return "_cross" if self.vectors.crosses else ""

    def labels(self, *keys: str, of: str = "") -> dict[str, str]:
        """Labels of the page by their keys, which it finds after the prefix ``of``."""
        return {key: self.page.words(of + key) for key in keys}
