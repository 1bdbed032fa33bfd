"""In place of a tokenizer, for a model that reads pictures: a text is a picture as text, its tokens are patches."""

from collections.abc import Iterable
from typing import Literal, NamedTuple

from viz_model import images
from viz_model.config import Patches
from viz_model.tokenizers.text import TextError
from viz_model.tokenizers.tokenizer import Token, Tokenizer

CLS = "[CLS]"


class Place(NamedTuple):
    """What stands at a position.

    Attributes:
        label: what it is called.
        color: a number that a palette turns into its color.
        kind: a token of a text, a patch of a picture, or [CLS], which gathers what is said of the whole picture.
        at: row and column of a patch, from 0.
    """

    label: str
    color: int
    kind: Literal["token", "patch", "cls"] = "token"
    at: tuple[int, int] | None = None


class PatchTokenizer(Tokenizer):
    """Id 0 is [CLS], which stands in front where the model has it; id n is patch n, row by row."""

    def __init__(self, patches: Patches) -> None:
        self.name = "patches"
        self.patches = patches
        self.n_vocab = patches.n_patches + 1
        self.controls = frozenset((0,))

    def encode(self, text: str, *, special: bool = True, as_text: bool = False) -> list[int]:
        """[CLS] and every patch, whatever the picture is.

        Raises:
            TextError: the text is not a picture (:func:`viz_model.images.decode`).
        """
        self.picture(text)
        return self.order if special else list(range(1, self.n_vocab))

    @property
    def order(self) -> list[int]:
        """The ids of a whole picture: [CLS], where the model has it, and every patch, row by row."""
        return list(range(0 if self.patches.cls else 1, self.n_vocab))

    def picture(self, text: str) -> images.Levels:
        """The picture that a text is.

        Raises:
            TextError: it is none.
        """
        try:
            return images.decode(text)
        except images.PictureError as error:
            raise TextError(str(error)) from None

    def decode(self, ids: Iterable[int]) -> str:
        """The places of the patches, with spaces between them."""
        return " ".join(token.text for token in self.tokens(ids))

    def token(self, id: int) -> Token:
        """``[CLS]``, or the row and the column of a patch, from 1: ``2,3``."""
        self._unused(int(id))
        place = self.place(int(id))
        return Token(int(id), b"", CLS if place is None else f"{place[0] + 1},{place[1] + 1}")

    def place(self, id: int) -> tuple[int, int] | None:
        """The row and the column of a patch, from 0; None of [CLS]."""
        return divmod(id - 1, self.patches.columns) if id else None

    def places(self, ids: Iterable[int]) -> tuple[Place, ...]:
        """What stands at each position."""
        found = []
        for n, at in enumerate(map(self.place, ids)):
            label = CLS if at is None else f"row {at[0] + 1}, column {at[1] + 1}"
            found.append(Place(label, n, "cls" if at is None else "patch", at))
        return tuple(found)
