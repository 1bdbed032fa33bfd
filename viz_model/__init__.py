"""viz-model: run a small real Transformer and see every value on the way.

>>> import viz_model as vm
>>> lm = vm.load("story-pre-ln")
>>> trace = lm.trace("The cat sat")
>>> trace["blocks.0.attn.pattern"].shape  # [H, Tq, Tk]
torch.Size([6, 3, 3])
"""

from importlib import import_module
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

from viz_model import images
from viz_model.checkpoints.registry import load, models
from viz_model.checkpoints.weights import ModelError
from viz_model.config import ConfigError, ModelConfig
from viz_model.model import masks
from viz_model.runs import edits
from viz_model.runs.averages import mean
from viz_model.runs.generation import Generation, Sampling
from viz_model.runs.language_model import LanguageModel
from viz_model.runs.observed import observe
from viz_model.runs.observed_model import observe_model, observe_run
from viz_model.runs.trace import Trace
from viz_model.runs.words import words
from viz_model.tokenizers.text import TextError
from viz_model.tokenizers.tokenizer import Token

if TYPE_CHECKING:
    from viz_model import explain, plot
    from viz_model.command import open_app
    from viz_model.plot import show
    from viz_model.plot.films import film
    from viz_model.plot.pages import page

__version__ = version("viz-model")

__all__ = [
    "ConfigError",
    "Generation",
    "LanguageModel",
    "ModelConfig",
    "ModelError",
    "Sampling",
    "TextError",
    "Token",
    "Trace",
    "__version__",
    "edits",
    "explain",
    "film",
    "images",
    "load",
    "masks",
    "mean",
    "models",
    "observe",
    "observe_model",
    "observe_run",
    "open_app",
    "page",
    "plot",
    "show",
    "words",
]


_LATER = {
    "film": "viz_model.plot.films",
    "open_app": "viz_model.command",
    "page": "viz_model.plot.pages",
    "show": "viz_model.plot",
}


def __getattr__(name: str) -> Any:
    """Figures and explanations are loaded when they are asked for: they take longer, and import what is here."""
    if name in ("explain", "plot"):
        return import_module(f"viz_model.{name}")
    if name in _LATER:
        return getattr(import_module(_LATER[name]), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
