"""What seeing every value costs: ours beside transformers, TransformerLens and BertViz, on the same weights and ids.

    pip install transformers "transformer_lens<4" bertviz
    python tests/benchmarks/peers.py [--lengths 16 64 256 1024] [--rounds 7]

Each row is a median of ratios to our own forward pass with nothing recorded, taken before and after; processor time,
one thread, GPT-2 small's shape. "kept" counts each storage once. Peers that are not installed are left out.
"""

import argparse
import functools
import gc
import importlib.util
import statistics
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple

import torch
from torch import Tensor

import viz_model as vm
from viz_model.runs.recompute import Recomputed
from viz_model.runs.record import Keep, record

LONGEST_PAGE = 64
"""Tokens; beyond, BertViz writes tens of megabytes."""


class Subject(NamedTuple):
    """One way to run the model; ``run`` returns whatever holds the values that were kept."""

    name: str
    run: Callable[[list[int]], object]
    kept: Callable[[Any], Iterable[Tensor]]


def seconds(run: Callable[[], object]) -> float:
    began = time.process_time()
    run()
    return time.process_time() - began


def ratio(subject: Callable[[], object], limit: Callable[[], object], rounds: int) -> float:
    """The median over the rounds of the subject's time by the mean of the limit's before and after it."""
    limit(), subject()
    before, found = seconds(limit), []
    for _ in range(rounds):
        own, after = seconds(subject), seconds(limit)
        found.append(2 * own / (before + after))
        before = after
    return statistics.median(found)


def megabytes(values: Iterable[Tensor]) -> float:
    sizes = {value.untyped_storage().data_ptr(): value.untyped_storage().nbytes() for value in values}
    return sum(sizes.values()) / 1e6


def tensors(found: object) -> Iterator[Tensor]:
    if isinstance(found, Tensor):
        yield found
    elif isinstance(found, tuple | list):
        for part in found:
            yield from tensors(part)


def ours(lm: vm.LanguageModel) -> list[Subject]:
    def traced(keep: Keep | None) -> Callable[[list[int]], vm.Trace]:
        return lambda ids: record(lm.model, lm.tokenizer, ids, keep=keep)

    def kept(trace: vm.Trace) -> Iterable[Tensor]:
        return (trace.values.kept if isinstance(trace.values, Recomputed) else trace.values).values()

    def untraced(ids: list[int]) -> Tensor:
        return lm.model.vectors(torch.tensor([ids]))

    return [
        Subject("ours: nothing recorded, no logits", untraced, lambda vectors: [vectors]),
        Subject("ours: a trace", traced(None), kept),
        Subject("ours: everything kept", traced("everything"), kept),
        Subject("ours: the stream kept", traced("stream"), kept),
    ]


def of_transformers(fused: Any, eager: Any) -> list[Subject]:
    """Without outputs, and with attention and hidden states: queries, keys and values are not among them."""

    def kept(found: Any) -> Iterator[Tensor]:
        yield from tensors([found.logits, found.attentions, found.hidden_states])

    def with_outputs(ids: list[int]) -> object:
        return eager(torch.tensor([ids]), output_attentions=True, output_hidden_states=True, use_cache=False)

    return [
        Subject("transformers, no outputs", lambda ids: fused(torch.tensor([ids]), use_cache=False), kept),
        Subject("transformers, attention and hidden states", with_outputs, kept),
    ]


def of_transformer_lens(model: Any) -> list[Subject]:
    def cached(ids: list[int]) -> object:
        return model.run_with_cache(torch.tensor([ids]))

    return [Subject("TransformerLens, run_with_cache", cached, lambda found: [found[0], *found[1].values()])]


def hooked(hf: Any) -> Any:
    import transformer_lens as tl  # type: ignore[import-not-found]
    from transformer_lens.pretrained.weight_conversions import convert_gpt2_weights  # type: ignore[import-not-found]

    size = hf.config
    sizes = {"n_layers": size.n_layer, "d_model": size.n_embd, "n_ctx": size.n_positions, "n_heads": size.n_head}
    sizes |= {"d_head": size.n_embd // size.n_head, "d_vocab": size.vocab_size}
    config = tl.HookedTransformerConfig(**sizes, act_fn="gelu_new", normalization_type="LN", device="cpu")
    model = tl.HookedTransformer(config)
    model.load_state_dict(convert_gpt2_weights(hf, config), strict=False)
    return model.eval()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--lengths", type=int, nargs="+", default=[16, 64, 256, 1024])
    parser.add_argument("--rounds", type=int, default=7)
    args = parser.parse_args()
    from transformers import GPT2Config, GPT2LMHeadModel

    torch.set_num_threads(1)
    torch.manual_seed(0)
    eager: Any = GPT2LMHeadModel(GPT2Config())
    eager.set_attn_implementation("eager")
    eager.eval()
    with tempfile.TemporaryDirectory() as folder:
        eager.save_pretrained(folder)
        lm = vm.load(folder)
        fused: Any = GPT2LMHeadModel.from_pretrained(folder, attn_implementation="sdpa")
        fused.eval()
    subjects = [*ours(lm), *of_transformers(fused, eager)]
    if importlib.util.find_spec("transformer_lens"):
        subjects += of_transformer_lens(hooked(eager))
    lengths = [length for length in args.lengths if length <= lm.config.n_context]
    texts = {length: [(7919 * i) % lm.config.n_vocab for i in range(length)] for length in lengths}
    print(f"GPT-2 small, one thread, process time; medians of {args.rounds} ratios to our pass with nothing recorded")
    print(f"{'':42}" + "".join(f"{f'{length} tokens':>18}" for length in lengths))
    with torch.inference_mode():
        for subject in subjects:
            cells = []
            for ids in texts.values():
                limit = functools.partial(lm.model, torch.tensor([ids]))
                cost = ratio(functools.partial(subject.run, ids), limit, args.rounds)
                cells.append(f"{cost:>8.2f} {megabytes(subject.kept(subject.run(ids))):>6.0f} MB")
                gc.collect()
            print(f"{subject.name:42}" + "".join(f"{cell:>18}" for cell in cells), flush=True)
        print(f"{'ours: one head, ms':42}" + "".join(f"{one_head(lm, ids):>18.2f}" for ids in texts.values()))
        if importlib.util.find_spec("bertviz"):
            pages = [bertviz_page(eager, ids) for ids in texts.values() if len(ids) <= LONGEST_PAGE]
            sizes = [f"{size / 1e6:.2f} MB" for size in pages]
            print(f"{'BertViz, head_view of all layers':42}" + "".join(f"{size:>18}" for size in sizes))


def one_head(lm: vm.LanguageModel, ids: list[int]) -> float:
    """Milliseconds for the pattern of one head, of a block that was not read before; the median of the layers."""
    trace = record(lm.model, lm.tokenizer, ids)
    names = [f"blocks.{layer}.attn.pattern" for layer in range(lm.config.n_layers)]
    return 1e3 * statistics.median(seconds(functools.partial(trace.head, name, 3)) for name in names)


def bertviz_page(eager: Any, ids: list[int]) -> int:
    from bertviz import head_view  # type: ignore[import-not-found]

    attentions = eager(torch.tensor([ids]), output_attentions=True).attentions
    page = head_view(attentions, [str(id) for id in ids], html_action="return")
    return len(page.data.encode())


if __name__ == "__main__":
    main()
