"""What the loss is of: the token that is to come after the selected one; and its gradient."""

from collections.abc import Iterator
from typing import Any, NamedTuple

from viz_model.checkpoints.room import Room
from viz_model.drawing.digits import byte_size, percent, written
from viz_model.explain import Gradients, gradients
from viz_model.explain.backward import lacking
from viz_model.island.look import Look
from viz_model.island.page import Chooser, Field
from viz_model.island.prose import Line
from viz_model.measures.typed import token_typed
from viz_model.texts.markdown import literal

WORD, NEXT = "word", "next"
OFFERED = 20
LONGEST = 60
"""Of what is typed."""


class Target(NamedTuple):
    """The token whose probability is asked for; ``follows`` where the text goes on with it."""

    id: int
    follows: bool


def target(look: Look) -> Target:
    ids, said = look.trace.own_ids, look.options.get(WORD, "")
    follows = ids[look.token + 1] if look.token + 1 < len(ids) else None
    chosen = None if said in ("", NEXT) else token_typed(look.trace, said)
    if chosen is None:
        chosen = look.trace.next_tokens(look.token, 1)[0][0].id if follows is None else follows
    return Target(chosen, chosen == follows)


def _known(look: Look) -> dict[Any, Gradients]:
    return look.once(lambda _: {}, "gradients")


def found(look: Look) -> Gradients:
    """The gradient of the loss at the selected token; the last one that was asked for stays known."""
    kept = _known(look)
    key = look.token, target(look).id
    if key not in kept:
        kept.clear()
        with look.turn():
            kept[key] = gradients(look.trace, *key)
    return kept[key]


def no_room(look: Look) -> Room | None:
    """What the gradients take and what is free, where that is too little; of gradients that are there it is enough."""
    return None if _known(look) else lacking(look.trace.model)


def has_room(look: Look) -> bool:
    """Whether memory holds the model's gradients."""
    return no_room(look) is None


def tell_no_room(look: Look) -> Iterator[Line]:
    if (found := no_room(look)) is not None and found.free is not None:
        sizes = {"needed": byte_size(found.needed), "free": byte_size(found.free)}
        yield Line(look.words("no_room", **sizes), "notice")


def name(look: Look, id: int) -> str:
    return str(look.trace.tokenizer.token(id).label)


def choose(look: Look) -> Chooser:
    """The next token of the text, one of the most probable, or any that is typed."""
    said, words = look.options.get(WORD, ""), look.words
    ends = look.token + 1 == len(look)
    options = {NEXT: words("word_best" if ends else "word_next", token=name(look, _next(look)))}
    options |= {
        f"#{token.id}": f"{token.label}   {percent(p)}" for token, p in look.trace.next_tokens(look.token, OFFERED)
    }
    if said and said not in options:
        id = token_typed(look.trace, said)
        options[said] = said if id is None or not said.startswith("#") else name(look, id)
    return Chooser(WORD, options, words("word"), words("word_help"), NEXT, asks=True, is_list=True)


def _next(look: Look) -> int:
    ids = look.trace.own_ids
    at_end = look.token + 1 == len(ids)
    return look.trace.next_tokens(look.token, 1)[0][0].id if at_end else ids[look.token + 1]


def field(look: Look) -> Field:
    return Field(WORD, look.words("typed"), most=LONGEST)


def facts(look: Look) -> dict[str, Any]:
    """What most sentences need: the token, the target, its probability and the loss."""
    here = found(look)
    return {
        "token": look.code_name(look.token),
        "target": literal(name(look, here.token)),
        "share": percent(float(look.trace.row("probs", look.token)[here.token])),
        "loss": written(here.loss, "g3"),
        "layer": look.layer,
        "head": look.head,
    }


def tell(look: Look) -> Iterator[Line]:
    said = look.options.get(WORD, "")
    if said not in ("", NEXT) and token_typed(look.trace, said) is None:
        yield look.note("unknown", typed=literal(said))
    yield look.text("loss", **facts(look))
    if not target(look).follows and look.token + 1 < len(look):
        yield look.note("other_target", next=literal(name(look, _next(look))))
