"""Why many heads: how many of each layer do what in this run."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from viz_model.claims import Claim, Verdict
from viz_model.drawing import theme
from viz_model.drawing.plotted import axes
from viz_model.island.look import Look
from viz_model.island.page import Offer, Plot
from viz_model.island.prose import Line
from viz_model.measures import heads
from viz_model.measures.heads import HEAD

KINDS: Verdict[int] = Verdict("cost.kinds", Claim("one", lambda kinds: kinds == 1))
"""Of how many kinds of heads there are in a run."""
PATTERNS = ("", "/", "x", "\\", "-", "|", "+", ".")


class KindsView(NamedTuple):
    """How many heads of each layer do what: ``counts`` [L] a kind; ``heads`` [L] a kind names them.

    ``kinds`` are all kinds there are, each with a color of its own.
    """

    counts: Mapping[str, np.ndarray]
    heads: Mapping[str, tuple[str, ...]]
    kinds: tuple[str, ...]

    @classmethod
    def of(
        cls, found: Sequence[Sequence[str]], entropies: Sequence[Sequence[float]], kinds: tuple[str, ...]
    ) -> "KindsView":
        """``found`` [L][H] names each head's kind."""
        counts: dict[str, np.ndarray] = {}
        named: dict[str, tuple[str, ...]] = {}
        for kind in kinds:
            members = [[h for h, own in enumerate(layer) if own == kind] for layer in found]
            if any(members):
                counts[kind] = np.array([len(layer) for layer in members])
                named[kind] = tuple(
                    ", ".join(f"{h} ({entropies[n][h]:.2f})" for h in layer) for n, layer in enumerate(members)
                )
        return cls(counts, named, kinds)

    def total(self) -> Counter[str]:
        return Counter({kind: int(values.sum()) for kind, values in self.counts.items()})


def view(look: Look) -> KindsView:
    return look.once(_view)


def _view(look: Look) -> KindsView:
    own = heads.kinds(look.trace)  # of a layer without weights there is nothing to be said
    summaries = [layer if look.site("attn.pattern", n) in look.trace else () for n, layer in enumerate(own)]
    names = [[HEAD.of(head).name for head in layer] for layer in summaries]
    return KindsView.of(
        names, [[head.entropy for head in layer] for layer in summaries], tuple(HEAD.labels(look.t.language))
    )


def _facts(look: Look) -> dict[str, int]:
    found = view(look)
    n = found.total().total()
    return {"kinds": len(found.counts), "h": look.n_heads, "k": look.here.d_head, "n": n}


def is_alone(look: Look) -> bool:
    """Whether every token sees only itself, so that no head has a choice."""
    return view(look).counts.keys() == {"alone"}


def title(look: Look) -> Iterator[Line]:
    facts = _facts(look)
    if is_alone(look):
        yield look.title("kinds_alone")
    else:
        yield Line(KINDS.says(look.t.language, facts["kinds"], **facts), "title")


def draw(look: Look) -> Plot:
    """A bar a layer, cut into its heads by kind."""
    found, labels = view(look), HEAD.labels(look.t.language)
    named = look.common("axis_layer"), look.words("heads")
    figure = axes(*named, 300, {"type": "category"}, tickformat="d", nticks=6).update_layout(barmode="stack")
    for kind, counts in found.counts.items():
        n = found.kinds.index(kind)
        marker = {
            "color": theme.TOKENS[n % len(theme.TOKENS)],
            "pattern": {"fillmode": "overlay", "shape": PATTERNS[n % len(PATTERNS)]},
        }
        said = [f"{labels[kind]}<br>{look.words('entropy')}: {named}" for named in found.heads[kind]]
        figure.add_bar(x=[str(layer) for layer in range(len(counts))], y=counts, name=labels[kind], marker=marker,
                       hovertext=said, hoverinfo="text")  # fmt: skip
    return Plot("cost.kinds", figure, look.words("kinds_alt"), found)


def tell(look: Look) -> Offer:
    labels, counts = HEAD.labels(look.t.language), view(look).total()
    listed = " · ".join(f"{labels[kind]} {n}" for kind, n in counts.most_common())
    product = look.n_heads * look.here.d_head
    said = look.text(
        "many_alone" if is_alone(look) else "many",
        **_facts(look),
        listed=listed,
        d=look.config.d_model,
        product=product,
    )
    return Offer(said, look.words("many_go"), {"page": "attention"})
