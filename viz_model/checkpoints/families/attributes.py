"""Reading a config.json attribute by attribute, so that none goes unnoticed.

Whatever a family neither reads, nor requires to have one value, nor knows to be without effect,
is an error that names it: a model that computes something else must not be shown as itself.
"""

import json
import math
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, TypeAlias, TypeVar

from viz_model.checkpoints.weights import OBSERVED, ModelError

T = TypeVar("T")

ACTIVATIONS: dict[str, Any] = {
    "relu": "relu",
    "gelu": "gelu",
    "gelu_new": "gelu_tanh",
    "gelu_fast": "gelu_tanh",
    "gelu_pytorch_tanh": "gelu_tanh",
    "silu": "silu",
    "swish": "silu",
    "relu2": "relu2",
    "quick_gelu": "gelu_quick",
}

# What training, choosing the next token, classifiers and bookkeeping need; no forward pass reads it.
_TRAINING = """
    finetuning_task gradient_checkpointing initializer_factor initializer_range init_std chunk_size_feed_forward
    use_bfloat16 tf_legacy_loss problem_type id2label label2id num_labels _num_labels
"""
_DROPOUT = """
    activation_dropout attention_dropout attention_probs_dropout_prob attn_pdrop classif_dropout classifier_dropout
    decoder_layerdrop dropout dropout_rate embd_pdrop embed_dropout embedding_dropout encoder_layerdrop hidden_dropout
    hidden_dropout_prob layerdrop mlp_dropout qa_dropout resid_dropout resid_pdrop seq_classif_dropout
"""
_DECODING = """
    bad_words_ids begin_suppress_tokens bos_token_id decoder_start_token_id diversity_penalty do_sample early_stopping
    encoder_no_repeat_ngram_size eos_token_id exponential_decay_length_penalty forced_bos_token_id
    forced_eos_token_id length_penalty max_length min_length no_repeat_ngram_size num_beam_groups num_beams
    num_return_sequences pad_token_id prefix remove_invalid_values repetition_penalty sep_token_id suppress_tokens
    task_specific_params temperature top_k top_p typical_p use_cache
"""
_BOOKKEEPING = """
    _name_or_path _attn_implementation _attn_implementation_autoset _commit_hash architectures dtype torch_dtype
    is_encoder_decoder model_type output_attentions output_hidden_states output_past output_scores return_dict
    return_dict_in_generate tokenizer_class torchscript transformers.js_config transformers_version
    unsloth_fixed unsloth_version attn_implementation model_max_length keys_to_ignore_at_inference license
    sentence_transformers neftune_noise_alpha cache_implementation model_id _name _flash_attn_2_enabled
"""
NO_EFFECT = frozenset((_TRAINING + _DROPOUT + _DECODING + _BOOKKEEPING).split())

# What says nothing where a family does not ask: it has no windows, and these switch none on.
IDLE: dict[str, Callable[[Any], bool]] = {
    "layer_types": lambda kinds: isinstance(kinds, list) and {*map(str, kinds)} == {"full_attention"},
    "use_sliding_window": lambda slides: slides is False,
}

# Each would change the numbers if it had another value.
ONE_VALUE: dict[str, Any] = {
    "add_cross_attention": False,
    "cross_attention_hidden_size": None,
    "is_decoder": False,
    "per_layer_config": None,
    "pruned_heads": {},
    "quantization_config": None,
    "tie_encoder_decoder": False,
}

Table: TypeAlias = Mapping[str, tuple[str, int]]
"""Sizes by the fields of ModelConfig: the attribute that holds each, and what its absence means, 0 for the usual."""


_USUAL = {
    "n_vocab": "vocab_size",
    "n_context": "max_position_embeddings",
    "n_layers": "num_hidden_layers",
    "d_model": "hidden_size",
    "n_heads": "num_attention_heads",
    "n_kv_heads": "num_key_value_heads",
    "d_head": "head_dim",
    "d_ffn": "intermediate_size",
}


def usual(**absent: int) -> dict[str, tuple[str, int]]:
    """Sizes under the words that most families have for them, with what the absence of each means."""
    return {field: (_USUAL[field], default) for field, default in absent.items()}


def names(table: Table) -> dict[str, str]:
    """The attributes alone, by field."""
    return {field: name for field, (name, _) in table.items()}


class Attributes:
    """The attributes of one JSON object. ``null`` is the same as absent, unless :meth:`is_null` is asked.

    ``within`` stands before their names in messages, ``called`` says which have another name in the file, and
    ``tensors`` are the names in the weights beside it.
    Every method raises ModelError: a value of another type than asked, or none where there is no default.
    """

    def __init__(
        self,
        plain: Mapping[str, Any],
        path: Path,
        within: str = "",
        called: Mapping[str, str] | None = None,
        tensors: Collection[str] = (),
    ) -> None:
        self.path, self.tensors = path, tensors
        self._values = {name: value for name, value in plain.items() if value is not None}
        self._nulls = frozenset(plain) - frozenset(self._values)
        self._left, self._lacking = set(self._values), set[str]()
        self._within = within
        self._called = called or {}

    def __contains__(self, name: object) -> bool:
        return name in self._values

    def is_null(self, name: str) -> bool:
        """Whether the file says "none" where its absence would mean a default."""
        return name in self._nulls

    def holds(self, prefix: str) -> bool:
        """Whether a tensor beside the attributes has a name that begins so."""
        return any(name.startswith(prefix) for name in self.tensors)

    def size(self, name: str, default: int | None = None, at_least: int = 1) -> int:
        """A whole number."""
        expected = f"a whole number of at least {at_least}"
        return self._take(name, default, lambda value: type(value) is int and value >= at_least, expected)

    def sizes(self, table: Table, absent: Mapping[str, int] | None = None) -> dict[str, Any]:
        """All sizes of a table, as fields of ModelConfig; ``absent`` holds defaults other than its own."""
        defaults = {field: default for field, (_, default) in table.items()} | dict(absent or {})
        asked = {field: table[field][0] for field in defaults if defaults[field] or table[field][0] in self}
        return {field: self.size(name, defaults[field]) for field, name in asked.items()}

    def number(self, name: str, default: float | None = None) -> float:
        """A finite number."""
        return float(self._take(name, default, _is_number, "a number"))

    def flag(self, name: str, default: bool | None = None) -> bool:
        """True or false."""
        return self._take(name, default, lambda value: isinstance(value, bool), "true or false")

    def choice(self, name: str, options: Mapping[str, T], default: str | None = None) -> T:
        """What one of several words means."""
        expected = f"one of {', '.join(options)}"
        return options[self._take(name, default, lambda value: _is_word(value) and value in options, expected)]

    def words(self, name: str) -> list[str] | None:
        """A list of words, or None if absent."""
        return self._listed(name, _is_word, "a list of words")

    def items(self, name: str) -> list[Any] | None:
        """A list of anything, or None if absent."""
        return self._listed(name, lambda value: True, "a list")

    def _listed(self, name: str, of: Callable[[Any], bool], expected: str) -> list[Any] | None:
        if name not in self._values:
            return None
        return self._take(name, None, lambda value: isinstance(value, list) and all(map(of, value)), expected)

    def numbers(self, name: str, default: tuple[float, ...]) -> tuple[float, ...]:
        """A list of finite numbers."""
        found = self._listed(name, _is_number, "a list of numbers")
        return default if found is None else tuple(map(float, found))

    def pair(self, name: str, default: int | None = None) -> tuple[int, int]:
        """Two whole numbers above 0, or one that stands for both."""

        def is_pair(value: Any) -> bool:
            sizes = value if isinstance(value, list) else [value, value]
            return len(sizes) == 2 and all(type(size) is int and size > 0 for size in sizes)

        found = self._take(name, default, is_pair, "a whole number of at least 1, or two of them")
        return (found[0], found[1]) if isinstance(found, list) else (found, found)

    def by_number(self, name: str) -> tuple[str, ...] | None:
        """Texts by number, ``{"0": "cat", "1": "dog"}``, or None if absent."""
        if name not in self._values:
            return None
        value = self._take(name, None, lambda value: isinstance(value, dict), "texts by number")
        if not all(map(_is_word, value.values())):
            self._refuse(name, value, "texts by number")
        if set(value) != {str(n) for n in range(len(value))}:
            self._refuse(name, value, "a text for each number from 0 on")
        return tuple(value[str(n)] for n in range(len(value)))

    @property
    def plain(self) -> Mapping[str, Any]:
        """All of them, as they stand in the file."""
        return self._values

    def inner(self, name: str) -> "Attributes | None":
        """The attributes of an object inside this one, or None if absent."""
        if name not in self._values:
            return None
        value = self._take(name, None, lambda value: isinstance(value, dict), "an object")
        return Attributes(value, self.path, within=f"{name}: ")

    def one_value(self, name: str, only: Any) -> None:
        """An attribute with which a single value can be run; its absence means that value."""
        value = self._values.get(name, only)
        if type(value) is not type(only) or value != only:
            found = f"expected {json.dumps(only)}, the only value that is read, got {_shown(value)}"
            raise ModelError(f"{self.path}: {self._place(name)}: {found}; {OBSERVED}")
        self._left.discard(name)

    def no_effect(self, names: Iterable[str]) -> None:
        """Attributes that change no number."""
        self._left.difference_update(names)

    @property
    def left(self) -> list[str]:
        """The attributes that nobody has asked for, in alphabetical order, but for those that say nothing."""
        return sorted(name for name in self._left if not (name in IDLE and IDLE[name](self._values[name])))

    @property
    def n_lacking(self) -> int:
        """How many attributes were asked for that are absent."""
        return len(self._lacking)

    def finish(self) -> None:
        """Raise ModelError if an attribute is left over."""
        if left := self.left:
            name = left[0]
            found = f"{self._place(name)}: an attribute that is not supported, {_shown(self._values[name])}"
            raise ModelError(
                f"{self.path}: {found}; a model without it might compute something else; where you know that it does "
                "not, vm.load(…, ignore=[…])"
            )

    def _take(self, name: str, default: Any, is_right: Callable[[Any], bool], expected: str) -> Any:
        self._left.discard(name)
        if name not in self._values:
            self._lacking.add(name)
        value = self._values.get(name, default)
        if value is None:
            raise ModelError(f"{self.path}: {self._place(name)}: missing")
        if not is_right(value):
            self._refuse(name, value, expected)
        return value

    def _place(self, name: str) -> str:
        return self._within + self._called.get(name, name)

    def _refuse(self, name: str, value: Any, expected: str) -> None:
        raise ModelError(f"{self.path}: {self._place(name)}: expected {expected}, got {_shown(value)}")


def _is_word(value: Any) -> bool:
    return isinstance(value, str)


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value)


def _shown(value: Any) -> str:
    shown = repr(value)
    return shown if len(shown) <= 80 else shown[:79] + "…"


@dataclass(frozen=True)
class Gguf:
    """What such a file says of a family, and what it does not.

    Attributes:
        architecture: the word under ``general.architecture``; Mixtral shares Llama's.
        has_experts: whether ``expert_count`` is above 0.
        fields: attributes of the family by the metadata that hold them, beside those that all families have.
        required: those of ``fields`` without which the family's own default would be taken, and be wrong.
        fixed: attributes that no such file holds, where llama.cpp does not take the family's own default.
        seen: attributes that follow from the others and from the names of the tensors.
        pairing: the converter reorders the rows of Llama's q and k so that its pairs are neighbors, and leaves
            those of most others alone.
        partial: whether a part of each head may be left unturned.
    """

    architecture: str
    has_experts: bool = False
    fields: Mapping[str, str] = field(default_factory=dict)
    required: tuple[str, ...] = ()
    fixed: Mapping[str, Any] = field(default_factory=dict)
    seen: Callable[[Mapping[str, Any], Collection[str]], Mapping[str, Any]] = lambda plain, tensors: {}
    pairing: Literal["interleaved", "halves"] = "halves"
    partial: bool = False
