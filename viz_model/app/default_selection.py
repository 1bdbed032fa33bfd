"""The layer, head and token that are shown where nobody has chosen: those that tell most on this sentence."""

from typing import NamedTuple

import torch

import viz_model as vm
from viz_model.app import runs
from viz_model.app.cache import cached
from viz_model.app.view import ViewState
from viz_model.claims import exceeds
from viz_model.config import Side
from viz_model.measures import salience
from viz_model.texts import Texts


class Place(NamedTuple):
    """A head of a layer."""

    layer: int
    head: int


def place(run: runs.RunKey, view: ViewState, side: Side, part: str) -> Place:
    """What is looked at: what was chosen, and for the rest the head that tells most of this sentence.

    A page of cross-attention asks for the part "cross"; a model that has none is asked for "attn". Changes to the run
    make no difference, or what one looks at would move with them.
    """
    if view.layer is not None and view.head is not None:
        return Place(view.layer, view.head)
    tells = _tells(run, view, side, part)
    best = max(tells, key=tells.__getitem__)
    return best if view.head is None else Place(best.layer, view.head)


def token(run: runs.RunKey, view: ViewState, side: Side) -> int:
    """The position to tell of: a mask that was typed, or else the last one of the text; of a picture the first.

    After the text an encoder may read control tokens. A target that the model said by itself ends where nothing
    more is to be said, and its last tokens read the end of the source: of that, the one that reads one word most; of
    what is said of a picture, the one after which the last word comes.
    """
    trace = runs.trace(run.plain).at(side)
    if trace.config.transcribes and side == "decoder":
        return max(0, len(trace) - 2)
    written = salience.written(trace) if trace.prefix and side == "decoder" and view.target is None else ()
    if written and (shares := _of_words(run.plain)):
        words = [i for i in written if _is_word(trace, i)]
        return max(words or written, key=shares.__getitem__)
    return salience.token(trace)


@cached()
def _of_words(run: runs.RunKey) -> tuple[float, ...]:
    """For each target token the largest weight of a word of the source, on average over all heads."""
    trace = runs.trace(run).at("decoder")
    source = trace.at("encoder")
    words = [i for i in range(len(source)) if _is_word(source, i)]
    if not words or "blocks.0.cross.pattern" not in trace:  # not every model that is observed reports it
        return ()
    patterns = [trace[f"blocks.{layer}.cross.pattern"] for layer in salience.layers(trace)]  # each [H, T, S]
    rows = torch.stack(patterns).mean((0, 1))  # [T, S]
    return tuple(rows[:, words].max(-1).values.tolist())


def _is_word(trace: vm.Trace, token: int) -> bool:
    return trace.own_ids[token] not in trace.own_tokenizer.controls and any(map(str.isalpha, trace.tokens[token].text))


def note(t: Texts, run: runs.RunKey, view: ViewState, side: Side, part: str) -> tuple[str, str] | None:
    """How the head is chosen where nobody has chosen one, and more about that; None where there is one head."""
    tells = _tells(run, view, side, part)
    best, *others = sorted(tells, key=tells.__getitem__, reverse=True)
    if not others:
        return None
    facts = {"n": len(tells), "much": f"{tells[best]:.2f}", "second": f"{tells[others[0]]:.2f}"}
    key = "usual" if exceeds(tells[best], tells[others[0]], 2) else "usual_even"
    return t(f"common.{key}", layer=best.layer, head=best.head, **facts), t("common.usual_help", **facts)


def _tells(run: runs.RunKey, view: ViewState, side: Side, part: str) -> dict[Place, float]:
    """How much each head tells of this sentence, of those layers that may be shown."""
    trace = runs.trace(run.plain).at(side)
    among = salience.layers(trace) if view.layer is None else (view.layer,)
    return {
        Place(layer, head): much for layer in among for head, much in enumerate(_of_layer(run.plain, side, layer, part))
    }


@cached()
def _of_layer(run: runs.RunKey, side: Side, layer: int, part: str) -> tuple[float, ...]:
    return salience.of_layer(runs.trace(run).at(side), layer, part)
