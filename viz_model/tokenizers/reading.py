"""Tokenizers that come with checkpoints: files of a Hugging Face folder, or the metadata of GGUF.

Every kind of file but SentencePiece's own is first made a description in the format of
``tokenizer.json``, and what reads that is the library ``tokenizers``, whose format it is. A
byte-level BPE whose ids stand in the order of its merges becomes a
:class:`~viz_model.tokenizers.tokenizer.ByteLevel`, which can show how its tokens are merged.

Files are data here: nothing in a folder is run or unpickled, whatever it asks for.
"""

from pathlib import Path
from typing import Any

from viz_model.checkpoints.weights import ModelError
from viz_model.tokenizers.classes import class_of
from viz_model.tokenizers.fast import SAMPLES, FastTokenizer, build
from viz_model.tokenizers.files import Settings, bpe_of_files, read_object, wordpiece_of_file
from viz_model.tokenizers.ggml import from_gguf
from viz_model.tokenizers.overrides import overridden
from viz_model.tokenizers.pieces import SentencePiece, marian_of_files, sentencepiece_of_file
from viz_model.tokenizers.tokenizer import IdTokenizer, Tokenizer

__all__ = ["SAMPLES", "FastTokenizer", "SentencePiece", "from_folder", "from_gguf"]


def from_folder(folder: Path, n_rows: int) -> Tokenizer:
    """The tokenizer of a model folder; one that reads ids where the folder has none.

    Args:
        n_rows: of the model's embedding, which may have more than there are tokens.

    Raises:
        ModelError: a file is damaged, of a kind that is not supported, needs a package that is
            not installed, or does not fit the model. The message names the file.
    """
    settings = Settings.of(folder)

    def there(*names: str) -> bool:
        return all((folder / name).exists() for name in names)

    def settled(path: Path, description: dict[str, Any]) -> Tokenizer:
        return build(folder.name, path, overridden(path, description, settings, n_rows), settings, n_rows)

    if there("tokenizer.json"):
        path = folder / "tokenizer.json"
        return settled(path, read_object(path))
    if there("source.spm", "target.spm", "vocab.json"):
        return marian_of_files(folder, settings, n_rows)
    if there("vocab.json", "merges.txt"):
        return settled(folder / "vocab.json", bpe_of_files(folder, settings, class_of({}, settings)))
    if there("vocab.txt"):
        return settled(folder / "vocab.txt", wordpiece_of_file(folder, settings))
    for name in ("spiece.model", "tokenizer.model"):
        if there(name):
            return sentencepiece_of_file(folder, folder / name, settings, n_rows)
    if there("sentencepiece.bpe.model"):
        raise ModelError(
            f"{folder / 'sentencepiece.bpe.model'}: its ids differ from the model's; save tokenizer.json beside it"
        )
    return IdTokenizer(n_rows)
