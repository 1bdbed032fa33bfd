"""The whole distribution in falling order, and what each filter keeps of it."""

from __future__ import annotations

from collections.abc import Iterator

from viz_model.app import elements
from viz_model.app.elements import Said, title
from viz_model.app.page import Page
from viz_model.drawing.sheet import Sheet
from viz_model.drawing.writing import percent
from viz_model.texts.markdown import row
from viz_model.topics.next_token.claims import KEPT
from viz_model.topics.next_token.pictures.tail import TailView, draw_tail
from viz_model.topics.next_token.sections.asked import Asked


def _view(asked: Asked) -> TailView:
    return TailView.of(asked.choice, asked.sampling)


def _facts(asked: Asked, view: TailView) -> dict[str, str]:
    return {**asked.facts, **view.facts()}


def _drawn(asked: Asked) -> Sheet:
    view, words = _view(asked), asked.shared.words
    facts = _facts(asked, view)
    names = {name: words(f"tail_{name}", **facts) for name in ("model", "kept", "dropped", "p", "mass", "rank")}
    names |= {cut.name: words(f"tail_{cut.name}", n=f"{cut.n_kept:,}") for cut in view.cuts}
    return draw_tail(view, names)


def section(asked: Asked) -> None:
    page = asked.shared
    elements.told(asked.page, _title, "tail_title", by=("token",))
    picture, see = elements.split()
    with picture:

        def alt(page: Page) -> str:
            asked = Asked.at(page)
            return asked.shared.words("tail_alt", **_facts(asked, _view(asked)))

        elements.figure(page, lambda page: _drawn(Asked.at(page)), "tail", alt, by=("token",))
        elements.source(page, "probs")
    with see:
        elements.told(asked.page, _tell, "tail_told", by=("token",))
        elements.see(page, "tail_read")


def _title(page: Page) -> Iterator[Said]:
    asked = Asked.at(page)
    yield title(KEPT.label(page.t.language, asked.choice.counts, **_facts(asked, _view(asked))))


def _tell(page: Page) -> Iterator[str]:
    asked = Asked.at(page)
    view, words = _view(asked), asked.shared.words
    temperature = "greedy" if view.temperature == 0 else "one" if view.temperature == 1 else "other"
    yield asked.shared.prose(f"tail_{temperature}", **_facts(asked, view))
    lines = [row(words(f"tail_column_{name}") for name in ("filter", "kept", "dropped")), "|---|---:|---:|"]
    for name, n_kept, kept, n_dropped, dropped in view.rows():
        lines.append(row((words(name), f"{n_kept:,} · {percent(kept)}", f"{n_dropped:,} · {percent(dropped)}")))
    if view.cuts:
        yield "\n".join(lines)
