"""The pairs to choose from, the two functions and the question; and once there is an answer, why one is wrong."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from viz_model.claims import Claim, Verdict
from viz_model.drawing.tables import Among, Phrase
from viz_model.island.look import Look
from viz_model.island.page import Button, Buttons, Chooser
from viz_model.island.prose import Line
from viz_model.texts.markdown import literal
from viz_model.topics.mistakes.bugs import BUGS
from viz_model.topics.mistakes.forward import Effect, View
from viz_model.topics.mistakes.pair import answer, answers, facts, outcome, pair, site, written, wrong_letter

MOST_QUOTED = 60
EFFECT: Verdict[Effect] = Verdict(
    "mistakes.effect",
    Claim("lost", lambda effect: (effect.before >= 0) & np.isnan(effect.change)),
    Claim("same", lambda effect: (effect.before >= 0) & (effect.after == effect.before)),
    Claim("other", lambda effect: effect.before >= 0),
)


def score(look: Look) -> Iterator[Line]:
    """How many were found."""
    is_found = [letter == wrong_letter(name) for name, letter in answers(look).items()]
    found, missed = sum(is_found), len(is_found) - sum(is_found)
    yield Line(look.words("score_missed" if missed else "score", found=found, total=len(BUGS), missed=missed))


def reset(look: Look) -> Buttons | None:
    return Buttons("reset", [Button(look.words("reset"), {"answers": ""})]) if answers(look) else None


def choose(look: Look) -> Chooser:
    given = answers(look)
    marks = {name: "✓ " if letter == wrong_letter(name) else "✗ " for name, letter in given.items()}
    options = {name: marks.get(name, "") + look.words(f"name_{name}") for name in BUGS}
    return Chooser("bug", options, look.words("bug"), look.words("bug_help"), asks=True)


def tell(look: Look) -> Iterator[Line]:
    """What the step is, and where it is computed."""
    bug, view, where, lack, _ = pair(look)
    yield look.title(f"name_{bug.name}")
    lacking = look.words(f"lack_{lack}", layer=look.layer_number) if lack else ""
    if view is None:
        yield Line(look.words("nowhere", lack=lacking), "notice")
        return
    yield look.text(f"task_{bug.name}", **facts(view, bug))
    if where == "other_side":
        side = look.common(f"side_{view.run.stack.side}")
        yield look.note("other_side", side=side, lack=lacking)
    elif where == "stand_in":
        text = view.run.text or ""
        shown = text if len(text) <= MOST_QUOTED else f"{text[: MOST_QUOTED - 1].rstrip()}…"
        yield look.note("stand_in", model=literal(view.run.name), text=Among([shown], 0, is_code=True), lack=lacking)
    yield Line(literal(bug.promise(view.run)), "note")
    if answer(look) is None:
        yield Line(f"**{look.words('which')}**")


def code(letter: str) -> Callable[[Look], Iterator[Line]]:
    """The lines under a letter; once there is an answer, whether they are right."""

    def said(look: Look) -> Iterator[Line]:
        found = pair(look)
        if found.view is None:
            return
        yield Line(f"**{letter}**")
        yield Line(f"```python\n{found.ordered(*found.bug.sources(found.view.run))[letter]}\n```")
        if answer(look) is not None:
            mark, verdict = ("✗", "verdict_wrong") if letter == found.wrong else ("✓", "verdict_right")
            yield Line(f"**{mark} {look.words(verdict, letter=letter)}**")

    return said


def pick(letter: str) -> Callable[[Look], Buttons | None]:
    """Only the first answer to a pair counts."""

    def made(look: Look) -> Buttons | None:
        found = pair(look)
        if found.view is None or answer(look) is not None:
            return None
        given = written({**answers(look), found.bug.name: letter})
        return Buttons(f"pick {letter}", [Button(look.words("pick", letter=letter), {"answers": given})])

    return made


def verdict(look: Look) -> Iterator[Line]:
    found, letter = pair(look), answer(look)
    if found.view is not None and letter is not None:
        key = "verdict_hit" if letter == found.wrong else "verdict_miss"
        yield Line(look.words(key, letter=found.wrong), "notice")


def why(look: Look) -> Iterator[Line]:
    bug, view = pair(look)[:2]
    if view is not None and answer(look) is not None:
        yield look.text(f"why_{bug.name}", **facts(view, bug))


def effect(look: Look) -> Iterator[Line]:
    """What the whole model says with the wrong one, and how close the right one comes to the run."""
    bug, view = pair(look)[:2]
    if view is None or answer(look) is None:
        return
    came = outcome(view, bug)
    if came.effect is not None:
        yield _effect(look, view, came.effect)
    if np.isfinite(came.gap).all():
        gap = view.by("layer" if bug.is_of_block else "", came.gap if bug.is_of_block else came.gap[0], "g3")
        key = "checked_edited" if view.run.edits else "checked"
        yield look.note(key, site=site(view, bug), gap=gap)


def _effect(look: Look, view: View, found: Effect) -> Line:
    run = view.run.at(view.run.config.sides[-1])
    has_logits = run.config.has_logits
    is_after = run.stack.side == "decoder" and has_logits
    where = look.t(f"{look.topic}.{'where_after' if is_after else 'where_at'}", token="{{token}}")
    labels = [token.label for token in run.tokens]
    token = Among(labels, view.of_output(np.arange(len(run))), is_code=True)
    said = {"where": where, "token": token, "change": view.of_output(found.change, "g3" if has_logits else "%1")}
    if has_logits:
        small = view.of_output((found.change < 0.001).astype(int))
        said["change"] = Phrase(Among(["{{bits}}", "< 0.001"], small), {"bits": said["change"]})
        known = np.unique([found.before, found.after])
        names = [one.label for one in run.tokenizer.tokens(known.tolist())]
        for name, ids, shares in (
            ("before", found.before, found.before_share),
            ("after", found.after, found.after_share),
        ):
            said[name] = Among(names, view.of_output(np.searchsorted(known, ids)), is_code=True)
            said[f"{name}_share"] = view.of_output(shares, "percent")
    if view.outputs:
        fixed = {axis: at for axis, at in view.fixed.items() if axis == "token"}
        return view.there.claim(EFFECT, found, "token", "text", fixed, **said)
    return view.there.claim(EFFECT, Effect(*(each[-1] for each in found)), "", **said)


def go_on(look: Look) -> Buttons | None:
    """The next pair without an answer; where none is left, simply the next."""
    found, given = pair(look), answers(look)
    if found.view is None or answer(look) is None:
        return None
    names = list(BUGS)
    at = names.index(found.bug.name)
    later = names[at + 1 :] + names[:at]
    following = next((name for name in later if name not in given), later[0])
    return Buttons("next", [Button(look.words("next"), {"bug": following})])
