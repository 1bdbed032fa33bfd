"""The four tabs of this page, and its question."""

from __future__ import annotations

from viz_model.app import elements
from viz_model.app.elements import Guess
from viz_model.app.page import Page
from viz_model.drawing.writing import percent
from viz_model.runs.measures import entropy
from viz_model.topics.overview.claims import SHARPER, Ends
from viz_model.topics.overview.numbers.views import N_NEXT
from viz_model.topics.overview.sections.run import Run


def formula(run: Run) -> None:
    page = run.page
    shown = ("embed.out", page.at("resid.mid"), page.at("resid.cross"), page.at("resid.out"), "logits", "probs")
    elements.formula(page, *(name for name in shown if name in page.trace))


def hand(run: Run) -> None:
    page, ascent = run.page, run.ascent
    lines = zip(ascent.sites, ascent.values[:, page.token], strict=True)
    steps = "\n".join(f"| {page.value_name(site)} | {value:+.4f} |" for site, value in lines)
    elements.see(
        page,
        f"hand_{'branch' if page.trace.norm_at == 'both' else page.trace.norm_at}",
        token=page.token_name(),
        steps=steps,
    )


def code(run: Run) -> None:
    elements.code(run.page, k=N_NEXT)


def numbers(run: Run) -> None:
    sites, norms = run.ascent.stream
    elements.table(run.page, "resid.norms", norms, sites, run.page.token_labels, "norms")


def question(run: Run) -> None:
    page, trace, guess = run.page, run.page.trace, _guess(run)

    def anywhere(_: Page) -> Guess | None:
        return guess

    if trace.side != "decoder":
        elements.question(page, "question_two_way", "answer_two_way", guess=anywhere)
        return
    first, last = (entropy(trace.row("logits", position).log_softmax(-1)).item() for position in (0, -1))
    ends = Ends(len(trace), first, last)
    measured = SHARPER.says(page.t.language, ends, first=f"{first:.2f}", last=f"{last:.2f}")
    elements.question(page, guess=anywhere, measured=measured)


def _guess(run: Run) -> Guess | None:
    """Where the model is surest; of a stack that predicts nothing, whose line has become longest."""
    page, trace = run.page, run.page.trace
    labels = [token.label for token in trace.tokens]
    if "logits" not in trace:
        lengths = run.ascent.stream[1][-1]
        longest = elements.of_tokens(page, labels, lambda n: float(lengths[n]))
        return elements.largest(page, longest, "{:.1f}".format, "guess_longest")
    surest = elements.of_tokens(page, labels, lambda n: float(trace.row("logits", n).softmax(-1).max()))
    return elements.largest(page, surest, percent, "guess" if trace.side == "decoder" else "guess_two_way")
