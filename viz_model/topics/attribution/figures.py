"""The sum that a logit is, and what would be said after each block, labelled."""

from __future__ import annotations

from collections.abc import Callable

from viz_model.app.drawn import Drawn
from viz_model.app.subject import Subject
from viz_model.measures.stream import evenly
from viz_model.topics.attribution.numbers import lens, views
from viz_model.topics.attribution.numbers.attribution import Against, Attribution, Part
from viz_model.topics.attribution.numbers.lens import Lens
from viz_model.topics.attribution.pictures.lens import MOST_DEPTHS, MOST_ROWS, LensView, draw_lens
from viz_model.topics.attribution.pictures.sum import draw_sum


def kind(target: int | None, against: Against) -> str:
    """Which question it is: about a vector, a rival, the average, or the logit itself."""
    if target is None:
        return "vector"
    return "rival" if isinstance(against, int) else against or "logit"


def part_name(of: Subject, part: Part) -> str:
    """A part of the sum in words."""
    apart = f"_{part.at}" if part.kind in ("bias", "shift") or part.at == "cross" else ""
    return of.words(f"part_{part.kind}{apart}", layer=part.layer, head=part.head)


def total(answer: Attribution) -> str:
    """The sum, as it is told."""
    return f"{answer.total:.2f}".replace("-", "−")


def of_sum(of: Subject, answer: Attribution, target: int | None, against: Against, chosen: int | None = None) -> Drawn:
    """The largest parts, one by one, and their total; ``chosen`` is the part looked at, or else the largest."""
    view, token, asked = views.sum_view(answer), of.trace.tokenizer.token, kind(target, against)
    names = [part_name(of, answer.parts[row]) for row in view.shown]
    rival = against if isinstance(against, int) else target
    labels = {  # a figure takes no Markdown
        "target": "" if target is None else token(target).label,
        "rival": "" if rival is None else token(rival).label,
    }
    texts = {
        "rest": of.words("rest", n=view.n_rest),
        "total": of.words(f"sum_{asked}", **labels),
        "axis": of.words(f"axis_{asked}"),
    }
    sheet = draw_sum(view, names, texts, int(answer.order()[0]) if chosen is None else chosen)
    sites = ("logits",) if "logits" in of.trace else (of.trace.leaving,)
    call = of.call("attribution", token=of.token, target=target, rival=against)
    return Drawn(sheet, of.words("sum_alt", token=of.token_name(), total=total(answer)), view, sites, call)


def lens_view(of: Subject, look: Callable[[tuple[int, ...], range], Lens] | None = None) -> LensView:
    """The lens around the token, over all depths or some; ``look`` gives what is known already."""
    trace = of.trace
    depths = evenly(trace.n_layers + 1, of.layer + 1, MOST_DEPTHS)
    positions = views.part_of(len(trace), of.token, min(MOST_ROWS, lens.affordable(trace, len(depths))))
    seen = lens.look(trace, depths, positions) if look is None else look(depths, positions)
    return views.lens_view(trace, seen, of.token)


def depth_name(of: Subject, depth: int) -> str:
    return of.words("depth_0") if depth == 0 else of.words("depth", layer=depth - 1)


def of_lens(of: Subject, view: LensView | None = None) -> Drawn:
    """The most probable token by position and depth."""
    view = view or lens_view(of)
    labels = {name: of.words(f"lens_axis_{name}") for name in ("position", "depth")}
    sheet = draw_lens(view, [depth_name(of, depth) for depth in view.depths], labels)
    sites = ("embed.out", f"blocks.{of.trace.n_layers - 1}.resid.out")
    return Drawn(sheet, of.words("lens_alt"), view, sites, of.call("logit_lens", layer=of.layer, token=of.token))
