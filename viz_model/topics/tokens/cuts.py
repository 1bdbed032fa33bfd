"""The same bytes cut by two vocabularies, one above the other."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from viz_model.claims import Claim, Verdict
from viz_model.drawing import theme
from viz_model.drawing.scene import Items, Mark, Panel, Path, Scene, Series, Text, Texts
from viz_model.drawing.short_repr import short_repr
from viz_model.drawing.tables import Among, By, Phrase, by
from viz_model.island import say
from viz_model.island.look import Look
from viz_model.island.page import Item
from viz_model.island.prose import Line
from viz_model.texts.markdown import literal
from viz_model.tokenizers.text import make_visible, spelled
from viz_model.tokenizers.tokenizer import ByteLevel, Token, Tokenizer, cl100k_base
from viz_model.topics.tokens import cutting, second
from viz_model.topics.tokens.layout import LINE, SHORTEST, Box, Place, label_of, lines_of, needs, width_of, widths_of

MOST_LINES, HEAD, ABOVE = 8, 20, 18
"""Lines of a long text that are drawn, those with the selected token; pixels of the name of a row, and of the brackets
over characters that a vocabulary cuts.
"""
EXAMPLES = {"chinese": "我爱深度学习", "tutorial": "Chapter 1: Building Rapport and Capturing"}

CUTS: Verdict[tuple[int, int]] = Verdict(
    "tokens.cuts", Claim("all", lambda counts: counts[0] == counts[1]), Claim("none", lambda counts: counts[0] == 0)
)
"""Of how many of a text's tokens the second vocabulary cuts alike, and how many there are."""

OTHER: Verdict[tuple[Any, Any]] = Verdict(
    "tokens.other", Claim("same", lambda token: token[0]), Claim("cut", lambda token: token[1] > 0)
)
"""Of whether the second vocabulary cuts a token alike, and how many of its tokens hold bytes of it."""


class Cut(NamedTuple):
    """One vocabulary's tokens over N bytes.

    ``starts`` and ``stops`` [tokens] are byte offsets; ``shared`` [tokens] is whether the other
    vocabulary has a token of exactly these bytes; ``origin`` [tokens] is its position there, or −1.
    """

    name: str
    tokens: tuple[Token, ...]
    starts: np.ndarray
    stops: np.ndarray
    shared: np.ndarray
    origin: np.ndarray


@short_repr
class CutsView(NamedTuple):
    """The same text in two vocabularies, laid out in lines.

    Per byte, all [N]: its ``line``, its left edge ``x`` in that line and its ``width``, in widths
    of a letter. ``selected`` is a position of the first vocabulary, −1 where none of its tokens is meant.
    """

    upper: Cut
    lower: Cut
    line: np.ndarray
    x: np.ndarray
    width: np.ndarray
    n_bytes: int
    selected: Any

    @property
    def n_lines(self) -> int:
        return int(self.line[-1]) + 1

    @property
    def n_shared(self) -> int:
        """Tokens that both vocabularies cut alike."""
        return int(self.upper.shared.sum())

    def over(self, position: int) -> list[Token]:
        """The lower row's tokens that hold a byte of the upper row's token at ``position``."""
        start, stop = self.upper.starts[position], self.upper.stops[position]
        touched = np.flatnonzero((self.lower.starts < stop) & (self.lower.stops > start))
        return [self.lower.tokens[i] for i in touched]

    @classmethod
    def of(cls, upper: Sequence[Token], lower: Sequence[Token], names: tuple[str, str], selected: Any = -1) -> CutsView:
        raw = b"".join(token.bytes for token in upper)
        spans = [cutting.spans(tokens) for tokens in (upper, lower)]
        width = widths_of(raw, (upper, lower))
        line = lines_of(raw, width, spans)
        x = np.concatenate([np.cumsum(width[line == n]) - width[line == n] for n in range(int(line[-1]) + 1)])
        cuts = []
        for n in (0, 1):
            other = {span: position for position, span in enumerate(spans[1 - n])}
            edges = np.array(spans[n]).reshape(-1, 2)
            origin = np.array([other.get(span, -1) for span in spans[n]], dtype=int)
            cuts.append(Cut(names[n], tuple((upper, lower)[n]), edges[:, 0], edges[:, 1], origin >= 0, origin))
        return cls(cuts[0], cuts[1], line, x, width, len(raw), selected)

    def split(self) -> list[tuple[int, int, str]]:
        """The bytes [start, stop) of each character that the first vocabulary cuts, and the character.

        What only the second cuts stands whole above its bytes.
        """
        raw = b"".join(token.bytes for token in self.upper.tokens)
        starts = cutting.character_starts(raw)
        edges = set(self.upper.starts.tolist())
        found = zip(starts, [*starts[1:], len(raw)], strict=True)
        return [
            (start, stop, make_visible(raw[start:stop].decode(errors="ignore")))
            for start, stop in found
            if edges & set(range(start + 1, stop))
        ]

    def boxes(self, cut: Cut) -> list[Box]:
        """A row's boxes. A wide character stands over its own bytes, and so at the same place in both rows."""
        found = []
        for n, (start, stop) in enumerate(zip(cut.starts, cut.stops, strict=True)):
            for line in np.unique(self.line[start:stop]):
                inside = start + np.flatnonzero(self.line[start:stop] == line)
                first, last = int(inside[0]), int(inside[-1]) + 1
                raw = cut.tokens[n].bytes[first - start : last - start]
                left, right = self._edges(first, last)
                found.append(Box(n, int(line), left, right, self._labels(raw, first, last), first == start))
        return found

    def _edges(self, first: int, last: int) -> tuple[float, float]:
        return float(self.x[first]), float(self.x[last - 1] + self.width[last - 1])

    def _labels(self, raw: bytes, first: int, last: int) -> list[tuple[float, str]]:
        try:
            text = raw.decode()
        except UnicodeDecodeError:
            text = ""
        if not text or max(map(width_of, text)) < 2:
            return [(sum(self._edges(first, last)) / 2, label_of(raw))]
        found = []
        for character in text:
            end = first + len(character.encode())
            found.append((sum(self._edges(first, end)) / 2, label_of(character.encode())))
            first = end
        return found


def view(look: Look, other: Tokenizer) -> CutsView | None:
    """A run's text in its vocabulary and in the other; None where this one does not keep the text as it was typed, or
    spells no text at all, or the other spells other bytes.
    """
    return look.once(lambda look: _view(look, other), ("cuts", other))


def keeps(tokenizer: Tokenizer) -> bool:
    """Whether a vocabulary keeps a text as it was typed."""
    return tokenizer.is_lossless or isinstance(tokenizer, ByteLevel)


def _view(look: Look, other: Tokenizer) -> CutsView | None:
    tokenizer, written = look.trace.tokenizer, cutting.written(look.trace)
    if not written.tokens or not keeps(tokenizer):
        return None
    theirs = cutting.recut(written.tokens, other)
    if not _same_bytes(written.tokens, theirs):
        return None
    places = np.arange(len(look)) - written.first
    places[(places < 0) | (places >= len(written.tokens))] = -1
    return CutsView.of(written.tokens, theirs, (tokenizer.name, other.name), by("token", places))


def _same_bytes(ours: Sequence[Token], theirs: Sequence[Token]) -> bool:
    """Whether both rows spell the same, but for the beginning of a character at the end of a text that was cut."""
    own, other = (b"".join(token.bytes for token in tokens) for tokens in (ours, theirs))
    return own[: len(other)] == other and len(own) - len(other) < 4


def facts(look: Look) -> dict[str, Any]:
    """Numbers and names of the text and of the selected token, for prose."""
    tokenizer, other, tokens = look.trace.tokenizer, second.of(look).other, look.trace.tokens
    written, found = cutting.written(look.trace), view(look, other)
    n_bytes = found.n_bytes if found else len(written.text.encode())
    return {
        "n": len(written.tokens),
        "m": len(other.encode(written.text, special=False)),
        "shared": found.n_shared if found else 0,
        "bytes_n": n_bytes,
        "per": f"{n_bytes / max(1, len(written.tokens)):.2f}",
        "id": by("token", np.array([token.id for token in tokens]), "whole"),
        "n_vocab": f"{tokenizer.n_vocab:,}",
        "n_merges": by("token", np.array([max(0, len(token.bytes) - 1) for token in tokens]), "0"),
        "token": look.token_named(),
        "name": literal(tokenizer.name),
        "other_name": literal(other.name),
        "bytes": _each(look, [spelled(token.bytes) or "–" for token in tokens]),
    }


def _each(look: Look, names: Sequence[str]) -> Among:
    """A name for each position, to the letter."""
    return Among(names, by("token", np.arange(len(look))), is_code=True)


def title(look: Look) -> Iterator[Line]:
    known, other = facts(look), second.of(look).other
    if found := view(look, other):
        said = CUTS.says(look.t.language, (found.n_shared, len(found.upper.tokens)), **known)
    else:
        key = "finding_none" if not known["n"] else "finding_apart" if second.has_text(look) else "finding_ids"
        said = look.words(key, n=known["n"], m=known["m"], other=known["other_name"])
    yield Line(said, "title")


def tell(look: Look) -> Iterator[Line]:
    """What stands in the selected token, and what the other vocabulary has there."""
    known, found = facts(look), view(look, second.of(look).other)
    tokens, first = look.trace.tokens, cutting.written(look.trace).first
    places = range(first, first + len(found.upper.tokens)) if found else range(0)
    parts = dict(zip(places, cutting.characters(found.upper.tokens), strict=True)) if found else {}
    characters = [make_visible(parts[n]) if n in parts else token.label for n, token in enumerate(tokens)]
    kinds = [cutting.KINDS.index(cutting.kind(token, look.trace.tokenizer)) for token in tokens]
    said = [look.words(f"about_{kind}", characters="{{characters}}") for kind in cutting.KINDS]
    kind = Phrase(Among(said, by("token", np.array(kinds))), {"characters": _each(look, characters)})
    yield look.text("see", **known, kind=kind)
    if found is None:
        return
    over = [found.over(n - first) if n in places else [] for n in range(len(tokens))]
    shared = np.array([n in places and found.upper.shared[n - first] for n in range(len(tokens))])
    labels = {label: n for n, label in enumerate(dict.fromkeys(token.label for each in over for token in each))}
    rows = By(("token",), [[labels[token.label] for token in each] for each in over])
    ids = np.array([each[0].id if each else 0 for each in over])
    known |= {"over": Among(tuple(labels), rows, True, " "), "over_id": by("token", ids, "whole")}
    yield look.claim(OTHER, (shared, np.array(list(map(len, over)))), "token", **known)
    yield look.text("other")


source = say.source("tokens.ids")


def draw(look: Look) -> Scene | None:
    """Both vocabularies over the same bytes, or where that cannot be, below each other."""
    known = second.of(look)
    scene = draw_beside(look, known.other)
    if scene is None:
        spells = second.has_text(look) and bool(cutting.written(look.trace).tokens)
        return _apart(look, "apart", second.text(look), known.other) if spells else None
    if known.model:  # the last of the call's words is its bracket
        call = f"{scene.call[:-1]}, beside=vm.load({known.model!r}).tokenizer)"
        return look.drawn(scene, ["tokens.ids"], call=call)
    return scene


def draw_beside(look: Look, other: Tokenizer) -> Scene | None:
    """Two rows of boxes a line, over the same bytes: a lower box has the color of the upper one if it holds the same
    bytes, and is gray if not.
    """
    found = view(look, other)
    if found is None:
        return None
    scene = _rows(look, "cuts", found, cutting.written(look.trace).first)
    return look.drawn(scene, ["tokens.ids"], data=found, call=look.call("tokens", token=look.token))


def _rows(look: Look, key: str, found: CutsView, at: int | None = None) -> Scene:
    """``at`` is the position of the first token in the run whose text it is."""
    lines = range(found.n_lines)
    if found.n_lines > MOST_LINES:
        place = min(max(look.token - (at or 0), 0), len(found.upper.tokens) - 1)
        first = int(found.line[found.upper.starts[place]]) // MOST_LINES * MOST_LINES
        lines = range(first, min(first + MOST_LINES, found.n_lines))
    on = Place(max(float((found.x + found.width).max()), SHORTEST))
    size, height, gap = (19, 44, 12) if on.widest <= 24 else (15, 40, 12) if len(lines) <= 6 else (13, 36, 12)
    split = [one for one in found.split() if found.line[one[0]] in lines]
    above = ABOVE if split else 0
    step = 2 * height + 3 + gap + above
    marks: list[Mark] = []
    chosen: list[tuple[int, Box, float]] = []
    for row, (cut, down) in {"upper": (found.upper, 0), "lower": (found.lower, height + 3)}.items():
        boxes = [box for box in found.boxes(cut) if box.line in lines]
        # The name of the lower row stands beneath the first line and pushes the others down.
        rows = [box.line - lines.start for box in boxes]
        tops = [4 + HEAD + above + row * step + (HEAD if row else 0) + down for row in rows]
        owners = [box.token if cut is found.upper else int(cut.origin[box.token]) for box in boxes]
        chosen += [(owner, box, top) for owner, box, top in zip(owners, boxes, tops, strict=True) if owner >= 0]
        hues = [theme.token(owner) if owner >= 0 else "token" for owner in owners]
        said = [_said(look, cut.tokens[box.token], box.token, cut.name) for box in boxes]
        marks += on.band(
            row, boxes, tops, cut.tokens, size, height=height, fill=hues, stroke=hues, opacity=0.22, labels=said
        )
        name = look.words("row", name=cut.name, n=len(cut.tokens), per=f"{found.n_bytes / max(1, len(cut.tokens)):.1f}")
        marks.append(_name(f"{row}.name", name, 13 if cut is found.upper else HEAD + above + 2 * height + 17))
    marks += [mark for one in split for mark in _bracket(found, one, on, lines.start, step)]
    if at is not None and chosen:
        marks.append(_selected(look, on, chosen, height, at, is_last=lines.stop == found.n_lines))
    bottom = 2 * HEAD + above + len(lines) * step - gap + 12
    note = ""
    if len(lines) < found.n_lines:
        shown = [box.token for box in found.boxes(found.upper) if box.line in lines]
        note = look.common("tokens_part", first=shown[0], last=shown[-1], n=len(found.upper.tokens))
    panel = Panel(id=key, marks=marks, height=bottom)
    cuts = (found.upper, found.lower)
    series = [
        Series(cut.name, [f"{n}: {one.label}" for n, one in enumerate(cut.tokens)], [one.id for one in cut.tokens])
        for cut in cuts
    ]
    return Scene(id=f"tokens.{key}", panels=[panel], title=look.words("cuts_alt"), note=note, series=series)


def _said(look: Look, token: Token, position: int, name: str) -> str:
    """What is said of a box."""
    told = {"position": position, "id": token.id, "bytes": spelled(token.bytes)}
    return "\n".join([token.label, *(f"{look.words(word)} {value}" for word, value in told.items()), name])


def _name(id: str, name: str, y: float) -> Text:
    return Text(id=id, text=name, x=2, y=y, fill="muted")


def _bracket(found: CutsView, split: tuple[int, int, str], on: Place, first: int, step: float) -> list[Mark]:
    """A character over the bytes that it is cut into."""
    start, stop, character = split
    line = int(found.line[start])
    last = max(n for n in range(start, stop) if found.line[n] == line)
    left, right = float(found.x[start]) + 0.15, float(found.x[last] + found.width[last]) - 0.15
    top = 4 + HEAD + (line - first) * step + (HEAD if line > first else 0)
    y = np.array([top + ABOVE, top + ABOVE - 4, top + ABOVE - 4, top + ABOVE], np.float32) - 2
    x = on.across([left, left, right, right])
    middle = on.across([(left + right) / 2])
    return [
        Path(id=f"split.{start}", x=x, y=y, stroke="muted", thick=1),
        Texts(id=f"split.{start}.text", texts=[character], x=middle, y=np.array([top + 5], np.float32), size=13),
    ]


def _selected(
    look: Look, on: Place, boxes: Sequence[tuple[int, Box, float]], height: float, at: int, *, is_last: bool
) -> Items:
    """The boxes of the selected token. Of a long text only those of the tokens that are drawn are there."""
    by_owner: dict[int, list[tuple[Box, float]]] = {}
    for owner, box, top in boxes:
        by_owner.setdefault(owner + at, []).append((box, top))
    first = 0 if at in by_owner else min(by_owner)
    count = (len(look) if is_last else max(by_owner) + 1) - first
    most = max(map(len, by_owner.values()))
    places, tops = np.full((count, most, 2), np.nan), np.full((count, most), np.nan, np.float32)
    for position, found in by_owner.items():
        for k, (box, top) in enumerate(found):
            places[position - first, k], tops[position - first, k] = (box.left + 0.06, box.right - 0.06), top

    def held(values: Any) -> Any:
        return By(("token",), values, start={"token": first} if first else {})

    hue = held([theme.token(first + n - at) for n in range(count)])
    return Items(
        id="selected", x=held(on.across(places[..., 0])), y=held(tops), width=held(on.wide(np.diff(places)[..., 0])),
        height=np.full(most, height, np.float32), fill=hue, stroke=hue, opacity=0.36, thick=2.5, walk=False,
    )  # fmt: skip


def _apart(look: Look, key: str, text: str, other: Tokenizer) -> Scene:
    """Both vocabularies' tokens, where their bytes cannot be laid one above the other."""
    on, height, marks, top = Place(LINE), 42, list[Mark](), 0.0
    for row, vocabulary in enumerate((look.trace.tokenizer, other)):
        tokens = vocabulary.tokens(vocabulary.encode(text, special=False))
        boxes: list[Box] = []
        line, used = 0, 0.0
        for n, token in enumerate(tokens):
            wide = min(needs(token), LINE)
            line, used = (line + 1, 0.0) if used + wide > LINE else (line, used)
            boxes.append(Box(n, line, used, used + wide, [(used + wide / 2, token.label)]))
            used += wide
        hues = [theme.token(n) for n in range(len(tokens))]
        said = [_said(look, token, n, vocabulary.name) for n, token in enumerate(tokens)]
        tops = [top + HEAD + 4 + box.line * (height + 8) for box in boxes]
        marks.append(_name(f"name.{row}", look.words("row_apart", name=vocabulary.name, n=len(tokens)), top + 13))
        marks += on.band(
            f"row.{row}", boxes, tops, tokens, 15, height=height, fill=hues, stroke=hues, opacity=0.22, labels=said
        )
        top += HEAD + 4 + (line + 1) * (height + 8)
    return Scene(id=f"tokens.{key}", panels=[Panel(id=key, marks=marks, height=top + 4)], title=look.words("apart_alt"))


# Two examples of tutorials, counted


def _theirs(key: str) -> tuple[Token, ...]:
    cl100k = cl100k_base()
    return cl100k.tokens(cl100k.encode(EXAMPLES[key]))


def example(key: str) -> tuple[Item, Item, Item]:
    """One of :data:`EXAMPLES`: what is told of it, its cuts, and its ids in ``cl100k_base``."""

    def told(look: Look) -> Iterator[Line]:
        theirs = _theirs(key)
        text, broken = literal(EXAMPLES[key]), cutting.broken(theirs)
        yield Line(look.words(f"known_{key}", text=text, n=len(theirs), broken=broken))

    def drawn(look: Look) -> Scene:
        own, cl100k = look.trace.tokenizer, cl100k_base()
        if not keeps(own):
            return _apart(look, key, EXAMPLES[key], cl100k)
        ours = own.tokens(own.encode(EXAMPLES[key]))
        return _rows(look, key, CutsView.of(ours, _theirs(key), (own.name, cl100k.name)))

    def ids(look: Look) -> Iterator[Line]:
        written = " ".join(str(token.id) for token in _theirs(key))
        yield Line(f"{literal(cl100k_base().name)}: {literal(written)}", "note")

    return told, drawn, ids
