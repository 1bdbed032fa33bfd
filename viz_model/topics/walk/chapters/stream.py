"""The residual stream: one vector a token, to which every block adds; and what each part of a block reads."""

import numpy as np

from viz_model.config import LayerNorm, RMSNorm
from viz_model.island.beats import Chapter
from viz_model.topics.walk.layout import NAMES, WIDTH, Marks, Pen, most, names, pitch
from viz_model.topics.walk.run import Run

TOP, FEW, MOST_DEPTHS = 60, 24, 6


def depths(run: Run) -> tuple[int, ...]:
    """Depths at even distances: 0 is before any block; of few blocks all."""
    count = run.trace.n_layers
    if count <= MOST_DEPTHS:
        return tuple(range(count + 1))
    return (0, *(1 + round(n * (count - 1) / (MOST_DEPTHS - 1)) for n in range(MOST_DEPTHS)))


def after(depth: int) -> str:
    """The site of the stream after so many blocks."""
    return f"blocks.{depth - 1}.resid.out" if depth else "embed.out"


def chapter(run: Run) -> Chapter:
    config, count, place = run.trace.config, run.trace.n_layers, run.trace.norm_at
    states = sum(f"blocks.{n}.attn.state" in run.trace for n in range(count))
    second = "_cross" if "blocks.0.cross.pattern" in run.trace else "_states" if states else ""
    first = ("_shared" if config.shared_blocks else "_narrow") if config.projects_embedding else ""
    beats = [
        run.says(f"stream_1{first}", "stream", d=config.d_model, n=count, e=config.d_embedding),
        run.says(f"stream_2{second}", "attn ffn cross", n=count, states=states),
    ]
    marks = [*_flow(run), *_block(run)]
    kind, norm = {LayerNorm: "layer", RMSNorm: "rms"}.get(type(config.norm)), f"blocks.{run.look.layer}.attn.norm"
    has_sum = config.residual or place != "post"  # or there is nothing to rescale
    if kind is not None and has_sum and f"{norm}.out" in run.trace:
        line, out = run.trace.norm_input(norm).numpy(), run.trace[f"{norm}.out"].numpy()
        mean, spread = _spread(line, kind)
        rescaled = (line - mean[:, None]) / np.maximum(spread, 1e-9)[:, None]
        how = run.look.words(f"how_{kind}", mean=run.by("token", mean, "2"), spread=run.by("token", spread, "2"))
        beats.append(run.says(f"stream_3_{'pre' if place == 'both' else place}", "stream normed", how=how))
        if learned := not np.allclose(rescaled, out, atol=1e-3):
            beats.append(run.says(f"stream_4_{kind}", "learned"))
        marks += _norm(run, {"line": line, "rescaled": rescaled, "out": out}, kind, learned)
    return run.chapter("stream", beats, marks, "block")


def _spread(values: np.ndarray, kind: str) -> tuple[np.ndarray, np.ndarray]:
    """What a norm of that kind takes from each token's vector, and what it divides by: [T] each."""
    mean = values.mean(-1) if kind == "layer" else np.zeros(len(values), values.dtype)
    return mean, np.sqrt(((values - mean[:, None]) ** 2).mean(-1))


def _flow(run: Run) -> Marks:
    """Some numbers of each token before the first block and after each."""
    passed, at, high = depths(run), list(run.around()), pitch(len(run.around()), TOP)
    every, width = max(1, run.trace.config.d_model // FEW), 1 / len(passed)
    for n, depth in enumerate(passed):
        x, middle = ((width * share, NAMES * (1 - width * share)) for share in (n, n + 0.4))  # beside the names
        when = (0.8 * n / len(passed), 0.8 * n / len(passed) + 0.2)
        pen = Pen({"since": min(n, 1), "until": 2, "when": when})
        label = run.look.common("guess_block", n=depth - 1) if depth else run.look.words("input")
        yield pen.text(label, middle, TOP - 18, anchor="middle", look="small")
        values = run.trace[after(depth)][at, ::every][:, :FEW].numpy()
        for row, own in enumerate(values):
            place, wide = Pen({**pen.fields, "part": "stream"}, TOP + high * row, high), 0.8 * width
            yield place.strip(own, x, (wide, -wide * NAMES), most(values))
    yield from names(run, TOP, Pen({"until": 2}))


def _block(run: Run) -> Marks:
    """One block, drawn out: the stream, and beside it the parts that read it and add to it."""
    look, pen = run.look, Pen({"since": 2, "until": 3})
    parts = ["attn", "cross", "ffn"] if "blocks.0.cross.pattern" in run.trace else ["attn", "ffn"]
    yield pen.text(look.common("guess_block", n=look.layer), (0.5, 0), 30, anchor="middle", look="bold")
    yield pen.box((0.08, 0), 50, (0.84, 0), 330, "frame", part="frame")
    yield pen.box(0, 310, WIDTH, 8, part="stream")
    yield pen.text(look.words("stream_line"), (0.5, 0), 340, anchor="middle", part="stream")
    wide = 0.84 / len(parts)
    for n, part in enumerate(parts):
        x, own = 0.08 + wide * n, pen.but(part=part, when=(0.4 * n, 0.4 * n + 0.4))
        yield own.box((x + wide * 0.14, 0), 110, (wide * 0.72, 0), 96, "frame")
        for key, y, size in (("part", 146, "bold"), ("does", 176, "small")):
            yield own.text(look.words(f"{key}_{part}"), (x + wide / 2, 0), y, anchor="middle", look=size)
        for left, sign in ((x + wide * 0.2, "↑"), (x + wide * 0.8, "↓ +")):
            yield own.box((left, 0), 206, 3, 104)
            yield own.text(sign, (left, 10), 258)


def _norm(run: Run, one: dict[str, np.ndarray], kind: str, learned: bool) -> Marks:
    """The vector as it comes, rescaled, and with the learned factors."""
    look, top = run.look, max(3.0, most(one["out"]) / 2)
    rows = [("line", 60, 3, "stream"), ("rescaled", 180, 3, "normed"), ("out", 300, 4, "learned")]
    for name, y, since, part in rows if learned else rows[:2]:
        values, pen = one[name], Pen({"since": since, "part": part})
        yield pen.text(look.words(f"norm_{name}"), y=y - 16)
        yield pen.cells(run.row(values), 0, y, WIDTH, 34, top=most(values) / 2 if name == "line" else top)
        mean, spread = (run.by("token", each, "2") for each in _spread(values, kind))
        yield pen.end(look.words(f"norm_{kind}_sizes", mean=mean, spread=spread), (1, -2), y - 16)
    yield Pen().text(run.label(), y=18, since=3, look="bold")
