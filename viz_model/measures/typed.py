"""Which token a visitor means who types one."""

from viz_model.runs.trace import Trace
from viz_model.tokenizers.text import TextError


def token_typed(trace: Trace, typed: str) -> int | None:
    """The token that is meant: ``#id``, or the first one of a text; None where there is none.

    A text that is one token with a space in front is meant so, as most words of most vocabularies are.
    """
    number = typed.removeprefix("#")
    if typed.startswith("#") and number.isascii() and number.isdecimal() and len(number) < 10:
        return int(number) if int(number) < trace.config.n_vocab else None
    tokenizer = trace.tokenizer
    encode = tokenizer.encode_target if trace.config.kind == "encoder_decoder" else tokenizer.encode
    try:
        tries = [encode(f" {typed}", special=False), encode(typed, special=False)] if typed else []
    except TextError:
        return None
    known = [ids for ids in tries if ids and max(ids) < trace.config.n_vocab]
    return next((ids[0] for ids in known if len(ids) == 1), known[-1][0] if known else None)
