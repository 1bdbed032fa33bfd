"""From the last block to the prediction: the final norm, logits, softmax, temperature, and what each block has done."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import torch

from viz_model.config import NoNorm
from viz_model.drawing.digits import written
from viz_model.drawing.tables import Among
from viz_model.island.beats import Beat, Chapter, Mark
from viz_model.measures import lens
from viz_model.topics.walk import layout
from viz_model.topics.walk.chapters.stream import after, depths
from viz_model.topics.walk.layout import NAMES, Marks, Pen, most
from viz_model.topics.walk.run import Run

TOP, COOL = 60, 0.5
LINE: dict[str, Any] = {"left": (0, 160), "width": (1.0, -240)}
"""Where logits stand as points."""


def chapter(run: Run) -> Chapter:
    trace, config, words = run.trace, run.trace.config, run.look.words
    if config.classes:
        return run.chapter("prediction", *_classes(run), "next_token")
    if not run.predicts:
        values, rows = trace[after(trace.n_layers)].numpy(), list(layout.token_rows(run, TOP))
        strips = [row.strip(values[at], NAMES, (1, -NAMES), most(values) / 2, part="stream") for at, row in rows]
        beats = [run.says("prediction_vectors", d=config.d_model)]
        return run.chapter("prediction", beats, [*layout.names(run, TOP), *strips], "next_token")
    ids, logits = run.likely
    every = trace["logits"][run.held(ids)].double()
    probs, cool = (np.take_along_axis((every / t).softmax(-1).numpy(), ids, -1).astype("f4") for t in (1, COOL))
    best, n = run.tokens(ids[:, 0], "token", is_code=True), f"{config.n_vocab:,}"
    has_norm = trace.stack.final_norm is not None and not isinstance(config.norm, NoNorm)
    key = "prediction_1" if has_norm or config.kind == "encoder" else "prediction_1_plain"
    table = words("table_tied" if config.tie_embeddings or config.kind == "encoder" else "table_untied")
    first = {"token": run.named(), "best": best, "table": table, "logit": run.by("token", logits[:, 0], "2")}
    beats, steps = [run.says(key, "logit", **first)], {"logits": 1}
    if has_norm and trace.norm_at == "pre":
        steps["grown"] = 2
        beats.append(_without_norm(run, ids, best))
    steps["probs"] = len(beats) + 1
    p = run.by("token", probs[:, 0], "percent")
    beats.append(run.says("prediction_3", "share", n=n, token=run.named(), best=best, p=p))
    if config.kind == "decoder":
        steps["cool"] = len(beats) + 1
        beats.append(run.says("prediction_4", "share"))
    steps["depth"] = len(beats) + 1
    passed, likeliest, leads = _by_depth(run)
    named = [words("after_block", n=depth - 1) if depth else words("start") for depth in passed]
    guess = run.asks("guess_depth", named, run.by("token", leads))
    beats.append(run.says("prediction_5", "", guess, best=best, when=Among(named, run.by("token", leads))))
    shown = (probs, cool if "cool" in steps else probs)
    marks = [*_logits(run, ids, logits, shown, steps), *_depth(run, named, likeliest, leads, steps["depth"])]
    if "grown" in steps:
        length = np.stack([trace[after(depth)].norm(dim=-1).numpy() for depth in passed])
        grown: dict[str, Any] = {"since": 2, "until": steps["probs"], "part": "stream"}
        marks.append(Pen(grown).end(words("length_of"), y=44))
        marks += layout.bars(run, named, length, "1", TOP, most=length.max(0), **grown)
    return run.chapter("prediction", beats, marks, "next_token")


def _without_norm(run: Run, ids: np.ndarray, best: Any) -> Beat:
    """How long the stream has grown, and where the likeliest token would stand without the last norm."""
    trace, at = run.trace, run.held(ids)
    first, last = trace["embed.out"][at], trace[after(trace.n_layers)][at]
    with torch.inference_mode():
        plain = trace.model.head(last).numpy()
    rank = 1 + (plain > np.take_along_axis(plain, ids[:, :1], -1)).sum(-1)
    sizes = {name: run.by("token", part.norm(dim=-1).numpy(), "1") for name, part in (("a", first), ("b", last))}
    falls, rank = (rank > 1).astype(int), run.by("token", rank.astype(np.int32), "whole")
    return run.among(("prediction_2 stay", "prediction_2 fall"), falls, best=best, rank=rank, **sizes)


def _by_depth(run: Run) -> tuple[tuple[int, ...], np.ndarray, np.ndarray]:
    """Depths that have a row, the likeliest token after each [T or 1, S], and the row from which on the last leads."""
    # All depths are looked at, or the row might be a later one; of a deep model some have one, and it is among them.
    trace, every = run.trace, range(run.trace.n_layers + 1)
    work = len(run) * len(every) * trace.config.n_vocab * trace.config.d_model / 4
    is_deep = len(depths(run)) < len(every)
    ids = run.each(lambda at: lens.look(trace, every, at).ids.T, np.inf if is_deep and len(run) > 1 else work)
    same = ids == ids[:, -1:]
    leads = np.array([0 if row.all() else len(row) - int(np.argmin(row[::-1])) for row in same])
    if not is_deep:
        return tuple(every), ids, leads
    passed = tuple(sorted({*depths(run), int(leads[0])}))
    return passed, ids[:, passed], np.array([passed.index(int(leads[0]))])


def _logits(run: Run, ids: Any, logits: Any, shown: Sequence[np.ndarray], steps: Mapping[str, int]) -> Marks:
    """The likeliest tokens: their logits as points, then their probabilities as bars, also at a lower temperature."""
    look, n, since = run.look, steps["depth"], steps["probs"]
    cooled, probs, high = steps.get("cool", n), shown[0], 46
    logit = Pen({"until": steps.get("grown", since), "part": "logit"})
    share = Pen({"since": since, "until": n, "part": "share"})
    yield Pen({"until": n}).text(look.words("after", token=run.label()), y=22, look="bold")
    yield logit.end(look.words("logits"), y=44)
    yield share.end(look.words("probabilities"), y=44, until=cooled)
    if "cool" in steps:
        yield share.end(look.words("at_temperature", t=COOL), y=44, since=cooled)
    for k, row in Pen().rows(ids.shape[1], TOP, high):
        points, bars = row.but(**logit.fields), row.but(**share.fields)
        for pen in (points, bars):
            yield pen.end(run.tokens(ids[:, k], "token"), 150, part="")
        yield points.dot(run.by("token", layout.points(logits[:, k], layout.span(logits), **LINE)))
        yield points.end(run.by("token", logits[:, k]), form="2")
        parts = [(0, 0 * probs[:, k]), *((at, one[:, k]) for at, one in zip((since, cooled), shown, strict=True))]
        yield bars.bar(160, run.ends(n, *((at, layout.lengths(part)) for at, part in parts)), 8)
        yield bars.end(run.ends(n, *parts), form="percent")
    others, p = f"{run.trace.config.n_vocab - ids.shape[1]:,}", run.by("token", 1 - probs.sum(-1), "percent")
    rest = look.words("rest", n=others, p=p)
    yield share.text(rest, 160, TOP + high * ids.shape[1] + 20, until=cooled, look="small", part="")


def _depth(run: Run, named: Sequence[str], ids: np.ndarray, leads: np.ndarray, since: int) -> Marks:
    """What would be predicted after each block; the rows from which on it stays."""
    pen = Pen({"since": since})
    yield pen.text(run.look.words("if_it_stopped", token=run.label()), y=22, look="bold")
    high = layout.pitch(len(named), 50) * 1.6 if len(named) < 7 else 44
    for n, row in pen.rows(len(named), 50, high):
        yield row.end(named[n], 150)
        stays = run.by("token", np.where(n >= leads, 1.0, 0.0))
        yield row.box(160, row.y + 4, 6, row.high - 8, present=stays, part="share")
        yield row.bar(160, 220, look="frame")
        yield row.text(run.tokens(ids[:, n], "token"), 172, look="bold")


def _classes(run: Run) -> tuple[list[Beat], list[Mark]]:
    probs, logits = (run.trace[f"class.{name}"].numpy().reshape(-1) for name in ("probs", "logits"))
    names = run.trace.config.classes
    best = int(probs.argmax())
    logit, p = written(logits[best], "2"), written(probs[best], "percent")
    beats = [
        run.says("prediction_classes_1", "logit", n=len(names), best=names[best], logit=logit),
        run.says("prediction_classes_2", "share", best=names[best], p=p),
    ]
    marks: list[Mark] = [Pen().text(run.look.words("classes"), y=18)]
    marks += layout.bars(run, names, probs, "percent", 40, 36, part="share", since=2)
    for n, row in Pen({"until": 2}).rows(len(names), 40, 36):
        marks.append(row.end(names[n], 150))
        marks.append(row.dot(layout.points(logits[n], layout.span(logits), **LINE), part="logit"))
        marks.append(row.end(float(logits[n]), form="2", part="logit"))
    return beats, marks
