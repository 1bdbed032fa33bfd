"""A folder with one small model of every kind, as the app finds it through VIZ_MODEL_PATH."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from checkpoint_makers import Reference, write_ours
from tiny_models import random_model, tiny_config
from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers, processors, trainers

from viz_model import config
from viz_model.tokenizers.tokenizer import story_tokenizer

TEXTS = [
    "Once upon a time, there was a little girl named Lily. She said: my cat sat on the mat.",
    "A small dog ran to the big tree and the little bird sang a song about the sea.",
]
SIZES = {
    "t5": {"d_model": 24, "num_decoder_layers": 3},
    "bert": {"max_position_embeddings": 48},
    "llama": {"max_position_embeddings": 48, "num_key_value_heads": 1},
    "qwen3": {"max_position_embeddings": 48},
}


def write_family(folder: Path) -> dict[str, Path]:
    """Write the models into ``folder``: names as the app lists them, and where they lie."""
    makers = {
        "tiny-t5": (Reference("T5ForConditionalGeneration", SIZES["t5"]), _unigram()),
        "tiny-gated-t5": (
            Reference("T5ForConditionalGeneration", {**SIZES["t5"], "feed_forward_proj": "gated-gelu"}, untied=True),
            _unigram(),
        ),
        "tiny-bert": (Reference("BertForMaskedLM", SIZES["bert"]), _word_pieces()),
        "tiny-qwen3": (Reference("Qwen3ForCausalLM", SIZES["qwen3"]), _byte_pairs()),
        "tiny-llama-ids": (Reference("LlamaForCausalLM", SIZES["llama"]), None),
    }
    for name, (reference, tokenizer) in makers.items():
        n_vocab = 53 if tokenizer is None else tokenizer.get_vocab_size() + 3  # some rows without a token
        special = {"decoder_start_token_id": 0, "eos_token_id": 1} if "t5" in name else {}
        sized = Reference(reference.model, {**reference.changes, **special, "vocab_size": n_vocab}, reference.untied)
        sized.save(folder / name)
        if tokenizer is not None:
            tokenizer.save(str(folder / name / "tokenizer.json"))
    n_vocab, french = story_tokenizer().n_vocab, story_tokenizer("encoder_decoder").languages["fr"]
    for name, ours in {
        "tiny-masked": tiny_config(
            "post", kind="encoder", n_vocab=n_vocab, head=config.MaskedHead(), embedding_norm=True, n_context=32
        ),
        "tiny-translator": tiny_config(
            kind="encoder_decoder", n_vocab=n_vocab, n_encoder_layers=3, start_id=french, n_context=32
        ),
        "tiny-alibi": tiny_config(position=config.Alibi(), n_vocab=n_vocab, norm=config.RMSNorm()),
        "tiny-window": tiny_config("post", position=config.Learned(), n_vocab=n_vocab, windows=(3, 0)),
        "tiny-nowhere": tiny_config(position=config.NoPosition(), n_vocab=n_vocab, ffn=config.Gated()),
    }.items():
        write_ours(folder / name, random_model(ours))
    return {path.name: path for path in sorted(folder.iterdir())}


def _unigram() -> Any:
    made: Any = Tokenizer(models.Unigram())
    made.pre_tokenizer, made.decoder = pre_tokenizers.Metaspace(), decoders.Metaspace()
    special = ["<pad>", "</s>", "<unk>"]
    trainer = trainers.UnigramTrainer(vocab_size=120, special_tokens=special, unk_token="<unk>", show_progress=False)
    made.train_from_iterator(TEXTS, trainer)
    made.post_processor = processors.TemplateProcessing(single="$A </s>", special_tokens=[("</s>", 1)])
    return made


def _word_pieces() -> Any:
    made: Any = Tokenizer(models.WordPiece(unk_token="[UNK]"))
    made.normalizer, made.pre_tokenizer = normalizers.BertNormalizer(), pre_tokenizers.BertPreTokenizer()
    made.decoder = decoders.WordPiece()
    special = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    made.train_from_iterator(
        TEXTS, trainers.WordPieceTrainer(vocab_size=120, special_tokens=special, show_progress=False)
    )
    made.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", special_tokens=[("[CLS]", 2), ("[SEP]", 3)]
    )
    return made


def _byte_pairs() -> Any:
    made: Any = Tokenizer(models.BPE())
    made.pre_tokenizer, made.decoder = pre_tokenizers.ByteLevel(add_prefix_space=False), decoders.ByteLevel()
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.BpeTrainer(
        vocab_size=320, special_tokens=["<|endoftext|>"], initial_alphabet=alphabet, show_progress=False
    )
    made.train_from_iterator(TEXTS, trainer)
    return made
