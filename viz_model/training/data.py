"""The data of a recipe, whatever its objective reads."""

from pathlib import Path

from viz_model.training import batches
from viz_model.training.batches import Batches
from viz_model.training.pictures import Pictures, Splits
from viz_model.training.recipe import Classes, Recipe, Transcription
from viz_model.training.strips import Strips


def prepare(recipe: Recipe, folder: Path, cache: Path) -> Batches:
    """The data of ``recipe`` from the files in ``folder``; texts are tokenized once into ``cache``.

    Raises:
        CorpusError: a file is missing or damaged, or does not fit the model.
    """
    if isinstance(recipe.objective, Classes):
        return Pictures(Splits.prepare(folder, recipe.objective.source, recipe.seed), recipe.objective, recipe)
    if isinstance(recipe.objective, Transcription):
        return Strips(Splits.prepare(folder, recipe.objective.source, recipe.seed), recipe.objective, recipe)
    return batches.prepare(recipe, folder, cache)
