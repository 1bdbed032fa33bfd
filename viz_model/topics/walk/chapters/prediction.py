"""From the last block to the prediction: the final norm, logits, softmax, temperature, and what each block has done."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import torch

from viz_model.config import NoNorm
from viz_model.drawing.digits import written
from viz_model.drawing.tables import Among, Phrase
from viz_model.island.beats import Beat, Box, Chapter, Guess, Mark, Text, ends
from viz_model.island.prose import Line
from viz_model.measures import lens
from viz_model.topics.walk import layout
from viz_model.topics.walk.chapters.stream import depths
from viz_model.topics.walk.run import Run

TOP, HIGH = 60, 46
COOL = 0.5


def chapter(run: Run) -> Chapter:
    look = run.look
    title, opens = look.words("title_prediction"), ("next_token", look.words("closer_prediction"))
    if run.trace.config.classes:
        return Chapter("prediction", title, *_classes(run), opens)
    if not run.predicts:
        beats = [run.says("prediction_vectors", "", d=run.trace.config.d_model)]
        marks = [*layout.rows(run, TOP, layout.pitch(len(run.window), TOP)), *_vectors(run)]
        return Chapter("prediction", title, beats, marks, opens)
    ids, logits = run.likely
    config = run.trace.config
    probs, cool = (_softmax(run, ids, t) for t in (1.0, COOL))
    values: dict[str, Any] = {
        "token": run.named(),
        "best": run.tokens(ids[:, 0], "token", is_code=True),
        "n": f"{config.n_vocab:,}",
        "logit": run.by("token", logits[:, 0], "2"),
        "p": run.by("token", probs[:, 0], "percent"),
        "d": config.d_model,
    }
    tied = "" if run.trace.config.tie_embeddings else "_untied"
    has_norm = run.trace.stack.final_norm is not None and not isinstance(config.norm, NoNorm)
    key = f"prediction_1{tied}" if has_norm else f"prediction_1_plain{tied}"
    if config.kind == "encoder":
        key = "prediction_1_encoder"
    beats = [run.says(key, "logit", **values)]
    steps = {"logits": 1}
    if has_norm and run.trace.norm_at == "pre":
        steps["grown"] = 2
        beats.append(_without_norm(run, ids, values))
    steps["probs"] = len(beats) + 1
    beats.append(run.says("prediction_3", "share", **values))
    if config.kind == "decoder":
        steps["cool"] = len(beats) + 1
        beats.append(run.says("prediction_4", "share", **values))
    steps["depth"] = len(beats) + 1
    passed, best, leads = _by_depth(run)
    named = [look.words("start") if depth == 0 else look.words("after_block", n=depth - 1) for depth in passed]
    guess = Guess(look.text("guess_depth"), named, run.by("token", leads))
    beats.append(
        run.says(
            "prediction_5", "", guess, **values, when=Among(named, run.by("token", leads)), layers=run.trace.n_layers
        )
    )
    marks = [
        *_logits(run, ids, logits, probs, cool, steps),
        *_grown(run, passed, named, steps),
        *_depth(run, named, best, leads, steps["depth"]),
    ]
    return Chapter("prediction", title, beats, marks, opens)


def _softmax(run: Run, ids: np.ndarray, temperature: float) -> np.ndarray:
    """Probabilities of tokens at a temperature: [T or 1, 5]"""
    at = [run.look.token] if len(ids) == 1 and len(run) > 1 else list(range(len(run)))
    probs = (run.trace["logits"][at].double() / temperature).softmax(-1).numpy()
    return np.take_along_axis(probs, ids, -1).astype(np.float32)


def _without_norm(run: Run, ids: np.ndarray, values: dict[str, Any]) -> Beat:
    """How long the stream has grown, and where the likeliest token would stand without the last norm."""
    trace = run.trace
    at = [run.look.token] if len(ids) == 1 and len(run) > 1 else list(range(len(run)))
    first, last = trace["embed.out"][at], trace[f"blocks.{trace.n_layers - 1}.resid.out"][at]
    with torch.inference_mode():
        plain = trace.model.head(last).numpy()
    own = np.take_along_axis(plain, ids[:, :1], -1)
    rank = 1 + (plain > own).sum(-1)
    sizes = {name: run.by("token", part.norm(dim=-1).numpy(), "1") for name, part in (("a", first), ("b", last))}
    case = (rank > 1).astype(int)
    texts = [
        run.look.text(key, **{name: f"{{{{{name}}}}}" for name in ("a", "b", "best", "rank")}).words
        for key in ("prediction_2_stays", "prediction_2")
    ]
    filled = {**sizes, "best": values["best"], "rank": run.by("token", rank.astype(np.int32), "whole")}
    return Beat(Line(Phrase(Among(texts, run.by("token", case)), filled)))


def _by_depth(run: Run) -> tuple[tuple[int, ...], np.ndarray, np.ndarray]:
    """Depths that have a row, the likeliest token after each [T or 1, S], and the row from which on the last one leads.

    Every depth is looked at, so that the row is the right one; of a deep model, for the selected token alone, some have
    a row, and that one is among them.
    """
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


def _logits(
    run: Run, ids: np.ndarray, logits: np.ndarray, probs: np.ndarray, cool: np.ndarray, steps: dict[str, int]
) -> Iterator[Mark]:
    look, until = run.look, steps["depth"]
    n, shown = steps["depth"], steps.get("grown", steps["probs"])
    scale = layout.span(logits)
    line: dict[str, Any] = {"left": (0, 160), "width": (1.0, -240)}
    yield Text(text=look.words("after", token=run.label(range(len(run)))), x=0, y=22, look="bold", until=until)
    yield Text(text=look.words("logits"), x=(1, -4), y=44, anchor="end", until=shown, part="logit")
    yield Text(
        text=look.words("probabilities"),
        x=(1, -4),
        y=44,
        anchor="end",
        since=steps["probs"],
        until=steps.get("cool", until),
        part="share",
    )
    if "cool" in steps:
        yield Text(
            text=look.words("at_temperature", t=COOL),
            x=(1, -4),
            y=44,
            anchor="end",
            since=steps["cool"],
            until=until,
            part="share",
        )
    for row in range(ids.shape[1]):
        y, when = TOP + HIGH * row, layout.turn(row, ids.shape[1])
        for since, end in ((0, shown), (steps["probs"], until)):
            label = run.tokens(ids[:, row], "token")
            yield Text(text=label, x=150, y=y + HIGH / 2, anchor="end", since=since, until=end)
        x = run.by("token", layout.points(logits[:, row], scale, **line))
        yield Box(look="dot", x=x, y=y + HIGH / 2 - 5, width=10, height=10, until=shown, part="logit", when=when)
        yield Text(
            text=run.by("token", logits[:, row]),
            form="2",
            x=(1, -4),
            y=y + HIGH / 2,
            anchor="end",
            until=shown,
            part="logit",
        )
        parts = [(0, 0 * probs[:, row]), (steps["probs"], probs[:, row])]
        if "cool" in steps:
            parts.append((steps["cool"], cool[:, row]))
        wide = ends(n, *((at, layout.lengths(part)) for at, part in parts), axes="token")
        number = ends(n, *parts, axes="token")
        if len(ids) == 1 < len(run):
            wide, number = (one._replace(start={"token": look.token}) for one in (wide, number))
        yield Box(
            x=160, y=y + 8, width=wide, height=HIGH - 16, since=steps["probs"], until=until, part="share", when=when
        )
        yield Text(
            text=number,
            form="percent",
            x=(1, -4),
            y=y + HIGH / 2,
            anchor="end",
            since=steps["probs"],
            until=until,
            part="share",
        )
    rest = 1 - probs.sum(-1)
    y = TOP + HIGH * ids.shape[1] + 20
    said = look.words("rest", n=f"{run.trace.config.n_vocab - ids.shape[1]:,}", p=run.by("token", rest, "percent"))
    yield Text(text=said, x=160, y=y, since=steps["probs"], until=steps.get("cool", until), look="small")


def _grown(run: Run, passed: tuple[int, ...], named: list[str], steps: dict[str, int]) -> Iterator[Mark]:
    """The length of each token's vector after so many blocks."""
    if "grown" not in steps:
        return
    sites = ["embed.out" if depth == 0 else f"blocks.{depth - 1}.resid.out" for depth in passed]
    length = np.stack([run.trace[site].norm(dim=-1).numpy() for site in sites], -1)
    there: dict[str, Any] = {"since": steps["grown"], "until": steps["probs"]}
    yield Text(text=run.look.words("length_of"), x=(1, -4), y=44, anchor="end", part="stream", **there)
    top = length.max(-1)
    rows = [(run.by("token", layout.lengths(one / top)), run.by("token", one)) for one in length.T]
    yield from layout.bars(named, rows, "1", TOP, 44, part="stream", **there)


def _depth(run: Run, named: list[str], ids: np.ndarray, leads: np.ndarray, since: int) -> Iterator[Mark]:
    """What would be predicted after each block; the rows from which on it stays."""
    yield Text(
        text=run.look.words("if_it_stopped", token=run.label(range(len(run)))), x=0, y=22, since=since, look="bold"
    )
    high = layout.pitch(len(named), 50) * 1.6 if len(named) < 7 else 44
    for n, name in enumerate(named):
        y, when = 50 + high * n, layout.turn(n, len(named))
        yield Text(text=name, x=150, y=y + high / 2, anchor="end", since=since, when=when)
        stays = run.by("token", np.where(n >= leads, 1.0, 0.0))
        yield Box(x=160, y=y + 4, width=220, height=high - 8, since=since, part="share", present=stays, when=when)
        yield Box(look="frame", x=160, y=y + 4, width=220, height=high - 8, since=since, when=when)
        yield Text(text=run.tokens(ids[:, n], "token"), x=172, y=y + high / 2, since=since, when=when, look="bold")


def _classes(run: Run) -> tuple[list[Beat], list[Mark]]:
    trace, look = run.trace, run.look
    probs = trace["class.probs"].numpy().reshape(-1)
    logits = trace["class.logits"].numpy().reshape(-1)
    best = int(probs.argmax())
    names = [str(one) for one in trace.config.classes]
    values: dict[str, Any] = {
        "best": names[best],
        "p": written(probs[best], "percent"),
        "n": len(names),
        "logit": written(logits[best], "2"),
    }
    shares = [(layout.lengths(p), p) for p in probs]
    marks: list[Mark] = [*layout.bars(names, shares, "percent", 40, 36, part="share", since=2)]
    scale = layout.span(logits)
    for n, (name, logit) in enumerate(zip(names, logits, strict=True)):
        y = 40 + 36 * n
        x = layout.points(np.array(logit), scale, (0, 160), (1.0, -240))
        marks.append(Text(text=name, x=150, y=y + 18, anchor="end", until=2))
        marks.append(Box(look="dot", x=x, y=y + 13, width=10, height=10, until=2, part="logit"))
        marks.append(Text(text=float(logit), form="2", x=(1, -4), y=y + 18, anchor="end", until=2, part="logit"))
    beats = [run.says("prediction_classes_1", "logit", **values), run.says("prediction_classes_2", "share", **values)]
    marks.append(Text(text=look.words("classes"), x=0, y=18))
    return beats, marks


def _vectors(run: Run) -> Iterator[Mark]:
    trace, high = run.trace, layout.pitch(len(run.window), TOP)
    values = trace[f"blocks.{trace.n_layers - 1}.resid.out"].numpy()
    top = layout.most(values) / 2
    for n, at in enumerate(run.window):
        yield layout.strip(
            values[at],
            layout.NAMES,
            TOP + high * n + 3,
            (1, -layout.NAMES),
            high - 7,
            top,
            part="stream",
            when=layout.turn(n, len(run.window)),
        )
