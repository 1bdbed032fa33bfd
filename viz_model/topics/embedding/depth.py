"""One vector by depth: how much of a token's own row is left in it, and one word in two sentences."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from viz_model.claims import Claim, Verdict
from viz_model.drawing import by_depth, chart
from viz_model.drawing.scene import Scene
from viz_model.drawing.tables import Among, by
from viz_model.island.look import Look
from viz_model.island.prose import Line
from viz_model.measures.stream import stream_sites, units
from viz_model.model import sites
from viz_model.runs.trace import Trace
from viz_model.topics.embedding import table
from viz_model.topics.embedding.nearest import PARALLEL
from viz_model.topics.embedding.table import Geometry

EQUAL = 1 - 1e-6
"""A cosine from here on is 1, but for rounding."""
STYLES = (("accent", None, "circle"), ("ffn", "5px,3px", "diamond"))


def places(trace: Trace) -> tuple[str, ...]:
    """The S places at which a token's vector is followed: its row, then the stream, then what the head reads.

    A row that is narrower than the stream is no such place: it is followed from where it is as wide.
    """
    first = () if trace.config.projects_embedding else ("embed.token",)
    return tuple(dict.fromkeys((*first, *stream_sites(trace), trace.leaving)))


def followed(trace: Trace) -> np.ndarray:
    """The vectors of all positions at all places: [T, S, D]."""
    return np.stack([trace[site].double().numpy() for site in places(trace)], 1)


class OwnPart(NamedTuple):
    """How much of each token's own row is in its vector by depth, and of those of the others.

    Attributes:
        own: cosine of the vector with the token's row of the table, [T, S]; its square is the share of the vector's
            squared length that lies along the row.
        neighbor: the largest cosine with the row of another token of the sentence that it may have read, [T, S]; NaN
            where there is none.
        neighbors: whose row that is, [T, S] positions; −1 where there is none.
        rank: how many of the V rows have a larger cosine than its own, [T, S]: at 0 the vector decodes to the token.
    """

    own: np.ndarray
    neighbor: np.ndarray
    neighbors: np.ndarray
    rank: np.ndarray


def own_part(trace: Trace, geometry: Geometry) -> OwnPart:
    """Each token's part, and that of the others that stand before it, or of an encoder's, anywhere."""
    vectors, ids = units(followed(trace)).astype(np.float32), np.array(trace.own_ids)
    read = vectors @ geometry.units(ids).T  # [T, S, T]
    at = np.arange(len(ids))
    own = read[at, :, at]
    limits = own[..., None] + 1e-5  # but for rounding
    rank = np.zeros(own.shape, int)
    for cosines in geometry.cosines(vectors):
        rank += (cosines > limits).sum(-1)
    seen = ids != ids[:, None]
    if trace.stack.side != "encoder":
        seen &= at < at[:, None]
    others = np.where(seen[:, None], read, -np.inf)
    has = seen.any(-1)[:, None]
    return OwnPart(own, np.where(has, others.max(-1), np.nan), np.where(has, others.argmax(-1), -1), rank)


OWN: Verdict[OwnPart] = Verdict(
    "embedding.own",
    Claim("stays", lambda part: np.logical_not(part.rank.any(-1))),
    Claim("leaves", lambda part: (part.rank[..., 0] == 0) & (part.rank[..., -1] > 0)),
)


def of_run(look: Look) -> OwnPart:
    return own_part(look.trace, table.in_stream(look))


def name(look: Look, site: str) -> str:
    """What the value at a site is called in prose, and of which block it is."""
    layer, _ = sites.split_name(sites.split_side(site)[1])
    label = look.t.site_label(look.trace.site(site))
    return label if layer is None else str(look.common("value_of_block", value=label, n=layer))


def cosines(look: Look, id: str, alt: str, at: Sequence[str], lines: Mapping[str, Any]) -> Scene:
    """Cosines at every place of the stream, a line each with its name."""
    told = "{{name}}\n{{at}}\n{{value}}"
    series = [
        chart.Line(name, values, role, dash, symbol, told, "4", thick=2.4)
        for (name, values), (role, dash, symbol) in zip(lines.items(), STYLES, strict=True)
    ]
    arrays = [chart._array(values) for values in lines.values()]
    low = min(0.0, *(float(np.nanmin(values, initial=0.0)) for values in arrays))
    y = chart.Axis(low - 0.05, 1.05, look.words("cosine"))
    return by_depth.lines(id, alt, at, series, y, x_title=look.words("depth"))


def draw(look: Look) -> Scene:
    found = look.once(of_run)
    named = {"own_row": found.own, "own_neighbor": found.neighbor}
    lines = {look.words(name): by("token", values) for name, values in named.items()}
    return cosines(look, "embedding.own", look.words("own_alt"), places(look.trace), lines)


def tell(look: Look) -> Iterator[Line]:
    found, all_sites = look.once(of_run), places(look.trace)
    first, last = (by("token", found.own[:, n], "2") for n in (0, -1))
    known = {"token": look.token_named(), "n_rows": f"{len(table.of(look).norms):,}"}
    yield look.claim(OWN, found, "token", first=first, last=last, rank=by("token", found.rank[:, -1], "whole"), **known)
    after = [n for n, site in enumerate(all_sites) if not site.startswith("embed.")]
    has, at = found.neighbors[:, -1] >= 0, np.arange(len(look))
    most = np.array(after)[np.where(has[:, None], found.neighbor[:, after], 0.0).argmax(-1)]
    who = np.maximum(found.neighbors[at, most], 0)
    said = look.words(
        "own_most",
        who=look.token_named(by("token", who)),
        cosine=by("token", found.neighbor[at, most], "2"),
        where=Among([name(look, site) for site in all_sites], by("token", most)),
    )
    yield Line(said._replace(template=Among((said.template, ""), by("token", (~has).astype(int)))))


def explained(look: Look) -> Iterator[Line]:
    yield look.text("own")
    if look.config.projects_embedding:
        yield look.text("own_narrow")


# One word in two sentences


class TwoSentences(NamedTuple):
    """A token that two sentences share, at a position in each.

    Attributes:
        sites: the S places.
        same: cosine of its vectors in the two, [S].
        others: mean cosine of its vector in the first with those of all other tokens of the second, [S]: what
            vectors of different words have in common at that depth.
        positions: where it stands.
    """

    sites: tuple[str, ...]
    same: np.ndarray
    others: np.ndarray
    positions: tuple[int, int]

    @property
    def equal(self) -> int:
        """At how many places from the first on the two vectors are equal, but for rounding."""
        unequal = np.flatnonzero(self.same < EQUAL)
        return int(unequal[0]) if len(unequal) else len(self.same)


def shared(first: Trace, second: Trace) -> list[tuple[int, int]]:
    """The positions of the tokens that two sentences share, the longest word first, of equal ones the last."""
    where = [{id: n for n, id in enumerate(run.own_ids)} for run in (first, second)]
    controls = first.own_tokenizer.controls
    both = [id for id in where[0] if id in where[1] and id not in controls]
    both.sort(key=lambda id: (sum(map(str.isalpha, first.tokenizer.token(id).text)), where[0][id]), reverse=True)
    return [(where[0][id], where[1][id]) for id in both]


def two_sentences(first: Trace, second: Trace, positions: tuple[int, int]) -> TwoSentences:
    """A token of two sentences by depth."""
    here, there = units(followed(first))[positions[0]], units(followed(second))
    ids = np.array(second.own_ids)
    others = there[ids != first.own_ids[positions[0]]]
    apart = (here * others).sum(-1).mean(0) if len(others) else np.full(len(here), np.nan)
    return TwoSentences(places(first), (here * there[positions[1]]).sum(-1), apart, positions)


CONTEXTUAL: Verdict[TwoSentences] = Verdict(
    "embedding.contextual",
    Claim("never", lambda view: view.equal == len(view.same)),
    Claim("parts", lambda view: view.same[0] >= EQUAL > PARALLEL > view.same[-1]),
)
