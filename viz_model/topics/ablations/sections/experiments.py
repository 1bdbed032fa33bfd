"""The experiments that a visitor can try, in the order in which the page offers them."""

from viz_model.topics.ablations.claims import OUTCOMES
from viz_model.topics.ablations.sections import pieces, reading, routed, sentence, structure
from viz_model.topics.ablations.sections.experiment import Experiment

_ALL = (*structure.EXPERIMENTS, *pieces.EXPERIMENTS, routed.EXPERT, reading.ORDER, reading.CELL, sentence.SENTENCE)
_BY_NAME = {experiment.name: experiment for experiment in _ALL}

EXPERIMENTS: dict[str, Experiment] = {name: _BY_NAME[name] for name in OUTCOMES}
