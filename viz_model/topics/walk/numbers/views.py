"""From a run to what the stops show of it. Rows and keys are those of the tokens on the stage."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor

from viz_model.config import NoNorm, Rope, Sinusoidal
from viz_model.measures import lens
from viz_model.measures.lens import predicts
from viz_model.measures.neurons import strongest
from viz_model.measures.output import read_site
from viz_model.model import ops
from viz_model.model.sites import n_neurons
from viz_model.runs.trace import Trace
from viz_model.tokenizers.tokenizer import IdTokenizer
from viz_model.topics.walk.pictures.attention import Attention
from viz_model.topics.walk.pictures.block import Alone, Does, Ride
from viz_model.topics.walk.pictures.ending import Answer
from viz_model.topics.walk.pictures.heads import Heads, Source
from viz_model.topics.walk.pictures.lines import Places, Scheme, Stream, Table
from viz_model.topics.walk.pictures.opening import Opening
from viz_model.topics.walk.pictures.schema import Schema
from viz_model.topics.walk.pictures.stage import MOST_ROWS, Guess

RARE = " unbelievable"
"""A word that a small vocabulary cuts."""
_AMONG = 12
ALIKE = 0.05
"""Lengths that differ by less are one size."""
TEMPERATURES = (0.5, 2.0)
N_GUESSES, N_SAMPLE, N_STRIP, MOST_DEPTHS, MOST_SOURCE = 5, 48, 24, 6, 12


def window(trace: Trace, token: int) -> range:
    """The positions that stand on the stage: as many as there is room for, the asking token among them."""
    stop = min(len(trace), max(token + 1, MOST_ROWS))
    return range(max(0, stop - MOST_ROWS), stop)


def scheme(trace: Trace, layer: int) -> tuple[Scheme, int]:
    """How this stack tells places apart, and in which layer: in this one, or else in the first that does."""
    if "embed.position" in trace:
        return "waves" if isinstance(trace.config.position, Sinusoidal) else "added", layer
    for n in (layer, *range(trace.n_layers)):
        if f"blocks.{n}.attn.q_rotated" in trace:
            turns = isinstance(trace.config.layer(trace.stack.side, n).position, Rope)
            return "turned" if turns else "changed", n
        if f"blocks.{n}.attn.bias" in trace:
            return "biased", n
    return "none", layer


def guesses(trace: Trace, position: int, k: int = N_GUESSES) -> tuple[Guess, ...]:
    """The most probable tokens; none where this stack predicts none."""
    if not predicts(trace):
        return ()
    return tuple(Guess(token.label, chance, token.id) for token, chance in trace.next_tokens(position, k))


def opening(trace: Trace, token: int) -> Opening:
    tokenizer, shown = trace.tokenizer, window(trace, token)
    rare = (
        tokenizer.tokens(tokenizer.encode(RARE, special=False))
        if tokenizer.is_lossless and not isinstance(tokenizer, IdTokenizer)
        else ()
    )
    pieces = tuple(trace.tokens[position].text or trace.tokens[position].label for position in shown)
    return Opening(
        guesses(trace, token), token, pieces, tuple(piece.text for piece in rare), trace.config.kind == "encoder"
    )


def table_of(trace: Trace) -> Tensor:
    """The learnt table [V, D]."""
    return trace.model.embedding.weight.detach()


def sample(trace: Trace) -> np.ndarray:
    """Rows of the table at even distances, some of their numbers."""
    weights = table_of(trace)
    every = torch.linspace(0, len(weights) - 1, min(N_SAMPLE, len(weights))).long()
    return weights[every, :: max(1, weights.shape[1] // 96)].numpy()


def table(trace: Trace, token: int) -> Table:
    shown, weights = window(trace, token), table_of(trace)
    ids = [trace.own_ids[position] for position in shown]
    own = weights[ids]
    unit = torch.nn.functional.normalize(weights, dim=-1)
    names = [trace.tokens[position].text.strip().lower() for position in shown]
    cosines, found = (unit[ids] @ unit.T).topk(min(_AMONG, len(weights)))  # [n, _AMONG]

    def others(row: int) -> list[tuple[str, float, int]]:
        """The nearest rows of other words: "The" is no news beside "the"."""
        near = [
            (trace.tokenizer.token(id), cosine)
            for id, cosine in zip(found[row].tolist(), cosines[row].tolist(), strict=True)
        ]
        return [
            (token.label, cosine, token.id)
            for token, cosine in near
            if token.text.strip().lower() != names[row] and token.id not in trace.tokenizer.controls
        ][:3]

    words = [row for row, name in enumerate(names) if name.isalpha()]
    best = max(words, key=lambda row: max((cosine for _, cosine, _ in others(row)), default=-1.0), default=0)
    near = others(best) if words else []
    alike = tuple((word, cosine) for word, cosine, _ in near)
    return Table(own.numpy(), sample(trace), len(weights), best, alike, weights[[id for _, _, id in near]].numpy())


def places(trace: Trace, token: int, layer: int, head: int) -> Places:
    shown, (way, layer) = window(trace, token), scheme(trace, layer)
    ids = [trace.own_ids[position] for position in shown]
    twins = next(((a, b) for b in range(len(ids)) for a in range(b) if ids[a] == ids[b]), None)
    rows, at = trace["embed.token"][list(shown)], f"blocks.{layer}.attn."
    sites = ("embed.token", "", "embed.token")
    scaled = trace.config.d_model if trace.config.scale_embedding else None
    match way:
        case "waves" | "added":
            waves = trace["embed.position"][list(shown)]
            total = trace["embed.out"][list(shown)] if "embed.norm.out" not in trace else rows + waves
            sites = ("embed.token", "embed.position", "embed.out" if "embed.norm.out" not in trace else "")
            return Places(way, rows.numpy(), waves.numpy(), total.numpy(), twins, sites, scaled=scaled)
        case "turned" | "changed":
            plain = "k_normed" if f"{at}k_normed" in trace else "k"
            before, after = (trace.head(at + name, head)[list(shown)] for name in (plain, "k_rotated"))
            return Places(way, before.numpy(), None, after.numpy(), twins, sites, head)
        case "biased":
            pushed = trace.row(f"{at}bias", token, head)[list(shown)]
            seen = trace.row(f"{at}masked", token, head)[list(shown)].isfinite()
            added = torch.where(seen, pushed, torch.nan)
            return Places(way, rows.numpy(), added.numpy(), rows.numpy(), twins, sites, scaled=scaled)
        case "none":
            return Places(way, rows.numpy(), None, rows.numpy(), twins, sites, scaled=scaled)


def depths(trace: Trace) -> tuple[int, ...]:
    """Depths at even distances: 0 is before any block; of few blocks all."""
    count = trace.n_layers
    if count <= MOST_DEPTHS:
        return tuple(range(count + 1))
    return (0, *(1 + round(n * (count - 1) / (MOST_DEPTHS - 1)) for n in range(MOST_DEPTHS)))


def stream(trace: Trace, token: int) -> Stream:
    shown, passed = list(window(trace, token)), depths(trace)
    sites = tuple("embed.out" if depth == 0 else f"blocks.{depth - 1}.resid.out" for depth in passed)
    every = max(1, trace.config.d_model // N_STRIP)
    values = np.stack([trace[site][shown, ::every].numpy() for site in sites])
    dimensions = tuple(range(0, trace.config.d_model, every))
    return Stream(values, dimensions, tuple(depth - 1 for depth in passed[1:]), sites)


def embedded(trace: Trace, token: int) -> np.ndarray:
    """What enters the first block: [n, D]."""
    return trace["embed.out"][list(window(trace, token))].numpy()


def block_input(trace: Trace, token: int, layer: int) -> np.ndarray:
    return trace[f"blocks.{layer}.resid.in"][list(window(trace, token))].numpy()


def _last(trace: Trace, at: str, letter: str) -> str:
    """Queries or keys as the product takes them."""
    return next(name for name in (f"{at}{letter}_rotated", f"{at}{letter}_normed", f"{at}{letter}") if name in trace)


def attention(trace: Trace, token: int, layer: int, head: int) -> Attention:
    shown, at = list(window(trace, token)), f"blocks.{layer}.attn."
    q = trace.head(_last(trace, at, "q"), head)[token]
    keys = trace.head(_last(trace, at, "k"), head)[shown]
    values = trace.head(f"{at}v", head)[shown]
    scores, masked, pattern = (trace.head(at + name, head)[shown][:, shown] for name in ("scores", "masked", "pattern"))
    has_bias, config = f"{at}bias" in trace, trace.config
    kept = ops.cap(scores, config.score_cap)
    asked = shown.index(token)
    products = keys @ q
    pushed = trace.row(f"{at}masked", token, head)[shown]
    seen = pushed.isfinite()
    shares = pattern[asked]
    return Attention(
        layer,
        head,
        at.removesuffix("."),
        q.numpy(),
        keys.numpy(),
        values.numpy(),
        products.numpy(),
        scores[asked].numpy(),
        kept[asked].numpy(),
        torch.where(seen, pushed, -torch.inf).numpy(),
        kept.T.numpy(),
        masked.T.numpy(),
        pattern.T.numpy(),
        shares.numpy(),
        float(trace.row(f"{at}pattern", token, head).sum()),
        (shares[:, None] * values).norm(dim=-1).numpy(),
        trace.head(f"{at}z", head)[token].numpy(),
        _last(trace, at, "q"),
        config.root_of**0.5 if config.scale_scores else None,
        config.divides_by_root,
        config.score_cap,
        has_bias,
        bool((~masked.isfinite()).any()),
    )


def flatter(trace: Trace, token: int, layer: int, head: int) -> tuple[float, float] | None:
    """The largest share of a token with and without the division, of all tokens; None where nothing is divided.

    What is added to the scores, and a logit of no key, stay as they are in the run.
    """
    config, at = trace.config, f"blocks.{layer}.attn."
    if not config.scale_scores:
        return None
    pushed, scores = (trace.row(f"{at}{name}", token, head) for name in ("masked", "scores"))
    undivided = ops.cap(scores * config.root_of**0.5, config.score_cap)
    whole = pushed - ops.cap(scores, config.score_cap) + undivided
    sink = trace.row(f"{at}sink", token, head) if f"{at}sink" in trace else None
    return float(ops.pattern(pushed, sink).max()), float(ops.pattern(whole, sink).max())


def largest(trace: Trace, token: int, layer: int, head: int) -> tuple[int, int]:
    """The position with the largest share of a token, and that whose share of its value is longest, of all tokens."""
    at = f"blocks.{layer}.attn."
    shares = trace.row(f"{at}pattern", token, head)
    lengths = trace.head(f"{at}v", head).norm(dim=-1)
    return int(shares.argmax()), int((shares * lengths).argmax())


def heads(trace: Trace, token: int, layer: int, head: int, does: Sequence[str]) -> Heads:
    shown, passed = list(window(trace, token)), [depth - 1 for depth in depths(trace)[1:]]
    layers = tuple(sorted({*passed, layer}))

    def maps(n: int) -> np.ndarray:
        at = f"blocks.{n}.attn."
        pattern, masked = trace[f"{at}pattern"][:, shown][:, :, shown], trace[f"{at}masked"][:, shown][:, :, shown]
        return torch.where(masked.isfinite(), pattern, torch.nan).transpose(1, 2).numpy()

    every = np.stack([maps(n) for n in layers])
    return Heads(layer, head, every[layers.index(layer)], every, layers, tuple(does), f"blocks.{layer}.attn.pattern")


def source(trace: Trace, token: int, layer: int) -> Source:
    """The head of the layer that reads one word of the source most firmly."""
    rows = trace.row(f"blocks.{layer}.cross.pattern", token)  # [H, m]
    read = trace.at("encoder")
    words = [n for n, id in enumerate(read.own_ids) if id not in trace.tokenizer.controls] or list(range(len(read)))
    head = int(rows[:, words].max(-1).values.argmax())
    best = int(rows[head].argmax())
    first = max(0, min(best - MOST_SOURCE // 2, len(read) - MOST_SOURCE))
    shown = range(first, min(len(read), first + MOST_SOURCE))
    return Source(tuple(read.tokens[n].label for n in shown), rows[head, list(shown)].numpy(), layer, head)


@torch.inference_mode()
def norm_does(trace: Trace, token: int, layer: int) -> Does:
    """What the norm of the feed-forward does to a line, tried on the same line ten times as large."""
    line, norm = trace.norm_input(f"blocks.{layer}.ffn.norm", token), trace.stack.block(layer).ffn_norm
    once, larger = norm(line), norm(10 * line)
    if torch.equal(once, line):
        return "keeps"
    return "sizes" if abs(float(larger.norm() / once.norm()) - 1) < ALIKE else "changes"


def alone(trace: Trace, token: int, layer: int) -> Alone:
    at, place = f"blocks.{layer}.", trace.norm_at
    read = f"{at}resid.cross" if f"{at}resid.cross" in trace else f"{at}resid.mid"
    x, out = trace.row(read, token), trace.row(f"{at}ffn.out", token)
    norm, back = f"{at}ffn.norm.out", f"{at}ffn.{'norm' if place == 'branch' else 'out_norm'}.out"
    normed = trace.row(norm, token).numpy() if norm in trace and place != "branch" else None
    written = (trace.row(back, token).numpy(), back) if place in ("branch", "both") and back in trace else None
    act, finds = None, tuple[tuple[int, np.ndarray], ...]()
    if n_neurons(trace.config, trace.stack.side, layer):
        act = trace.row(f"{at}ffn.act", token).numpy()
        everywhere = trace[f"{at}ffn.act"][list(window(trace, token))]
        finds = tuple((int(n), everywhere[:, int(n)].numpy()) for n in strongest(act, 3))
    total = trace.row(f"{at}resid.out", token)
    if place == "post":  # whose sum is no value of its own
        total = x + out if trace.config.residual else out
    return Alone(
        layer,
        place,
        x.numpy(),
        normed,
        act,
        out.numpy(),
        written,
        total.numpy(),
        finds,
        read,
        norm_does(trace, token, layer),
    )


def schema(trace: Trace) -> Schema | None:
    """One block, drawn out; None where its parts stand side by side, or nothing is added, or nothing normed."""
    if trace.config.parallel or not trace.config.residual or isinstance(trace.config.norm, NoNorm):
        return None
    crosses = "blocks.0.cross.pattern" in trace
    return Schema(("attn", "cross", "ffn") if crosses else ("attn", "ffn"), trace.norm_at)


def ride(trace: Trace, token: int) -> Ride:
    passed = depths(trace)
    if not predicts(trace):
        return Ride(passed, ())
    seen = lens.look(trace, passed, [token])
    words = [trace.tokenizer.token(int(id)).label for id in seen.ids[:, 0]]
    return Ride(passed, tuple(zip(words, seen.probs[:, 0].tolist(), strict=True)))


def decided(view: Ride) -> int | None:
    """From which depth on the final guess is first; None where no token is predicted."""
    if not view.guesses:
        return None
    words = [word for word, _ in view.guesses]
    others = [n for n, word in enumerate(words) if word != words[-1]]
    return others[-1] + 1 if others else 0


def answer(trace: Trace, token: int, then: Trace | None) -> Answer:
    """``then`` is the run of the text with the most probable token behind it, where one joins it."""
    best = guesses(trace, token)
    site = read_site(trace) if predicts(trace) else trace.leaving
    logits = trace.row("logits", token) if best else None
    following = () if then is None else guesses(then, len(then) - 1)
    chosen = best[0].label if best and then is not None else ""
    scores = () if logits is None else tuple(float(logits[guess.id]) for guess in best)
    warmed: tuple[tuple[float, tuple[float, ...]], ...] = ()
    if logits is not None and trace.config.kind == "decoder":
        at = {t: (logits.double() / t).softmax(-1) for t in TEMPERATURES}
        warmed = tuple((t, tuple(float(probs[guess.id]) for guess in best)) for t, probs in at.items())
    line = trace.row(site, token).numpy()
    return Answer(line, site, best, scores, chosen, following, warmed, token, trace.config.n_vocab)


def chances(trace: Trace, token: int, ids: Sequence[int]) -> tuple[tuple[float, ...], str]:
    """What tokens get in another run, and its first guess."""
    probs = trace.row("probs", token)
    return tuple(float(probs[id]) for id in ids), trace.tokenizer.token(int(probs.argmax())).label


def telling(trace: Trace, token: int) -> tuple[int, int] | None:
    """The layer and head in which the token looks hardest at an earlier one that is the model's answer.

    Where the answer does not stand in the text, at any that is neither the first, nor the token itself or beside it.
    None where there is no such token.
    """
    answer = trace.next_tokens(token, 1)[0][0].id if predicts(trace) else None
    ids = trace.own_ids
    others = [n for n in range(1, len(ids)) if abs(n - token) > 1 and ids[n] not in trace.tokenizer.controls]
    wanted = [n for n in others if ids[n] == answer and n < token] or others
    best: tuple[float, int, int] | None = None
    for layer in range(trace.n_layers):
        rows = trace.row(f"blocks.{layer}.attn.pattern", token)  # [H, T]
        if wanted:
            most = rows[:, wanted].max(-1).values
            head = int(most.argmax())
            if best is None or float(most[head]) > best[0]:
                best = float(most[head]), layer, head
    return None if best is None else best[1:]
