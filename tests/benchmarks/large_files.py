"""What a model of 1.2 billion parameters in bfloat16 takes. ``python tests/benchmarks/large_files.py [--folder /tmp]``

A made-up checkpoint (2.5 GB) is loaded beside ``safetensors`` alone, and traced beside ``transformers``, taking turns.
"""

import argparse
import json
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import load_file

BANDS = {"low_freq_factor": 1.0, "high_freq_factor": 4.0, "original_max_position_embeddings": 8192}
CONFIG: dict[str, Any] = {
    "num_hidden_layers": 16,
    "hidden_size": 2048,
    "num_attention_heads": 32,
    "num_key_value_heads": 8,
    "intermediate_size": 8192,
    "vocab_size": 128256,
    "tie_word_embeddings": True,
    "max_position_embeddings": 131072,
    "rms_norm_eps": 1e-5,
    "rope_theta": 500000.0,
    "rope_scaling": {"rope_type": "llama3", "factor": 32.0, **BANDS},
}
IDS = list(range(1000, 1032))


def write(folder: Path) -> int:
    """The checkpoint, and its bytes."""
    import transformers

    torch.manual_seed(0)
    config = transformers.LlamaConfig(**CONFIG)
    causal: Any = transformers.AutoModelForCausalLM
    causal.from_config(config, dtype=torch.bfloat16).save_pretrained(folder, max_shard_size="9GB")
    return (folder / "model.safetensors").stat().st_size


def peak() -> int:
    """The most bytes that this program has held: what the one that started it held does not count, as in ``rusage``."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return 1024 * next(int(line.split()[1]) for line in lines if line.startswith("VmHWM:"))


def alone(folder: Path) -> dict[str, float]:
    """The file read by safetensors, every number of it once."""
    began = time.perf_counter()
    for tensor in load_file(folder / "model.safetensors").values():
        torch.aminmax(tensor)
    return {"seconds": time.perf_counter() - began, "peak": peak()}


def ours(folder: Path) -> dict[str, float]:
    import viz_model as vm
    from viz_model.checkpoints import huggingface  # noqa: F401  imported before, as safetensors is

    began = time.perf_counter()
    lm = vm.load(folder)
    took = time.perf_counter() - began
    lm.trace(ids=IDS).next_tokens()
    return {"seconds": took, "peak": peak()}


def compared(folder: Path, rounds: int) -> dict[str, list[float]]:
    """Processor seconds of a trace and of the forward pass, one after the other."""
    import transformers

    import viz_model as vm

    theirs: Any = transformers.AutoModelForCausalLM.from_pretrained(folder, dtype=torch.bfloat16)
    lm, ids = vm.load(folder), torch.tensor([IDS])
    works: dict[str, Callable[[], object]] = {"trace": lambda: lm.trace(ids=IDS), "forward": lambda: theirs(ids)}
    took: dict[str, list[float]] = {name: [] for name in works}
    with torch.inference_mode():
        for _ in range(rounds + 1):
            for name, work in works.items():
                began = time.process_time()
                work()
                took[name].append(time.process_time() - began)
    return {name: seconds[1:] for name, seconds in took.items()}


def fresh(what: str, folder: Path, threads: int, rounds: int) -> Any:
    command = [sys.executable, __file__, "--only", what, "--folder", str(folder), "--threads", str(threads)]
    run = subprocess.run([*command, "--rounds", str(rounds)], check=True, capture_output=True, text=True)
    return json.loads(run.stdout.splitlines()[-1])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--folder", type=Path, default=Path(tempfile.gettempdir()), help="where the checkpoint is made")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--only", choices=("alone", "ours", "compared"), help=argparse.SUPPRESS)
    args = parser.parse_args()
    torch.set_num_threads(args.threads)
    if args.only:
        measure = {"alone": alone, "ours": ours}.get(args.only)
        print(json.dumps(measure(args.folder) if measure else compared(args.folder, args.rounds)))
        return
    folder = Path(tempfile.mkdtemp(dir=args.folder))
    try:
        size = write(folder)
        turns = range(args.rounds)
        pairs = [(fresh("alone", folder, args.threads, 1), fresh("ours", folder, args.threads, 1)) for _ in turns]
        took = fresh("compared", folder, args.threads, 3 * args.rounds)
    finally:
        shutil.rmtree(folder)
    loads = statistics.median(own["seconds"] / other["seconds"] for other, own in pairs)
    # Beside other programs threads wait for each other, and that counts as work: the least is what there was to do.
    traces = min(took["trace"]) / min(took["forward"])
    most = max(own["peak"] for _, own in pairs)
    print(f"file {size / 1e9:.2f} GB, {args.threads} threads")
    print(f"peak memory of loading and a trace: {most / 1e9:.2f} GB, {most / size:.2f} × the file")
    print(f"load: {loads:.2f} × safetensors alone ({statistics.median(own['seconds'] for _, own in pairs):.2f} s)")
    print(f"trace of {len(IDS)} tokens: {traces:.2f} × the forward pass of transformers ({min(took['trace']):.2f} s)")


if __name__ == "__main__":
    main()
