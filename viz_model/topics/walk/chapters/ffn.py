"""Feed-forward: a network that works on each token alone, and what one of its neurons does on this text."""

import re

import numpy as np

from viz_model.island.beats import Beat, Chapter, Mark
from viz_model.measures import neurons
from viz_model.model.sites import n_neurons
from viz_model.topics.walk.layout import NAMES, WIDTH, Marks, Pen, bars, lengths, most, names, token_rows
from viz_model.topics.walk.run import Run

COLUMNS = 48


def chapter(run: Run) -> Chapter:
    look, config, at = run.look, run.trace.config, f"blocks.{run.look.layer}.ffn."
    beats, marks = list[Beat](), list[Mark]()
    count = n_neurons(config, run.trace.stack.side, look.layer)
    if count and f"{at}act" in run.trace:
        act = run.trace[f"{at}act"].numpy()
        is_relu, active = bool((act >= 0).all()), run.by("token", (act > 0).sum(-1).astype(np.int32), "whole")
        function = config.layer(run.trace.stack.side, look.layer).ffn.activation or "other"
        named = {"token": run.named(), "activation": look.t(f"block.activation_{function}")}
        kind = "_gated" if f"{at}gate_act" in run.trace else "" if is_relu else "_smooth"
        beats.append(run.says(f"ffn_1{kind}", n=f"{count:,}", **named))
        beats.append(run.says("ffn_2" if is_relu else "ffn_2_smooth", active=active))
        marks += _neurons(run, act, active if is_relu else None)
        if found := _one(run, act):
            number, fires, pushes = found
            key = "ffn_3 pushes" if pushes else "ffn_3"
            beats.append(run.says(key, "neuron", neuron=number, fires=fires, pushes=pushes))
            marks += _fires(run, act[:, number], number)
    else:
        beats.append(run.says("ffn_experts"))
    weights = {name: weight.numel() for name, weight in run.trace.model.named_parameters()}
    ffn, attn, cross = (sum(n for name, n in weights.items() if f".{one}." in name) for one in ("ffn", "attn", "cross"))
    sizes = {"ffn": ffn, "attn": attn + cross}
    if not config.reads_pictures:
        sizes["embedding"] = run.table.numel()
    key = "ffn_size outweighs" if sizes.get("embedding", 0) > ffn > sizes["attn"] else "ffn_size"
    beats.append(run.says(key, share=f"{ffn / (ffn + sizes['attn']):.0%}"))
    labels, values, since = [look.words(f"part_{name}") for name in sizes], np.array([*sizes.values()]), len(beats)
    marks += bars(run, labels, values / values.sum(), "share", 110, since=since, part="share")
    marks.append(Pen().text(look.words("weights_of"), y=80, since=since))
    return run.chapter("ffn", beats, marks, "block")


def _neurons(run: Run, act: np.ndarray, active: object) -> Marks:
    """The neurons before and after the curve, and how many are ``active`` where that can be counted."""
    look, at, count = run.look, f"blocks.{run.look.layer}.ffn.", act.shape[-1]
    before, rows, pen = run.trace[f"{at}up"].numpy() if f"{at}up" in run.trace else act, -(-count // COLUMNS), Pen()
    top = most(before) / 2
    yield pen.text(look.words("neurons_of", n=f"{count:,}", token=run.label()), y=34, until=3)
    for values, there in ((before, {"until": 2}), (act, {"since": 2, "until": 3})):
        cells = np.pad(values, [(0, 0), (0, rows * COLUMNS - count)]).reshape(len(run), rows, COLUMNS)
        yield pen.cells(run.by("token", cells), 0, 60, WIDTH, min(300, 18 * rows), top=top, **there)
    if active is not None:
        yield pen.text(look.words("fire", active=active, n=f"{count:,}"), y=392, since=2, until=3, look="bold")


def _one(run: Run, act: np.ndarray) -> tuple[int, str, str] | None:
    """The strongest neuron at the selected token, on which tokens it fires most, which it pushes; None if nowhere."""
    look, tokens, number = run.look, run.trace.tokens, int(act[run.look.token].argmax())
    order = [int(n) for n in np.argsort(-act[:, number]) if act[n, number] > 0 and tokens[n].is_whole][:3]
    if not order:
        return None
    column = run.trace.stack.block(look.layer).ffn.down.weight.detach().T[[number]]
    told = [name for name, _ in neurons.promoted(run.trace, column, 12)[0] if any(map(str.isalpha, name))]
    pushed = dict.fromkeys(f"`{name.strip('·')}`" for name in told if not re.fullmatch("[0-9A-F]{2}", name))
    return number, look.listed(dict.fromkeys(map(look.code_name, order))), look.listed(list(pushed)[:3])


def _fires(run: Run, act: np.ndarray, number: int) -> Marks:
    pen, top = Pen({"since": 3, "until": 4}), float(act.max()) or 1.0
    yield pen.text(run.look.words("neuron", n=number), y=30, look="bold")
    yield from names(run, 60, pen)
    for at, row in token_rows(run, 60, pen):
        yield row.bar(NAMES + 4, lengths(max(0.0, act[at] / top), less=190), 5, part="neuron")
        yield row.end(float(act[at]), form="2")
