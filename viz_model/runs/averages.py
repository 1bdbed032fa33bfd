"""What a value is on average over many texts: what a part is set to where nothing of one text shall be left in it."""

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from torch import Tensor

if TYPE_CHECKING:
    from viz_model.runs.language_model import LanguageModel


POSITIONS = ("T", "Tq", "Tk")


def mean(lm: "LanguageModel", texts: Iterable[str | Sequence[int]], name: str) -> Tensor:
    """The mean of a value over all positions of many texts, with one position: of ``blocks.0.attn.z``, [H, 1, K].

    A head is ablated to it, as Wang et al. 2022 (section 2.2) do, by an edit:

    >>> means = mean(lm, texts, "blocks.1.attn.z")
    >>> def off(z):
    ...     z[3] = means[3]
    ...     return z
    >>> lm.trace("The cat", edits=[vm.edits.Change(at="blocks.1.attn.z", by=off)])

    Args:
        texts: texts, or the ids of each.

    Raises:
        KeyError: no such site. ValueError: it has no positions, or there are no texts.
    """
    if isinstance(texts, str):
        raise ValueError("texts: expected several, got one text")
    total, n = None, 0
    for text in texts:
        trace = lm.trace(text) if isinstance(text, str) else lm.trace(ids=text)
        site, value = trace.site(name), trace[name]
        axis = site.before
        if site.axes[axis] not in POSITIONS or value.dim() != axis + 2 or site.axes[-1] in POSITIONS:
            raise ValueError(f"site {name!r} has no mean over texts: its axes are {' '.join(site.axes)}")
        own = value.double().sum(axis, keepdim=True)
        total, n = own if total is None else total + own, n + value.shape[axis]
    if total is None:
        raise ValueError("texts: there are none")
    return (total / n).float()
