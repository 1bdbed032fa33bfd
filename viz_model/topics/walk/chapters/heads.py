"""What is read, by many heads: values, their weighted sum, and what all heads do."""

import numpy as np

from viz_model.drawing.spans import around
from viz_model.island.beats import Beat, Chapter, ends
from viz_model.measures import heads
from viz_model.topics.walk.chapters import scores
from viz_model.topics.walk.layout import HEIGHT, NAMES, WIDTH, Marks, Pen, matrix, most, pitch
from viz_model.topics.walk.run import MOST_MAP, Run

N, TOP, MOST_HEADS = 5, 40, 48
KINDS = ("previous", "first", "itself", "next", "broad")


def chapter(run: Run) -> Chapter:
    look, config = run.look, run.trace.config
    # The layers whose heads have a map: all that attend, or those of them around this one.
    many = max(1, MOST_HEADS // config.n_heads)
    near = around(look.layer, run.trace.n_layers, many)
    every = [n for n in run.trace.attending if near.start <= n < near.stop]
    only = "" if config.kind == "encoder_decoder" else "moves_states" if config.has_states else "moves"
    total = "heads_average" if np.allclose(run.pattern.sum(-1), 1, atol=1e-3) else "heads_sum"
    shared = config.n_heads // config.n_kv_heads
    has = "only_head" if config.n_heads == 1 else "own_queries" if shared > 1 else "own_matrices"
    beats = [
        run.says("heads_1", "value matrix"),
        run.says(f"heads_2 {total}", "share value mixed", q=run.named()),
        run.says(f"heads_3 {only}", "mixed written stream matrix", q=run.named(), d=config.d_model),
        run.says(f"heads_4 {has}", layer=look.layer, n=config.n_heads, shared=shared),
        _all(run, every),
    ]
    return run.chapter("heads", beats, [*_values(run), *_output(run), *_maps(run, every)], "attention")


def _all(run: Run, every: list[int]) -> Beat:
    """What heads do on this text, as it was measured: one of each of two kinds, where there are such."""
    look, found = run.look, dict[str, dict[str, int]]()
    summed = look.once(lambda look: [heads.of_layer(look.trace, layer) for layer in every], ("walk heads", *every))
    for layer, summaries in zip(every, summed, strict=True):
        for head, summary in enumerate(summaries):
            found.setdefault(heads.HEAD.of(summary).name, {"layer": layer, "head": head})
    said = [look.words(f"does_{kind}", **found[kind]) for kind in KINDS if kind in found][:2]
    what = "heads_do" if said else "heads_alone" if set(found) == {"alone"} else "heads_plain"
    does = look.words("does_joint").join(said)
    return run.says(f"heads_5 {what}", n=len(every) * run.trace.config.n_heads, does=does)


def _values(run: Run) -> Marks:
    """The value of each key, and what its weight makes of it."""
    look, shown = run.look, run.shown
    v, weight, count = run.head("v"), run.rows(run.pattern), shown.shape[1]
    high, top = pitch(count, TOP, 300), most(v)
    value, share = Pen({"until": 3, "part": "value"}), Pen({"since": 2, "until": 3, "part": "share"})
    yield from matrix(run, scores.matrix(run, "v"), (0.68, 0), TOP, (0.3, 0), 256, Pen({"until": 2}))
    yield value.text(look.words("values"), NAMES + 66, TOP - 16)
    yield share.end(look.words("weights"), NAMES + 58, TOP - 16, look="small")
    yield value.text(look.words("scaled_values"), (0.66, 0), TOP - 16, since=2)
    for n, row in value.rows(count, TOP, high):
        own, by_weight = v[shown[:, n]], weight[:, n, None] * v[shown[:, n]]
        yield row.name(run.label(shown[:, n]), part="")
        yield row.end(run.by("token", weight[:, n]), NAMES + 58, form="share", **share.fields)
        yield row.strip(run.row(own), NAMES + 66, (0.62, -NAMES - 70), top)
        yield row.strip(run.row(by_weight), (0.66, 0), (0.34, 0), top, since=2)
    if len(run) > count:
        rest = run.by("token", 1 - weight.sum(-1), "share")
        said = look.words("others_weigh", n=len(run) - count, share=rest)
        yield share.text(said, y=TOP + high * count + 12, look="small", part="")


def _output(run: Run) -> Marks:
    """The sum, which first stands below the values, and what W_O makes of it."""
    look, z, before = run.look, run.head("z"), run.trace[f"blocks.{run.look.layer}.resid.in"].numpy()
    first, d = look.head * z.shape[-1], z.shape[-1]
    takes = scores.attention(run).o.weight.detach().numpy()[:, first : first + d].T  # the rows that take what was read
    written = (z @ takes).astype(np.float32)
    mixed, third = Pen({"since": 2, "until": 4, "part": "mixed"}), Pen({"since": 3, "until": 4})
    yield mixed.text(look.words("read"), y=ends(N, (0, 360), (3, 60)), look="bold")
    x, y = ends(N, (0, (0.66, 0)), (3, (0.0, NAMES))), ends(N, (0, 346), (3, 46))
    yield mixed.cells(run.row(z), x, y, (0.34, 0), 28, top=most(z), when=(0.5, 1))
    yield from matrix(run, takes, 0, 112, WIDTH, 90, third)
    for name, values, y, part, top in (
        ("writes", written, 236, "written", most(written)),
        ("stream_before", before, 304, "stream", most(before) / 2),
        ("sum", before + written, 372, "sum", most(before) / 2),
    ):
        yield third.text(look.words(name, q=run.label()), y=y - 14, part=part)
        yield third.cells(run.row(values), 0, y, WIDTH, 26, top=top, part=part, when=(0.3, 1))


def _maps(run: Run, every: list[int]) -> Marks:
    """The weights of each head as a map: a row a query, a column a key. First those of the block, then all."""
    look, n_heads = run.look, run.trace.config.n_heads
    own, all_ = Pen({"since": 4, "until": 5}), Pen({"since": 5})
    across = min(n_heads, 4)
    size = min(230.0, 760 / across - 16, (HEIGHT - 40) / -(-n_heads // across) - 28)
    yield own.text(look.words("heads_of", layer=look.layer), y=6, look="small")
    for head in range(n_heads):
        x, y = ((head % across) / across, 0), 40 + (size + 28) * (head // across)
        yield own.text(look.common("guess_head", n=head), x, y - 10, look="small")
        yield from _map(run, look.layer, head, x, y, size, own)
    tall = min((HEIGHT - 24) / len(every) - 6, 760 / n_heads - 8)
    for row, layer in enumerate(every):
        y = 24 + (tall + 6) * row
        yield all_.text(look.common("guess_block", n=layer), y=y + tall / 2, look="small")
        for head in range(n_heads):
            yield from _map(run, layer, head, (0.08 + 0.92 * head / n_heads, 0), y, tall, all_)


def _map(run: Run, layer: int, head: int, x: tuple[float, int], y: float, size: float, pen: Pen) -> Marks:
    part, place = run.around(MOST_MAP), {"layer": layer, "head": head}
    weights = run.trace.head(f"blocks.{layer}.attn.pattern", head).numpy()[np.ix_(part, part)]
    label = run.look.words("head_name", **place)
    yield pen.cells(weights, x, y, (size / 760, 0), "square", look="single", act=place, label=label)
    if (layer, head) == (run.look.layer, run.look.head):
        yield pen.box((x[0], -2), y - 2, (size / 760, 4), "square", "frame", part="chosen")
