"""Every setting beside a ``tokenizer.json``: the ids are those of ``AutoTokenizer``, or the folder is refused."""

import json
import random
from pathlib import Path
from typing import Any

import pytest
from trained_tokenizers import CORPUS, KINDS, n_tokens

from viz_model.checkpoints.weights import ModelError
from viz_model.tokenizers.chat import ChatTemplate
from viz_model.tokenizers.reading import from_folder
from viz_model.tokenizers.text import TextError

WORDS = [*" \n\taZé!学🙂", "the", "The", "CAT", "Café", "  ", "123", "'s", "深度", "\u3000", "▁", *CORPUS[:2]]
CHAT = {"additional_special_tokens": ["<|im_start|>", "<|im_end|>"]}
TOOL = {"content": "<tool>", "lstrip": False, "rstrip": False, "single_word": False, "normalized": True}
NAMED = {
    "gpt2": ("gpt2", "GPT2Tokenizer"),
    "roberta": ("roberta", "RobertaTokenizer"),
    "bert": ("bert", "BertTokenizer"),
    "llama2": ("llama", "LlamaTokenizer"),
    "llama3": ("llama", "PreTrainedTokenizerFast"),
    "qwen": ("qwen3", "Qwen2Tokenizer"),
}
SETTINGS: list[tuple[str, dict[str, Any]]] = [
    *((kind, {}) for kind in NAMED),
    *((kind, CHAT) for kind in NAMED),
    *((kind, {"extra_special_tokens": {"image_token": "<image>"}, "pad_token": "[X]"}) for kind in NAMED),
    *((kind, {"split_special_tokens": True}) for kind in ("gpt2", "bert", "llama3")),
    *((kind, {"add_prefix_space": True}) for kind in ("gpt2", "roberta", "qwen", "llama2", "llama3")),
    *(("llama2", settings) for settings in ({"add_prefix_space": False}, {"legacy": True})),
    *(("bert", {name: False}) for name in ("do_lower_case", "strip_accents", "tokenize_chinese_chars")),
    ("bert", {"do_lower_case": False, "strip_accents": True}),
    *((kind, {"add_bos_token": True, "add_eos_token": True}) for kind in ("gpt2", "llama2", "llama3")),
]


def folder_of(tmp_path: Path, kind: str, settings: dict[str, Any]) -> Path:
    folder = KINDS[kind](tmp_path / kind)
    model_type, name = NAMED[kind]
    path = folder / "tokenizer_config.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), "tokenizer_class": name, **settings}))
    (folder / "config.json").write_text(json.dumps({"model_type": model_type}))
    return folder


def compared(folder: Path, n_texts: int, more: list[str]) -> None:
    """Ids of texts drawn from words and from all control tokens, added ones included."""
    theirs = pytest.importorskip("transformers").AutoTokenizer.from_pretrained(folder, local_files_only=True)
    ours = from_folder(folder, len(theirs) + 8)
    names = [*map(str, theirs.added_tokens_decoder.values()), *more]
    names = [name for name in names if name != "<FILL_ME>"]  # Code Llama's asks for text in the middle
    rng = random.Random(0)
    for _ in range(n_texts):
        text = "".join(rng.choice(names if rng.random() < 0.25 else WORDS) for _ in range(rng.randrange(1, 12)))
        assert ours.encode(text) == theirs.encode(text, padding=False, truncation=False), text


@pytest.mark.parametrize(("kind", "settings"), SETTINGS, ids=str)
def test_settings_change_ids_as_in_transformers(kind: str, settings: dict[str, Any], tmp_path: Path) -> None:
    compared(folder_of(tmp_path, kind, settings), 100, ["<|im_start|>", "<image>", "[X]"])


BUILT = [
    ("smollm", "GPT2Tokenizer", "starcoder2"),
    ("smollm", None, "gpt2"),
    ("smollm", "GPT2Tokenizer", "llama"),
    ("smollm", "CohereTokenizer", "cohere2"),
    ("gpt2", "CodeGenTokenizer", "phi"),
    ("gpt2", "GPTNeoXTokenizer", "gpt_neox"),
    ("gpt2", "GPTNeoXTokenizer", "stablelm"),
    ("gpt2", "RobertaTokenizer", "bart"),
    ("gpt2", "PreTrainedTokenizerFast", "qwen2"),
    ("gpt2", "LlamaTokenizer", "qwen2"),
    ("gpt2", None, "qwen3_5_text"),
    ("llama3", "LlamaTokenizer", "llama"),
    ("llama2", "GemmaTokenizer", "gemma2"),
    ("llama2", "CodeLlamaTokenizer", "llama"),
    ("llama2", "LlamaTokenizer", "mistral"),
    ("bert", None, "electra"),
    ("bert", "TokenizersBackend", "distilbert"),
    ("t5", "T5Tokenizer", "t5"),
    ("t5", "T5Tokenizer", "umt5"),
    *(("t5", f"{name}Tokenizer", None) for name in ("XLMRoberta", "Camembert", "MBart", "MBart50", "Albert")),
]


@pytest.mark.parametrize(("n", "kind", "name", "model_type"), [(n, *row) for n, row in enumerate(BUILT)])
def test_a_class_builds_its_steps(n: int, kind: str, name: str | None, model_type: str | None, tmp_path: Path) -> None:
    folder = KINDS[kind](tmp_path / kind)
    if kind == "t5":
        plain = json.loads((folder / "tokenizer.json").read_text())
        plain["model"]["vocab"] += [[piece, -20.0] for piece in ("[CLS]", "[SEP]", "``", "en_XX")]
        (folder / "tokenizer.json").write_text(json.dumps(plain))
    (folder / "config.json").write_text(json.dumps({"model_type": model_type} if model_type else {}))
    path = folder / ("tokenizer_config.json", "config.json")[n % 2]  # either may name the class
    named = {"tokenizer_class": name} if name else {}
    path.write_text(json.dumps({**json.loads(path.read_text()), **named}))
    compared(folder, 100, ["en_XX", "1234", "Ａ１", "``", "e\u0301"])
    plain = json.loads((folder / "tokenizer.json").read_text())
    (folder / "tokenizer.json").write_text(json.dumps({**plain, "post_processor": None}))
    compared(folder, 20, [])


@pytest.mark.parametrize("kind", NAMED)
def test_added_tokens_of_a_table(kind: str, tmp_path: Path) -> None:
    folder = folder_of(tmp_path, kind, {})
    plain = json.loads((folder / "tokenizer.json").read_text())
    listed = {entry["id"]: {k: v for k, v in entry.items() if k != "id"} for entry in plain["added_tokens"]}
    listed |= {n_tokens(folder): {**TOOL, "special": False}, n_tokens(folder) + 1: {**TOOL, "content": "<t>"}}
    compared(folder_of(tmp_path, kind, {"added_tokens_decoder": listed}), 200, ["<tool>", "<t>"])
    folder = folder_of(tmp_path, kind, {})
    (folder / "added_tokens.json").write_text(json.dumps({"<tool>": n_tokens(folder)}))
    compared(folder, 200, ["<tool>"])
    (folder / "added_tokens.json").write_text('{"<a>": "x"}')
    with pytest.raises(ModelError, match=r"added_tokens.json: the id of '<a>'"):
        from_folder(folder, n_tokens(folder))


# Conversations

MESSAGES = [
    {"role": "system", "content": "Be brief."},
    {"role": "user", "content": "Why is the sky <|im_end|> blue? 天空"},
    {"role": "assistant", "content": "the cat\n"},
    {"role": "user", "content": ""},
]
TEMPLATE = """{%- set ns = namespace(n=0) %}{{ bos_token }}
{% for message in messages %}
    {% set ns.n = ns.n + 1 %}
    {%- if message.role == 'assistant' %}{% generation %}{{ message | tojson }}{%- endgeneration %}{% else %}
<|im_start|>{{ message['role'] + '\\n' + message['content'] | trim }}<|im_end|>{{ ns.n }}{% endif %}
{% endfor %}
{%- if tools %}{{ tools | tojson(indent=2) }}{% endif %}{% if think is defined %}{{ think }}{% endif %}
{%- if add_generation_prompt %}<|im_start|>assistant{% endif %}"""


@pytest.mark.parametrize("in_a_file", [False, True])
def test_a_conversation_is_written_as_transformers_writes_it(in_a_file: bool, tmp_path: Path) -> None:
    template = {} if in_a_file else {"chat_template": [{"name": "default", "template": TEMPLATE}]}
    folder = folder_of(tmp_path, "qwen", {**CHAT, **template, "bos_token": "<|endoftext|>"})
    if in_a_file:
        (folder / "chat_template.jinja").write_text(TEMPLATE)
    theirs = pytest.importorskip("transformers").AutoTokenizer.from_pretrained(folder, local_files_only=True)
    ours = from_folder(folder, n_tokens(folder) + 8)
    assert ours.chat_template is not None
    tools = [{"type": "function", "é": 1}]
    asked: list[dict[str, Any]] = [{}, {"add_generation_prompt": True}, {"tools": tools, "think": "<b>"}]
    for options in asked:
        expected = theirs.apply_chat_template(MESSAGES, tokenize=False, **options)
        text = ours.chat_template.write(MESSAGES, **{"add_generation_prompt": False, **options})
        assert text == expected
        ids = theirs.apply_chat_template(MESSAGES, return_dict=False, **options)
        assert ours.encode(text, special=False) == ids


@pytest.mark.parametrize(
    "template",
    [
        "{{ raise_exception('no system') }}",
        "{{ messages.__class__.__mro__ }}{{ ''.__class__.__subclasses__() }}",
        "{{ cycler.__init__.__globals__.os.system('true') }}",
        "{% for",
        "{{ 1 / 0 }}",
        " " * 300_000,
    ],
)
def test_a_template_that_cannot_be_followed(template: str) -> None:
    with pytest.raises(TextError, match="the chat template does not take this conversation: "):
        ChatTemplate(template, {}).write(MESSAGES)
