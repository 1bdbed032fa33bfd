"""Beam search after the text: at every step the few beginnings with the largest product of probabilities go on."""

import math
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from viz_model.claims import Claim, Verdict, exceeds
from viz_model.drawing.digits import percent
from viz_model.drawing.scene import Mark, Panel, Path, Rect, Scene, Text
from viz_model.drawing.scene.writing import short
from viz_model.island.look import Look
from viz_model.island.page import Chooser
from viz_model.island.prose import Line
from viz_model.measures.continuation import can_be_drawn
from viz_model.runs.edits import ShuffleTokens, StructureEdit
from viz_model.runs.generation import Decoder
from viz_model.runs.trace import Trace
from viz_model.texts.markdown import literal
from viz_model.tokenizers.tokenizer import Token

DEPTH, USUAL, WIDTHS = 5, 3, range(1, 6)
"""Steps, how many beginnings are kept unasked, and how many can be."""
OPTION = ("beam", tuple(map(str, (USUAL, *(n for n in WIDTHS if n != USUAL)))))
ROW, TOP, WIDE = 30.0, 26.0, 0.76
"""Pixels of a row and above the first, and the share of its column that a box takes."""


class Node(NamedTuple):
    """A token after a beginning.

    Attributes:
        parent: the number of that beginning in the step before.
        p: the probability of the token there.
        total: Σ log p from the end of the text on, natural logarithm.
        is_kept: whether it is among the beginnings that go on.
        ends: whether it ends the text: it is kept as it is.
    """

    parent: int
    token: Token
    p: float
    total: float
    is_kept: bool
    ends: bool


Tree = tuple[tuple[Node, ...], ...]
"""For every step its nodes, the largest total first."""


def search(trace: Trace, width: int, depth: int = DEPTH) -> Tree:
    """The beginnings of each step: the ``width`` best of all continuations of those that were kept before."""
    edits = [edit for edit in trace.edits if not isinstance(edit, StructureEdit | ShuffleTokens)]
    own, source = (trace.ids, None) if trace.target_ids is None else (trace.target_ids, trace.ids)
    end, controls = trace.tokenizer.end_of_text, trace.tokenizer.controls_by_side
    live: list[tuple[list[int], float, bool]] = [([], 0.0, False)]
    tree = []
    for _ in range(depth):
        if all(ended for *_, ended in live):
            break
        found = []
        for parent, (ids, total, ended) in enumerate(live):
            if ended:
                found.append((total, parent, None, 1.0))
                continue
            reads = [*own, *ids], source
            decoder = Decoder(trace.model, *reads, picture=trace.picture, edits=edits, controls=controls)
            logs, best = decoder.logits.double().log_softmax(-1).topk(min(width, trace.config.n_vocab))
            steps = zip(best.tolist(), logs.tolist(), strict=True)
            found += [(total + log, parent, id, math.exp(log)) for id, log in steps]
        found.sort(key=lambda one: -one[0])
        nodes, following = [], []
        for n, (total, parent, id, p) in enumerate(found):
            ids, _, ended = live[parent]
            token = trace.tokenizer.token(ids[-1] if id is None else id)
            ends = ended or id == end
            nodes.append(Node(parent, token, p, total, n < width, ends))
            if n < width:
                following.append((ids if id is None else [*ids, id], total, ends))
        tree.append(tuple(nodes))
        live = following
    return tuple(tree)


def path(tree: Tree) -> tuple[Node, ...]:
    """The nodes that lead to the best of the last step."""
    found, at = [], 0
    for nodes in reversed(tree):
        found.append(nodes[at])
        at = nodes[at].parent
    return tuple(reversed(found))


class Ways(NamedTuple):
    """Σ log p of the best that was found and of the most probable token at each step, and how many were kept."""

    best: float
    greedy: float
    width: int


BEAM: Verdict[Ways] = Verdict(
    "next_token.beam",
    Claim("greedy", lambda ways: ways.width == 1),
    Claim("better", lambda ways: exceeds(ways.best, ways.greedy, 2)),
    Claim("worse", lambda ways: exceeds(ways.greedy, ways.best, 2)),
)


def can(look: Look) -> bool:
    """Whether a text goes on here, and can be drawn on."""
    return look.config.kind != "encoder" and can_be_drawn(look.trace)


def width(look: Look) -> int:
    return int(look.options.get("beam") or USUAL)


def tree(look: Look, wide: int) -> Tree:
    trace = look.trace.at(look.config.sides[-1])
    return look.once(lambda _: search(trace, wide), ("beam", wide))


def choose(look: Look) -> Chooser:
    options = {str(n): str(n) for n in WIDTHS}
    return Chooser("beam", options, look.words("beam"), look.words("beam_help"), str(USUAL), asks=True)


def _written(look: Look, nodes: tuple[Node, ...]) -> str:
    """What a path spells, once where it ended before the last step."""
    ids, ended = [], False
    for node in nodes:
        if not ended:
            ids.append(node.token.id)
        ended = node.ends
    return " ".join(literal(token.label) for token in look.trace.tokenizer.tokens(ids))


def title(look: Look) -> Iterator[Line]:
    best = path(tree(look, width(look)))
    yield look.title("beam_title", n=width(look), p=percent(math.exp(best[-1].total)))


def tell(look: Look) -> Iterator[Line]:
    best, greedy = path(tree(look, width(look))), path(tree(look, 1))
    ways = Ways(best[-1].total, greedy[-1].total, width(look))
    known = {
        "n": ways.width, "best": _written(look, best), "greedy": _written(look, greedy),
        "p": percent(math.exp(ways.best)), "p_greedy": percent(math.exp(ways.greedy)),
    }  # fmt: skip
    yield look.text("beam", steps=len(best), **known)
    yield look.claim(BEAM, ways, "", **known)
    yield look.text("beam_length")


def draw(look: Look) -> Scene:
    """A column a step, the largest product on top; what is kept in color, what is dropped faint."""
    found, words = tree(look, width(look)), look.words
    best = {(n, nodes.index(node)) for n, (nodes, node) in enumerate(zip(found, path(found), strict=True))}
    share = 1 / (len(found) + 1)
    rows = max(map(len, found))
    start = look.trace.at(look.config.sides[-1]).tokens[-1]
    marks: list[Mark] = [
        Rect(id="start", y=TOP, width=(WIDE * share, 0), height=ROW - 6, fill="token", opacity=0.4),
        Text(id="start.label", text=short(start.label, 9), x=8, y=TOP + ROW / 2 - 3, size=13),
    ]
    for n, nodes in enumerate(found):
        left = (n + 1) * share
        marks.append(Text(id=f"step.{n}", text=words("beam_step", n=n + 1), x=(left, 0), y=10, fill="muted"))
        for k, node in enumerate(nodes):
            y, is_best = TOP + k * ROW, (n, k) in best
            x = np.array([[n * share + WIDE * share, 0], [left, 0]], np.float32)
            ends = np.array([TOP + node.parent * ROW, y], np.float32) + ROW / 2 - 3
            marks.append(
                Path(
                    id=f"line.{n}.{k}", x=x, y=ends, curve="link", stroke="output" if node.is_kept else "residual",
                    thick=3 if is_best else 1.2, opacity=1.0 if node.is_kept else 0.35,
                )
            )  # fmt: skip
            total = percent(math.exp(node.total))
            told = words("beam_node", token=node.token.label, p=percent(node.p), total=total)
            marks += [
                Rect(
                    id=f"box.{n}.{k}", x=(left, 0), y=y, width=(WIDE * share, 0), height=ROW - 6, radius=3, label=told,
                    fill="output" if node.is_kept else "residual", opacity=0.55 if is_best else 0.22,
                ),
                Text(id=f"token.{n}.{k}", text=short(node.token.label, 9), x=(left, 8), y=y + ROW / 2 - 3, size=13),
                Text(
                    id=f"total.{n}.{k}", text=total, x=(left + WIDE * share, -6), y=y + ROW / 2 - 3, anchor="end",
                    fill="ink" if node.is_kept else "muted",
                ),
            ]  # fmt: skip
    panel = Panel(id="beam", marks=marks, height=TOP + rows * ROW + 4, min=860)
    return look.drawn(Scene(id="next_token.beam", panels=[panel], title=words("beam_alt")), ["logits"], data=found)
