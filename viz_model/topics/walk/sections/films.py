"""The films of the stops: of each its shots, made of this run."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np

import viz_model as vm
from viz_model.app import runs
from viz_model.app.cache import cached
from viz_model.app.page import Page
from viz_model.config import NoNorm
from viz_model.drawing.scene import Film, Frame
from viz_model.measures.heads import HEAD, of_layer
from viz_model.measures.lens import predicts
from viz_model.measures.training_log import loss_curve
from viz_model.runs import edits
from viz_model.runs.edits import Edit
from viz_model.topics.walk.choices import HURTS, STOPS
from viz_model.topics.walk.numbers import views
from viz_model.topics.walk.pictures import attention, block, ending, heads, lines, opening
from viz_model.topics.walk.pictures.stage import Shot, Stage
from viz_model.training import log

CONTROLS = ("back", "next", "play", "pause", "again", "step", "unstep", "speed", "stops")
_POINTS = 60


def stops(page: Page) -> tuple[str, ...]:
    """Those that this model has."""
    trace = page.trace
    lacks = set()
    if "blocks.0.cross.pattern" not in trace:
        lacks.add("source")
    if not predicts(trace):
        lacks.add("break")
    if len(_log(page.view.model)) < _POINTS:
        lacks.add("learnt")
    return tuple(name for name in STOPS if name not in lacks)


def stage(page: Page) -> Stage:
    shown = views.window(page.trace, page.token)
    tokens = page.trace.tokens
    labels, ids = (tuple(getattr(tokens[n], name) for n in shown) for name in ("label", "id"))
    return Stage(labels, ids, shown.start, len(tokens) - shown.stop, page.token - shown.start, partial(_say, page))


def _say(page: Page, key: str, /, **values: object) -> str:
    return page.words(f"in_{key}", **values)


def film(page: Page, stop: str, passed: tuple[str, ...], titles: tuple[str, ...], played: str | None) -> Film:
    """The film of a stop.

    Args:
        titles: of all stops.
        played: what the visitor has guessed there; None where they have yet to, and the film waits.
    """
    standing = stage(page)
    shots = _SHOTS[stop](page, standing)
    at = passed.index(stop)
    frames = [
        Frame(scene=standing.scene(titles[at], shot), caption=shot.caption, seconds=shot.seconds, moves=shot.moves)
        for shot in shots
    ]
    # Another place of the norms is told from the start.
    key = f"{stop}.{played}.{page.trace.norm_at}" if stop == "again" else f"{stop}.{played}"
    return Film(key=key, frames=frames, stops=titles, stop=at, words=controls(page), waits=played is None)


def controls(page: Page) -> dict[str, str]:
    """What the buttons of a film are called."""
    return {name: page.words(f"control_{name}") for name in CONTROLS}


def head_of(page: Page) -> attention.Attention:
    return views.attention(page.trace, page.token, page.view.layer, page.view.head)


def _question(page: Page, standing: Stage) -> list[Shot]:
    return attention.question(standing, head_of(page), views.block_input(page.trace, page.token, page.view.layer))


def _heads(page: Page, standing: Stage) -> list[Shot]:
    does = [HEAD.label(page.t.language, each) for each in of_layer(page.trace, page.view.layer)]
    return heads.heads(standing, views.heads(page.trace, page.token, page.view.layer, page.view.head, does))


def _places(page: Page, standing: Stage) -> list[Shot]:
    return lines.places(standing, views.places(page.trace, page.token, page.view.layer, page.view.head))


def _stream(page: Page, standing: Stage) -> list[Shot]:
    return lines.stream(standing, views.stream(page.trace, page.token), views.embedded(page.trace, page.token))


def _again(page: Page, standing: Stage) -> list[Shot]:
    trace, token = page.trace, page.token
    ride, stream = views.ride(trace, token), views.stream(trace, token)
    return block.again(standing, ride, stream, views.embedded(trace, token), views.schema(trace))


def _out(page: Page, standing: Stage) -> list[Shot]:
    found = views.answer(page.trace, page.token, _longer(page))
    return ending.out(standing, found, views.sample(page.trace))


def _longer(page: Page) -> vm.Trace | None:
    """The run of the text with the model's first guess behind it; None where the followed token does not end it."""
    trace, token = page.trace, page.token
    if page.lm.config.kind == "encoder" or not predicts(trace) or token != len(trace) - 1 or trace.edits:
        return None
    best = trace.next_tokens(token, 1)[0][0]
    if best.id in trace.tokenizer.controls or len(trace) + 1 > runs.most_tokens(trace.config):
        return None
    if trace.target_ids is None:
        longer = runs.trace(page.run_key._replace(text=(trace.text or "") + best.text))
    else:
        longer = runs.trace(page.run_key._replace(target=(trace.target or "") + best.text))
    longer = longer.at(trace.stack.side)
    return longer if longer.own_ids[-1] == best.id else None


def parts(page: Page) -> dict[str, Edit]:
    """What may be taken out of this run, one at a time."""
    layer, head, side = page.view.layer, page.view.head, page.trace.side
    found: dict[str, Edit] = {
        "head": edits.AblateHead(layer=layer, head=head, side=side),
        "attn": edits.Skip(layer=layer, part="attn", side=side),
        "ffn": edits.Skip(layer=layer, part="ffn", side=side),
    }
    if views.scheme(page.trace, layer)[0] != "none":
        found["position"] = edits.NoPosition()
    if head_of(page).has_mask:
        found["mask"] = edits.NoMask(side=side)
    if page.trace.config.divides_by_root:
        found["scale"] = edits.NoScale()
    if not isinstance(page.trace.config.norm, NoNorm):
        found["norm"] = edits.NoNorm()
    return found


@cached()
def without(
    run: runs.RunKey, side: str, token: int, written: str, ids: tuple[int, ...]
) -> tuple[tuple[float, ...], str]:
    """What tokens get in a run without a part, and its first guess."""
    changed = runs.trace(run._replace(edits=written)).at(side)  # type: ignore[arg-type]
    return views.chances(changed, token, ids)


def broken(page: Page) -> dict[str, ending.Broken]:
    """The model's guesses as it is, and without each part that may be taken out."""
    best = views.guesses(page.trace, page.token)
    ids = tuple(guess.id for guess in best)
    side = page.trace.stack.side
    found = {}
    for name, edit in parts(page).items():
        said = page.words(f"without_{name}", layer=page.view.layer, head=page.view.head)
        changed = without(page.run_key, side, page.token, edits.write((*page.trace.edits, edit)), ids)
        found[name] = ending.Broken(said, best, *changed)
    return found


def _broken(page: Page, standing: Stage) -> list[Shot]:
    return ending.broken(standing, views.guesses(page.trace, page.token), broken(page).get(taken_out(page) or ""))


def taken_out(page: Page) -> str | None:
    """What the visitor has taken out, as far as this run has it."""
    chosen = page.view.chosen(page.name, HURTS)
    return chosen if chosen in parts(page) else None


def _log(model: str) -> list[dict[str, object]]:
    path = runs.model(model).folder / "log.jsonl"
    return _read(str(path))


@cached()
def _read(path: str) -> list[dict[str, object]]:
    return log.read(Path(path)) if Path(path).exists() else []


def _learnt(page: Page, standing: Stage) -> list[Shot]:
    reports = _log(page.view.model)
    curve = loss_curve(reports, max(1, len(reports) // _POINTS))
    # The first line of the log by itself: a point is the mean of so many steps that the start would not be seen.
    steps = np.array([reports[0]["step"], *curve.steps], dtype=float)
    loss = np.array([reports[0]["loss"], *curve.mean], dtype=float)
    return ending.learnt(standing, ending.Learnt(steps, loss, page.lm.config.n_vocab))


def _end(page: Page, standing: Stage) -> list[Shot]:
    trace, token = page.trace, page.token
    guesses = views.guesses(trace, token, 1)
    return ending.end(standing, views.stream(trace, token), views.embedded(trace, token), guesses)


_SHOTS: dict[str, Callable[[Page, Stage], list[Shot]]] = {
    "look": lambda page, standing: opening.look(standing, views.opening(page.trace, page.token)),
    "pieces": lambda page, standing: opening.pieces(standing, views.opening(page.trace, page.token)),
    "vectors": lambda page, standing: lines.vectors(standing, views.table(page.trace, page.token)),
    "places": _places,
    "stream": _stream,
    "question": _question,
    "shares": lambda page, standing: attention.shares(standing, head_of(page)),
    "taken": lambda page, standing: attention.taken(standing, head_of(page)),
    "heads": _heads,
    "source": lambda page, standing: heads.source(standing, views.source(page.trace, page.token, page.view.layer)),
    "alone": lambda page, standing: block.alone(standing, views.alone(page.trace, page.token, page.view.layer)),
    "again": _again,
    "out": _out,
    "break": _broken,
    "learnt": _learnt,
    "end": _end,
}
