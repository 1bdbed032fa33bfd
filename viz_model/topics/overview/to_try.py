"""Changes of the sentence, the model or the place that a visitor may like to see."""

from collections.abc import Callable
from typing import Any

import numpy as np

from viz_model.drawing.tables import Among
from viz_model.island.look import Look
from viz_model.island.page import Offer
from viz_model.runs.trace import Trace
from viz_model.texts.markdown import literal
from viz_model.tokenizers.tokenizer import ByteLevel
from viz_model.topics.overview.finding import ending, facts, guesses, held, is_covered, likeliest

MOST = 3
"""Offers beside each other."""

Change = dict[str, Any]


def changes(trace: Trace, token: int, best: int | None, backwards: str) -> dict[str, Change]:
    """By the key of their words, what of the view each changes where a token is selected.

    Args:
        best: the id that the model expects there.
        backwards: the text from its end on; "" of a picture.
    """
    found: dict[str, Change] = {}
    tokenizer, shown = trace.tokenizer, trace.tokens
    if ending(trace) == "next" and best is not None:
        longer = [*(t.id for t in shown[: token + 1]), best]
        if best in tokenizer.controls:
            pass  # the end of a text, or what no text is made of: nothing to add
        elif trace.prefix:  # the start token is no part of the target
            found["guess_target"] = {"target": tokenizer.decode(longer[1:]), "token": None}
        else:
            found["guess"] = {"text": tokenizer.decode(longer), "token": None}
    if ending(trace) == "masked" and tokenizer.mask_id is not None and shown[token].id != tokenizer.mask_id:
        before, after = (tokenizer.decode(t.id for t in part) for part in (shown[:token], shown[token + 1 :]))
        mask = tokenizer.token(tokenizer.mask_id).text
        if isinstance(tokenizer, ByteLevel):  # each token brings its own space, if it has one
            mask = " " * shown[token].bytes.startswith(b" ") + mask
        else:
            before, after = f"{before} ", f" {after}"
        found["mask"] = {"text": f"{before}{mask}{after}".strip()}
    if is_covered(trace, token) and best is not None:
        filled = (best if position == token else id for position, id in enumerate(trace.own_ids))
        found["fill"] = {"text": tokenizer.decode(filled), "token": token}
    others = [language for language in tokenizer.languages if language != trace.target_language]
    if trace.target_language and others:
        found["tag"] = {"to": others[0], "target": None, "token": None}
    if trace.prefix:
        found["side"] = {"side": "encoder" if trace.side == "decoder" else "decoder", "token": None}
    if backwards:
        found["reverse"] = {"text": backwards}
    return found


def every(look: Look) -> list[dict[str, Change]]:
    """The same of every token that is held."""
    tokens, found = held(look), guesses(look)

    def make(look: Look) -> list[dict[str, Change]]:
        best = [None] * len(tokens) if found is None else found.ids[:, 0].tolist()
        is_text = not look.config.reads_pictures
        backwards = look.trace.tokenizer.decode(reversed(look.trace.ids)) if is_text else ""
        return [changes(look.trace, token, one, backwards) for token, one in zip(tokens, best, strict=True)]

    return look.once(make, ("to try", tokens.start))


def twin(look: Look) -> Offer | None:
    """The model that differs in one thing, where the server has it."""
    if look.twin is None:
        return None
    best = look.once(lambda look: _best(look), ("twin", held(look).start))
    at = look.by("token", np.arange(len(best)))
    given = {
        "twin": literal(look.twin.name or ""),
        "guess": Among([label for label, _ in best], at, is_code=True),
        "chance": look.by("token", np.array([chance for _, chance in best]), "percent"),
    }
    return Offer(look.text("try_twin", **given), look.words("try_twin"), {"model": look.twin.name})


def _best(look: Look) -> list[tuple[str, float]]:
    assert look.twin is not None
    found = likeliest(look.twin, held(look), 1)
    return [(label, float(chance)) for (label,), (chance,) in zip(found.labels, found.chances, strict=True)]


def offer(n: int) -> Callable[[Look], Offer | None]:
    """The n-th of those that some token has, where there is room for so many."""

    def made(look: Look) -> Offer | None:
        found = every(look)
        names = list(dict.fromkeys(name for each in found for name in each))
        order = [name for name in ("guess", "guess_target", "mask", "fill", "tag", "side", "reverse") if name in names]
        if n >= min(len(order), MOST - (look.twin is not None)):
            return None
        name = order[n]
        own = [each.get(name) for each in found]
        fields = next(one for one in own if one is not None)
        change = {field: _table(look, [None if one is None else one[field] for one in own]) for field in fields}
        is_there = look.by("token", np.array([one is not None for one in own]))
        said = look.text(f"try_{name}", **(facts(look) if guesses(look) is not None else {"token": look.token_named()}))
        return Offer(said, look.words(f"try_{name}"), change, is_there)

    return made


def _table(look: Look, values: list[Any]) -> Any:
    """Values by token; one that is the same for all is itself."""
    if all(value == values[0] for value in values):
        return values[0]
    return Among(values, look.by("token", np.arange(len(values))))
