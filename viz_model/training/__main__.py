"""``python -m viz_model.training NAME --data FOLDER`` trains a bundled model, or goes on with it.

NAME is a recipe, or ``vocabulary``, which learns the tokenizer. Interrupt it whenever you like: the
same command resumes. Each run's log and checkpoints stay in --runs until ``--publish`` writes
weights, card and log to the package. On several processes: ``torchrun --nproc-per-node N -m
viz_model.training NAME --data FOLDER``.
"""

import argparse
import contextlib
import json
import os
from collections.abc import Iterator
from pathlib import Path

import torch
from torch import distributed
from tqdm import tqdm

from viz_model.checkpoints.registry import load_folder
from viz_model.training import batches, first_words, log, loop, publish, recipe, vocabulary
from viz_model.training import data as data_of
from viz_model.training.batches import Batches
from viz_model.training.checkpoint import TrainingError
from viz_model.training.recipe import Recipe, RecipeError
from viz_model.training.sources import CorpusError, training_texts


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m viz_model.training", description=__doc__)
    parser.add_argument("name", choices=["vocabulary", *recipe.names()])
    parser.add_argument("--data", type=Path, required=True, help="folder of the corpora")
    parser.add_argument("--runs", type=Path, default=Path("runs"), help="where checkpoints and logs go")
    parser.add_argument("--threads", type=int, default=None, help="CPU threads, default PyTorch's choice")
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    parser.add_argument(
        "--from-published", action="store_true", help="begin at the recipe's last restart, from the published weights"
    )
    after = parser.add_mutually_exclusive_group()
    after.add_argument("--publish", action="store_true", help="write the finished run to the package")
    after.add_argument("--measure", action="store_true", help="no training: the held-out figures of the bundled model")
    after.add_argument(
        "--measure-sources", action="store_true", help="the same by source, beside text that it was trained on"
    )
    after.add_argument(
        "--words", action="store_true", help="begin anew, beside the bundled model, and note what is written meanwhile"
    )
    args = parser.parse_args()
    loop.prepare_memory()
    if args.threads:
        torch.set_num_threads(args.threads)
    try:
        if args.name == "vocabulary":
            vocabulary.learn(training_texts(args.data, seed=0), 8192, publish.MODELS / "story-8k.tiktoken")
            return
        chosen = recipe.load(args.name)
        data = data_of.prepare(chosen, args.data, args.runs)
        if args.measure or args.measure_sources:
            figures = publish.held_out if args.measure else publish.by_source
            print(json.dumps(figures(load_folder(publish.MODELS / args.name), data), indent=2))
            return
        if args.words:
            for moment in first_words.record(
                chosen, data, args.runs / f"{args.name}-words", publish.MODELS / args.name
            ):
                print(moment, flush=True)
            return
        if args.from_published:
            publish.resume_published(chosen, args.runs / args.name)
        with processes(args.device) as device:
            run(chosen, data, args.runs / args.name, device)
            if args.publish and is_first():
                publish.publish(chosen, data, args.runs / args.name, kinds=batches.kinds(chosen, args.data, args.runs))
    except (CorpusError, RecipeError, TrainingError) as error:
        parser.exit(2, f"{error}\n")


def run(chosen: Recipe, data: Batches, folder: Path, device: torch.device) -> None:
    """Train to the end of the recipe, with a progress bar and a line of log a step."""
    folder.mkdir(parents=True, exist_ok=True)
    reports = loop.train(chosen, data, folder, device=device)
    bar = tqdm(total=chosen.steps, desc=chosen.name, unit="step", mininterval=5, disable=not is_first())
    with (folder / "log.jsonl").open("a") as written, contextlib.closing(reports), bar:
        if is_first() and written.tell():
            written.write("\n")  # or a line that a crash cut short would swallow the next
        for report in reports:
            if is_first():
                # A resumed run repeats the steps after its checkpoint: readers keep the last line
                # of each step.
                written.write(log.line(report))
                written.flush()
            bar.update(report.step + 1 - bar.n)
            bar.set_postfix(loss=f"{report.loss:.3f}", tok_s=f"{report.tokens_per_second:.0f}")


@contextlib.contextmanager
def processes(device: str) -> Iterator[torch.device]:
    """Joins the other processes where ``torchrun`` started this one; yields this one's device."""
    if "WORLD_SIZE" not in os.environ:
        yield torch.device(device)
        return
    distributed.init_process_group("nccl" if device == "cuda" else "gloo")
    try:
        yield torch.device(f"cuda:{os.environ['LOCAL_RANK']}" if device == "cuda" else device)
    finally:
        distributed.destroy_process_group()


def is_first() -> bool:
    """Whether this is the process that writes."""
    return not distributed.is_initialized() or distributed.get_rank() == 0


if __name__ == "__main__":
    main()
