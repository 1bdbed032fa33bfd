"""How a model is trained: everything its result depends on, in one value, read from one file a model.

The files stand in ``recipes/``. Each is complete, so that two of them can be compared line by line.
"""

import json
import math
import tomllib
from collections.abc import Mapping
from dataclasses import MISSING, asdict, dataclass, fields, replace
from functools import cache
from pathlib import Path
from typing import Any, Literal

from viz_model.config import ConfigError, Kind, ModelConfig

RECIPES = Path(__file__).parent / "recipes"
INDEX = Path(__file__).parents[1] / "models" / "index.json"


class RecipeError(ValueError):
    """A recipe that cannot be trained. The message begins with the name of the wrong field."""


@dataclass(frozen=True, kw_only=True)
class NextToken:
    """Predict every next token of packed text. A step reads ``rows[language]`` windows of each language."""

    rows: Mapping[str, int]


@dataclass(frozen=True, kw_only=True)
class MaskedToken:
    """Predict tokens that are hidden (Devlin et al. 2019, section 3.1, task 1).

    A share ``rate`` of the tokens is asked for (of held-out text always 15 %, as in the paper): of
    those 80 % become the mask, 10 % another token and 10 % stay. A step reads documents of about
    ``tokens`` tokens together, padding counted.
    """

    tokens: int
    rate: float = 0.15


@dataclass(frozen=True, kw_only=True)
class Translation:
    """Predict every token of a sentence's translation from the sentence and the tokens before it.

    A step reads pairs of about ``tokens`` tokens together, padding counted. An epoch reads every
    pair into a language ``repeats[language]`` times.
    """

    tokens: int
    repeats: Mapping[str, int]


@dataclass(frozen=True, kw_only=True)
class Classes:
    """Tell the class of a picture. A step reads ``pictures`` of the ``source``, each of them warped.

    A picture is turned by up to ``turn`` degrees either way, made larger or smaller by a share of up to ``scale``,
    slanted by up to ``slant`` pixels for each pixel of height, and shifted by up to ``shift`` pixels.
    """

    source: str
    pictures: int
    turn: float = 0.0
    scale: float = 0.0
    slant: float = 0.0
    shift: float = 0.0


@dataclass(frozen=True, kw_only=True)
class Transcription:
    """Predict every token of what a strip of digits says, from its picture and the tokens before it.

    A step reads ``pictures`` strips, half of them in each language. On each stand one to ``digits`` of the ``source``,
    side by side, turned and slanted like those of :class:`Classes`, ``smallest`` to ``largest`` times their size.
    """

    source: str
    pictures: int
    digits: int = 3
    turn: float = 0.0
    slant: float = 0.0
    smallest: float = 1.0
    largest: float = 1.0


Objective = NextToken | MaskedToken | Translation | Classes | Transcription
OBJECTIVES: dict[str, tuple[type[Objective], Kind]] = {
    "NextToken": (NextToken, "decoder"),
    "MaskedToken": (MaskedToken, "encoder"),
    "Translation": (Translation, "encoder_decoder"),
    "Classes": (Classes, "encoder"),
    "Transcription": (Transcription, "encoder_decoder"),
}
"""By name: the class, and the kind of model that it trains."""


OF_ROUNDS = ("peak_rate", "decay_steps", "weight_decay", "dropout")
"""The fields of a recipe that may differ from round to round."""


_WHOLE = {"accumulate": (1, 10**6), "seed": (0, 2**31), "validate_every": (1, 10**9), "aligned": (0, 10**9)}
_NUMBERS = {"final_share": 1.0, "clip": math.inf, "label_smoothing": 0.9, "balance": 10.0, "aligned_rate": 10.0}
"""Their largest values, from 0.0 on."""
_WORDS = {"decay": ("cosine", "linear"), "stored": ("half", "int8"), "optimizer": ("adamw", "muon")}


@dataclass(frozen=True)
class Round:
    """A part of a run with a warm-up, a peak and a fall of its own.

    Attributes:
        first: its first step; ``last`` is the one after its last.
        falls_at: the step at which its learning rate begins to fall.
    """

    first: int
    last: int
    falls_at: int
    peak_rate: float
    weight_decay: float
    dropout: float

    @property
    def n_steps(self) -> int:
        return self.last - self.first


@dataclass(frozen=True, kw_only=True)
class Recipe:
    """A config and the run that trains it.

    The learning rate climbs to ``peak_rate`` over ``warmup`` steps, stays there, and falls over the
    last ``decay_steps`` to ``final_share`` of the peak, along a cosine or a line. At each of
    ``restarts`` all of this begins again, from the weights reached and with a new optimizer: so a
    finished model is trained further (Loshchilov & Hutter 2017; Wen et al. 2024, WSD-S). What a round
    may have of its own, the fields in :data:`OF_ROUNDS`, is one number for all rounds or one for each.
    Weight decay is on matrices alone. One update gathers the gradient of a step's rows in
    ``accumulate`` portions, which changes the memory it takes and nothing else.
    """

    name: str
    config: ModelConfig
    objective: Objective
    steps: int
    peak_rate: float | tuple[float, ...] = 2e-3
    warmup: int = 400
    decay: Literal["cosine", "linear"] = "linear"
    decay_steps: int | tuple[int, ...] = 0
    """0 falls from the end of the warm-up on."""
    restarts: tuple[int, ...] = ()
    """Steps at which a new round begins, rising."""
    final_share: float = 0.0
    optimizer: Literal["adamw", "muon"] = "adamw"
    betas: tuple[float, float] = (0.9, 0.98)
    weight_decay: float | tuple[float, ...] = 0.1
    clip: float = 1.0
    dropout: float | tuple[float, ...] = 0.0
    label_smoothing: float = 0.0
    accumulate: int = 1
    seed: int = 0
    begin_from: str = ""
    """A bundled model of the same weights by name and shape, from which it begins; "" begins from random ones."""
    frozen: bool = False
    """Begin from a dense model, whose layers are cut into experts; all other weights stay as they are there."""
    aligned: int = 0
    """Steps before the first, in which DeltaNets alone learn to write what attention wrote in their place."""
    aligned_rate: float = 5e-3
    """The peak of their learning rate, which falls over the latter half of them."""
    balance: float = 0.0
    """What the balance of routers (:mod:`viz_model.training.upcycle`) is multiplied by in the loss."""
    validate_every: int = 500
    stored: Literal["half", "int8"] = "half"
    """How its weights are published: in half precision, or matrices in eight bits with a scale for each row."""

    def __post_init__(self) -> None:
        self._check_whole("steps", 1, 10**9)
        self._check_restarts()
        self._check_whole("warmup", 0, min(last - first for first, last in self._spans))
        self._check_of_rounds()
        for field, (least, most) in _WHOLE.items():
            self._check_whole(field, least, most)
        for field, limit in _NUMBERS.items():
            _check_between(field, getattr(self, field), 0.0, limit)
        if not isinstance(self.frozen, bool) or (self.frozen and not self.begin_from):
            raise RecipeError(f"frozen: expected true or false, and true with a begin_from, got {self.frozen!r}")
        if self.aligned and not (self.begin_from and self.config.has_states):
            raise RecipeError("aligned: expected 0 of a model that begins from no other, or has no DeltaNets")
        if not isinstance(self.begin_from, str):
            raise RecipeError(f"begin_from: expected the name of a bundled model, got {self.begin_from!r}")
        for field, (one, other) in _WORDS.items():
            if getattr(self, field) not in (one, other):
                raise RecipeError(f"{field}: expected {one} or {other}, got {getattr(self, field)!r}")
        if len(self.betas) != 2 or not all(isinstance(beta, int | float) and 0 <= beta < 1 for beta in self.betas):
            raise RecipeError(f"betas: expected two numbers from 0 to below 1, got {self.betas!r}")
        self._check_objective()

    def _check_whole(self, field: str, least: int, most: int) -> None:
        value = getattr(self, field)
        if not _is_whole(value) or not least <= value <= most:
            raise RecipeError(f"{field}: expected a whole number from {least} to {most}, got {value!r}")

    def _check_restarts(self) -> None:
        whole = all(_is_whole(step) for step in self.restarts)
        if not whole or any(last <= first for first, last in self._spans):
            raise RecipeError(f"restarts: expected rising steps between 0 and {self.steps}, got {self.restarts!r}")

    def _check_of_rounds(self) -> None:
        for field in OF_ROUNDS:
            told = getattr(self, field)
            if isinstance(told, tuple) and len(told) != len(self._spans):
                raise RecipeError(f"{field}: expected one number for each of {len(self._spans)} rounds, got {told!r}")
        limits = [last - first - self.warmup for first, last in self._spans]
        decays = self._of_rounds("decay_steps")
        if not all(_is_whole(decay) and 0 <= decay <= limit for decay, limit in zip(decays, limits, strict=True)):
            most = f"from 0 to {min(limits)}" if len(limits) == 1 else f"for each round, at most {limits}"
            raise RecipeError(f"decay_steps: expected a whole number {most}, got {self.decay_steps!r}")
        for field, largest in (("peak_rate", 10.0), ("weight_decay", 10.0), ("dropout", 0.9)):
            for value in self._of_rounds(field):
                _check_between(field, value, 0.0, largest)

    def _check_objective(self) -> None:
        match self.objective:
            case NextToken(rows=amounts) | Translation(repeats=amounts):
                of_languages = isinstance(amounts, Mapping) and amounts
                if not of_languages or not all(_is_whole(n) and n > 0 for n in amounts.values()):
                    raise RecipeError(f"objective: expected whole numbers above 0 by language, got {amounts!r}")
            case MaskedToken(rate=rate):
                if not isinstance(rate, float) or not 0 < rate < 1:
                    raise RecipeError(f"objective: rate: expected a number between 0 and 1, got {rate!r}")
            case Classes(source=source, pictures=pictures):
                self._check_pictures(
                    source, pictures, (("turn", 180.0), ("scale", 0.9), ("slant", 2.0), ("shift", 1e4))
                )
            case Transcription(source=source, pictures=pictures, digits=digits, smallest=smallest):
                self._check_pictures(source, pictures, (("turn", 180.0), ("slant", 2.0), ("largest", 4.0)))
                if not _is_whole(digits) or not 1 <= digits <= 8:
                    raise RecipeError(f"objective: digits: expected a whole number from 1 to 8, got {digits!r}")
                _check_between("objective: smallest", smallest, 0.1, self.objective.largest)
        tokens, name = getattr(self.objective, "tokens", 1), type(self.objective).__name__
        if not _is_whole(tokens) or tokens < 1:
            raise RecipeError(f"objective: tokens: expected a whole number above 0, got {tokens!r}")
        if self.config.kind != (needed := OBJECTIVES[name][1]):
            raise RecipeError(f"objective: {name} trains a {needed}, not {self.config.kind}")
        if isinstance(self.objective, Classes | Transcription) != self.config.reads_pictures:
            reads = "patches" if self.config.reads_pictures else "tokens"
            raise RecipeError(f"objective: {name} does not train what reads {reads}")
        if isinstance(self.objective, Classes) != bool(self.config.classes):
            raise RecipeError(f"objective: {name} does not train a {type(self.config.head).__name__}")
        if not (self.config.has_logits or self.config.classes):
            raise RecipeError("objective: a model without a head predicts no tokens")
        if getattr(self.config.head, "cap", None) is not None:
            raise RecipeError("head: cap: the loss here is that of logits as they are; a cap is read from checkpoints")

    def _check_pictures(self, source: Any, pictures: Any, most: tuple[tuple[str, float], ...]) -> None:
        if not isinstance(source, str) or not _is_whole(pictures) or pictures < 1:
            raise RecipeError(f"objective: pictures: expected a whole number above 0, got {pictures!r}")
        for name, limit in most:
            _check_between(f"objective: {name}", getattr(self.objective, name), 0.0, limit)

    @property
    def _spans(self) -> list[tuple[int, int]]:
        starts = [0, *self.restarts]
        return list(zip(starts, [*starts[1:], self.steps], strict=True))

    def _of_rounds(self, field: str) -> tuple[Any, ...]:
        return _each(getattr(self, field), len(self._spans))

    @property
    def rounds(self) -> tuple[Round, ...]:
        """The rounds, first to last: one, where nothing restarts."""
        found = []
        for (first, last), *own in zip(self._spans, *map(self._of_rounds, OF_ROUNDS), strict=True):
            peak_rate, decay_steps, weight_decay, dropout = own
            falls_at = last - decay_steps if decay_steps else first + min(self.warmup, last - first - 1)
            found.append(Round(first, last, falls_at, peak_rate, weight_decay, dropout))
        return tuple(found)

    def round_at(self, step: int) -> Round:
        """The round that a step belongs to."""
        return [each for each in self.rounds if each.first <= step][-1]

    def rate(self, step: int) -> float:
        """The learning rate of a step."""
        round_ = self.round_at(step)
        if step < round_.falls_at:
            return round_.peak_rate * min(1.0, (step - round_.first + 1) / max(1, self.warmup))
        progress = (step - round_.falls_at) / (round_.last - round_.falls_at)
        left = (1 + math.cos(math.pi * progress)) / 2 if self.decay == "cosine" else 1 - progress
        return round_.peak_rate * (self.final_share + (1 - self.final_share) * left)

    @property
    def falls_at(self) -> int:
        """The step at which the learning rate begins to fall for the last time."""
        return self.rounds[-1].falls_at

    def before(self, restart: int) -> "Recipe":
        """The recipe that ended where this one restarts."""
        restarts = tuple(step for step in self.restarts if step < restart)
        until: dict[str, Any] = {field: _shortest(self._of_rounds(field)[: len(restarts) + 1]) for field in OF_ROUNDS}
        return replace(self, steps=restart, restarts=restarts, **until)

    @property
    def fingerprint(self) -> str:
        """The recipe as text: equal for equal recipes."""
        return json.dumps({**asdict(self), "config": self.config.to_dict()}, sort_keys=True)

    @property
    def until_decay(self) -> str:
        """What the run depends on before its rate falls: equal for recipes that differ in their end alone."""
        return until_decay(self.fingerprint)


def completed(fingerprint: str) -> str:
    """A fingerprint as it is written now: fields that are younger than it have their defaults."""
    described = json.loads(fingerprint)
    described["config"] = ModelConfig.from_dict(described["config"]).to_dict()
    younger = {field.name: field.default for field in fields(Recipe) if field.default is not MISSING}
    return json.dumps({**younger, **described}, sort_keys=True)


def until_decay(fingerprint: str) -> str:
    """The part of a fingerprint that a run depends on before its rate falls."""
    described = json.loads(fingerprint)
    n_ended = len(described["restarts"])
    for field in OF_ROUNDS:
        described[field] = _each(described[field], n_ended + 1)
    described["decay_steps"] = described["decay_steps"][:n_ended]
    for field in ("steps", "decay", "final_share", "validate_every", "stored"):
        del described[field]
    return json.dumps(described, sort_keys=True)


def _each(told: Any, n: int) -> tuple[Any, ...]:
    """One value for each round of a field that may tell them one by one."""
    return tuple(told) if isinstance(told, tuple | list) else (told,) * n


def _shortest(values: tuple[Any, ...]) -> Any:
    """As a file would tell it: one number where all rounds have the same."""
    return values[0] if len({*values}) == 1 else values


def _check_between(field: str, value: Any, least: float, most: float) -> None:
    # Written so that NaN, which compares as false, is refused.
    if isinstance(value, bool) or not isinstance(value, int | float) or not least <= value <= most:
        raise RecipeError(f"{field}: expected a number from {least} to {most}, got {value!r}")


def _is_whole(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def parse(name: str, text: str) -> Recipe:
    """A recipe from its TOML.

    Raises:
        RecipeError: it is no TOML, a field is unknown, missing, or of a wrong value.
    """
    try:
        described: dict[str, Any] = tomllib.loads(text)
        for field in ("steps", "objective", "config"):
            if field not in described:
                raise RecipeError(f"{field}: missing")
        unknown = described.keys() - {field.name for field in fields(Recipe)} | described.keys() & {"name"}
        if unknown:
            raise RecipeError(f"{min(unknown)}: unknown")
        described["config"] = ModelConfig.from_dict(described["config"])
        described["objective"] = _objective(described["objective"])
        for field in ("betas", "restarts", *OF_ROUNDS):
            if isinstance(described.get(field), list):
                described[field] = tuple(described[field])
        return Recipe(name=name, **described)
    except ConfigError as error:
        raise RecipeError(f"config: {error}") from None
    except (tomllib.TOMLDecodeError, TypeError) as error:
        raise RecipeError(f"recipe {name}: {error}") from None


def _objective(described: Any) -> Objective:
    kind = described.get("type") if isinstance(described, dict) else None
    if kind not in OBJECTIVES:
        raise RecipeError(f"objective: type: expected one of {', '.join(OBJECTIVES)}, got {kind!r}")
    try:
        return OBJECTIVES[kind][0](**{name: value for name, value in described.items() if name != "type"})
    except TypeError as error:
        raise RecipeError(f"objective: {error}") from None


@cache
def names() -> tuple[str, ...]:
    """The bundled recipes, in the order in which their models are listed."""
    order = json.loads(INDEX.read_text(encoding="utf-8"))["models"]
    return tuple(name for name in order if (RECIPES / f"{name}.toml").exists())


def load(name: str) -> Recipe:
    """The recipe of a bundled model.

    Raises:
        RecipeError: there is none of this name, or its file is damaged.
    """
    path = RECIPES / f"{name}.toml"
    if name not in names():
        raise RecipeError(f"no recipe {name!r}: there are {', '.join(names())}")
    return parse(name, path.read_text(encoding="utf-8"))


def twin(recipe: Recipe) -> str | None:
    """The bundled recipe that differs in the place of the norm and in nothing else, if there is one."""
    flipped = replace(recipe.config, norm_at="post" if recipe.config.norm_at == "pre" else "pre")
    wanted = replace(recipe, config=flipped)
    return next((name for name in names() if replace(load(name), name=recipe.name) == wanted), None)
