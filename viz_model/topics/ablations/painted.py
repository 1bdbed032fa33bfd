"""Experiments on a model that reads pictures: one part is taken out, and the classes stand before and after."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from viz_model.drawing.digits import percent
from viz_model.drawing.picture import Painted, across, painted, shares
from viz_model.drawing.scene import Mark, Panel, Scene, Text
from viz_model.drawing.tables import By
from viz_model.island.edited import describe
from viz_model.island.look import Look
from viz_model.island.page import Button, Buttons, Chooser
from viz_model.island.prose import Line
from viz_model.island.tabs import Tabs
from viz_model.measures import patches
from viz_model.measures.classes import Classes, classes
from viz_model.runs import edits
from viz_model.runs.edits import Edit
from viz_model.topics.ablations.trying import guesses

SEED = 1
SIZE, TOP, BAR, MOST = 150.0, 44.0, 18.0, 10
"""Pixels of a picture, above it, and of a bar; and bars at the most."""
GUESSES = ("same", "other")
OPTIONS = (("changes", ("", *GUESSES)),)


def _experiments(layer: int, head: int) -> dict[str, Edit]:
    """What each experiment changes, in the order in which the page offers them."""
    return {
        "position": edits.NoPosition(),
        "shuffle": edits.ShuffleTokens(seed=SEED),
        "head": edits.AblateHead(layer=layer, head=head),
        "layer": edits.Skip(layer=layer, part="attn"),
        "residual": edits.NoResidual(),
        "norm": edits.NoNorm(),
        "scale": edits.NoScale(),
    }


def _name(look: Look) -> str:
    """The chosen experiment; else the one that the view's change belongs to, or the first."""
    experiments = _experiments(look.layer, look.head)
    if (name := look.options.get("experiment") or "") in experiments:
        return name
    kinds = [type(edit) for edit in look.trace.edits]
    return next((name for name, edit in experiments.items() if kinds == [type(edit)]), "position")


def _tried(look: Look) -> Edit | None:
    """The view's change, where it is one of the chosen experiment."""
    made = look.trace.edits
    kind = type(_experiments(0, 0)[_name(look)])
    return made[0] if len(made) == 1 and isinstance(made[0], kind) else None


def _classes(look: Look) -> tuple[Classes, Classes]:
    """Before and after."""
    return classes(look.plain.trace), classes(look.trace)


def _facts(look: Look) -> dict[str, Any]:
    before, after = _classes(look)
    return {
        "layer": look.layer_number,
        "head": look.head_number,
        "before": before.names[before.top],
        "share_before": percent(float(before.probs[before.top])),
        "after": after.names[after.top],
        "share_after": percent(float(after.probs[after.top])),
        "kept": percent(float(after.probs[before.top])),
    }


def choose(look: Look) -> Chooser:
    options = {name: look.words(f"experiment_{name}") for name in _experiments(0, 0)}
    words = look.words
    return Chooser("experiment", options, words("experiment"), words("experiment_help"), _name(look), True)


def ask(look: Look) -> Iterator[Line]:
    yield look.title(f"title_{_name(look)}")
    yield look.text(f"question_{_name(look)}", **_facts(look))
    yield look.note("guess")


def guess(look: Look) -> Buttons:
    return guesses(look, "changes", {name: look.words(f"changes_{name}") for name in GUESSES})


def buttons(look: Look) -> Buttons:
    """To try it: of the selected layer and head, where it is of one."""
    layers, heads = range(look.n_layers), range(look.n_heads)
    each = [[_experiments(layer, head)[_name(look)] for head in heads] for layer in layers]
    written = By(("layer", "head"), [[edits.write([one]) for one in row] for row in each])
    off = By(("layer", "head"), np.array([[look.trace.edits == (one,) for one in row] for row in each]))
    label = look.words("try" if _tried(look) is None else "again")
    undo = Button(look.words("undo"), change={"edits": ""}, is_off=not look.trace.edits)
    return Buttons("try", [Button(label, change={"edits": written}, is_off=off), undo])


def replaced(look: Look) -> Iterator[Line]:
    if look.trace.edits and _tried(look) is None:
        yield look.note("replaces", changes=look.listed(describe(edit, look.t) for edit in look.trace.edits))


def tell(look: Look) -> Iterator[Line]:
    if _tried(look) is None:
        return
    before, after = _classes(look)
    right, guessed = GUESSES[before.top != after.top], look.options.get("changes") or ""
    verdict = "none" if not guessed else "right" if guessed == right else "wrong"
    yield Line(look.words(f"verdict_{verdict}", right=look.words(f"changes_{right}")))
    yield look.text(f"measured_{right}", **_facts(look))
    yield look.text(f"why_{_name(look)}")


def draw(look: Look) -> Scene:
    """A row of picture and bars for each run: where [CLS] looks in the last block, and the classes."""
    sides = [("before", look.plain.trace), *([("after", look.trace)] if look.trace.edits else [])]
    first = classes(look.plain.trace)
    shown = first.order[:MOST] if len(first.labels) > MOST else range(len(first.labels))
    height, panels = TOP + max(SIZE, BAR * len(shown)) + 8, []
    for n, (name, trace) in enumerate(sides):
        weights = trace.row(f"blocks.{trace.n_layers - 1}.attn.pattern", 0).mean(0).numpy()
        names, grid = patches.names(trace, look.t), patches.grid(trace.config)
        view = Painted(patches.pixels(trace), np.asarray(weights, np.float32), grid, names, chosen=0)
        said, words = classes(trace), look.words("side_looks", layer=look.n_layers - 1)
        marks: list[Mark] = [
            Text(id="name", text=look.words(f"side_{name}"), y=12, bold=True),
            Text(id="looks", text=words, y=30, fill="muted"),
            *painted(view, 0, TOP, SIZE, float(weights.max()) or 1.0, selects=False),
        ]
        wide = int(across(SIZE))
        panels.append(Panel(id=f"picture.{n}", marks=marks, height=height, min=wide + 20, most=wide + 60))
        left = 8.0 + 9.0 * max(len(said.labels[k]) for k in shown)
        bars = shares(said.labels, said.probs, shown, left=left, top=TOP, step=BAR, written="{:.1%}".format)
        panels.append(Panel(id=f"classes.{n}", marks=bars, height=height, min=200, grow=2))
    return look.drawn(Scene(id="ablations.classes", panels=panels, title=look.words("picture_alt")), own=False)


def _hand(look: Look) -> tuple[Line | None, Sequence[Any], dict[str, Any]]:
    before, after = _classes(look)
    n = before.top
    logits = {"logit_before": f"{before.logits[n]:.4f}", "logit_after": f"{after.logits[n]:.4f}"}
    line = look.text("hand_class", **logits, difference=f"{after.logits[n] - before.logits[n]:+.4f}", **_facts(look))
    return line, (), {}


def _records(look: Look) -> list[tuple[str, str, Mapping[str, Sequence[object]]]]:
    before, after = _classes(look)
    columns = {
        look.words("column_class"): list(before.names),
        look.words("column_before"): before.probs.tolist(),
        look.words("column_after"): after.probs.tolist(),
    }
    return [("classes", "", columns)]


APART = Tabs(
    formulas=lambda look: (look.site("attn.pattern"), "class.logits", "class.probs"),
    hand=_hand,
    code=lambda look: (),
    own=lambda look: ("picture_ablations", {"edits": edits.write((_experiments(look.layer, look.head)[_name(look)],))}),
    numbers=lambda look: None,
    records=_records,
)
