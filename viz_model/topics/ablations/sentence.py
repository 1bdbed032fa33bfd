"""One vector of another sentence in this run: how deep does the answer hang on the word's own place?"""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from viz_model.claims import Claim, Verdict
from viz_model.drawing import matrix
from viz_model.drawing.scene import Rect, Scene
from viz_model.drawing.tables import Among, By, Phrase
from viz_model.island.page import Chooser, Field
from viz_model.island.prose import Line
from viz_model.runs.edits import PatchResidual
from viz_model.runs.record import record
from viz_model.runs.trace import Trace
from viz_model.topics.ablations import breaking
from viz_model.topics.ablations.lab import Experiment, Facts, Finding, Lab, evenly

MOST_DEPTHS, MOST_POSITIONS, MOST_CHARACTERS = 9, 10, 20_000


class Reach(NamedTuple):
    """How deep a word's own vector decides: the first depth that moves the answer by less than half, if any does."""

    leaves: int | None
    n_layers: int


PATCH: Verdict[Reach] = Verdict(
    "ablations.patch",
    Claim("never", lambda reach: reach.leaves == 0),
    Claim("early", lambda reach: reach.leaves is not None and 0 < reach.leaves <= reach.n_layers / 2),
    Claim("late", lambda reach: reach.leaves is not None and reach.leaves > reach.n_layers / 2),
    Claim("end", lambda reach: reach.leaves is None),
)
"""Of how deep a word's own vector decides over the answer."""


def _at(lab: Lab) -> breaking.Place:
    """Where the answer to the selected token is read."""
    return breaking.place(lab.plain, lab.look.token)


def _words(lab: Lab) -> list[int]:
    """Positions of whole words of the text, save where the answer is read."""
    own = lab.look.token if lab.side is None else -1
    controls = lab.plain.own_tokenizer.controls
    tokens = enumerate(lab.plain.tokens)
    return [i for i, token in tokens if token.text.strip().isalnum() and token.id not in controls and i != own]


def _word(lab: Lab) -> int:
    """The chosen word; as long as there is none, the one that the answer's place reads most."""
    words, chosen = _words(lab), lab.look.options.get("word") or ""
    if chosen.isdecimal() and int(chosen) in words:
        return int(chosen)
    at, attention = _at(lab), "attn" if lab.side is None else "cross"
    rows = lab.look.plain.once(lambda _: breaking.mean_rows(lab.answering, attention), ("rows", attention))
    return max([i for i in words if i > 0] or words, key=lambda i: float(rows[at.position, i]))


def _other(lab: Lab) -> str:
    """The other sentence: as it was written, or with the word's neighbor in its place."""
    word = _word(lab)
    near = lab.look.plain.once(lambda _: breaking.neighbor(lab.plain, word), ("neighbor", word))
    return lab.look.options.get("other") or near or lab.plain.text or ""


def _missing(lab: Lab) -> str | None:
    if lab.plain.stack.side != lab.plain.config.sides[0]:
        return "patch_source"
    return None if _words(lab) else "no_words"


def choose(lab: Lab) -> Chooser:
    look = lab.look
    options = {str(i): f"{i}: {lab.labels[i]}" for i in _words(lab)}
    own = str(_word(lab))
    return Chooser(
        "word", options, look.words("word"), look.words("word_help"), own, True, anew=("other",), is_list=True
    )


def field(lab: Lab) -> Field:
    look = lab.look
    return Field("other", look.words("other"), look.words("other_help"), _other(lab), MOST_CHARACTERS)


def here(lab: Lab, line: Line) -> Line:
    """A sentence of the selected token alone: of another it is asked for."""
    only = {"only": By(("token",), [""], start={"token": lab.look.token})}
    words = line.words if isinstance(line.words, Phrase) else Phrase(line.words, {})
    template = words.template
    whole = [f"{one}{{{{only}}}}" for one in (template.names if isinstance(template, Among) else [template])]
    return line._replace(
        words=Phrase(Among(whole, template.at if isinstance(template, Among) else 0), {**words.values, **only})
    )


def refused(lab: Lab) -> Iterator[Line]:
    """Why the other sentence cannot be taken from."""
    if isinstance(found := _run(lab, _other(lab)), str):
        yield Line(found, "notice")


def _ask(lab: Lab) -> Facts:
    tried = lab.tried
    if isinstance(tried, PatchResidual):
        text = tried.from_text or lab.plain.tokenizer.decode(tried.from_ids or ())
    else:
        text = _other(lab)
    return {"subject": lab.subject, "other": Among([" ".join(text.splitlines())], 0, is_code=True)}


def _make(lab: Lab, guess: str | None) -> PatchResidual | None:
    text = _other(lab)
    found = _run(lab, text)
    if isinstance(found, str):
        return None
    site = lab.plain.full_name(breaking.depth_site(lab.look.layer + 1))
    return PatchResidual(site=site, position=breaking.differs_at(lab.plain, found)[0], from_text=text)


def _run(lab: Lab, text: str) -> Trace | str:
    """The other run, or why there is none."""
    return lab.look.plain.once(lambda look: _made(lab, text), ("other run", text))


def _made(lab: Lab, text: str) -> Trace | str:
    look, plain = lab.look, lab.plain
    if not text:
        return str(look.words("other_empty"))
    try:
        ids = plain.tokenizer.encode(text)
        with look.turn():
            other = record(plain.model, plain.tokenizer, ids, plain.target_ids, text=text, target=plain.target)
        other = other.at(plain.stack.side)
        breaking.differs_at(plain, other)
    except ValueError as wrong:
        known = str(look.words("other_length", n=len(plain)))
        return known if "from_text" in str(wrong) else look.t.error(wrong)
    return other


def _positions(lab: Lab, swapped: int, patched: int, most: int) -> list[int]:
    """Those that the answer hangs on, and of the others so many, evenly spread."""
    wanted = {swapped, patched, *([lab.look.token] if lab.side is None else [])}
    rest = [i for i in range(len(lab.plain)) if i not in wanted]
    return sorted([*wanted, *evenly(rest, max(1, most - len(wanted)))])


def _answer(lab: Lab, edit: PatchResidual) -> Finding:
    """Of the selected token alone: each vector is put in for itself."""
    look = lab.look
    facts: Facts = {"subject": lab.subject, "site": f"`{edit.site}`"}
    text = edit.from_text or ""
    other = _run(lab, text)
    if isinstance(other, str) or edit.read_at != edit.position:
        return Finding(None, facts, text="answer_patch_one")
    swapped = breaking.differs_at(lab.plain, other)[0]
    facts |= {"from": Among([other.tokens[swapped].label], 0, is_code=True), "word": lab.token_named(swapped)}
    depths = evenly(range(lab.plain.n_layers + 1), MOST_DEPTHS)
    most = max(2, min(MOST_POSITIONS, lab.affordable(len(depths) * MOST_POSITIONS) // len(depths)))
    positions = _positions(lab, swapped, edit.position, most)
    n = len(depths) * len(positions)
    if not lab.may(n):
        return Finding(None, facts, waits=n, text="answer_patch_one")

    def made(_: Any) -> np.ndarray:
        return np.array([*lab.by_turns(breaking.patches(lab.plain, other, depths, positions, _at(lab)))])

    moved = look.plain.once(made, ("patches", text, tuple(positions), _at(lab)))
    patching = breaking.Patching(tuple(depths), tuple(positions), moved, positions.index(swapped))
    names, leaves = lab.depths, patching.leaves
    above = np.where(np.isfinite(moved), moved, np.nan)[1:]
    far = breaking.costs(other, lab.plain, _at(lab).side, [_at(lab).position]).amount
    facts |= {
        "distance": look.words(
            "amount_bits" if lab.plain.config.has_logits else "amount_turn", amount=f"{far.item():.3f}"
        ),
        "leaves": "" if leaves is None else names[leaves],
        "n_layers": lab.plain.n_layers,
        "best": lab.token_named(positions[int(np.nanargmax(above.max(0)))]),
    }
    labels = [names[depth] for depth in depths]

    def draw() -> Scene:
        columns, rows = [lab.labels[position] for position in positions], labels[::-1]
        scene = matrix.scene(
            "ablations.patching", look.words("patching_alt"), np.clip(moved[::-1], -10, 10).astype(np.float32), rows,
            columns, axes=(look.words("axis_depth"), look.words("axis_position")), top=1.0, frames=False,
            role="output", site="1 − D(patched)/D(plain)", labels=(rows, columns),
        )  # fmt: skip
        (panel,) = scene.panels
        marks = list(panel.marks)
        framed = [n for n, depth in enumerate(depths[::-1]) if breaking.depth_site(depth) in edit.site]
        if framed:
            cells: Any = marks[0]
            step = cells.height / len(rows)
            box: dict[str, Any] = {"x": cells.x, "y": cells.y + framed[0] * step, "width": cells.width, "height": step}
            marks.append(Rect(id="selected", stroke="accent", thick=2, **box))
        scene = replace(scene, panels=[replace(panel, marks=marks)], own=False)
        return look.only_here(scene, layer=False, token=True)

    table: dict[str, list[object]] = {"": list(labels)}
    table |= {f"{i}: {lab.labels[i]}": moved[:, n].tolist() for n, i in enumerate(positions)}
    verdict = PATCH, Reach(leaves, lab.plain.n_layers), ""
    return Finding(verdict, facts, draw, [look.note("patching_note")], table)


EXPERIMENT = Experiment(PATCH, PatchResidual, _ask, _make, _answer, missing=_missing, everywhere=True)
