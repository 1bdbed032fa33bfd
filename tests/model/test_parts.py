"""Parts of the model: DeltaNets in two ways, sinks and relative keys against transformers, shared blocks, sites."""

from __future__ import annotations

import math
from types import SimpleNamespace

import pytest
import torch
from tiny_models import SHARED, close, describe, language_model, mixed, other_blocks, random_model, tiny_config
from torch import Tensor
from torch.nn import functional as F
from transformers import Wav2Vec2BertConfig
from transformers.models.wav2vec2_bert.modeling_wav2vec2_bert import Wav2Vec2BertSelfAttention

from viz_model.checkpoints.weights import stored_tensors
from viz_model.config import Attending, DeltaNet, ModelConfig, NoPosition, RelativeKey, ShortConv
from viz_model.model import deltanet, masks, ops, sites
from viz_model.model.attention import Attention, Given
from viz_model.model.deltanet import in_chunks, token_by_token
from viz_model.model.tap import NO_TAP
from viz_model.model.transformer import Transformer
from viz_model.topics.architectures import parameters

Values = tuple[Tensor, Tensor, Tensor, Tensor, Tensor, Tensor]


def given(length: int) -> Values:
    """Queries, keys, values, β, log α and a state to begin from, with gradients: [2, 3, T, 5 or 7] and so on."""
    torch.manual_seed(length)
    q, k = (F.normalize(torch.randn(2, 3, length, 5), dim=-1) for _ in "qk")
    v, beta, fall = torch.randn(2, 3, length, 7), torch.rand(2, 3, length), -3 * torch.rand(2, 3, length)
    values = q, k, v, beta, fall, torch.randn(2, 3, 5, 7)
    for x in values:
        x.requires_grad_()
    return values


def by_loop(q: Tensor, k: Tensor, v: Tensor, beta: Tensor, fall: Tensor, state: Tensor) -> tuple[Tensor, Tensor]:
    states = token_by_token(k, v, beta, fall.exp(), state)
    return torch.einsum("bmtk,bmtku->bmtu", q, states), states[..., -1, :, :]


@pytest.mark.parametrize(("length", "size"), [(2, 32), (32, 32), (33, 32), (130, 32), (50, 7), (5, 1)])
def test_chunks_read_and_learn_what_the_loop_does(length: int, size: int) -> None:
    values = given(length)
    one, other = by_loop(*values), in_chunks(*values, size=size)
    weights = [torch.randn_like(x) for x in one]
    gradients = []
    for found in (one, other):
        total = torch.stack([(x * w).sum() for x, w in zip(found, weights, strict=True)]).sum()
        gradients.append(torch.autograd.grad(total, values))
    for mine, theirs in zip((*one, *gradients[0]), (*other, *gradients[1]), strict=True):
        torch.testing.assert_close(mine, theirs, atol=1e-5, rtol=1e-5)


def test_a_strong_decay_does_not_underflow() -> None:
    q, k, v, beta, _, state = given(64)
    fall = torch.full((2, 3, 64), -20.0)  # its products are 0 in single precision after five tokens
    for mine, theirs in zip(by_loop(q, k, v, beta, fall, state), in_chunks(q, k, v, beta, fall, state), strict=True):
        torch.testing.assert_close(mine, theirs, atol=1e-5, rtol=1e-5)


class Listener:
    """A tap that only notes names, and so has every state formed; where asked the pattern, so that nothing is fused."""

    def __init__(self, names: list[str], prefix: str = "", formed: str = "") -> None:
        self.names, self.prefix, self.formed = names, prefix, formed

    def __call__(self, name: str, value: Tensor) -> Tensor:
        self.names.append(self.prefix + name)
        return value

    def at(self, prefix: str) -> Listener:
        return Listener(self.names, f"{self.prefix}{prefix}.", self.formed)

    def changes(self, name: str) -> bool:
        return name == self.formed


@pytest.mark.parametrize("padded", [False, True])
def test_a_run_that_nobody_watches_ends_as_one_that_is_watched(padded: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    mixer = DeltaNet(n_keys=2, n_values=4, d_key=5, d_value=6, kernel=3)
    model = random_model(tiny_config(mixers=(mixer, Attending()), n_context=64))
    ids = torch.arange(2 * 40).view(2, 40) % model.config.n_vocab
    padding = torch.zeros(2, 40, dtype=torch.bool)
    padding[1, 30:] = padded
    watched = model(ids, padding=padding, tap=Listener([]))
    calls = []
    monkeypatch.setattr(deltanet, "token_by_token", lambda *_: calls.append("token by token"))
    alone = model(ids, padding=padding)
    assert not calls
    torch.testing.assert_close(alone[~padding], watched[~padding], atol=1e-5, rtol=1e-5)


def test_attention_with_a_sink_is_that_of_gpt_oss() -> None:
    reference = pytest.importorskip("transformers.models.gpt_oss.modeling_gpt_oss").eager_attention_forward
    stack = random_model(tiny_config(attention_sink=True, position=NoPosition(), **SHARED)).stack("decoder")
    attn, scheme = stack.block(0).attn, stack.position_of(0)
    x = torch.randn(2, 7, attn.q.in_features, generator=torch.Generator().manual_seed(0))
    q, k, v = attn.queries(x, scheme), attn.keys(x, scheme), attn.values(x)
    causal = ops.additive(masks.causal(7, 7))[None, None]
    own = SimpleNamespace(sinks=attn.sink, num_key_value_groups=2, training=False)
    theirs, weights = reference(own, q, k, v, causal, attn.scale)
    for tap in (NO_TAP, Listener([], formed="pattern")):
        torch.testing.assert_close(attn(x, Given(scheme), tap), attn.o(theirs.flatten(-2)))
    masked = ops.scores(q, ops.share_heads(k, 4), attn.scale) + causal
    torch.testing.assert_close(ops.pattern(masked, attn.beside), weights)
    assert (weights.sum(-1) < 1).all() and weights.sum(-1).min() < 0.9


@pytest.mark.parametrize("kind", ["encoder", "decoder"])
@torch.no_grad()
def test_attention_is_that_of_transformers(kind: str) -> None:
    config = tiny_config(kind=kind, position=RelativeKey(), n_heads=3)
    reach = config.n_context - 1
    theirs: Wav2Vec2BertSelfAttention = Wav2Vec2BertSelfAttention(  # type: ignore[no-untyped-call]
        Wav2Vec2BertConfig(
            hidden_size=config.d_model,
            num_attention_heads=config.n_heads,
            position_embeddings_type="relative_key",
            left_max_position_embeddings=reach,
            right_max_position_embeddings=reach,
            attn_implementation="eager",  # type: ignore[call-arg]
        )
    ).eval()
    stack = random_model(config).stack(config.sides[0])
    attn: Attention = stack.block(0).attn
    for letter, own in (("q", attn.q), ("k", attn.k), ("v", attn.v), ("out", attn.o)):
        getattr(theirs, f"linear_{letter}").load_state_dict(own.state_dict())
    theirs.distance_embedding.weight.copy_(stack.position.get_parameter("distances.weight"))
    x = torch.randn(2, 7, config.d_model, generator=torch.Generator().manual_seed(3))
    mask = None if kind == "encoder" else ops.additive(masks.causal(7, 7))
    expected, pattern = theirs(x, attention_mask=mask)
    given = Given(stack.position_of(0), stack.attn_bias(0, 0, x))
    close(attn(x, given), expected)
    q, k = attn.queries(x, given.position), attn.keys(x, given.position)
    bias = given.position.content_bias(q, k, 0, attn.scale)
    assert bias is not None and (bias.abs() > 0.01).any()
    scores = ops.scores(q, k, attn.scale) + bias
    close(ops.pattern(scores if mask is None else scores + mask), pattern)


@pytest.mark.parametrize("config", [one for one in other_blocks() if one.shared_blocks], ids=describe)
def test_the_weights_of_a_block_that_is_run_several_times_are_there_once(config: ModelConfig) -> None:
    model = random_model(config)
    apart = random_model(ModelConfig.from_dict({**config.to_dict(), "shared_blocks": False}))
    sizes = [sum(weight.numel() for weight in one.parameters()) for one in (model, apart)]
    of_block = sum(weight.numel() for weight in model.stack(config.sides[0]).block(0).parameters())
    assert sizes[1] - sizes[0] == (config.n_layers - 1) * of_block
    assert sum(parameters.of_config(config).values()) == sizes[0] == sum(parameters.count(model).values())
    kept = stored_tensors(model)
    assert not any(".blocks.1." in name for name in kept) and any(".blocks.0." in name for name in kept)


@pytest.mark.parametrize("config", [one for one in mixed() if isinstance(one.layer("decoder", 0).mixer, ShortConv)])
def test_a_token_reads_its_last_ones_and_none_further_back(config: ModelConfig) -> None:
    stack, mixer = language_model(config).model.stack("decoder"), config.mixers[0]
    assert isinstance(mixer, ShortConv)
    x = torch.randn(1, 7, config.d_model, generator=torch.Generator().manual_seed(0))
    other = x.clone()
    other[:, 1] += 1
    with torch.no_grad():
        one, two = (stack.run_block(0, given, visible=None, source=None, tap=NO_TAP) for given in (x, other))
    assert (one != two).any(-1)[0].tolist() == [1 <= t < 1 + mixer.kernel for t in range(7)]


def test_recorded_sites_stand_in_the_order_of_the_run(config: ModelConfig, model: Transformer) -> None:
    heard: list[str] = []
    model(torch.tensor([[1, 2, 3]]), tap=Listener(heard))
    assert heard == [name for name, site in sites.in_order(config) if not site.derived]


@pytest.mark.parametrize("rows", [1, 2, 3, 128])
def test_a_causal_pattern_is_made_in_pieces(rows: int) -> None:
    q, k = torch.randn(2, 3, 7, 8).unbind()
    steps = ops.pattern(ops.hide(ops.scores(q, k, 0.3), masks.causal(7, 7)))
    torch.testing.assert_close(ops.causal_pattern(q, k, 0.3, rows), steps, rtol=1e-5, atol=1e-6)


def test_sinusoid_stays_exact_far_out() -> None:
    wave = ops.sinusoid(torch.tensor([1_000_003]), 4, 10_000.0)[0]
    assert wave[0].item() == pytest.approx(math.sin(1_000_003), abs=1e-6)
