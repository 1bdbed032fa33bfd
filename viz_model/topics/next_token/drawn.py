"""What a visitor has drawn after the text, which several pictures show."""

from viz_model.island.look import Look
from viz_model.measures.continuation import Drawing, Drawn, can_be_drawn
from viz_model.runs.generation import Sampling, Step
from viz_model.topics.next_token import asked as asking

MOST_DRAWN, MAX_SEED = 100, 9999
"""Tokens that are drawn on a page at the most, and the largest seed."""
OPTIONS = (
    ("seed", range(MAX_SEED + 1)),
    ("drawn", range(MOST_DRAWN + 1)),
    ("picked", range(MOST_DRAWN)),
    ("greedy", ("0", "1")),
)


def seed(look: Look) -> int:
    return int(look.options.get("seed") or 0)


def _drawing(look: Look, sampling: Sampling, seed: int, name: str) -> Drawing:
    """What was drawn last with such a name, and draws on."""
    trace = look.trace.at(look.config.sides[-1])
    return look.latest(name, (sampling, seed), lambda: Drawing(trace, sampling, seed))


def drawn(look: Look) -> Drawn:
    """What is drawn after the text."""
    count = int(look.options.get("drawn") or 0)
    return _drawing(look, asking.sampling(look), seed(look), "drawing").first(count)


def steps(look: Look) -> tuple[Step, ...]:
    """The tokens drawn so far; none where nothing can be drawn."""
    return drawn(look).steps if can_be_drawn(look.trace) and int(look.options.get("drawn") or 0) else ()


def greedily(look: Look) -> tuple[Step, ...]:
    """As many tokens as were drawn, of greedy decoding from the same start."""
    return _drawing(look, Sampling(temperature=0), 0, "drawing greedily").first(len(steps(look))).steps


def before(look: Look) -> tuple[int, ...]:
    """The ids after which tokens are drawn."""
    return look.trace.at(look.config.sides[-1]).own_ids


def has_ended(look: Look) -> bool:
    taken = steps(look)
    return bool(taken) and taken[-1].token.id == look.trace.tokenizer.end_of_text


def picked(look: Look) -> int:
    """The draw that is told of: by default the last one."""
    last, asked = len(steps(look)) - 1, look.options.get("picked")
    return min(int(asked), last) if asked else last
