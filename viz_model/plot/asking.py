"""What a figure is asked of, checked: which stack, layer, head, token and language there are."""

import functools
import inspect
from collections.abc import Callable
from dataclasses import replace
from typing import Any, ParamSpec, TypeAlias, Unpack, cast

from viz_model.config import Side
from viz_model.drawing.scene import Scene, seen
from viz_model.drawing.scene.svg import Theme
from viz_model.drawing.tables import resolved
from viz_model.explain.sums import Against
from viz_model.island.look import Look
from viz_model.measures.covering import can_be_covered, covering
from viz_model.measures.typed import token_typed
from viz_model.plot.figure import Figure, Style, themed
from viz_model.runs.trace import Trace
from viz_model.texts import LANGUAGES, Texts

Asked = int | str | None
"""A token of the vocabulary: its id, its text, or none."""

Made: TypeAlias = tuple[Look, Scene]
"""What is looked at, and its picture."""

P = ParamSpec("P")
USUAL: Style = {"title": "", "caption": True, "legend": True, "highlight": True, "square": False, "letters": False}
STYLE = [
    inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=USUAL[name], annotation=annotation)  # type: ignore[literal-required]
    for name, annotation in Style.__annotations__.items()
]


class Options(Style, total=False):
    """What every function is told besides, by keyword."""

    stack: Side | None
    lang: str
    theme: Theme


def selected(
    trace: Trace,
    group: str,
    *,
    stack: Side | None = None,
    layer: int = 0,
    head: int = 0,
    token: int = -1,
    lang: str = "en",
    theme: Theme = "light",
    **style: Unpack[Style],
) -> Look:
    """What is looked at.

    Args:
        group: of texts.
        stack: of a model with two, which; by default the one that the trace is seen from, or the decoder.
        layer, head, token: counted from 0, or from the end where they are negative.
        theme: of the figure.

    Raises:
        TypeError: no trace.
        ValueError: there is no such stack, layer, head, token, language or theme; the message says which there are.
    """
    if unknown := style.keys() - USUAL.keys():
        raise TypeError(f"unexpected keyword {min(unknown)!r}")
    seen = from_stack(trace, stack)
    known_language(lang, "lang")
    themed(theme)
    places: dict[str, Any] = {
        "layer": counted("layer", layer, seen.n_layers),
        "head": counted("head", head, seen.config.n_heads),
        "token": counted("token", token, len(seen)),
    }
    return Look.at(seen, Texts.of(lang, seen.config), group, **places)


def drawn(of: Look, draw: Callable[[Look], Scene | None], **options: str) -> Scene:
    """What a picture's file draws, of one selection; ``options`` are what a page lets one choose beside it."""
    look = replace(of, options=options)
    made = draw(look)
    assert made is not None  # or whoever asked has said so
    scene = seen(made, look.place)
    return replace(scene, data=resolved(scene.data, look.place))


def figure(draw: Callable[P, Made]) -> Callable[P, Figure]:
    """Makes a figure of what ``draw`` returns, under its name, and spells out :class:`Options` in its signature."""
    own = {*inspect.signature(draw).parameters, "stack", "lang", "theme"}

    @functools.wraps(draw)
    def made(*args: P.args, **keywords: P.kwargs) -> Figure:
        of, drawn = draw(*args, **keywords)
        style = cast(Style, {name: value for name, value in keywords.items() if name not in own})
        return Figure(draw.__name__, of, drawn, cast(Theme, keywords.get("theme", "light")), **style)

    asked = inspect.signature(selected).parameters
    return spelled(made, *(asked[name] for name in ("stack", "lang", "theme")))


def spelled(make: Callable[P, Figure], *more: inspect.Parameter) -> Callable[P, Figure]:
    """The same function, with ``more`` and :class:`Style` spelled out in its signature."""
    own = inspect.signature(make)
    shown = [one for one in own.parameters.values() if one.kind is not one.VAR_KEYWORD]
    shown += [*more, *STYLE]
    vars(make)["__signature__"] = own.replace(parameters=shown, return_annotation="Figure")
    make.__annotations__ = {**{one.name: one.annotation for one in shown}, "return": "Figure"}
    return make


def from_stack(trace: Trace, stack: Side | None) -> Trace:
    """The run seen from one stack."""
    if not isinstance(trace, Trace):
        raise TypeError(f"trace: a run of a model (lm.trace(…)) is needed, not {type(trace).__name__}")
    sides = trace.config.sides
    if stack is None:
        return trace if trace.side is not None else trace.at(sides[-1])
    if stack not in sides:
        raise ValueError(f"stack: this model has {' and '.join(sides)}, not {stack!r}")
    return trace.at(stack)


def known_language(language: str, name: str = "language") -> None:
    """Refuses a language that there is not.

    Raises:
        ValueError: says which there are.
    """
    if language not in LANGUAGES:
        raise ValueError(f"{name}: {language!r} is not one of {', '.join(LANGUAGES)}")


def counted(name: str, n: Any, count: int) -> int:
    """A place from 0 on, which may be counted from the end.

    Raises:
        ValueError: there is no such place.
    """
    if not isinstance(n, int) or isinstance(n, bool):
        raise ValueError(f"{name}: a whole number is needed, not {n!r}")
    if not -count <= n < count:
        raise ValueError(f"{name}: there are {name}s 0 to {count - 1}, not {n}")
    return n % count


def covered(of: Look) -> Look:
    """Of an encoder that has a mask: the run in which the mask stands at the token, as nobody else asks it fairly.

    Raises:
        ValueError: the run has edits, which hold for the text as it was.
    """
    if not can_be_covered(of.trace, of.token):
        return of
    if of.trace.edits:
        raise ValueError("trace: of an edited run of an encoder, run the text with the mask in it: then it is asked")
    run = covering(of.trace, of.token)
    return Look.at(run, of.t, of.topic, layer=of.layer, head=of.head, token=of.token)


def vocabulary(of: Look, asked: int | str, name: str) -> int:
    """A token of the vocabulary by its id, or as it is written.

    Raises:
        ValueError: there is none.
    """
    id = token_typed(of.trace, asked) if isinstance(asked, str) else asked
    last = of.trace.config.n_vocab - 1
    if id is None or not 0 <= id <= last:
        raise ValueError(f"{name}: {asked!r} is not a token of this vocabulary, whose ids are 0 to {last}")
    return id


def rival(of: Look, asked: Asked, target: int) -> Against:
    """What a logit is compared with: nothing, the "average" of all, or another token."""
    if asked is None or asked == "average":
        return "average" if asked else None
    id = vocabulary(of, asked, "rival")
    if id == target:
        raise ValueError("rival: a token is not compared with itself")
    return id
