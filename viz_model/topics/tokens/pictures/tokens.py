"""Tokens: the same bytes cut by two vocabularies, and the merges that build one token."""

from __future__ import annotations

import unicodedata
from collections.abc import Mapping, Sequence
from typing import Literal, NamedTuple

import numpy as np
import plotly.graph_objects as go

from viz_model.drawing import sheet, theme
from viz_model.runs.trace import Trace
from viz_model.tokenizers.tokenizer import ByteLevel, IdTokenizer, Token, Tokenizer, make_visible, token_of
from viz_model.topics.tokens.numbers import splitting
from viz_model.topics.tokens.numbers import tokens as cutting

LINE = 40
"""The width of a line, in widths of a letter; longer texts are wrapped."""

SHORTEST = 16


def chip(token: Token, position: int, under: object) -> dict[str, object]:
    """A token of the ribbon, in the colour of its position, with ``under`` written beneath it."""
    return {
        "label": token.label,
        "under": str(under),
        "bytes": token.bytes.hex(" ").upper(),
        "colour": theme.token_colour(position),
        "whole": token.is_whole,
    }


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

    def table(self) -> tuple[list[int], list[str], list[int], list[str], list[str]]:
        """Columns: position, label, id, bytes in hexadecimal, the characters these bytes belong to."""
        return (
            list(range(len(self.tokens))),
            [token.label for token in self.tokens],
            [token.id for token in self.tokens],
            [token.bytes.hex(" ").upper() for token in self.tokens],
            [make_visible(text) for text in cutting.characters(self.tokens)],
        )


class CutsView(NamedTuple):
    """The same text in two vocabularies, laid out in lines.

    Per byte, all [N]: its ``line``, its left edge ``x`` in that line and its ``width``, in widths
    of a letter. ``selected`` is a position of the first vocabulary, or None.
    """

    upper: Cut
    lower: Cut
    line: np.ndarray
    x: np.ndarray
    width: np.ndarray
    n_characters: int
    n_bytes: int
    selected: int | None

    @property
    def n_lines(self) -> int:
        return int(self.line[-1]) + 1

    @property
    def n_shared(self) -> int:
        """Tokens that both vocabularies cut alike."""
        return int(self.upper.shared.sum())

    @property
    def characters(self) -> list[str]:
        """For each token of the upper row the characters that its bytes belong to, made visible."""
        return self.upper.table()[-1]

    def over(self, position: int) -> list[Token]:
        """The lower row's tokens that hold a byte of the upper row's token at ``position``."""
        start, stop = self.upper.starts[position], self.upper.stops[position]
        touched = np.flatnonzero((self.lower.starts < stop) & (self.lower.stops > start))
        return [self.lower.tokens[i] for i in touched]

    @classmethod
    def of(
        cls, upper: Sequence[Token], lower: Sequence[Token], names: tuple[str, str], selected: int | None = None
    ) -> CutsView:
        raw = b"".join(token.bytes for token in upper)
        spans = [cutting.spans(tokens) for tokens in (upper, lower)]
        width = _widths(raw, (upper, lower))
        line = _lines(raw, width, spans)
        x = np.concatenate([np.cumsum(width[line == n]) - width[line == n] for n in range(int(line[-1]) + 1)])
        cuts = []
        for n in (0, 1):
            other = {span: position for position, span in enumerate(spans[1 - n])}
            edges = np.array(spans[n]).reshape(-1, 2)
            origin = np.array([other.get(span, -1) for span in spans[n]], dtype=int)
            cuts.append(Cut(names[n], tuple((upper, lower)[n]), edges[:, 0], edges[:, 1], origin >= 0, origin))
        return cls(
            upper=cuts[0],
            lower=cuts[1],
            line=line,
            x=x,
            width=width,
            n_characters=len(cutting.character_starts(raw)),
            n_bytes=len(raw),
            selected=selected,
        )


def columns(label: str) -> int:
    """The width of a label in widths of a letter: wide characters count twice."""
    return sum(_width(character) for character in label)


def _width(character: str) -> int:
    if unicodedata.category(character) in ("Mn", "Me"):
        return 0
    return 2 if unicodedata.east_asian_width(character) in "WF" else 1


def _label(raw: bytes) -> str:
    """Any run of bytes as the label of a token would be."""
    return token_of(-1, raw).label


def _widths(raw: bytes, vocabularies: Sequence[Sequence[Token]]) -> np.ndarray:
    """[N]: a width for every byte, so that every token has room for its label and its id."""
    width = np.zeros(len(raw))
    starts = cutting.character_starts(raw)
    for start, stop in zip(starts, [*starts[1:], len(raw)], strict=True):
        width[start:stop] = columns(_label(raw[start:stop])) / (stop - start)
    for tokens in vocabularies:
        for token, (start, stop) in zip(tokens, cutting.spans(tokens), strict=True):
            needs = max(columns(token.label), 0.75 * len(str(token.id))) + 0.7
            width[start:stop] += max(0.0, needs - width[start:stop].sum()) / (stop - start)
    return width


def _lines(raw: bytes, width: np.ndarray, spans: Sequence[list[tuple[int, int]]]) -> np.ndarray:
    """[N]: the line of every byte. Lines break where both vocabularies cut, as far as they can."""
    stops = [{stop for _, stop in row} for row in spans]
    common = sorted(stops[0] & stops[1] | {len(raw)})
    starts = cutting.character_starts(raw)
    line = np.zeros(len(raw), dtype=int)
    now, used, begin = 0, 0.0, 0
    for end in common:
        if used and used + width[begin:end].sum() > LINE:
            now, used = now + 1, 0.0
        if width[begin:end].sum() <= LINE:
            line[begin:end] = now
            used += width[begin:end].sum()
        else:  # a stretch in which the two never meet: it breaks between characters
            inner = [s for s in starts if begin < s < end]
            for a, b in zip([begin, *inner], [*inner, end], strict=True):
                if used and used + width[a:b].sum() > LINE:
                    now, used = now + 1, 0.0
                line[a:b] = now
                used += width[a:b].sum()
        begin = end
    return line


MOST_BOXES = 300
"""Tokens of a vocabulary that are drawn at the most; of longer texts the lines around the selected one are shown."""


def _lines_shown(view: CutsView) -> range:
    """The lines that are drawn: all of them, or as many around the selected token as hold :data:`MOST_BOXES`."""
    per_line = max(1, MOST_BOXES * view.n_lines // max(len(view.upper.tokens), len(view.lower.tokens)))
    if per_line >= view.n_lines:
        return range(view.n_lines)
    chosen = int(view.line[view.upper.starts[view.selected or 0]])
    first = max(0, min(chosen - per_line // 2, view.n_lines - per_line))
    return range(first, first + per_line)


class _Box(NamedTuple):
    """A token, or the part of it that stands in one line: its bytes from ``start``, within [left, right]."""

    token: int
    line: int
    left: float
    right: float
    start: int
    raw: bytes
    first: bool

    @property
    def middle(self) -> float:
        return (self.left + self.right) / 2


def _boxes(view: CutsView, cut: Cut) -> list[_Box]:
    boxes = []
    for position, (start, stop) in enumerate(zip(cut.starts, cut.stops, strict=True)):
        for n in np.unique(view.line[start:stop]):
            inside = np.flatnonzero(view.line[start:stop] == n)
            a, b = int(inside[0]), int(inside[-1])
            left, right = float(view.x[start + a]), float(view.x[start + b] + view.width[start + b])
            raw = cut.tokens[position].bytes[a : b + 1]
            boxes.append(_Box(position, int(n), left, right, int(start) + a, raw, a == 0))
    return boxes


class _Glyph(NamedTuple):
    x: float
    y: float
    text: str


def _glyphs(view: CutsView, box: _Box, y: float) -> list[_Glyph]:
    """What is written into a box: its label, or each wide character over its own bytes.

    The same wide character then stands at the same place in both rows, though its box may be
    stretched by what the other vocabulary needs room for.
    """
    try:
        text = box.raw.decode()
    except UnicodeDecodeError:
        text = ""
    if not text or max(map(_width, text)) < 2:
        return [_Glyph(box.middle, y, _label(box.raw))]
    glyphs, at = [], box.start
    for character in text:
        end = at + len(character.encode())
        glyphs.append(
            _Glyph(float(view.x[at] + view.x[end - 1] + view.width[end - 1]) / 2, y, _label(character.encode()))
        )
        at = end
    return glyphs


def draw_cuts(view: CutsView, words: Mapping[str, str]) -> go.Figure:
    """Two rows of boxes a line, over the same bytes, with the ids beneath the labels.

    A lower box has the colour of the upper one if it holds the same bytes, and is grey if not.
    ``words`` names ``position``, ``id`` and ``bytes`` for the hover text, and the two rows as
    ``upper`` and ``lower``.
    """
    lines = _lines_shown(view)
    widest = max(float((view.x + view.width).max()), SHORTEST)
    text_size, band, gap = (19, 46, 18) if widest <= 24 else (15, 42, 16) if len(lines) <= 6 else (13, 36, 12)
    step, head = 2 * band + 3 + gap, 20
    figure = sheet.Sheet()
    for cut, offset, name in ((view.upper, 0, words["upper"]), (view.lower, band + 3, words["lower"])):
        boxes = [box for box in _boxes(view, cut) if box.line in lines]
        # The name of the lower row stands beneath the first line and pushes the others down.
        rows = [b.line - lines.start for b in boxes]
        tops = [head + row * step + (head if row else 0) + offset for row in rows]
        middles = [-(top + band / 2) for top in tops]
        owners = [b.token if cut is view.upper else int(cut.origin[b.token]) for b in boxes]
        colours = [theme.token_colour(owner) if owner >= 0 else theme.ROLES["token"] for owner in owners]
        chosen = [owner >= 0 and owner == view.selected for owner in owners]
        tokens = [cut.tokens[b.token] for b in boxes]
        figure.add_trace(
            sheet.bar(
                orientation="h",
                base=[b.left + 0.06 for b in boxes],
                x=[b.right - b.left - 0.12 for b in boxes],
                y=middles,
                width=band,
                marker={
                    "color": [theme.rgba(c, 0.5 if on else 0.22) for c, on in zip(colours, chosen, strict=True)],
                    "line": {"color": colours, "width": [2.5 if on else 1 for on in chosen]},
                },
                customdata=[
                    [theme.plain(token.label), box.token, token.id, token.bytes.hex(" ").upper()]
                    for token, box in zip(tokens, boxes, strict=True)
                ],
                hovertemplate="<b>%{customdata[0]}</b>"
                f"<br>{theme.plain(words['position'])} %{{customdata[1]}}"
                f"<br>{theme.plain(words['id'])} %{{customdata[2]}}"
                f"<br>{theme.plain(words['bytes'])} %{{customdata[3]}}<extra>{theme.plain(cut.name)}</extra>",
            )
        )
        labels = [glyph for box, y in zip(boxes, middles, strict=True) for glyph in _glyphs(view, box, y + 7)]
        ids = [
            _Glyph(box.middle, y - band / 2 + 9, str(token.id))
            for box, y, token in zip(boxes, middles, tokens, strict=True)
            if box.first
        ]
        figure.add_trace(_writing(labels, text_size))
        figure.add_trace(_writing(ids, 11))
        under = cut is view.lower
        figure.add_annotation(
            x=0,
            y=-(head + 2 * band + 5) if under else -(head - 3),
            text=theme.plain(name),
            font={"size": 12},
            showarrow=False,
            xanchor="left",
            yanchor="top" if under else "bottom",
        )
        if len(lines) < view.n_lines and cut is view.upper:
            part = {"first": boxes[0].token, "last": boxes[-1].token, "n": len(cut.tokens)}
            figure.update_layout(meta={"part": part})
    bottom = 2 * head + len(lines) * step - gap + 4
    figure.update_xaxes(range=[0, widest], visible=False, fixedrange=True)
    figure.update_yaxes(range=[-bottom, 0], visible=False, fixedrange=True)
    figure.update_layout(barmode="overlay")
    return theme.layout(figure, height=bottom + 8, margin={"l": 2, "r": 2, "t": 4, "b": 4}).drawn()


def _writing(glyphs: Sequence[_Glyph], size: int) -> sheet.Trace:
    return sheet.scatter(
        x=[glyph.x for glyph in glyphs],
        y=[glyph.y for glyph in glyphs],
        text=[theme.plain(glyph.text) for glyph in glyphs],
        mode="text",
        textfont={"size": size, "family": "monospace", "color": theme.INK},
        hoverinfo="skip",
        cliponaxis=False,
    )


class Facts(NamedTuple):
    """What the page says of a run's tokens.

    ``keeps`` is whether this vocabulary keeps the text as it was typed. ``view`` lays both vocabularies over the
    same bytes; it is None where this one does not keep the text as it was typed, or spells no text at all.
    ``finding``, ``rule``, ``kind`` and ``other`` choose the words, ``hand`` those on how the token came to be;
    ``said`` and ``literals`` (what the visitor typed) fill them. ``snippet`` is the code that cuts the text.
    """

    view: CutsView | None
    keeps: bool
    finding: Literal["all", "some", "none", "apart", "ids"]
    rule: Literal["pairs", "pieces", "ids"]
    kind: cutting.Kind
    other: Literal["same", "cut", "none"]
    over: list[Token]
    hand: Literal["pairs", "single", "pieces", "ids", "sign"]
    snippet: Literal["tokens", "tokens_library"]
    said: dict[str, str]
    literals: dict[str, str]


def facts(trace: Trace, other: Tokenizer, position: int) -> Facts:
    """The tokens of a run beside those that ``other`` makes of the same text, one position selected."""
    tokenizer, token, written = trace.tokenizer, trace.tokens[position], cutting.written(trace)
    place: int | None = position - written.first
    if place is None or not 0 <= place < len(written.tokens):
        place = None
    view = None
    keeps = tokenizer.is_lossless or isinstance(tokenizer, ByteLevel)
    if written.tokens and keeps:
        names = (tokenizer.name, other.name)
        theirs = cutting.recut(written.tokens, other)
        if _same_bytes(written.tokens, theirs):
            view = CutsView.of(written.tokens, theirs, names, place)
    over = view.over(place) if view and place is not None else []
    rule: Literal["pairs", "pieces", "ids"] = "pairs" if isinstance(tokenizer, ByteLevel) else "pieces"
    kind = cutting.kind(token, tokenizer)
    hand: Literal["pairs", "single", "pieces", "ids", "sign"] = rule
    if rule == "pairs":
        is_sign = kind in ("control", "tag", "mask")
        hand = "sign" if is_sign else "single" if len(token.bytes) == 1 else "pairs"
    finding: Literal["all", "some", "none", "apart", "ids"] = "apart"
    if isinstance(tokenizer, IdTokenizer):
        rule, finding = "ids", "ids"
    elif view:
        finding = "all" if view.n_shared == len(written.tokens) else "some" if view.n_shared else "none"
    n_bytes = len(written.text.encode()) if view is None else view.n_bytes
    shares = view is not None and place is not None and bool(view.upper.shared[place])
    return Facts(
        view=view,
        keeps=keeps,
        finding=finding,
        rule=rule,
        kind=kind,
        hand=hand,
        # A mask that was typed is found before any merge, which the code of the merges does not show.
        snippet="tokens" if rule == "pairs" and tokenizer.mask_id not in trace.own_ids else "tokens_library",
        other="same" if shares else "cut" if over else "none",
        over=over,
        said={
            "n": str(len(written.tokens)),
            "m": str(len(other.encode(written.text, special=False))),
            "shared": str(view.n_shared if view else 0),
            "bytes_n": str(n_bytes),
            "per": f"{n_bytes / max(1, len(written.tokens)):.2f}",
            "id": f"{token.id:,}",
            "n_vocab": f"{tokenizer.n_vocab:,}",
            "over_id": f"{over[0].id:,}" if over else "",
            "n_merges": str(max(0, len(token.bytes) - 1)),
        },
        literals={
            "token": token.label,
            "name": tokenizer.name,
            "other_name": other.name,
            "bytes": token.bytes.hex(" ").upper() or "–",
            "characters": view.characters[place] if view and place is not None else token.label,
        },
    )


def _same_bytes(ours: Sequence[Token], theirs: Sequence[Token]) -> bool:
    """Whether both rows spell the same, but for the beginning of a character at the end of a text that was cut."""
    own, other = (b"".join(token.bytes for token in tokens) for tokens in (ours, theirs))
    return own[: len(other)] == other and len(own) - len(other) < 4


def tables(trace: Trace, other: Tokenizer) -> list[tuple[str, tuple[list[object], ...]]]:
    """For each vocabulary its name and columns: position, label, id, bytes in hexadecimal."""
    rows = [(trace.tokenizer.name, trace.tokens)]
    if not isinstance(trace.tokenizer, IdTokenizer):
        rows.append((other.name, other.tokens(other.encode(cutting.written(trace).text, special=False))))
    return [
        (
            name,
            (
                list(range(len(tokens))),
                [token.label for token in tokens],
                [token.id for token in tokens],
                [token.bytes.hex(" ").upper() for token in tokens],
            ),
        )
        for name, tokens in rows
    ]


class MergesView(NamedTuple):
    """How a token is built. Row 0 of ``parts`` are its single bytes, row n what is there after merge n.

    ``left`` [n_bytes] and ``width`` [n_bytes] are the place of every byte, in widths of a letter;
    ``new`` is the part of each row that the merge made (−1 in row 0), ``ranks`` its rank.
    """

    label: str
    parts: tuple[tuple[bytes, ...], ...]
    new: tuple[int, ...]
    ranks: tuple[int, ...]
    left: np.ndarray
    width: np.ndarray
    position: int

    @classmethod
    def of(cls, ranks: Mapping[bytes, int], token: Token, position: int) -> MergesView:
        """How ``token`` is merged from its bytes."""
        steps = cutting.merges(ranks, token.bytes)
        start = tuple(token.bytes[i : i + 1] for i in range(len(token.bytes)))
        return cls.joined(token.label, start, [(step.parts, step.at, step.rank) for step in steps], position)

    @classmethod
    def joined(
        cls, label: str, start: Sequence[bytes], steps: Sequence[tuple[Sequence[bytes], int, int]], position: int
    ) -> MergesView:
        """Parts at the start, and after each step with the index of the new one and its rank."""
        rows = [tuple(start), *(tuple(parts) for parts, _, _ in steps)]
        width = np.zeros(sum(map(len, start)))
        for parts in rows:
            at = 0
            for part in parts:
                span = slice(at, at := at + len(part))
                width[span] += max(0.0, columns(_label(part)) + 1 - width[span].sum()) / len(part)
        return cls(
            label=label,
            parts=tuple(rows),
            new=(-1, *(at for _, at, _ in steps)),
            ranks=(-1, *(rank for _, _, rank in steps)),
            left=np.cumsum(width) - width,
            width=width,
            position=position,
        )


def draw_merges(view: MergesView, words: Mapping[str, str], now: int | None = None) -> go.Figure:
    """A row of boxes a step, bytes on top, the token at the bottom; each step's new part in colour.

    ``words`` holds ``start``, the name of row 0, and ``step``, a format of {n} and {rank}. With ``now`` that row is
    pointed out, and those after it are pale.
    """
    band, grey = 30, theme.ROLES["token"]
    colour = theme.token_colour(view.position)
    figure = sheet.Sheet()
    lefts: list[float] = []
    widths: list[float] = []
    ys: list[float] = []
    fills: list[str] = []
    lines: list[str] = []
    labels: list[str] = []
    for n, (parts, new) in enumerate(zip(view.parts, view.new, strict=True)):
        at, fade = 0, 0.3 if now is not None and n > now else 1.0
        for i, part in enumerate(parts):
            end = at + len(part)
            lefts.append(float(view.left[at]) + 0.08)
            widths.append(float(view.width[at:end].sum()) - 0.16)
            ys.append(-n * band)
            fills.append(theme.rgba(colour, 0.45 * fade) if i == new else theme.rgba(grey, 0.12 * fade))
            lines.append(theme.rgba(colour, fade) if i == new else theme.rgba(grey, 0.6 * fade))
            labels.append(_label(part))
            at = end
    figure.add_trace(
        sheet.bar(
            orientation="h",
            base=lefts,
            x=widths,
            y=ys,
            width=band - 6,
            marker={"color": fills, "line": {"color": lines, "width": 1}},
            hoverinfo="skip",
        )
    )
    glyphs = [_Glyph(a + b / 2, y, label) for a, b, y, label in zip(lefts, widths, ys, labels, strict=True)]
    figure.add_trace(_writing(glyphs, 13))
    names = [words["start"], *(words["step"].format(n=n, rank=f"{rank:,}") for n, rank in enumerate(view.ranks[1:], 1))]
    figure.update_xaxes(range=[0, max(float(view.width.sum()), 2 * SHORTEST)], visible=False, fixedrange=True)
    figure.update_yaxes(
        range=[-(len(names) - 0.5) * band, band / 2],
        tickvals=[-n * band for n in range(len(names))],
        ticktext=[f"<b>{theme.plain(name)}</b>" if n == now else theme.plain(name) for n, name in enumerate(names)],
        ticks="",
        fixedrange=True,
    )
    figure.update_layout(barmode="overlay")
    return theme.layout(figure, height=len(names) * band + 12, margin={"t": 4, "b": 4}).drawn()


class UseView(NamedTuple):
    """What texts use of their vocabularies: a name, the vocabulary's name and the four figures, each [R]."""

    names: tuple[str, ...]
    vocabularies: tuple[str, ...]
    uses: tuple[cutting.Use, ...]

    @classmethod
    def of(cls, text: str, name: str, vocabularies: Sequence[Tokenizer], published: str) -> UseView:
        """The tutorial's textbook, called ``published``, then ``text``, called ``name``, in every vocabulary.

        The first of ``vocabularies`` is the textbook's.
        """
        return cls(
            names=(published, *(name for _ in vocabularies)),
            vocabularies=(vocabularies[0].name, *(one.name for one in vocabularies)),
            uses=(cutting.TEXTBOOK, *(cutting.use(text, one) for one in vocabularies)),
        )

    def rows(self, width: int) -> list[tuple[str, list[str]]]:
        """For a table: what is told of each, and the numbers of all."""
        tables = [one.numbers(width) for one in self.uses]
        return [
            *((name, [f"{getattr(one, name):,}" for one in self.uses]) for name in cutting.Use._fields),
            ("per_token", [f"{one.per_token:.2f}" for one in self.uses]),
            ("rows", [f"{one.rows:,}" for one in self.uses]),
            ("share", [f"{one.share:.2%}" for one in self.uses]),
            ("full", [f"{full:,}" for full, _ in tables]),
            ("compact", [f"{compact:,}" for _, compact in tables]),
        ]


def draw_use(view: UseView, words: Mapping[str, str]) -> go.Figure:
    """A bar of all rows of each table, the part in colour that is ever looked up.

    ``words`` holds "used", "idle" and "axis".
    """
    labels = [
        f"{theme.plain(name)}<br>{theme.plain(vocabulary)}"
        for name, vocabulary in zip(view.names, view.vocabularies, strict=True)
    ]
    shares = [100 * one.share for one in view.uses]
    figure = sheet.Sheet()
    for name, values, colour in (
        ("used", shares, theme.ROLES["value"]),
        ("idle", [100 - share for share in shares], theme.rgba(theme.ROLES["token"], 0.25)),
    ):
        counts = [one.distinct if name == "used" else one.rows - one.distinct for one in view.uses]
        said = theme.plain(words[name])
        figure.add_trace(
            sheet.bar(
                orientation="h",
                y=list(range(len(labels))),
                x=values,
                name=said,
                marker={"color": colour},
                customdata=[f"{count:,}" for count in counts],
                hovertemplate=f"<b>{said}</b>: %{{customdata}} (%{{x:.3f}} %)<extra></extra>",
            )
        )
    for row, one in enumerate(view.uses):
        figure.add_annotation(
            x=100 * one.share,
            y=row,
            text=f"<b>{one.share:.2%}</b>",
            showarrow=False,
            xanchor="left",
            xshift=4,
            font={"size": 12, "color": theme.INK},
        )
    theme.layout(figure, height=230)
    figure.update_layout(
        barmode="stack",
        bargap=0.45,
        showlegend=True,
        legend={
            "orientation": "h",
            "x": 0,
            "y": 1.02,
            "yanchor": "bottom",
            "font": {"size": 12},
            "traceorder": "normal",
        },
    )
    title = {"text": theme.plain(words["axis"]), "font": {"size": 12}}
    figure.update_xaxes(range=[0, 100], ticksuffix=" %", fixedrange=True, title=title, tickfont={"size": 12})
    figure.update_yaxes(
        range=[len(labels) - 0.5, -0.5],
        tickvals=list(range(len(labels))),
        ticktext=labels,
        fixedrange=True,
        tickfont={"size": 12},
    )
    return figure.drawn()


class CountView(NamedTuple):
    """A text in several vocabularies: names [R], tokens [R] of each, and the text's bytes and characters."""

    names: tuple[str, ...]
    tokens: tuple[int, ...]
    sizes: tuple[int, ...]
    n_bytes: int
    n_characters: int

    @classmethod
    def of(cls, text: str, vocabularies: Sequence[Tokenizer]) -> CountView:
        return cls(
            tuple(one.name for one in vocabularies),
            tuple(len(one.encode(text, special=False)) for one in vocabularies),
            tuple(one.n_vocab for one in vocabularies),
            len(text.encode()),
            len(text),
        )

    def rows(self) -> list[tuple[str, str, str, str, str]]:
        """For a table: name, entries, tokens, bytes per token, characters per token."""
        return [
            (name, f"{size:,}", f"{n:,}", f"{self.n_bytes / max(1, n):.2f}", f"{self.n_characters / max(1, n):.2f}")
            for name, n, size in zip(self.names, self.tokens, self.sizes, strict=True)
        ]


def draw_survey(found: Sequence[splitting.Surveyed], words: Mapping[str, str]) -> go.Figure:
    """For each vocabulary a bar for each kind of text: which share is one token, two, three, or more.

    ``words`` names the kinds, and the parts as "tokens_1" to "tokens_4" and "unknown".
    """
    titles = [f"<b>{theme.plain(one.name)}</b>" for one in found]
    figure = sheet.Sheet.grid(rows=len(found), cols=1, shared_xaxes=True, vertical_spacing=0.12, subplot_titles=titles)
    parts = [*(f"tokens_{n}" for n in range(1, splitting.LONG + 1)), "unknown"]
    shades = [theme.rgba(theme.ROLES["value"], 1.0)]
    shades += [theme.rgba(theme.ROLES["ffn"], alpha) for alpha in (0.2, 0.5, 0.9)]
    shades += [theme.rgba(theme.ROLES["token"], 0.45)]
    for row, one in enumerate(found, 1):
        kinds = [kind for kind in one.kinds if kind.n]
        counts = np.array([(*kind.by_tokens, kind.unknown) for kind in kinds])
        sizes = np.array([kind.n for kind in kinds])
        for column, (part, shade) in enumerate(zip(parts, shades, strict=True)):
            figure.add_trace(
                sheet.bar(
                    orientation="h",
                    y=[theme.plain(words[kind.kind]) for kind in kinds],
                    x=100 * counts[:, column] / sizes,
                    name=theme.plain(words[part]),
                    legendgroup=part,
                    showlegend=row == 1,
                    marker={"color": shade},
                    customdata=np.stack([counts[:, column], sizes], axis=1),
                    hovertemplate=f"<b>%{{y}}</b><br>{theme.plain(words[part])}: %{{customdata[0]:,}} / "
                    "%{customdata[1]:,} (%{x:.1f} %)<extra></extra>",
                ),
                row=row,
                col=1,
            )
    n_rows = sum(kind.n > 0 for one in found for kind in one.kinds)
    theme.layout(figure, height=90 + 26 * n_rows + 30 * len(found), margin={"t": 56})
    figure.update_layout(
        barmode="stack",
        bargap=0.3,
        showlegend=True,
        legend={
            "orientation": "h",
            "x": 0,
            "y": 1.08,
            "yanchor": "bottom",
            "font": {"size": 12},
            "traceorder": "normal",
        },
    )
    for annotation in figure.annotations:
        annotation |= {"x": 0, "xanchor": "left", "font": {"size": 13}}
    figure.update_xaxes(range=[0, 100], ticksuffix=" %", fixedrange=True)
    figure.update_yaxes(autorange="reversed", fixedrange=True, tickfont={"size": 12})
    return figure.drawn()
