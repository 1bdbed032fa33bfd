"""Several figures as one, in columns, lettered."""

import math
from collections.abc import Sequence
from html import escape
from pathlib import Path

from viz_model.drawing.scene import files
from viz_model.drawing.scene.svg import FONTS, MILLIMETRES
from viz_model.drawing.scene.svg.ground import element, n, speakable
from viz_model.drawing.theme import PALETTES
from viz_model.plot.figure import WIDTH, Figure
from viz_model.plot.fitting import letter_of

GAP, HEAD = 16.0, 24.0
"""Pixels between figures, and for a letter over each."""


class Grid:
    """Figures in columns, to be saved as one file; each keeps its own caption.

    Attributes:
        figures: in the order of their letters, row after row.
    """

    def __init__(self, figures: Sequence[Figure], columns: int, letters: bool) -> None:
        self.figures, self.columns, self.letters = tuple(figures), columns, letters

    def __repr__(self) -> str:
        return f"Grid({', '.join(figure.name for figure in self.figures)})"

    def svg(self, width: float = WIDTH) -> str:
        """As SVG, ``width`` pixels wide."""
        across = (width - GAP * (self.columns - 1)) / self.columns
        head = HEAD if self.letters else 0.0
        rows = [self.figures[at : at + self.columns] for at in range(0, len(self.figures), self.columns)]
        colors, shapes, y = PALETTES[self.figures[0].theme], list[str](), 0.0
        for row, figures in enumerate(rows):
            tallest = 0.0
            for column, figure in enumerate(figures):
                x, drawn = column * (across + GAP), figure.svg(across)
                if self.letters:
                    name = letter_of(row * self.columns + column)
                    shapes.append(element("text", name, x=x, y=y + 16, font_weight="bold", fill=colors["ink"]))
                shapes.append(drawn.replace("<svg ", f'<svg x="{n(x)}" y="{n(y + head)}" ', 1))
                tallest = max(tallest, float(drawn.partition(' height="')[2].partition('"')[0]))
            y += head + tallest + GAP
        title = element("title", speakable(self.title))
        ground = element("rect", width="100%", height="100%", fill=colors["paper"])
        return element(
            "svg",
            "\n".join(["", title, ground, *shapes, ""]),
            xmlns="http://www.w3.org/2000/svg",
            width=width,
            height=y - GAP,
            viewBox=f"0 0 {n(width)} {n(y - GAP)}",
            font_family=FONTS,
            font_size=14,
        )

    @property
    def lang(self) -> str:
        """Of its labels."""
        return self.figures[0].lang

    @property
    def title(self) -> str:
        return "; ".join(figure.scene.title for figure in self.figures)

    def numbers(self) -> str:
        """All numbers as CSV; the name of each part begins with the letter of its figure."""
        tables = [figure.numbers().splitlines(keepends=True) for figure in self.figures]
        named = (f'"{letter_of(at)} {line.removeprefix(chr(34))}' if line.startswith('"') else f"{letter_of(at)} {line}"
                 for at, table in enumerate(tables) for line in table[1:])  # fmt: skip
        return tables[0][0] + "".join(named)

    def save(self, path: str | Path, *, width_mm: float | None = None) -> Path:
        """Write it to a file that ends in .svg, .png, .pdf, .html or .csv.

        Raises:
            ValueError: another ending, or a width that is not above 0.
        """
        path = Path(path)
        if width_mm is not None and not 0 < width_mm < math.inf:
            raise ValueError(f"width_mm: expected a number above 0, got {width_mm}")
        drawn = self.svg(WIDTH if width_mm is None else width_mm / MILLIMETRES)
        lang = self.lang
        match path.suffix.lower():
            case ".svg":
                path.write_text(drawn, encoding="utf-8")
            case ".pdf":
                path.write_bytes(files.typeset(drawn.encode(), "pdf", self.title, lang=lang))
            case ".png":
                path.write_bytes(files.typeset(drawn.encode(), "png", self.title, lang=lang))
            case ".html":
                head = f'<!doctype html><html lang="{lang}"><meta charset="utf-8"><title>{escape(self.title)}</title>'
                path.write_text(f"{head}\n{drawn}\n</html>\n", encoding="utf-8")
            case ".csv":
                path.write_text(self.numbers(), encoding="utf-8", newline="")
            case _:
                raise ValueError(f"path: {path.name!r} does not end in one of .svg, .png, .pdf, .html, .csv")
        return path

    def _repr_mimebundle_(self, include: object = None, exclude: object = None) -> dict[str, str]:
        return {"image/svg+xml": self.svg(), "text/plain": repr(self)}


def grid(figures: Sequence[Figure], *, columns: int = 2, letters: bool = True) -> Grid:
    """Several figures as one, in so many columns, each under its letter: (a), (b), …

    Raises:
        ValueError: there are no figures, or no columns.
    """
    if not figures or columns < 1:
        raise ValueError(f"figures: expected at least one, in at least one column; got {len(figures)} in {columns}")
    return Grid(figures, min(columns, len(figures)), letters)
