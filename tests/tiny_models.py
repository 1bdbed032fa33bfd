"""Models small enough to test every variant of them."""

import dataclasses
import functools
import itertools
from collections.abc import Hashable, Iterator
from pathlib import Path
from typing import Any, Literal

import pairs
import torch

import viz_model as vm
from viz_model import config, images
from viz_model.config import ModelConfig
from viz_model.model.transformer import Transformer
from viz_model.runs.trace import Trace
from viz_model.tokenizers.numerals import NumeralTokenizer
from viz_model.tokenizers.patches import PatchTokenizer
from viz_model.tokenizers.tokenizer import Tokenizer, story_tokenizer

KINDS: tuple[config.Kind, ...] = ("decoder", "encoder", "encoder_decoder")
PLACES: tuple[Literal["pre", "post"], ...] = ("pre", "post")
SHARED: dict[str, Any] = {"n_heads": 4, "n_kv_heads": 2, "d_head": 6}
"""Heads that share their keys."""


def tiny_config(norm_at: config.NormAt = "pre", **changes: Any) -> ModelConfig:
    """Two layers of width 24 with every size different from every other, so that swapped axes show."""
    sizes = {"n_vocab": 101, "n_context": 16, "n_layers": 2, "d_model": 24, "n_heads": 3, "d_ffn": 40}
    return ModelConfig(**{**sizes, "norm_at": norm_at, **changes})


def random_model(config_: ModelConfig, seed: int = 0) -> Transformer:
    """A model all of whose parameters are random: biases of 0 and gains of 1 would hide mistakes."""
    numbers = torch.Generator().manual_seed(seed)
    model = Transformer(config_)
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            noise = torch.randn(parameter.shape, generator=numbers)
            if parameter.dim() >= 2:
                parameter.copy_(noise * parameter.shape[-1] ** -0.5)
            else:
                parameter.copy_(float("norm" in name and "weight" in name) + 0.3 * noise)
    return model.eval().requires_grad_(False)


def close(found: torch.Tensor, expected: torch.Tensor, what: str = "values") -> None:
    """Assert that two computations of the same values differ by no more than rounding, which grows with the largest."""
    alike = (found.shape, found.dtype, found.device) == (expected.shape, expected.dtype, expected.device)
    if not alike or not torch.allclose(found, expected, atol=1e-5, rtol=1e-5):  # which is quick, and says nothing
        atol = 1e-5 * max(1, *expected.float().nan_to_num(0, 0, 0).abs().flatten().tolist())
        torch.testing.assert_close(found, expected, atol=atol, rtol=1e-5, msg=lambda text: f"{what}: {text}")


LLAMA3 = config.Llama3Scaling(factor=4.0, low_freq_factor=1.0, high_freq_factor=4.0, original_context=8)
ROPES = [
    config.Rope(),
    config.Rope(pairing="interleaved", base=500.0),
    config.Rope(fraction=0.5, scaling=config.LinearScaling(factor=2.0)),
    config.Rope(scaling=LLAMA3),
    config.Rope(scaling=config.YarnScaling(factor=2.0, original_context=8)),
]


GATED, LIMITED = config.Gated(), config.Gated(activation="gelu_quick", bias=True, limit=0.6)
_GROUPS: dict[str, Any] = {"choice_bias": True, "n_groups": 3, "top_groups": 2, "group_best": 2, "factor": 1.5}
EXPERTS = [
    config.Experts(n_experts=4, top_k=2, d_expert=10),
    config.Experts(expert=GATED, n_experts=5, top_k=2, d_expert=9, softmax="chosen"),
    config.Experts(expert=GATED, n_experts=3, normalize=False, d_shared=14, shared_gate=True),
    config.Experts(expert=LIMITED, n_experts=4, softmax="chosen", router_bias=True),
    config.Experts(expert=GATED, n_experts=6, softmax="sigmoid", d_shared=9, **_GROUPS),
    config.Experts(n_experts=6, top_k=3, n_groups=2, normalize=False),
    config.Experts(expert=config.Dense(activation="gelu", bias=False), n_experts=5, top_k=3, d_shared=9, d_expert=7),
]


def variants() -> list[ModelConfig]:
    """So many of :func:`candidates` that every two options that meet in one of them meet in one of these."""
    return list(_covering(2))


def few() -> list[ModelConfig]:
    """For what takes long: so many of :func:`candidates` that every option of one of them is one of these'."""
    return list(_covering(1))


@functools.cache
def _covering(together: int) -> tuple[ModelConfig, ...]:
    def met(config_: ModelConfig) -> Iterator[Hashable]:
        yield from itertools.combinations(options(config_).items(), together)
        if together > 1:  # of a part then each sort, and not its type alone
            yield from ((part, getattr(config_, part)) for part in ("position", "ffn", "head"))

    return tuple(pairs.covering(candidates(), met))


@functools.cache
def candidates() -> tuple[ModelConfig, ...]:
    """Configs of every kind, with every position and every other choice, which are tested as :func:`variants` alone."""
    positions = [config.Sinusoidal(), config.Sinusoidal(layout="halves"), config.Learned(), *ROPES, config.Alibi()]
    positions += [config.T5Bias(buckets=8, max_distance=12), config.RelativeKey(), config.NoPosition()]
    positions += [config.RelativeKey(with_keys=True)]
    forwards: list[config.FeedForward] = [
        *(config.Dense(activation=a, bias=b) for a in ("relu", "gelu") for b in (True, False)),
        *(config.Dense(activation="gelu_tanh"), config.Dense(activation="relu2")),
        *(config.Gated(), config.Gated(activation="gelu", bias=True), config.Gated(activation="gelu_quick")),
        *EXPERTS,
    ]
    found = []
    # A new one stands here, as {"position": config.Alibi()}: in a list above it would change all other rows.
    added: list[dict[str, Any]] = []
    for n, (kind, norm_at, position) in enumerate(itertools.product(KINDS, PLACES, positions)):
        # The other choices take turns, each with a period of its own, so that all of them meet.
        n_heads, n_kv_heads, d_head = [(3, 3, 8), (4, 2, 4), (5, 1, 12), (6, 3, 4)][n % 4]
        head: config.Head = config.LanguageHead(bias=n % 2 == 0, scale=n % 3 == 0)
        if kind == "encoder":
            head = (config.MaskedHead(), config.NoHead(), head)[n % 3]
        own = {
            **{"n_heads": n_heads, "n_kv_heads": n_kv_heads, "d_head": d_head, "qk_norm": n % 3 == 1},
            **{"norm": (config.LayerNorm(), config.RMSNorm())[n // 2 % 2], "ffn": forwards[n % len(forwards)]},
            **{"scale_scores": n % 4 != 2, "attention_bias": n % 5 != 1, "windows": ((), (3, 0))[n % 7 == 3]},
            **{"attention_out_bias": n % 5 == 1 if n % 7 == 2 else None, "embedding_norm": n % 4 == 3},
            **{"n_segments": 2 * (n % 2) * (kind == "encoder"), "tie_embeddings": n % 5 != 2},
            **{"scale_embedding": n % 3 == 0, "position": position, "head": head},
        }
        found.append(tiny_config(norm_at, kind=kind, **two_stacks(kind), **own))
    for (kind, norm_at), more in itertools.product(itertools.product(KINDS, PLACES), added):
        found.append(tiny_config(norm_at, kind=kind, **two_stacks(kind), **more))
    return tuple(found)


def two_stacks(kind: config.Kind) -> dict[str, Any]:
    """What an encoder–decoder has besides."""
    return {"n_encoder_layers": 3, "start_id": 0} if kind == "encoder_decoder" else {}


def mixed_norms() -> list[ModelConfig]:
    """Encoder–decoders whose stacks have their norms at different places."""
    two: dict[str, Any] = {"kind": "encoder_decoder", **two_stacks("encoder_decoder")}
    other = tiny_config("post", encoder_norm_at="pre", norm=config.RMSNorm(), tie_embeddings=False, **two)
    return [tiny_config("pre", encoder_norm_at="post", **two), other]


def other_blocks() -> list[ModelConfig]:
    """Models of one stack whose blocks are put together in other ways, with and without additions and norms."""
    rope, gated = config.Rope(fraction=0.5), config.Gated()
    olmo: dict[str, Any] = {"norm": config.RMSNorm(), "qk_norm": True, "qk_norm_over": "heads"}
    return [
        tiny_config(parallel=True, position=rope, tie_embeddings=False),
        tiny_config(parallel=True, kind="encoder", norm=config.RMSNorm(), ffn=gated, head=config.MaskedHead()),
        tiny_config(parallel=True, residual=False),
        tiny_config("branch", n_heads=4, n_kv_heads=2, d_head=6, position=config.Rope(), **olmo),
        tiny_config("branch", kind="encoder", ffn=gated, attention_bias=False),
        tiny_config("branch", residual=False),
        tiny_config("branch", **{**olmo, "norm": config.NoNorm()}),
        tiny_config("both", norm=config.RMSNorm(), qk_norm=True, n_kv_heads=1, position=rope, windows=(3, 0)),
        tiny_config("both", kind="encoder", position=config.Alibi(), n_segments=2),
        tiny_config("both", residual=False),
        tiny_config("both", norm=config.NoNorm()),
        tiny_config(ffns=(EXPERTS[0], config.Dense()), head=config.LanguageHead(bias=True)),
        tiny_config(ffns=(config.Gated(), EXPERTS[1]), norm=config.RMSNorm(), position=rope),
        *_published(rope),
    ]


def _published(rope: config.Rope) -> list[ModelConfig]:
    """What single families have: narrow rows of tokens, shared blocks, caps, one norm for both sub-layers, no β."""
    rows: dict[str, Any] = {"kind": "encoder", "inputs": config.Tokens(width=14), "scale_embedding": False}
    learned: dict[str, Any] = {"position": config.Learned(), "embedding_norm": True, "n_segments": 2}
    capped: dict[str, Any] = {"norm": config.RMSNorm(), "score_cap": 0.7, "scale_width": 5.0, "n_kv_heads": 1}
    near: dict[str, Any] = {"windows": (0, 3), "positions": (rope, config.Rope(base=50.0)), "position": rope}
    modern: dict[str, Any] = {"norm": config.LayerNorm(shift=False), "first_norm": False, "embedding_norm": True}
    modern |= {"ffn": config.Gated(activation="gelu"), "head": config.MaskedHead(dense_bias=False, bias=False)}
    return [
        tiny_config("post", head=config.MaskedHead(), **rows, **learned),
        tiny_config(head=config.MaskedHead(bias=False), norm=config.RMSNorm(), tie_embeddings=False, **rows),
        tiny_config("post", head=config.NoHead(), position=config.Rope(), **rows),
        tiny_config("post", head=config.MaskedHead(), shared_blocks=True, n_layers=3, **rows, **learned),
        tiny_config(shared_blocks=True, norm=config.RMSNorm(), qk_norm=True, position=config.Rope()),
        tiny_config("both", head=config.LanguageHead(cap=0.9, factor=0.6), windows=(3, 0), position=rope, **capped),
        tiny_config(attention_sink=True, position=rope, n_heads=4, n_kv_heads=2, d_head=4, windows=(3, 0)),
        tiny_config(attention_sink=True, kind="encoder", position=config.Alibi(), score_cap=5.0),
        tiny_config(parallel=True, shared_norm=True, n_kv_heads=1, position=rope, attention_bias=False),
        tiny_config(kind="encoder", attention_bias=False, **modern, **near),
        tiny_config("both", d_layer_input=5, block_scale=True, norm=config.RMSNorm(), ffn=GATED, position=rope),
        tiny_config("both", d_layer_input=7, position=config.Learned(), n_layers=3),
        tiny_config(position=config.Alibi(divided=True), embedding_norm=True, scale_embedding=False, **capped),
    ]


def mixed() -> list[ModelConfig]:
    """Decoders in which a layer mixes tokens without attention."""
    delta = config.DeltaNet(n_keys=2, n_values=4, d_key=5, d_value=6, kernel=3)
    alike = config.DeltaNet(n_keys=3, n_values=3, d_key=4, d_value=7)
    gated: dict[str, Any] = {"norm": config.RMSNorm(), "position": config.Rope(), "attention_gate": True}
    return [
        tiny_config(mixers=(delta, config.Attending()), ffn=config.Gated(), **gated),
        tiny_config("both", mixers=(config.Attending(), alike), position=config.Alibi()),
        tiny_config(mixers=(config.ShortConv(), config.Attending()), norm=config.RMSNorm(), position=config.Rope()),
        tiny_config("branch", mixers=(config.ShortConv(kernel=4, bias=True),) * 2, ffn=config.Gated()),
        tiny_config(attention_gate=True, position=config.Rope(), n_heads=4, n_kv_heads=2, d_head=4, qk_norm=True),
        *latent(),
        *normed_values(),
    ]


def normed_values() -> list[ModelConfig]:
    """Models whose values are normalized or made of the keys, and whose blocks are scaled."""
    normed, alike = config.Attending(value_norm=True), config.Attending(value_norm=True, values_of_keys=True)
    part, whole = config.Rope(base=50.0), config.Rope(base=100.0, fraction=0.5, over="head")
    sizes: dict[str, Any] = {"norm": config.RMSNorm(), "n_heads": 4, "n_kv_heads": 2, "d_head": 10}
    layers: dict[str, Any] = {"position": part, "positions": (part, whole), "windows": (3, 0)}
    own: dict[str, Any] = {"block_scale": True, "scale_scores": False, "ffn": config.Gated(), "qk_norm": True}
    return [
        tiny_config("both", mixers=(normed, alike), attention_bias=False, **sizes, **layers, **own),
        tiny_config(mixers=(config.Attending(values_of_keys=True), config.Attending()), position=config.Alibi()),
        *shared_keys(),
    ]


def shared_keys() -> list[ModelConfig]:
    """Models of which a layer reads the keys and values of another, and whose blocks have embeddings of their own."""
    wide: dict[str, Any] = {"d_head": 6, "n_kv_heads": 1, "value_norm": True}
    near, far = config.Attending(value_norm=True), config.Attending(values_of_keys=True, **wide)
    part, whole = config.Rope(base=50.0), config.Rope(base=100.0, fraction=0.7, over="head")
    turns: dict[str, Any] = {"position": part, "positions": (part, whole) * 2, "windows": (3, 0) * 2}
    reads = config.Attending(value_norm=True, keys_of=0), config.Attending(**wide, keys_of=1)
    forwards: dict[str, Any] = {"ffn": config.Gated(), "ffns": (config.Gated(), config.Gated(d_hidden=50)) * 2}
    own: dict[str, Any] = {"norm": config.RMSNorm(), "n_heads": 4, "n_kv_heads": 2, "d_head": 10, "n_layers": 4}
    scaled: dict[str, Any] = {"block_scale": True, "scale_scores": False, "qk_norm": True, "attention_bias": False}
    mixers: dict[str, Any] = {"mixers": (near, far, *reads)}
    return [
        tiny_config("both", **own, **scaled, **turns, **forwards, **mixers, d_layer_input=5),
        tiny_config(mixers=(config.Attending(), config.Attending(keys_of=0)), position=config.Alibi()),
    ]


def latent() -> list[ModelConfig]:
    """Models whose keys and values are made of a narrow vector."""
    narrow = config.Latent(rank=7, query_rank=9, d_rotated=4, d_value=6)
    sizes: dict[str, Any] = {"norm": config.RMSNorm(), "d_head": 10}
    turned = config.Rope(pairing="interleaved", fraction=0.4)
    return [
        tiny_config(mixers=(narrow,) * 2, position=turned, attention_bias=False, **sizes),
        tiny_config(mixers=(narrow, config.Latent(rank=5, d_rotated=2, d_value=11)), **sizes),
    ]


def of_classes() -> list[ModelConfig]:
    """Models that say to which class a text belongs, with and without a layer in front."""
    labels = ("good", "bad", "不知道")
    heads = [config.ClassHead(labels=labels, activation=one) for one in ("tanh", "relu", None)]
    rest: dict[str, Any] = {"kind": "encoder", "position": config.Learned()}
    return [tiny_config("post" if head.activation else "pre", head=head, **rest) for head in heads]


def of_pictures() -> list[ModelConfig]:
    """Models that read patches of a picture: gray and color, and each sort of part."""
    gray = config.Patches(height=6, width=9, patch=3, channels=1, mean=(0.13,), std=(0.31,))
    color = config.Patches(height=8, width=4, patch=2, mean=(0.4, 0.5, 0.6), std=(0.2, 0.3, 0.25))
    classes, t5 = config.ClassHead(labels=("cat", "dog", "猫", "none")), config.T5Bias(buckets=8, max_distance=12)
    normed = {"norm": config.RMSNorm(), "qk_norm": True}
    choices: list[dict[str, Any]] = [
        {"inputs": gray, "head": classes, "position": config.Learned()},
        {"inputs": color, "head": classes, "norm_at": "post", "embedding_norm": True},
        {"inputs": color, "head": config.NoHead(), "position": config.Rope(), **normed},
        {"inputs": gray, "head": classes, "position": t5, "ffn": config.Gated(), **SHARED},
        {"inputs": gray, "head": classes, "position": config.NoPosition(), "norm_at": "both", "attention_bias": False},
        {"inputs": color, "head": classes, "position": config.Learned(), "ffn": EXPERTS[1], "parallel": True},
    ]
    rest: dict[str, Any] = {"kind": "encoder", "n_vocab": 0, "tie_embeddings": False, "scale_embedding": False}
    return [tiny_config(n_context=one["inputs"].n_patches + 1, **rest, **one) for one in choices]


def of_strips() -> list[ModelConfig]:
    """Encoder–decoders that read patches of a picture and write words of digits: with and without [CLS]."""
    gray = config.Patches(height=6, width=9, patch=3, channels=1, mean=(0.13,), std=(0.31,), cls=False)
    color = config.Patches(height=8, width=4, patch=2, mean=(0.4, 0.5, 0.6), std=(0.2, 0.3, 0.25))
    t5 = config.T5Bias(buckets=8, max_distance=12)
    choices: list[dict[str, Any]] = [
        {"inputs": gray, "position": config.Learned(), "scale_embedding": False},
        {"inputs": color, "norm_at": "post", "ffn": config.Gated(), "tie_embeddings": False},
        {"inputs": dataclasses.replace(gray, cls=True), "position": t5, "norm": config.RMSNorm(), **SHARED},
    ]
    rest: dict[str, Any] = {"kind": "encoder_decoder", "n_vocab": 25, "n_encoder_layers": 3, "start_id": 22}
    return [tiny_config(n_context=one["inputs"].n_patches + one["inputs"].cls, **rest, **one) for one in choices]


def picture(config_: ModelConfig, seed: int = 0) -> images.Levels:
    """Random levels of the size and in the colors that a model reads."""
    given = config_.inputs
    assert isinstance(given, config.Patches)
    shape = (given.height, given.width, given.channels)
    levels = torch.randint(256, shape, generator=torch.Generator().manual_seed(seed)).to(torch.uint8).numpy()
    return levels[..., 0] if given.channels == 1 else levels


def options(config_: ModelConfig) -> dict[str, Any]:
    """What a config chooses, by the choice's name: of a part its type, of its heads who shares keys and values."""
    chosen = {field.name: getattr(config_, field.name) for field in dataclasses.fields(config_)}
    shared = {1: "one", config_.n_heads: "each its own"}.get(config_.n_kv_heads, "some")
    chosen |= {"n_heads": "any", "n_kv_heads": shared, "d_head": "any"}
    return {name: type(part).__name__ if dataclasses.is_dataclass(part) else part for name, part in chosen.items()}


def without_a_part() -> list[ModelConfig]:
    """Models of every kind without norms or additions, as an edit makes them of one, under either place of the norm."""
    found = []
    for n, (kind, norm_at) in enumerate(itertools.product(KINDS, PLACES)):
        own: dict[str, Any] = {"norm": config.NoNorm()} if n in (0, 3, 4) else {"residual": False}
        own |= {"position": config.Rope()} if n % 2 else {}
        own |= {"head": config.MaskedHead()} if kind == "encoder" else {}
        own |= {"start_id": 0} if kind == "encoder_decoder" else {}
        found.append(tiny_config(norm_at, kind=kind, qk_norm=n == 0, embedding_norm=n == 3, **own))
    return found


def describe(config_: ModelConfig) -> str:
    """A name for a test's parameter."""
    parts: list[str | None] = [config_.kind, config_.encoder_norm_at, config_.norm_at]
    parts += [type(part).__name__ for part in (config_.position, config_.norm, config_.ffn)]
    return "-".join(filter(None, [*parts, "parallel" * config_.parallel, "alone" * (not config_.residual)]))


def run_both(lm: vm.LanguageModel, length: int = 7, **arguments: Any) -> Trace:
    """A trace of ids, with a target of another length where the model reads one; or of a picture."""
    if isinstance(lm.config.inputs, config.Patches):
        reads: dict[str, Any] = {"target_ids": [22, 3, 10, 7]} if lm.config.transcribes else {}
        return lm.trace(picture(lm.config, length), **{**reads, **arguments})
    numbers = torch.Generator().manual_seed(length)
    ids = torch.randint(lm.config.n_vocab, (length,), generator=numbers).tolist()
    target = [0, *ids[: length - 3]] if lm.config.kind == "encoder_decoder" else None
    return lm.trace(ids=ids, target_ids=target, **arguments)


def language_model(config_: ModelConfig, seed: int = 0) -> vm.LanguageModel:
    """A tiny random model, with the bundled vocabulary's first tokens: one for all tests, which leave it as it is."""
    lm, before = _shared(config_, seed)
    assert state(lm.model) == before, "a test has changed the model that others run too"
    return lm


@functools.cache
def traced(config_: ModelConfig) -> Trace:
    """A trace of ids in the :func:`language_model`, for all tests that only read it."""
    return run_both(language_model(config_))


@functools.lru_cache(maxsize=512)
def _shared(config_: ModelConfig, seed: int) -> tuple[vm.LanguageModel, object]:
    model, tokenizer = random_model(config_, seed), _tokenizer(config_)
    lm = vm.LanguageModel(name="tiny", model=model, tokenizer=tokenizer, twin=None, folder=Path("nowhere"))
    return lm, state(lm.model)


def _tokenizer(config_: ModelConfig) -> Tokenizer:
    if isinstance(given := config_.inputs, config.Patches):
        return NumeralTokenizer(given) if config_.transcribes else PatchTokenizer(given)
    return story_tokenizer()


def state(model: Transformer) -> object:
    """What tells whether a model was changed: PyTorch counts what is done to a tensor in place."""
    return model.training, [(id(weight), weight._version, weight.requires_grad) for weight in model.parameters()]
