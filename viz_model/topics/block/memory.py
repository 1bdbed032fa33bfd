"""A hidden neuron as a key and its value (Geva et al. 2021): what the key matches, what fires it, what it says."""

from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor

from viz_model.claims import Claim, Verdict
from viz_model.drawing import chart, strips
from viz_model.drawing.scene import Scene
from viz_model.island import units
from viz_model.island.look import Look
from viz_model.island.page import Chooser, Offer, there
from viz_model.island.prose import Line
from viz_model.measures.neurons import Neuron, direct_path, neurons, promoted
from viz_model.model.feedforward import Experts
from viz_model.model.norms import Norm
from viz_model.runs.trace import Trace
from viz_model.topics.block import experts, vectors
from viz_model.topics.block.neurons import count, of_one
from viz_model.training.samples import stories

STORIES = 40
"""In each of two languages."""
MOST_WORK = 5e10
"""Weights times tokens, to see what fires a layer's neurons: large models read few stories."""
STRONGEST = 8
AROUND = 6
"""Tokens of the context that are shown before the one that fires a neuron; half as many follow."""

FEW = 0.1
FIRING: Verdict[float] = Verdict(
    "block.firing", Claim("few", lambda share: 0 < share < FEW), Claim("most", lambda share: share > 0.5)
)

Ranked = tuple[tuple[str, float], ...]
"""Tokens, each with a number, the first the one that has most of it."""


class Memory(NamedTuple):
    """One neuron of a layer, whatever the token.

    Attributes:
        key: the column of W₁ (of a gated layer, of W_gate) that the neuron compares with what it reads, [D]; of all
            experts' neurons, that of its expert.
        reads: what it reads at the chosen token, [D].
        value: the row of W₂ (W_down) that it adds to the stream, [D].
        matched: the tokens whose own vectors (:func:`alone`) match the key best, with key · vector + bias.
        promoted, suppressed: the tokens with the largest and the smallest logits of the value, on the direct path.
    """

    number: int
    key: np.ndarray
    reads: np.ndarray
    value: np.ndarray
    matched: Ranked
    promoted: Ranked
    suppressed: Ranked


def memory(trace: Trace, layer: int, neuron: int, reads: np.ndarray, most: int = 8) -> Memory | None:
    """Neuron number ``neuron`` of a layer; None where it is not made of one product with a weight."""
    found: Neuron = neurons(trace, layer, 0, [neuron], n_promoted=0)[0]
    compared = found.up if found.gate_act is None else found.gate
    key, bias = (compared.key, compared.bias) if compared else _of_expert(trace, layer, neuron)
    if key is None:
        return None
    best = (alone(trace, layer) @ torch.from_numpy(key)).topk(min(most, trace.config.n_vocab))
    labels = [token.label for token in trace.tokenizer.tokens(best.indices.tolist())]
    matches = (value + (bias or 0.0) for value in best.values.tolist())
    value = torch.from_numpy(found.value)
    has_path = direct_path(trace) == "logits"
    up, down = promoted(trace, torch.stack([value, -value]), most) if has_path else [(), ()]
    lowered = tuple((label, -logit) for label, logit in down)
    return Memory(neuron, key, reads, found.value, tuple(zip(labels, matches, strict=True)), up, lowered)


def _of_expert(trace: Trace, layer: int, neuron: int) -> tuple[np.ndarray | None, float | None]:
    """The row of W_up (W_gate) of one of all experts' neurons, and its bias; None in a layer without experts."""
    ffn = trace.stack.block(layer).ffn
    if not isinstance(ffn, Experts):
        return None, None
    read = ffn.up if ffn.gate is None else ffn.gate
    bias = None if read.bias is None else read.bias[neuron].item()
    return read.weight[neuron].detach().numpy(), bias


@torch.inference_mode()
def alone(trace: Trace, layer: int) -> Tensor:
    """[V, D]: of every token the vector that a feed-forward layer would read if only its row were on the stream.

    That is the row of the embedding table, scaled as the model does and brought to the stream, after the norm whose
    output the layer reads: without a position, and without anything that attention or another layer would have added.
    """
    block, rows = trace.stack.block(layer), trace.model.embedding.weight * trace.model.embedding_scale
    if trace.stack.embed_norm is not None:
        rows = trace.stack.embed_norm(rows)
    if trace.stack.project is not None:
        rows = trace.stack.project(rows)
    if trace.norm_at == "branch":  # whose feed-forward layer reads the stream as it is
        return rows
    before: Norm = block.ffn_norm
    if trace.norm_at == "post":
        before = block.attn_norm if block.cross is None else block.cross_norm
    return before(rows)


def chosen(look: Look) -> int:
    """The neuron that is taken for a key and a value; as long as nobody has chosen one, the strongest here."""
    asked, n, strongest = look.options.get("neuron", ""), count(look), of_one(look).strongest
    return int(asked) if asked and int(asked) < n else strongest[0].number if strongest else 0


def link(look: Look) -> Offer | None:
    """The way to the page of the chosen one."""
    return units.link(look, look.layer, neuron=chosen(look))


def choose(look: Look) -> Chooser:
    n, words = count(look), look.words
    return Chooser("neuron", range(n), words("set_neuron"), words("set_neuron_help"), str(chosen(look)), asks=True)


def _memory(look: Look) -> Memory | None:
    number, reads = chosen(look), vectors.of_one(look).reads("ffn")
    key = "memory", look.layer, look.token, number
    return look.once(lambda _: memory(look.trace, look.layer, number, reads), key)


def is_product(look: Look) -> bool:
    """Whether the chosen neuron is made of one product with a weight."""
    return _memory(look) is not None


def facts(look: Look) -> dict[str, Any]:
    return {"neuron": chosen(look), **vectors.facts(look)}


def draw(look: Look) -> Scene:
    """The key, what it is compared with, and the value."""
    found = there(_memory(look))
    rows = {"key": found.key, "reads": found.reads, "value": found.value}
    drawn = tuple(strips.scaled(look.words(f"memory_{name}"), values) for name, values in rows.items())
    view = strips.StripsView(drawn, tuple(map(str, range(len(found.key)))), 200)
    scene = strips.scene(view, "block.memory", look.words("memory_alt"), {"masked": look.common("masked")})
    return look.only_here(scene, token=True)


def tell(look: Look) -> Iterator[Line]:
    if _memory(look) is None:
        yield look.text("memory_none", **facts(look))
        return
    inside = experts.of_neuron(look.trace, look.layer, look.token, chosen(look))
    if inside is not None:
        said = inside._asdict() | {"weight": f"{inside.weight:.0%}", "n_tokens": len(look)}
        yield Line(look.words("neuron_of_expert", **facts(look), **said))


def matched_title(look: Look) -> Iterator[Line]:
    yield Line(look.words("matched", **facts(look)))


def draw_matched(look: Look) -> Scene:
    return _ranked(look, "matched", there(_memory(look)).matched, "key")


def matched_tell(look: Look) -> Iterator[Line]:
    found = there(_memory(look))
    yield look.text("matched", product=f"{float(found.key @ found.reads):.2f}", **facts(look))


def says(look: Look) -> Ranked:
    """The tokens that the value speaks for, and against; none where it has no direct path."""
    found = there(_memory(look))
    return (*found.promoted, *reversed(found.suppressed)) if found.promoted else ()


def says_title(look: Look) -> Iterator[Line]:
    yield Line(look.words("says", **facts(look)))


def draw_says(look: Look) -> Scene:
    return _ranked(look, "says", says(look), "ffn")


def _ranked(look: Look, key: str, ranked: Ranked, role: str) -> Scene:
    """Tokens as bars, each with its number."""
    labels, values = zip(*ranked, strict=True)
    scale = chart.axis(np.array(values), title=look.words(f"{key}_axis"), room=0.12)
    drawn = [chart.Bars("", np.array(values), role)]
    return look.only_here(
        chart.bars(f"block.{key}", look.words(f"{key}_alt"), labels, drawn, scale, row=26), token=True
    )


class Firings(NamedTuple):
    """What fires the F neurons of a layer over N texts: of each text the token that fires a neuron most.

    Attributes:
        value: the largest values h of each neuron, [k, F], strongest first.
        text, position: the text and the token that has it, [k, F].
        share: of all tokens those on which the neuron's value is above 0, [F].
        tokens: the labels of every text.
    """

    value: np.ndarray
    text: np.ndarray
    position: np.ndarray
    share: np.ndarray
    tokens: tuple[tuple[str, ...], ...]

    def context(self, rank: int, neuron: int) -> tuple[str, str, str]:
        """What stands before, at and behind the token that fires a neuron at a rank."""
        tokens, at = self.tokens[self.text[rank, neuron]], int(self.position[rank, neuron])
        return "".join(tokens[max(0, at - AROUND) : at]), tokens[at], "".join(tokens[at + 1 : at + 1 + AROUND // 2])


def sample(n_weights: int) -> list[str]:
    """Stories of the package's own grammar, English and Chinese by turns: no bundled model was trained on them."""
    pairs = zip(stories("en", STORIES, seed=1), stories("zh", STORIES, seed=1), strict=True)
    most = int(MOST_WORK / (n_weights * 140))  # tokens of a story, about
    return [story for pair in pairs for story in pair][: max(4, most)]


def firings(runs: Iterable[Trace], layer: int) -> Firings:
    """What fires the neurons of a layer in these runs.

    Raises:
        ValueError: there are none.
    """
    values, positions, above, tokens = [], [], [], []
    for run in runs:
        act = run[f"blocks.{layer}.ffn.act"]  # [T, F]
        value, position = act.max(dim=0)
        values.append(value)
        positions.append(position)
        above.append((act > 0).sum(dim=0))
        tokens.append(tuple(token.label for token in run.tokens))
    if not tokens:
        raise ValueError("no text that the model can read")
    value, text = torch.stack(values).topk(min(STRONGEST, len(tokens)), dim=0)
    share = torch.stack(above).sum(dim=0).double() / sum(map(len, tokens))
    at = torch.stack(positions).gather(0, text)
    return Firings(value.numpy(), text.numpy(), at.numpy(), share.numpy(), tuple(tokens))
