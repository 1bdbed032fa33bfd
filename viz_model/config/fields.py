"""Dataclasses read by their annotations: the types of their fields are checked, and JSON becomes what was meant."""

import dataclasses
import math
import reprlib
import types
import typing
from typing import Any, Literal

from viz_model.config.variant import ConfigError

_HINTS: dict[type, dict[str, Any]] = {}


def hints(owner: type[Any]) -> dict[str, Any]:
    """The fields of a dataclass and their annotations, resolved once."""
    if owner in _HINTS:
        return _HINTS[owner]
    found = typing.get_type_hints(owner)
    return _HINTS.setdefault(owner, {field.name: found[field.name] for field in dataclasses.fields(owner)})


def check_fields(value: Any) -> None:
    """Compare every field of a dataclass with its annotation.

    Raises:
        ConfigError: a field is of another type; the message begins with its name.
    """
    for field, kind in hints(type(value)).items():
        _check_type(field, getattr(value, field), kind)


def members(kind: Any) -> tuple[type[Any], ...]:
    """The dataclasses among the members of a union."""
    options: tuple[type[Any], ...] = _options(kind)
    return tuple(option for option in options if dataclasses.is_dataclass(option))


def _options(kind: Any) -> tuple[Any, ...]:
    is_union = isinstance(kind, types.UnionType) or typing.get_origin(kind) is typing.Union
    return typing.get_args(kind) if is_union else (kind,)


def _check_type(field: str, value: Any, kind: Any) -> None:
    """Compare a value with its annotation: from JSON, a number may be a string or a flag a number."""
    if not any(_fits(value, option) for option in _options(kind)):
        raise ConfigError(f"{field}: expected {_describe(kind)}, got {reprlib.repr(value)}")
    for part in value if isinstance(value, tuple) else (value,):
        if dataclasses.is_dataclass(part) and not isinstance(part, type):
            for name, inner in hints(type(part)).items():
                _check_type(f"{field}: {name}", getattr(part, name), inner)


def _fits(value: Any, kind: Any) -> bool:
    if typing.get_origin(kind) is Literal:
        return isinstance(value, str) and value in typing.get_args(kind)
    if typing.get_origin(kind) is tuple:
        return isinstance(value, tuple) and all(_fits(item, typing.get_args(kind)[0]) for item in value)
    if kind is float:
        return isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value)
    if kind is int:
        return isinstance(value, int) and not isinstance(value, bool)
    return isinstance(value, kind)


def _describe(kind: Any) -> str:
    if variants := members(kind):
        return "one of " + ", ".join(variant.__name__ for variant in variants)
    return " or ".join(_describe_one(option) for option in _options(kind))


def _describe_one(kind: Any) -> str:
    if typing.get_origin(kind) is Literal:
        return f"one of {typing.get_args(kind)}"
    names = {int: "a whole number", float: "a number", bool: "true or false", str: "a text", type(None): "null"}
    names |= {tuple[int, ...]: "whole numbers", tuple[float, ...]: "numbers", tuple[str, ...]: "texts"}
    return names.get(kind, "rows of numbers")


def plain(value: Any) -> Any:
    """A value as JSON has it: a dataclass becomes ``{"type": name, **parameters}``, a tuple a list."""
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        inner = {field.name: plain(getattr(value, field.name)) for field in dataclasses.fields(value)}
        return {"type": type(value).__name__, **inner}
    return [plain(item) for item in value] if isinstance(value, tuple) else value


def rich(field: str, given: Any, kind: Any) -> Any:
    """A JSON value as its annotation wants it: lists become tuples, typed objects their variant.

    Raises:
        ConfigError: an unknown variant, or a parameter that it does not have.
    """
    if isinstance(given, list):
        inner = typing.get_args(kind)[0] if typing.get_origin(kind) is tuple else None
        return tuple(rich(field, item, inner) for item in given) if inner is not None else tuple(given)
    if not (variants := members(kind)) or given is None:
        return given
    if not isinstance(given, dict) or "type" not in given:
        raise ConfigError(f'{field}: expected an object with a "type", got {given!r}')
    for variant in variants:
        if variant.__name__ == given["type"]:
            own = hints(variant)
            parameters = {key: value for key, value in given.items() if key != "type"}
            try:
                return variant(**{key: rich(field, value, own.get(key)) for key, value in parameters.items()})
            except TypeError as wrong:
                raise ConfigError(f"{field}: {wrong}") from None
    raise ConfigError(f"{field}: unknown variant {given['type']!r}")
