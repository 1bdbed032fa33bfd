"""The loss of a batch, and the figures of held-out text."""

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn
from torch.autograd.function import once_differentiable
from torch.nn import functional as F

from viz_model.model.heads import ClassHead
from viz_model.model.transformer import Transformer
from viz_model.tokenizers.tokenizer import Tokenizer
from viz_model.training.batches import IGNORED, Batch, Batches

CHUNK = 256
"""Positions whose logits exist at the same time."""


class Objective(nn.Module):
    """A model with the question asked of it: a batch -> the summed cross-entropy in nats.

    Args:
        label_smoothing: share of the target that is spread evenly over the vocabulary (Szegedy et
            al. 2016, section 7; Vaswani et al. 2017, section 5.4).
    """

    def __init__(self, model: Transformer, label_smoothing: float = 0.0) -> None:
        super().__init__()
        self.model = model
        self.label_smoothing = label_smoothing

    def forward(self, batch: Batch) -> Tensor:
        read, answers = asked(self.model, batch)
        kind = read.device.type
        if read.dtype == torch.float32 and torch.is_autocast_enabled(kind):  # the final norm left it so
            read = read.to(torch.get_autocast_dtype(kind))
        output = output_of(self.model)
        loss: Tensor = _ChunkedCrossEntropy.apply(  # type: ignore[no-untyped-call]
            read, output.weight, output.bias, answers, self.label_smoothing
        )
        return loss


class _ChunkedCrossEntropy(torch.autograd.Function):
    """Summed cross-entropy of the logits x·Wᵀ + b, a few rows at a time.

    The table of all logits of a step would be larger than everything else together, and travel
    through memory several times. Each chunk's gradient is therefore taken while its logits are at
    hand, and kept for the backward pass. The loss of a chunk is PyTorch's own.
    """

    @staticmethod
    def forward(
        ctx: Any, x: Tensor, weight: Tensor, bias: Tensor | None, answers: Tensor, label_smoothing: float
    ) -> Tensor:
        total = x.new_zeros((), dtype=torch.float32 if x.dtype == torch.bfloat16 else x.dtype)
        with torch.enable_grad(), torch.autocast(x.device.type, enabled=False):
            w = weight.detach().to(x.dtype).requires_grad_()
            b = None if bias is None else bias.detach().to(x.dtype).requires_grad_()
            leaves = [leaf for leaf in (w, b) if leaf is not None]
            d_x, d_leaves = torch.empty_like(x), [torch.zeros_like(leaf, dtype=weight.dtype) for leaf in leaves]
            for first in range(0, len(x), CHUNK):
                rows = slice(first, first + CHUNK)
                part = x[rows].detach().requires_grad_()
                logits = F.linear(part, w, b).to(total.dtype)
                loss = F.cross_entropy(logits, answers[rows], label_smoothing=label_smoothing, reduction="sum")
                d_part, *grads = torch.autograd.grad(loss, [part, *leaves])
                d_x[rows] = d_part
                for sum_, grad in zip(d_leaves, grads, strict=True):
                    sum_ += grad
                total += loss.detach()
        ctx.save_for_backward(d_x, *d_leaves)
        return total

    @staticmethod
    @once_differentiable  # the saved gradients know nothing of a second derivative
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
        d_x, d_weight, *d_bias = (saved * grad for saved in ctx.saved_tensors)
        return d_x, d_weight, d_bias[0] if d_bias else None, None, None


def output_of(model: Transformer) -> nn.Linear:
    """What makes the logits: of tokens, or of the classes of a picture."""
    return model.head.classes if isinstance(model.head, ClassHead) else model.unembedding


def asked(model: Transformer, batch: Batch) -> tuple[Tensor, Tensor]:
    """What the logits are made of where something is asked [N, D], and the answers [N]."""
    vectors = model.vectors(batch.ids, batch.target_ids, padding=batch.padding, pixels=batch.pixels)
    if model.config.classes:
        return vectors[:, 0], batch.answers
    where = batch.answers != IGNORED
    return model.head.before(vectors[where]), batch.answers[where]


@dataclass
class HeldOut:
    """Figures of text that was not trained on, summed over its asked tokens."""

    nats: float = 0.0
    n_asked: int = 0
    n_right: int = 0
    n_bytes: int = 0
    is_text: bool = True
    """Or pictures, whose answers are classes."""

    @property
    def nats_per_token(self) -> float:
        """Cross-entropy in nats for each asked token."""
        return self.nats / max(1, self.n_asked)

    @property
    def bits_per_byte(self) -> float:
        """Cross-entropy in bits for each UTF-8 byte of the tokens asked for.

        Control tokens stand for no byte: what it costs to predict them is part of the bytes around.
        """
        return self.nats / math.log(2) / max(1, self.n_bytes)

    @property
    def accuracy(self) -> float:
        """Share of the asked tokens that were the model's first choice."""
        return self.n_right / max(1, self.n_asked)

    @property
    def figures(self) -> dict[str, float]:
        """By name: bits per byte of text, of pictures, which have none, nats each; and the accuracy."""
        loss = {"bits_per_byte": self.bits_per_byte} if self.is_text else {"nats": self.nats_per_token}
        return {**loss, "accuracy": self.accuracy}


@torch.no_grad()
def measure(model: Transformer, batches: Iterable[Batch], tokenizer: Tokenizer) -> HeldOut:
    """The figures of ``model`` over ``batches``, in single precision."""
    was_training = model.training
    model.eval()
    n_bytes = _bytes_of(tokenizer)
    found = HeldOut(is_text=not model.config.classes)
    for batch in batches:
        read, answers = asked(model, batch.to(next(model.parameters()).device))
        for part, right in zip(read.split(4096), answers.split(4096), strict=True):
            logits = output_of(model)(part)
            found.nats += F.cross_entropy(logits, right, reduction="sum").item()
            found.n_right += int((logits.argmax(-1) == right).sum())
        found.n_asked += len(answers)
        if found.is_text:
            found.n_bytes += int(n_bytes[answers.cpu()].sum())
    model.train(was_training)
    return found


def figures(model: Transformer, data: Batches, most: int | None = None) -> dict[str, dict[str, float]]:
    """The held-out figures by language, of at most ``most`` batches each."""
    found = {}
    for language in data.languages:
        batches = data.held_out(language)
        some = batches if most is None else (batch for _, batch in zip(range(most), batches, strict=False))
        held_out = measure(model, some, data.tokenizer)
        found[language] = held_out.figures
    return found


def _bytes_of(tokenizer: Tokenizer) -> Tensor:
    """[V] how many bytes of text each token stands for; control tokens none."""
    controls = tokenizer.controls | {tokenizer.mask_id}
    return torch.tensor([0 if id in controls else len(tokenizer.token(id).bytes) for id in range(tokenizer.n_vocab)])
