"""A dense model becomes one with experts, each of which begins as a part of the network that stood in its place; and
the auxiliary loss that keeps a router from sending all tokens to a few of them.
"""

import contextlib
from collections.abc import Callable, Iterator
from typing import TypeVar

import torch
from torch import Tensor, nn

from viz_model.config import Experts as ExpertsConfig
from viz_model.model import ops
from viz_model.model.feedforward import Dense, Experts
from viz_model.model.transformer import Transformer
from viz_model.training.checkpoint import TrainingError


@torch.no_grad()
def upcycle(model: Transformer, dense: Transformer) -> tuple[str, ...]:
    """Fill ``model`` from a model that differs from it in having no experts (Komatsuzaki et al. 2023).

    The hidden neurons of a dense layer are cut into ``top_k`` pieces, and experts 0, k, 2k, … begin with the first,
    experts 1, k + 1, … with the second. The router's rows are alike for the k experts that hold the pieces of one
    copy, so that it chooses a whole copy and the model begins with the outputs of the dense one (He et al. 2024,
    section 3.2, virtual groups). Nothing but those rows is random.

    Returns:
        The names of the parameters that both have, which now hold the dense model's values.

    Raises:
        TrainingError: the two differ in something else, or the dense layers cannot be cut so.
    """
    common, sources = copy_common(model, dense, Experts), dict(dense.named_modules())
    for name, layer in model.named_modules():
        if isinstance(layer, Experts):
            source = sources[name]
            if not isinstance(source, Dense):
                raise TrainingError(f"begin_from: {name}: {type(source).__name__} cannot be cut into experts")
            _cut(source, layer)
    return common


def copy_common(model: Transformer, other: Transformer, own: type[nn.Module]) -> tuple[str, ...]:
    """Copy all parameters but those of the parts of a kind that ``model`` alone has; the names of those copied.

    Raises:
        TrainingError: the other lacks one.
    """
    theirs, common = dict(other.named_parameters()), []
    apart = tuple(f"{name}." for name, part in model.named_modules() if isinstance(part, own))
    for name, parameter in model.named_parameters():
        if name.startswith(apart):
            continue
        if name not in theirs or theirs[name].shape != parameter.shape:
            raise TrainingError(f"begin_from: it has no {name} of shape {list(parameter.shape)}")
        parameter.copy_(theirs[name])
        common.append(name)
    return tuple(common)


def _cut(dense: Dense, experts: Experts) -> None:
    ffn, width = experts.ffn, experts.width
    k, copies = ffn.top_k, ffn.n_experts // ffn.top_k
    wanted = ExpertsConfig(expert=ffn.expert, n_experts=k * copies, top_k=k, d_expert=ffn.d_expert)
    if ffn != wanted or k * width != dense.up.out_features or (dense.up.bias is None) == ffn.bias:
        raise TrainingError(
            f"begin_from: {dense.up.out_features} neurons are not {k} experts of {width}, "
            "in whole groups, with normalized weights and none shared"
        )
    experts.up.weight.copy_(dense.up.weight.repeat(copies, 1))
    experts.down.weight.copy_(k * dense.down.weight.repeat(1, copies))  # the weight of each is 1/k
    if experts.down_bias is not None:
        experts.up.bias.copy_(dense.up.bias.repeat(copies))
        experts.down_bias.weight.copy_(dense.down.bias[:, None].expand_as(experts.down_bias.weight))
    rows = torch.randn(copies, dense.up.in_features) * dense.up.in_features**-0.5
    experts.router.weight.copy_(rows.repeat_interleave(k, 0))


def balance(router: Tensor, top_k: int) -> Tensor:
    """E · Σ_e f_e·P_e of a layer's router logits [.., E] (Fedus et al. 2022, equations 4 to 6).

    f_e is the share of all choices that fell on expert e, P_e its mean probability. 1 where all experts get alike,
    E/k where k of them get everything. Only P has a gradient.
    """
    probs = router.flatten(0, -2).softmax(-1)
    shares = ops.is_top(probs.detach(), top_k).float().mean(0) / top_k
    return router.shape[-1] * (shares * probs.mean(0)).sum()


Read = TypeVar("Read")


@contextlib.contextmanager
def watched(model: nn.Module, read: Callable[[Tensor, int], Read]) -> Iterator[dict[str, list[Read]]]:
    """Gathers what is read of the logits [.., E] and the top k of every router that runs in here, by its layer's name.

    Padding is routed like everything else.
    """
    found: dict[str, list[Read]] = {}
    with contextlib.ExitStack() as hooks:
        for name, layer in model.named_modules():
            if isinstance(layer, Experts):
                to, k = found.setdefault(name, []), layer.ffn.top_k
                hook = layer.router.register_forward_hook(lambda _, __, out, to=to, k=k: to.append(read(out, k)))
                hooks.callback(hook.remove)
        yield found
