"""Checkpoints to load: small random models of the `transformers` library, saved as it saves them."""

import json
import resource
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeAlias

import pytest
import torch
import transformers
from safetensors.torch import save_file
from torch import Tensor, nn
from transformers.models.auto import modeling_auto

import viz_model as vm
from viz_model.checkpoints import huggingface
from viz_model.checkpoints.weights import stored_tensors
from viz_model.config import DeltaNet, ModelConfig, ShortConv
from viz_model.model.transformer import Transformer
from viz_model.runs import record, trace
from viz_model.tokenizers.tokenizer import story_tokenizer

# The library's logging is not typed.
_logging: Any = transformers.logging
_logging.set_verbosity_error()
_logging.disable_progress_bar()
Sites: TypeAlias = dict[str, Tensor]
Close: TypeAlias = Callable[[Tensor, Tensor, str], None]


@dataclass(frozen=True)
class Reference:
    """A model class of transformers and what its config is given beside :data:`SIZES`."""

    model: str
    changes: Mapping[str, Any] = field(default_factory=dict)
    untied: bool = False
    attention: str = "eager"

    @property
    def family(self) -> str:
        return max((family for family in SIZES if self.model.lower().startswith(family)), key=len)

    def build(self, seed: int = 0) -> Any:
        """The model, all of whose parameters are random."""
        cls: Any = getattr(transformers, self.model)
        config = cls.config_class(**{**SIZES[self.family], **self.changes})
        # Its constructors draw from the global generator.
        with torch.random.fork_rng():
            model = cls._from_config(config, attn_implementation=self.attention)
        if self.untied:  # T5's class ties whatever its config says
            model.lm_head.weight = nn.Parameter(torch.empty_like(model.lm_head.weight))
        randomize(model, seed)
        return model.eval()

    def save(self, folder: Path, seed: int = 0) -> Any:
        """The model, and a folder with it."""
        model = self.build(seed)
        model.save_pretrained(folder)
        if self.family == "vit":
            size = {"height": model.config.image_size, "width": model.config.image_size}
            transformers.ViTImageProcessorPil(size=size).save_pretrained(folder)
        return model


_BOUNDS = {"vocab_size": 53, "max_position_embeddings": 16}
_LAYERS = {"hidden_size": 24, "num_hidden_layers": 2, "num_attention_heads": 3}
_LIKE_LLAMA = {**_BOUNDS, **_LAYERS, "intermediate_size": 40}
_GROUPED = {**_LIKE_LLAMA, "num_attention_heads": 4, "num_key_value_heads": 2}
_HEADS = {**_GROUPED, "head_dim": 10}
_THREE = {**_HEADS, "num_hidden_layers": 3, "sliding_window": 3}
_GLM = {**_GROUPED, "head_dim": 12, "pad_token_id": 0}
_ROBERTA = {**_LIKE_LLAMA, "max_position_embeddings": 18, "pad_token_id": 1, "type_vocab_size": 1}
_T5 = {"vocab_size": 53, "d_model": 24, "d_kv": 8, "num_heads": 3, "d_ff": 40, "num_layers": 2}
_EXPERTS = {"num_experts": 5, "num_experts_per_tok": 2, "moe_intermediate_size": 12}
_PART = {"rope_type": "default", "rope_theta": 50.0, "partial_rotary_factor": 0.5}
_LINEAR, _FULL, _NEAR = "linear_attention", "full_attention", "sliding_attention"
_DELTA = {**_GROUPED, "layer_types": [_LINEAR, _FULL], "head_dim": 12, "rope_parameters": _PART}
_LATENT = {
    **_LIKE_LLAMA,
    **{"kv_lora_rank": 14, "q_lora_rank": 9, "qk_rope_head_dim": 4, "qk_nope_head_dim": 6, "v_head_dim": 5},
    **{"first_k_dense_replace": 1, "n_routed_experts": 6, "moe_intermediate_size": 12},
}
_MODERNBERT = {
    **_LIKE_LLAMA,
    **{"num_hidden_layers": 4, "local_attention": 4, "global_attn_every_n_layers": 3},
    **dict.fromkeys(("pad_token_id", "cls_token_id", "sep_token_id", "bos_token_id", "eos_token_id"), 0),
}

_TWO_STACKS = {
    **_BOUNDS,
    "d_model": 24,
    **{f"{side}_layers": 2 for side in ("encoder", "decoder")},
    **{f"{side}_attention_heads": 3 for side in ("encoder", "decoder")},
    **{f"{side}_ffn_dim": 40 for side in ("encoder", "decoder")},
    **{"pad_token_id": 52, "decoder_start_token_id": 52, "eos_token_id": 0},
}


def _delta(*sizes: int) -> dict[str, int]:
    names = ("num_key_heads", "num_value_heads", "key_head_dim", "value_head_dim")
    return {f"linear_{name}": size for name, size in zip(names, sizes, strict=True)}


# Sizes that differ from each other, so that swapped axes show.
SIZES: dict[str, dict[str, Any]] = {
    "gpt2": {"vocab_size": 53, "n_positions": 16, "n_embd": 24, "n_layer": 2, "n_head": 3},
    **dict.fromkeys(("bert", "llama", "phi"), _LIKE_LLAMA),
    **dict.fromkeys(("t5", "umt5", "mt5"), _T5),
    **dict.fromkeys(("qwen2", "mistral", "olmo2", "cohere", "arcee", "starcoder2"), _GROUPED),
    **dict.fromkeys(("gemma", "qwen3", "seedoss"), _HEADS),
    **dict.fromkeys(("bart", "mbart", "marian"), _TWO_STACKS),
    **dict.fromkeys(("modernbert", "modernbertdecoder"), _MODERNBERT),
    **dict.fromkeys(("glm", "glm4"), _GLM),
    "stablelm": {**_LIKE_LLAMA, "num_key_value_heads": 3},
    "phi3": {**_GROUPED, "pad_token_id": 0},
    "smollm3": {**_GROUPED, "num_hidden_layers": 4, "pad_token_id": 0},
    "gemma3": {**_THREE, "query_pre_attn_scalar": 10, "layer_types": [_NEAR, _FULL, _NEAR]},
    "gemma4": {
        **_HEADS,
        **{"num_hidden_layers": 4, "sliding_window": 3, "layer_types": [_NEAR, _FULL] * 2},
        **{"global_head_dim": 14, "num_global_key_value_heads": 1},
        **{"hidden_size_per_layer_input": 6, "vocab_size_per_layer_input": 53},
    },
    "gemma2": {**_THREE, **{"query_pre_attn_scalar": 7, "attn_logit_softcapping": 1.5, "final_logit_softcapping": 2.0}},
    "bloom": {"vocab_size": 53, "hidden_size": 24, "n_layer": 2, "n_head": 3},
    "falcon": {**_BOUNDS, "hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4},
    "gptneox": {**_LIKE_LLAMA, "rope_parameters": _PART},
    "olmo3": {**_GROUPED, "num_hidden_layers": 3, "sliding_window": 3, "layer_types": [_NEAR] * 2 + [_FULL]},
    "ministral": {**_HEADS, "sliding_window": 3, "layer_types": [_FULL, _NEAR]},
    "granite": {
        **_GROUPED,
        **{"embedding_multiplier": 3.0, "residual_multiplier": 0.4},
        **{"attention_multiplier": 0.3, "logits_scaling": 2.5},
    },
    "gptoss": {**_HEADS, "num_local_experts": 5, "num_experts_per_tok": 2, "sliding_window": 3, "swiglu_limit": 0.8},
    "cohere2": {**_GROUPED, "num_hidden_layers": 3, "sliding_window": 3, "sliding_window_pattern": 2},
    "qwen3next": {
        **_DELTA,
        **_EXPERTS,
        "layer_types": [_FULL, _LINEAR],
        "rms_norm_eps": 0.1,  # the norm behind a DeltaNet may have next to nothing to divide by
        **_delta(2, 6, 5, 7),
        **{"linear_conv_kernel_dim": 3, "shared_expert_intermediate_size": 20},
    },
    "qwen3_5": {**_DELTA, **_delta(3, 3, 6, 4)},
    "albert": {**_LIKE_LLAMA, "embedding_size": 14, "num_hidden_layers": 3},
    "electra": {**_LIKE_LLAMA, "embedding_size": 14},
    "lfm2": {**_GROUPED, "num_hidden_layers": 3, "layer_types": ["conv", _FULL, "conv"], "block_multiple_of": 7},
    "deepseekv2": {**_LATENT, "n_shared_experts": 2, "num_experts_per_tok": 2, "routed_scaling_factor": 1.5},
    "deepseekv3": {**_LATENT, "num_key_value_heads": 3, "num_experts_per_tok": 3, "n_group": 3, "topk_group": 2},
    "nemotron": {**_GROUPED, "head_dim": 12},
    "qwen2moe": {**_GROUPED, **_EXPERTS, "shared_expert_intermediate_size": 20},
    "mixtral": {**_GROUPED, "num_local_experts": 5},
    "olmoe": {**_GROUPED, "num_experts": 5, "num_experts_per_tok": 3, "eos_token_id": 0},
    "qwen3moe": {**_HEADS, **_EXPERTS},
    "gptneo": {
        **{**_BOUNDS, "hidden_size": 24, "num_layers": 2, "num_heads": 3, "intermediate_size": 40},
        **{"window_size": 3, "attention_types": [[["global", "local"], 1]]},
    },
    **dict.fromkeys(("roberta", "xlmroberta"), _ROBERTA),
    "distilbert": {**_BOUNDS, "dim": 24, "n_layers": 2, "n_heads": 3, "hidden_dim": 40},
    "vit": {**_LAYERS, "intermediate_size": 40, "image_size": 12, "patch_size": 4},
    "opt": {**_BOUNDS, **_LAYERS, "word_embed_proj_dim": 24, "ffn_dim": 40},
}

TASKS: tuple[Any, ...] = (
    modeling_auto.MODEL_FOR_SEQ_TO_SEQ_CAUSAL_LM_MAPPING_NAMES,
    modeling_auto.MODEL_FOR_MASKED_LM_MAPPING_NAMES,
    modeling_auto.MODEL_FOR_CAUSAL_LM_MAPPING_NAMES,
    modeling_auto.MODEL_FOR_IMAGE_CLASSIFICATION_MAPPING_NAMES,
)
MORE: dict[str, dict[str, Any]] = {
    "qwen3_moe": {"num_hidden_layers": 3, "mlp_only_layers": [1]},
    "granite": {"tie_word_embeddings": True},
    "gemma4_text": {"num_kv_shared_layers": 2, "use_double_wide_mlp": True},
}


def reference(family: str) -> Reference:
    """The class of a family that transformers itself takes for its first task."""
    name = next((names[family] for names in TASKS if family in names), "")
    assert name, f"{family}: transformers has no model of this type in TASKS, which a family is compared with"
    return Reference(name[0] if isinstance(name, tuple) else name, MORE.get(family, {}))


_SHORTEST = {of: name for name, of in sorted(huggingface.FAMILIES.items(), key=lambda known: -len(known[0]))}
REFERENCES = {name: reference(name) for name in _SHORTEST.values()}
"""Of several names that stand for one family the shortest."""


@torch.no_grad()
def randomize(model: nn.Module, seed: int) -> None:
    """Biases of 0 and gains of 1 would hide mistakes."""
    numbers = torch.Generator().manual_seed(seed)
    trained = {name: value for name, value in model.named_parameters() if value.requires_grad}
    buffers = {name: value for name, value in model.named_buffers() if value.is_floating_point()}  # others are masks
    biases = {name: value for name, value in buffers.items() if name.endswith(("bias", "layer_scalar"))}
    for name, value in sorted({**trained, **biases}.items()):
        noise = torch.randn(value.shape, generator=numbers)
        if name.endswith("bias"):
            value.copy_(0.3 * noise)
        elif name.endswith("A_log"):  # a state that is forgotten at once holds nothing but rounding
            value.copy_(0.3 * noise - 3)
        elif value.dim() == 1:
            value.copy_(1 + 0.3 * noise)
        else:
            value.copy_(noise * value.shape[-1] ** -0.5)


def token_ids(lengths: Sequence[int], n_vocab: int, seed: int) -> list[list[int]]:
    """One text for each length, without the ids 0 and 1: RoBERTa gives its padding no position."""
    numbers = torch.Generator().manual_seed(seed)
    return [torch.randint(2, n_vocab, (length,), generator=numbers).tolist() for length in lengths]


def padded(texts: list[list[int]]) -> tuple[Tensor, Tensor]:
    """Ids [B, T] filled up with 0 at the end, and a boolean [B, T], True on what was filled up."""
    longest = max(map(len, texts))
    ids = torch.tensor([text + [0] * (longest - len(text)) for text in texts])
    return ids, torch.tensor([[i >= len(text) for i in range(longest)] for text in texts])


def run(model: Transformer, ids: list[int], target: list[int] | None = None, **more: Any) -> trace.Trace:
    return record.record(model, story_tokenizer(), ids, target, **more)


def hidden(config: ModelConfig, states: tuple[Tensor, ...], patterns: Sequence[Tensor] = (), prefix: str = "") -> Sites:
    """Their hidden states and patterns by our names: the embedding, the blocks, and at last what the output reads."""
    found = {f"{prefix}embed.out": states[0]}
    found |= {f"{prefix}blocks.{layer}.resid.out": state for layer, state in enumerate(states[1:])}
    if config.norm_at != "post":
        found[f"{prefix}final.norm.out"] = found.pop(f"{prefix}blocks.{len(states) - 2}.resid.out")
    return found | {f"{prefix}blocks.{layer}.attn.pattern": each for layer, each in enumerate(patterns)}


def compared(theirs: Any, ours: Transformer, longest: int, close: Close) -> Tensor:
    """Assert that a reference model and ours agree in every value, on texts by themselves and padded; ours of the
    longest text. ``close`` asserts that two values of a name are the same."""
    two = ours.config.kind == "encoder_decoder"
    return (_compared_two if two else _compared_one)(theirs, ours, min(ours.config.n_context, longest), close)


def _check(found: trace.Trace, sites: Mapping[str, Tensor], row: int, n: int, m: int, close: Close) -> None:
    """Values of one text of ``n`` tokens, read by ``m``."""
    for site, value in sites.items():
        close(found[site], value[row][:, :m, :n] if site.endswith("pattern") else value[row][:m], site)


@torch.no_grad()
def _compared_one(theirs: Any, ours: Transformer, longest: int, close: Close) -> Tensor:
    config = ours.config
    texts = token_ids((longest, 4, 1), config.n_vocab, seed=3)
    ids, padding = padded(texts)
    segments = ids % max(config.n_segments, 1)
    more: dict[str, Any] = {"token_type_ids": segments} if config.n_segments else {}
    experts = {n: config.layer(config.sides[0], n).experts for n in range(config.n_layers)}
    routed = {n: ffn for n, ffn in experts.items() if ffn is not None}
    if routed:
        theirs.set_experts_implementation("eager")  # its fused kernel takes widths that are multiples of 4
        more["output_router_logits"] = True
    expected = theirs(ids, attention_mask=(~padding).long(), output_hidden_states=True, output_attentions=True, **more)
    sites = hidden(config, expected.hidden_states)
    without = DeltaNet | ShortConv
    attending = [n for n in range(config.n_layers) if not isinstance(config.layer(config.sides[0], n).mixer, without)]
    sites |= {f"blocks.{n}.attn.pattern": each for n, each in zip(attending, expected.attentions, strict=True)}
    routers = [each for each in expected.router_logits if isinstance(each, Tensor)] if routed else []
    for layer, router in zip(routed, routers, strict=True):
        sites[f"blocks.{layer}.ffn.router"] = router.unflatten(0, ids.shape)
        weigh = torch.sigmoid if routed[layer].softmax == "sigmoid" else torch.nn.Softmax(-1)
        sites[f"blocks.{layer}.ffn.probs"] = weigh(router.unflatten(0, ids.shape))
    logits = getattr(expected, "logits", getattr(expected, "prediction_logits", None))
    output = expected.last_hidden_state if logits is None else logits
    sites |= {} if logits is None else {"logits": logits}
    together = ours(ids, padding=padding, **({"segments": segments} if config.n_segments else {}))
    for row, text in enumerate(texts):
        n = len(text)
        found = run(ours, text, **({"segments": segments[row, :n].tolist()} if config.n_segments else {}))
        _check(found, sites, row, n, n, close)
        for layer, ffn in routed.items():
            assert (found[f"blocks.{layer}.ffn.chosen"] > 0).sum(-1).tolist() == [ffn.top_k] * n
        close(together[row, :n], output[row, :n], "output of the batch")
    return together[0]


@torch.no_grad()
def _compared_two(theirs: Any, ours: Transformer, longest: int, close: Close) -> Tensor:
    config = ours.config
    texts = token_ids((longest, 4, 1), config.n_vocab, seed=3)
    targets = token_ids((6, longest, 2), config.n_vocab, seed=4)
    ids, padding = padded(texts)
    target_ids, _ = padded(targets)
    more = {"output_hidden_states": True, "output_attentions": True}
    expected = theirs(input_ids=ids, attention_mask=(~padding).long(), decoder_input_ids=target_ids, **more)
    encoder = hidden(config, expected.encoder_hidden_states, expected.encoder_attentions, "encoder.")
    decoder = hidden(config, expected.decoder_hidden_states, expected.decoder_attentions, "decoder.")
    cross = {f"decoder.blocks.{layer}.cross.pattern": each for layer, each in enumerate(expected.cross_attentions)}
    together = ours(ids, target_ids, padding=padding)
    for row, (text, target) in enumerate(zip(texts, targets, strict=True)):
        n, m = len(text), len(target)
        found = run(ours, text, target)
        for sites, of, by in ((encoder, n, n), (decoder | {"logits": expected.logits}, m, m), (cross, n, m)):
            _check(found, sites, row, of, by, close)
        close(together[row, :m], expected.logits[row, :m], "logits of the batch")
    return together[0]


@torch.no_grad()
def logits_of(model: Any, ids: Sequence[int], target: Sequence[int] | None = None) -> Tensor:
    """What a reference model makes of one text."""
    more = {} if target is None else {"decoder_input_ids": torch.tensor([target])}
    logits: Tensor = model(input_ids=torch.tensor([ids]), **more).logits[0]
    return logits


def write_ours(folder: Path, model: Transformer, **description: Any) -> Path:
    """A model folder of ours, as publishing writes it."""
    folder.mkdir(parents=True, exist_ok=True)
    save_file({k: v.contiguous() for k, v in stored_tensors(model).items()}, folder / "model.safetensors")
    plain = {"tokenizer": "story-8k", "twin": None, "config": model.config.to_dict(), **description}
    (folder / "config.json").write_text(json.dumps(plain))
    return folder


def change_config(folder: Path, **changes: Any) -> None:
    """Change attributes; ``...`` removes one."""
    plain = {**json.loads((folder / "config.json").read_text()), **changes}
    (folder / "config.json").write_text(json.dumps({k: v for k, v in plain.items() if v is not ...}))


def refused(source: Path, *parts: str) -> None:
    """Loading fails with one short line that holds every one of ``parts``, and takes no memory to speak of."""
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with pytest.raises(vm.ModelError) as error:
        vm.load(source)
    message = str(error.value)
    assert message.isprintable() and len(message) < len(str(source)) + 700
    for part in parts:
        assert part in message
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 200_000  # kB
