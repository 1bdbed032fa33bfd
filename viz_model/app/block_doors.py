"""Below the block page: another block, and what is measured over many texts or runs. Each is Streamlit's own."""

import contextlib
import re
from collections.abc import Iterator
from dataclasses import replace
from functools import partial

import streamlit as st

import viz_model as vm
from viz_model.app import elements, interventions, run_lock, runs, state
from viz_model.app.cache import cached
from viz_model.app.choices import Choice, decimal, maybe, number, switch, whole
from viz_model.app.expander import Door
from viz_model.app.interventions import draw_guesses, draw_places, names, places_view
from viz_model.app.page import Page
from viz_model.checkpoints import registry
from viz_model.config import Side
from viz_model.drawing import by_depth, chart, strips
from viz_model.drawing.digits import small
from viz_model.island.edited import describe
from viz_model.island.look import Look
from viz_model.measures import stream
from viz_model.measures.change import GUESSES, firsts
from viz_model.model import sites
from viz_model.runs import edits
from viz_model.runs.edits import LARGEST_ACTIVATION, Edit, SetNeuron, Skip
from viz_model.texts.markdown import literal, row
from viz_model.topics.block import experts, memory, neurons, real_code, vectors
from viz_model.topics.block.real_code import PLACES, Kept, Place


def _value(text: str) -> float:
    if not re.fullmatch(r"-?[0-9]{1,9}(\.[0-9]{1,2})?", text, re.ASCII) or abs(float(text)) > LARGEST_ACTIVATION:
        raise ValueError(text)
    return float(text)


def _places(text: str) -> tuple[Place, ...]:
    found = text.split(".") if text else []
    if not {*found} <= PLACES.keys():
        raise ValueError(text)
    return tuple(place for place in PLACES if place in found)


NEURON = maybe(whole("neuron", 0, 0, 99_999))
"""As the page above has it: the one that may be held, and whose texts are looked for."""
VALUE = Choice("value", 0.0, _value, decimal)
DROPOUT, FIRES, EXPERTS_GET, REAL_CODE = map(switch, ("dropout", "fires", "experts_get", "real_code"))
DROPPED: Choice[tuple[Place, ...]] = Choice("dropped", ("sublayer",), _places, ".".join)
RATE, SEED = number("rate", 0.1, 0.0, 0.9), whole("seed", 0, 0, 999)


def _look(page: Page) -> Look:
    """What the page above is drawn from."""
    return replace(page.look, options={"neuron": NEURON.write(page.chosen(NEURON))})


# A part of the block left out, or a neuron held


def what_if(page: Page) -> None:
    """Edits of the view, with before and after."""
    look = _look(page)
    st.subheader(page.words("what_if"), anchor=False)
    elements.see(page, "what_if" if neurons.count(look) else "what_if_none", **vectors.facts(look))
    side = page.view.stack(page.lm.config)
    stack = None if side == page.lm.config.sides[-1] else side
    with st.container(horizontal=True, vertical_alignment="bottom"):
        for part in (one.sublayer for one in vectors.of_one(look).sums if one.sublayer != "input"):
            skip = Skip(layer=page.view.layer, part=part, side=stack)
            is_left_out = skip in page.trace.edits
            label, key = page.words("skip", part=page.words(f"part_{part}")), f"block.skip.{part}.{is_left_out}"
            st.toggle(label, value=is_left_out, key=key, on_change=_toggle, args=(page, skip))
    if neurons.count(look):
        _held(page, memory.chosen(look), stack)
    if page.trace.edits:
        changes = page.listed(describe(edit, page.t) for edit in page.trace.edits)
        st.caption(page.words("made", changes=changes))
        _before_and_after(page, runs.trace(page.run_key.plain).at(page.trace.stack.side), page.trace, "edited")


def _held(page: Page, neuron: int, stack: Side | None) -> None:
    """The value at which the chosen neuron may be held, and a button that does it."""
    line = st.container(horizontal=True, vertical_alignment="bottom")
    now = float(page.trace.row(page.at("ffn.act"), page.token)[neuron])
    most, label = LARGEST_ACTIVATION, page.words("set_value", neuron=neuron, now=f"{now:.2f}")
    value = elements.control(page, VALUE, line.number_input, -most, most, label=label, help=None, step=1.0, width=260)
    edit = SetNeuron(layer=page.view.layer, neuron=neuron, value=value, position=page.token, side=stack)
    is_made = edit in page.trace.edits
    line.button(page.words("set"), key="block.set", on_click=_set, args=(page, edit), disabled=is_made)


def _toggle(page: Page, edit: Edit) -> None:
    if len(page.view.edits) < edits.MOST_EDITS or edit in page.view.edits:
        state.update(edits=interventions.toggled(page.view, edit))


def _set(page: Page, edit: SetNeuron) -> None:
    """The neuron is held at this value from now on, and at no other on this token."""
    others = [
        one for one in page.view.edits if not isinstance(one, SetNeuron) or replace(one, value=edit.value) != edit
    ]
    if len(others) < edits.MOST_EDITS:
        state.update(edits=(*others, edit))


def _before_and_after(page: Page, before: vm.Trace, after: vm.Trace, key: str) -> None:
    """What a run and the same with a change expect; of a stack without predictions, how its vectors turned."""
    if "logits" not in before:
        places, turn = places_view(before, after, page.token), page.words("turn")
        elements.picture(page, draw_places(places, turn, turn, f"block.places_{key}"))
        elements.source(page, places.site)
        return
    found = firsts(before, after, [page.token])
    st.markdown(f"**{page.verdict(GUESSES, found, token=page.token_name(), **names(found, before))}**")
    elements.picture(page, draw_guesses(found, before, page.words, f"block.guesses_{key}"))


# Dropout


def dropped(page: Page) -> None:
    elements.fold(page, DROPOUT, partial(_dropped, page))


def _dropped(page: Page) -> None:
    """Its masks, and what it does to the output."""
    elements.see(page, "dropout", token=page.token_name(), layer=page.view.layer)
    names = {place: page.words(f"dropped_{place}") for place in real_code.places(page.lm.config)}
    chosen = tuple(place for place in page.chosen(DROPPED) if place in names)
    places = elements.control(page, DROPPED, st.pills, list(names), value=chosen, selection_mode="multi", read=tuple,
                              write=list, help=None, format_func=names.__getitem__)  # fmt: skip
    left, right = st.columns([2, 1], vertical_alignment="bottom")
    rate = elements.control(page, RATE, left.slider, 0.0, 0.9, step=0.05, help=None)
    seed = elements.control(page, SEED, right.number_input, 0, 999, help=None)
    before = runs.trace(page.run_key.plain).at(page.trace.stack.side)
    with run_lock.RUNNING:
        after, kept = real_code.dropped(before, places, rate, seed)
    for place in places:
        _draw_dropped(page, kept, place)
    _before_and_after(page, before, after, "dropout")


def _draw_dropped(page: Page, kept: Kept, place: Place) -> None:
    """How much was dropped at a place; and at the chosen token in this block what was there, the mask, what is left."""
    masks = [seen.mask for name, seen in kept.items() if name.endswith(PLACES[place])]
    share = sum(int((mask == 0).sum()) for mask in masks) / sum(mask.size for mask in masks)
    factor = max(float(mask.max()) for mask in masks)
    facts = {"place": page.words(f"dropped_{place}"), "share": f"{share:.1%}", "factor": f"{factor:.3g}"}
    st.markdown(page.words("dropped_at", n_values=len(masks), **facts))
    for end in PLACES[place]:
        name = page.trace.full_name(end if place == "sum" else page.at(end))
        if name not in kept:  # this block has no such place, as cross-attention
            continue
        seen, head = kept[name], page.view.head if place == "weights" else ...
        before, mask, after = (of[head][page.token] for of in (seen.before, seen.mask, seen.after))
        top = strips.top_of(after)
        rows = (
            strips.Strip(page.words("before_drop"), before, top=top),
            strips.Strip(page.words("mask"), mask, "share", factor or 1.0, "norm"),
            strips.Strip(page.words("after_drop"), after, top=top),
        )
        zeros = page.words("zeroed", zeros=int((mask == 0).sum()), n=mask.size)
        st.caption(f"{literal(name)} · {zeros}")
        view = strips.StripsView(rows, tuple(map(str, range(mask.size))), 190)
        alt, words = page.words("dropped_alt"), {"masked": page.t("common.masked")}
        elements.picture(page, strips.scene(view, f"block.dropped_{end}", alt, words), own=False)


# Over many texts


@cached(beside=True)
def of_stories(model: str, side: Side, layer: int) -> memory.Firings:
    """What fires the neurons of a layer over the package's stories."""
    return memory.firings((run for _, run in _stories(model, side)), layer)


@cached(beside=True)
def _load(model: str, side: Side, layer: int) -> experts.Load:
    """Who is chosen over the package's stories, English and Chinese by turns."""
    return experts.load(_stories(model, side), layer)


def _stories(model: str, side: Side) -> Iterator[tuple[str, vm.Trace]]:
    stories = memory.sample(sum(parameter.numel() for parameter in runs.model(model).model.parameters()))
    for n, story in enumerate(stories):
        with contextlib.suppress(ValueError):  # a vocabulary may lack some of its letters
            yield ("en", "zh")[n % 2], runs.run(runs.RunKey(model, story)).at(side)


def over_texts(page: Page) -> None:
    """What fires the chosen neuron; and of a layer with experts what each gets, and the dense sibling beside."""
    look = _look(page)
    is_first = page.trace.stack.side == page.lm.config.sides[0]
    if neurons.count(look) and is_first:
        elements.fold(page, FIRES, partial(_fires, page, memory.chosen(look)))
    if experts.of_layer(page.trace, page.view.layer) is None:
        return
    if (measured := experts.measured(page.lm.folder, page.view.layer)) is not None:
        _measured(page, measured)
    elif is_first:
        elements.fold(page, EXPERTS_GET, partial(_over_stories, page))
    if (sibling := registry.weights_of(page.lm.folder)) is not None:
        _sibling(page, sibling)


def _fires(page: Page, neuron: int) -> None:
    view = of_stories(page.view.model, page.trace.stack.side, page.view.layer)
    share, n_tokens = float(view.share[neuron]), sum(map(len, view.tokens))
    elements.say(page, memory.FIRING, share, neuron=neuron, share=f"{share:.1%}", n_tokens=f"{n_tokens:,}")
    lines = [row(["h", page.words("fires_where")]), "|-:|:-|"]
    for rank, value in enumerate(view.value[:, neuron]):
        before, token, behind = map(literal, view.context(rank, neuron))
        lines.append(row([f"{value:.2f}", f"{before} **{token}** {behind}"]))
    st.markdown("\n".join(lines))
    elements.see(page, "fires", n_texts=len(view.tokens))


def _measured(page: Page, found: experts.Measured) -> None:
    """The shares by kind of text, the balance, and the tokens of each expert, as they were measured beforehand."""
    names = {kind: page.words(f"kind_{kind}") for kind in found.kinds}
    st.markdown(page.words("shares_title", n=f"{found.n_tokens[0]:,}"))
    shares = zip(names.values(), found.shares, strict=True)
    rows = tuple(strips.Strip(name, share, "share", 1.0, "ffn") for name, share in shares)
    numbers = tuple(map(str, range(found.shares.shape[1])))
    view = strips.StripsView(rows, numbers, 60 + 34 * len(rows), column_axis=page.words("experts_row"), written=True)
    drawn = strips.scene(view, "block.shares", page.words("shares_alt"), {"masked": page.t("common.masked")})
    elements.picture(page, drawn, own=False)
    kind, expert, share = found.most
    other = int(found.shares[:, expert].argmin())
    told = {"kind": names[kind], "expert": expert, "share": f"{share:.0%}", "even": f"{found.even:.0%}"}
    told |= {"other": names[found.kinds[other]], "least": f"{found.shares[other, expert]:.0%}"}
    elements.say(page, experts.BY_KIND, found, **told)
    elements.say(page, experts.LOAD, found, balance=f"{found.balance['all']:.2f}")
    columns: dict[str, list[object]] = {
        page.words("experts_row"): list(range(len(found.tokens))),
        page.words("experts_tokens"): ["  ".join(f"{label} {x:.0%}" for label, x in row) for row in found.tokens],
    }
    elements.records(page, "experts", columns)
    unread = page.listed(name for kind, name in names.items() if kind not in found.trained_on)
    elements.see(page, "experts_measured", read=page.listed(names[kind] for kind in found.trained_on))
    if unread:
        elements.see(page, "experts_unread", unread=unread)


def _over_stories(page: Page) -> None:
    """A row an expert: its share of the tokens of each language, and the tokens it meets most often."""
    found = _load(page.view.model, page.trace.stack.side, page.view.layer)
    columns: dict[str, list[object]] = {page.words("experts_row"): list(range(found.shares.shape[1]))}
    for language, shares in zip(found.languages, found.shares, strict=True):
        columns[page.words(f"experts_share_{language}")] = [f"{share:.1%}" for share in shares]
    columns[page.words("experts_words")] = ["  ".join(words) for words in found.words]
    elements.records(page, "experts", columns)
    elements.see(page, "experts_get", n_tokens=f"{sum(found.n_tokens):,}", layer=page.view.layer)


def _sibling(page: Page, name: str) -> None:
    """The same text, without any change, in the dense model that this one was cut from."""
    routed, dense = (runs.trace(page.run_key.plain._replace(model=model)) for model in (page.view.model, name))
    found = experts.beside(routed, dense)
    if found is None:
        return
    st.subheader(page.words("sibling", name=name), anchor=False)
    sizes = [experts.of_model(run.config) for run in (routed, dense)]
    told = {"sibling": name, "held": f"{sizes[0].held:,}", "used": f"{sizes[0].used:,}", "dense": f"{sizes[1].held:,}"}
    elements.see(page, "sibling", **told)
    losses = {"routed": f"{found.losses[0]:.3f}", "dense": f"{found.losses[1]:.3f}"}
    elements.say(page, experts.SIBLING, found, n=found.n_asked, sibling=name, **losses)
    columns: dict[str, list[object]] = {}
    for model, expected in zip((page.view.model, name), found.expected, strict=True):
        columns[page.words("sibling_next", model=model)] = [f"{label}  {share:.1%}" for label, share in expected]
    elements.records(page, "sibling", columns)


# What real code does besides the equations


def beside_equations(page: Page) -> None:
    """Precision, a clamp, chunks, and how weights begin."""
    look = _look(page)
    run, facts = runs.trace(page.run_key.plain).at(page.trace.stack.side), vectors.facts(look)
    attending = [n for n in range(run.n_layers) if f"blocks.{n}.attn.masked" in run]
    layer = min(attending, key=lambda n: abs(n - page.view.layer), default=page.view.layer)
    elements.see(page, "real_code", **facts)

    measured = real_code.precision(run, layer)
    elements.see(page, "precision", n_keys=measured.n_keys, squares=f"{measured.squares:,.0f}", **facts)
    both = {"softmax": measured.softmax, "norm": measured.norm}
    columns: dict[str, list[object]] = {page.words("precision_of"): [page.words(f"precision_{name}") for name in both]}
    for kind in ("half", "mixed"):
        columns[page.words(f"precision_{kind}")] = [small(getattr(errors, kind)) for errors in both.values()]
    elements.records(page, "precision", columns)
    for name, errors in both.items():
        ratio = errors.half / errors.mixed if errors.mixed else 0.0
        elements.say(page, real_code.INSIDE, errors, name=page.words(f"precision_{name}"), ratio=f"{ratio:.1f}")

    clamp = real_code.clamped(run, layer, page.token)
    said = {"largest": f"{clamp.largest:.2f}", "factor": f"{clamp.factor:,.0f}", "cosine": f"{clamp.cosine:.3f}"}
    counts = {name: getattr(clamp, name) for name in ("infinite", "lost", "lost_clamped")}
    elements.see(page, "clamp", **counts, **said, **facts)
    elements.say(page, real_code.CLAMPED, clamp, **counts, **said)

    n_neurons = neurons.count(look)
    if n_neurons and sites.stands_alone(run.config, run.stack.side, layer):
        chunks = real_code.chunks(run, layer)
        elements.see(page, "chunks", n_tokens=len(run), d_ffn=n_neurons, **facts)
        rows = {page.words(f"chunks_{name}"): [getattr(chunk, name) for chunk in chunks] for name in ("size", "nbytes")}
        elements.records(page, "chunks", {**rows, page.words("chunks_apart"): [small(one.apart) for one in chunks]})
        apart = max(chunk.apart for chunk in chunks)
        elements.say(page, real_code.CHUNKED, apart, apart=small(apart))
    _fresh(page, run)


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
    looks = (("pattern", None, "circle"), ("ffn", "7,4", "diamond"), ("residual", "2,3", "square"))
    lines = [
        chart.Line(page.words(f"fresh_{name}"), model.lengths, role, dash, symbol, write="4")
        for (name, model), (role, dash, symbol) in zip(fresh.items(), looks, strict=False)
    ]
    y, sites = chart.axis(*(one.values for one in lines), title=page.words("fresh_length")), stream.stream_sites(run)
    alt, step = page.words("fresh_alt"), page.words("step")
    elements.picture(page, by_depth.lines("block.fresh", alt, sites, lines, y, x_title=step), own=False)


DOORS = (
    Door("change", (what_if, dropped), (VALUE, DROPOUT, DROPPED, RATE, SEED)),
    Door("texts", (over_texts,), (FIRES, EXPERTS_GET)),
    Door("real_code", (beside_equations,), (REAL_CODE,)),
)
