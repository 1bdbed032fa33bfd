"""Decoder-only or encoder–decoder: the same two texts in one stack or in two."""

from collections.abc import Iterator

from viz_model.drawing.digits import big
from viz_model.island.look import Look
from viz_model.island.page import Chooser
from viz_model.island.prose import Line
from viz_model.texts.markdown import table
from viz_model.topics.cost.counted import arrangements

TARGETS = tuple(2**power for power in range(14))
"""Tokens that a target may have."""
OPTION = ("n_target", ("", *map(str, TARGETS)))


def n_target(look: Look) -> int:
    """What was chosen, or what is nearest to the target that there is, or to a text as long as the source."""
    length = len(look.trace.target_tokens) or len(look.trace.ids)
    return int(look.options.get("n_target") or min(TARGETS, key=lambda n: abs(n - length)))


def has(look: Look) -> bool:
    """Whether two texts can be read by one stack or two of the same layers: none holds a state, a narrow vector, a gate
    or a sink, and a picture is no text.
    """
    return look.config.attends and not (look.config.attention_sink or look.config.reads_pictures)


def choose(look: Look) -> Chooser:
    options = {str(n): f"{n:,}" for n in TARGETS}
    labels = look.words("n_target"), look.words("n_target_help")
    return Chooser("n_target", options, *labels, str(n_target(look)), asks=True, is_scale=True)


def draw(look: Look) -> Iterator[Line]:
    """A table of the multiplications both ways."""
    words, n, m = look.words, len(look.trace.ids), n_target(look)
    found = arrangements(look.config, n, m)
    both = found["decoder"], found["encoder_decoder"]
    columns = [words("stacks_decoder", n=f"{n + m:,}"), words("stacks_both", n=f"{n:,}", m=f"{m:,}")]
    rows = [
        [words(f"stacks_{name}"), *(big(getattr(each, name)) for each in both)]
        for name in ("linear", "pairs", "total", "seen", "weights")
    ]
    yield Line(table([words("multiplications"), *columns], rows))


def tell(look: Look) -> Iterator[Line]:
    n, m = len(look.trace.ids), n_target(look)
    found = arrangements(look.config, n, m)
    one, two = found["decoder"], found["encoder_decoder"]
    yield look.text(
        "stacks", n=f"{n:,}", m=f"{m:,}", work=f"{two.total / one.total:.2f}",
        weights=f"{two.weights / one.weights:.2f}", depth=look.config.n_layers,
    )  # fmt: skip
