"""What a model expects at a position, what sampling keeps of it, and the first twenty tokens as a picture."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any, Literal, NamedTuple

import numpy as np
from torch import Tensor

from viz_model.claims import Claim, Verdict
from viz_model.drawing import chart
from viz_model.drawing.brief import brief
from viz_model.drawing.cells import ROW
from viz_model.drawing.scene import Items, Key, Labels, Mark, Panel, Path, Rect, Scene, Series, Text, Texts
from viz_model.drawing.scene.writing import short, width_of
from viz_model.drawing.tables import Among, Each, Lengths, Phrase, by
from viz_model.island.look import Look
from viz_model.island.page import Chooser
from viz_model.island.prose import Line
from viz_model.measures import covering
from viz_model.runs.generation import Sampling, distribution
from viz_model.runs.trace import Trace
from viz_model.tokenizers.tokenizer import Token

SHOWN, VISIBLE, MOST_NAMED = 20, 5, 500
"""Tokens of a distribution that are drawn, of what is said of a visible one, and those that are known by name."""
MOST_SORTED = 600_000
"""Logits that are sorted for one message: of a longer text, or a larger vocabulary, those of fewer tokens."""
MOST_WORK = 5_000_000_000
"""Multiplications with which tokens are covered for one message."""
ROW_HEIGHT, TOP, RIGHT = 24.0, 8.0, 64.0
"""Pixels of a row, above the first, and on the right, for what is written behind a bar."""

SHADES: dict[str, dict[str, Any]] = {
    "before": {"fill": "output", "opacity": 0.3},
    "dropped": {"fill": "residual", "opacity": 0.4, "hatch": "muted"},
    "after": {"fill": "output"},
}
"""How bars look before something is dropped, of what is dropped, and after."""

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


@brief
class ChoiceView(NamedTuple):
    """The distribution at one position, before and after what sampling drops.

    ``order`` [V] holds the token ids in falling order of probability, and the other arrays follow
    it: ``logits``, ``model`` the softmax of the logits as they are, ``probs`` the softmax at the
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
    marked: int | None = None
    marked_token: Token | None = None

    @property
    def shown(self) -> list[int]:
        """Places in the order that are drawn: the first twenty, and one more where a token is marked: that one."""
        first = range(min(SHOWN, len(self.order)))
        more = range(len(first), min(SHOWN + 1, len(self.order)))
        return [*first] if self.marked is None else [*first, *([self.marked] if self.marked > SHOWN else more)]

    @property
    def kept_mass(self) -> float:
        return float(self.probs[self.kept].astype(np.float64).sum())

    @property
    def counts(self) -> Kept:
        """What is kept, in numbers of tokens."""
        n_zero = int((self.final[self.kept] == 0).sum())
        return Kept(self.temperature, int(self.kept.sum()), len(self.order), n_zero)


def choice_view(trace: Trace, position: int, logits: Tensor, how: Sampling, marked_id: int | None = None) -> ChoiceView:
    """What ``logits`` [V] expect at a position; ``marked_id`` is a token to be pointed out."""
    tokenizer, choice = trace.tokenizer, distribution(logits, how)
    order = np.argsort(-logits.numpy(), kind="stable")
    arrays = (logits, logits.softmax(-1), choice.probs, choice.kept, choice.final)
    logit, model, probs, kept, final = (array.numpy()[order] for array in arrays)
    marked = None if marked_id is None else int((order == marked_id).argmax())
    token = None if marked_id is None else tokenizer.token(marked_id)
    tokens = tuple(tokenizer.tokens(order[:MOST_NAMED].tolist()))
    return ChoiceView(position, tokens, how.temperature, order, logit, model, probs, kept, final, marked, token)


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
        names = list(dict.fromkeys(token.label for token in tokens))
        return Among(names, self.by(np.array([names.index(token.label) for token in tokens])), is_code)


def of_kind(look: Look) -> How:
    """How a model is asked: a decoder says what follows, an encoder's token is covered or, without a mask, visible."""
    if look.config.kind != "encoder":
        return "following"
    return "visible" if look.trace.tokenizer.mask_id is None else "covered"


def typed(look: Look) -> np.ndarray:
    """Where the mask itself was typed, [T]."""
    return np.array([id == look.trace.tokenizer.mask_id for id in look.trace.own_ids])


def asked(look: Look) -> Asked:
    """What is expected wherever it is quickly known; that of the last sampling asked for is kept."""
    if look.config.kind == "encoder_decoder" and look.trace.side != "decoder":
        # The encoder predicts nothing: what it read comes out of the decoder, whatever token is selected.
        trace = look.trace.at("decoder")
        own = replace(look, trace=trace, token=len(trace) - 1, _read={})
        kept: dict[Any, Any] = look.once(lambda _: {}, "choice of the decoder")
        view = latest(kept, sampling(look), lambda: asked(own).here)
        return Asked(replace(look, trace=trace), (view,) * len(look))
    held = _held(look)
    views = latest(look.once(lambda _: {}, "choice"), (sampling(look), held.start), lambda: tuple(_views(look, held)))
    return Asked(look, views)


def latest(kept: dict[Any, Any], key: Any, make: Callable[[], Any]) -> Any:
    """What was made for a key, of which only the latest is kept."""
    if (found := kept.get(key)) is None:
        found = make()
        kept.clear()
        kept[key] = found
    return found


def _held(look: Look) -> range:
    alone = range(look.token, look.token + 1)
    if len(look) * look.config.n_vocab > MOST_SORTED:
        return alone
    if of_kind(look) != "covered":
        return range(len(look))
    whole = range(len(look))
    is_quick = not look.trace.edits and len(covering.part(look.trace, 0, MOST_WORK)) >= len(
        covering.written(look.trace)
    )
    return whole if is_quick else alone


def _views(look: Look, held: range) -> Iterator[ChoiceView]:
    trace, how, own = look.trace, sampling(look), look.trace.own_ids
    if of_kind(look) != "covered":
        for position in held:
            yield choice_view(trace, position, trace.row("logits", position), how)
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
    found: dict[str, Any] = latest(look.once(lambda _: {}, "facts"), key, lambda: _facts(look))
    return found


def _facts(look: Look) -> dict[str, Any]:
    found, on = asked(look), asked(look).look
    before, after = (np.array([entropy_bits(getattr(one, name)) for one in found.views]) for name in ("probs", "final"))
    is_all = [one.kept.all() for one in found.views]
    masses = np.array([1.0 if every else one.kept_mass for every, one in zip(is_all, found.views, strict=True)])
    is_last = on.trace.side != look.trace.side
    token = on.token_named(on.by("token", np.full(len(found.views), len(on) - 1))) if is_last else on.token_named()
    known: dict[str, Any] = {
        "n_vocab": f"{len(found.here.order):,}",
        "top": found.named([one.tokens[0] for one in found.views]),
        "top_share": found.each(lambda one: one.model[0], "percent"),
        "top_final": found.each(lambda one: one.final[0], "percent"),
        "n_kept": found.each(lambda one: one.kept.sum(), "whole"),
        "n_dropped": found.each(lambda one: (~one.kept).sum(), "whole"),
        "n_zero": found.each(lambda one: one.counts.n_zero, "whole"),
        "kept": found.each(lambda one: one.kept_mass, "percent"),
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


def from_encoder(look: Look) -> Iterator[Line]:
    if look.config.kind == "encoder_decoder" and look.trace.side == "encoder":
        yield look.note("from_the_encoder", token=facts(look)["token"])


def _is_typed(found: Asked) -> np.ndarray:
    return np.array([one.marked is None for one in found.views])


def title(look: Look) -> Iterator[Line]:
    found, known = asked(look), facts(look)
    if of_kind(look) != "covered":
        yield look.title(f"title_{of_kind(look)}", **known)
        return
    covered = found.look.claim(COVERED, ranks(found), "token", **known).words
    yield Line(either(found.look, covered, look.words("title_typed", **known), _is_typed(found)), "title")


def tell(look: Look) -> Iterator[Line]:
    found, known, how = asked(look), facts(look), of_kind(look)
    counts = [one.counts for one in found.views]
    n_kept, n_zero = (np.array([getattr(one, name) for one in counts]) for name in ("n_kept", "n_zero"))
    kept = counts[0]._replace(n_kept=n_kept, n_zero=n_zero)
    if how == "covered":
        seen, typed_ = (look.text(f"see_{name}", **known).words for name in ("covered", "typed"))
        yield Line(either(found.look, seen, typed_, _is_typed(found)))
    else:
        yield look.text(f"see_{how}", **known)
    yield found.look.claim(KEPT, kept, "token", **known)
    yield look.of("next_token").text("open", **known)


def beside(look: Look) -> Iterator[Line]:
    """What the model says in the same place while it can see the token."""
    if of_kind(look) != "covered":
        return
    found = asked(look)
    own = [
        float(look.trace.row("logits", one.position).softmax(-1)[look.trace.ids[one.position]]) for one in found.views
    ]
    said = look.text("beside", share=found.by(np.array(own), "percent"), **facts(look)).words
    yield Line(either(found.look, said, "", _is_typed(found)))


def visible(look: Look) -> Scene | None:
    """The most probable tokens where the token can be seen, which has the color of what comes out."""
    if of_kind(look) != "covered":
        return None
    found = asked(look)
    guesses = [look.trace.next_tokens(one.position, VISIBLE) for one in found.views]
    names = _names(found, [[token.label for token, _ in row] for row in guesses])
    probs = found.by(np.array([[p for _, p in row] for row in guesses], np.float32))
    ids = [look.trace.own_ids[one.position] for one in found.views]
    is_own = np.array([[token.id == id for token, _ in row] for row, id in zip(guesses, ids, strict=True)])
    fill = Among(("residual", "output"), found.by(is_own.astype(int)))
    bars = [chart.Bars("", probs, "output", "{{name}}: {{value}}", "percent", fill=fill)]
    alt = look.words("visible_alt", **facts(look))
    scene = chart.bars(f"{look.topic}.visible", alt, names, bars, chart.Axis(0, 1, write="%0"), row=26)
    present: Any = found.by(~_is_typed(found))
    return look.drawn(replace(scene, panels=[replace(scene.panels[0], present=present)]), ["logits"])


def _behind(values: Any, high: Any, left: float, across: tuple[float, float], more: float = 6.0) -> Any:
    """Where something is written behind bars."""
    return Lengths(values, 0, high, (0.0, left + more), (1.0, left + more + across[1]))


def _names(found: Asked, rows: list[list[str]]) -> Among:
    names = list(dict.fromkeys(name for row in rows for name in row))
    at = {name: n for n, name in enumerate(names)}
    return Among(names, found.by(np.array([[at[name] for name in row] for row in rows])))


def _left(names: Any) -> float:
    return min(190.0, max((width_of(short(name, 16)) for name in names), default=0.0)) + 18


def scale(tops: np.ndarray) -> tuple[np.ndarray, list[list[str]]]:
    """For each largest value [P] a step of which five hold it, and how the six ticks are written."""
    power = 10.0 ** np.floor(np.log10(np.maximum(tops, 1e-9) / 5))
    steps = np.array(
        [
            next(t * p for t in (1, 1.5, 2, 2.5, 3, 4, 5, 6, 8, 10) if 5 * t * p >= top)
            for top, p in zip(tops, power, strict=True)
        ]
    )
    return steps, [[f"{float(f'{100 * k * step:.6g}'):g}%" for k in range(6)] for step in steps]


def draw(look: Look) -> Scene:
    """The most probable tokens: pale before, solid after, hatched where dropped. A marked token beyond the twenty
    follows them with its rank.
    """
    found, shared, is_moved = asked(look), look.of("next_token").words, sampling(look).temperature not in (0, 1)
    is_masked = of_kind(look) == "covered"
    shown = [one.shown for one in found.views]
    n = max(map(len, shown))
    # Where the mask itself was typed nothing is marked, and there is one token more.
    shown = [[*row, *range(len(row), n)] for row in shown]

    def numbers(name: str) -> np.ndarray:
        return np.array([getattr(one, name)[row] for one, row in zip(found.views, shown, strict=True)], np.float32)

    def label(one: ChoiceView, place: int) -> str:
        token = one.marked_token if place == one.marked else None
        named = (token or one.tokens[place]).label
        return named if place < SHOWN else f"{place + 1:,}. {short(named, 10)}"

    model, probs, final, kept = (numbers(name) for name in ("model", "probs", "final", "kept"))
    is_kept = kept == 1
    every = (model if is_moved else probs, probs, np.where(is_kept, final, 0))
    steps, ticks = scale(np.stack(every).max((0, 2)))
    high = found.by(5 * steps)
    names = _names(found, [[label(one, n) for n in row] for one, row in zip(found.views, shown, strict=True)])
    left = _left(names.names)
    right = RIGHT + (14 if is_masked else 0)
    across, y = (1.0, -left - right), (TOP + ROW_HEIGHT * np.arange(n)).astype(np.float32)
    end = TOP + ROW_HEIGHT * n
    parts = {name: shared(f"bar_{name}") for name in ("model", "before", "after", "dropped")}
    told: Any = Each(
        f"{{{{name}}}}\n{parts['model']} {{{{m}}}}\n{parts['before']} {{{{b}}}}\n{parts['after']} {{{{a}}}}",
        {
            "name": names,
            "m": found.by(model, "percent"),
            "b": found.by(probs, "percent"),
            "a": found.by(np.where(is_kept, final, np.nan), "percent"),
        },
    )
    ids = np.array([one.order[row] for one, row in zip(found.views, shown, strict=True)])
    at: Any = "token" if found.look.trace.side == look.trace.side else len(found.look) - 1
    where = found.look.cells("probs", (at, ROW), rows=found.by(ids))
    start = np.tile(np.array([[0, left]], np.float32), (n, 1))

    def bars(id: str, values: np.ndarray, tall: float, **fill: Any) -> Items:
        width: Any = Lengths(found.by(values), 0, high, (0.0, 0.0), across)
        heights = np.full(n, ROW_HEIGHT * tall, np.float32)
        place: dict[str, Any] = {"x": start, "y": y + ROW_HEIGHT * (1 - tall) / 2, "width": width, "height": heights}
        return Items(id=id, labels=told, name=parts[id], where=where, down=True, **place, **fill)

    marks: list[Mark] = []
    fifths = np.arange(6) / 5
    at_ticks = np.stack([fifths, left + fifths * across[1]], -1).astype(np.float32)
    written: Any = _names(found, ticks)
    marks += [
        Rect(id=f"grid.{k}", x=(x, p), y=TOP, width=1, height=end - TOP, fill="grid")
        for k, (x, p) in enumerate(at_ticks.tolist())
    ]
    marks.append(
        Labels(id="ticks", texts=written, x=left, y=end + 2, length=across, places=at_ticks, turn="never", fill="muted")
    )
    marks.append(bars("before", np.where(is_kept, probs, np.nan), 0.82, **SHADES["before"]))
    if not is_kept.all():
        marks.append(bars("dropped", np.where(is_kept, np.nan, probs), 0.82, **SHADES["dropped"]))
    marks.append(bars("after", np.where(is_kept, final, np.nan), 0.5, **SHADES["after"]))
    if is_moved:
        places = Lengths(found.by(model), 0, high, (0.0, left), (1.0, left + across[1]))
        points: Any = {"x": places, "y": y + ROW_HEIGHT / 2}
        marks.append(
            Items(id="model", symbol="line-ns", size=15, stroke="ink", fill="ink", thick=2, walk=False, **points)
        )
    share = found.by(np.where(is_kept, final, probs), "percent")
    ends = found.by(np.fmax(np.fmax(probs, np.where(is_kept, final, 0)), model if is_moved else 0))
    said: Any = Each("{{value}}", {"value": share})
    color: Any = Among(("muted", "ink"), found.by(is_kept.astype(int)))
    marks.append(
        Texts(
            id="shares",
            texts=said,
            x=_behind(ends, high, left, across),
            y=y + ROW_HEIGHT / 2,
            anchor="start",
            fill=color,
        )
    )
    marked = np.array(
        [row.index(one.marked) if one.marked in row else -1 for one, row in zip(found.views, shown, strict=True)]
    )
    if is_masked:
        row = np.maximum(marked, 0)
        spot = found.by(ends.values[np.arange(len(row)), row])
        there: Any = found.by(marked >= 0)
        middle: Any = found.by((TOP + ROW_HEIGHT * (row + 0.5)).astype(np.float32))
        marks.append(
            Text(
                id="marked",
                text="◂",
                y=middle,
                present=there,
                x=_behind(spot, high, left, across, 54.0),
            )
        )
    listed: Any = names
    bold: Any = found.by(marked.astype(np.float32)) if is_masked else None
    marks.append(Labels(id="names", texts=listed, x=left - 8, y=TOP, length=end - TOP, along="y", most=16, marked=bold))
    there_are = {mark.id for mark in marks}
    keys = [Key(name=parts[name], marks=[_sample(**SHADES[name])]) for name in SHADES if name in there_are]
    if is_moved:
        line = Path(id="key", x=np.array([14.0, 14.0]), y=np.array([0.0, 14.0]), stroke="ink", thick=2)
        keys.append(Key(name=parts["model"], marks=[line]))
    if is_masked:
        keys.append(Key(name=look.words("true_token"), marks=[Text(id="key", text="◂", x=9, y=7)]))
    arrays = {"before": found.by(probs), "after": found.by(np.where(is_kept, final, np.nan))}
    how = sampling(look)
    call = look.call("next_tokens", position=look.token)
    call = call if how == USUAL else call.replace("(trace", f"(trace, sampling=vm.{how!r}", 1)
    scene = Scene(
        id=f"{look.topic}.choice",
        panels=[Panel(id="choice", marks=marks, height=end + 22)],
        title=look.words("choice_alt"),
        keys=keys,
        series=[Series(parts[name], listed, values) for name, values in arrays.items()],
        own=not is_masked,
    )
    return found.look.drawn(scene, ("logits", "probs"), call=call, data=found.here)


def _sample(**fill: Any) -> Items:
    """What stands for bars in a legend."""
    size: dict[str, Any] = {"width": np.array([14.0]), "height": np.array([12.0]), "walk": False}
    return Items(id="key", x=np.array([7.0]), y=np.array([1.0]), **size, **fill)


def source(look: Look) -> Iterator[Line]:
    yield asked(look).look.source("logits", "probs")


def mass(look: Look) -> Scene:
    """All of the probability as one bar: what is kept, named above it, and what is dropped, named below."""
    found, known, words = asked(look), facts(look), look.of("next_token").words
    kept = np.array([1.0 if one.kept.all() else min(1.0, one.kept_mass) for one in found.views])
    share, there = found.by(kept[:, None]), found.by(kept < 1)
    place: dict[str, Any] = {"x": Lengths(share, 0, 1, (0.0, 0.0), (1.0, 0.0)), "y": np.array([24.0]), "present": there}
    place |= {"width": Lengths(share, 0, 1, (1.0, 0.0), (0.0, 0.0)), "height": np.array([32.0]), "walk": False}
    wide: Any = Lengths(found.by(kept), 0, 1, (0.0, 0.0), (1.0, 0.0))
    below: dict[str, Any] = {"text": words("bar_dropped_mass", **known), "present": there}
    marks: list[Mark] = [
        Text(id="kept", text=words("bar_kept_mass", **known), y=12),
        Rect(id="mass", y=24, width=wide, height=32, fill="output"),
        Items(id="rest", **SHADES["dropped"], **place),
        Text(id="dropped", x=(1, 0), y=68, anchor="end", fill="muted", **below),
    ]
    scene = Scene(
        id=f"{look.topic}.mass", panels=[Panel(id="mass", marks=marks, height=80)], title=words("mass_alt", **known)
    )
    return found.look.drawn(scene, ("probs",))
