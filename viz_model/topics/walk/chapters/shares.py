"""From scores to attention weights: the mask, softmax, the division."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from viz_model.drawing.digits import root
from viz_model.island.beats import Chapter
from viz_model.topics.walk.layout import DOT, NAMES, Marks, Pen, pitch, points, span, toy
from viz_model.topics.walk.run import Run

TOP, MIDDLE = 48, 0.54
"""Pixels above the rows; where scores end that have weights beside them, as a share of the width."""


def chapter(run: Run) -> Chapter:
    look, config, share, sharp = run.look, run.trace.config, run.rows(run.pattern), run.rows(run.sharp)
    dk, best = run.head(run.last("q")).shape[-1], (np.arange(len(run)), share.argmax(-1))
    is_root, number = root(config.root_of or dk)
    values: dict[str, Any] = {"q": run.named(), "dk": dk, "root": number, "is_root": is_root}
    values |= {"most": run.named(run.shown[best]), "share": run.by("token", share[best], "percent")}
    values |= {"sharp": run.by("token", sharp[best], "percent")}
    if run.visible.all() and config.sides[-1] == "encoder":
        beats = [run.says("shares_open", "score", **values)]
    else:
        beats = [run.among(("shares_1", "shares_1_last"), run.visible.all(-1).astype(int), "hidden score", **values)]
    steps, alone = {"mask": 1}, ((~run.hidden).sum(-1) == 1).astype(int)
    if f"blocks.{look.layer}.attn.bias" in run.trace:
        beats.append(run.says("shares_bias", "score", **values))
        steps["bias"] = 2
    beats.append(run.says("shares_2"))
    steps["toy"] = len(beats)
    if config.divides_by_root:
        before, after = sharp.max(-1), share.max(-1)
        beats.append(run.among(("shares_3", "shares_3_only"), alone, "share", **values))
        options = [look.words("flatter"), look.words("sharper"), look.words("same")]
        right = np.select([np.abs(after - before) < 5e-4, after < before], [2, 0], 1)
        guess = run.asks("guess_scale", options, run.by("token", right))
        beats.append(run.says("shares_4", "score share", guess, **values))
    else:
        beats.append(run.among(("shares_whole", "shares_3_only"), alone, "score share", **values))
    steps |= {"softmax": steps["toy"] + 1, "last": len(beats)}
    beats.append(run.says("shares_5", "share", **values))
    divided = look.words("divided", root=number) if config.divides_by_root else ""
    return run.chapter("shares", beats, _marks(run, steps, len(beats), divided), "attention")


def _marks(run: Run, steps: Mapping[str, int], n_beats: int, divided: str) -> Marks:
    """The rows of the keys; ``divided`` is what scores are called that are divided, of a model that does so."""
    look, (tokens, count), softmax, last = run.look, run.shown.shape, steps["softmax"], steps["last"]
    raw, scaled, final, share, sharp = map(
        run.rows, (run.dots, run.head("scores"), run.scores, run.pattern, run.sharp if divided else run.pattern)
    )
    rest = tokens > count
    high = pitch(count + 1 + rest, TOP)
    scale = span(np.concatenate([raw.ravel(), final[np.isfinite(final)]]))
    when = {"since": steps["toy"], "until": softmax}
    yield toy("softmax", {"score": look.words("score")}, look.words("toy_softmax"), **when)
    # The scores stand alone before softmax is met, and then beside the weights.
    stands = ((Pen({"until": steps["toy"]}), 1.0), (Pen({"since": softmax}), MIDDLE))
    line: dict[str, Any] = {"scale": scale, "left": (0, NAMES + 8)}
    for pen, end in stands:
        yield pen.text(look.words("query_of"), y=12)
        yield pen.text(run.label(), y=TOP - 12, look="bold")
        yield pen.box(points(0, **line, width=(end, -NAMES - 72), size=0), TOP, 1, high * count, part="score")
        until = {"until": last} if end < 1 and divided else {}
        yield pen.end(look.words("scores"), (end, -4), TOP - 12, part="score", **until)
    weight = Pen({"since": softmax, "part": "share"})
    if divided:
        yield Pen({"since": last, "part": "score"}).end(divided, (MIDDLE, -4), TOP - 12, look="bold")
        yield weight.end(look.words("softmax_of"), y=TOP - 12, until=last)
    yield weight.end(look.words("weights"), y=TOP - 12, since=last)

    def weights(row: Pen, before: np.ndarray, after: np.ndarray) -> Marks:
        row, none = row.but(**weight.fields), 0 * before
        parts = [(0, none), (softmax, before), (last, after)]
        wide = [(at, np.stack([0.28 * np.maximum(part, 0), none], -1).astype(np.float32)) for at, part in parts]
        yield row.bar((0.58, 0), run.ends(n_beats, *wide))
        yield row.end(run.ends(n_beats, *parts), form="percent")

    for n, row in Pen().rows(count, TOP, high):
        hides = run.hidden[:, n]
        entries = [(0, raw[:, n]), (1, np.where(hides, np.nan, raw[:, n]))]
        if "bias" in steps:
            entries.append((steps["bias"], np.where(hides, np.nan, final[:, n] - scaled[:, n] + raw[:, n])))
        entries.append((last, np.where(hides, np.nan, final[:, n])))
        size = run.ends(n_beats, (0, np.full(tokens, float(DOT))), (1, np.where(hides, 0.0, DOT)))
        veil = run.ends(n_beats, (0, np.zeros(tokens)), (1, np.where(hides, high - 4, 0.0)))
        for pen, end in stands:
            place = row.but(**pen.fields)
            dots = [(at, points(one, **line, width=(end, -NAMES - 72))) for at, one in entries]
            yield place.name(run.label(run.shown[:, n]), when=(0, 1))
            yield place.box(NAMES, row.y + 2, (end, -NAMES), veil, "hatch", part="hidden")
            yield place.dot(run.ends(n_beats, *dots), size, part="score")
            yield place.end(run.ends(n_beats, *entries), (end, -4), form="2", part="score")
        yield from weights(row, sharp[:, n], share[:, n])
    below = Pen({"when": (0.6, 1)}, TOP + high * count, high)
    if rest:
        yield below.name(look.words("others", n=tokens - count), since=softmax)
        yield from weights(below, 1 - sharp.sum(-1), 1 - share.sum(-1))
        below = Pen(below.fields, below.y + high, high)
    total = run.pattern.sum(-1)
    total = np.where(np.abs(total - 1) < 1e-4, 1, total)  # what is rounding is not written
    below = below.but(**weight.fields)
    yield below.text(look.words("total"), (0.58, 0))
    yield below.end(run.by("token", total), form="share", look="bold")
