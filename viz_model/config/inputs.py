"""What feeds the first block: the tokens of a text, or the patches of a picture."""

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, TypeAlias

from viz_model.config.heads import LanguageHead
from viz_model.config.limits import LIMITS
from viz_model.config.variant import ConfigError, Variant
from viz_model.images import Resample

if TYPE_CHECKING:
    from viz_model.config.model import ModelConfig

MAX_PICTURE_SIDE = 2**12


class InputScheme(Variant):
    """An input: what enters, and how many ids a run may name."""

    is_picture: ClassVar[bool] = False
    """Whether it is a picture, and no text."""

    def n_ids(self, model: "ModelConfig") -> int:
        """Ids of a run lie below this."""
        return model.n_vocab


@dataclass(frozen=True, kw_only=True)
class Tokens(InputScheme):
    """What enters is a text: ids of a vocabulary, each with a trained row."""

    width: int = 0
    """E, numbers of a row, of a position and of a kind of token, where one more matrix makes the stream's D of their
    sum; the head of masks comes back to E numbers, and reads the same table (Lan et al. 2020, section 3.1). 0 is D, and
    no such matrix."""

    def check(self, model: "ModelConfig") -> None:
        if not 0 <= self.width <= LIMITS["d_model"]:
            raise ConfigError(f"inputs: width: expected a whole number from 0 to {LIMITS['d_model']}, got {self.width}")
        if self.width and (model.kind != "encoder" or isinstance(model.head, LanguageHead) or model.scale_embedding):
            raise ConfigError("inputs: width: only an encoder without √D has rows of a width of their own here")


@dataclass(frozen=True, kw_only=True)
class Patches(InputScheme):
    """What enters is a picture: square patches, each projected by one matrix, behind a trained vector, [CLS].

    Dosovitskiy et al. 2021, equation 1. A level v of 0 to 255 enters as (v/255 − mean)/std of its channel; a picture
    of another size is stretched first. Of an encoder–decoder they are what its encoder reads.
    """

    height: int = 224
    width: int = 224
    patch: int = 16
    """P, the side of a patch, in pixels."""
    channels: int = 3
    """1 is gray; 3 are red, green and blue."""
    mean: tuple[float, ...] = (0.5, 0.5, 0.5)
    std: tuple[float, ...] = (0.5, 0.5, 0.5)
    resample: Resample = "bilinear"
    """How a picture is stretched, in the words of Pillow."""
    cls: bool = True
    """Whether [CLS] stands before them; where a decoder reads them, it may be left out."""
    is_picture: ClassVar[bool] = True

    def n_ids(self, model: "ModelConfig") -> int:
        """Of [CLS], whose id is 0, and the patches."""
        return self.n_patches + 1

    @property
    def rows(self) -> int:
        """How many patches stand above each other."""
        return self.height // self.patch

    @property
    def columns(self) -> int:
        """How many patches stand side by side."""
        return self.width // self.patch

    @property
    def n_patches(self) -> int:
        return self.rows * self.columns

    @property
    def n_values(self) -> int:
        """U, how many numbers a patch is: pixels times channels."""
        return self.channels * self.patch**2

    def check(self, model: "ModelConfig") -> None:
        for name in ("height", "width", "patch"):
            if not 1 <= (size := getattr(self, name)) <= MAX_PICTURE_SIDE:
                raise ConfigError(f"inputs: {name}: expected a whole number from 1 to {MAX_PICTURE_SIDE}, got {size}")
        if self.height % self.patch or self.width % self.patch:
            raise ConfigError(f"inputs: patch: {self.patch} does not divide {self.height} × {self.width} pixels")
        if self.channels not in (1, 3):
            raise ConfigError(f"inputs: channels: expected 1 or 3, got {self.channels}")
        for name in ("mean", "std"):
            if len(getattr(self, name)) != self.channels:
                raise ConfigError(f"inputs: {name}: expected one number for each of {self.channels} channels")
        if not all(0 < std < math.inf for std in self.std):
            raise ConfigError(f"inputs: std: expected numbers above 0, got {self.std}")
        if model.kind == "decoder":
            raise ConfigError("inputs: only an encoder reads patches, this is a decoder")
        if model.n_context != self.n_patches + self.cls:
            behind = " behind [CLS]" if self.cls else ""
            raise ConfigError(f"n_context: {self.n_patches} patches{behind}, got {model.n_context}")
        if model.kind == "encoder_decoder":
            return
        if not self.cls:
            raise ConfigError("inputs: cls: an encoder by itself is asked at [CLS]")
        if model.n_vocab:
            raise ConfigError(f"n_vocab: a model that reads patches has no vocabulary, got {model.n_vocab}")
        if model.head.of_tokens:
            raise ConfigError(f"head: a model that reads patches predicts no tokens, got {type(model.head).__name__}")
        if model.tie_embeddings or model.scale_embedding or model.n_segments:
            raise ConfigError("inputs: patches have no table of tokens to tie or to scale, and no segments")


Input: TypeAlias = Tokens | Patches
