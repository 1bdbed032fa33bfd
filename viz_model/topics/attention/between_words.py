"""The selected head between words: what their tokens receive is summed, what they give is averaged."""

from collections.abc import Iterator

import numpy as np

from viz_model.drawing import matrix
from viz_model.drawing.scene import Scene
from viz_model.island.look import Look
from viz_model.island.page import Field, Typed
from viz_model.island.prose import Line
from viz_model.runs.words import joined, spans_of, spelled

NAME, MOST = "words", 400
OPTION = (NAME, Typed(most=MOST))
LARGEST = 60
"""Words that have a row."""


def _spans(look: Look) -> tuple[tuple[int, int], ...] | None:
    """The tokens of each word that a visitor has written, blanks between them; None where that is another text."""
    try:
        return spans_of(look.trace, look.options.get(NAME, "").split() or None)
    except ValueError:
        return None


def typed(look: Look) -> Field:
    spans = spans_of(look.trace, None)
    usual = " ".join(spelled(look.trace.tokens[start:stop]) for start, stop in spans)
    return Field(NAME, look.words("words_typed"), look.words("words_help"), usual[:MOST], MOST)


def draw(look: Look) -> Scene | None:
    """A row a word that reads, a column a word that is read: each row sums to 1, as rows of tokens do."""
    spans = _spans(look)
    if spans is None or not 1 < len(spans) <= LARGEST:
        return None
    names = [spelled(look.trace.tokens[start:stop]) for start, stop in spans]
    scene = matrix.scene(
        "attention.words",
        look.words("words_alt", head=look.head_number, layer=look.layer_number),
        look.by("layer head", joined(look.every("attn.pattern"), spans).astype(np.float32)),
        names,
        names,
        axes=(look.words("words_reads"), look.words("words_read")),
        look="share",
        role="pattern",
        frames=False,
    )
    return look.drawn(scene, ["attn.pattern"])


def tell(look: Look) -> Iterator[Line]:
    """How many tokens are joined; or why there is nothing to see."""
    spans = _spans(look)
    if spans is None:
        yield Line(look.words("words_other"), "notice")
    elif len(spans) < 2:
        yield look.note("words_one")
    elif len(spans) > LARGEST:
        yield look.note("words_many", n=len(spans), most=LARGEST)
    else:
        yield look.note("words_joined", n=len(spans), tokens=len(look))
