"""The last page, by what a model puts out: a next token, a covered token, or vectors alone."""

from __future__ import annotations

from viz_model.config import ModelConfig
from viz_model.ui.parts.outputs import masked_token, next_token, sentence_vectors
from viz_model.ui.stage import Stage


def told_as(config: ModelConfig) -> str:
    """The name of the story, which is that of its texts and its snippet."""
    if not config.has_logits:
        return "sentence_vectors"
    return "masked_token" if config.kind == "encoder" else "next_token"


def show(stage: Stage) -> None:
    """The page under its heading, of a stage that was opened as :func:`told_as` says."""
    stories = {"next_token": next_token, "masked_token": masked_token, "sentence_vectors": sentence_vectors}
    stories[stage.name].show(stage)
