"""Longer than any text of the training: the loss at every position up to four contexts, of one model a scheme."""

import functools
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional as F

from viz_model.checkpoints import registry
from viz_model.checkpoints.registry import BUNDLED
from viz_model.claims import Claim, Verdict
from viz_model.config import Position
from viz_model.drawing import chart
from viz_model.drawing.scene import Rect, Scene
from viz_model.island.look import Look
from viz_model.island.page import Chooser
from viz_model.island.prose import Line
from viz_model.model.transformer import Transformer
from viz_model.texts.markdown import literal
from viz_model.tokenizers.tokenizer import IdTokenizer, Tokenizer
from viz_model.topics.position import schemes

TIMES = 4
"""Contexts that are read in one piece at the most."""
NEIGHBORS = 64
"""Tokens that are averaged into one point: single ones differ by what they are."""
EQUAL = 0.1
"""Nats a token: losses that are closer than this are called about the same."""
STORY = Path(__file__).parent / "long_story.txt"
"""A story that was written for this page: no model was trained on it."""
STYLES = (("residual", "circle"), ("position", "diamond"), ("query", "square"), ("ffn", "cross"))


class Losses(NamedTuple):
    """Nats for each of N tokens, at the position of the token before it.

    ``long`` [N] is the text read in one piece; ``pieces`` [N] are the same tokens read in windows no longer than
    the ``context``, each but the first with at least half a context before it.
    """

    long: np.ndarray
    pieces: np.ndarray
    context: int

    @property
    def beyond(self) -> tuple[float, float]:
        """The means over the tokens beyond the context: read in pieces, and in one piece."""
        return float(self.pieces[self.context :].mean()), float(self.long[self.context :].mean())


def reads(model: Transformer) -> bool:
    """Whether a decoder can be asked: its scheme has no table of positions that would end."""
    scheme = model.stack("decoder").position
    return scheme.add(0, 1) is None or not list(scheme.parameters())


@torch.inference_mode()
def losses(model: Transformer, tokenizer: Tokenizer, text: str) -> Losses:
    """The loss of a text by position, up to :data:`TIMES` times the context.

    Raises:
        ValueError: the text is not longer than the context.
    """
    context = model.config.n_context
    ids = tokenizer.encode(text)[: TIMES * context + 1]
    if len(ids) <= context + 1:
        raise ValueError(f"text: expected more than {context + 1} tokens, got {len(ids)}")
    model = longer(model, len(ids))
    pieces = np.empty(len(ids) - 1, np.float32)
    for start in range(0, len(ids) - 1, context // 2):
        found = _nats(model, ids[start : start + context + 1])
        known = context // 2 if start else 0  # tokens with less before them were read by the window before
        pieces[start + known : start + len(found)] = found[known:]
    return Losses(_nats(model, ids).numpy(), pieces, context)


def longer(model: Transformer, n_context: int) -> Transformer:
    """The same weights in a model that reads so many positions."""
    found = Transformer(replace(model.config, n_context=max(n_context, model.config.n_context)))
    found.load_state_dict(model.state_dict())
    return found.eval()


def _nats(model: Transformer, ids: list[int]) -> Tensor:
    """−ln p of every token but the first, [T − 1]."""
    logits = model(torch.tensor([ids[:-1]]))[0]
    return F.cross_entropy(logits, torch.tensor(ids[1:]), reduction="none")


class Beyond(NamedTuple):
    """Mean loss in nats of a text's tokens beyond the context: read in windows no longer than it, and in one piece."""

    within: float
    beyond: float


BEYOND: Verdict[Beyond] = Verdict(
    "position.beyond",
    Claim("worse", lambda loss: loss.beyond >= loss.within + EQUAL),
    Claim("same", lambda loss: abs(loss.beyond - loss.within) < EQUAL),
)


@functools.cache
def _bundled() -> dict[Position, str]:
    """Of the bundled decoders one for each scheme, of those that can read on."""
    found: dict[Position, str] = {}
    for name in filter(lambda name: (BUNDLED / name).is_dir(), registry.models()):
        config = registry.config_of(name)
        if config.kind == "decoder" and config.position not in found and reads(registry.load(name).model):
            found[config.position] = name
    return found


@functools.cache
def _story(name: str) -> Losses:
    lm = registry.load(name)
    return losses(lm.model, lm.tokenizer, STORY.read_text(encoding="utf-8"))


def models(look: Look) -> dict[Position, str]:
    """The page's model, if the story leads beyond its context and it can read on, and a bundled one for each other
    scheme, by their names.
    """
    config, trace = look.config, look.trace
    can = config.kind == "decoder" and not isinstance(trace.tokenizer, IdTokenizer) and reads(trace.model)
    can = can and look.once(_length, "length of the story") > config.n_context + 1
    own = {config.position: trace.name} if can else {}
    return {**own, **{scheme: name for scheme, name in _bundled().items() if scheme not in own}}


def _length(look: Look) -> int:
    return len(look.trace.tokenizer.encode(STORY.read_text(encoding="utf-8")))


def found(look: Look) -> dict[Position, Losses]:
    """What each model makes of the story."""

    def own(look: Look) -> Losses:
        return losses(look.trace.model, look.trace.tokenizer, STORY.read_text(encoding="utf-8"))

    return {
        scheme: look.once(own, STORY) if name == look.trace.name else _story(name)
        for scheme, name in models(look).items()
    }


def lead(look: Look) -> Iterator[Line]:
    yield look.title("beyond_title")
    named = look.listed(literal(name) for name in models(look).values())
    yield look.text("beyond_lead", times=TIMES, models=named)


def choose(look: Look) -> Chooser:
    """Nothing is read before it is asked for: a few seconds a model."""
    options = {str(int(on)): look.common("on" if on else "off") for on in (False, True)}
    return Chooser("beyond", options, look.words("beyond"), look.words("beyond_help"), asks=True)


def is_asked(look: Look) -> bool:
    return bool(look.options.get("beyond") == "1")


def draw(look: Look) -> Scene:
    """A line a model for the text in one piece, a dotted one for its tokens in pieces of the context."""
    words, series = look.words, []
    every, names = found(look), models(look)
    count = min(len(one.long) for one in every.values())
    groups = max(1, count // NEIGHBORS)
    at = np.array([float(int(group.mean())) for group in np.array_split(np.arange(count), groups)])
    for n, (scheme, one) in enumerate(every.items()):
        role, symbol = STYLES[n % len(STYLES)]
        name = f"{names[scheme]} · {schemes.name(look, scheme)}"
        for values, which in ((one.long, "long"), (one.pieces, "pieces")):
            means = np.array([group.mean() for group in np.array_split(values[:count], groups)])
            told = f"{names[scheme]}\n{words('beyond_position')} {{{{at}}}}\n{words(f'beyond_{which}')} {{{{value}}}}"
            dash, mark, thick = (None, symbol, 2.6) if which == "long" else ("2px,3px", "", 1.4)
            series.append(chart.Line(name if which == "long" else "", means, role, dash, mark, told, thick=thick))
    x = chart.Axis(0, count, words("beyond_position"))
    y = chart.axis(*(one.values for one in series), title=words("beyond_loss"))
    scene = chart.lines("position.losses", words("beyond_alt"), at, series, x, y, height=380)
    on, _ = chart.plot(x, y, 380)
    marks = list(scene.panels[0].marks)
    for context in {one.context for one in every.values()}:
        label = f"{words('beyond_context')}: {context}"
        marks.append(Rect(id=f"context.{context}", x=on.at_x(context), y=on.top, width=1, height=on.bottom - on.top,
                          fill="muted", label=label))  # fmt: skip
    keys = [key for key in scene.keys if key.name]
    panel = replace(scene.panels[0], marks=marks)
    return look.drawn(replace(scene, panels=[panel], keys=keys, keys_at="below", own=False))


def tell(look: Look) -> Iterator[Line]:
    names = models(look)
    for scheme, one in found(look).items():
        loss = Beyond(*one.beyond)
        facts = {"within": f"{loss.within:.2f}", "beyond": f"{loss.beyond:.2f}", "equal": EQUAL}
        facts |= {"model": literal(names[scheme]), "scheme": schemes.name(look, scheme)}
        yield Line(BEYOND.says(look.t.language, loss, **facts))
