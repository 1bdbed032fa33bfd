"""A query and its key both moved on: of rotated vectors the score knows the distance alone."""

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
import torch

from viz_model.claims import Claim, Verdict
from viz_model.drawing import chart
from viz_model.drawing.scene import Items, Key, Mark, Panel, Path, Rect, Scene, Series
from viz_model.drawing.short_repr import short_repr
from viz_model.drawing.tables import Each, Phrase, by
from viz_model.island import say
from viz_model.island.look import Look
from viz_model.island.page import Chooser
from viz_model.island.prose import Line
from viz_model.topics.position import added, key
from viz_model.topics.position.arrows import Plane
from viz_model.topics.position.rotation import PLACE, columns, pair, scale, turned, unrotated

MAX_SHIFT, SHIFT = 1000, 5


def shift(look: Look) -> int:
    return int(look.options.get("shift") or SHIFT)


def choose_shift(look: Look) -> Chooser:
    return added.slider(look, "shift", MAX_SHIFT + 1, shift(look), "shift", "shift_help")


class Moved(NamedTuple):
    """The largest change of each head's scores when all tokens are moved on, and its largest score; [L, H]."""

    change: np.ndarray
    score: np.ndarray


MOVED: Verdict[Moved] = Verdict(
    "position.moved", Claim("stays", lambda moved: moved.change < 1e-4 * np.maximum(1.0, moved.score))
)


class Shifted(NamedTuple):
    """A query of each place and its key, and both further on.

    Attributes:
        recorded, score: the score in the run, and from there, [L, H, T].
        pairs: directions of the pair of values, of length 1: query, key, moved query, moved key, [L, H, T, 4, 2].
        moved: over all T² scores of each head.
    """

    recorded: np.ndarray
    score: np.ndarray
    pairs: np.ndarray
    moved: Moved


def shifted(look: Look) -> Shifted:
    def make(look: Look) -> Shifted:
        recorded, keys = look.every("attn.scores"), key.chosen(look)
        (here_q, here_k), (there_q, there_k) = (turned(look, at) for at in (0, shift(look)))
        scores = (there_q @ there_k.mT * scale(look)).numpy()
        where = list(columns(look))
        at_key = [np.take_along_axis(k.numpy()[..., where], keys[..., None], 2) for k in (here_k, there_k)]
        here, there = (q.numpy()[..., where] for q in (here_q, there_q))
        points = np.stack([here, at_key[0], there, at_key[1]], -2)
        pairs = points / np.maximum(np.linalg.norm(points, axis=-1, keepdims=True), 1e-30)
        moved = Moved(np.abs(scores - recorded).max((-1, -2)), np.abs(recorded).max((-1, -2)))
        return Shifted(key.of_key(recorded, keys), key.of_key(scores, keys), pairs, moved)

    return look.once(make, ("shifted", shift(look), pair(look), look.options.get("key")))


proof_title = say.title("rope_proof")


def moved(look: Look) -> Scene:
    """The pair's query and key where they stand, faint, and moved: both turned, the angle between them kept."""
    found, words, by_place = shifted(look), look.words, look.by(PLACE, None)
    first, second = columns(look)
    on = Plane(380, 1.0, (f"{words('rope_value')} {first}", f"{words('rope_value')} {second}"))
    marks: list[Mark] = on.ground()
    at = np.arange(len(look)) + np.zeros(found.recorded.shape, int)
    for n, role in enumerate(("query", "key") * 2):
        place = (at, key.chosen(look))[n % 2] + (shift(look) if n >= 2 else 0)
        where = look.by(PLACE, place, "whole")
        opacity, dash = (1.0, None) if n >= 2 else (0.65, "2px,3px")
        x, y = found.pairs[..., n, 0], found.pairs[..., n, 1]
        told = f"{words(f'role_{role}')} · {words('rope_position')} {{{{at}}}}"
        name = Phrase(f"{'qk'[n % 2]} · {{{{at}}}}", {"at": where})
        marks += on.arrow(
            f"{role}.{n}", PLACE, x, y, told, {"at": where}, name, start=by_place.start,
            stroke=role, thick=3.5, opacity=opacity, dash=dash,
        )  # fmt: skip
    for n, (share, opacity) in enumerate(((0.35, 0.6), (0.5, 1.0))):
        query, other = (np.arctan2(found.pairs[..., 2 * n + k, 1], found.pairs[..., 2 * n + k, 0]) for k in (0, 1))
        between = np.arctan2(np.sin(other - query), np.cos(other - query))
        marks.append(on.arc(f"arc.{n}", by_place, query, between, share, stroke="accent", opacity=opacity))
    panel = Panel(id="plane", marks=marks, height=on.size)
    return look.drawn(Scene(id="position.moved", panels=[panel], title=words("rope_shift_alt")), ["attn.scores"])


moved_note = say.note("rope_shift_note", lambda look: {"pair": pair(look)})


@short_repr
class Offsets(NamedTuple):
    """The score of each query and its key for each of N ``offsets``, query minus key: ``scores`` [L, H, T, N].

    ``offset`` [L, H, T] is the one they have in the run, and ``recorded`` their score there.
    """

    offsets: np.ndarray
    scores: np.ndarray
    offset: np.ndarray
    recorded: np.ndarray


def offsets(look: Look) -> Offsets:
    """The vectors are those of the run; only their positions vary."""

    def make(look: Look) -> Offsets:
        keys, length = key.chosen(look), len(look)
        reach = max(32, min(2 * length, 128))
        position = look.trace.stack.position_of(look.layers.start)
        q, k = (look.of_heads(unrotated(look, letter)) for letter in "qk")
        query = torch.from_numpy(q)
        chosen = torch.from_numpy(np.take_along_axis(k, keys[..., None], 2))
        many = (*query.shape[:3], reach + 1, query.shape[-1])
        # The key stays at 0 and the query moves on; and the other way round.
        moved = position.rotate(query[..., None, :].expand(many), 0)
        after = (moved * position.rotate_keys(chosen[..., None, :], 0)).sum(-1)
        first = 0 if look.trace.stack.side == "decoder" else -reach
        found = [after]
        if first:
            other = position.rotate_keys(chosen[..., None, :].expand(many), 0)
            found.insert(0, (position.rotate(query[..., None, :], 0) * other).sum(-1)[..., 1:].flip(-1))
        scores = torch.cat(found, -1) * scale(look)
        recorded = key.of_key(look.every("attn.scores"), keys)
        return Offsets(np.arange(first, reach + 1), scores.numpy(), np.arange(length) - keys, recorded)

    return look.once(make, ("offsets", look.options.get("key")))


def draw_offsets(look: Look, alt: str, *, is_moved: bool) -> Scene:
    """The score over the offset; a dot where the run has it, and where both moved a ring after it."""
    found, words = offsets(look), look.words
    x = chart.Axis(float(found.offsets[0]) - 1, float(found.offsets[-1]) + 1, words("rope_offset"))
    y = chart.axis(found.scores, found.recorded, title=words("rope_score"))
    on, marks = chart.plot(x, y, 380)
    scores: Any = look.by(PLACE, found.scores.astype(np.float32))
    at = on.at_x(found.offsets.astype(np.float64))
    told = f"{words('rope_offset')} {{{{at}}}}\n{{{{value}}}}"
    labels: Any = Each(told, {"at": tuple(str(n) for n in found.offsets), "value": scores._replace(write="4")})
    marks.append(Path(id="scores", x=at, y=on.at_y(scores), stroke="pattern", thick=2.2))
    marks.append(Items(id="points", x=at, y=on.at_y(scores), labels=labels))
    marks.append(Rect(id="zero", x=on.left, y=on.pixels_y(0.0), width=on.across, height=1, fill="muted"))
    here: Any = look.by(PLACE, found.offset.astype(np.float32)[..., None])
    dots = [("recorded", found.recorded, "pattern", 9, "circle")]
    if is_moved:
        dots.append(("shifted", shifted(look).score, "position", 17, "circle-open"))
    keys = []
    for name, values, role, size, symbol in dots:
        value: Any = look.by(PLACE, values.astype(np.float32)[..., None])
        said: Any = Each(f"{words(f'rope_{name}')}\n{{{{value}}}}", {"value": value._replace(write="6")})
        look_: dict[str, Any] = {"symbol": symbol, "fill": role, "thick": 2.5}
        marks.append(Items(id=name, x=on.at_x(here), y=on.at_y(value), size=size, labels=said, **look_))
        sample = Items(id="key", x=np.array([14.0]), y=np.array([7.0]), walk=False, **look_)
        keys.append(Key(name=words(f"rope_{name}"), marks=[sample]))
    scene = Scene(
        id="position.offsets",
        panels=[Panel(id="lines", marks=marks, height=380)],
        title=alt,
        keys=keys,
        keys_at="below",
        series=[Series(words("rope_score"), [str(n) for n in found.offsets], scores)],
    )
    return look.drawn(scene, ["attn.scores"], data=found._replace(scores=scores))


def curve(look: Look) -> Scene:
    return draw_offsets(look, look.words("rope_offsets_alt"), is_moved=True)


scores_source = say.source("attn.scores")


def tell_proof(look: Look) -> Iterator[Line]:
    found, keys, at = shifted(look), key.chosen(look), np.arange(len(look))
    yield look.text(
        "rope_proof",
        token=look.token_named(),
        key=look.token_named(look.by(PLACE, keys)),
        query_at=by("token", at, "whole"),
        key_at=look.by(PLACE, keys, "whole"),
        query_to=by("token", at + shift(look), "whole"),
        key_to=look.by(PLACE, keys + shift(look), "whole"),
        offset=look.by(PLACE, (at - keys).astype(np.float32), "0"),
        recorded=look.by(PLACE, found.recorded, "6"),
        shifted=look.by(PLACE, found.score, "6"),
        shift=shift(look),
    )
    largest = look.by("layer head", found.moved.change, "g1")
    yield look.claim(MOVED, found.moved, "layer head", scores=f"{len(look) ** 2:,}", largest=largest)
