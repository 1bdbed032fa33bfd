"""The last page, by what a model puts out: a next token, a covered token, or vectors alone."""

from __future__ import annotations

from viz_model.app.stage import Stage, show
from viz_model.config import ModelConfig
from viz_model.topics.next_token.sections import masked_token, next_token, sentence_vectors


def told_as(config: ModelConfig) -> str:
    """The name of the story, which is that of its texts and its snippet."""
    if not config.has_logits:
        return "sentence_vectors"
    return "masked_token" if config.kind == "encoder" else "next_token"


def draw(stage: Stage) -> None:
    """The page under its heading, of a stage that was opened as :func:`told_as` says."""
    stories = {"next_token": next_token, "masked_token": masked_token, "sentence_vectors": sentence_vectors}
    stories[stage.text_key].show(stage)


def run() -> None:
    """Open the page."""
    show("next_token", draw, told_as, without={"head"})
