"""Rotary positions as config files spell them, in two generations.

Older files have ``rope_theta`` beside ``rope_scaling``, newer ones both in ``rope_parameters``.
"""

import math
from collections.abc import Sequence
from dataclasses import replace

from viz_model.checkpoints.families import windows
from viz_model.checkpoints.families.attributes import Attributes
from viz_model.checkpoints.weights import ModelError
from viz_model.config import LinearScaling, Llama3Scaling, LongScaling, Rope, RopeScaling, YarnScaling

TRAINED = "original_max_position_embeddings"
TYPES = ("default", "dynamic", "linear", "llama3", "longrope", "yarn")
ACROSS = "proportional"
"""Pairs run over the whole head, of which a part turns; no scaling."""
PROPORTIONAL = Rope(fraction=0.25, over="head")
"""What Gemma 4's layers that see all have where a file says nothing."""


def read(attributes: Attributes, n_context: int, base: float = 10_000.0, share: float | None = None) -> Rope:
    """The rotation that a config asks for; pairs are i and i + half.

    Args:
        base: where the config names none.
        share: of each head's width that is turned, where the config names none; a family without this argument
            turns all of it, and its configs may not say otherwise.

    Raises:
        ModelError: a kind of scaling that depends on the text's length or is unknown.
    """
    base = attributes.number("rope_theta", base)
    if share is not None:
        share = attributes.number("partial_rotary_factor", share)
    old, new = attributes.inner("rope_scaling"), attributes.inner("rope_parameters")
    if old is not None and new is not None:
        raise ModelError(f"{attributes.path}: rope_scaling: stands beside rope_parameters, expected one of the two")
    inner, trained = new or old, attributes.size(TRAINED) if TRAINED in attributes else None
    if inner is None:
        return Rope(base=base, fraction=1.0 if share is None else share)
    found = within(inner, n_context, base, share, trained)
    inner.finish()
    return found


def within(
    inner: Attributes, n_context: int, base: float, share: float | None = None, trained: int | None = None
) -> Rope:
    """The rotation that one object of a config describes; ``trained`` is the context of the first training, where it
    stands beside the object: Phi-3's files have it there, and Transformers prefers it.
    """
    base = inner.number("rope_theta", base)
    inner.no_effect(["mrope_section", "mrope_interleaved"])  # of pictures: the three positions of a token are one
    if share is None:
        inner.one_value("partial_rotary_factor", 1.0)
    else:
        share = inner.number("partial_rotary_factor", share)
    return Rope(base=base, fraction=1.0 if share is None else share, scaling=_scaling(inner, n_context, trained))


def by_kind(
    a: Attributes, n_context: int, everywhere: float, nearby: float, far: Rope | None = None
) -> tuple[Rope, Rope]:
    """The rotation of layers that see all, and of those that see a window; their bases where the file names none.

    ``far`` is the former where the file says nothing, of a family in which it may be :data:`ACROSS`.
    """
    parameters, found = a.inner("rope_parameters"), []
    for name, base in ((windows.SEES_ALL, everywhere), (windows.SLIDES, nearby)):
        inner = None if parameters is None else parameters.inner(name)
        if inner is None:
            found.append(replace(far if far and name == windows.SEES_ALL else Rope(), base=base))
        elif far is not None and inner.plain.get("rope_type") == ACROSS:
            found.append(_across(inner, base))
        else:
            found.append(within(inner, n_context, base))
        if inner is not None:
            inner.finish()
    if parameters is not None:
        parameters.finish()
    return found[0], found[1]


def _across(inner: Attributes, base: float) -> Rope:
    inner.no_effect(["rope_type"])
    share, factor = inner.number("partial_rotary_factor", 1.0), inner.number("factor", 1.0)
    scaling = None if factor == 1 else LinearScaling(factor=factor)
    return Rope(base=inner.number("rope_theta", base), fraction=share, over="head", scaling=scaling)


def of_words(kinds: Sequence[str], everywhere: Rope, nearby: Rope) -> tuple[Rope, ...]:
    """For each layer its rotation; empty where no layer has a window."""
    found = tuple(nearby if kind == windows.SLIDES else everywhere for kind in kinds)
    return found if windows.SLIDES in kinds else ()


def _scaling(inner: Attributes, n_context: int, trained: int | None) -> RopeScaling | None:
    name = "rope_type" if "rope_type" in inner else "type"
    kind = inner.choice(name, {word: word for word in TYPES}, "default")
    inner.no_effect(["type"])
    if kind == "dynamic":  # the rotation changes only in texts beyond the context, which are not read here
        inner.number("factor")
        inner.no_effect([TRAINED])
        return None
    if kind == "default":
        return None
    if kind == "linear":
        return LinearScaling(factor=inner.number("factor"))
    original = inner.size(TRAINED, n_context) if trained is None else trained
    inner.no_effect([TRAINED])
    if kind == "longrope":
        return _long(inner, original, n_context / original)
    factor = inner.number("factor")
    if kind == "llama3":
        return Llama3Scaling(
            factor=factor,
            low_freq_factor=inner.number("low_freq_factor"),
            high_freq_factor=inner.number("high_freq_factor"),
            original_context=original,
        )
    inner.one_value("attn_factor", 1.0)
    lengthened = inner.number("attention_factor") if "attention_factor" in inner else None
    two = {name: inner.number(name, 0.0) for name in ("mscale", "mscale_all_dim")}
    if lengthened is None and all(two.values()):  # DeepSeek's spelling: one of them alone says nothing
        one, all_of_it = (0.1 * share * math.log(max(factor, 1.0)) + 1 for share in two.values())
        lengthened = one / all_of_it
    if lengthened is None and factor <= 1:
        lengthened = 1.0  # the paper's fit holds above 1
    return YarnScaling(
        factor=factor,
        original_context=original,
        beta_fast=inner.number("beta_fast", 32.0),
        beta_slow=inner.number("beta_slow", 1.0),
        attention_factor=lengthened,
        truncate=inner.flag("truncate", True),
    )


def _long(inner: Attributes, original: int, longer: float) -> LongScaling:
    """LongRoPE as it stands for texts of the first training's length; the other factors are for longer ones."""
    factor = inner.number("factor", longer)
    inner.no_effect(["long_factor", "long_mscale", "short_mscale"])
    fit = math.sqrt(1 + math.log(factor) / math.log(original)) if factor > 1 < original else 1.0
    return LongScaling(
        factors=inner.numbers("short_factor", ()),
        attention_factor=inner.number("attention_factor", fit),
        original_context=original,
    )
