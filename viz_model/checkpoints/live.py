"""Models that are in memory already: a ``transformers`` model, or a ``state_dict`` with its config."""

import json
import tempfile
from collections.abc import Mapping
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from viz_model.checkpoints import huggingface
from viz_model.checkpoints.archives import StateArchive
from viz_model.checkpoints.room import ANYWHERE, Placing
from viz_model.checkpoints.weights import ModelError, fill, one_line, stored, unchanged
from viz_model.config import ModelConfig
from viz_model.runs.language_model import LanguageModel
from viz_model.runs.observed_model import reported
from viz_model.tokenizers import reading
from viz_model.tokenizers.patches import PatchTokenizer
from viz_model.tokenizers.tokenizer import IdTokenizer, Tokenizer


def from_memory(
    source: nn.Module | Mapping[str, Tensor],
    tokenizer: Any = None,
    config: Any = None,
    name: str = "",
    where: Placing = ANYWHERE,
) -> LanguageModel:
    """A model in memory as one that can be shown; its weights are not copied where they stay in their type and place.

    Args:
        source: a model of ``transformers`` or of this package, or the tensors of one by their names.
        tokenizer: of ``transformers``, of this package, or a folder; None: the model is given ids.
        config: of a ``state_dict``, what its ``config.json`` says: a mapping, or an object of ``transformers``; or a
            :class:`~viz_model.ModelConfig`, where the tensors have the names of this package.
        where: the type in which its weights are kept, and the device, by default that of the tensors.

    Raises:
        ModelError: a class that is not known here, or tensors or a tokenizer that do not fit.
    """
    if isinstance(source, nn.Module):
        source = _within(source)
        if (held := _held(source)) is not None:
            raise ModelError(
                f"{type(source).__name__}: a class of your own; hand over the model of transformers in it, .{held}"
            )
        config = getattr(source, "config", None) if config is None else config
        if config is None:
            raise ModelError(
                f"{type(source).__name__}: it has no config; give one, config=…, or hand what it computes to vm.observe"
            )
        if hasattr(source, "merge_and_unload"):
            raise ModelError(f"{type(source).__name__}: it has an adapter; hand over its merge_and_unload()")
        tensors = _saved(source)
        name = name or type(source).__name__
        if packed := next((key for key, value in tensors.items() if not isinstance(value, Tensor)), None):
            raise ModelError(
                f"{name}: {packed!r:.80} is no tensor: packed weights are not read; hand over the model before"
            )
    else:
        tensors, name = dict(source), name or "state_dict"
        if config is None:
            raise ModelError("state_dict: its shapes do not say what is computed with them; give its config, config=…")
        if wrong := next((key for key, value in tensors.items() if not isinstance(value, Tensor)), None):
            held = next((key for key, value in tensors.items() if isinstance(value, Mapping)), wrong)
            raise ModelError(
                f"state_dict: {str(held)[:80]!r} is {type(tensors[held]).__name__}, expected tensors by their names; "
                "of a checkpoint of a training, hand over the part that holds the model's"
            )
        tensors = _without_wrapper(tensors)
    if (
        empty := next((key for key, tensor in tensors.items() if isinstance(tensor, Tensor) and tensor.is_meta), None)
    ) is not None:
        raise ModelError(f"{name}: {empty!r:.80} is on the device meta, without numbers; load all of the model first")
    archive = StateArchive(tensors, Path(name))
    if where.device is None:
        where = replace(where, device=next((tensor.device for tensor in tensors.values()), None))
    folder = Path(name)
    if isinstance(config, ModelConfig):
        own = StateArchive(stored(tensors, config))
        model = fill(config, own, unchanged(config), where=where, in_place=True)
        is_vision = config.is_vision_encoder
        reader = PatchTokenizer(config.patches) if is_vision else _tokenizer(tokenizer, config.n_vocab, "")
        return LanguageModel(name, model, reader, None, Path())
    plain = _plain(config, source)
    if plain.get("model_type") == "vit":
        raise ModelError(f"{name}: a model of pictures is loaded from its folder, with its image processor")
    try:
        model = huggingface.load_archive(folder, plain, archive, where=where, in_place=True)
    except ModelError:
        if isinstance(source, nn.Module) or (named := _as_in_files(tensors, config)) is None:
            raise
        archive = StateArchive(named, Path(name))
        model = huggingface.load_archive(folder, plain, archive, where=where, in_place=True)
    path, read = folder / "config.json", model.config
    lm = LanguageModel(
        name,
        model,
        _tokenizer(tokenizer, read.n_vocab, str(plain.get("model_type", ""))),
        None,
        Path(),
        huggingface.left_out(plain, path, read, archive.shapes),
        huggingface.notices(plain, path, read, archive.shapes),
    )
    if isinstance(source, nn.Module):
        _check_run(source, lm)
    return lm


FEW = 5
"""Tokens of the run in which a model in memory is compared with what is shown of it."""
AGREES = {torch.float32: 0.01, torch.float64: 0.01}
"""How far the two may be apart there, as a part of the largest number; 0.3 where a model computes in 16 bits."""


def _check_run(source: nn.Module, lm: LanguageModel) -> None:
    """Refuse a model whose own run says something else: its config does not know what was changed in memory.

    Raises:
        ModelError: parts of it were replaced, its forward is another, hooks change it, or its config was edited.
    """
    padding = getattr(source.config, "pad_token_id", None)
    ids = [id for id in range(lm.config.n_vocab) if id != padding][:FEW]
    reads = None if lm.config.kind != "encoder_decoder" else [lm.config.start_id or 0, *ids[1:]]
    try:
        with torch.no_grad():
            said = reported(source, ids, reads, attention=False)
    except Exception:  # of a class that is called in another way there is nothing to compare
        return
    run = lm.trace(ids=ids[: lm.config.n_context], target_ids=reads)
    hidden = (said.get("hidden_states") or [None])[-1] if reads is None else None
    pairs = ((said.get("logits"), "logits"), (hidden, run.leaving))
    for theirs, site in pairs:
        if isinstance(theirs, Tensor) and site in run and theirs.shape[1:] == run.shape(site):
            own, most = run[site], AGREES.get(theirs.dtype, 0.3) if lm.dtype == torch.float32 else 0.3
            apart = (own - theirs[0].to("cpu", torch.float32)).abs().max() / own.abs().max()
            if apart > most:
                raise ModelError(
                    f"{lm.name}: its own run says something else than its config and weights do, by {apart:.0%} of the "
                    f"largest of its {site}: parts of it were changed in memory; vm.observe_model shows what it reports"
                )
            return


def _within(model: nn.Module) -> nn.Module:
    """The model in what PyTorch wraps around it: for several devices, or compiled."""
    while (inner := next((model._modules[name] for name in _WRAPPED if name in model._modules), None)) is not None:
        if len(model._modules) > 1:
            break
        model = inner
    return model


def _held(model: nn.Module) -> str | None:
    """Where a class of somebody's own has a model of transformers; its own ``forward`` may do more with it."""
    if hasattr(model, "base_model_prefix"):
        return None
    return next((name for name, part in model.named_modules() if hasattr(part, "base_model_prefix")), None)


def _without_wrapper(tensors: dict[str, Tensor]) -> dict[str, Tensor]:
    """The tensors under the names they have in a model of Transformers, where an own class holds it as a part."""
    first, second = ({name.split(".")[n] if name.count(".") >= n else "" for name in tensors} for n in (0, 1))
    is_own = not first.isdisjoint((*_PARTS, *_WHOLES)) and second.isdisjoint((*_WHOLES, "embeddings"))
    if len(first) != 1 or "" in second or is_own:
        return tensors
    return _without_wrapper({name.partition(".")[2]: tensor for name, tensor in tensors.items()})


_WRAPPED = ("module", "_orig_mod")
_WHOLES = ("model", "transformer", "bert", "roberta", "distilbert", "albert", "electra", "gpt_neox", "lm_head")
_PARTS = ("encoder", "decoder", "embeddings", "layers")
"""How the names of Transformers' files begin: a whole model beside its head, or a part of it."""


def _saved(model: nn.Module) -> dict[str, Tensor]:
    """The tensors of a model under the names that its files would have."""
    tensors: dict[str, Tensor] = dict(model.state_dict())
    try:
        revert: Any = import_module("transformers.core_model_loading").revert_weight_conversion
    except (ImportError, AttributeError):  # transformers is not installed, or older than 5
        return tensors
    try:
        return dict(revert(model, tensors))
    except Exception:  # of a model that was not made by from_pretrained; its names are those of its modules
        return tensors


def _as_in_files(tensors: Mapping[str, Tensor], config: Any) -> dict[str, Tensor] | None:
    """Tensors of a model in memory, which may be joined there, as its files hold them; None where nobody can say."""
    if not hasattr(config, "to_diff_dict"):
        return None
    transformers: Any = import_module("transformers")
    try:
        with torch.device("meta"):
            model = transformers.AutoModelForCausalLM.from_config(config)
        revert: Any = import_module("transformers.core_model_loading").revert_weight_conversion
        return dict(revert(model, dict(tensors)))
    except Exception:  # of another kind of model, or an older library
        return None


def _plain(config: Any, source: object) -> dict[str, Any]:
    """What the ``config.json`` of a model would say."""
    if isinstance(config, Mapping):
        return dict(config)
    if not hasattr(config, "to_diff_dict"):
        raise ModelError(f"config: expected a mapping or a config of transformers, got {type(config).__name__}")
    plain: dict[str, Any] = json.loads(json.dumps(config.to_diff_dict(), default=str))
    if isinstance(source, nn.Module):
        plain["architectures"] = [type(source).__name__]
        start = getattr(getattr(source, "generation_config", None), "decoder_start_token_id", None)
        if isinstance(start, int):
            plain.setdefault("decoder_start_token_id", start)
    return plain


def _tokenizer(given: Any, n_rows: int, model_type: str) -> Tokenizer:
    if given is None:
        return IdTokenizer(n_rows)
    if isinstance(given, Tokenizer):
        if given.n_vocab != n_rows:
            raise ModelError(f"tokenizer: it has {given.n_vocab} tokens, but the model has rows for {n_rows}")
        return given
    if isinstance(given, str | Path):
        found = reading.from_folder(Path(given), n_rows)
        if isinstance(found, IdTokenizer):
            raise ModelError(f"tokenizer: {given} holds no tokenizer.json, nor what is read in its place")
        return found
    if not hasattr(given, "save_pretrained"):
        raise ModelError(f"tokenizer: expected one of transformers, a folder or None, got {type(given).__name__}")
    with tempfile.TemporaryDirectory() as folder:
        try:
            given.save_pretrained(folder)
        except Exception as error:  # whatever a class of somebody else raises
            raise ModelError(f"tokenizer: {type(given).__name__} cannot be saved: {one_line(error)[:200]}") from None
        (Path(folder) / "config.json").write_text(json.dumps({"model_type": model_type}))
        if (Path(folder) / "tokenizer.json").exists():  # what it has built says everything, whatever its class builds
            (Path(folder) / "config.json").unlink()
            path = Path(folder) / "tokenizer_config.json"
            plain = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
            path.write_text(json.dumps({**plain, "tokenizer_class": "PreTrainedTokenizerFast"}), encoding="utf-8")
        tokenizer = reading.from_folder(Path(folder), n_rows)
    if isinstance(tokenizer, IdTokenizer):
        raise ModelError(f"tokenizer: the files of {type(given).__name__} are of a kind that is not read here")
    tokenizer.name = str(getattr(given, "name_or_path", "") or type(given).__name__)
    return tokenizer
