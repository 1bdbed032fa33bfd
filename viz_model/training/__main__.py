"""``python -m viz_model.training NAME --data FOLDER`` trains a bundled model, or goes on with it.

NAME is a recipe (story-pre-ln, story-post-ln) or ``vocabulary``, which learns the tokenizer.
Interrupt it whenever you like: the same command resumes. Each run's log and result stay in
--runs until ``--publish`` writes weights, card and log to the package.
"""

from __future__ import annotations

import argparse
import contextlib
import json
from pathlib import Path

import torch
from tqdm import tqdm

from viz_model.tokenizer import story_tokenizer
from viz_model.training import publish, vocabulary
from viz_model.training.corpus import Corpus, CorpusError, training_texts
from viz_model.training.loop import TrainingError, train
from viz_model.training.recipes import RECIPES

MODELS = Path(__file__).resolve().parents[1] / "models"


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m viz_model.training", description=__doc__)
    parser.add_argument("name", choices=["vocabulary", *RECIPES])
    parser.add_argument("--data", type=Path, required=True, help="folder of the corpora")
    parser.add_argument("--runs", type=Path, default=Path("runs"), help="where checkpoints and logs go")
    parser.add_argument("--threads", type=int, default=None, help="CPU threads, default PyTorch's choice")
    parser.add_argument("--publish", action="store_true", help="write the finished run to the package")
    args = parser.parse_args()
    if args.threads:
        torch.set_num_threads(args.threads)
    try:
        if args.name == "vocabulary":
            vocabulary.learn(training_texts(args.data, seed=0), 8192, MODELS / "story-8k.tiktoken")
            return
        run(args.name, args.data, args.runs)
        if args.publish:
            publish.publish(args.name, args.runs / args.name, args.data, args.runs, MODELS / args.name)
    except (CorpusError, TrainingError) as error:
        parser.exit(2, f"{error}\n")


def run(name: str, data: Path, runs: Path) -> None:
    """Train ``name`` to the end of its recipe, with a progress bar and a line of log a step."""
    recipe, folder = RECIPES[name], runs / name
    corpus = Corpus.prepare(data, story_tokenizer(), recipe.seed, runs)
    folder.mkdir(parents=True, exist_ok=True)
    reports = train(recipe, corpus, folder)
    bar = tqdm(total=recipe.steps, desc=name, unit="step", mininterval=5)
    with (folder / "log.jsonl").open("a") as log, contextlib.closing(reports), bar:
        for report in reports:
            # A resumed run repeats the steps after its checkpoint: readers keep the last line of
            # each step.
            log.write(json.dumps(report.__dict__) + "\n")
            log.flush()
            bar.update(report.step + 1 - bar.n)
            bar.set_postfix(loss=f"{report.loss:.3f}", tok_s=f"{report.tokens_per_second:.0f}")


if __name__ == "__main__":
    main()
