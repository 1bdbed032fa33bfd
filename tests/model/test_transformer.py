"""viz_model.model.transformer and its parts, against torch.nn as the independent reference."""

import math
from typing import Any

import pytest
import torch
from pairs import pairs
from tiny_models import KINDS, PLACES, close, random_model, tiny_config
from torch import Tensor, nn
from torch_reference import reference_layer

import viz_model as vm
from viz_model.config import Kind, LanguageHead, LayerNorm, NormAt, Sinusoidal, T5Bias
from viz_model.model import positions
from viz_model.model.block import Block
from viz_model.model.transformer import Transformer
from viz_model.runs.record import record


@torch.no_grad()
def reference_run(model: Transformer, ids: list[int]) -> tuple[list[Tensor], Tensor]:
    """The hidden state after the embedding and after every block, and the logits: all by torch.nn."""
    config = model.config
    token = model.embedding.weight[ids] * (math.sqrt(config.d_model) if config.scale_embedding else 1.0)
    assert isinstance(config.position, Sinusoidal)
    waves = torch.empty(len(ids), config.d_model)
    for t in range(len(ids)):
        for i in range(config.d_model // 2):
            angle = t / config.position.base ** (2 * i / config.d_model)
            waves[t, 2 * i], waves[t, 2 * i + 1] = math.sin(angle), math.cos(angle)
    hidden = [(token + waves)[None]]
    mask = nn.Transformer.generate_square_subsequent_mask(len(ids))
    for block in model.stack("decoder").blocks:
        assert isinstance(block, Block)
        hidden.append(reference_layer(block, config)(hidden[-1], src_mask=mask, is_causal=True))
    x = hidden[-1]
    if config.norm_at == "pre":
        ours = model.stack("decoder").final_norm
        assert ours is not None
        final = nn.LayerNorm(config.d_model, eps=config.norm.eps)
        final.load_state_dict(ours.state_dict())
        x = final(x)
    return [h[0] for h in hidden], nn.functional.linear(x, model.unembedding.weight)[0]


def assert_parity(lm: vm.LanguageModel, ids: list[int]) -> None:
    trace = record(lm.model, lm.tokenizer, ids)
    hidden, logits = reference_run(lm.model, ids)
    close(trace["embed.out"], hidden[0])
    for i in range(lm.config.n_layers):
        close(trace[f"blocks.{i}.resid.in"], hidden[i])
        close(trace[f"blocks.{i}.resid.out"], hidden[i + 1])
    close(trace["logits"], logits)


SIZES = [(1, 8, 1, 5, 1), (2, 24, 3, 40, 7), (3, 32, 8, 64, 16), (4, 60, 5, 17, 12), (2, 6, 3, 128, 16)]


@pytest.mark.parametrize(("norm_at", "sizes", "tie_embeddings"), pairs(["pre", "post"], SIZES, [True, False]))
def test_parity_with_torch_nn(
    norm_at: NormAt, sizes: tuple[int, ...], tie_embeddings: bool, lm: vm.LanguageModel
) -> None:
    n_layers, d_model, n_heads, d_ffn, length = sizes
    own = {"n_layers": n_layers, "d_model": d_model, "n_heads": n_heads, "d_ffn": d_ffn}
    config = tiny_config(norm_at, tie_embeddings=tie_embeddings, norm=LayerNorm(eps=1e-3), **own)
    ids = torch.randint(config.n_vocab, (length,), generator=torch.Generator().manual_seed(length)).tolist()
    model = random_model(config, seed=d_model)
    assert_parity(vm.LanguageModel(name="", model=model, tokenizer=lm.tokenizer, twin=None, folder=lm.folder), ids)


def test_the_bundled_weights_have_parity_with_torch_nn(bundled: vm.LanguageModel) -> None:
    numbers = torch.Generator().manual_seed(3)
    whole = torch.randint(bundled.config.n_vocab, (bundled.config.n_context,), generator=numbers).tolist()
    for ids in (whole, bundled.tokenizer.encode("从前，有一只小"), bundled.tokenizer.encode("a")):
        assert_parity(bundled, ids)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("norm_at", PLACES)
def test_dropout_is_at_three_places(kind: Kind, norm_at: NormAt, monkeypatch: pytest.MonkeyPatch) -> None:
    """The sum of embedding and positions, each sub-layer's output (Vaswani et al. 2017, 5.4), attention weights."""
    pair = {"n_encoder_layers": 2, "start_id": 0} if kind == "encoder_decoder" else {}
    model, ids = Transformer(tiny_config(norm_at, kind=kind, **pair), dropout=0.3), torch.arange(10).reshape(2, 5)
    dropout, attention = nn.functional.dropout, nn.functional.scaled_dot_product_attention
    shares: list[tuple[str, float]] = []

    def recorded(x: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False) -> Tensor:
        shares.append(("vector", p if training else 0.0))
        return dropout(x, p, training, inplace)

    def attends(q: Tensor, k: Tensor, v: Tensor, added: Tensor | None, dropout_p: float, **rest: Any) -> Tensor:
        shares.append(("weights", dropout_p))
        return attention(q, k, v, added, dropout_p, **rest)

    monkeypatch.setattr(nn.functional, "dropout", recorded)
    monkeypatch.setattr(nn.functional, "scaled_dot_product_attention", attends)
    vectors, weights = {"decoder": (1 + 4, 2), "encoder": (1 + 4, 2), "encoder_decoder": (2 + 4 + 6, 2 + 4)}[kind]
    for share in (0.3, 0.0):
        model.train(share > 0)(ids, ids[:, :4] if pair else None)
        assert sorted(shares) == [("vector", share)] * vectors + [("weights", share)] * weights
        shares.clear()


@pytest.mark.parametrize(("scale_scores", "scale", "tie_embeddings"), pairs(*[[True, False]] * 3))
def test_where_weights_begin(scale_scores: bool, scale: bool, tie_embeddings: bool) -> None:
    torch.manual_seed(0)
    own: dict[str, Any] = {"scale_scores": scale_scores, "tie_embeddings": tie_embeddings}
    own |= {"head": LanguageHead(scale=scale), "position": T5Bias(buckets=8, max_distance=12)}
    config = tiny_config(n_vocab=4000, d_model=64, n_heads=4, d_ffn=96, **own)
    model = Transformer(config)
    block = model.stack("decoder").block(0)
    for linear in (block.attn.k, block.attn.o, block.ffn.up, block.ffn.down):
        assert isinstance(linear, nn.Linear) and not linear.bias.any()
        # Glorot & Bengio 2010, equation 16: uniform up to √(6 / (columns + rows)).
        bound = math.sqrt(6 / sum(linear.weight.shape))
        assert 0.97 * bound < linear.weight.abs().max() <= bound
        assert abs(linear.weight.std().item() / (bound / math.sqrt(3)) - 1) < 0.03
    # Without a division by √K in the scores, queries begin as much shorter.
    bound = math.sqrt(6 / 128) / (1 if scale_scores else math.sqrt(config.d_head))
    assert 0.97 * bound < block.attn.q.weight.abs().max() <= bound * (1 + 1e-6)
    # Rows of a head that divides by √D begin as much longer; logits are of about unit size either way.
    expected = 1.0 if scale else 64**-0.5
    assert abs(model.embedding.weight.std().item() / expected - 1) < 0.02
    bias = model.stack("decoder").position
    assert isinstance(bias, positions.T5Bias) and not bias.buckets.weight.any()
    if tie_embeddings:
        assert 0.7 < model(torch.randint(4000, (2, 16))).std() < 1.4
