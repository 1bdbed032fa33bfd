"""The four tabs of this page, and its question."""

from __future__ import annotations

import itertools

from viz_model.app import elements
from viz_model.app.elements import Guess, Option
from viz_model.app.page import Page
from viz_model.drawing import theme
from viz_model.drawing.writing import percent
from viz_model.topics.block.numbers import views
from viz_model.topics.block.pictures import strips
from viz_model.topics.block.sections.depth import lengths_of
from viz_model.topics.block.sections.norm import norm_of
from viz_model.topics.block.sections.one_block import OneBlock


def formula(block: OneBlock) -> None:
    page = block.page
    elements.see(page, f"formula_{block.kind}", equations=strips.equations(block.vectors))
    elements.see(page, page.kind("numbered", block.vectors.numbering), norm=block.vectors.norm)
    names = tuple(map(page.at, strips.FORMULAS))
    elements.formula(page, *(site for site in page.trace.sites if site.startswith(names)))


def hand(block: OneBlock) -> None:
    page, vectors, dimension = block.page, block.vectors, block.dimension
    if vectors.has_norms:
        facts = {"token": page.token_name(), "norm": vectors.norm, "dimension": dimension}
        elements.see(page, "hand_norm", **facts)
        axes = {site: page.trace.site(site).axes for site in norm_of(block).sites}
        elements.worked(
            page,
            [
                elements.Worked(("block.hand_normed",), site, (page.token, dimension))
                if own[-1] == "D"
                else elements.Worked(("block.hand_measured",), site, (page.token, 0))
                for site, own in axes.items()
            ],
            **facts,
            d_model=len(block.vectors.matrix[0]),
        )
    sums = strips.sums_by_hand(vectors, dimension)
    elements.see(page, f"hand_sums_{block.of_sums}", dimension=dimension, sums=sums)
    if not block.n_neurons:
        elements.see(page, "hand_no_neurons", dimension=dimension)
        elements.worked(page, [elements.Worked(("block.hand_out_none",), page.at("ffn.out"), (page.token, dimension))],
                        dimension=dimension)  # fmt: skip
        return
    if not block.neurons.strongest:
        elements.see(page, "hand_neuron_none")
        return
    neuron = block.neurons.strongest[0]
    written = f"{theme.signed(neuron.act)} \\cdot {theme.signed(neuron.value[dimension])}"
    facts = {"neuron": neuron.number, "dimension": dimension, "written": written}
    elements.see(page, "hand_neuron", **facts)
    made = {"gate": neuron.gate, "gate_act": neuron.gate, "up": neuron.up, "act": neuron}
    cells = {name: (page.token, neuron.number) for name, said in made.items() if said is not None}
    numbers = [
        elements.Worked((f"block.hand_{name}",), page.at(f"ffn.{name}"), at)
        for name, at in (cells | {"out": (page.token, dimension)}).items()
        if page.at(f"ffn.{name}") in page.trace
    ]
    elements.worked(page, numbers, **facts)


def code(block: OneBlock) -> None:
    elements.code(block.page, sites=strips.code(block.page.trace.sites, block.page.view.layer))


def numbers(block: OneBlock) -> None:
    page, vectors, by_depth = block.page, block.vectors, lengths_of(block)
    layer, token = page.view.layer, page.token
    rows = vectors.matrix, vectors.names, page.dimension_labels
    elements.table(page, f"blocks.{layer}[{token}]", *rows, "strips")
    elements.table(page, "resid.length", by_depth.lengths, by_depth.sites, page.token_labels, "norms")
    if block.n_neurons:
        elements.records(page, f"blocks.{layer}.ffn[{token}]", block.neurons.table())
    elements.records(page, f"blocks.{layer}.parameters", views.weights_view(page.trace, layer).table())


def question(block: OneBlock) -> None:
    reader = block.crosses or ("_two_way" if block.page.trace.stack.side == "encoder" else "")
    asked = f"question{reader}", f"answer{reader}"
    elements.question(block.page, *asked, guess=_guess, layer=block.page.view.layer)


def _guess(page: Page) -> Guess | None:
    """In which block the chosen token's line changes most, by the length of the change."""
    trace = page.trace
    sites = ("embed.out", *(f"blocks.{layer}.resid.out" for layer in range(trace.n_layers)))
    lines = [trace.row(site, page.token) for site in sites]
    changes = [float((after - before).norm() / before.norm()) for before, after in itertools.pairwise(lines)]
    names = {n: page.t("common.guess_block", n=n) for n in elements.spread(len(changes))}
    options = {n: Option(name, changes[n], name) for n, name in names.items()}
    return elements.largest(page, options, percent, token=page.token_name())
