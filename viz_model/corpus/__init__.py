"""What heads and neurons do over a whole corpus: means of every head, and the texts that fire each neuron most.

One text shows what a head did once. Here every text of a folder, or of any iterable, goes through
the model, and what is kept is a few numbers for each head and a few places for each neuron:

    from viz_model import corpus
    found = corpus.survey(lm, corpus.texts_of(Path("stories")), partial=Path("stats.partial"))
    found.natural.heads.mean("previous")  # [L, H]
    found.natural.neurons.text[2, 117]  # the texts that fire neuron 117 of layer 2 most

or ``python -m viz_model.corpus FOLDER --model story-pre-ln --out stats``. What each number
means stands in :mod:`viz_model.corpus.statistics`.

Of an encoder–decoder it is the encoder that is measured: what the decoder looks at depends on a
target, which a text alone does not have.
"""

from viz_model.corpus.run import Settings, measure, repeated_texts, survey
from viz_model.corpus.statistics import MEASURES, Firings, HeadSums, Statistics, Survey, read, write
from viz_model.corpus.texts import texts_of

__all__ = [
    "MEASURES",
    "Firings",
    "HeadSums",
    "Settings",
    "Statistics",
    "Survey",
    "measure",
    "read",
    "repeated_texts",
    "survey",
    "texts_of",
    "write",
]
