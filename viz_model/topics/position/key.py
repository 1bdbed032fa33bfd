"""Which key of each token is worked out."""

import numpy as np

from viz_model.island.look import Look
from viz_model.island.page import Chooser


def chosen(look: Look) -> np.ndarray:
    """By layer, head and token, [L, H, T]: the key that was asked for, where the token may look at it, else the one
    that it reads most, itself aside.
    """
    most, asked = look.once(_nearest_other), int(look.options.get("key") or -1)
    if not 0 <= asked < len(look):
        return most
    return np.where(look.visible[:, None, :, asked], asked, most)


def _nearest_other(look: Look) -> np.ndarray:
    """Itself where a token sees no other."""
    pattern, at = look.every("attn.pattern"), np.arange(len(look))
    others = np.where(np.eye(len(look), dtype=bool), -1.0, pattern)
    return np.where(others.max(-1) > 0, others.argmax(-1), at)


def choose(look: Look) -> Chooser | None:
    """A slider over the keys; of a single token there is none."""
    if len(look) < 2:
        return None
    options = {"": look.words("key_most")} | {str(n): f"{n}: {label}" for n, label in enumerate(look.labels)}
    return Chooser("key", options, look.words("key"), look.words("key_help"), asks=True, is_scale=True)


def of_key(values: np.ndarray, keys: np.ndarray) -> np.ndarray:
    """What the chosen keys have: [L, H, T, T] -> [L, H, T]."""
    return np.take_along_axis(values, keys[..., None], -1)[..., 0]
