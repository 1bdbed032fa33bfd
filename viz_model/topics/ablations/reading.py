"""What the model reads, changed: the order of the tokens, and one cell of the mask."""

from typing import Any, NamedTuple

import numpy as np

from viz_model.claims import Claim, Verdict
from viz_model.drawing.scene import Scene
from viz_model.drawing.tables import Among
from viz_model.island.edited import describe
from viz_model.island.page import Button, Buttons
from viz_model.island.prose import Line
from viz_model.runs import edits
from viz_model.runs.edits import ExpertOff, ExpertOnly, FlipMask, ShuffleTokens
from viz_model.runs.trace import Trace
from viz_model.topics.ablations import breaking
from viz_model.topics.ablations.breaking import ALIKE
from viz_model.topics.ablations.lab import Experiment, Facts, Finding, Lab, another, bars

SHUFFLE: Verdict[float] = Verdict(
    "ablations.shuffle",
    Claim("same", lambda distance: distance < ALIKE),
    Claim("other", lambda distance: distance >= ALIKE),
)
"""Of the relative distance of shuffled outputs from reordered ones."""
FLIP = another("flip")

# The same tokens in another order: do the same vectors come out, in that order?


def _shuffle(lab: Lab) -> ShuffleTokens | None:
    return lab.look.plain.once(lambda _: breaking.a_shuffle(lab.plain), "shuffle")


def _text(lab: Lab, shuffle: ShuffleTokens) -> Any:
    tokens = lab.plain.at(shuffle.side or lab.plain.config.sides[0]).tokens
    text = "".join(tokens[i].text for i in breaking.came_from(lab.plain, shuffle))
    return Among([" ".join(text.splitlines())], 0, is_code=True)


def _ask_order(lab: Lab) -> Facts:
    shuffle = _shuffle(lab)
    return {"text": "" if shuffle is None else _text(lab, shuffle), "enters": lab.enters}


def _reordered(lab: Lab, shuffle: ShuffleTokens) -> np.ndarray:
    """How far shuffled outputs are from reordered ones, under each condition."""

    def made(_: Any) -> np.ndarray:
        return np.array([*lab.by_turns(breaking.reordered(lab.plain, shuffle, one) for one in breaking.CONDITIONS)])

    return lab.look.plain.once(made, ("reordered", shuffle))


def _answer_order(lab: Lab, edit: ShuffleTokens) -> Finding:
    distances, look = _reordered(lab, edit), lab.look
    facts: Facts = {name: f"{one:.3f}" for name, one in zip(breaking.CONDITIONS, distances, strict=True)}
    facts |= {"text": _text(lab, edit), "enters": lab.enters, "limit": ALIKE}
    names = [look.words(f"condition_{condition}") for condition in breaking.CONDITIONS]
    axes = look.words("axis_condition"), look.words("axis_reordered")
    table = {"": names, "cost": distances.tolist()}
    verdict = SHUFFLE, float(distances[0]), ""
    return Finding(verdict, facts, lambda: bars(lab, "order", names, {"cost": distances}, axes), table=table)


# The key that a query reads most is hidden from it: where does the weight go, and does the answer change?


def _rows(lab: Lab, trace: Trace) -> np.ndarray:
    """Where each query looks, on the mean of all layers and heads, [T, T]."""
    return lab.look.once(lambda _: breaking.mean_rows(trace), ("rows", trace is lab.plain))


def _hides_one(lab: Lab, edit: FlipMask) -> bool:
    """One cell of every layer, and one that is hidden by it, not shown."""
    if edit.key is None or edit.layer is not None:
        return False
    n = len(lab.plain)
    return edit.query < n and edit.key < n and bool(_rows(lab, lab.plain)[edit.query, edit.key] > 0)


def _tried(lab: Lab) -> FlipMask | None:
    tried = lab.tried
    return tried if isinstance(tried, FlipMask) and CELL.fits(lab, tried) else None


def _keys(lab: Lab) -> np.ndarray:
    """Of what each query sees beside itself the key that it reads most, [T]."""
    rows = _rows(lab, lab.plain).copy()
    np.fill_diagonal(rows, 0.0)
    return rows.argmax(-1)


def _sees_one(lab: Lab) -> np.ndarray:
    rows, keys, queries = _rows(lab, lab.plain), _keys(lab), np.arange(len(lab.plain))
    found: np.ndarray = (rows[queries, keys] == 0) | (keys == queries)
    return found


def _ask_cell(lab: Lab) -> Facts:
    rows, look, tried = _rows(lab, lab.plain), lab.look, _tried(lab)
    if tried is not None:
        assert tried.key is not None
        named = {"query": lab.token_named(tried.query), "key": lab.token_named(tried.key)}
        shares = {"before": rows[tried.query, tried.key], "own": rows[tried.query, tried.query]}
        return {**named, **{name: f"{share:.0%}" for name, share in shares.items()}, "subject": lab.subject}
    keys, queries = _keys(lab), np.arange(len(rows))
    return {
        "query": lab.token_named(),
        "key": lab.token_named(look.by("token", keys)),
        "before": look.by("token", rows[queries, keys], "%0"),
        "own": look.by("token", rows[queries, queries], "%0"),
        "subject": lab.subject,
    }


def _make_cell(lab: Lab, guess: str | None) -> FlipMask | None:
    query = lab.look.token
    return None if _sees_one(lab)[query] else FlipMask(query=query, key=int(_keys(lab)[query]), side=lab.side)


def _draw_cell(lab: Lab, series: dict[str, Any]) -> Scene:
    return bars(lab, "measure_flip", lab.labels, series, (lab.look.common("axis_key"), lab.look.words("axis_weight")))


def _answer_cell(lab: Lab, edit: FlipMask) -> Finding:
    assert edit.key is not None
    series = {"before": _rows(lab, lab.plain)[edit.query], "after": _rows(lab, lab.after)[edit.query]}
    gain = series["after"] - series["before"]
    gained = int(gain.argmax())
    facts = _ask_cell(lab) | {
        "after": f"{series['after'][edit.key]:.0%}",
        "gained": lab.token_named(gained),
        "gain": f"{100 * gain[gained]:.0f}",
        "cost": lab.amount(lab.cost.amount),
    }
    table = {"": list(lab.labels), **{key: values.tolist() for key, values in series.items()}}
    return Finding(lab.each(FLIP, lab.cost.changed), facts, lambda: _draw_cell(lab, series), table=table)


ORDER = Experiment(
    SHUFFLE,
    ShuffleTokens,
    _ask_order,
    lambda lab, guess: _shuffle(lab),
    _answer_order,
    missing=lambda lab: None if _shuffle(lab) else "few_tokens",
    everywhere=True,
    least=0,
)
CELL = Experiment(
    FLIP,
    FlipMask,
    _ask_cell,
    _make_cell,
    _answer_cell,
    hidden=lambda lab: (_sees_one(lab), "sees_one"),
    before=lambda lab: _draw_cell(lab, {"before": lab.look.by("token", _rows(lab, lab.plain))}),
    belongs=_hides_one,
)


MOST_BUTTONS = 16
"""Experts that stand for the choice; of more, the address names any."""
EXPERT = another("expert")


class Without(NamedTuple):
    """What it costs to take an expert out, and to send all tokens to it alone, [P, E]; bits or 1 − cosine."""

    out: Any
    alone: Any


EACH_EXPERT: Verdict[Without] = Verdict(
    "ablations.each_expert",
    Claim("spared", lambda costs: np.max(costs.out, axis=-1) < np.min(costs.alone, axis=-1)),
    Claim("enough", lambda costs: np.max(costs.out, axis=-1) >= np.min(costs.alone, axis=-1)),
)
"""Of all experts of a layer, each without and each alone."""


def _layers(lab: Lab) -> tuple[int, ...]:
    return lab.plain.config.layers_with_experts(lab.plain.stack.side)


def _layer(lab: Lab, selected: int) -> int:
    """That of the change which was tried, else the selected one, else the first that has experts."""
    if isinstance(tried := lab.tried, ExpertOff | ExpertOnly):
        return tried.layer
    layers = _layers(lab)
    return selected if selected in layers else layers[0]


def _weights(trace: Trace, layer: int) -> np.ndarray:
    """How much of each expert is taken, [T, E]."""
    found: np.ndarray = trace[f"blocks.{layer}.ffn.chosen"].numpy()
    return found


def _ask(lab: Lab) -> Facts:
    look = lab.look
    layers = [_layer(lab, layer) for layer in look.layers]
    every = np.stack([_weights(lab.plain, layer) for layer in layers])  # [L, T, E]
    strongest = every.argmax(-1)
    return {
        "token": lab.token_named(),
        "layer": look.by("layer", np.array(layers), "whole"),
        "expert": look.by("layer token", strongest, "whole"),
        "weight": look.by("layer token", every.max(-1), "%0"),
        "n": every.shape[-1],
        "n_chosen": look.by("layer token", (every > 0).sum(-1), "whole"),
        "subject": lab.subject,
    }


def _make(lab: Lab, guess: str | None) -> ExpertOff:
    layer = _layer(lab, lab.look.layer)
    return ExpertOff(layer=layer, expert=int(_weights(lab.plain, layer)[lab.look.token].argmax()), side=lab.side)


def _answer(lab: Lab, edit: ExpertOff | ExpertOnly) -> Finding:
    layer, look = edit.layer, lab.look
    before = _weights(lab.plain, layer) > 0
    moved = (before != (_weights(lab.after, layer) > 0)).any(1)
    n_experts = before.shape[1]
    facts = _ask(lab) | {
        "change": describe(edit, look.t),
        "n_moved": int(moved.sum()),
        "n_tokens": len(moved),
        "cost": lab.amount(lab.cost.amount),
    }
    verdict = lab.each(EXPERT, lab.cost.changed)
    if not lab.may(2 * n_experts):
        return Finding(verdict, facts, waits=2 * n_experts)
    kinds = ExpertOff, ExpertOnly
    found = lab.costs([kind(layer=layer, expert=n, side=lab.side) for kind in kinds for n in range(n_experts)])
    without = Without(found.amount[:, :n_experts], found.amount[:, n_experts:])
    series = {"out": lab.of_answers(without.out), "alone": lab.of_answers(without.alone)}
    names = [str(n) for n in range(n_experts)]
    axes = look.words("axis_expert", layer=layer), lab.unit
    below: list[Line | Buttons] = []
    if not np.isnan(found.amount).any():
        worst, best = without.out.argmax(-1), without.alone.argmin(-1)
        told: Facts = {"n": n_experts}
        for name, at, amounts in (("worst", worst, without.out), ("best", best, without.alone)):
            told[name] = lab.of_answers(at, "whole")
            told[f"{name}_cost"] = lab.amount(np.take_along_axis(amounts, at[:, None], -1)[:, 0])
        _, values, by = lab.each(EACH_EXPERT, np.stack(without, -1))
        below.append(look.claim(EACH_EXPERT, Without(values[..., 0], values[..., 1]), by, **told))
    for key, sort in (("out", ExpertOff), ("alone", ExpertOnly)):
        others = [sort(layer=layer, expert=n, side=edit.side) for n in range(min(n_experts, MOST_BUTTONS))]
        buttons = [
            Button(str(n), change={"edits": edits.write([one])}, is_off=one == edit) for n, one in enumerate(others)
        ]
        below += [look.note(f"experts_{key}"), Buttons(f"expert {key}", buttons)]
    table = {"": names, "out": without.out[lab.here].tolist(), "alone": without.alone[lab.here].tolist()}
    return Finding(verdict, facts, lambda: bars(lab, "experts", names, series, axes), below, table)


EXPERIMENT = Experiment(
    EXPERT,
    (ExpertOff, ExpertOnly),
    _ask,
    _make,
    _answer,
    missing=lambda lab: None if _layers(lab) else "no_experts",
    least=1,
)
