"""A model with gated DeltaNets begins from one that attends in every layer."""

import contextlib
from collections.abc import Iterator

import torch
from torch import Tensor

from viz_model.config import DeltaNet
from viz_model.model.attention import Attention, Given
from viz_model.model.deltanet import GatedDeltaNet
from viz_model.model.transformer import Transformer
from viz_model.training.checkpoint import TrainingError
from viz_model.training.upcycle import copy_common


@torch.no_grad()
def take_over(model: Transformer, attending: Transformer) -> None:
    """Fill ``model`` from a model that differs from it in having attention where this one has DeltaNets.

    What both have is copied. A DeltaNet's queries, keys, values and output begin as those of the attention in its
    place, each head with the keys and values that its query head read (cf. Kasai et al. 2021, "Finetuning Pretrained
    Transformers into RNNs"), and its convolutions read the token itself. Gate, decay and correction, which attention
    does not have, stay random.

    Raises:
        TrainingError: the two differ in something else, or a DeltaNet has heads of other widths or numbers.
    """
    copy_common(model, attending, GatedDeltaNet)
    mixers = dict(attending.named_modules())
    for name, delta in model.named_modules():
        if not isinstance(delta, GatedDeltaNet):
            continue
        source = mixers[name]
        if not isinstance(source, Attention):
            raise TrainingError(f"begin_from: {name}: {type(source).__name__} is no attention")
        _from_heads(delta, source, name)


def _from_heads(delta: GatedDeltaNet, source: Attention, name: str) -> None:
    heads, width, mixer = source.n_heads, source.d_head, delta.mixer
    if {mixer.n_keys, mixer.n_values} != {heads} or {mixer.d_key, mixer.d_value} != {width}:
        raise TrainingError(f"begin_from: {name}: {heads} heads of {width} do not become {mixer}")
    delta.o.weight.copy_(source.o.weight)
    for letter in ("q", "k", "v"):
        rows: Tensor = source.get_parameter(f"{letter}.weight").unflatten(0, (-1, width))  # [H or G, K, D]
        delta.get_parameter(f"{letter}.weight").copy_(rows.repeat_interleave(heads // len(rows), 0).flatten(0, 1))
        kernel = delta.get_parameter(f"{letter}_conv")
        kernel.zero_()
        kernel[:, -1] = 1.0


def misses(model: Transformer, attending: Transformer, ids: Tensor) -> list[Tensor]:
    """For each DeltaNet, how far what it writes is from what attention writes in its place, of ids [B, T].

    Both read what attention read. The mean square of the difference, as a share of that of what attention writes (Bick
    et al. 2024, "Transformers to SSMs", section 4.2).
    """
    ours, theirs, found = model.stack("decoder"), attending.stack("decoder"), []
    layers = [n for n, layer in enumerate(ours.layers) if isinstance(layer.mixer, DeltaNet)]
    seen: dict[int, tuple[Tensor, Tensor]] = {}
    with torch.no_grad(), contextlib.ExitStack() as hooks:
        for n in layers:
            hook = theirs.block(n).attn.register_forward_hook(lambda _, x, out, n=n: seen.update({n: (x[0], out)}))
            hooks.callback(hook.remove)
        theirs(attending.embed(ids))
    for n in layers:
        read, written = seen[n]
        own = ours.block(n).attn(read, Given(ours.position_of(n)))
        found.append((own - written).float().square().mean() / written.float().square().mean())
    return found


@contextlib.contextmanager
def alone(model: Transformer) -> Iterator[None]:
    """In here nothing of a model is trained but its DeltaNets."""
    model.requires_grad_(False)
    for module in model.modules():
        if isinstance(module, GatedDeltaNet):
            module.requires_grad_(True)
    try:
        yield
    finally:
        model.requires_grad_(True)
