"""The model with its matrices rounded to 8 and 4 bits, on this text: what it saves, and what it changes."""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from viz_model.claims import Claim, Verdict
from viz_model.drawing import chart
from viz_model.drawing.digits import byte_size, percent, written
from viz_model.drawing.scene import Scene
from viz_model.island import say
from viz_model.island.look import Look
from viz_model.island.prose import Line
from viz_model.model import stored
from viz_model.model.transformer import Transformer
from viz_model.runs.record import again
from viz_model.runs.trace import Trace
from viz_model.texts.markdown import table

MOST_NUMBERS = 30_000_000
"""Parameters of a model that is copied and rounded for this page."""
SCALE_BYTES, FULL_BYTES = 2, 4
"""Of a scale in half precision, and of a number in single precision."""


class Kind(NamedTuple):
    """Whole numbers of ``bits`` bits; ``group`` numbers of a row share a scale, 0 is a whole row, −1 a whole matrix."""

    name: str
    bits: int
    group: int
    role: str
    dash: str | None
    symbol: str


KINDS = (
    Kind("int8_matrix", 8, -1, "query", None, "circle"),
    Kind("int8_row", 8, 0, "key", "dash", "square"),
    Kind("int4_row", 4, 0, "ffn", None, "diamond"),
    Kind("int4_group", 4, 32, "value", "dot", "triangle-up"),
)


def rounded(weight: Tensor, kind: Kind) -> tuple[Tensor, int]:
    """A matrix [R, C] as the numbers that its rounded form stands for, and the bytes of that form.

    The largest number of those that share a scale becomes the largest whole number, 127 or 7.
    """
    rows, columns = weight.shape
    width = {-1: weight.numel(), 0: columns}.get(kind.group, kind.group)
    spare = -weight.numel() % width if kind.group == -1 else -columns % width
    padded = weight.reshape(1, -1) if kind.group == -1 else torch.nn.functional.pad(weight, (0, spare))
    groups = padded.reshape(-1, width)
    scales = groups.abs().amax(1, keepdim=True) / (2 ** (kind.bits - 1) - 1)
    whole = torch.where(scales > 0, groups / scales, 0.0).round()
    found = (whole * scales).reshape(padded.shape)
    found = found.reshape(rows, columns) if kind.group == -1 else found[:, :columns]
    return found, weight.numel() * kind.bits // 8 + SCALE_BYTES * len(groups)


class Rounded(NamedTuple):
    """One way to round, on a text.

    Attributes:
        n_bytes: of all matrices.
        weights: ‖rounded − own‖ / ‖own‖ over all matrices.
        logits: the largest change of a logit.
        bits: the mean over tokens of the divergence Σ p log₂(p / p rounded).
        firsts: at how many tokens another token comes first.
        depth: ‖change‖ / ‖own‖ of the stream before the first block and after each, mean over tokens [L + 1].
    """

    n_bytes: int
    weights: float
    logits: float
    bits: float
    firsts: int
    depth: np.ndarray


class QuantizedView(NamedTuple):
    """All of :data:`KINDS` on a text of ``n`` tokens, and the bytes of the matrices in single precision."""

    kinds: dict[str, Rounded]
    n: int
    full: int


FIRSTS: Verdict[int] = Verdict("cost.firsts", Claim("all", lambda moved: moved == 0))
"""Of how many tokens another comes first after, with four bits and a scale a row."""


def matrices(model: Transformer) -> dict[str, Tensor]:
    """What is rounded: every parameter with two axes, a table that is used twice once."""
    return {name: stored.single(one.detach()) for name, one in model.named_parameters() if one.dim() == 2}


def with_weights(trace: Trace, weights: dict[str, Tensor]) -> Trace:
    """The same ids through a model with other matrices."""
    model = Transformer(trace.config)
    model.load_state_dict({**trace.model.state_dict(), **weights}, strict=False)
    for name, weight in weights.items():
        model.get_parameter(name).data.copy_(weight)
    return again(trace, model.eval().requires_grad_(False))


def stream(trace: Trace) -> list[Tensor]:
    """The residual stream before the first block and after each: [T, D]."""
    return [trace["blocks.0.resid.in"], *(trace[f"blocks.{n}.resid.out"] for n in range(trace.n_layers))]


def view(look: Look) -> QuantizedView:
    return look.once(lambda look: _view(look.trace), "quantized")


def _view(trace: Trace) -> QuantizedView:
    own = matrices(trace.model)
    size = sum(float(one.double().square().sum()) for one in own.values())
    logits, lengths = trace["logits"].double(), stream(trace)
    found = {}
    for kind in KINDS:
        made = {name: rounded(one, kind) for name, one in own.items()}
        off = sum(float((one.double() - made[name][0].double()).square().sum()) for name, one in own.items())
        run = with_weights(trace, {name: one for name, (one, _) in made.items()})
        other = run["logits"].double()
        logs, other_logs = logits.log_softmax(-1), other.log_softmax(-1)
        depth = [
            float(((b - a).norm(dim=-1) / a.norm(dim=-1)).mean()) for a, b in zip(lengths, stream(run), strict=True)
        ]
        found[kind.name] = Rounded(
            n_bytes=sum(n_bytes for _, n_bytes in made.values()),
            weights=(off / size) ** 0.5,
            logits=float((other - logits).abs().max()),
            bits=float((logs.exp() * (logs - other_logs)).sum(-1).mean() / np.log(2)),
            firsts=int((other.argmax(-1) != logits.argmax(-1)).sum()),
            depth=np.array(depth),
        )
    return QuantizedView(found, len(trace), FULL_BYTES * sum(one.numel() for one in own.values()))


def has(look: Look) -> bool:
    """Whether there are logits to compare, of a model that is quickly copied; a changed run is left alone."""
    numbers = sum(one.numel() for one in look.trace.model.parameters())
    is_own = not look.trace.edits and not look.trace.visible
    return is_own and "logits" in look.trace and numbers <= MOST_NUMBERS


title = say.title("quantized_title")


def draw(look: Look) -> Scene:
    """How far the stream is off by depth, a line a way of rounding."""
    found, words = view(look), look.words
    names = [words("quantized_embedding"), *(words("quantized_block", n=n) for n in range(look.n_layers))]
    series = [
        chart.Line(words(kind.name), found.kinds[kind.name].depth, kind.role, kind.dash, kind.symbol, write="%1")
        for kind in KINDS
    ]
    axis = chart.axis(*(one.values for one in series), title=words("quantized_off"), write="%0")
    places = np.arange(look.n_layers + 1)
    scene = chart.lines(
        "cost.quantized", words("quantized_alt"), places, series, chart.places(len(names)), axis, height=280,
        x_names=names,
    )  # fmt: skip
    return look.drawn(scene, ["resid.out"], data=found)


def numbers(look: Look) -> Iterator[Line]:
    """A table: what each way takes and changes."""
    found, words = view(look), look.words
    columns = ("bytes", "weights", "logits", "bits", "firsts")
    rows = [[words("float32"), byte_size(found.full), "0%", "0", "0", f"0 / {found.n}"]]
    for kind in KINDS:
        one = found.kinds[kind.name]
        changed = (percent(one.weights), written(one.logits, "3"), written(one.bits, "4"), f"{one.firsts} / {found.n}")
        rows.append([words(kind.name), byte_size(one.n_bytes), *changed])
    yield Line(table([words("quantized_kind"), *(words(f"quantized_{name}") for name in columns)], rows))


def tell(look: Look) -> Iterator[Line]:
    found = view(look)
    row, group, eight = (found.kinds[name] for name in ("int4_row", "int4_group", "int8_row"))
    known = {
        "n": found.n, "row": percent(row.weights), "group": percent(group.weights), "eight": percent(eight.weights),
        "full": byte_size(found.full), "size": byte_size(group.n_bytes),
    }  # fmt: skip
    yield look.text("quantized", **known)
    yield look.claim(FIRSTS, row.firsts, "", moved=row.firsts, **known)
