"""What a tokenizer class of Transformers 5 builds itself, whatever ``tokenizer.json`` says of these steps.

``AutoTokenizer`` takes the class that a folder names, or the one registered for the model type. Most classes take only
the vocabulary from ``tokenizer.json``, and build normalizer, pre-tokenizer and control tokens anew from the settings.
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

from viz_model.tokenizers.files import Settings, bert_steps
from viz_model.tokenizers.rules import BY_GPT2, PRE_TOKENIZERS, QWEN3_5

CLASSES = {
    name: kind
    for kind, names in {
        "": "glm glm4 granite ministral mistral mixtral modernbert modernbert-decoder nemotron olmo2 olmo3 phi3 "
        "stablelm umt5",
        "Albert": "albert",
        "Bert": "bert distilbert electra",
        "Camembert": "camembert",
        "Cohere": "cohere cohere2",
        "GPT2": "gpt2 gpt_neo opt phi starcoder2",
        "GPTNeoX": "gpt_neox olmoe",
        "Gemma": "gemma gemma2 gemma3_text",
        "MBart": "mbart",
        "Qwen2": "qwen2 qwen2_moe qwen3 qwen3_moe qwen3_next",
        "Qwen3_5": "qwen3_5_text",
        "Roberta": "bart roberta",
        "T5": "mt5 t5",
        "XLMRoberta": "xlm-roberta",
    }.items()
    for name in names.split()
}
"""The class that is registered for a model type; "" is the one that reads ``tokenizer.json`` as it is."""
_MISNAMED = ("qwen2",)
"""Model types whose folders name a class that does not read them."""
_ALSO = {
    "Bart": "Roberta",
    "CodeGen": "GPT2",
    "DistilBert": "Bert",
    "Electra": "Bert",
    "GPTNeo": "GPT2",
    "LED": "Roberta",
    "LayoutLM": "Bert",
    "MobileBert": "Bert",
}
_AS_WRITTEN = ("PreTrained", "TokenizersBackend", "PythonBackend")
_LANGUAGES = (
    "ar_AR cs_CZ de_DE en_XX es_XX et_EE fi_FI fr_XX gu_IN hi_IN it_IT ja_XX kk_KZ ko_KR lt_LT lv_LV my_MM ne_NP nl_XX "
    "ro_RO ru_RU si_LK tr_TR vi_VN zh_CN"
)
_LANGUAGES_50 = (
    "af_ZA az_AZ bn_IN fa_IR he_IL hr_HR id_ID ka_GE km_KH mk_MK ml_IN mn_MN mr_IN pl_PL ps_AF pt_XX sv_SE sw_KE ta_IN "
    "te_IN th_TH tl_XX uk_UA ur_PK xh_ZA gl_ES sl_SI"
)


class Built(NamedTuple):
    """What a class builds.

    Attributes:
        steps: in the format of ``tokenizer.json``; of ``model``, what it changes there.
        tokens: its control tokens where the settings name no others, by their attribute.
        more: control tokens that it adds besides.
        before, after: attributes of the control tokens that it puts around a text, whatever ``tokenizer.json`` says;
            None: as written there.
        exact: whether control tokens are looked for as they are, whatever the settings say.
    """

    steps: Mapping[str, Any] = MappingProxyType({})
    tokens: Mapping[str, str] = MappingProxyType({})
    more: tuple[str, ...] = ()
    before: tuple[str, ...] | None = None
    after: tuple[str, ...] = ()
    exact: bool = False


def class_of(plain: Mapping[str, Any], settings: Settings) -> str:
    """The class that ``AutoTokenizer`` takes for a folder; "" where ``tokenizer.json`` says everything."""
    kind, usual = _ALSO.get(settings.kind, settings.kind), CLASSES.get(settings.model_type)
    if not kind or settings.model_type in _MISNAMED:
        return usual or ""
    if (kind == "Llama" and is_byte_level(plain)) or usual == "":
        return ""
    return "" if kind in _AS_WRITTEN else kind


def is_byte_level(plain: Mapping[str, Any]) -> bool:
    parts = plain.get("pre_tokenizer")
    inner = parts.get("pretokenizers") or [parts] if isinstance(parts, dict) else []
    return any(isinstance(part, dict) and part.get("type") == "ByteLevel" for part in inner)


def built(kind: str, plain: Mapping[str, Any], settings: Settings) -> Built | None:
    """What the class ``kind`` builds; None for one that is not known here, or that cannot read this vocabulary."""
    model = str(plain["model"].get("type", ""))
    match kind:
        case "Bert" if model == "WordPiece":
            names = {"unk": "[UNK]", "sep": "[SEP]", "pad": "[PAD]", "cls": "[CLS]", "mask": "[MASK]"}
            wordpiece = {"unk_token": settings.named("unk_token", "[UNK]"), "max_input_chars_per_word": 100}
            return Built({**bert_steps(settings), "model": wordpiece}, names, (), ("cls",), ("sep",))
        case "GPT2" | "Roberta" | "GPTNeoX" | "Qwen2" | "Qwen3_5" | "Cohere" if model == "BPE":
            return _byte_level(kind, settings)
        case "Llama" | "CodeLlama" | "Gemma" if model == "BPE":
            return _of_pieces(kind, settings)
        case "T5" | "XLMRoberta" | "Camembert" | "MBart" | "MBart50" | "Albert" if model == "Unigram":
            return _unigram(kind, plain, settings)
    return None


_END = "<|endoftext|>"
_GPT2 = {"bos": _END, "eos": _END, "unk": _END}
_ROBERTA = {"bos": "<s>", "eos": "</s>", "unk": "<unk>", "sep": "</s>", "pad": "<pad>", "cls": "<s>", "mask": "<mask>"}
_COHERE = {
    "bos": "<BOS_TOKEN>",
    "eos": "<|END_OF_TURN_TOKEN|>",
    "unk": "<UNK>",
    "sep": "<SEP>",
    "pad": "<PAD>",
    "cls": "<CLS>",
    "mask": "<MASK_TOKEN>",
}


def _byte_level(kind: str, settings: Settings) -> Built:
    begins = settings.flag("add_prefix_space", False)
    by_gpt2 = {**BY_GPT2, "add_prefix_space": begins}
    normalizer: dict[str, str] | None = {"type": "NFC"}
    before: tuple[str, ...] | None = None
    after: tuple[str, ...] = ()
    match kind:
        case "GPT2":
            cut, names, normalizer = [by_gpt2], _GPT2, None
        case "Roberta":
            cut, names, normalizer, before, after = [by_gpt2], _ROBERTA, None, ("cls",), ("sep",)
        case "GPTNeoX":  # it takes nothing of what tokenizer.json puts around a text, and its flags are not handed over
            cut, names, before = [by_gpt2], {**_GPT2, "pad": "<|padding|>"}, ()
        case "Cohere":
            cut, names = [{"type": "Digits", "individual_digits": True}, by_gpt2], _COHERE
        case _:
            split, by_bytes = PRE_TOKENIZERS["qwen2"] if kind == "Qwen2" else QWEN3_5
            cut, names = [split, {**by_bytes, "add_prefix_space": begins}], {"eos": _END, "unk": _END, "pad": _END}
    model = {"unk_token": None, "fuse_unk": False, "byte_fallback": False, "ignore_merges": False}
    steps = {"normalizer": normalizer, "pre_tokenizer": {"type": "Sequence", "pretokenizers": cut}, "model": model}
    return Built({**steps, "decoder": BY_GPT2}, names, (), before, after, exact=kind == "Qwen2")


_FILLING = ("▁<PRE>", "▁<MID>", "▁<SUF>", "▁<EOT>", "<FILL_ME>")


def _of_pieces(kind: str, settings: Settings) -> Built:
    """BPE in the manner of SentencePiece."""
    spelled = [
        {"type": "Replace", "pattern": {"String": "▁"}, "content": " "},
        {"type": "ByteFallback"},
        {"type": "Fuse"},
    ]
    model = {"fuse_unk": True, "byte_fallback": True, "ignore_merges": False}
    if kind == "Gemma":
        names = {"bos": "<bos>", "eos": "<eos>", "unk": "<unk>", "pad": "<pad>", "mask": "<mask>"}
        steps = {
            "normalizer": {"type": "Replace", "pattern": {"String": " "}, "content": "▁"},
            "pre_tokenizer": {
                "type": "Split",
                "pattern": {"String": " "},
                "behavior": "MergedWithPrevious",
                "invert": False,
            },
            "decoder": {"type": "Sequence", "decoders": spelled},
            "model": {**model, "unk_token": settings.named("unk_token", "<unk>")},
        }
        return Built(steps, names)
    begins = settings.flag("add_prefix_space", True)
    is_code = kind == "CodeLlama"
    where = ("always" if settings.flag("legacy", False) and not is_code else "first") if begins else "never"
    strip = [{"type": "Strip", "content": " ", "start": 1, "stop": 0}] if begins else []
    steps = {
        "normalizer": None,
        "pre_tokenizer": {"type": "Metaspace", "replacement": "▁", "split": False, "prepend_scheme": where},
        "decoder": {"type": "Sequence", "decoders": [*spelled, *strip]},
        "model": {**model, "unk_token": settings.named("unk_token", "<unk>") if is_code else None},
    }
    names = {"bos": "<s>", "eos": "</s>", "unk": "<unk>"}
    return Built(steps, names, _FILLING, ("bos",)) if is_code else Built(steps, names)


def _unigram(kind: str, plain: Mapping[str, Any], settings: Settings) -> Built:
    charsmap = _charsmap(plain.get("normalizer"))
    begins = kind in ("T5", "MBart") or settings.flag("add_prefix_space", True)
    where = "always" if begins else "never"
    metaspace = {"type": "Metaspace", "replacement": "▁", "split": True, "prepend_scheme": where}
    cut: list[dict[str, Any]] = [{"type": "WhitespaceSplit"}, metaspace]
    names, unknown = _ROBERTA, 3
    more: tuple[str, ...] = ()
    before: tuple[str, ...] | None = ("bos",)
    after: tuple[str, ...] = ("eos",)
    match kind:
        case "T5":
            n_extra = settings.plain.get("extra_ids", 100)
            more = tuple(f"<extra_id_{n}>" for n in range(n_extra if isinstance(n_extra, int) else 0))
            names, before, unknown = {"eos": "</s>", "unk": "<unk>", "pad": "<pad>"}, (), 2
            more = () if "additional_special_tokens" in settings.plain else more
        case "Albert":
            names = {"bos": "[CLS]", "eos": "[SEP]", "sep": "[SEP]", "cls": "[CLS]", "unk": "<unk>", "pad": "<pad>"}
            names = {**names, "mask": "[MASK]"}
            before, after, unknown = (None, (), 1) if plain.get("post_processor") else (("cls",), ("sep",), 1)
            charsmap = [*_albert(settings), *charsmap]
        case "MBart":
            more, before, charsmap = tuple(_LANGUAGES.split()), (), []
            after = ("eos", settings.named("src_lang", "en_XX"))
        case "MBart50":
            more, before = tuple(f"{_LANGUAGES} {_LANGUAGES_50}".split()), (settings.named("src_lang", "en_XX"),)
            names = {name: content for name, content in _ROBERTA.items() if name != "bos"}
            blanks = {"type": "Replace", "pattern": {"Regex": " {2,}"}, "content": " "}
            charsmap, cut = [*charsmap, blanks], [metaspace]
        case "Camembert":
            more = ("<s>NOTUSED", "</s>NOTUSED", "<unk>NOTUSED")
            more = () if "additional_special_tokens" in settings.plain else more
            spelled = [entry[0] for entry in plain["model"]["vocab"] if isinstance(entry, list) and entry]
            name = settings.named("unk_token", "<unk>")
            unknown = spelled.index(name) if name in spelled else 0
    return Built(
        {
            "normalizer": {"type": "Sequence", "normalizers": charsmap} if charsmap else None,
            "pre_tokenizer": {"type": "Sequence", "pretokenizers": cut},
            "decoder": metaspace,
            "model": {"unk_id": unknown, "byte_fallback": False},
        },
        names,
        more,
        before,
        after,
    )


def _charsmap(part: Any) -> list[dict[str, Any]]:
    """SentencePiece's own table of characters, the one part of a normalizer that these classes keep."""
    parts = part.get("normalizers") or [part] if isinstance(part, dict) else []
    return [one for one in parts if isinstance(one, dict) and one.get("type") == "Precompiled"][:1]


def _albert(settings: Settings) -> list[dict[str, Any]]:
    steps: list[dict[str, Any]] = [
        {"type": "Replace", "pattern": {"String": quotes}, "content": '"'} for quotes in ("``", "''")
    ]
    steps += [] if settings.flag("keep_accents", False) else [{"type": "NFKD"}, {"type": "StripAccents"}]
    return [*steps, {"type": "Lowercase"}] if settings.flag("do_lower_case", True) else steps
