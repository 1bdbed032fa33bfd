"""Figures of a run, the same that the app shows: for notebooks, papers and course pages.

>>> import viz_model as vm
>>> trace = vm.load("story-pre-ln").trace("The cat sat on the mat")
>>> figure = vm.plot.head(trace, layer=1, head=3)
>>> figure.data.values.shape  # [Tq, Tk]
(6, 6)

Every function takes a :class:`viz_model.Trace`, ``lang`` ("en", "zh", any folder of ``texts/``) and ``theme`` ("light",
"dark", "paper"), and returns a :class:`Figure`, which shows itself in a notebook and has ``save("x.svg")``, ``.png``,
``.pdf``, ``.html``, ``.csv``. ``title``, ``caption``, ``legend``, ``highlight``, ``square`` and ``letters`` lay it out
(:class:`viz_model.plot.figure.Style`), and :func:`grid` puts several into one. Of a model with two stacks ``stack`` is
"encoder" or "decoder", the decoder unless said. Layers, heads and positions count from 0, or from the end where they
are negative. What there is not is refused with a ``ValueError`` that says what there is.
"""

from viz_model.plot.figure import Figure
from viz_model.plot.grid import Grid, grid
from viz_model.plot.pictures import (
    attribution,
    block,
    compare,
    cross,
    embedding,
    experts,
    head,
    heads,
    logit_lens,
    neurons,
    next_tokens,
    norms,
    overview,
    painted,
    position,
    residual,
    show,
    steps,
    tokens,
)

__all__ = [
    "Figure",
    "Grid",
    "attribution",
    "block",
    "compare",
    "cross",
    "embedding",
    "experts",
    "grid",
    "head",
    "heads",
    "logit_lens",
    "neurons",
    "next_tokens",
    "norms",
    "overview",
    "painted",
    "position",
    "residual",
    "show",
    "steps",
    "tokens",
]
