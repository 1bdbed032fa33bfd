"""Rotary positions: pairs of every query and key are turned."""

import math
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor

from viz_model import config
from viz_model.claims import Claim, Verdict
from viz_model.drawing import chart, theme
from viz_model.drawing.scene import Mark, Panel, Rect, Scene, Text
from viz_model.drawing.tables import By, by
from viz_model.island import say
from viz_model.island.look import Look
from viz_model.island.page import Chooser, Quiz
from viz_model.island.prose import Line
from viz_model.island.tabs import Tabs, Worked
from viz_model.model import positions
from viz_model.runs.trace import Trace
from viz_model.topics.position import added, key, waves
from viz_model.topics.position.arrows import Plane
from viz_model.topics.position.schemes import own, scheme_of
from viz_model.topics.position.waves import Turns, pair_columns

PLACE = "layer head token"
WINDOW = 8
"""Tokens whose arrows are drawn at the most; their labels would cover each other."""


def rope(trace: Trace, layer: int) -> positions.Rope:
    """The rotation of a layer.

    Raises:
        ValueError: its positions are no rotation.
    """
    position = trace.stack.position_of(layer)
    if not isinstance(position, positions.Rope):
        raise ValueError(f"position: expected Rope, layer {layer} has {type(scheme_of(trace, layer)).__name__}")
    return position


def _rope(look: Look) -> positions.Rope:
    return rope(look.trace, look.layers.start)


def rotary(look: Look) -> config.Rope:
    """What the config says of the rotation."""
    scheme = own(look)
    assert isinstance(scheme, config.Rope)  # or rope() had raised
    return scheme


class Frequencies(NamedTuple):
    """Radians a position of each of the R/2 pairs: as this model turns them, and before any scaling."""

    used: np.ndarray
    unscaled: np.ndarray

    @property
    def wavelengths(self) -> np.ndarray:
        """Positions in one full turn of each pair."""
        return 2 * math.pi / self.used

    def turning(self, length: int) -> int:
        """How many pairs complete a turn within ``length`` positions."""
        return int((self.wavelengths <= length).sum())


def frequencies(look: Look) -> Frequencies:
    found = _rope(look)
    return Frequencies(found.frequencies.numpy(), found.unscaled.numpy())


def pair(look: Look) -> int:
    """The pair that was chosen, or else an early one."""
    last, asked = len(_rope(look).frequencies) - 1, look.options.get("pair", "")
    return min(int(asked) if asked else 2, last)


def columns(look: Look) -> tuple[int, int]:
    """The two values of a head's query and key that the pair is."""
    found = _rope(look)
    return pair_columns(pair(look), found.n_pairs, interleaved=found.interleaved)


def unrotated(look: Look, letter: str) -> str:
    """What is rotated: normalized queries or keys where the model has them, else plain ones."""
    return f"attn.{letter}_normed" if look.has(f"attn.{letter}_normed") else f"attn.{letter}"


def turned(look: Look, shift: int) -> tuple[Tensor, Tensor]:
    """Queries and keys of all layers and heads [L, H, T, K] if the whole sentence stood ``shift`` positions further on.

    The recorded vectors, turned by the model's own function from position ``shift`` on.
    """
    position = look.trace.stack.position_of(look.layers.start)
    q, k = (torch.from_numpy(look.of_heads(unrotated(look, letter))) for letter in "qk")
    return position.rotate(q, shift), position.rotate_keys(k, shift)


def scale(look: Look) -> Tensor:
    """What scores are multiplied by, [L, 1, 1, 1]: layers may differ."""
    return torch.tensor([look.trace.stack.block(layer).attn.scale for layer in look.layers])[:, None, None, None]


# The pictures


lead = say.text("rope_lead")


def choose_pair(look: Look) -> Chooser | None:
    n = len(_rope(look).frequencies)
    return added.slider(look, "pair", n, pair(look), "rope_pair_slider", "rope_pair_help") if n > 1 else None


class Arrows(NamedTuple):
    """A pair of all queries or keys, before and after their turn, [L, G, T, 2] each; ``angles`` [T] in radians."""

    before: np.ndarray
    after: np.ndarray
    angles: np.ndarray


def arrows(look: Look, role: str) -> Arrows:
    where = list(columns(look))
    before, after = (look.every(name)[..., where] for name in (unrotated(look, role[0]), f"attn.{role[0]}_rotated"))
    return Arrows(before, after, np.arange(len(look)) * look.once(frequencies).used[pair(look)])


def heads_of(look: Look, role: str) -> dict[str, Any]:
    """Which head's vectors a query head reads, for tables that have no more heads than there are."""
    if role == "query" or look.here.n_kv_heads == look.n_heads:
        return {}
    return {"head": by("head", np.array([look.here.kv_head(head) for head in range(look.n_heads)]))}


def whose(look: Look, role: str) -> Iterator[Line]:
    source = look.config.source_of(look.trace.stack.side, look.layer)
    if role == "key" and source is not None:
        yield Line(look.words("rope_key_read", layer=source), "part")
        return
    known = heads_of(look, role).get("head", by("head", np.arange(look.n_heads)))
    yield Line(look.words(f"rope_{role}", head=known._replace(write="whole")), "part")


def plane(look: Look, role: str) -> Scene:
    """An arrow for each token near the selected one: dotted as it was, solid as it is after the turn."""
    found, words, length = arrows(look, role), look.words, len(look)
    shared, layers = heads_of(look, role), _started(look)
    longest = np.maximum(np.linalg.norm(np.stack([found.before, found.after]), axis=-1).max((0, -1)), 1e-30)
    first, second = columns(look)
    radius = By(("layer", "head"), longest.astype(np.float32), shared, _started(look))
    on = Plane(310, radius, (f"{words('rope_value')} {first}", f"{words('rope_value')} {second}"))
    marks: list[Mark] = on.ground()
    count = min(WINDOW, length)
    at, start = np.arange(length), np.clip(np.arange(length) - WINDOW // 2, 0, length - count)
    for n in range(count):
        here = start + n
        is_chosen = here == at
        fixed = {**shared, "token": by("token", here)}
        colors = by("token", [role if own else theme.token(int(k)) for k, own in zip(here, is_chosen, strict=True)])
        thick = by("token", np.where(is_chosen, 3.5, 1.6).astype(np.float32))
        for points, which in ((found.before, "before"), (found.after, "after")):
            is_after = which == "after"
            opacity = by("token", np.where(is_chosen, 1.0, 0.7 if is_after else 0.35).astype(np.float32))
            told = f"{{{{n}}}}: {{{{token}}}} · {words(f'rope_{which}')}\n[{first}] = {{{{x}}}}\n[{second}] = {{{{y}}}}"
            facts = {"n": by("token", here, "whole"), "token": look.token_named(by("token", here))}
            marks += on.arrow(
                f"{which}.{n}", PLACE, points[..., 0], points[..., 1], told, facts,
                look.token_named(by("token", here)) if is_after else "", fixed, layers,
                stroke=colors, thick=thick, opacity=opacity, dash=None if is_after else "2px,3px",
            )  # fmt: skip
    begin = np.arctan2(found.before[..., 1], found.before[..., 0])
    share = 0.45 * np.linalg.norm(found.before, axis=-1) / longest[..., None]
    angle = np.broadcast_to(found.angles, begin.shape)
    marks.append(
        on.arc("arc", By(tuple(PLACE.split()), None, shared, _started(look)), begin, angle, share, stroke=role)
    )
    alt = words("rope_plane_alt", pair=pair(look))
    scene = Scene(id=f"position.plane_{role}", panels=[Panel(id="plane", marks=marks, height=on.size)], title=alt)
    return look.drawn(scene, [unrotated(look, role[0]), f"attn.{role[0]}_rotated"])


def _started(look: Look) -> dict[str, int]:
    return dict(look.by("layer", None).start)


def source(look: Look) -> Iterator[Line]:
    names = [unrotated(look, letter) for letter in "qk"]
    yield look.source(*names, *(f"attn.{letter}_rotated" for letter in "qk"))


def facts(look: Look) -> dict[str, Any]:
    """The pair at each token, and the frequencies of the layer, for prose."""
    found, model, chosen = look.once(frequencies), look.here, pair(look)
    lengths, degrees, at = found.wavelengths, np.degrees(found.used), np.arange(len(look))
    angle, frequency = at * found.used[chosen], found.used[chosen]
    first, second = columns(look)
    return {
        "token": look.token_named(),
        "position": by("token", at, "whole"),
        "first": first,
        "second": second,
        "pair": chosen,
        "frequency": f"{frequency:.6g}",
        "angle": by("token", angle, "4"),
        "degrees": by("token", np.degrees(angle) % 360, "0"),
        "turns": by("token", angle / (2 * math.pi), "2"),
        "base": f"{rotary(look).base:,g}",
        "pairs": len(lengths),
        "rotated": 2 * len(lengths),
        "span": 2 * _rope(look).n_pairs,
        "width": model.d_head,
        "kept": model.d_head - 2 * len(lengths),
        "fastest": f"{lengths.min():,.1f}",
        "slowest": f"{lengths.max():,.0f}",
        "fastest_degrees": f"{degrees.max():,.3g}",
        "slowest_degrees": f"{degrees.min():,.3g}",
        "turning": found.turning(len(look)),
        "turning_context": found.turning(model.n_context),
        "unmet": len(lengths) - found.turning(model.n_context),
        "length": len(look),
        "context": f"{model.n_context:,}",
        "stretch": f"{_rope(look).stretch:.4f}",
    }


def tell(look: Look) -> Iterator[Line]:
    """The turn of the selected token, and what is special in this model's rotation."""
    known, sizes, scaling = facts(look), look.here, rotary(look).scaling
    yield look.text("rope_see", **known)
    if known["kept"]:
        yield look.text("rope_partial" if rotary(look).over == "part" else "rope_partial_pairs", **known)
    if sizes.qk_norm:
        yield look.text("rope_normed")
    if sizes.n_kv_heads < sizes.n_heads:
        group = heads_of(look, "key")["head"]._replace(write="whole")
        share = sizes.n_heads // sizes.n_kv_heads
        yield look.text("rope_shared", head=look.head_number, group=group, share=share)
    if scaling is not None:
        yield look.text(f"rope_scaled_{type(scaling).__name__}", **known)


frequencies_title = say.title("rope_frequencies", facts)


def angles(look: Look) -> Scene:
    """The cosine of every pair's angle at every token: 1 not turned, −1 turned half way round; the pair is framed."""
    values = _rope(look).angles(0, len(look)).cos().float().numpy()
    alt, axis = look.words("rope_angles_alt"), look.words("rope_pair")
    scene = added.rows(look, "position.angles", alt, values, spans=[(pair(look), 1)], top=1.0, axis=axis)
    return look.drawn(scene, ["attn.q_rotated"])


angles_note = say.note("rope_angles_note")


def lengths(look: Look) -> Scene:
    """Wave length over pair on a logarithmic axis, with the sentence and the context as lines."""
    found, words, context = look.once(frequencies), look.words, look.config.n_context
    unscaled = 2 * math.pi / found.unscaled if rotary(look).scaling is not None else None
    used = found.wavelengths
    told = f"{words('rope_pair')} {{{{at}}}}\n{{{{value}}}}"
    series = [chart.Line(words("rope_used"), used, "position", told=told, write="1", thick=2.4)]
    if unscaled is not None:
        series.append(
            chart.Line(words("rope_unscaled"), unscaled, "residual", "5px,3px", "", told=told, write="1", thick=1.8)
        )
    ends = np.concatenate([used, [len(look), context], used if unscaled is None else unscaled])
    y = chart.Axis(float(ends.min()) / 1.5, float(ends.max()) * 1.5, words("rope_wavelength"), is_log=True)
    x = chart.Axis(-0.5, len(used) - 0.5, words("rope_pair"))
    height = min(560, max(300, 110 + 22 * len(look)))
    at = np.arange(len(used))
    scene = chart.lines(
        "position.lengths", words("rope_lengths_alt"), at, series, x, y, height=height, chosen=pair(look)
    )
    on, _ = chart.plot(x, y, height)
    marks = list(scene.panels[0].marks)
    for id, value in (("sentence", len(look)), ("context", context)):
        level = on.pixels_y(value)
        marks.append(Rect(id=id, x=on.left, y=level, width=on.across, height=1, fill="muted"))
        name = words(f"rope_{id}", length=len(look), context=f"{context:,}")
        marks.append(Text(id=f"{id}.name", text=name, x=(1, -on.right), y=level - 8, anchor="end", fill="muted"))
    panel = Panel(id="lines", marks=marks, height=height)
    return look.drawn(replace(scene, panels=[panel]))


lengths_note = say.note("rope_lengths_note")
tell_frequencies = say.text("rope_frequencies", facts)


# The tabs and the question


UNMET: Verdict[Turns] = Verdict("position.unmet", Claim("some", lambda turns: turns.turning < turns.pairs))


def turns(look: Look) -> Turns:
    """How far the pairs of the layer turn within the context."""
    found, context = look.once(frequencies), look.config.n_context
    return Turns(found.turning(context), len(found.used), context / float(found.wavelengths.max()))


def quiz(look: Look) -> Quiz | None:
    return waves.ask_turns(look, turns(look))


def answers(look: Look) -> dict[str, Any]:
    known = {name: value for name, value in facts(look).items() if isinstance(value, str | int)}
    return {"unmet": UNMET.says(look.t.language, turns(look), **known)}


to_try = say.to_try("rope_question", "rope_answer", answers)


def _said(look: Look) -> Iterator[Line]:
    scheme, known = rotary(look), facts(look)
    yield look.text(f"rope_formula_{scheme.pairing}", **known)
    yield look.text("rope_formula", **known)
    if scheme.scaling is not None:
        yield look.text(f"rope_formula_{type(scheme.scaling).__name__}", **known)


def _hand(look: Look) -> Any:
    chosen = int(key.chosen(look)[look.layer - look.layers.start, look.head, look.token])
    cells = [Worked((), look.site("attn.q_rotated"), (look.head, look.token, column)) for column in columns(look)]
    return None, [*cells, Worked((), look.site("attn.scores"), (look.head, look.token, chosen))], {}


def _code(look: Look) -> list[str]:
    names = ("attn.q_rotated", "attn.q", "attn.k", "attn.q_normed", "attn.k_normed", "attn.scores")
    return [look.site(name) for name in names if look.has(name)]


def vectors(look: Look) -> Any:
    """The head's queries once they are turned."""
    values = look.trace.head(look.site("attn.q_rotated"), look.head).numpy()
    columns_ = [str(n) for n in range(values.shape[1])]
    return f"{look.trace.full_name(look.site('attn.q_rotated'))}[{look.head}]", values, look.labels, columns_


APART = Tabs(
    lambda look: [look.site(f"attn.{name}") for name in ("q_rotated", "k_rotated", "scores")],
    _hand,
    _code,
    vectors,
    _said,
)
ROLES = [(partial(whose, role=role), partial(plane, role=role)) for role in ("query", "key")]
