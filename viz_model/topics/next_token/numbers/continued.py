"""A text with what was drawn after it."""

from __future__ import annotations

from collections.abc import Sequence

from viz_model.runs.generation import Step
from viz_model.runs.trace import Trace


def longer(trace: Trace, steps: Sequence[Step]) -> str:
    """The text, or the target of an encoder–decoder, and what was drawn after it.

    A character of which only some bytes were drawn is left out.
    """
    decode, drawn = trace.tokenizer.decode, [step.token.id for step in steps]
    if trace.target_ids is None:
        text, ids, is_whole = trace.text, list(trace.ids), not trace.n_dropped
    else:
        text, ids, is_whole = trace.target, list(trace.target_ids[1:]), not trace.n_target_dropped
    # Of two spellings that decode alike, the visitor's own is kept.
    before, after = decode(ids), decode([*ids, *drawn])
    if is_whole and after.startswith(before):
        after = (text or "") + after[len(before) :]
    return after.rstrip("\ufffd") if drawn else after
