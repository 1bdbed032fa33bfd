"""Block: one token's vector on its way up through a block, its norms, its hidden neurons and its weights."""

from viz_model.app import runs
from viz_model.app.stage import Stage, show
from viz_model.topics.block.pictures import lengths, neurons, norm, strips, weights
from viz_model.topics.block.sections import block


def draw(stage: Stage) -> None:
    layer, trace, token = stage.view.layer, stage.trace, stage.token

    way = strips.StripsView.of(trace, layer, token)
    dimension = block.way_up(stage, way)
    by_depth = lengths.LengthsView.of(trace, layer, token, runs.along_the_stream(stage.asked, trace.stack.side)[0])
    block.long_way(stage, way, by_depth)
    normed = block.one_norm(stage, way, dimension)
    hidden = neurons.NeuronsView.of(trace, layer, token)
    block.hidden(stage, way, hidden, neurons.CurveView.of(trace, layer, token))
    block.what_if(stage, way, hidden)
    learnt = weights.WeightsView.of(trace, layer)
    block.learnt(stage, way, learnt)

    def formula() -> None:
        stage.see(f"formula_{block.story(way)}", equations=strips.equations(way))
        stage.formula(*(site for site in trace.sites if site.startswith(tuple(map(stage.at, strips.FORMULAS)))))

    def hand() -> None:
        if normed is not None:
            stage.see(f"hand_{way.norm}", token=stage.token_name(), **norm.norm_by_hand(normed, dimension))
        sums = block.sums(way)
        stage.see(f"hand_sums_{sums}", dimension=dimension, sums=strips.sums_by_hand(way, dimension))
        stage.see(f"hand_neuron_{hidden.by_hand}", **neurons.neuron_by_hand(hidden, way, dimension))

    def code() -> None:
        stage.code(sites=strips.code(trace, layer))

    def numbers() -> None:
        stage.table(f"blocks.{layer}[{token}]", way.matrix, way.names, stage.dimension_labels, "strips")
        stage.table("resid.length", by_depth.lengths, by_depth.sites, stage.token_labels, "norms")
        stage.records(f"blocks.{layer}.ffn[{token}]", hidden.table())
        stage.records(f"blocks.{layer}.parameters", learnt.table())

    stage.tabs(formula, hand, code, numbers)
    reader = "_cross" if way.crosses else "_two_way" if trace.stack.side == "encoder" else ""
    stage.question(f"question{reader}", f"answer{reader}", layer=layer)


def run() -> None:
    """Open the page."""
    show("block", draw, without={"head"})
