"""From scores to attention weights: the mask, softmax, the division."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from viz_model.drawing.digits import root as root_of
from viz_model.drawing.tables import Among, Phrase
from viz_model.island.beats import Beat, Box, Chapter, Guess, Mark, Text, Toy, ends
from viz_model.island.prose import Line
from viz_model.topics.walk import layout
from viz_model.topics.walk.layout import DOT, HEIGHT, NAMES, points, span
from viz_model.topics.walk.run import Run

TOP, SHARP = 48, 0.95


def chapter(run: Run) -> Chapter:
    look, values, config = run.look, facts(run), run.trace.config
    alone = (~run.hidden).sum(-1) == 1
    divides, has_bias = bool(config.divides_by_root), f"blocks.{look.layer}.attn.bias" in run.trace
    beats = [_mask(run, values), Beat(look.text("shares_2"))]
    steps: dict[str, int] = {"mask": 1}
    before, after = run.rows(run.sharp).max(-1), run.rows(run.pattern).max(-1)
    if divides:
        case = np.select([alone, before > SHARP], [2, 0], 1)
        beats.append(Beat(_among(run, ("shares_3", "shares_3_plain", "shares_3_only"), case, values), "share"))
        options = [look.words("flatter"), look.words("sharper"), look.words("same")]
        right = np.select([np.abs(after - before) < 5e-4, after < before], [2, 0], 1)
        guess = Guess(look.text("guess_scale"), options, run.by("token", right))
        beats.append(Beat(_among(run, ("shares_4", "shares_4_only"), alone.astype(int), values), "score share", guess))
        steps |= {"sharp": 3, "divided": 4}
    else:
        beats.append(Beat(_among(run, ("shares_whole", "shares_3_only"), alone.astype(int), values), "score share"))
        steps["divided"] = 3
    if has_bias:
        beats.insert(1, run.says("shares_bias", "score", **values))
        steps = {name: at + (name != "mask") for name, at in steps.items()}
    beats.append(run.says("shares_5", "share", **values))
    toy = 3 if has_bias else 2
    marks = list(_marks(run, steps, toy, len(beats), has_bias))
    return Chapter("shares", look.words("title_shares"), beats, marks, ("attention", look.words("closer_attention")))


def facts(run: Run) -> dict[str, Any]:
    share, sharp = run.rows(run.pattern), run.rows(run.sharp)
    dk, best = run.head(run.last("q")).shape[-1], share.argmax(-1)[:, None]
    is_root, root = root_of(run.trace.config.root_of or dk)
    return {
        "q": run.named(),
        "dk": dk,
        "root": root,
        "is_root": is_root,
        "most": run.named(np.take_along_axis(run.shown, best, -1)[:, 0]),
        "share": run.by("token", np.take_along_axis(share, best, -1)[:, 0], "percent"),
        "sharp": run.by("token", np.take_along_axis(sharp, best, -1)[:, 0], "percent"),
        "n": run.by("token", run.visible.sum(-1).astype(np.int32), "whole"),
    }


def _among(run: Run, keys: tuple[str, ...], case: np.ndarray, values: dict[str, Any]) -> Line:
    open_ = {name: f"{{{{{name}}}}}" for name in values}
    texts = [run.look.text(key, **open_).words for key in keys]
    return Line(Phrase(Among(texts, run.by("token", case)), values))


def _mask(run: Run, values: dict[str, Any]) -> Beat:
    """What the mask hides of each query: of a model that looks both ways nothing."""
    n = len(run)
    if bool(run.visible.all()) and run.trace.config.sides[-1] == "encoder":
        return run.says("shares_open", "score", **values)
    hides = (~run.visible).sum(-1)
    case = np.where(np.full(n, n == 1), 2, np.where(hides == 0, 1, 0))
    return Beat(_among(run, ("shares_1", "shares_1_last", "shares_1_only"), case, values), "hidden score")


def _marks(run: Run, steps: dict[str, int], toy: int, n_beats: int, has_bias: bool) -> Iterator[Mark]:
    look, shown = run.look, run.shown
    count, tokens = shown.shape[1], len(run)
    raw = run.rows(run.dots)
    scaled = run.rows(run.head("scores"))
    final, share, sharp = run.rows(run.scores), run.rows(run.pattern), run.rows(run.sharp)
    rest = tokens > count
    high = layout.pitch(count + 1 + rest, TOP, HEIGHT)
    first = steps.get("sharp", steps["divided"])
    scale = span(np.concatenate([raw.ravel(), final[np.isfinite(final)]]))
    stands: tuple[tuple[dict[str, Any], float], ...] = (({"until": toy}, 1.0), ({"since": first}, 0.54))
    name: dict[str, Any] = {"x": NAMES - 8, "anchor": "end"}
    yield Toy(
        toy="softmax",
        since=toy,
        until=first,
        width=(1, 0),
        height=HEIGHT,
        data={"score": look.words("score")},
        label=look.words("toy_softmax"),
    )
    for there, end in stands:
        line: dict[str, Any] = {"scale": scale, "left": (0, NAMES + 8), "width": (end, -NAMES - 72)}
        yield Text(text=look.words("query_of"), x=0, y=12, **there)
        yield Text(text=run.label(range(tokens)), x=0, y=TOP - 12, look="bold", **there)
        yield Box(x=layout.at_zero(**line), y=TOP, width=1, height=high * count, part="score", **there)
        shown_until = {"until": steps["divided"]} if "sharp" in steps else {}
        yield Text(
            text=look.words("scores"),
            x=(end, -4),
            y=TOP - 12,
            anchor="end",
            part="score",
            **{**shown_until, **there} if end == 1 else {**there, **shown_until},
        )
    if "sharp" in steps:
        root = facts(run)["root"]
        yield Text(
            text=look.words("divided", root=root),
            x=(0.54, -4),
            y=TOP - 12,
            anchor="end",
            since=steps["divided"],
            part="score",
            look="bold",
        )
    yield Text(text=look.words("weights"), x=(1, -4), y=TOP - 12, anchor="end", since=steps["divided"], part="share")
    yield Text(
        text=look.words("softmax_of"),
        x=(1, -4),
        y=TOP - 12,
        anchor="end",
        since=first,
        until=steps["divided"],
        part="share",
    )

    def of(values: np.ndarray) -> np.ndarray:
        return values[[look.token]] if _is_single(run) else values

    def table(*entries: tuple[int, np.ndarray]) -> Any:
        made = ends(n_beats, *((at, of(values)) for at, values in entries), axes="token")
        return made._replace(start={"token": look.token}) if _is_single(run) else made

    def weights(y: float, before: np.ndarray, after: np.ndarray, when: tuple[float, float]) -> Iterator[Mark]:
        nothing = 0 * before
        parts = (
            [(0, nothing), (first, before), (steps["divided"], after)]
            if "sharp" in steps
            else [(0, nothing), (first, after)]
        )
        long = [(at, np.stack([0.28 * np.maximum(part, 0), nothing], -1).astype(np.float32)) for at, part in parts]
        yield Box(x=(0.58, 0), y=y + 4, width=table(*long), height=high - 8, since=first, part="share", when=when)
        yield Text(
            text=table(*parts),
            form="percent",
            x=(1, -4),
            y=y + high / 2,
            anchor="end",
            since=first,
            part="share",
            when=when,
        )

    for n in range(count):
        y, hides, when = TOP + high * n, run.hidden[:, n], layout.turn(n, count)
        seen = np.where(hides, np.nan, raw[:, n])
        last = np.where(hides, np.nan, scaled[:, n])
        pushed = np.where(hides, np.nan, final[:, n])
        entries = [(0, raw[:, n]), (1, seen)]
        if has_bias:
            entries.append((2, np.where(hides, np.nan, pushed - last + raw[:, n])))
        entries.append((steps["divided"], pushed))
        number, label = table(*entries), run.label(shown[:, n])
        for there, end in stands:
            line = {"scale": scale, "left": (0, NAMES + 8), "width": (end, -NAMES - 72)}
            size = table((0, np.full(tokens, DOT, dtype=np.float32)), (1, np.where(hides, 0, DOT).astype(np.float32)))
            veil = table((0, np.zeros(tokens, dtype=np.float32)), (1, np.where(hides, high - 4, 0).astype(np.float32)))
            yield Text(text=label, **name, y=y + high / 2, **there)
            yield Box(
                look="hatch", x=NAMES, y=y + 2, width=(end, -NAMES), height=veil, part="hidden", when=when, **there
            )
            x = table(*((at, points(values, **line)) for at, values in entries))
            yield Box(
                look="dot", x=x, y=y + high / 2 - DOT / 2, width=size, height=size, part="score", when=when, **there
            )
            yield Text(
                text=number, form="2", x=(end, -4), y=y + high / 2, anchor="end", part="score", when=when, **there
            )
        yield from weights(y, sharp[:, n], share[:, n], when)
    under = TOP + high * count
    if rest:
        yield Text(text=look.words("others", n=tokens - count), **name, y=under + high / 2, since=first)
        yield from weights(under, 1 - sharp.sum(-1), 1 - share.sum(-1), (0.6, 1))
        under += high
    total = run.pattern.sum(-1)
    total = np.where(np.abs(total - 1) < 1e-4, 1, total)  # what is rounding is not written
    yield Text(text=look.words("total"), x=(0.58, 0), y=under + high / 2, since=first, part="share", when=(0.6, 1))
    yield Text(
        text=run.by("token", total),
        form="share",
        x=(1, -4),
        y=under + high / 2,
        anchor="end",
        since=first,
        part="share",
        when=(0.6, 1),
        look="bold",
    )


def _is_single(run: Run) -> bool:
    """Whether tables of many tokens hold those around the selected one alone (:meth:`Look.by`)."""
    return len(run.by("token", run.dots).values) < len(run)
