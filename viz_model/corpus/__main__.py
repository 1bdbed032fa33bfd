"""``python -m viz_model.corpus FOLDER --model NAME --out FILE`` measures a model's heads and neurons on texts.

FOLDER holds ``.txt`` files (or is one). What is found goes to FILE.npz, which
``viz_model.corpus.read`` reads back. Interrupt it whenever you like: the same command
resumes, from FILE.partial.
"""

import argparse
import itertools
from pathlib import Path

import numpy as np
import torch
from tqdm import tqdm

from viz_model.checkpoints.registry import load
from viz_model.checkpoints.weights import ModelError
from viz_model.corpus.run import Settings, survey
from viz_model.corpus.statistics import MEASURES, HeadSums, Statistics, Survey, write
from viz_model.corpus.texts import texts_of
from viz_model.training.sources import CorpusError

STANDARD = Settings()


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m viz_model.corpus", description=__doc__)
    parser.add_argument("folder", type=Path, help="a folder of .txt files, or one file")
    parser.add_argument("--model", required=True, help="a name, a folder, a .gguf file, or org/name of the hub")
    parser.add_argument("--out", type=Path, required=True, help="where the numbers go; .npz is added")
    parser.add_argument("--lines", action="store_true", help="every line is a text of its own")
    parser.add_argument("--most", type=int, help="read at most so many texts")
    parser.add_argument("--top", type=int, default=STANDARD.top, help="texts kept for each neuron (%(default)s)")
    parser.add_argument("--max-tokens", type=int, help="of each text, default what the context holds")
    parser.add_argument(
        "--batch-tokens", type=int, default=STANDARD.batch_tokens, help="of a batch, padding included (%(default)s)"
    )
    parser.add_argument("--ray", type=int, metavar="WORKERS", help="spread the work over so many Ray workers")
    parser.add_argument("--ray-address", help="of a Ray cluster, default this machine")
    parser.add_argument("--threads", type=int, help="CPU threads, default PyTorch's choice")
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    args = parser.parse_args()
    if args.threads:
        torch.set_num_threads(args.threads)
    settings = Settings(top=args.top, max_tokens=args.max_tokens, batch_tokens=args.batch_tokens)
    out = args.out.with_name(args.out.name.removesuffix(".npz") + ".npz")
    partial = out.with_suffix(".partial")
    try:
        n_texts = sum(1 for _ in itertools.islice(texts_of(args.folder, per_line=args.lines), args.most))
        lm = load(args.model)
        lm.model.to(args.device)
        workers = None
        if args.ray:
            from viz_model.corpus.cluster import on_ray

            workers = on_ray(args.model, settings, args.ray, address=args.ray_address)
        with tqdm(total=n_texts, desc=lm.name, unit="text") as bar:

            def watch(so_far: Statistics) -> None:
                bar.update(so_far.n_texts - bar.n)
                bar.set_postfix(tokens=so_far.n_tokens)

            texts = itertools.islice(texts_of(args.folder, per_line=args.lines), args.most)
            found = survey(lm, texts, settings, partial=partial, workers=workers, watch=watch)
        write(out, found)
        partial.unlink(missing_ok=True)
    except (CorpusError, ModelError) as error:
        parser.exit(2, f"{error}\n")
    print(summary(found))
    print(f"written to {out}")


def summary(found: Survey) -> str:
    """What was read, and the strongest head of each measure that any head has some of."""
    natural = found.natural
    lines = [f"{natural.n_texts} texts, {natural.n_tokens} tokens read, {natural.n_dropped} beyond the context dropped"]
    for kind, heads in {"on these texts": natural.heads, "on repeated random tokens": found.repeated}.items():
        if heads is not None:
            lines += [f"  {_strongest(heads, n)} {kind}" for n in range(len(MEASURES)) if heads.sums[..., n].any()]
    return "\n".join(lines)


def _strongest(heads: HeadSums, n: int) -> str:
    measure = MEASURES[n]
    means = heads.mean(measure)
    layer, head = np.unravel_index(means.argmax(), means.shape)
    unit = " bits" if measure == "entropy" else ""
    return f"most {measure:<10} layer {layer}, head {head}: {means[layer, head]:.3f}{unit}"


if __name__ == "__main__":
    main()
