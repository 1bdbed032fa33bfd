"""From the last vector of every position to a number for every token of the vocabulary."""

from __future__ import annotations

from torch import Tensor, nn

from viz_model import config
from viz_model.config import ModelConfig
from viz_model.model import norms
from viz_model.model.feedforward import ACTIVATIONS
from viz_model.model.tap import NO_TAP, Tap


class LanguageHead(nn.Module):
    """Logits x·Eᵀ: [B, T, D] -> [B, T, V] (Vaswani et al. 2017, section 3.4).

    T5 multiplies x by D^−½ first, because it ties an unembedding to embeddings it never scaled up.
    """

    def __init__(self, head: config.LanguageHead, d_model: int, n_vocab: int) -> None:
        super().__init__()
        self.unembedding = nn.Linear(d_model, n_vocab, bias=head.bias)
        self.scale = d_model**-0.5 if head.scale else 1.0

    def before(self, x: Tensor, tap: Tap = NO_TAP) -> Tensor:
        """What the unembedding reads: [.., D] -> [.., D]."""
        return x * self.scale

    def forward(self, x: Tensor, tap: Tap = NO_TAP) -> Tensor:
        return self.unembedding(self.before(x, tap))


class MaskedHead(nn.Module):
    """A layer and a norm, then logits with a bias: [B, T, D] -> [B, T, V] (Devlin et al. 2019, as released)."""

    scale = 1.0

    def __init__(self, head: config.MaskedHead, norm: config.Norm, d_model: int, n_vocab: int) -> None:
        super().__init__()
        self.dense = nn.Linear(d_model, d_model)
        self.activation = ACTIVATIONS[head.activation]
        self.norm = norms.build(norm, d_model)
        self.unembedding = nn.Linear(d_model, n_vocab)

    def before(self, x: Tensor, tap: Tap = NO_TAP) -> Tensor:
        """What the unembedding reads: [.., D] -> [.., D]."""
        return self.norm(tap("head.act", self.activation(self.dense(x))), tap.at("head.norm"))

    def forward(self, x: Tensor, tap: Tap = NO_TAP) -> Tensor:
        return self.unembedding(self.before(x, tap))


class NoHead(nn.Module):
    """The vectors themselves: [B, T, D] -> [B, T, D]."""

    unembedding = None
    scale = 1.0

    def before(self, x: Tensor, tap: Tap = NO_TAP) -> Tensor:
        return x

    def forward(self, x: Tensor, tap: Tap = NO_TAP) -> Tensor:
        return x


def build(config_: ModelConfig) -> LanguageHead | MaskedHead | NoHead:
    match config_.head:
        case config.LanguageHead() as head:
            return LanguageHead(head, config_.d_model, config_.n_vocab)
        case config.MaskedHead() as head:
            return MaskedHead(head, config_.norm, config_.d_model, config_.n_vocab)
        case config.NoHead():
            return NoHead()
