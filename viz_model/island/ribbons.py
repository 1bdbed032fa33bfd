"""The tokens of a run in a row, as the browser draws them above a page."""

from collections.abc import Collection, Sequence
from difflib import SequenceMatcher
from typing import Any

from viz_model.config import Side
from viz_model.drawing import theme
from viz_model.drawing.chips import bracketed, chip
from viz_model.drawing.scene import Arrays, value
from viz_model.drawing.spans import around
from viz_model.measures import patches
from viz_model.runs.trace import Trace
from viz_model.texts import Texts

MOST_CHIPS = 400
"""Tokens in the line at the most, of longer texts those around the selected one."""

NORM_PLACES = {"pre": "Pre-LN", "post": "Post-LN", "branch": "x + norm(f(x))", "both": "x + norm(f(norm(x)))"}
"""What a place of the norm is called."""


def ribbons(trace: Trace, beside: Trace | None, token: int, t: Texts, arrays: Arrays) -> list[dict[str, Any]]:
    """The tokens as chips, of an encoder–decoder those of the source and below them those of the target; after each
    those of the run beside, named by where the norm stands where that is the twin's.
    """
    if trace.config.reads_pictures:
        written = [_ribbon(trace, "decoder", token, t)] if trace.config.transcribes else []
        return [_patches(trace, t, arrays), *written]
    if beside is None:
        return [_ribbon(trace, side, token, t) for side in trace.config.sides]
    found = []
    for side in trace.config.sides:
        differing = _differing(*([one.id for one in run.at(side).tokens] for run in (trace, beside)))
        pair = [_ribbon(run, side, token, t, own) for run, own in zip((trace, beside), differing, strict=True)]
        if beside.name == trace.name:
            pair[1]["label"] = t("common.also_tokens", label=pair[1]["label"])
        else:
            for one, run in zip(pair, (trace, beside), strict=True):
                one["whose"] = NORM_PLACES[run.config.norm_at]
                one["label"] = f"{one['whose']}: {one['label']}"
        found += pair
    return found


def _differing(one: Sequence[int], other: Sequence[int]) -> tuple[set[int], set[int]]:
    """The places of two texts whose tokens the other has not, in the same order."""
    found: tuple[set[int], set[int]] = set(), set()
    for kind, start, stop, first, last in SequenceMatcher(None, one, other, autojunk=False).get_opcodes():
        if kind != "equal":
            found[0].update(range(start, stop))
            found[1].update(range(first, last))
    return found


def _ribbon(trace: Trace, side: Side, token: int, t: Texts, differing: Collection[int] = ()) -> dict[str, Any]:
    tokens, is_own = trace.at(side).tokens, side == trace.side or len(trace.config.sides) == 1
    shown = around(min(token, len(tokens) - 1) if is_own else 0, len(tokens), MOST_CHIPS)
    label = "tokens" if len(trace.config.sides) == 1 else f"tokens_{side}"
    ends = [place for place in (shown.start - 1, shown.stop) if 0 <= place < len(tokens)]
    return {
        "side": side,
        "chips": bracketed(
            [
                chip(one, n, under=one.id) | ({"differs": True} if n in differing else {})
                for n, one in enumerate(tokens[shown], shown.start)
            ],
            tokens[shown],
        ),
        "selected": -1,
        "label": t(f"common.{label}", start=_start(trace, t)),
        "differs": t("common.differs"),
        "first": shown.start,
        "last": len(tokens) - 1,
        "ends": [{"position": place, "label": t("common.ribbon_to", position=place)} for place in ends],
        "selects": is_own,
        "many": False,
        "flat": len(trace.config.sides) > 1,
        "light": False,
    }


def _patches(trace: Trace, t: Texts, arrays: Arrays) -> dict[str, Any]:
    source, n_sides = trace.at("encoder"), len(trace.config.sides)
    label = t("common.tokens" if n_sides == 1 else "common.tokens_encoder")
    own = {"side": "encoder", "chips": patch_chips(source, t), "selected": -1, "label": label, "first": 0, "ends": []}
    selects = n_sides == 1 or trace.side == "encoder"
    light = not patches.is_drawn(trace.config)
    thumbnails = value(patches.thumbnails(trace), arrays)
    flat = n_sides > 1
    return {**own, "selects": selects, "many": False, "flat": flat, "light": light, "thumbnails": thumbnails}


def patch_chips(trace: Trace, t: Texts) -> list[dict[str, Any]]:
    """The patches, each with its place and its own small picture, [CLS] first where the model has it."""
    return [
        {
            "label": "" if token.id else "[CLS]",
            "under": token.label if token.id else "",
            "title": name,
            "bytes": "",
            "color": theme.token_color(n),
            "whole": True,
            "has_picture": token.id > 0,
        }
        for n, (token, name) in enumerate(zip(trace.tokens, patches.names(trace, t), strict=True))
    ]


def _start(trace: Trace, t: Texts) -> str:
    """What the decoder of an encoder–decoder begins from, in words."""
    language = trace.target_language
    return t("common.start" if language is None else f"common.start_{language}")
