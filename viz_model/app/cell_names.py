"""Numbers of a run in words: where one stands, which tokens its place stands for, and how large it is."""

import math
from collections.abc import Callable, Mapping

import viz_model as vm
from viz_model.config import ModelConfig
from viz_model.drawing.digits import power_of_ten
from viz_model.explain import backward
from viz_model.model import sites
from viz_model.runs.derivation import Cell, Step
from viz_model.texts import Texts
from viz_model.texts.markdown import literal
from viz_model.values.declaration import Site
from viz_model.values.leaves import Index

_NAMED_AXES: Mapping[str, Callable[[ModelConfig], bool]] = {
    **dict.fromkeys(("T", "Tq", "Tk", "H", "G", "D", "K", "F", "V"), lambda config: True),
    **dict.fromkeys(("E", "N"), lambda config: config.has_experts),
    **dict.fromkeys(("P", "U"), lambda config: config.reads_pictures),
    "Y": lambda config: bool(config.classes),
}
"""Axes that the texts have words for, and which models have them; any other is called by its letter."""


def of_what(name: str) -> str:
    """The value or weight that a gradient is by; of what is no gradient its own name."""
    found = backward.NAME.fullmatch(name)
    return found[3] if found else name


def site_of(trace: vm.Trace, name: str) -> Site:
    """How a value, or a gradient, is declared.

    Raises:
        LookupError: this model has none of that name.
    """
    found = backward.NAME.fullmatch(name)
    if found is None:
        return sites.find(name, trace.config)
    return backward.declared(trace.config, int(found[1]), int(found[2]), found[3])


def label_of(site: Site, t: Texts) -> str:
    """What a declared value is called in words; of a gradient, by what it is one."""
    own, label = of_what(site.full), t.site_label(site)
    if own == site.full:
        return label
    return t("derivation.gradient", label=t("derivation.of_weight") if site.label == own else label)


def where(trace: vm.Trace, cell: Cell, t: Texts) -> str:
    """Where a number stands: layer, head, tokens, dimension."""
    site, own = site_of(trace, cell.site), of_what(cell.site)
    if own not in sites.table(trace.config):  # the gradient of a weight
        return t("derivation.weight_at", name=literal(own), index=literal(str(list(cell.index))))
    side, name = sites.split_side(own)
    layer, _ = sites.split_name(name)
    said = [t(f"derivation.at_{side}")] if side else []
    said += [t("derivation.at_layer", n=layer)] if layer is not None else []
    keys = {"Tq": "from", "Tk": "to"} if {"Tq", "Tk"} <= set(site.axes) else {"Tq": "T", "Tk": "T"}
    for letter, n in zip(site.index, cell.index, strict=False):
        key = keys.get(letter.axis, named_axis(letter.axis, trace.config))
        token = literal(place(trace, letter, n))
        said.append(t(f"derivation.at_{key}", n=n, token=token, axis=letter.axis))
    return t("derivation.comma").join(said)


def named_axis(axis: str, config: ModelConfig) -> str:
    """An axis that texts have a word for; "other" is one of a part's own, whose letter may be that of another part."""
    return axis if axis in _NAMED_AXES and _NAMED_AXES[axis](config) else "other"


def place(trace: vm.Trace, index: Index, n: int) -> str:
    """The text that a number of an index stands for: a token of the sentence, or a word of the vocabulary."""
    if index.axis == "V":
        return trace.tokenizer.token(n).label
    return tokens(trace, index)[n].label if index.size is None else ""


def tokens(trace: vm.Trace, index: Index) -> tuple[vm.Token, ...]:
    """The tokens that an index counts."""
    side, _ = sites.split_side(index.stack)
    return trace.at(side or trace.config.sides[-1]).tokens


def shape(trace: vm.Trace, site: Site) -> tuple[int, ...]:
    """The sizes of a site in this run, without making it."""
    return site.length(trace.whole.reader.length)


def what(step: Step, t: Texts) -> str:
    """What a step does, in words."""
    facts = step.facts
    match step.what:
        case "token":
            key = "what_token_control" if facts["control"] else "what_token"
            values = {"text": literal(str(facts["text"])), "bytes": literal(str(facts["bytes"]))}
            return t(f"derivation.{key}", id=int(step.result), **values)
        case "patch":
            key = "what_patch" if step.result else "what_patch_cls"
            return t(f"derivation.{key}", n=int(step.result), text=literal(str(facts["text"])))
        case "bucket":
            return t(
                "derivation.what_bucket_open" if facts["open"] else "derivation.what_bucket",
                bucket=int(step.result),
                **facts,
            )
        case "top":
            key = "what_top_kept" if facts["visible"] else "what_top_left"
            return t(f"derivation.{key}", rank=str(facts["rank"]), k=str(facts["k"]))
        case "mask":
            return t("derivation.what_mask_visible" if facts["visible"] else "derivation.what_mask_hidden")
    return t(f"derivation.what_{step.what}")


def name_of(cell: Cell) -> str:
    """A number by its name and index, literally."""
    own = of_what(cell.site)
    return literal(("" if own == cell.site else "∂L/∂") + str(Cell(own, cell.index)))


def code_of(cell: Cell) -> str:
    """Python that reads the number."""
    found = backward.NAME.fullmatch(cell.site)
    if found is None:
        return f'trace["{cell.site}"]{list(cell.index)}'
    return f'vm.explain.gradients(trace, {found[1]}, {found[2]}).read("{found[3]}")[{", ".join(map(str, cell.index))}]'


def written(value: float, digits: int = 4) -> str:
    """A number for prose: 0.1234, −∞, 2·10⁻⁷."""
    if not math.isfinite(value):
        return "NaN" if math.isnan(value) else "−∞" if value < 0 else "∞"
    mantissa, _, exponent = f"{value:.{digits}g}".partition("e")
    power = f"·{power_of_ten(int(exponent))}" if exponent else ""
    return mantissa.replace("-", "−") + power
