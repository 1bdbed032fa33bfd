"""The tokens drawn after a text, which are kept while a visitor draws more of them."""

import threading
from collections.abc import Sequence
from typing import NamedTuple

from viz_model.measures import kv_cache
from viz_model.runs.edits import ShuffleTokens, StructureEdit
from viz_model.runs.generation import Decoder, Sampling, Step, steps
from viz_model.runs.trace import Trace


def can_be_drawn(trace: Trace) -> bool:
    """Whether all edits mean something for a text that grows."""
    return not any(edit.names_positions for edit in trace.edits)


class Drawn(NamedTuple):
    """Tokens that were drawn, and what the decoder's cache held when the last of them was; at first, of the text."""

    steps: tuple[Step, ...]
    held: kv_cache.Held


class Drawing:
    """The tokens drawn so far after one text, and the decoder that draws on: one more token costs one position.

    Raises:
        ValueError: an edit speaks of positions, and so means nothing for a text that grows.
    """

    def __init__(self, trace: Trace, sampling: Sampling, seed: int) -> None:
        # The run's own model and ids have these edits in them.
        edits = [edit for edit in trace.edits if not isinstance(edit, StructureEdit | ShuffleTokens)]
        own, source = (trace.ids, None) if trace.target_ids is None else (trace.target_ids, trace.ids)
        controls = trace.tokenizer.controls_by_side
        self._decoder = Decoder(trace.model, own, source, picture=trace.picture, edits=edits, controls=controls)
        self._going = steps(self._decoder, trace.tokenizer, sampling, seed)
        self._end = trace.tokenizer.end_of_text
        self._steps: list[Step] = []
        self._held = [kv_cache.held(self._decoder.cache)]
        self._lock = threading.Lock()

    def first(self, count: int) -> Drawn:
        """The first ``count`` tokens, fewer where the model ends the text; its end is the last one."""
        with self._lock:
            while len(self._steps) < count and not (self._steps and self._steps[-1].token.id == self._end):
                self._steps.append(next(self._going))
                self._held.append(kv_cache.held(self._decoder.cache))
            found = tuple(self._steps[:count])
        return Drawn(found, self._held[len(found)])


def longer(trace: Trace, steps: Sequence[Step]) -> str:
    """The text, or the target of an encoder–decoder, and what was drawn after it.

    A character of which only some bytes were drawn is left out.
    """
    decode, drawn = trace.tokenizer.decode, [step.token.id for step in steps]
    if trace.target_ids is None:
        text, ids, is_whole = trace.text, list(trace.ids), not trace.n_dropped
    else:
        text, ids, is_whole = trace.target, list(trace.target_ids[1:]), not trace.n_target_dropped
    # Of two spellings that decode alike, the visitor's own is kept.
    before, after = decode(ids), decode([*ids, *drawn])
    if is_whole and after.startswith(before):
        after = (text or "") + after[len(before) :]
    return after.rstrip("\ufffd") if drawn else after
