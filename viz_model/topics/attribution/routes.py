"""Which route carried the answer: the largest routes over tokens and layers, and what becomes of it without an edge."""

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np

from viz_model import explain
from viz_model.claims import Claim, Verdict
from viz_model.config import Side
from viz_model.drawing.digits import written
from viz_model.drawing.scene import Items, Labels, Mark, Panel, Path, Scene, Text, along
from viz_model.drawing.short_repr import short_repr
from viz_model.drawing.tables import Among, By
from viz_model.explain import Cut, Node, Routes
from viz_model.explain.routes import SOURCES
from viz_model.island import units
from viz_model.island.look import Look
from viz_model.island.page import Chooser, Offer, Typed
from viz_model.island.prose import Line
from viz_model.texts.markdown import literal
from viz_model.topics.attribution.asked import Asked, OfClass, asked, is_of_token, of_class

STEPS = (3, 6, 12, 25, 50, 100)
"""How many of the largest routes are drawn."""
MANY, CUT = "many", "cut"
USUAL = 2
OPTIONS = ((MANY, tuple(map(str, (USUAL, *(n for n in range(len(STEPS)) if n != USUAL))))), (CUT, Typed(most=120)))
LEFT, TOP, HIGH, THICK = 118.0, 26.0, 420.0, 8.0
"""Pixels for the names of the rows and above them, of all rows together, and of the line that carries most."""
MOST_NUMBERS = 20_000_000
"""Of written vectors, over all parts and positions: of a larger run nothing is drawn."""

Edge = tuple[Node, Node | None]
"""Who wrote and who reads; None is the answer."""


Question = Asked | OfClass


def question_of(look: Look) -> Question:
    return of_class(look) if look.config.classes else asked(look)


@short_repr
class RoutesView(NamedTuple):
    """The edges of the largest routes, and what flows through each where so many routes are shown.

    ``edges`` are E; ``flows`` [S, E] what the shown routes through an edge add, 0 where none passes; ``shown`` [S] what
    they add together, of ``total``; ``error`` how far the sum over all routes is from the run.
    """

    edges: tuple[Edge, ...]
    flows: np.ndarray
    shown: np.ndarray
    total: float
    error: float


def fits(look: Look) -> bool:
    """Whether a token or a class can be asked about here, in a run that is small enough."""
    numbers = len(look) * look.config.d_model * look.n_layers * (look.n_heads + 3)
    return look.config.attends and (is_of_token(look) or bool(look.config.classes)) and numbers <= MOST_NUMBERS


def found(question: Question) -> Routes:
    return question.look.once(
        lambda look: explain.routes(look.trace, question.position, question.target, question.against),
        ("routes", question.position, question.target, question.against),
    )


def view(question: Question) -> RoutesView:
    key = "routes view", question.position, question.target, question.against
    return question.look.once(lambda _: _view(found(question)), key)


def _view(routes: Routes) -> RoutesView:
    listed = routes.listed[: STEPS[-1]]
    edges: dict[Edge, int] = {}
    for route in listed:
        for edge in route.edges:
            edges.setdefault(edge, len(edges))
    flows = np.zeros((len(STEPS), len(edges)))
    for step, most in enumerate(STEPS):
        for route in listed[:most]:
            for edge in route.edges:
                flows[step, edges[edge]] += route.value
    shown = np.array([sum(route.value for route in listed[:most]) for most in STEPS])
    error = abs(sum(route.value for route in routes.terms) - routes.total)
    return RoutesView(tuple(edges), flows, shown, routes.total, error)


def name_of(edge: Edge) -> str:
    """In an address."""
    return ">".join("" if node is None else f"{node.part.site}@{node.position}" for node in edge)


def chosen(question: Question) -> Edge | None:
    """The edge that is cut."""
    asked_for = question.look.options.get(CUT)
    return next((edge for edge in view(question).edges if name_of(edge) == asked_for), None)


# The picture


class _Plan(NamedTuple):
    """Where the nodes stand: rows by stack and place in it, columns by position."""

    look: Look
    sides: tuple[Side, ...]
    rows: dict[tuple[Side, int, str], int]
    lengths: dict[Side, int]

    def at(self, node: Node | None, position: int) -> tuple[float, float]:
        """Across, as a share of the columns, and the row."""
        if node is None:
            return (position + 0.5) / self.lengths[self.sides[-1]], float(len(self.rows))
        part, n = node.part, self.lengths[node.side]
        aside = 0.0
        if part.kind == "head" and part.head is not None:
            aside = 0.7 * ((part.head + 0.5) / self.look.n_heads - 0.5)
        elif part.kind in SOURCES:
            aside = 0.2 if part.kind == "position" else -0.2
        place = "embed" if part.layer is None else part.at or "ffn"
        return ((node.position or 0) + 0.5 + aside) / n, float(self.rows[node.side, part.layer or 0, place])


def _plan(question: Question) -> _Plan:
    trace, rows = question.trace, dict[tuple[Side, int, str], int]()
    sides = trace.config.sides
    for side in sides:
        rows[side, 0, "embed"] = len(rows)
        for layer in range(trace.at(side).n_layers):
            crosses = trace.at(side).stack.block(layer).cross is not None
            for place in ("attn", "cross", "ffn") if crosses else ("attn", "ffn"):
                rows[side, layer, place] = len(rows)
    return _Plan(question.look, sides, rows, {side: len(trace.at(side)) for side in sides})


def draw(look: Look) -> Scene:
    """Tokens to the right, the way of the stream downwards; a click on an edge cuts it."""
    question = question_of(look)
    plan, seen, words = _plan(question), view(question), look.words
    step = max(12.0, min(30.0, HIGH / len(plan.rows)))
    across = (1.0, -LEFT - 12)
    low = TOP + step * (len(plan.rows) + 0.5)
    marks: list[Mark] = [*_names(question, plan, step, across)]
    most = max(float(np.abs(seen.flows).max(initial=0)), 1e-9)
    middles, labels = [], []
    for n, edge in enumerate(seen.edges):
        x, y = _curve(plan, edge, question.position, n)
        flow = seen.flows[:, n]
        ends, high = along(x, LEFT, across), (TOP + step * (y + 0.5)).astype(np.float32)
        middles.append((ends[len(x) // 2], high[len(y) // 2]))
        labels.append(f"{_said(question, edge)}\n{written(float(seen.flows[-1, n]), '+2')}")
        by_step: dict[str, Any] = {
            "stroke": Among(("positive", "negative"), By((MANY,), (flow < 0).astype(int))),
            "thick": By((MANY,), 1 + (THICK - 1) * np.abs(flow) / most),
            "present": By((MANY,), [bool(one) for one in flow]),
        }
        marks.append(Path(id=f"edge.{n}", x=ends, y=high, opacity=0.75, **by_step))
    cut = chosen(question)
    is_cut = [edge == cut for edge in seen.edges]
    at = np.array([middle for middle, _ in middles], np.float32)
    where: Any = By((MANY,), np.where(seen.flows[..., None] != 0, at, np.nan).astype(np.float32))
    marks.append(
        Items(
            id="edges",
            x=where,
            y=np.array([high for _, high in middles], np.float32),
            symbol=["x" if cut else "circle" for cut in is_cut],
            size=[14 if cut else 7 for cut in is_cut],
            fill=["ink" if cut else "muted" for cut in is_cut],
            labels=labels,
            picks=[name_of(edge) for edge in seen.edges],
        )
    )
    alt = words("routes_alt", token=question.token, **_facts(question))
    panel = Panel(id="routes", marks=marks, height=low + 30)
    scene = Scene(id="attribution.routes", panels=[panel], title=alt, option=CUT)
    return look.drawn(look.only_here(scene, layer=False, token=not look.config.classes), ("logits",), data=seen)


def _curve(plan: _Plan, edge: Edge, position: int, n: int) -> tuple[np.ndarray, np.ndarray]:
    """The points of an edge; one that stays in its column swings out, so as not to cover what stands between."""
    (x0, y0), (x1, y1) = plan.at(edge[0], position), plan.at(edge[1], position)
    t, column = np.linspace(0, 1, 9), 1 / plan.lengths[plan.sides[-1]]
    stays = abs(x1 - x0) < column
    swing = (-1) ** n * 0.6 * column * min(1.0, (y1 - y0) / 6) if stays else 0.0
    return x0 + (x1 - x0) * t + swing * np.sin(np.pi * t), y0 + (y1 - y0) * t


def _names(question: Question, plan: _Plan, step: float, across: tuple[float, float]) -> Iterator[Mark]:
    """Of the rows, of the tokens above each stack, and of the answer."""
    words, layered = question.look.words, len(plan.rows) <= 40
    for (side, layer, place), row in plan.rows.items():
        y = TOP + step * (row + 0.5)
        if place == "embed":
            tokens = question.trace.at(side).tokens
            labels = [token.label for token in tokens]
            yield Labels(
                id=f"tokens.{side}", texts=labels, x=LEFT, y=y - step / 2 - 18, length=across, most=9, turn="never"
            )
        if place == "embed" or layered or place == "attn":
            yield Text(
                id=f"row.{side}.{row}",
                text=words(f"row_{place}", layer=layer),
                x=LEFT - 10,
                y=y,
                anchor="end",
                fill="muted",
            )
    x = (question.position + 0.5) / len(question.trace)
    target = words(f"sum_{question.kind}", target=question.plain(question.target), rival=_rival(question))
    yield Text(
        id="answer", text=target, x=along(x, LEFT, across), y=TOP + step * (len(plan.rows) + 0.5) + 14,
        anchor="end" if x > 0.7 else "middle", bold=True,
    )  # fmt: skip


def _rival(question: Question) -> str:
    return question.plain(question.against if isinstance(question.against, int) else question.target)


def _said(question: Question, edge: Edge) -> str:
    """An edge in words."""
    writer, reader = (_node(question, node) for node in edge)
    return f"{writer} → {reader}"


def _node(question: Question, node: Node | None, spelled: Callable[[str], str] = str) -> str:
    if node is None or node.position is None:
        return str(question.look.words("the_answer"))
    token = spelled(question.trace.at(node.side).tokens[node.position].label)
    return str(question.look.words("node", part=question.name(node.part), token=token, position=node.position))


# What is said


def _facts(question: Question) -> dict[str, Any]:
    seen, n = view(question), np.minimum(STEPS, len(found(question).listed))
    return {
        "n_routes": By((MANY,), n, write="whole"),
        "carried": By((MANY,), seen.shown, write="2"),
        "total": written(seen.total, "2"),
        "error": written(seen.error, "g2"),
        "n_terms": f"{len(found(question).terms):,}",
    }


def choose(look: Look) -> Chooser:
    """How many of the largest routes are in sight."""
    options = {str(n): look.words("routes_most", n=most) for n, most in enumerate(STEPS)}
    return Chooser(MANY, options, look.words("routes_many"), look.words("routes_many_help"), str(USUAL), is_scale=True)


def title(look: Look) -> Iterator[Line]:
    yield look.title("routes_title", **_facts(question_of(look)))


def tell(look: Look) -> Iterator[Line]:
    question = question_of(look)
    yield look.text("routes", **_facts(question))
    edge = chosen(question)
    if edge is None:
        yield look.text("routes_cut")
        return
    cut = question.look.once(
        lambda look: explain.cut(found(question), *edge), ("cut", name_of(edge), question.position, question.target)
    )
    said = {
        "writer": _node(question, edge[0], literal),
        "reader": _node(question, edge[1], literal),
        "predicted": written(cut.predicted, "+2"),
        "measured": written(cut.measured, "+2"),
    }
    yield look.text("cut", **said)
    yield Line(REACT.says(look.t.language, cut, **said))


def link(look: Look) -> Offer | None:
    """The way to the page of the head that writes or reads at the edge that is cut."""
    edge = chosen(question_of(look))
    parts = [node.part for node in edge or () if node is not None and node.part.kind == "head"]
    return units.link(look, parts[0].layer, head=parts[0].head) if parts else None


REACT: Verdict[Cut] = Verdict(
    "attribution.react",
    Claim("same", lambda cut: abs(cut.measured - cut.predicted) <= 0.1 * abs(cut.predicted)),
    Claim("turned", lambda cut: cut.measured * cut.predicted < 0),
    Claim("weaker", lambda cut: abs(cut.measured) < abs(cut.predicted)),
)
"""How what was measured compares with what was predicted."""
