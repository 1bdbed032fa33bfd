"""What to say of a position, and what to try there."""

from __future__ import annotations

from typing import Literal

from viz_model.runs.trace import Trace
from viz_model.tokenizers.tokenizer import ByteLevel


def ending(trace: Trace) -> Literal["next", "masked", "vectors"]:
    """What this stack of this model ends in: the next token, the token that was covered, or its vectors."""
    if "logits" not in trace:
        return "vectors"
    return "next" if trace.side == "decoder" else "masked"


def is_covered(trace: Trace, token: int) -> bool:
    """Whether a mask stands at a position where the model says what was covered."""
    return ending(trace) == "masked" and trace.own_ids[token] == trace.tokenizer.mask_id


def things_to_try(trace: Trace, token: int) -> dict[str, dict[str, object]]:
    """By the key of their words, changes of the view that a visitor may like to see."""
    changes: dict[str, dict[str, object]] = {}
    tokenizer, shown = trace.tokenizer, trace.tokens
    if ending(trace) == "next":
        best, _ = trace.next_tokens(token, 1)[0]
        longer = [*(t.id for t in shown[: token + 1]), best.id]
        if best.id in tokenizer.controls:
            pass  # the end of a text, or what no text is made of: nothing to add
        elif trace.prefix:  # the start token is no part of the target
            changes["guess_target"] = {"target": tokenizer.decode(longer[1:]), "token": None}
        else:
            changes["guess"] = {"text": tokenizer.decode(longer), "token": None}
    if ending(trace) == "masked" and tokenizer.mask_id is not None and shown[token].id != tokenizer.mask_id:
        before, after = (tokenizer.decode(t.id for t in part) for part in (shown[:token], shown[token + 1 :]))
        mask = tokenizer.token(tokenizer.mask_id).text
        if isinstance(tokenizer, ByteLevel):  # each token brings its own space, if it has one
            mask = " " * shown[token].bytes.startswith(b" ") + mask
        else:
            before, after = f"{before} ", f" {after}"
        changes["mask"] = {"text": f"{before}{mask}{after}".strip()}
    if is_covered(trace, token):
        best, _ = trace.next_tokens(token, 1)[0]
        filled = (best.id if position == token else id for position, id in enumerate(trace.own_ids))
        changes["fill"] = {"text": tokenizer.decode(filled), "token": token}
    others = [language for language in tokenizer.languages if language != trace.target_language]
    if trace.target_language and others:
        changes["tag"] = {"to": others[0], "target": None, "token": None}
    if trace.prefix:
        changes["side"] = {"side": "encoder" if trace.side == "decoder" else "decoder", "token": None}
    changes["reverse"] = {"text": tokenizer.decode(reversed(trace.ids))}
    return changes
