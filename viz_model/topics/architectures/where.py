"""Where the parameters are, by part: of one block, and of whole models, beside published sizes."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from viz_model.claims import Claim, Verdict
from viz_model.config import Side
from viz_model.drawing.scene import Items, Key, Labels, Mark, Panel, Run, Scene, Series, Texts
from viz_model.drawing.scene.writing import short as cut
from viz_model.drawing.scene.writing import width_of
from viz_model.drawing.tables import By, Each, Lengths
from viz_model.island.look import Look
from viz_model.island.prose import Line
from viz_model.topics.architectures import pair, parameters
from viz_model.topics.architectures.parameters import PARTS, short
from viz_model.topics.architectures.references import REFERENCES

HALF = 0.5
LARGEST: Verdict[float] = Verdict("architectures.largest", Claim("half", lambda share: share > HALF))
"""Of the share of a model's largest part."""


class Vocabulary(NamedTuple):
    """The share of embedding and head in the smallest of some models and in the largest."""

    smallest: float
    largest: float


VOCABULARY: Verdict[Vocabulary] = Verdict(
    "architectures.vocabulary", Claim("falls", lambda share: share.smallest > share.largest)
)


class WhereView(NamedTuple):
    """Parameters by part: ``counts`` is [R, P] for R named rows and the parts of :data:`parameters.PARTS`.

    ``stacks`` says which stack's block a row is, where its model has two. ``loaded`` rows are
    counted on a model that is here, the others on published sizes.
    """

    names: tuple[str, ...]
    stacks: tuple[Side | None, ...]
    loaded: tuple[bool, ...]
    counts: np.ndarray

    @property
    def shares(self) -> np.ndarray:
        """[R, P], every row adding up to 1."""
        found: np.ndarray = self.counts / self.counts.sum(1, keepdims=True)
        return found

    def share(self, row: int, *parts: parameters.Part) -> float:
        return float(sum(self.shares[row, PARTS.index(part)] for part in parts))

    def vocabulary(self) -> Vocabulary:
        """The share of embedding and head in the smallest row and in the largest."""
        ends = (int(pick(self.counts.sum(1))) for pick in (np.argmin, np.argmax))
        return Vocabulary(*(self.share(row, "embedding", "head") for row in ends))


_Counted = tuple[str, Side | None, bool, Mapping[parameters.Part, int]]


def whole_models(look: Look) -> WhereView:
    """Parameters of whole models: the two, then the published ones."""
    here: list[_Counted] = [(one.name, None, True, parameters.count(one.model)) for one in pair.both(look)]
    return _where([*here, *((ref.name, None, False, parameters.of_config(ref.config)) for ref in REFERENCES)])


def one_block(look: Look, layer: int) -> WhereView:
    """Parameters of one block of every stack: that of the layer, or the last one where there are fewer."""
    rows: list[_Counted] = []
    for one in pair.both(look):
        for side in one.config.sides:
            block = one.model.stack(side).block(min(layer, one.config.depth(side) - 1))
            rows.append((one.name, side if len(one.config.sides) > 1 else None, True, parameters.count(block)))
    for name, config, *_ in REFERENCES:
        for side in config.sides:
            at = config.weights_of(min(layer, config.depth(side) - 1))
            counted = parameters.of_config(config, f"{side}.blocks.{at}")
            rows.append((name, side if len(config.sides) > 1 else None, False, counted))
    return _where(rows)


def _where(rows: Sequence[_Counted]) -> WhereView:
    names, stacks, loaded, found = zip(*rows, strict=True)
    counts = np.array([[counted[part] for part in PARTS] for counted in found], dtype=np.int64)
    return WhereView(names, stacks, loaded, counts)


def blocks(look: Look) -> list[WhereView]:
    """Of the layers that are held; of one alone where all are built alike."""

    def made(look: Look) -> list[WhereView]:
        found = [one_block(look, layer) for layer in look.layers]
        return found[:1] if all((one.counts == found[0].counts).all() for one in found) else found

    return look.once(made, "blocks")


def _each(look: Look, values: Sequence[Any], write: str = "") -> Any:
    """A table by layer, or what all layers have."""
    found = values if isinstance(values[0], str | list) else np.asarray(values)
    return look.by("layer", found, write) if len(values) > 1 else By((), found[0], write=write)


def tell_blocks(look: Look) -> Iterator[Line]:
    one = pair.own(look)
    row, views = one.config.sides.index(one.side), blocks(look)
    shares: dict[str, tuple[parameters.Part, ...]] = {"ffn": ("ffn",), "attention": ("attention", "cross")}
    said = {name: _each(look, [view.share(row, *parts) for view in views], "%0") for name, parts in shares.items()}
    yield look.text("where_blocks", **pair.names(look), **said)


def draw_blocks(look: Look) -> Scene:
    """Of one block: layers may be built in more than one way."""
    return _draw(look, "where_blocks", blocks(look))


def tell_models(look: Look) -> Iterator[Line]:
    whole = whole_models(look)
    largest = int(whole.counts[0].argmax())
    said = {
        "total": short(int(whole.counts[0].sum())),
        "largest": look.words(f"where_{PARTS[largest]}"),
        "share": f"{whole.shares[0, largest]:.0%}",
    }
    yield look.claim(LARGEST, whole.shares[0].max(), "", **pair.names(look), **said)
    ends = whole.vocabulary()
    yield look.claim(VOCABULARY, ends, "", small=f"{ends.smallest:.0%}", large=f"{ends.largest:.1%}")


def draw_models(look: Look) -> Scene:
    return _draw(look, "where_models", [whole_models(look)])


_PART_MARKS: dict[str, tuple[str, str]] = {
    "embedding": ("residual", ""),
    "positions": ("position", ""),
    "attention": ("pattern", ""),
    "cross": ("query", "/"),
    "ffn": ("ffn", ""),
    "norms": ("norm", ""),
    "head": ("value", "\\"),
}
"""The color of a part, and how lines run across it."""
ROW, TALL, TOP = 40.0, 30.0, 8.0
"""Pixels from a bar to the next, of a bar, and above the first."""


def _draw(look: Look, key: str, views: Sequence[WhereView]) -> Scene:
    """One bar a row, all of the same length, cut by part; the totals stand under the names."""
    first = views[0]
    n = len(first.names)
    names = [f"{cut(name, 26)}{'' if here else ' ◇'}" for name, here in zip(first.names, first.loaded, strict=True)]
    under = [_totals(look, view) for view in views]
    left = min(190.0, max(width_of(text) for text in [*names, *under[0]])) + 14
    across, y = (1.0, -left - 4), (TOP + ROW * np.arange(n) + (ROW - TALL) / 2).astype(np.float32)
    rows = [[((Run(name),), (Run(text, bold=True),)) for name, text in zip(names, one, strict=True)] for one in under]
    shares = np.stack([view.shares for view in views])  # [layers, R, P]
    begins = np.cumsum(shares, -1) - shares
    marks: list[Mark] = []
    keys, series = [], []
    for p, part in enumerate(PARTS):
        if not any(view.counts[:, p].any() for view in views):
            continue
        (role, slant), name, values = _PART_MARKS[part], look.words(f"where_{part}"), _each(look, [*shares[..., p]])
        start: Any = Lengths(_each(look, [*begins[..., p]]), 0, 1, (0.0, left), (1.0, left + across[1]))
        wide: Any = Lengths(values, 0, 1, (0.0, 0.0), across)
        middle: Any = Lengths(_each(look, [*(begins + shares / 2)[..., p]]), 0, 1, (0.0, left), (1.0, left + across[1]))
        counts = _each(look, [view.counts[:, p].astype(float) for view in views], "whole")
        said: Any = Each(f"{name} {{{{n}}}} ({{{{x}}}})", {"n": counts, "x": values._replace(write="%1")})
        more: dict[str, Any] = {"hatch": "ink", "slant": slant} if slant else {}
        look_: dict[str, Any] = {"fill": role, "opacity": 0.75, **more}
        marks.append(
            Items(id=f"bars.{part}", x=start, y=y, width=wide, height=np.full(n, TALL, np.float32), labels=said,
                  name=name, down=True, **look_)
        )  # fmt: skip
        texts: Any = Each("{{x}}", {"x": values._replace(write="%0")})
        marks.append(Texts(id=f"shares.{part}", texts=texts, x=middle, y=y + TALL / 2, rooms=wide))
        sample: dict[str, Any] = {"width": np.array([14.0]), "height": np.array([12.0]), "walk": False}
        keys.append(Key(name=name, marks=[Items(id="key", x=np.array([7.0]), y=np.array([1.0]), **sample, **look_)]))
        series.append(Series(name, first.names, values))
    listed: Any = _each(look, rows)
    marks.append(Labels(id="names", texts=listed, x=left - 8, y=TOP, length=n * ROW, along="y", most=60))
    panel = Panel(id="where", marks=marks, height=TOP + n * ROW + 4)
    return Scene(id=f"architectures.{key}", panels=[panel], title=look.words(f"{key}_alt"), keys=keys, series=series)


def _totals(look: Look, view: WhereView) -> list[str]:
    rows = zip(view.counts.sum(1), view.stacks, strict=True)
    return [" · ".join([short(int(total)), *([look.words(f"where_{side}")] if side else [])]) for total, side in rows]


# Numbers


def counted(look: Look) -> dict[str, Sequence[object]]:
    """The counts by part as a table."""
    view, words = whole_models(look), look.words
    parts = {words(f"where_{part}"): view.counts[:, p].tolist() for p, part in enumerate(PARTS)}
    on = [words("where_loaded" if here else "where_published") for here in view.loaded]
    columns = {words("where_model"): list(view.names), words("where_counted_on"): on}
    return {**columns, **parts, words("where_total"): view.counts.sum(1).tolist()}


def published(look: Look) -> dict[str, Sequence[object]]:
    """The published sizes as a table."""
    configs = [ref.config for ref in REFERENCES]
    columns: dict[str, list[object]] = {
        "name": [ref.name for ref in REFERENCES],
        "kind": [look.words(f"is_{config.kind}") for config in configs],
        "layers": [" + ".join(str(config.depth(side)) for side in config.sides) for config in configs],
        "d": [config.d_model for config in configs],
        "heads": [f"{config.n_heads} × {config.d_head}" for config in configs],
        "kv": [config.n_kv_heads for config in configs],
        "ffn": [config.d_ffn for config in configs],
        "vocabulary": [config.n_vocab for config in configs],
        "tied": [look.words(f"is_{'yes' if config.tie_embeddings else 'no'}") for config in configs],
        "counted": [f"{sum(parameters.of_config(config).values()):,}" for config in configs],
        "said": [ref.said for ref in REFERENCES],
        "source": [ref.source for ref in REFERENCES],
    }
    return {look.words(f"reference_{key}"): values for key, values in columns.items()}
