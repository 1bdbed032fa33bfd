"""What is measured for each of the ten questions, on the run of the page."""

import math
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional as F

from viz_model.drawing.digits import byte_size, percent, written
from viz_model.island.look import Look
from viz_model.measures import heads, kv_cache
from viz_model.model import sites
from viz_model.model.transformer import Transformer
from viz_model.runs.generation import Decoder, Sampling, generate
from viz_model.texts.markdown import literal
from viz_model.values import counts

MOST_BARS = 24
"""Tokens that have a bar; of a longer text the last ones."""
MOST_WEIGHTS = 20_000_000
"""Of a model that is made anew with random weights."""


class Measured(NamedTuple):
    """What a question's picture and answer are made of.

    Attributes:
        names: of the rows.
        series: what is measured, by the key of its name: a number for each row.
        write: how a number is written.
        facts: what fills the places of the answer.
        of: which of several answers it is, by the end of its key.
    """

    names: Sequence[str]
    series: Mapping[str, Sequence[float]]
    write: str
    facts: Mapping[str, Any]
    of: str = ""


@torch.inference_mode()
def _logits(look: Look, ids: Sequence[int]) -> Tensor:
    """What the model says after each of some tokens: [T, V]."""
    with look.turn():
        logits: Tensor = look.trace.model(torch.tensor([list(ids)]))[0]
    return logits


def _given(logits: Tensor, ids: Sequence[int]) -> Tensor:
    """The probability of each next token that comes: [T − 1]."""
    return logits[:-1].softmax(-1).gather(-1, torch.tensor(ids[1:])[:, None])[:, 0]


def _named(look: Look, id: int) -> str:
    return str(look.trace.tokenizer.token(id).label)


def _bits(after: Tensor, before: Tensor) -> float:
    """KL divergence of what is said after a change from what was said before, in bits: of logits [V]."""
    said = before.log_softmax(-1)
    return float((said.exp() * (said - after.log_softmax(-1))).sum()) / math.log(2)


def repeats(look: Look, step: int) -> Measured:
    """The same sentence several times over: how probable is the token that comes, in each copy?"""
    own = look.trace.own_ids
    copies = max(1, min(step + 2, look.config.n_context // len(own)))
    ids = own * copies
    given = _given(_logits(look, ids), ids) if len(ids) > 1 else torch.zeros(0)
    # The first token of a copy is given by the copy before.
    by_copy = [given[max(0, n * len(own) - 1) : (n + 1) * len(own) - 1] for n in range(copies)]
    means = [float(one.mean()) if len(one) else math.nan for one in by_copy]
    facts = {"last": percent(means[-1]), "n": copies}
    names, of = [str(look.words("copy", n=n + 1)) for n in range(copies)], "_one"
    if len(own) > 1:  # before the first token of all stands nothing
        facts["first"], of = percent(means[0]), ""
    return Measured(names, {"given": means}, "%1", facts, of)


TEMPERATURES = (0.5, 1.0, 1.5, 2.0)


def makes_up(look: Look, step: int) -> Measured:
    """The likeliest next tokens at a temperature."""
    logits = look.trace.row("logits", look.token)
    probs = (logits / TEMPERATURES[step]).softmax(-1)
    best = probs.topk(8)
    likely = int((probs > 0.01).sum())
    facts = {
        "n": f"{len(probs):,}",
        "best": literal(_named(look, int(best.indices[0]))),
        "share": percent(float(best.values[0])),
        "likely": likely,
        "token": look.code_name(look.token),
    }
    return Measured([_named(look, int(id)) for id in best.indices], {"given": best.values.tolist()}, "%1", facts)


def letters(look: Look, step: int) -> Measured:
    """The letters of each token, which the model is never told; and those of the tokens with the nearest rows."""
    places = _shown(look)
    table, id = look.trace.model.embedding.weight.detach(), look.trace.own_ids[look.token]
    near = F.cosine_similarity(table, table[id][None]).topk(11).indices.tolist()
    others = [_named(look, other) for other in near if other != id][:10]
    own = len(look.trace.tokenizer.token(id).text.strip())
    same = sum(len(name.strip("·")) == own for name in others)
    facts = {
        "token": look.code_name(look.token),
        "id": id,
        "letters": own,
        "near": ", ".join(map(literal, others[:4])),
        "same": same,
        "n": len(others),
    }
    lengths = [float(len(look.trace.tokens[n].text.strip())) for n in places]
    return Measured([look.labels[n] for n in places], {"letters": lengths}, "whole", facts)


def chinese(look: Look, step: int) -> Measured:
    """One sentence in two languages: its characters, its bytes, its tokens."""
    encode = look.trace.tokenizer.encode
    pair = [str(look.words(f"pair_{step}_{language}")) for language in ("en", "zh")]
    sizes = [(len(text), len(text.encode()), len(encode(text, special=False))) for text in pair]
    (e_chars, _, e_tokens), (c_chars, _, c_tokens) = sizes
    facts = {
        "english": literal(pair[0]),
        "chinese": literal(pair[1]),
        "n_english": e_tokens,
        "n_chinese": c_tokens,
        "per_english": written(e_chars / e_tokens, "1"),
        "per_chinese": written(c_chars / c_tokens, "1"),
    }
    names = [str(look.words(name)) for name in ("characters", "bytes", "tokens")]
    return Measured(
        names, {"english": list(map(float, sizes[0])), "chinese": list(map(float, sizes[1]))}, "whole", facts
    )


LENGTH = 8


def plans(look: Look, step: int) -> Measured:
    """What the model writes by itself, and what it writes after another first token."""
    own = [*look.trace.own_ids[: look.token + 1]]
    room = min(LENGTH, look.config.n_context - len(own))
    ranked = look.trace.row("logits", look.token).topk(step + 2).indices.tolist()
    first, other = (_written(look, [*own, id], room - 1) for id in (ranked[0], ranked[-1]))
    same = [float(a == b) for a, b in zip(first[1:], other[1:], strict=False)]
    decode = look.trace.tokenizer.decode
    facts = {
        "first": literal(decode(first)),
        "other": literal(decode(other)),
        "same": int(sum(same)),
        "n": len(same),
        "rank": step + 2,
    }
    both = enumerate(zip(first[1:], other[1:], strict=False), 2)
    names = [f"{n}: {_named(look, a)} | {_named(look, b)}" for n, (a, b) in both]
    return Measured(names or ["–"], {"same": same or [0.0]}, "whole", facts)


def _written(look: Look, ids: list[int], more: int) -> list[int]:
    """The last token and up to ``more`` that the model finds most probable, one after another."""
    with look.turn():
        decoder, tokenizer = Decoder(look.trace.model, ids), look.trace.tokenizer
        drawn = generate(decoder, tokenizer, max_new_tokens=more, sampling=Sampling(temperature=0), seed=0)
    return [ids[-1], *(token.id for token in drawn.tokens)]


def last_token(look: Look, step: int) -> Measured:
    """How far the next token's probabilities move without each token."""
    own, places = look.trace.own_ids, _shown(look)
    said = look.trace.row("logits", -1)
    if len(own) > 1:
        without = _ends(look, [[*own[:n], *own[n + 1 :]] for n in {*places, look.token}])
        after = dict(zip({*places, look.token}, without, strict=True))
    else:
        after = {look.token: said}
    moved = [_bits(after[n], said) for n in places]
    most = places[int(np.argmax(moved))]
    chances = after[look.token].softmax(-1)
    facts = {
        "token": look.code_name(look.token),
        "last": look.code_name(len(look) - 1),
        "moved_last": written(moved[-1], "2"),
        "most": look.code_name(most),
        "moved_most": written(max(moved), "2"),
        "before": literal(_named(look, int(said.argmax()))),
        "after": literal(_named(look, int(chances.argmax()))),
        "share": percent(float(chances.max())),
    }
    return Measured([look.labels[n] for n in places], {"bits": moved}, "2", facts)


@torch.inference_mode()
def _ends(look: Look, texts: Sequence[Sequence[int]]) -> Tensor:
    """What the model says after the last token of each of some equally long texts: [N, V]."""
    with look.turn():
        last = look.trace.model.vectors(torch.tensor(texts))[:, -1:]
        logits: Tensor = look.trace.model.head(last)[:, 0]
    return logits


SHARES = (0.3, 0.5, 0.7)


def most_heads(look: Look, step: int) -> Measured:
    """How many heads put more than a share of their weight on one sort of place."""
    share, kinds = SHARES[step], ("first", "previous", "itself")
    found: Counter[str] = Counter()
    for layer in heads.kinds(look.trace):
        for head in layer:
            most = max(kinds, key=lambda kind: getattr(head, kind))
            found[most if getattr(head, most) > share else "spread"] += 1
    total = look.n_layers * look.n_heads
    every = (*kinds, "spread")
    facts = {"n": total, "share": percent(share), **{kind: found[kind] for kind in every}}
    names = [str(look.words(f"head_{kind}")) for kind in every]
    return Measured(names, {"heads": [float(found[kind]) for kind in every]}, "whole", facts)


LENGTHS = (32, 256, 2048, 16_384, 131_072)


def context(look: Look, step: int) -> Measured:
    """What one more token costs, after a text of a length: multiplications by attention, and by all the rest."""
    config, length = look.config, LENGTHS[step]
    blocks = [site for name, site in sites.in_order(config) if name.startswith("blocks.")]
    rest = sum(counts.used(weight, site) for weight, site in counts.weights(blocks).values() if len(weight.shape) > 1)
    windows = [config.window("decoder", layer) for layer in range(config.n_layers)]
    # A score and a share of the mix, of one key in all heads of each layer.
    one = [2 * config.n_heads * config.of_layer("decoder", layer).d_head for layer in range(config.n_layers)]
    attention = [sum(k * min(seen, window or seen) for k, window in zip(one, windows, strict=True)) for seen in LENGTHS]
    facts = {
        "length": f"{length:,}",
        "attention": f"{attention[step]:,}",
        "rest": f"{rest:,}",
        "equal": f"{rest / sum(one):,.0f}",
        "cache": byte_size(kv_cache.bytes_of(config, length, kv_cache.itemsize(look.trace))),
        "context": f"{config.n_context:,}",
        "n_windows": sum(map(bool, windows)),
        "layers": config.n_layers,
        "window": f"{max(windows):,}",
    }
    series = {"attention": list(map(float, attention)), "rest": [float(rest)] * len(LENGTHS)}
    return Measured([f"{one:,}" for one in LENGTHS], series, "whole", facts, "_window" if any(windows) else "")


def order(look: Look, step: int) -> Measured:
    """The same tokens in another order, the last one where it was."""
    own = look.trace.own_ids
    shuffled = [*np.random.default_rng(step).permutation(own[:-1]).tolist(), own[-1]]
    before, after = (_logits(look, ids)[-1] for ids in (own, shuffled))
    best = before.topk(6).indices
    decode = look.trace.tokenizer.decode
    facts = {
        "shuffled": literal(decode(shuffled)),
        "before": literal(_named(look, int(before.argmax()))),
        "after": literal(_named(look, int(after.argmax()))),
        "share_before": percent(float(before.softmax(-1).max())),
        "share_after": percent(float(after.softmax(-1).max())),
        "bits": written(_bits(after, before), "2"),
    }
    shares = {name: one.softmax(-1)[best].tolist() for name, one in (("as_it_is", before), ("shuffled", after))}
    return Measured([_named(look, int(id)) for id in best], shares, "%1", facts)


def training(look: Look, step: int) -> Measured:
    """How surprising each token is that comes, before training and after it."""
    ids, places = look.trace.own_ids, [n for n in _shown(look) if n]
    n_weights = sum(p.numel() for p in look.trace.model.parameters())
    logits = {"trained": look.trace["logits"]}
    if n_weights <= MOST_WEIGHTS:
        logits = {"untrained": _random(look, step, ids), **logits}
    bits = {name: -_given(one, ids).log2() for name, one in logits.items()}
    facts = {
        "before": written(bits["untrained"].mean(), "2") if "untrained" in bits else "",
        "after": written(bits["trained"].mean(), "2"),
        "even": written(math.log2(look.config.n_vocab), "1"),
        "n_tokens": f"{look.config.n_vocab:,}",
        "n": f"{n_weights:,}",
    }
    series = {name: [float(one[n - 1]) for n in places] or [math.nan] for name, one in bits.items()}
    of = "" if "untrained" in bits else "_large"
    return Measured([look.labels[n] for n in places] or ["–"], series, "1", facts, of)


@torch.inference_mode()
def _random(look: Look, seed: int, ids: Sequence[int]) -> Tensor:
    """What the same architecture says with random weights."""
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        fresh = Transformer(look.config).eval()
    logits: Tensor = fresh(torch.tensor([list(ids)]))[0]
    return logits


def _shown(look: Look) -> range:
    return range(max(0, len(look) - MOST_BARS), len(look))


class Question(NamedTuple):
    """One of the ten.

    Attributes:
        name: in an address, and of its texts.
        steps: what can be moved, as many labels: the key of a text and what fills it; none where it is the token.
        usual: the step where nobody has moved it.
        measure: what is measured, of a look and a step.
        pages: where more of it is to be seen.
    """

    name: str
    steps: tuple[Any, ...]
    usual: int
    measure: Callable[[Look, int], Measured]
    pages: tuple[str, ...]


QUESTIONS = (
    Question("repeats", (2, 3, 4, 5), 2, repeats, ("attention", "next_token")),
    Question("makes_up", TEMPERATURES, 1, makes_up, ("next_token", "attribution")),
    Question("letters", (), 0, letters, ("tokens", "embedding")),
    Question("chinese", (1, 2, 3), 0, chinese, ("tokens",)),
    Question("plans", (2, 3, 4, 5), 0, plans, ("next_token", "attribution")),
    Question("last_token", (), 0, last_token, ("attribution", "ablations")),
    Question("most_heads", SHARES, 1, most_heads, ("attention", "ablations")),
    Question("context", LENGTHS, 2, context, ("cost",)),
    Question("order", (1, 2, 3, 4, 5), 0, order, ("position", "ablations")),
    Question("training", (1, 2, 3), 0, training, ("training_lab", "norm_placement")),
)
