"""Who is chosen among experts: in every layer, in the chosen one, over kinds of text; and the dense sibling beside."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from functools import partial

import streamlit as st

import viz_model as vm
from viz_model.app import elements, runs
from viz_model.app.cache import cached
from viz_model.app.elements import Said, title
from viz_model.app.page import Page
from viz_model.checkpoints import registry
from viz_model.config import Side
from viz_model.drawing import strips
from viz_model.topics.block import figures
from viz_model.topics.block.choices import EXPERTS_GET
from viz_model.topics.block.claims import BY_KIND, LOAD, SIBLING
from viz_model.topics.block.numbers import experts, memory
from viz_model.topics.block.pictures.experts import RoutingView, draw_routing
from viz_model.topics.block.sections.one_block import OneBlock


def section(block: OneBlock) -> None:
    """Nothing in a stack in which each layer has one network for all tokens."""
    page = block.page
    routed = page.lm.config.layers_with_experts(page.trace.stack.side)
    if not routed:
        return
    elements.told(page, partial(_title, routed=routed), "experts_title")
    _in_every_layer(page, routed)
    has_experts = _routing(page) is not None
    if has_experts:
        elements.heat_rows(page, _drawn, "experts", page.words("experts_alt"))
        elements.source(page, page.at("ffn.chosen"))
    elements.told(page, _tell, "experts_told")
    if has_experts:
        elements.formula(page, page.at("ffn.chosen"))
        elements.formula(page, page.at("ffn.out"))
    elements.told(page, _held, "experts_held")
    if has_experts:
        _what_each_gets(page)


def _title(page: Page, routed: tuple[int, ...]) -> Iterator[Said]:
    """Whom the token asks, or where there are experts: a layer may have one network for all tokens."""
    if (facts := _facts(page)) is not None:
        yield title(page.words("experts", **facts))
    else:
        layers = page.listed(str(layer) for layer in routed)
        yield title(page.words("experts_elsewhere", layer=page.view.layer, layers=layers))


def _tell(page: Page) -> Iterator[str]:
    if (facts := _facts(page)) is not None:
        yield page.prose(f"experts_{facts['softmax']}", **facts)


def _held(page: Page) -> Iterator[str]:
    if (facts := _facts(page)) is not None:
        yield page.prose("experts_held", **facts)


def _what_each_gets(page: Page) -> None:
    """Over many texts, as far as that was measured; and what the same weights were before they had experts."""
    if (measured := _beforehand(page)) is not None:
        _measured(page, measured)
    elif page.trace.stack.side == page.lm.config.sides[0]:
        elements.fold(page, EXPERTS_GET, partial(_over_stories, page))
    if (sibling := registry.weights_of(page.lm.folder)) is not None:
        _sibling(page, sibling)


def _in_every_layer(page: Page, routed: tuple[int, ...]) -> None:
    """The way of each token through the routers; one picture, where they choose among equally many."""
    left, right = st.columns([3, 2], gap="large")
    with left:
        elements.shown(page, lambda page: figures.of_experts(page.subject), "routes", by=("layer", "token"))
    with right:
        dense = [str(n) for n in range(page.trace.n_layers) if n not in routed]
        elements.told(page, lambda page: [page.prose("routes", token=page.token_name())], "routes", by=("token",))
        if dense:
            elements.see(page, "routes_dense", layers=page.listed(dense))


def _routing(page: Page) -> RoutingView | None:
    return experts.routing(page.trace, page.view.layer, page.token)


def _drawn(page: Page) -> strips.StripsView | None:
    view = _routing(page)
    return None if view is None else draw_routing(view, page.t("common.axis_token"), page.words("experts_row"))


def _facts(page: Page) -> dict[str, object] | None:
    """Of the chosen layer; None where it has one network for all tokens."""
    ffn, view = experts.of_layer(page.trace, page.view.layer), _routing(page)
    if ffn is None or view is None:
        return None
    size = experts.parameters(page.lm.config, page.trace.stack.side, page.view.layer)
    most, least = int(view.counts.argmax()), int(view.counts.argmin())
    return OneBlock(page).facts | {
        "chosen": page.words("experts_and").join(map(str, view.chosen)),
        "softmax": ffn.softmax,
        "k": ffn.top_k,
        "n": len(view.counts),
        "held": f"{size.held:,}",
        "used": f"{size.used:,}",
        "share": f"{size.used / size.held:.0%}",
        "n_tokens": len(view.labels),
        "most": most,
        "most_count": int(view.counts[most]),
        "least": least,
        "least_count": int(view.counts[least]),
    }


# What each of them gets


def _measured(page: Page, found: experts.Measured) -> None:
    """The shares by kind of text, the balance, and the tokens of each expert, as they were measured beforehand."""
    names = _kinds(page, found)
    st.markdown(page.words("shares_title", n=f"{found.n_tokens[0]:,}"))
    elements.heat_rows(page, _shares, "shares", page.words("shares_alt"), own=False, by=("layer",))
    elements.told(page, _tell_shares, "shares_told", by=("layer",))
    columns: dict[str, list[object]] = {
        page.words("experts_row"): list(range(len(found.tokens))),
        page.words("experts_tokens"): ["  ".join(f"{label} {x:.0%}" for label, x in row) for row in found.tokens],
    }
    elements.records(page, "experts", columns)
    unread = page.listed(name for kind, name in names.items() if kind not in found.trained_on)
    elements.see(page, "experts_measured", read=page.listed(names[kind] for kind in found.trained_on))
    if unread:
        elements.see(page, "experts_unread", unread=unread)


def _beforehand(page: Page) -> experts.Measured | None:
    return experts.measured(page.lm.folder, page.view.layer)


def _kinds(page: Page, found: experts.Measured) -> dict[str, str]:
    return {kind: page.words(f"kind_{kind}") for kind in found.kinds}


def _shares(page: Page) -> strips.StripsView | None:
    """A row for each kind of text, a column for each expert."""
    if (found := _beforehand(page)) is None:
        return None
    shares = zip(_kinds(page, found).values(), found.shares, strict=True)
    rows = tuple(strips.Strip(name, row, "share", 1.0, "ffn") for name, row in shares)
    numbers = tuple(map(str, range(found.shares.shape[1])))
    height = 60 + 34 * len(rows)
    return strips.StripsView(rows, numbers, height, column_axis=page.words("experts_row"), written=True)


def _tell_shares(page: Page) -> Iterator[str]:
    if (found := _beforehand(page)) is None:
        return
    names, (kind, expert, share) = _kinds(page, found), found.most
    other = int(found.shares[:, expert].argmin())
    told = {"kind": names[kind], "expert": expert, "share": f"{share:.0%}", "even": f"{found.even:.0%}"}
    told |= {"other": names[found.kinds[other]], "least": f"{found.shares[other, expert]:.0%}"}
    yield page.verdict(BY_KIND, found, **told)
    yield page.verdict(LOAD, found, balance=f"{found.balance['all']:.2f}")


@cached(beside=True)
def _of_stories(model: str, side: Side, layer: int) -> experts.Load:
    """Who is chosen over the package's stories, English and Chinese by turns."""
    lm = runs.model(model)
    stories = memory.sample(sum(parameter.numel() for parameter in lm.model.parameters()))

    def read() -> Iterator[tuple[str, vm.Trace]]:
        for n, story in enumerate(stories):
            with contextlib.suppress(ValueError):  # a vocabulary may lack some of its letters
                yield ("en", "zh")[n % 2], runs.run(runs.RunKey(model, story)).at(side)

    return experts.load(read(), layer)


def _over_stories(page: Page) -> None:
    """A row an expert: its share of the tokens of each language, and the tokens it meets most often."""
    found = _of_stories(page.view.model, page.trace.stack.side, page.view.layer)
    columns: dict[str, list[object]] = {page.words("experts_row"): list(range(found.shares.shape[1]))}
    for language, shares in zip(found.languages, found.shares, strict=True):
        columns[page.words(f"experts_share_{language}")] = [f"{share:.1%}" for share in shares]
    columns[page.words("experts_words")] = ["  ".join(words) for words in found.words]
    elements.records(page, "experts", columns)
    elements.see(page, "experts_get", n_tokens=f"{sum(found.n_tokens):,}", layer=page.view.layer)


# The model that it was cut from


def _sibling(page: Page, name: str) -> None:
    """The same text, without any change, in the dense model that this one began from."""
    routed, dense = (runs.trace(page.run_key.plain._replace(model=model)) for model in (page.view.model, name))
    found = experts.beside(routed, dense)
    if found is None:
        return
    st.subheader(page.words("sibling", name=name), anchor=False)
    sizes = [experts.of_model(run.config) for run in (routed, dense)]
    told = {"sibling": name, "held": f"{sizes[0].held:,}", "used": f"{sizes[0].used:,}", "dense": f"{sizes[1].held:,}"}
    elements.see(page, "sibling", **told)
    losses = {"routed": f"{found.losses[0]:.3f}", "dense": f"{found.losses[1]:.3f}"}
    elements.say(page, SIBLING, found, n=found.n_asked, sibling=name, **losses)
    columns: dict[str, list[object]] = {}
    for model, expected in zip((page.view.model, name), found.expected, strict=True):
        columns[page.words("sibling_next", model=model)] = [f"{label}  {share:.1%}" for label, share in expected]
    elements.records(page, "sibling", columns)
