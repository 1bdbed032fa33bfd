"""The models that come with the package, each with a sentence that it can read."""

from typing import Any

import viz_model as vm
from viz_model.checkpoints import examples
from viz_model.checkpoints.registry import BUNDLED
from viz_model.config import Patches
from viz_model.runs.trace import Trace

NAMES = [name for name in vm.models() if (BUNDLED / name).is_dir()]


def example(lm: vm.LanguageModel) -> Trace:
    """A run of a short text; of a translator, with the beginning of a target; of pictures, the first example."""
    if isinstance(lm.config.inputs, Patches):
        answer: dict[str, Any] = {"target": "three, five", "target_language": "en"} if lm.config.transcribes else {}
        return lm.trace(examples.read(lm.folder)[0].levels, **answer)
    if lm.config.kind == "encoder_decoder":
        said: dict[str, Any] = {"target": "Elle"}
        if lm.tokenizer.languages:
            said["target_language"] = next(iter(lm.tokenizer.languages))
        return lm.trace("She is reading a book.", **said)
    return lm.trace("Once upon a time there was a little girl.")
