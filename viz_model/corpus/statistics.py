r"""The numbers that a pass over a corpus keeps: sums that add up, and tops that merge.

In a text of T tokens x_0 … x_{T−1} a head has the pattern A, and row i of it says how query i
spreads its weight 1 over the keys j. Each measure is a mean over queries of all texts together,
long texts counting more:

=========== ====================================== ======================================================
measure     of query i                             over the queries
=========== ====================================== ======================================================
entropy     −Σ_j A_ij · log₂ A_ij, in bits         that have a choice
previous    A_{i, i−1}                             i ≥ 1
next        A_{i, i+1}                             that have a choice, save the last
first       A_{i, 0}                               i ≥ 1
itself      A_{i, i}                               that have a choice
induction   Σ A_{i, j+1} over j ≤ i−2, x_j = x_i   with such a j (Olsson et al. 2022, "prefix matching")
duplicate   Σ A_{i, j} over j < i, x_j = x_i       with such a j (Wang et al. 2022, section 3)
=========== ====================================== ======================================================

A choice have all queries but those that see themselves alone: the first of a decoder, and the only
one of a text of one token. Which queries count depends on the text and the kind of model, never on
the head, so that heads and layers can be compared. (A layer with a window counts every query, also
where the copy lies outside its window: there the weight is 0.)

Induction and duplicate read natural text here as well as repeated random tokens
(:func:`viz_model.corpus.run.repeated_texts`). On natural text a head may reach the token
after a copy for other reasons, such as what it says; random tokens leave it none.
"""

from __future__ import annotations

import dataclasses
import json
import os
import zipfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, NamedTuple, get_args

import numpy as np
from numpy.typing import NDArray

from viz_model.training.sources import CorpusError

Measure = Literal["entropy", "previous", "next", "first", "itself", "induction", "duplicate"]
MEASURES: tuple[Measure, ...] = get_args(Measure)

FORMAT = 1
"""Of the files that :func:`write` makes."""


class HeadSums(NamedTuple):
    """Sums over queries, [L, H, M] in double precision, and over how many queries, [M]; M as in :data:`MEASURES`."""

    sums: NDArray[np.float64]
    counts: NDArray[np.int64]

    def merged(self, other: HeadSums) -> HeadSums:
        """Both corpora together."""
        return HeadSums(self.sums + other.sums, self.counts + other.counts)

    def mean(self, measure: Measure) -> NDArray[np.float64]:
        """[L, H]: the mean over the queries that count for ``measure``; NaN where there was none."""
        n = MEASURES.index(measure)
        count = self.counts[n]
        return self.sums[..., n] / count if count else np.full(self.sums.shape[:2], np.nan)


class Firings(NamedTuple):
    """For each neuron the k texts that fire it most, strongest first; all [L, F, k].

    ``value`` is the largest value h of the neuron in that text (``ffn.act``, what its row of W₂ or
    W_down is multiplied by), ``text`` the number of the text, counted from 0 in the order of the
    corpus, and ``position`` the first token where it has that value. A text counts once however
    often it fires the neuron, and only with h > 0: what is left over has text and position −1.
    Equal values stand in the order of the texts. Texts that begin alike are alike to a causal model
    up to where they differ: they may fire a neuron equally, and stand side by side.
    """

    value: NDArray[np.float32]
    text: NDArray[np.int64]
    position: NDArray[np.int32]

    @classmethod
    def none(cls, n_layers: int, n_neurons: int, k: int) -> Firings:
        shape = (n_layers, n_neurons, k)
        return cls(np.zeros(shape, np.float32), np.full(shape, -1, np.int64), np.full(shape, -1, np.int32))

    def at(self, layer: int) -> Firings:
        """Those of one layer, [F, k]."""
        return Firings(*(part[layer] for part in self))

    def merged(self, other: Firings) -> Firings:
        """The k strongest of both, whose texts are not the same."""
        pairs: list[Any] = list(zip(self, other, strict=True))
        value, text, position = (np.concatenate(pair, axis=-1) for pair in pairs)
        best = np.lexsort((text, -value), axis=-1)[..., : self.value.shape[-1]]
        kept: list[Any] = [np.take_along_axis(part, best, axis=-1) for part in (value, text, position)]
        return Firings(*kept)


@dataclass(frozen=True, eq=False, kw_only=True)
class Statistics:
    """What a pass over texts found. Those of two parts of a corpus merge to those of the whole.

    ``n_texts`` were given, blank ones included, and ``n_tokens`` of them read; ``n_dropped`` did not
    fit the context.
    """

    heads: HeadSums
    neurons: Firings
    n_texts: int = 0
    n_tokens: int = 0
    n_dropped: int = 0

    @classmethod
    def none(cls, n_layers: int, n_heads: int, n_neurons: int, k: int) -> Statistics:
        """Those of no text at all."""
        sums = HeadSums(np.zeros((n_layers, n_heads, len(MEASURES))), np.zeros(len(MEASURES), np.int64))
        return cls(heads=sums, neurons=Firings.none(n_layers, n_neurons, k))

    def merged(self, other: Statistics) -> Statistics:
        """Both parts of a corpus together. Associative: sums up to the rounding of double precision, tops exactly."""
        return Statistics(
            heads=self.heads.merged(other.heads),
            neurons=self.neurons.merged(other.neurons),
            **{name: getattr(self, name) + getattr(other, name) for name in COUNTED},
        )


@dataclass(frozen=True, eq=False, kw_only=True)
class Survey:
    """A file of statistics.

    Attributes:
        about: which model (``model``, ``config``, a digest of its ``weights``), which of its stacks
            (``side``), with which ``settings``, and ``read``: a digest of the texts so far.
        natural: of the corpus.
        repeated: heads on repeated random tokens; none while a pass is under way, or where the
            context is too short for them.
    """

    about: dict[str, Any]
    natural: Statistics
    repeated: HeadSums | None = None


def write(path: Path, survey: Survey) -> None:
    """Replace ``path`` in one move: whoever is killed here leaves the old file or the new one."""
    found = survey.natural
    parts: dict[str, HeadSums | Firings] = {"heads": found.heads, "neurons": found.neurons}
    if survey.repeated is not None:
        parts["repeated"] = survey.repeated
    arrays = {f"{kind}.{name}": array for kind, part in parts.items() for name, array in part._asdict().items()}
    counted = {name: getattr(found, name) for name in COUNTED}
    description = json.dumps({"format": FORMAT, "measures": MEASURES, "about": survey.about, **counted})
    path.parent.mkdir(parents=True, exist_ok=True)
    unfinished = path.with_name(path.name + ".new")
    with unfinished.open("wb") as file:
        np.savez(file, description=np.array(description), **arrays)
        file.flush()
        os.fsync(file.fileno())
    os.replace(unfinished, path)


def read(path: Path) -> Survey:
    """What :func:`write` wrote.

    Raises:
        CorpusError: there is no such file, or it is none of these.
    """
    try:
        with np.load(path, allow_pickle=False) as arrays:
            description = json.loads(str(arrays["description"]))
            if (description["format"], tuple(description["measures"])) != (FORMAT, MEASURES):
                raise CorpusError(f"{path}: written by another version, whose measures are not these")

            def of(kind: str, names: tuple[str, ...]) -> list[NDArray[Any]]:
                return [arrays[f"{kind}.{name}"] for name in names]

            natural = Statistics(
                heads=HeadSums(*of("heads", HeadSums._fields)),
                neurons=Firings(*of("neurons", Firings._fields)),
                **{name: description[name] for name in COUNTED},
            )
            repeated = HeadSums(*of("repeated", HeadSums._fields)) if "repeated.sums" in arrays else None
            return Survey(about=description["about"], natural=natural, repeated=repeated)
    except FileNotFoundError:
        raise CorpusError(f"{path}: no such file") from None
    except (OSError, EOFError, KeyError, TypeError, ValueError, zipfile.BadZipFile) as error:
        if isinstance(error, CorpusError):
            raise
        raise CorpusError(f"{path}: not a file of corpus statistics, or damaged ({error})") from None


COUNTED = tuple(field.name for field in dataclasses.fields(Statistics) if field.name.startswith("n_"))
