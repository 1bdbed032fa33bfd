"""Small tokenizers, trained on a few lines."""

import io
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import tokenizers as library
from tokenizers import AddedToken, Regex, decoders, models, normalizers, pre_tokenizers, processors, trainers

from viz_model.tokenizers import rules

CORPUS = [
    "Once upon a time there was a little girl who lived by the sea. It's 1234, isn't it?",
    "the little cat sat on the mat, and the other cat was walking, talking and singing",
    "我爱深度学习。很久很久以前，有一只小猫住在海边。",
    "def walk(x):\n    return x + 1\n\n\n    done  \t twice",
    "naïve café — “quoted” … Ünïcödé",
] * 3


def byte_level(pre: str, *, special: str = "<|endoftext|>", size: int = 420) -> Any:
    trained = library.Tokenizer(models.BPE())
    whole, plain = (pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=cuts) for cuts in (True, False))

    def split_by(pattern: str) -> Any:
        return pre_tokenizers.Split(Regex(pattern), "isolated")

    punctuation, threes = pre_tokenizers.Punctuation("contiguous"), split_by("[0-9][0-9][0-9]")
    every: dict[str, list[Any]] = {
        "gpt-2": [whole],
        "smollm": [pre_tokenizers.Digits(individual_digits=True), whole],
        "llama-bpe": [split_by(rules._LLAMA3), plain],
        "qwen2": [split_by(rules._QWEN2), plain],
        "bloom": [split_by(" ?[^(\\s|[.,!?…。，、।۔،])]+"), plain],
        "falcon": [punctuation, whole, pre_tokenizers.Digits(individual_digits=False), threes],
    }
    steps = every[pre]
    trained.pre_tokenizer = pre_tokenizers.Sequence(steps) if len(steps) > 1 else steps[0]
    trained.decoder = decoders.ByteLevel()
    taught: dict[str, Any] = {"initial_alphabet": plain.alphabet(), "special_tokens": [special]}
    trained.train_from_iterator(CORPUS, trainers.BpeTrainer(vocab_size=size, show_progress=False, **taught))
    return trained


def sentencepiece(path: Path, **options: Any) -> Any:
    found = pytest.importorskip("sentencepiece")
    model = io.BytesIO()
    defaults: dict[str, Any] = {"vocab_size": 180, "hard_vocab_limit": False, "minloglevel": 2}
    found.SentencePieceTrainer.train(sentence_iterator=iter(CORPUS), model_writer=model, **defaults | options)
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(model.getvalue())
    return found.SentencePieceProcessor(model_proto=model.getvalue())


def save(folder: Path, trained: Any, **settings: Any) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    trained.save(str(folder / "tokenizer.json"))
    (folder / "tokenizer_config.json").write_text(json.dumps(settings))
    return folder


def around(before: str, after: str, trained: Any) -> Any:
    names = [name for name in (before, after) if name]
    return processors.TemplateProcessing(
        single=" ".join(part for part in (before, "$A", after) if part),
        pair=None,
        special_tokens=[(name, trained.token_to_id(name)) for name in names],
    )


def gpt2(folder: Path) -> Path:
    return save(folder, byte_level("gpt-2"), eos_token="<|endoftext|>")


def smollm(folder: Path) -> Path:
    return save(folder, byte_level("smollm"), eos_token={"__type": "AddedToken", "content": "<|endoftext|>"})


def llama3(folder: Path) -> Path:
    trained = byte_level("llama-bpe", special="<|begin_of_text|>")
    trained.post_processor = around("<|begin_of_text|>", "", trained)
    return save(folder, trained)


def qwen(folder: Path) -> Path:
    trained = byte_level("qwen2")
    trained.normalizer = normalizers.NFC()
    trained.add_tokens([AddedToken("<think>", normalized=False)])
    return save(folder, trained)


def roberta(folder: Path) -> Path:
    trained = byte_level("gpt-2", special="<s>")
    trained.add_special_tokens(["<pad>", "</s>", "<unk>", AddedToken("<mask>", lstrip=True)])
    end, start = (("</s>", trained.token_to_id("</s>")), ("<s>", trained.token_to_id("<s>")))
    trained.post_processor = processors.RobertaProcessing(end, start, add_prefix_space=False)
    return save(folder, trained, mask_token="<mask>", eos_token="</s>")


def bert(folder: Path) -> Path:
    trained = library.Tokenizer(models.WordPiece(unk_token="[UNK]"))
    trained.normalizer = normalizers.BertNormalizer()
    trained.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    trained.decoder = decoders.WordPiece()
    names = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    trainer = trainers.WordPieceTrainer(vocab_size=260, special_tokens=names, show_progress=False)
    trained.train_from_iterator(CORPUS, trainer)
    trained.post_processor = around("[CLS]", "[SEP]", trained)
    trained.enable_truncation(6)
    trained.enable_padding(length=40)
    return save(folder, trained, mask_token="[MASK]")


def t5(folder: Path) -> Path:
    trained = library.Tokenizer(models.Unigram())
    trained.normalizer = normalizers.NFKC()
    trained.pre_tokenizer = pre_tokenizers.Metaspace()
    trained.decoder = decoders.Metaspace()
    names = ["<pad>", "</s>", "<unk>", "<extra_id_0>"]
    trainer = trainers.UnigramTrainer(vocab_size=200, special_tokens=names, unk_token="<unk>", show_progress=False)
    trained.train_from_iterator(CORPUS, trainer)
    trained.post_processor = around("", "</s>", trained)
    return save(folder, trained, eos_token="</s>")


def llama2(folder: Path) -> Path:
    """SentencePiece's BPE as Transformers writes it: ▁ for spaces, and bytes for unknown characters."""
    alphabet = sorted({character for text in CORPUS for character in text.replace(" ", "▁")})
    pieces = ["<unk>", "<s>", "</s>", *(f"<0x{byte:02X}>" for byte in range(256)), *alphabet]
    merges = [("▁", "t"), ("h", "e"), ("▁t", "he"), ("▁", "c"), ("a", "t"), ("▁c", "at"), ("▁", "▁"), ("<", "/")]
    pieces += [piece for pair in merges if (piece := "".join(pair)) not in pieces]
    vocabulary = {piece: id for id, piece in enumerate(dict.fromkeys([*pieces, *"</>s"]))}
    bpe = models.BPE(vocabulary, [pair for pair in merges if set(pair) <= set(vocabulary)])
    bpe.byte_fallback, bpe.unk_token, bpe.fuse_unk = True, "<unk>", True
    trained = library.Tokenizer(bpe)
    trained.normalizer = normalizers.Sequence([normalizers.Prepend("▁"), normalizers.Replace(" ", "▁")])
    steps = [decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse(), decoders.Strip(" ", 1, 0)]
    trained.decoder = decoders.Sequence(steps)
    trained.add_special_tokens(["<unk>", "<s>", "</s>"])
    trained.post_processor = around("<s>", "", trained)
    return save(folder, trained, bos_token="<s>", eos_token="</s>")


_MAKERS = (gpt2, smollm, llama3, qwen, roberta, bert, t5, llama2)
KINDS: dict[str, Callable[[Path], Path]] = {made.__name__: made for made in _MAKERS}


def n_tokens(folder: Path) -> int:
    return library.Tokenizer.from_file(str(folder / "tokenizer.json")).get_vocab_size()
