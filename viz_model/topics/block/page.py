"""Block: one token's vector on its way up through a block, its norms, its hidden neurons and its weights."""

from viz_model.app.topic import Door, Layout, Tabs, Topic, show
from viz_model.island.page import Trials
from viz_model.topics.block import choices
from viz_model.topics.block.sections import (
    depth,
    dropout,
    experts,
    firing,
    memory,
    neurons,
    norm,
    real_code,
    taken_apart,
    vectors,
    weights,
    what_if,
)
from viz_model.topics.block.sections.one_block import OneBlock

TOPIC = Topic(
    name="block",
    layout=Layout(
        of=OneBlock,
        sections=(
            vectors.section,
            Door("lengths", (depth.section, norm.section), (choices.WHICH,)),
            Door(
                "neurons",
                (experts.section, neurons.section, memory.section),
                (choices.NEURON, choices.FIRES, choices.EXPERTS_GET),
            ),
            Door("change", (what_if.section, dropout.section), choices.CHANGED),
            Door("weights", (weights.section, real_code.section), (choices.REAL_CODE,)),
        ),
        tabs=Tabs(taken_apart.formula, taken_apart.hand, taken_apart.code, taken_apart.numbers),
        trials=Trials(
            ("norm", "residual", "layer", "neuron"), ("layer_norm", "norm_side", "add", "attend", "leave_out")
        ),
        question=taken_apart.question,
    ),
    choices=choices.ALL,
    without=frozenset({"head"}),
    pictures=firing.LAYOUT,
)


def run() -> None:
    """Open the page."""
    show(TOPIC)
