"""What a model expects at a position, and what sampling keeps of it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any, Literal, NamedTuple

import numpy as np
from torch import Tensor

from viz_model.claims import Claim, Verdict
from viz_model.drawing.short_repr import short_repr
from viz_model.drawing.tables import Among, Phrase, among, by
from viz_model.island.held import MOST_TOKENS, asks_again
from viz_model.island.look import Look
from viz_model.island.page import Chooser
from viz_model.measures import covering
from viz_model.runs.generation import Sampling, distribution, falling
from viz_model.runs.trace import Trace
from viz_model.tokenizers.tokenizer import Token

SHOWN, MOST_NAMED = 20, 500
"""Tokens of a distribution that are drawn, and those that are known by name."""
MOST_SORTED, MOST_ASKED = 600_000, 6_000_000
"""Logits that are sorted for one message: of a longer text, or a larger vocabulary, those of fewer tokens; and those
that are sorted once a second token is asked about.
"""
MOST_WORK = 5_000_000_000
"""Multiplications with which tokens are covered for one message."""
TEMPERATURES = tuple(f"{n / 20:g}" for n in range(41))
TOP_KS = (*map(str, range(1, 101)), "")
TOP_PS = tuple(f"{n / 20:g}" for n in range(1, 21))
OPTIONS = (("temperature", ("1", *TEMPERATURES)), ("top_k", ("", *TOP_KS)), ("top_p", ("0.9", *TOP_PS)))
USUAL = Sampling(top_p=0.9)
"""What the page, and a figure, begin with."""

How = Literal["following", "covered", "typed", "visible"]


def sampling(look: Look) -> Sampling:
    """How a visitor has tokens drawn."""
    asked = look.options
    top_k = int(asked["top_k"]) if asked.get("top_k") else None
    temperature, top_p = float(asked.get("temperature") or 1), float(asked.get("top_p") or 0.9)
    return Sampling(temperature=temperature, top_k=top_k, top_p=top_p)


def written(how: Sampling) -> dict[str, str]:
    """The options that say so."""
    top_k, top_p = how.top_k or "", 1.0 if how.top_p is None else how.top_p
    return {"temperature": repr(how.temperature), "top_k": str(top_k), "top_p": repr(top_p)}


def chooser(name: str) -> Callable[[Look], Chooser]:
    """A slider of how tokens are drawn."""

    def choose(look: Look) -> Chooser:
        words = look.of("next_token").words
        values = {"temperature": TEMPERATURES, "top_k": TOP_KS, "top_p": TOP_PS}[name]
        options = {one: one if name == "top_k" else f"{float(one):.2f}" for one in values if one}
        if name == "top_k":
            options[""] = words("off")
        usual = dict(OPTIONS)[name][0]
        return Chooser(name, options, words(name), words(f"{name}_help"), usual, asks=True, is_scale=True)

    return choose


class Kept(NamedTuple):
    """What a choice keeps of V tokens.

    ``n_zero`` are those of the kept ones whose probability is 0 in single precision.
    """

    temperature: float
    n_kept: Any
    n_vocab: int
    n_zero: Any


KEPT: Verdict[Kept] = Verdict(
    "next_token.kept",
    Claim("greedy", lambda choice: choice.temperature == 0),
    Claim("all", lambda choice: (choice.n_kept == choice.n_vocab) & (choice.n_zero == 0)),
    Claim("vanish", lambda choice: choice.n_kept == choice.n_vocab),
)
COVERED: Verdict[Any] = Verdict("next_token.covered", Claim("first", lambda rank: rank == 1))
"""Of the rank (1 is first) of a token that was covered."""


def entropy_bits(probs: np.ndarray) -> float:
    """−Σ p log₂ p of [V] probabilities."""
    positive = probs[probs > 0].astype(np.float64)
    return float(-(positive * np.log2(positive)).sum()) + 0.0  # no negative zero


class Whole(NamedTuple):
    """What is said of all V tokens together.

    ``mass`` is the probability of the ``n_kept``, ``before`` and ``after`` are bits of entropy, ``half`` is how many
    hold half of the model's probability; ``open_1`` and ``open_2`` are 2 to the entropy at these temperatures.
    """

    n_vocab: int
    n_kept: int
    n_zero: int
    mass: float
    before: float
    after: float
    half: int
    open_1: float
    open_2: float


@short_repr
class ChoiceView(NamedTuple):
    """The distribution at one position, before and after what sampling drops.

    ``order`` [V] holds the token ids in falling order of probability, of a large vocabulary the first of them, and the
    other arrays follow it: ``logits``, ``model`` the softmax of the logits as they are, ``probs`` the softmax at the
    chosen temperature, ``kept`` what top-k and top-p leave, ``final`` the kept share of each.
    At temperature 0 ``probs`` is the model's own and only the first token is kept. ``tokens`` are the first of the
    order, ``marked`` is the place in the order of a token to be pointed out, and ``marked_token`` that token.
    """

    position: int
    tokens: tuple[Token, ...]
    temperature: float
    order: np.ndarray
    logits: np.ndarray
    model: np.ndarray
    probs: np.ndarray
    kept: np.ndarray
    final: np.ndarray
    whole: Whole
    marked: int | None = None
    marked_token: Token | None = None

    @property
    def shown(self) -> list[int]:
        """Places in the order that are drawn: the first twenty, and one more where a token is marked: that one."""
        first = range(min(SHOWN, len(self.order)))
        more = range(len(first), min(SHOWN + 1, len(self.order)))
        return [*first] if self.marked is None else [*first, *([self.marked] if self.marked > SHOWN else more)]

    @property
    def counts(self) -> Kept:
        """What is kept, in numbers of tokens."""
        return Kept(self.temperature, self.whole.n_kept, self.whole.n_vocab, self.whole.n_zero)

    @property
    def first(self) -> ChoiceView:
        """The same without the arrays behind the tokens that are known by name."""
        names = ("order", "logits", "model", "probs", "kept", "final")
        return self._replace(**{name: getattr(self, name)[:MOST_NAMED].copy() for name in names})


def choice_view(trace: Trace, position: int, logits: Tensor, how: Sampling, marked_id: int | None = None) -> ChoiceView:
    """What ``logits`` [V] expect at a position; ``marked_id`` is a token to be pointed out."""
    falls = falling(logits)
    tokenizer, choice, order = trace.tokenizer, distribution(logits, how, falls), falls.numpy()
    arrays = (logits, logits.softmax(-1), choice.probs, choice.kept, choice.final)
    logit, model, probs, kept, final = (array.numpy()[order] for array in arrays)
    marked = None if marked_id is None else int((order == marked_id).argmax())
    token = None if marked_id is None else tokenizer.token(marked_id)
    tokens = tuple(tokenizer.tokens(order[:MOST_NAMED].tolist()))
    whole = Whole(
        len(order),
        int(kept.sum()),
        int((final[kept] == 0).sum()),
        float(probs[kept].astype(np.float64).sum()),
        entropy_bits(probs),
        entropy_bits(final),
        1 + int((np.cumsum(model.astype(np.float64)) < 0.5).sum()),
        2 ** entropy_bits(model),
        2 ** entropy_bits((logits / 2).softmax(-1).numpy()),
    )
    return ChoiceView(position, tokens, how.temperature, order, logit, model, probs, kept, final, whole, marked, token)


class Asked(NamedTuple):
    """What is expected at the tokens that tables hold.

    Attributes:
        look: at the stack that is asked, with tables of those tokens.
        views: one for each.
    """

    look: Look
    views: tuple[ChoiceView, ...]

    @property
    def here(self) -> ChoiceView:
        """At the selected token."""
        return self.views[0 if len(self.views) == 1 else self.look.token]

    def by(self, values: Any, write: str = "") -> Any:
        """A table by token of what was made of each view."""
        return self.look.by("token", np.asarray(values), write)

    def each(self, value: Callable[[ChoiceView], float], write: str = "") -> Any:
        """A number of each view."""
        return self.by(np.array([value(one) for one in self.views]), write)

    def named(self, tokens: list[Token], *, is_code: bool = True) -> Among:
        """A token for each view, by its name."""
        return among([token.label for token in tokens], self.by, is_code=is_code)


def of_kind(look: Look) -> How:
    """How a model is asked: a decoder says what follows, an encoder's token is covered or, without a mask, visible.

    So is that of a run that was observed, which took place as it is.
    """
    if look.config.kind != "encoder":
        return "following"
    return "visible" if look.config.observed or look.trace.tokenizer.mask_id is None else "covered"


def typed(look: Look) -> np.ndarray:
    """Where the mask itself was typed, [T]."""
    return np.array([id == look.trace.tokenizer.mask_id for id in look.trace.own_ids])


def asked(look: Look) -> Asked:
    """What is expected wherever it is quickly known; that of the last sampling asked for is kept."""
    if look.config.kind == "encoder_decoder" and look.trace.side != "decoder":
        # The encoder predicts nothing: what it read comes out of the decoder, whatever token is selected.
        trace = look.trace.at("decoder")
        own = replace(look, trace=trace, token=len(trace) - 1, _read={})
        view = look.latest("choice of the decoder", sampling(look), lambda: asked(own).here)
        return Asked(replace(look, trace=trace), (view,) * len(look))
    held = _held(look)
    views = look.latest("choice", (sampling(look), held.start, len(held)), lambda: tuple(_views(look, held)))
    return Asked(look, views)


def whole(look: Look) -> tuple[ChoiceView, ...]:
    """The same with all of the vocabulary, of a large one at the selected token alone."""
    found = asked(look)
    if len(found.here.order) == found.here.whole.n_vocab:
        return found.views
    how, row = sampling(look), look.trace.row("logits", look.token)
    return look.latest("whole", (how, look.token), lambda: (choice_view(look.trace, look.token, row, how),))


def _held(look: Look) -> range:
    alone, whole, n = range(look.token, look.token + 1), range(len(look)), len(look) * look.config.n_vocab
    if n > MOST_SORTED:
        is_second = asks_again(look.latest("asked about", sampling(look), set), look.token)
        fits = n <= MOST_ASKED and len(look) <= MOST_TOKENS and of_kind(look) != "covered"
        return whole if fits and (is_second or look.is_saved) else alone
    if of_kind(look) != "covered":
        return whole
    is_quick = not look.trace.edits and len(covering.part(look.trace, 0, MOST_WORK)) >= len(
        covering.written(look.trace)
    )
    return whole if is_quick else alone


def _views(look: Look, held: range) -> Iterator[ChoiceView]:
    trace, how, own = look.trace, sampling(look), look.trace.own_ids
    if of_kind(look) != "covered":
        rows = trace["logits"] if len(held) > 1 else None
        for position in held:
            found = choice_view(trace, position, trace.row("logits", position) if rows is None else rows[position], how)
            yield found.first if rows is not None and rows.numel() > MOST_SORTED else found
        return
    every: dict[int, Tensor] = look.once(lambda _: {}, "covered")
    mask_id = trace.tokenizer.mask_id
    assert mask_id is not None
    missing = [n for n in held if n not in every and own[n] != mask_id]
    if trace.edits:
        every |= {n: covering.covering(trace, n).row("logits", n) for n in missing}
    else:
        every |= dict(zip(missing, covering.logits(trace, missing, mask_id), strict=True))
    for n in held:
        is_typed = own[n] == mask_id
        yield choice_view(trace, n, trace.row("logits", n) if is_typed else every[n], how, None if is_typed else own[n])


def run_at(look: Look) -> Trace:
    """The run that is asked at the selected token: of an encoder with it covered, where that can be done."""
    is_covered = of_kind(look) == "covered" and not typed(look)[look.token]
    return covering.covering(look.trace, look.token) if is_covered else asked(look).look.trace


def facts(look: Look) -> dict[str, Any]:
    """For prose: how much is kept, how open the choice is before and after, the first token and the selected one."""
    key = sampling(look), _held(look)
    return look.latest("facts", key, lambda: _facts(look))


def _facts(look: Look) -> dict[str, Any]:
    found, on = asked(look), asked(look).look
    before, after = (np.array([getattr(one.whole, name) for one in found.views]) for name in ("before", "after"))
    masses = np.array([kept_mass(one) for one in found.views])
    is_last = on.trace.side != look.trace.side
    token = on.token_named(on.by("token", np.full(len(found.views), len(on) - 1))) if is_last else on.token_named()
    known: dict[str, Any] = {
        "n_vocab": f"{found.here.whole.n_vocab:,}",
        "top": found.named([one.tokens[0] for one in found.views]),
        "top_share": found.each(lambda one: one.model[0], "percent"),
        "top_final": found.each(lambda one: one.final[0], "percent"),
        "n_kept": found.each(lambda one: one.whole.n_kept, "whole"),
        "n_dropped": found.each(lambda one: one.whole.n_vocab - one.whole.n_kept, "whole"),
        "n_zero": found.each(lambda one: one.whole.n_zero, "whole"),
        "kept": found.each(lambda one: one.whole.mass, "percent"),
        "dropped": found.by(np.maximum(0.0, 1 - masses), "percent"),
        "before": found.by(before, "2"),
        "after": found.by(after, "2"),
        "choices": found.by(2**after, "whole1"),
        "temperature": f"{sampling(look).temperature:.2f}",
        "token": token,
    }
    if of_kind(look) == "covered":
        mask = look.trace.tokenizer.token(look.trace.tokenizer.mask_id or 0)
        known["mask"] = Among((mask.label,), 0, True)
        known["position"] = found.each(lambda one: one.position, "0")
        known["marked_rank"] = found.by(ranks(found), "whole")
        known["marked_share"] = found.each(lambda one: 0.0 if one.marked is None else one.model[one.marked], "percent")
    return known


def kept_mass(view: ChoiceView) -> float:
    """The probability of what is kept; of all tokens 1, however their sum rounds."""
    return 1.0 if view.whole.n_kept == view.whole.n_vocab else min(1.0, view.whole.mass)


def ranks(found: Asked) -> np.ndarray:
    """Of the covered tokens, 1 is first; 0 where none is."""
    return np.array([0 if one.marked is None else one.marked + 1 for one in found.views])


def either(look: Look, first: Any, second: Any, is_second: np.ndarray) -> Any:
    """One of two texts, by token; each may be one of some itself."""
    texts: list[str] = []
    ats: list[np.ndarray] = []
    values: dict[str, Any] = {}
    for one in (first, second):
        template: Any = one.template if isinstance(one, Phrase) else one
        values |= dict(one.values) if isinstance(one, Phrase) else {}
        among: Any = template if isinstance(template, Among) else Among((template,), by("", 0))
        names, at = among.names, among.at.values
        ats.append(np.broadcast_to(np.asarray(at) + len(texts), is_second.shape))
        texts += names
    return Phrase(Among(texts, look.by("token", np.where(is_second, ats[1], ats[0]))), values)


def kept(look: Look) -> Kept:
    """What is kept at each token that tables hold."""
    counts = [one.counts for one in asked(look).views]
    n_kept, n_zero = (np.array([getattr(one, name) for one in counts]) for name in ("n_kept", "n_zero"))
    return counts[0]._replace(n_kept=n_kept, n_zero=n_zero)
