"""A film: scenes of one stage in order. What keeps its identity moves from one to the next, in the browser.

The scenes are sent as the cases of one picture, told apart by "frame". ``frontend/src/film.js`` plays them, and when
the next film of the same stage comes, it moves on from what stands there.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from viz_model.drawing.scene.encode import Case, encoded
from viz_model.drawing.scene.marks import Scene

MOST_BYTES = 150_000
"""Of a film. Beyond it, numbers of all frames but the first are rounded to a byte."""


@dataclass(frozen=True, kw_only=True)
class Frame:
    """One scene of a film.

    Attributes:
        caption: what happens in it, in a few words.
        seconds: how long it stands before the next one comes.
        moves: the seconds in which it comes.
    """

    scene: Scene
    caption: str = ""
    seconds: float = 1.6
    moves: float = 0.8


@dataclass(frozen=True, kw_only=True)
class Film:
    """A stop of a walk: its frames, and where it stands among the other stops.

    Attributes:
        key: of another key it begins anew; of the same one only its numbers have changed.
        stops: the names of all stops; ``stop`` is this one.
        words: of the controls: "back", "next", "play", "pause", "again", "step", "unstep", "speed", "stops".
        waits: whether it stands at its first frame until somebody plays it.
    """

    key: str
    frames: Sequence[Frame]
    stops: Sequence[str]
    stop: int
    words: Mapping[str, str] = field(default_factory=dict)
    waits: bool = False

    def encode(self) -> bytes:
        """As the browser reads it."""
        scenes: dict[Case, Scene] = {(n,): frame.scene for n, frame in enumerate(self.frames)}
        told = {
            "key": self.key,
            "captions": [frame.caption for frame in self.frames],
            "seconds": [frame.seconds for frame in self.frames],
            "moves": [frame.moves for frame in self.frames],
            "stops": list(self.stops),
            "stop": self.stop,
            "words": dict(self.words),
            "waits": self.waits,
        }
        for is_coarse in (False, True):
            data = encoded(("frame",), scenes, list(scenes), is_coarse, kind="film", film=told)
            if len(data) <= MOST_BYTES:
                break
        return data
