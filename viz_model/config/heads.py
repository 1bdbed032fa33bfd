"""The heads: what a model makes of its last vectors."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Literal, TypeAlias

from viz_model.config.feedforward import Activation
from viz_model.config.variant import ConfigError, Variant

if TYPE_CHECKING:
    from viz_model.config.model import ModelConfig

MAX_CLASSES = 2**15
MAX_LABEL = 500


class HeadScheme(Variant):
    """A head: what it has numbers for."""

    of_tokens: ClassVar[bool] = False
    """Every token, at every position."""

    @property
    def classes(self) -> tuple[str, ...]:
        """What the classes are called among which it chooses; none where it does another thing."""
        return ()


@dataclass(frozen=True, kw_only=True)
class LanguageHead(HeadScheme):
    """Logits are dot products with the rows of the unembedding.

    ``scale`` multiplies the vector by D^−½ first, as T5 does where it ties its embeddings; ``cap`` keeps the logits
    between ± this by tanh (Gemma Team 2024b, section 2); ``factor`` multiplies them (Cohere, Granite).
    """

    bias: bool = False
    scale: bool = False
    cap: float | None = None
    factor: float | None = None
    of_tokens: ClassVar[bool] = True

    def check(self, model: "ModelConfig") -> None:
        for name, number in (("cap", self.cap), ("factor", self.factor)):
            if number is not None and not number > 0:
                raise ConfigError(f"head: {name}: expected a number above 0, or none, got {number!r}")
        if self.scale and self.factor is not None:
            raise ConfigError("head: factor: the vector is multiplied by D^−½ already")


@dataclass(frozen=True, kw_only=True)
class MaskedHead(HeadScheme):
    """BERT's head: a linear layer, an activation and a norm before the unembedding (Devlin et al. 2019).

    It predicts what a mask hides; of a decoder, the next token.
    """

    activation: Activation = "gelu"
    dense_bias: bool = True
    bias: bool = True
    """Of the logits."""
    of_tokens: ClassVar[bool] = True

    def check(self, model: "ModelConfig") -> None:
        if model.kind == "encoder_decoder":
            raise ConfigError("head: an encoder_decoder has no layer of its own before its logits here")


@dataclass(frozen=True, kw_only=True)
class ClassHead(HeadScheme):
    """A number for each class, from the vector at [CLS] behind the last norm (Dosovitskiy et al. 2021, equation 4).

    Classifiers of texts have a layer of their own in front (Devlin et al. 2019, section 4.1, as released).
    """

    labels: tuple[str, ...] = ("0", "1")
    """What the classes are called, in the order of the logits."""
    activation: Literal["tanh", "relu"] | None = None
    """Of the layer in front; None has no such layer."""

    @property
    def classes(self) -> tuple[str, ...]:
        return self.labels

    def check(self, model: "ModelConfig") -> None:
        if not 1 <= len(self.labels) <= MAX_CLASSES:
            raise ConfigError(f"head: labels: expected 1 to {MAX_CLASSES}, got {len(self.labels)}")
        if any(not 0 < len(label) <= MAX_LABEL for label in self.labels):
            raise ConfigError(f"head: labels: expected 1 to {MAX_LABEL} characters each")


@dataclass(frozen=True, kw_only=True)
class NoHead(HeadScheme):
    """An encoder that stops at its vectors, as sentence encoders do: there are no logits."""


Head: TypeAlias = LanguageHead | MaskedHead | ClassHead | NoHead
