"""The plan of a stack: the values that it declares, in order, put together to steps that two models can share."""

import difflib
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from viz_model.config import Attending, FeedForwardScheme, ModelConfig, Side
from viz_model.model import sites
from viz_model.values.declaration import Site

ACTIVATIONS = {
    "relu": "ReLU",
    "gelu": "GELU",
    "gelu_tanh": "GELU (tanh)",
    "silu": "SiLU",
    "relu2": "ReLU²",
    "gelu_quick": "GELU (x·σ(1.702x))",
}


class Element(NamedTuple):
    """A step of a stack.

    Attributes:
        key: its place, ``attn.scores``: the part of the model and the step.
        text_key: of what stands there, filled with ``values``; empty where the texts know of no such step.
        role: its color.
        sites: the values that it makes.
        variant: the class that the text is of, where it is one of several.
    """

    key: str
    text_key: str
    role: str
    sites: tuple[Site, ...]
    values: Mapping[str, str] = {}
    variant: str = ""

    @property
    def told(self) -> tuple[object, ...]:
        """What two elements agree in that say the same; of an unknown step, its formulas."""
        formulas = () if self.text_key else tuple(site.formula for site in self.sites)
        return self.text_key, self.values, formulas


# Values that are one step together, by the part they are of. Every other value is a step by itself.
_ATTENTION = {
    **dict.fromkeys(("q", "k", "v", "v_plain"), "heads"),
    **dict.fromkeys(("q_normed", "k_normed", "v_scale"), "qk_norm"),
    **dict.fromkeys(("q_rotated", "k_rotated"), "rotate"),
    **dict.fromkeys(("mask", "masked", "pattern"), "softmax"),
    **dict.fromkeys(("z", "head_out"), "out"),
}
_FFN = {
    "gate": "up",
    **dict.fromkeys(("gate_act", "up_kept", "expert_up_kept"), "act"),
    **dict.fromkeys(("probs", "wanted", "grouped", "best", "group", "masked", "kept", "chosen"), "router"),
    **dict.fromkeys(("expert_gate", "expert_up"), "up"),
    **dict.fromkeys(("expert_gate_act", "expert_act"), "act"),
    "expert_out": "out",
    "shared_gate": "shared",
}
_INPUT = dict.fromkeys(("gate", "act", "out"), "let_in")
_STEPS = {"attn": _ATTENTION, "cross": _ATTENTION, "ffn": _FFN, "input": _INPUT}
_KNOWN = {
    "attn": {*_ATTENTION.values(), "scores", "capped", "bias"},
    "cross": {*_ATTENTION.values(), "scores", "capped"},
    "ffn": {*_FFN.values(), "router"},
    "input": {*_INPUT.values()},
}
"""Steps that a part alone has, and so the texts of them."""
_ROLES = {"qk_norm": "norm", "bias": "position"}


def activation(ffn: FeedForwardScheme) -> dict[str, str]:
    """What its activation is called; nothing where that has no name."""
    name = ffn.activation
    return {"activation": ACTIVATIONS.get(name, name)} if name else {}


def plan(config: ModelConfig, side: Side, layer: int = 0) -> tuple[Element, ...]:
    """The steps of a stack with one of its blocks, from the tokens up."""
    boxes: dict[str, list[Site]] = {}
    for site, is_inside in _sites(config, side, layer):
        on_branch = is_inside and config.norm_place(side) == "branch"
        name = "embed.project" if site.name == "embed.out" and site.weights else site.name
        boxes.setdefault(_place(name, is_inside, boxes, on_branch=on_branch), []).append(site)
    boxes.setdefault("end.head", [])
    return tuple(_element(key, tuple(made), config, side, layer) for key, made in boxes.items())


def _sites(config: ModelConfig, side: Side, layer: int) -> Iterator[tuple[Site, bool]]:
    """The values of a stack and of one of its blocks, and whether they are the block's."""
    for full, site in sites.in_order(config):
        own, name = sites.split_side(full)
        at, _ = sites.split_name(name)
        if (own or config.sides[-1]) == side and at in (None, layer):
            yield site, at is not None


def _place(name: str, is_inside: bool, boxes: dict[str, list[Site]], *, on_branch: bool = False) -> str:
    """The key of the step that makes a value, given the steps before; norms may stand on the branches."""
    group, _, step = name.partition(".")
    step = step.partition(".")[0]
    if name in ("embed.out", "resid.in"):  # what the steps before have made
        return next(reversed(boxes))
    if not is_inside:
        step = step.partition("_")[0] if step.startswith("second") else step
        return {"tokens": "embed.token", "embed": f"embed.{step}", "final": "end.norm"}.get(group, "end.head")
    if group == "resid":
        return f"{_group(next(reversed(boxes)))}.add"
    if step == "norm" and on_branch:
        return f"{group}.out_norm"
    if step == "norm":
        if not any(_group(key) == group and key != f"{group}.norm_pre" for key in boxes):
            return f"{group}.norm_pre"
        boxes.setdefault(f"{group}.add", [])
        return f"{group}.norm_post"
    return f"{group}.{_STEPS.get(group, {}).get(step, step)}"


def _is_of_another(group: str, step: str) -> bool:
    """Whether a part has called a value of its own like a step that only another part has."""
    own = _KNOWN.get(group, set())
    return bool(own) and step not in own and any(step in known for known in _KNOWN.values())


def _group(key: str) -> str:
    return key.partition(".")[0]


def _element(key: str, made: tuple[Site, ...], config: ModelConfig, side: Side, layer: int) -> Element:
    """A step with its text: by its place, by what the config says of it, or by the class of its variant."""
    group, _, step = key.partition(".")
    own, is_cross = config.layer(side, layer), group == "cross"
    sizes, mixer = config.of_layer(side, layer), own.mixer if isinstance(own.mixer, Attending) else Attending()
    text_key, values, variant = "", {}, ""
    match "" if _is_of_another(group, step) else step:
        case "norm_pre" if config.parallel and group == "ffn":
            text_key = "plan_norm_shared" if config.shared_norm else "plan_norm_parallel"
            values = {"norm": _name(config.norm)}
        case "norm_pre" if group == "attn" and not layer and not config.first_norm:
            text_key = "plan_no_norm"
        case "norm" | "norm_pre" | "norm_post" | "out_norm" | "qk_norm":
            text_key, values = "plan_qk_norm" if step == "qk_norm" else "plan_norm", {"norm": _name(config.norm)}
            text_key = "plan_qkv_norm" if step == "qk_norm" and mixer.value_norm else text_key
            text_key = "plan_q_norm" if step == "qk_norm" and mixer.keys_of is not None else text_key
        case "token":
            text_key = "plan_token_scaled" if config.scale_embedding else "plan_token"
        case "segment":
            text_key = "plan_segment"
        case "project":
            text_key, values = "plan_project", {"narrow": str(config.d_embedding), "width": str(config.d_model)}
        case "position" | "rotate" | "bias":
            variant = _name(config.position if group == "embed" else own.position)
            text_key = f"plan_{variant.lower()}"
        case "add":
            text_key = "plan_add" if config.residual else "plan_replace"
            if made and made[-1].name == "resid.out" and config.block_scale:
                text_key = f"{text_key}_scaled"
        case "second":
            text_key, values = "plan_second", {"width": f"{config.d_layer_input:,}"}
        case "let_in":
            text_key, values = "plan_let_in", activation(own.ffn)
        case "heads":
            text_key = "plan_heads_cross" if is_cross else "plan_heads"
            values = {"h": str(sizes.n_heads), "g": str(sizes.n_kv_heads), "k": str(sizes.d_head)}
            if mixer.keys_of is not None:
                text_key, values = "plan_heads_read", {"h": values["h"], "layer": str(mixer.keys_of), "k": values["k"]}
            elif mixer.values_of_keys:
                text_key = "plan_heads_of_keys"
        case "scores":
            text_key = "plan_scores" if config.scale_scores else "plan_scores_unscaled"
            if config.scale_scores and not config.divides_by_root:
                text_key, values = "plan_scores_width", {"n": f"{config.root_of:g}"}
        case "capped":
            text_key, values = "plan_capped", {"cap": f"{config.score_cap:g}"}
        case "softmax":
            sees = "source" if is_cross else "past" if side == "decoder" else "all"
            text_key = f"plan_softmax_{sees}" + ("_window" if own.window and not is_cross else "")
        case "out" if group != "ffn":
            text_key, values = "plan_out" if len(made) > 1 else "plan_written", {"bias": _bias(made)}
        case "router" | "up" | "act" | "out" | "shared" if (routed := own.experts) is not None:
            text_key, variant = f"plan_expert_{step}", _name(routed)
            width = routed.d_shared if step == "shared" else routed.width(config.d_ffn)
            values = {
                "n": str(routed.n_experts),
                "k": str(routed.top_k),
                "width": f"{config.d_model if step == 'out' else width:,}",
                "bias": "" if step == "shared" else _bias(made),
                **{name: said + " ⊙" * routed.gated for name, said in activation(routed).items()},
            }
        case "up" | "act" | "out":
            made_of = [site.name.removeprefix("ffn.") for site in made if site.name != "ffn.up_kept"]
            text_key = "plan_back" if made_of == ["out"] else "_".join(("plan", *made_of))
            if (step == "up" and not _widen(made)) or (step == "act" and own.ffn.activation is None):
                text_key = ""
            variant = _name(own.ffn)
            values = {"width": f"{made[-1].index[-1].size:,}", "bias": _bias(made), **activation(own.ffn)}
        case "head" if made:
            # The size of the vocabulary is a row of the table; here it would make every two heads differ.
            variant = _name(config.head)
            text_key, cap = f"plan_{variant.lower()}", getattr(config.head, "cap", None)
            if cap is not None:
                text_key, values = f"{text_key}_capped", {"cap": f"{cap:g}"}
        case "head":
            text_key = "plan_read_by_decoder" if len(config.sides) > 1 else "plan_vectors"
    role = _ROLES.get(step, made[0].role if made else "residual")
    return Element(key, text_key, role, made, values, variant)


def _name(variant: object) -> str:
    return type(variant).__name__


def _widen(made: Sequence[Site]) -> bool:
    """Whether values are products of a token's vector with a matrix, all with a bias or all without."""
    read = {weight.axes[1:] for site in made for weight in site.weights if len(weight.axes) > 1}
    return all(site.is_linear for site in made) and read == {("D",)} and len({_bias([site]) for site in made}) == 1


def _bias(made: Sequence[Site]) -> str:
    return (
        " + b"
        if any(weight.name.endswith((".bias", "down_bias.weight")) for site in made for weight in site.weights)
        else ""
    )


def slots(first: Sequence[Element], second: Sequence[Element]) -> tuple[str, ...]:
    """Every place that either of two plans uses, from the bottom up, part by part in the order of both."""
    plans = [[element.key for element in plan_] for plan_ in (first, second)]
    groups = _merged(*(tuple(dict.fromkeys(map(_group, keys))) for keys in plans))
    return tuple(
        key for group in groups for key in _merged(*([key for key in keys if _group(key) == group] for keys in plans))
    )


def _merged(first: Sequence[str], second: Sequence[str]) -> tuple[str, ...]:
    """Both, each in its own order wherever the other allows it."""
    found: list[str] = []
    for _, a, b, c, d in difflib.SequenceMatcher(None, first, second, autojunk=False).get_opcodes():
        found += [*first[a:b], *second[c:d]]
    return tuple(dict.fromkeys(found))


def differing(first: Sequence[Element], second: Sequence[Element]) -> frozenset[str]:
    """The places where two plans do not say the same, or only one says anything."""
    left, right = ({element.key: element.told for element in plan_} for plan_ in (first, second))
    return frozenset(key for key in left.keys() | right.keys() if left.get(key) != right.get(key))


def alike(config: ModelConfig, side: Side, layer: int) -> tuple[int, ...]:
    """The layers of a stack whose blocks are built like that of ``layer``."""
    return tuple(i for i in range(config.depth(side)) if config.layer(side, i) == config.layer(side, layer))
