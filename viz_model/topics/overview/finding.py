"""What the model expects after each token, and where it looks hardest."""

from collections.abc import Iterator
from typing import Any, Literal, NamedTuple

import numpy as np
import torch

from viz_model.claims import Claim, Verdict
from viz_model.drawing.tables import Among, Phrase
from viz_model.island import query
from viz_model.island.held import is_long
from viz_model.island.look import Look
from viz_model.island.prose import Line
from viz_model.measures.classes import classes
from viz_model.runs.recompute import Recomputed
from viz_model.runs.trace import Trace

N_NEXT, MOST_WORK = 8, 10_000_000_000
"""Guesses that are drawn; multiplications with which those after every token of a long run are found."""


class Next(NamedTuple):
    """The first guess after tokens: its probability, and whether it is the end of the text; each [...]."""

    chance: np.ndarray
    is_end: np.ndarray


class Strongest(NamedTuple):
    """The largest weight that each query gives another position, over all layers and heads; each [N].

    ``query`` and ``position`` are counted in their texts; ``weight`` is 0 where there is nothing to look at.
    """

    query: np.ndarray
    position: np.ndarray
    layer: np.ndarray
    head: np.ndarray
    weight: np.ndarray


NEXT: Verdict[Next] = Verdict(
    "overview.next",
    Claim("ends", lambda guess: guess.is_end & (guess.chance > 0.5)),
    Claim("expects", lambda guess: guess.chance > 0.5),
    Claim("may_end", lambda guess: guess.is_end),
)
LOOK: Verdict[Strongest] = Verdict(
    "overview.look",
    Claim("none", lambda seen: seen.weight <= 0),
    Claim("back", lambda seen: seen.position < seen.query),
)


def ending(trace: Trace) -> Literal["next", "masked", "vectors"]:
    """What this stack of this model ends in: the next token, the token that was covered, or its vectors."""
    if "logits" not in trace:
        return "vectors"
    return "next" if trace.side == "decoder" else "masked"


def is_covered(trace: Trace, token: int) -> bool:
    """Whether a mask stands at a position where the model says what was covered."""
    return ending(trace) == "masked" and trace.own_ids[token] == trace.tokenizer.mask_id


def held(look: Look) -> range:
    """The tokens that tables tell of: all, or where that takes long the selected one."""
    work = len(look) * look.config.n_vocab * look.config.d_model
    is_slow = isinstance(look.trace.values, Recomputed) or (is_long(look.trace) and work > MOST_WORK)
    return range(look.token, look.token + 1) if is_slow else range(len(look))


def strongest(trace: Trace, queries: range, part: str = "attn") -> Strongest:
    """Where queries look hardest, of their own text ("attn") or of the source ("cross"). Weight 0 without weights."""
    n = len(queries)
    found = [(*(np.zeros(n, np.int64) for _ in range(3)), np.zeros(n, np.float32))]
    for layer in range(trace.n_layers):
        name = f"blocks.{layer}.{part}.pattern"
        if name not in trace:
            continue  # it holds a state
        # One row of a long text; else all of them at once, which takes as long as a few.
        one = len(queries) == 1
        rows = (trace.row(name, queries[0])[None] if one else trace[name].transpose(0, 1)).numpy().copy()  # [N, H, Tk]
        if part == "attn":
            rows[np.arange(len(rows)), :, list(queries)] = 0
        best = rows.reshape(len(rows), -1).argmax(-1)
        head, position = np.divmod(best, rows.shape[-1])
        found.append((position, np.full_like(head, layer), head, rows[np.arange(len(rows)), head, position]))
    each = [np.stack(one) for one in zip(*found, strict=True)]  # [L, N]
    first = each[-1].argmax(0)
    position, layer, head, weight = (one[first, np.arange(len(first))] for one in each)
    return Strongest(np.array(queries), position, layer, head, weight)


def looks(look: Look, part: str = "attn") -> Strongest:
    tokens = held(look)
    return look.once(lambda look: strongest(look.trace, tokens, part), ("strongest", part, tokens.start))


class Strong(NamedTuple):
    """Where one query looks hardest: at which position, in which layer and head."""

    position: int
    layer: int
    head: int
    weight: float


def selected(look: Look, part: str = "attn") -> Strong | None:
    """That of the selected token; None where it has nothing to look at."""
    found = looks(look, part)
    at = look.token - held(look).start
    if found.weight[at] <= 0:
        return None
    return Strong(int(found.position[at]), int(found.layer[at]), int(found.head[at]), float(found.weight[at]))


class Guesses(NamedTuple):
    """The most probable tokens after each token that is held, [N, K]: ids, names and probabilities."""

    ids: np.ndarray
    labels: list[list[str]]
    chances: np.ndarray


def likeliest(trace: Trace, tokens: range, k: int) -> Guesses:
    """After one token, or after all of a text, at once."""
    rows = [trace.row("probs", tokens[0])[None]] if len(tokens) == 1 else trace.chunks("probs")
    tops = [part.topk(min(k, trace.config.n_vocab)) for part in rows]
    ids, chances = (torch.cat([getattr(top, one) for top in tops]).numpy() for one in ("indices", "values"))
    return Guesses(ids, [[trace.tokenizer.token(id).label for id in row] for row in ids.tolist()], chances)


def guesses(look: Look) -> Guesses | None:
    """None of a stack that predicts nothing."""
    tokens = held(look)

    def make(look: Look) -> Guesses | None:
        if ending(look.trace) == "vectors" or look.config.classes:
            return None
        return likeliest(look.trace, tokens, N_NEXT)

    return look.once(make, ("guesses", tokens.start))


def facts(look: Look) -> dict[str, Any]:
    """For prose: the selected token, and the best guess after it."""
    found, given = guesses(look), {"token": look.token_named()}
    if found is not None:
        index = look.by("token", np.arange(len(found.labels)))
        given["guess"] = Among([labels[0] for labels in found.labels], index, is_code=True)
        given["chance"] = look.by("token", found.chances[:, 0], "percent")
    return given


def tell(look: Look) -> Iterator[Line]:
    trace, which, found = look.trace, ending(look.trace), guesses(look)
    if which == "next" and found is not None:
        end = trace.tokenizer.end_of_text
        yield look.claim(NEXT, Next(found.chances[:, 0], found.ids[:, 0] == end), "token", "text", **facts(look))
    elif look.config.classes:
        yield look.text("finding_class", **classes(trace).facts)
    else:
        kinds = [f"finding_{'covered' if is_covered(trace, token) else which}" for token in held(look)]
        said = [look.text(kind, **facts(look)).words for kind in sorted(set(kinds))]
        index = look.by("token", np.array([sorted(set(kinds)).index(kind) for kind in kinds]))
        yield Line(said[0] if len(said) == 1 else Phrase(Among([one.template for one in said], index), said[0].values))
    seen = looks(look)
    yield look.claim(LOOK, seen, "token", "text", **_seen(look, seen, look.names, not trace.shows_patches))
    if look.has("cross.pattern"):
        source, is_code = query.key_names(look, "cross"), not look.config.reads_pictures
        yield look.text("look_source", **_seen(look, looks(look, "cross"), source, is_code))
    yield look.text("lengths")


def _seen(look: Look, seen: Strongest, names: tuple[str, ...], is_code: bool) -> dict[str, Any]:
    """For prose: which token is looked at, how much, and in which head."""
    return {
        "seen": Among(names, look.by("token", seen.position), is_code=is_code),
        "weight": look.by("token", seen.weight, "percent"),
        "layer": look.by("token", seen.layer, "0"),
        "head": look.by("token", seen.head, "0"),
    }
