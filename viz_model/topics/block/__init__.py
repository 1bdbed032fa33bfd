"""Block: one token's vector on its way up through a block, its norms, its hidden neurons and its weights."""

from dataclasses import replace

from viz_model.island import say
from viz_model.island.page import Item, Page, Row, Section, Topic, beside, columns, where
from viz_model.island.tabs import Trials
from viz_model.topics.block import experts, firing, lengths, memory, neurons, norm, tabs, vectors, weights

MAIN: tuple[Item | Row, ...] = (
    say.text("lead"),
    vectors.instead,
    vectors.shared,
    vectors.title,
    beside((vectors.choose, vectors.draw, vectors.below), vectors.tell),
)
LENGTHS = Section(
    "lengths",
    (
        lengths.title,
        lengths.draw,
        lengths.tell,
        norm.title,
        *where(norm.has, norm.choose),
        columns(where(norm.has, norm.draw), (*where(norm.has, norm.parameters), norm.tell)),
    ),
    ("which",),
)
NEURONS = Section(
    "neurons",
    (
        experts.title,
        Row(((experts.draw_routes,), (experts.tell_routes,)), (3, 2)),
        experts.draw,
        experts.tell,
        neurons.title,
        *where(
            neurons.count,
            columns((neurons.draw_active, neurons.tell), (neurons.draw, neurons.tell_promoted)),
            neurons.curve_title,
            *where(
                neurons.has_curve,
                columns(neurons.draw_curve, (neurons.draw_gates, neurons.tell_gates, neurons.tell_curve)),
            ),
            say.title("memory", memory.facts),
            memory.choose,
            *where(memory.is_product, memory.draw),
            memory.tell,
            memory.link,
            *where(
                memory.is_product,
                columns(
                    (memory.matched_title, memory.draw_matched, memory.matched_tell),
                    where(memory.says, memory.says_title, memory.draw_says, say.text("says", memory.facts)),
                ),
            ),
        ),
    ),
    ("neuron",),
)
WEIGHTS = Section("weights", (weights.title, beside(weights.draw, weights.tell)))
PAGE = Page(
    "block",
    items=(*MAIN, LENGTHS, NEURONS, WEIGHTS),
    end=(tabs.quiz, tabs.to_try, say.leads("backward", "learns", lambda config: config.writes)),
    has_twin=True,
    options=(("dimension", range(100_000)), ("which", ("attn", "cross", "ffn")), ("neuron", range(100_000))),
    tabs=tabs.TABS,
    trials=Trials(("norm", "residual", "layer", "neuron"), ("layer_norm", "norm_side", "add", "attend", "leave_out")),
)
PICTURES = replace(
    PAGE,
    items=(
        *MAIN,
        LENGTHS,
        Section(
            "neurons",
            (firing.title, *where(neurons.count, memory.choose, firing.draw, firing.tell)),
            ("neuron",),
        ),
        WEIGHTS,
    ),
    trials=Trials(("norm", "residual", "layer")),
    fits=lambda config: config.is_vision_encoder,
)
TOPIC = Topic("block", (PAGE, PICTURES), without=frozenset({"head"}), mixes=True)
