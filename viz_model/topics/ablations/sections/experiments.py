"""The experiments that a visitor can try, in the order in which the page offers them."""

from viz_model.topics.ablations.sections.base import Experiment, Finding, Lab
from viz_model.topics.ablations.sections.pieces import FixedPattern, Head, Layer, Neuron
from viz_model.topics.ablations.sections.reading import Cell, Order, Sentence
from viz_model.topics.ablations.sections.structure import Mask, Norm, Position, Residual, Scale

__all__ = ["EXPERIMENTS", "Experiment", "Finding", "Lab"]

EXPERIMENTS: dict[str, Experiment] = {
    experiment.name: experiment
    for experiment in (
        *(Scale(), Position(), Order(), Mask(), Residual(), Norm()),
        *(Head(), FixedPattern(), Layer(), Neuron()),
        *(Cell(), Sentence()),
    )
}
