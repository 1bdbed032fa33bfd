"""The models that can be loaded on this machine, and loading them.

A model folder holds ``config.json`` (the config, the tokenizer's name, the twin's name) and
``model.safetensors``. Weights are stored in half precision and computed with in single.
"""

from __future__ import annotations

from pathlib import Path

from viz_model.checkpoints.weights import ModelError, SafetensorsArchive, fill, read_json, unchanged
from viz_model.config import ConfigError, ModelConfig
from viz_model.language_model import LanguageModel
from viz_model.tokenizer import Tokenizer, story_tokenizer

BUNDLED = Path(__file__).resolve().parents[1] / "models"

TOKENIZERS = {"story-8k": story_tokenizer}


def models() -> list[str]:
    """Names that :func:`load` accepts."""
    names = sorted(path.parent.name for path in BUNDLED.glob("*/config.json"))
    # Pre-LN is what almost every model since GPT-2 is built like, so visitors meet it first.
    return sorted(names, key=lambda name: name != "story-pre-ln")


def load(source: str | Path) -> LanguageModel:
    """Load a bundled model by name, or a model folder by path.

    Raises:
        ModelError: no such model, or its files are damaged or do not fit together.
    """
    if str(source) in models():
        return load_folder(BUNDLED / str(source))
    folder = Path(source)
    if not folder.is_dir():
        raise ModelError(f"no model {str(source)!r}: expected one of {', '.join(models())}, or a folder")
    return load_folder(folder)


def load_folder(folder: Path) -> LanguageModel:
    """Load a model folder.

    Raises:
        ModelError: names the file and what is wrong with it.
    """
    description = read_json(folder / "config.json")
    try:
        config = ModelConfig.from_dict(description["config"])
        tokenizer = TOKENIZERS[description["tokenizer"]]()
    except ConfigError as error:
        raise ModelError(f"{folder / 'config.json'}: {error}") from None
    except (KeyError, TypeError) as error:
        raise ModelError(f"{folder / 'config.json'}: config or tokenizer is missing or unknown: {error}") from None
    _check_vocabulary(folder, config, tokenizer)
    model = fill(config, SafetensorsArchive(folder), unchanged(config))
    return LanguageModel(
        name=folder.name, model=model, tokenizer=tokenizer, twin=description.get("twin"), folder=folder
    )


def _check_vocabulary(folder: Path, config: ModelConfig, tokenizer: Tokenizer) -> None:
    if tokenizer.n_vocab != config.n_vocab:
        raise ModelError(
            f"{folder / 'config.json'}: n_vocab is {config.n_vocab}, "
            f"but the tokenizer {tokenizer.name} has {tokenizer.n_vocab} tokens"
        )
