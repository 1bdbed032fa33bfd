"""A folder with one small model of every kind, as the app finds it through VIZ_MODEL_PATH."""

from pathlib import Path
from typing import Any

import trained_tokenizers
from checkpoint_makers import Reference, write_ours
from tiny_models import random_model, tiny_config

from viz_model import config
from viz_model.tokenizers.tokenizer import story_tokenizer

SHORT = {"max_position_embeddings": 48}
T5 = {"d_model": 24, "num_decoder_layers": 3, "decoder_start_token_id": 0, "eos_token_id": 1}
# Of each model: what it is made of, and the kind of its tokenizer.
MADE: dict[str, tuple[str, dict[str, Any], str | None]] = {
    "tiny-t5": ("T5ForConditionalGeneration", T5, "t5"),
    "tiny-gated-t5": ("T5ForConditionalGeneration", {**T5, "feed_forward_proj": "gated-gelu"}, "t5"),
    "tiny-bert": ("BertForMaskedLM", SHORT, "bert"),
    "tiny-qwen3": ("Qwen3ForCausalLM", SHORT, "gpt2"),
    "tiny-llama-ids": ("LlamaForCausalLM", {**SHORT, "num_key_value_heads": 1}, None),
}


def write_family(folder: Path) -> dict[str, Path]:
    """Write the models into ``folder``: names as the app lists them, and where they lie."""
    for name, (made, changes, kind) in MADE.items():
        n_vocab = 53
        if kind is not None:
            n_vocab = trained_tokenizers.n_tokens(trained_tokenizers.KINDS[kind](folder / name)) + 3  # rows without one
        Reference(made, {**changes, "vocab_size": n_vocab}, untied=name == "tiny-gated-t5").save(folder / name)
    n_vocab, french = story_tokenizer().n_vocab, story_tokenizer("encoder_decoder").languages["fr"]
    whole: dict[str, Any] = {"n_vocab": n_vocab, "n_context": 32}
    for name, ours in {
        "tiny-masked": tiny_config("post", kind="encoder", head=config.MaskedHead(), embedding_norm=True, **whole),
        "tiny-translator": tiny_config(kind="encoder_decoder", n_encoder_layers=3, start_id=french, **whole),
        "tiny-alibi": tiny_config(position=config.Alibi(), n_vocab=n_vocab, norm=config.RMSNorm()),
        "tiny-window": tiny_config("post", position=config.Learned(), n_vocab=n_vocab, windows=(3, 0)),
        "tiny-nowhere": tiny_config(position=config.NoPosition(), n_vocab=n_vocab, ffn=config.Gated()),
    }.items():
        write_ours(folder / name, random_model(ours))
    return {path.name: path for path in sorted(folder.iterdir())}
