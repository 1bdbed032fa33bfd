"""Short stories from a small grammar, in English and in Chinese: a text that a tiny model learns something from.

A story chooses who it is about, a friend, a thing and a place, and then tells of them until its end.
Whoever predicts its next word does well to look back at how it began.
"""

import random
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

Slots = Sequence[Sequence[str]]
"""Sentences of a plot in their order: of each, the ways to say it."""


@dataclass(frozen=True)
class Grammar:
    """The words and plots of one language, as ``samples.toml`` tells them.

    Attributes:
        people: of each sort of hero the ``forms`` of its pronoun, by placeholder, and the ``names``.
        kinds: what such a hero is called at first.
        words: the other choices of a story, by placeholder.
        plots: any one of these is told, between an opening and an ending.
        joint: what stands between sentences.
    """

    people: Mapping[str, Mapping[str, Any]]
    kinds: Mapping[str, Sequence[str]]
    words: Mapping[str, Sequence[str]]
    openings: Slots
    plots: Sequence[Slots]
    endings: Slots
    joint: str


def stories(language: str, n: int, seed: int = 0) -> list[str]:
    """``n`` stories in English ("en") or Chinese ("zh"); the same arguments give the same stories.

    Raises:
        ValueError: there is no grammar of the language, or ``n`` is negative.
    """
    if language not in GRAMMARS:
        raise ValueError(f"language: expected one of {', '.join(GRAMMARS)}, got {language!r}")
    if n < 0:
        raise ValueError(f"n: expected a number of at least 0, got {n}")
    rng = random.Random(f"{language} {seed}")
    return [_story(GRAMMARS[language], rng) for _ in range(n)]


def _story(grammar: Grammar, rng: random.Random) -> str:
    said = {name: rng.choice(options) for name, options in grammar.words.items()}
    names: list[str] = []
    for who in ("hero", "friend"):
        sort = rng.choice(list(grammar.people))
        names.append(rng.choice([name for name in grammar.people[sort]["names"] if name not in names]))
        said |= {who: names[-1], f"{who}_kind": rng.choice(grammar.kinds[sort])}
        said |= {f"{who}_{form}": word for form, word in grammar.people[sort]["forms"].items()}
    slots = [*grammar.openings, *rng.choice(grammar.plots), *grammar.endings]
    return grammar.joint.join(rng.choice(ways).format_map(said) for ways in slots)


_FILE = Path(__file__).with_suffix(".toml")
GRAMMARS = {language: Grammar(**told) for language, told in tomllib.loads(_FILE.read_text(encoding="utf-8")).items()}

OWN_TEXT = {
    "en": "The old lamp in the kitchen was broken. Mia asked her father to help. Together they found a new bulb, "
    "and soon the room was bright again. Mia smiled and said thank you.",
    "zh": "小猫在河边玩，看见一条大鱼。它想吃鱼，可是不会游泳。妈妈说：“我们回家吧。”小猫高兴地跟着妈妈走了。",
    "fr": "Le chat dort sur la chaise.",
}
"""Written for this purpose and never trained on: whoever has no corpus can check the weights with it."""
