"""What real code does besides the equations: precision, a clamp, chunks, and how weights begin."""

from __future__ import annotations

from functools import partial

import viz_model as vm
from viz_model.app import elements, run_lock, runs
from viz_model.app.page import Page
from viz_model.drawing.writing import small
from viz_model.measures.stream import stream_sites
from viz_model.model import sites
from viz_model.topics.block.choices import REAL_CODE
from viz_model.topics.block.claims import CHUNKED, CLAMPED, INSIDE
from viz_model.topics.block.numbers import real_code
from viz_model.topics.block.pictures import depth
from viz_model.topics.block.sections.one_block import OneBlock


def section(block: OneBlock) -> None:
    elements.fold(block.page, REAL_CODE, partial(_inside, block))


def _inside(block: OneBlock) -> None:
    page, layer = block.page, block.page.view.layer
    run = runs.trace(page.run_key.plain).at(page.trace.stack.side)
    elements.see(page, "real_code", **block.facts)

    measured = real_code.precision(run, layer)
    elements.see(page, "precision", n_keys=measured.n_keys, squares=f"{measured.squares:,.0f}", **block.facts)
    both = {"softmax": measured.softmax, "norm": measured.norm}
    columns: dict[str, list[object]] = {" ": [page.words(f"precision_{name}") for name in both]}
    for kind in ("half", "mixed"):
        columns[page.words(f"precision_{kind}")] = [small(getattr(errors, kind)) for errors in both.values()]
    elements.records(page, "precision", columns)
    for name, errors in both.items():
        ratio = errors.half / errors.mixed if errors.mixed else 0.0
        elements.say(page, INSIDE, errors, name=page.words(f"precision_{name}"), ratio=f"{ratio:.1f}")

    clamp = real_code.clamped(run, layer, page.token)
    facts = {"largest": f"{clamp.largest:.2f}", "factor": f"{clamp.factor:,.0f}", "cosine": f"{clamp.cosine:.3f}"}
    counts = {name: getattr(clamp, name) for name in ("infinite", "lost", "lost_clamped")}
    elements.see(page, "clamp", **counts, **facts, **block.facts)
    elements.say(page, CLAMPED, clamp, **counts, **facts)

    if block.n_neurons and sites.stands_alone(run.config, run.stack.side, page.view.layer):
        _chunks(block, run)
    _fresh(page, run)


def _chunks(block: OneBlock, run: vm.Trace) -> None:
    """The feed-forward over some positions at a time."""
    page = block.page
    chunks = real_code.chunks(run, page.view.layer)
    elements.see(page, "chunks", n_tokens=len(run), d_ffn=block.n_neurons, **block.facts)
    sizes = {page.words(f"chunks_{name}"): [getattr(chunk, name) for chunk in chunks] for name in ("size", "nbytes")}
    elements.records(page, "chunks", {**sizes, page.words("chunks_apart"): [small(chunk.apart) for chunk in chunks]})
    apart = max(chunk.apart for chunk in chunks)
    elements.say(page, CHUNKED, apart, apart=small(apart))


def _fresh(page: Page, run: vm.Trace) -> None:
    """How weights begin: models before any training."""
    with run_lock.RUNNING:
        fresh = real_code.fresh(run, page.view.layer)
    if fresh is None:
        elements.see(page, "fresh_large")
        return
    facts = {f"{name}_std": f"{model.std:.4f}" for name, model in fresh.items()}
    facts |= {f"{name}_logits": "–" if model.logits is None else f"{model.logits:.2f}" for name, model in fresh.items()}
    elements.see(page, "fresh", matrix=real_code.drawn(run, page.view.layer).symbol, **facts)
    lines = {page.words(f"fresh_{name}"): model.lengths for name, model in fresh.items()}
    figure = depth.draw_by_depth(stream_sites(run), lines, page.words("step"), page.words("fresh_length"))
    elements.figure(page, figure, "fresh", page.words("fresh_alt"))
