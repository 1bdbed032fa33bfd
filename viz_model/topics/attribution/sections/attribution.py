"""The page on why a token is expected: what is asked, the answer, and how it came about."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, cast

import numpy as np
import plotly.graph_objects as go
import streamlit as st

from viz_model.app import controls, runs, state
from viz_model.app.stage import Stage
from viz_model.app.texts import literal
from viz_model.config import LayerNorm, RMSNorm
from viz_model.drawing.writing import percent, signed
from viz_model.runs.trace import Trace
from viz_model.tokenizers.tokenizer import TextError
from viz_model.topics.attribution.numbers import attribution, by_hand, circuits, lens, views
from viz_model.topics.attribution.numbers.attribution import Against, Attribution, Part, Way
from viz_model.topics.attribution.pictures.firing import draw_firing
from viz_model.topics.attribution.pictures.grid import draw_grid
from viz_model.topics.attribution.pictures.lens import MOST_DEPTHS, MOST_ROWS, draw_lens
from viz_model.topics.attribution.pictures.neurons import draw_neurons
from viz_model.topics.attribution.pictures.paths import PathsView, draw_paths
from viz_model.topics.attribution.pictures.pushes import PushesView, draw_pushes
from viz_model.topics.attribution.pictures.reads import draw_reads
from viz_model.topics.attribution.pictures.sum import draw_sum
from viz_model.topics.next_token.sections.covered import masked
from viz_model.topics.overview import numbers as story

OFFERED = 20
LONGEST_TYPED = 60
AT: tuple[Literal["attn", "cross"], ...] = ("attn", "cross")


@dataclass(frozen=True)
class Page:
    """What is asked, and the sum that answers it.

    ``stage`` shows the run that is asked about: of a masked model that in which the token is covered. ``opened`` is
    the page's own. ``target`` is None where the stack ends in vectors; then ``asked`` is of the vector's length.
    """

    opened: Stage
    stage: Stage
    way: Way
    asked: Attribution
    target: int | None
    against: Against
    covered: bool

    @property
    def trace(self) -> Trace:
        return self.stage.trace

    @property
    def position(self) -> int:
        return self.way.position

    @property
    def layer(self) -> int:
        return self.stage.view.layer

    @property
    def run(self) -> tuple[object, ...]:
        """What the run is known by."""
        return self.opened.asked, self.trace.stack.side, self.position if self.covered else None

    @property
    def norm(self) -> Literal["layer", "rms", "none"]:
        """Which words on norms are true of the model."""
        match self.stage.lm.config.norm:
            case LayerNorm():
                return "layer"
            case RMSNorm():
                return "rms"
        return "none"

    def label(self, id: int) -> str:
        """A token of the vocabulary, for prose."""
        return literal(self.trace.tokenizer.token(id).label)

    def name(self, part: Part) -> str:
        """A part in words."""
        apart = f"_{part.at}" if part.kind in ("bias", "shift") or part.at == "cross" else ""
        return self.stage.words(f"part_{part.kind}{apart}", layer=part.layer, head=part.head)

    def facts(self) -> dict[str, object]:
        """For prose: what is asked, and how large it is."""
        found: dict[str, object] = {
            "token": self.stage.token_name(),
            "total": f"{self.asked.total:.2f}".replace("-", "−"),
            "n_parts": len(self.asked.parts),
            "position": self.position,
        }
        if self.target is None:
            return found
        logits = self.trace.row("logits", self.position)
        rival = self.against if isinstance(self.against, int) else self.target
        where = "at" if self.stage.lm.config.kind == "encoder" else "after"
        return found | {
            "where": self.stage.words(f"where_{where}", token=self.stage.token_name()),
            "target": self.label(self.target),
            "share": percent(float(logits.softmax(-1)[self.target])),
            "rank": f"{1 + int((logits > logits[self.target]).sum()):,}",
            "rival": self.label(rival),
            "rival_share": percent(float(logits.softmax(-1)[rival])),
        }

    def asks(self) -> str:
        """Which question it is."""
        if self.target is None:
            return "vector"
        return "rival" if isinstance(self.against, int) else self.against or "logit"


# Of a long text every block is computed again for it.
@st.cache_resource(show_spinner=False, max_entries=16)
def _way(run: tuple[object, ...], position: int, _trace: Trace) -> Way:
    with runs.alone():
        return attribution.way(_trace, position)


def ask(stage: Stage) -> Page:
    """The question, with its controls: which token, and compared with what."""
    opened, covered = stage, False
    mask_id, trace = stage.lm.tokenizer.mask_id, stage.trace
    predicts = attribution.predicts(trace)
    if predicts and stage.lm.config.kind == "encoder" and mask_id is not None and trace.ids[stage.token] != mask_id:
        covered = True
        trace = masked(stage.asked, stage.token)
        stage = replace(stage, trace=trace.at(opened.trace.stack.side))
    way = _way((opened.asked, stage.trace.side, covered), stage.token, stage.trace)
    if not predicts:
        return Page(opened, stage, way, attribution.of_vector(stage.trace, way), None, None, covered)
    best = stage.trace.next_tokens(stage.token, OFFERED)
    left, right = st.columns(2)
    with left:
        first = best[0][0].id
        chosen = _vocabulary(stage, "token", {"top": first}, best, "top")
        target = chosen if isinstance(chosen, int) else first
    with right:
        second = next(token.id for token, _ in best if token.id != target) if len(best) > 1 else target
        against = _vocabulary(stage, "against", {"none": None, "average": "average", "second": second}, best, "none")
    if against == target:
        against = None
    asked = attribution.of_logit(stage.trace, way, target, against)
    return Page(opened, stage, way, asked, target, against, covered)


def _vocabulary(
    stage: Stage, name: str, named: Mapping[str, Against], best: Sequence[tuple[Any, float]], default: str
) -> Against:
    """One of a few named choices, one of the best tokens, or any token that is typed."""
    tokenizer, key = stage.trace.tokenizer, f"attribution.{name}"
    labels = {f"#{token.id}": f"{token.label}   {percent(p)}" for token, p in best}
    was = st.session_state.get(key, default)
    typed = None if was in named or was in labels else token_typed(stage.trace, str(was))
    if typed is not None and str(was).startswith("#"):  # chosen where it stood among the best
        labels[str(was)] = tokenizer.token(typed).label

    def written(option: str) -> str:
        if option in named:
            id = named[option]
            return stage.words(f"{name}_{option}", token=tokenizer.token(id).label if isinstance(id, int) else "")
        return labels.get(option, option)

    options = [*named, *labels]
    picked = controls.setting(
        stage, st.selectbox, name, options, format_func=written, accept_new_options=True, index=options.index(default)
    )
    if picked in named:
        return named[picked]
    found = token_typed(stage.trace, str(picked))
    if found is None:
        st.caption(stage.words("unknown", typed=literal(str(picked)[:LONGEST_TYPED])))
        return named[default]
    if picked not in labels:
        st.caption(stage.words("read_as", token=literal(tokenizer.token(found).label), id=found))
    return found


def token_typed(trace: Trace, typed: str) -> int | None:
    """The token that a visitor means: ``#id``, or the first one of a text; None where there is none.

    A text that is one token with a space in front is meant so, as most words of most vocabularies are.
    """
    number = typed.removeprefix("#")
    if typed.startswith("#") and number.isascii() and number.isdecimal() and len(number) < 10:
        return int(number) if int(number) < trace.config.n_vocab else None
    tokenizer = trace.tokenizer
    encode = tokenizer.encode_target if trace.config.kind == "encoder_decoder" else tokenizer.encode
    typed = runs.readable(typed[:LONGEST_TYPED])[0]
    try:
        tries = [encode(f" {typed}", special=False), encode(typed, special=False)] if typed else []
    except TextError:
        return None
    found = [ids for ids in tries if ids and max(ids) < trace.config.n_vocab]
    return next((ids[0] for ids in found if len(ids) == 1), found[-1][0] if found else None)


# The answer and the sum


def answer(page: Page) -> None:
    """In a sentence, and as the sum that it is."""
    stage, words, facts = page.stage, page.stage.words, page.facts()
    if page.covered:
        st.caption(words("covered", token=page.opened.token_name(), position=page.position))
    if page.target is None:
        if page.trace.config.has_logits:
            st.info(words("encoder"), icon=":material/info:")
        else:
            st.info(words("no_head"), icon=":material/info:")
    order = page.asked.order()
    for_it = [row for row in order if page.asked.values[row] > 0][:2]
    against_it = [row for row in order if page.asked.values[row] < 0][:1]
    joined = words("and").join(page.name(page.asked.parts[row]) for row in for_it)
    kind = page.asks()
    st.subheader(words(f"title_{kind}" if for_it else "title_nothing", parts=joined, **facts), anchor=False)
    picture, side = stage.split()
    view = views.sum_view(page.asked)
    chosen = _chosen_part(page)
    with picture:
        names = [page.name(page.asked.parts[row]) for row in view.shown]
        labels = {
            "rest": words("rest", n=view.n_rest),
            "total": words(f"sum_{kind}", **_plain(page)),
            "axis": words(f"axis_{kind}"),
        }
        figure = draw_sum(view, names, labels, chosen)
        _clickable(stage, figure, "sum", words("sum_alt", **facts), lambda data: _pick_row(page, int(data)))
    with side:
        said = [_said(page, row) for row in for_it]
        stage.see(f"see_{kind}", parts=words("and").join(said) or words("no_part"), **facts)
        if against_it:
            stage.see("see_down", part=_said(page, against_it[0]), **facts)
        groups = {name: signed(value) for name, value in page.asked.by_kind().items()}
        stage.see("see_groups", **groups, **facts)
    picture, side = stage.split()
    if page.target is None:
        with picture:
            _grid(page)
        with side:
            stage.see("no_pushes")
        return
    with picture:
        _part(page, chosen)
    with side:
        _grid(page)


def _plain(page: Page) -> dict[str, object]:
    """Names for a figure, which takes no Markdown."""
    token = page.trace.tokenizer.token
    rival = page.against if isinstance(page.against, int) else page.target
    return {
        "target": "" if page.target is None else token(page.target).label,
        "rival": "" if rival is None else token(rival).label,
    }


def _said(page: Page, row: int) -> str:
    """A part with its value; of a head also what it read."""
    part, value = page.asked.parts[row], signed(float(page.asked.values[row]))
    if part.kind != "head" or part.layer is None or part.head is None:
        return page.stage.words("said", name=page.name(part), value=value)
    at = cast(Literal["attn", "cross"], part.at)
    found = circuits.reads(page.trace, page.way, page.asked, part.layer, part.head, at)
    read = literal(_keys(page, at)[found.most])
    return page.stage.words("said_reads", name=page.name(part), value=value, read=read)


def _keys(page: Page, at: str) -> tuple[str, ...]:
    """Labels of what a head reads."""
    tokens = page.trace.at("encoder").tokens if at == "cross" else page.trace.tokens
    return tuple(token.label for token in tokens)


def _clickable(stage: Stage, figure: go.Figure, key: str, alt: str, pick: Callable[[Any], None]) -> None:
    """Draw a figure of which a click on a point calls ``pick`` with its custom data."""
    name = f"attribution.{key}"

    def picked() -> None:
        points = st.session_state[name]["selection"]["points"]
        if points and "customdata" in points[0]:
            pick(points[0]["customdata"])

    st.plotly_chart(
        figure,
        key=name,
        alt=alt,
        config={"displayModeBar": False},
        on_select=picked,
        selection_mode="points",
    )


def _show_head(part: Part) -> None:
    st.session_state["attribution.at"] = part.at
    state.update(layer=part.layer, head=part.head)


def _pick_row(page: Page, row: int) -> None:
    if row >= 0:
        part = page.asked.parts[row]
        st.session_state["attribution.part"] = part.site
        if part.kind == "head":
            _show_head(part)


def _chosen_part(page: Page) -> int:
    """The row of the part that is looked at: the visitor's, else the one that adds most."""
    sites = [part.site for part in page.asked.parts]
    chosen = st.session_state.get("attribution.part")
    return sites.index(chosen) if chosen in sites else int(page.asked.order()[0])


def _part(page: Page, chosen: int) -> None:
    """One part of the sum: the tokens that it pushes up and down."""
    stage, words = page.stage, page.stage.words
    assert page.target is not None
    sites = [part.site for part in page.asked.parts]
    state.follow("attribution.part", sites[chosen])
    values = dict(zip(sites, page.asked.values, strict=True))
    names = dict(zip(sites, map(page.name, page.asked.parts), strict=True))
    st.selectbox(
        words("part"),
        [sites[row] for row in page.asked.order()],
        key="attribution.part",
        format_func=lambda site: f"{names[site]}   {signed(float(values[site]))}",
        help=words("part_help"),
    )
    part = page.asked.parts[chosen]
    if part.kind == "prior":
        bias = page.trace.model.unembedding.bias.detach()
        pushed = (bias - bias.mean()).numpy()
    else:
        row = page.way.row(part)
        pushed = attribution.pushes(page.trace, page.way, page.way.written[row][None], page.way.passed[row])[0]
    view = views.pushes_view(page.trace, pushed, page.target)
    _pushes(stage, view, "part")
    stage.see("part", name=page.name(part), target=page.label(page.target), **view.facts())


def _pushes(stage: Stage, view: PushesView, key: str) -> None:
    labels = {name: stage.words(f"pushes_{name}") for name in ("up", "down", "axis")}
    stage.figure(draw_pushes(view, labels), f"pushes_{key}", stage.words("pushes_alt"))


def _grid(page: Page) -> None:
    """All heads and feed-forward layers at a glance."""
    words, view = page.stage.words, views.grid_view(page.asked)
    st.markdown(f"**{words('grid_title')}**")
    names = {name: words(f"grid_{name}") for name in ("layer", "head", "cross", "ffn")}
    head = page.stage.view.head
    figure = draw_grid(view, names, (page.layer, _at(page), head))

    def pick(data: Sequence[Any]) -> None:
        layer, at, head = data
        part = Part("ffn", int(layer)) if at == "ffn" else Part("head", int(layer), int(head), str(at))
        _pick_row(page, page.asked.parts.index(part))

    _clickable(page.stage, figure, "grid", words("grid_alt"), pick)
    crosses = any(at == "cross" for at, _ in view.columns)
    st.caption(words("grid_hint") + (f" {words('grid_hint_cross')}" if crosses else ""))


def _at(page: Page) -> Literal["attn", "cross"]:
    crosses = any(part.at == "cross" for part in page.asked.parts)
    return "cross" if crosses and st.session_state.get("attribution.at") == "cross" else "attn"


# The lens


@st.cache_resource(show_spinner=False, max_entries=24)
def _looked(run: tuple[object, ...], depths: tuple[int, ...], positions: range, _trace: Trace) -> lens.Lens:
    with runs.alone():
        return lens.look(_trace, depths, positions)


@st.cache_resource(show_spinner=False, max_entries=64)
def _paths(run: tuple[object, ...], position: int, ids: tuple[int, ...], _trace: Trace) -> PathsView:
    with runs.alone():
        return views.paths_view(_trace, position, ids)


def by_depth(page: Page) -> None:
    """What the model would say if it stopped after each block."""
    if page.target is None:
        return
    stage, words, trace = page.stage, page.stage.words, page.trace
    depths = story.evenly(trace.n_layers + 1, page.layer + 1, MOST_DEPTHS)
    most = min(MOST_ROWS, lens.affordable(trace, len(depths)))
    seen = _looked(page.run, depths, views.part_of(len(trace), page.position, most), trace)
    view = views.lens_view(trace, seen, page.position)
    facts = page.facts() | view.facts()
    st.subheader(words(f"lens_{view.finding}", **facts), anchor=False)

    def depth_name(depth: int) -> str:
        return words("depth_0") if depth == 0 else words("depth", layer=depth - 1)

    picture, see = stage.split()
    with picture:
        labels = {name: words(f"lens_axis_{name}") for name in ("position", "depth")}
        names = [depth_name(depth) for depth in view.depths]
        stage.figure(draw_lens(view, names, labels), "lens", words("lens_alt"))
        stage.source("embed.out", f"blocks.{trace.n_layers - 1}.resid.out")
        if len(view.positions) < len(trace):
            st.caption(words("lens_part", **facts))
    with see:
        stage.see("lens", **facts)
        late = view.decided == view.depths[-1]
        stage.see("lens_late" if late else "lens_decided", decided=depth_name(view.decided), **facts)
        if page.norm != "none":
            stage.see(f"lens_{stage.lm.config.norm_at}", **facts)
    own = trace.own_ids[page.position]
    wanted = [page.target, *([page.against] if isinstance(page.against, int) else []), own]
    ids = tuple(dict.fromkeys(wanted))
    paths = _paths(page.run, page.position, ids, trace)
    legend = [trace.tokenizer.token(id).label for id in ids]
    if ids[-1] == own and len(ids) > 1:
        legend[-1] = words("own_line", token=legend[-1])
    picture, see = stage.split()
    with picture:
        labels = {name: words(f"paths_{name}") for name in ("rank", "depth")}
        names = [depth_name(depth) for depth in range(trace.n_layers + 1)]
        stage.figure(draw_paths(paths, names, legend, labels), "paths", words("paths_alt"))
    with see:
        settled = paths.settled
        how = "never" if settled is None else "start" if settled == 0 else "later"
        said = {"own": page.label(own), "settled": depth_name(settled or 0)}
        stage.see(f"paths_{how}", **said, **(facts | paths.facts()))


# One head


def head(page: Page) -> None:
    """What a head reads from where, what of it arrives, and which tokens that speaks for."""
    stage, words = page.stage, page.stage.words
    number, at = stage.view.head, _at(page)
    part = Part("head", page.layer, number, at)
    name = page.name(part)
    reads = circuits.reads(page.trace, page.way, page.asked, page.layer, number, at)
    keys = _keys(page, at)
    facts = page.facts() | {
        "name": name,
        "value": signed(page.asked.of(part)),
        "most": literal(keys[reads.most]),
        "most_weight": f"{reads.weights[reads.most]:.0%}",
        "most_share": f"{reads.shares[reads.most]:.0%}",
        "length": f"{float(reads.written.norm()):.2f}",
        "from": literal(keys[int(np.abs(reads.values).argmax())]),
        "from_value": signed(float(reads.values[int(np.abs(reads.values).argmax())])),
    }
    title = words("head_title", **facts)
    st.subheader(title[0].upper() + title[1:], anchor=False)
    best = max((p for p in page.asked.parts if p.kind == "head"), key=page.asked.of)
    st.button(
        words("best_head", name=page.name(best), value=signed(page.asked.of(best))),
        key="attribution.best_head",
        on_click=_show_head,
        args=(best,),
        disabled=best == part,
        type="tertiary",
        icon=":material/trending_up:",
    )
    if any(found.at == "cross" for found in page.asked.parts):
        state.follow("attribution.at", at)
        st.segmented_control(
            words("at"), list(AT), key="attribution.at", format_func=lambda option: words(f"at_{option}"), required=True
        )
    left, right = st.columns(2, gap="large")
    view = views.reads_view(keys, reads)
    with left:
        labels = {label: words(f"reads_{label}") for label in ("weight", "share", "value", "axis", "key")}
        stage.figure(draw_reads(view, labels), "reads", words("reads_alt", **facts))
        stage.source(stage.at(f"{at}.pattern"), stage.at(f"{at}.v"))
        if len(view.keys) < view.n_keys:
            st.caption(words("reads_part", n=len(view.keys), n_keys=view.n_keys))
    with right:
        stage.see("head", **facts)
        if reads.sinks:
            sink = reads.sinks[0]
            said = {"weight": f"{reads.weights[sink]:.0%}", "share": f"{reads.shares[sink]:.0%}"}
            stage.see("sink", sink=literal(keys[sink]), **said)
        if page.target is not None:
            row = page.way.row(part)
            pushed = attribution.pushes(page.trace, page.way, reads.written[None], page.way.passed[row])[0]
            pushes = views.pushes_view(page.trace, pushed, page.target)
            _pushes(stage, pushes, "head")
        link = "cross_attention" if at == "cross" else "attention"
        if link in stage.pages:
            st.page_link(stage.pages[link], label=words("to_attention"), icon=":material/arrow_forward:")


# Neurons


def neurons(page: Page) -> None:
    """The neurons that add most, where in the text they fire, and what they promote."""
    stage, words, trace = page.stage, page.stage.words, page.trace
    view = views.neurons_view(attribution.neurons(trace, page.way, page.asked))

    def name(layer: int, number: int) -> str:
        return words("neuron_name", layer=layer, number=number)

    options = [f"{layer}.{number}" for layer, number in zip(view.layers, view.numbers, strict=True)]
    was = st.session_state.get("attribution.neuron")
    helps = next((n for n, value in enumerate(view.values) if value > 0), 0)
    state.follow("attribution.neuron", was if was in options else options[helps])
    chosen = options.index(st.session_state["attribution.neuron"])
    layer, number = int(view.layers[chosen]), int(view.numbers[chosen])
    fires = views.firing_view(trace, layer, number, page.position)
    act = float(trace.row(f"blocks.{layer}.ffn.act", page.position)[number])
    facts = page.facts() | {
        "name": name(layer, number),
        "layer": layer,
        "number": number,
        "value": signed(float(view.values[chosen])),
        "act": f"{act:.2f}".replace("-", "−"),
        "most": literal(fires.labels[fires.most]),
        "most_act": f"{fires.values[fires.most]:.2f}".replace("-", "−"),
        "n_neurons": f"{trace.n_layers * stage.lm.config.d_ffn:,}",
    }
    st.subheader(words("neurons_title", **facts), anchor=False)
    left, middle, right = st.columns(3, gap="medium")
    with left:
        st.selectbox(
            words("neuron"),
            options,
            key="attribution.neuron",
            format_func=lambda o: name(*map(int, o.split("."))),
            help=words("neuron_help"),
        )
        figure = draw_neurons(view, name, chosen, words("neurons_axis"))

        def pick(row: Any) -> None:
            st.session_state["attribution.neuron"] = options[int(row)]

        _clickable(stage, figure, "neurons", words("neurons_alt"), pick)
    with middle:
        st.markdown(words("fires_title", **facts))
        stage.figure(draw_firing(fires, words("fires_axis")), "fires", words("fires_alt", **facts))
        if len(fires.values) < fires.length:
            st.caption(words("reads_part", n=len(fires.values), n_keys=fires.length))
    with right:
        if page.target is not None:
            st.markdown(words("writes_title", **facts))
            down = trace.stack.block(layer).ffn.down.weight.detach()[:, number]
            passed = page.way.passed[page.way.row(Part("ffn", layer))]
            pushed = attribution.pushes(trace, page.way, act * down[None], passed)[0]
            _pushes(stage, views.pushes_view(trace, pushed, page.target), "neuron")
        else:
            stage.see("no_pushes")
    stage.see("neurons", **facts)
    stage.source(f"blocks.{layer}.ffn.act")


# The tabs


def formula(page: Page) -> None:
    """How the sum is exact, in this model."""
    config, stage = page.stage.lm.config, page.stage
    stage.see("formula" if page.target is not None else "formula_vector")
    stage.see(f"formula_{page.norm}")
    if page.norm != "none":
        stage.see(f"formula_{config.norm_at}")
    if not config.residual:
        stage.see("formula_alone")
    if page.target is not None and "head.act" in page.trace:
        stage.see("formula_masked")
    stage.see("formula_caution")


def hand(page: Page) -> None:
    """One part by its largest terms, then the whole sum."""
    view = views.sum_view(page.asked)
    row = next(row for row in page.asked.order() if page.asked.parts[row].kind != "prior")
    part = page.asked.parts[row]
    direction = page.asked.directions[page.way.passed[row]].numpy()
    worked = by_hand.part_by_hand(page.way.written[row].numpy(), direction)
    page.stage.see(
        "hand",
        name=page.name(part),
        site=part.site,
        sum=by_hand.sum_by_hand(view),
        n_rest=view.n_rest,
        added=f"{page.asked.values.sum():.4f}",
        recorded=f"{page.asked.total:.4f}",
        **worked,
    )


def code(page: Page) -> None:
    page.opened.code(position=page.position, token=page.target, against=page.against, covered=page.covered)


def numbers(page: Page) -> None:
    words = page.stage.words
    heading = {name: words(f"column_{name}") for name in ("part", "layer", "value")}
    page.stage.records("attribution", by_hand.columns(page.asked, heading))
