"""Sinusoidal positions: fixed waves added to the embedding."""

import math
from collections.abc import Iterator
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from viz_model import config
from viz_model.claims import Claim, Verdict
from viz_model.config import ModelConfig
from viz_model.drawing import chart, theme
from viz_model.drawing.cells import ROW, Cells
from viz_model.drawing.scene import Items, Key, Mark, Panel, Path, Rect, Scene, Series, along
from viz_model.drawing.tables import Each, by
from viz_model.island import say
from viz_model.island.look import Look
from viz_model.island.page import Chooser, Quiz
from viz_model.island.prose import Line, line
from viz_model.island.tabs import Tabs
from viz_model.topics.position import added
from viz_model.topics.position.added import PAPER_BASE

SHORTEST_AXIS, POINTS = 16, 8
"""Positions along the axis at the least, and points of a curve for each."""
FLAT = 0.05
"""Of a turn: a wave that gets no further within the context is called flat."""


def scheme(model: ModelConfig) -> config.Sinusoidal:
    """The waves that a model adds.

    Raises:
        ValueError: its positions are not waves.
    """
    if not isinstance(model.position, config.Sinusoidal):
        raise ValueError(f"position: expected Sinusoidal, this model has {type(model.position).__name__}")
    return model.position


def wavelength(model: ModelConfig, pair: int) -> float:
    """2π·b^(2i/D): positions in one full turn of the sine and cosine numbered i = ``pair``."""
    return 2 * math.pi * scheme(model).base ** (2 * pair / model.d_embedding)


class Turns(NamedTuple):
    """How many of all pairs complete a turn within the context, and what share of one the slowest gets through."""

    turning: int
    pairs: int
    slowest: float


def turns(model: ModelConfig) -> Turns:
    """How far the waves that a model adds turn within its context."""
    lengths = [wavelength(model, pair) for pair in range(model.d_embedding // 2)]
    turning = sum(length <= model.n_context for length in lengths)
    return Turns(turning, len(lengths), (model.n_context - 1) / lengths[-1])


def pair_columns(pair: int, n_pairs: int, *, interleaved: bool) -> tuple[int, int]:
    """The two columns of a pair: neighbors, or one in each half of 2·``n_pairs`` columns."""
    return (2 * pair, 2 * pair + 1) if interleaved else (pair, pair + n_pairs)


def pair(look: Look) -> int:
    """The pair that was chosen, or else one that turns neither fast nor slowly."""
    last, asked = look.config.d_embedding // 2 - 1, look.options.get("pair", "")
    return min(int(asked), last) if asked else last // 12


def columns(look: Look) -> tuple[int, int]:
    """The columns of ``embed.position`` that hold the sine and the cosine of the pair."""
    model = look.config
    return pair_columns(pair(look), model.d_embedding // 2, interleaved=scheme(model).layout == "interleaved")


def spans(look: Look) -> list[tuple[int, int]]:
    """The frames of the two columns: one where they are neighbors."""
    first, second = columns(look)
    return [(first, 2)] if second == first + 1 else [(first, 1), (second, 1)]


def facts(look: Look) -> dict[str, Any]:
    """The pair at each position, and the fastest and the slowest of all, for prose."""
    model, found, here = look.config, turns(look.config), columns(look)
    slowest = wavelength(model, found.pairs - 1)
    read = {
        f"recorded_{name}": by("token", look.once(added.added)[:, column], "4")
        for name, column in zip(("sine", "cosine"), here, strict=True)
    }
    angle = min((model.n_context - 1) / slowest, 0.25) * 2 * math.pi
    return {
        **read,
        "token": look.token_named(),
        "position": by("token", np.arange(len(look)), "whole"),
        "pair": pair(look),
        "sine_at": here[0],
        "cosine_at": here[1],
        "wavelength": f"{wavelength(model, pair(look)):,.1f}",
        "base": f"{scheme(model).base:g}",
        "d_model": model.d_embedding,
        "turning": found.turning,
        "pairs": found.pairs,
        "fastest": f"{wavelength(model, 0):.1f}",
        "slowest": f"{slowest:,.0f}",
        "last_pair": found.pairs - 1,
        "context": model.n_context,
        "last_position": model.n_context - 1,
        "turn": f"{found.slowest:.2%}",
        "sine": f"{math.sin(angle) + 5e-4:.3f}",
        "cosine": f"{math.cos(angle) - 5e-4:.3f}",
        "length": f"{(model.d_embedding / 2) ** 0.5:.2f}",
    }


lead = say.text("waves_lead")


def choose_pair(look: Look) -> Chooser | None:
    n = look.config.d_embedding // 2
    return added.slider(look, "pair", n, pair(look), "pair", "pair_help") if n > 1 else None


def choose_range(look: Look) -> Chooser:
    options = {name: look.words(f"range_{name}", context=look.config.n_context) for name in ("text", "context")}
    return Chooser("range", options, look.words("range"), asks=True)


class Waves(NamedTuple):
    """A pair's curves over ``at`` [P], the two ``columns`` of ``embed.position`` on them [T, 2], and the sines of two
    pairs further along, where there are any.
    """

    at: np.ndarray
    sine: np.ndarray
    cosine: np.ndarray
    recorded: np.ndarray
    others: dict[int, np.ndarray]


def curves(look: Look) -> Waves:
    model, length, chosen = look.config, len(look), pair(look)
    stop = model.n_context * 1.15 if look.options.get("range") == "context" else max(length, SHORTEST_AXIS) - 0.5
    at = np.linspace(-0.5, stop, int((stop + 0.5) * POINTS))
    found = added.waves(at, model.d_embedding, scheme(model).base)
    step, last = max(1, model.d_embedding // 16), model.d_embedding // 2 - 1
    others = {n: found[:, 2 * n] for n in (chosen - step, chosen + step) if 0 <= n <= last}
    recorded = look.once(added.added)[:, list(columns(look))]
    return Waves(at, found[:, 2 * chosen], found[:, 2 * chosen + 1], recorded, others)


def draw(look: Look) -> Scene:
    """Sine and cosine of one pair, a dot where a token reads them, two other pairs faint behind."""
    found, words, length, context = curves(look), look.words, len(look), look.config.n_context
    is_beyond = found.at[-1] > context
    x = chart.Axis(float(found.at[0]), float(found.at[-1]), words("waves_axis") if is_beyond else "")
    places = chart.places(max(length, SHORTEST_AXIS))
    named = [*look.labels, *[""] * (SHORTEST_AXIS - length)]
    on, marks = chart.plot(x if is_beyond else places, chart.Axis(-1.12, 1.12), 360, x_names=() if is_beyond else named)
    tall, at, tokens = on.bottom - on.top, on.at_x(found.at), np.arange(length)
    keys: list[Key] = []

    def wave(id: str, values: np.ndarray, role: str, thick: float, dash: str | None, name: str) -> None:
        y = on.at_y(values.astype(np.float32))
        marks.append(Path(id=id, x=at, y=y, stroke=role, thick=thick, dash=dash))
        keys.append(chart.line_key(name, role, "", thick=thick, dash=dash))

    if is_beyond:
        begin = float(on.x.share(np.asarray(context - 0.5)))
        marks.append(
            Rect(id="beyond", x=along(begin, on.left, on.across), y=on.top, width=along(1 - begin, 0, on.across),
                 height=tall, fill="muted", opacity=0.12, label=words("waves_beyond"))
        )  # fmt: skip
    for n, (other, values) in enumerate(found.others.items()):
        wave(
            f"other.{n}", values, "residual", 1.2, "6px,4px" if n else "2px,3px", f"sin · {words('waves_pair')} {other}"
        )
    if length <= 64:
        marks += _lines(look, on)
    marks.append(Rect(id="chosen", x=on.at_x(by("token", tokens)), y=on.top, width=2, height=tall, fill="accent"))
    for k, (name, values, column) in enumerate(zip(("sin", "cos"), found[1:3], columns(look), strict=True)):
        wave(name, values, "position", 2.6, "5px,3px" if k else None, f"{name} · {words('waves_dimension')} {column}")
        dots = found.recorded[:, k]
        labels: Any = Each("{{label}}\n{{value}}", {"label": tuple(_placed(look)), "value": by("", dots, "4")})
        where = Cells(look.trace.full_name("embed.position"), (ROW, column))
        marks.append(
            Items(
                id=f"recorded.{name}",
                x=on.at_x(tokens),
                y=on.at_y(dots),
                symbol="circle",
                size=7 if length <= 64 else 3,
                fill=[theme.token(n) for n in range(length)],
                labels=labels,
                where=where,
            )
        )
        ring: dict[str, Any] = {"x": on.at_x(by("token", tokens[:, None])), "y": on.at_y(by("token", dots[:, None]))}
        marks.append(
            Items(id=f"ring.{name}", symbol="circle-open", size=13, fill="accent", thick=2, walk=False, **ring)
        )
    scene = Scene(
        id="position.waves",
        panels=[Panel(id="waves", marks=marks, height=360)],
        title=words("waves_alt", pair=pair(look)),
        keys=sorted(keys, key=lambda key: "·" in str(key.name) and str(words("waves_pair")) in str(key.name)),
        keys_at="below",
        series=[Series(name, _placed(look), found.recorded[:, k]) for k, name in enumerate(("sin", "cos"))],
    )
    return look.drawn(scene, ["embed.position"])


def _placed(look: Look) -> list[str]:
    return [f"{n}: {label}" for n, label in enumerate(look.labels)]


def _lines(look: Look, on: chart.Plot) -> list[Mark]:
    """A line for every token."""
    tall = on.bottom - on.top
    return [
        Rect(id=f"token.{n}", x=on.at_x(n), y=on.top, width=1, height=tall, fill=theme.token(n), opacity=0.45)
        for n in range(len(look))
    ]


tell = say.text("see", facts)


def matrix_title(look: Look) -> Iterator[Line]:
    yield look.title(f"matrix_{scheme(look.config).layout}")


def matrix(look: Look) -> Scene:
    """Fixed waves, a row a position; the columns of the pair are framed."""
    values = look.once(added.added)
    return added.rows(look, "position.matrix", look.words("matrix_alt"), values, "embed.position", spans(look), 1.0)


alike_title = say.title("similarity", added.near)


def tell_alike(look: Look) -> Iterator[Line]:
    yield added.say_alike(look)
    yield look.text("similarity", near=f"{look.once(added.alike).at(1):.4f}", **added.context(look))


total, normed = (partial(draw, spans=spans) for draw in (added.total, added.normed))
ends = say.text("beyond", facts)


SLOWEST: Verdict[Turns] = Verdict("position.slowest", Claim("flat", lambda turns: turns.slowest < FLAT))


def quiz(look: Look) -> Quiz | None:
    return ask_turns(look, turns(look.config))


def ask_turns(look: Look, found: Turns) -> Quiz | None:
    """How many pairs complete a turn? None where there are too few to guess among."""
    quarters = {n * found.pairs // 4 for n in range(5)}
    # None so near to the right number that the difference is a matter of luck.
    options = sorted({n for n in quarters if abs(n - found.turning) > found.pairs / 8} | {found.turning})
    if len(options) < 2:
        return None
    said = look.words("guess_turns_found", n=found.turning, pairs=found.pairs, slowest=f"{found.slowest:.2g}")
    asked = look.words("guess_turns", pairs=found.pairs, context=look.config.n_context)
    return Quiz(asked, tuple(map(str, options)), options.index(found.turning), said)


def answers(look: Look) -> dict[str, Any]:
    known = facts(look)
    plain = {name: value for name, value in known.items() if isinstance(value, str | int)}
    return {**known, "here": SLOWEST.says(look.t.language, turns(look.config), **plain)}


to_try = say.to_try(facts=answers)


def _said(look: Look) -> Iterator[Line]:
    exact = f"{wavelength(look.config, pair(look)):,.4f}"
    yield look.text("wavelength", **{**facts(look), "wavelength": exact})


def _hand(look: Look) -> Any:
    sin, cos, slow_sin, slow_cos = added.waves(np.array([1]), d_model=4, base=PAPER_BASE)[0]
    texts = (f"{sin:.4f}", f"{cos:.4f}", f"{slow_sin:.7f}", f"{slow_cos:.5f}")
    textbook = look.text("textbook", **{f"textbook_{n}": value for n, value in enumerate(texts)})
    return line(textbook.words), added.worked(look, columns(look)), {}


APART = Tabs(
    lambda look: [site for site in ("embed.position", "embed.token", "embed.out") if site in look.trace],
    _hand,
    added.code,
    added.numbers,
    _said,
)
