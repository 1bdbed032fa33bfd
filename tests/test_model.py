"""viz_model.model and its parts, against torch.nn as the independent reference."""

from __future__ import annotations

import math
from typing import Literal

import pytest
import torch
from tiny_models import close, random_model, tiny_config
from torch import Tensor, nn

import viz_model as vm
from viz_model.config import LayerNorm, ModelConfig, Sinusoidal
from viz_model.model import Block, Transformer
from viz_model.trace import record


def reference_layer(block: Block, config: ModelConfig) -> nn.TransformerEncoderLayer:
    """PyTorch's own layer with the weights of ``block``."""
    layer = nn.TransformerEncoderLayer(
        d_model=config.d_model,
        nhead=config.n_heads,
        dim_feedforward=config.d_ffn,
        dropout=0.0,
        activation="relu",
        layer_norm_eps=config.norm.eps,
        batch_first=True,
        norm_first=config.norm_at == "pre",
    )
    attn = block.attn
    layer.load_state_dict(
        {
            "self_attn.in_proj_weight": torch.cat([attn.q.weight, attn.k.weight, attn.v.weight]),
            "self_attn.in_proj_bias": torch.cat([attn.q.bias, attn.k.bias, attn.v.bias]),
            "self_attn.out_proj.weight": attn.o.weight,
            "self_attn.out_proj.bias": attn.o.bias,
            "linear1.weight": block.ffn.up.weight,
            "linear1.bias": block.ffn.up.bias,
            "linear2.weight": block.ffn.down.weight,
            "linear2.bias": block.ffn.down.bias,
            "norm1.weight": block.attn_norm.weight,
            "norm1.bias": block.attn_norm.bias,
            "norm2.weight": block.ffn_norm.weight,
            "norm2.bias": block.ffn_norm.bias,
        }
    )
    # In evaluation mode the layer may take a fused path of its own; with a dropout of 0 the
    # training mode computes the same by the plain one.
    return layer.train()


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


@pytest.mark.parametrize("norm_at", ["pre", "post"])
@pytest.mark.parametrize(
    ("n_layers", "d_model", "n_heads", "d_ffn", "length"),
    [(1, 8, 1, 5, 1), (2, 24, 3, 40, 7), (3, 32, 8, 64, 16), (4, 60, 5, 17, 12), (2, 6, 3, 128, 16)],
)
@pytest.mark.parametrize("tie_embeddings", [True, False])
def test_parity_with_torch_nn(
    norm_at: Literal["pre", "post"],
    n_layers: int,
    d_model: int,
    n_heads: int,
    d_ffn: int,
    length: int,
    tie_embeddings: bool,
    lm: vm.LanguageModel,
) -> None:
    config = tiny_config(
        norm_at,
        n_layers=n_layers,
        d_model=d_model,
        n_heads=n_heads,
        d_ffn=d_ffn,
        tie_embeddings=tie_embeddings,
        norm=LayerNorm(eps=1e-3),
    )
    ids = torch.randint(config.n_vocab, (length,), generator=torch.Generator().manual_seed(length)).tolist()
    model = random_model(config, seed=d_model)
    assert_parity(vm.LanguageModel(name="", model=model, tokenizer=lm.tokenizer, twin=None, folder=lm.folder), ids)


@pytest.mark.parametrize("text", ["Once upon a time, there was a little girl named Lily.", "从前，有一只小", "a"])
def test_the_bundled_weights_have_parity_with_torch_nn(bundled: vm.LanguageModel, text: str) -> None:
    assert_parity(bundled, bundled.tokenizer.encode(text))


def test_a_full_context_of_the_bundled_weights_has_parity(bundled: vm.LanguageModel) -> None:
    numbers = torch.Generator().manual_seed(3)
    ids = torch.randint(bundled.config.n_vocab, (bundled.config.n_context,), generator=numbers).tolist()
    assert_parity(bundled, ids)


def test_a_batch_is_its_rows(model: Transformer) -> None:
    ids = torch.tensor([[1, 2, 3, 4], [9, 8, 7, 6]])
    together = model(ids)
    for row in range(2):
        close(together[row], model(ids[row : row + 1])[0])


def test_the_future_is_not_seen(model: Transformer) -> None:
    ids = torch.tensor([[1, 2, 3, 4, 5]])
    changed = torch.tensor([[1, 2, 3, 90, 91]])
    before, after = model(ids)[0], model(changed)[0]
    close(before[:3], after[:3])
    assert not torch.allclose(before[3], after[3])


@pytest.mark.parametrize("pieces", [[1] * 9, [9], [4, 5], [6, 1, 2]])
def test_the_cache_changes_nothing(model: Transformer, pieces: list[int]) -> None:
    ids = torch.randint(101, (1, 9), generator=torch.Generator().manual_seed(0))
    cache = model.new_cache()
    read = [model(piece, cache=cache) for piece in ids.split(pieces, dim=1)]
    close(torch.cat(read, dim=1), model(ids))
    assert [len(layer.attn) for layer in cache] == [9] * len(cache)


def test_a_run_leaves_nothing_on_the_model(model: Transformer) -> None:
    def state() -> dict[str, object]:
        return {f"{name}.{key}": id(value) for name, m in model.named_modules() for key, value in vars(m).items()}

    before, weights = state(), {name: p.clone() for name, p in model.named_parameters()}
    model(torch.tensor([[1, 2, 3]]))
    assert state() == before
    assert all(torch.equal(p, weights[name]) for name, p in model.named_parameters())


def test_tied_embeddings_are_one_table() -> None:
    assert (
        len({id(p) for p in random_model(tiny_config()).parameters()})
        == len({id(p) for p in random_model(tiny_config(tie_embeddings=False)).parameters()}) - 1
    )


def test_only_pre_ln_ends_in_a_norm() -> None:
    assert random_model(tiny_config("pre")).stack("decoder").final_norm is not None
    assert random_model(tiny_config("post")).stack("decoder").final_norm is None


def test_a_fresh_model_starts_near_a_uniform_guess(config: ModelConfig) -> None:
    torch.manual_seed(0)
    logits = Transformer(config)(torch.arange(16)[None])
    loss = nn.functional.cross_entropy(logits[0, :-1], torch.arange(1, 16))
    assert abs(loss.item() - math.log(config.n_vocab)) < 1.5
